package all_test

import (
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
	"github.com/bluenviron/goroslib/v2/pkg/msgs/nav_msgs"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/rosgraph_msgs"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/sensor_msgs"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/tf2_msgs"
	"github.com/bluenviron/goroslib/v2/pkg/xmlrpc"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
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
		subscribe[sensor_msgs.Image](t, n, r.in, imageTopic)
		subscribe[sensor_msgs.CameraInfo](t, n, r.in, infoTopic)
		subscribe[sensor_msgs.PointCloud2](t, n, r.in, pointsTopic)
		subscribe[sensor_msgs.Imu](t, n, r.in, imuTopic)
		subscribe[nav_msgs.Odometry](t, n, r.in, odomTopic)
		subscribe[sensor_msgs.NavSatFix](t, n, r.in, fixTopic)
		subscribe[tf2_msgs.TFMessage](t, n, r.in, tfTopic)
		subscribe[rosgraph_msgs.Clock](t, n, r.in, clockTopic)
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
