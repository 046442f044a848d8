package stream

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// ErrUnknownType says that a stream's messages have no sample here; Message.Body has their
// bytes, and Info.Schema describes them.
var ErrUnknownType = errors.New("no sample is known for the message")

// Encoding is how the samples of one stream become messages.
type Encoding struct {
	// Schema describes the messages.
	Schema bridges.Schema

	mu sync.Mutex
	// prepare converts a sample and returns how many bytes its message has, 0 where nobody
	// knows; write appends that message. They are called with mu held.
	prepare func(msg simtime.Stamped) (size int, err error)
	write   func(dst []byte) ([]byte, error)
}

// Append appends a sample's message with its envelope to dst and returns the result. It keeps
// no hold of msg. A message of more than limit bytes is ErrTooLarge. It may be called from any
// goroutine.
func (e *Encoding) Append(dst []byte, publishNs int64, msg simtime.Stamped, limit int) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	size, err := e.prepare(msg)
	if err != nil {
		return dst, err
	}
	start := len(dst)
	if dst, err = appendEnvelope(dst, publishNs, msg); err != nil {
		return dst, err
	}
	if err := fits(len(dst)-start+size, limit); err != nil { // before there is memory for it
		return dst, err
	}
	if dst, err = e.write(slices.Grow(dst, size)); err != nil {
		return dst, err
	}
	return dst, fits(len(dst)-start, limit)
}

// fits returns an error that wraps ErrTooLarge for a message of more bytes than the limit.
func fits(size, limit int) error {
	if size <= limit {
		return nil
	}
	return fmt.Errorf("%w: %d bytes, the most are %d", ErrTooLarge, size, limit)
}

// whole are the messages of raybridge's own samples, by their types.
var whole = sync.OnceValue(func() map[reflect.Type]ros.Publication {
	list := map[reflect.Type]ros.Publication{}
	for _, pub := range rossample.Whole() {
		list[pub.Sample] = pub
	}
	return list
})

// EncodingOf returns an encoding of samples of a type, for one stream: a ROS message as CDR.
// It is that of ROS where a sample has one, else a mirror of the type's own, a pointer to a
// structure. Errors wrap ros.ErrMirror, or say that another type has the message's name.
func EncodingOf(t reflect.Type) (*Encoding, error) {
	if pub, ok := whole()[t]; ok {
		return encodingOf(pub)
	}
	pub, err := ros.MirrorOf(t)
	if err != nil {
		return nil, err
	}
	return encodingOf(pub)
}

// encodingOf returns an encoding of a publication's samples, and declares its message.
func encodingOf(pub ros.Publication) (*Encoding, error) {
	if err := pub.Declare(); err != nil {
		return nil, err
	}
	return newEncoding(pub.Type, pub.Converter())
}

// newEncoding returns the encoding as CDR of what convert makes of samples.
func newEncoding(name string, convert func(simtime.Stamped) (ros.Message, error)) (*Encoding, error) {
	text, err := ros.ROS2.Definition(name)
	if err != nil {
		return nil, err
	}
	encoder := encode.CDR.Encoder()
	var message ros.Message
	return &Encoding{
		Schema: bridges.Schema{Name: name, Encoding: "ros2msg", Data: []byte(text), MessageEncoding: "cdr"},
		prepare: func(msg simtime.Stamped) (size int, err error) {
			if message, err = convert(msg); err != nil {
				return 0, err
			}
			return int(encoder.Size(message)), nil
		},
		write: func(dst []byte) ([]byte, error) { return encoder.Append(dst, message), nil },
	}, nil
}

// codecEncoding returns the encoding of a codec's samples.
func codecEncoding(pub bridges.Publication[bridges.Append, bridges.Schema]) *Encoding {
	convert := pub.Converter()
	var message bridges.Append
	return &Encoding{
		Schema:  pub.Schema,
		prepare: func(msg simtime.Stamped) (size int, err error) { message, err = convert(msg); return 0, err },
		write:   func(dst []byte) ([]byte, error) { return message(dst) },
	}
}

// readings are how messages are read, by their full names.
var readings = sync.OnceValue(rossample.WholeReadings)

// mirrors has a rossample.Reading for each type from outside that was read.
var mirrors sync.Map

// mirrorOf returns the reading of a type's mirror.
func mirrorOf(t reflect.Type) (rossample.Reading, error) {
	if known, ok := mirrors.Load(t); ok {
		return known.(rossample.Reading), nil
	}
	reading, err := rossample.MirrorReading(t)
	if err == nil {
		mirrors.Store(t, reading)
	}
	return reading, err
}

// Sample returns the message's sample, a new one with the envelope's header. What a picture
// has of bytes is the message's memory: valid as long as the message. Of a type from outside
// it is ErrUnknownType, and [Read] reads it. Other errors say that the message is malformed.
func (d *Data) Sample() (simtime.Stamped, error) {
	reading, ok := readings()[d.Stream.Schema.Name]
	if !ok || d.Stream.Schema.MessageEncoding != "cdr" {
		return nil, d.unknown(nil)
	}
	reading.To = nil // a new one
	return (&reader{reading: reading}).read(d)
}

// Read returns the message as a *T, as [Data.Sample] does. T is a type of package sample, or
// any structure that was published as it is. ErrUnknownType says that the message is of
// another type.
func Read[T any](d *Data) (*T, error) { return new(Reader[T]).Read(d) }

// Reader reads messages as *T and uses the memory of the sample before where it can. One
// goroutine at a time uses it. The zero Reader is ready.
type Reader[T any] struct{ reader }

// Read is the function Read with a sample that is valid until the next call.
func (r *Reader[T]) Read(d *Data) (*T, error) {
	if d.Stream.Schema.MessageEncoding != "cdr" {
		return nil, d.unknown(reflect.TypeFor[T]())
	}
	if name := d.Stream.Schema.Name; r.reading.Type != name {
		reading, known := readings()[name]
		if !known {
			reading, _ = mirrorOf(reflect.TypeFor[*T]())
		}
		of := reading.Sample == nil || reading.Sample == reflect.TypeFor[*T]() // nil: the content tells
		if reading.Type != name || !of {
			return nil, d.unknown(reflect.TypeFor[T]())
		}
		r.reader = reader{reading: reading}
	}
	s, err := r.read(d)
	if err != nil {
		return nil, err
	}
	read, ok := any(s).(*T)
	if !ok {
		return nil, d.unknown(reflect.TypeFor[T]())
	}
	return read, nil
}

// unknown is the error for a message that isn't a t, or has no sample where t is nil.
func (d *Data) unknown(t reflect.Type) error {
	schema := &d.Stream.Schema
	if t == nil {
		return fmt.Errorf("%w: %s, encoded as %q", ErrUnknownType, schema.Name, schema.MessageEncoding)
	}
	return fmt.Errorf("%w: %s, encoded as %q, is not a %v", ErrUnknownType, schema.Name, schema.MessageEncoding, t)
}

// reader reads messages of one type.
type reader struct {
	reading rossample.Reading
	decoder encode.BinaryDecoder
	message ros.Message     // nil before the first
	sample  simtime.Stamped // nil before the first, and where it can't be used again
}

// read decodes a message.
func (r *reader) read(d *Data) (s simtime.Stamped, err error) {
	again := r.reading.To != nil
	if r.message == nil || !again {
		r.message = r.reading.New()
	}
	if r.sample == nil && again {
		r.sample = reflect.New(r.reading.Sample.Elem()).Interface().(simtime.Stamped)
	}
	r.decoder.Borrow = true
	if err := r.decoder.Decode(d.Body(), r.message); err != nil {
		return nil, err
	}
	if s = r.sample; again {
		err = r.reading.To(s, r.message)
	} else {
		s, err = r.reading.From(r.message)
	}
	if err != nil {
		return nil, err
	}
	switch s := any(s).(type) {
	case interface{ SampleHeader() *sample.Header }:
		d.copyHeader(s.SampleHeader())
	case *sample.Transforms:
		s.Stamp, s.Static = d.Stamp(), d.Stream.Latched
	}
	return s, nil
}
