package lidar

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// noReturnWarning is how often an empty scan is reported.
const noReturnWarning = time.Minute

// scans are the scans on their way back.
type scans = sensors.Ring[limits, sample.Point]

// scan is one of them.
type scan = sensors.Capture[limits]

// limits are the shortest and the longest range of a scan, metres, and its nominal period.
type limits struct {
	min, max float64
	periodNs int64
}

// scanner traces a device's scans and hands over their points: what the sensor types
// of this package have in common. Fields are owned by the GL thread from begin on
// where nothing else is said.
type scanner struct {
	scans
	spec     sensors.Spec
	device   Device
	receiver receiver
	// rolling gives each ray its own time; compensated gives the points in the frame
	// of the scan's start.
	rolling, compensated bool
	// deliver publishes a scan's points, lent for the call, in ray order. Process's goroutine.
	deliver func(*scan, []sample.Point)
	env     *sensors.Env

	program  *tracer
	own      *gpu.Program // compiled by tune, used in place of program; nil until then
	next     *scanner     // what the next Capture takes over; nil for nothing
	table    *gpu.Buffer
	texture  *gpu.Texture
	settings *gpu.Buffer
	motion   *scene.MotionTable
	constant []byte
	bind     []gpu.Binding

	warned time.Time // Process's
}

// tracer is a compiled shader. The scanners of a pipeline share those that they have
// in common.
type tracer struct{ *gpu.Program }

// variant is what a shader is compiled for, the key of a pipeline's tracers.
type variant struct {
	scale                        IntensityScale
	random, rolling, compensated bool
}

// source returns the shader of a variant.
func (v variant) source() (shaders.Program, error) {
	return shaders.Source(&shaders.Lidar, shaders.Int("SCALE", scaleCodes[v.scale]), shaders.Flag("RANDOM", v.random),
		shaders.Flag("ROLLING", v.rolling), shaders.Flag("COMPENSATED", v.compensated))
}

// tracerOf returns the pipeline's tracer for a variant and compiles it for the first
// scanner that needs it.
func tracerOf(ctx context.Context, env *sensors.Env, v variant) (*tracer, error) {
	shared, err := env.Shared.Get(v, func() (io.Closer, error) {
		source, err := v.source()
		if err != nil {
			return nil, err
		}
		t := &tracer{}
		err = env.GL.Do(ctx, func(c *gpu.Ctx) (err error) {
			t.Program, err = c.NewProgram(gpu.ProgramDesc(source))
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("compile the lidars' shader: %w", err)
		}
		return t, nil
	})
	if err != nil {
		return nil, err
	}
	return shared.(*tracer), nil
}

// Close queues the program's deletion.
func (t *tracer) Close() error {
	t.Program.Close()
	return nil
}

// begin compiles the shader and makes the buffers.
func (s *scanner) begin(ctx context.Context, env *sensors.Env) (err error) {
	s.env = env
	err = s.Open(&s.spec, env, func(of *scan, points readback.Lease[sample.Point]) { s.deliver(of, points.Slice()) })
	if err != nil {
		return err
	}
	v := variant{s.receiver.scale, s.receiver.random(), s.rolling, s.compensated}
	if s.program, err = tracerOf(ctx, env, v); err != nil {
		return err
	}
	if err := env.GL.Do(ctx, s.allocate); err != nil {
		return errors.Join(err, s.End())
	}
	return nil
}

// allocate makes the GPU objects. GL thread.
func (s *scanner) allocate(c *gpu.Ctx) error {
	table := s.device.table(s.periodNs())
	var err error
	if s.table, err = c.NewBuffer(gpu.BufferDesc{Label: s.spec.Name + " scan", Size: len(table), Data: table}); err != nil {
		return err
	}
	s.texture, err = c.NewTexture(gpu.TextureDesc{
		Label: s.spec.Name + " scan", Kind: gpu.TextureBuffer, Format: gpu.FormatRGBA32UI, Buffer: s.table,
	})
	if err != nil {
		return err
	}
	s.constant = make([]byte, settingsBytes)
	if s.settings, err = c.NewBuffer(gpu.BufferDesc{Label: s.spec.Name + " settings", Size: settingsBytes}); err != nil {
		return err
	}
	if s.motion, err = scene.NewPacker(s.env.World, s.env.History).NewMotionTable(c, s.env.Resident); err != nil {
		return err
	}
	return s.Make(c, s.device.rays())
}

// tune takes over next, another scanner of the device's shape: ranges, noise, the scan's length.
// Noise where there was none needs a shader of its own, which it compiles. GL thread.
func (s *scanner) tune(c *gpu.Ctx) error {
	fresh := s.next
	if fresh == nil {
		return nil
	}
	s.next = nil
	v := variant{fresh.receiver.scale, fresh.receiver.random(), s.rolling, s.compensated}
	if v.random && !s.receiver.random() && s.own == nil {
		source, err := v.source()
		if err != nil {
			return err
		}
		if s.own, err = c.NewProgram(gpu.ProgramDesc(source)); err != nil {
			return err
		}
		s.program = &tracer{s.own}
	}
	s.device, s.receiver, s.spec.Rate = fresh.device, fresh.receiver, fresh.spec.Rate
	return c.WriteBuffer(s.table, 0, s.device.table(s.periodNs()))
}

// periodNs is the nominal scan period: that of the grid, rounded down.
func (s *scanner) periodNs() int64 { return s.spec.Rate.Period().Nanoseconds() }

// checkPeriod returns an error for a rolling scan that lasts longer than the times of
// points reach, which are nanoseconds in 32 bits.
func (s *scanner) checkPeriod() error {
	if period := s.spec.Rate.Period(); s.rolling && period.Nanoseconds() > math.MaxUint32 {
		return fmt.Errorf("%w: a rate of %v makes a rolling scan of %s s, and points' times reach %.3g s: raise the rate, or set rolling: false",
			sensors.ErrValue, s.spec.Rate, fault.Number(period.Seconds(), 3), math.MaxUint32/1e9)
	}
	return nil
}

// Capture traces the scan that ends at the due instant. GL thread.
func (s *scanner) Capture(c *gpu.Ctx, at sensors.Tick) (issued bool, err error) {
	if err := s.tune(c); err != nil {
		return false, err
	}
	target, err := s.Take(c, at)
	if target == nil {
		return false, err
	}
	header, window := s.frame(at)
	if err := s.motion.Write(c, window); err != nil {
		return false, err
	}
	if err := s.dispatch(c, target, at); err != nil {
		return false, err
	}
	return s.Start(c, scan{At: at, Header: header, Data: limits{s.device.MinM, s.device.MaxM, s.periodNs()}})
}

// frame says when and where a scan is.
func (s *scanner) frame(at sensors.Tick) (sample.Header, scene.Window) {
	w := scene.Window{Parent: s.env.Owner, Mount: s.spec.Mount, StartNs: at.Due, EndNs: at.Due}
	if s.rolling {
		w.StartNs = max(at.Due-simtime.Stamp(at.PeriodNs), 0)
	}
	header := at.Header(s.spec.FrameID, s.pose(w.StartNs))
	header.Stamp = w.StartNs
	return header, w
}

func (s *scanner) pose(stamp simtime.Stamp) spatial.Pose { return s.env.Pose(s.spec.Mount, stamp) }

// dispatch issues the compute work of one scan into target.
func (s *scanner) dispatch(c *gpu.Ctx, target *gpu.Buffer, at sensors.Tick) error {
	shape := [4]uint32{uint32(len(s.device.Lasers)), uint32(s.device.Columns), uint32(at.Seq)}
	for i, w := range shape {
		binary.LittleEndian.PutUint32(s.constant[4*i:], w)
	}
	s.receiver.put(s.constant[16:], s.env.Seed)
	if err := c.WriteBuffer(s.settings, 0, s.constant); err != nil {
		return err
	}
	s.bind = append(s.env.Resident.Bindings(s.bind[:0]),
		s.motion.Binding(),
		gpu.Binding{Kind: gpu.BindSampler, Slot: shaders.SlotScan, Texture: s.texture},
		gpu.Binding{Kind: gpu.BindUniform, Slot: 0, Buffer: s.settings},
		gpu.Binding{Kind: gpu.BindStorage, Slot: 0, Buffer: target},
	)
	if err := c.Dispatch(&gpu.Dispatch{
		Program: s.program.Program, Bind: s.bind,
		Groups: shaders.Lidar.Groups((s.device.Columns+shaders.TracedRays-1)/shaders.TracedRays, len(s.device.Lasers), 1),
	}); err != nil {
		return err
	}
	return c.Barrier(gpu.BarrierFor(gpu.SourceBuffer))
}

// reportEmpty counts scans that saw nothing, and says so now and then (law S5).
func (s *scanner) reportEmpty(at sensors.Tick, points int) {
	if points > 0 {
		return
	}
	s.env.Dropped(at, flow.CauseNoReturn)
	if time.Since(s.warned) >= noReturnWarning {
		s.warned = time.Now()
		s.env.Log.Warn("a scan has no return: nothing is within the range of any ray that was fired", "cause", flow.CauseNoReturn)
	}
}

// End releases everything; again is a no-op.
func (s *scanner) End() error {
	err := s.Close()
	closers := []interface{ Close() }{}
	if s.texture != nil {
		closers = append(closers, s.texture)
	}
	if s.own != nil {
		closers = append(closers, s.own)
	}
	for _, b := range []*gpu.Buffer{s.table, s.settings} {
		if b != nil {
			closers = append(closers, b)
		}
	}
	if s.motion != nil {
		closers = append(closers, s.motion)
	}
	for _, c := range closers {
		c.Close()
	}
	return err
}
