// Package rossample writes samples as ROS messages, and reads samples from them.
//
// A sample whose fields are those of a ROS message is that message: [ros.PublishMirror]. The
// others have functions here, which set every field of the message. They share the sample's
// bytes rather than copy them. So the message is good only while the sample is, and nothing may
// be decoded into it (law S4). Functions whose name begins with From do the opposite.
// [ros.Publication], [ros.Subscription] and [Service] register them on a bridge.
package rossample

import (
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Errors of the conversions.
var (
	// ErrSize: the data's length doesn't agree with the shape it is said to have.
	ErrSize = errors.New("data size disagrees with shape")
	// ErrLayout: the cloud asks for a point layout that there isn't.
	ErrLayout = errors.New("unknown point layout")
	// ErrByteOrder: the values of several bytes have the other byte order.
	ErrByteOrder = errors.New("values of several bytes must be little endian")
)

// Clock sets dst to the clock's time.
func Clock(dst *ros.Clock, src *sample.Clock) error { return dst.Clock.Set(int64(src.Stamp)) }

// Image sets dst to the picture.
func Image(dst *ros.Image, src *sample.Image) error {
	if src.Step*src.Height != len(src.Data) {
		return fmt.Errorf("image of %d rows of %d bytes has %d bytes: %w", src.Height, src.Step, len(src.Data), ErrSize)
	}
	dst.Height, dst.Width = uint32(src.Height), uint32(src.Width)
	dst.Encoding = src.Encoding
	dst.IsBigendian = 0
	dst.Step = uint32(src.Step)
	dst.Data = ros.Bytes{Data: src.Data}
	return ros.SetHeader(&dst.Header, &src.Header)
}

// CameraInfo sets dst to the calibration of the whole, unbinned picture.
func CameraInfo(dst *ros.CameraInfo, src *sample.CameraInfo) error {
	dst.Height, dst.Width = uint32(src.Height), uint32(src.Width)
	dst.DistortionModel = src.DistortionModel
	dst.D, dst.K, dst.R, dst.P = src.D, src.K, src.R, src.P
	dst.BinningX, dst.BinningY = 0, 0
	dst.ROI = ros.RegionOfInterest{}
	return ros.SetHeader(&dst.Header, &src.Header)
}

// NavSatFix sets dst to the fix.
func NavSatFix(dst *ros.NavSatFix, src *sample.GnssFix) error {
	dst.Status = ros.NavSatStatus{Status: src.Status, Service: src.Service}
	dst.Latitude, dst.Longitude, dst.Altitude = src.Latitude, src.Longitude, src.Altitude
	dst.PositionCovariance = src.PositionCovariance
	dst.PositionCovarianceType = src.PositionCovarianceType
	return ros.SetHeader(&dst.Header, &src.Header)
}

// Odometry sets dst to the pose and the twist.
func Odometry(dst *ros.Odometry, src *sample.Odometry) error {
	dst.ChildFrameID = src.ChildFrameID
	dst.Pose = ros.PoseWithCovariance{Pose: ros.PoseOf(src.BodyPose), Covariance: src.PoseCovariance}
	dst.Twist = ros.TwistWithCovariance{Twist: ros.TwistOf(src.Twist), Covariance: src.TwistCovariance}
	return ros.SetHeader(&dst.Header, &src.Header)
}

// TFMessage sets dst to the set of frames, reusing dst's slice.
func TFMessage(dst *ros.TFMessage, src *sample.Transforms) error {
	dst.Transforms = dst.Transforms[:0]
	for i := range src.Transforms {
		t := &src.Transforms[i]
		stamped := ros.TransformStamped{
			ChildFrameID: t.ChildFrameID,
			Transform: ros.Transform{
				Translation: ros.Vector3Of(t.Relative.Position),
				Rotation:    ros.QuaternionOf(t.Relative.Orientation),
			},
		}
		if err := ros.SetHeader(&stamped.Header, &t.Header); err != nil {
			return fmt.Errorf("transform of %q: %w", t.ChildFrameID, err)
		}
		dst.Transforms = append(dst.Transforms, stamped)
	}
	return nil
}
