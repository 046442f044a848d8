// Package hostdev is the gpu.Driver of the host device: this machine's CPU, without OpenGL. Its
// objects are host memory. Its programs are the kernels of package kernels, by their names in
// the shaders' catalogue. A source that is not from there has no kernel: it needs OpenGL.
//
// Commands run in their order on one goroutine, which waits in one call while the device's own
// threads compute. Fences are pending until then. Draws that a dispatch takes wait for it. So
// a tile of a picture is drawn and shaded while it is in the caches.
package hostdev
