package mcap

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/recordfile"
	"github.com/raybridge/raybridge/bridges/ros"
)

// Factory is the bridge named "mcap".
type Factory struct{}

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "mcap", Type: "mcap", Kind: bridges.KindFile,
		Summary:    "records to MCAP files or a rosbag2 folder, as ROS 2, ROS 1 or Foxglove messages",
		Connection: "FILE.mcap|FOLDER", Options: known,
	}
}

// Register declares the message of every sample that ROS has one for. What it has no
// type for (InsStatus, Obstacle, Snapshot) isn't recorded. In ROS 2 boxes are
// vision_msgs', which RViz and Foxglove show, in ROS 1 lgsvl_msgs'. Types are listed by
// their ROS 2 names; a recording of another profile has its own in the statistics.
func (Factory) Register(p *bridges.Plugin) error {
	var errs []error
	for _, c := range messages() {
		errs = append(errs, c.register(p))
	}
	return errors.Join(errs...)
}

// RegPublication lets the bridge record one more type: as a ROS 1 message in profile ros1,
// in the others as a ROS 2 message.
func (Factory) RegPublication(p *bridges.Plugin, pub ros.Publication) error {
	return carriers{pub, pub}.register(p)
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
	// called by Connect, and by publishers where a recording is split. (optional; nil
	// makes files, as Factory does)
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

// RegPublisher lets the bridge record messages of a type of one's own, equally in all
// profiles. encode appends the encoded message to dst and returns the result; it is
// called from any goroutine and keeps no hold of msg.
func RegPublisher[T bridges.Stamped](p *bridges.Plugin, schema Schema, encode func(dst []byte, msg T) ([]byte, error)) error {
	if err := bridges.AddType[T](p, schema.Name); err != nil {
		return err
	}
	own := &format{schema: schema, encode: func(dst []byte, sample bridges.Stamped) ([]byte, error) {
		return encode(dst, sample.(T))
	}}
	return bridges.AddPublisherCreator(p, func(b bridges.Instance, info *bridges.PublishedTopic) (bridges.Publisher[T], error) {
		t, err := b.(*instance).addTopic(info, func(profile) (*format, error) { return own, nil })
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, msg T) error { return t.publish(ctx, msg) }, nil
	})
}
