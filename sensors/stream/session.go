package stream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges/transport"
)

// session is the server's side of one connection.
type session struct {
	server *Server
	client *transport.Conn
	// welcomed is set while the client is accepted: it then gets beats and a goodbye.
	welcomed atomic.Bool
	all      bool // guarded by server.mu: the client wants every stream
	form     int  // set before welcomed

	// Owned by the writing goroutine.
	deliveries []transport.Delivery
	lost       map[*transport.Stream]int64 // as last told
}

var _ transport.Session = (*session)(nil)

// Serve greets the client and answers its requests.
func (s *session) Serve(context.Context) error {
	r := bufio.NewReaderSize(s.client.Conn(), 4096)
	wait := patience * s.server.config.Beat
	if err := s.client.ExtendRead(wait); err != nil {
		return err
	}
	err := s.greet(r)
	defer s.forget()
	for err == nil {
		if err = s.client.ExtendRead(wait); err == nil {
			err = s.request(r)
		}
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
		return fmt.Errorf("the client was silent for %v: %w", wait, err)
	}
	return err
}

// refusalError ends a session after the client was told why.
type refusalError struct {
	reason error
	frame  []byte
}

func (e *refusalError) Error() string { return e.reason.Error() }

func (s *session) forget() {
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
	w := welcome{
		zstd: h.zstd && server.encoder != nil, maxFrame: uint32(server.config.MaxFrame),
		beatMs: uint32(server.config.Beat.Milliseconds()), instance: server.instance,
	}
	if w.zstd {
		s.form = formZstd
	}
	for _, stream := range server.streams {
		w.streams = append(w.streams, listed{stream.id, stream.info})
	}
	if err := s.client.Post(w.append(nil)); err != nil {
		return err
	}
	s.welcomed.Store(true)
	server.sessions[s] = true
	s.client.Welcome()
	for _, stream := range wanted {
		stream.core.Subscribe(s.client, s.form)
	}
	return nil
}

// announce tells the client of a new stream; server.mu must be held. A client that
// doesn't read is disconnected by its own session.
func (s *session) announce(stream *Stream, announcement []byte) {
	if err := s.client.Post(announcement); err == nil && s.all {
		stream.core.Subscribe(s.client, s.form)
	}
}

// request answers one frame of the client.
func (s *session) request(r io.Reader) error {
	request, name, err := readRequest(r)
	switch {
	case errors.Is(err, ErrMalformed), errors.Is(err, ErrTooLarge):
		return s.bye(err)
	case err != nil, request == controlAlive:
		return err
	}
	return s.answer(request, name)
}

// readRequest reads one frame of a client: a sign of life, or what it wants of the
// named stream.
func readRequest(r io.Reader) (request control, name string, err error) {
	var head [frameSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, "", err
	}
	h := parseFrame(head[:])
	if err := h.check(maxRequest); err != nil {
		return 0, "", err
	}
	if h.stream != 0 || h.flags != 0 {
		return 0, "", fmt.Errorf("%w: a client sends no data", ErrMalformed)
	}
	payload, err := readControl(r, h.length)
	if err != nil {
		return 0, "", err
	}
	switch h.control {
	case controlAlive:
		return h.control, "", nil
	case controlSubscribe, controlUnsubscribe:
		f := fields{b: payload}
		name = f.string()
		return h.control, name, f.end("request")
	default:
		return 0, "", fmt.Errorf("%w: control %d", ErrMalformed, h.control)
	}
}

// bye refuses a client that was welcomed; it is told nothing after the reason.
func (s *session) bye(reason error) error {
	s.welcomed.Store(false)
	payload := le.AppendUint16(nil, uint16(statusOf(reason)))
	return &refusalError{
		fmt.Errorf("disconnect client: %w", reason),
		appendControl(nil, controlBye, appendString(payload, reason.Error())),
	}
}

// answer subscribes or unsubscribes and then tells the client: what is published after
// the answer arrived is received.
func (s *session) answer(request control, name string) error {
	server := s.server
	server.mu.Lock()
	defer server.mu.Unlock()
	streams := server.streams
	var err error
	if name != Wildcard {
		stream := server.findLocked(name)
		if streams = []*Stream{stream}; stream == nil {
			streams, err = nil, server.unknownLocked(name)
		}
	}
	payload := []byte{byte(request)}
	if err == nil {
		payload = appendString(appendString(le.AppendUint16(payload, uint16(StatusOK)), name), "")
	} else {
		payload = appendString(appendString(le.AppendUint16(payload, uint16(statusOf(err))), name), err.Error())
	}
	if name == Wildcard {
		s.all = request == controlSubscribe
	}
	for _, stream := range streams {
		if request == controlSubscribe {
			stream.core.Subscribe(s.client, s.form)
		} else {
			stream.core.Unsubscribe(s.client)
		}
	}
	return s.client.Post(appendControl(nil, controlAnswer, payload))
}

// Beat tells of messages that were dropped since the last beat, or shows that the
// server is alive.
func (s *session) Beat(dst []byte, idle bool) []byte {
	if !s.welcomed.Load() {
		return dst
	}
	before := len(dst)
	dst = s.appendLosses(dst)
	if len(dst) == before && idle {
		return appendControl(dst, controlAlive, nil)
	}
	return dst
}

// appendLosses appends the number of dropped messages of each stream where it has
// changed, since the client subscribed.
func (s *session) appendLosses(dst []byte) []byte {
	s.deliveries = s.client.Deliveries(s.deliveries)
	var payload []byte
	n := 0
	for i := range s.deliveries {
		d := &s.deliveries[i]
		if d.Dropped == s.lost[d.Stream] {
			continue
		}
		if s.lost == nil {
			s.lost = map[*transport.Stream]int64{}
		}
		s.lost[d.Stream] = d.Dropped
		if n++; n == 1 {
			payload = le.AppendUint16(payload, 0)
		}
		payload = appendString(payload, d.Stream.Name())
		payload = le.AppendUint64(payload, uint64(d.Dropped))
		payload = append(payload, byte(worst(d)))
	}
	if n == 0 {
		return dst
	}
	le.PutUint16(payload, uint16(n))
	return appendControl(dst, controlLosses, payload)
}

// worst returns the protocol's number of the cause of most of the drops.
func worst(d *transport.Delivery) (number int) {
	for i, cause := range lossCauses {
		if d.Drops[cause] > d.Drops[lossCauses[number]] {
			number = i
		}
	}
	return number
}

// Goodbye says that the server ends.
func (s *session) Goodbye(dst []byte) []byte {
	if !s.welcomed.Load() {
		return dst
	}
	payload := le.AppendUint16(nil, uint16(StatusClosing))
	return appendControl(dst, controlBye, appendString(payload, ErrServerClosed.Error()))
}
