package rosbridgev2

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/fxamacker/cbor/v2"
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

// jsonEnvelope and cborEnvelope have the fields of all operations.
type jsonEnvelope struct {
	Op           string          `json:"op"`
	ID           json.RawMessage `json:"id"`
	Topic        string          `json:"topic"`
	Service      string          `json:"service"`
	Type         string          `json:"type"`
	Msg          json.RawMessage `json:"msg"`
	Args         json.RawMessage `json:"args"`
	Values       json.RawMessage `json:"values"`
	Level        string          `json:"level"`
	Compression  string          `json:"compression"`
	ThrottleRate float64         `json:"throttle_rate"`
	QueueLength  float64         `json:"queue_length"`
	FragmentSize float64         `json:"fragment_size"`
	Data         string          `json:"data"`
	Num          int             `json:"num"`
	Total        int             `json:"total"`
}

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
	if err != nil {
		return Frame{}, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	return f, nil
}

// cborMap is the major type of CBOR's maps, the upper three bits of the first byte.
const cborMap = 5

func parseJSON(data []byte) (Frame, error) {
	var e jsonEnvelope
	if err := json.Unmarshal(data, &e); err != nil {
		return Frame{}, err
	}
	f := Frame{
		Form: JSON, Op: e.Op, ID: present(e.ID), Topic: e.Topic, Service: e.Service, Type: e.Type,
		Message: present(e.Msg), Values: present(e.Values), Level: e.Level, Compression: e.Compression,
		ThrottleRate: whole(e.ThrottleRate), QueueLength: whole(e.QueueLength), FragmentSize: whole(e.FragmentSize),
		Data: e.Data, Num: e.Num, Total: e.Total,
	}
	if f.Values == nil {
		f.Values = present(e.Args)
	}
	if f.Op == "status" && f.Message != nil {
		return f, json.Unmarshal(f.Message, &f.Text)
	}
	return f, nil
}

// whole returns an integer of 32 bits, the next one that there is.
func whole(f float64) int { return int(max(math.MinInt32, min(f, math.MaxInt32))) }

// present returns a value, nil for JSON's null.
func present(v json.RawMessage) []byte {
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
