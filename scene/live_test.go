//go:build cgo

package scene_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/spatial"
)

func TestMain(m *testing.M) { gputest.Main(m) }

// listedRay and listedHit are shaders.SceneTrace's records.
type listedRay struct {
	origin    [3]float32
	tmin      float32
	direction [3]float32
	tmax      float32
	seconds   float32
	_         [3]float32
}

type listedHit struct {
	t, u, v  float32
	triangle int32
	normal   [3]float32
	mover    int32
}

func bytesOf[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
}

// caster runs shaders.SceneTrace over one world.
type caster struct {
	t        testing.TB
	thread   *gpu.Thread
	world    *scene.World
	packer   *scene.Packer
	resident *scene.Resident
	motion   *scene.CaptureTable
	program  *gpu.Program
	packed   []byte
}

func newCaster(t testing.TB, w *scene.World, h *scene.History, defines ...shaders.Define) *caster {
	c := &caster{t: t, thread: gputest.Thread(t), world: w, packer: scene.NewPacker(w, h)}
	c.packed = make([]byte, c.packer.MotionBytes())
	source, err := shaders.Source(&shaders.SceneTrace, defines...)
	require.NoError(t, err)
	gputest.Do(t, c.thread, func(ctx *gpu.Ctx) (err error) {
		if c.resident, err = w.Upload(ctx); err != nil {
			return err
		}
		if c.motion, err = c.packer.NewMotionTable(ctx); err != nil {
			return err
		}
		c.program, err = ctx.NewProgram(gpu.ProgramDesc(source))
		return err
	})
	t.Cleanup(func() { c.resident.Close(); c.motion.Close(); c.program.Close() })
	return c
}

// cast traces rays over a window and returns their hits, waiting for each; n
// times, for benchmarks.
func (c *caster) cast(rays []listedRay, window scene.Window, n int) []listedHit {
	hits := make([]listedHit, len(rays))
	used, err := c.packer.Motion(c.packed, window)
	require.NoError(c.t, err)
	gputest.Do(c.t, c.thread, func(ctx *gpu.Ctx) error {
		in, err := ctx.NewBuffer(gpu.BufferDesc{Label: "rays", Size: len(bytesOf(rays)), Data: bytesOf(rays)})
		if err != nil {
			return err
		}
		defer in.Close()
		out, err := ctx.NewBuffer(gpu.BufferDesc{Label: "hits", Size: len(bytesOf(hits))})
		if err != nil {
			return err
		}
		defer out.Close()
		if err := c.motion.Write(ctx, c.packed[:used]); err != nil {
			return err
		}
		bind := append(c.resident.Bindings(nil), c.motion.Binding(),
			gpu.Binding{Kind: gpu.BindStorage, Slot: 0, Buffer: in},
			gpu.Binding{Kind: gpu.BindStorage, Slot: 1, Buffer: out})
		groups := shaders.SceneTrace.Groups(8, (len(rays)/shaders.TracedRays+8)/8, 1)
		for range n {
			if err := ctx.Dispatch(&gpu.Dispatch{Program: c.program, Bind: bind, Groups: groups}); err != nil {
				return err
			}
		}
		if err := ctx.Barrier(gpu.BarrierBufferUpdate); err != nil {
			return err
		}
		return ctx.ReadBuffer(out, 0, bytesOf(hits))
	})
	return hits
}

func randomRays(seed uint64, n int, reach float64) []listedRay {
	rng := rand.New(rand.NewPCG(seed, 77))
	rays := make([]listedRay, n)
	for i := range rays {
		o := mgl64.Vec3{rng.Float64()*2 - 1, rng.Float64()*2 - 1, rng.Float64() * 0.2}.Mul(reach)
		d := mgl64.Vec3{rng.NormFloat64(), rng.NormFloat64(), 0.4 * rng.NormFloat64()}.Normalize()
		rays[i] = listedRay{tmin: 0.01, tmax: 300, seconds: float32(rng.Float64() * 0.1)}
		for a := range 3 {
			rays[i].origin[a], rays[i].direction[a] = float32(o[a]), float32(d[a])
		}
	}
	return rays
}

// compare holds hits beside the reference tracer.
func compare(tr *scenetest.Tracer, w *scene.World, rays []listedRay, hits []listedHit, startNs int64) *scenetest.Agreement {
	var a scenetest.Agreement
	for i, r := range rays {
		got := math.Inf(1)
		if hits[i].triangle >= 0 {
			got = float64(hits[i].t)
		}
		at := startNs + int64(math.Round(float64(r.seconds)*1e9))
		a.Add(tr, wide(r.origin).Add(w.Anchor), wide(r.direction), float64(r.tmin), float64(r.tmax), at, got)
	}
	return &a
}

func TestTraceAgreesWithTheReferenceOnSoups(t *testing.T) {
	for _, moving := range []bool{false, true} {
		s := scenetest.Soup(7, 6000, moving)
		w := buildWorld(t, s)
		h := recorded(s, nil)
		rays := randomRays(3, 8000, 40)
		hits := newCaster(t, w, h).cast(rays, scene.Window{Mount: spatial.Identity(), StartNs: 100e6, EndNs: 200e6}, 1)
		a := compare(scenetest.NewTracer(s, h.Pose), w, rays, hits, 100e6)
		t.Log("moving", moving, a)
		assert.Zero(t, a.Wrong)
		assert.GreaterOrEqual(t, a.Share(), 0.9999)
	}
}
