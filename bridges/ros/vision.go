package ros

// Point2D is vision_msgs/Point2D, pixels.
type Point2D struct {
	X, Y float64
}

// TypeName returns "vision_msgs/msg/Point2D".
func (m *Point2D) TypeName() string { return "vision_msgs/msg/Point2D" }

// Fields visits the fields in order.
func (m *Point2D) Fields(v Visitor) {
	v.Float64("x", &m.X)
	v.Float64("y", &m.Y)
}

// Pose2D is vision_msgs/Pose2D: pixels and radians.
type Pose2D struct {
	Position Point2D
	Theta    float64
}

// TypeName returns "vision_msgs/msg/Pose2D".
func (m *Pose2D) TypeName() string { return "vision_msgs/msg/Pose2D" }

// Fields visits the fields in order.
func (m *Pose2D) Fields(v Visitor) {
	v.Message("position", &m.Position)
	v.Float64("theta", &m.Theta)
}

// BoundingBox2D is vision_msgs/BoundingBox2D, pixels.
type BoundingBox2D struct {
	Center       Pose2D
	SizeX, SizeY float64
}

// TypeName returns "vision_msgs/msg/BoundingBox2D".
func (m *BoundingBox2D) TypeName() string { return "vision_msgs/msg/BoundingBox2D" }

// Fields visits the fields in order.
func (m *BoundingBox2D) Fields(v Visitor) {
	v.Message("center", &m.Center)
	v.Float64("size_x", &m.SizeX)
	v.Float64("size_y", &m.SizeY)
}

// BoundingBox3D is vision_msgs/BoundingBox3D, metres.
type BoundingBox3D struct {
	Center Pose
	Size   Vector3
}

// TypeName returns "vision_msgs/msg/BoundingBox3D".
func (m *BoundingBox3D) TypeName() string { return "vision_msgs/msg/BoundingBox3D" }

// Fields visits the fields in order.
func (m *BoundingBox3D) Fields(v Visitor) {
	v.Message("center", &m.Center)
	v.Message("size", &m.Size)
}

// ObjectHypothesis is vision_msgs/ObjectHypothesis.
type ObjectHypothesis struct {
	ClassID string
	Score   float64
}

// TypeName returns "vision_msgs/msg/ObjectHypothesis".
func (m *ObjectHypothesis) TypeName() string { return "vision_msgs/msg/ObjectHypothesis" }

// Fields visits the fields in order.
func (m *ObjectHypothesis) Fields(v Visitor) {
	v.String("class_id", &m.ClassID)
	v.Float64("score", &m.Score)
}

// ObjectHypothesisWithPose is vision_msgs/ObjectHypothesisWithPose.
type ObjectHypothesisWithPose struct {
	Hypothesis ObjectHypothesis
	Pose       PoseWithCovariance
}

// TypeName returns "vision_msgs/msg/ObjectHypothesisWithPose".
func (m *ObjectHypothesisWithPose) TypeName() string {
	return "vision_msgs/msg/ObjectHypothesisWithPose"
}

// Fields visits the fields in order.
func (m *ObjectHypothesisWithPose) Fields(v Visitor) {
	v.Message("hypothesis", &m.Hypothesis)
	v.Message("pose", &m.Pose)
}

// Detection2D is vision_msgs/Detection2D.
type Detection2D struct {
	Header  Header
	Results []ObjectHypothesisWithPose
	BBox    BoundingBox2D
	ID      string
}

// TypeName returns "vision_msgs/msg/Detection2D".
func (m *Detection2D) TypeName() string { return "vision_msgs/msg/Detection2D" }

// Fields visits the fields in order.
func (m *Detection2D) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Messages("results", List(&m.Results))
	v.Message("bbox", &m.BBox)
	v.String("id", &m.ID)
}

// Detection2DArray is vision_msgs/Detection2DArray.
type Detection2DArray struct {
	Header     Header
	Detections []Detection2D
}

// TypeName returns "vision_msgs/msg/Detection2DArray".
func (m *Detection2DArray) TypeName() string { return "vision_msgs/msg/Detection2DArray" }

// Fields visits the fields in order.
func (m *Detection2DArray) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Messages("detections", List(&m.Detections))
}

// Detection3D is vision_msgs/Detection3D.
type Detection3D struct {
	Header  Header
	Results []ObjectHypothesisWithPose
	BBox    BoundingBox3D
	ID      string
}

// TypeName returns "vision_msgs/msg/Detection3D".
func (m *Detection3D) TypeName() string { return "vision_msgs/msg/Detection3D" }

// Fields visits the fields in order.
func (m *Detection3D) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Messages("results", List(&m.Results))
	v.Message("bbox", &m.BBox)
	v.String("id", &m.ID)
}

// Detection3DArray is vision_msgs/Detection3DArray.
type Detection3DArray struct {
	Header     Header
	Detections []Detection3D
}

// TypeName returns "vision_msgs/msg/Detection3DArray".
func (m *Detection3DArray) TypeName() string { return "vision_msgs/msg/Detection3DArray" }

// Fields visits the fields in order.
func (m *Detection3DArray) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Messages("detections", List(&m.Detections))
}
