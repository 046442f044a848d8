package stream

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"time"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// Clients returns the connected clients with their counts, in no order.
func (s *Server) Clients() []*transport.Conn { return s.core.Clients() }

// Known returns how many streams the server keeps something of.
func (s *Server) Known() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(len(s.streams), len(s.ids)-len(s.leaving), len(s.core.Streams()))
}

// ID returns the stream's number.
func (s *Stream) ID() uint16 { return s.id }

// Outstanding returns the number of buffers that are lent: zero after Close.
func (s *Server) Outstanding() int { return s.core.Outstanding() }

// Reencode reads a client's or a server's greeting and writes it again.
func Reencode(b []byte, fromClient bool) ([]byte, error) {
	if fromClient {
		h, err := readHello(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		return h.append(nil), nil
	}
	w, err := readWelcome(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return w.append(nil), nil
}

// ReadRequest reads a client's frame and writes it again.
func ReadRequest(b []byte) ([]byte, error) {
	if len(b) < frameSize {
		return nil, io.ErrUnexpectedEOF
	}
	h := parseFrame(b)
	if err := h.checkRequest(maxRequest); err != nil {
		return nil, err
	}
	name, err := readRequest(bytes.NewReader(b[frameSize:]), h)
	if err != nil || h.control == controlAlive {
		return nil, err
	}
	return appendControl(nil, h.control, appendString(nil, name)), nil
}

// Received is the sequel of b as a client reads it that has been welcomed, and listens to the
// stream 1. It returns how many messages the client takes and why it ends.
func Received(b []byte, maxFrame int) (messages int, largest int64, err error) {
	c := newClient(context.Background(), "", Options{MaxFrame: maxFrame, Events: func(Event) {}})
	defer c.cancel()
	l := newListenerLocked(c, "a", nil)
	c.listeners["a"] = l
	ours, theirs := net.Pipe()
	defer theirs.Close()
	go func() { _, _ = io.Copy(io.Discard, ours) }()
	link := &link{client: c, conn: theirs, beat: time.Second, r: bufio.NewReader(bytes.NewReader(b)), streams: map[uint16]*Info{}}
	if err := link.add(1, &Info{Name: "a"}); err != nil {
		return 0, 0, err
	}
	q := &question{controlSubscribe, "a", make(chan error, 1)}
	link.asked = append(link.asked, q)
	err = link.receive()
	l.queue.Finish()
	for r, ok := l.queue.Pop(); ok; r, ok = l.queue.Pop() {
		messages++
		r.buf.Release()
	}
	link.packed.Release()
	if link.decoder != nil {
		link.decoder.Close()
	}
	stats := l.pool.Stats()
	if stats.Outstanding != 0 || stats.Misused != 0 {
		panic("a buffer was not released, or twice")
	}
	return messages, stats.IdleBytes, err
}

// Limited is the bridge with another limit of messages, bytes.
func Limited(limit int) Factory { return Factory{limit: limit} }

// StepReader reads one Step after the other into the same memory.
type StepReader struct{ request stepRequest }

// Read returns the frame, and the duration where it doesn't say until when.
func (s *StepReader) Read(b []byte) (*world.Frame, simtime.Stamp, error) {
	err := s.request.read(b)
	return &s.request.frame, s.request.duration, err
}

// AppendStep is what a client sends.
func AppendStep(b []byte, f *world.Frame) []byte { return new(stepWriter).step(b, f) }

// AppendStepResult is what a server answers.
func AppendStepResult(b []byte, r *world.StepResult, failure error) []byte {
	return new(stepWriter).result(b, r, failure)
}

// ReadStepResult is what a client makes of it.
func ReadStepResult(b []byte) (world.StepResult, error) { return readStepResult(b) }

// MaxStep is how long a Step may be, bytes.
const MaxStep = maxStep

// Ring is shared memory, of which nobody knows.
type Ring struct{ ring *ring }

// NewRing returns one of so many bytes.
func NewRing(size int) Ring {
	return Ring{newRing(make([]byte, size), func([]byte) error { return nil })}
}

// Place puts the message of a stream into it, and returns the frame that is sent instead.
func (r Ring) Place(message []byte) []byte {
	h := frame{length: uint32(len(message)), stream: 1, plain: uint32(len(message))}
	whole := make([]byte, frameSize, frameSize+len(message))
	h.put(whole)
	return r.ring.place(nil, append(whole, message...))
}

// Release takes a message back.
func (r Ring) Release(at uint64) error { return r.ring.release(at) }

// Memory is what the client sees.
func (r Ring) Memory() []byte { return r.ring.memory }

// Free is the number of pieces of memory that are free.
func (r Ring) Free() int { return len(r.ring.free) }

// RingLeast is how long a message is at least that goes through it.
const RingLeast = ringLeast

// NewPatientReader returns a reader that a peer has patience beats to send to.
func NewPatientReader(from io.Reader, extend func(time.Duration) error, beat time.Duration) io.Reader {
	return &patientReader{Reader: from, extend: extend, beat: beat, each: patience * beat}
}

// ReadPageWelcome reads what a page is told first: the streams by their ids.
func ReadPageWelcome(rest []byte) (map[uint16]Info, error) {
	w, err := readWelcome(bytes.NewReader(appendGreeting(nil, 0, rest)))
	streams := map[uint16]Info{}
	for _, one := range w.streams {
		streams[one.id] = one.info
	}
	return streams, err
}

// ReadPageRequest reads what a page asks for.
func ReadPageRequest(b []byte) (any, error) { return readPageRequest(b) }

// Search begins to search a cloud that pages were sent, until end is called.
func (p *PagePort) Search(name string, number uint32) (cloud *sample.PointCloud, end func()) {
	server, _ := p.instance.Load().Serving()
	server.mu.Lock()
	l := server.findLocked(name).latest
	server.mu.Unlock()
	k := l.borrow(number)
	return k.m.(*sample.PointCloud), func() { l.giveBack(k) }
}

// watchedForm is a form that tells of each sample before it shows it.
type watchedForm struct {
	form
	begin func()
}

func (f *watchedForm) show(m simtime.Stamped, whole bool) (shown simtime.Stamped, points uint32, err error) {
	f.begin()
	return f.form.show(m, whole)
}

// WatchEncoding calls begin before each message of a stream is encoded. The stream has sent nothing yet.
func (p *PagePort) WatchEncoding(name string, begin func()) {
	server, _ := p.instance.Load().Serving()
	server.mu.Lock()
	defer server.mu.Unlock()
	l := server.findLocked(name).latest
	l.form = &watchedForm{l.form, begin}
}
