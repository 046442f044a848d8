package stream

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
)

// link is one connection of a client, from its acknowledgement to its end.
type link struct {
	client  *Client
	conn    net.Conn
	r       *bufio.Reader
	welcome welcome
	beat    time.Duration
	silence time.Duration // that is too long
	ended   chan struct{} // closed when run ends

	stepping sync.Mutex // held while a step is sent
	writing  sync.Mutex
	out      []byte // guarded by writing

	mu      sync.Mutex
	streams map[uint16]*Info    // guarded by mu: those that have ended too, until another has their id
	order   []*Info             // guarded by mu: those that there are
	asked   []*question         // guarded by mu: what the server hasn't answered yet
	steps   []chan<- stepAnswer // guarded by mu: those of steps that aren't answered yet

	// Owned by run.
	packed  flow.Buffer // a compressed message
	source  bytes.Reader
	decoder *zstd.Decoder
}

// question is a request to subscribe that the server answers, in the order of requests.
type question struct {
	request control
	stream  string
	answer  chan error // of one place; nil if nobody waits
}

// patientReader reads what a peer has to send in time. It looks once a beat. Where this process was stopped
// meanwhile no more than a beat has passed, and what the peer has sent is read first.
type patientReader struct {
	io.Reader
	extend func(time.Duration) error // has a read fail after so long from now on
	beat   time.Duration             // 0: the connection's own deadline holds
	left   time.Duration             // for all that is read from now on
	each   time.Duration             // where it isn't 0, left at each read
}

func (r *patientReader) Read(b []byte) (int, error) {
	if r.beat == 0 {
		return r.Reader.Read(b)
	}
	if r.each > 0 {
		r.left = r.each
	}
	for {
		slice := max(min(r.left, r.beat), 0)
		if err := r.extend(slice); err != nil {
			return 0, err
		}
		begun := time.Now()
		n, err := r.Reader.Read(b)
		late := errors.Is(err, os.ErrDeadlineExceeded)
		if late {
			r.left -= slice
		} else {
			r.left -= min(time.Since(begun), slice)
		}
		if n > 0 || !late || r.left <= 0 {
			return n, err
		}
	}
}

const (
	// greetingWait is how long the server may take to answer a hello.
	greetingWait = 5 * time.Second
	readBuffer   = 32 << 10
)

// connect opens a connection and greets the server.
func (c *Client) connect() (*link, error) {
	conn, err := c.options.Dial(c.ctx, c.address)
	if err != nil {
		return nil, fault.NetReason(err)
	}
	stop := context.AfterFunc(c.ctx, func() { _ = conn.Close() })
	defer stop()
	l, err := c.greet(conn)
	if err != nil {
		return nil, errors.Join(fault.NetReason(err), ignoreClosed(conn.Close()))
	}
	return l, nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (c *Client) greet(conn net.Conn) (*link, error) {
	h := hello{zstd: c.options.Zstd}
	if err := conn.SetDeadline(time.Now().Add(greetingWait)); err != nil {
		return nil, err
	}
	if _, err := conn.Write(h.append(nil)); err != nil {
		return nil, err
	}
	wait := &patientReader{Reader: conn, extend: func(d time.Duration) error { return conn.SetReadDeadline(time.Now().Add(d)) }}
	r := bufio.NewReaderSize(wait, readBuffer)
	w, err := readWelcome(r)
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return nil, fmt.Errorf("no greeting, it is perhaps no stream server: %w", err)
	}
	if err != nil {
		return nil, err
	}
	l := &link{
		client: c, conn: conn, r: r, welcome: w, beat: time.Duration(w.beatMs) * time.Millisecond,
		ended: make(chan struct{}), streams: map[uint16]*Info{},
	}
	if l.beat <= 0 {
		return nil, fmt.Errorf("%w: a beat of %d ms", ErrMalformed, w.beatMs)
	}
	l.silence = cmp.Or(c.options.Patience, patience*l.beat)
	wait.beat, wait.each = l.beat, l.silence
	for i := range w.streams {
		if err := l.add(w.streams[i].id, &w.streams[i].info); err != nil {
			return nil, err
		}
	}
	return l, conn.SetDeadline(time.Time{})
}

// add notes a stream of the server.
func (l *link) add(id uint16, info *Info) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id == 0 || slices.Contains(l.order, l.streams[id]) {
		return fmt.Errorf("%w: stream %q has the id %d of another", ErrMalformed, info.Name, id)
	}
	l.streams[id] = info
	l.order = append(l.order, info)
	return nil
}

// remove notes that a stream has ended, and returns its name. Messages of it may be on their way.
func (l *link) remove(id uint16) (name string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.order, l.streams[id])
	if i < 0 {
		return "", fmt.Errorf("%w: the end of stream %d, which isn't there", ErrMalformed, id)
	}
	name = l.order[i].Name
	l.order = slices.Delete(l.order, i, i+1)
	return name, nil
}

func (l *link) infos() []Info {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]Info, len(l.order))
	for i, info := range l.order {
		list[i] = *info
	}
	return list
}

// attach makes the link the client's, and asks for what the client listens to.
func (l *link) attach() {
	c := l.client
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link = l
	for name := range c.listeners {
		l.ask(controlSubscribe, name, nil)
	}
}

// run receives until the connection ends, and returns why.
func (l *link) run() error {
	c := l.client
	stop := context.AfterFunc(c.ctx, func() { _ = l.conn.Close() })
	defer stop()
	var alive sync.WaitGroup
	alive.Go(l.live)
	err := l.receive()
	c.mu.Lock()
	c.link = nil
	c.mu.Unlock()
	close(l.ended)
	_ = l.conn.Close()
	alive.Wait()
	l.packed.Release()
	if l.decoder != nil {
		l.decoder.Close()
	}
	switch {
	case c.ctx.Err() != nil:
		return ErrClientClosed
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the server was silent for %v: %w", l.silence, err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the connection was cut: %w", err)
	}
	return err
}

// live shows the server that the client is there.
func (l *link) live() {
	ticker := time.NewTicker(l.beat)
	defer ticker.Stop()
	for {
		select {
		case <-l.ended:
			return
		case <-ticker.C:
			l.write(controlAlive, nil)
		}
	}
}

// write sends a control frame. A connection that fails is found broken by the reader.
func (l *link) write(c control, payload []byte) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.out = appendControl(l.out[:0], c, payload)
	if err := l.conn.SetWriteDeadline(time.Now().Add(l.silence)); err == nil {
		if _, err = l.conn.Write(l.out); err == nil {
			return
		}
	}
	_ = l.conn.Close()
}

func (l *link) request(c control, stream string) { l.write(c, appendString(nil, stream)) }

// ask sends a request whose answer wait returns, if there is a channel for it.
func (l *link) ask(request control, stream string, answer chan error) *question {
	q := &question{request, stream, answer}
	l.mu.Lock()
	l.asked = append(l.asked, q)
	l.mu.Unlock()
	l.request(request, stream)
	return q
}

// wait returns the answer to a question. It returns nil if the connection breaks first, since
// it is asked again over the next one, unless the client is closed.
func (l *link) wait(ctx context.Context, q *question) error {
	select {
	case err := <-q.answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-l.ended:
	}
	select {
	case err := <-q.answer:
		return err // it was the last thing to come
	default:
	}
	if l.client.ctx.Err() != nil {
		return ErrClientClosed
	}
	return nil
}

// receive reads frames until there are no more.
func (l *link) receive() error {
	var head [frameSize]byte
	for {
		if _, err := io.ReadFull(l.r, head[:]); err != nil {
			return err
		}
		h := parseFrame(head[:])
		if err := h.check(l.client.options.MaxFrame); err != nil {
			return err
		}
		var err error
		if h.stream == 0 {
			err = l.control(h)
		} else {
			err = l.message(h)
		}
		if err != nil {
			return err
		}
	}
}

// listener returns who wants a stream's messages, nil for nobody.
func (l *link) listener(stream uint16) (*listener, *Info) {
	l.mu.Lock()
	info := l.streams[stream]
	l.mu.Unlock()
	if info == nil {
		return nil, nil
	}
	c := l.client
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listeners[info.Name], info
}

// message reads a message and queues it for its callback.
func (l *link) message(h frame) error {
	to, info := l.listener(h.stream)
	if to == nil {
		_, err := l.r.Discard(int(h.length))
		return err
	}
	r := received{info: info, sequence: h.sequence, link: l}
	r.buf = to.pool.Get(int(h.plain))
	err := l.read(&r.buf, h)
	if err == nil {
		r.message, err = openMessage(r.buf.Bytes())
	}
	if err != nil {
		r.buf.Release()
		return err
	}
	to.queue.Push(l.client.ctx, r, int64(h.plain))
	return nil
}

// read reads the payload, uncompressed.
func (l *link) read(b *flow.Buffer, h frame) error {
	if h.flags&frameZstd == 0 {
		return readInto(l.r, b, int(h.length))
	}
	if err := readInto(l.r, &l.packed, int(h.length)); err != nil {
		return err
	}
	l.source.Reset(l.packed.Bytes())
	if l.decoder == nil {
		var err error
		l.decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(32<<20))
		if err != nil {
			return err
		}
	}
	err := l.decoder.Reset(&l.source)
	if err == nil {
		err = readInto(l.decoder, b, int(h.plain))
	}
	if err == nil {
		var more [1]byte
		if n, _ := l.decoder.Read(more[:]); n > 0 {
			err = errors.New("it is longer than the frame says")
		}
	}
	if err != nil {
		return fmt.Errorf("%w: compressed message: %w", ErrMalformed, err)
	}
	return nil
}

// control reads what the server says.
func (l *link) control(h frame) error {
	if h.length > maxTable {
		return fmt.Errorf("%w: a control frame of %d bytes, the most are %d", ErrTooLarge, h.length, maxTable)
	}
	payload, err := readControl(l.r, h.length)
	if err != nil {
		return err
	}
	f := fields{b: payload}
	switch h.control {
	case controlAlive:
	case controlStepResult:
		return l.stepped(payload)
	case controlStream:
		id, info := f.info()
		if err := f.end("description of a stream"); err != nil {
			return err
		}
		if err := l.add(id, &info); err != nil {
			return err
		}
		if l.client.IsListening(info.Name) { // one of the name was there before
			l.ask(controlSubscribe, info.Name, nil)
		}
		l.client.event(Event{Kind: EventStream, Stream: info.Name})
	case controlGone:
		name, err := l.remove(f.u16())
		if err := errors.Join(f.end("end of a stream"), err); err != nil {
			return err
		}
		l.client.forget(name)
		l.client.event(Event{Kind: EventGone, Stream: name})
	case controlAnswer:
		l.answered(&f)
	case controlLosses:
		l.losses(&f)
	case controlBye:
		status := ReplyStatus(f.u16())
		return status.err(f.string())
	}
	return f.end("control frame")
}

// answered hands an answer to who asked, or tells of a refusal that nobody waits for.
func (l *link) answered(f *fields) {
	request := control(f.take(1)[0])
	status := ReplyStatus(f.u16())
	stream := f.string()
	err := status.err(f.string())
	if answer := l.asker(request, stream); answer != nil {
		answer <- err
		return
	}
	if err != nil && request == controlSubscribe {
		l.client.event(Event{Kind: EventRefused, Stream: stream, Err: err})
	}
}

// asker takes the oldest question of its kind out and returns where its answer goes, nil
// for nowhere.
func (l *link) asker(request control, stream string) chan<- error {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.asked, func(q *question) bool { return q.request == request && q.stream == stream })
	if i < 0 {
		return nil
	}
	q := l.asked[i]
	l.asked = slices.Delete(l.asked, i, i+1)
	return q.answer
}

// losses tells of messages that the server has dropped.
func (l *link) losses(f *fields) {
	for range f.u16() {
		stream := f.string()
		missed := f.u64()
		cause := int(f.take(1)[0])
		if f.bad {
			return
		}
		reason := fmt.Sprintf("cause(%d)", cause)
		if cause < len(lossCauses) {
			reason = string(lossCauses[cause])
		}
		l.client.event(Event{Kind: EventLosses, Stream: stream, Missed: missed, Known: true, Reason: reason})
	}
}

// lossCauses are the causes of losses by their numbers in the protocol.
var lossCauses = [...]flow.Cause{flow.CausePeerSlow, flow.CauseNotConnected, flow.CauseClosed}
