package pipeline_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

var errBroken = errors.New("broken")

// TestASensorsErrorEndsThePipeline: what is in flight then is lost, so no later
// run may mix it up with its own.
func TestASensorsErrorEndsThePipeline(t *testing.T) {
	fifth := func(_ string, at sensors.Tick) error {
		if at.TimeNs >= 50_000_000 {
			return errBroken
		}
		return nil
	}
	panics := func(name string, at sensors.Tick) error {
		if fifth(name, at) != nil {
			panic("capture")
		}
		return nil
	}
	for name, do := range map[string]*script{
		"computing": {tick: fifth}, "capturing": {capture: fifth}, "panicking": {capture: panics},
	} {
		for modeName, mode := range map[string]pipeline.Mode{"stepped": pipeline.Stepped, "realtime": pipeline.Realtime} {
			t.Run(name+" "+modeName, func(t *testing.T) {
				p := newScripted(t, do, pipeline.Config{Mode: mode})
				captured := addScripted(t, p, laggyID, "captured", "100")
				computed := addScripted(t, p, plainID, "computed", "100")
				var stamps []int64
				hear(t, captured, func(_ sensors.Tick, m *sample.Imu) { stamps = append(stamps, m.StampNs) })
				hear(t, computed, func(sensors.Tick, *sample.Imu) {})
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				err := p.Run(ctx, 0)
				require.Error(t, err)
				require.NoError(t, ctx.Err(), "the run did not end by itself")
				if name != "panicking" {
					require.ErrorIs(t, err, errBroken)
				}
				if mode == pipeline.Stepped {
					assert.Subset(t, []int{4, 5}, []int{len(stamps)}, "everything before is published")
					everyMs(t, 10, stamps)
				}
				require.Equal(t, err, p.Run(t.Context(), time.Second), "and again")
				require.NoError(t, p.Close(t.Context()))
			})
		}
	}
}

func TestASensorThatCantBeginEndsThePipeline(t *testing.T) {
	var begun, ended []string
	do := &script{
		begin: func(_ context.Context, name string) error {
			if name == "b" {
				return errBroken
			}
			begun = append(begun, name)
			return nil
		},
		ended: func(name string) { ended = append(ended, name) },
	}
	p := newScripted(t, do, pipeline.Config{})
	for _, name := range []string{"a", "b", "c"} {
		addScripted(t, p, plainID, name, "100")
	}
	require.ErrorIs(t, p.Run(t.Context(), time.Second), errBroken)
	require.ErrorIs(t, p.Run(t.Context(), time.Second), errBroken, "a sensor is missing")
	require.NoError(t, p.Close(t.Context()))
	assert.Equal(t, []string{"a"}, begun)
	assert.Equal(t, begun, ended)
	require.ErrorIs(t, p.Run(t.Context(), time.Second), pipeline.ErrClosed)
}

// TestAnEndDuringTheStartIsNoError: compiling shaders takes a while, and the user
// may have seen enough.
func TestAnEndDuringTheStartIsNoError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := newScripted(t, &script{begin: func(ctx context.Context, _ string) error {
		cancel()
		return ctx.Err()
	}}, pipeline.Config{})
	addScripted(t, p, plainID, "s", "100")
	require.NoError(t, p.Run(ctx, time.Second))
	require.Error(t, p.Run(t.Context(), time.Second), "its sensors have not begun")
	require.NoError(t, p.Close(t.Context()))
}

func TestARunOfNegativeLengthIsRefused(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	require.ErrorIs(t, p.Run(t.Context(), -time.Second), pipeline.ErrConfig)
}
