//go:build cgo

// Package glcore is the gpu.Driver on OpenGL 4.5 core. It uses direct state
// access throughout (ARB_direct_state_access, core since 4.5), so that no
// binding point is part of an object's state.
//
// OpenGL's functions are loaded once a process, from the first context's
// loader, and serve every later context. With libglvnd they dispatch by the
// calling thread's current context; without it one vendor's library provides
// all contexts.
package glcore
