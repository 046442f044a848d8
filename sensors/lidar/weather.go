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

// airAt is that of a scan that ends at a tick.
func airAt(env *sensors.Env, at sensors.Tick) air { return air{env.Weather(at.Due).Extinction()} }

// reach is up to which range a firing sees that sees up to dry without weather, metres.
func (a air) reach(dry float64) float64 { return weather.Reach(dry, a.extinction, 2) }

// dimmedTogether is how many points are dimmed at a time, while they are in the caches.
const dimmedTogether = 1024

// dim takes from points what the weather takes from their light on its way there and back.
func (d *dimmer) dim(points []sample.Point) {
	if d.halvings == 0 {
		return
	}
	for i := range points {
		points[i].Intensity = d.intensity(&points[i])
	}
}

// dimmer dims intensities: by how many powers of two a metre, there and back. Intensities above retro are those of retroreflectors.
type dimmer struct{ halvings, retro float32 }

// dimmer returns that of a scan. It changes nothing where the receiver's scale doesn't have the light.
func (r *receiver) dimmer(a air) dimmer {
	halvings := float32(2 * math.Log2E * a.extinction)
	switch r.scale {
	case surface:
		return dimmer{halvings, diffuseTop}
	case carla:
		return dimmer{halvings, float32(math.Inf(1))}
	}
	return dimmer{}
}

// intensity returns the dimmed one of a point.
func (d *dimmer) intensity(p *sample.Point) float32 {
	if d.halvings == 0 || p.Return == sample.ReturnUnknown {
		return p.Intensity
	}
	base := float32(0)
	if p.Intensity > d.retro {
		base = retroBase
	}
	return base + (p.Intensity-base)*halved(d.halvings*p.Distance)
}

// halved returns 2^-x for an x of 0 or more, with a relative error below 3e-7: 0 from x = 126 on. A scan asks for each of its
// points, and math.Exp takes several times as long.
func halved(x float32) float32 {
	if !(x < 126) {
		return 0
	}
	whole := int32(x + 0.5)
	y := (float32(whole) - x) * math.Ln2 // at most half of ln 2, for which seven terms of the series do
	series := 1 + y*(1+y*(1./2+y*(1./6+y*(1./24+y*(1./120+y*(1./720))))))
	return series * math.Float32frombits(uint32(127-whole)<<23)
}

// The scale surface has diffuse surfaces up to diffuseTop, and retroreflectors from retroBase on.
const (
	diffuseTop = 100
	retroBase  = 101
)
