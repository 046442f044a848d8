package sample

import "github.com/go-gl/mathgl/mgl64"

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

// CopyToCache makes dst an independent copy.
func (m *Collision) CopyToCache(dst *Collision) { *dst = *m }

// CacheKey groups all events in one pool.
func (m *Collision) CacheKey() uint64 { return 0 }

// Obstacle says what is in an actor's way.
type Obstacle struct {
	Header
	Actor, Other         uint32
	ActorType, OtherType string
	// Distance is from the sensor to the obstacle along the way, metres.
	Distance float32
}

// CopyToCache makes dst an independent copy.
func (m *Obstacle) CopyToCache(dst *Obstacle) { *dst = *m }

// CacheKey groups all events in one pool.
func (m *Obstacle) CacheKey() uint64 { return 0 }

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

// CopyToCache makes dst a deep copy, reusing dst's slice where it is large enough.
func (m *LaneInvasion) CopyToCache(dst *LaneInvasion) {
	list := append(dst.Marks[:0], m.Marks...)
	*dst = *m
	dst.Marks = list
}

// CacheKey groups all events in one pool.
func (m *LaneInvasion) CacheKey() uint64 { return 0 }
