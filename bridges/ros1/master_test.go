package ros1_test

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/bluenviron/goroslib/v2/pkg/apimaster"
	"github.com/bluenviron/goroslib/v2/pkg/apiparam"
	"github.com/bluenviron/goroslib/v2/pkg/apislave"
	"github.com/bluenviron/goroslib/v2/pkg/xmlrpc"
	"github.com/stretchr/testify/require"
)

// testMaster is a ROS master of the test's own, upon goroslib's XML-RPC: as much of it as
// nodes need. It keeps its address over kill and start, and forgets all.
type testMaster struct {
	port int
	// published is told of each publisher, on a goroutine of its own; it may be nil.
	published func(topic, uri string)

	mu       sync.Mutex
	server   *xmlrpc.Server
	pid      int
	nodes    map[string]string            // name to URI
	topics   map[string]string            // topic to type
	pubs     map[string]map[string]string // topic, then node to URI
	subs     map[string]map[string]string
	services map[string][3]string // service to node, URI of the service, URI of the node
}

func newMaster(t *testing.T) *testMaster {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	m := &testMaster{port: l.Addr().(*net.TCPAddr).Port, pid: 1000}
	require.NoError(t, l.Close())
	t.Cleanup(m.kill)
	return m
}

func (m *testMaster) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(m.port)) }

func (m *testMaster) start(t *testing.T) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pid++
	m.nodes, m.topics, m.services = map[string]string{}, map[string]string{}, map[string][3]string{}
	m.pubs, m.subs = map[string]map[string]string{}, map[string]map[string]string{}
	var server *xmlrpc.Server
	require.Eventually(t, func() bool {
		var err error
		server, err = xmlrpc.NewServer(m.address(), 5*time.Second)
		return err == nil
	}, 10*time.Second, 10*time.Millisecond)
	m.server = server
	server.Serve(m.answer)
}

func (m *testMaster) kill() {
	m.mu.Lock()
	server := m.server
	m.server = nil
	m.mu.Unlock()
	if server != nil {
		server.Close()
	}
}

type oneString struct{ Caller string }
type twoStrings struct{ Caller, Name string }

func (m *testMaster) answer(raw *xmlrpc.RequestRaw) any {
	switch raw.Method {
	case "getPid":
		if raw.Decode(&oneString{}) != nil {
			return xmlrpc.ErrorRes{}
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		return apislave.ResponseGetPid{Code: 1, Pid: m.pid}
	case "hasParam":
		var r twoStrings
		if raw.Decode(&r) != nil {
			return xmlrpc.ErrorRes{}
		}
		return apiparam.ResponseHasParam{Code: 1, KeyOut: r.Name}
	case "lookupNode", "lookupService":
		var r twoStrings
		if raw.Decode(&r) != nil {
			return xmlrpc.ErrorRes{}
		}
		return m.lookup(raw.Method, r.Name)
	case "registerPublisher", "registerSubscriber":
		var r apimaster.RequestRegister
		if raw.Decode(&r) != nil {
			return xmlrpc.ErrorRes{}
		}
		return m.register(raw.Method, r)
	case "unregisterPublisher", "unregisterSubscriber":
		var r apimaster.RequestUnregister
		if raw.Decode(&r) != nil {
			return xmlrpc.ErrorRes{}
		}
		return m.unregister(raw.Method, r)
	case "registerService":
		var r apimaster.RequestRegisterService
		if raw.Decode(&r) != nil {
			return xmlrpc.ErrorRes{}
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.nodes[r.CallerID] = r.CallerURL
		m.services[r.Service] = [3]string{r.CallerID, r.ServiceURL, r.CallerURL}
		return apimaster.ResponseRegisterService{Code: 1}
	case "unregisterService":
		var r apimaster.RequestUnregisterService
		if raw.Decode(&r) != nil {
			return xmlrpc.ErrorRes{}
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.services, r.Service)
		return apimaster.ResponseServiceUnregister{Code: 1, NumUnregistered: 1}
	}
	return xmlrpc.ErrorRes{}
}

func (m *testMaster) lookup(method, name string) apimaster.ResponseLookup {
	m.mu.Lock()
	defer m.mu.Unlock()
	uri, ok := m.nodes[name]
	if method == "lookupService" {
		var s [3]string
		s, ok = m.services[name]
		uri = s[1]
	}
	if !ok {
		return apimaster.ResponseLookup{Code: -1, StatusMessage: "unknown"}
	}
	return apimaster.ResponseLookup{Code: 1, URL: uri}
}

func (m *testMaster) register(method string, r apimaster.RequestRegister) apimaster.ResponseRegister {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old, ok := m.nodes[r.CallerID]; ok && old != r.CallerURL {
		u, _ := url.Parse(old)
		go func() { _ = node(u.Host).Shutdown("new node registered with same name") }()
	}
	m.nodes[r.CallerID] = r.CallerURL
	if m.topics[r.Topic] == "" {
		m.topics[r.Topic] = r.TopicType
	}
	mine, others := m.pubs, m.subs
	if method == "registerSubscriber" {
		mine, others = m.subs, m.pubs
	}
	if mine[r.Topic] == nil {
		mine[r.Topic] = map[string]string{}
	}
	mine[r.Topic][r.CallerID] = r.CallerURL
	if method == "registerPublisher" {
		m.tell(r.Topic)
		if m.published != nil {
			go m.published(r.Topic, r.CallerURL)
		}
	}
	return apimaster.ResponseRegister{Code: 1, URIs: slices.Collect(maps.Values(others[r.Topic]))}
}

// list makes nodes at these addresses the publishers of a topic, and tells its subscribers.
func (m *testMaster) list(topic string, uris ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pubs[topic] = map[string]string{}
	for i, uri := range uris {
		m.pubs[topic][fmt.Sprint("/listed", i)] = uri
	}
	m.tell(topic)
}

// tell gives the subscribers of a topic its publishers; mu must be held.
func (m *testMaster) tell(topic string) {
	publishers := slices.Collect(maps.Values(m.pubs[topic]))
	for _, uri := range m.subs[topic] {
		if u, err := url.Parse(uri); err == nil {
			go func() { _ = node(u.Host).PublisherUpdate(topic, publishers) }()
		}
	}
}

func (m *testMaster) unregister(method string, r apimaster.RequestUnregister) apimaster.ResponseUnregister {
	m.mu.Lock()
	defer m.mu.Unlock()
	table := m.pubs
	if method == "unregisterSubscriber" {
		table = m.subs
	}
	if table[r.Topic][r.CallerID] != r.CallerURL {
		return apimaster.ResponseUnregister{Code: 1}
	}
	delete(table[r.Topic], r.CallerID)
	if method == "unregisterPublisher" {
		m.tell(r.Topic)
	}
	m.dismiss(r.CallerID)
	return apimaster.ResponseUnregister{Code: 1, NumUnregistered: 1}
}

// dismiss forgets a node without registrations; mu must be held.
func (m *testMaster) dismiss(name string) {
	for _, table := range []map[string]map[string]string{m.pubs, m.subs} {
		for _, nodes := range table {
			if nodes[name] != "" {
				return
			}
		}
	}
	delete(m.nodes, name)
}

// publishes reports whether a node is among a topic's publishers.
func (m *testMaster) publishes(topic, uri string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.server != nil && slices.Contains(slices.Collect(maps.Values(m.pubs[topic])), uri)
}

// uris returns the nodes' addresses by their names.
func (m *testMaster) uris() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.nodes)
}

// node is a caller of another node's API.
func node(host string) *apislave.Client {
	return apislave.NewClient(host, "/test", &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}})
}

// newSlave serves a node's API whose topics are all at one port, and returns its URI.
func newSlave(t *testing.T, port int) string {
	t.Helper()
	return newSlaveThatSays(t, "127.0.0.1", port)
}

// newSlaveThatSays is newSlave for one that says that its topics are at a host.
func newSlaveThatSays(t *testing.T, host string, port int) string {
	t.Helper()
	server, err := apislave.NewServer("127.0.0.1:0", net.IPv4(127, 0, 0, 1), "", 5*time.Second)
	require.NoError(t, err)
	t.Cleanup(server.Close)
	server.Serve(func(request apislave.Request) apislave.Response {
		if _, ok := request.(*apislave.RequestRequestTopic); ok {
			return apislave.ResponseRequestTopic{Code: 1, Protocol: []any{"TCPROS", host, port}}
		}
		return apislave.ErrorRes{}
	})
	return server.URL() + "/"
}
