package stage

import (
	"math"
	"strings"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/spatial"
)

// ability is how fast an actor can move, m/s. A move beyond it is a jump, whatever the source says.
type ability struct {
	ahead float64 // along the heading, either way
	aside float64 // across it, faster than it went so already
}

// Poses may be off by so much: metres, and a share of the way ahead.
const (
	slackAside = 0.1
	slackAhead = 0.1
)

// The abilities of actors with wheels or on rails. A lane is changed in a second.
const (
	fastest    = 100.0
	laneChange = 4.0
)

var egoAbility = ability{fastest, laneChange}

// abilities are those of models, by how their names begin. Wheels and rails hardly let an actor move sideways.
// All others move in any direction.
var abilities = []struct {
	prefix string
	ability
}{
	{"vehicle.bicycle", ability{25, laneChange}},
	{"vehicle.ship", ability{30, 30}},
	{"vehicle.", egoAbility},
	{"walker.", ability{12, 12}},
	{"", ability{340, 340}},
}

// abilityOf returns what a model can do. Its top speed, if it isn't 0, takes the place of its kind's.
func abilityOf(model string, top float64) ability {
	for _, known := range abilities {
		if strings.HasPrefix(model, known.prefix) {
			a := known.ability
			if top > 0 {
				if a.aside == a.ahead {
					a.aside = top
				}
				a.ahead = top
			}
			return a
		}
	}
	return ability{} // one prefix fits all
}

// reaches reports whether an actor that goes along a motion gets from one waypoint to the other. It goes on sideways
// as it did: by the waypoints' velocities if they are known, or else by the motion's.
func (a ability) reaches(m scene.Kinematic, from, to *scene.Waypoint) bool {
	seconds := float64(to.Stamp-from.Stamp) * 1e-9
	heading := spatial.Interpolate(from.Pose, to.Pose, 0.5).Rotate(mgl64.Vec3{1, 0, 0})
	split := func(v mgl64.Vec3) (ahead, aside float64) {
		ahead = v.Dot(heading)
		v = v.Sub(heading.Mul(ahead))
		return math.Abs(ahead), math.Hypot(v[0], v[1]) // slopes and kerbs are no obstacle
	}
	before := from.Velocity
	if !from.VelocityKnown {
		before = m.StateAt(from.Stamp).Twist.Linear
	}
	after := before
	if to.VelocityKnown {
		after = to.Velocity
	}
	way := to.Pose.Position.Sub(from.Pose.Position)
	ahead, across := split(way)
	_, aside := split(way.Sub(before.Add(after).Mul(seconds / 2)))
	switch {
	case a.aside == a.ahead:
		aside = across
	case !from.VelocityKnown && before.Len() == 0: // nobody knows which way it went
		aside = 0
	}
	fast := max(a.ahead, before.Len(), after.Len())
	return ahead <= fast*seconds*(1+slackAhead)+slackAside && (aside <= a.aside*seconds+slackAside || across <= slackAside)
}
