package motion

import (
	"context"
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// driver is what the sensors share that drive the vehicle they ride on. All but control change its
// standing order (scene.Driven.SetStanding) before the scene moves, so that a stepped run
// always drives the same way. A command from outside wins over them as long as it holds.
type driver struct {
	vehicle *scene.Driven
}

// SetOwner refuses an owner that obeys no commands.
func (d *driver) SetOwner(o sensors.Owner) error {
	if d.vehicle = o.Vehicle; d.vehicle == nil {
		return fmt.Errorf("%w: an ego whose driver is external does", ErrNotDriven)
	}
	return nil
}

// Begin does nothing: the vehicle is there.
func (d *driver) Begin(context.Context, *sensors.Env) error { return nil }

// Tick does nothing: orders are given before the scene moves, and commands count when they come.
func (d *driver) Tick(sensors.Tick) error { return nil }

// End lets the vehicle stop.
func (d *driver) End() error {
	d.halt()
	return nil
}

// halt orders the vehicle to stop.
func (d *driver) halt() { d.order(func(c *scene.Command) { *c = scene.Command{BySpeed: true} }) }

// order changes the standing order. Its figures are finite, so that it isn't refused.
func (d *driver) order(change func(*scene.Command)) { _ = d.vehicle.SetStanding(change) }

// routeOf returns the route that sensors follow, nil for none. Then it warns of what the vehicle
// does instead.
func routeOf(env *sensors.Env, instead string) *scene.WaypointLoop {
	route, _ := env.Scene.Route.(*scene.WaypointLoop)
	if route == nil {
		env.Log.Warn("the scene has no route, so the vehicle " + instead + ": give ego.waypoints")
	}
	return route
}

// CruiseControl describes sensor.other.cruise_control, which keeps a speed while no command
// from outside holds. It doesn't steer.
type CruiseControl struct {
	Speed float64 `attribute:"cruise_speed" live:"true" unit:"m/s" max:"200" usual:"0 50" doc:"speed to keep; the vehicle's own limit counts too"`
}

// CruiseControlDefinition describes sensor.other.cruise_control.
var CruiseControlDefinition = sensors.Define(sensors.Definition{
	ID:        "sensor.other.cruise_control",
	Number:    53,
	Doc:       "keeps the vehicle's speed while no command from outside holds",
	Tags:      []string{"vehicle", "driver"},
	EachFrame: true, Acts: true,
}, func(_ sensors.Spec, o CruiseControl) (sensors.Sensor, error) {
	return &cruiseControl{speed: o.Speed}, nil
})

type cruiseControl struct {
	driver
	speed float64
}

// Tune takes over the speed.
func (s *cruiseControl) Tune(fresh sensors.Sensor) error {
	s.speed = fresh.(*cruiseControl).speed
	return nil
}

// PreTick orders the speed.
func (s *cruiseControl) PreTick(sensors.Tick) error {
	s.order(func(c *scene.Command) { c.BySpeed, c.Speed = true, s.speed })
	return nil
}

// End lets the vehicle stop, and leaves the steering to others.
func (s *cruiseControl) End() error {
	s.order(func(c *scene.Command) { c.BySpeed, c.Speed = true, 0 })
	return nil
}

// LaneFollowing describes sensor.other.lane_following, which keeps the vehicle in its lane
// while no command from outside holds. Who knows how to steer may tell it: SVL's sensor of that
// name obeys a model that sees the lane. What it is told holds for 0.5 s. Otherwise it follows
// the scene's own route and slows down for its bends. It steers by pure pursuit (Coulter,
// Implementation of the Pure Pursuit Path Tracking Algorithm, 1992). Without a route it goes straight on.
type LaneFollowing struct {
	Speed       float64  `attribute:"cruise_speed" live:"true" unit:"m/s" max:"30" usual:"0 20" doc:"speed to keep on a straight lane"`
	Sensitivity *float64 `attribute:"steering_sensitivity" live:"true" default:"1" max:"2" doc:"factor on the steering that it receives"`
}

// LaneFollowingDefinition describes sensor.other.lane_following.
var LaneFollowingDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.lane_following",
	Number: 54,
	Doc:    "keeps the vehicle in its lane, at a speed, while no command from outside holds",
	Tags:   []string{"vehicle", "driver"},
	Inputs: []sensors.InputSpec{
		sensors.DeclareInput[*sample.VehicleControl](sensors.InputSpec{
			Name: "steering", Suffix: "/steering", Doc: "the steering of a driver that sees the lane; the rest of the message is ignored", QoS: commandQoS,
		}),
	},
	EachFrame: true, Acts: true,
}, func(_ sensors.Spec, o LaneFollowing) (sensors.Sensor, error) {
	return &laneFollowing{options: o, until: math.MinInt64}, nil
})

type laneFollowing struct {
	driver
	options  LaneFollowing
	route    *scene.WaypointLoop // nil for none
	told     *sensors.Input[*sample.VehicleControl]
	steering float64       // radians, that it was told
	until    simtime.Stamp // to when that holds
}

// Begin takes the input, and finds the route.
func (s *laneFollowing) Begin(_ context.Context, env *sensors.Env) (err error) {
	s.route = routeOf(env, "drives straight ahead unless something steers")
	s.told, err = sensors.InputOf[*sample.VehicleControl](env, "steering")
	return err
}

// Tune takes over speed and sensitivity.
func (s *laneFollowing) Tune(fresh sensors.Sensor) error {
	s.options = fresh.(*laneFollowing).options
	return nil
}

// PreTick orders a speed and the steering.
func (s *laneFollowing) PreTick(at sensors.Tick) error {
	limits := s.vehicle.Vehicle()
	for m := range s.told.Take() {
		if angle := ControlCommand(m, limits).Steering; !math.IsNaN(angle) {
			s.steering, s.until = angle**s.options.Sensitivity, at.Due+simtime.Stamp(scene.DefaultCommandTimeout)
		}
	}
	speed, steering := s.options.Speed, s.steering
	if at.Due >= s.until {
		steering = 0
		if s.route != nil {
			state := s.vehicle.StateAt(at.Due)
			along := s.route.Nearest(state.Pose, onward)
			steering = pursue(s.route, along, state, limits.Wheelbase)
			speed = min(speed, bendSpeed(s.route, along))
		}
	}
	s.order(func(c *scene.Command) { c.BySpeed, c.Speed, c.Steering = true, speed, steering })
	return nil
}

// How a route is followed: in which direction, how far ahead the point lies that is steered to,
// and how a bend limits the speed.
const (
	onward         = 1e6 // metres, more than any distance: a vehicle goes on the way it looks
	leastLookahead = 3   // metres
	lookaheadTime  = 0.5 // seconds
	lateralComfort = 3   // m/s² in a bend
	brakingComfort = 2   // m/s² before it
	bendAhead      = 40  // metres that are looked at
	bendStep       = 2.0 // metres
)

// pursue returns the steering angle, radians, that leads from a state to a point ahead on a
// route. It is that of the bicycle model's arc through both.
func pursue(route *scene.WaypointLoop, along float64, state scene.State, wheelbase float64) float64 {
	ahead := max(leastLookahead, lookaheadTime*state.Twist.Linear.Len())
	target, _ := route.At(along + ahead)
	to := state.Pose.Inverse().Apply(target)
	square := to[0]*to[0] + to[1]*to[1]
	if square == 0 {
		return 0
	}
	return math.Atan(wheelbase * 2 * to[1] / square)
}

// bendSpeed returns the speed, m/s, with which the bends ahead can be reached and taken.
func bendSpeed(route *scene.WaypointLoop, along float64) float64 {
	speed := math.Inf(1)
	_, before := route.At(along)
	for d := bendStep; d <= bendAhead; d += bendStep {
		_, direction := route.At(along + d)
		curvature := math.Atan2(before.Cross(direction).Len(), before.Dot(direction)) / bendStep
		if curvature > 1e-6 {
			speed = min(speed, math.Sqrt(lateralComfort/curvature+2*brakingComfort*(d-bendStep)))
		}
		before = direction
	}
	return speed
}

// Destination describes sensor.other.destination, which tells robot software where to go, as
// SVL's sensor of that name does, and where there is. It is there once it is within the radius
// and looks the way that the destination does, within the angle. With a speed it drives there by
// itself, along the scene's own route to the point nearest to the destination, and stops.
type Destination struct {
	Place  []float64 `attribute:"destination" live:"true" unit:"m, m, deg" doc:"x, y and yaw of the destination in the map; none is nowhere"`
	Radius float64   `attribute:"check_radius" live:"true" unit:"m" default:"1" min:"1" max:"10" doc:"how close is there"`
	Angle  float64   `attribute:"check_angle" live:"true" unit:"deg" default:"10" min:"1" max:"360" doc:"how far turned is there"`
	Speed  float64   `attribute:"drive_speed" unit:"m/s" max:"30" usual:"0 20" doc:"speed at which it drives there; 0 leaves driving to others"`
}

// DestinationDefinition describes sensor.other.destination.
var DestinationDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.destination",
	Number: 55,
	Doc:    "the vehicle's destination: publishes it, and drives there along the scene's route if it has a speed",
	Tags:   []string{"vehicle", "driver"},
	Outputs: sensors.OneOutput[sample.Destination](sensors.OutputSpec{
		Name: "destination", Doc: "the destination in the map; nothing is sent while there is none",
	}),
	Rate: simtime.Hz(10), Acts: true,
}, newDestination)

func newDestination(spec sensors.Spec, o Destination) (sensors.Sensor, error) {
	if n := len(o.Place); n != 0 && n != 3 {
		return nil, fmt.Errorf("%w: destination has %d numbers, need x, y and yaw", sensors.ErrValue, n)
	}
	s := &destination{Reading: sensors.Reading[sample.Destination]{Spec: spec}, options: o}
	if len(o.Place) == 3 {
		s.goal, s.known = spatial.FromRPY(mgl64.Vec3{o.Place[0], o.Place[1], 0}, 0, 0, o.Place[2]), true
	}
	return s, nil
}

type destination struct {
	sensors.Reading[sample.Destination]
	options Destination
	vehicle *scene.Driven
	route   *scene.WaypointLoop // nil for none, and for one that doesn't drive
	goal    spatial.Pose
	known   bool
}

// SetOwner refuses to drive an owner that obeys no commands.
func (s *destination) SetOwner(o sensors.Owner) error {
	if s.vehicle = o.Vehicle; s.vehicle == nil && s.options.Speed > 0 {
		return fmt.Errorf("%w: an ego whose driver is external does; or leave drive_speed out", ErrNotDriven)
	}
	return nil
}

// Begin finds the route, if the sensor drives.
func (s *destination) Begin(ctx context.Context, env *sensors.Env) error {
	if s.options.Speed > 0 {
		s.route = routeOf(env, "stays where it is")
	}
	return s.Reading.Begin(ctx, env)
}

// Tune takes over another destination, and what counts as there. The vehicle stops where there
// is none any more.
func (s *destination) Tune(fresh sensors.Sensor) (err error) {
	f := fresh.(*destination)
	if !f.known {
		err = s.End()
	}
	s.options, s.goal, s.known = f.options, f.goal, f.known
	return err
}

// drives reports whether there is somewhere to drive to, and a way.
func (s *destination) drives() bool { return s.known && s.route != nil }

// PreTick drives on.
func (s *destination) PreTick(at sensors.Tick) error {
	if !s.drives() {
		return nil
	}
	route, state := s.route, s.vehicle.StateAt(at.Due)
	along := route.Nearest(state.Pose, onward)
	left := math.Mod(route.Nearest(s.goal, s.options.Radius)-along+route.Length(), route.Length())
	speed := min(s.options.Speed, bendSpeed(route, along), math.Sqrt(2*brakingComfort*left))
	if there, _ := s.there(state.Pose); there || route.Length()-left < s.options.Radius {
		speed = 0 // there, or just past it
	}
	steering := pursue(route, along, state, s.vehicle.Vehicle().Wheelbase)
	return s.vehicle.SetStanding(func(c *scene.Command) { c.BySpeed, c.Speed, c.Steering = true, speed, steering })
}

// there reports whether a pose is at the destination, and how far it is from there, metres.
func (s *destination) there(pose spatial.Pose) (there bool, distance float64) {
	away := s.goal.Position.Sub(pose.Position)
	distance = math.Hypot(away[0], away[1])
	ahead, wanted := pose.Rotate(mgl64.Vec3{1, 0, 0}), s.goal.Rotate(mgl64.Vec3{1, 0, 0})
	turned := mgl64.RadToDeg(math.Atan2(ahead.Cross(wanted).Len(), ahead.Dot(wanted)))
	return distance <= s.options.Radius && turned <= s.options.Angle, distance
}

// Tick publishes the destination, if there is one and the owner is there then.
func (s *destination) Tick(at sensors.Tick) error {
	owner, ok := s.Env.History.Pose(s.Env.Owner, at.Due)
	if !ok || !s.known {
		return nil
	}
	m := &s.Message
	m.Header = at.Header(spatial.FrameMap, owner.Compose(s.Spec.Mount))
	m.Goal = s.goal
	m.Reached, m.Distance = s.there(owner)
	s.Publish(at)
	return nil
}

// End lets the vehicle stop.
func (s *destination) End() error {
	if s.drives() {
		return s.vehicle.SetStanding(func(c *scene.Command) { *c = scene.Command{BySpeed: true} })
	}
	return nil
}
