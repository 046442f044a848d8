package foxglovemsg

import (
	"fmt"
	"log/slog"
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl64"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/raybridge/raybridge/bridges/internal/foxglovemsg/foxglove"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// generated is a message of generated code, set again for each sample.
type generated[M any, P interface {
	*M
	proto.Message
}] struct{ content M }

// message returns the content to be set.
func (g *generated[M, P]) message() P { return &g.content }

// Size returns the size of the encoded message.
func (g *generated[M, P]) Size() int { return proto.Size(P(&g.content)) }

// Append appends the encoded message.
func (g *generated[M, P]) Append(dst []byte) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(dst, P(&g.content))
}

func (*generated[M, P]) descriptor() proto.Message { return P(nil) }

// at returns the message that p points to, which is made the first time.
func at[M any](p **M) *M {
	if *p == nil {
		*p = new(M)
	}
	return *p
}

// resized returns a list of n messages, which are reused.
func resized[M any](list []*M, n int) []*M {
	list = slices.Grow(list, max(0, n-len(list)))[:n]
	for i := range list {
		at(&list[i])
	}
	return list
}

func setTime(p **timestamppb.Timestamp, stamp simtime.Stamp) {
	t := at(p)
	t.Seconds, t.Nanos = split(stamp)
}

func setVector(p **pb.Vector3, v mgl64.Vec3) {
	dst := at(p)
	dst.X, dst.Y, dst.Z = v[0], v[1], v[2]
}

func setQuaternion(p **pb.Quaternion, q mgl64.Quat) {
	dst := at(p)
	dst.X, dst.Y, dst.Z, dst.W = q.V[0], q.V[1], q.V[2], q.W
}

func setPose(p **pb.Pose, pose spatial.Pose) {
	dst := at(p)
	setVector(&dst.Position, pose.Position)
	setQuaternion(&dst.Orientation, pose.Orientation)
}

// distortionModels are Foxglove's names of models that ROS calls otherwise; the
// parameters are the same.
var distortionModels = map[string]string{"equidistant": "kannala_brandt"}

// setCameraCalibration makes dst the calibration of the whole picture.
func setCameraCalibration(dst *generated[pb.CameraCalibration, *pb.CameraCalibration], src *sample.CameraInfo) error {
	m := dst.message()
	setTime(&m.Timestamp, src.Stamp)
	m.FrameId = src.FrameID
	m.Width, m.Height = uint32(src.Width), uint32(src.Height)
	m.DistortionModel = src.DistortionModel
	if name, ok := distortionModels[src.DistortionModel]; ok {
		m.DistortionModel = name
	}
	m.D = append(m.D[:0], src.D...)
	m.K = append(m.K[:0], src.K[:]...)
	m.R = append(m.R[:0], src.R[:]...)
	m.P = append(m.P[:0], src.P[:]...)
	return nil
}

// setFrameTransforms makes dst the set of frames.
func setFrameTransforms(dst *generated[pb.FrameTransforms, *pb.FrameTransforms], src *sample.Transforms) error {
	m := dst.message()
	m.Transforms = resized(m.Transforms, len(src.Transforms))
	for i, t := range m.Transforms {
		from := &src.Transforms[i]
		setTime(&t.Timestamp, from.Stamp)
		t.ParentFrameId, t.ChildFrameId = from.FrameID, from.ChildFrameID
		setVector(&t.Translation, from.Relative.Position)
		setQuaternion(&t.Rotation, from.Relative.Orientation)
	}
	return nil
}

// setLaserScan makes dst the scan.
func setLaserScan(dst *generated[pb.LaserScan, *pb.LaserScan], src *sample.LaserScan) error {
	m := dst.message()
	setTime(&m.Timestamp, src.Stamp)
	m.FrameId = src.FrameID
	setPose(&m.Pose, spatial.Identity())
	m.StartAngle, m.EndAngle = float64(src.AngleMin), float64(src.AngleMax)
	m.Ranges, m.Intensities = widen(m.Ranges, src.Ranges), widen(m.Intensities, src.Intensities)
	return nil
}

// widen sets dst, whose memory is reused, to the numbers of src.
func widen(dst []float64, src []float32) []float64 {
	dst = slices.Grow(dst[:0], len(src))[:len(src)]
	for i, v := range src {
		dst[i] = float64(v)
	}
	return dst
}

type locationFix = generated[pb.LocationFix, *pb.LocationFix]

// fixStatus are the names of sensor_msgs/NavSatStatus' numbers, from -1 on.
var fixStatus = [...]string{"no_fix", "fix", "sbas_fix", "gbas_fix"}

// setLocationFix makes dst the fix.
func setLocationFix(dst *locationFix, src *sample.GnssFix) error {
	m := dst.message()
	setTime(&m.Timestamp, src.Stamp)
	m.FrameId = src.FrameID
	m.Latitude, m.Longitude, m.Altitude = src.Latitude, src.Longitude, src.Altitude
	m.PositionCovariance = append(m.PositionCovariance[:0], src.PositionCovariance[:]...)
	m.PositionCovarianceType = pb.LocationFix_PositionCovarianceType(src.PositionCovarianceType)
	m.Metadata = m.Metadata[:0]
	if i := int(src.Status) + 1; i >= 0 && i < len(fixStatus) {
		m.Metadata = resized(m.Metadata, 1)
		m.Metadata[0].Key, m.Metadata[0].Value = "status", fixStatus[i]
	}
	return nil
}

// setGpsLocationFix makes dst the position with heading and velocity; what it says of
// attitude and of the projected position is left out.
func setGpsLocationFix(dst *locationFix, src *sample.GpsOdometry) error {
	m := dst.message()
	setTime(&m.Timestamp, src.Stamp)
	m.FrameId = src.FrameID
	m.Latitude, m.Longitude, m.Altitude = src.Latitude, src.Longitude, src.Altitude
	toTrue := mgl64.QuatRotate(-src.Convergence, mgl64.Vec3{0, 0, 1})
	forward := toTrue.Mul(src.Orientation).Rotate(mgl64.Vec3{1, 0, 0}) // x is east, y north
	*at(&m.Heading) = math.Atan2(forward[0], forward[1])
	setVector(&m.Velocity, toTrue.Rotate(src.Velocity))
	return nil
}

// setOdometry makes dst the pose and the twist.
func setOdometry(dst *generated[pb.Odometry, *pb.Odometry], src *sample.Odometry) error {
	m := dst.message()
	setTime(&m.Timestamp, src.Stamp)
	m.FrameId, m.BodyFrameId = src.FrameID, src.ChildFrameID
	setPose(&m.Pose, src.BodyPose)
	setVector(&m.LinearVelocity, src.Twist.Linear)
	setVector(&m.AngularVelocity, src.Twist.Angular)
	m.PoseCovariance = append(m.PoseCovariance[:0], src.PoseCovariance[:]...)
	m.VelocityCovariance = append(m.VelocityCovariance[:0], src.TwistCovariance[:]...)
	return nil
}

// setLog makes dst the line. A line that doesn't fit a number of the source is 0.
func setLog(dst *generated[pb.Log, *pb.Log], src *sample.Log) error {
	if src.Line < 0 || src.Line > math.MaxUint32 {
		return fmt.Errorf("log: line %d of %s is not a line", src.Line, src.File)
	}
	m := dst.message()
	setTime(&m.Timestamp, src.Stamp)
	switch {
	case src.Level < slog.LevelInfo:
		m.Level = pb.Log_DEBUG
	case src.Level < slog.LevelWarn:
		m.Level = pb.Log_INFO
	case src.Level < slog.LevelError:
		m.Level = pb.Log_WARNING
	default:
		m.Level = pb.Log_ERROR
	}
	m.Message, m.Name, m.File, m.Line = src.Message, src.Name, src.File, uint32(src.Line)
	return nil
}
