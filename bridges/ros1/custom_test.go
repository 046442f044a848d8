package ros1_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/bluenviron/goroslib/v2"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/std_msgs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros1"
)

// comfort is a type from outside: std_msgs/UInt32.
type comfort struct{ level uint32 }

var comfortSchema = ros1.Schema{Name: "std_msgs/UInt32", MD5: "304a39449588c7f8ce2df6e8001c5fce", Definition: "uint32 data\n"}

func TestTypesFromOutside(t *testing.T) {
	registry, err := bridges.NewRegistry(ros1.Factory{})
	require.NoError(t, err)
	plugin, err := registry.Plugin("ros1")
	require.NoError(t, err)
	require.NoError(t, ros1.RegPublisher(plugin, comfortSchema, func(dst []byte, m *comfort) ([]byte, error) {
		if m.level == 13 {
			return nil, errors.New("unlucky")
		}
		return binary.LittleEndian.AppendUint32(dst, m.level), nil
	}))
	require.NoError(t, ros1.RegSubscriber(plugin, comfortSchema, func(data []byte) (*comfort, error) {
		if len(data) != 4 {
			return nil, errors.New("not four bytes")
		}
		return &comfort{binary.LittleEndian.Uint32(data)}, nil
	}))
	assert.ErrorIs(t, ros1.RegPublisher(plugin, comfortSchema, func([]byte, *comfort) ([]byte, error) { return nil, nil }), bridges.ErrDuplicate)

	p := startPeer(t)
	b, err := registry.Open("ros1:"+p.Connection(), bridges.Env{})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	publish, err := bridges.AddPublisher[*comfort](b, bridges.Topic{Name: "/comfort"})
	require.NoError(t, err)
	got := make(chan uint32, 100)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/wish"}, func(m *comfort) { got <- m.level }))
	require.NoError(t, b.Connect(t.Context()))
	n := newNode(t, p)
	heard := make(chan uint32, 100)
	sub, err := goroslib.NewSubscriber(goroslib.SubscriberConf{Node: n, Topic: "/comfort", Callback: func(m *std_msgs.UInt32) { heard <- m.Data }})
	require.NoError(t, err)
	defer sub.Close()
	eventually(t, func() bool { return p.Ready("/comfort") && b.Listening("/comfort") }, "subscribed")
	assert.ErrorIs(t, publish(t.Context(), &comfort{13}), bridges.ErrConvert)
	eventually(t, func() bool {
		require.NoError(t, publish(t.Context(), &comfort{42}))
		return len(heard) > 0
	}, "goroslib hears it")
	assert.EqualValues(t, 42, <-heard)

	pub, err := goroslib.NewPublisher(goroslib.PublisherConf{Node: n, Topic: "/wish", Msg: &std_msgs.UInt32{}})
	require.NoError(t, err)
	defer pub.Close()
	eventually(t, func() bool { pub.Write(&std_msgs.UInt32{Data: 7}); return len(got) > 0 }, "a wish arrives")
	assert.EqualValues(t, 7, <-got)
}
