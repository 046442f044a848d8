package rosbridgev2

import (
	"encoding/binary"
	"encoding/json"
	"unicode/utf8"
)

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
	begin := len(dst)
	dst = appendFields(dst, form, fields...)
	if form == BSON {
		return sealBSON(dst, begin)
	}
	return append(dst, '}')
}

// Advertise announces publications of a type on a topic. Latch has the server keep the last
// one for those who subscribe later: in ROS 2 its publisher is transient local with a depth
// of one.
type Advertise struct {
	Topic, Type string
	Latch       bool
}

// AppendAdvertise appends a frame that announces publications (protocol, section 3.4.1).
func AppendAdvertise(dst []byte, form Form, a Advertise) []byte {
	begin := len(dst)
	dst = appendFields(dst, form, field{"op", "advertise"}, field{"topic", a.Topic}, field{"type", a.Type})
	dst = appendLatch(dst, form, a.Latch)
	if form == BSON {
		return sealBSON(dst, begin)
	}
	return append(dst, '}')
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

// Status tells the other side what became of an operation; ID is the operation's, as Frame
// has it of JSON, nil for none.
type Status struct {
	Level, Text string
	ID          []byte
}

// AppendStatus appends a status in JSON (protocol, section 3.2.2).
func AppendStatus(dst []byte, s Status) []byte {
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

// SealPublish ends a publication that begins at dst[begin:] with what AppendPublishHead made
// and its message.
func SealPublish(dst []byte, form Form, begin int) []byte {
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
	if r.Result {
		return append(dst, `,"result":true}`...)
	}
	return append(dst, `,"result":false}`...)
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
