package camera

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// OutputEvents is the output of the DVS camera.
const OutputEvents = "events"

// DVS is CARLA's camera of brightness changes (a dynamic vision sensor). It compares each
// picture of a colour camera with the one before and publishes the events between them, as
// eventModel describes. Where nothing changed, nothing is published. How fine the events are
// depends on the rate: between two pictures the brightness is taken for linear.
//
// With sigma thresholds, each pixel's threshold is drawn again at each picture, by its place,
// the firing's number and the seed. A level that a lower threshold finds passed already is an
// event at the interval's start.
//
// A picture with more than 16,777,216 events has none: it is counted as convert_failed.
type DVS = Options[DVSOwn]

// DVSOwn are the options that an event camera has beside those of all cameras.
type DVSOwn struct {
	Light
	PositiveThreshold      float64 `attribute:"positive_threshold" default:"0.3" min:"0.01" max:"255" doc:"step of brightness that makes an event of a pixel that gets brighter"`
	NegativeThreshold      float64 `attribute:"negative_threshold" default:"0.3" min:"0.01" max:"255" doc:"step of brightness that makes an event of a pixel that gets darker"`
	SigmaPositiveThreshold float64 `attribute:"sigma_positive_threshold" live:"true" max:"255" doc:"standard deviation of positive_threshold over pixels and pictures"`
	SigmaNegativeThreshold float64 `attribute:"sigma_negative_threshold" live:"true" max:"255" doc:"standard deviation of negative_threshold over pixels and pictures"`
	RefractoryPeriodNs     int64   `attribute:"refractory_period_ns" unit:"ns" max:"1e12" doc:"for how long a pixel has no other event after one"`
	UseLog                 *bool   `attribute:"use_log" default:"true" doc:"brightness is ln(log_eps + grey / 255); otherwise grey itself, 0 to 255"`
	LogEps                 float64 `attribute:"log_eps" default:"0.001" min:"1e-9" max:"1" doc:"keeps the logarithm of black finite"`
}

// DVSDefinition describes sensor.camera.dvs.
var DVSDefinition = define[DVSOwn](kindDVS, "event camera: pixels whose brightness changed, with the time and the sign")

// eventCamera is what a DVS camera has over the others. Except for the output it belongs to
// Process.
type eventCamera struct {
	out     *sensors.Output[*sample.DvsEvents]
	model   eventModel
	message sample.DvsEvents // reused: outputs copy what they keep
}

func (p DVSOwn) read(o *setup, _ *sensors.Spec) error {
	o.thresholds = thresholds{
		positive: threshold{p.PositiveThreshold, p.SigmaPositiveThreshold},
		negative: threshold{p.NegativeThreshold, p.SigmaNegativeThreshold},
	}
	o.events = &eventCamera{
		model: eventModel{
			width: o.lens.Width, height: o.lens.Height,
			refractoryNs: p.RefractoryPeriodNs,
			useLog:       *p.UseLog, eps: p.LogEps, limit: maxEvents,
		},
		message: sample.DvsEvents{Width: o.lens.Width, Height: o.lens.Height, FovDeg: o.lens.pinholeFov()},
	}
	return p.Light.read(o)
}

// open opens the output.
func (e *eventCamera) open(env *sensors.Env) (err error) {
	e.model.seed = env.Seed
	e.out, err = sensors.OutputOf[*sample.DvsEvents](env, OutputEvents)
	return err
}

// publish sends the events that a capture's picture of luminances makes, if there are any.
func (e *eventCamera) publish(k *capture, luminances []uint32) error {
	e.model.thresholds = k.Data
	events, err := e.model.events(luminances, k.At)
	if err != nil || len(events) == 0 {
		return err
	}
	e.message.Header, e.message.Events = k.Header, events
	e.out.TryQueue(k.At, &e.message)
	e.message.Events = nil // the model's
	return nil
}

// Constants of CARLA's model of an event camera.
const (
	// minThreshold is the least that noise leaves of a threshold.
	minThreshold = 0.01
	// brightnessTolerance is the least change that counts as one.
	brightnessTolerance = 1e-6
	// luminanceUnit is how many units of the shader's luminance a grey level has. 0.2989 R +
	// 0.5870 G + 0.1140 B is a whole number of ten-thousandths.
	luminanceUnit = 10_000
	// maxGap is how many periods two pictures may lie apart and still be compared:
	// farther, nobody listened between them, or time was set.
	maxGap = 10
	// bandPixels is the least work that is worth a goroutine.
	bandPixels = 32_768
	// maxEvents is the most events of one picture, 8 for each pixel of 1920 x 1080. Fine
	// thresholds would fill any memory when the scene is cut (law R4).
	maxEvents = 1 << 24
	// trimPictures is after how many pictures memory goes that none of them needed.
	trimPictures = 64
	// keptEvents is memory that isn't worth giving back.
	keptEvents = 1 << 16
)

// noEvent is the time of the last event of a pixel that had none.
const noEvent = math.MinInt64

// threshold is a step of brightness, and its standard deviation.
type threshold struct{ mean, sigma float64 }

// thresholds are those of an event camera. They travel with each capture.
type thresholds struct{ positive, negative threshold }

// eventModel turns the pictures of a camera into events, as CARLA's DVS camera and ESIM do.
// ESIM is Rebecq, Gehrig and Scaramuzza, "ESIM: an Open Event Camera Simulator", CoRL 2018.
// Between two pictures a pixel's brightness is linear in time. Each time that it has moved a
// threshold away from the level of the event before, it makes an event. That event's level is
// the next one's reference. An event within the refractory period of the pixel's last is left
// out, though its level counts. The first picture only sets the levels, and so does one after
// time was set, or after a gap of more than maxGap periods.
//
// A picture with more than limit events has none, but sets the levels.
//
// Rows are shared among goroutines; the events don't depend on how many there are.
type eventModel struct {
	thresholds
	width, height int
	refractoryNs  int64
	useLog        bool
	eps           float64
	seed          uint64
	workers       int // 0: as many as are worth it
	limit         int // of events of a picture

	lastNs     simtime.Stamp
	luminances []uint32        // of the last picture; empty before the first
	levels     []float64       // of each pixel's last event
	eventNs    []simtime.Stamp // when that was, or noEvent
	span       interval        // that the goroutines work on
	working    sync.WaitGroup
	bands      []band
	list, turn []sample.DvsEvent
	pictures   int // since memory was trimmed
	most       int // events of one of those
}

// band is a run of rows that one goroutine works on.
type band struct {
	first, last int // rows
	events      []sample.DvsEvent
	lost        int // events beyond the limit, which aren't kept
}

// interval is what lies between two pictures.
type interval struct {
	startNs, endNs simtime.Stamp
	seq            uint32
	luminances     []uint32 // at its end
}

// brightness returns the quantity that thresholds measure.
func (m *eventModel) brightness(luminance uint32) float64 {
	grey := float64(luminance) / luminanceUnit
	if !m.useLog {
		return grey
	}
	return math.Log(m.eps + grey/255)
}

// events returns what happened since the last picture, sorted by time, row and
// column; the list is valid up to the next call. Where that is too much it returns
// errTooManyEvents.
func (m *eventModel) events(luminances []uint32, at sensors.Tick) ([]sample.DvsEvent, error) {
	m.trim()
	gap := at.Due - m.lastNs
	if len(m.luminances) == 0 || gap <= 0 || int64(gap) > maxGap*max(at.PeriodNs, 1) {
		m.restart(luminances, at.Due)
		return nil, nil
	}
	m.span = interval{m.lastNs, at.Due, uint32(at.Seq), luminances}
	m.share()
	m.span.luminances = nil // lent
	m.lastNs = at.Due
	copy(m.luminances, luminances)
	n := 0
	for i := range m.bands {
		n += len(m.bands[i].events) + m.bands[i].lost
	}
	m.most = max(m.most, min(n, m.limit))
	if n > m.limit {
		return nil, fmt.Errorf("%w: %d events, at most %d are possible: raise the thresholds or the rate", errTooManyEvents, n, m.limit)
	}
	m.list = m.list[:0]
	for i := range m.bands {
		m.list = append(m.list, m.bands[i].events...)
	}
	m.list, m.turn = sortedByTime(m.list, m.turn, int64(gap), int64(at.Due-gap))
	return m.list, nil
}

// errTooManyEvents: a picture differs too much from the one before.
var errTooManyEvents = errors.New("too many events between two pictures")

// trim gives memory back that only a picture long ago has needed.
func (m *eventModel) trim() {
	if m.pictures++; m.pictures < trimPictures {
		return
	}
	held := cap(m.list)
	for i := range m.bands {
		held = max(held, cap(m.bands[i].events))
	}
	if held > 4*max(m.most, keptEvents) {
		m.list, m.turn, m.bands = nil, nil, nil
	}
	m.pictures, m.most = 0, 0
}

// restart takes a picture as the reference of all that follow.
func (m *eventModel) restart(luminances []uint32, stamp simtime.Stamp) {
	m.lastNs = stamp
	m.luminances = append(m.luminances[:0], luminances...)
	if len(m.levels) != len(luminances) {
		m.levels, m.eventNs = make([]float64, len(luminances)), make([]simtime.Stamp, len(luminances))
	}
	for i, l := range luminances {
		m.levels[i], m.eventNs[i] = m.brightness(l), noEvent
	}
}

// share has goroutines work on bands of rows, and returns when they have ended.
func (m *eventModel) share() {
	n := m.workers
	if n == 0 {
		n = min(runtime.GOMAXPROCS(0), m.width*m.height/bandPixels)
	}
	n = min(max(n, 1), m.height)
	for len(m.bands) < n {
		m.bands = append(m.bands, band{})
	}
	m.bands = m.bands[:n]
	for i := range m.bands {
		b := &m.bands[i]
		b.first, b.last = i*m.height/n, (i+1)*m.height/n
		if i < n-1 {
			m.working.Go(func() { m.fill(b) })
			continue
		}
		m.fill(b)
	}
	m.working.Wait()
}

// fill makes the events of a band, by row and column.
func (m *eventModel) fill(b *band) {
	b.events, b.lost = b.events[:0], 0
	for y := b.first; y < b.last; y++ {
		for x := range m.width {
			if i := y*m.width + x; m.span.luminances[i] != m.luminances[i] {
				m.pixel(b, i)
			}
		}
	}
}

// pixel appends one pixel's events to a band's, by rising time.
func (m *eventModel) pixel(b *band, i int) {
	span := &m.span
	before, after := m.brightness(m.luminances[i]), m.brightness(span.luminances[i])
	change := after - before
	if math.Abs(change) <= brightnessTolerance {
		return
	}
	brighter := change > 0
	step := m.step(i, span.seq, brighter)
	event := sample.DvsEvent{X: uint16(i % m.width), Y: uint16(i / m.width), Polarity: brighter}
	for {
		level := m.levels[i] + step
		if brighter && level > after || !brighter && level < after {
			return
		}
		m.levels[i] = level
		part := max((level-before)/change, 0) // below 0: passed already
		event.TimeNs = span.startNs + simtime.Stamp(math.Round(part*float64(span.endNs-span.startNs)))
		if m.eventNs[i] != noEvent && int64(event.TimeNs-m.eventNs[i]) < m.refractoryNs {
			continue
		}
		m.eventNs[i] = event.TimeNs
		if len(b.events) < m.limit {
			b.events = append(b.events, event)
		} else {
			b.lost++
		}
	}
}

// step returns how far the next level of a pixel lies from its last.
func (m *eventModel) step(pixel int, seq uint32, brighter bool) float64 {
	t, sign := m.negative, -1.0
	if brighter {
		t, sign = m.positive, 1
	}
	c := t.mean
	if t.sigma > 0 {
		c = max(c+t.sigma*gaussian(m.seed, seq, uint32(pixel)), minThreshold)
	}
	return sign * c
}

// sortedByTime sorts events of equal times in the order in which they stand. It is a radix sort
// of the nanoseconds after start, of which span is the greatest. It returns the sorted list and
// memory for the next call, which was scratch.
func sortedByTime(events, scratch []sample.DvsEvent, span, start int64) (sorted, spare []sample.DvsEvent) {
	const bits, mask = 11, 1<<11 - 1
	if cap(scratch) < len(events) {
		scratch = make([]sample.DvsEvent, len(events), cap(events))
	}
	scratch = scratch[:len(events)]
	for shift := 0; span>>shift > 0; shift += bits {
		var places [1 << bits]int
		for i := range events {
			places[(events[i].TimeNs-simtime.Stamp(start))>>shift&mask]++
		}
		next := 0
		for digit, n := range places {
			places[digit], next = next, next+n
		}
		for i := range events {
			digit := (events[i].TimeNs - simtime.Stamp(start)) >> shift & mask
			scratch[places[digit]] = events[i]
			places[digit]++
		}
		events, scratch = scratch, events
	}
	return events, scratch
}

// gaussian returns a normally distributed number of mean 0 and deviation 1 for a
// key and a counter: lib/noise.glsl's function in float64.
func gaussian(key uint64, counter, index uint32) float64 {
	v := pcg4d([4]uint32{uint32(key), uint32(key >> 32), counter, index})
	u := (float64(v[0]>>8) + 1) / (1 << 24)
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*float64(v[1]>>8)/(1<<24))
}

// pcg4d mixes four words (Jarzynski and Olano, "Hash Functions for GPU
// Rendering", JCGT 9(3), 2020).
func pcg4d(v [4]uint32) [4]uint32 {
	mix := func() {
		v[0] += v[1] * v[3]
		v[1] += v[2] * v[0]
		v[2] += v[0] * v[1]
		v[3] += v[1] * v[2]
	}
	for i := range v {
		v[i] = v[i]*1664525 + 1013904223
	}
	mix()
	for i := range v {
		v[i] ^= v[i] >> 16
	}
	mix()
	return v
}
