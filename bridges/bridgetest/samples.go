package bridgetest

import (
	"context"
	"errors"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/bridges"
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
			publish, err := bridges.AddPublisher[T](b, bridges.Topic{Name: topic, Sensor: "probe", QoS: bridges.SensorDataQoS})
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
