package ranging

import (
	"context"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/compute"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// Obstacle describes sensor.other.obstacle, which tells what is in the way of the actor
// that it rides on. Names and defaults of the attributes are CARLA's.
type Obstacle struct {
	Distance       float64  `attribute:"distance" live:"true" unit:"m" default:"5" min:"0.01" max:"1000" usual:"0.5 200" doc:"how far the ball goes"`
	HitRadius      *float64 `attribute:"hit_radius" unit:"m" default:"0.5" max:"10" usual:"0.05 5" doc:"radius of the ball"`
	OnlyDynamics   bool     `attribute:"only_dynamics" doc:"take notice of vehicles and walkers alone, also where something that stands is before them"`
	DebugLinetrace bool     `attribute:"debug_linetrace" inert:"raybridge's window doesn't draw the ball's way" doc:"CARLA draws the way in its window"`
}

// ObstacleDefinition describes sensor.other.obstacle.
var ObstacleDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.obstacle",
	Number: 63,
	Doc:    "obstacles: what a ball that goes ahead from the sensor touches first",
	Tags:   []string{"other", "obstacle", "gpu"},
	Outputs: []sensors.OutputSpec{
		sensors.Declare[sample.Obstacle](sensors.OutputSpec{
			Name: "obstacle", Suffix: "", Doc: "the first obstacle; nothing is sent while the way is free",
			QoS: flow.DefaultQoS,
		}),
	},
	Rate: simtime.Hz(20),
}, newObstacle)

// The ball is looked for along parallel rays. There is one in the middle, and rings of them out
// to its radius. They are closer to one another where its surface is steep, so that the
// distance is good to a fifth of the radius. What is thinner than the rays' distance may slip
// through.
const (
	rings   = 8
	perRing = 6 // rays of the innermost ring; each further one has as many more
)

type obstacle struct {
	*compute.Sensor[compute.Hit]
	spec     sensors.Spec
	owner    sensors.Owner
	distance float64
	rays     []compute.Ray
	ahead    []float64 // how far the ball's front is ahead of its middle, along each ray

	out   *sensors.Output[*sample.Obstacle]
	event sample.Obstacle // reused: outputs copy what they keep
}

func newObstacle(spec sensors.Spec, given Obstacle) (sensors.Sensor, error) {
	o := &obstacle{spec: spec, distance: given.Distance}
	o.aim(*given.HitRadius)
	shader := compute.FixedRays(len(o.rays), func(rays []compute.Ray) { copy(rays, o.rays) }, o.publish)
	if given.OnlyDynamics {
		shader = compute.Among(moves, shader)
	}
	o.Sensor = compute.New(spec, shader)
	return o, nil
}

// aim lays out the rays of a ball.
func (o *obstacle) aim(radius float64) {
	add := func(r, angle float64) {
		sin, cos := math.Sincos(angle)
		front := math.Sqrt(math.Max(radius*radius-r*r, 0))
		o.rays = append(o.rays, compute.Ray{
			Origin: mgl64.Vec3{0, r * cos, r * sin}, Direction: mgl64.Vec3{1, 0, 0}, Max: o.distance + front,
		})
		o.ahead = append(o.ahead, front)
	}
	add(0, 0)
	if radius == 0 {
		return
	}
	for ring := 1; ring <= rings; ring++ {
		n := perRing * ring
		for k := range n {
			add(radius*math.Sin(math.Pi/2*float64(ring)/rings), 2*math.Pi*float64(k)/float64(n))
		}
	}
}

// SetOwner takes the actor whose way it is.
func (o *obstacle) SetOwner(owner sensors.Owner) error {
	o.owner = owner
	return nil
}

// Begin opens the output and the GPU's part.
func (o *obstacle) Begin(ctx context.Context, env *sensors.Env) (err error) {
	if o.out, err = sensors.OutputOf[*sample.Obstacle](env, "obstacle"); err != nil {
		return err
	}
	return o.Sensor.Begin(ctx, env)
}

// Tune takes over the distance. GL thread.
func (o *obstacle) Tune(fresh sensors.Sensor) error {
	f := fresh.(*obstacle)
	f.owner, f.out = o.owner, o.out
	o.TakeOver(f.Sensor)
	return nil
}

// publish sends the obstacle that the ball touches first.
func (o *obstacle) publish(at sensors.Tick, header sample.Header, hits []compute.Hit) {
	nearest, other := math.Inf(1), uint32(0)
	for i, hit := range hits {
		if !hit.Seen() {
			continue
		}
		if d := math.Max(float64(hit.Range)-o.ahead[i], 0); d < nearest {
			nearest, other = d, hit.Instance
		}
	}
	if nearest > o.distance {
		return
	}
	other = o.Env().History.Labelled(other, at.Due)
	o.event = sample.Obstacle{
		Header: header, Actor: o.Env().Owner, ActorType: o.owner.TypeID,
		Other: other, Distance: float32(nearest),
	}
	if a := o.Env().History.Actor(other); a != nil {
		o.event.OtherType = a.TypeID
	}
	o.out.TryQueue(at, &o.event)
}

// moves reports whether a tag is of what can move.
func moves(t scene.Tag) bool { return t.RoadUser() || t == scene.TagDynamic }
