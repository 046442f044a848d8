package sample

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// ActorKind says which of an ActorState's parts belong to it.
type ActorKind uint8

// Kinds of actors.
const (
	KindOther ActorKind = iota
	KindVehicle
	KindWalker
	KindTrafficLight
	KindTrafficSign
)

// ActorState is one actor at one instant.
type ActorState struct {
	ID     uint32
	TypeID string
	Kind   ActorKind
	// Pose, Twist and Acceleration are in the map frame: metres, m/s, rad/s, m/s².
	Pose         spatial.Pose
	Twist        spatial.Twist
	Acceleration mgl64.Vec3
	// BoxCenter and BoxHalf are the bounding box in the actor's frame, metres.
	BoxCenter, BoxHalf mgl64.Vec3
	// Throttle, Braking (0..1) and Steering (-1..1, positive to the right), Gear
	// and Reverse are a vehicle's, derived from its movement.
	Throttle, Braking, Steering float32
	Gear                        int32
	Reverse                     bool
	// Signal is a traffic light's state, SignalElapsed the seconds since it
	// changed; Red, Yellow and Green are how long it shows each, seconds.
	Signal                            world.SignalState
	SignalElapsed, Red, Yellow, Green float32
}

// Snapshot is the state of every actor of the world at one frame.
type Snapshot struct {
	Header
	// DeltaNs is the simulated time since the frame before.
	DeltaNs int64
	Actors  []ActorState // by rising id; the ego is first, with id 0
}

// SizeBytes returns about the size of the snapshot in memory.
func (m *Snapshot) SizeBytes() int64 { return 320 * int64(len(m.Actors)) }
