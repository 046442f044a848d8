package all_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bluenviron/goroslib/v2"
	"github.com/bluenviron/goroslib/v2/pkg/apimaster"
	"github.com/bluenviron/goroslib/v2/pkg/apiparam"
	"github.com/bluenviron/goroslib/v2/pkg/apislave"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/geometry_msgs"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/nav_msgs"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/rosgraph_msgs"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/sensor_msgs"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/std_msgs"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/tf2_msgs"
	"github.com/bluenviron/goroslib/v2/pkg/protocommon"
	"github.com/bluenviron/goroslib/v2/pkg/xmlrpc"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/all/alltest"
)

// master is as much of a ROS 1 master as nodes need that find each other's topics
// (ROS wiki, "Master API"), upon goroslib's XML-RPC.
type master struct {
	server *xmlrpc.Server

	mu    sync.Mutex
	nodes map[string]string            // guarded by mu: name to URI
	pubs  map[string]map[string]string // guarded by mu: topic, then node to URI
	subs  map[string]map[string]string
}

func newMaster(t *testing.T) *master {
	t.Helper()
	m := &master{nodes: map[string]string{}, pubs: map[string]map[string]string{}, subs: map[string]map[string]string{}}
	var err error
	m.server, err = xmlrpc.NewServer("127.0.0.1:0", 5*time.Second)
	require.NoError(t, err)
	m.server.Serve(m.answer)
	t.Cleanup(m.server.Close)
	return m
}

func (m *master) address(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(m.server.URL(net.IPv4(127, 0, 0, 1), ""))
	require.NoError(t, err)
	return "127.0.0.1:" + u.Port()
}

func (m *master) answer(raw *xmlrpc.RequestRaw) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch raw.Method {
	case "getPid":
		var r struct{ Caller string }
		if raw.Decode(&r) == nil {
			return apislave.ResponseGetPid{Code: 1, Pid: 1}
		}
	case "hasParam":
		var r struct{ Caller, Name string }
		if raw.Decode(&r) == nil {
			return apiparam.ResponseHasParam{Code: 1, KeyOut: r.Name}
		}
	case "lookupNode":
		var r struct{ Caller, Name string }
		if raw.Decode(&r) == nil && m.nodes[r.Name] != "" {
			return apimaster.ResponseLookup{Code: 1, URL: m.nodes[r.Name]}
		}
		return apimaster.ResponseLookup{Code: -1, StatusMessage: "unknown node"}
	case "registerPublisher", "registerSubscriber":
		var r apimaster.RequestRegister
		if raw.Decode(&r) == nil {
			return m.register(raw.Method, r)
		}
	case "unregisterPublisher", "unregisterSubscriber":
		var r apimaster.RequestUnregister
		if raw.Decode(&r) == nil {
			delete(m.pubs[r.Topic], r.CallerID+raw.Method[len("unregister"):])
			delete(m.subs[r.Topic], r.CallerID+raw.Method[len("unregister"):])
			return apimaster.ResponseUnregister{Code: 1, NumUnregistered: 1}
		}
	case "registerService": // nobody calls one
		return apimaster.ResponseRegisterService{Code: 1}
	case "unregisterService":
		return apimaster.ResponseServiceUnregister{Code: 1, NumUnregistered: 1}
	}
	return xmlrpc.ErrorRes{}
}

// register notes a topic's node and tells those that it concerns; mu must be held.
func (m *master) register(method string, r apimaster.RequestRegister) apimaster.ResponseRegister {
	m.nodes[r.CallerID] = r.CallerURL
	mine, others := m.pubs, m.subs
	if method == "registerSubscriber" {
		mine, others = m.subs, m.pubs
	}
	if mine[r.Topic] == nil {
		mine[r.Topic] = map[string]string{}
	}
	mine[r.Topic][r.CallerID+method[len("register"):]] = r.CallerURL
	if method == "registerPublisher" {
		publishers := slices.Collect(maps.Values(m.pubs[r.Topic]))
		for _, uri := range m.subs[r.Topic] {
			if u, err := url.Parse(uri); err == nil {
				api := apislave.NewClient(u.Host, "/master", &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}})
				go func() { _ = api.PublisherUpdate(r.Topic, publishers) }()
			}
		}
	}
	return apimaster.ResponseRegister{Code: 1, URIs: slices.Collect(maps.Values(others[r.Topic]))}
}

// node returns a node of goroslib's, an implementation of ROS 1 by others.
func (m *master) node(t *testing.T) *goroslib.Node {
	t.Helper()
	n, err := goroslib.NewNode(goroslib.NodeConf{
		Name: "receiver", MasterAddress: m.address(t), Host: "127.0.0.1", LogDestinations: goroslib.LogDestinationCallback,
	})
	require.NoError(t, err)
	t.Cleanup(n.Close)
	return n
}

func ros1Node(t *testing.T, _ string) *receiver {
	t.Helper()
	m := newMaster(t)
	r := &receiver{spec: "ros1:" + m.address(t) + "?messages=4096&retry=50ms&host=127.0.0.1", in: &inbox{}}
	r.visit = func(t *testing.T, _ []bridges.Endpoint) {
		t.Helper()
		n := m.node(t)
		subscribe[sensor_msgs.Image](t, n, r.in, alltest.ImageTopic)
		subscribe[sensor_msgs.CameraInfo](t, n, r.in, alltest.InfoTopic)
		subscribe[sensor_msgs.PointCloud2](t, n, r.in, alltest.PointsTopic)
		subscribe[sensor_msgs.Imu](t, n, r.in, alltest.ImuTopic)
		subscribe[nav_msgs.Odometry](t, n, r.in, alltest.OdometryTopic)
		subscribe[sensor_msgs.NavSatFix](t, n, r.in, alltest.FixTopic)
		subscribe[tf2_msgs.TFMessage](t, n, r.in, alltest.TransformsTopic)
		subscribe[rosgraph_msgs.Clock](t, n, r.in, alltest.ClockTopic)
	}
	return r
}

func subscribe[M any](t *testing.T, n *goroslib.Node, in *inbox, topic string) {
	t.Helper()
	s, err := goroslib.NewSubscriber(goroslib.SubscriberConf{Node: n, Topic: topic, Callback: func(m *M) {
		in.add(func() (arrival, error) { return describeROS(topic, m) })
	}})
	require.NoError(t, err)
	t.Cleanup(s.Close)
}

// rosTime is a time of goroslib's, which has 0 as the year 1.
func rosTime(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// describeROS is describe of goroslib's messages.
func describeROS(topic string, m any) (arrival, error) {
	a := arrival{topic: topic}
	of := func(h std_msgs.Header) { a.stamp, a.frame = rosTime(h.Stamp), h.FrameId }
	switch m := m.(type) {
	case *sensor_msgs.Image:
		of(m.Header)
		a.picture = sha256.Sum256(m.Data)
	case *sensor_msgs.CameraInfo:
		of(m.Header)
	case *sensor_msgs.PointCloud2:
		of(m.Header)
	case *sensor_msgs.Imu:
		of(m.Header)
	case *nav_msgs.Odometry:
		of(m.Header)
	case *sensor_msgs.NavSatFix:
		of(m.Header)
	case *tf2_msgs.TFMessage:
		of(append(m.Transforms, geometry_msgs.TransformStamped{})[0].Header)
	case *rosgraph_msgs.Clock:
		a.stamp = rosTime(m.Clock)
	default:
		return a, fmt.Errorf("%s: a %T", topic, m)
	}
	return a, nil
}

// newROS makes goroslib's message of a name of ROS 1.
func newROS(name string) any {
	switch name {
	case "sensor_msgs/Image":
		return &sensor_msgs.Image{}
	case "sensor_msgs/CameraInfo":
		return &sensor_msgs.CameraInfo{}
	case "sensor_msgs/PointCloud2":
		return &sensor_msgs.PointCloud2{}
	case "sensor_msgs/Imu":
		return &sensor_msgs.Imu{}
	case "nav_msgs/Odometry":
		return &nav_msgs.Odometry{}
	case "sensor_msgs/NavSatFix":
		return &sensor_msgs.NavSatFix{}
	case "tf2_msgs/TFMessage":
		return &tf2_msgs.TFMessage{}
	case "rosgraph_msgs/Clock":
		return &rosgraph_msgs.Clock{}
	}
	return nil
}

// describeROS1 decodes the bytes of a ROS 1 message with goroslib.
func describeROS1(topic, name string, data []byte) (arrival, error) {
	m := newROS(name)
	if m == nil {
		return arrival{}, fmt.Errorf("%s: no message %s", topic, name)
	}
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(data))) // as goroslib reads it from a connection
	if err := protocommon.MessageDecode(bytes.NewReader(append(head, data...)), m); err != nil {
		return arrival{}, fmt.Errorf("%s: %w", topic, err)
	}
	return describeROS(topic, m)
}
