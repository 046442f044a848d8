// Package kernels computes on the CPU what the shaders of package shaders compute, for
// gpu/hostdev. The kernels are C, one source for all instruction sets: AVX-512, AVX2, and what
// every CPU of the architecture has. They read the tables that the shaders read, and write the
// buffers that the shaders write, with the same operations in the same order. Every instruction
// set gives the same bits, with any number of threads.
//
// device.h is the contract between the device and its kernels. A build without cgo has none.
package kernels
