package weather_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/weather"
)

// TestReach: at the reach the echo is as weak as the last one without weather, whatever the weather takes.
func TestReach(t *testing.T) {
	for _, power := range []float64{2, 4} {
		for _, extinction := range []float64{1e-12, 1e-6, 1e-3, 0.03, 0.3, 3} {
			for _, dry := range []float64{0.1, 10, 200, 2000} {
				r := weather.Reach(dry, extinction, power)
				assert.InDelta(t, 0, -2*extinction*r+power*math.Log(dry/r), 1e-9*(1+power*math.Log(dry/r)), "%v m, %v /m, power %v", dry, extinction, power)
			}
		}
		assert.Equal(t, 37.3, weather.Reach(37.3, 0, power), "no weather takes nothing")
	}
}

// TestRadarsReachInRain: at 200 m 25 mm/h take 4.6 dB there and back, by which the range at 76.5 GHz is 0.77 times that
// without rain. A range of 200 m becomes 162 m, where the rain takes the 3.7 dB by which an echo is stronger there.
func TestRadarsReachInRain(t *testing.T) {
	extinction := weather.State{Rain: 25}.RadarExtinction(76.5)
	assert.InDelta(t, 4.6, 10*math.Log10(math.Exp(2*extinction*200)), 0.05)
	dry := 200 / 0.767
	assert.InDelta(t, 200, weather.Reach(dry, extinction, 4), 1)
	assert.InDelta(t, 0.77, weather.Reach(dry, extinction, 4)/dry, 0.005)
	assert.InDelta(t, 162, weather.Reach(200, extinction, 4), 0.5)
	assert.InDelta(t, 3.7, 40*math.Log10(200/162.), 0.05)
	assert.InDelta(t, 3.7, 2*11.4*0.162, 0.05)
}
