package sample

import (
	"github.com/go-gl/mathgl/mgl64"
)

// Collision says that an actor touches another.
type Collision struct {
	Header
	// Actor is the sensor's owner, Other what it touches.
	Actor, Other uint32
	// ActorType and OtherType are their type ids.
	ActorType, OtherType string
	// NormalImpulse acts on the owner, newton seconds, in the map frame.
	NormalImpulse mgl64.Vec3
}

// Obstacle says what is in an actor's way.
type Obstacle struct {
	Header
	Actor, Other         uint32
	ActorType, OtherType string
	// Distance is from the sensor to the obstacle along the way, metres.
	Distance float32
}

// LaneMarkType is the kind of a lane mark, numbered as CARLA's
// LaneMarking.Type (OpenDRIVE).
type LaneMarkType uint8

// Kinds of lane marks.
const (
	LaneMarkOther LaneMarkType = iota
	LaneMarkBroken
	LaneMarkSolid
	LaneMarkSolidSolid
	LaneMarkSolidBroken
	LaneMarkBrokenSolid
	LaneMarkBrokenBroken
	LaneMarkBottsDots
	LaneMarkGrass
	LaneMarkCurb
	LaneMarkNone
)

// LaneMarkColor is the colour of a lane mark, numbered as CARLA's.
type LaneMarkColor uint8

// Colours of lane marks.
const (
	LaneMarkWhite LaneMarkColor = iota
	LaneMarkBlue
	LaneMarkGreen
	LaneMarkRed
	LaneMarkYellow
	LaneMarkColorOther
)

// LaneMark is one line between lanes: paint, or a kerb.
type LaneMark struct {
	ID    uint32 // unique in the scene, from 1
	Type  LaneMarkType
	Color LaneMarkColor
	// Points are joined by straight pieces on the ground, in the map frame, metres.
	Points []mgl64.Vec3
}

// LaneMarks are all lane marks of the world, in the map frame.
type LaneMarks struct {
	Header
	Marks []LaneMark
}

// SizeBytes returns about the size of the marks in memory.
func (m *LaneMarks) SizeBytes() (bytes int64) {
	for i := range m.Marks {
		bytes += 32 + 24*int64(len(m.Marks[i].Points))
	}
	return bytes
}

// CrossedMark is one lane mark that was crossed.
type CrossedMark struct {
	ID    uint32 // of the mark in the scene
	Type  LaneMarkType
	Color LaneMarkColor
}

// LaneInvasion says which lane marks an actor has crossed since the frame before.
type LaneInvasion struct {
	Header
	Actor uint32
	Marks []CrossedMark
}

// LaneLineType is how a lane line is painted, numbered as SVL and Apollo do.
type LaneLineType uint8

// Types of lane lines.
const (
	LaneLineWhiteDashed LaneLineType = iota
	LaneLineWhiteSolid
	LaneLineYellowDashed
	LaneLineYellowSolid
)

// Places of a lane line beside the vehicle, numbered as SVL and Apollo do: negative to the
// left, positive to the right.
const (
	LaneLineEgoLeft       = -1
	LaneLineAdjacentLeft  = -2
	LaneLineEgoRight      = 1
	LaneLineAdjacentRight = 2
	LaneLineOther         = 6
	LaneLineUnknown       = 7
)

// LaneLine is one line that bounds a lane, as a camera sees it.
type LaneLine struct {
	// Width is the paint's, metres; 0 where it isn't known.
	Width float64
	Type  LaneLineType
	// Place counts the lines from the vehicle outwards, -5 to 5, or is LaneLineOther or
	// LaneLineUnknown.
	Place int8
	// MinX and MaxX are between which distances ahead the curve holds, metres. There the
	// line is C[0] + C[1] x + C[2] x² + C[3] x³ metres to the left.
	MinX, MaxX float64
	C          [4]float64
}

// LaneLines are the lines around a vehicle (SVL's LaneLinesData), in Header.FrameID: x
// forward, y left.
type LaneLines struct {
	Header
	Lines []LaneLine
}
