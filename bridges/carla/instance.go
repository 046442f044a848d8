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
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
)

// snapshotStream is the id of the world's snapshots.
const snapshotStream = 1

// defaultClients is the number of connections at a time: CARLA's clients have one for
// each stream.
const defaultClients = 128

// instance is one server. Its methods may be called from any goroutine.
type instance struct {
	log   *slog.Logger
	limit int64 // of a frame after its length, bytes

	connecting sync.Mutex // held by Connect and Disconnect: one at a time

	// opened, where it is set, is told of each stream that clients can ask for from now on.
	opened func(s *stream, address string)

	mu      sync.Mutex
	server  *transport.Server  // guarded by mu: nil while disconnected
	failed  bool               // guarded by mu: the last Connect could not listen
	streams map[uint32]*stream // guarded by mu
	byTopic map[string]*stream // guarded by mu
	lastID  uint32             // guarded by mu
	before  bridges.Diagnosis  // guarded by mu: of the servers before this one
}

var (
	_ bridges.Checker   = (*instance)(nil)
	_ bridges.Instance  = (*instance)(nil)
	_ bridges.Audience  = (*instance)(nil)
	_ bridges.Directory = (*instance)(nil)
	_ bridges.Diagnoser = (*instance)(nil)
)

func newInstance(env bridges.Env, limit int64) *instance {
	log := env.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &instance{log: log, limit: limit, streams: map[uint32]*stream{}, byTopic: map[string]*stream{}, lastID: snapshotStream}
}

// stream is one topic. Its fan-out is renewed with each connection.
type stream struct {
	id       uint32
	typeID   uint64
	limit    int64 // of a frame after its length, bytes
	topic    *bridges.PublishedTopic
	encoding sync.Mutex                       // held while a message is encoded: an encoder keeps memory
	out      atomic.Pointer[transport.Stream] // nil while disconnected
}

// add gives a topic the next stream id; the snapshot's is the first.
func (i *instance) add(topic *bridges.PublishedTopic, typeID uint64) *stream {
	s, server := i.enter(topic, typeID)
	if server != nil {
		i.announce(server, s)
	}
	return s
}

// enter lists a new stream, open if there is a server.
func (i *instance) enter(topic *bridges.PublishedTopic, typeID uint64) (*stream, *transport.Server) {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := &stream{typeID: typeID, topic: topic, id: snapshotStream, limit: i.limit}
	if typeID != typeWorld || i.streams[snapshotStream] != nil {
		i.lastID++
		s.id = i.lastID
	}
	i.streams[s.id], i.byTopic[topic.Name] = s, s
	if i.server != nil {
		s.open(i.server)
	}
	return s, i.server
}

func (i *instance) announce(server *transport.Server, streams ...*stream) {
	for _, s := range streams {
		if i.opened != nil {
			i.opened(s, server.Addr().String())
		}
	}
}

// open makes the stream's fan-out on a server.
func (s *stream) open(server *transport.Server) {
	s.out.Store(server.NewStream(bridges.Count(s.topic, transport.StreamConfig{Name: s.topic.Name})))
}

// send encodes a frame of about so many bytes after its length into a buffer of the stream
// and shares it between the clients. Without any it encodes nothing, and returns
// bridges.ErrNotConnected, which counts the message as dropped.
func (s *stream) send(ctx context.Context, size int, encode func([]byte) []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	out := s.out.Load()
	if out == nil {
		return bridges.ErrNotConnected
	}
	if out.Subscribers() == 0 {
		return s.unheard()
	}
	if err := s.fits(size); err != nil { // before there is memory for it
		return err
	}
	m := out.NewMessage()
	frame := m.Frame(0, lengthBytes+size)
	frame.Reset(lengthBytes + size)
	s.encode(frame, encode)
	if err := s.fits(frame.Len() - lengthBytes); err != nil {
		m.Discard()
		return err
	}
	if err := out.Send(ctx, m); err != nil {
		return s.unheard()
	}
	return nil
}

// fits returns an error that wraps bridges.ErrTooLarge for a frame whose length can't be
// said.
func (s *stream) fits(size int) error {
	if err := bridges.CheckSize(int64(size), s.limit); err != nil {
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	return nil
}

func (s *stream) encode(frame *flow.Buffer, encode func([]byte) []byte) {
	s.encoding.Lock()
	defer s.encoding.Unlock()
	frame.Adopt(encode(frame.Bytes()[:0]))
}

// unheard is the error of a message that nobody receives.
func (s *stream) unheard() error {
	return fmt.Errorf("%w: no client reads stream %d", bridges.ErrNotConnected, s.id)
}

// Status is Connected while the server listens.
func (i *instance) Status() bridges.Status {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.server != nil:
		return bridges.Connected
	case i.failed:
		return bridges.UnexpectedlyDisconnected
	default:
		return bridges.Disconnected
	}
}

// Listening reports whether a client reads the topic's stream.
func (i *instance) Listening(topic string) bool { return i.Receivers(topic) > 0 }

// Receivers counts the clients that receive the topic's stream.
func (i *instance) Receivers(topic string) int {
	i.mu.Lock()
	s := i.byTopic[topic]
	i.mu.Unlock()
	if s == nil {
		return 0
	}
	out := s.out.Load()
	if out == nil {
		return 0
	}
	return out.Subscribers()
}

// Check reads a connection string as Connect does.
func (i *instance) Check(connection string) error {
	_, _, err := parseConnection(connection)
	return err
}

// Connect begins to listen.
func (i *instance) Connect(ctx context.Context, connection string) error {
	address, config, err := parseConnection(connection)
	if err != nil {
		return err
	}
	i.connecting.Lock()
	defer i.connecting.Unlock()
	if err := i.disconnect(ctx); err != nil {
		return err
	}
	config.Log = i.log
	config.Accept = func(c *transport.Conn) transport.Session { return &session{instance: i, client: c} }
	config.Unread = []error{bridges.ErrProtocol}
	server := transport.New(config)
	streams, err := i.listen(server, address)
	if err != nil {
		return errors.Join(listenError(err), server.Close(ctx))
	}
	i.announce(server, streams...)
	return nil
}

// listen opens the streams, and lets clients come. It returns the streams.
func (i *instance) listen(server *transport.Server, address string) ([]*stream, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, s := range i.streams { // before the first client comes
		s.open(server)
	}
	err := server.Listen(address)
	if i.failed = err != nil; i.failed {
		i.forgetLocked()
		return nil, err
	}
	i.server = server
	return slices.Collect(maps.Values(i.streams)), nil
}

// listenError tells an address that there isn't from one that can't be had now.
func listenError(err error) error {
	var unknown *net.DNSError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w: %w", bridges.ErrConnectionString, err)
	}
	return err
}

// forgetLocked takes the streams from their server; mu must be held.
func (i *instance) forgetLocked() {
	for _, s := range i.streams {
		s.out.Store(nil)
	}
}

// options are those that parseConnection reads.
var options = declared()

func declared() []bridges.Option {
	list := slices.Clone(bridges.ServerOptions)
	for i := range list {
		if list[i].Key == "clients" {
			list[i].Default = strconv.Itoa(defaultClients)
		}
	}
	return list
}

// parseConnection reads "[[HOST:]PORT][?options]".
func parseConnection(connection string) (address string, config transport.Config, err error) {
	address, options, err := bridges.SplitOptions(connection, options...)
	if err != nil {
		return "", config, err
	}
	if address, err = bridges.ListenAddress(address, DefaultAddress); err != nil {
		return "", config, err
	}
	config, err = bridges.ParseServer(options, defaultClients)
	return address, config, err
}

// Disconnect delivers what waits, for as long as ctx allows, and ends all connections.
func (i *instance) Disconnect(ctx context.Context) error {
	i.connecting.Lock()
	defer i.connecting.Unlock()
	return i.disconnect(ctx)
}

// disconnect is Disconnect; connecting must be held.
func (i *instance) disconnect(ctx context.Context) error {
	i.mu.Lock()
	server := i.server
	i.server, i.failed = nil, false
	i.forgetLocked()
	i.mu.Unlock()
	if server == nil {
		return nil
	}
	err := server.Close(ctx)
	i.mu.Lock()
	i.before = i.before.Add(server.Diagnosis())
	i.mu.Unlock()
	if n := server.Outstanding(); n > 0 {
		i.log.Error("stream buffers were not given back", "buffers", n)
	}
	return err
}

// stream returns the stream with an id, nil for none.
func (i *instance) stream(id uint32) *stream {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.streams[id]
}

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

// session is one client: it sends a stream's id and then only reads.
type session struct {
	instance *instance
	client   *transport.Conn
}

// errStream: the client asked for a stream that there isn't.
var errStream = errors.New("no such stream")

// Serve subscribes the client and waits until it goes.
func (s *session) Serve(context.Context) error {
	var id [4]byte
	switch n, err := io.ReadFull(s.client.Conn(), id[:]); {
	case errors.Is(err, io.EOF):
		return nil // who looks whether the port is open
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: a stream's id of %d bytes", bridges.ErrProtocol, n)
	case err != nil:
		return fmt.Errorf("read the stream's id: %w", err)
	}
	if err := s.client.Enter(); err != nil {
		return fmt.Errorf("too many clients: %w: raise the option clients of the connection string", err)
	}
	number := binary.LittleEndian.Uint32(id[:])
	wanted := s.instance.stream(number)
	if wanted == nil {
		return fmt.Errorf("%w: %d", errStream, number)
	}
	out := wanted.out.Load()
	if out == nil {
		return bridges.ErrNotConnected
	}
	if out.Subscribe(s.client, 0) {
		s.client.Welcome()
	}
	return s.wait()
}

// wait returns when the client has closed its side. What it sends is nothing that
// CARLA knows, and is thrown away.
func (s *session) wait() error {
	var rubbish [512]byte
	for told := false; ; {
		if err := s.client.ExtendRead(24 * time.Hour); err != nil {
			return err
		}
		n, err := s.client.Conn().Read(rubbish[:])
		if n > 0 && !told {
			told = true
			s.client.Malformed(fmt.Errorf("%w: it sends more than a stream's id", bridges.ErrProtocol))
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// Beat appends nothing: CARLA's protocol has no sign of life.
func (s *session) Beat(dst []byte, _ bool) []byte { return dst }

// Goodbye appends nothing either.
func (s *session) Goodbye(dst []byte) []byte { return dst }

// Diagnosis counts a connection for each client that got a stream, and once for each client
// that it sent what can't be read.
func (i *instance) Diagnosis() bridges.Diagnosis {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.server == nil {
		return i.before
	}
	return i.before.Add(i.server.Diagnosis())
}
