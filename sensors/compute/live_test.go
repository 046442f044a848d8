//go:build cgo

package compute_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/compute"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/shaders"
)

func TestMain(m *testing.M) { gputest.Main(m) }

func nothing(sensors.Tick, sample.Header, []uint32) {}

// TestASensorThatCannotBeginHoldsNothing: what it made before the error is freed, which
// TestMain sees, and it may be ended, and again.
func TestASensorThatCannotBeginHoldsNothing(t *testing.T) {
	broken := &shaders.Entry{
		Name: "broken", Compute: "broken.comp", Workgroup: [3]int{64, 1, 1},
		Files: map[string]string{"broken.comp": "void main() { return 1; }\n"},
	}
	s := compute.New(sensors.Spec{Name: "broken"}, compute.Shader[uint32]{
		Entry: broken, Results: 64, Invocations: [3]int{64, 1, 1}, UniformBytes: 16, TableRows: 4, Publish: nothing,
	})
	require.NoError(t, s.End(), "it isn't begun")
	gl := gputest.Thread(t)
	err := s.Begin(t.Context(), &sensors.Env{
		GL: gl, Shared: &sensors.Shared{}, Log: slog.New(slog.DiscardHandler), Completed: func() {},
	})
	require.ErrorContains(t, err, "begin broken: ")
	if !errors.Is(err, gpu.ErrNotSupported) { // as on a device without a compiler
		assert.ErrorContains(t, err, "compile compute shader: ")
		gl.DebugErrors() // Mesa's drivers report it there, too
	}
	require.NoError(t, s.End())
	require.NoError(t, s.End())
	assert.Zero(t, s.Pending())
}

func TestWithoutAGPU(t *testing.T) {
	s := compute.New(sensors.Spec{Name: "deaf"}, compute.Shader[uint32]{Entry: &shaders.Rays, Results: 64, Publish: nothing})
	var unsupported *gpu.UnsupportedError
	require.ErrorAs(t, s.Begin(context.Background(), &sensors.Env{}), &unsupported)
	require.NoError(t, s.End())
}
