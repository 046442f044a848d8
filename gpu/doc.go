// Package gpu is the contract between raybridge and OpenGL 4.5 core: one
// thread that owns the context, a token for being on it, and the objects and
// commands that sensors and the readback pool need. It has no cgo; gpu/glcore
// implements the Driver on a real context, gpu/gputest on scripts.
package gpu
