package flow_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
)

// called returns what a function panics with.
func called(f func()) (err error) {
	defer flow.Recover(&err)
	f()
	return nil
}

func TestPanicError(t *testing.T) {
	require.NoError(t, called(func() {}))
	err := fmt.Errorf("send: %w", called(func() { panic(io.ErrClosedPipe) }))
	var panicked *flow.PanicError
	require.ErrorAs(t, err, &panicked)
	require.ErrorIs(t, err, io.ErrClosedPipe)
	assert.Contains(t, string(panicked.Stack), "panic_test.go")
	assert.Equal(t, "panic: io: read/write on closed pipe\n"+string(panicked.Stack), panicked.Error())
	assert.Equal(t, flow.CauseConvertFailed, flow.CauseOf(err))
	assert.NoError(t, errors.Unwrap(called(func() { panic(7) })))
	assert.EqualError(t, &flow.PanicError{Value: "runtime.Goexit"}, "panic: runtime.Goexit")
}
