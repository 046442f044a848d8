package osi

import (
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// The values of MovingObject.Type that we tell apart.
const (
	kindVehicle    = 2
	kindPedestrian = 3
)

// box is the model of what has no better one: it gets the size of the object.
const box = "box"

// vehicleModels are the models of VehicleClassification.Type. Those that no scene has become boxes.
var vehicleModels = [...]string{
	2: "vehicle.hatchback", 3: "vehicle.hatchback", 4: "vehicle.sedan", 5: "vehicle.sedan", 6: "vehicle.van", 7: "vehicle.truck",
	8: "vehicle.trailer", 9: "vehicle.trailer", 10: "vehicle.motorcycle", 11: "vehicle.bicycle", 12: "vehicle.bus", 13: "vehicle.tram",
	14: "vehicle.train", 15: "vehicle.wheelchair", 16: "vehicle.truck", 17: "vehicle.scooter",
}

// people are models of pedestrians. An object has one by its id.
var people = func() (names [8]string) {
	for i := range names {
		names[i] = fmt.Sprintf("walker.pedestrian.%04d", i+1)
	}
	return names
}()

// model returns the model of a moving object. A vehicle of unknown class is a car, since most are.
func (o *object) model() string {
	switch o.kind {
	case kindPedestrian:
		return people[o.id%uint64(len(people))]
	case kindVehicle:
		switch {
		case o.class < 2:
			return "vehicle.sedan"
		case o.class < uint64(len(vehicleModels)):
			return vehicleModels[o.class]
		}
	}
	return box
}

// pose returns that of the middle of the box: R = Rz(yaw) Ry(pitch) Rx(roll).
func (o *object) pose() spatial.Pose {
	a := o.orientation
	return spatial.FromRPY(o.position, mgl64.RadToDeg(a[0]), mgl64.RadToDeg(a[1]), mgl64.RadToDeg(a[2]))
}

// state returns how the middle of the box moves.
func (o *object) state() world.State {
	s := world.State{Pose: o.pose(), Velocity: o.velocity, VelocityKnown: o.moves, Lights: o.lights}
	if o.turns {
		s.AngularVelocity, s.AngularVelocityKnown = o.spin(), true
	}
	return s
}

// spin returns the angular velocity that the rates of roll, pitch and yaw make, in the world's axes.
func (o *object) spin() mgl64.Vec3 {
	sinYaw, cosYaw := math.Sincos(o.orientation[2])
	sinPitch, cosPitch := math.Sincos(o.orientation[1])
	roll, pitch, yaw := o.rates[0], o.rates[1], o.rates[2]
	return mgl64.Vec3{
		roll*cosPitch*cosYaw - pitch*sinYaw,
		roll*cosPitch*sinYaw + pitch*cosYaw,
		yaw - roll*sinPitch,
	}
}

// ego returns where the point of the ground below the rear axle is. The velocity is that of the middle of the box,
// which it returns as seen from there. Without facts of the axle it is at 0.27 of the length behind the middle.
func (o *object) ego() (s world.State, middle mgl64.Vec3) {
	s = o.state()
	arm := world.RearAxle.InBox(o.size)
	if o.axled {
		arm = mgl64.Vec3{o.rear[0], 0, 0}
	}
	arm[2] = -o.size[2] / 2
	s.Pose.Position = s.Pose.Apply(arm)
	return s, arm.Mul(-1)
}
