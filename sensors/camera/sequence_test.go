package camera_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
)

const second = int64(1e9)

// commands lists the calls of a log that draw, dispatch or copy, by name.
func commands(log []string) []string {
	var list []string
	for _, line := range log {
		words := strings.Fields(line)
		switch words[0] {
		case "Draw", "Dispatch", "CopyBuffer", "ClearFramebuffer":
			name, _, _ := strings.Cut(words[1], "[") // a copy's range
			list = append(list, words[0]+" "+name)
		}
	}
	return list
}

func TestOneInstantsCommands(t *testing.T) {
	fake := gputest.NewFake()
	r := newRigOn(t, fake.Start(t), scenetest.MovingWall(20, 1), nil,
		mounted{camera.RGB, forward(1), size(48, 32)}, mounted{camera.Depth, forward(1), size(48, 32)})
	r.fire(0)
	fake.ClearLog()
	r.fire(second)
	list := commands(fake.Log())
	count := map[string]int{}
	for _, c := range list {
		count[c]++
	}
	assert.Equal(t, 1, count[`Dispatch "camera.shade"`], "one dispatch makes all pictures: %v", list)
	assert.Equal(t, 1, count[`Draw "camera.ids"`], "one visibility pass: %v", list)
	assert.Equal(t, 1, count[`Draw "camera.shadow"`], "the moving wall's shadow alone: %v", list)
	assert.Equal(t, 2, count[`CopyBuffer "camera"`], "a copy a picture: %v", list)
	assert.Len(t, list, 7, "and two clears: %v", list)
}

// TestADistortedViewIsTraced has no rasteriser draw for it, and what is traced ordered
// before what reads it.
func TestADistortedViewIsTraced(t *testing.T) {
	fake := gputest.NewFake()
	bent := func() map[string]any { return size(48, 32, "lens", "svl", "distortion", "-0.05,0,0,0") }
	r := newRigOn(t, fake.Start(t), scenetest.MovingWall(20, 1), nil,
		mounted{camera.Depth, forward(1), bent()}, mounted{camera.Normals, forward(1), bent()})
	r.fire(0)
	fake.ClearLog()
	r.fire(second)
	assert.Equal(t, []string{
		`Dispatch "camera.trace"`, `Dispatch "camera.shade"`, `CopyBuffer "camera"`, `CopyBuffer "camera"`,
	}, commands(fake.Log()))
	traced := slices.IndexFunc(fake.Log(), func(line string) bool { return strings.Contains(line, `Dispatch "camera.trace"`) })
	assert.Contains(t, fake.Log()[traced+1], fmt.Sprintf("Barrier %v", gpu.BarrierTextureFetch))
}

// TestSlowGPU has no fence signal until later captures have filled the pool: those
// that find no room are dropped and counted, the others come in order, and no
// picture is written while it waits to be copied (the fake would fault).
func TestSlowGPU(t *testing.T) {
	fake := gputest.NewFake()
	r := newRigOn(t, fake.Start(t), scenetest.MovingWall(20, 1), nil,
		mounted{camera.Depth, forward(1), size(48, 32)}, mounted{camera.RGB, forward(1), size(48, 32)})
	r.fire(0)
	before := fake.Fences()
	fake.SetFences(gputest.FenceScript{Hold: true})
	const captures = 10
	for k := int64(1); k <= captures; k++ {
		r.begin(k * second)
		r.poll(k * second)
	}
	assert.Len(t, r.messages[0][camera.OutputImage], 1, "nothing is published before its fence")
	full := r.drops[flow.CauseReadbackFull]
	assert.Greater(t, full, 0)
	for n := range fake.Fences() {
		if n >= before {
			fake.Signal(n)
		}
	}
	fake.SetFences(gputest.FenceScript{})
	for r.poll(captures*second) > 0 {
		for n := range fake.Fences() {
			fake.Signal(n)
		}
	}
	for i := range r.cameras {
		stamps := []int64{}
		for _, m := range r.messages[i][camera.OutputImage] {
			stamps = append(stamps, m.(*sample.Image).StampNs)
		}
		assert.IsIncreasing(t, stamps)
	}
	published := len(r.messages[0][camera.OutputImage]) + len(r.messages[1][camera.OutputImage])
	assert.Equal(t, 2*(captures+1), published+full, "each capture was published or counted")
}

func TestALostCaptureIsCounted(t *testing.T) {
	fake := gputest.NewFake()
	r := newRigOn(t, fake.Start(t), scenetest.MovingWall(20, 1), nil, mounted{camera.Depth, forward(1), size(48, 32)})
	r.fire(0)
	fake.Fail("PollFence", errors.New("scripted"))
	r.fire(second)
	r.fire(2 * second)
	assert.Equal(t, map[flow.Cause]int{flow.CauseReadbackFailed: 1}, r.drops)
	assert.Len(t, r.messages[0][camera.OutputImage], 2)
}

func TestAFailedPassLosesAllItsPictures(t *testing.T) {
	fake := gputest.NewFake()
	r := newRigOn(t, fake.Start(t), scenetest.MovingWall(20, 1), nil,
		mounted{camera.Depth, forward(1), size(48, 32)}, mounted{camera.Semantic, forward(1), size(48, 32)})
	r.fire(0)
	scripted := errors.New("scripted")
	fake.Fail("Dispatch", scripted)
	at := sensors.Tick{TimeNs: second}
	for _, s := range r.cameras {
		require.NoError(t, s.Tick(at))
	}
	r.do(func(c *gpu.Ctx) error {
		issued, err := r.cameras[0].Capture(c, at)
		assert.False(t, issued)
		assert.ErrorIs(t, err, scripted)
		issued, err = r.cameras[1].Capture(c, at)
		assert.False(t, issued, "its picture was not made")
		return err
	})
	assert.Equal(t, map[flow.Cause]int{flow.CauseReadbackFailed: 1}, r.drops)
	r.fire(2 * second)
	for i := range r.cameras {
		assert.Len(t, r.messages[i][camera.OutputImage], 2)
	}
}

func TestALostContextFailsTheCapture(t *testing.T) {
	fake := gputest.NewFake()
	r := newRigOn(t, fake.Start(t), scenetest.MovingWall(20, 1), nil, mounted{camera.Depth, forward(1), size(48, 32)})
	r.fire(0)
	fake.Lose()
	require.NoError(t, r.cameras[0].Tick(sensors.Tick{TimeNs: second}))
	err := r.thread.Do(t.Context(), func(c *gpu.Ctx) error {
		_, err := r.cameras[0].Capture(c, sensors.Tick{TimeNs: second})
		return err
	})
	require.ErrorIs(t, err, gpu.ErrContextLost)
}

func TestEndWithCapturesUnderWay(t *testing.T) {
	fake := gputest.NewFake()
	r := newRigOn(t, fake.Start(t), scenetest.MovingWall(20, 1), nil,
		mounted{camera.RGB, forward(1), size(48, 32, "compressed", "png")}, mounted{camera.Depth, forward(1), size(48, 32)})
	fake.SetFences(gputest.FenceScript{Hold: true})
	r.begin(0)
	r.begin(second)
	assert.Positive(t, r.cameras[0].Pending())
	r.end() // the fake's thread fails the test for what isn't closed
	assert.Empty(t, r.messages[0][camera.OutputImage])
	assert.Equal(t, map[flow.Cause]int{flow.CauseClosed: 4}, r.drops)
	require.NoError(t, r.cameras[0].End(), "again is a no-op")
}

func TestEndWithPicturesBeingCompressed(t *testing.T) {
	fake := gputest.NewFake()
	r := newRigOn(t, fake.Start(t), scenetest.MovingWall(20, 1), nil,
		mounted{camera.RGB, forward(1), size(48, 32, "compressed", "png")})
	r.begin(second)
	r.do(func(c *gpu.Ctx) error {
		r.cameras[0].Poll(c)
		r.cameras[0].Poll(c)
		return nil
	})
	assert.Zero(t, r.cameras[0].Process(second-1), "it isn't due")
	r.cameras[0].Process(second)
	left := r.cameras[0].Pending() // 0 where the encoder was faster than Process
	r.end()
	assert.Equal(t, left, r.drops[flow.CauseClosed])
	assert.Len(t, r.messages[0][camera.OutputImage], 1, "the plain picture doesn't wait for the other")
	assert.Equal(t, 1, left+len(r.messages[0][camera.OutputCompressed]))
	assert.Zero(t, r.cameras[0].Pending())
}

// TestCapturesThatWereNotMadeAreForgotten announces captures whose turn on the
// GL thread never comes.
func TestCapturesThatWereNotMadeAreForgotten(t *testing.T) {
	fake := gputest.NewFake()
	r := newRigOn(t, fake.Start(t), scenetest.MovingWall(20, 1), nil, mounted{camera.Depth, forward(1), size(48, 32)})
	for k := range int64(500) {
		require.NoError(t, r.cameras[0].Tick(sensors.Tick{TimeNs: k}))
	}
	r.fire(second)
	assert.Len(t, r.messages[0][camera.OutputImage], 1)
	assert.EqualValues(t, 1, camera.StatsOf(r.shared).Visibility)
}

// TestNothingIsCompressedForNobody has only the plain picture listened to.
func TestNothingIsCompressedForNobody(t *testing.T) {
	r := newRigOn(t, gputest.NewFake().Start(t), scenetest.MovingWall(12, 0), nil, mounted{camera.RGB, forward(1), size(32, 32, "compressed", "png")})
	r.only = camera.OutputImage
	for k := range int64(3) {
		r.begin(k * second)
		r.do(func(c *gpu.Ctx) error {
			r.cameras[0].Poll(c)
			r.cameras[0].Poll(c)
			return nil
		})
		assert.Equal(t, 1, r.cameras[0].Process(k*second))
		assert.Zero(t, r.cameras[0].Pending())
	}
	assert.Len(t, r.messages[0][camera.OutputImage], 3)
	assert.Empty(t, r.messages[0][camera.OutputCompressed])
}
