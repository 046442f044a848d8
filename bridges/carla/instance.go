package carla

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/sensors/sample"
)

// snapshotStream is the id of the world's snapshots.
const snapshotStream = 1

// defaultClients is the number of connections at a time: CARLA's clients have one for
// each stream.
const defaultClients = 128

// instance is one server. Its methods may be called from any goroutine.
type instance struct {
	bridges.Server[*transport.Server, *stream]
	log   *slog.Logger
	limit int64 // of a frame after its length, bytes
	told  sync.Once

	// opened, where it is set, is told of each stream that clients can ask for from now on.
	opened func(s *stream, address string)

	mu     sync.Mutex
	byID   map[uint32]*stream // guarded by mu
	lastID uint32             // guarded by mu
}

var (
	_ bridges.Checker   = (*instance)(nil)
	_ bridges.Instance  = (*instance)(nil)
	_ bridges.Audience  = (*instance)(nil)
	_ bridges.Directory = (*instance)(nil)
	_ bridges.Diagnoser = (*instance)(nil)
)

// exact is how far from the map's origin CARLA's float32 hold places to 4 mm, metres.
const exact = 65_536

// tellCoarse warns, once, of places so far out that CARLA's numbers are coarse.
func (i *instance) tellCoarse(of message) {
	at := of.SampleHeader().Pose.Position
	if m, ok := of.(*sample.Snapshot); ok && len(m.Actors) > 0 {
		at = m.Actors[0].Pose.Position
	}
	far := float32(max(math.Abs(at[0]), math.Abs(at[1])))
	if !(far > exact) {
		return
	}
	i.told.Do(func() {
		i.log.Warn(fmt.Sprintf("CARLA's streams have places in float32: at (%.0f, %.0f) they are only exact to %s m. Take coordinates near 0 for its clients",
			at[0], at[1], fault.Number(float64(math.Nextafter32(far, math.MaxFloat32)-far), 2)))
	})
}

func newInstance(env bridges.Env, limit int64) *instance {
	return &instance{log: env.Log, limit: limit, byID: map[uint32]*stream{}, lastID: snapshotStream}
}

// stream is one topic.
type stream struct {
	bridges.Outlet[*transport.Stream]
	instance *instance
	id       uint32
	typeID   uint64
	encoding sync.Mutex // held while a message is encoded: an encoder keeps memory
}

// add gives a topic the next stream id; the snapshot's is the first.
func (i *instance) add(topic *bridges.PublishedTopic, typeID uint64) (*stream, error) {
	s := &stream{Outlet: bridges.Outlet[*transport.Stream]{Info: topic}, instance: i, typeID: typeID}
	i.enter(s)
	if err := i.Add(s); err != nil {
		return nil, err
	}
	if server, ok := i.Serving(); ok {
		i.announce(server, s)
	}
	return s, nil
}

// enter gives a stream its id.
func (i *instance) enter(s *stream) {
	i.mu.Lock()
	defer i.mu.Unlock()
	s.id = snapshotStream
	if s.typeID != typeWorld || i.byID[snapshotStream] != nil {
		i.lastID++
		s.id = i.lastID
	}
	i.byID[s.id] = s
}

// Withdraw ends a topic's stream, which nobody finds any more.
func (i *instance) Withdraw(info *bridges.PublishedTopic) {
	if s, ok := i.Topic(info.Name); ok {
		i.mu.Lock()
		delete(i.byID, s.id)
		i.mu.Unlock()
	}
	i.Server.Withdraw(info)
}

func (i *instance) announce(server *transport.Server, streams ...*stream) {
	for _, s := range streams {
		if i.opened != nil {
			i.opened(s, server.Addr().String())
		}
	}
}

// Open makes the topic's stream on a server.
func (s *stream) Open(_ context.Context, server *transport.Server) error {
	s.SetStream(server.NewStream(bridges.Count(s.Info, transport.StreamConfig{Name: s.Info.Name, Latched: s.Latched()})))
	return nil
}

// Leave ends the stream, and the connections of those who read it: they have no other.
func (s *stream) Leave(server *transport.Server) {
	if out, ok := s.Stream(); ok {
		for _, c := range server.Remove(out) {
			c.Finish()
		}
	}
}

// send encodes a frame of about so many bytes after its length into a buffer of the stream
// and shares it between the clients. Without any it encodes nothing, and returns
// flow.ErrNotConnected, which counts the message as dropped.
func (s *stream) send(ctx context.Context, size int, encode func([]byte) []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	out, ok := s.Stream()
	switch {
	case !ok:
		return flow.ErrNotConnected
	case out.Subscribers() == 0 && !s.Latched():
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

// fits returns an error that wraps flow.ErrTooLarge for a frame whose length can't be
// said.
func (s *stream) fits(size int) error {
	if err := bridges.CheckSize(int64(size), s.instance.limit); err != nil {
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
	return fmt.Errorf("%w: no client reads stream %d", flow.ErrNotConnected, s.id)
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
	if err := i.Disconnect(ctx); err != nil {
		return err
	}
	config.Log, config.Unread = i.log, []error{transport.ErrProtocol}
	config.Accept = func(c *transport.Conn) transport.Session { return &session{instance: i, client: c} }
	server := transport.New(config)
	if err := i.Serve(ctx, address, server); err != nil {
		return listenError(err)
	}
	i.announce(server, i.Topics()...)
	return nil
}

// listenError tells an address that there isn't from one that can't be had now.
func listenError(err error) error {
	var unknown *net.DNSError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w: %w", bridges.ErrConnectionString, err)
	}
	return err
}

// standard are the options where none is given.
var standard = bridges.ServerOptions{Clients: defaultClients}

// parseConnection reads "[[HOST:]PORT][?options]".
func parseConnection(connection string) (address string, config transport.Config, err error) {
	options := standard
	target, _, err := bridges.ReadOptions(connection, &options)
	if err != nil {
		return "", config, err
	}
	address, err = bridges.ListenAddress(target, DefaultAddress)
	return address, options.Server(), err
}

// stream returns the stream with an id, nil for none.
func (i *instance) stream(id uint32) *stream {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.byID[id]
}

// token returns the token of a stream of the server.
func (i *instance) token(id uint32) Token {
	t := Token{Stream: id}
	server, ok := i.Serving()
	if !ok {
		return t
	}
	if a, ok := server.Addr().(*net.TCPAddr); ok {
		t.Address = a.AddrPort()
		if ip := t.Address.Addr(); ip.IsUnspecified() { // the client knows the host
			t.Address = netip.AddrPortFrom(netip.Addr{}, t.Address.Port())
		}
	}
	return t
}

// Endpoint describes the stream, with its token.
func (s *stream) Endpoint() bridges.Endpoint {
	e := s.Outlet.Endpoint()
	token, _ := s.instance.token(s.id).AppendBinary(nil) // never fails
	e.Stream, e.Token = s.id, hex.EncodeToString(token)
	return e
}

// Endpoints lists the streams in the order of their ids.
func (i *instance) Endpoints() []bridges.Endpoint {
	list := i.Server.Endpoints()
	slices.SortFunc(list, func(a, b bridges.Endpoint) int { return cmp.Compare(a.Stream, b.Stream) })
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
		return fmt.Errorf("%w: a stream's id of %d bytes", transport.ErrProtocol, n)
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
	out, ok := wanted.Stream()
	if !ok {
		return flow.ErrNotConnected
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
			s.client.Malformed(fmt.Errorf("%w: it sends more than a stream's id", transport.ErrProtocol))
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
