package rosbridgev2_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/bridges/internal/rosbridgev2"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
)

const (
	patience = 30 * time.Second
	tick     = 5 * time.Millisecond
)

// number is a message {"x": n}.
type number byte

func (n number) AppendAs(dst []byte, config *rosbridgev2.Config) (out []byte, altered bool, err error) {
	if config.Form == rosbridgev2.BSON {
		return append(dst, 12, 0, 0, 0, 0x10, 'x', 0, byte(n), 0, 0, 0, 0), false, nil
	}
	return fmt.Appendf(dst, `{"x":%d}`, n), false, nil
}

func server(t *testing.T, config peers.RosbridgeConfig) *peers.Rosbridge {
	t.Helper()
	s := peers.NewRosbridge(config)
	require.NoError(t, s.Start())
	t.Cleanup(s.Kill)
	return s
}

// connect returns a connected client.
func connect(t *testing.T, s *peers.Rosbridge, options map[string]string) *rosbridgev2.Client {
	t.Helper()
	c := new(rosbridgev2.Client)
	dial(t, c, s.Addr(), options)
	require.Eventually(t, func() bool { return c.Status() == flow.Connected }, patience, tick)
	return c
}

// parse reads a connection string with options.
func parse(target string, options map[string]string) (rosbridgev2.Config, error) {
	values := url.Values{}
	for key, text := range options {
		values.Set(key, text)
	}
	var o rosbridgev2.Options
	if _, _, err := bridges.ReadOptions("?"+values.Encode(), &o); err != nil {
		return rosbridgev2.Config{}, err
	}
	return o.Config(target)
}

func dial(t *testing.T, c *rosbridgev2.Client, target string, options map[string]string) {
	t.Helper()
	config, err := parse(target, options)
	require.NoError(t, err)
	config.Retry.Interval = 20 * time.Millisecond
	config.ROS = ros.ROS1
	require.NoError(t, c.Connect(t.Context(), config))
	t.Cleanup(func() { assert.NoError(t, c.Disconnect(context.Background())) })
}

func TestRegistrationsAreReplayed(t *testing.T) {
	for _, bson := range []bool{false, true} {
		s := server(t, peers.RosbridgeConfig{BSONOnly: bson})
		c := new(rosbridgev2.Client)
		early := c.Advertise(&bridges.PublishedTopic{Topic: bridges.Topic{Name: "/early"}}, "a/msg/B")
		assert.ErrorIs(t, early.Send(t.Context(), number(0)), flow.ErrNotConnected)
		got := make(chan string, 10)
		require.NoError(t, c.Subscribe(&rosbridgev2.Subscription{
			Topic: "/in", Type: "a/msg/C",
			Receive: func(_ *rosbridgev2.Config, form rosbridgev2.Form, message []byte) error {
				got <- fmt.Sprint(form, len(message))
				return nil
			},
		}))
		assert.ErrorIs(t, c.Subscribe(&rosbridgev2.Subscription{Topic: "/in"}), bridges.ErrDuplicate)
		dial(t, c, s.Addr(), map[string]string{"bson": map[bool]string{true: "1", false: "0"}[bson]})
		late := c.Advertise(&bridges.PublishedTopic{Topic: bridges.Topic{Name: "/late"}}, "a/msg/D")
		for round := range 2 {
			require.Eventually(t, func() bool { return len(s.Advertised()) == 2 && len(s.Subscribed()) == 1 }, patience, tick)
			assert.Equal(t, map[string]string{"/early": "a/B", "/late": "a/D"}, s.Advertised())
			require.NoError(t, early.Send(t.Context(), number(round)))
			require.NoError(t, late.Send(t.Context(), number(round)))
			require.Eventually(t, func() bool { return s.Received()["/early"] == round+1 && s.Received()["/late"] == round+1 }, patience, tick)
			assert.Equal(t, 1, s.Publish("/in", peers.Outgoing{Values: map[string]any{"x": 1}}))
			assert.Contains(t, []string{"0 7", "1 16", "2 4"}, <-got, "JSON's, BSON's or CBOR's {x: 1}")
			if round == 0 {
				s.Kill()
				require.Eventually(t, func() bool { return c.Status() == flow.UnexpectedlyDisconnected }, patience, tick)
				require.NoError(t, s.Start())
			}
		}
		assert.EqualValues(t, 1, asInt(t, s.Messages("/late")[1].Values["x"]))
		require.NoError(t, c.Disconnect(t.Context()))
		assert.Equal(t, flow.Disconnected, c.Status())
		assert.Empty(t, s.Statuses())
	}
}

func asInt(t *testing.T, v any) int {
	t.Helper()
	switch v := v.(type) {
	case int32:
		return int(v)
	case interface{ Int64() (int64, error) }:
		n, err := v.Int64()
		require.NoError(t, err)
		return int(n)
	}
	require.Fail(t, "no number", "%T", v)
	return 0
}

// A handler that waits stops neither the reader nor other services; calls beyond what
// waits are refused.
func TestServicesAreAnsweredBesides(t *testing.T) {
	s := server(t, peers.RosbridgeConfig{})
	c := connect(t, s, nil)
	gate := make(chan struct{})
	c.Offer(rosbridgev2.Service{Name: "/slow", Type: "std_srvs/srv/Empty", Answer: func(ctx context.Context, _ rosbridgev2.Form, _ []byte) ([]byte, error) {
		select {
		case <-gate:
			return []byte("{}"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}})
	c.Offer(rosbridgev2.Service{Name: "/fails", Type: "std_srvs/srv/Trigger", Answer: func(context.Context, rosbridgev2.Form, []byte) ([]byte, error) {
		return nil, errors.New("no lamp")
	}})
	require.Eventually(t, func() bool { return len(s.Services()) == 2 }, patience, tick)
	assert.Equal(t, map[string]string{"/slow": "std_srvs/Empty", "/fails": "std_srvs/Trigger"}, s.Services())

	var wg sync.WaitGroup
	results := make(chan peers.Response, 40)
	for range 40 {
		wg.Go(func() {
			r, err := s.Call(t.Context(), "/slow", nil)
			assert.NoError(t, err)
			results <- r
		})
	}
	for range 20 { // 17 wait or are being answered
		r := <-results
		assert.False(t, r.Result)
		assert.Contains(t, r.Reason, "16 calls")
	}
	r, err := s.Call(t.Context(), "/fails", map[string]any{})
	require.NoError(t, err)
	assert.Equal(t, peers.Response{Reason: "no lamp"}, r)
	close(gate)
	wg.Wait()
	close(results)
	var served int
	for r := range results {
		if r.Result {
			served++
		}
	}
	assert.GreaterOrEqual(t, served, 16)
	assert.GreaterOrEqual(t, c.Diagnosis().Malformed, int64(20), "refused calls are counted")
}

func TestWhatServersSay(t *testing.T) {
	s := server(t, peers.RosbridgeConfig{NoTypes: []string{"x/Y"}})
	c := connect(t, s, map[string]string{"subscribe": "json"})
	var got []byte
	var mu sync.Mutex
	require.NoError(t, c.Subscribe(&rosbridgev2.Subscription{
		Topic: "/in", Type: "a/msg/C",
		Receive: func(_ *rosbridgev2.Config, _ rosbridgev2.Form, message []byte) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, message...)
			return nil
		},
	}))
	require.Eventually(t, func() bool { return len(s.Subscribed()) == 1 }, patience, tick)
	s.SendFragments([]byte(`{"op":"publish","topic":"/in","msg":{"text":"in many small parts"}}`), 7)
	require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return got != nil }, patience, tick)
	assert.Equal(t, `{"text":"in many small parts"}`, string(got))
	s.SendStatus("warning", "nothing much")
	assert.Zero(t, c.Diagnosis().Malformed)

	malformed := int64(0)
	for name, frame := range map[string]string{
		"not subscribed": `{"op":"publish","topic":"/other","msg":{}}`, "no message": `{"op":"publish","topic":"/in"}`,
		"no JSON": "}", "unknown": `{"op":"dance"}`, "fragments in fragments": `{"op":"fragment","id":"a","num":0,"total":1,"data":"{\"op\":\"fragment\"}"}`,
		"bad fragment": `{"op":"fragment","num":0,"total":1,"data":"x"}`,
	} {
		s.SendFrame(false, []byte(frame))
		malformed++
		require.Eventually(t, func() bool { return c.Diagnosis().Malformed == malformed }, patience, tick, name)
	}
	c.Advertise(&bridges.PublishedTopic{Topic: bridges.Topic{Name: "/y"}}, "x/msg/Y")
	require.Eventually(t, func() bool { return c.Diagnosis().Complaints == 1 }, patience, tick, "the server doesn't know the type")
	require.ErrorIs(t, c.Diagnosis().LastError, transport.ErrComplaint)
	assert.ErrorContains(t, c.Diagnosis().LastError, "no message type")
	assert.Equal(t, malformed, c.Diagnosis().Malformed, "it could be read")
	assert.Equal(t, flow.Connected, c.Status(), "nothing of that ends the connection")
	assert.EqualValues(t, 1, c.Diagnosis().Connections)
}

// failure returns the error of the first failed attempt.
func failure(t *testing.T, c *rosbridgev2.Client) error {
	t.Helper()
	require.Eventually(t, func() bool { return c.Diagnosis().Failures > 0 }, patience, tick)
	return c.Diagnosis().LastError
}

func TestServersThatAreNone(t *testing.T) {
	s := server(t, peers.RosbridgeConfig{})
	s.Refuse(403)
	c := new(rosbridgev2.Client)
	dial(t, c, s.Addr(), nil)
	err := failure(t, c)
	assert.ErrorIs(t, err, transport.ErrProtocol)
	assert.ErrorContains(t, err, "403")
	s.Refuse(0)
	require.Eventually(t, func() bool { return c.Status() == flow.Connected }, patience, tick, "it is tried again")

	s.SpeakOther()
	other := new(rosbridgev2.Client)
	dial(t, other, s.Addr(), nil)
	assert.ErrorIs(t, failure(t, other), transport.ErrProtocol)

	s.Kill()
	nobody := new(rosbridgev2.Client)
	dial(t, nobody, s.Addr(), nil)
	err = failure(t, nobody)
	assert.NotErrorIs(t, err, transport.ErrProtocol)
	assert.ErrorContains(t, err, "refused")
}

// TestServersThatSayGoodbye: what ended a connection is said without the library's words.
func TestServersThatSayGoodbye(t *testing.T) {
	for want, end := range map[string]func(*websocket.Conn){
		`the other side closed the connection with code 1001 (it goes away): "restart"`: func(c *websocket.Conn) { _ = c.Close(websocket.StatusGoingAway, "restart") },
		"the other side closed the connection with code 1000 (normal)":                  func(c *websocket.Conn) { _ = c.Close(websocket.StatusNormalClosure, "") },
		"the other side closed the connection with code 4000":                           func(c *websocket.Conn) { _ = c.Close(4000, "") },
		"the other side closed the connection":                                          func(c *websocket.Conn) { _ = c.CloseNow() },
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c, err := websocket.Accept(w, r, nil); err == nil {
				end(c)
			}
		}))
		t.Cleanup(s.Close)
		c := new(rosbridgev2.Client)
		dial(t, c, s.Listener.Addr().String(), nil)
		assert.EqualError(t, failure(t, c), want)
	}
}

// certificate makes a certificate of 127.0.0.1 that signs itself, in a file and as TLS
// servers want it.
func certificate(t *testing.T) (file string, pair tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return file, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestTLS(t *testing.T) {
	file, pair := certificate(t)
	s := server(t, peers.RosbridgeConfig{Address: "127.0.0.1:0", TLS: &tls.Config{Certificates: []tls.Certificate{pair}}})
	for _, options := range []map[string]string{{"ca": file}, {"insecure": "1"}} {
		c := new(rosbridgev2.Client)
		p := c.Advertise(&bridges.PublishedTopic{Topic: bridges.Topic{Name: "/x"}}, "a/msg/B")
		dial(t, c, "wss://"+s.Addr(), options)
		require.Eventually(t, func() bool { return c.Status() == flow.Connected }, patience, tick, "%v", options)
		before := s.Received()["/x"]
		require.NoError(t, p.Send(t.Context(), number(1)))
		require.Eventually(t, func() bool { return s.Received()["/x"] > before }, patience, tick)
	}
	unknown := new(rosbridgev2.Client)
	dial(t, unknown, "wss://"+s.Addr(), nil)
	assert.ErrorIs(t, failure(t, unknown), transport.ErrTLS)
	assert.ErrorContains(t, failure(t, unknown), "tls failed: "+s.Addr()+": this machine trusts none of the signers of the server's certificate; give ca=FILE with the certificate that signed it, or insecure=1 to trust any")

	elsewhere := server(t, peers.RosbridgeConfig{Address: "127.0.0.2:0", TLS: &tls.Config{Certificates: []tls.Certificate{pair}}})
	renamed := new(rosbridgev2.Client)
	dial(t, renamed, "wss://"+elsewhere.Addr(), map[string]string{"ca": file})
	assert.ErrorIs(t, failure(t, renamed), transport.ErrTLS)
	assert.ErrorContains(t, failure(t, renamed), "tls failed: "+elsewhere.Addr()+": the server's certificate is not for 127.0.0.2; connect to a name that it is for, or give insecure=1 to trust any")

	unencrypted := new(rosbridgev2.Client)
	dial(t, unencrypted, s.Addr(), nil)
	assert.ErrorIs(t, failure(t, unencrypted), transport.ErrProtocol)
	assert.ErrorContains(t, failure(t, unencrypted), "HTTPS server", "what net/http's server says to HTTP")

	plain := server(t, peers.RosbridgeConfig{})
	none := new(rosbridgev2.Client)
	dial(t, none, "wss://"+plain.Addr(), map[string]string{"insecure": "1"})
	assert.ErrorIs(t, failure(t, none), transport.ErrTLS)
	assert.NotContains(t, failure(t, none).Error(), "insecure", "it is not a certificate that is amiss")
}

// An answer that comes after its connection has ended isn't sent on the next one.
func TestLateAnswersAreNotSent(t *testing.T) {
	s := server(t, peers.RosbridgeConfig{})
	asked, answer, log := make(chan struct{}), make(chan struct{}), make(chan string, 10)
	c := new(rosbridgev2.Client)
	c.Offer(rosbridgev2.Service{Name: "/late", Type: "std_srvs/srv/Empty", Answer: func(context.Context, rosbridgev2.Form, []byte) ([]byte, error) {
		close(asked)
		<-answer
		return nil, nil
	}})
	config, err := parse(s.Addr(), nil)
	require.NoError(t, err)
	config.ROS, config.Log = ros.ROS1, slog.New(slog.NewTextHandler(lines(log), nil))
	require.NoError(t, c.Connect(t.Context(), config))
	require.Eventually(t, func() bool { return len(s.Services()) == 1 }, patience, tick)
	calls, stop := context.WithCancel(t.Context())
	var calling sync.WaitGroup
	calling.Go(func() { _, _ = s.Call(calls, "/late", nil) })
	<-asked
	over, end := context.WithCancel(t.Context())
	end()
	require.NoError(t, c.Disconnect(over))
	dial(t, c, s.Addr(), nil)
	require.Eventually(t, func() bool { return c.Status() == flow.Connected }, patience, tick)
	close(answer)
	for line := ""; !strings.Contains(line, "can't answer a service's call"); {
		select {
		case line = <-log:
		case <-time.After(patience):
			t.Fatal("the answer was sent")
		}
	}
	stop()
	calling.Wait()
}

// lines is a writer of log lines.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

func TestConnectionStrings(t *testing.T) {
	config, err := parse("wss://robot/", map[string]string{"bson": "1", "retry": "1s", "messages": "7"})
	require.NoError(t, err)
	assert.Equal(t, "robot:9090", config.Address)
	assert.NotNil(t, config.TLS)
	assert.Equal(t, rosbridgev2.BSON, config.Form)
	assert.Equal(t, "none", config.Compression)
	assert.Equal(t, 7, config.Queue.Messages)
	for _, target := range []string{"", "http://robot", "ws://", "robot:0", "a:b:c", "wss://ws://x", "listen=9090"} {
		_, err := parse(target, nil)
		assert.ErrorIs(t, err, bridges.ErrConnectionString, target)
	}
	_, err = parse("http://robot", nil)
	assert.ErrorContains(t, err, "want ws://, wss:// or nothing")
	_, err = parse("listen=9090", nil)
	assert.ErrorContains(t, err, `"listen=9090" is not an address; options follow a question mark`)
	garbage := filepath.Join(t.TempDir(), "garbage")
	require.NoError(t, os.WriteFile(garbage, []byte("no PEM"), 0o600))
	for _, options := range []map[string]string{
		{"bson": "yes"}, {"subscribe": "png"}, {"bson": "1", "subscribe": "cbor"}, {"ca": "x"}, {"insecure": "1"},
		{"retry": "never"}, {"messages": "0"}, {"nonfinite": "nan"}, {"nonfinite": "null", "bson": "1"}, {"fragments": "yes"},
		{"fragments": "on", "bson": "1"}, {"max_message_size": "-1"}, {"max_message_size": "999"}, {"max_message_size": "1e7"},
	} {
		_, err := parse("robot", options)
		assert.ErrorIs(t, err, bridges.ErrConnectionString, "%v", options)
	}
	for _, options := range []map[string]string{{"ca": "/nowhere"}, {"ca": garbage}, {"ca": garbage, "insecure": "1"}} {
		_, err := parse("wss://robot", options)
		assert.ErrorIs(t, err, bridges.ErrConnectionString, "%v", options)
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"/points", "points", "/a/b_c/_d", "/a1/B2"} {
		assert.NoError(t, rosbridgev2.CheckName(name), name)
	}
	for _, name := range []string{"", "/", "/1st", "/a/2", "/a/", "//a", "/a-b", "/é", "~x"} {
		assert.ErrorIs(t, rosbridgev2.CheckName(name), bridges.ErrTopicName, name)
	}
}

// swallower is a WebSocket server that reads and does nothing else.
func swallower(t testing.TB) (address string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		request, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		sum := sha1.Sum([]byte(request.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
			base64.StdEncoding.EncodeToString(sum[:]))
		buf := make([]byte, 1<<20)
		for {
			if _, err := conn.Read(buf); err != nil {
				return
			}
		}
	}()
	return listener.Addr().String()
}

// Sending costs no memory once the buffers are there, whatever is still queued or dropped.
func TestSendAllocatesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	c := new(rosbridgev2.Client)
	p := c.Advertise(&bridges.PublishedTopic{Topic: bridges.Topic{Name: "/x"}}, "a/msg/B")
	dial(t, c, swallower(t), nil)
	require.Eventually(t, func() bool { return c.Status() == flow.Connected }, patience, tick)
	message := &block{data: make([]byte, 100_000)}
	send := func() { require.NoError(t, p.Send(t.Context(), message)) }
	for range 200 {
		send()
	}
	assert.Less(t, testing.AllocsPerRun(500, send), 1.0)
}

type block struct{ data []byte }

func (b *block) AppendAs(dst []byte, _ *rosbridgev2.Config) (out []byte, altered bool, err error) {
	return append(append(append(dst, `{"text":"`...), b.data...), `"}`...), false, nil
}

// Servers that answer what isn't TLS by an alert, or by closing.
func TestServersThatWantTLS(t *testing.T) {
	for answer, want := range map[string]string{
		"\x15\x03\x01\x00\x02\x02\x46": "speaks TLS: write wss:// before the host",
		"":                             "does it want wss://?",
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
				_, _ = conn.Write([]byte(answer))
				_ = conn.Close()
			}
		})
		c := new(rosbridgev2.Client)
		dial(t, c, listener.Addr().String(), nil)
		assert.ErrorContains(t, failure(t, c), want)
		assert.Equal(t, answer != "", errors.Is(failure(t, c), transport.ErrTLS))
		require.NoError(t, listener.Close())
		served.Wait()
	}
}

// pinging is a WebSocket server that hands on what it reads, and pings all the while.
func pinging(t *testing.T, got chan<- string, start func(*httptest.Server)) (address string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		conn.SetReadLimit(1 << 30)
		running.Go(func() {
			for conn.Ping(ctx) == nil { // each waits for its answer
			}
		})
		running.Go(func() {
			for {
				kind, data, err := conn.Read(ctx)
				if err != nil || kind != websocket.MessageText {
					return
				}
				select {
				case got <- string(data):
				case <-ctx.Done():
					return
				}
			}
		})
	}))
	start(s)
	t.Cleanup(func() {
		cancel()
		running.Wait()
		s.Close()
	})
	return s.Listener.Addr().String()
}

// Messages of all lengths of a frame's header, and around the pieces in which they are written,
// arrive whatever is answered between. The server is one that somebody else wrote.
func TestMaskedFrames(t *testing.T) {
	file, pair := certificate(t)
	for scheme, start := range map[string]func(*httptest.Server){
		"ws://": (*httptest.Server).Start,
		"wss://": func(s *httptest.Server) {
			s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
			s.StartTLS()
		},
	} {
		got := make(chan string)
		address := pinging(t, got, start)
		options := map[string]string{}
		if scheme == "wss://" {
			options["ca"] = file
		}
		c := new(rosbridgev2.Client)
		topic := bridges.Topic{Name: "/x"}
		p := c.Advertise(&bridges.PublishedTopic{Topic: topic}, "a/msg/B")
		dial(t, c, scheme+address, options)
		require.Contains(t, <-got, `"advertise"`)
		const around = len(`{"op":"publish","topic":"/x","msg":{"text":""}}`)
		random := mathrand.New(mathrand.NewPCG(1, 2))
		for _, size := range []int{50, 125, 126, 127, 4095, 4096, 65535, 65536, 131_057, 131_058, 131_060, 131_061, 262_130, 3_000_001} {
			text := make([]byte, size-around)
			for i := range text {
				text[i] = 'a' + byte(random.IntN(26))
			}
			require.NoError(t, p.Send(t.Context(), &block{text}), size)
			arrived := <-got
			assert.Len(t, arrived, size)
			want := `{"op":"publish","topic":"/x","msg":{"text":"` + string(text) + `"}}`
			assert.True(t, want == arrived, "%d bytes on %s", size, scheme)
		}
		require.NoError(t, c.Disconnect(context.Background()))
	}
}
