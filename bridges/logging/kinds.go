package logging

import (
	"fmt"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
)

// kind is one type of samples.
type kind struct {
	register func(*bridges.Plugin) error
	// write appends msg's JSON object, unless msg is of another type.
	write func(o *object, topic *bridges.PublishedTopic, msg any) bool
}

// kinds has every sample, with SVL's name for it.
var kinds = []kind{
	kindOf("ClockData", writeClock),
	kindOf("UncompressedImageData", writeImage),
	kindOf("ImageData", writeCompressedImage),
	kindOf("CameraInfoData", writeCameraInfo),
	kindOf("PointCloudData", writePointCloud),
	kindOf("ImuData", writeImu),
	kindOf("GpsData", writeGnssFix),
	kindOf("GpsOdometryData", writeOdometry),
	kindOf("TransformsData", writeTransforms),
	kindOf("LaserScanData", writeLaserScan),
	kindOf("UltrasonicData", writeRange),
	kindOf("RadarData", writeRadar),
	kindOf("DetectedRadarObjectData", writeRadarObjects),
	kindOf("DvsEventsData", writeDvsEvents),
	kindOf("SpeedData", writeSpeed),
	kindOf("CanBusData", writeCanBus),
	kindOf("VehicleOdometryData", writeVehicleOdometry),
	kindOf("GpsOdometryData", writeGpsOdometry),
	kindOf("GpsInsData", writeInsStatus),
	kindOf("Detected2DObjectData", writeDetections2D),
	kindOf("Detected3DObjectData", writeDetections3D),
	kindOf("SignalDataArray", writeSignals),
	kindOf("CollisionData", writeCollision),
	kindOf("ObstacleData", writeObstacle),
	kindOf("LaneInvasionData", writeLaneInvasion),
	kindOf("SnapshotData", writeSnapshot),
}

// sampleOf are the samples.
type sampleOf interface {
	*sample.Clock | *sample.Image | *sample.CompressedImage | *sample.CameraInfo | *sample.PointCloud |
		*sample.Imu | *sample.GnssFix | *sample.Odometry | *sample.Transforms |
		*sample.LaserScan | *sample.Range | *sample.Radar | *sample.RadarObjects | *sample.DvsEvents |
		*sample.Speed | *sample.CanBus | *sample.VehicleOdometry | *sample.GpsOdometry | *sample.InsStatus |
		*sample.Detections2D | *sample.Detections3D | *sample.Signals |
		*sample.Collision | *sample.Obstacle | *sample.LaneInvasion | *sample.Snapshot
}

func kindOf[T sampleOf](typeName string, write func(*object, *bridges.PublishedTopic, T)) kind {
	encode := func(o *object, topic *bridges.PublishedTopic, msg T) error {
		o.begin()
		write(o, topic, msg)
		o.end()
		return nil
	}
	return kind{
		register: func(p *bridges.Plugin) error { return register(p, typeName, encode) },
		write: func(o *object, topic *bridges.PublishedTopic, msg any) bool {
			m, ok := msg.(T)
			return ok && encode(o, topic, m) == nil
		},
	}
}

// AppendJSON appends a pointer to a sample as the log writes it: one JSON object, without
// the lines' ends. sensor is who made it. It may be called from any goroutine and keeps
// no hold of msg. Of types that are no samples it appends nothing, and the error wraps
// bridges.ErrNoConverter.
func AppendJSON(dst []byte, sensor string, msg any) ([]byte, error) {
	o := object{buf: dst}
	topic := bridges.PublishedTopic{Topic: bridges.Topic{Sensor: sensor}}
	for _, k := range kinds {
		if k.write(&o, &topic, msg) {
			return o.buf, nil
		}
	}
	return dst, fmt.Errorf("append JSON: %w: %T", bridges.ErrNoConverter, msg)
}
