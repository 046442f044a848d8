// Package eglctx opens OpenGL 4.5 core contexts without a window, through
// EGL; it is the only importer of EGL. It talks to no X server: devices come
// from EGL_EXT_device_enumeration, software rendering from Mesa's surfaceless
// platform or EGL's software device.
//
// EGL's library is opened when the first context is asked for. A program that imports this
// package needs libc alone to start.
package eglctx
