package readback

import (
	"errors"
	"fmt"
	"reflect"
)

// Errors of a Pool; callers test them with errors.Is. A lost context is
// gpu.ErrContextLost, here as everywhere.
var (
	// ErrFull: every slot is in flight, waits for Process, or is lent. The
	// capture is dropped and counted (law R4).
	ErrFull = errors.New("readback pool is full")
	// ErrClosed: the pool was closed, before the call or before the capture was completed.
	ErrClosed = errors.New("readback pool is closed")
	// ErrTimeout: the GPU did not reach the capture's fence within Config.Timeout.
	ErrTimeout = errors.New("gpu did not finish the capture in time")
	// ErrFence: the driver cannot tell any more whether the copy was made; its bytes are not to be trusted.
	ErrFence = errors.New("fence of the capture failed")
	// ErrElement: the element type can't be a view of GPU memory; see ElementError.
	ErrElement = errors.New("type is no readback element")
	// ErrSize: a size or an offset is not positive, not whole elements, beyond
	// the source, or more than the pool's slots hold.
	ErrSize = errors.New("size is out of range")
	// ErrSource: the source is nil, closed, or can't be copied in the form that was asked for.
	ErrSource = errors.New("source can't be read back")
	// ErrConfig: New was given something that it can't work with.
	ErrConfig = errors.New("readback configuration is wrong")
)

// ElementError says which part of an element type can't be a view of GPU
// memory, and why. It is ErrElement to errors.Is.
type ElementError struct {
	Type   reflect.Type
	Field  string // path from Type, "Points[].Next"; empty for Type itself
	Reason string
}

func (e *ElementError) Error() string {
	name := e.Type.String()
	if e.Field != "" {
		name += ", field " + e.Field
	}
	return fmt.Sprintf("%v: %s: %s", ErrElement, name, e.Reason)
}

// Is makes every ElementError an ErrElement.
func (e *ElementError) Is(target error) bool { return target == ErrElement }

// PanicError is what a completion panicked with; it is handed to
// Config.OnError, and the pool goes on.
type PanicError struct {
	Value any
	Stack []byte // of the goroutine that ran the completion
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("readback completion panicked: %v\n%s", e.Value, e.Stack)
}

// Unwrap returns the value that was panicked with where it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
