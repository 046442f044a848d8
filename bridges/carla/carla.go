// Package carla is the bridge named "carla": it serves each sensor's data as CARLA
// 0.9.15's simulator does, so that CARLA's streaming client code reads it.
//
// # Usage
//
// The connection string is carla:[[HOST:]PORT], by default 127.0.0.1:2001. A client opens one TCP
// connection a stream and sends the stream's id, four bytes. From then on it receives frames: a
// length, a header of 48 bytes, a body. Stream 1 is the world snapshot, then each sensor has one
// in the order of the rig. Directory lists ids and the 24-byte tokens that CARLA's clients are
// given.
//
// There is no RPC server: a client that asks CARLA's port 2000 for tokens takes them
// from here instead.
//
// # Layout
//
// Everything is little endian. A frame is a length, u32, of the bytes that follow it: a
// header and a body. The header is packed:
//
//	 0  u64    type id: a sensor's number in CARLA 0.9.15's registry (typeIDs)
//	 8  u64    frame: equal in all that was captured at one instant
//	16  f64    capture time, simulated seconds
//	24  3 f32  location of the sensor in the map, metres
//	36  3 f32  pitch, yaw, roll, degrees
//	48         the body
//
// A file each has the kinds of body, as LibCarla's serializers write them; MessagePack
// bodies are arrays. docs/carla-streams.md has all of them as tables, and a client in
// Python. Axes are Unreal Engine's: x forward, y right, z up, metres (rotator, appendVec). The ego
// is actor EgoID. A client that asks for a stream that there isn't is disconnected. A frame
// of 4 GiB or more has no length, and is flow.ErrTooLarge.
//
// # Concurrency
//
// Publishers may be called from any goroutine; bridges/transport has the clients.
// Connect and Disconnect wait for one another.
//
// # Slow clients and counts
//
// Each client has a queue, which the options messages and bytes bound. policy says what goes
// when it is full; CARLA drops the newest without a word. A message counts as sent when some
// client has it, and as dropped, under the cause, when some client misses it. With several
// clients it can be both, with one it is either. A message that nobody reads isn't encoded, and
// counts as not_connected if it was published nevertheless.
//
// # Differences from CARLA
//
// Camera pictures in other encodings than CARLA's are converted. An instance picture without
// tags has tag 0; a run with this bridge gives such cameras tags by default. Lidar scans are
// whole turns, not what was swept in a frame. A lane invasion is computed by CARLA's client from
// snapshots and its map, and has no stream. In place of the map each client gets the lane marks
// once, in a form of our own under lane invasion's type id.
package carla

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"net/netip"

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
		Connection: "[[HOST:]PORT]", Default: DefaultAddress, Options: bridges.OptionsOf(standard), Gaps: gaps(), OtherGap: "CARLA has no such sensor",
		Wants: []bridges.Want{bridges.Snapshot},
		// Receivers look for the tag in a picture of instances.
		Defaults: []bridges.Default{{Sensor: "sensor.camera.instance_segmentation", Attribute: "output", Value: "carla", Unless: []string{"encoding"}}},
	}
}

// gaps are the samples that CARLA 0.9.15 has no body for, and that its clients have otherwise.
func gaps() []bridges.Gap {
	const actors = "the snapshot has each actor's pose, velocity and controls"
	return []bridges.Gap{
		bridges.Lacks[*sample.Clock]("each frame has its time"),
		bridges.Lacks[*sample.CameraInfo]("a picture has its size and field of view, which is all that CARLA says of its lens"),
		bridges.Lacks[*sample.CompressedImage]("CARLA's pictures aren't compressed"),
		bridges.Lacks[*sample.Transforms]("each frame has its sensor's pose in the map"),
		bridges.Lacks[*sample.Odometry](actors), bridges.Lacks[*sample.VehicleOdometry](actors),
		bridges.Lacks[*sample.Speed](actors), bridges.Lacks[*sample.CanBus](actors),
		bridges.Lacks[*sample.Signals]("the snapshot has each traffic light's state"),
		bridges.Lacks[*sample.Detections3D]("the snapshot has each actor's pose"),
		bridges.Lacks[*sample.LaneInvasion]("clients compute it of snapshots and marks, as CARLA's do"),
		bridges.Lacks[*sample.Comfort]("CARLA measures no comfort"),
		bridges.Lacks[*sample.Destination]("CARLA's clients plan their own routes"),
	}
}

// Register declares the samples that CARLA has a body for.
func (Factory) Register(p *bridges.Plugin) error {
	return errors.Join(
		register(p, "carla.EpisodeState", typeWorld, encoder[*sample.Snapshot]{size: snapshotBytes, body: appendSnapshot}),
		register(p, "carla.Image", typeRGB, encoder[*sample.Image]{check: checkImage, size: imageBytes, body: appendImage}),
		register(p, "carla.DVSEventArray", typeDVS, encoder[*sample.DvsEvents]{size: dvsBytes, body: appendDVS}),
		registerCloud(p),
		register(p, "carla.Radar", typeRadar, encoder[*sample.Radar]{size: radarBytes, body: appendRadar}),
		register(p, "carla.Gnss", typeGNSS, small(appendGNSS)),
		register(p, "carla.IMU", typeIMU, small(appendIMU)),
		register(p, "LaneMarks", typeLaneInvasion, encoder[*sample.LaneMarks]{size: laneMarksBytes, body: appendLaneMarks}),
		register(p, "carla.CollisionEvent", typeCollision, small(appendCollision)),
		register(p, "carla.ObstacleDetectionEvent", typeObstacle, small(appendObstacle)),
	)
}

// NewInstance returns a server that doesn't listen yet.
func (f Factory) NewInstance(env bridges.Env) (bridges.Instance, error) {
	return newInstance(env, cmp.Or(f.limit, math.MaxUint32)), nil
}

// message is what a frame's header is made of.
type message interface{ SampleHeader() *sample.Header }

// encoder writes the messages of one stream.
type encoder[T message] struct {
	check func(T) error // nil: everything can be sent
	size  func(T) int   // of the body, at the most except small ones
	body  func(dst []byte, m T) []byte
}

// smallBody is more than any MessagePack body has, except for long type ids.
const smallBody = 256

func small[T message](body func([]byte, T) []byte) encoder[T] {
	return encoder[T]{size: func(T) int { return smallBody }, body: body}
}

// register declares a type. Messages of a sensor of your own have the given type id.
func register[T message](p *bridges.Plugin, wire string, typeID uint64, e encoder[T]) error {
	return bridges.RegPublisher(p, wire, func(i *instance, topic *bridges.PublishedTopic) (bridges.Publisher[T], error) {
		return addStream(i, topic, typeIDOf(topic, typeID), e)
	})
}

// registerCloud declares clouds, whose points depend on the sensor's type.
func registerCloud(p *bridges.Plugin) error {
	type cloud = *sample.PointCloud
	return bridges.RegPublisher(p, "carla.LidarMeasurement", func(i *instance, topic *bridges.PublishedTopic) (bridges.Publisher[cloud], error) {
		var c cloudEncoder // each stream has its own: it keeps memory
		e := encoder[cloud]{size: func(m cloud) int { return cloudBytes(m, lidarPoint) }, body: c.appendLidar}
		typeID := typeIDOf(topic, typeLidar)
		if typeID == typeSemanticLidar {
			e.size, e.body = func(m cloud) int { return cloudBytes(m, semanticPoint) }, c.appendSemanticLidar
		}
		return addStream(i, topic, typeID, e)
	})
}

// typeIDOf returns CARLA's number of the sensor that publishes a topic.
func typeIDOf(topic *bridges.PublishedTopic, other uint64) uint64 {
	if id, ok := typeIDs[topic.SensorType]; ok {
		return id
	}
	return other
}

// addStream gives a topic a stream.
func addStream[T message](i *instance, topic *bridges.PublishedTopic, typeID uint64, e encoder[T]) (bridges.Publisher[T], error) {
	s, err := i.add(topic, typeID)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, m T) error {
		if e.check != nil {
			if err := e.check(m); err != nil {
				return err
			}
		}
		i.tellCoarse(m)
		return s.send(ctx, headerBytes+e.size(m), func(dst []byte) []byte {
			return appendFrame(dst, typeID, m.SampleHeader(), func(dst []byte) []byte { return e.body(dst, m) })
		})
	}, nil
}

// Type ids of CARLA 0.9.15: a sensor's place in its registry.
const (
	typeCollision = iota
	typeDepth
	typeNormals
	typeDVS
	typeGNSS
	typeIMU
	typeLaneInvasion
	typeObstacle
	typeOpticalFlow
	typeRadar
	typeSemanticLidar
	typeLidar
	typeRSS
	typeRGB
	typeSemantic
	typeInstance
	typeWorld
)

// typeIDs has CARLA's number of each of our sensor types that it has too.
var typeIDs = map[string]uint64{
	"sensor.other.collision":              typeCollision,
	"sensor.camera.depth":                 typeDepth,
	"sensor.camera.normals":               typeNormals,
	"sensor.camera.dvs":                   typeDVS,
	"sensor.other.gnss":                   typeGNSS,
	"sensor.other.imu":                    typeIMU,
	"sensor.other.obstacle":               typeObstacle,
	"sensor.camera.optical_flow":          typeOpticalFlow,
	"sensor.other.radar":                  typeRadar,
	"sensor.lidar.ray_cast_semantic":      typeSemanticLidar,
	"sensor.lidar.ray_cast":               typeLidar,
	"sensor.camera.rgb":                   typeRGB,
	"sensor.camera.semantic_segmentation": typeSemantic,
	"sensor.camera.instance_segmentation": typeInstance,
	"sensor.other.snapshot":               typeWorld,
}

// EgoID is the ego's actor id in CARLA's frames: above all those of the scene's, since
// 0 is nobody there.
const EgoID = 1 << 16

// actorID returns an actor's id in CARLA's frames.
func actorID(id uint32) uint32 {
	if id == 0 {
		return EgoID
	}
	return id
}

// Values in a token.
const (
	protocolTCP = 1
	addressNone = 0
	addressIPv4 = 1
	addressIPv6 = 2
)

// Token says where a stream is found, as CARLA's streaming::detail::token_data. A client that
// finds no address in it asks the host that it got the token from.
type Token struct {
	Stream uint32
	// Address is the server's; the zero address with a port stands for "the same host".
	Address netip.AddrPort
}

// AppendBinary appends the token's 24 bytes. They are stream id u32, port u16, protocol u8,
// address type u8, address in 16 bytes, of which IPv4 takes the first four. It never fails.
func (t Token) AppendBinary(dst []byte) ([]byte, error) {
	dst = binary.LittleEndian.AppendUint32(dst, t.Stream)
	dst = binary.LittleEndian.AppendUint16(dst, t.Address.Port())
	kind, address := byte(addressNone), [16]byte{}
	switch a := t.Address.Addr().Unmap(); {
	case a.Is4():
		kind = addressIPv4
		four := a.As4()
		copy(address[:], four[:])
	case a.Is6():
		kind, address = addressIPv6, a.As16()
	}
	return append(append(dst, protocolTCP, kind), address[:]...), nil
}
