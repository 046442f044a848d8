package raybridge

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/eglctx"
)

// hostDriver is a driver that is told why it was chosen.
type hostDriver struct {
	gpu.Driver
	missing, passedOver []string
}

func (d *hostDriver) AddMissing(line string) { d.missing = append(d.missing, line) }
func (d *hostDriver) PassOver(err error)     { d.passedOver = append(d.passedOver, err.Error()) }

// TestAGPUThatCannotBeUsedIsNamed: a machine without a GPU gets no line about one; each GPU that is there does.
func TestAGPUThatCannotBeUsedIsNamed(t *testing.T) {
	old := &eglctx.UnusableError{Err: &gpu.UnsupportedError{Feature: "OpenGL 4.5 core", Need: "a newer driver"}}
	busy := &eglctx.UnusableError{Err: errors.New("EGL device 1: busy")}
	const oldSays = "no OpenGL 4.5 core: a newer driver"
	for _, c := range []struct {
		err  error
		want []string
	}{
		{&gpu.UnsupportedError{Feature: "EGL", Need: "a driver", Err: errors.New("EGL lists no hardware device")}, nil},
		{fmt.Errorf("open: %w", old), []string{oldSays}},
		{fmt.Errorf("%w; %w", old, busy), []string{oldSays, "EGL device 1: busy"}},
		{&gpu.UnsupportedError{Feature: "EGL", Err: errors.Join(busy, fmt.Errorf("again: %w", old))}, []string{"EGL device 1: busy", oldSays}},
	} {
		d := &hostDriver{}
		passOver(&gpu.Context{Driver: d}, c.err)
		assert.Len(t, d.missing, 1)
		assert.Equal(t, c.want, d.passedOver)
	}
}
