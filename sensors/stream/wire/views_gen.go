// Code generated from package schema; DO NOT EDIT.

package wire

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// ClockView is a message of kind 1, simulation time, which is the header's capture time, in the bytes it came in.
// The sample.Clock has its fields' meanings and units.
type ClockView struct {
	Message
}

// OpenClock opens a message that has to be of kind Clock.
func OpenClock(b []byte) (ClockView, error) {
	m, err := Open(b)
	if err != nil {
		return ClockView{}, err
	}
	return AsClock(m)
}

// AsClock checks the body of a message of kind Clock.
func AsClock(m Message) (v ClockView, err error) {
	p, err := parse(m, KindClock, 0)
	if err != nil {
		return v, err
	}
	v.Message = m
	if err := p.end(); err != nil {
		return ClockView{}, err
	}
	return v, nil
}

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v ClockView) CopyTo(dst *sample.Clock) {
	dst.StampNs = v.CaptureNs()
}

// ImageView is a message of kind 2, an uncompressed picture, row 0 at the top, in the bytes it came in.
// The sample.Image has its fields' meanings and units.
type ImageView struct {
	Message
	fixed        []byte
	partEncoding []byte
	partData     []byte
}

// OpenImage opens a message that has to be of kind Image.
func OpenImage(b []byte) (ImageView, error) {
	m, err := Open(b)
	if err != nil {
		return ImageView{}, err
	}
	return AsImage(m)
}

// AsImage checks the body of a message of kind Image.
func AsImage(m Message) (v ImageView, err error) {
	p, err := parse(m, KindImage, 32)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	p.checkInt(0)
	p.checkInt(4)
	p.checkInt(8)
	v.partEncoding = p.part(12, 1)
	v.partData = p.part(24, 1)
	if err := p.end(); err != nil {
		return ImageView{}, err
	}
	return v, nil
}

// Width is sample.Image's.
func (v ImageView) Width() int { return int(le.Uint32(v.fixed[0:])) }

// Height is sample.Image's.
func (v ImageView) Height() int { return int(le.Uint32(v.fixed[4:])) }

// Step is sample.Image's.
func (v ImageView) Step() int { return int(le.Uint32(v.fixed[8:])) }

// Encoding is sample.Image's.
func (v ImageView) Encoding() string { return string(v.partEncoding) }

// FovDeg is sample.Image's.
func (v ImageView) FovDeg() float64 { return math.Float64frombits(le.Uint64(v.fixed[16:])) }

// Data is sample.Image's.
func (v ImageView) Data() []byte { return v.partData }

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v ImageView) CopyTo(dst *sample.Image) {
	v.copyHeader(&dst.Header)
	dst.Width = v.Width()
	dst.Height = v.Height()
	dst.Step = v.Step()
	keep(&dst.Encoding, v.partEncoding)
	dst.FovDeg = v.FovDeg()
	dst.Data = append(dst.Data[:0], v.Data()...)
}

// CompressedImageView is a message of kind 3, an encoded picture, in the bytes it came in.
// The sample.CompressedImage has its fields' meanings and units.
type CompressedImageView struct {
	Message
	fixed      []byte
	partFormat []byte
	partData   []byte
}

// OpenCompressedImage opens a message that has to be of kind CompressedImage.
func OpenCompressedImage(b []byte) (CompressedImageView, error) {
	m, err := Open(b)
	if err != nil {
		return CompressedImageView{}, err
	}
	return AsCompressedImage(m)
}

// AsCompressedImage checks the body of a message of kind CompressedImage.
func AsCompressedImage(m Message) (v CompressedImageView, err error) {
	p, err := parse(m, KindCompressedImage, 8)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	v.partFormat = p.part(0, 1)
	v.partData = p.part(4, 1)
	if err := p.end(); err != nil {
		return CompressedImageView{}, err
	}
	return v, nil
}

// Format is sample.CompressedImage's.
func (v CompressedImageView) Format() string { return string(v.partFormat) }

// Data is sample.CompressedImage's.
func (v CompressedImageView) Data() []byte { return v.partData }

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v CompressedImageView) CopyTo(dst *sample.CompressedImage) {
	v.copyHeader(&dst.Header)
	keep(&dst.Format, v.partFormat)
	dst.Data = append(dst.Data[:0], v.Data()...)
}

// CameraInfoView is a message of kind 4, a calibration, as sensor_msgs/CameraInfo, in the bytes it came in.
// The sample.CameraInfo has its fields' meanings and units.
type CameraInfoView struct {
	Message
	fixed               []byte
	partDistortionModel []byte
	partD               []byte
}

// OpenCameraInfo opens a message that has to be of kind CameraInfo.
func OpenCameraInfo(b []byte) (CameraInfoView, error) {
	m, err := Open(b)
	if err != nil {
		return CameraInfoView{}, err
	}
	return AsCameraInfo(m)
}

// AsCameraInfo checks the body of a message of kind CameraInfo.
func AsCameraInfo(m Message) (v CameraInfoView, err error) {
	p, err := parse(m, KindCameraInfo, 256)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	p.checkInt(0)
	p.checkInt(4)
	v.partDistortionModel = p.part(8, 1)
	v.partD = p.part(12, 8)
	if err := p.end(); err != nil {
		return CameraInfoView{}, err
	}
	return v, nil
}

// Width is sample.CameraInfo's.
func (v CameraInfoView) Width() int { return int(le.Uint32(v.fixed[0:])) }

// Height is sample.CameraInfo's.
func (v CameraInfoView) Height() int { return int(le.Uint32(v.fixed[4:])) }

// DistortionModel is sample.CameraInfo's.
func (v CameraInfoView) DistortionModel() string { return string(v.partDistortionModel) }

// D is sample.CameraInfo's.
func (v CameraInfoView) D() []float64 { return alias(v.partD, getFloat64) }

// K is sample.CameraInfo's.
func (v CameraInfoView) K() (list [9]float64) {
	getFloats64(list[:], v.fixed[16:])
	return list
}

// R is sample.CameraInfo's.
func (v CameraInfoView) R() (list [9]float64) {
	getFloats64(list[:], v.fixed[88:])
	return list
}

// P is sample.CameraInfo's.
func (v CameraInfoView) P() (list [12]float64) {
	getFloats64(list[:], v.fixed[160:])
	return list
}

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v CameraInfoView) CopyTo(dst *sample.CameraInfo) {
	v.copyHeader(&dst.Header)
	dst.Width = v.Width()
	dst.Height = v.Height()
	keep(&dst.DistortionModel, v.partDistortionModel)
	dst.D = append(dst.D[:0], v.D()...)
	dst.K = v.K()
	dst.R = v.R()
	dst.P = v.P()
}

// PointCloudView is a message of kind 5, a lidar scan, in the bytes it came in.
// The sample.PointCloud has its fields' meanings and units.
type PointCloudView struct {
	Message
	fixed      []byte
	partLayout []byte
	partPoints []byte
}

// OpenPointCloud opens a message that has to be of kind PointCloud.
func OpenPointCloud(b []byte) (PointCloudView, error) {
	m, err := Open(b)
	if err != nil {
		return PointCloudView{}, err
	}
	return AsPointCloud(m)
}

// AsPointCloud checks the body of a message of kind PointCloud.
func AsPointCloud(m Message) (v PointCloudView, err error) {
	p, err := parse(m, KindPointCloud, 32)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	p.checkInt(8)
	p.checkInt(12)
	v.partLayout = p.part(20, 1)
	v.partPoints = p.part(24, 48)
	if err := p.end(); err != nil {
		return PointCloudView{}, err
	}
	return v, nil
}

// HorizontalAngle is sample.PointCloud's.
func (v PointCloudView) HorizontalAngle() float64 {
	return math.Float64frombits(le.Uint64(v.fixed[0:]))
}

// Rings is sample.PointCloud's.
func (v PointCloudView) Rings() int { return int(le.Uint32(v.fixed[8:])) }

// Columns is sample.PointCloud's.
func (v PointCloudView) Columns() int { return int(le.Uint32(v.fixed[12:])) }

// Organized is sample.PointCloud's.
func (v PointCloudView) Organized() bool { return v.fixed[16] != 0 }

// UnitIntensity is sample.PointCloud's.
func (v PointCloudView) UnitIntensity() bool { return v.fixed[17] != 0 }

// Layout is sample.PointCloud's.
func (v PointCloudView) Layout() sample.PointLayout { return sample.PointLayout(v.partLayout) }

// Points is sample.PointCloud's.
func (v PointCloudView) Points() []sample.Point { return alias(v.partPoints, getPoint) }

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v PointCloudView) CopyTo(dst *sample.PointCloud) {
	v.copyHeader(&dst.Header)
	dst.HorizontalAngle = v.HorizontalAngle()
	dst.Rings = v.Rings()
	dst.Columns = v.Columns()
	dst.Organized = v.Organized()
	dst.UnitIntensity = v.UnitIntensity()
	keep(&dst.Layout, v.partLayout)
	dst.Points = append(dst.Points[:0], v.Points()...)
}

// LaserScanView is a message of kind 6, a planar scan, as sensor_msgs/LaserScan, in the bytes it came in.
// The sample.LaserScan has its fields' meanings and units.
type LaserScanView struct {
	Message
	fixed           []byte
	partRanges      []byte
	partIntensities []byte
}

// OpenLaserScan opens a message that has to be of kind LaserScan.
func OpenLaserScan(b []byte) (LaserScanView, error) {
	m, err := Open(b)
	if err != nil {
		return LaserScanView{}, err
	}
	return AsLaserScan(m)
}

// AsLaserScan checks the body of a message of kind LaserScan.
func AsLaserScan(m Message) (v LaserScanView, err error) {
	p, err := parse(m, KindLaserScan, 40)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	v.partRanges = p.part(28, 4)
	v.partIntensities = p.part(32, 4)
	if err := p.end(); err != nil {
		return LaserScanView{}, err
	}
	return v, nil
}

// AngleMin is sample.LaserScan's.
func (v LaserScanView) AngleMin() float32 { return math.Float32frombits(le.Uint32(v.fixed[0:])) }

// AngleMax is sample.LaserScan's.
func (v LaserScanView) AngleMax() float32 { return math.Float32frombits(le.Uint32(v.fixed[4:])) }

// AngleIncrement is sample.LaserScan's.
func (v LaserScanView) AngleIncrement() float32 { return math.Float32frombits(le.Uint32(v.fixed[8:])) }

// TimeIncrement is sample.LaserScan's.
func (v LaserScanView) TimeIncrement() float32 { return math.Float32frombits(le.Uint32(v.fixed[12:])) }

// ScanTime is sample.LaserScan's.
func (v LaserScanView) ScanTime() float32 { return math.Float32frombits(le.Uint32(v.fixed[16:])) }

// RangeMin is sample.LaserScan's.
func (v LaserScanView) RangeMin() float32 { return math.Float32frombits(le.Uint32(v.fixed[20:])) }

// RangeMax is sample.LaserScan's.
func (v LaserScanView) RangeMax() float32 { return math.Float32frombits(le.Uint32(v.fixed[24:])) }

// Ranges is sample.LaserScan's.
func (v LaserScanView) Ranges() []float32 { return alias(v.partRanges, getFloat32) }

// Intensities is sample.LaserScan's.
func (v LaserScanView) Intensities() []float32 { return alias(v.partIntensities, getFloat32) }

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v LaserScanView) CopyTo(dst *sample.LaserScan) {
	v.copyHeader(&dst.Header)
	dst.AngleMin = v.AngleMin()
	dst.AngleMax = v.AngleMax()
	dst.AngleIncrement = v.AngleIncrement()
	dst.TimeIncrement = v.TimeIncrement()
	dst.ScanTime = v.ScanTime()
	dst.RangeMin = v.RangeMin()
	dst.RangeMax = v.RangeMax()
	dst.Ranges = append(dst.Ranges[:0], v.Ranges()...)
	dst.Intensities = append(dst.Intensities[:0], v.Intensities()...)
}

// RadarView is a message of kind 7, a radar sweep, in the bytes it came in.
// The sample.Radar has its fields' meanings and units.
type RadarView struct {
	Message
	fixed          []byte
	partDetections []byte
}

// OpenRadar opens a message that has to be of kind Radar.
func OpenRadar(b []byte) (RadarView, error) {
	m, err := Open(b)
	if err != nil {
		return RadarView{}, err
	}
	return AsRadar(m)
}

// AsRadar checks the body of a message of kind Radar.
func AsRadar(m Message) (v RadarView, err error) {
	p, err := parse(m, KindRadar, 8)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	v.partDetections = p.part(0, 24)
	if err := p.end(); err != nil {
		return RadarView{}, err
	}
	return v, nil
}

// Detections is sample.Radar's.
func (v RadarView) Detections() []sample.RadarDetection {
	return alias(v.partDetections, getRadarDetection)
}

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v RadarView) CopyTo(dst *sample.Radar) {
	v.copyHeader(&dst.Header)
	dst.Detections = append(dst.Detections[:0], v.Detections()...)
}

// RangeView is a message of kind 8, one distance, as sensor_msgs/Range, in the bytes it came in.
// The sample.Range has its fields' meanings and units.
type RangeView struct {
	Message
	fixed []byte
}

// OpenRange opens a message that has to be of kind Range.
func OpenRange(b []byte) (RangeView, error) {
	m, err := Open(b)
	if err != nil {
		return RangeView{}, err
	}
	return AsRange(m)
}

// AsRange checks the body of a message of kind Range.
func AsRange(m Message) (v RangeView, err error) {
	p, err := parse(m, KindRange, 24)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	if err := p.end(); err != nil {
		return RangeView{}, err
	}
	return v, nil
}

// Radiation is sample.Range's.
func (v RangeView) Radiation() uint8 { return v.fixed[0] }

// FieldOfView is sample.Range's.
func (v RangeView) FieldOfView() float32 { return math.Float32frombits(le.Uint32(v.fixed[4:])) }

// MinRange is sample.Range's.
func (v RangeView) MinRange() float32 { return math.Float32frombits(le.Uint32(v.fixed[8:])) }

// MaxRange is sample.Range's.
func (v RangeView) MaxRange() float32 { return math.Float32frombits(le.Uint32(v.fixed[12:])) }

// Range is sample.Range's.
func (v RangeView) Range() float32 { return math.Float32frombits(le.Uint32(v.fixed[16:])) }

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v RangeView) CopyTo(dst *sample.Range) {
	v.copyHeader(&dst.Header)
	dst.Radiation = v.Radiation()
	dst.FieldOfView = v.FieldOfView()
	dst.MinRange = v.MinRange()
	dst.MaxRange = v.MaxRange()
	dst.Range = v.Range()
}

// DvsEventsView is a message of kind 9, changes of brightness, by time, row, column, in the bytes it came in.
// The sample.DvsEvents has its fields' meanings and units.
type DvsEventsView struct {
	Message
	fixed      []byte
	partEvents []byte
}

// OpenDvsEvents opens a message that has to be of kind DvsEvents.
func OpenDvsEvents(b []byte) (DvsEventsView, error) {
	m, err := Open(b)
	if err != nil {
		return DvsEventsView{}, err
	}
	return AsDvsEvents(m)
}

// AsDvsEvents checks the body of a message of kind DvsEvents.
func AsDvsEvents(m Message) (v DvsEventsView, err error) {
	p, err := parse(m, KindDvsEvents, 24)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	p.checkInt(0)
	p.checkInt(4)
	v.partEvents = p.part(16, 16)
	if err := p.end(); err != nil {
		return DvsEventsView{}, err
	}
	return v, nil
}

// Width is sample.DvsEvents's.
func (v DvsEventsView) Width() int { return int(le.Uint32(v.fixed[0:])) }

// Height is sample.DvsEvents's.
func (v DvsEventsView) Height() int { return int(le.Uint32(v.fixed[4:])) }

// FovDeg is sample.DvsEvents's.
func (v DvsEventsView) FovDeg() float64 { return math.Float64frombits(le.Uint64(v.fixed[8:])) }

// Events is sample.DvsEvents's.
func (v DvsEventsView) Events() List[DvsEventView] {
	return List[DvsEventView]{v.partEvents, nil, 16, newDvsEvent}
}

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v DvsEventsView) CopyTo(dst *sample.DvsEvents) {
	v.copyHeader(&dst.Header)
	dst.Width = v.Width()
	dst.Height = v.Height()
	dst.FovDeg = v.FovDeg()
	{
		list := v.Events()
		dst.Events = resize(dst.Events, list.Len())
		for i := range dst.Events {
			list.At(i).CopyTo(&dst.Events[i])
		}
	}
}

// ImuView is a message of kind 10, an inertial measurement (REP-145), in the bytes it came in.
// The sample.Imu has its fields' meanings and units.
type ImuView struct {
	Message
	fixed []byte
}

// OpenImu opens a message that has to be of kind Imu.
func OpenImu(b []byte) (ImuView, error) {
	m, err := Open(b)
	if err != nil {
		return ImuView{}, err
	}
	return AsImu(m)
}

// AsImu checks the body of a message of kind Imu.
func AsImu(m Message) (v ImuView, err error) {
	p, err := parse(m, KindImu, 296)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	if err := p.end(); err != nil {
		return ImuView{}, err
	}
	return v, nil
}

// Orientation is sample.Imu's.
func (v ImuView) Orientation() mgl64.Quat { return getQuat(v.fixed[0:]) }

// OrientationCovariance is sample.Imu's.
func (v ImuView) OrientationCovariance() (list [9]float64) {
	getFloats64(list[:], v.fixed[32:])
	return list
}

// AngularVelocity is sample.Imu's.
func (v ImuView) AngularVelocity() mgl64.Vec3 { return getVec3(v.fixed[104:]) }

// AngularVelocityCovariance is sample.Imu's.
func (v ImuView) AngularVelocityCovariance() (list [9]float64) {
	getFloats64(list[:], v.fixed[128:])
	return list
}

// LinearAcceleration is sample.Imu's.
func (v ImuView) LinearAcceleration() mgl64.Vec3 { return getVec3(v.fixed[200:]) }

// LinearAccelerationCovariance is sample.Imu's.
func (v ImuView) LinearAccelerationCovariance() (list [9]float64) {
	getFloats64(list[:], v.fixed[224:])
	return list
}

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v ImuView) CopyTo(dst *sample.Imu) {
	v.copyHeader(&dst.Header)
	dst.Orientation = v.Orientation()
	dst.OrientationCovariance = v.OrientationCovariance()
	dst.AngularVelocity = v.AngularVelocity()
	dst.AngularVelocityCovariance = v.AngularVelocityCovariance()
	dst.LinearAcceleration = v.LinearAcceleration()
	dst.LinearAccelerationCovariance = v.LinearAccelerationCovariance()
}

// GnssFixView is a message of kind 11, a satellite fix, WGS84, in the bytes it came in.
// The sample.GnssFix has its fields' meanings and units.
type GnssFixView struct {
	Message
	fixed []byte
}

// OpenGnssFix opens a message that has to be of kind GnssFix.
func OpenGnssFix(b []byte) (GnssFixView, error) {
	m, err := Open(b)
	if err != nil {
		return GnssFixView{}, err
	}
	return AsGnssFix(m)
}

// AsGnssFix checks the body of a message of kind GnssFix.
func AsGnssFix(m Message) (v GnssFixView, err error) {
	p, err := parse(m, KindGnssFix, 104)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	if err := p.end(); err != nil {
		return GnssFixView{}, err
	}
	return v, nil
}

// Status is sample.GnssFix's.
func (v GnssFixView) Status() int8 { return int8(v.fixed[0]) }

// PositionCovarianceType is sample.GnssFix's.
func (v GnssFixView) PositionCovarianceType() uint8 { return v.fixed[1] }

// Service is sample.GnssFix's.
func (v GnssFixView) Service() uint16 { return le.Uint16(v.fixed[2:]) }

// Latitude is sample.GnssFix's.
func (v GnssFixView) Latitude() float64 { return math.Float64frombits(le.Uint64(v.fixed[8:])) }

// Longitude is sample.GnssFix's.
func (v GnssFixView) Longitude() float64 { return math.Float64frombits(le.Uint64(v.fixed[16:])) }

// Altitude is sample.GnssFix's.
func (v GnssFixView) Altitude() float64 { return math.Float64frombits(le.Uint64(v.fixed[24:])) }

// PositionCovariance is sample.GnssFix's.
func (v GnssFixView) PositionCovariance() (list [9]float64) {
	getFloats64(list[:], v.fixed[32:])
	return list
}

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v GnssFixView) CopyTo(dst *sample.GnssFix) {
	v.copyHeader(&dst.Header)
	dst.Status = v.Status()
	dst.PositionCovarianceType = v.PositionCovarianceType()
	dst.Service = v.Service()
	dst.Latitude = v.Latitude()
	dst.Longitude = v.Longitude()
	dst.Altitude = v.Altitude()
	dst.PositionCovariance = v.PositionCovariance()
}

// OdometryView is a message of kind 12, a pose in the header's frame and a twist in the child's, in the bytes it came in.
// The sample.Odometry has its fields' meanings and units.
type OdometryView struct {
	Message
	fixed            []byte
	partChildFrameID []byte
}

// OpenOdometry opens a message that has to be of kind Odometry.
func OpenOdometry(b []byte) (OdometryView, error) {
	m, err := Open(b)
	if err != nil {
		return OdometryView{}, err
	}
	return AsOdometry(m)
}

// AsOdometry checks the body of a message of kind Odometry.
func AsOdometry(m Message) (v OdometryView, err error) {
	p, err := parse(m, KindOdometry, 688)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	v.partChildFrameID = p.part(0, 1)
	if err := p.end(); err != nil {
		return OdometryView{}, err
	}
	return v, nil
}

// ChildFrameID is sample.Odometry's.
func (v OdometryView) ChildFrameID() string { return string(v.partChildFrameID) }

// BodyPose is sample.Odometry's.
func (v OdometryView) BodyPose() spatial.Pose { return getPose(v.fixed[8:]) }

// PoseCovariance is sample.Odometry's.
func (v OdometryView) PoseCovariance() (list [36]float64) {
	getFloats64(list[:], v.fixed[64:])
	return list
}

// Twist is sample.Odometry's.
func (v OdometryView) Twist() spatial.Twist { return getTwist(v.fixed[352:]) }

// TwistCovariance is sample.Odometry's.
func (v OdometryView) TwistCovariance() (list [36]float64) {
	getFloats64(list[:], v.fixed[400:])
	return list
}

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v OdometryView) CopyTo(dst *sample.Odometry) {
	v.copyHeader(&dst.Header)
	keep(&dst.ChildFrameID, v.partChildFrameID)
	dst.BodyPose = v.BodyPose()
	dst.PoseCovariance = v.PoseCovariance()
	dst.Twist = v.Twist()
	dst.TwistCovariance = v.TwistCovariance()
}

// TransformsView is a message of kind 13, frames that are sent together, in the bytes it came in.
// The sample.Transforms has its fields' meanings and units.
type TransformsView struct {
	Message
	fixed          []byte
	partTransforms []byte
	text           []byte
}

// OpenTransforms opens a message that has to be of kind Transforms.
func OpenTransforms(b []byte) (TransformsView, error) {
	m, err := Open(b)
	if err != nil {
		return TransformsView{}, err
	}
	return AsTransforms(m)
}

// AsTransforms checks the body of a message of kind Transforms.
func AsTransforms(m Message) (v TransformsView, err error) {
	p, err := parse(m, KindTransforms, 16)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	v.partTransforms = p.part(4, 152)
	v.text = p.part(8, 1)
	if err := p.end(); err != nil {
		return TransformsView{}, err
	}
	if err := checkTexts(v.partTransforms, 152, v.text, textTransform[:]); err != nil {
		return TransformsView{}, err
	}
	return v, nil
}

// Static is sample.Transforms's.
func (v TransformsView) Static() bool { return v.fixed[0] != 0 }

// Transforms is sample.Transforms's.
func (v TransformsView) Transforms() List[TransformView] {
	return List[TransformView]{v.partTransforms, v.text, 152, newTransform}
}

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v TransformsView) CopyTo(dst *sample.Transforms) {
	dst.StampNs = v.CaptureNs()
	dst.Static = v.Static()
	{
		list := v.Transforms()
		dst.Transforms = resize(dst.Transforms, list.Len())
		for i := range dst.Transforms {
			list.At(i).CopyTo(&dst.Transforms[i])
		}
	}
}

// Detections2DView is a message of kind 14, ground truth of a picture, by rising id, in the bytes it came in.
// The sample.Detections2D has its fields' meanings and units.
type Detections2DView struct {
	Message
	fixed     []byte
	partBoxes []byte
	text      []byte
}

// OpenDetections2D opens a message that has to be of kind Detections2D.
func OpenDetections2D(b []byte) (Detections2DView, error) {
	m, err := Open(b)
	if err != nil {
		return Detections2DView{}, err
	}
	return AsDetections2D(m)
}

// AsDetections2D checks the body of a message of kind Detections2D.
func AsDetections2D(m Message) (v Detections2DView, err error) {
	p, err := parse(m, KindDetections2D, 16)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	p.checkInt(0)
	p.checkInt(4)
	v.partBoxes = p.part(8, 104)
	v.text = p.part(12, 1)
	if err := p.end(); err != nil {
		return Detections2DView{}, err
	}
	if err := checkTexts(v.partBoxes, 104, v.text, textBox2D[:]); err != nil {
		return Detections2DView{}, err
	}
	return v, nil
}

// Width is sample.Detections2D's.
func (v Detections2DView) Width() int { return int(le.Uint32(v.fixed[0:])) }

// Height is sample.Detections2D's.
func (v Detections2DView) Height() int { return int(le.Uint32(v.fixed[4:])) }

// Boxes is sample.Detections2D's.
func (v Detections2DView) Boxes() List[Box2DView] {
	return List[Box2DView]{v.partBoxes, v.text, 104, newBox2D}
}

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v Detections2DView) CopyTo(dst *sample.Detections2D) {
	v.copyHeader(&dst.Header)
	dst.Width = v.Width()
	dst.Height = v.Height()
	{
		list := v.Boxes()
		dst.Boxes = resize(dst.Boxes, list.Len())
		for i := range dst.Boxes {
			list.At(i).CopyTo(&dst.Boxes[i])
		}
	}
}

// Detections3DView is a message of kind 15, ground truth around a sensor, by rising id, in the bytes it came in.
// The sample.Detections3D has its fields' meanings and units.
type Detections3DView struct {
	Message
	fixed     []byte
	partBoxes []byte
	text      []byte
}

// OpenDetections3D opens a message that has to be of kind Detections3D.
func OpenDetections3D(b []byte) (Detections3DView, error) {
	m, err := Open(b)
	if err != nil {
		return Detections3DView{}, err
	}
	return AsDetections3D(m)
}

// AsDetections3D checks the body of a message of kind Detections3D.
func AsDetections3D(m Message) (v Detections3DView, err error) {
	p, err := parse(m, KindDetections3D, 8)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	v.partBoxes = p.part(0, 184)
	v.text = p.part(4, 1)
	if err := p.end(); err != nil {
		return Detections3DView{}, err
	}
	if err := checkTexts(v.partBoxes, 184, v.text, textBox3D[:]); err != nil {
		return Detections3DView{}, err
	}
	return v, nil
}

// Boxes is sample.Detections3D's.
func (v Detections3DView) Boxes() List[Box3DView] {
	return List[Box3DView]{v.partBoxes, v.text, 184, newBox3D}
}

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v Detections3DView) CopyTo(dst *sample.Detections3D) {
	v.copyHeader(&dst.Header)
	{
		list := v.Boxes()
		dst.Boxes = resize(dst.Boxes, list.Len())
		for i := range dst.Boxes {
			list.At(i).CopyTo(&dst.Boxes[i])
		}
	}
}

// RadarObjectsView is a message of kind 16, actors of a radar sweep, by rising id, in the bytes it came in.
// The sample.RadarObjects has its fields' meanings and units.
type RadarObjectsView struct {
	Message
	fixed       []byte
	partObjects []byte
}

// OpenRadarObjects opens a message that has to be of kind RadarObjects.
func OpenRadarObjects(b []byte) (RadarObjectsView, error) {
	m, err := Open(b)
	if err != nil {
		return RadarObjectsView{}, err
	}
	return AsRadarObjects(m)
}

// AsRadarObjects checks the body of a message of kind RadarObjects.
func AsRadarObjects(m Message) (v RadarObjectsView, err error) {
	p, err := parse(m, KindRadarObjects, 8)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	v.partObjects = p.part(0, 80)
	if err := p.end(); err != nil {
		return RadarObjectsView{}, err
	}
	return v, nil
}

// Objects is sample.RadarObjects's.
func (v RadarObjectsView) Objects() List[RadarObjectView] {
	return List[RadarObjectView]{v.partObjects, nil, 80, newRadarObject}
}

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v RadarObjectsView) CopyTo(dst *sample.RadarObjects) {
	v.copyHeader(&dst.Header)
	{
		list := v.Objects()
		dst.Objects = resize(dst.Objects, list.Len())
		for i := range dst.Objects {
			list.At(i).CopyTo(&dst.Objects[i])
		}
	}
}

// SignalsView is a message of kind 17, traffic lights, nearest first, in the bytes it came in.
// The sample.Signals has its fields' meanings and units.
type SignalsView struct {
	Message
	fixed       []byte
	partSignals []byte
	text        []byte
}

// OpenSignals opens a message that has to be of kind Signals.
func OpenSignals(b []byte) (SignalsView, error) {
	m, err := Open(b)
	if err != nil {
		return SignalsView{}, err
	}
	return AsSignals(m)
}

// AsSignals checks the body of a message of kind Signals.
func AsSignals(m Message) (v SignalsView, err error) {
	p, err := parse(m, KindSignals, 8)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	v.partSignals = p.part(0, 104)
	v.text = p.part(4, 1)
	if err := p.end(); err != nil {
		return SignalsView{}, err
	}
	if err := checkTexts(v.partSignals, 104, v.text, textSignal[:]); err != nil {
		return SignalsView{}, err
	}
	return v, nil
}

// Signals is sample.Signals's.
func (v SignalsView) Signals() List[SignalView] {
	return List[SignalView]{v.partSignals, v.text, 104, newSignal}
}

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v SignalsView) CopyTo(dst *sample.Signals) {
	v.copyHeader(&dst.Header)
	{
		list := v.Signals()
		dst.Signals = resize(dst.Signals, list.Len())
		for i := range dst.Signals {
			list.At(i).CopyTo(&dst.Signals[i])
		}
	}
}

// CollisionView is a message of kind 18, an actor touches another, in the bytes it came in.
// The sample.Collision has its fields' meanings and units.
type CollisionView struct {
	Message
	fixed         []byte
	partActorType []byte
	partOtherType []byte
}

// OpenCollision opens a message that has to be of kind Collision.
func OpenCollision(b []byte) (CollisionView, error) {
	m, err := Open(b)
	if err != nil {
		return CollisionView{}, err
	}
	return AsCollision(m)
}

// AsCollision checks the body of a message of kind Collision.
func AsCollision(m Message) (v CollisionView, err error) {
	p, err := parse(m, KindCollision, 40)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	v.partActorType = p.part(8, 1)
	v.partOtherType = p.part(12, 1)
	if err := p.end(); err != nil {
		return CollisionView{}, err
	}
	return v, nil
}

// Actor is sample.Collision's.
func (v CollisionView) Actor() uint32 { return le.Uint32(v.fixed[0:]) }

// Other is sample.Collision's.
func (v CollisionView) Other() uint32 { return le.Uint32(v.fixed[4:]) }

// ActorType is sample.Collision's.
func (v CollisionView) ActorType() string { return string(v.partActorType) }

// OtherType is sample.Collision's.
func (v CollisionView) OtherType() string { return string(v.partOtherType) }

// NormalImpulse is sample.Collision's.
func (v CollisionView) NormalImpulse() mgl64.Vec3 { return getVec3(v.fixed[16:]) }

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v CollisionView) CopyTo(dst *sample.Collision) {
	v.copyHeader(&dst.Header)
	dst.Actor = v.Actor()
	dst.Other = v.Other()
	keep(&dst.ActorType, v.partActorType)
	keep(&dst.OtherType, v.partOtherType)
	dst.NormalImpulse = v.NormalImpulse()
}

// ObstacleView is a message of kind 19, what is in an actor's way, in the bytes it came in.
// The sample.Obstacle has its fields' meanings and units.
type ObstacleView struct {
	Message
	fixed         []byte
	partActorType []byte
	partOtherType []byte
}

// OpenObstacle opens a message that has to be of kind Obstacle.
func OpenObstacle(b []byte) (ObstacleView, error) {
	m, err := Open(b)
	if err != nil {
		return ObstacleView{}, err
	}
	return AsObstacle(m)
}

// AsObstacle checks the body of a message of kind Obstacle.
func AsObstacle(m Message) (v ObstacleView, err error) {
	p, err := parse(m, KindObstacle, 24)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	v.partActorType = p.part(8, 1)
	v.partOtherType = p.part(12, 1)
	if err := p.end(); err != nil {
		return ObstacleView{}, err
	}
	return v, nil
}

// Actor is sample.Obstacle's.
func (v ObstacleView) Actor() uint32 { return le.Uint32(v.fixed[0:]) }

// Other is sample.Obstacle's.
func (v ObstacleView) Other() uint32 { return le.Uint32(v.fixed[4:]) }

// ActorType is sample.Obstacle's.
func (v ObstacleView) ActorType() string { return string(v.partActorType) }

// OtherType is sample.Obstacle's.
func (v ObstacleView) OtherType() string { return string(v.partOtherType) }

// Distance is sample.Obstacle's.
func (v ObstacleView) Distance() float32 { return math.Float32frombits(le.Uint32(v.fixed[16:])) }

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v ObstacleView) CopyTo(dst *sample.Obstacle) {
	v.copyHeader(&dst.Header)
	dst.Actor = v.Actor()
	dst.Other = v.Other()
	keep(&dst.ActorType, v.partActorType)
	keep(&dst.OtherType, v.partOtherType)
	dst.Distance = v.Distance()
}

// LaneInvasionView is a message of kind 20, lane marks that were crossed, in the bytes it came in.
// The sample.LaneInvasion has its fields' meanings and units.
type LaneInvasionView struct {
	Message
	fixed     []byte
	partMarks []byte
}

// OpenLaneInvasion opens a message that has to be of kind LaneInvasion.
func OpenLaneInvasion(b []byte) (LaneInvasionView, error) {
	m, err := Open(b)
	if err != nil {
		return LaneInvasionView{}, err
	}
	return AsLaneInvasion(m)
}

// AsLaneInvasion checks the body of a message of kind LaneInvasion.
func AsLaneInvasion(m Message) (v LaneInvasionView, err error) {
	p, err := parse(m, KindLaneInvasion, 8)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	v.partMarks = p.part(4, 8)
	if err := p.end(); err != nil {
		return LaneInvasionView{}, err
	}
	return v, nil
}

// Actor is sample.LaneInvasion's.
func (v LaneInvasionView) Actor() uint32 { return le.Uint32(v.fixed[0:]) }

// Marks is sample.LaneInvasion's.
func (v LaneInvasionView) Marks() []sample.CrossedMark { return alias(v.partMarks, getCrossedMark) }

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v LaneInvasionView) CopyTo(dst *sample.LaneInvasion) {
	v.copyHeader(&dst.Header)
	dst.Actor = v.Actor()
	dst.Marks = append(dst.Marks[:0], v.Marks()...)
}

// SpeedView is a message of kind 21, a speedometer's reading, in the bytes it came in.
// The sample.Speed has its fields' meanings and units.
type SpeedView struct {
	Message
	fixed []byte
}

// OpenSpeed opens a message that has to be of kind Speed.
func OpenSpeed(b []byte) (SpeedView, error) {
	m, err := Open(b)
	if err != nil {
		return SpeedView{}, err
	}
	return AsSpeed(m)
}

// AsSpeed checks the body of a message of kind Speed.
func AsSpeed(m Message) (v SpeedView, err error) {
	p, err := parse(m, KindSpeed, 8)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	if err := p.end(); err != nil {
		return SpeedView{}, err
	}
	return v, nil
}

// MetresPerSecond is sample.Speed's.
func (v SpeedView) MetresPerSecond() float64 { return math.Float64frombits(le.Uint64(v.fixed[0:])) }

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v SpeedView) CopyTo(dst *sample.Speed) {
	v.copyHeader(&dst.Header)
	dst.MetresPerSecond = v.MetresPerSecond()
}

// CanBusView is a message of kind 22, the state that a vehicle reports of itself, in the bytes it came in.
// The sample.CanBus has its fields' meanings and units.
type CanBusView struct {
	Message
	fixed []byte
}

// OpenCanBus opens a message that has to be of kind CanBus.
func OpenCanBus(b []byte) (CanBusView, error) {
	m, err := Open(b)
	if err != nil {
		return CanBusView{}, err
	}
	return AsCanBus(m)
}

// AsCanBus checks the body of a message of kind CanBus.
func AsCanBus(m Message) (v CanBusView, err error) {
	p, err := parse(m, KindCanBus, 136)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	if err := p.end(); err != nil {
		return CanBusView{}, err
	}
	return v, nil
}

// Speed is sample.CanBus's.
func (v CanBusView) Speed() float64 { return math.Float64frombits(le.Uint64(v.fixed[0:])) }

// Throttle is sample.CanBus's.
func (v CanBusView) Throttle() float64 { return math.Float64frombits(le.Uint64(v.fixed[8:])) }

// Braking is sample.CanBus's.
func (v CanBusView) Braking() float64 { return math.Float64frombits(le.Uint64(v.fixed[16:])) }

// Steering is sample.CanBus's.
func (v CanBusView) Steering() float64 { return math.Float64frombits(le.Uint64(v.fixed[24:])) }

// EngineRPM is sample.CanBus's.
func (v CanBusView) EngineRPM() float64 { return math.Float64frombits(le.Uint64(v.fixed[32:])) }

// ParkingBrake is sample.CanBus's.
func (v CanBusView) ParkingBrake() bool { return v.fixed[40] != 0 }

// HighBeam is sample.CanBus's.
func (v CanBusView) HighBeam() bool { return v.fixed[41] != 0 }

// LowBeam is sample.CanBus's.
func (v CanBusView) LowBeam() bool { return v.fixed[42] != 0 }

// HazardLights is sample.CanBus's.
func (v CanBusView) HazardLights() bool { return v.fixed[43] != 0 }

// FogLights is sample.CanBus's.
func (v CanBusView) FogLights() bool { return v.fixed[44] != 0 }

// LeftTurn is sample.CanBus's.
func (v CanBusView) LeftTurn() bool { return v.fixed[45] != 0 }

// RightTurn is sample.CanBus's.
func (v CanBusView) RightTurn() bool { return v.fixed[46] != 0 }

// Wipers is sample.CanBus's.
func (v CanBusView) Wipers() bool { return v.fixed[47] != 0 }

// Reverse is sample.CanBus's.
func (v CanBusView) Reverse() bool { return v.fixed[48] != 0 }

// EngineOn is sample.CanBus's.
func (v CanBusView) EngineOn() bool { return v.fixed[49] != 0 }

// Gear is sample.CanBus's.
func (v CanBusView) Gear() int8 { return int8(v.fixed[50]) }

// Latitude is sample.CanBus's.
func (v CanBusView) Latitude() float64 { return math.Float64frombits(le.Uint64(v.fixed[56:])) }

// Longitude is sample.CanBus's.
func (v CanBusView) Longitude() float64 { return math.Float64frombits(le.Uint64(v.fixed[64:])) }

// Altitude is sample.CanBus's.
func (v CanBusView) Altitude() float64 { return math.Float64frombits(le.Uint64(v.fixed[72:])) }

// Orientation is sample.CanBus's.
func (v CanBusView) Orientation() mgl64.Quat { return getQuat(v.fixed[80:]) }

// Velocity is sample.CanBus's.
func (v CanBusView) Velocity() mgl64.Vec3 { return getVec3(v.fixed[112:]) }

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v CanBusView) CopyTo(dst *sample.CanBus) {
	v.copyHeader(&dst.Header)
	dst.Speed = v.Speed()
	dst.Throttle = v.Throttle()
	dst.Braking = v.Braking()
	dst.Steering = v.Steering()
	dst.EngineRPM = v.EngineRPM()
	dst.ParkingBrake = v.ParkingBrake()
	dst.HighBeam = v.HighBeam()
	dst.LowBeam = v.LowBeam()
	dst.HazardLights = v.HazardLights()
	dst.FogLights = v.FogLights()
	dst.LeftTurn = v.LeftTurn()
	dst.RightTurn = v.RightTurn()
	dst.Wipers = v.Wipers()
	dst.Reverse = v.Reverse()
	dst.EngineOn = v.EngineOn()
	dst.Gear = v.Gear()
	dst.Latitude = v.Latitude()
	dst.Longitude = v.Longitude()
	dst.Altitude = v.Altitude()
	dst.Orientation = v.Orientation()
	dst.Velocity = v.Velocity()
}

// VehicleOdometryView is a message of kind 23, speed and wheel angles, in the bytes it came in.
// The sample.VehicleOdometry has its fields' meanings and units.
type VehicleOdometryView struct {
	Message
	fixed []byte
}

// OpenVehicleOdometry opens a message that has to be of kind VehicleOdometry.
func OpenVehicleOdometry(b []byte) (VehicleOdometryView, error) {
	m, err := Open(b)
	if err != nil {
		return VehicleOdometryView{}, err
	}
	return AsVehicleOdometry(m)
}

// AsVehicleOdometry checks the body of a message of kind VehicleOdometry.
func AsVehicleOdometry(m Message) (v VehicleOdometryView, err error) {
	p, err := parse(m, KindVehicleOdometry, 24)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	if err := p.end(); err != nil {
		return VehicleOdometryView{}, err
	}
	return v, nil
}

// Velocity is sample.VehicleOdometry's.
func (v VehicleOdometryView) Velocity() float64 { return math.Float64frombits(le.Uint64(v.fixed[0:])) }

// FrontWheelAngle is sample.VehicleOdometry's.
func (v VehicleOdometryView) FrontWheelAngle() float64 {
	return math.Float64frombits(le.Uint64(v.fixed[8:]))
}

// RearWheelAngle is sample.VehicleOdometry's.
func (v VehicleOdometryView) RearWheelAngle() float64 {
	return math.Float64frombits(le.Uint64(v.fixed[16:]))
}

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v VehicleOdometryView) CopyTo(dst *sample.VehicleOdometry) {
	v.copyHeader(&dst.Header)
	dst.Velocity = v.Velocity()
	dst.FrontWheelAngle = v.FrontWheelAngle()
	dst.RearWheelAngle = v.RearWheelAngle()
}

// GpsOdometryView is a message of kind 24, a position on the earth with the movement, in the bytes it came in.
// The sample.GpsOdometry has its fields' meanings and units.
type GpsOdometryView struct {
	Message
	fixed            []byte
	partChildFrameID []byte
}

// OpenGpsOdometry opens a message that has to be of kind GpsOdometry.
func OpenGpsOdometry(b []byte) (GpsOdometryView, error) {
	m, err := Open(b)
	if err != nil {
		return GpsOdometryView{}, err
	}
	return AsGpsOdometry(m)
}

// AsGpsOdometry checks the body of a message of kind GpsOdometry.
func AsGpsOdometry(m Message) (v GpsOdometryView, err error) {
	p, err := parse(m, KindGpsOdometry, 144)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	v.partChildFrameID = p.part(0, 1)
	if err := p.end(); err != nil {
		return GpsOdometryView{}, err
	}
	return v, nil
}

// ChildFrameID is sample.GpsOdometry's.
func (v GpsOdometryView) ChildFrameID() string { return string(v.partChildFrameID) }

// Latitude is sample.GpsOdometry's.
func (v GpsOdometryView) Latitude() float64 { return math.Float64frombits(le.Uint64(v.fixed[8:])) }

// Longitude is sample.GpsOdometry's.
func (v GpsOdometryView) Longitude() float64 { return math.Float64frombits(le.Uint64(v.fixed[16:])) }

// Altitude is sample.GpsOdometry's.
func (v GpsOdometryView) Altitude() float64 { return math.Float64frombits(le.Uint64(v.fixed[24:])) }

// Northing is sample.GpsOdometry's.
func (v GpsOdometryView) Northing() float64 { return math.Float64frombits(le.Uint64(v.fixed[32:])) }

// Easting is sample.GpsOdometry's.
func (v GpsOdometryView) Easting() float64 { return math.Float64frombits(le.Uint64(v.fixed[40:])) }

// Orientation is sample.GpsOdometry's.
func (v GpsOdometryView) Orientation() mgl64.Quat { return getQuat(v.fixed[48:]) }

// ForwardSpeed is sample.GpsOdometry's.
func (v GpsOdometryView) ForwardSpeed() float64 { return math.Float64frombits(le.Uint64(v.fixed[80:])) }

// Velocity is sample.GpsOdometry's.
func (v GpsOdometryView) Velocity() mgl64.Vec3 { return getVec3(v.fixed[88:]) }

// AngularVelocity is sample.GpsOdometry's.
func (v GpsOdometryView) AngularVelocity() mgl64.Vec3 { return getVec3(v.fixed[112:]) }

// WheelAngle is sample.GpsOdometry's.
func (v GpsOdometryView) WheelAngle() float64 { return math.Float64frombits(le.Uint64(v.fixed[136:])) }

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v GpsOdometryView) CopyTo(dst *sample.GpsOdometry) {
	v.copyHeader(&dst.Header)
	keep(&dst.ChildFrameID, v.partChildFrameID)
	dst.Latitude = v.Latitude()
	dst.Longitude = v.Longitude()
	dst.Altitude = v.Altitude()
	dst.Northing = v.Northing()
	dst.Easting = v.Easting()
	dst.Orientation = v.Orientation()
	dst.ForwardSpeed = v.ForwardSpeed()
	dst.Velocity = v.Velocity()
	dst.AngularVelocity = v.AngularVelocity()
	dst.WheelAngle = v.WheelAngle()
}

// InsStatusView is a message of kind 25, the state of an inertial navigation system, NovAtel's numbers, in the bytes it came in.
// The sample.InsStatus has its fields' meanings and units.
type InsStatusView struct {
	Message
	fixed []byte
}

// OpenInsStatus opens a message that has to be of kind InsStatus.
func OpenInsStatus(b []byte) (InsStatusView, error) {
	m, err := Open(b)
	if err != nil {
		return InsStatusView{}, err
	}
	return AsInsStatus(m)
}

// AsInsStatus checks the body of a message of kind InsStatus.
func AsInsStatus(m Message) (v InsStatusView, err error) {
	p, err := parse(m, KindInsStatus, 8)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	if err := p.end(); err != nil {
		return InsStatusView{}, err
	}
	return v, nil
}

// Status is sample.InsStatus's.
func (v InsStatusView) Status() uint32 { return le.Uint32(v.fixed[0:]) }

// PositionType is sample.InsStatus's.
func (v InsStatusView) PositionType() uint32 { return le.Uint32(v.fixed[4:]) }

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v InsStatusView) CopyTo(dst *sample.InsStatus) {
	v.copyHeader(&dst.Header)
	dst.Status = v.Status()
	dst.PositionType = v.PositionType()
}

// SnapshotView is a message of kind 26, the state of every actor, by rising id, in the bytes it came in.
// The sample.Snapshot has its fields' meanings and units.
type SnapshotView struct {
	Message
	fixed      []byte
	partActors []byte
	text       []byte
}

// OpenSnapshot opens a message that has to be of kind Snapshot.
func OpenSnapshot(b []byte) (SnapshotView, error) {
	m, err := Open(b)
	if err != nil {
		return SnapshotView{}, err
	}
	return AsSnapshot(m)
}

// AsSnapshot checks the body of a message of kind Snapshot.
func AsSnapshot(m Message) (v SnapshotView, err error) {
	p, err := parse(m, KindSnapshot, 16)
	if err != nil {
		return v, err
	}
	v.Message = m
	v.fixed = p.fixed
	v.partActors = p.part(8, 224)
	v.text = p.part(12, 1)
	if err := p.end(); err != nil {
		return SnapshotView{}, err
	}
	if err := checkTexts(v.partActors, 224, v.text, textActorState[:]); err != nil {
		return SnapshotView{}, err
	}
	return v, nil
}

// DeltaNs is sample.Snapshot's.
func (v SnapshotView) DeltaNs() int64 { return int64(le.Uint64(v.fixed[0:])) }

// Actors is sample.Snapshot's.
func (v SnapshotView) Actors() List[ActorStateView] {
	return List[ActorStateView]{v.partActors, v.text, 224, newActorState}
}

// CopyTo makes dst the sample that the message was made from, reusing its memory.
func (v SnapshotView) CopyTo(dst *sample.Snapshot) {
	v.copyHeader(&dst.Header)
	dst.DeltaNs = v.DeltaNs()
	{
		list := v.Actors()
		dst.Actors = resize(dst.Actors, list.Len())
		for i := range dst.Actors {
			list.At(i).CopyTo(&dst.Actors[i])
		}
	}
}
