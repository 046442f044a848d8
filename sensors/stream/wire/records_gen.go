// Code generated from package schema; DO NOT EDIT.

package wire

import (
	"math"
	"unsafe"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

func getPoint(b []byte) (r sample.Point) {
	r.X = math.Float32frombits(le.Uint32(b[0:]))
	r.Y = math.Float32frombits(le.Uint32(b[4:]))
	r.Z = math.Float32frombits(le.Uint32(b[8:]))
	r.Intensity = math.Float32frombits(le.Uint32(b[12:]))
	r.Distance = math.Float32frombits(le.Uint32(b[16:]))
	r.Azimuth = math.Float32frombits(le.Uint32(b[20:]))
	r.Elevation = math.Float32frombits(le.Uint32(b[24:]))
	r.TimeNs = le.Uint32(b[28:])
	r.Ring = le.Uint16(b[32:])
	r.Return = b[34]
	r.Tag = b[35]
	r.Instance = le.Uint32(b[36:])
	r.CosIncidence = math.Float32frombits(le.Uint32(b[40:]))
	r.Ray = le.Uint32(b[44:])
	return r
}

// A Point lies in memory as on the wire, or this doesn't compile.
const (
	_ = -(unsafe.Sizeof(sample.Point{}) ^ 48)
	_ = -(unsafe.Offsetof(sample.Point{}.X) ^ 0)
	_ = -(unsafe.Offsetof(sample.Point{}.Y) ^ 4)
	_ = -(unsafe.Offsetof(sample.Point{}.Z) ^ 8)
	_ = -(unsafe.Offsetof(sample.Point{}.Intensity) ^ 12)
	_ = -(unsafe.Offsetof(sample.Point{}.Distance) ^ 16)
	_ = -(unsafe.Offsetof(sample.Point{}.Azimuth) ^ 20)
	_ = -(unsafe.Offsetof(sample.Point{}.Elevation) ^ 24)
	_ = -(unsafe.Offsetof(sample.Point{}.TimeNs) ^ 28)
	_ = -(unsafe.Offsetof(sample.Point{}.Ring) ^ 32)
	_ = -(unsafe.Offsetof(sample.Point{}.Return) ^ 34)
	_ = -(unsafe.Offsetof(sample.Point{}.Tag) ^ 35)
	_ = -(unsafe.Offsetof(sample.Point{}.Instance) ^ 36)
	_ = -(unsafe.Offsetof(sample.Point{}.CosIncidence) ^ 40)
	_ = -(unsafe.Offsetof(sample.Point{}.Ray) ^ 44)
)

func getRadarDetection(b []byte) (r sample.RadarDetection) {
	r.Velocity = math.Float32frombits(le.Uint32(b[0:]))
	r.Azimuth = math.Float32frombits(le.Uint32(b[4:]))
	r.Altitude = math.Float32frombits(le.Uint32(b[8:]))
	r.Depth = math.Float32frombits(le.Uint32(b[12:]))
	r.Instance = le.Uint32(b[16:])
	r.Tag = b[20]
	return r
}

// A RadarDetection lies in memory as on the wire, or this doesn't compile.
const (
	_ = -(unsafe.Sizeof(sample.RadarDetection{}) ^ 24)
	_ = -(unsafe.Offsetof(sample.RadarDetection{}.Velocity) ^ 0)
	_ = -(unsafe.Offsetof(sample.RadarDetection{}.Azimuth) ^ 4)
	_ = -(unsafe.Offsetof(sample.RadarDetection{}.Altitude) ^ 8)
	_ = -(unsafe.Offsetof(sample.RadarDetection{}.Depth) ^ 12)
	_ = -(unsafe.Offsetof(sample.RadarDetection{}.Instance) ^ 16)
	_ = -(unsafe.Offsetof(sample.RadarDetection{}.Tag) ^ 20)
)

// DvsEventView is one sample.DvsEvent of a list, in the bytes it came in.
type DvsEventView struct{ b, text []byte }

func newDvsEvent(b, text []byte) DvsEventView { return DvsEventView{b, text} }

// TimeNs is sample.DvsEvent's.
func (v DvsEventView) TimeNs() int64 { return int64(le.Uint64(v.b[0:])) }

// X is sample.DvsEvent's.
func (v DvsEventView) X() uint16 { return le.Uint16(v.b[8:]) }

// Y is sample.DvsEvent's.
func (v DvsEventView) Y() uint16 { return le.Uint16(v.b[10:]) }

// Polarity is sample.DvsEvent's.
func (v DvsEventView) Polarity() bool { return v.b[12] != 0 }

// CopyTo makes dst an independent copy, reusing its strings where they are equal.
func (v DvsEventView) CopyTo(dst *sample.DvsEvent) {
	dst.TimeNs = v.TimeNs()
	dst.X = v.X()
	dst.Y = v.Y()
	dst.Polarity = v.Polarity()
}

// textTransform is where a Transform has its strings.
var textTransform = [...]int{24, 32}

// TransformView is one sample.Transform of a list, in the bytes it came in.
type TransformView struct{ b, text []byte }

func newTransform(b, text []byte) TransformView { return TransformView{b, text} }

// StampNs is sample.Transform's.
func (v TransformView) StampNs() int64 { return int64(le.Uint64(v.b[0:])) }

// Seq is sample.Transform's.
func (v TransformView) Seq() uint64 { return le.Uint64(v.b[8:]) }

// Frame is sample.Transform's.
func (v TransformView) Frame() uint64 { return le.Uint64(v.b[16:]) }

// FrameID is sample.Transform's.
func (v TransformView) FrameID() string { return string(textOf(v.b[24:], v.text)) }

// ChildFrameID is sample.Transform's.
func (v TransformView) ChildFrameID() string { return string(textOf(v.b[32:], v.text)) }

// Pose is sample.Transform's.
func (v TransformView) Pose() spatial.Pose { return getPose(v.b[40:]) }

// Relative is sample.Transform's.
func (v TransformView) Relative() spatial.Pose { return getPose(v.b[96:]) }

// CopyTo makes dst an independent copy, reusing its strings where they are equal.
func (v TransformView) CopyTo(dst *sample.Transform) {
	dst.StampNs = v.StampNs()
	dst.Seq = v.Seq()
	dst.Frame = v.Frame()
	keep(&dst.FrameID, textOf(v.b[24:], v.text))
	keep(&dst.ChildFrameID, textOf(v.b[32:], v.text))
	dst.Pose = v.Pose()
	dst.Relative = v.Relative()
}

// textBox2D is where a Box2D has its strings.
var textBox2D = [...]int{8, 16}

// Box2DView is one sample.Box2D of a list, in the bytes it came in.
type Box2DView struct{ b, text []byte }

func newBox2D(b, text []byte) Box2DView { return Box2DView{b, text} }

// ID is sample.Box2D's.
func (v Box2DView) ID() uint32 { return le.Uint32(v.b[0:]) }

// Tag is sample.Box2D's.
func (v Box2DView) Tag() uint8 { return v.b[4] }

// TypeID is sample.Box2D's.
func (v Box2DView) TypeID() string { return string(textOf(v.b[8:], v.text)) }

// Label is sample.Box2D's.
func (v Box2DView) Label() string { return string(textOf(v.b[16:], v.text)) }

// Score is sample.Box2D's.
func (v Box2DView) Score() float32 { return math.Float32frombits(le.Uint32(v.b[24:])) }

// CenterX is sample.Box2D's.
func (v Box2DView) CenterX() float32 { return math.Float32frombits(le.Uint32(v.b[28:])) }

// CenterY is sample.Box2D's.
func (v Box2DView) CenterY() float32 { return math.Float32frombits(le.Uint32(v.b[32:])) }

// Width is sample.Box2D's.
func (v Box2DView) Width() float32 { return math.Float32frombits(le.Uint32(v.b[36:])) }

// Height is sample.Box2D's.
func (v Box2DView) Height() float32 { return math.Float32frombits(le.Uint32(v.b[40:])) }

// Pixels is sample.Box2D's.
func (v Box2DView) Pixels() uint32 { return le.Uint32(v.b[44:]) }

// Occlusion is sample.Box2D's.
func (v Box2DView) Occlusion() float32 { return math.Float32frombits(le.Uint32(v.b[48:])) }

// Truncation is sample.Box2D's.
func (v Box2DView) Truncation() float32 { return math.Float32frombits(le.Uint32(v.b[52:])) }

// Twist is sample.Box2D's.
func (v Box2DView) Twist() spatial.Twist { return getTwist(v.b[56:]) }

// CopyTo makes dst an independent copy, reusing its strings where they are equal.
func (v Box2DView) CopyTo(dst *sample.Box2D) {
	dst.ID = v.ID()
	dst.Tag = v.Tag()
	keep(&dst.TypeID, textOf(v.b[8:], v.text))
	keep(&dst.Label, textOf(v.b[16:], v.text))
	dst.Score = v.Score()
	dst.CenterX = v.CenterX()
	dst.CenterY = v.CenterY()
	dst.Width = v.Width()
	dst.Height = v.Height()
	dst.Pixels = v.Pixels()
	dst.Occlusion = v.Occlusion()
	dst.Truncation = v.Truncation()
	dst.Twist = v.Twist()
}

// textBox3D is where a Box3D has its strings.
var textBox3D = [...]int{8, 16}

// Box3DView is one sample.Box3D of a list, in the bytes it came in.
type Box3DView struct{ b, text []byte }

func newBox3D(b, text []byte) Box3DView { return Box3DView{b, text} }

// ID is sample.Box3D's.
func (v Box3DView) ID() uint32 { return le.Uint32(v.b[0:]) }

// Tag is sample.Box3D's.
func (v Box3DView) Tag() uint8 { return v.b[4] }

// TypeID is sample.Box3D's.
func (v Box3DView) TypeID() string { return string(textOf(v.b[8:], v.text)) }

// Label is sample.Box3D's.
func (v Box3DView) Label() string { return string(textOf(v.b[16:], v.text)) }

// Score is sample.Box3D's.
func (v Box3DView) Score() float32 { return math.Float32frombits(le.Uint32(v.b[24:])) }

// Occlusion is sample.Box3D's.
func (v Box3DView) Occlusion() float32 { return math.Float32frombits(le.Uint32(v.b[28:])) }

// Pose is sample.Box3D's.
func (v Box3DView) Pose() spatial.Pose { return getPose(v.b[32:]) }

// Size is sample.Box3D's.
func (v Box3DView) Size() mgl64.Vec3 { return getVec3(v.b[88:]) }

// Twist is sample.Box3D's.
func (v Box3DView) Twist() spatial.Twist { return getTwist(v.b[112:]) }

// Acceleration is sample.Box3D's.
func (v Box3DView) Acceleration() mgl64.Vec3 { return getVec3(v.b[160:]) }

// CopyTo makes dst an independent copy, reusing its strings where they are equal.
func (v Box3DView) CopyTo(dst *sample.Box3D) {
	dst.ID = v.ID()
	dst.Tag = v.Tag()
	keep(&dst.TypeID, textOf(v.b[8:], v.text))
	keep(&dst.Label, textOf(v.b[16:], v.text))
	dst.Score = v.Score()
	dst.Occlusion = v.Occlusion()
	dst.Pose = v.Pose()
	dst.Size = v.Size()
	dst.Twist = v.Twist()
	dst.Acceleration = v.Acceleration()
}

// RadarObjectView is one sample.RadarObject of a list, in the bytes it came in.
type RadarObjectView struct{ b, text []byte }

func newRadarObject(b, text []byte) RadarObjectView { return RadarObjectView{b, text} }

// ID is sample.RadarObject's.
func (v RadarObjectView) ID() uint32 { return le.Uint32(v.b[0:]) }

// Moving is sample.RadarObject's.
func (v RadarObjectView) Moving() bool { return v.b[4] != 0 }

// New is sample.RadarObject's.
func (v RadarObjectView) New() bool { return v.b[5] != 0 }

// Position is sample.RadarObject's.
func (v RadarObjectView) Position() mgl64.Vec3 { return getVec3(v.b[8:]) }

// Velocity is sample.RadarObject's.
func (v RadarObjectView) Velocity() mgl64.Vec3 { return getVec3(v.b[32:]) }

// Size is sample.RadarObject's.
func (v RadarObjectView) Size() mgl64.Vec3 { return getVec3(v.b[56:]) }

// CopyTo makes dst an independent copy, reusing its strings where they are equal.
func (v RadarObjectView) CopyTo(dst *sample.RadarObject) {
	dst.ID = v.ID()
	dst.Moving = v.Moving()
	dst.New = v.New()
	dst.Position = v.Position()
	dst.Velocity = v.Velocity()
	dst.Size = v.Size()
}

// textSignal is where a Signal has its strings.
var textSignal = [...]int{8}

// SignalView is one sample.Signal of a list, in the bytes it came in.
type SignalView struct{ b, text []byte }

func newSignal(b, text []byte) SignalView { return SignalView{b, text} }

// ID is sample.Signal's.
func (v SignalView) ID() uint32 { return le.Uint32(v.b[0:]) }

// State is sample.Signal's.
func (v SignalView) State() sample.SignalState { return sample.SignalState(v.b[4]) }

// Label is sample.Signal's.
func (v SignalView) Label() string { return string(textOf(v.b[8:], v.text)) }

// Score is sample.Signal's.
func (v SignalView) Score() float32 { return math.Float32frombits(le.Uint32(v.b[16:])) }

// Pose is sample.Signal's.
func (v SignalView) Pose() spatial.Pose { return getPose(v.b[24:]) }

// Size is sample.Signal's.
func (v SignalView) Size() mgl64.Vec3 { return getVec3(v.b[80:]) }

// CopyTo makes dst an independent copy, reusing its strings where they are equal.
func (v SignalView) CopyTo(dst *sample.Signal) {
	dst.ID = v.ID()
	dst.State = v.State()
	keep(&dst.Label, textOf(v.b[8:], v.text))
	dst.Score = v.Score()
	dst.Pose = v.Pose()
	dst.Size = v.Size()
}

func getCrossedMark(b []byte) (r sample.CrossedMark) {
	r.ID = le.Uint32(b[0:])
	r.Type = sample.LaneMarkType(b[4])
	r.Color = sample.LaneMarkColor(b[5])
	return r
}

// A CrossedMark lies in memory as on the wire, or this doesn't compile.
const (
	_ = -(unsafe.Sizeof(sample.CrossedMark{}) ^ 8)
	_ = -(unsafe.Offsetof(sample.CrossedMark{}.ID) ^ 0)
	_ = -(unsafe.Offsetof(sample.CrossedMark{}.Type) ^ 4)
	_ = -(unsafe.Offsetof(sample.CrossedMark{}.Color) ^ 5)
)

// textActorState is where a ActorState has its strings.
var textActorState = [...]int{8}

// ActorStateView is one sample.ActorState of a list, in the bytes it came in.
type ActorStateView struct{ b, text []byte }

func newActorState(b, text []byte) ActorStateView { return ActorStateView{b, text} }

// ID is sample.ActorState's.
func (v ActorStateView) ID() uint32 { return le.Uint32(v.b[0:]) }

// Kind is sample.ActorState's.
func (v ActorStateView) Kind() sample.ActorKind { return sample.ActorKind(v.b[4]) }

// Reverse is sample.ActorState's.
func (v ActorStateView) Reverse() bool { return v.b[5] != 0 }

// Signal is sample.ActorState's.
func (v ActorStateView) Signal() sample.SignalState { return sample.SignalState(v.b[6]) }

// TypeID is sample.ActorState's.
func (v ActorStateView) TypeID() string { return string(textOf(v.b[8:], v.text)) }

// Pose is sample.ActorState's.
func (v ActorStateView) Pose() spatial.Pose { return getPose(v.b[16:]) }

// Twist is sample.ActorState's.
func (v ActorStateView) Twist() spatial.Twist { return getTwist(v.b[72:]) }

// Acceleration is sample.ActorState's.
func (v ActorStateView) Acceleration() mgl64.Vec3 { return getVec3(v.b[120:]) }

// BoxCenter is sample.ActorState's.
func (v ActorStateView) BoxCenter() mgl64.Vec3 { return getVec3(v.b[144:]) }

// BoxHalf is sample.ActorState's.
func (v ActorStateView) BoxHalf() mgl64.Vec3 { return getVec3(v.b[168:]) }

// Throttle is sample.ActorState's.
func (v ActorStateView) Throttle() float32 { return math.Float32frombits(le.Uint32(v.b[192:])) }

// Braking is sample.ActorState's.
func (v ActorStateView) Braking() float32 { return math.Float32frombits(le.Uint32(v.b[196:])) }

// Steering is sample.ActorState's.
func (v ActorStateView) Steering() float32 { return math.Float32frombits(le.Uint32(v.b[200:])) }

// Gear is sample.ActorState's.
func (v ActorStateView) Gear() int32 { return int32(le.Uint32(v.b[204:])) }

// SignalElapsed is sample.ActorState's.
func (v ActorStateView) SignalElapsed() float32 { return math.Float32frombits(le.Uint32(v.b[208:])) }

// Red is sample.ActorState's.
func (v ActorStateView) Red() float32 { return math.Float32frombits(le.Uint32(v.b[212:])) }

// Yellow is sample.ActorState's.
func (v ActorStateView) Yellow() float32 { return math.Float32frombits(le.Uint32(v.b[216:])) }

// Green is sample.ActorState's.
func (v ActorStateView) Green() float32 { return math.Float32frombits(le.Uint32(v.b[220:])) }

// CopyTo makes dst an independent copy, reusing its strings where they are equal.
func (v ActorStateView) CopyTo(dst *sample.ActorState) {
	dst.ID = v.ID()
	dst.Kind = v.Kind()
	dst.Reverse = v.Reverse()
	dst.Signal = v.Signal()
	keep(&dst.TypeID, textOf(v.b[8:], v.text))
	dst.Pose = v.Pose()
	dst.Twist = v.Twist()
	dst.Acceleration = v.Acceleration()
	dst.BoxCenter = v.BoxCenter()
	dst.BoxHalf = v.BoxHalf()
	dst.Throttle = v.Throttle()
	dst.Braking = v.Braking()
	dst.Steering = v.Steering()
	dst.Gear = v.Gear()
	dst.SignalElapsed = v.SignalElapsed()
	dst.Red = v.Red()
	dst.Yellow = v.Yellow()
	dst.Green = v.Green()
}
