package camera_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
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
	world    *scene.World
	resident *scene.Resident
	history  *scene.History
	shared   *sensors.Shared
	cameras  []sensors.Capturer
	deaf     []bool // cameras that nobody listens to
	only     string // the one output that is listened to, "" for all
	messages []map[string][]any
	drops    map[flow.Cause]int
	seq      uint64
	ended    bool
	// forgetful keeps no messages, for benchmarks.
	forgetful bool
}

// newRigOn begins the cameras on a scene whose ego follows the motion (nil: it
// stands at the scene's Ego pose).
func newRigOn(tb testing.TB, thread *gpu.Thread, s *scene.Scene, ego scene.Motion, list ...mounted) *rig {
	tb.Helper()
	world, err := scene.Build(context.Background(), s, scene.BuildOptions{})
	require.NoError(tb, err)
	r := &rig{tb: tb, thread: thread, world: world, history: scene.NewHistory(s, ego, 0), shared: &sensors.Shared{}, drops: map[flow.Cause]int{}}
	r.do(func(c *gpu.Ctx) error {
		r.resident, err = world.Upload(c)
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
		Definition: m.definition, Name: "camera", FrameID: "camera", Mount: m.mount, RateHz: 10, Settings: settings,
	})
	require.NoError(r.tb, err)
	env := &sensors.Env{
		GL: r.thread, World: r.world, Resident: r.resident, History: r.history, Owner: scene.EgoID, Shared: r.shared,
		Dropped: func(cause flow.Cause, n int) { r.drops[cause] += n }, Completed: func() {}, Log: slog.New(slog.NewTextHandler(&r.log, nil)),
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
func (r *rig) fire(tNs int64) {
	r.tb.Helper()
	r.begin(tNs)
	r.collect(tNs)
}

// begin has all cameras capture at an instant.
func (r *rig) begin(tNs int64) {
	r.tb.Helper()
	r.history.Record(tNs)
	at := sensors.Tick{TimeNs: tNs, PeriodNs: 100_000_000, Seq: r.seq, Frame: r.seq}
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

func (r *rig) collect(tNs int64) {
	r.tb.Helper()
	for r.poll(tNs) > 0 {
	}
}

// poll moves readbacks on once, publishes what is ready up to an instant, and
// returns how many captures are left.
func (r *rig) poll(tNs int64) int {
	r.tb.Helper()
	r.do(func(c *gpu.Ctx) error {
		for _, s := range r.cameras {
			s.Poll(c)
		}
		return nil
	})
	left := 0
	for _, s := range r.cameras {
		s.Process(tNs)
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
