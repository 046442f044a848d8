package groundtruth

import (
	"context"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Collision describes sensor.other.collision, which tells when the actor that it rides on
// touches another.
//
// raybridge has no physics: actors follow their motions through one another. scene.ContactWatch says what touching is.
// The impulse is the one that would end the approach of two bodies without spin.
type Collision struct{}

// CollisionDefinition describes sensor.other.collision.
var CollisionDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.collision",
	Number: 62,
	Doc:    "collisions of the actor it is attached to, one event a frame for each actor that is touched",
	Tags:   []string{"other", "collision"},
	Outputs: sensors.OneOutput[sample.Collision](sensors.OutputSpec{
		Name: "collision", Doc: "the actor that is touched, and the normal impulse on the owner",
		QoS: flow.ReliableQoS(100),
	}),
	EachFrame: true,
}, func(spec sensors.Spec, _ Collision) (sensors.Sensor, error) {
	return &collision{Reading: sensors.Reading[sample.Collision]{Spec: spec}}, nil
})

type collision struct {
	sensors.Reading[sample.Collision]
	owner   sensors.Owner
	mass    float64 // the owner's, kg
	watch   *scene.ContactWatch
	touched []scene.Contact // scratch
}

// SetOwner takes the owner's box.
func (s *collision) SetOwner(owner sensors.Owner) error {
	s.owner, s.mass = owner, massOf(owner.TypeID, owner.Box)
	return nil
}

// Begin lists what can be touched and opens the output.
func (s *collision) Begin(ctx context.Context, env *sensors.Env) error {
	s.watch = scene.NewContactWatch(env.Scene, env.History, env.Owner, s.owner.Box)
	return s.Reading.Begin(ctx, env)
}

// Tick publishes an event for each actor that the owner touches.
func (s *collision) Tick(at sensors.Tick) error {
	s.touched = s.watch.Touched(s.touched[:0], at.Due)
	for i := range s.touched {
		other := &s.touched[i]
		s.Message = sample.Collision{
			Header: at.Header(s.Spec.FrameID, other.Owner.Pose.Compose(s.Spec.Mount)),
			Actor:  s.Env.Owner, Other: other.ID, ActorType: s.owner.TypeID, OtherType: other.TypeID,
		}
		mass := massOf(other.TypeID, other.Box)
		if other.Fixed && ActorKindOf(other.TypeID) != sample.KindVehicle { // a parked vehicle gives way
			mass = math.Inf(1)
		}
		s.Message.NormalImpulse = impulse(other.Normal, other.Owner.Twist.Linear.Sub(other.Other.Twist.Linear), s.mass, mass)
		s.Publish(at)
	}
	return nil
}

// impulse returns what ends the approach of two bodies along a normal that points to the first,
// N s. It is zero where they don't approach.
func impulse(normal, relative mgl64.Vec3, m1, m2 float64) mgl64.Vec3 {
	approach := -relative.Dot(normal)
	if approach <= 0 {
		return mgl64.Vec3{}
	}
	return normal.Mul(approach / (1/m1 + 1/m2))
}

// Densities of the masses that impulses are computed with: a car of 14 m³ has 1.5
// tonnes, a walker 75 kg.
const (
	vehicleDensity = 107.0 // kg/m³ of the bounding box
	walkerMass     = 75.0  // kg
)

// massOf returns the mass of an actor that moves, kg.
func massOf(typeID string, b scene.Box) float64 {
	if ActorKindOf(typeID) == sample.KindWalker {
		return walkerMass
	}
	return vehicleDensity * 8 * b.Half[0] * b.Half[1] * b.Half[2]
}
