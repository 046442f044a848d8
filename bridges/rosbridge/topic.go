package rosbridge

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/cdr"
	"github.com/raybridge/raybridge/bridges/internal/ros1"
	"github.com/raybridge/raybridge/bridges/internal/rosbridgev2"
	"github.com/raybridge/raybridge/bridges/internal/rosbson"
	"github.com/raybridge/raybridge/bridges/internal/roscbor"
	"github.com/raybridge/raybridge/bridges/internal/rosjson"
	"github.com/raybridge/raybridge/bridges/internal/rosmsg"
	"github.com/raybridge/raybridge/sensors/stream/fanout"
)

// topic is one that the bridge publishes.
type topic struct {
	instance *instance
	info     *bridges.PublishedTopic
	typ      string // full name
	client   *rosbridgev2.Publication
	stream   atomic.Pointer[fanout.Stream] // of the server, nil while there is none
	nmea     atomic.Bool                   // fixes are sentences in this connection

	mu      sync.Mutex
	message rosmsg.Message  // guarded by mu: what is being sent
	json    rosjson.Encoder // guarded by mu, as are the others
	bson    rosbson.Encoder
	cbor    roscbor.Encoder
	ros1    ros1.Encoder
	cdr     cdr.Encoder
	sizes   [forms]int // of the last frames, for the server's
}

// retype sets what the topic is in a connection of a version of ROS.
func (t *topic) retype(ros rosmsg.Version, nmea bool) {
	typ := t.typ
	t.nmea.Store(nmea && typ == navSatFix)
	if t.nmea.Load() {
		typ = sentenceType
	}
	t.instance.client.Retype(t.client, typ)
	t.info.SetWire(rosbridgev2.TypeName(typ, ros))
}

// wire returns the full name of the type in this connection.
func (t *topic) wire() string {
	if t.nmea.Load() {
		return sentenceType
	}
	return t.typ
}

// send encodes a message and queues it for the server, or for the clients.
func (t *topic) send(ctx context.Context, message rosmsg.Message, stampNs int64) error {
	if s := t.instance.server.Load(); s != nil {
		return s.publish(ctx, t, message, stampNs)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.message = message
	defer func() { t.message = nil }()
	return t.client.Send(ctx, t)
}

// AppendAs appends the message that is being sent, for the client; mu must be held.
func (t *topic) AppendAs(dst []byte, config *rosbridgev2.Config) []byte {
	if config.Form == rosbridgev2.BSON {
		t.bson.Version = config.ROS
		return t.bson.Append(dst, t.message)
	}
	t.json.Version = config.ROS
	return t.json.Append(dst, t.message)
}
