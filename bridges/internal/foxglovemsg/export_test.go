package foxglovemsg

import (
	"google.golang.org/protobuf/proto"

	"github.com/raybridge/raybridge/sensors/sample"
)

// Converter makes messages of samples again and again in the same memory.
type Converter func(src any) (Message, error)

// NewConverter returns the converter of a sample's type with an empty message of the
// schema.
func NewConverter(src any) (Converter, proto.Message) {
	switch src.(type) {
	case *sample.PointCloud:
		return converter(setPointCloud)
	case *sample.Image:
		return converter(setRawImage)
	case *sample.CompressedImage:
		return converter(setCompressedImage)
	case *sample.CameraInfo:
		return converter(setCameraCalibration)
	case *sample.Transforms:
		return converter(setFrameTransforms)
	case *sample.LaserScan:
		return converter(setLaserScan)
	case *sample.GnssFix:
		return converter(setLocationFix)
	case *sample.GpsOdometry:
		return converter(setGpsLocationFix)
	case *sample.Odometry:
		return converter(setOdometry)
	case *sample.Detections3D:
		return converter(setDetections)
	case *sample.Signals:
		return converter(setSignals)
	case *sample.Detections2D:
		return converter(setAnnotations)
	case *sample.Log:
		return converter(setLog)
	}
	return nil, nil
}

func converter[M any, P interface {
	*M
	message
}, T any](convert func(P, T) error) (Converter, proto.Message) {
	m := P(new(M))
	return func(src any) (Message, error) { return m, convert(m, src.(T)) }, m.descriptor()
}
