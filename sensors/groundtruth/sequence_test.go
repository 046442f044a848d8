package groundtruth_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
)

// definitions are all sensors of the package.
var definitions = []*sensors.Definition{groundtruth.Boxes2DDefinition, groundtruth.Boxes3DDefinition}

// capture begins one capture and doesn't wait for it.
func capture(t *testing.T, h *sensortest.Harness, tNs int64) {
	t.Helper()
	h.Env.History.Record(tNs)
	at := sensors.Tick{TimeNs: tNs, PeriodNs: 100_000_000}
	require.NoError(t, h.Sensor.Tick(at))
	require.NoError(t, h.Env.GL.Do(t.Context(), func(c *gpu.Ctx) error {
		_, err := h.Sensor.(sensors.Capturer).Capture(c, at)
		return err
	}))
}

// TestSlowGPU has no fence signal until later captures have filled the pool: those that
// find no room are counted, the others come in order, and no tally is written while it
// waits to be copied (the fake would fault).
func TestSlowGPU(t *testing.T) {
	for _, d := range definitions {
		t.Run(d.ID, func(t *testing.T) {
			fake := gputest.NewFake()
			h := sensortest.New(t, d, sensortest.Options{Scene: scenetest.MovingWall(20, 1), GL: fake.Start(t)})
			h.Fire(0)
			before := fake.Fences()
			fake.SetFences(gputest.FenceScript{Hold: true})
			const captures = 10
			for k := int64(1); k <= captures; k++ {
				capture(t, h, k*100_000_000)
			}
			assert.Len(t, h.Messages[groundtruth.OutputBoxes], 1)
			full := h.Drops[flow.CauseReadbackFull]
			assert.Positive(t, full)
			fake.SetFences(gputest.FenceScript{})
			s := h.Sensor.(sensors.Capturer)
			for s.Pending() > 0 {
				for n := range fake.Fences() {
					if n >= before {
						fake.Signal(n)
					}
				}
				require.NoError(t, h.Env.GL.Do(t.Context(), func(c *gpu.Ctx) error {
					s.Poll(c)
					return nil
				}))
				s.Process(captures * 100_000_000)
			}
			stamps := []int64{}
			for _, m := range h.Messages[groundtruth.OutputBoxes] {
				stamps = append(stamps, m.(interface{ Stamp() int64 }).Stamp())
			}
			assert.IsIncreasing(t, stamps)
			assert.Equal(t, captures+1, len(stamps)+full, "each capture was published or counted")
		})
	}
}

func TestALostCaptureIsCounted(t *testing.T) {
	fake := gputest.NewFake()
	h := sensortest.New(t, groundtruth.Boxes2DDefinition, sensortest.Options{
		Scene: scenetest.MovingWall(20, 1), GL: fake.Start(t), Attributes: map[string]any{"image_size_x": 32, "image_size_y": 24},
	})
	h.Fire(0)
	fake.Fail("PollFence", errors.New("scripted"))
	h.Fire(100_000_000)
	h.Fire(200_000_000)
	assert.Equal(t, map[flow.Cause]int{flow.CauseReadbackFailed: 1}, h.Drops)
	list := h.Messages[groundtruth.OutputBoxes]
	require.Len(t, list, 2)
	assert.EqualValues(t, 200_000_000, list[1].(*sample.Detections2D).StampNs)
}

func TestASensorNeedsAGLThread(t *testing.T) {
	for _, d := range definitions {
		s, err := d.New(sensors.Spec{Definition: d, Settings: d.NewSettings()})
		require.NoError(t, err)
		assert.ErrorIs(t, s.Begin(t.Context(), &sensors.Env{}), gpu.ErrNotSupported)
		assert.NoError(t, s.End())
	}
}

// TestASensorThatCannotBeginLeavesNothing runs out of each GPU object in turn.
func TestASensorThatCannotBeginLeavesNothing(t *testing.T) {
	for _, d := range definitions {
		t.Run(d.ID, func(t *testing.T) {
			sensortest.BeginFails(t, d, sensortest.Options{Scene: scenetest.MovingWall(20, 1)})
		})
	}
}
