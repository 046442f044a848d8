package stream

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
)

// ErrDuplicate says that two streams have one name.
var ErrDuplicate = errors.New("stream exists already")

// ServerConfig says how a server treats its clients. The zero value of a field stands
// for its default.
type ServerConfig struct {
	// Queue bounds what waits for one client and says what is dropped: by default 64
	// messages, 64 MiB, the oldest.
	Queue flow.QueueConfig
	// MaxClients is the number of clients at a time, 16 by default.
	MaxClients int
	// MaxFrame is the length of the longest message that is sent, 256 MiB by default.
	MaxFrame int
	// NoZstd refuses to compress for clients that ask for it.
	NoZstd bool
	// Beat is the longest time without a frame in either direction, 1 s by default. A peer that
	// is silent for five beats counts as gone.
	Beat time.Duration
	// Stall is how long a client may take nothing while something is being written to
	// it, 10 s by default.
	Stall time.Duration
	// Log takes what can't be returned; nil discards it.
	Log *slog.Logger
}

// Server serves streams to clients. Its methods may be called from any goroutine.
type Server struct {
	config   ServerConfig
	core     *transport.Server
	instance uint64
	encoder  *zstd.Encoder // nil with NoZstd
	// port is what the server belongs to whose clients may step, and results how they are
	// answered; both nil for others.
	port    *Port
	results *transport.Stream
	steps   steps
	// page is what the server belongs to whose clients are pages; nil for others.
	page *PagePort

	mu       sync.Mutex
	streams  []*Stream          // guarded by mu: in the order of addition
	ids      map[uint16]*Stream // guarded by mu: those of streams and of leaving ones
	leaving  []*Stream          // guarded by mu: they were removed, and messages of theirs may be on their way
	lastID   uint16             // guarded by mu: the one that was given last
	sessions map[client]bool    // guarded by mu: those that were welcomed
}

// client is a session that was welcomed.
type client interface {
	// announce tells the client of a stream that came or went. It reports whether the client is there still.
	announce(news control, payload []byte) bool
	// wantsAll reports whether it is sent streams that come, and subscribeLocked subscribes it; server.mu must be held.
	wantsAll() bool
	subscribeLocked(*Stream)
}

// NewServer returns a server that doesn't listen yet.
func NewServer(config ServerConfig) *Server { return newServer(config, nil) }

// newServer returns a server, of pages where page isn't nil.
func newServer(config ServerConfig, page *PagePort) *Server {
	if config.MaxFrame <= 0 || config.MaxFrame > MaxSize {
		config.MaxFrame = MaxSize
	}
	config.Beat = cmp.Or(max(config.Beat, 0), time.Second)
	s := &Server{config: config, page: page, instance: rand.Uint64(), ids: map[uint16]*Stream{}, sessions: map[client]bool{}}
	if !config.NoZstd {
		// The options are constants that are valid.
		s.encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	}
	core := transport.Config{
		Accept: func(c *transport.Conn) transport.Session { return &session{server: s, client: c} },
		Unread: []error{ErrMagic, ErrVersion, ErrMalformed, ErrTooLarge},
		Queue:  config.Queue, MaxClients: config.MaxClients, Stall: config.Stall, Beat: config.Beat, Log: config.Log,
	}
	if page != nil {
		core.WebSocket, core.MaxControl = s.pages(), pageControl
	}
	s.core = transport.New(core)
	return s
}

// Listen accepts clients on HOST:PORT until Close. The server of a Port is handed its own.
func (s *Server) Listen(address string) error {
	if s.port != nil || s.page != nil {
		return nil
	}
	return s.core.Listen(address)
}

// Addr returns the address that the server listens on, nil while it doesn't. That of a Port is
// where its connections are accepted.
func (s *Server) Addr() net.Addr {
	switch {
	case s.port != nil:
		return s.port.address
	case s.page != nil:
		return s.page.address
	}
	return s.core.Addr()
}

// Close lets steps that are under way be answered, and delivers what waits, for as long as ctx
// allows. Then it says goodbye and disconnects all clients. It returns when the server's
// goroutines have ended.
func (s *Server) Close(ctx context.Context) error {
	s.steps.end(ctx)
	s.mu.Lock()
	streams := s.streams
	s.mu.Unlock()
	for _, stream := range streams {
		stream.rest()
	}
	return s.core.Close(ctx)
}

// Diagnosis tells how the clients' connections fared. What a client sends that can't be read
// ends its connection.
func (s *Server) Diagnosis() transport.Diagnosis { return s.core.Diagnosis() }

// Stream is one stream of a server.
type Stream struct {
	server   *Server
	info     Info
	id       uint16
	core     *transport.Stream
	encoding *Encoding
	gone     bool // guarded by server.mu: it was removed
	// longest is the length of the longest of the last frames: as much room is taken for the
	// next.
	longest atomic.Int64
	latest  *latest // encodes what is costly for pages; nil where Publish encodes
}

// AddStream adds a stream, before or after clients have come: they are told of it,
// and those that want all are subscribed. The encoding is the stream's alone.
// written and settled are told of each message, as transport.StreamConfig has them; they may
// be nil. Errors wrap ErrDuplicate or ErrMalformed.
func (s *Server) AddStream(info Info, e *Encoding, written func(bytes int), settled func(transport.Outcome)) (*Stream, error) {
	return s.add(info, e, transport.StreamConfig{Written: written, Settled: settled}, nil)
}

// add is AddStream with what counts the messages, and with what encodes them for pages; nil where Publish does.
func (s *Server) add(info Info, e *Encoding, core transport.StreamConfig, latest *latest) (*Stream, error) {
	if info.Name == "" || info.Name == Wildcard {
		return nil, fmt.Errorf("add stream %q: %w: it needs a name of its own", info.Name, ErrMalformed)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.findLocked(info.Name) != nil {
		return nil, fmt.Errorf("add stream %q: %w", info.Name, ErrDuplicate)
	}
	id, err := s.freeIDLocked()
	if err != nil {
		return nil, fmt.Errorf("add stream %q: %w", info.Name, err)
	}
	info.Schema = e.Schema
	info.Schema.MD5 = "" // which clients aren't told
	stream := &Stream{server: s, info: info, id: id, encoding: e, latest: latest}
	s.ids[id] = stream
	core.Name, core.Seal, core.Latched = info.Name, seal, info.Latched
	if s.page != nil {
		core.Seal, core.Latched = sealPage, true // a page that comes while time stands has something to show
	}
	if latest != nil {
		core.Seal = latest.seal
	}
	stream.core = s.core.NewStream(core)
	if latest != nil {
		latest.begin(stream)
	}
	s.streams = append(s.streams, stream)
	announcement := appendInfo(nil, stream.id, &info)
	for session := range s.sessions {
		if session.announce(controlStream, announcement) && session.wantsAll() {
			session.subscribeLocked(stream)
		}
	}
	return stream, nil
}

// freeIDLocked returns the id after the last one that no stream has, and none that messages on
// their way to a client have.
func (s *Server) freeIDLocked() (uint16, error) {
	s.leaving = slices.DeleteFunc(s.leaving, func(stream *Stream) bool {
		arrived := stream.core.Drained()
		if arrived {
			delete(s.ids, stream.id)
		}
		return arrived
	})
	for range maxStreams {
		if s.lastID++; s.lastID == 0 { // the protocol's own
			s.lastID = 1
		}
		if s.ids[s.lastID] == nil {
			return s.lastID, nil
		}
	}
	return 0, fmt.Errorf("%w: there are %d", ErrTooLarge, maxStreams)
}

// RemoveStream ends a stream. Clients are told, and what is queued for them still arrives. Its name
// is free for another one, its id as soon as all of it has arrived. Removing it again does nothing.
func (s *Server) RemoveStream(stream *Stream) {
	s.remove(stream)
	stream.rest()
}

// remove takes a stream from the lists, and tells the clients.
func (s *Server) remove(stream *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stream.gone {
		return
	}
	stream.gone = true
	s.streams = slices.DeleteFunc(slices.Clone(s.streams), func(other *Stream) bool { return other == stream })
	s.leaving = append(s.leaving, stream)
	s.core.Remove(stream.core)
	for session := range s.sessions {
		session.announce(controlGone, le.AppendUint16(nil, stream.id))
	}
}

// rest ends what encodes for pages, and returns when it has.
func (s *Stream) rest() {
	if s.latest != nil {
		s.latest.end()
	}
}

func (s *Server) findLocked(name string) *Stream {
	for _, stream := range s.streams {
		if stream.info.Name == name {
			return stream
		}
	}
	return nil
}

// unknownLocked is the error for a name that no stream has; it lists those there are.
func (s *Server) unknownLocked(name string) error {
	const most = 20
	names := make([]string, 0, most)
	for _, stream := range s.streams[:min(most, len(s.streams))] {
		names = append(names, stream.info.Name)
	}
	slices.Sort(names)
	list := strings.Join(names, ", ")
	switch {
	case len(names) == 0:
		list = "none"
	case len(s.streams) > most:
		list += ", ..."
	}
	return fmt.Errorf("%w %q; there are: %s", ErrUnknownStream, name, list)
}

// Info returns the stream's description.
func (s *Stream) Info() Info { return s.info }

// Subscribers returns the number of clients that receive the stream: while it is
// zero, nothing need be computed. It takes no lock, except that of pages.
func (s *Stream) Subscribers() int {
	if s.server.page != nil {
		return s.core.Takers(pagePatience)
	}
	return s.core.Subscribers()
}

// PoolStats returns the counts of the stream's buffers.
func (s *Stream) PoolStats() flow.PoolStats { return s.core.PoolStats() }

// Publish encodes a sample of the stream's type and queues it for the subscribers; publishNs is
// the simulation time now. It copies the message once, and keeps no hold of it. It may be
// called from any goroutine. Without subscribers nothing is encoded and the error is
// transport.ErrNoSubscribers, unless the stream is latched. It then keeps the message for the
// next subscriber. Other errors are the encoding's and ErrTooLarge. With policy block it waits,
// see package transport; ctx ends the wait.
func (s *Stream) Publish(ctx context.Context, publishNs int64, msg simtime.Stamped) error {
	if s.core.Subscribers() == 0 && !s.info.Latched {
		return transport.ErrNoSubscribers
	}
	m := s.core.NewMessage()
	b, err := s.encode(m, formPlain, publishNs, msg)
	if err != nil {
		m.Discard()
		return fmt.Errorf("publish on stream %s: %w", s.info.Name, err)
	}
	if s.server.page != nil {
		return s.core.Send(ctx, m)
	}
	h := frame{length: uint32(len(b) - frameSize), stream: s.id, plain: uint32(len(b) - frameSize)}
	h.put(b)
	if s.core.Wants(formZstd) {
		s.compress(m, h, b[frameSize:])
	}
	return s.core.Send(ctx, m)
}

// encode makes a frame of a message, and returns it. The header is set for pages alone.
func (s *Stream) encode(m *transport.Message, form int, publishNs int64, msg simtime.Stamped) ([]byte, error) {
	head := frameSize
	if s.server.page != nil {
		head = pageHead
	}
	longest := s.longest.Load()
	size := max(int(longest), head+envelopeSize)
	f := m.Frame(form, size)
	f.Reset(size)
	b, err := s.encoding.Append(f.Bytes()[:head], publishNs, msg, s.server.config.MaxFrame)
	if err != nil {
		return nil, err
	}
	if s.server.page != nil {
		putPageHead(b, s.id, 0)
	}
	f.Adopt(b)
	s.longest.Store(max(int64(len(b)), longest-longest/64))
	return b, nil
}

// Forms of a message.
const (
	formPlain = 0
	formZstd  = 1
)

// compress adds the compressed form, unless it isn't shorter.
func (s *Stream) compress(m *transport.Message, h frame, plain []byte) {
	f := m.Frame(formZstd, frameSize+len(plain)/2)
	f.Reset(max(frameSize, f.Cap()))
	b := s.server.encoder.EncodeAll(plain, f.Bytes()[:frameSize])
	f.Adopt(b)
	if len(b)-frameSize >= len(plain) {
		f.Release()
		return
	}
	h.length, h.flags = uint32(len(b)-frameSize), frameZstd
	h.put(b)
}

// session is the server's side of one connection.
type session struct {
	server *Server
	client *transport.Conn
	// welcomed is set while the client is accepted: it then gets beats and a goodbye.
	welcomed atomic.Bool
	parting  atomic.Pointer[error] // why the session has ended by itself
	all      bool                  // guarded by server.mu: the client wants every stream
	form     int                   // set before welcomed

	// Owned by the goroutine of Serve.
	head  [frameSize]byte
	drive drive
	ring  *ring // written under server.mu; nil without shared memory

	losses losses // owned by the writing goroutine
}

var _ transport.Session = (*session)(nil)

// Serve greets the client and answers its requests.
func (s *session) Serve(ctx context.Context) error {
	wait := patience * s.server.config.Beat
	limited := &patientReader{Reader: s.client.Conn(), extend: s.client.ExtendRead, beat: s.server.config.Beat, left: wait}
	r := bufio.NewReaderSize(limited, 4096)
	err := s.greet(r)
	defer s.end()
	defer s.forget()
	for err == nil {
		limited.left = wait
		err = s.request(ctx, r)
	}
	var refusal *refusalError
	switch {
	case errors.As(err, &refusal):
		if post := s.client.Post(refusal.frame); post == nil {
			s.client.Part()
		}
		return refusal.reason
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("%w: it sent nothing for %v", ErrUnresponsive, wait)
	}
	s.parting.Store(&err)
	return err
}

// refusalError ends a session after the client was told why.
type refusalError struct {
	reason error
	frame  []byte
}

func (e *refusalError) Error() string { return e.reason.Error() }

// end gives up what the session's goroutine owns.
func (s *session) end() {
	s.drive.payload.Release()
	if err := s.ring.close(); err != nil && s.server.config.Log != nil {
		s.server.config.Log.Warn("shared memory was not unmapped", "error", err)
	}
}

// subscribeLocked subscribes to a stream; server.mu must be held.
func (s *session) subscribeLocked(stream *Stream) {
	r := transport.Receiver{Form: s.form}
	if s.ring != nil {
		r.Place = s.ring.place
	}
	stream.core.SubscribeWith(s.client, r)
}

func (s *session) forget() {
	s.disown()
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	delete(s.server.sessions, s)
}

// greet reads the hello and answers it.
func (s *session) greet(r io.Reader) error {
	h, err := readHello(r)
	if err == nil {
		if full := s.client.Enter(); full != nil {
			err = fmt.Errorf("%w: %w", ErrTooManyClients, full)
		}
	}
	if err == nil {
		if err = s.welcome(&h); err == nil {
			return nil
		}
	}
	var broken net.Error
	if errors.Is(err, io.EOF) || errors.As(err, &broken) {
		return err
	}
	status := statusOf(err)
	w := welcome{status: status, reason: err.Error()}
	return &refusalError{fmt.Errorf("refuse client: %w", err), w.append(nil)}
}

// welcome acknowledges and subscribes, so that no stream that is added meanwhile is
// missed or told of twice.
func (s *session) welcome(h *hello) error {
	server := s.server
	server.mu.Lock()
	defer server.mu.Unlock()
	var wanted []*Stream
	for _, name := range h.streams {
		if name == Wildcard {
			s.all = true
			continue
		}
		stream := server.findLocked(name)
		if stream == nil {
			return server.unknownLocked(name)
		}
		wanted = append(wanted, stream)
	}
	if s.all {
		wanted = server.streams
	}
	w := server.welcomeLocked()
	if w.zstd = h.zstd && server.encoder != nil; w.zstd {
		s.form = formZstd
	}
	s.client.Greet(w.append(nil))
	s.welcomed.Store(true)
	server.sessions[s] = true
	s.client.Welcome()
	for _, stream := range wanted {
		s.subscribeLocked(stream)
	}
	return nil
}

func (s *session) wantsAll() bool { return s.all }

// welcomeLocked returns the acknowledgement for a client that wants nothing special; mu must be held.
func (s *Server) welcomeLocked() *welcome {
	w := &welcome{maxFrame: uint32(s.config.MaxFrame), beatMs: uint32(s.config.Beat.Milliseconds()), instance: s.instance}
	for _, stream := range s.streams {
		w.streams = append(w.streams, listed{stream.id, stream.info})
	}
	return w
}

// announce tells the client of a stream that came or went; server.mu must be held. A client that
// doesn't read so many is disconnected: it would miss one.
func (s *session) announce(news control, payload []byte) bool {
	err := s.client.Post(appendControl(nil, news, payload))
	if err != nil {
		s.client.Drop(err)
	}
	return err == nil
}

// request answers one frame of the client.
func (s *session) request(ctx context.Context, r io.Reader) error {
	if _, err := io.ReadFull(r, s.head[:]); err != nil {
		return err
	}
	h, limit := parseFrame(s.head[:]), maxRequest
	if s.server.port != nil {
		limit = maxStep
	}
	err := h.checkRequest(limit)
	if err == nil && h.control == controlStep && s.server.port != nil {
		return s.step(ctx, r, h)
	}
	if err == nil && s.server.port != nil && (h.control == controlRing || h.control == controlRelease) {
		return s.share(r, h)
	}
	name := ""
	if err == nil {
		name, err = readRequest(r, h)
	}
	switch {
	case errors.Is(err, ErrMalformed), errors.Is(err, ErrTooLarge):
		return s.bye(err)
	case err != nil, h.control == controlAlive:
		return err
	}
	return s.answer(h.control, name)
}

// checkRequest refuses a client's frame that is longer than limit, or has a message.
func (h *frame) checkRequest(limit int) error {
	if err := h.check(limit); err != nil {
		return err
	}
	if h.stream != 0 || h.flags != 0 {
		return fmt.Errorf("%w: a client sends no data", ErrMalformed)
	}
	return nil
}

// readRequest reads the rest of a client's frame: a sign of life, or what it wants of the named
// stream.
func readRequest(r io.Reader, h frame) (name string, err error) {
	payload, err := readControl(r, h.length)
	if err != nil {
		return "", err
	}
	switch h.control {
	case controlAlive:
		return "", nil
	case controlSubscribe, controlUnsubscribe:
		f := fields{b: payload}
		name = f.string()
		return name, f.end("request")
	default:
		return "", fmt.Errorf("%w: control %d", ErrMalformed, h.control)
	}
}

// bye refuses a client that was welcomed; it is told nothing after the reason.
func (s *session) bye(reason error) error {
	s.welcomed.Store(false)
	return &refusalError{fmt.Errorf("disconnect client: %w", reason), appendBye(nil, reason)}
}

// appendBye appends the last frame, which says why it is.
func appendBye(dst []byte, reason error) []byte {
	payload := le.AppendUint16(nil, uint16(statusOf(reason)))
	return appendControl(dst, controlBye, appendString(payload, reason.Error()))
}

// answer subscribes or unsubscribes and then tells the client: what is published after
// the answer arrived is received.
func (s *session) answer(request control, name string) error {
	server := s.server
	server.mu.Lock()
	defer server.mu.Unlock()
	streams, payload := server.askedLocked(request, name)
	if name == Wildcard {
		s.all = request == controlSubscribe
	}
	for _, stream := range streams {
		if request == controlSubscribe {
			s.subscribeLocked(stream)
		} else {
			stream.core.Unsubscribe(s.client)
		}
	}
	return s.client.Post(appendControl(nil, controlAnswer, payload))
}

// askedLocked returns the streams that a request names, and the answer to it; mu must be held.
func (s *Server) askedLocked(request control, name string) (streams []*Stream, answer []byte) {
	var err error
	if streams = s.streams; name != Wildcard {
		stream := s.findLocked(name)
		if streams = []*Stream{stream}; stream == nil {
			streams, err = nil, s.unknownLocked(name)
		}
	}
	answer = []byte{byte(request)}
	if err == nil {
		return streams, appendString(appendString(le.AppendUint16(answer, uint16(StatusOK)), name), "")
	}
	return nil, appendString(appendString(le.AppendUint16(answer, uint16(statusOf(err))), name), err.Error())
}

// Beat tells of messages that were dropped since the last beat, and shows that the server is
// alive. It does so while messages flow, too: a client that only answers signs of life stays.
func (s *session) Beat(dst []byte, _ bool) []byte {
	if !s.welcomed.Load() {
		return dst
	}
	if lost := s.losses.payload(s.client.Counts, s.server.results); lost != nil {
		dst = appendControl(dst, controlLosses, lost)
	}
	return appendControl(dst, controlAlive, nil)
}

// losses are what a client was told of dropped messages.
type losses struct {
	counts []transport.StreamCounts
	told   map[*transport.Stream]int64
}

// payload returns the number of dropped messages of each stream where it has changed, since the client subscribed; nil
// for no change. One stream is left out.
func (l *losses) payload(counts func([]transport.StreamCounts) []transport.StreamCounts, without *transport.Stream) (payload []byte) {
	l.counts = counts(l.counts)
	l.forget()
	n := 0
	for i := range l.counts {
		d := &l.counts[i]
		if d.Dropped == l.told[d.Stream] || d.Stream == without {
			continue
		}
		if l.told == nil {
			l.told = map[*transport.Stream]int64{}
		}
		l.told[d.Stream] = d.Dropped
		if n++; n == 1 {
			payload = le.AppendUint16(payload, 0)
		}
		payload = appendString(payload, d.Stream.Name())
		payload = le.AppendUint64(payload, uint64(d.Dropped))
		payload = append(payload, byte(worst(d)))
	}
	if n > 0 {
		le.PutUint16(payload, uint16(n))
	}
	return payload
}

// forget forgets what was told of streams that the client doesn't receive any more.
func (l *losses) forget() {
	if len(l.told) <= len(l.counts) {
		return
	}
	maps.DeleteFunc(l.told, func(stream *transport.Stream, _ int64) bool {
		return !slices.ContainsFunc(l.counts, func(d transport.StreamCounts) bool { return d.Stream == stream })
	})
}

// worst returns the protocol's number of the cause of most of the drops.
func worst(d *transport.StreamCounts) (number int) {
	for i, cause := range lossCauses {
		if d.Drops[cause] > d.Drops[lossCauses[number]] {
			number = i
		}
	}
	return number
}

// Goodbye says that the server ends, or why it has had enough of the client.
func (s *session) Goodbye(dst []byte) []byte {
	if !s.welcomed.Load() {
		return dst
	}
	if reason := s.parting.Load(); reason != nil && errors.Is(*reason, ErrUnresponsive) {
		return appendBye(dst, *reason)
	}
	return appendBye(dst, ErrServerClosed)
}
