// Package eglctx opens OpenGL 4.5 core contexts without a window, through
// EGL; it is the only importer of EGL. It talks to no X server: devices come
// from EGL_EXT_device_enumeration, software rendering from Mesa's surfaceless
// platform or EGL's software device.
//
// A binary without windows is built with -tags 'nowindow egl': go-gl/gl then
// links libEGL instead of libGL, and libEGL and libc are all that it needs to start.
package eglctx
