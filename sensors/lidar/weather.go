package lidar

import (
	"math"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/weather"
)

// thinned is how lidars feel the weather, and received how one does that may have a threshold.
var (
	thinned  = sensors.Felt{Visibility: extinct, Rain: extinct, Snow: extinct}
	received = sensors.Felt{
		Visibility: extinct + threshold + "fog's echoes", Rain: extinct + threshold + "drops' echoes", Snow: extinct + threshold + "flakes' echoes, snow on the ground",
		Wetness: "with `range_corrected` less from wet ground",
	}
)

const (
	extinct   = "shorter range, weaker returns"
	threshold = "; with `range_corrected` also "
)

// air is what the weather does to a lidar that has no threshold. A return at R stays where exp(-2 extinction R) (range / R)² is 1
// or more, so that the ranges of the table are shorter. The zero value stands for clear air.
type air struct{ extinction float64 }

// airAt is that of a scan.
func (s *scanner) airAt(env *sensors.Env, at sensors.Tick) air {
	return air{env.Weather(at.Due).Extinction()}
}

// reach is up to which range a firing sees that sees up to dry without weather, metres.
func (a air) reach(dry float64) float64 { return weather.Reach(dry, a.extinction, 2) }

// dimmedTogether is how many points are dimmed at a time, while they are in the caches.
const dimmedTogether = 1024

// dim takes from points what the weather takes from their light on its way there and back.
func (r *receiver) dim(a air, points []sample.Point) {
	if a.extinction == 0 || r.scale != surface && r.scale != carla {
		return
	}
	for i := range points {
		points[i].Intensity = r.dimmed(a, &points[i])
	}
}

// dimmed returns the intensity of a point: without what the weather takes from the light on its way there and back, where the
// scale has the light.
func (r *receiver) dimmed(a air, p *sample.Point) float32 {
	if a.extinction == 0 || r.scale != surface && r.scale != carla || p.Return == sample.ReturnUnknown {
		return p.Intensity
	}
	base := float32(0)
	if r.scale == surface && p.Intensity > diffuseTop {
		base = retroBase
	}
	return base + (p.Intensity-base)*float32(math.Exp(-2*a.extinction*float64(p.Distance)))
}

// The scale surface has diffuse surfaces up to diffuseTop, and retroreflectors from retroBase on.
const (
	diffuseTop = 100
	retroBase  = 101
)
