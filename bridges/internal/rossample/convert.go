package rossample

import (
	"errors"
	"fmt"
	"math"

	"github.com/raybridge/raybridge/bridges/internal/rosmsg"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Errors of the conversions.
var (
	// ErrStampRange: the stamp's seconds don't fit into 32 bits.
	ErrStampRange = errors.New("stamp outside of builtin_interfaces/Time")
	// ErrSize: the data's length doesn't agree with the shape it is said to have.
	ErrSize = errors.New("data size disagrees with shape")
	// ErrLayout: the cloud asks for a point layout that there isn't.
	ErrLayout = errors.New("unknown point layout")
	// ErrByteOrder: the values of several bytes have the other byte order.
	ErrByteOrder = errors.New("values of several bytes must be little endian")
)

// setTime sets dst to simulation nanoseconds, exactly.
func setTime(dst *rosmsg.Time, ns int64) error {
	sec, nsec := ns/1e9, ns%1e9
	if nsec < 0 {
		sec, nsec = sec-1, nsec+1e9
	}
	if sec < math.MinInt32 || sec > math.MaxInt32 {
		return fmt.Errorf("stamp of %d ns: %w", ns, ErrStampRange)
	}
	*dst = rosmsg.Time{Sec: int32(sec), Nanosec: uint32(nsec)}
	return nil
}

// SetHeader sets all of dst to a sample's header, or fails with ErrStampRange; ROS 1's seq
// begins anew after 2^32 messages.
func SetHeader(dst *rosmsg.Header, src *sample.Header) error {
	dst.FrameID, dst.Seq = src.FrameID, uint32(src.Seq)
	return setTime(&dst.Stamp, src.StampNs)
}

// Clock sets dst to the clock's time.
func Clock(dst *rosmsg.Clock, src *sample.Clock) error { return setTime(&dst.Clock, src.StampNs) }

// Image sets dst to the picture.
func Image(dst *rosmsg.Image, src *sample.Image) error {
	if src.Step*src.Height != len(src.Data) {
		return fmt.Errorf("image of %d rows of %d bytes has %d bytes: %w", src.Height, src.Step, len(src.Data), ErrSize)
	}
	dst.Height, dst.Width = uint32(src.Height), uint32(src.Width)
	dst.Encoding = src.Encoding
	dst.IsBigendian = 0
	dst.Step = uint32(src.Step)
	dst.Data = rosmsg.Bytes{Data: src.Data}
	return SetHeader(&dst.Header, &src.Header)
}

// CompressedImage sets dst to the encoded picture.
func CompressedImage(dst *rosmsg.CompressedImage, src *sample.CompressedImage) error {
	dst.Format = src.Format
	dst.Data = rosmsg.Bytes{Data: src.Data}
	return SetHeader(&dst.Header, &src.Header)
}

// CameraInfo sets dst to the calibration of the whole, unbinned picture.
func CameraInfo(dst *rosmsg.CameraInfo, src *sample.CameraInfo) error {
	dst.Height, dst.Width = uint32(src.Height), uint32(src.Width)
	dst.DistortionModel = src.DistortionModel
	dst.D, dst.K, dst.R, dst.P = src.D, src.K, src.R, src.P
	dst.BinningX, dst.BinningY = 0, 0
	dst.ROI = rosmsg.RegionOfInterest{}
	return SetHeader(&dst.Header, &src.Header)
}

// Imu sets dst to the measurement.
func Imu(dst *rosmsg.Imu, src *sample.Imu) error {
	dst.Orientation = quaternion(src.Orientation)
	dst.OrientationCovariance = src.OrientationCovariance
	dst.AngularVelocity = vector3(src.AngularVelocity)
	dst.AngularVelocityCovariance = src.AngularVelocityCovariance
	dst.LinearAcceleration = vector3(src.LinearAcceleration)
	dst.LinearAccelerationCovariance = src.LinearAccelerationCovariance
	return SetHeader(&dst.Header, &src.Header)
}

// NavSatFix sets dst to the fix.
func NavSatFix(dst *rosmsg.NavSatFix, src *sample.GnssFix) error {
	dst.Status = rosmsg.NavSatStatus{Status: src.Status, Service: src.Service}
	dst.Latitude, dst.Longitude, dst.Altitude = src.Latitude, src.Longitude, src.Altitude
	dst.PositionCovariance = src.PositionCovariance
	dst.PositionCovarianceType = src.PositionCovarianceType
	return SetHeader(&dst.Header, &src.Header)
}

// Odometry sets dst to the pose and the twist.
func Odometry(dst *rosmsg.Odometry, src *sample.Odometry) error {
	dst.ChildFrameID = src.ChildFrameID
	dst.Pose = rosmsg.PoseWithCovariance{Pose: pose(src.BodyPose), Covariance: src.PoseCovariance}
	dst.Twist = rosmsg.TwistWithCovariance{Twist: twist(src.Twist), Covariance: src.TwistCovariance}
	return SetHeader(&dst.Header, &src.Header)
}

// TFMessage sets dst to the set of frames, reusing dst's slice.
func TFMessage(dst *rosmsg.TFMessage, src *sample.Transforms) error {
	dst.Transforms = dst.Transforms[:0]
	for i := range src.Transforms {
		t := &src.Transforms[i]
		stamped := rosmsg.TransformStamped{
			ChildFrameID: t.ChildFrameID,
			Transform: rosmsg.Transform{
				Translation: vector3(t.Relative.Position),
				Rotation:    quaternion(t.Relative.Orientation),
			},
		}
		if err := SetHeader(&stamped.Header, &t.Header); err != nil {
			return fmt.Errorf("transform of %q: %w", t.ChildFrameID, err)
		}
		dst.Transforms = append(dst.Transforms, stamped)
	}
	return nil
}
