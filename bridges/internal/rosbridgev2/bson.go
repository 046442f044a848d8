package rosbridgev2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Element types of BSON 1.1 (bsonspec.org).
const (
	bsonDouble   = 0x01
	bsonString   = 0x02
	bsonDocument = 0x03
	bsonArray    = 0x04
	bsonBinary   = 0x05
	bsonObjectID = 0x07
	bsonBool     = 0x08
	bsonDateTime = 0x09
	bsonNull     = 0x0a
	bsonInt32    = 0x10
	bsonTime     = 0x11
	bsonInt64    = 0x12
)

var errBSON = errors.New("bad BSON")

// element is one value of a document, without its name.
type element struct {
	kind  byte
	value []byte
}

// text returns a string's content, "" for another type.
func (e element) text() string {
	if e.kind != bsonString {
		return ""
	}
	return string(e.value[4 : len(e.value)-1])
}

// number returns a number, 0 for another type.
func (e element) number() int {
	switch e.kind {
	case bsonDouble:
		if f := math.Float64frombits(binary.LittleEndian.Uint64(e.value)); !math.IsNaN(f) {
			return whole(f)
		}
	case bsonInt32:
		return int(int32(binary.LittleEndian.Uint32(e.value)))
	case bsonInt64:
		return whole(float64(int64(binary.LittleEndian.Uint64(e.value))))
	}
	return 0
}

// document returns a document or an array, nil for another type.
func (e element) document() []byte {
	if e.kind != bsonDocument && e.kind != bsonArray {
		return nil
	}
	return e.value
}

// parseBSON reads the elements of the outer document and steps over what is in them.
func parseBSON(data []byte) (Frame, error) {
	f := Frame{Form: BSON}
	if len(data) < 5 || int(binary.LittleEndian.Uint32(data)) != len(data) || data[len(data)-1] != 0 {
		return f, fmt.Errorf("%w: the document has another length than it says", errBSON)
	}
	rest := data[4 : len(data)-1]
	for len(rest) > 0 {
		kind := rest[0]
		end := bytes.IndexByte(rest[1:], 0)
		if end < 0 {
			return f, fmt.Errorf("%w: a name without an end", errBSON)
		}
		name := rest[1 : 1+end]
		rest = rest[2+end:]
		size, err := bsonSize(kind, rest)
		if err != nil {
			return f, err
		}
		f.set(string(name), element{kind, rest[:size:size]})
		rest = rest[size:]
	}
	return f, nil
}

// set sets the field that an element is for; unknown ones are ignored.
func (f *Frame) set(name string, e element) {
	switch name {
	case "op":
		f.Op = e.text()
	case "id":
		if e.kind != bsonNull {
			f.ID = append([]byte{e.kind}, e.value...)
		}
	case "topic":
		f.Topic = e.text()
	case "service":
		f.Service = e.text()
	case "type":
		f.Type = e.text()
	case "msg":
		f.Message, f.Text = e.document(), e.text()
	case "args", "values":
		f.Values = e.document()
	case "level":
		f.Level = e.text()
	case "compression":
		f.Compression = e.text()
	case "throttle_rate":
		f.ThrottleRate = e.number()
	case "queue_length":
		f.QueueLength = e.number()
	}
}

// fixedSizes has the sizes of the values whose type tells it. Other values begin with a length, an
// int32, and prefixes has how many bytes such a value has besides those that the length counts.
var (
	fixedSizes = map[byte]int{
		bsonDouble: 8, bsonDateTime: 8, bsonTime: 8, bsonInt64: 8, bsonObjectID: 12, bsonBool: 1, bsonNull: 0, bsonInt32: 4,
	}
	prefixes = map[byte]int64{bsonString: 4, bsonDocument: 0, bsonArray: 0, bsonBinary: 5}
)

// bsonSize returns the size of a value that data begins with, which is checked to be
// there.
func bsonSize(kind byte, data []byte) (int, error) {
	size, fixed := fixedSizes[kind]
	smallest := 0
	if !fixed {
		extra, known := prefixes[kind]
		if !known {
			return 0, fmt.Errorf("%w: an element of type %#x", errBSON, kind)
		}
		size, smallest = len(data)+1, 5
		if len(data) >= 4 {
			if n := int64(int32(binary.LittleEndian.Uint32(data))) + extra; n >= 0 && n <= int64(len(data)) {
				size = int(n)
			}
		}
	}
	if size > len(data) || size < smallest {
		return 0, fmt.Errorf("%w: an element of %d bytes where %d are left", errBSON, size, len(data))
	}
	return size, nil
}

// appendBSONString appends an element.
func appendBSONString(dst []byte, name, value string) []byte {
	dst = append(append(append(dst, bsonString), name...), 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(value)+1))
	return append(append(dst, value...), 0)
}

// sealBSON ends the document that begins at dst[begin:] with four bytes for its size.
func sealBSON(dst []byte, begin int) []byte {
	dst = append(dst, 0)
	binary.LittleEndian.PutUint32(dst[begin:], uint32(len(dst)-begin))
	return dst
}

// AppendBSON appends what encoding/json makes of a JSON object, as a document in the order of
// the names. Numbers that are integers of 32 or 64 bits are those.
func AppendBSON(dst []byte, object map[string]any) []byte {
	begin := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		dst = appendBSONValue(dst, name, object[name])
	}
	return sealBSON(dst, begin)
}

func appendBSONValue(dst []byte, name string, value any) []byte {
	at := len(dst)
	dst = append(append(append(dst, bsonNull), name...), 0)
	switch v := value.(type) {
	case bool:
		dst[at] = bsonBool
		return append(dst, boolByte(v))
	case string:
		return appendBSONString(dst[:at], name, v)
	case float64:
		switch {
		case v == math.Trunc(v) && math.Abs(v) < 1<<31:
			dst[at] = bsonInt32
			return binary.LittleEndian.AppendUint32(dst, uint32(int32(v)))
		case v == math.Trunc(v) && math.Abs(v) < 1<<53:
			dst[at] = bsonInt64
			return binary.LittleEndian.AppendUint64(dst, uint64(int64(v)))
		}
		dst[at] = bsonDouble
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
	case map[string]any:
		dst[at] = bsonDocument
		return AppendBSON(dst, v)
	case []any:
		dst[at] = bsonArray
		begin := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		for i, e := range v {
			dst = appendBSONValue(dst, strconv.Itoa(i), e)
		}
		return sealBSON(dst, begin)
	}
	return dst
}
