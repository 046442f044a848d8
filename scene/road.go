package scene

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
)

// LaneMarkType is the kind of a lane mark, numbered as CARLA's LaneMarking.Type.
type LaneMarkType uint8

// Kinds of lane marks.
const (
	LaneMarkOther      LaneMarkType = 0
	LaneMarkBroken     LaneMarkType = 1
	LaneMarkSolid      LaneMarkType = 2
	LaneMarkSolidSolid LaneMarkType = 3
	LaneMarkCurb       LaneMarkType = 9
)

// LaneMarkColor is the colour of a lane mark, numbered as CARLA's.
type LaneMarkColor uint8

// Colours of lane marks.
const (
	LaneMarkWhite      LaneMarkColor = 0
	LaneMarkYellow     LaneMarkColor = 4
	LaneMarkColorOther LaneMarkColor = 5
)

// LaneMark is one line between lanes: a polyline on the ground, in the map frame.
type LaneMark struct {
	ID     uint32 // unique in the scene, from 1
	Type   LaneMarkType
	Color  LaneMarkColor
	Points []mgl64.Vec3
}

// SignalState is what a traffic light shows, numbered as CARLA's TrafficLightState.
type SignalState uint8

// States of a traffic light.
const (
	SignalRed SignalState = iota
	SignalYellow
	SignalGreen
	SignalOff
)

// TrafficLight is one traffic light: where its lamps are and what they show when.
type TrafficLight struct {
	// ID is unique among the scene's lights, from 1; Actor is the actor whose part
	// the lamps are, 0 for none.
	ID, Actor uint32
	// Pose is the centre of the lamps in the map frame, x pointing to the traffic
	// that they are for; Size the full extents along its axes, metres.
	Pose spatial.Pose
	Size mgl64.Vec3
	// Green, Yellow and Red are how long each is shown, in this order, nanoseconds;
	// the cycle begins with green at OffsetNs. All zero: off.
	Green, Yellow, Red, OffsetNs int64
}

// StateAt returns what the light shows at a simulation time, and for how long it has
// shown it, nanoseconds. It is a pure function.
func (l *TrafficLight) StateAt(tNs int64) (state SignalState, elapsedNs int64) {
	cycle := l.Green + l.Yellow + l.Red
	if cycle <= 0 {
		return SignalOff, 0
	}
	into := (tNs - l.OffsetNs) % cycle
	if into < 0 {
		into += cycle
	}
	switch {
	case into < l.Green:
		return SignalGreen, into
	case into < l.Green+l.Yellow:
		return SignalYellow, into - l.Green
	default:
		return SignalRed, into - l.Green - l.Yellow
	}
}
