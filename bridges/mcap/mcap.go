package mcap

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/cdr"
	"github.com/raybridge/raybridge/bridges/internal/recordfile"
	"github.com/raybridge/raybridge/bridges/internal/rosmsg"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
)

// Factory is the bridge named "mcap".
type Factory struct{}

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "mcap", Type: "mcap", Kind: bridges.KindFile,
		Summary:    "records to an MCAP file or a rosbag2 folder, as ROS 2 messages",
		Connection: "FILE.mcap or FOLDER, then [?metadata=5|9][&compression=zstd|lz4|none][&chunk=BYTES]",
	}
}

// Register declares the ROS 2 message of every sample that has one. What ROS 2 has no
// type for (InsStatus, Obstacle, Snapshot) isn't recorded. Boxes are vision_msgs',
// which RViz and Foxglove show.
func (Factory) Register(p *bridges.Plugin) error {
	return errors.Join(
		registerROS(p, rossample.Clock),
		registerROS(p, rossample.Image),
		registerROS(p, rossample.CompressedImage),
		registerROS(p, rossample.CameraInfo),
		registerROS(p, rossample.PointCloud2),
		registerROS(p, rossample.Imu),
		registerROS(p, rossample.NavSatFix),
		registerROS(p, rossample.Odometry),
		registerROS(p, rossample.TFMessage),
		registerROS(p, rossample.LaserScan),
		registerROS(p, rossample.Range),
		registerROS(p, rossample.RadarCloud),
		registerROS(p, rossample.DetectedRadarObjectArray),
		registerROS(p, rossample.DvsCloud),
		registerROS(p, rossample.Speed),
		registerROS(p, rossample.GpsOdometry),
		registerROS(p, rossample.CanBusData),
		registerROS(p, rossample.VehicleOdometry),
		registerROS(p, rossample.Detection2DArray),
		registerROS(p, rossample.Detection3DArray),
		registerROS(p, rossample.SignalArray),
		registerROS(p, rossample.CarlaCollisionEvent),
		registerROS(p, rossample.CarlaLaneInvasionEvent),
	)
}

// NewInstance returns a recorder of one run.
func (Factory) NewInstance(env bridges.Env) (bridges.Instance, error) { return newInstance(env), nil }

// Target is what a recording is written to; *os.File is one. One goroutine uses
// it at a time. It is empty when the recording begins, and closed at its end.
// Truncate and Seek cut a recording back that the target refuses to take more of.
type Target interface {
	io.Writer
	io.Seeker
	io.Closer
	Truncate(size int64) error
}

// FactoryOn is the factory of recorders that write to targets of one's own
// instead of files: memory, a device, nothing at all. A rosbag2 folder's
// metadata.yaml still goes to the folder, which must be there.
type FactoryOn struct {
	Factory
	// Open makes the target of the recording that would have gone to path. It is
	// called by Connect. (optional; nil makes files, as Factory does)
	Open func(path string) (Target, error)
}

// NewInstance returns a recorder that writes to the factory's targets.
func (f FactoryOn) NewInstance(env bridges.Env) (bridges.Instance, error) {
	i := newInstance(env)
	if f.Open == nil {
		return i, nil
	}
	i.create = func(path string) (*recordfile.File, error) {
		target, err := f.Open(path)
		if err != nil {
			return nil, fmt.Errorf("open target of the recording: %w", err)
		}
		return recordfile.New(target), nil
	}
	return i, nil
}

// Schema describes the messages of a channel, in MCAP's words.
type Schema struct {
	// Name is the message type's name, such as "std_msgs/msg/Float64".
	Name string
	// Encoding says what language Data is in: "ros2msg", "ros2idl",
	// "protobuf", "jsonschema"; empty for none.
	Encoding string
	Data     []byte
	// MessageEncoding is how messages are encoded: "cdr", "protobuf", "json".
	MessageEncoding string
}

// RegPublisher lets the bridge record messages of a type of one's own. encode
// appends the encoded message to dst and returns the result; it is called from
// any goroutine and keeps no hold of msg.
func RegPublisher[T bridges.Stamped](p *bridges.Plugin, schema Schema, encode func(dst []byte, msg T) ([]byte, error)) error {
	return register(p, schema, func() func([]byte, T) ([]byte, error) { return encode })
}

// registerROS declares a sample with its conversion to a ROS message.
func registerROS[M any, P interface {
	*M
	rosmsg.Message
}, T bridges.Stamped](p *bridges.Plugin, convert func(P, T) error) error {
	name := P(new(M)).TypeName()
	text, err := rosmsg.Schema(name)
	if err != nil {
		return err
	}
	schema := Schema{Name: name, Encoding: "ros2msg", Data: []byte(text), MessageEncoding: "cdr"}
	return register(p, schema, func() func([]byte, T) ([]byte, error) {
		// One message and one encoder for each topic, so that nothing is
		// allocated for each message.
		message, encoder := P(new(M)), new(cdr.Encoder)
		return func(dst []byte, msg T) ([]byte, error) {
			if err := convert(message, msg); err != nil {
				return dst, err
			}
			return encoder.Append(dst, message), nil
		}
	})
}

// register declares T; newEncode makes the encoder of one topic, which is called
// by one goroutine at a time.
func register[T bridges.Stamped](p *bridges.Plugin, schema Schema, newEncode func() func([]byte, T) ([]byte, error)) error {
	if err := bridges.AddType[T](p, schema.Name); err != nil {
		return err
	}
	return bridges.AddPublisherCreator(p, func(b bridges.Instance, info *bridges.PublishedTopic) (bridges.Publisher[T], error) {
		t, err := b.(*instance).addTopic(info, schema)
		if err != nil {
			return nil, err
		}
		encode := newEncode()
		return func(ctx context.Context, msg T) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			t.mu.Lock()
			defer t.mu.Unlock()
			data, err := encode(t.buf[:0], msg)
			if err != nil {
				return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
			}
			t.buf = data
			stamp := msg.Stamp()
			return t.write(t.instance.env.HandedOver(stamp), stamp, data)
		}, nil
	})
}
