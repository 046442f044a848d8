package sample

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// Box2D is the axis-aligned rectangle of one actor in a picture, pixels, with
// (0, 0) at the top-left corner of the picture.
type Box2D struct {
	ID     uint32 // the actor's
	TypeID string // "vehicle.sedan"
	Label  string // class as SVL's users know it: "Sedan", "Pedestrian"
	Tag    uint8  // CARLA's semantic tag
	Score  float32
	// CenterX, CenterY, Width and Height bound the visible pixels.
	CenterX, CenterY, Width, Height float32
	// Pixels is how many pixels show the actor.
	Pixels uint32
	// Occlusion is the share of the actor's surface towards the camera that
	// something else hides, 0..1; Truncation the share outside the picture.
	Occlusion, Truncation float32
	// Twist is the actor's velocity in the sensor's body frame.
	Twist spatial.Twist
}

// Detections2D is the ground truth of one picture, by rising actor id.
type Detections2D struct {
	Header
	Width, Height int // of the picture, pixels
	Boxes         []Box2D
}

// Box3D is the oriented box of one actor.
type Box3D struct {
	ID     uint32
	TypeID string
	Label  string
	Tag    uint8
	Score  float32
	// Pose is the box's centre and orientation in Header.FrameID, Size its full
	// extents along its own x, y and z, metres.
	Pose spatial.Pose
	Size mgl64.Vec3
	// Occlusion is the share of the actor's surface that is hidden from the
	// sensor by something else, 0..1.
	Occlusion float32
	// Twist and Acceleration are the actor's, in Header.FrameID.
	Twist        spatial.Twist
	Acceleration mgl64.Vec3
}

// Detections3D is the ground truth around a sensor, by rising actor id.
type Detections3D struct {
	Header
	Boxes []Box3D
}

// RadarObject is one actor that a radar sees, as SVL's radar reports it. Vectors
// are in the sensor's frame.
type RadarObject struct {
	ID uint32
	// Position and Velocity are the object's, relative to the sensor: velocity is
	// the object's less the sensor's.
	Position, Velocity mgl64.Vec3
	// Size is the object's box, full extents, metres.
	Size mgl64.Vec3
	// Moving is true above 1 m/s over ground; New at the first sweep that shows it.
	Moving, New bool
}

// RadarObjects are the actors of one radar sweep, by rising id.
type RadarObjects struct {
	Header
	Objects []RadarObject
}

// Signal is one traffic light.
type Signal struct {
	ID    uint32
	Label string // "red", "yellow", "green", "off", "unknown"
	State world.SignalState
	Score float32
	// Pose is the lamps' box in Header.FrameID, x pointing to the traffic that
	// it is for; Size its full extents, metres.
	Pose spatial.Pose
	Size mgl64.Vec3
}

// Signals are the traffic lights for the sensor's owner, nearest first.
type Signals struct {
	Header
	Signals []Signal
}
