package carla

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Factory is the bridge named "carla".
type Factory struct{ limit int64 } // of a frame after its length, bytes; 0 for what a length can say

// DefaultAddress is where the bridge listens if the connection string is empty: CARLA's
// streaming port.
const DefaultAddress = "127.0.0.1:2001"

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "carla", Type: "carla", Kind: bridges.KindNetwork,
		Summary:    "serves each sensor as a stream that CARLA's client code reads",
		Connection: "[[HOST:]PORT]", Default: DefaultAddress, Options: options,
	}
}

// Register declares the samples that CARLA has a body for.
func (Factory) Register(p *bridges.Plugin) error {
	return errors.Join(
		register(p, "carla.EpisodeState", typeWorld, func() encoder[*sample.Snapshot] {
			return encoder[*sample.Snapshot]{header: func(m *sample.Snapshot) *sample.Header { return &m.Header }, size: snapshotBytes, body: appendSnapshot}
		}),
		register(p, "carla.Image", typeRGB, func() encoder[*sample.Image] {
			return encoder[*sample.Image]{
				header: func(m *sample.Image) *sample.Header { return &m.Header },
				check:  checkImage, size: imageBytes, body: appendImage,
			}
		}),
		register(p, "carla.DVSEventArray", typeDVS, func() encoder[*sample.DvsEvents] {
			return encoder[*sample.DvsEvents]{
				header: func(m *sample.DvsEvents) *sample.Header { return &m.Header },
				size:   func(m *sample.DvsEvents) int { return 12 + dvsEventBytes*len(m.Events) }, body: appendDVS,
			}
		}),
		registerCloud(p),
		register(p, "carla.Radar", typeRadar, func() encoder[*sample.Radar] {
			return encoder[*sample.Radar]{
				header: func(m *sample.Radar) *sample.Header { return &m.Header },
				size:   func(m *sample.Radar) int { return 16 * len(m.Detections) }, body: appendRadar,
			}
		}),
		register(p, "carla.Gnss", typeGNSS, func() encoder[*sample.GnssFix] {
			return small(func(m *sample.GnssFix) *sample.Header { return &m.Header }, appendGNSS)
		}),
		register(p, "carla.IMU", typeIMU, func() encoder[*sample.Imu] {
			return small(func(m *sample.Imu) *sample.Header { return &m.Header }, appendIMU)
		}),
		register(p, "carla.CollisionEvent", typeCollision, func() encoder[*sample.Collision] {
			return small(func(m *sample.Collision) *sample.Header { return &m.Header }, appendCollision)
		}),
		register(p, "carla.ObstacleDetectionEvent", typeObstacle, func() encoder[*sample.Obstacle] {
			return small(func(m *sample.Obstacle) *sample.Header { return &m.Header }, appendObstacle)
		}),
	)
}

// NewInstance returns a server that doesn't listen yet.
func (f Factory) NewInstance(env bridges.Env) (bridges.Instance, error) {
	return newInstance(env, cmp.Or(f.limit, math.MaxUint32)), nil
}

// encoder writes the messages of one stream. It belongs to one publisher.
type encoder[T any] struct {
	header func(T) *sample.Header
	check  func(T) error // nil: everything can be sent
	size   func(T) int   // of the body, at the most but for small ones
	body   func(dst []byte, m T) []byte
}

// smallBody is more than any MessagePack body has but for long type ids.
const smallBody = 256

func small[T any](header func(T) *sample.Header, body func([]byte, T) []byte) encoder[T] {
	return encoder[T]{header: header, size: func(T) int { return smallBody }, body: body}
}

// register declares a type; encode makes the encoder of each of its streams. What a
// sensor of one's own publishes has the given type id.
func register[T any](p *bridges.Plugin, wire string, typeID uint64, encode func() encoder[T]) error {
	return errors.Join(bridges.AddType[T](p, wire),
		bridges.AddPublisherCreator(p, func(i bridges.Instance, topic *bridges.PublishedTopic) (bridges.Publisher[T], error) {
			return addStream(i.(*instance), topic, typeIDOf(topic, typeID), encode()), nil
		}))
}

// registerCloud declares clouds, whose points depend on the sensor's type.
func registerCloud(p *bridges.Plugin) error {
	type cloud = *sample.PointCloud
	return errors.Join(bridges.AddType[cloud](p, "carla.LidarMeasurement"),
		bridges.AddPublisherCreator(p, func(i bridges.Instance, topic *bridges.PublishedTopic) (bridges.Publisher[cloud], error) {
			var c cloudEncoder
			e := encoder[cloud]{
				header: func(m cloud) *sample.Header { return &m.Header },
				size:   func(m cloud) int { return cloudBytes(m, lidarPoint) }, body: c.appendLidar,
			}
			typeID := typeIDOf(topic, typeLidar)
			if typeID == typeSemanticLidar {
				e.size, e.body = func(m cloud) int { return cloudBytes(m, semanticPoint) }, c.appendSemanticLidar
			}
			return addStream(i.(*instance), topic, typeID, e), nil
		}))
}

// typeIDOf returns CARLA's number of the sensor that publishes a topic.
func typeIDOf(topic *bridges.PublishedTopic, other uint64) uint64 {
	if id, ok := typeIDs[topic.SensorType]; ok {
		return id
	}
	return other
}

// addStream gives a topic a stream.
func addStream[T any](i *instance, topic *bridges.PublishedTopic, typeID uint64, e encoder[T]) bridges.Publisher[T] {
	s := i.add(topic, typeID)
	return func(ctx context.Context, m T) error {
		if e.check != nil {
			if err := e.check(m); err != nil {
				return err
			}
		}
		return s.send(ctx, headerBytes+e.size(m), func(dst []byte) []byte {
			return appendFrame(dst, typeID, e.header(m), func(dst []byte) []byte { return e.body(dst, m) })
		})
	}
}
