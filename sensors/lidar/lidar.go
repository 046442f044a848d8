package lidar

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/spatial"
)

// pointBytes is the size of a sample.Point on the GPU.
const pointBytes = 48

// targets is how many scans the GPU may write before the first must have been
// copied: copies after the fence need a source that stands still.
const targets = 2

// slots is how many scans may be on their way back.
const slots = 4

// noReturnWarning is how often an empty scan is reported.
const noReturnWarning = time.Minute

// scanData travels with a scan from its dispatch to its publication.
type scanData struct {
	at     sensors.Tick
	header sample.Header
}

// lidar is one sensor. Fields are owned by the GL thread from Begin on where
// nothing else is said.
type lidar struct {
	spec               sensors.Spec
	device             Device
	rolling, organized bool
	env                *sensors.Env
	out                *sensors.Output[*sample.PointCloud]

	program  *gpu.Program
	table    *gpu.Buffer
	texture  *gpu.Texture
	settings *gpu.Buffer
	points   [targets]*gpu.Buffer
	next     int
	motion   *scene.CaptureTable
	packer   *scene.Packer
	packed   []byte
	constant []byte
	bind     []gpu.Binding
	pool     *readback.Pool[scanData, sample.Point]

	// The fields below are Process's.
	cloud  sample.PointCloud // reused: outputs copy what they keep
	warned time.Time
	ended  bool // guarded by the pipeline's order of calls
}

// Begin compiles the shader and makes the buffers.
func (s *lidar) Begin(ctx context.Context, env *sensors.Env) (err error) {
	s.env = env
	if s.out, err = sensors.OutputOf[*sample.PointCloud](env, "points"); err != nil {
		return err
	}
	rays := s.device.Columns * len(s.device.Lasers)
	s.pool, err = readback.New(readback.Config{
		Label: s.spec.Name, Slots: slots, MaxElements: rays, Notify: env.Completed,
	}, s.complete)
	if err != nil {
		return err
	}
	if err := env.GL.Do(ctx, s.allocate); err != nil {
		return errors.Join(err, s.End())
	}
	return nil
}

// allocate makes the GPU objects. GL thread.
func (s *lidar) allocate(c *gpu.Ctx) error {
	source, err := shaders.Source(&shaders.Lidar)
	if err != nil {
		return err
	}
	if s.program, err = c.NewProgram(gpu.ProgramDesc(source)); err != nil {
		return err
	}
	table := s.device.table(s.periodNs())
	if s.table, err = c.NewBuffer(gpu.BufferDesc{Label: s.spec.Name + " scan", Size: len(table), Data: table}); err != nil {
		return err
	}
	s.texture, err = c.NewTexture(gpu.TextureDesc{
		Label: s.spec.Name + " scan", Kind: gpu.TextureBuffer, Format: gpu.FormatRGBA32UI, Buffer: s.table,
	})
	if err != nil {
		return err
	}
	s.constant = make([]byte, 48)
	if s.settings, err = c.NewBuffer(gpu.BufferDesc{Label: s.spec.Name + " settings", Size: len(s.constant)}); err != nil {
		return err
	}
	for i := range s.points {
		size := s.device.Columns * len(s.device.Lasers) * pointBytes
		if s.points[i], err = c.NewBuffer(gpu.BufferDesc{Label: s.spec.Name + " points", Size: size}); err != nil {
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

// periodNs is the nominal scan period.
func (s *lidar) periodNs() int64 { return int64(math.Round(1e9 / s.spec.RateHz)) }

// Tick does nothing: a scan needs no announcement.
func (s *lidar) Tick(sensors.Tick) error { return nil }

// Capture traces the scan that ends at the due instant. GL thread.
func (s *lidar) Capture(c *gpu.Ctx, at sensors.Tick) (issued bool, err error) {
	target := s.points[s.next]
	err = s.pool.Begin(c)
	if errors.Is(err, readback.ErrFull) || (err == nil && s.pool.Holds(target)) {
		s.env.Dropped(sensors.CauseReadbackFull, 1)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.next = (s.next + 1) % targets
	header, window := s.frame(at)
	n, err := s.packer.Motion(s.packed, window)
	if err != nil {
		return false, err
	}
	if err := s.motion.Write(c, s.packed[:n]); err != nil {
		return false, err
	}
	if err := s.dispatch(c, target, at); err != nil {
		return false, err
	}
	capture, err := s.pool.Start(c, readback.Buffer(target), at.TimeNs)
	if err != nil {
		return false, err
	}
	capture.Data = scanData{at: at, header: header}
	return true, nil
}

// frame says when and where a scan is.
func (s *lidar) frame(at sensors.Tick) (sample.Header, scene.Window) {
	w := scene.Window{Parent: s.env.Owner, Mount: s.spec.Mount, StartNs: at.TimeNs, EndNs: at.TimeNs}
	if s.rolling {
		w.StartNs = max(at.TimeNs-at.PeriodNs, 0)
	}
	header := at.Header(s.spec.FrameID, s.pose(w.StartNs))
	header.StampNs = w.StartNs
	return header, w
}

func (s *lidar) pose(tNs int64) spatial.Pose { return s.env.Pose(s.spec.Mount, tNs) }

// dispatch issues the compute work of one scan into target.
func (s *lidar) dispatch(c *gpu.Ctx, target *gpu.Buffer, at sensors.Tick) error {
	rolling := uint32(0)
	if s.rolling {
		rolling = 1
	}
	words := [12]uint32{
		uint32(len(s.device.Lasers)), uint32(s.device.Columns), rolling, uint32(at.Seq),
		uint32(s.env.Seed), uint32(s.env.Seed >> 32), 0, 0,
		math.Float32bits(float32(s.spec.Settings.Float("atmosphere_attenuation_rate"))),
		math.Float32bits(float32(s.spec.Settings.Float("noise_stddev"))),
	}
	for i, w := range words {
		binary.LittleEndian.PutUint32(s.constant[4*i:], w)
	}
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
		Program: s.program, Bind: s.bind,
		Groups: shaders.Lidar.Groups((s.device.Columns+shaders.TracedRays-1)/shaders.TracedRays, len(s.device.Lasers), 1),
	}); err != nil {
		return err
	}
	return c.Barrier(gpu.BarrierFor(gpu.SourceBuffer))
}

// Poll moves finished readbacks on. GL thread.
func (s *lidar) Poll(c *gpu.Ctx) { s.pool.Poll(c) }

// Process publishes the scans that have come back.
func (s *lidar) Process(through int64) int { return s.pool.ProcessThrough(through) }

// Pending returns the scans in flight.
func (s *lidar) Pending() int { return s.pool.Pending() }

// ReadbackStats returns how the scans came back.
func (s *lidar) ReadbackStats() readback.Stats { return s.pool.Stats() }

// complete publishes one scan.
func (s *lidar) complete(capture *readback.Capture[scanData, sample.Point], lease readback.Lease[sample.Point], err error) {
	defer lease.Release()
	if errors.Is(err, readback.ErrClosed) {
		s.env.Dropped(sensors.CauseClosed, 1)
		return
	}
	if err != nil {
		s.env.Dropped(sensors.CauseReadbackFailed, 1)
		s.env.Log.Warn("a scan was lost", "error", err)
		return
	}
	data := &capture.Data
	m := &s.cloud
	m.Header, m.Organized = data.header, s.organized
	m.Rings, m.Columns = len(s.device.Lasers), s.device.Columns
	m.Layout = sample.PointLayout(s.spec.Settings.String("layout"))
	if s.organized {
		m.Points = markMisses(m.Points[:0], lease.Slice())
	} else {
		m.Points = keepReturns(m.Points[:0], lease.Slice())
		s.reportEmpty(len(m.Points))
	}
	s.out.TryQueue(data.at, m)
}

// keepReturns appends the points that hit something.
func keepReturns(dst, points []sample.Point) []sample.Point {
	if cap(dst) < len(points) {
		dst = make([]sample.Point, 0, len(points))
	}
	for i := range points {
		if points[i].Return != sample.ReturnUnknown {
			dst = append(dst, points[i])
		}
	}
	return dst
}

// markMisses appends all points, those that hit nothing with NaN coordinates
// (REP-117).
func markMisses(dst, points []sample.Point) []sample.Point {
	dst = append(dst, points...)
	nan := float32(math.NaN())
	for i := range dst {
		if dst[i].Return == sample.ReturnUnknown {
			dst[i].X, dst[i].Y, dst[i].Z = nan, nan, nan
		}
	}
	return dst
}

// reportEmpty counts scans that saw nothing, and says so now and then (law S5).
func (s *lidar) reportEmpty(points int) {
	if points > 0 {
		return
	}
	s.env.Dropped(sensors.CauseNoReturn, 1)
	if time.Since(s.warned) >= noReturnWarning {
		s.warned = time.Now()
		s.env.Log.Warn("a scan has no return: nothing is within the range of any ray", "cause", sensors.CauseNoReturn)
	}
}

// End releases everything; again is a no-op.
func (s *lidar) End() error {
	if s.ended || s.pool == nil {
		return nil
	}
	s.ended = true
	err := s.pool.Close()
	closers := []interface{ Close() }{}
	if s.program != nil {
		closers = append(closers, s.program)
	}
	if s.texture != nil {
		closers = append(closers, s.texture)
	}
	for _, b := range append(s.points[:], s.table, s.settings) {
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
