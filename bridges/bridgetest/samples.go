package bridgetest

import (
	"context"
	"errors"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// Period is the simulation time between two messages of one topic, nanoseconds.
const Period = 100_000_000

// stream publishes the samples of one type.
type stream struct {
	// name is the sample's type.
	name string
	// add makes a publisher, which is given the message's number from 0.
	add func(b *bridges.Bridge, topic string) (func(ctx context.Context, seq int) error, error)
	// publishedUnchanged publishes one message and reports whether it is the
	// same afterwards.
	publishedUnchanged func(b *bridges.Bridge, topic string) (bool, error)
}

func streamOf[T any](name string, make func(seq int) T) stream {
	return stream{
		name: name,
		add: func(b *bridges.Bridge, topic string) (func(context.Context, int) error, error) {
			publish, err := bridges.AddPublisher[T](b, bridges.Topic{Name: topic, Sensor: "probe", QoS: flow.SensorDataQoS})
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context, seq int) error { return publish(ctx, make(seq)) }, nil
		},
		publishedUnchanged: func(b *bridges.Bridge, topic string) (bool, error) {
			publish, err := bridges.AddPublisher[T](b, bridges.Topic{Name: topic})
			if err != nil {
				return false, err
			}
			msg := make(3)
			err = publish(context.Background(), msg)
			return assert.ObjectsAreEqual(make(3), msg), err
		},
	}
}

// streams has one stream for each type of package sample.
var streams = []stream{
	streamOf("Clock", func(seq int) *sample.Clock { return &sample.Clock{StampNs: int64(seq) * Period} }),
	streamOf("Image", Image),
	streamOf("CompressedImage", func(seq int) *sample.CompressedImage {
		return &sample.CompressedImage{Header: header(seq), Format: "jpeg", Data: []byte{0xff, 0xd8, 0xff, 0xd9, byte(seq)}}
	}),
	streamOf("CameraInfo", func(seq int) *sample.CameraInfo {
		return &sample.CameraInfo{
			Header: header(seq), Width: 4, Height: 2, DistortionModel: "plumb_bob", D: make([]float64, 5),
			K: [9]float64{2, 0, 1.5, 0, 2, 0.5, 0, 0, 1},
		}
	}),
	streamOf("PointCloud", PointCloud),
	streamOf("Imu", func(seq int) *sample.Imu {
		return &sample.Imu{Header: header(seq), Orientation: mgl64.QuatIdent(), LinearAcceleration: mgl64.Vec3{0, 0, 9.80665}}
	}),
	streamOf("GnssFix", func(seq int) *sample.GnssFix {
		return &sample.GnssFix{Header: header(seq), Latitude: 49.01, Longitude: 8.43, Altitude: 116.5}
	}),
	streamOf("Odometry", func(seq int) *sample.Odometry {
		return &sample.Odometry{Header: header(seq), ChildFrameID: "base_link", BodyPose: spatial.Identity()}
	}),
	streamOf("Transforms", func(seq int) *sample.Transforms {
		return &sample.Transforms{StampNs: int64(seq) * Period, Transforms: []sample.Transform{
			{Header: header(seq), ChildFrameID: "lidar", Relative: spatial.Identity()},
		}}
	}),
	streamOf("LaserScan", func(seq int) *sample.LaserScan {
		return &sample.LaserScan{Header: header(seq), AngleMax: 1, AngleIncrement: 0.5, RangeMax: 30, Ranges: []float32{1, 2, float32(seq)}}
	}),
	streamOf("Range", func(seq int) *sample.Range {
		return &sample.Range{Header: header(seq), FieldOfView: 0.7, MinRange: 0.3, MaxRange: 2, Range: 1}
	}),
	streamOf("Radar", func(seq int) *sample.Radar {
		return &sample.Radar{Header: header(seq), Detections: []sample.RadarDetection{{Velocity: float32(seq), Depth: 10}}}
	}),
	streamOf("RadarObjects", func(seq int) *sample.RadarObjects {
		return &sample.RadarObjects{Header: header(seq), Objects: []sample.RadarObject{{ID: 7, Position: mgl64.Vec3{10, 0, 0}, Moving: true}}}
	}),
	streamOf("DvsEvents", func(seq int) *sample.DvsEvents {
		return &sample.DvsEvents{Header: header(seq), Width: 4, Height: 2, Events: []sample.DvsEvent{{X: 3, Y: 1, TimeNs: int64(seq), Polarity: true}}}
	}),
	streamOf("Speed", func(seq int) *sample.Speed {
		return &sample.Speed{Header: header(seq), MetresPerSecond: float64(seq)}
	}),
	streamOf("CanBus", func(seq int) *sample.CanBus {
		return &sample.CanBus{Header: header(seq), Speed: float64(seq), Gear: sample.GearDrive, EngineOn: true, Orientation: mgl64.QuatIdent()}
	}),
	streamOf("VehicleOdometry", func(seq int) *sample.VehicleOdometry {
		return &sample.VehicleOdometry{Header: header(seq), Velocity: float64(seq), FrontWheelAngle: 0.1}
	}),
	streamOf("GpsOdometry", func(seq int) *sample.GpsOdometry {
		return &sample.GpsOdometry{Header: header(seq), ChildFrameID: "base_link", Easting: 456_000, Northing: 5_428_000, Orientation: mgl64.QuatIdent()}
	}),
	streamOf("InsStatus", func(seq int) *sample.InsStatus {
		return &sample.InsStatus{Header: header(seq), Status: 3, PositionType: 56}
	}),
	streamOf("Detections2D", func(seq int) *sample.Detections2D {
		return &sample.Detections2D{Header: header(seq), Width: 4, Height: 2, Boxes: []sample.Box2D{{ID: 7, TypeID: "vehicle.sedan", Label: "Sedan", Score: 1, Width: 2, Height: 1}}}
	}),
	streamOf("Detections3D", func(seq int) *sample.Detections3D {
		return &sample.Detections3D{Header: header(seq), Boxes: []sample.Box3D{{ID: 7, TypeID: "vehicle.sedan", Label: "Sedan", Score: 1, Pose: spatial.Identity()}}}
	}),
	streamOf("Signals", func(seq int) *sample.Signals {
		return &sample.Signals{Header: header(seq), Signals: []sample.Signal{{ID: 1, Label: "red", State: sample.SignalRed, Score: 1, Pose: spatial.Identity()}}}
	}),
	streamOf("Collision", func(seq int) *sample.Collision {
		return &sample.Collision{Header: header(seq), Other: 7, ActorType: "vehicle.ego", OtherType: "vehicle.sedan", NormalImpulse: mgl64.Vec3{-100, 0, 0}}
	}),
	streamOf("Obstacle", func(seq int) *sample.Obstacle {
		return &sample.Obstacle{Header: header(seq), Other: 7, ActorType: "vehicle.ego", OtherType: "vehicle.sedan", Distance: 4}
	}),
	streamOf("LaneInvasion", func(seq int) *sample.LaneInvasion {
		return &sample.LaneInvasion{Header: header(seq), Marks: []sample.CrossedMark{{ID: 3, Type: sample.LaneMarkSolid, Color: sample.LaneMarkYellow}}}
	}),
	streamOf("Snapshot", func(seq int) *sample.Snapshot {
		return &sample.Snapshot{Header: header(seq), DeltaNs: Period, Actors: []sample.ActorState{{TypeID: "vehicle.ego", Kind: sample.KindVehicle, Pose: spatial.Identity()}}}
	}),
}

func header(seq int) sample.Header {
	return sample.Header{StampNs: int64(seq) * Period, Seq: uint64(seq), FrameID: "probe", Pose: spatial.Identity()}
}

// Image returns the seq-th picture of a series: 4 x 2, rgb8.
func Image(seq int) *sample.Image {
	m := &sample.Image{Header: header(seq), Width: 4, Height: 2, Step: 12, Encoding: sample.EncodingRGB8}
	for i := range m.Step * m.Height {
		m.Data = append(m.Data, byte(i+seq))
	}
	return m
}

// PointCloud returns the seq-th scan of a series: 64 returns of 4 rings.
func PointCloud(seq int) *sample.PointCloud {
	m := &sample.PointCloud{Header: header(seq), Rings: 4, Columns: 16}
	for i := range 64 {
		m.Points = append(m.Points, sample.Point{
			X: float32(i), Y: float32(seq), Z: 1, Intensity: float32(i), Distance: float32(i),
			Ring: uint16(i % 4), TimeNs: uint32(i) * 1000, Ray: uint32(i),
		})
	}
	return m
}

// carried returns the streams that the bridge has converters for.
func carried(b *bridges.Bridge) []stream {
	var list []stream
	for _, s := range streams {
		if _, err := s.add(b, "/carried/"+s.name); !errors.Is(err, bridges.ErrNoConverter) {
			list = append(list, s)
		}
	}
	return list
}
