package ros

// Image is sensor_msgs/Image: Height rows of Step bytes, the top row first.
type Image struct {
	Header        Header
	Height, Width uint32
	Encoding      string
	IsBigendian   uint8
	Step          uint32
	Data          Bytes
}

// TypeName returns "sensor_msgs/msg/Image".
func (m *Image) TypeName() string { return "sensor_msgs/msg/Image" }

// Fields visits the fields in order.
func (m *Image) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Uint32("height", &m.Height)
	v.Uint32("width", &m.Width)
	v.String("encoding", &m.Encoding)
	v.Uint8("is_bigendian", &m.IsBigendian)
	v.Uint32("step", &m.Step)
	v.Bytes("data", &m.Data)
}

// CompressedImage is sensor_msgs/CompressedImage.
type CompressedImage struct {
	Header Header
	Format string
	Data   Bytes
}

// TypeName returns "sensor_msgs/msg/CompressedImage".
func (m *CompressedImage) TypeName() string { return "sensor_msgs/msg/CompressedImage" }

// Fields visits the fields in order.
func (m *CompressedImage) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.String("format", &m.Format)
	v.Bytes("data", &m.Data)
}

// RegionOfInterest is sensor_msgs/RegionOfInterest; all zero is the whole image.
type RegionOfInterest struct {
	XOffset, YOffset uint32
	Height, Width    uint32
	DoRectify        bool
}

// TypeName returns "sensor_msgs/msg/RegionOfInterest".
func (m *RegionOfInterest) TypeName() string { return "sensor_msgs/msg/RegionOfInterest" }

// Fields visits the fields in order.
func (m *RegionOfInterest) Fields(v Visitor) {
	v.Uint32("x_offset", &m.XOffset)
	v.Uint32("y_offset", &m.YOffset)
	v.Uint32("height", &m.Height)
	v.Uint32("width", &m.Width)
	v.Bool("do_rectify", &m.DoRectify)
}

// CameraInfo is sensor_msgs/CameraInfo; the matrices are row-major.
type CameraInfo struct {
	Header             Header
	Height, Width      uint32
	DistortionModel    string
	D                  []float64
	K, R               [9]float64
	P                  [12]float64
	BinningX, BinningY uint32
	ROI                RegionOfInterest
}

// TypeName returns "sensor_msgs/msg/CameraInfo".
func (m *CameraInfo) TypeName() string { return "sensor_msgs/msg/CameraInfo" }

// Fields visits the fields in order.
func (m *CameraInfo) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Uint32("height", &m.Height)
	v.Uint32("width", &m.Width)
	v.String("distortion_model", &m.DistortionModel)
	v.Array("d", Sequence(&m.D))
	v.Array("k", Fixed(m.K[:]))
	v.Array("r", Fixed(m.R[:]))
	v.Array("p", Fixed(m.P[:]))
	v.Uint32("binning_x", &m.BinningX)
	v.Uint32("binning_y", &m.BinningY)
	v.Message("roi", &m.ROI)
}

// ROS1Name returns "D", "K", "R" and "P".
func (m *CameraInfo) ROS1Name(field string) string {
	switch field {
	case "d":
		return "D"
	case "k":
		return "K"
	case "r":
		return "R"
	case "p":
		return "P"
	}
	return field
}

// Datatypes of a PointField.
const (
	PointFieldInt8    = 1
	PointFieldUint8   = 2
	PointFieldInt16   = 3
	PointFieldUint16  = 4
	PointFieldInt32   = 5
	PointFieldUint32  = 6
	PointFieldFloat32 = 7
	PointFieldFloat64 = 8
)

// PointField is sensor_msgs/PointField: where a value lies in a point's bytes.
type PointField struct {
	Name     string
	Offset   uint32
	Datatype uint8
	Count    uint32
}

// TypeName returns "sensor_msgs/msg/PointField".
func (m *PointField) TypeName() string { return "sensor_msgs/msg/PointField" }

// Fields visits the fields in order.
func (m *PointField) Fields(v Visitor) {
	v.String("name", &m.Name)
	v.Uint32("offset", &m.Offset)
	v.Uint8("datatype", &m.Datatype)
	v.Uint32("count", &m.Count)
}

// PointCloud2 is sensor_msgs/PointCloud2: Height rows of Width points of
// PointStep bytes.
type PointCloud2 struct {
	Header        Header
	Height, Width uint32
	PointFields   []PointField
	IsBigendian   bool
	PointStep     uint32
	RowStep       uint32
	Data          Bytes
	IsDense       bool
}

// TypeName returns "sensor_msgs/msg/PointCloud2".
func (m *PointCloud2) TypeName() string { return "sensor_msgs/msg/PointCloud2" }

// Fields visits the fields in order.
func (m *PointCloud2) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Uint32("height", &m.Height)
	v.Uint32("width", &m.Width)
	v.Messages("fields", List(&m.PointFields))
	v.Bool("is_bigendian", &m.IsBigendian)
	v.Uint32("point_step", &m.PointStep)
	v.Uint32("row_step", &m.RowStep)
	v.Bytes("data", &m.Data)
	v.Bool("is_dense", &m.IsDense)
}

// Imu is sensor_msgs/Imu; covariances are row-major about x, y, z.
type Imu struct {
	Header                       Header
	Orientation                  Quaternion
	OrientationCovariance        [9]float64
	AngularVelocity              Vector3
	AngularVelocityCovariance    [9]float64
	LinearAcceleration           Vector3
	LinearAccelerationCovariance [9]float64
}

// TypeName returns "sensor_msgs/msg/Imu".
func (m *Imu) TypeName() string { return "sensor_msgs/msg/Imu" }

// Fields visits the fields in order.
func (m *Imu) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Message("orientation", &m.Orientation)
	v.Array("orientation_covariance", Fixed(m.OrientationCovariance[:]))
	v.Message("angular_velocity", &m.AngularVelocity)
	v.Array("angular_velocity_covariance", Fixed(m.AngularVelocityCovariance[:]))
	v.Message("linear_acceleration", &m.LinearAcceleration)
	v.Array("linear_acceleration_covariance", Fixed(m.LinearAccelerationCovariance[:]))
}

// NavSatStatus is sensor_msgs/NavSatStatus.
type NavSatStatus struct {
	Status  int8
	Service uint16
}

// TypeName returns "sensor_msgs/msg/NavSatStatus".
func (m *NavSatStatus) TypeName() string { return "sensor_msgs/msg/NavSatStatus" }

// Fields visits the fields in order.
func (m *NavSatStatus) Fields(v Visitor) {
	v.Int8("status", &m.Status)
	v.Uint16("service", &m.Service)
}

// NavSatFix is sensor_msgs/NavSatFix: degrees and metres.
type NavSatFix struct {
	Header                        Header
	Status                        NavSatStatus
	Latitude, Longitude, Altitude float64
	PositionCovariance            [9]float64
	PositionCovarianceType        uint8
}

// TypeName returns "sensor_msgs/msg/NavSatFix".
func (m *NavSatFix) TypeName() string { return "sensor_msgs/msg/NavSatFix" }

// Fields visits the fields in order.
func (m *NavSatFix) Fields(v Visitor) {
	v.Message("header", &m.Header)
	v.Message("status", &m.Status)
	v.Float64("latitude", &m.Latitude)
	v.Float64("longitude", &m.Longitude)
	v.Float64("altitude", &m.Altitude)
	v.Array("position_covariance", Fixed(m.PositionCovariance[:]))
	v.Uint8("position_covariance_type", &m.PositionCovarianceType)
}
