package rosbridgev2

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/fxamacker/cbor/v2"

	"github.com/raybridge/raybridge/bridges/internal/encode"
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
