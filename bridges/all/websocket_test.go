package all_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/all/alltest"
)

// caller is a WebSocket client of a bridge that listens.
type caller struct {
	t    *testing.T
	conn *websocket.Conn
}

// call connects, and has alltest.Frames given to take until the connection ends, on one
// goroutine.
func call(t *testing.T, address, subprotocol string, take func(c *caller, kind websocket.MessageType, data []byte)) *caller {
	t.Helper()
	var options websocket.DialOptions
	if subprotocol != "" {
		options.Subprotocols = []string{subprotocol}
	}
	conn, _, err := websocket.Dial(t.Context(), "ws://"+address, &options) //nolint:bodyclose // the library closes it
	require.NoError(t, err)
	conn.SetReadLimit(-1)
	c := &caller{t, conn}
	ctx := t.Context()
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			kind, data, err := conn.Read(ctx)
			if err != nil {
				return
			}
			take(c, kind, data)
		}
	})
	t.Cleanup(func() {
		_ = conn.CloseNow()
		reading.Wait()
	})
	return c
}

// say sends a text; a connection that has ended is told by what doesn't come.
func (c *caller) say(format string, args ...any) {
	_ = c.conn.Write(c.t.Context(), websocket.MessageText, fmt.Appendf(nil, format, args...))
}

// rosbridgeClient subscribes to the bridge in its server mode, in a compression of
// rosbridge's.
func rosbridgeClient(compression string) func(*testing.T, string) *receiver {
	return func(*testing.T, string) *receiver {
		r := &receiver{spec: "rosbridge:listen=127.0.0.1:0?messages=4096", in: &inbox{}}
		r.visit = func(t *testing.T, endpoints []bridges.Endpoint) {
			t.Helper()
			c := call(t, endpoints[0].Address, "", func(_ *caller, kind websocket.MessageType, data []byte) {
				r.in.add(func() (arrival, error) { return describeRosbridge(kind, data) })
			})
			for _, topic := range append([]string{alltest.ClockTopic}, alltest.DataTopics...) {
				c.say(`{"op":"subscribe","topic":%q,"compression":%q}`, topic, compression)
			}
		}
		return r
	}
}

func describeRosbridge(kind websocket.MessageType, data []byte) (arrival, error) {
	var m struct {
		Op    string         `json:"op"`
		Topic string         `json:"topic"`
		Msg   map[string]any `json:"msg"`
	}
	if kind == websocket.MessageText {
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		if err := d.Decode(&m); err != nil {
			return arrival{}, err
		}
	} else {
		mode, err := cbor.DecOptions{DefaultMapType: reflect.TypeFor[map[string]any]()}.DecMode()
		if err != nil {
			return arrival{}, err
		}
		if err := mode.Unmarshal(data, &m); err != nil {
			return arrival{}, err
		}
	}
	if m.Op != "publish" {
		return arrival{}, fmt.Errorf("the server says %q", data)
	}
	return describe(m.Topic, m.Msg)
}

// foxgloveChannel is one that the bridge advertises.
type foxgloveChannel struct {
	ID                                                  uint32
	Topic, Encoding, SchemaName, Schema, SchemaEncoding string
}

// foxgloveClient subscribes to every channel, under a number of its own, and decodes
// messages by the channels' schemas.
func foxgloveClient(*testing.T, string) *receiver {
	r := &receiver{spec: "foxglove:127.0.0.1:0?messages=4096", in: &inbox{}}
	r.visit = func(t *testing.T, endpoints []bridges.Endpoint) {
		t.Helper()
		channels := map[uint32]foxgloveChannel{} // by subscription; the reading goroutine's
		call(t, endpoints[0].Address, "foxglove.websocket.v1", func(c *caller, kind websocket.MessageType, data []byte) {
			if kind == websocket.MessageText {
				var m struct {
					Op       string
					Channels []foxgloveChannel
				}
				if err := json.Unmarshal(data, &m); err != nil || m.Op == "status" {
					r.in.add(func() (arrival, error) { return arrival{}, fmt.Errorf("the server says %q", data) })
				}
				for _, channel := range m.Channels {
					channels[100+channel.ID] = channel
					c.say(`{"op":"subscribe","subscriptions":[{"id":%d,"channelId":%d}]}`, 100+channel.ID, channel.ID)
				}
				return
			}
			r.in.addFoxglove(channels, data)
		})
	}
	return r
}

func (b *inbox) addFoxglove(channels map[uint32]foxgloveChannel, data []byte) {
	if len(data) == 9 && data[0] == 2 { // Time
		b.add(func() (arrival, error) {
			return arrival{topic: timeTopic, stamp: int64(binary.LittleEndian.Uint64(data[1:]))}, nil
		})
		return
	}
	channel := channels[binary.LittleEndian.Uint32(data[1:])]
	b.add(func() (arrival, error) {
		schema := []byte(channel.Schema)
		if channel.SchemaEncoding == "protobuf" {
			var err error
			if schema, err = base64.StdEncoding.DecodeString(channel.Schema); err != nil {
				return arrival{}, err
			}
		}
		m, err := decode(channel.Encoding, channel.SchemaName, schema, data[13:])
		if err != nil {
			return arrival{}, fmt.Errorf("%s: %w", channel.Topic, err)
		}
		a, err := describe(channel.Topic, m)
		a.exact = append(a.exact, int64(binary.LittleEndian.Uint64(data[5:])))
		return a, err
	})
}

// timeTopic stands for Foxglove's operation Time, which is of no topic.
const timeTopic = "(time)"
