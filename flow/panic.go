package flow

import (
	"fmt"
	"runtime/debug"
)

// PanicError is what a function panicked with that somebody else called: a publisher, a completion, a
// sensor's work on the GL thread. The caller continues with this error.
type PanicError struct {
	// Value is the value given to panic. If runtime.Goexit ended the goroutine it is the text
	// "runtime.Goexit".
	Value any
	// Stack is the goroutine's stack trace at the panic, as debug.Stack formats it; nil after
	// runtime.Goexit.
	Stack []byte
}

// Panicked returns the *PanicError of a value that recover returned. A deferred function calls it.
func Panicked(value any) error { return &PanicError{Value: value, Stack: debug.Stack()} }

// Recover turns a panic of the function that defers it into a *PanicError.
func Recover(err *error) {
	if v := recover(); v != nil {
		*err = Panicked(v)
	}
}

// Error has the value and the stack.
func (e *PanicError) Error() string {
	text := fmt.Sprintf("panic: %v", e.Value)
	if e.Stack != nil {
		text += "\n" + string(e.Stack)
	}
	return text
}

// Unwrap returns the panic's value if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// DropCause returns CauseConvertFailed, whatever the panic's value was.
func (e *PanicError) DropCause() string { return string(CauseConvertFailed) }
