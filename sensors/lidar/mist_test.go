package lidar

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/weather"
)

// sees is a receiver of pulses of 5 ns with an overlap, of which R10 is 100 or 200 m in air that takes nothing, in a weather.
func sees(r10, start, end float64, w weather.State) mistLens {
	return mistLens{
		start: start, end: end, pulse: 5 * metresPerNs, exit: 11, spread: 3, weakest: 0.1 / (r10 * r10), reach: 300, extinction: w.Extinction(),
	}
}

// TestFogsEcho holds fog's peak, and from where on surfaces of 10 % and 80 % are weaker, against values of Rasshofer's integral that were
// computed by themselves: pulses of 5 ns, a lidar ratio of 18.8 sr.
func TestFogsEcho(t *testing.T) {
	for _, c := range []struct {
		start, end, peak float64
		weaker           [4][2]float64 // by visibility: 50, 100, 200, 500 m
	}{
		{0.9, 1.0, 1.3, [4][2]float64{{4.2, 9.0}, {6.1, 13.8}, {8.9, 21.1}, {14.6, 36.4}}},
		{1, 3, 2.0, [4][2]float64{{7.5, 14.2}, {11.2, 22.6}, {16.7, 35.6}, {28.2, 64.2}}},
		{2, 6, 3.7, [4][2]float64{{12.3, 20.9}, {18.7, 33.8}, {28.6, 54.7}, {49.8, 102.6}}},
		{3, 10, 5.3, [4][2]float64{{16.8, 26.6}, {25.8, 43.3}, {40.1, 71.2}, {71.5, 136.8}}},
	} {
		for i, visibility := range []float64{50, 100, 200, 500} {
			w := weather.State{Visibility: visibility}
			l := sees(100, c.start, c.end, w)
			m := mistOf(l, w)
			if visibility == 100 {
				assert.InDelta(t, c.peak, m.far.fogAt, 0.06, "%v to %v m", c.start, c.end)
			}
			for k, rho := range []float64{0.1, 0.8} {
				low, high := 0.1, 300.0
				for range 60 {
					if r := (low + high) / 2; rho*math.Exp(-2*l.extinction*r)/(r*r) > m.far.fog {
						low = r
					} else {
						high = r
					}
				}
				assert.InDelta(t, c.weaker[i][k], low, 0.01*c.weaker[i][k]+0.05, "%v %% in %v m, %v to %v m", 100*rho, visibility, c.start, c.end)
			}
		}
	}
}

// TestFogBeforeATarget: a near target cuts fog's echo short, and one behind the peak's pulse doesn't change it.
func TestFogBeforeATarget(t *testing.T) {
	w := weather.State{Visibility: 100}
	m := mistOf(sees(100, 2, 6, w), w)
	last := 0.0
	for i := range m.places {
		p := &m.places[i]
		assert.GreaterOrEqual(t, p.fog, last-1e-12)
		assert.LessOrEqual(t, p.fogAt, max(p.at+m.lens.pulse/2, m.lens.start+m.lens.pulse))
		if p.at >= m.single {
			assert.Equal(t, m.far.fog, p.fog)
		}
		last = p.fog
	}
	assert.Zero(t, m.places[0].fog)
	assert.Less(t, m.places[20].fog, m.far.fog)
	assert.Less(t, m.places[mistPlaces-1].at, 100.0)
}

// TestDropsInABeam holds the chance of a beam of 3 mrad to hold a drop that is seen, and where half of those are nearer, against values
// that were computed by themselves: kappa 0.005, 11 mm at the exit.
func TestDropsInABeam(t *testing.T) {
	for _, c := range []struct {
		r10, start, end, median float64
		percent                 [4]float64 // 5, 10, 25, 50 mm/h
	}{
		{100, 0.9, 1.0, 1.3, [4]float64{3.4, 5.7, 10.8, 16.5}},
		{100, 1, 3, 2.0, [4]float64{0.17, 0.47, 1.6, 3.5}},
		{200, 1, 3, 2.2, [4]float64{5.0, 9.3, 18.8, 29.5}},
		{200, 2, 6, 3.5, [4]float64{0.06, 0.23, 1.0, 2.6}},
	} {
		for i, rain := range []float64{5, 10, 25, 50} {
			w := weather.State{Rain: rain}
			m := mistOf(sees(c.r10, c.start, c.end, w), w)
			assert.InDelta(t, c.percent[i], 100*(1-math.Exp(-m.far.drops)), 0.05*c.percent[i]+0.006, "%v mm/h, %v m, %v to %v m", rain, c.r10, c.start, c.end)
			if i == 0 {
				half := 0.0
				for _, p := range m.places {
					if p.drops < m.far.drops/2 {
						half = p.at
					}
				}
				assert.InDelta(t, c.median, half, 0.12, "%v to %v m", c.start, c.end)
			}
		}
	}
}

// TestNothingFalls: dry air has no places, and a receiver whose beam is seen whole assumes an overlap for the weather alone.
func TestNothingFalls(t *testing.T) {
	r := &radiometry{Radiometry: Radiometry{R10: 100, Wavelength: "905", FalseAlarmRate: new(float64), RangeNoise: new(float64), PulseWidth: 5}, maxM: 120}
	dry := r.mist(1e-4, weather.State{Visibility: 1e9})
	assert.Equal(t, 1e-4, dry.lens.extinction)
	assert.Zero(t, dry.far)
	fog := r.mist(1e-4, weather.State{Visibility: 100})
	assert.Equal(t, []float64{2, 6}, []float64{fog.lens.start, fog.lens.end})
	assert.InDelta(t, 3.7, fog.far.fogAt, 0.1)
	r.OverlapStart, r.OverlapEnd = 1, 3
	assert.InDelta(t, 2.0, r.mist(1e-4, weather.State{Visibility: 100}).far.fogAt, 0.1)
}
