package raybridge

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// EgoOf makes the motion of the vehicle that carries the sensors: nil stands where the scene
// puts it, a *scene.Driven is steered by somebody else. The warning says that the vehicle begins
// elsewhere than its pose says, since that is beside the waypoints. Or it begins outside of the scene,
// where its sensors see little of it. It is "" otherwise. An error says that a sensor tells where on
// the earth it is, and the vehicle begins where the map isn't.
func EgoOf(c *config.Config, s *scene.Scene) (ego scene.Motion, warning string, err error) {
	if ego, err = motion(c, s); err != nil {
		return nil, "", err
	}
	at := s.Ego.Position
	if ego != nil {
		at = ego.PoseAt(0).Position
	}
	for i := range c.Sensors {
		if err := c.Sensors[i].Reaches(sensorsall.Registry(), s.Map, at); err != nil && c.World.Ego != config.EgoTheirs {
			return nil, "", err
		}
	}
	if warning = astray(s, at); c.Ego.Driver == config.DriverWaypoints && len(c.Ego.Waypoints) > 0 {
		if beside := beside(ego, c.Ego.Pose); beside != "" {
			warning = strings.Trim("ego.pose: "+beside+"; "+warning, "; ")
		}
	}
	return ego, warning, nil
}

func motion(c *config.Config, s *scene.Scene) (scene.Motion, error) {
	route, start := s.Route, s.Ego
	if len(c.Ego.Waypoints) > 0 {
		var err error
		if route, err = loop(c.Ego.Waypoints, c.Ego.Speed, c.Ego.Pose); err != nil {
			return nil, err
		}
	}
	if c.Ego.Pose != nil {
		start = c.Ego.Pose.Spatial()
	}
	switch {
	case c.Ego.Driver != config.DriverWaypoints:
		return scene.NewDriven(start, scene.Vehicle{CommandTimeout: commandTimeout(c)})
	case len(c.Ego.Waypoints) == 0 && c.Ego.Pose != nil:
		return standing{start}, nil
	default:
		return route, nil
	}
}

// How far beyond the scene's bounds an ego usually begins at most, metres: above it
// there may be drones.
const (
	usualMargin = 1
	usualHeight = 100
)

// astray is EgoOf's warning.
func astray(s *scene.Scene, at mgl64.Vec3) string {
	stats := s.Stats()
	low := stats.Min.Sub(mgl64.Vec3{usualMargin, usualMargin, usualMargin})
	high := stats.Max.Add(mgl64.Vec3{usualMargin, usualMargin, usualHeight})
	if stats.Instances == 0 {
		return ""
	}
	for i := range at {
		if at[i] < low[i] || at[i] > high[i] {
			return fmt.Sprintf("the vehicle begins at %s m, outside of the scene, %s to %s: see ego.pose and ego.waypoints",
				fault.Place(at), fault.Place(stats.Min), fault.Place(stats.Max))
		}
	}
	return ""
}

// loop is a closed loop through waypoints at a speed, m/s. It begins at its place that is nearest to
// a pose, nil for its first waypoint.
func loop(points []config.Waypoint, speed float64, at *sensors.Pose) (scene.Motion, error) {
	list := make([]mgl64.Vec3, len(points))
	for i, p := range points {
		list[i] = p.Vec3()
	}
	route, err := scene.NewWaypointLoop(list, speed)
	if err != nil || at == nil {
		return route, err
	}
	return scene.NewWaypointLoopWith(list, speed, scene.LoopOptions{Start: route.Nearest(at.Spatial(), 0)})
}

// A start so near to a pose, metres, and so little turned away from it, degrees, is there:
// corners are rounded.
const (
	usualAside = 3
	usualTurn  = 10
)

// beside says that a loop begins elsewhere than at the pose that was given with its waypoints, "" where
// it doesn't, or for no pose. A pose without angles gives none.
func beside(loop scene.Motion, at *sensors.Pose) string {
	if at == nil {
		return ""
	}
	want, begins := at.Spatial(), loop.PoseAt(0)
	aside := want.Position.Sub(begins.Position).Len()
	turned := mgl64.RadToDeg(2 * math.Acos(min(math.Abs(want.Orientation.Dot(begins.Orientation)), 1)))
	var how string
	switch {
	case aside > usualAside:
		how = fault.Number(aside, 4) + " m beside"
	case turned > usualTurn && (at.Roll != 0 || at.Pitch != 0 || at.Yaw != 0):
		how = fmt.Sprintf("turned by %.4g degrees from", turned)
	default:
		return ""
	}
	_, _, yaw := begins.RPY()
	return fmt.Sprintf("it is %s the waypoints, and the start is at %s m, yaw %.4g", how, fault.Place(begins.Position), yaw)
}

// standing is the motion of an ego that stays where it was put.
type standing struct{ pose spatial.Pose }

// PoseAt returns the same pose at any time.
func (s standing) PoseAt(simtime.Stamp) spatial.Pose { return s.pose }

// commandTimeout is a scene.Vehicle's: keys are read as long as there is a window.
func commandTimeout(c *config.Config) time.Duration {
	switch {
	case c.Ego.Driver != config.DriverExternal:
		return scene.DefaultCommandTimeout
	case c.Ego.Commands.Timeout == 0:
		return -1
	default:
		return c.Ego.Commands.Timeout
	}
}

// commands returns the topics that steer the ego: none where somebody else does.
func commands(c *config.Config) pipeline.Commands {
	if c.Ego.Driver != config.DriverExternal {
		return pipeline.Commands{}
	}
	from := c.Ego.Commands
	return pipeline.Commands{Control: from.Control, Ackermann: from.Ackermann, Velocity: from.Velocity}
}
