package rosbridge

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rosbridgev2"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// topic is one that the bridge publishes.
type topic struct {
	bridges.Outlet[*transport.Stream]
	instance *instance
	typ      string // full name
	client   *rosbridgev2.Publication
	nmea     atomic.Bool // fixes are sentences in this connection

	foreign bool // its messages are of a type from outside

	mu      sync.Mutex
	message ros.Message        // guarded by mu: what is being sent
	own     own                // guarded by mu: the same of a type from outside
	tree    encode.TreeEncoder // guarded by mu, as are the others
	binary  encode.BinaryEncoder
	sizes   [forms]int // of the last frames, for the server's
}

func newTopic(i *instance, info *bridges.PublishedTopic, typ string) *topic {
	return &topic{Outlet: bridges.Outlet[*transport.Stream]{Info: info}, instance: i, typ: typ}
}

// retype sets what the topic is in a connection of a version of ROS.
func (t *topic) retype(version ros.Version, nmea bool) {
	typ := t.typ
	t.nmea.Store(nmea && typ == navSatFix)
	if t.nmea.Load() {
		typ = sentenceType
	}
	t.instance.client.Retype(t.client, typ)
	t.Info.SetWire(version.TypeName(typ))
}

// wire returns the full name of the type in this connection.
func (t *topic) wire() string {
	if t.nmea.Load() {
		return sentenceType
	}
	return t.typ
}

// send encodes a message and queues it for the server, or for the clients.
func (t *topic) send(ctx context.Context, message ros.Message, stamp simtime.Stamp) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.binary.Format = encode.ROS1
	if err := bridges.CheckSize(t.binary.Size(message), t.instance.limit); err != nil {
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	t.message = message
	defer func() { t.message = nil }()
	return t.dispatch(ctx, stamp)
}

// dispatch sends the content; mu must be held.
func (t *topic) dispatch(ctx context.Context, stamp simtime.Stamp) error {
	if s, ok := t.instance.Serving(); ok {
		return s.publish(ctx, t, stamp)
	}
	return t.client.Send(ctx, t)
}

// AppendAs appends the content for the client; mu must be held.
func (t *topic) AppendAs(dst []byte, config *rosbridgev2.Config) (out []byte, altered bool, err error) {
	t.tree.NonFinite = config.NonFinite
	out, err = t.append(dst, config.Form, config.ROS)
	return out, config.Form == rosbridgev2.JSON && !t.foreign && t.tree.Altered(), err
}

// append appends the content in a form; mu must be held. An error says that it can't be
// expressed: a time before the epoch in ROS 1.
func (t *topic) append(dst []byte, form rosbridgev2.Form, version ros.Version) ([]byte, error) {
	t.tree.Version = version
	switch {
	case t.foreign:
		return t.own.append(dst, form), nil
	case form == rosbridgev2.BSON:
		const around = 1 // byte, that ends the frame's document
		t.tree.Format, t.tree.Limit = encode.BSON, int(min(t.instance.limit, math.MaxInt32))-around
	case form == rosbridgev2.CBOR:
		t.tree.Format = encode.CBOR
	case form == rosbridgev2.Raw:
		t.binary.Format = encode.ROS1
		if version == ros.ROS2 {
			t.binary.Format = encode.CDR
		}
		return t.binary.Append(dst, t.message), t.binary.Err()
	default:
		t.tree.Format = encode.JSON
	}
	return t.tree.Append(dst, t.message), t.tree.Err()
}

// listen subscribes an instance to a topic: at the server, or to what clients publish.
func listen(i bridges.Instance, topic bridges.Topic, typeName string, in ros.Inbox) error {
	return i.(*instance).subscribe(rosbridgev2.Reads(topic.Name, typeName, in))
}

// offer offers a service of an instance.
func offer(i bridges.Instance, name string, a rossample.Answerer) error {
	return i.(*instance).offer(rosbridgev2.Answers(name, a))
}

// CloudEncoder returns what appends a cloud as the JSON in which the bridge publishes it to
// ROS 1. It needs no connection: benchmarks hold the bridge beside it. One goroutine uses
// it.
func CloudEncoder() func(dst []byte, cloud *sample.PointCloud) ([]byte, error) {
	encoder, message := encode.TreeEncoder{Version: ros.ROS1}, new(ros.PointCloud2)
	return func(dst []byte, cloud *sample.PointCloud) ([]byte, error) {
		if err := rossample.PointCloud2(message, cloud); err != nil {
			return dst, err
		}
		dst = encoder.Append(dst, message)
		return dst, encoder.Err()
	}
}
