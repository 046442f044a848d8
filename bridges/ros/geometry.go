package ros

// Point is geometry_msgs/Point, metres.
type Point struct{ X, Y, Z float64 }

// TypeName returns "geometry_msgs/msg/Point".
func (m *Point) TypeName() string { return "geometry_msgs/msg/Point" }

// Fields visits the fields in order.
func (m *Point) Fields(v Visitor) {
	v.Float64("x", &m.X)
	v.Float64("y", &m.Y)
	v.Float64("z", &m.Z)
}

// Vector3 is geometry_msgs/Vector3.
type Vector3 struct{ X, Y, Z float64 }

// TypeName returns "geometry_msgs/msg/Vector3".
func (m *Vector3) TypeName() string { return "geometry_msgs/msg/Vector3" }

// Fields visits the fields in order.
func (m *Vector3) Fields(v Visitor) {
	v.Float64("x", &m.X)
	v.Float64("y", &m.Y)
	v.Float64("z", &m.Z)
}

// Quaternion is geometry_msgs/Quaternion.
type Quaternion struct{ X, Y, Z, W float64 }

// TypeName returns "geometry_msgs/msg/Quaternion".
func (m *Quaternion) TypeName() string { return "geometry_msgs/msg/Quaternion" }

// Fields visits the fields in order.
func (m *Quaternion) Fields(v Visitor) {
	v.Float64("x", &m.X)
	v.Float64("y", &m.Y)
	v.Float64("z", &m.Z)
	v.Float64("w", &m.W)
}

// Pose is geometry_msgs/Pose.
type Pose struct {
	Position    Point
	Orientation Quaternion
}

// TypeName returns "geometry_msgs/msg/Pose".
func (m *Pose) TypeName() string { return "geometry_msgs/msg/Pose" }

// Fields visits the fields in order.
func (m *Pose) Fields(v Visitor) {
	v.Message("position", &m.Position)
	v.Message("orientation", &m.Orientation)
}

// PoseWithCovariance is geometry_msgs/PoseWithCovariance: row-major, in the
// order x, y, z, rotation about x, y, z.
type PoseWithCovariance struct {
	Pose       Pose
	Covariance [36]float64
}

// TypeName returns "geometry_msgs/msg/PoseWithCovariance".
func (m *PoseWithCovariance) TypeName() string { return "geometry_msgs/msg/PoseWithCovariance" }

// Fields visits the fields in order.
func (m *PoseWithCovariance) Fields(v Visitor) {
	v.Message("pose", &m.Pose)
	v.Array("covariance", Fixed(m.Covariance[:]))
}

// Twist is geometry_msgs/Twist, m/s and rad/s.
type Twist struct{ Linear, Angular Vector3 }

// TypeName returns "geometry_msgs/msg/Twist".
func (m *Twist) TypeName() string { return "geometry_msgs/msg/Twist" }

// Fields visits the fields in order.
func (m *Twist) Fields(v Visitor) {
	v.Message("linear", &m.Linear)
	v.Message("angular", &m.Angular)
}

// TwistWithCovariance is geometry_msgs/TwistWithCovariance.
type TwistWithCovariance struct {
	Twist      Twist
	Covariance [36]float64
}

// TypeName returns "geometry_msgs/msg/TwistWithCovariance".
func (m *TwistWithCovariance) TypeName() string { return "geometry_msgs/msg/TwistWithCovariance" }

// Fields visits the fields in order.
func (m *TwistWithCovariance) Fields(v Visitor) {
	v.Message("twist", &m.Twist)
	v.Array("covariance", Fixed(m.Covariance[:]))
}

// Transform is geometry_msgs/Transform.
type Transform struct {
	Translation Vector3
	Rotation    Quaternion
}

// TypeName returns "geometry_msgs/msg/Transform".
func (m *Transform) TypeName() string { return "geometry_msgs/msg/Transform" }

// Fields visits the fields in order.
func (m *Transform) Fields(v Visitor) {
	v.Message("translation", &m.Translation)
	v.Message("rotation", &m.Rotation)
}

// TransformStamped is geometry_msgs/TransformStamped.
type TransformStamped struct {
	Header       Header
	ChildFrameID string
	Transform    Transform
}

// TypeName returns "geometry_msgs/msg/TransformStamped".
func (m *TransformStamped) TypeName() string { return "geometry_msgs/msg/TransformStamped" }

// Fields visits the fields in order.
func (m *TransformStamped) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.String("child_frame_id", &m.ChildFrameID)
	v.Message("transform", &m.Transform)
}

// TFMessage is tf2_msgs/TFMessage.
type TFMessage struct {
	Transforms []TransformStamped
}

// TypeName returns "tf2_msgs/msg/TFMessage".
func (m *TFMessage) TypeName() string { return "tf2_msgs/msg/TFMessage" }

// Fields visits the fields in order.
func (m *TFMessage) Fields(v Visitor) { v.Messages("transforms", List(&m.Transforms)) }

// Odometry is nav_msgs/Odometry.
type Odometry struct {
	Header       Header
	ChildFrameID string
	Pose         PoseWithCovariance
	Twist        TwistWithCovariance
}

// TypeName returns "nav_msgs/msg/Odometry".
func (m *Odometry) TypeName() string { return "nav_msgs/msg/Odometry" }

// Fields visits the fields in order.
func (m *Odometry) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.String("child_frame_id", &m.ChildFrameID)
	v.Message("pose", &m.Pose)
	v.Message("twist", &m.Twist)
}
