// Package compute makes sensors out of one compute shader. You only write the GLSL that computes
// the data, and the Go that publishes it.
//
// # Usage
//
// A sensor embeds *Sensor[E], made by New in its Definition's New function. E is the record that
// the shader writes; see readback.Pool for what it may be. Begin opens the sensor's outputs and
// then calls the embedded Begin; the embedded Sensor is the Capturer. Rays and FixedRays make
// its shader if all it needs is the hits of a list of rays. The
// sensors of a pipeline share the programs of equal entries and constants.
//
// # Shader
//
// The GLSL is an entry of the shader catalogue or of the sensor's own package
// (shaders.Entry.Files), and may include this repository's. lib/trace.glsl finds what rays hit,
// sensorPose(momentAt(0.0)) is where the sensor is at the time that Shader.From returns. It is bound to
//
//   - the scene's tables, at the slots that lib/scene.glsl and lib/motion.glsl declare,
//   - Shader.Uniforms at uniform slot 0,
//   - Shader.Table at sampler slot SLOT_SENSOR, a usamplerBuffer,
//   - the results at storage slot 0: Shader.Results records of E,
//   - what its steps hand on, where it has several, at storage slot 1.
//
// # Order and loss
//
// Captures are published in the order in which they were made. One that finds no free
// slot, or doesn't come back, is counted (sensors.Env.Dropped).
package compute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/simtime"
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
	// Steps are the dispatches of a capture, in order, in place of a single one with Invocations. Each finds
	// what those before it wrote. HandOnBytes is the size of a buffer for what isn't a result, 0 for none. (optional)
	Steps       []Step
	HandOnBytes int
	// UniformBytes is the size of the uniform block, 0 for none. TableRows is the number of
	// rows of four uint32 of the table, 0 for none.
	UniformBytes, TableRows int
	// SceneRows returns how many rows the table has besides, for what a scene has. Begin calls it, on any
	// goroutine. (optional)
	SceneRows func(env *sensors.Env) int
	// From returns when the capture of a firing begins, which ends when it is due. Its header
	// has that stamp, and the sensor's pose then. If it is nil, a capture is of the due instant
	// alone. It is called on the GL thread and must not wait. (optional)
	From func(at sensors.Tick) simtime.Stamp
	// Prepare fills in the uniform block (std140) and the table for one capture, both little
	// endian. They hold what the capture before had, at first zeros. It reports whether it has
	// changed the table, which else stays as it is on the GPU. It may be nil, and is called on
	// the GL thread: it must not wait.
	Prepare func(env *sensors.Env, at sensors.Tick, uniforms, table []byte) (changed bool)
	// Publish publishes what one capture has computed. It is called on the goroutine
	// that calls Process; results are valid until it returns.
	Publish func(at sensors.Tick, header sample.Header, results []E)
	// Publisher returns what publishes the capture that was prepared last, in place of Publish: it keeps with a capture what
	// Prepare found for it. It is called on the GL thread, after Prepare, and must not wait. (optional)
	Publisher func() func(at sensors.Tick, header sample.Header, results []E)
}

// publisher returns what publishes the capture that was prepared last.
func (s *Shader[E]) publisher() publish[E] {
	if s.Publisher != nil {
		return s.Publisher()
	}
	return s.Publish
}

// Step is a dispatch of a shader that has several: with constants besides the shader's.
type Step struct {
	Defines     []shaders.Define
	Invocations [3]int
}

// defines are the constants of each step.
func (s *Shader[E]) defines() (list [][]shaders.Define) {
	for _, step := range s.Steps {
		list = append(list, slices.Concat(s.Defines, step.Defines))
	}
	return list
}

// Sensor generates its data by a Shader. It implements sensors.Capturer.
type Sensor[E any] struct {
	sensors.Ring[publish[E], E]
	spec   sensors.Spec
	shader Shader[E] // the GL thread's from Begin on
	env    *sensors.Env

	// Owned by the GL thread.
	next     *Shader[E]     // what the next Capture takes over; nil for nothing
	programs []*gpu.Program // those of shared, or of own: one a step
	shared   compiled       // the pipeline's, with the constants of Begin
	own      compiled       // the sensor's, with the latest others that it was given; empty until then
	uniforms *gpu.Buffer
	handOn   *gpu.Buffer
	table    *gpu.Buffer
	texture  *gpu.Texture
	motion   *scene.MotionTable
	scratch  struct{ uniforms, table []byte }
	bind     []gpu.Binding
}

// publish is Shader.Publish, or one of Shader.Publisher. It travels with each capture, for TakeOver may replace it.
type publish[E any] func(at sensors.Tick, header sample.Header, results []E)

// New returns a sensor that isn't begun yet.
func New[E any](spec sensors.Spec, shader Shader[E]) *Sensor[E] {
	if len(shader.Steps) == 0 {
		shader.Steps = []Step{{Invocations: shader.Invocations}}
	}
	return &Sensor[E]{spec: spec, shader: shader}
}

// Env returns what Begin was given.
func (s *Sensor[E]) Env() *sensors.Env { return s.env }

// Spec returns what the sensor was made of.
func (s *Sensor[E]) Spec() *sensors.Spec { return &s.spec }

// Begin compiles the shader, unless another sensor has, and makes the buffers.
func (s *Sensor[E]) Begin(ctx context.Context, env *sensors.Env) (err error) {
	s.env = env
	err = s.Open(&s.spec, env, func(k *sensors.Capture[publish[E]], results readback.Lease[E]) {
		k.Data(k.At, k.Header, results.Slice())
	})
	if err != nil {
		return err
	}
	defines := s.shader.defines()
	if s.programs, err = sharedPrograms(ctx, env, s.shader.Entry, defines); err == nil {
		s.shared, s.own = compiled{s.programs, defines}, compiled{} // those of an earlier life are closed
		err = env.GL.Do(ctx, s.open)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("begin %s: %w", s.spec.Name, err), s.End())
	}
	return nil
}

// compiled is the programs of a shader's steps and the constants that they have.
type compiled struct {
	programs []*gpu.Program
	defines  [][]shaders.Define
}

// has tells whether its programs have such constants.
func (c *compiled) has(defines [][]shaders.Define) bool {
	return len(c.programs) > 0 && slices.EqualFunc(c.defines, defines, slices.Equal[[]shaders.Define])
}

// close queues the programs' deletion.
func (c *compiled) close() {
	for _, p := range c.programs {
		p.Close()
	}
}

// program is a compiled shader that the sensors of a pipeline share.
type program struct{ *gpu.Program }

// Close queues the program's deletion.
func (p program) Close() error {
	p.Program.Close()
	return nil
}

// programKey is what a program is compiled of.
type programKey struct {
	entry   *shaders.Entry
	defines string
}

// sharedPrograms returns the pipeline's programs of an entry, one for each set of constants, and compiles them
// for the first sensor that needs them.
func sharedPrograms(ctx context.Context, env *sensors.Env, entry *shaders.Entry, defines [][]shaders.Define) (list []*gpu.Program, err error) {
	for _, d := range defines {
		shared, err := env.Shared.Get(programKey{entry, fmt.Sprint(d)}, func() (io.Closer, error) {
			var p program
			err := env.GL.Do(ctx, func(c *gpu.Ctx) (err error) {
				p.Program, err = sensors.Compile(c, entry, d...)
				return err
			})
			if err != nil { // the GL thread may still be writing p, if ctx ended
				return nil, err
			}
			return p, nil
		})
		if err != nil {
			return nil, err
		}
		list = append(list, shared.(program).Program)
	}
	return list, nil
}

// open makes the GPU objects. GL thread.
func (s *Sensor[E]) open(c *gpu.Ctx) (err error) {
	if err := s.openInputs(c); err != nil {
		return err
	}
	if s.motion, err = scene.NewPacker(s.env.Geometry, s.env.History).NewMotionTable(c, s.env.Resident); err != nil {
		return err
	}
	return s.Make(c, s.shader.Results)
}

// openInputs makes the uniform block and the table. GL thread.
func (s *Sensor[E]) openInputs(c *gpu.Ctx) (err error) {
	if n := s.shader.UniformBytes; n > 0 {
		s.scratch.uniforms = make([]byte, n)
		if s.uniforms, err = c.NewBuffer(gpu.BufferDesc{Label: s.spec.Name + " uniforms", Size: n}); err != nil {
			return err
		}
	}
	if err := s.openHandOn(c); err != nil {
		return err
	}
	return s.openTable(c)
}

// openHandOn makes the buffer of what steps hand on, in place of another where there is one. GL thread.
func (s *Sensor[E]) openHandOn(c *gpu.Ctx) (err error) {
	s.handOn.Close()
	s.handOn = nil
	if n := s.shader.HandOnBytes; n > 0 {
		s.handOn, err = c.NewBuffer(gpu.BufferDesc{Label: s.spec.Name + " steps", Size: n})
	}
	return err
}

// openTable makes the table, in place of another where there is one. GL thread.
func (s *Sensor[E]) openTable(c *gpu.Ctx) (err error) {
	s.closeTable()
	n := s.shader.rows(s.env) * texelBytes
	if n == 0 {
		return nil
	}
	s.scratch.table = make([]byte, n)
	if s.table, err = c.NewBuffer(gpu.BufferDesc{Label: s.spec.Name + " table", Size: n}); err != nil {
		return err
	}
	s.texture, err = c.NewTexture(gpu.TextureDesc{
		Label: s.spec.Name + " table", Kind: gpu.TextureBuffer, Format: gpu.FormatRGBA32UI, Buffer: s.table,
	})
	return err
}

// rows is how many the table has.
func (s *Shader[E]) rows(env *sensors.Env) int {
	if s.SceneRows == nil {
		return s.TableRows
	}
	return s.TableRows + s.SceneRows(env)
}

func (s *Sensor[E]) closeTable() {
	s.texture.Close()
	s.table.Close()
	s.texture, s.table = nil, nil
}

// TakeOver lets captures be fresh's from the next one on: its functions, its constants and its
// numbers of invocations, results and rows. Captures under way are published as they were
// made. fresh has the same Entry and UniformBytes. It never begins, and its Env is the
// sensor's. Other constants are compiled for this sensor alone, and the latest are kept beside
// those of Begin. A sensors.Tuner calls it. GL thread.
func (s *Sensor[E]) TakeOver(fresh *Sensor[E]) {
	fresh.env, s.next = s.env, &fresh.shader
}

// tune takes over what TakeOver was given. GL thread.
func (s *Sensor[E]) tune(c *gpu.Ctx) error {
	if s.next == nil {
		return nil
	}
	before, next := s.shader, s.next
	s.next = nil
	if err := s.choose(c, next); err != nil {
		return err
	}
	s.shader = *next
	if s.shader.rows(s.env) != before.rows(s.env) {
		if err := s.openTable(c); err != nil {
			return err
		}
	}
	if s.shader.HandOnBytes != before.HandOnBytes {
		if err := s.openHandOn(c); err != nil {
			return err
		}
	}
	return s.Resize(s.shader.Results)
}

// choose takes the programs that have a shader's constants, and compiles some if neither have them. GL thread.
func (s *Sensor[E]) choose(c *gpu.Ctx, next *Shader[E]) error {
	defines := next.defines()
	switch {
	case s.shared.has(defines):
		s.programs = s.shared.programs
	case s.own.has(defines):
		s.programs = s.own.programs
	default:
		made := compiled{defines: defines}
		for _, d := range defines {
			program, err := sensors.Compile(c, next.Entry, d...)
			if err != nil {
				made.close()
				return err
			}
			made.programs = append(made.programs, program)
		}
		s.own.close()
		s.own, s.programs = made, made.programs
	}
	return nil
}

// Capture dispatches the shader and starts reading its results back. GL thread.
func (s *Sensor[E]) Capture(c *gpu.Ctx, at sensors.Tick) (issued bool, err error) {
	if err := s.tune(c); err != nil {
		return false, err
	}
	target, err := s.Take(c, at)
	if target == nil {
		return false, err
	}
	from := at.Due
	if s.shader.From != nil {
		from = s.shader.From(at)
	}
	if err := s.write(c, at, from); err != nil {
		return false, err
	}
	if err := s.dispatch(c, target); err != nil {
		return false, err
	}
	header := at.Header(s.spec.FrameID, s.env.Pose(s.spec.Mount, from))
	header.Stamp = from
	return s.Start(c, sensors.Capture[publish[E]]{At: at, Header: header, Data: s.shader.publisher()})
}

// write brings the inputs of a capture to the GPU.
func (s *Sensor[E]) write(c *gpu.Ctx, at sensors.Tick, from simtime.Stamp) error {
	err := s.motion.Write(c, scene.Window{Parent: s.env.Owner, Mount: s.spec.Mount, StartNs: from, EndNs: at.Due})
	if err != nil {
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
	if s.handOn != nil {
		s.bind = append(s.bind, gpu.Binding{Kind: gpu.BindStorage, Slot: 1, Buffer: s.handOn})
	}
	for i, step := range s.shader.Steps {
		if i > 0 {
			if err := c.Barrier(gpu.BarrierStorage); err != nil {
				return err
			}
		}
		n := step.Invocations
		err := c.Dispatch(&gpu.Dispatch{Program: s.programs[i], Bind: s.bind, Groups: s.shader.Entry.Groups(n[0], n[1], n[2])})
		if err != nil {
			return err
		}
	}
	return nil
}

// End frees everything; captures in flight are lost. Again it does nothing.
func (s *Sensor[E]) End() error {
	err := s.Close()
	s.motion.Close()
	s.closeTable()
	s.own.close()
	s.uniforms.Close()
	s.handOn.Close()
	return err
}

var _ sensors.Capturer = (*Sensor[uint32])(nil)
