// Package scene holds what sensors see: meshes, materials, labels, actors and their motion. It
// composes them into a Geometry that is searched for ray hits and uploaded to the GPU.
//
// # Usage
//
// New and Add compose a Scene from assets. Build makes its Geometry: flat tables in the layout
// that shaders/lib/scene.glsl describes, read from the on-disk cache where they were built
// before. Geometry.Upload puts them on the GPU. While the simulation runs, the frame loop calls
// History.Record once a tick. Each sensor has a Packer that says where the movers are at an
// instant (Places, for rasterising). The Packer also writes it over a scan's window (Motion,
// for tracing) into a MotionTable.
//
// Parts with a Shape (skins, morph targets) change their triangles. MotionTable.Write brings
// them to the GPU for its window. A sensor that rasterises calls Resident.Show for its instant
// before it draws.
//
// Actors may come and go during a run. They have the shapes of the scene's Models, which are in
// the Geometry from the start, and take its Slots. History.Spawn and History.Remove make them
// present and absent from the next tick on. A query for an earlier time (a scan that began
// before) gets the actors of that time.
//
// # Frames
//
// Poses, motions and states are in the map frame, REP-103 axes, float64. The Geometry's tables,
// places and motions are in the world frame. That is the map frame moved by Geometry.Anchor, which
// is zero unless the scene lies far from the map's origin.
//
// # Concurrency
//
// One goroutine builds a Scene; afterwards nobody changes it. A Geometry never changes. Motions are
// pure functions or, like Driven, guard themselves. History has one writer, the frame loop,
// which also spawns and removes, and any number of readers. A Packer belongs to one goroutine at
// a time. Functions that take a *gpu.Ctx run on the GL thread (law G1).
//
// # Testing
//
// scene/scenetest has a float64 tracer that shares nothing with Geometry, and
// scenes whose geometry is known.
package scene

import (
	"image"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
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
	// PoseAt returns the actor's pose in the map frame at simulation time stamp.
	PoseAt(stamp simtime.Stamp) spatial.Pose
}

// Part is one mesh of an actor, placed in the actor's frame.
type Part struct {
	Name  string
	Mesh  int // into the scene's Meshes
	Local mgl64.Mat4
	Tag   Tag
	// Joints, where not nil, animates the part: it returns Local at a
	// simulation time. It must be a pure function.
	Joints func(stamp simtime.Stamp) mgl64.Mat4
	// Posed, where not nil, is what Joints is for an actor that History.SpawnActor brings. It
	// depends on the values of the actor's Joints, too. It must be a pure function.
	Posed func(values JointValues, stamp simtime.Stamp) mgl64.Mat4
	// Shape, where not nil, moves the mesh's vertices in the part's frame.
	Shape *Shape
	// moments are the times at which its box is taken, beside those of every part that moves.
	moments []simtime.Stamp
}

// Actor is one thing of the scene: it has one instance id, and moves as one
// body apart from its animated parts.
type Actor struct {
	// ID is the instance id, 1..65535; 0 is nothing. Scene.Add gives it.
	ID uint32
	// Name is unique in the scene; TypeID is in CARLA's manner: "vehicle.sedan".
	Name, TypeID string
	Parts        []Part
	// Joints are those of a model. History.SpawnActor gives its parts their values.
	Joints []Joint
	// Pose is where the actor stands, in the map frame, if Motion is nil.
	Pose spatial.Pose
	// Motion moves the actor; nil for a static one. A *Driven is steered
	// from outside.
	Motion Motion
	// Paint is the sRGB colour of the materials that are paint, red first. Nil is their own. It
	// counts in an actor that History.SpawnActor brings.
	Paint *[3]uint8
	// Stretch makes an actor that History.SpawnActor brings so many times as long as its model, along x.
	// Parts that turn in it, such as wheels, keep their shape. 0 is 1. It doesn't count with parts of its own.
	Stretch float64
	// Since is when an actor that History.SpawnActor brings comes: at the first tick at or after it.
	// 0 is at the next tick.
	Since simtime.Stamp
}

// Static reports whether neither the actor nor a part of it ever moves. Then it is part of the
// Geometry's one set of static triangles.
func (a *Actor) Static() bool {
	if a.Motion != nil {
		return false
	}
	for i := range a.Parts {
		if a.Parts[i].Joints != nil || a.Parts[i].Shape != nil {
			return false
		}
	}
	return true
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
// Geometry was made of it, it must not be changed.
type Scene struct {
	Name      string
	Textures  []Texture
	Materials []Material
	Meshes    []Mesh
	Actors    []*Actor
	// Models are the shapes of actors that come during a run. Slots is how many of these may be
	// there at a time, of any models. A model's parts name the scene's meshes. Its TypeID is its
	// name, of which the first counts. See Reserve and History.Spawn.
	Models []*Actor
	Slots  int
	Light  Light
	// Occlusion says that Build finds how much of the sky each mesh hides from its own vertices.
	// Cameras darken the light of sky and ground there (ambient occlusion).
	Occlusion bool
	// Map is where the map frame lies on the earth; its zero value is nowhere.
	Map spatial.MapFrame
	// Ego is the default pose of the ego vehicle's base_link (rear axle,
	// on the ground) in the map frame, and Route its default loop.
	Ego   spatial.Pose
	Route Motion
	// EgoBox bounds the ego in base_link: it has no mesh. The zero value stands
	// for DefaultEgoBox.
	EgoBox Box
	// SpawnPoints are places where an actor may begin, upright, by the middle of its underside. A city lists places in
	// its lanes, headed as the traffic there, those near the ego first. A vehicle of up to 8 m has room there at the
	// beginning. Add finds those of other scenes by their names.
	SpawnPoints []spatial.Pose
	// LaneMarks are the painted lines and kerbs that lane sensors know, Signals the traffic
	// lights. A city lists its own. Add finds lights by their lamps. glTF files have no place for
	// lane marks, so that their scenes have only those that a program sets before the run.
	LaneMarks []LaneMark
	Signals   []TrafficLight

	taken  map[*Asset]assetBase // the assets that Add has taken in
	names  map[string]int       // taken names, and the last number given after each
	lastID uint32
}

// Texture is an 8-bit RGBA picture and how it is sampled.
type Texture struct {
	Name  string
	Image *image.NRGBA
	Sampler
}

// Sampler says how a texture is sampled (glTF 2.0, section 3.8.4). The zero value repeats it and
// filters it trilinearly.
type Sampler struct {
	// WrapS is along u, the picture's rows, and WrapT along v, its columns.
	WrapS, WrapT Wrap
	// Magnify is the filter where a texel covers a pixel or more, Minify where it covers less.
	// Magnify takes no mipmaps: FilterTrilinear stands for FilterLinear there.
	Magnify, Minify Filter
}

// Filter is how many texels make a sample: the four around it or the nearest alone. It is also
// how many mipmap levels do.
type Filter uint8

// The filters. Their bits: 1 for the nearest texel, 2 for the nearest level, 4 for level 0 alone.
const (
	FilterTrilinear            Filter = 0
	FilterNearestMipmapLinear  Filter = 1
	FilterLinearMipmapNearest  Filter = 2
	FilterNearestMipmapNearest Filter = 3
	FilterLinear               Filter = 4
	FilterNearest              Filter = 5
)

// Wrap is what happens to texture coordinates outside [0, 1].
type Wrap uint8

// The wraps (glTF 2.0, section 5.26).
const (
	WrapRepeat Wrap = iota
	WrapClamp
	WrapMirror
)

// AlphaMode is how a material's alpha is used.
type AlphaMode uint8

const (
	// AlphaOpaque ignores alpha.
	AlphaOpaque AlphaMode = iota
	// AlphaMask says that a surface point whose alpha is below the cutoff is not there.
	AlphaMask
	// AlphaBlend says that a surface is there by the share of its alpha. A camera's point or a
	// ray either sees it or passes it. A hash of the point or the ray and of the triangle says
	// which. Its shadow is whole from alpha 0.5 on.
	AlphaBlend
)

// NoTexture is the texture index of a material without that texture.
const NoTexture = -1

// Material is a metallic-roughness surface (glTF 2.0, section 3.9). Colours
// are linear RGB, 0..1; texture fields index the asset's (or scene's) Textures.
type Material struct {
	Name              string
	BaseColor         mgl32.Vec4
	BaseColorTexture  int // sRGB, alpha in A
	Metallic          float32
	Roughness         float32
	MetalRoughTexture int // linear; roughness in G, metallic in B
	Emissive          mgl32.Vec3
	EmissiveTexture   int // sRGB
	// MetalRoughUV and EmissiveUV lead from the vertices' texture coordinates, which are those of
	// the base colour's texture, to these textures' own.
	MetalRoughUV, EmissiveUV UVTransform
	AlphaMode                AlphaMode
	AlphaCutoff              float32
	DoubleSided              bool
	// Unlit is true for what cameras show as it is painted, whatever the light and the exposure
	// (KHR_materials_unlit).
	Unlit bool
	// Reflectance is the diffuse reflectance at the lidar's wavelength,
	// 0..1; negative means: the luminance of the base colour.
	Reflectance float32
	// ReflectsAsClass is true where the surface is of what surfaces of its semantic class are mostly of. A lidar of
	// intensity: range_corrected takes the class's reflectance then, and Reflectance is for the scale of surfaces alone.
	ReflectsAsClass bool
	// Retro is true for retroreflectors (signs, plates): intensities 101..255.
	Retro bool
	// Paint is true for what an actor's Paint colours.
	Paint bool
	// Lamps are what surfaces of the material are, 0 for no lamps. They shine while one of these is
	// on in their actor. Indicators on both sides are the one on whose side of the part they lie.
	Lamps world.Lights
}

// UVTransform maps texture coordinates: its rows times (u, v, 1) are u and v. The zero value
// leaves them as they are.
type UVTransform [2][3]float32

// Mesh is an indexed triangle mesh in its own frame, metres, REP-103 axes,
// counter-clockwise front faces. Normals has Positions' length, unit vectors;
// UVs and Colors have it too, or are nil.
type Mesh struct {
	Name      string
	Positions []mgl32.Vec3
	Normals   []mgl32.Vec3
	UVs       []mgl32.Vec2
	// Colors are linear RGB and alpha, 0..1, which the material's base colour is multiplied by.
	// They are kept in 8 bits a channel.
	Colors  []mgl32.Vec4
	Indices []uint32
	// Joints and Weights bind vertices to a skin's joints: equally many for each vertex, and as
	// many of one as of the other. Without a skin they mean nothing.
	Joints  []uint16
	Weights []float32
	// Targets are what the vertices may move by.
	Targets []MorphTarget
	// Flat says that normals are the triangles' own, which share no vertices: they follow where
	// a Shape moves these.
	Flat bool
	// Groups cover Indices without overlap, in order.
	Groups []Group
}

// Group is a run of a mesh's triangles with one material.
type Group struct {
	First, Count int // in Indices; multiples of 3
	Material     int // into the asset's (or scene's) Materials
}

// TRS is a node's local transform: scale, then rotation, then translation
// (glTF 2.0, section 3.5.3).
type TRS struct {
	Translation mgl64.Vec3
	Rotation    mgl64.Quat
	Scale       mgl64.Vec3
	// ScaleOrientation turns the axes that Scale stretches along, as VRML97's Transform has it
	// (section 6.52). The zero value turns nothing. Only with another one is there shear.
	ScaleOrientation mgl64.Quat
}

// IdentityTRS returns the transform that maps every point to itself.
func IdentityTRS() TRS {
	return TRS{Rotation: mgl64.QuatIdent(), Scale: mgl64.Vec3{1, 1, 1}}
}

// Mat4 returns the transform as a matrix.
func (t TRS) Mat4() mgl64.Mat4 {
	stretch := mgl64.Scale3D(t.Scale[0], t.Scale[1], t.Scale[2])
	if axes := t.ScaleOrientation; axes != (mgl64.Quat{}) {
		stretch = axes.Mat4().Mul4(stretch).Mul4(axes.Conjugate().Mat4())
	}
	return mgl64.Translate3D(t.Translation[0], t.Translation[1], t.Translation[2]).Mul4(t.Rotation.Mat4()).Mul4(stretch)
}

// Node is one node of an asset's hierarchy.
type Node struct {
	Name   string
	Parent int // index, or -1; always less than the node's own index
	Local  TRS
	Mesh   int // index into Meshes, or -1
	// Skin, where not nil, has joints place the mesh, and not the node itself.
	Skin *Skin
	// Weights are those of the mesh's targets while nothing animates them; those left out are 0.
	Weights []float64
	// Tag is the node's semantic tag, TagUnlabeled to inherit the parent's.
	Tag Tag
	// Actor is true where the node and all below it are one actor.
	Actor bool
}

// Path is the property of a node that a Channel animates.
type Path uint8

// The properties.
const (
	PathTranslation Path = iota
	PathRotation
	PathScale
	PathWeight
)

// Interpolation is how a Channel's values are joined (glTF 2.0, appendix C).
type Interpolation uint8

// The interpolations, by glTF's names.
const (
	InterpolationLinear Interpolation = iota
	InterpolationStep
	InterpolationCubicSpline
)

// Channel animates one property of one node. Values holds 3 (translation, scale), 4 (rotation: x,
// y, z, w) or 1 (weight) numbers a key. For cubic splines it holds three times that (in-tangent,
// value, out-tangent).
type Channel struct {
	Node          int
	Path          Path
	Target        int // of PathWeight: which of the mesh's
	Interpolation Interpolation
	TimesNs       []int64 // strictly increasing
	Values        []float64
}

// Animation is a set of channels that loop together over its duration.
type Animation struct {
	Name       string
	DurationNs int64
	Channels   []Channel
}

// Asset is what a loader or a generator makes: a node hierarchy with what it
// refers to, in REP-103 axes and metres. Indices are local to the asset.
type Asset struct {
	Name       string
	Textures   []Texture
	Materials  []Material
	Meshes     []Mesh
	Nodes      []Node
	Animations []Animation
	// Warnings are what the loader left out, for the user to read.
	Warnings []string
}

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

// Stats describes a scene, for people.
type Stats struct {
	// Triangles counts every part's mesh, each time it is shown; Stored counts
	// each mesh once.
	Triangles, Stored int
	// Instances is the number of actors, Moving those that move. Models are counted apart, and
	// nowhere else but in Stored.
	Instances, Moving, Models   int
	Meshes, Materials, Textures int
	Tags                        []TagStats // of the tags that occur, in order
	// Min and Max bound these actors at time 0, map frame, metres.
	Min, Max mgl64.Vec3
}

// TagStats says how much of a scene has a tag.
type TagStats struct {
	Tag Tag
	// Instances is the number of actors with such a part.
	Instances, Triangles int
}

// Stats counts what the scene holds.
func (s *Scene) Stats() Stats {
	out := Stats{
		Models: len(s.Models), Meshes: len(s.Meshes), Materials: len(s.Materials), Textures: len(s.Textures),
	}
	counts := make([]int, len(s.Meshes))
	for i := range s.Meshes {
		counts[i] = s.Meshes[i].Triangles()
		out.Stored += counts[i]
	}
	var tags [256]TagStats
	for _, a := range s.Actors {
		out.Instances++
		if !a.Static() {
			out.Moving++
		}
		var seen [256]bool
		for i := range a.Parts {
			p := &a.Parts[i]
			t := &tags[p.Tag]
			if !seen[p.Tag] {
				seen[p.Tag] = true
				t.Instances++
			}
			if p.Mesh >= 0 && p.Mesh < len(counts) {
				t.Triangles += counts[p.Mesh]
				out.Triangles += counts[p.Mesh]
			}
		}
	}
	for i, t := range tags {
		if t.Instances > 0 {
			t.Tag = Tag(i)
			out.Tags = append(out.Tags, t)
		}
	}
	out.Min, out.Max, _ = s.Bounds()
	return out
}

// Triangles returns the number of triangles in the mesh's groups.
func (m *Mesh) Triangles() int {
	n := 0
	for _, g := range m.Groups {
		n += g.Count / 3
	}
	return n
}

// Bounds returns a box around all actors at time 0 in the map frame, metres; ok is false where
// there are no vertices. It is that of the corners of their parts' own boxes: exact for what neither
// turns nor bends, and a little larger for the rest.
func (s *Scene) Bounds() (lo, hi mgl64.Vec3, ok bool) {
	all, boxes := noBounds(), newBoxer(s)
	for _, a := range s.Actors {
		pose := a.poseAt(0).Mat4()
		for i := range a.Parts {
			p := &a.Parts[i]
			if p.Mesh < 0 || p.Mesh >= len(s.Meshes) {
				continue
			}
			own := boxes.first(p)
			all.addMapped(&own, pose.Mul4(p.At(0)))
		}
	}
	if all.empty() {
		return mgl64.Vec3{}, mgl64.Vec3{}, false
	}
	return all.low, all.high, true
}
