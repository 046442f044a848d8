package logging

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Factory is the bridge named "logging".
type Factory struct{}

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "logging", Type: "logging", Kind: bridges.KindFile,
		Summary:    "writes every message as a line of JSON to NAME.txt.gz",
		Connection: "NAME",
	}
}

// Register declares every sample under SVL's name for it.
func (Factory) Register(p *bridges.Plugin) error {
	return errors.Join(
		registerSample(p, "ClockData", writeClock),
		registerSample(p, "UncompressedImageData", writeImage),
		registerSample(p, "ImageData", writeCompressedImage),
		registerSample(p, "CameraInfoData", writeCameraInfo),
		registerSample(p, "PointCloudData", writePointCloud),
		registerSample(p, "ImuData", writeImu),
		registerSample(p, "GpsData", writeGnssFix),
		registerSample(p, "GpsOdometryData", writeOdometry),
		registerSample(p, "TransformsData", writeTransforms),
		registerSample(p, "LaserScanData", writeLaserScan),
		registerSample(p, "UltrasonicData", writeRange),
		registerSample(p, "RadarData", writeRadar),
		registerSample(p, "DetectedRadarObjectData", writeRadarObjects),
		registerSample(p, "DvsEventsData", writeDvsEvents),
		registerSample(p, "SpeedData", writeSpeed),
		registerSample(p, "CanBusData", writeCanBus),
		registerSample(p, "VehicleOdometryData", writeVehicleOdometry),
		registerSample(p, "GpsOdometryData", writeGpsOdometry),
		registerSample(p, "GpsInsData", writeInsStatus),
		registerSample(p, "Detected2DObjectData", writeDetections2D),
		registerSample(p, "Detected3DObjectData", writeDetections3D),
		registerSample(p, "SignalDataArray", writeSignals),
		registerSample(p, "CollisionData", writeCollision),
		registerSample(p, "ObstacleData", writeObstacle),
		registerSample(p, "LaneInvasionData", writeLaneInvasion),
		registerSample(p, "SnapshotData", writeSnapshot),
	)
}

// NewInstance returns a log of one run.
func (Factory) NewInstance(env bridges.Env) (bridges.Instance, error) { return newInstance(env), nil }

// RegPublisher lets the bridge log messages of a type of one's own. encode
// appends msg to dst as JSON, without line breaks, and returns the result; it is
// called from any goroutine and keeps no hold of msg.
func RegPublisher[T any](p *bridges.Plugin, typeName string, encode func(dst []byte, msg T) ([]byte, error)) error {
	return register(p, typeName, func(o *object, _ *bridges.PublishedTopic, msg T) error {
		start := len(o.buf)
		buf, err := encode(o.buf, msg)
		if err == nil && bytes.IndexByte(buf[start:], '\n') >= 0 {
			err = fmt.Errorf("the JSON of %s has a line break", typeName)
		}
		o.buf = buf
		return err
	})
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

func registerSample[T sampleOf](p *bridges.Plugin, typeName string, write func(*object, *bridges.PublishedTopic, T)) error {
	return register(p, typeName, func(o *object, topic *bridges.PublishedTopic, msg T) error {
		o.begin()
		write(o, topic, msg)
		o.end()
		return nil
	})
}

// register declares T; encode appends one message's JSON.
func register[T any](p *bridges.Plugin, typeName string, encode func(*object, *bridges.PublishedTopic, T) error) error {
	if err := bridges.AddType[T](p, typeName); err != nil {
		return err
	}
	return bridges.AddPublisherCreator(p, func(b bridges.Instance, info *bridges.PublishedTopic) (bridges.Publisher[T], error) {
		t := b.(*instance).addTopic(info)
		return func(ctx context.Context, msg T) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			t.mu.Lock()
			defer t.mu.Unlock()
			t.lines.buf = append(t.lines.buf[:0], t.prefix...)
			if err := encode(&t.lines, info, msg); err != nil {
				return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
			}
			t.lines.buf = append(t.lines.buf, '\n')
			return t.instance.write(t, t.lines.buf)
		}, nil
	})
}
