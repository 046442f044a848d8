package transport_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/guard"
)

// dialogue is a protocol of the test's. The client says the name of a stream, and is sent its
// messages after the name's first letter; "echo TEXT" is answered with TEXT.
type dialogue struct {
	client  *transport.WebSocket
	streams map[string]*transport.Stream
	closed  func()
}

func (s *dialogue) Open() error { return s.client.Post(transport.OpText, []byte("hello")) }

func (s *dialogue) Message(kind transport.Opcode, data []byte) error {
	name := string(data)
	if text, ok := strings.CutPrefix(name, "echo "); ok {
		return s.client.Post(kind, []byte(text))
	}
	if name == "leave" {
		return fmt.Errorf("%w: leave", transport.ErrProtocol)
	}
	stream, ok := s.streams[name]
	if !ok {
		return errors.New("no stream " + name)
	}
	s.client.Subscribe(stream, kind, bytes.Clone(data[:1]), transport.Receiver{})
	return nil
}

func (s *dialogue) Beat() {}

func (s *dialogue) Closed() { s.closed() }

// serve returns a server with a stream of each name.
func serve(t testing.TB, config transport.Config, names ...string) (*transport.Server, map[string]*transport.Stream) {
	t.Helper()
	server, streams := serveUnheard(t, config, names...)
	require.NoError(t, server.Listen("127.0.0.1:0"))
	return server, streams
}

// serveUnheard is serve for a server that doesn't listen.
func serveUnheard(t testing.TB, config transport.Config, names ...string) (*transport.Server, map[string]*transport.Stream) {
	t.Helper()
	streams := map[string]*transport.Stream{}
	var open sync.WaitGroup
	if config.WebSocket == nil {
		config.WebSocket = &transport.WebSocketConfig{}
	}
	config.WebSocket.Accept = func(c *transport.WebSocket) transport.WebSocketSession {
		open.Add(1)
		return &dialogue{client: c, streams: streams, closed: open.Done}
	}
	server := transport.New(config)
	for _, name := range names {
		streams[name] = server.NewStream(transport.StreamConfig{Name: name})
	}
	t.Cleanup(func() {
		assert.NoError(t, server.Close(context.Background()))
		open.Wait() // each session was closed
		assert.Zero(t, server.Outstanding(), "buffers leaked")
	})
	return server, streams
}

func connect(t testing.TB, server *transport.Server, options *websocket.DialOptions) *websocket.Conn {
	t.Helper()
	conn, response, err := websocket.Dial(t.Context(), "ws://"+server.Addr().String(), options)
	require.NoError(t, err)
	if response.Body != nil {
		_ = response.Body.Close()
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(1 << 30)
	expect(t, conn, websocket.MessageText, "hello")
	return conn
}

func expect(t testing.TB, conn *websocket.Conn, kind websocket.MessageType, want string) {
	t.Helper()
	got, data, err := conn.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, kind, got)
	if len(want) > 1000 {
		require.True(t, want == string(data), "%d bytes, got %d others", len(want), len(data))
		return
	}
	require.Equal(t, want, string(data))
}

func say(t testing.TB, conn *websocket.Conn, kind websocket.MessageType, text string) {
	t.Helper()
	require.NoError(t, conn.Write(t.Context(), kind, []byte(text)))
}

func subscribed(t testing.TB, stream *transport.Stream, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return stream.Subscribers() == n }, 10*time.Second, time.Millisecond)
}

// Bodies of all lengths of the frame header (RFC 6455, section 5.2) reach clients with
// their own kind and prefix.
func TestMessagesOfAllLengths(t *testing.T) {
	server, streams := serve(t, transport.Config{}, "text", "data")
	words, data := connect(t, server, nil), connect(t, server, nil)
	say(t, words, websocket.MessageText, "text")
	say(t, data, websocket.MessageBinary, "text")
	subscribed(t, streams["text"], 2)
	for _, size := range []int{0, 1, 124, 125, 126, 1000, 1<<16 - 2, 1<<16 - 1, 1 << 16, 5 << 20} {
		body := strings.Repeat("x", size)
		text(t, streams["text"], body)
		expect(t, words, websocket.MessageText, "t"+body)
		expect(t, data, websocket.MessageBinary, "t"+body)
	}
	assert.EqualValues(t, 2, server.Diagnosis().Connections)
}

func TestAnswersOvertakeMessages(t *testing.T) {
	server, _ := serve(t, transport.Config{})
	conn := connect(t, server, nil)
	for _, size := range []int{0, 100, 1 << 20} {
		text := strings.Repeat("y", size)
		say(t, conn, websocket.MessageBinary, "echo "+text)
		expect(t, conn, websocket.MessageBinary, text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	pinging := conn.CloseRead(ctx)
	require.NoError(t, conn.Ping(pinging), "pings are answered")
}

func TestSubprotocolsAreAgreedOn(t *testing.T) {
	server, _ := serve(t, transport.Config{WebSocket: &transport.WebSocketConfig{Name: "the bridge", Subprotocols: []string{"new.v2", "old.v1"}}})
	for _, c := range []struct {
		offered []string
		agreed  string
	}{
		{[]string{"old.v1"}, "old.v1"},
		{[]string{"other", "new.v2"}, "new.v2"},
		{[]string{"old.v1", "new.v2"}, "new.v2"},
	} {
		conn := connect(t, server, &websocket.DialOptions{Subprotocols: c.offered})
		assert.Equal(t, c.agreed, conn.Subprotocol(), "%v", c.offered)
	}
	for _, offered := range [][]string{nil, {"other"}} {
		_, response, err := websocket.Dial(t.Context(), "ws://"+server.Addr().String(), &websocket.DialOptions{Subprotocols: offered})
		require.Error(t, err)
		assert.Equal(t, http.StatusBadRequest, response.StatusCode)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		assert.Contains(t, string(body), "offers the subprotocol new.v2 or old.v1")
		_ = response.Body.Close()
	}
	require.Eventually(t, func() bool { return server.Diagnosis().Failures == 2 }, 10*time.Second, time.Millisecond)
	d := server.Diagnosis()
	assert.EqualValues(t, 3, d.Connections)
	assert.ErrorIs(t, d.LastError, transport.ErrProtocol)
}

func TestVisitorsAreToldWhatThisIs(t *testing.T) {
	server, _ := serve(t, transport.Config{WebSocket: &transport.WebSocketConfig{Name: "the bridge", Subprotocols: []string{"v1"}}})
	response, err := http.Get("http://" + server.Addr().String() + "/")
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, http.StatusUpgradeRequired, response.StatusCode)
	assert.Equal(t, "the bridge speaks WebSocket here: connect with a WebSocket client that offers the subprotocol v1\n", string(body))
	assert.Zero(t, server.Diagnosis().Failures)
}

// TestOrigins: pages of this machine and of Foxglove may connect, and programs; others only if
// they are named, or if all are let in. Hosts that may have been made to lead here are refused.
func TestOrigins(t *testing.T) {
	const foxglove, evil = "https://app.foxglove.dev", "https://evil.example"
	for name, c := range map[string]struct {
		origins []string
		welcome map[string]bool // by origin, and by " " and a host
	}{
		"as it is": {nil, map[string]bool{
			"": true, "http://localhost:8080": true, "http://127.0.0.1": true, foxglove: true, "file://": true,
			evil: false, "null": false, "%": false, "http://192.0.2.7": false,
			" localhost:8765": true, " 192.0.2.7": true, " evil.example": false, "http://localhost evil.example": false,
			"http://evil.example:1 evil.example:1": false, // a page whose name leads here now
		}},
		"named": {[]string{"viewer.example", "https://*.only.example", "null"}, map[string]bool{
			"https://viewer.example": true, "http://VIEWER.example": true, "https://a.only.example": true, "null": true, foxglove: true,
			"http://a.only.example": false, evil: false, "https://viewer.example.evil.example": false, "https://viewer.example:444": false,
		}},
		"all": {[]string{"*"}, map[string]bool{evil: true, "null": true, "": true, "http://evil.example evil.example": true}},
	} {
		t.Run(name, func(t *testing.T) {
			server, _ := serve(t, transport.Config{WebSocket: &transport.WebSocketConfig{Origins: c.origins}})
			refused := 0
			for asked, welcome := range c.welcome {
				origin, host, _ := strings.Cut(asked, " ")
				options := &websocket.DialOptions{Host: host, HTTPHeader: http.Header{}}
				if origin != "" {
					options.HTTPHeader.Set("Origin", origin)
				}
				conn, response, err := websocket.Dial(t.Context(), "ws://"+server.Addr().String(), options) //nolint:bodyclose // the library has it
				if welcome {
					require.NoError(t, err, asked)
					expect(t, conn, websocket.MessageText, "hello") // unread, it would make a reset of the end
					require.NoError(t, conn.CloseNow())
					continue
				}
				refused++
				require.Error(t, err, asked)
				assert.Equal(t, http.StatusForbidden, response.StatusCode, asked)
				text, err := io.ReadAll(response.Body)
				require.NoError(t, err)
				assert.Contains(t, string(text), "in origins=", asked)
			}
			// A client is counted when its connection ends, after it has its answer.
			require.Eventually(t, func() bool { return server.Diagnosis().Failures == int64(refused) }, 10*time.Second, time.Millisecond)
			d := server.Diagnosis()
			assert.EqualValues(t, refused, d.Refused["bad_origin"]+d.Refused["bad_host"], "%v", d.Refused)
		})
	}
}

// TestSilentSocketsLockNobodyOut: connections that say nothing aren't clients, however many there
// are, and end after their time.
func TestSilentSocketsLockNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := serveUnheard(t, transport.Config{MaxClients: 1})
		var silent []net.Conn
		for i := range 100 {
			ours, theirs := net.Pipe()
			server.Admit(theirs)
			silent = append(silent, ours)
			if i%2 == 0 {
				_, _ = io.WriteString(ours, upgrade[:i]) // or it has ended
			}
		}
		client := admit(t, server, true)
		synctest.Wait()
		assert.Len(t, server.Clients(), 1)
		time.Sleep(guard.HandshakeTime)
		synctest.Wait()
		for _, conn := range silent {
			_, err := io.ReadAll(conn)
			assert.NoError(t, err, "it has ended")
		}
		assert.Len(t, server.Clients(), 1)
		// The client's handshake was one too many as well.
		assert.Equal(t, map[string]int64{"too_many_handshakes": 101 - guard.Handshakes, "slow_handshake": guard.Handshakes - 1}, server.Diagnosis().Refused)
		_ = client.Close()
		require.NoError(t, server.Close(context.Background()))
	})
}

func TestMalformedMessagesAreCounted(t *testing.T) {
	server, _ := serve(t, transport.Config{})
	conn := connect(t, server, nil)
	say(t, conn, websocket.MessageText, "nothing of this name")
	say(t, conn, websocket.MessageText, "echo still here")
	expect(t, conn, websocket.MessageText, "still here")
	d := server.Diagnosis()
	assert.EqualValues(t, 1, d.Malformed)
	assert.ErrorContains(t, d.LastError, "no stream nothing of this name")
	assert.Zero(t, d.Failures)
}

func TestBrokenClientsAreToldWhy(t *testing.T) {
	for name, c := range map[string]struct {
		send func(t *testing.T, conn *websocket.Conn)
		code websocket.StatusCode
		is   error
	}{
		"the session's refusal": {
			func(t *testing.T, conn *websocket.Conn) { say(t, conn, websocket.MessageText, "leave") },
			websocket.StatusProtocolError, transport.ErrProtocol,
		},
		"too large": {
			func(t *testing.T, conn *websocket.Conn) {
				_ = conn.Write(t.Context(), websocket.MessageBinary, make([]byte, 2000)) // the server may end first
			},
			websocket.StatusMessageTooBig, flow.ErrTooLarge,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server, _ := serve(t, transport.Config{WebSocket: &transport.WebSocketConfig{ReadLimit: 1000}})
			conn := connect(t, server, nil)
			c.send(t, conn)
			_, _, err := conn.Read(t.Context())
			assert.Equal(t, c.code, websocket.CloseStatus(err), "%v", err)
			require.Eventually(t, func() bool { return server.Diagnosis().Failures == 1 }, 10*time.Second, time.Millisecond)
			assert.ErrorIs(t, server.Diagnosis().LastError, c.is)
		})
	}
}

// raw connects without a WebSocket library and sends the request.
func raw(t testing.TB, server *transport.Server) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	require.NoError(t, err)
	in := bufio.NewReader(conn)
	response, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	// The key and the answer of RFC 6455, section 1.3.
	require.Equal(t, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", response.Header.Get("Sec-WebSocket-Accept"))
	hello := make([]byte, 7)
	_, err = io.ReadFull(in, hello)
	require.NoError(t, err)
	require.Equal(t, "\x81\x05hello", string(hello))
	return conn, in
}

// A message whose client goes in the middle of it isn't handed on.
func TestHalfAMessageIsNone(t *testing.T) {
	server, streams := serve(t, transport.Config{}, "text")
	conn, _ := raw(t, server)
	_, err := conn.Write([]byte("\x01\x84\x00\x00\x00\x00text")) // another frame of the message is to follow
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.Eventually(t, func() bool { return len(server.Clients()) == 0 }, 10*time.Second, time.Millisecond)
	told := server.Diagnosis()
	assert.Zero(t, told.Failures+told.Malformed, "%v", told.LastError)
	assert.Zero(t, streams["text"].Subscribers())
}

func TestFramesThatBreakTheProtocol(t *testing.T) {
	for name, frame := range map[string]string{
		"unmasked":        "\x81\x02hi",
		"reserved bits":   "\xf1\x80\x00\x00\x00\x00",
		"unknown opcode":  "\x83\x80\x00\x00\x00\x00",
		"long control":    "\x89\xfe\x00\x7e\x00\x00\x00\x00" + strings.Repeat("x", 126),
		"no continuation": "\x80\x80\x00\x00\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			server, _ := serve(t, transport.Config{})
			conn, in := raw(t, server)
			_, err := io.WriteString(conn, frame)
			require.NoError(t, err)
			head := make([]byte, 4)
			_, err = io.ReadFull(in, head)
			require.NoError(t, err)
			assert.Equal(t, byte(0x88), head[0], "a close frame")
			assert.Equal(t, "\x03\xea", string(head[2:]), "1002: protocol error")
			_, err = io.ReadAll(in)
			assert.NoError(t, err, "and the end")
			require.Eventually(t, func() bool { return server.Diagnosis().Failures == 1 }, 10*time.Second, time.Millisecond)
			assert.ErrorIs(t, server.Diagnosis().LastError, transport.ErrProtocol)
		})
	}
}

func TestRubbishInsteadOfAHandshake(t *testing.T) {
	server, _ := serve(t, transport.Config{})
	for _, rubbish := range []string{"\x16\x03\x01\x02\x00", "hello\r\n\r\n", "GET / HTTP/1.1\r\nX: " + strings.Repeat("a", 100_000)} {
		conn, err := net.Dial("tcp", server.Addr().String())
		require.NoError(t, err)
		_, _ = io.WriteString(conn, rubbish)
		require.NoError(t, conn.(*net.TCPConn).CloseWrite())
		_, _ = io.ReadAll(conn) // until the server ends it
		_ = conn.Close()
	}
	require.Eventually(t, func() bool { return server.Diagnosis().Failures == 3 }, 10*time.Second, time.Millisecond)
	assert.ErrorIs(t, server.Diagnosis().LastError, transport.ErrProtocol)
	connect(t, server, nil)
}

func TestTooManyClients(t *testing.T) {
	server, _ := serve(t, transport.Config{MaxClients: 1})
	first := connect(t, server, nil)
	_, response, err := websocket.Dial(t.Context(), "ws://"+server.Addr().String(), nil)
	require.Error(t, err)
	assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	_ = response.Body.Close()
	require.Eventually(t, func() bool { return server.Diagnosis().Failures == 1 }, 10*time.Second, time.Millisecond)
	assert.Equal(t, map[string]int64{"too_many_connections": 1}, server.Diagnosis().Refused)
	say(t, first, websocket.MessageText, "echo here")
	expect(t, first, websocket.MessageText, "here")
}

// Clients whose handshake isn't over can't be told: Close ends them with its context.
func TestCloseEndsHandshakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := serveUnheard(t, transport.Config{})
		ours, theirs := net.Pipe()
		server.Admit(theirs)
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.NoError(t, server.Close(ctx))
		assert.LessOrEqual(t, time.Since(begun), time.Second)
		_, err := ours.Read(make([]byte, 1))
		assert.ErrorIs(t, err, io.EOF)
	})
}

func TestCloseSaysGoodbye(t *testing.T) {
	server, streams := serve(t, transport.Config{}, "a")
	conn := connect(t, server, nil)
	say(t, conn, websocket.MessageText, "a")
	subscribed(t, streams["a"], 1)
	text(t, streams["a"], "last")
	closed := make(chan error)
	go func() { closed <- server.Close(context.Background()) }()
	expect(t, conn, websocket.MessageText, "alast")
	_, _, err := conn.Read(t.Context())
	assert.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(err))
	require.NoError(t, <-closed)
	assert.Zero(t, server.Diagnosis().Failures)
}

func TestPortInUse(t *testing.T) {
	server, _ := serve(t, transport.Config{})
	other := transport.New(transport.Config{WebSocket: &transport.WebSocketConfig{}})
	err := other.Listen(server.Addr().String())
	assert.ErrorIs(t, err, transport.ErrListen)
	assert.ErrorContains(t, err, "end the program that has it, or choose another port")
	require.NoError(t, other.Close(t.Context()))
}

func TestTLS(t *testing.T) {
	// httptest has a certificate for 127.0.0.1.
	cert := httptest.NewUnstartedServer(nil)
	cert.StartTLS()
	defer cert.Close()
	server, streams := serve(t, transport.Config{TLS: &tls.Config{Certificates: cert.TLS.Certificates}}, "a")
	roots := x509.NewCertPool()
	roots.AddCert(cert.Certificate())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	conn, _, err := websocket.Dial(t.Context(), "wss://"+server.Addr().String(), &websocket.DialOptions{HTTPClient: client}) //nolint:bodyclose // it is the connection
	require.NoError(t, err)
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(1 << 30)
	expect(t, conn, websocket.MessageText, "hello")
	say(t, conn, websocket.MessageText, "a")
	subscribed(t, streams["a"], 1)
	body := strings.Repeat("s", 3<<20)
	text(t, streams["a"], body)
	expect(t, conn, websocket.MessageText, "a"+body)
	_, response, err := websocket.Dial(t.Context(), "ws://"+server.Addr().String(), nil) //nolint:bodyclose // the library has it
	require.Error(t, err, "not encrypted")
	require.NotNil(t, response)
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Contains(t, string(answer), "connect with wss://")
	failedTLS(t, server, "connect with wss://")
}

// failedTLS waits until a client has failed with TLS.
func failedTLS(t *testing.T, server *transport.Server, says string) {
	t.Helper()
	require.Eventually(t, func() bool { return server.Diagnosis().Failures == 1 }, 10*time.Second, time.Millisecond)
	require.ErrorIs(t, server.Diagnosis().LastError, transport.ErrTLS)
	assert.ErrorContains(t, server.Diagnosis().LastError, says)
}

func TestClientsOfTLSAreToldThatThereIsNone(t *testing.T) {
	server, _ := serve(t, transport.Config{})
	_, err := tls.Dial("tcp", server.Addr().String(), &tls.Config{MinVersion: tls.VersionTLS12})
	var plain tls.RecordHeaderError
	require.ErrorAs(t, err, &plain, "an answer that isn't TLS")
	assert.Equal(t, "HTTP/", string(plain.RecordHeader[:]))
	failedTLS(t, server, "connect with ws://")
}

// A client that takes nothing is disconnected, and another misses nothing meanwhile.
func TestStalledClientsAreDisconnected(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	server, streams := serve(t, transport.Config{Stall: 500 * time.Millisecond, Queue: flow.QueueConfig{Messages: 4, Bytes: 8 << 20}}, "a")
	stalled, _ := raw(t, server)
	_, err := io.WriteString(stalled, "\x82\x81\x00\x00\x00\x00a")
	require.NoError(t, err)
	conn := connect(t, server, nil)
	say(t, conn, websocket.MessageBinary, "a")
	subscribed(t, streams["a"], 2)
	body := strings.Repeat("z", 1<<20)
	for n := 0; streams["a"].Subscribers() == 2; n++ {
		require.Less(t, n, 100_000)
		text(t, streams["a"], body)
		expect(t, conn, websocket.MessageBinary, "a"+body)
	}
	require.Eventually(t, func() bool { return server.Diagnosis().Failures == 1 }, 10*time.Second, time.Millisecond)
	assert.ErrorIs(t, server.Diagnosis().LastError, flow.ErrPeerSlow)
}

// A client that is sent nothing is pinged and stays while it answers.
func TestSilentClientsAreDisconnected(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	server, _ := serve(t, transport.Config{WebSocket: &transport.WebSocketConfig{Idle: time.Millisecond, Patience: 2 * time.Second}})
	answers := connect(t, server, nil)
	gone := answers.CloseRead(t.Context())
	silent, in := raw(t, server)
	ping := make([]byte, 2)
	_, err := io.ReadFull(in, ping)
	require.NoError(t, err)
	assert.Equal(t, "\x89\x00", string(ping))
	_, err = io.ReadAll(in)
	assert.NoError(t, err, "the end")
	_ = silent.Close()
	require.Eventually(t, func() bool { return len(server.Clients()) == 1 }, 10*time.Second, time.Millisecond)
	assert.NoError(t, gone.Err())
	assert.ErrorIs(t, server.Diagnosis().LastError, flow.ErrPeerSlow)
}

// A client that asks and never reads the answers is disconnected before they fill the memory.
func TestUnreadAnswersAreBounded(t *testing.T) {
	server, _ := serve(t, transport.Config{MaxControl: 1 << 20})
	conn, _ := raw(t, server)
	text := "echo " + strings.Repeat("x", 60_000)
	frame := append([]byte{0x82, 0xfe, byte(len(text) >> 8), byte(len(text)), 0, 0, 0, 0}, text...)
	for {
		if _, err := conn.Write(frame); err != nil {
			break
		}
	}
	require.Eventually(t, func() bool { return server.Diagnosis().Failures == 1 }, 10*time.Second, time.Millisecond)
	assert.ErrorIs(t, server.Diagnosis().LastError, transport.ErrControl)
}

// upgrade is a request that is let in.
var upgrade = bridgetest.Upgrade("")

// TestClientsThatGoLeaveNothing: a thousand clients send 64 kB and go without a close frame,
// each in its way. Nothing of them stays.
func TestClientsThatGoLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, leave := range map[string]func(*testing.T, *net.TCPConn){
		"by FIN": nil,
		"by RST": bridgetest.Reset,
		"half way in a frame": func(t *testing.T, c *net.TCPConn) {
			_, err := c.Write([]byte{0x82, 0xff})
			assert.NoError(t, err)
		},
		"in silence": bridgetest.AwaitEnd,
		"in silence, half way in a ping": func(t *testing.T, c *net.TCPConn) {
			_, _ = c.Write([]byte{0x89, 0x85, 0, 0, 0, 0, 'x'}) // the server may have ended it
			bridgetest.AwaitEnd(t, c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := transport.Config{MaxClients: 1000, Beat: 50 * time.Millisecond}
			if strings.Contains(name, "silence") {
				config.WebSocket = &transport.WebSocketConfig{Idle: 500 * time.Millisecond, Patience: time.Second}
			}
			server, _ := serve(t, config)
			said := bridgetest.AppendFrame([]byte(upgrade), 2, strings.Repeat("x", 64<<10))
			said = bridgetest.AppendFrame(said, 1, "echo done")
			bridgetest.Visits{Address: server.Addr().String(), Said: said, Until: "done", Leave: leave}.Run(t)
			assert.EqualValues(t, 1000, server.Diagnosis().Connections)
			assert.Empty(t, server.Clients())
		})
	}
}

// TestAStoppedServerKeepsItsClients: this process is stopped for a minute while it waits for the answer to a
// ping, which has 10 s more then.
func TestAStoppedServerKeepsItsClients(t *testing.T) {
	for name, answer := range map[string]bool{"it answers": true, "it is silent": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, _ := serveUnheard(t, transport.Config{})
				ours, theirs := net.Pipe()
				pings := &atomic.Int64{}
				server.Admit(&stoppedAt{Conn: theirs, pings: pings})
				go func() { _, _ = io.WriteString(ours, upgrade) }()
				in := bufio.NewReader(ours)
				response, err := http.ReadResponse(in, nil)
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
				go func() { _, _ = io.Copy(io.Discard, in) }()
				time.Sleep(10500 * time.Millisecond)
				require.EqualValues(t, 1, pings.Load())
				time.Sleep(66 * time.Second)
				synctest.Wait()
				require.Len(t, server.Clients(), 1)
				if answer {
					_, err := ours.Write(bridgetest.AppendFrame(nil, 0xa, ""))
					require.NoError(t, err)
				}
				time.Sleep(8 * time.Second)
				synctest.Wait()
				assert.Equal(t, answer, len(server.Clients()) == 1)
				_ = ours.Close()
				require.NoError(t, server.Close(context.Background()))
			})
		})
	}
}

// stoppedAt is a connection of a process that is stopped for a minute once it has written a ping.
type stoppedAt struct {
	net.Conn
	pings *atomic.Int64
}

func (s *stoppedAt) Write(b []byte) (int, error) {
	n, err := s.Conn.Write(b)
	if b[0] == 0x89 && s.pings.Add(1) == 1 {
		time.Sleep(time.Minute)
	}
	return n, err
}

// piped is a client over a pipe whose hands are shaken. What it is sent is read and counted.
type piped struct {
	net.Conn
	pings, messages atomic.Int64
	ended           atomic.Int64 // UNIX time, ns; 0 while it isn't
}

func admit(t *testing.T, server *transport.Server, answer bool) *piped {
	t.Helper()
	ours, theirs := net.Pipe()
	server.Admit(theirs)
	go func() { _, _ = io.WriteString(ours, upgrade) }()
	in := bufio.NewReader(ours)
	response, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	p := &piped{Conn: ours}
	go func() {
		defer func() { p.ended.Store(time.Now().UnixNano()) }()
		for {
			head, err := in.Peek(2)
			if err != nil {
				return
			}
			if _, err := io.CopyN(io.Discard, in, 2+int64(head[1])); err != nil {
				return
			}
			if head[0] != 0x89 {
				p.messages.Add(1)
				continue
			}
			p.pings.Add(1)
			if answer {
				if _, err := ours.Write(bridgetest.AppendFrame(nil, 0xa, "")); err != nil {
					return
				}
			}
		}
	}()
	return p
}

// TestSilentClientsAreCutWhileDataFlows: they are pinged every 10 s, and cut when nothing has
// come for 20 s. Any frame is a sign of life.
func TestSilentClientsAreCutWhileDataFlows(t *testing.T) {
	for name, c := range map[string]struct {
		pongs bool
		says  []byte // every 15 s
		stays bool
	}{
		"silent":         {},
		"answers pings":  {pongs: true, stays: true},
		"sends messages": {says: bridgetest.AppendFrame(nil, 1, "nothing of this name"), stays: true},
		"sends pings":    {says: bridgetest.AppendFrame(nil, 9, "x"), stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, streams := serveUnheard(t, transport.Config{}, "a")
				begun := time.Now()
				client := admit(t, server, c.pongs)
				_, err := client.Write(bridgetest.AppendFrame(nil, 2, "a"))
				require.NoError(t, err)
				synctest.Wait()
				for k := range 4 * 60 { // a message each 250 ms
					time.Sleep(250 * time.Millisecond)
					if streams["a"].Subscribers() > 0 {
						text(t, streams["a"], "data")
					}
					if c.says != nil && k%60 == 59 {
						_, err := client.Write(c.says)
						require.NoError(t, err)
					}
				}
				synctest.Wait()
				if c.stays {
					assert.Len(t, server.Clients(), 1)
					assert.InDelta(t, 6, client.pings.Load(), 1, "one each 10 s")
					assert.GreaterOrEqual(t, client.messages.Load(), int64(240))
				} else {
					assert.Empty(t, server.Clients())
					assert.InDelta(t, 20, time.Unix(0, client.ended.Load()).Sub(begun).Seconds(), 1.5)
					assert.EqualValues(t, 1, client.pings.Load())
					assert.ErrorIs(t, server.Diagnosis().LastError, flow.ErrPeerSlow)
					assert.ErrorContains(t, server.Diagnosis().LastError, "silent for 20s")
				}
				_ = client.Close()
				require.NoError(t, server.Close(context.Background()))
				assert.Zero(t, server.Outstanding())
			})
		})
	}
}

// TestAServerThatEndsDoesntWaitForAHandshake, nor for one that has just been made: what ends
// the connection isn't taken back.
func TestAServerThatEndsDoesntWaitForAHandshake(t *testing.T) {
	for name, said := range map[string]string{"nothing": "", "half a request": upgrade[:20], "a request": upgrade} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, _ := serveUnheard(t, transport.Config{})
				ours, theirs := net.Pipe()
				defer ours.Close()
				server.Admit(theirs)
				go func() { _, _ = io.WriteString(ours, said) }()
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				require.NoError(t, server.Close(ctx))
			})
		})
	}
}

// FuzzHandshake gives a server bytes in the place of a request and of what follows it. The
// server answers by HTTP or not at all, and serves the next client.
func FuzzHandshake(f *testing.F) {
	const upgrade = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: a, test.v1\r\nOrigin: https://x\r\n\r\n"
	for _, seed := range []string{
		"", "\x16\x03\x01\x02\x00", "GET / HTTP/1.1\r\n\r\n", "POST / HTTP/1.0\r\nContent-Length: 99\r\n\r\nx",
		upgrade, upgrade + "\x81\x86\x00\x00\x00\x00echo a", upgrade + "\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff", upgrade + "\x88\x80\x00\x00\x00\x00",
	} {
		f.Add([]byte(seed))
	}
	server, _ := serve(f, transport.Config{WebSocket: &transport.WebSocketConfig{Subprotocols: []string{"test.v1"}}})
	f.Fuzz(func(t *testing.T, data []byte) {
		conn, err := net.Dial("tcp", server.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		_, _ = conn.Write(data)                              // the server may have ended it
		_ = conn.(*net.TCPConn).CloseWrite()                 // likewise
		answer, _ := io.ReadAll(io.LimitReader(conn, 1<<20)) // likewise
		assert.True(t, len(answer) == 0 || bytes.HasPrefix(answer, []byte("HTTP/1.1 ")), "%q", answer)
		client := connect(t, server, &websocket.DialOptions{Subprotocols: []string{"test.v1"}})
		say(t, client, websocket.MessageText, "echo here")
		expect(t, client, websocket.MessageText, "here")
		require.NoError(t, client.CloseNow())
	})
}

// TestHeaders: the examples of RFC 6455, section 5.7, and the lengths' bounds.
func TestHeaders(t *testing.T) {
	assert.Equal(t, []byte{0x81, 0x05}, transport.AppendHeader(nil, transport.OpText, 5), `"Hello"`)
	assert.Equal(t, []byte{0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d}, transport.AppendMasked(nil, transport.OpText, 5, transport.MaskKey{0x37, 0xfa, 0x21, 0x3d}))
	assert.Equal(t, []byte{0x82, 0x7e, 0x01, 0x00}, transport.AppendHeader(nil, transport.OpBinary, 256))
	assert.Equal(t, []byte{0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0}, transport.AppendHeader(nil, transport.OpBinary, 65536))
	for size, want := range map[int]int{0: 2, 125: 2, 126: 4, 65535: 4, 65536: transport.MaxHeader} {
		assert.Len(t, transport.AppendHeader(nil, transport.OpPing, size), want, "%d bytes", size)
		assert.Len(t, transport.AppendMasked(nil, transport.OpPing, size, transport.MaskKey{}), want+4, "%d bytes", size)
	}
	assert.Equal(t, []byte("ab\x88\x00"), transport.AppendHeader([]byte("ab"), transport.OpClose, 0), "appended")
}

func TestIsClose(t *testing.T) {
	assert.True(t, transport.IsClose(transport.AppendHeader(nil, transport.OpClose, 2)))
	for _, frame := range [][]byte{nil, {0x08}, transport.AppendHeader(nil, transport.OpPing, 0)} {
		assert.False(t, transport.IsClose(frame), "%x", frame)
	}
	assert.False(t, transport.IsClose(bytes.Repeat([]byte{1}, 9)))
}
