package city

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/spatial"
)

// The phases of a crossing's lights, nanoseconds. Opposite arms show the same; while
// one pair of arms has green, yellow and the pause after it, the other has red.
const (
	greenNs  = 12_000_000_000
	yellowNs = 3_000_000_000
	allRedNs = 1_000_000_000
	turnNs   = greenNs + yellowNs + allRedNs // of one pair of arms
)

// signalHeads are where a traffic light has its two heads for vehicles, in its frame:
// on the pole, and on an arm over the lane.
var signalHeads = [...]vec{{0.12, 0, 2.6}, {0.1, -4.1, 5.05}}

// A head's housing, in the head's frame; the lamps look along +x.
var (
	housingMin = vec{0, -0.17, 0}
	housingMax = vec{0.16, 0.17, 1.06}
)

// light is a traffic light that was placed; its actor has a model if it was bought.
type light struct {
	object   *object
	first    bool  // its arms have green first
	offsetNs int64 // when the crossing's cycle begins
}

// signalOffset draws when a crossing's cycle begins: before time 0, and so that at
// time 0 the first arms have had green for some seconds and keep it for one at least.
// The lamps are shaded as at time 0.
func (t *town) signalOffset(i, j int) int64 {
	return -stream(t.seed, "phase", t.gridIndex(i, j)).Int64N(greenNs - allRedNs)
}

// signals returns the lights of the actors that are there, one a head.
func (t *town) signals() []scene.TrafficLight {
	var out []scene.TrafficLight
	for _, l := range t.lights {
		if l.object.model == nil {
			continue
		}
		offset := l.offsetNs
		if !l.first {
			offset += turnNs
		}
		for _, head := range signalHeads {
			center := spatial.Pose{Position: head.Add(housingMin.Add(housingMax).Mul(0.5)), Orientation: mgl64.QuatIdent()}
			out = append(out, scene.TrafficLight{
				ID: uint32(len(out) + 1), Actor: l.object.id,
				Pose: l.object.pose.Compose(center), Size: housingMax.Sub(housingMin),
				Green: greenNs, Yellow: yellowNs, Red: 2*turnNs - greenNs - yellowNs, OffsetNs: offset,
			})
		}
	}
	return out
}
