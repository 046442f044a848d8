package compute

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/shaders"
)

// Captures in flight: the pool's slots bound them (law R4), and two targets are enough
// to write one while the other waits to be copied.
const (
	slots   = 4
	targets = 2
)

// texelBytes is the size of a row of Shader.Table.
const texelBytes = 16

// Shader is the compute shader of a sensor and what it works on.
type Shader[E any] struct {
	// Entry names the source; Defines are its constants for this sensor.
	Entry   *shaders.Entry
	Defines []shaders.Define
	// Results is how many records of E a capture has, Invocations how many
	// invocations write them, in x, y and z.
	Results     int
	Invocations [3]int
	// UniformBytes is the size of the uniform block, 0 for none, and TableRows the
	// number of rows of four uint32 of the table, 0 for none.
	UniformBytes, TableRows int
	// Prepare fills in the uniform block (std140) and the table for one capture, both
	// little endian; they hold what the capture before had, at first zeros. It reports
	// whether it has changed the table, which else stays as it is on the GPU. It may be
	// nil, and is called on the GL thread: it must not wait.
	Prepare func(env *sensors.Env, at sensors.Tick, uniforms, table []byte) (changed bool)
	// Publish publishes what one capture has computed. It is called on the goroutine
	// that calls Process; results are valid until it returns.
	Publish func(at sensors.Tick, header sample.Header, results []E)
}

// capture travels with the results (law R3).
type capture struct {
	at     sensors.Tick
	header sample.Header
}

// Sensor generates its data by a Shader. It implements sensors.Capturer.
type Sensor[E any] struct {
	spec   sensors.Spec
	shader Shader[E]
	env    *sensors.Env
	pool   *readback.Pool[capture, E]
	ended  bool // guarded by the pipeline's order of calls

	// Owned by the GL thread.
	program  *gpu.Program
	uniforms *gpu.Buffer
	table    *gpu.Buffer
	texture  *gpu.Texture
	ring     [targets]*gpu.Buffer
	next     int
	motion   *scene.CaptureTable
	packer   *scene.Packer
	packed   []byte
	scratch  struct{ uniforms, table []byte }
	bind     []gpu.Binding
}

// New returns a sensor that isn't begun yet.
func New[E any](spec sensors.Spec, shader Shader[E]) *Sensor[E] {
	return &Sensor[E]{spec: spec, shader: shader}
}

// Env returns what Begin was given.
func (s *Sensor[E]) Env() *sensors.Env { return s.env }

// Spec returns what the sensor was made of.
func (s *Sensor[E]) Spec() *sensors.Spec { return &s.spec }

// Begin compiles the shader and makes the buffers.
func (s *Sensor[E]) Begin(ctx context.Context, env *sensors.Env) (err error) {
	s.env = env
	if env.GL == nil {
		return fmt.Errorf("begin %s: %w", s.spec.Name, &gpu.UnsupportedError{Feature: "OpenGL", Need: "a pipeline with a GL thread"})
	}
	s.pool, err = readback.New(readback.Config{
		Label: s.spec.Name, Slots: slots, MaxElements: s.shader.Results, Notify: env.Completed,
	}, s.complete)
	if err != nil {
		return err
	}
	if err := env.GL.Do(ctx, s.open); err != nil {
		return errors.Join(fmt.Errorf("begin %s: %w", s.spec.Name, err), s.End())
	}
	return nil
}

// open makes the GPU objects. GL thread.
func (s *Sensor[E]) open(c *gpu.Ctx) error {
	source, err := shaders.Source(s.shader.Entry, s.shader.Defines...)
	if err != nil {
		return err
	}
	if s.program, err = c.NewProgram(gpu.ProgramDesc(source)); err != nil {
		return err
	}
	if err := s.openInputs(c); err != nil {
		return err
	}
	for i := range s.ring {
		size := s.shader.Results * recordBytes[E]()
		if s.ring[i], err = c.NewBuffer(gpu.BufferDesc{Label: s.spec.Name + " results", Size: size}); err != nil {
			return err
		}
	}
	s.packer = scene.NewPacker(s.env.World, s.env.History)
	s.packed = make([]byte, s.packer.MotionBytes())
	if s.motion, err = s.packer.NewMotionTable(c); err != nil {
		return err
	}
	return s.pool.Prepare(c)
}

// openInputs makes the uniform block and the table. GL thread.
func (s *Sensor[E]) openInputs(c *gpu.Ctx) (err error) {
	if n := s.shader.UniformBytes; n > 0 {
		s.scratch.uniforms = make([]byte, n)
		if s.uniforms, err = c.NewBuffer(gpu.BufferDesc{Label: s.spec.Name + " uniforms", Size: n}); err != nil {
			return err
		}
	}
	if n := s.shader.TableRows * texelBytes; n > 0 {
		s.scratch.table = make([]byte, n)
		if s.table, err = c.NewBuffer(gpu.BufferDesc{Label: s.spec.Name + " table", Size: n}); err != nil {
			return err
		}
		s.texture, err = c.NewTexture(gpu.TextureDesc{
			Label: s.spec.Name + " table", Kind: gpu.TextureBuffer, Format: gpu.FormatRGBA32UI, Buffer: s.table,
		})
	}
	return err
}

// Tick does nothing: a sensor of its own kind needs no announcement.
func (s *Sensor[E]) Tick(sensors.Tick) error { return nil }

func recordBytes[E any]() int {
	var e E
	return int(unsafe.Sizeof(e))
}

// Capture dispatches the shader and starts reading its results back. GL thread.
func (s *Sensor[E]) Capture(c *gpu.Ctx, at sensors.Tick) (issued bool, err error) {
	target := s.ring[s.next]
	err = s.pool.Begin(c)
	if errors.Is(err, readback.ErrFull) || (err == nil && s.pool.Holds(target)) {
		s.env.Dropped(flow.CauseReadbackFull, 1)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.next = (s.next + 1) % targets
	if err := s.write(c, at); err != nil {
		return false, err
	}
	if err := s.dispatch(c, target); err != nil {
		return false, err
	}
	started, err := s.pool.Start(c, readback.Buffer(target), at.TimeNs)
	if err != nil {
		return false, err
	}
	started.Data = capture{at, at.Header(s.spec.FrameID, s.env.Pose(s.spec.Mount, at.TimeNs))}
	return true, nil
}

// write brings the inputs of a capture to the GPU.
func (s *Sensor[E]) write(c *gpu.Ctx, at sensors.Tick) error {
	n, err := s.packer.Motion(s.packed, scene.Window{
		Parent: s.env.Owner, Mount: s.spec.Mount, StartNs: at.TimeNs, EndNs: at.TimeNs,
	})
	if err != nil {
		return err
	}
	if err := s.motion.Write(c, s.packed[:n]); err != nil {
		return err
	}
	if s.shader.Prepare == nil {
		return nil
	}
	changed := s.shader.Prepare(s.env, at, s.scratch.uniforms, s.scratch.table)
	if s.uniforms != nil {
		if err := c.WriteBuffer(s.uniforms, 0, s.scratch.uniforms); err != nil {
			return err
		}
	}
	if s.table != nil && changed {
		return c.WriteBuffer(s.table, 0, s.scratch.table)
	}
	return nil
}

func (s *Sensor[E]) dispatch(c *gpu.Ctx, target *gpu.Buffer) error {
	s.bind = append(s.env.Resident.Bindings(s.bind[:0]),
		s.motion.Binding(),
		gpu.Binding{Kind: gpu.BindStorage, Slot: 0, Buffer: target},
	)
	if s.texture != nil {
		s.bind = append(s.bind, gpu.Binding{Kind: gpu.BindSampler, Slot: shaders.SlotSensor, Texture: s.texture})
	}
	if s.uniforms != nil {
		s.bind = append(s.bind, gpu.Binding{Kind: gpu.BindUniform, Slot: 0, Buffer: s.uniforms})
	}
	n := s.shader.Invocations
	err := c.Dispatch(&gpu.Dispatch{Program: s.program, Bind: s.bind, Groups: s.shader.Entry.Groups(n[0], n[1], n[2])})
	if err != nil {
		return err
	}
	return c.Barrier(gpu.BarrierFor(gpu.SourceBuffer))
}

// Poll moves finished readbacks on. GL thread.
func (s *Sensor[E]) Poll(c *gpu.Ctx) { s.pool.Poll(c) }

// Process publishes the captures that have come back, up to the instant through.
func (s *Sensor[E]) Process(through int64) int { return s.pool.ProcessThrough(through) }

// Pending returns the captures in flight.
func (s *Sensor[E]) Pending() int { return s.pool.Pending() }

// ReadbackStats returns how the results came back.
func (s *Sensor[E]) ReadbackStats() readback.Stats { return s.pool.Stats() }

// complete publishes one capture; it runs in Process.
func (s *Sensor[E]) complete(k *readback.Capture[capture, E], lease readback.Lease[E], err error) {
	defer lease.Release()
	switch {
	case errors.Is(err, readback.ErrClosed):
		s.env.Dropped(flow.CauseClosed, 1)
	case err != nil:
		s.env.Dropped(flow.CauseReadbackFailed, 1)
		s.env.Log.Warn("a capture was lost", "error", err)
	default:
		s.shader.Publish(k.Data.at, k.Data.header, lease.Slice())
	}
}

// End frees everything; captures in flight are lost. Again it does nothing.
func (s *Sensor[E]) End() error {
	if s.ended || s.pool == nil {
		return nil
	}
	s.ended = true
	err := s.pool.Close()
	if s.motion != nil {
		s.motion.Close()
	}
	if s.texture != nil {
		s.texture.Close()
	}
	if s.program != nil {
		s.program.Close()
	}
	for _, b := range append(s.ring[:], s.uniforms, s.table) {
		if b != nil {
			b.Close()
		}
	}
	return err
}

var _ sensors.Capturer = (*Sensor[uint32])(nil)
