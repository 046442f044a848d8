package lidar

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/compute"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/simtime"
)

// noReturnWarning is how often an empty scan is reported.
const noReturnWarning = time.Minute

// scanner traces a device's scans: what the sensor types of this package have in common. A
// sensor that is tuned takes over the scans of a fresh one, whose scanner has never begun.
type scanner struct {
	*compute.Sensor[sample.Point]
	device   Device
	firings  *firingTable // in place of the device's lasers and columns; nil for these
	lister   *lister      // of the firings
	held     int64        // bytes of the run's memory that firings, lister and scan take
	receiver receiver
	// rolling gives each ray its own time; compensated gives the points in the frame
	// of the scan's start.
	rolling, compensated bool
	periodNs             int64 // nominal: that of the grid, rounded down

	listed bool       // the table has the device, or the firings of window, in listedAir; the GL thread's
	window scanWindow // the GL thread's
	mist   *mist      // of the latest scan, for a receiver with a threshold; the GL thread's
	// listedAir is nothing for a receiver with a threshold. The GL thread's.
	listedAir air
	warned    *time.Time // of an empty scan; Process's, also after another scanner took over
}

// build makes the sensor. publish gets each scan's points in ray order, with the air that the scan was in. It fails for a rolling
// scan that lasts longer than the times of points reach, which are nanoseconds in 32 bits.
func (s *scanner) build(spec sensors.Spec, publish func(at sensors.Tick, header sample.Header, points []sample.Point, in air)) error {
	s.periodNs, s.warned = spec.Rate.Period().Nanoseconds(), new(time.Time)
	shader := compute.Shader[sample.Point]{
		Entry: &shaders.Lidar,
		Defines: []shaders.Define{
			shaders.Int("SCALE", scaleCodes[s.receiver.scale]), shaders.Flag("RANDOM", s.receiver.random()),
			shaders.Flag("ROLLING", s.rolling), shaders.Flag("COMPENSATED", s.compensated),
		},
		Results:      s.device.rays(),
		Invocations:  [3]int{(s.device.Columns + shaders.TracedRays - 1) / shaders.TracedRays, len(s.device.Lasers), 1},
		UniformBytes: settingsBytes,
		TableRows:    s.device.texels(),
		From:         s.from,
		Prepare:      s.prepare,
		Publisher:    s.publishIn(publish),
	}
	light := s.receiver.radiometry
	if light != nil {
		firings := s.device.rays()
		if s.firings != nil {
			firings = s.firings.scan
		}
		if err := light.beam.fits(firings); err != nil {
			return err
		}
		if light.maxM = s.device.MaxM; s.firings == nil {
			s.firings = firingsOf(&s.device, s.periodNs)
		}
	}
	if s.firings != nil {
		s.listFirings(&shader)
	}
	s.Sensor = compute.New(spec, shader)
	if s.rolling && s.periodNs > math.MaxUint32 {
		return fmt.Errorf("%w: a rate of %v makes a rolling scan of %s s, and points' times reach %.3g s: raise the rate, or set rolling: false",
			sensors.ErrValue, spec.Rate, fault.Number(spec.Rate.Period().Seconds(), 3), math.MaxUint32/1e9)
	}
	return nil
}

// listFirings has the shader trace a table of firings.
func (s *scanner) listFirings(shader *compute.Shader[sample.Point]) {
	t, light := s.firings, s.receiver.radiometry
	shader.Entry, shader.Prepare, shader.UniformBytes = &shaders.LidarEchoes, s.prepareFirings, echoesBytes
	shader.Defines = append(shader.Defines, shaders.Flag("RADIOMETRY", light != nil))
	shader.Results, shader.TableRows = t.scan, shaders.FiringTexels*t.scan
	packets := [3]int{(t.scan + shaders.TracedRays - 1) / shaders.TracedRays, 1, 1}
	shader.Invocations = packets
	s.lister = &lister{}
	if light == nil {
		return
	}
	shader.SceneRows = func(env *sensors.Env) int { return light.texels(env.Geometry.Scene) + mistPlaces }
	b := light.beam
	if b == nil {
		return
	}
	s.lister.near = &neighbours{width: [2]float64{fwhm * b.sigma[0], fwhm * b.sigma[1]}, rings: b.outermost() / fwhm}
	if t.still { // it takes too long for the GL thread
		s.lister.list(t, scanWindow{})
	}
	shader.Results *= b.points()
	shader.TableRows += b.texels(t.scan)
	shader.HandOnBytes = shaders.CenterBytes * t.scan
	shader.Steps = []compute.Step{
		{Defines: []shaders.Define{shaders.Int("STEP", shaders.EchoCenters)}, Invocations: packets},
		{Defines: []shaders.Define{shaders.Int("STEP", shaders.EchoBeams)}, Invocations: [3]int{t.scan, 1, 1}},
	}
}

// publishIn returns a compute.Shader's Publisher that hands on a scan's air. It makes another function only when the air has changed.
func (s *scanner) publishIn(publish func(sensors.Tick, sample.Header, []sample.Point, air)) func() func(sensors.Tick, sample.Header, []sample.Point) {
	var in air
	var now func(sensors.Tick, sample.Header, []sample.Point)
	return func() func(sensors.Tick, sample.Header, []sample.Point) {
		if now == nil || in != s.listedAir {
			kept := s.listedAir
			in, now = kept, func(at sensors.Tick, header sample.Header, points []sample.Point) { publish(at, header, points, kept) }
		}
		return now
	}
}

// from returns when a scan begins: a period before it is due where it rolls.
func (s *scanner) from(at sensors.Tick) simtime.Stamp {
	if !s.rolling {
		return at.Due
	}
	return max(at.Due-simtime.Stamp(at.PeriodNs), 0)
}

// prepare fills in lidar_scan.comp's Settings for one scan, and its table for the first and in other weather.
func (s *scanner) prepare(env *sensors.Env, at sensors.Tick, settings, table []byte) (changed bool) {
	shape := [4]uint32{uint32(len(s.device.Lasers)), uint32(s.device.Columns), uint32(at.Seq)}
	for i, w := range shape {
		binary.LittleEndian.PutUint32(settings[4*i:], w)
	}
	s.receiver.put(settings[16:], env.Seed, s.receiver.attenuation)
	now := airAt(env, at)
	if s.listed && s.listedAir == now {
		return false
	}
	s.listed, s.listedAir = true, now
	copy(table, s.device.table(s.periodNs, now))
	return true
}

// prepareFirings fills in lidar_echoes.comp's Settings for one scan, and its table where the scan's firings
// or the weather differ from those of the scan before.
func (s *scanner) prepareFirings(env *sensors.Env, at sensors.Tick, settings, table []byte) (changed bool) {
	t := s.firings
	for i, w := range [4]uint32{uint32(t.scan), 0, uint32(at.Seq)} {
		binary.LittleEndian.PutUint32(settings[4*i:], w)
	}
	attenuation := s.receiver.attenuation
	light, b := s.receiver.radiometry, s.receiver.beam()
	firings := shaders.FiringTexels * t.scan
	subRays, classes := firings, firings // the first rows of these
	if b != nil {
		subRays = firings + shaders.NeighbourTexels*t.scan
		classes = firings + b.texels(t.scan)
		b.put(settings[settingsBytes+radiometryBytes:], subRays)
	}
	if light != nil {
		places := classes + light.texels(env.Geometry.Scene)
		light.put(settings[settingsBytes:], uint32(classes), s.receiver.noise)
		if s.mist == nil || s.mist.state != env.Weather(at.Due) {
			s.mist, changed = light.mist(s.receiver.attenuation, env.Weather(at.Due)), true
			s.mist.list(table[16*places:])
		}
		s.mist.put(settings[settingsBytes+radiometryBytes+beamBytes:], places)
		attenuation = s.mist.lens.extinction
	}
	s.receiver.put(settings[16:], env.Seed, attenuation)
	due := int64(at.Due)
	window := t.windowOf(max(due-at.PeriodNs, 0), due)
	var now air
	if light == nil {
		now = airAt(env, at)
	}
	rate := s.Spec().Rate
	next := t.windowOf(due, int64(rate.At(rate.IndexAt(at.Due)+1)))
	if s.listed && s.listedAir == now && s.window == window {
		s.lister.ahead(t, next)
		return changed
	}
	if light != nil && !s.listed {
		light.list(table[16*classes:], env.Geometry.Scene)
	}
	s.listed, s.window, s.listedAir = true, window, now
	list := s.lister.list(t, window)
	s.lister.ahead(t, next)
	list.order.put(table[:16*firings], t, now)
	if b != nil {
		b.list(table[16*subRays:])
		copy(table[16*firings:16*subRays], list.beside)
	}
	return true
}

// firstAhead lists the firings of the scan of a run's first period.
func (s *scanner) firstAhead() {
	if t := s.firings; t != nil {
		s.lister.ahead(t, t.windowOf(0, int64(s.Spec().Rate.At(1))))
	}
}

// points is how many a scan has at most.
func (s *scanner) points() int {
	if s.firings != nil {
		return s.firings.scan * s.receiver.beam().points()
	}
	return s.device.rays()
}

// hold takes from the run's memory what the firings of a sensor take that this one is, or that it takes over.
func (s *scanner) hold(of *scanner) error {
	t, budget := of.firings, s.Env().GL.Memory()
	if t == nil || budget == nil {
		return nil
	}
	needs := t.bytes() + of.lister.bytes(t)
	if more := needs - s.held; more > 0 {
		if err := budget.Take(fmt.Sprintf("%s, %d firings with %d in a scan,", cmp.Or(t.path, s.Spec().Name), len(t.rows), t.scan), more); err != nil {
			return err
		}
	} else {
		budget.Give(-more)
	}
	s.held = needs
	return nil
}

// End frees everything, after what is listed ahead.
func (s *scanner) End() error {
	s.lister.wait()
	if s.held > 0 {
		s.Env().GL.Memory().Give(s.held)
		s.held = 0
	}
	return s.Sensor.End()
}

// FieldOfView is that of the device's lasers.
func (s *scanner) FieldOfView() sensors.FieldOfView {
	d := &s.device
	v := sensors.FieldOfView{
		Horizontal: min(math.Abs(d.StepDeg)*float64(d.Columns), 360), Lower: math.Inf(1), Upper: math.Inf(-1), Range: d.MaxM,
	}
	if s.firings != nil && !s.firings.still {
		return s.firings.fieldOfView()
	}
	for i := range d.Lasers {
		v.Lower, v.Upper = min(v.Lower, d.Lasers[i].ElevationDeg), max(v.Upper, d.Lasers[i].ElevationDeg)
		v.Range = max(v.Range, d.Lasers[i].MaxM)
	}
	return v
}

// Derived are the device's own ranges, its receiver and its beam, and the share of what is lost.
func (s *scanner) Derived() map[string]any {
	values := map[string]any{
		"range": s.device.MaxM, "range_min": s.device.MinM, "atmosphere_attenuation_rate": s.receiver.attenuation,
		"dropoff_general_rate": s.receiver.unfired, "dropoff_zero_intensity": s.receiver.lostAtZero,
	}
	if light := s.receiver.radiometry; light != nil {
		light.derived(values)
	}
	return values
}

// reportEmpty counts scans that saw nothing, and says so now and then (law S5).
func (s *scanner) reportEmpty(at sensors.Tick, points int) {
	if points > 0 {
		return
	}
	s.Env().Dropped(at, flow.CauseNoReturn)
	if time.Since(*s.warned) >= noReturnWarning {
		*s.warned = time.Now()
		s.Env().Log.Warn("a scan has no return: nothing is within the range of any ray that was fired", "cause", flow.CauseNoReturn)
	}
}
