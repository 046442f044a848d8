package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
)

// DefaultAddress is where a server listens unless told otherwise.
const DefaultAddress = "127.0.0.1:7740"

// Version is the version of the protocol that this package speaks.
const Version = 2

// versions says what a peer of another version lacks, and what to do.
const versions = "since version 2 messages are ROS messages; use a raybridge or a client of the same version"

const (
	magic = "RBSTREAM"
	// greetingSize is the fixed part of a hello and of an acknowledgement.
	greetingSize = 16
	// maxHello bounds a hello, maxTable an acknowledgement, maxRequest a frame from a
	// client; bytes that follow the fixed part.
	maxHello   = 64 << 10
	maxTable   = 16 << 20
	maxRequest = 64 << 10
	// frameSize is the length of a frame's header.
	frameSize = 16
	// maxStreams is the number of ids that streams can have; 0 is the protocol's own.
	maxStreams = math.MaxUint16
	// patience is how many beats may pass without a frame before a peer counts as
	// gone.
	patience = 5
)

// Wildcard stands for all streams, those to come too.
const Wildcard = "*"

// Flags of a hello and of an acknowledgement.
const greetingZstd = 1 << 0

// Flags of a frame.
const (
	frameZstd = 1 << 0
	frameRing = 1 << 1 // the message is in shared memory; the payload says where
)

// control is what a frame of stream 0 says.
type control uint8

const (
	controlAlive       control = 1  // both ways: empty
	controlStream      control = 2  // from the server: a new stream
	controlAnswer      control = 3  // from the server, to subscribe and unsubscribe
	controlLosses      control = 4  // from the server: messages dropped for this client
	controlBye         control = 5  // from the server: the last frame
	controlSubscribe   control = 6  // from the client: a name
	controlUnsubscribe control = 7  // from the client: a name
	controlStep        control = 8  // from the client: a Step of step.proto
	controlStepResult  control = 9  // from the server: a StepResult
	controlRing        control = 10 // from the client, on a UNIX socket: shared memory; and the answer
	controlRelease     control = 11 // from the client: messages in shared memory that it has read
	controlGone        control = 12 // from the server: a stream has ended
)

// ReplyStatus is the server's answer to a hello or a request.
type ReplyStatus uint16

// Answers of a server.
const (
	StatusOK ReplyStatus = iota
	// StatusMagic: what the client sent isn't this protocol.
	StatusMagic
	// StatusVersion: the server speaks another version.
	StatusVersion
	// StatusUnknownStream: there is no stream of that name.
	StatusUnknownStream
	// StatusTooManyClients: all places are taken.
	StatusTooManyClients
	// StatusMalformed: a hello or frame contradicts itself.
	StatusMalformed
	// StatusTooLarge: a frame is longer than allowed.
	StatusTooLarge
	// StatusClosing: the server ends.
	StatusClosing
	// StatusUnresponsive: the client sent or took nothing for too long.
	StatusUnresponsive
)

// Errors of the protocol; test them with errors.Is.
var (
	ErrMagic          = errors.New("the peer doesn't speak the stream protocol")
	ErrVersion        = errors.New("the peer speaks another version of the stream protocol")
	ErrUnknownStream  = errors.New("unknown stream")
	ErrTooManyClients = errors.New("the stream server has all the clients it takes")
	ErrMalformed      = errors.New("malformed frame")
	ErrTooLarge       = errors.New("frame too large")
	ErrServerClosed   = errors.New("the stream server was closed")
	ErrUnresponsive   = errors.New("the client doesn't respond")
)

var statusErrors = [...]error{
	StatusMagic: ErrMagic, StatusVersion: ErrVersion, StatusUnknownStream: ErrUnknownStream,
	StatusTooManyClients: ErrTooManyClients, StatusMalformed: ErrMalformed, StatusTooLarge: ErrTooLarge,
	StatusClosing: ErrServerClosed, StatusUnresponsive: ErrUnresponsive,
}

// err returns the error that a status stands for, with the server's reason.
func (s ReplyStatus) err(reason string) error {
	switch {
	case s == StatusOK:
		return nil
	case int(s) < len(statusErrors):
		known := statusErrors[s]
		if rest, same := strings.CutPrefix(reason, known.Error()); same { // as our servers write it
			return fmt.Errorf("%w%s", known, rest)
		}
		return fmt.Errorf("%w: %s", known, reason)
	default:
		return fmt.Errorf("%w: status %d: %s", ErrMalformed, uint16(s), reason)
	}
}

// statusOf returns the status to refuse with for an error.
func statusOf(err error) ReplyStatus {
	for s, known := range statusErrors {
		if known != nil && errors.Is(err, known) {
			return ReplyStatus(s)
		}
	}
	return StatusMalformed
}

var le = binary.LittleEndian

// Info describes a stream.
type Info struct {
	// Name is the stream's, unique at its server: the topic.
	Name string
	// Sensor names the sensor, SensorType is its type's id; both may be empty.
	Sensor, SensorType string
	// Type is the sensor type's number and the output.
	Type TypeID
	// Schema describes the messages: of MD5 nothing is told. A server's own streams have
	// that of their Encoding.
	Schema bridges.Schema
	// Latched streams hand their last message to each client that subscribes.
	Latched bool
}

const infoLatched = 1 << 0

// appendInfo appends a stream's row of the table.
func appendInfo(b []byte, id uint16, i *Info) []byte {
	b = le.AppendUint16(b, id)
	flags := uint16(0)
	if i.Latched {
		flags |= infoLatched
	}
	b = le.AppendUint16(b, flags)
	b = le.AppendUint32(b, uint32(i.Type))
	for _, s := range []string{i.Name, i.Sensor, i.SensorType, i.Schema.Name, i.Schema.MessageEncoding, i.Schema.Encoding} {
		b = appendString(b, s)
	}
	b = le.AppendUint32(b, uint32(len(i.Schema.Data)))
	return append(b, i.Schema.Data...)
}

// appendString appends a string with its length; what is longer than a u16 can tell
// is cut off.
func appendString(b []byte, s string) []byte {
	s = s[:min(len(s), math.MaxUint16)]
	return append(le.AppendUint16(b, uint16(len(s))), s...)
}

// fields reads what a greeting or control frame holds. After the end everything is
// zero and bad is set.
type fields struct {
	b   []byte
	bad bool
}

func (f *fields) take(n int) []byte {
	if n > len(f.b) {
		f.bad, f.b = true, nil
		return make([]byte, min(n, 8)) // numbers are read from it; strings ask for less
	}
	taken := f.b[:n]
	f.b = f.b[n:]
	return taken
}

func (f *fields) u16() uint16 { return le.Uint16(f.take(2)) }
func (f *fields) u32() uint32 { return le.Uint32(f.take(4)) }
func (f *fields) u64() uint64 { return le.Uint64(f.take(8)) }

func (f *fields) string() string { return string(f.bytes(int64(f.u16()))) }

// bytes returns so many bytes, which are the frame's.
func (f *fields) bytes(n int64) []byte {
	if n > int64(len(f.b)) {
		f.bad, f.b = true, nil
		return nil
	}
	return f.take(int(n))
}

func (f *fields) info() (id uint16, i Info) {
	id = f.u16()
	i.Latched = f.u16()&infoLatched != 0
	i.Type = TypeID(f.u32())
	i.Name, i.Sensor, i.SensorType = f.string(), f.string(), f.string()
	i.Schema.Name, i.Schema.MessageEncoding, i.Schema.Encoding = f.string(), f.string(), f.string()
	i.Schema.Data = slices.Clone(f.bytes(int64(f.u32())))
	return id, i
}

// end returns an error unless everything was read and there was enough.
func (f *fields) end(what string) error {
	if f.bad || len(f.b) > 0 {
		return fmt.Errorf("%w: %s of a wrong length", ErrMalformed, what)
	}
	return nil
}

// frame is a frame's header.
type frame struct {
	length   uint32 // of the payload
	stream   uint16
	flags    uint8
	control  control
	sequence uint32
	plain    uint32 // the payload's length when it isn't compressed
}

func (h *frame) put(b []byte) {
	le.PutUint32(b, h.length)
	le.PutUint16(b[4:], h.stream)
	b[6], b[7] = h.flags, uint8(h.control)
	le.PutUint32(b[8:], h.sequence)
	le.PutUint32(b[12:], h.plain)
}

func parseFrame(b []byte) frame {
	return frame{
		length: le.Uint32(b), stream: le.Uint16(b[4:]), flags: b[6], control: control(b[7]),
		sequence: le.Uint32(b[8:]), plain: le.Uint32(b[12:]),
	}
}

// check refuses frames that are longer than limit, or contradict themselves.
func (h *frame) check(limit int) error {
	switch {
	case int64(h.length) > int64(limit) || int64(h.plain) > int64(limit):
		return fmt.Errorf("%w: %d bytes, the most are %d", ErrTooLarge, max(h.length, h.plain), limit)
	case h.flags&^frameZstd != 0, h.flags&frameZstd == 0 && h.plain != h.length:
		return fmt.Errorf("%w: flags %#x, %d bytes for %d", ErrMalformed, h.flags, h.length, h.plain)
	}
	return nil
}

// seal writes a frame's number.
func seal(b []byte, sequence uint64) { le.PutUint32(b[8:], uint32(sequence)) }

// readControl reads a control frame's payload. Not more is allocated than arrives.
func readControl(r io.Reader, n uint32) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	payload, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err == nil && uint32(len(payload)) < n {
		err = io.ErrUnexpectedEOF
	}
	return payload, err
}

// appendControl appends a frame of the protocol's own.
func appendControl(b []byte, c control, payload []byte) []byte {
	h := frame{length: uint32(len(payload)), control: c, plain: uint32(len(payload))}
	b = append(b, make([]byte, frameSize)...)
	h.put(b[len(b)-frameSize:])
	return append(b, payload...)
}

// firstStep is how much memory is taken for a frame whose bytes aren't there yet.
const firstStep = 1 << 20

// readInto reads n bytes into the buffer. What the block lacks is allocated as the
// bytes arrive, never for a claimed length at once.
func readInto(r io.Reader, b *flow.Buffer, n int) error {
	for have := 0; ; {
		step := min(n, max(b.Cap(), 2*have, firstStep))
		if step > b.Cap() {
			b.Adopt(slices.Grow(b.Bytes()[:have:have], step-have)[:step])
		} else {
			b.Adopt(b.Bytes()[:have:b.Cap()][:step])
		}
		if _, err := io.ReadFull(r, b.Bytes()[have:]); err != nil {
			return err
		}
		if have = step; have == n {
			return nil
		}
	}
}

// hello is a client's greeting.
type hello struct {
	zstd    bool
	streams []string
}

func (h *hello) append(b []byte) []byte {
	rest := le.AppendUint16(nil, uint16(len(h.streams)))
	for _, name := range h.streams {
		rest = appendString(rest, name)
	}
	flags := uint16(0)
	if h.zstd {
		flags |= greetingZstd
	}
	return appendGreeting(b, flags, rest)
}

func appendGreeting(b []byte, word uint16, rest []byte) []byte {
	b = append(b, magic...)
	b = le.AppendUint16(b, Version)
	b = le.AppendUint16(b, word)
	b = le.AppendUint32(b, uint32(len(rest)))
	return append(b, rest...)
}

// readGreeting reads a hello or acknowledgement. Of a peer of another version it
// returns the fixed part's word and ErrVersion, after reading the rest.
func readGreeting(r io.Reader, limit int) (word uint16, rest []byte, err error) {
	var fixed [greetingSize]byte
	if _, err := io.ReadFull(r, fixed[:]); err != nil {
		if n := len(fixed); errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, nil, fmt.Errorf("%w: it ends within the first %d bytes", ErrMalformed, n)
		}
		return 0, nil, err
	}
	if string(fixed[:len(magic)]) != magic {
		return 0, nil, fmt.Errorf("%w: it begins with %q, want %q", ErrMagic, fixed[:len(magic)], magic)
	}
	version, n := le.Uint16(fixed[8:]), int64(le.Uint32(fixed[12:]))
	word = le.Uint16(fixed[10:])
	if n > int64(limit) {
		return word, nil, fmt.Errorf("%w: a greeting of %d bytes, the most are %d", ErrTooLarge, n, limit)
	}
	// Not more is allocated than arrives.
	rest, err = io.ReadAll(io.LimitReader(r, n))
	if err == nil && int64(len(rest)) < n {
		err = fmt.Errorf("%w: the greeting ends after %d of %d bytes", ErrMalformed, len(rest), n)
	}
	if err == nil && version != Version {
		err = fmt.Errorf("%w: it is %d, this side's is %d: %s", ErrVersion, version, Version, versions)
	}
	return word, rest, err
}

func readHello(r io.Reader) (h hello, err error) {
	flags, rest, err := readGreeting(r, maxHello)
	if err != nil {
		return h, err
	}
	f := fields{b: rest}
	for range f.u16() {
		if f.bad {
			break
		}
		h.streams = append(h.streams, f.string())
	}
	h.zstd = flags&greetingZstd != 0
	return h, f.end("hello")
}

// welcome is the server's acknowledgement.
type welcome struct {
	status   ReplyStatus
	reason   string
	zstd     bool
	maxFrame uint32
	beatMs   uint32
	// instance is another number for each server that was ever started.
	instance uint64
	streams  []listed
}

// listed is a stream with its id.
type listed struct {
	id   uint16
	info Info
}

// append appends the acknowledgement. Streams that it has no room for follow, each as one that is new.
func (w *welcome) append(b []byte) []byte {
	rest, late := w.rest()
	b = appendGreeting(b, uint16(w.status), rest)
	for _, one := range late {
		b = appendControl(b, controlStream, appendInfo(nil, one.id, &one.info))
	}
	return b
}

// rest returns what follows the acknowledgement's fixed part, and the streams that it has no room for.
func (w *welcome) rest() (rest []byte, late []listed) {
	rest = appendString(nil, w.reason)
	flags := uint16(0)
	if w.zstd {
		flags |= greetingZstd
	}
	rest = le.AppendUint16(rest, flags)
	rest = le.AppendUint32(rest, w.maxFrame)
	rest = le.AppendUint32(rest, w.beatMs)
	rest = le.AppendUint64(rest, w.instance)
	counted, n := len(rest), 0
	rest = le.AppendUint16(rest, 0)
	for ; n < len(w.streams); n++ {
		longer := appendInfo(rest, w.streams[n].id, &w.streams[n].info)
		if len(longer) > maxTable {
			break
		}
		rest = longer
	}
	le.PutUint16(rest[counted:], uint16(n))
	return rest, w.streams[n:]
}

// readWelcome returns the acknowledgement, or what the server refuses for.
func readWelcome(r io.Reader) (w welcome, err error) {
	word, rest, err := readGreeting(r, maxTable)
	w.status = ReplyStatus(word)
	f := fields{b: rest}
	w.reason = f.string()
	if err != nil {
		if errors.Is(err, ErrVersion) && w.reason != "" {
			return w, fmt.Errorf("%w: %s", ErrVersion, w.reason)
		}
		return w, err
	}
	w.zstd = f.u16()&greetingZstd != 0
	w.maxFrame, w.beatMs, w.instance = f.u32(), f.u32(), f.u64()
	for range f.u16() {
		if f.bad {
			break
		}
		id, info := f.info()
		w.streams = append(w.streams, listed{id, info})
	}
	if err := f.end("acknowledgement"); err != nil {
		return w, err
	}
	return w, w.status.err(w.reason)
}
