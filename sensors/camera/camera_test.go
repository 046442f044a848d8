package camera_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mounted is one camera of a rig.
type mounted struct {
	definition *sensors.Definition
	mount      spatial.Pose
	attributes map[string]any
}

// rig is several cameras on one ego that share what a pipeline's cameras share.
// It belongs to the test's goroutine.
type rig struct {
	log      bytes.Buffer // what the sensors said
	tb       testing.TB
	thread   *gpu.Thread
	geometry *scene.Geometry
	resident *scene.Resident
	history  *scene.History
	shared   *sensors.Shared
	cameras  []sensors.Capturer
	deaf     []bool // cameras that nobody listens to
	only     string // the one output that is listened to, "" for all
	messages []map[string][]any
	drops    map[flow.Cause]int
	lost     map[int][]int64 // the instants of each camera's drops
	seq      uint64
	ended    bool
	// forgetful keeps no messages, for benchmarks.
	forgetful bool
}

// newRigOn begins the cameras on a scene whose ego follows the motion (nil: it
// stands at the scene's Ego pose).
func newRigOn(tb testing.TB, thread *gpu.Thread, s *scene.Scene, ego scene.Motion, list ...mounted) *rig {
	tb.Helper()
	geometry, err := scene.Build(context.Background(), s, scene.BuildOptions{})
	require.NoError(tb, err)
	r := &rig{tb: tb, thread: thread, geometry: geometry, history: scene.NewHistory(s, ego, 0), shared: &sensors.Shared{}, drops: map[flow.Cause]int{}, lost: map[int][]int64{}}
	r.do(func(c *gpu.Ctx) error {
		r.resident, err = geometry.Upload(c)
		return err
	})
	tb.Cleanup(r.end)
	for i, m := range list {
		r.add(i, m)
	}
	return r
}

// do runs f on the GL thread.
func (r *rig) do(f func(*gpu.Ctx) error) {
	r.tb.Helper()
	require.NoError(r.tb, r.thread.Do(context.Background(), f))
}

func (r *rig) add(i int, m mounted) {
	r.tb.Helper()
	settings := m.definition.NewSettings()
	for name, value := range m.attributes {
		require.NoError(r.tb, settings.Set(name, value))
	}
	if m.mount == (spatial.Pose{}) {
		m.mount = spatial.Identity()
	}
	s, err := m.definition.New(sensors.Spec{
		Definition: m.definition, Name: "camera", FrameID: "camera", Mount: m.mount, Rate: simtime.Hz(10), Settings: settings,
	})
	require.NoError(r.tb, err)
	env := &sensors.Env{
		GL: r.thread, Geometry: r.geometry, Resident: r.resident, History: r.history, Owner: scene.EgoID, Shared: r.shared,
		Dropped: func(at sensors.Tick, cause flow.Cause) {
			r.drops[cause]++
			r.lost[i] = append(r.lost[i], int64(at.Due))
		},
		Completed: func() {}, Log: slog.New(slog.NewTextHandler(&r.log, nil)),
		DeviceTimeout: readback.NoTimeout, // a busy machine loses no picture, as in steps
	}
	r.messages = append(r.messages, map[string][]any{})
	r.deaf = append(r.deaf, false)
	for k := range m.definition.Outputs {
		spec := &m.definition.Outputs[k]
		port := spec.Open()
		port.Connect(sink{r, i, spec})
		env.Ports = append(env.Ports, port)
	}
	require.NoError(r.tb, s.Begin(context.Background(), env))
	r.cameras = append(r.cameras, s.(sensors.Capturer))
}

// fire has all cameras capture at an instant and waits for what comes of it.
func (r *rig) fire(stamp simtime.Stamp) {
	r.tb.Helper()
	r.begin(stamp)
	r.collect(stamp)
}

// begin has all cameras capture at an instant.
func (r *rig) begin(stamp simtime.Stamp) {
	r.tb.Helper()
	r.history.Record(stamp)
	at := sensors.Tick{Due: stamp, PeriodNs: 100_000_000, Seq: r.seq, Frame: r.seq}
	r.seq++
	for _, s := range r.cameras {
		require.NoError(r.tb, s.Tick(at))
	}
	r.do(func(c *gpu.Ctx) error {
		var errs []error
		for _, s := range r.cameras {
			_, err := s.Capture(c, at)
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
}

func (r *rig) collect(stamp simtime.Stamp) {
	r.tb.Helper()
	for r.poll(stamp) > 0 {
	}
}

// poll moves readbacks on once, publishes what is ready up to an instant, and
// returns how many captures are left.
func (r *rig) poll(stamp simtime.Stamp) int {
	r.tb.Helper()
	r.do(func(c *gpu.Ctx) error {
		for _, s := range r.cameras {
			s.Poll(c)
		}
		return nil
	})
	left := 0
	for _, s := range r.cameras {
		s.Process(stamp)
		left += s.Pending()
	}
	return left
}

func (r *rig) end() {
	if r.ended {
		return
	}
	r.ended = true
	for _, s := range r.cameras {
		require.NoError(r.tb, s.End())
	}
	require.NoError(r.tb, r.shared.Close())
	r.resident.Close()
}

type sink struct {
	r    *rig
	i    int
	spec *sensors.OutputSpec
}

func (s sink) Listening() bool {
	return !s.r.deaf[s.i] && (s.r.only == "" || s.r.only == s.spec.Name)
}

func (s sink) Status() flow.Status { return flow.Connected }

func (s sink) TryQueue(_ sensors.Tick, message any) bool {
	if s.r.forgetful {
		return true
	}
	kept := s.spec.New()
	s.spec.Copy(kept, message)
	s.r.messages[s.i][s.spec.Name] = append(s.r.messages[s.i][s.spec.Name], kept)
	return true
}

func (s sink) Publish(_ context.Context, at sensors.Tick, message any) error {
	s.TryQueue(at, message)
	return nil
}

// last returns the newest message of a camera's output.
func last[M any](r *rig, i int, output string) M {
	r.tb.Helper()
	list := r.messages[i][output]
	require.NotEmpty(r.tb, list, "camera %d has published nothing on %s; drops %v", i, output, r.drops)
	return list[len(list)-1].(M)
}

// picture returns a camera's newest image.
func (r *rig) picture(i int) *sample.Image { return last[*sample.Image](r, i, camera.OutputImage) }

// at returns where pixel (u, v) lies in the image's data.
func at(m *sample.Image, u, v, bytes int) []byte {
	o := v*m.Step + u*bytes
	return m.Data[o : o+bytes]
}

func float(b []byte) float64 {
	return float64(math.Float32frombits(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24))
}

func depthAt(m *sample.Image, u, v int) float64 { return float(at(m, u, v, 4)) }

func pixelAt(m *sample.Image, u, v int) [3]int {
	b := at(m, u, v, 3)
	return [3]int{int(b[0]), int(b[1]), int(b[2])}
}

func normalAt(m *sample.Image, u, v int) mgl64.Vec3 {
	b := at(m, u, v, 12)
	return mgl64.Vec3{float(b), float(b[4:]), float(b[8:])}
}

// forward is a mount at a height that looks along +x.
func forward(height float64) spatial.Pose { return spatial.FromRPY(mgl64.Vec3{0, 0, height}, 0, 0, 0) }

// size returns the attributes of a small picture.
func size(width, height int, more ...any) map[string]any {
	m := map[string]any{"image_size_x": width, "image_size_y": height}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	return m
}

// TestACameraThatCannotBeginLeavesNothing runs out of each GPU object in turn, with a
// view that is rasterised and one that is traced.
func TestACameraThatCannotBeginLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		definition *sensors.Definition
		attributes map[string]any
	}{
		"pinhole": {camera.RGBDefinition, size(16, 12, "compressed", "jpeg")},
		"fisheye": {camera.DVSDefinition, size(16, 12, "lens", "svl_fisheye", "xi", 1)},
		"shadows": {camera.RGBDefinition, size(16, 12, "shadows", "traced")},
	} {
		t.Run(name, func(t *testing.T) {
			sensortest.BeginFails(t, c.definition, sensortest.Options{Scene: scenetest.MovingWall(20, 1), Attributes: c.attributes})
		})
	}
}

// TestAViewIsDeletedWithItsLastUser has a camera and a Visibility look through one lens.
func TestAViewIsDeletedWithItsLastUser(t *testing.T) {
	r := newRigOn(t, gputest.NewFake().Start(t), scenetest.MovingWall(20, 1), nil, mounted{camera.DepthDefinition, forward(1), size(48, 32)})
	env := &sensors.Env{GL: r.thread, Geometry: r.geometry, Resident: r.resident, History: r.history, Shared: r.shared}
	see := func(width int) *camera.Visibility {
		lens, err := camera.NewLens(width, 32, 90)
		require.NoError(t, err)
		v, err := camera.NewVisibility(t.Context(), env, camera.Sight{Mount: forward(1), Lens: lens, Near: 0.05, Far: 2000})
		require.NoError(t, err)
		return v
	}
	before := r.thread.Live()
	same := see(48)
	assert.ElementsMatch(t, before, r.thread.Live(), "what the camera sees")
	other := see(64)
	assert.Greater(t, len(r.thread.Live()), len(before))
	other.Close()
	assert.ElementsMatch(t, before, r.thread.Live())
	require.NoError(t, r.cameras[0].End())
	assert.Contains(t, r.thread.Live(), `texture "camera ids"`, "the other still looks")
	same.Close()
	assert.NotContains(t, r.thread.Live(), `texture "camera ids"`)
}

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
		mounted{camera.RGBDefinition, forward(1), size(48, 32)}, mounted{camera.DepthDefinition, forward(1), size(48, 32)})
	r.fire(0)
	fake.ClearLog()
	r.fire(simtime.Stamp(second))
	list := commands(fake.Log())
	count := map[string]int{}
	for _, c := range list {
		count[c]++
	}
	assert.Equal(t, 2, count[`Dispatch "camera.shade"`], "a dispatch a picture, as on GPUs: %v", list)
	assert.Equal(t, 1, count[`Draw "camera.ids"`], "one visibility pass: %v", list)
	assert.Equal(t, 1, count[`Draw "camera.shadow"`], "the moving wall's shadow alone: %v", list)
	assert.Equal(t, 2, count[`CopyBuffer "camera"`], "a copy a picture: %v", list)
	assert.Len(t, list, 8, "and two clears: %v", list)
}

// TestADistortedViewIsTraced has no rasteriser draw for it, and what is traced ordered
// before what reads it.
func TestADistortedViewIsTraced(t *testing.T) {
	fake := gputest.NewFake()
	bent := func() map[string]any { return size(48, 32, "lens", "svl", "distortion", "-0.05,0,0,0") }
	r := newRigOn(t, fake.Start(t), scenetest.MovingWall(20, 1), nil,
		mounted{camera.DepthDefinition, forward(1), bent()}, mounted{camera.NormalsDefinition, forward(1), bent()})
	r.fire(0)
	fake.ClearLog()
	r.fire(simtime.Stamp(second))
	assert.Equal(t, []string{
		`Dispatch "camera.trace"`, `Dispatch "camera.shade"`, `Dispatch "camera.shade"`, `CopyBuffer "camera"`, `CopyBuffer "camera"`,
	}, commands(fake.Log()))
	traced := slices.IndexFunc(fake.Log(), func(line string) bool { return strings.Contains(line, `Dispatch "camera.trace"`) })
	assert.Contains(t, fake.Log()[traced+1], fmt.Sprintf("Barrier %v", gpu.BarrierTextureFetch))
}

// TestSlowGPU has no fence signal until later captures have filled the pool. Those that find no
// room are dropped and counted, and the others come in order. No picture is written while it
// waits to be copied (the fake would fault).
func TestSlowGPU(t *testing.T) {
	fake := gputest.NewFake()
	r := newRigOn(t, fake.Start(t), scenetest.MovingWall(20, 1), nil,
		mounted{camera.DepthDefinition, forward(1), size(48, 32)}, mounted{camera.RGBDefinition, forward(1), size(48, 32)})
	r.fire(0)
	before := fake.Fences()
	fake.SetFences(gputest.FenceScript{Hold: true})
	const captures = 10
	for k := int64(1); k <= captures; k++ {
		r.begin(simtime.Stamp(k * second))
		r.poll(simtime.Stamp(k * second))
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
	for r.poll(simtime.Stamp(captures*second)) > 0 {
		for n := range fake.Fences() {
			fake.Signal(n)
		}
	}
	for i := range r.cameras {
		stamps := []int64{}
		for _, m := range r.messages[i][camera.OutputImage] {
			stamps = append(stamps, int64(m.(*sample.Image).Stamp))
		}
		assert.IsIncreasing(t, stamps)
		all := []int64{0}
		for k := int64(1); k <= captures; k++ {
			all = append(all, k*second)
		}
		assert.ElementsMatch(t, all, append(stamps, r.lost[i]...), "each firing is published, or named as lost")
	}
	published := len(r.messages[0][camera.OutputImage]) + len(r.messages[1][camera.OutputImage])
	assert.Equal(t, 2*(captures+1), published+full, "each capture was published or counted")
}

func TestALostCaptureIsCounted(t *testing.T) {
	fake := gputest.NewFake()
	r := newRigOn(t, fake.Start(t), scenetest.MovingWall(20, 1), nil, mounted{camera.DepthDefinition, forward(1), size(48, 32)})
	r.fire(0)
	fake.Fail("PollFence", errors.New("scripted"))
	r.fire(simtime.Stamp(second))
	r.fire(simtime.Stamp(2 * second))
	assert.Equal(t, map[flow.Cause]int{flow.CauseReadbackFailed: 1}, r.drops)
	assert.Len(t, r.messages[0][camera.OutputImage], 2)
}

func TestAFailedPassLosesAllItsPictures(t *testing.T) {
	fake := gputest.NewFake()
	r := newRigOn(t, fake.Start(t), scenetest.MovingWall(20, 1), nil,
		mounted{camera.DepthDefinition, forward(1), size(48, 32)}, mounted{camera.SemanticDefinition, forward(1), size(48, 32)})
	r.fire(0)
	scripted := errors.New("scripted")
	fake.Fail("Dispatch", scripted)
	at := sensors.Tick{Due: simtime.Stamp(second)}
	for _, s := range r.cameras {
		require.NoError(t, s.Tick(at))
	}
	r.do(func(c *gpu.Ctx) error {
		issued, err := r.cameras[0].Capture(c, at)
		assert.False(t, issued)
		assert.ErrorIs(t, err, scripted)
		issued, err = r.cameras[1].Capture(c, at)
		assert.False(t, issued, "its picture was not made")
		assert.ErrorIs(t, err, scripted)
		return nil
	})
	assert.Empty(t, r.drops, "an error ends the run, it is not a drop")
	r.fire(simtime.Stamp(2 * second))
	for i := range r.cameras {
		assert.Len(t, r.messages[i][camera.OutputImage], 2)
	}
}

func TestALostContextFailsTheCapture(t *testing.T) {
	fake := gputest.NewFake()
	r := newRigOn(t, fake.Start(t), scenetest.MovingWall(20, 1), nil, mounted{camera.DepthDefinition, forward(1), size(48, 32)})
	r.fire(0)
	fake.Lose()
	require.NoError(t, r.cameras[0].Tick(sensors.Tick{Due: simtime.Stamp(second)}))
	err := r.thread.Do(t.Context(), func(c *gpu.Ctx) error {
		_, err := r.cameras[0].Capture(c, sensors.Tick{Due: simtime.Stamp(second)})
		return err
	})
	require.ErrorIs(t, err, gpu.ErrContextLost)
}

func TestEndWithCapturesUnderWay(t *testing.T) {
	fake := gputest.NewFake()
	r := newRigOn(t, fake.Start(t), scenetest.MovingWall(20, 1), nil,
		mounted{camera.RGBDefinition, forward(1), size(48, 32, "compressed", "png")}, mounted{camera.DepthDefinition, forward(1), size(48, 32)})
	fake.SetFences(gputest.FenceScript{Hold: true})
	r.begin(0)
	r.begin(simtime.Stamp(second))
	assert.Positive(t, r.cameras[0].Pending())
	r.end() // the fake's thread fails the test for what isn't closed
	assert.Empty(t, r.messages[0][camera.OutputImage])
	assert.Equal(t, map[flow.Cause]int{flow.CauseClosed: 4}, r.drops)
	require.NoError(t, r.cameras[0].End(), "again is a no-op")
}

func TestEndWithPicturesBeingCompressed(t *testing.T) {
	fake := gputest.NewFake()
	r := newRigOn(t, fake.Start(t), scenetest.MovingWall(20, 1), nil,
		mounted{camera.RGBDefinition, forward(1), size(48, 32, "compressed", "png")})
	r.begin(simtime.Stamp(second))
	r.do(func(c *gpu.Ctx) error {
		r.cameras[0].Poll(c)
		r.cameras[0].Poll(c)
		return nil
	})
	assert.Zero(t, r.cameras[0].Process(simtime.Stamp(second-1)), "it isn't due")
	r.cameras[0].Process(simtime.Stamp(second))
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
	r := newRigOn(t, fake.Start(t), scenetest.MovingWall(20, 1), nil, mounted{camera.DepthDefinition, forward(1), size(48, 32)})
	for k := range int64(500) {
		require.NoError(t, r.cameras[0].Tick(sensors.Tick{Due: simtime.Stamp(k)}))
	}
	r.fire(simtime.Stamp(second))
	assert.Len(t, r.messages[0][camera.OutputImage], 1)
	assert.EqualValues(t, 1, camera.StatsOf(r.shared).Visibility)
}

// TestNothingIsCompressedForNobody has only the plain picture listened to.
func TestNothingIsCompressedForNobody(t *testing.T) {
	r := newRigOn(t, gputest.NewFake().Start(t), scenetest.MovingWall(12, 0), nil, mounted{camera.RGBDefinition, forward(1), size(32, 32, "compressed", "png")})
	r.only = camera.OutputImage
	for k := range int64(3) {
		r.begin(simtime.Stamp(k * second))
		r.do(func(c *gpu.Ctx) error {
			r.cameras[0].Poll(c)
			r.cameras[0].Poll(c)
			return nil
		})
		assert.Equal(t, 1, r.cameras[0].Process(simtime.Stamp(k*second)))
		assert.Zero(t, r.cameras[0].Pending())
	}
	assert.Len(t, r.messages[0][camera.OutputImage], 3)
	assert.Empty(t, r.messages[0][camera.OutputCompressed])
}
