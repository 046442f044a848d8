//go:build cgo && linux

package glcore

// // The libraries that go-gl names are linked only where they are needed, and procaddress.c
// // has what is needed of them.
// #cgo LDFLAGS: -Wl,--as-needed -ldl
import "C"
