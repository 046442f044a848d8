package ranging

import (
	"context"
	"math"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// Obstacle describes sensor.other.obstacle, which tells what is in the way of the actor
// that it rides on. Names and defaults of the attributes are CARLA's.
//
// The way is exact (scene.Sweeper): nothing is so thin that the ball passes it by. Ahead means
// ahead of the ball's middle. CARLA's ball touches the road wherever it reaches down to it. Here
// ground counts only where it rises from the way by 45 degrees or more, as a kerb does. Ground is
// what has such a tag: roads, terrain and the like.
type Obstacle struct {
	Distance       float64  `attribute:"distance" live:"true" unit:"m" default:"5" min:"0.01" max:"1000" usual:"0.5 200" doc:"how far the ball goes"`
	HitRadius      *float64 `attribute:"hit_radius" unit:"m" default:"0.5" max:"10" usual:"0.05 5" doc:"radius of the ball"`
	OnlyDynamics   bool     `attribute:"only_dynamics" doc:"report only vehicles and walkers, even if something that stands is in front of them"`
	DebugLinetrace bool     `attribute:"debug_linetrace" inert:"raybridge's window doesn't draw the ball's way" doc:"CARLA draws the way in its window"`
}

// ObstacleDefinition describes sensor.other.obstacle.
var ObstacleDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.obstacle",
	Number: 63,
	Doc:    "obstacles: the first thing, however thin, that a ball moving ahead from the sensor touches; not the ground below its way",
	Tags:   []string{"other", "obstacle"},
	Outputs: sensors.OneOutput[sample.Obstacle](sensors.OutputSpec{
		Name: "obstacle", Doc: "the first obstacle; nothing is sent while the way is free",
	}),
	Rate: simtime.Hz(20),
}, newObstacle)

type obstacle struct {
	sensors.Reading[sample.Obstacle]
	owner   sensors.Owner
	ball    scene.Ball
	sweeper *scene.Sweeper
}

func newObstacle(spec sensors.Spec, given Obstacle) (sensors.Sensor, error) {
	o := &obstacle{Reading: sensors.Reading[sample.Obstacle]{Spec: spec}}
	o.ball = scene.Ball{Radius: *given.HitRadius, Distance: given.Distance, Counts: isInTheWay}
	if given.OnlyDynamics {
		o.ball.Counts = func(tag scene.Tag, _ float64) bool { return moves(tag) }
	}
	return o, nil
}

// SetOwner takes the actor whose way it is.
func (o *obstacle) SetOwner(owner sensors.Owner) error {
	o.owner = owner
	return nil
}

// Begin opens the output.
func (o *obstacle) Begin(ctx context.Context, env *sensors.Env) error {
	o.ball.Through, o.sweeper = env.Owner, scene.NewSweeper(env.Geometry, env.History)
	return o.Reading.Begin(ctx, env)
}

// Tune takes over the distance.
func (o *obstacle) Tune(fresh sensors.Sensor) error {
	o.ball.Distance = fresh.(*obstacle).ball.Distance
	return nil
}

// Tick publishes what the ball touches first, if the owner is there at the due instant.
func (o *obstacle) Tick(at sensors.Tick) error {
	if !o.Env.History.Present(o.Env.Owner, at.Due) {
		return nil
	}
	o.ball.Pose = o.Env.Pose(o.Spec.Mount, at.Due)
	first, ok := o.sweeper.First(o.ball, at.Due)
	if !ok {
		return nil
	}
	o.Message = sample.Obstacle{
		Header: at.Header(o.Spec.FrameID, o.ball.Pose), Actor: o.Env.Owner, ActorType: o.owner.TypeID,
		Other: first.Actor, Distance: float32(first.Distance),
	}
	if a := o.Env.History.Actor(first.Actor); a != nil {
		o.Message.OtherType = a.TypeID
	}
	o.Publish(at)
	return nil
}

// isInTheWay reports whether a surface is in the ball's way: all but the ground along which it goes.
func isInTheWay(tag scene.Tag, facing float64) bool { return !tag.Ground() || facing >= math.Sqrt2/2 }

// moves reports whether a tag is of what can move.
func moves(t scene.Tag) bool { return t.RoadUser() || t == scene.TagDynamic }
