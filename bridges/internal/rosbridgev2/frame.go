package rosbridgev2

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/internal/guard"
)

// Form is how a message is encoded.
type Form uint8

// Forms of messages.
const (
	// JSON and BSON are what clients send; BSON is what is spoken in bson_only_mode.
	JSON Form = iota
	BSON
	// CBOR and Raw are forms in which a client may have topics: Raw is
	// the message as ROS serializes it ("cbor-raw").
	CBOR
	Raw
)

// Frame is the envelope of one operation. Its slices are parts of the frame it was read
// from.
type Frame struct {
	// Form is the encoding of ID, Message and Values.
	Form Form
	Op   string
	// ID is the interaction's, encoded as it came; of BSON the element's type and value. It
	// is nil for none.
	ID []byte
	// Topic or Service is what the operation is about, Type its message type.
	Topic, Service, Type string
	// Message is the msg, Values the args of a call or the values of a response; nil
	// for none.
	Message, Values []byte
	// Level and Text are those of a status.
	Level, Text string
	// Compression, ThrottleRate (ms), QueueLength and FragmentSize (bytes) are those of a
	// subscription.
	Compression                             string
	ThrottleRate, QueueLength, FragmentSize int
	// Data, Num and Total are those of a fragment.
	Data       string
	Num, Total int
}

// ErrFrame says that a frame isn't of the protocol.
var ErrFrame = errors.New("not a rosbridge frame")

// bounded returns an error if a name or an id is too long, so that a frame's names are cheap to
// keep.
func (f *Frame) bounded() error {
	for _, name := range []struct{ what, text string }{
		{"op", f.Op}, {"topic", f.Topic}, {"service", f.Service}, {"type", f.Type}, {"level", f.Level}, {"compression", f.Compression},
	} {
		if len(name.text) > guard.NameBytes {
			return fmt.Errorf("%s of %d bytes, the most are %d: %s", name.what, len(name.text), guard.NameBytes, guard.Excerpt(name.text, 64))
		}
	}
	if len(f.ID) > guard.IDBytes {
		return fmt.Errorf("id of %d bytes, the most are %d", len(f.ID), guard.IDBytes)
	}
	return nil
}

// cborEnvelope has the fields of all operations.
type cborEnvelope struct {
	Op      string          `cbor:"op"`
	ID      cbor.RawMessage `cbor:"id"`
	Topic   string          `cbor:"topic"`
	Service string          `cbor:"service"`
	Msg     cbor.RawMessage `cbor:"msg"`
	Args    cbor.RawMessage `cbor:"args"`
	Values  cbor.RawMessage `cbor:"values"`
	Level   string          `cbor:"level"`
}

// Parse reads a frame: a BSON document, a JSON object or a CBOR map. Errors wrap
// ErrFrame. The result refers to data.
func Parse(data []byte, bson bool) (Frame, error) {
	var f Frame
	var err error
	switch {
	case bson:
		f, err = parseBSON(data)
	case len(data) > 0 && data[0]>>5 == cborMap:
		f, err = parseCBOR(data)
	default:
		f, err = parseJSON(data)
	}
	if err == nil && f.Op == "" {
		err = errors.New("it has no op")
	}
	if err == nil {
		err = f.bounded()
	}
	if err != nil {
		return Frame{}, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	return f, nil
}

// cborMap is the major type of CBOR's maps, the upper three bits of the first byte.
const cborMap = 5

func parseJSON(data []byte) (Frame, error) {
	e := jsonEnvelope{Frame: Frame{Form: JSON}}
	if err := encode.JSONMembers(data, e.set); err != nil {
		return Frame{}, err
	}
	f := &e.Frame
	if f.Values == nil {
		f.Values = e.args
	}
	var err error
	switch {
	case f.Op == "status" && f.Message != nil:
		f.Text, err = encode.JSONText(f.Message)
	case f.Op == "fragment" && e.data != nil: // of any other operation it isn't copied
		f.Data, err = encode.JSONText(e.data)
	}
	return *f, err
}

// jsonEnvelope is a frame that is being read.
type jsonEnvelope struct {
	Frame
	args, data []byte
}

// set sets the field that a member is for; unknown ones are ignored.
func (e *jsonEnvelope) set(name, value []byte) (err error) {
	number := func(n *int) {
		var f float64
		f, err = encode.JSONNumber(value)
		*n = whole(f)
	}
	switch string(name) {
	case "op":
		e.Op, err = encode.JSONText(value)
	case "id":
		e.ID = present(value)
	case "topic":
		e.Topic, err = encode.JSONText(value)
	case "service":
		e.Service, err = encode.JSONText(value)
	case "type":
		e.Type, err = encode.JSONText(value)
	case "msg":
		e.Message = present(value)
	case "args":
		e.args = present(value)
	case "values":
		e.Values = present(value)
	case "level":
		e.Level, err = encode.JSONText(value)
	case "compression":
		e.Compression, err = encode.JSONText(value)
	case "throttle_rate":
		number(&e.ThrottleRate)
	case "queue_length":
		number(&e.QueueLength)
	case "fragment_size":
		number(&e.FragmentSize)
	case "data":
		e.data = present(value)
	case "num":
		e.Num, err = encode.JSONWhole(value)
	case "total":
		e.Total, err = encode.JSONWhole(value)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// whole returns an integer of 32 bits, the next one that there is.
func whole(f float64) int { return int(max(math.MinInt32, min(f, math.MaxInt32))) }

// present returns a value, nil for JSON's null.
func present(v []byte) []byte {
	if bytes.Equal(v, []byte("null")) {
		return nil
	}
	return v
}

func parseCBOR(data []byte) (Frame, error) {
	var e cborEnvelope
	if err := cbor.Unmarshal(data, &e); err != nil {
		return Frame{}, err
	}
	f := Frame{Form: CBOR, Op: e.Op, ID: e.ID, Topic: e.Topic, Service: e.Service, Message: e.Msg, Values: e.Values, Level: e.Level}
	if f.Values == nil {
		f.Values = e.Args
	}
	if f.Op == "status" && f.Message != nil {
		return f, cbor.Unmarshal(f.Message, &f.Text)
	}
	return f, nil
}

// RawMessage is what cbor-raw has for a message.
type RawMessage struct {
	// Secs and Nsecs are when the server received it.
	Secs  uint32 `cbor:"secs"`
	Nsecs uint32 `cbor:"nsecs"`
	// Bytes is the message as ROS serializes it.
	Bytes []byte `cbor:"bytes"`
}

// ParseRaw reads the msg of a publication that was subscribed to with cbor-raw. Errors
// wrap ErrFrame.
func ParseRaw(message []byte) (RawMessage, error) {
	var raw RawMessage
	if err := cbor.Unmarshal(message, &raw); err != nil {
		return RawMessage{}, fmt.Errorf("%w: msg of cbor-raw: %w", ErrFrame, err)
	}
	if raw.Bytes == nil {
		return RawMessage{}, fmt.Errorf("%w: msg of cbor-raw has no bytes", ErrFrame)
	}
	return raw, nil
}

// field is a name with its text; fields with an empty text are left out.
type field struct{ name, text string }

// appendFields appends the beginning of a frame: its fields, without the end.
func appendFields(dst []byte, form Form, fields ...field) []byte {
	if form == BSON {
		dst = append(dst, 0, 0, 0, 0)
		for _, f := range fields {
			if f.text != "" {
				dst = appendBSONString(dst, f.name, f.text)
			}
		}
		return dst
	}
	separator := byte('{')
	for _, f := range fields {
		if f.text == "" {
			continue
		}
		dst = append(append(append(dst, separator, '"'), f.name...), '"', ':')
		dst = appendText(dst, f.text)
		separator = ','
	}
	return dst
}

// appendText appends a JSON string.
func appendText(dst []byte, text string) []byte {
	plain := utf8.ValidString(text)
	for i := 0; plain && i < len(text); i++ {
		plain = text[i] >= ' ' && text[i] != '"' && text[i] != '\\'
	}
	if plain {
		return append(append(append(dst, '"'), text...), '"')
	}
	quoted, err := json.Marshal(text)
	if err != nil { // a string has none
		panic(err)
	}
	return append(dst, quoted...)
}

// appendFrame appends a whole frame of fields alone.
func appendFrame(dst []byte, form Form, fields ...field) []byte {
	return Seal(appendFields(dst, form, fields...), form, len(dst))
}

// Advertise announces publications of a type on a topic. Latch has the server keep the last one
// for those who subscribe later. In ROS 2 its publisher is transient local with a depth of one.
type Advertise struct {
	Topic, Type string
	Latch       bool
}

// AppendAdvertise appends a frame that announces publications (protocol, section 3.4.1).
func AppendAdvertise(dst []byte, form Form, a Advertise) []byte {
	frame := appendFields(dst, form, field{"op", "advertise"}, field{"topic", a.Topic}, field{"type", a.Type})
	return Seal(appendLatch(frame, form, a.Latch), form, len(dst))
}

// appendUnadvertise appends a frame that takes an announcement back (protocol, section 3.4.2).
func appendUnadvertise(dst []byte, form Form, topic string) []byte {
	return appendFrame(dst, form, field{"op", "unadvertise"}, field{"topic", topic})
}

// appendLatch appends a field of advertise and publish that the specification doesn't have,
// and every rosbridge_suite knows.
func appendLatch(dst []byte, form Form, latch bool) []byte {
	switch {
	case !latch:
		return dst
	case form == BSON:
		return append(append(append(dst, bsonBool), "latch\x00"...), 1)
	default:
		return append(dst, `,"latch":true`...)
	}
}

// Subscribe asks for a topic of messages of a type, in the form that Compression names ("" for
// the server's own encoding).
type Subscribe struct{ Topic, Type, Compression string }

// AppendSubscribe appends a frame that asks for a topic (protocol, section 3.4.4).
func AppendSubscribe(dst []byte, form Form, s Subscribe) []byte {
	return appendFrame(dst, form,
		field{"op", "subscribe"}, field{"topic", s.Topic}, field{"type", s.Type}, field{"compression", s.Compression})
}

// AppendAdvertiseService appends a frame that offers a service.
func AppendAdvertiseService(dst []byte, form Form, service, typ string) []byte {
	return appendFrame(dst, form, field{"op", "advertise_service"}, field{"type", typ}, field{"service", service})
}

// StatusMessage tells the other side what became of an operation; ID is the operation's, as Frame
// has it of JSON, nil for none.
type StatusMessage struct {
	Level, Text string
	ID          []byte
}

// AppendStatus appends a status in JSON (protocol, section 3.2.2).
func AppendStatus(dst []byte, s StatusMessage) []byte {
	dst = appendFields(dst, JSON, field{"op", "status"}, field{"level", s.Level}, field{"msg", s.Text})
	if s.ID != nil {
		dst = append(append(dst, `,"id":`...), s.ID...)
	}
	return append(dst, '}')
}

// AppendPublishHead appends the beginning of a publication, up to its message: what is
// the same for each of a topic's. A topic that was advertised with Latch has it here too.
func AppendPublishHead(dst []byte, form Form, topic string, latch bool) []byte {
	dst = appendLatch(appendFields(dst, form, field{"op", "publish"}, field{"topic", topic}), form, latch)
	if form == BSON {
		return append(dst, bsonDocument, 'm', 's', 'g', 0)
	}
	return append(dst, `,"msg":`...)
}

// Seal ends a frame that begins at dst[begin:], such as a publication: what AppendPublishHead made
// and its message.
func Seal(dst []byte, form Form, begin int) []byte {
	if form == BSON {
		return sealBSON(dst, begin)
	}
	return append(dst, '}')
}

// Response is an answer to a call.
type Response struct {
	Service string
	// ID is the call's as Frame has it; nil for none.
	ID []byte
	// Values is a JSON object or a BSON document; nil for none. Reason is sent in its
	// place, where Result is false.
	Values []byte
	Result bool
	Reason string
}

// AppendResponse appends a service_response.
func AppendResponse(dst []byte, form Form, r Response) []byte {
	begin := len(dst)
	if form == BSON {
		dst = appendFields(dst, form, field{"op", "service_response"}, field{"service", r.Service})
		if r.ID != nil {
			dst = append(append(dst, r.ID[0], 'i', 'd', 0), r.ID[1:]...)
		}
		switch {
		case !r.Result:
			dst = appendBSONString(dst, "values", r.Reason)
		case r.Values != nil:
			dst = append(append(append(dst, bsonDocument), "values\x00"...), r.Values...)
		}
		dst = append(append(dst, bsonBool), "result\x00"...)
		return sealBSON(append(dst, boolByte(r.Result)), begin)
	}
	dst = appendFields(dst, form, field{"op", "service_response"}, field{"service", r.Service})
	if r.ID != nil {
		dst = append(append(dst, `,"id":`...), r.ID...)
	}
	switch {
	case !r.Result:
		dst = appendText(append(dst, `,"values":`...), r.Reason)
	case r.Values != nil:
		dst = append(append(dst, `,"values":`...), r.Values...)
	}
	return append(strconv.AppendBool(append(dst, `,"result":`...), r.Result), '}')
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// AppendCBORHead appends the beginning of a publication in CBOR, up to its message, which
// is its end too.
func AppendCBORHead(dst []byte, topic string) []byte {
	const map3 = 0xa3
	dst = appendCBORText(append(dst, map3), "op")
	dst = appendCBORText(dst, "publish")
	dst = appendCBORText(dst, "topic")
	dst = appendCBORText(dst, topic)
	return appendCBORText(dst, "msg")
}

// AppendRawHead appends the beginning of cbor-raw's message, which was handed over at a
// time, nanoseconds. SealRaw is told the place that it returns.
func AppendRawHead(dst []byte, now int64) (out []byte, at int) {
	const map3, bytes32 = 0xa3, 0x5a
	secs, nsecs := now/1e9, now%1e9
	if nsecs < 0 {
		secs, nsecs = secs-1, nsecs+1e9
	}
	dst = appendCBORUint(appendCBORText(append(dst, map3), "secs"), cborUint, uint32(max(secs, 0)))
	dst = appendCBORUint(appendCBORText(dst, "nsecs"), cborUint, uint32(nsecs))
	dst = append(appendCBORText(dst, "bytes"), bytes32, 0, 0, 0, 0)
	return dst, len(dst)
}

// SealRaw ends cbor-raw's message, whose bytes were appended after AppendRawHead.
func SealRaw(dst []byte, at int) []byte {
	binary.BigEndian.PutUint32(dst[at-4:], uint32(len(dst)-at))
	return dst
}

// Major types of CBOR (RFC 8949, section 3.1) in the upper three bits.
const (
	cborUint = 0 << 5
	cborText = 3 << 5
)

func appendCBORText(dst []byte, text string) []byte {
	return append(appendCBORUint(dst, cborText, uint32(len(text))), text...)
}

// appendCBORUint appends a major type with its argument.
func appendCBORUint(dst []byte, major byte, n uint32) []byte {
	switch {
	case n < 24:
		return append(dst, major|byte(n))
	case n < 1<<8:
		return append(dst, major|24, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, major|25), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(dst, major|26), n)
	}
}

// Service is a service that is offered.
type Service struct {
	// Name is the service's, Type the full name of its type, such as "std_srvs/srv/SetBool".
	Name, Type string
	// Answer reads the arguments, which are nil for none, and returns the values of the
	// response, in the form of the call. It runs on the service's goroutine, one call at a
	// time; ctx ends with the connection. An error is told to the caller.
	Answer func(ctx context.Context, form Form, args []byte) (values []byte, err error)
}

// Answers makes the Service of what answers its calls.
func Answers(name string, a rossample.Answerer) Service {
	return Service{Name: name, Type: a.Type.Type, Answer: func(ctx context.Context, form Form, args []byte) ([]byte, error) {
		request := a.Type.NewRequest()
		if err := decodeArguments(form, args, request); err != nil {
			return nil, fmt.Errorf("arguments: %w", err)
		}
		response, err := a.Answer(ctx, request)
		if err != nil {
			return nil, err
		}
		return (&encode.TreeEncoder{Format: trees[form]}).Append(nil, response), nil
	}}
}

// errArguments says that a list of arguments is too long.
var errArguments = errors.New("more arguments than the request has fields")

// decodeArguments reads the arguments of a call: an object, or, in JSON, a list of the
// fields' values in their order.
func decodeArguments(form Form, args []byte, request ros.Message) error {
	if args == nil {
		return nil
	}
	if form == JSON && args[0] == '[' {
		var err error
		if args, err = named(args, request); err != nil {
			return err
		}
	}
	return read(ros.ROS2, form, args, request) // services have no fields that differ
}

// fieldsOfRequests are the fields of those requests that have any.
var fieldsOfRequests = map[string][]string{"std_srvs/srv/SetBool_Request": {"data"}}

// named makes an object of a list.
func named(list []byte, request ros.Message) ([]byte, error) {
	fields := fieldsOfRequests[request.TypeName()]
	object, n := []byte{'{'}, 0
	err := encode.JSONElements(list, func(value []byte) error {
		if n == len(fields) {
			return fmt.Errorf("%w: it has %d", errArguments, n)
		}
		if n > 0 {
			object = append(object, ',')
		}
		object = append(append(append(append(object, '"'), fields[n]...), `":`...), value...)
		n++
		return nil
	})
	return append(object, '}'), err
}

// ParseCall reads a call, and takes memory of its own for it. Calls in CBOR are refused:
// messages of topics alone are sent so, and the answer has the form and the id of the call.
// Errors wrap ErrFrame.
func ParseCall(data []byte, bson bool) (Frame, error) {
	f, err := Parse(slices.Clone(data), bson)
	if err == nil && f.Form == CBOR {
		return Frame{}, fmt.Errorf("%w: services aren't called in CBOR", ErrFrame)
	}
	return f, err
}

// Call is a call that waits for its answer.
type Call struct {
	Frame Frame
	// Respond sends the answer; it is called on the service's goroutine.
	Respond func(Response)
}

// Desk answers calls of services, each service on a goroutine of its own. Its methods may
// be called from any goroutine.
type Desk struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	queues map[string]chan Call // guarded by mu
	closed bool                 // guarded by mu
}

// NewDesk returns a desk without services.
func NewDesk() *Desk {
	d := &Desk{queues: map[string]chan Call{}}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// Open begins to answer a service's calls.
func (d *Desk) Open(s Service) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.queues[s.Name] != nil {
		return
	}
	calls := make(chan Call, guard.ServiceCalls)
	d.queues[s.Name] = calls
	d.wg.Go(func() {
		for {
			select {
			case call := <-calls:
				call.answer(d.ctx, s)
			case <-d.ctx.Done():
				return
			}
		}
	})
}

// answer calls the handler and responds.
func (c *Call) answer(ctx context.Context, s Service) {
	values, err := s.Answer(ctx, c.Frame.Form, c.Frame.Values)
	r := Response{Service: s.Name, ID: c.Frame.ID, Values: values, Result: err == nil}
	if err != nil {
		r.Reason = err.Error()
	}
	c.Respond(r)
}

// Take gives a call to its service, without waiting. It returns an error, which wraps
// bridges.ErrService, for a service that there isn't and one that has too much to do. The
// caller then tells so. The frame is the desk's.
func (d *Desk) Take(call Call) error {
	d.mu.Lock()
	calls := d.queues[call.Frame.Service]
	d.mu.Unlock()
	if calls == nil {
		return fmt.Errorf("%w: there is no service %q", bridges.ErrService, call.Frame.Service)
	}
	select {
	case calls <- call:
		return nil
	default:
		return fmt.Errorf("%w: %d calls of %q wait already", bridges.ErrService, guard.ServiceCalls, call.Frame.Service)
	}
}

// Close ends the handlers' contexts and waits until they have returned, or ctx has ended.
func (d *Desk) Close(ctx context.Context) {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.cancel()
	done := make(chan struct{})
	go func() { // ends with the handlers
		d.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
