package ros1_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/bluenviron/goroslib/v2"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/std_msgs"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/ros1"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMessagesAboveTheLimit(t *testing.T) {
	bridgetest.TooLarge(t, bridgetest.Suite{
		Factory: ros1.Limited(bridgetest.Limit),
		Peer:    func(t *testing.T) bridgetest.Peer { return newPeer(t) },
	})
}

func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	bridgetest.Run(t, bridgetest.Suite{
		Factory: ros1.Factory{},
		BadConnections: []string{
			"host:port", "host:0", "host:70000", "::1", "?unknown=1", "?node=", "?node=a b", "?node=1a", "?host=a/b", "?host=a:1",
			"?retry=soon", "?retry=0s", "?messages=0", "?bytes=-1", "http://", "h/p",
		},
		Peer: func(t *testing.T) bridgetest.Peer { return newPeer(t) },
	})
}

// comfort is a type from outside: std_msgs/UInt32.
type comfort struct{ level uint32 }

func (*comfort) Captured() simtime.Stamp { return 0 }

var comfortSchema = bridges.Schema{
	Name: "std_msgs/UInt32", Encoding: "ros1msg", Data: []byte("uint32 data\n"), MessageEncoding: "ros1",
	MD5: "304a39449588c7f8ce2df6e8001c5fce",
}

func TestTypesFromOutside(t *testing.T) {
	registry, err := bridges.NewRegistry(ros1.Factory{})
	require.NoError(t, err)
	plugin, err := registry.Plugin("ros1")
	require.NoError(t, err)
	codec := bridges.Codec[*comfort]{
		Schema: comfortSchema,
		Append: func(dst []byte, m *comfort) ([]byte, error) {
			if m.level == 13 {
				return nil, errors.New("unlucky")
			}
			return binary.LittleEndian.AppendUint32(dst, m.level), nil
		},
		Read: func(_ string, data []byte) (*comfort, error) {
			if len(data) != 4 {
				return nil, errors.New("not four bytes")
			}
			return &comfort{binary.LittleEndian.Uint32(data)}, nil
		},
	}
	unsummed := codec
	unsummed.Schema.MD5 = ""
	assert.ErrorContains(t, unsummed.Register(plugin), "set Schema.MD5")
	require.NoError(t, codec.Register(plugin))
	assert.ErrorIs(t, codec.Register(plugin), bridges.ErrDuplicate)

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

type environment = map[string]string

func TestConnectionStrings(t *testing.T) {
	for _, c := range []struct {
		connection         string
		env                environment
		master, host, node string
	}{
		{"", nil, "127.0.0.1:11311", "", "/raybridge"},
		{"", environment{"ROS_MASTER_URI": "http://robot:11312"}, "robot:11312", "", "/raybridge"},
		{"", environment{"ROS_MASTER_URI": "http://robot/"}, "robot:11311", "", "/raybridge"},
		{"?node=a/b", environment{"ROS_MASTER_URI": "http://[::1]:11311/"}, "[::1]:11311", "", "/a/b"},
		{"robot", environment{"ROS_MASTER_URI": "http://other:1"}, "robot:11311", "", "/raybridge"},
		{"http://robot:11311/", nil, "robot:11311", "", "/raybridge"},
		{"[::1]", nil, "[::1]:11311", "", "/raybridge"},
		{"robot", environment{"ROS_IP": "10.0.0.1"}, "robot:11311", "10.0.0.1", "/raybridge"},
		{"robot", environment{"ROS_IP": "10.0.0.1", "ROS_HOSTNAME": "me"}, "robot:11311", "me", "/raybridge"},
		{"robot?host=fe80::1", environment{"ROS_IP": "10.0.0.1", "ROS_HOSTNAME": "me"}, "robot:11311", "fe80::1", "/raybridge"},
		{"robot?host=[::1]", nil, "robot:11311", "::1", "/raybridge"},
	} {
		master, host, node, err := ros1.MasterAndHost(c.connection, c.env)
		require.NoError(t, err, c.connection)
		assert.Equal(t, []string{c.master, c.host, c.node}, []string{master, host, node}, "%q with %v", c.connection, c.env)
	}
	for _, env := range []environment{
		{"ROS_MASTER_URI": "robot:11311"}, {"ROS_MASTER_URI": "https://robot:11311"}, {"ROS_MASTER_URI": "http://robot:0"},
		{"ROS_IP": "a b"}, {"ROS_HOSTNAME": "a:b"},
	} {
		_, _, _, err := ros1.MasterAndHost("", env)
		assert.ErrorIs(t, err, bridges.ErrConnectionString, "%v", env)
	}
}

// A node that only this machine is to find listens for no other.
func TestWhereANodeListens(t *testing.T) {
	for host, want := range map[string]string{
		"127.0.0.1": "127.0.0.1:0", "127.0.1.1": "127.0.1.1:0", "localhost": "127.0.0.1:0", "::1": "[::1]:0", "10.0.0.1": ":0", "robot": ":0",
	} {
		assert.Equal(t, want, ros1.BindAddress(host), host)
	}
}

// Headers as rospy writes them; testdata/README.md says how.
func TestHeadersOfRospy(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"subscriber": {"callerid": "/rviz", "topic": "/imu", "type": "sensor_msgs/Imu", "md5sum": "6a62c6daae103f4ff57a132d6f95cec2", "tcp_nodelay": "1", "message_definition": "Header header\nä=\n"},
		"any":        {"callerid": "/rostopic_1_2", "topic": "/imu", "type": "*", "md5sum": "*", "message_definition": ""},
		"service":    {"callerid": "/rosservice", "service": "/lights", "md5sum": "09fb03525b03e7ea1fd3992bafd87e16", "persistent": "1"},
		"probe":      {"service": "/lights", "md5sum": "*", "probe": "1"},
	} {
		data, err := os.ReadFile("../../testdata/wire/tcpros/" + name + ".header")
		require.NoError(t, err)
		rest := bytes.NewBuffer(append(data, "rest"...))
		header, err := ros1.ReadHeader(rest)
		require.NoError(t, err)
		for key, value := range want {
			assert.Equal(t, value, header[key], "%s: %s", name, key)
		}
		assert.Equal(t, "rest", rest.String(), "what follows is left")
	}
}

// The topic's policy decides what a full queue does, and what is lost is counted.
func TestPolicies(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for _, policy := range []flow.Policy{flow.DropOldest, flow.DropNewest} {
		t.Run(policy.String(), func(t *testing.T) {
			const messages = 40
			p := newPeer(t)
			p.master.start(t)
			p.master.published = nil
			b := openBridge(t, p.master.address()+"?messages=4&host=127.0.0.1", nil)
			publish, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image", Policy: policy})
			require.NoError(t, err)
			require.NoError(t, b.Connect(t.Context()))
			bridgetest.Connected(t, b)
			conn, err := dialTopic("/image", p.master.uris()["/raybridge"])
			require.NoError(t, err)
			defer conn.Close()
			_, err = subscribeTo(conn, conn, "/image", "*", "*")
			require.NoError(t, err)
			eventually(t, func() bool { return b.Listening("/image") }, "subscribed")
			image := &sample.Image{Width: 1024, Height: 1024, Step: 4096, Encoding: sample.Encoding32FC1, Data: make([]byte, 4<<20)}
			for seq := range messages { // the subscriber reads nothing
				image.Seq = uint64(seq)
				require.NoError(t, publish(t.Context(), image))
			}
			row := b.Statistics().Topics[0]
			dropped := row.Drops[flow.CausePeerSlow]
			assert.Positive(t, dropped)
			var seqs []uint32
			for range messages - int(dropped) {
				data, err := readFrame(conn)
				require.NoError(t, err)
				seqs = append(seqs, binary.LittleEndian.Uint32(data))
			}
			require.NoError(t, b.Close(t.Context()))
			_, err = readFrame(conn)
			assert.ErrorIs(t, err, io.EOF, "that was all")
			// Of the four that wait at a time the first or the last are among those that come.
			if policy == flow.DropOldest {
				assert.Equal(t, []uint32{messages - 4, messages - 3, messages - 2, messages - 1}, seqs[len(seqs)-4:])
			} else {
				assert.Equal(t, []uint32{0, 1, 2, 3}, seqs[:4])
			}
			row = b.Statistics().Topics[0]
			assert.EqualValues(t, messages, row.Messages+row.Drops.Total())
		})
	}
}

func TestPublishingAllocatesNothing(t *testing.T) {
	p := startPeer(t)
	p.master.published = nil
	b := openBridge(t, p.master.address()+"?host=127.0.0.1", nil) // which asks the master but once a second
	require.NoError(t, b.Connect(t.Context()))
	publish, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image"})
	require.NoError(t, err)
	eventually(t, func() bool { return p.master.uris()["/raybridge"] != "" }, "registered")
	conn, err := dialTopic("/image", p.master.uris()["/raybridge"])
	require.NoError(t, err)
	defer conn.Close()
	_, err = subscribeTo(conn, conn, "/image", "*", "*")
	require.NoError(t, err)
	eventually(t, func() bool { return b.Listening("/image") }, "subscribed")
	image := &sample.Image{Width: 64, Height: 64, Step: 256, Encoding: sample.Encoding32FC1, Data: make([]byte, 64*256)}
	require.NoError(t, publish(t.Context(), image))
	frame, err := readFrame(conn)
	require.NoError(t, err)
	frame = make([]byte, 4+len(frame))
	ctx := t.Context()
	send := func() {
		if err := publish(ctx, image); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, frame); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		send()
	}
	allocations := testing.AllocsPerRun(200, send)
	if !raceEnabled { // the detector makes pools forget
		assert.Zero(t, allocations)
	}
}

func FuzzReadHeader(f *testing.F) {
	for _, seed := range tcprosRubbish() {
		f.Add(seed)
	}
	f.Add(header("callerid=/a", "topic=/b", "md5sum=*", "type=*", "tcp_nodelay=1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ros1.ReadHeader(strings.NewReader(string(data)))
		switch {
		case err == nil && h == nil:
			t.Fatal("no header and no error")
		case err != nil && !errors.Is(err, transport.ErrProtocol) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			t.Fatal(err)
		}
	})
}
