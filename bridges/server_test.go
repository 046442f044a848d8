package bridges_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
)

func TestServerOptions(t *testing.T) {
	var options bridges.ServerOptions
	_, _, err := bridges.ReadOptions("?policy=block&messages=3&bytes=4&clients=5", &options)
	require.NoError(t, err)
	config := options.Server()
	assert.Equal(t, flow.QueueConfig{Messages: 3, Bytes: 4, Policy: flow.Block}, config.Queue)
	assert.Equal(t, 5, config.MaxClients)
	options = bridges.ServerOptions{Clients: 128}
	_, _, err = bridges.ReadOptions("?messages=3", &options)
	require.NoError(t, err)
	assert.Equal(t, 128, options.Server().MaxClients, "what isn't given stays as it is")
}

func TestServerOptionsThatMakeNoSense(t *testing.T) {
	list := []string{"policy=keep_all", "policy=", "messages=0", "bytes=-1"}
	for _, text := range []string{"", "0", "-1", "65536", "many", "1.5"} {
		list = append(list, "clients="+text)
	}
	for _, options := range list {
		_, _, err := bridges.ReadOptions("?"+options, &bridges.ServerOptions{})
		assert.ErrorIs(t, err, bridges.ErrConnectionString, options)
	}
}

func TestWebSocketOptions(t *testing.T) {
	var options bridges.WebSocketOptions
	_, _, err := bridges.ReadOptions("?clients=3&origins=a.example,*&bytes=5", &options)
	require.NoError(t, err)
	config, err := options.WebSocket()
	require.NoError(t, err)
	assert.Equal(t, 3, config.MaxClients)
	assert.Equal(t, []string{"a.example", "*"}, config.WebSocket.Origins)
	assert.Equal(t, flow.QueueConfig{Bytes: 5}, config.Queue)
	assert.Nil(t, config.TLS)
	for text, want := range map[string]error{
		"origins=": bridges.ErrConnectionString, "origins=a,[": bridges.ErrConnectionString, "cert=a.pem": bridges.ErrConnectionString,
		"key=a.pem": bridges.ErrConnectionString, "cert=&key=": bridges.ErrConnectionString, "cert=/none/a.pem&key=/none/b.pem": transport.ErrTLS,
	} {
		var options bridges.WebSocketOptions
		_, _, err := bridges.ReadOptions("?"+text, &options)
		if err == nil {
			_, err = options.WebSocket()
		}
		assert.ErrorIs(t, err, want, text)
	}
}

// fakeServer is a server that listens nowhere.
type fakeServer struct {
	refuses     error
	connections int64
	closing     func()
	closed      bool
	left        []string
}

func (f *fakeServer) Listen(string) error { return f.refuses }
func (f *fakeServer) Addr() net.Addr      { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7} }
func (f *fakeServer) Diagnosis() bridges.Diagnosis {
	return bridges.Diagnosis{Connections: f.connections}
}
func (f *fakeServer) Close(context.Context) error {
	if f.closing != nil {
		f.closing()
	}
	f.closed = true
	return nil
}

// crowd is a stream with so many subscribers.
type crowd int

func (c crowd) Subscribers() int { return int(c) }

type fakeTopic struct {
	bridges.Outlet[crowd]
	refuses error
}

func (f *fakeTopic) Open(context.Context, *fakeServer) error {
	if f.refuses == nil {
		f.SetStream(3)
	}
	return f.refuses
}

func (f *fakeTopic) Leave(s *fakeServer) { s.left = append(s.left, f.Info.Name) }

func newFakeTopic(name string) *fakeTopic {
	return &fakeTopic{Outlet: bridges.Outlet[crowd]{Info: &bridges.PublishedTopic{Topic: bridges.Topic{Name: name, Sensor: "cam"}}}}
}

func TestServerOpensTopicsWheneverTheyCome(t *testing.T) {
	var s bridges.Server[*fakeServer, *fakeTopic]
	early, late := newFakeTopic("/early"), newFakeTopic("/late")
	require.NoError(t, s.Add(early))
	assert.False(t, s.Listening("/early"), "nobody listens yet")
	assert.Nil(t, s.Endpoints())
	server := &fakeServer{}
	require.NoError(t, s.Serve(t.Context(), "", server))
	assert.Equal(t, flow.Connected, s.Status())
	require.NoError(t, s.Add(late))
	assert.Equal(t, 3, s.Receivers("/early"))
	assert.Equal(t, 3, s.Receivers("/late"))
	assert.Zero(t, s.Receivers("/other"))
	assert.Equal(t, []bridges.Endpoint{
		{Topic: "/early", Sensor: "cam", Address: "127.0.0.1:7"}, {Topic: "/late", Sensor: "cam", Address: "127.0.0.1:7"},
	}, s.Endpoints())

	refused := newFakeTopic("/refused")
	refused.refuses = errors.New("taken")
	require.ErrorIs(t, s.Add(refused), refused.refuses)
	_, known := s.Topic("/refused")
	assert.False(t, known, "it isn't added")
	assert.Equal(t, []*fakeTopic{early, late}, s.Topics())

	s.Withdraw(early.Info)
	s.Withdraw(early.Info) // changes nothing
	assert.Equal(t, []string{"/early"}, server.left)
	assert.Equal(t, []*fakeTopic{late}, s.Topics())
	_, known = s.Topic("/early")
	assert.False(t, known)
	require.NoError(t, s.Add(newFakeTopic("/early")), "the name is free")

	require.NoError(t, s.Disconnect(t.Context()))
	assert.Equal(t, flow.Disconnected, s.Status())
	assert.Zero(t, s.Receivers("/early"))
	_, connected := late.Stream()
	assert.False(t, connected)
}

func TestServerThatCannotListenIsClosed(t *testing.T) {
	var s bridges.Server[*fakeServer, *fakeTopic]
	require.NoError(t, s.Add(newFakeTopic("/a")))
	server := &fakeServer{refuses: transport.ErrListen}
	require.ErrorIs(t, s.Serve(t.Context(), "", server), transport.ErrListen)
	assert.Equal(t, flow.UnexpectedlyDisconnected, s.Status())
	assert.True(t, server.closed)
	assert.Zero(t, s.Receivers("/a"), "its streams are forgotten")
	require.NoError(t, s.Serve(t.Context(), "", &fakeServer{}), "the next one can")
	assert.Equal(t, 3, s.Receivers("/a"))
}

// What the connections of all servers come to never falls, also while one is being closed.
func TestServersAreDiagnosedTogether(t *testing.T) {
	var s bridges.Server[*fakeServer, *fakeTopic]
	for n := range int64(3) {
		server := &fakeServer{connections: 10}
		server.closing = func() {
			assert.Equal(t, flow.Disconnecting, s.Status())
			assert.Equal(t, 10*n+10, s.Diagnosis().Connections, "while it is being closed")
		}
		require.NoError(t, s.Serve(t.Context(), "", server))
		assert.Equal(t, 10*n+10, s.Diagnosis().Connections)
		require.NoError(t, s.Disconnect(t.Context()))
		assert.Equal(t, 10*n+10, s.Diagnosis().Connections)
	}
}
