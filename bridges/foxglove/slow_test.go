package foxglove_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/foxglove"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// A client that doesn't read loses messages, is told so when it reads again, and told when
// it is over; another gets everything meanwhile.
func TestSlowClientsAreToldWhatTheyLose(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	b := connected(t, "?messages=4")
	publish := publisher[*sample.Image](t, b, bridges.Topic{Name: "/image"})
	slow, _, _ := dial(t, b)
	fast, _, _ := dial(t, b)
	for _, c := range []*client{slow, fast} {
		c.say(`{"op":"subscribe","subscriptions":[{"id":1,"channelId":1}]}`)
		c.synced()
	}
	image := &sample.Image{Width: 1024, Height: 1024, Step: 1024, Encoding: sample.EncodingMono8, Data: make([]byte, 1<<20)}
	const messages = 40 // far more than the queue and the system's buffers hold
	for range messages {
		require.NoError(t, publish(t.Context(), image))
		fast.message(1)
	}
	received, notice, removed := 0, "", false
	for !removed {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		kind, data, err := slow.conn.Read(ctx)
		cancel()
		require.NoError(t, err)
		if kind == websocket.MessageBinary {
			received++
			continue
		}
		var m struct {
			Op, ID, Message string
			Level           int
			StatusIDs       []string
		}
		require.NoError(t, json.Unmarshal(data, &m))
		switch m.Op {
		case "status":
			assert.Equal(t, 1, m.Level)
			assert.Equal(t, "raybridge/dropped", m.ID)
			notice = m.Message
		case "removeStatus":
			assert.Equal(t, []string{"raybridge/dropped"}, m.StatusIDs)
			removed = true
		}
	}
	assert.Contains(t, notice, "on /image")
	assert.Less(t, received, messages)
	row := b.Statistics().Topics[0]
	assert.EqualValues(t, messages, row.Messages, "the other has them all")
	assert.EqualValues(t, messages-received, row.Drops[flow.CausePeerSlow])
	fast.synced()
}

// What a full queue does is the topic's own affair: the newest message arrives if the oldest
// go, and doesn't if the newest are refused.
func TestPolicies(t *testing.T) {
	const messages = 40
	for _, policy := range []flow.Policy{flow.DropOldest, flow.DropNewest} {
		t.Run(policy.String(), func(t *testing.T) {
			b := connected(t, "?messages=2")
			publish := publisher[*sample.Image](t, b, bridges.Topic{Name: "/image", Policy: policy})
			c, _, _ := dial(t, b)
			c.say(`{"op":"subscribe","subscriptions":[{"id":1,"channelId":1}]}`)
			c.synced()
			for i := range messages {
				require.NoError(t, publish(t.Context(), &sample.Image{
					Header: sample.Header{Stamp: simtime.Stamp(i)}, Width: 1024, Height: 1024, Step: 1024, Encoding: sample.EncodingMono8, Data: make([]byte, 1<<20),
				}))
			}
			var last int64
			for received := int64(0); ; received++ {
				row := b.Statistics().Topics[0]
				if dropped := row.Drops.Total(); dropped > 0 && received+dropped == messages {
					break
				}
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				kind, data, err := c.conn.Read(ctx)
				cancel()
				require.NoError(t, err)
				if kind != websocket.MessageBinary {
					received--
					continue
				}
				last = int64(binary.LittleEndian.Uint64(data[5:]))
			}
			if policy == flow.DropOldest {
				assert.EqualValues(t, messages-1, last)
			} else {
				assert.Less(t, last, int64(messages-1))
			}
		})
	}
}

// raw subscribes to channel 1 without a WebSocket library, whose memory would count, and
// throws away what it is sent.
func raw(t testing.TB, b *bridges.Bridge) {
	t.Helper()
	conn, err := net.Dial("tcp", b.Endpoints()[0].Address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: foxglove.sdk.v1\r\n\r\n")
	require.NoError(t, err)
	request := `{"op":"subscribe","subscriptions":[{"id":1,"channelId":1}]}`
	_, err = conn.Write(append([]byte{0x81, 0x80 | byte(len(request)), 0, 0, 0, 0}, request...)) // masked with zeros
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, conn) }() // ends with the connection
	require.Eventually(t, func() bool { return b.Listening(b.Endpoints()[0].Topic) }, 30*time.Second, time.Millisecond)
}

// keeper keeps the instance that it makes.
type keeper struct {
	foxglove.Factory
	instance bridges.Instance
}

func (k *keeper) NewInstance(env bridges.Env) (i bridges.Instance, err error) {
	k.instance, err = k.Factory.NewInstance(env)
	return k.instance, err
}

// A message costs no memory while the client keeps up.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	var factory keeper
	b, err := bridges.MustRegistry(&factory).Open("foxglove:127.0.0.1:0", bridges.Env{})
	require.NoError(t, err)
	defer func() { assert.NoError(t, b.Close(context.Background())) }()
	require.NoError(t, b.Connect(t.Context()))
	publish := publisher[*sample.PointCloud](t, b, bridges.Topic{Name: "/points"})
	raw(t, b)
	cloud := &sample.PointCloud{Points: make([]sample.Point, 10_000), Rings: 1, Columns: 10_000}
	ctx := t.Context()
	var fault error
	allocs := testing.AllocsPerRun(50, func() {
		if err := publish(ctx, cloud); err != nil {
			fault = err
		}
		for foxglove.Outstanding(factory.instance) > 0 {
			runtime.Gosched()
		}
	})
	require.NoError(t, fault)
	assert.Zero(t, allocs)
}
