package lidar

import (
	"encoding/binary"
	"math"

	"github.com/raybridge/raybridge/weather"
)

// Assumptions about a device of which nothing is known: where its receiver begins to see the beam and sees all of it
// (metres), the beam's width at its exit (mm) and how much it widens (mm per metre).
const (
	assumedStart, assumedEnd = 2, 6
	exitWidth                = 11
	assumedDivergence        = 3
)

// The equivalent reflectances of drops and flakes that fill a beam. A drop is a sphere of which the front reflects as a mirror of
// water: a quarter of ((n-1)/(n+1))². A flake is a white disc (Hahner et al. 2022).
const (
	dropReflectance  = 0.005
	flakeReflectance = 0.9
)

// Lying snow returns light as fresh snow does, at 905 nm and at 1550 nm.
var snowReflectance = map[string]float64{"905": 0.9, "1550": 0.15}

// mistPlaces is how many ranges the table has what fog and particles return before.
const mistPlaces = 64

// mistBytes is the size of what the uniform block has of the weather.
const mistBytes = 96

// mist is what the weather returns to a receiver with a threshold: strengths are those of radiometry.
type mist struct {
	lens   mistLens
	state  weather.State
	places [mistPlaces]mistPlace // by rising range
	far    mistPlace             // for targets behind them
	single float64               // the range from which a target doesn't change fog's echo
}

// mistLens is what decides how a receiver sees the weather.
type mistLens struct {
	start, end     float64 // of the overlap, metres
	pulse          float64 // half of its length in air, metres
	exit, spread   float64 // the beam's width at its exit and what it widens, mm and mm per metre
	weakest        float64 // the strength from which an echo is told from noise
	reach          float64 // the longest range, metres
	extinction     float64 // of all air, per metre
	snowyGround    float64 // reflectance of lying snow
	faintestOfFogs float64 // the strength below which fog's echo is never seen
}

// mistPlace is what the weather returns before a target at some range: how many drops and flakes on average are seen, and
// the strength and range of fog's echo.
type mistPlace struct{ at, drops, flakes, fog, fogAt float64 }

// lens is that of a receiver in a weather. own is the air's extinction without it.
func (r *radiometry) lens(own float64, w weather.State) mistLens {
	threshold, atR10, weakest := r.levels()
	l := mistLens{
		start: assumedStart, end: assumedEnd, pulse: metresPerNs * r.PulseWidth, exit: exitWidth, spread: assumedDivergence,
		weakest: threshold / atR10 * weakest, reach: r.maxM, extinction: own + w.Extinction(), snowyGround: snowReflectance[r.Wavelength],
	}
	l.faintestOfFogs = l.weakest * max(0, 1-6/threshold)
	if r.OverlapEnd > 0 {
		l.start, l.end = r.OverlapStart, r.OverlapEnd
	}
	if b := r.beam; b != nil {
		l.spread = math.Sqrt(b.Divergence * b.DivergenceVertical)
	}
	return l
}

// overlap is the part of the beam that the receiver sees.
func (l *mistLens) overlap(r float64) float64 {
	if l.end <= l.start {
		if r < l.start {
			return 0
		}
		return 1
	}
	return min(max((r-l.start)/(l.end-l.start), 0), 1)
}

// full is the strength of what fills the beam at a range and returns all light.
func (l *mistLens) full(r float64) float64 {
	if r <= 0 {
		return 0
	}
	return math.Exp(-2*l.extinction*r) * l.overlap(r) / (r * r)
}

// width is the beam's, mm.
func (l *mistLens) width(r float64) float64 { return l.exit + l.spread*r }

// rate returns how many particles of a reflectance a metre of the beam has on average that are strong enough to be seen.
func (l *mistLens) rate(sizes weather.Sizes, reflectance, r float64) float64 {
	share := l.weakest / (reflectance * l.full(r)) // of the beam's area
	if !(share <= 1) {
		return 0
	}
	w := l.width(r)
	return math.Pi / 4 * w * w * 1e-6 * sizes.Above(w*math.Sqrt(share))
}

// mist computes what a weather returns to the receiver.
func (r *radiometry) mist(own float64, w weather.State) *mist { return mistOf(r.lens(own, w), w) }

func mistOf(l mistLens, w weather.State) *mist {
	m := &mist{lens: l, state: w}
	if w.Extinction() == 0 {
		return m
	}
	drops, flakes := w.RainDrops(), w.SnowFlakes()
	m.far = m.fogBefore(math.Inf(1), w.FogBackscatter())
	m.single = m.far.fogAt + l.pulse
	end := max(l.farthest(drops, dropReflectance), l.farthest(flakes, flakeReflectance), m.single, l.start+l.pulse)
	before := mistPlace{at: l.start}
	for i := range m.places {
		share := float64(i) / (mistPlaces - 1)
		p := mistPlace{at: l.start + (end-l.start)*share*share}
		if p.fog, p.fogAt = m.far.fog, m.far.fogAt; p.at < m.single {
			near := m.fogBefore(p.at, w.FogBackscatter())
			p.fog, p.fogAt = near.fog, near.fogAt
		}
		p.drops = before.drops + l.integral(drops, dropReflectance, before.at, p.at)
		p.flakes = before.flakes + l.integral(flakes, flakeReflectance, before.at, p.at)
		m.places[i], before = p, p
	}
	m.far.drops, m.far.flakes = before.drops, before.flakes
	return m
}

// integral is that of rate between two ranges, by Simpson's rule.
func (l *mistLens) integral(sizes weather.Sizes, reflectance, from, to float64) (sum float64) {
	if sizes.Lambda == 0 || to <= from {
		return 0
	}
	const steps = 16
	h := (to - from) / steps
	for i := 0; i <= steps; i++ {
		weight := 2.0 + 2*float64(i%2)
		if i == 0 || i == steps {
			weight = 1
		}
		sum += weight * l.rate(sizes, reflectance, from+h*float64(i))
	}
	return sum * h / 3
}

// farthest is the range from which on hardly a particle is large enough to be seen: one in e^14 of all.
func (l *mistLens) farthest(sizes weather.Sizes, reflectance float64) float64 {
	if sizes.Lambda == 0 {
		return 0
	}
	low, high := l.end, l.reach
	for range 50 {
		r := (low + high) / 2
		if share := l.weakest / (reflectance * l.full(r)); share <= 1 && sizes.Lambda*l.width(r)*math.Sqrt(share) < 14 {
			low = r
		} else {
			high = r
		}
	}
	return low
}

// fogBefore returns fog's echo before a target: the peak of what a pulse of sin² returns from all of the air that
// it lights at a time (Rasshofer et al. 2011), and where it seems to be, by the pulse's middle.
func (m *mist) fogBefore(target, backscatter float64) (p mistPlace) {
	l := &m.lens
	step := max(l.pulse/200, min(l.pulse/20, (l.end-l.start)/20))
	if l.end <= l.start {
		step = l.pulse / 100
	}
	n := int(math.Ceil(2 * l.pulse / step))
	step = 2 * l.pulse / float64(n)
	p.fogAt = l.start
	last := min(target, l.end+2*l.pulse) // behind the overlap the air returns less and less
	if backscatter == 0 || last <= l.start {
		return p
	}
	light := make([]float64, int((last-l.start)/step)+1)
	for i := range light {
		light[i] = l.full(l.start + (float64(i)+0.5)*step)
	}
	shape := make([]float64, n)
	for i := range shape {
		s := math.Sin(math.Pi * (float64(i) + 0.5) / float64(n))
		shape[i] = math.Pi * backscatter * step * s * s
	}
	for front := 1; front < len(light)+n; front++ { // the pulse's front is at start + front step
		sum := 0.0
		for i := max(0, front-len(light)); i < min(n, front); i++ {
			sum += shape[i] * light[front-1-i]
		}
		if sum > p.fog {
			p.fog, p.fogAt = sum, l.start+float64(front)*step-l.pulse
		}
	}
	return p
}

// put writes the words of the uniform block. first is the row of the places.
func (m *mist) put(dst []byte, first int) {
	l, w := &m.lens, m.state
	slope := 1e9
	if l.end > l.start {
		slope = 1 / (l.end - l.start)
	}
	fog, kept := m.far.fog, uint32(1)
	if fog < l.faintestOfFogs {
		fog = 0
	}
	if fog == 0 && m.far.drops == 0 && m.far.flakes == 0 {
		kept = 0
	}
	reals := [...]float64{
		fog, m.far.fogAt, m.single, l.weakest,
		m.places[0].at, m.places[mistPlaces-1].at - m.places[0].at, m.far.drops, m.far.flakes,
		dropReflectance, perSize(w.RainDrops()), flakeReflectance, perSize(w.SnowFlakes()),
		l.exit, l.spread, l.start, slope,
		w.Wetness, w.SnowCover(), l.snowyGround, 0,
	}
	for i, v := range reals {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(float32(v)))
	}
	for i, v := range [...]uint32{uint32(first), kept, 0, 0} {
		binary.LittleEndian.PutUint32(dst[4*(len(reals)+i):], v)
	}
}

// perSize is the mean of what a particle is wider than the narrowest that is seen, mm.
func perSize(s weather.Sizes) float64 {
	if s.Lambda == 0 {
		return 0
	}
	return 1 / s.Lambda
}

// list writes the rows of the places.
func (m *mist) list(dst []byte) {
	for i := range m.places {
		p := &m.places[i]
		for k, v := range [...]float64{p.drops, p.flakes, p.fog, p.fogAt} {
			binary.LittleEndian.PutUint32(dst[16*i+4*k:], math.Float32bits(float32(v)))
		}
	}
}
