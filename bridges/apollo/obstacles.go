package apollo

import (
	"fmt"
	"math"
	"strings"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/bridges/apollo/apollopb"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// obstacleSensor is what Apollo believes to have seen the obstacles.
const obstacleSensor = "velodyne128"

// kind is what Apollo and SVL call an obstacle.
type kind struct {
	typ   apollopb.PerceptionObstacle_Type
	sub   apollopb.PerceptionObstacle_SubType
	label string
}

// kinds are looked through in their order, by label in one direction and by sub-type in
// the other. The first is what anything else is.
var kinds = []kind{
	{apollopb.PerceptionObstacle_VEHICLE, apollopb.PerceptionObstacle_ST_CAR, "Sedan"},
	{apollopb.PerceptionObstacle_VEHICLE, apollopb.PerceptionObstacle_ST_VAN, "Van"},
	{apollopb.PerceptionObstacle_VEHICLE, apollopb.PerceptionObstacle_ST_TRUCK, "BoxTruck"},
	{apollopb.PerceptionObstacle_VEHICLE, apollopb.PerceptionObstacle_ST_BUS, "SchoolBus"},
	{apollopb.PerceptionObstacle_BICYCLE, apollopb.PerceptionObstacle_ST_CYCLIST, "Bicycle"},
	{apollopb.PerceptionObstacle_BICYCLE, apollopb.PerceptionObstacle_ST_MOTORCYCLIST, "Motorcycle"},
	{apollopb.PerceptionObstacle_PEDESTRIAN, apollopb.PerceptionObstacle_ST_PEDESTRIAN, "Pedestrian"},
	{apollopb.PerceptionObstacle_UNKNOWN_MOVABLE, apollopb.PerceptionObstacle_ST_UNKNOWN_MOVABLE, "Train"},
}

// kindOf returns a box's kind: by its label, of a walker without one by its type.
func kindOf(box *sample.Box3D) *kind {
	label := box.Label
	if label == "" && strings.HasPrefix(box.TypeID, "walker.") {
		label = "Pedestrian"
	}
	for i := range kinds {
		if kinds[i].label == label {
			return &kinds[i]
		}
	}
	return &kinds[0]
}

// labelOf returns what an obstacle is called: by its sub-type, of one without by its
// type; what Apollo doesn't know has no label.
func labelOf(o *apollopb.PerceptionObstacle) string {
	for i := range kinds {
		if kinds[i].sub == o.GetSubType() || o.SubType == nil && kinds[i].typ == o.GetType() {
			return kinds[i].label
		}
	}
	return ""
}

// perceptionObstacles has the boxes in the world. Each has the middle of its base, its base's
// corners counter-clockwise from the left of its front, and one measurement. A box that leans
// has the height and the base of one that stands.
func perceptionObstacles(dst *apollopb.PerceptionObstacles, src *sample.Detections3D, at spatial.MapFrame) error {
	h, err := setHeader(&dst.Header, &src.Header)
	if err != nil {
		return err
	}
	if err := reached(at, src.Pose.Position); err != nil {
		return err
	}
	set(&h.ModuleName, "perception_obstacle")
	set(&h.LidarTimestamp, uint64(src.Stamp))
	set(&dst.ErrorCode, apollopb.ErrorCode_OK)
	resize(&dst.PerceptionObstacle, len(src.Boxes))
	for i := range src.Boxes {
		box, d := &src.Boxes[i], dst.PerceptionObstacle[i]
		pose := src.Pose.Compose(box.Pose)
		turn := setBox(d, box, pose, at)
		setPoint(&d.Velocity, turn.Rotate(src.Pose.Rotate(box.Twist.Linear)))
		setPoint(&d.Acceleration, turn.Rotate(src.Pose.Rotate(box.Acceleration)))
		set(&d.Timestamp, h.GetTimestampSec())
		set(&d.Confidence, float64(box.Score))
		setMeasurement(d)
	}
	return nil
}

// setBox sets where an obstacle is and what it is. It returns the turn from the map's axes to
// UTM's there.
func setBox(d *apollopb.PerceptionObstacle, box *sample.Box3D, pose spatial.Pose, at spatial.MapFrame) (turn mgl64.Quat) {
	base := pose.Position.Sub(mgl64.Vec3{0, 0, box.Size[2] / 2})
	turn = at.ToUTM(base)
	sin, cos := math.Sincos(spatial.Yaw(pose.Orientation))
	k := kindOf(box)
	set(&d.Id, int32(box.ID))
	set(&d.Type, k.typ)
	set(&d.SubType, k.sub)
	setPoint(&d.Position, at.UTM(base))
	setPoint(&d.AnchorPoint, at.UTM(base))
	set(&d.Theta, spatial.Yaw(turn.Mul(pose.Orientation)))
	set(&d.Length, box.Size[0])
	set(&d.Width, box.Size[1])
	set(&d.Height, box.Size[2])
	resize(&d.PolygonPoint, 4)
	for i, side := range [4][2]float64{{0.5, 0.5}, {-0.5, 0.5}, {-0.5, -0.5}, {0.5, -0.5}} {
		x, y := side[0]*box.Size[0], side[1]*box.Size[1]
		corner := base.Add(mgl64.Vec3{x*cos - y*sin, x*sin + y*cos, 0})
		setPoint(&d.PolygonPoint[i], at.UTM(corner))
	}
	return turn
}

// setMeasurement sets the obstacle's one measurement, which says what the obstacle says.
func setMeasurement(d *apollopb.PerceptionObstacle) {
	resize(&d.Measurements, 1)
	m := d.Measurements[0]
	set(&m.SensorId, obstacleSensor)
	m.Id, m.Position, m.Theta, m.Velocity = d.Id, d.Position, d.Theta, d.Velocity
	m.Length, m.Width, m.Height = d.Length, d.Width, d.Height
	m.Type, m.SubType, m.Timestamp = d.Type, d.SubType, d.Timestamp
}

// readObstacles reads obstacles as boxes in the map frame, seen from its origin.
func readObstacles(dst *sample.Detections3D, src *apollopb.PerceptionObstacles, at spatial.MapFrame) error {
	header, err := readHeader(src.GetHeader())
	if err != nil {
		return err
	}
	header.FrameID, header.Pose = spatial.FrameMap, spatial.Identity()
	*dst = sample.Detections3D{Header: header, Boxes: make([]sample.Box3D, 0, len(src.GetPerceptionObstacle()))}
	for _, o := range src.GetPerceptionObstacle() {
		box, err := readObstacle(o, at)
		if err != nil {
			return err
		}
		dst.Boxes = append(dst.Boxes, box)
	}
	return nil
}

func readObstacle(o *apollopb.PerceptionObstacle, at spatial.MapFrame) (sample.Box3D, error) {
	size := mgl64.Vec3{o.GetLength(), o.GetWidth(), o.GetHeight()}
	base := at.FromUTM(readPoint(o.GetPosition()))
	centre, back := base.Add(mgl64.Vec3{0, 0, size[2] / 2}), at.ToUTM(base).Conjugate()
	box := sample.Box3D{
		ID: uint32(o.GetId()), Label: labelOf(o), Score: 1, Size: size, Acceleration: back.Rotate(readPoint(o.GetAcceleration())),
		Pose: spatial.FromRPY(centre, 0, 0, mgl64.RadToDeg(o.GetTheta()+spatial.Yaw(back))),
	}
	if o.Confidence != nil {
		box.Score = float32(o.GetConfidence())
	}
	box.Twist.Linear = back.Rotate(readPoint(o.GetVelocity()))
	for _, v := range []mgl64.Vec3{centre, size, box.Twist.Linear, box.Acceleration, {o.GetTheta(), o.GetConfidence()}} {
		if !finite(v[:]...) {
			return box, fmt.Errorf("obstacle %d: %w", o.GetId(), errNumber)
		}
	}
	return box, nil
}

// detection2DArray has SVL's boxes: centre and size in pixels, the velocity as it is.
func detection2DArray(dst *apollopb.Detection2DArray, src *sample.Detections2D, _ spatial.MapFrame) error {
	h, err := setHeader(&dst.Header, &src.Header)
	if err != nil {
		return err
	}
	set(&h.CameraTimestamp, uint64(src.Stamp))
	resize(&dst.Detections, len(src.Boxes))
	for i := range src.Boxes {
		box, d := &src.Boxes[i], dst.Detections[i]
		d.Header = h
		set(&d.Id, box.ID)
		set(&d.Label, box.Label)
		set(&d.Score, float64(box.Score))
		b := part(&d.Bbox)
		set(&b.X, box.CenterX)
		set(&b.Y, box.CenterY)
		set(&b.Width, box.Width)
		set(&b.Height, box.Height)
		velocity := part(&d.Velocity)
		setVector3(&velocity.Linear, box.Twist.Linear)
		setVector3(&velocity.Angular, box.Twist.Angular)
	}
	return nil
}

func setVector3(field **apollopb.Vector3, v mgl64.Vec3) {
	p := part(field)
	set(&p.X, v[0])
	set(&p.Y, v[1])
	set(&p.Z, v[2])
}

func readVector3(v *apollopb.Vector3) mgl64.Vec3 { return mgl64.Vec3{v.GetX(), v.GetY(), v.GetZ()} }

// readDetection2DArray reads boxes; the picture's size isn't in the message.
func readDetection2DArray(dst *sample.Detections2D, src *apollopb.Detection2DArray, _ spatial.MapFrame) error {
	header, err := readHeader(src.GetHeader())
	if err != nil {
		return err
	}
	*dst = sample.Detections2D{Header: header, Boxes: make([]sample.Box2D, 0, len(src.GetDetections()))}
	for _, d := range src.GetDetections() {
		b := d.GetBbox()
		box := sample.Box2D{
			ID: d.GetId(), Label: d.GetLabel(), Score: float32(d.GetScore()),
			CenterX: b.GetX(), CenterY: b.GetY(), Width: b.GetWidth(), Height: b.GetHeight(),
		}
		twist := &box.Twist
		twist.Linear, twist.Angular = readVector3(d.GetVelocity().GetLinear()), readVector3(d.GetVelocity().GetAngular())
		if !finite(float64(b.GetX()), float64(b.GetY()), float64(b.GetWidth()), float64(b.GetHeight()), d.GetScore()) ||
			!finite(twist.Linear[:]...) || !finite(twist.Angular[:]...) {
			return fmt.Errorf("detection %d: %w", d.GetId(), errNumber)
		}
		dst.Boxes = append(dst.Boxes, box)
	}
	return nil
}
