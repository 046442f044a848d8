package carla

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/stream/buffer"
	"github.com/raybridge/raybridge/sensors/stream/fanout"
	"github.com/raybridge/raybridge/sensors/stream/queue"
)

// snapshotStream is the id of the world's snapshots.
const snapshotStream = 1

// handshakeTime is how long a client may take to send its stream's id.
const handshakeTime = 10 * time.Second

// defaultClients is the number of connections at a time: CARLA's clients have one for
// each stream.
const defaultClients = 128

// instance is one server. Its methods may be called from any goroutine.
type instance struct {
	log *slog.Logger

	mu      sync.Mutex
	server  *fanout.Server     // guarded by mu: nil while disconnected
	streams map[uint32]*stream // guarded by mu
	byTopic map[string]*stream // guarded by mu
	lastID  uint32             // guarded by mu
}

func newInstance(env bridges.Env) *instance {
	log := env.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &instance{log: log, streams: map[uint32]*stream{}, byTopic: map[string]*stream{}, lastID: snapshotStream}
}

// stream is one topic. Its fan-out is renewed with each connection.
type stream struct {
	instance *instance
	id       uint32
	typeID   uint64
	topic    *bridges.PublishedTopic
	encoding sync.Mutex

	mu  sync.Mutex
	out *fanout.Stream // guarded by mu: nil while disconnected
}

// add gives a topic the next stream id; the snapshot's is the first.
func (i *instance) add(topic *bridges.PublishedTopic, typeID uint64) *stream {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := &stream{instance: i, typeID: typeID, topic: topic, id: snapshotStream}
	if typeID != typeWorld || i.streams[snapshotStream] != nil {
		i.lastID++
		s.id = i.lastID
	}
	i.streams[s.id], i.byTopic[topic.Name] = s, s
	if i.server != nil {
		s.open(i.server)
	}
	return s
}

// open makes the stream's fan-out on a server.
func (s *stream) open(server *fanout.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = server.NewStream(fanout.StreamConfig{Name: s.topic.Name, Settled: s.settled, Pool: buffer.Config{}})
}

func (s *stream) fanout() *fanout.Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out
}

// settled counts the fate of one message: it was sent if some client has it, and it
// was dropped if some client misses it.
func (s *stream) settled(o fanout.Outcome) {
	if o.Delivered > 0 {
		s.topic.Sent(o.Bytes)
	}
	if o.Dropped > 0 {
		s.topic.Dropped(bridges.Cause(o.Cause.String()))
	}
}

// send encodes a frame into a buffer of the stream and shares it between the clients.
// Without any it does nothing: CARLA's server drops the message too.
func (s *stream) send(ctx context.Context, size int, encode func([]byte) []byte) error {
	out := s.fanout()
	if out == nil {
		return bridges.ErrNotConnected
	}
	if out.Subscribers() == 0 {
		return fmt.Errorf("%w: no client reads stream %d", bridges.ErrNotConnected, s.id)
	}
	m := out.NewMessage()
	frame := m.Frame(0, size)
	frame.Reset(size)
	frame.Adopt(encode(frame.Bytes()[:0]))
	if err := out.Send(ctx, m); err != nil {
		return fmt.Errorf("%w: no client reads stream %d", bridges.ErrNotConnected, s.id)
	}
	return nil
}

// Status is Connected while the server listens.
func (i *instance) Status() bridges.Status {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.server == nil {
		return bridges.Disconnected
	}
	return bridges.Connected
}

// Listening reports whether a client reads the topic's stream.
func (i *instance) Listening(topic string) bool {
	i.mu.Lock()
	s := i.byTopic[topic]
	i.mu.Unlock()
	if s == nil {
		return false
	}
	out := s.fanout()
	return out != nil && out.Subscribers() > 0
}

// Connect begins to listen.
func (i *instance) Connect(ctx context.Context, connection string) error {
	address, config, err := parseConnection(connection)
	if err != nil {
		return err
	}
	if err := i.Disconnect(ctx); err != nil {
		return err
	}
	config.Log = i.log
	config.Accept = func(c *fanout.Client) fanout.Session { return &session{instance: i, client: c} }
	server := fanout.New(config)
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, s := range i.streams { // before the first client comes
		s.open(server)
	}
	if err := server.Listen(address); err != nil {
		return fmt.Errorf("%w: %w", bridges.ErrConnectionString, err)
	}
	i.server = server
	return nil
}

// parseConnection reads "[HOST:PORT][?options]".
func parseConnection(connection string) (address string, config fanout.Config, err error) {
	fail := func(format string, args ...any) (string, fanout.Config, error) {
		return "", fanout.Config{}, fmt.Errorf("%w: %s", bridges.ErrConnectionString, fmt.Sprintf(format, args...))
	}
	address, options, err := bridges.SplitOptions(connection, "policy", "messages", "bytes", "clients")
	if err != nil {
		return "", config, err
	}
	if address == "" {
		address = DefaultAddress
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fail("%q is not HOST:PORT: %v", address, err)
	}
	config.MaxClients = defaultClients
	if name, ok := options["policy"]; ok {
		if config.Queue.Policy, err = queue.ParsePolicy(name); err != nil {
			return fail("%v", err)
		}
	}
	for _, o := range []struct {
		key string
		set func(int)
	}{
		{"messages", func(n int) { config.Queue.Messages = n }},
		{"bytes", func(n int) { config.Queue.Bytes = int64(n) }},
		{"clients", func(n int) { config.MaxClients = n }},
	} {
		text, ok := options[o.key]
		if !ok {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fail("%s is %q, need a whole number from 1 on", o.key, text)
		}
		o.set(n)
	}
	return address, config, nil
}

// Disconnect delivers what waits, for as long as ctx allows, and ends all connections.
func (i *instance) Disconnect(ctx context.Context) error {
	i.mu.Lock()
	server := i.server
	i.server = nil
	i.mu.Unlock()
	if server == nil {
		return nil
	}
	err := server.Close(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, s := range i.streams {
		s.mu.Lock()
		s.out = nil
		s.mu.Unlock()
	}
	return err
}

// stream returns the stream with an id, nil for none.
func (i *instance) stream(id uint32) *stream {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.streams[id]
}

// session is one client: it sends a stream's id and then only reads.
type session struct {
	instance *instance
	client   *fanout.Client
}

// errStream: the client asked for a stream that there isn't.
var errStream = errors.New("no such stream")

// Serve subscribes the client and waits until it goes.
func (s *session) Serve(context.Context) error {
	if s.client.Surplus() {
		return errors.New("too many clients: raise the option clients of the connection string")
	}
	if err := s.client.ExtendRead(handshakeTime); err != nil {
		return err
	}
	var id [4]byte
	if _, err := io.ReadFull(s.client.Conn(), id[:]); err != nil {
		return fmt.Errorf("read the stream's id: %w", err)
	}
	number := binary.LittleEndian.Uint32(id[:])
	wanted := s.instance.stream(number)
	if wanted == nil {
		return fmt.Errorf("%w: %d", errStream, number)
	}
	out := wanted.fanout()
	if out == nil {
		return bridges.ErrNotConnected
	}
	out.Subscribe(s.client, 0)
	return s.wait()
}

// wait returns when the client has closed its side. What it sends is nothing that
// CARLA knows, and is thrown away.
func (s *session) wait() error {
	var rubbish [512]byte
	for {
		if err := s.client.ExtendRead(24 * time.Hour); err != nil {
			return err
		}
		if _, err := s.client.Conn().Read(rubbish[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// Beat appends nothing: CARLA's protocol has no sign of life.
func (s *session) Beat(dst []byte, _ bool) []byte { return dst }

// Goodbye appends nothing either.
func (s *session) Goodbye(dst []byte) []byte { return dst }

// token returns the token of a stream of this server; mu must be held.
func (i *instance) tokenLocked(id uint32) Token {
	t := Token{Stream: id}
	if i.server == nil {
		return t
	}
	if a, ok := i.server.Addr().(*net.TCPAddr); ok {
		t.Address = a.AddrPort()
		if ip := t.Address.Addr(); ip.IsUnspecified() { // the client knows the host
			t.Address = netip.AddrPortFrom(netip.Addr{}, t.Address.Port())
		}
	}
	return t
}

// Endpoints lists the streams with their tokens.
func (i *instance) Endpoints() []bridges.Endpoint {
	i.mu.Lock()
	defer i.mu.Unlock()
	address := ""
	if i.server != nil && i.server.Addr() != nil {
		address = i.server.Addr().String()
	}
	if len(i.streams) == 0 {
		return []bridges.Endpoint{{Address: address}}
	}
	var list []bridges.Endpoint
	for _, id := range slices.Sorted(maps.Keys(i.streams)) {
		token, _ := i.tokenLocked(id).AppendBinary(nil) // never fails
		topic := i.streams[id].topic
		list = append(list, bridges.Endpoint{
			Topic: topic.Name, Sensor: topic.Sensor, Address: address, Stream: id, Token: hex.EncodeToString(token),
		})
	}
	return list
}
