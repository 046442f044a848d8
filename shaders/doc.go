// Package shaders holds raybridge's GLSL sources and one typed catalogue of
// them: what each program is called, what it binds, how large its work groups
// are and which constants Go gives it.
//
// # Includes
//
// A source may say #include "lib/trace.glsl". Each file is taken in once,
// where it is first named, from the entry's own file system and else from this
// package: sensors outside this repository include the same library. Included
// files start with a comment that says what they declare and need.
//
// # Constants
//
// Numbers that Go and GLSL must agree on are written in Go alone and reach the
// source as #define lines: the slots of the scene's tables (SLOT_NODES ...),
// the work-group size (LOCAL_SIZE_X, _Y, _Z), and each entry's own.
//
// # Adding a shader
//
// One file with a header comment, one Entry, one line in All. A test compiles
// every entry on a live context, and one compares its declared bindings with
// the source.
package shaders
