package ros1_test

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bluenviron/goroslib/v2"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/geometry_msgs"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/sensor_msgs"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/ros1"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/guard"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	long = 30 * time.Second
	tick = 2 * time.Millisecond
)

func eventually(t *testing.T, holds func() bool, what string, args ...any) {
	t.Helper()
	require.Eventually(t, holds, long, tick, append([]any{what}, args...)...)
}

// connect opens a bridge at a peer's master and waits until it is connected.
func connect(t *testing.T, p *peer, types map[string]string) *bridges.Bridge {
	t.Helper()
	b := openBridge(t, p.Connection(), types)
	require.NoError(t, b.Connect(t.Context()))
	bridgetest.Connected(t, b)
	return b
}

func startPeer(t *testing.T) *peer {
	p := newPeer(t)
	p.Start(t)
	return p
}

// goroslib's node is an implementation of ROS 1 by others.
func newNode(t *testing.T, p *peer) *goroslib.Node {
	t.Helper()
	n, err := goroslib.NewNode(goroslib.NodeConf{
		Name: "goros", MasterAddress: p.master.address(), Host: "127.0.0.1", LogDestinations: goroslib.LogDestinationCallback,
	})
	require.NoError(t, err)
	t.Cleanup(n.Close)
	return n
}

func TestGoroslibReadsWhatIsPublished(t *testing.T) {
	p := startPeer(t)
	b := connect(t, p, nil)
	imu, err := bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "/imu"})
	require.NoError(t, err)
	image, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "camera/image"})
	require.NoError(t, err)
	n := newNode(t, p)
	imus, images := make(chan *sensor_msgs.Imu, 10), make(chan *sensor_msgs.Image, 10)
	first, err := goroslib.NewSubscriber(goroslib.SubscriberConf{Node: n, Topic: "/imu", Callback: func(m *sensor_msgs.Imu) { imus <- m }})
	require.NoError(t, err)
	defer first.Close()
	second, err := goroslib.NewSubscriber(goroslib.SubscriberConf{Node: n, Topic: "/camera/image", Callback: func(m *sensor_msgs.Image) { images <- m }})
	require.NoError(t, err)
	defer second.Close()
	// The peer subscribes too: two are there when both are.
	eventually(t, func() bool { return p.Ready("/imu") && p.Ready("/camera/image") }, "the peer is there")
	want := bridgetest.Image(7)
	eventually(t, func() bool {
		m := &sample.Imu{Header: sample.Header{Stamp: 1_000_000_002, Seq: 9, FrameID: "imu_link"}}
		m.LinearAcceleration = [3]float64{0.5, -1, 9.75}
		require.NoError(t, imu(t.Context(), m))
		require.NoError(t, image(t.Context(), want))
		return len(imus) > 0 && len(images) > 0
	}, "goroslib receives")
	got := <-imus
	assert.EqualValues(t, 9, got.Header.Seq, "the sample's own number")
	assert.EqualValues(t, 1_000_000_002, got.Header.Stamp.UnixNano())
	assert.Equal(t, "imu_link", got.Header.FrameId)
	assert.Equal(t, [3]float64{0.5, -1, 9.75}, [3]float64{got.LinearAcceleration.X, got.LinearAcceleration.Y, got.LinearAcceleration.Z})
	picture := <-images
	assert.Equal(t, "rgb8", picture.Encoding)
	assert.Equal(t, want.Data, picture.Data)
	assert.True(t, b.Listening("camera/image"), "by the name that the bridge was given")
}

// A topic that goes is taken back at the master, and its subscribers' connections end.
func TestATopicIsTakenBack(t *testing.T) {
	p := startPeer(t)
	b := connect(t, p, nil)
	publishers := func() int {
		p.master.mu.Lock()
		defer p.master.mu.Unlock()
		return len(p.master.pubs["/imu"])
	}
	for range 2 {
		_, err := bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "/imu"})
		require.NoError(t, err)
		// The peer may subscribe twice: it still follows the topic that went, and the one that came.
		eventually(t, func() bool { return publishers() == 1 && b.Receivers("/imu") > 0 }, "the peer has subscribed")
		b.Withdraw("/imu")
		eventually(t, func() bool { return publishers() == 0 }, "the master doesn't know it any more")
	}
}

func TestCommandsArrive(t *testing.T) {
	p := startPeer(t)
	b := connect(t, p, nil)
	got := make(chan *sample.VelocityCommand, 100)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(m *sample.VelocityCommand) { got <- m }))
	publish := func(speed float64) {
		n := newNode(t, p)
		pub, err := goroslib.NewPublisher(goroslib.PublisherConf{Node: n, Topic: "/cmd_vel", Msg: &geometry_msgs.Twist{}})
		require.NoError(t, err)
		eventually(t, func() bool {
			pub.Write(&geometry_msgs.Twist{Linear: geometry_msgs.Vector3{X: speed}})
			for len(got) > 0 {
				if m := <-got; m.Twist.Linear[0] == speed {
					return true
				}
			}
			return false
		}, "a twist arrives")
		pub.Close()
		n.Close()
	}
	publish(1.5)
	publish(2.5) // another publisher, after the first has gone
	err := bridges.AddSubscriber(b, bridges.Topic{Name: "/with-dash"}, func(*sample.VelocityCommand) {})
	assert.ErrorIs(t, err, bridges.ErrTopicName)
	err = bridges.AddSubscriber(b, bridges.Topic{Name: "cmd_vel"}, func(*sample.VelocityCommand) {})
	assert.ErrorIs(t, err, bridges.ErrTopicName, "it is /cmd_vel")
}

// TestAPublisherThatGoesIsNoFailure: it ends its connection between two messages, and the
// master tells later.
func TestAPublisherThatGoesIsNoFailure(t *testing.T) {
	p := startPeer(t)
	b := connect(t, p, nil)
	got := make(chan *sample.VelocityCommand, 100)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(m *sample.VelocityCommand) { got <- m }))
	eventually(t, func() bool { return len(subscribers(p, "/cmd_vel")) > 0 }, "subscribed")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	fake := newSlave(t, l.Addr().(*net.TCPAddr).Port)
	p.master.list("/cmd_vel", fake)
	require.NoError(t, l.(*net.TCPListener).SetDeadline(time.Now().Add(long)))
	for range 2 { // once for the command, and once after the first has ended
		conn, err := l.Accept()
		require.NoError(t, err)
		_, err = readFrame(conn)
		require.NoError(t, err)
		_, err = conn.Write(append(header("md5sum=9f195f881246fdfa2798d1d3eebca84a"), append([]byte{48, 0, 0, 0}, make([]byte, 48)...)...))
		require.NoError(t, err)
		require.NotNil(t, <-got)
		assert.Zero(t, b.Diagnosis().Failures)
		require.NoError(t, conn.Close())
	}
	require.NoError(t, l.Close())
	eventually(t, func() bool { return b.Diagnosis().Failures > 0 }, "that it can't be reached is a failure")
}

// A publisher by hand sends what isn't a Twist, and then one.
func TestRubbishOfAPublisher(t *testing.T) {
	p := startPeer(t)
	b := connect(t, p, nil)
	got := make(chan *sample.VelocityCommand, 100)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(m *sample.VelocityCommand) { got <- m }))
	eventually(t, func() bool { return len(subscribers(p, "/cmd_vel")) > 0 }, "subscribed")
	md5 := "9f195f881246fdfa2798d1d3eebca84a" // of geometry_msgs/Twist (rosmsg md5)
	twist := make([]byte, 48)
	frame := func(body []byte) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
	}
	answers := [][]byte{
		{}, {0, 0, 0, 0}, {0xff, 0xff, 0xff, 0x7f}, header("error=go away"), header("md5sum=0123", "type=a/B"),
		append(header("md5sum="+md5), frame([]byte{1, 2, 3})...), // too short, then the connection ends
		append(append(header("md5sum="+md5), frame(make([]byte, 50))...), frame(twist)...),
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			head, _ := readFrame(conn)
			assert.Contains(t, string(head), "topic=/cmd_vel")
			_, _ = conn.Write(answers[min(i, len(answers)-1)])
			_ = conn.Close()
		}
	})
	fake := newSlave(t, l.Addr().(*net.TCPAddr).Port)
	p.master.list("/cmd_vel", fake, "nowhere", "http://127.0.0.1:1/")
	select {
	case <-got:
	case <-time.After(long):
		require.Fail(t, "the message after the rubbish arrives")
	}
	assert.Positive(t, b.Diagnosis().Malformed)
	assert.Positive(t, b.Diagnosis().Failures)
	require.NoError(t, l.Close())
	wg.Wait()
}

// trap is a listener to which nobody is to connect.
type trap struct {
	net.Listener
	came atomic.Int32
}

func newTrap(t *testing.T, address string) *trap {
	t.Helper()
	k := &trap{}
	k.Listener = serveEach(t, address, func(net.Conn) { k.came.Add(1) })
	return k
}

// serveEach listens until the test ends, and closes each connection after the answer.
func serveEach(t *testing.T, address string, answer func(net.Conn)) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			answer(conn)
			_ = conn.Close()
		}
	})
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	return l
}

// TestOnlyWhomTheMasterNamesIsDialled: the node connects to the publishers that its master
// names, on their hosts. Neither a caller of its API nor a publisher's answer changes that.
func TestOnlyWhomTheMasterNamesIsDialled(t *testing.T) {
	twists := func(t *testing.T) (*peer, *bridges.Bridge, chan *sample.VelocityCommand) {
		p := startPeer(t)
		b := connect(t, p, nil)
		got := make(chan *sample.VelocityCommand, 100)
		require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(m *sample.VelocityCommand) { got <- m }))
		eventually(t, func() bool { return len(subscribers(p, "/cmd_vel")) > 0 }, "subscribed")
		return p, b, got
	}
	// publisher sends a Twist on each connection.
	publisher := func(t *testing.T) net.Listener {
		return serveEach(t, "127.0.0.1:0", func(conn net.Conn) {
			_, _ = readFrame(conn)
			_, _ = conn.Write(append(header("md5sum=9f195f881246fdfa2798d1d3eebca84a"), append([]byte{48, 0, 0, 0}, make([]byte, 48)...)...))
		})
	}
	port := func(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }
	receive := func(t *testing.T, got chan *sample.VelocityCommand) {
		t.Helper()
		select {
		case <-got:
		case <-time.After(long):
			require.Fail(t, "the publisher that the master names is heard")
		}
	}
	t.Run("publisherUpdate of a stranger", func(t *testing.T) {
		p, _, got := twists(t)
		k := newTrap(t, "127.0.0.1:0")
		api := node(mustHost(t, subscribers(p, "/cmd_vel")[0]))
		require.NoError(t, api.PublisherUpdate("/cmd_vel", []string{"http://" + k.Addr().String() + "/"}))
		p.master.list("/cmd_vel", newSlave(t, port(publisher(t))))
		receive(t, got)
		bus, err := api.GetBusInfo()
		require.NoError(t, err)
		assert.Len(t, bus, 1, "the stranger's isn't among the connections: %v", bus)
		assert.Zero(t, k.came.Load())
	})
	t.Run("a stranger takes no publisher away", func(t *testing.T) {
		p, _, got := twists(t)
		p.master.list("/cmd_vel", newSlave(t, port(publisher(t))))
		receive(t, got)
		require.NoError(t, node(mustHost(t, subscribers(p, "/cmd_vel")[0])).PublisherUpdate("/cmd_vel", nil))
		for range 10 { // each ends, and the next comes
			receive(t, got)
		}
	})
	t.Run("a publisher's answer names another host", func(t *testing.T) {
		p, _, got := twists(t)
		l := publisher(t)
		k := newTrap(t, fmt.Sprint("127.0.0.2:", port(l)))
		p.master.list("/cmd_vel", newSlaveThatSays(t, "127.0.0.2", port(l)))
		receive(t, got)
		assert.Zero(t, k.came.Load())
	})
	t.Run("a publisher's answer leads elsewhere", func(t *testing.T) {
		p, b, got := twists(t)
		k := newTrap(t, "127.0.0.1:0")
		elsewhere := httptest.NewServer(http.RedirectHandler("http://"+k.Addr().String()+"/", http.StatusTemporaryRedirect))
		defer elsewhere.Close()
		p.master.list("/cmd_vel", elsewhere.URL+"/")
		eventually(t, func() bool { return b.Diagnosis().Failures > 0 }, "that is a failure")
		p.master.list("/cmd_vel", newSlave(t, port(publisher(t))))
		receive(t, got)
		assert.Zero(t, k.came.Load())
	})
}

func subscribers(p *peer, topic string) []string {
	p.master.mu.Lock()
	defer p.master.mu.Unlock()
	var list []string
	for _, uri := range p.master.subs[topic] {
		list = append(list, uri)
	}
	return list
}

func TestWhatIsLatchedReachesThoseWhoComeLate(t *testing.T) {
	p := startPeer(t)
	b := openBridge(t, p.Connection(), nil)
	publish, err := bridges.AddPublisher[*sample.Transforms](b, bridges.Topic{Name: "/tf_static", QoS: flow.StaticQoS})
	require.NoError(t, err)
	p.master.published = nil // nobody subscribes
	require.NoError(t, b.Connect(t.Context()))
	bridgetest.Connected(t, b)
	assert.True(t, b.Listening("/tf_static"), "it is kept for those to come")
	assert.Zero(t, b.Receivers("/tf_static"), "and nobody has it yet")
	for i := range 3 {
		require.NoError(t, publish(t.Context(), &sample.Transforms{Stamp: simtime.Stamp(i), Transforms: []sample.Transform{{ChildFrameID: fmt.Sprint("frame", i)}}}))
	}
	for range 2 {
		conn, err := dialTopic("/tf_static", p.master.uris()["/raybridge"])
		require.NoError(t, err)
		defer conn.Close()
		head, err := subscribeTo(conn, conn, "/tf_static", "tf2_msgs/TFMessage", "94810edda583a504dfda3829e70d7eec")
		require.NoError(t, err)
		assert.Equal(t, "1", head["latching"])
		data, err := readFrame(conn)
		require.NoError(t, err)
		assert.Contains(t, string(data), "frame2", "the last one")
	}
	assert.EqualValues(t, 3, b.Statistics().Messages)
}

// TestSubscribersAreServedByTheSum, as roscpp does: a type may have another name, as tf's has in
// old packages, or none. A name counts where no sum is given.
func TestSubscribersAreServedByTheSum(t *testing.T) {
	const md5 = "94810edda583a504dfda3829e70d7eec"
	p := startPeer(t)
	b := connect(t, p, nil)
	_, err := bridges.AddPublisher[*sample.Transforms](b, bridges.Topic{Name: "/tf"})
	require.NoError(t, err)
	eventually(t, func() bool { return p.Ready("/tf") }, "registered")
	for _, fields := range [][]string{
		{"type=tf/tfMessage", "md5sum=" + md5}, {"type=tf2_msgs/TFMessage", "md5sum=" + md5},
		{"type=*", "md5sum=" + md5}, {"type=", "md5sum=" + md5}, {"md5sum=" + md5},
		{"type=*", "md5sum=*"}, {"type=", "md5sum=*"}, {"md5sum=*"}, {"type=tf2_msgs/TFMessage"}, {},
	} {
		conn, err := dialTopic("/tf", p.master.uris()["/raybridge"])
		require.NoError(t, err)
		head, err := exchange(conn, conn, append([]string{"callerid=/test", "topic=/tf"}, fields...)...)
		require.NoError(t, err)
		assert.Empty(t, head["error"], "%v", fields)
		assert.Equal(t, md5, head["md5sum"], "%v", fields)
		require.NoError(t, conn.Close())
	}
}

func TestSubscribersAreTold(t *testing.T) {
	p := startPeer(t)
	b := connect(t, p, nil)
	_, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
	require.NoError(t, err)
	eventually(t, func() bool { return p.Ready("/clock") }, "registered")
	for _, test := range []struct{ topic, typ, md5, want string }{
		{"/clock", "rosgraph_msgs/Clock", "0123", "md5sum a9c97c1d230cfc112e270351a944ee47"},
		{"/clock", "std_msgs/Header", "*", "rosgraph_msgs/Clock"},
		{"/other", "*", "*", "/other"},
	} {
		conn, err := dialTopic("/clock", p.master.uris()["/raybridge"])
		require.NoError(t, err)
		head, err := subscribeTo(conn, conn, test.topic, test.typ, test.md5)
		require.NoError(t, err)
		assert.Contains(t, head["error"], test.want)
		require.NoError(t, conn.Close())
	}
	api := node(mustHost(t, p.master.uris()["/raybridge"]))
	_, err = api.RequestTopic("/none", [][]any{{"TCPROS"}})
	assert.ErrorContains(t, err, "not a publisher of [/none]")
	_, err = api.RequestTopic("/clock", [][]any{{"UDPROS"}})
	assert.ErrorContains(t, err, "TCPROS")
	topics, err := api.GetPublications()
	require.NoError(t, err)
	assert.Equal(t, [][]string{{"/clock", "rosgraph_msgs/Clock"}}, topics)
	bus, err := api.GetBusInfo()
	require.NoError(t, err)
	require.Len(t, bus, 1)
	assert.Equal(t, []any{1, "/test", "o", "TCPROS", "/clock", true}, bus[0])
	id, err := api.GetPid()
	require.NoError(t, err)
	assert.Positive(t, id)
}

func TestNamesOfTopics(t *testing.T) {
	b := openBridge(t, "127.0.0.1", nil)
	_, err := bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "imu"})
	require.NoError(t, err)
	for _, name := range []string{"/imu", "~imu", "/a-b", "/a//b", "/a/", "/1a", "/ä"} {
		_, err := bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: name})
		assert.ErrorIs(t, err, bridges.ErrTopicName, name)
	}
	for _, name := range []string{"/a/1", "/A_b/c", "a/b"} {
		_, err := bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: name})
		assert.NoError(t, err, name)
	}
}

// A second node finds its name taken and has one of its own. A name that the user chose is
// waited for, and a name that a dead node left behind is free.
func TestNamesOfNodes(t *testing.T) {
	p := startPeer(t)
	open := func(options string) *bridges.Bridge {
		b := openBridge(t, p.Connection()+options, nil)
		_, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
		require.NoError(t, err)
		require.NoError(t, b.Connect(t.Context()))
		return b
	}
	first := open("")
	eventually(t, func() bool { return p.master.uris()["/raybridge"] != "" }, "the first")
	open("")
	eventually(t, func() bool { return p.master.uris()["/raybridge_2"] != "" }, "the second")
	chosen := open("&node=raybridge&attempts=1000000")
	eventually(t, func() bool { return chosen.Diagnosis().Failures > 2 }, "it waits")
	assert.ErrorContains(t, chosen.Diagnosis().LastError, "?node=")
	assert.NotEqual(t, flow.Connected, chosen.Status())
	p.master.mu.Lock()
	p.master.nodes["/dead"] = "http://127.0.0.1:1/"
	p.master.mu.Unlock()
	dead := open("&node=dead")
	eventually(t, func() bool { return dead.Status() == flow.Connected }, "a dead node's name")
	require.NoError(t, first.Close(t.Context()))
	eventually(t, func() bool { return chosen.Status() == flow.Connected }, "the name is free")

	// A node that registers with another node's name makes the master end that node, which
	// comes again.
	before := dead.Diagnosis().Connections
	require.NoError(t, node(mustHost(t, p.master.uris()["/dead"])).Shutdown("test"))
	eventually(t, func() bool { return dead.Diagnosis().Connections > before }, "it comes again")
	assert.ErrorContains(t, dead.Diagnosis().LastError, "test")
}

func TestAMasterThatForgets(t *testing.T) {
	p := startPeer(t)
	b := connect(t, p, nil)
	_, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
	require.NoError(t, err)
	eventually(t, func() bool { return p.Ready("/clock") }, "registered")
	p.master.mu.Lock() // as if it had been restarted between two polls
	p.master.nodes, p.master.pubs = map[string]string{}, map[string]map[string]string{}
	p.master.mu.Unlock()
	eventually(t, func() bool { return p.master.uris()["/raybridge"] != "" }, "registered again")
	assert.Positive(t, b.Diagnosis().Failures)
}

func TestGivingUp(t *testing.T) {
	p := newPeer(t)
	var lines strings.Builder
	registry := bridges.MustRegistry(ros1.Factory{})
	b, err := registry.Open("ros1:"+p.Connection()+"&attempts=3", bridges.Env{Log: slog.New(slog.NewTextHandler(&lines, nil))})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	eventually(t, func() bool { return b.Status() == flow.UnexpectedlyDisconnected }, "it gives up")
	assert.EqualValues(t, 3, b.Diagnosis().Failures)
	assert.ErrorContains(t, b.Diagnosis().LastError, "no ROS master at "+p.master.address())
	assert.Equal(t, 1, strings.Count(lines.String(), `level=WARN msg="not registered at the ROS master, trying again"`), "a cause is told once")
	assert.Equal(t, 1, strings.Count(lines.String(), `level=ERROR msg="gave up registering at the ROS master" attempts=3`))
	require.NoError(t, b.Disconnect(t.Context()))
	assert.Equal(t, flow.Disconnected, b.Status())
}

// TestSilentSocketsLockNobodyOut of the node's two ports: they are counted, and others subscribe.
func TestSilentSocketsLockNobodyOut(t *testing.T) {
	p := startPeer(t)
	b := connect(t, p, nil)
	imu, err := bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "/imu"})
	require.NoError(t, err)
	eventually(t, func() bool { return p.Ready("/imu") }, "the peer is there")
	uri, err := url.Parse(p.master.uris()["/raybridge"])
	require.NoError(t, err)
	answer, err := node(uri.Host).RequestTopic("/imu", [][]any{{"TCPROS"}})
	require.NoError(t, err)
	tcpros := net.JoinHostPort("127.0.0.1", fmt.Sprint(answer[2]))
	for _, address := range []string{uri.Host, tcpros} {
		before := b.Diagnosis().Refused["too_many_handshakes"]
		for range guard.Handshakes + 10 {
			conn, err := net.Dial("tcp", address)
			require.NoError(t, err)
			defer conn.Close()
		}
		eventually(t, func() bool { return b.Diagnosis().Refused["too_many_handshakes"] >= before+10 }, "%s counts them", address)
	}
	n := newNode(t, p)
	got := make(chan *sensor_msgs.Imu, 10)
	sub, err := goroslib.NewSubscriber(goroslib.SubscriberConf{Node: n, Topic: "/imu", Callback: func(m *sensor_msgs.Imu) { got <- m }})
	require.NoError(t, err)
	defer sub.Close()
	eventually(t, func() bool {
		require.NoError(t, imu(t.Context(), &sample.Imu{Header: sample.Header{FrameID: "imu_link"}}))
		return len(got) > 0
	}, "goroslib receives")
}

// TestSubscribersThatGoLeaveNothing: a thousand go by FIN, and by RST.
func TestSubscribersThatGoLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p := startPeer(t)
	b := connect(t, p, nil)
	p.master.published = nil // nobody else subscribes
	_, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
	require.NoError(t, err)
	eventually(t, func() bool { return p.master.uris()["/raybridge"] != "" }, "registered")
	first, err := dialTopic("/clock", p.master.uris()["/raybridge"])
	require.NoError(t, err)
	require.NoError(t, first.Close())
	visits := bridgetest.Visits{
		Address: first.RemoteAddr().String(), Until: "message_definition",
		Said: header("callerid=/test", "topic=/clock", "type=rosgraph_msgs/Clock", "md5sum=a9c97c1d230cfc112e270351a944ee47"),
	}
	visits.Run(t)
	visits.Leave = bridgetest.Reset
	visits.Run(t)
	eventually(t, func() bool { return !b.Listening("/clock") }, "all have gone")
}

// What answers and is not a master is told from what doesn't answer.
func TestMastersThatAreNone(t *testing.T) {
	for greeting, foreign := range map[string]bool{
		"SSH-2.0-OpenSSH_9.2p1\r\n":                                  true,
		"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n":        true,
		"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<html></html>": true,
		"": false, // it closes
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		var served sync.WaitGroup
		served.Go(func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = conn.Write([]byte(greeting))
				_ = conn.Close()
			}
		})
		err = ros1.Reach(t.Context(), listener.Addr().String())
		require.ErrorContains(t, err, "no ROS master at "+listener.Addr().String(), greeting)
		if foreign {
			assert.ErrorIs(t, err, transport.ErrProtocol, greeting)
		} else {
			assert.NotErrorIs(t, err, transport.ErrProtocol)
		}
		require.NoError(t, listener.Close())
		served.Wait()
	}
}
