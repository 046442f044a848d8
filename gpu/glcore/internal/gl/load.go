//go:build cgo

package gl

// #include "gl.h"
import "C"

import (
	"errors"
	"unsafe"
)

// Load takes the address of every function from loader. The error names the first
// that there is none of; no function may be called then.
func Load(loader func(name string) unsafe.Pointer) error {
	for i := C.int(0); ; i++ {
		c := C.rbFunctionName(i)
		if c == nil {
			return nil
		}
		name := C.GoString(c)
		address := loader(name)
		if address == nil {
			return errors.New(name)
		}
		C.rbSetFunction(i, address)
	}
}
