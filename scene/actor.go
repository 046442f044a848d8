package scene

import (
	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
)

// Tag is a semantic class, numbered as CARLA numbers them since 0.9.14.
type Tag uint8

// CARLA's semantic tags (0.9.14 and later).
const (
	TagUnlabeled Tag = iota
	TagRoads
	TagSidewalks
	TagBuilding
	TagWall
	TagFence
	TagPole
	TagTrafficLight
	TagTrafficSign
	TagVegetation
	TagTerrain
	TagSky
	TagPedestrian
	TagRider
	TagCar
	TagTruck
	TagBus
	TagTrain
	TagMotorcycle
	TagBicycle
	TagStatic
	TagDynamic
	TagOther
	TagWater
	TagRoadLine
	TagGround
	TagBridge
	TagRailTrack
	TagGuardRail
)

// Motion says where an actor is. Implementations are pure functions of time:
// any goroutine may call PoseAt, and equal times give equal poses.
type Motion interface {
	// PoseAt returns the actor's pose in the map frame at simulation time tNs.
	PoseAt(tNs int64) spatial.Pose
}

// Part is one mesh of an actor, placed in the actor's frame.
type Part struct {
	Name  string
	Mesh  int // into the scene's Meshes
	Local mgl64.Mat4
	Tag   Tag
	// Joints, where not nil, animates the part: it returns Local at a
	// simulation time. It must be a pure function.
	Joints func(tNs int64) mgl64.Mat4
}

// Actor is one thing of the scene: it has one instance id, and moves as one
// body apart from its animated parts.
type Actor struct {
	// ID is the instance id, 1..65535; 0 is nothing. Scene.Add gives it.
	ID uint32
	// Name is unique in the scene; TypeID is in CARLA's manner: "vehicle.sedan".
	Name, TypeID string
	Parts        []Part
	// Pose is where the actor stands, in the map frame, if Motion is nil.
	Pose spatial.Pose
	// Motion moves the actor; nil for a static one. A *Driven is steered
	// from outside.
	Motion Motion
	// Reserved holds the actor back: it is nowhere until History.Spawn. See
	// Scene.Reserve.
	Reserved bool
}

// Static reports whether neither the actor nor a part of it ever moves, and it is
// always there: then it is part of the World's one set of static triangles.
func (a *Actor) Static() bool {
	if a.Motion != nil || a.Reserved {
		return false
	}
	for i := range a.Parts {
		if a.Parts[i].Joints != nil {
			return false
		}
	}
	return true
}

// Origin is where the map frame's origin lies on the earth: WGS84 degrees, and
// metres above the ellipsoid; x points east, y north (REP-105).
type Origin struct {
	Latitude, Longitude, Altitude float64
}

// Light is the sun and the sky.
type Light struct {
	// SunDirection points from the ground to the sun, a unit vector in the map frame.
	SunDirection mgl32.Vec3
	SunColor     mgl32.Vec3 // linear RGB irradiance
	SkyZenith    mgl32.Vec3 // linear RGB radiance
	SkyHorizon   mgl32.Vec3
	Ground       mgl32.Vec3 // radiance from below the horizon
	Exposure     float32
}

// Scene is everything sensors can see. It is built by one goroutine; once a
// World was made of it, it must not be changed.
type Scene struct {
	Name      string
	Textures  []Texture
	Materials []Material
	Meshes    []Mesh
	Actors    []*Actor
	Light     Light
	Origin    Origin
	// Ego is the default pose of the ego vehicle's base_link (rear axle,
	// on the ground) in the map frame, and Route its default loop.
	Ego   spatial.Pose
	Route Motion
	// EgoBox bounds the ego in base_link: it has no mesh. The zero value stands
	// for DefaultEgoBox.
	EgoBox Box
	// LaneMarks are the painted lines and kerbs that lane sensors know, Signals the
	// traffic lights. A city lists its own; glTF files have no place for them, so
	// that their scenes have none but what a program sets before the run.
	LaneMarks []LaneMark
	Signals   []TrafficLight

	taken  map[*Asset]assetBase // the assets that Add has taken in
	names  map[string]int       // taken names, and the last number given after each
	lastID uint32
}
