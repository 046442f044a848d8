package rosbridgetest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Element types of BSON (bsonspec.org, version 1.1) that messages are made of.
const (
	bsonDouble   = 0x01
	bsonString   = 0x02
	bsonDocument = 0x03
	bsonArray    = 0x04
	bsonBinary   = 0x05
	bsonBool     = 0x08
	bsonNull     = 0x0a
	bsonInt32    = 0x10
	bsonInt64    = 0x12
)

var errBSON = errors.New("bad BSON")

// decodeBSON reads one document that fills data. Values are float64, string,
// map[string]any, []any, []byte, bool, nil, int32 and int64; they share no memory with
// data.
func decodeBSON(data []byte) (map[string]any, error) {
	d := bsonReader{rest: data}
	document := d.document()
	if d.err == nil && len(d.rest) > 0 {
		d.err = fmt.Errorf("%w: %d bytes after the document", errBSON, len(d.rest))
	}
	if d.err != nil {
		return nil, d.err
	}
	return document, nil
}

type bsonReader struct {
	rest  []byte
	err   error
	depth int
}

// take returns the next n bytes, or nil after an error.
func (d *bsonReader) take(n int) []byte {
	if d.err == nil && (n < 0 || n > len(d.rest)) {
		d.err = fmt.Errorf("%w: ends early", errBSON)
	}
	if d.err != nil {
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *bsonReader) int32() int32 {
	b := d.take(4)
	if b == nil {
		return 0
	}
	return int32(binary.LittleEndian.Uint32(b))
}

func (d *bsonReader) int64() int64 {
	b := d.take(8)
	if b == nil {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(b))
}

// name reads a cstring.
func (d *bsonReader) name() string {
	if d.err != nil {
		return ""
	}
	end := slices.Index(d.rest, 0)
	if end < 0 {
		d.err = fmt.Errorf("%w: a name without an end", errBSON)
		return ""
	}
	return string(d.take(end + 1)[:end])
}

// document reads a document, or an array, whose names are its indices.
func (d *bsonReader) document() map[string]any {
	begin := len(d.rest)
	size := int(d.int32())
	if d.depth++; d.depth > 64 && d.err == nil {
		d.err = fmt.Errorf("%w: nested too deep", errBSON)
	}
	defer func() { d.depth-- }()
	document := map[string]any{}
	for d.err == nil {
		kind := d.take(1)
		if kind == nil || kind[0] == 0 {
			break
		}
		name := d.name()
		document[name] = d.value(kind[0])
	}
	if d.err == nil && begin-len(d.rest) != size {
		d.err = fmt.Errorf("%w: a document of %d bytes says %d", errBSON, begin-len(d.rest), size)
	}
	return document
}

func (d *bsonReader) value(kind byte) any {
	switch kind {
	case bsonDouble:
		return math.Float64frombits(uint64(d.int64()))
	case bsonString:
		b := d.take(int(d.int32()))
		if len(b) == 0 || b[len(b)-1] != 0 {
			d.err = fmt.Errorf("%w: a string without an end", errBSON)
			return nil
		}
		return string(b[:len(b)-1])
	case bsonDocument:
		return d.document()
	case bsonArray:
		return d.array()
	case bsonBinary:
		size := int(d.int32())
		d.take(1) // the subtype
		return slices.Clone(d.take(size))
	case bsonBool:
		b := d.take(1)
		return b != nil && b[0] != 0
	case bsonNull:
		return nil
	case bsonInt32:
		return d.int32()
	case bsonInt64:
		return d.int64()
	}
	d.err = fmt.Errorf("%w: element of type %#x", errBSON, kind)
	return nil
}

func (d *bsonReader) array() []any {
	elements := d.document()
	list := make([]any, len(elements))
	for i := range list {
		v, ok := elements[strconv.Itoa(i)]
		if !ok && d.err == nil {
			d.err = fmt.Errorf("%w: an array without element %d", errBSON, i)
		}
		list[i] = v
	}
	return list
}

// encodeBSON writes a document, its names in order. Values are those of decodeBSON, int,
// uint32 and slices of numbers.
func encodeBSON(dst []byte, document map[string]any) ([]byte, error) {
	begin := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for _, name := range slices.Sorted(maps.Keys(document)) {
		var err error
		if dst, err = appendBSON(dst, name, document[name]); err != nil {
			return nil, err
		}
	}
	dst = append(dst, 0)
	binary.LittleEndian.PutUint32(dst[begin:], uint32(len(dst)-begin))
	return dst, nil
}

func appendBSON(dst []byte, name string, value any) ([]byte, error) {
	kind := len(dst)
	dst = append(append(append(dst, 0), name...), 0)
	switch v := value.(type) {
	case nil:
		dst[kind] = bsonNull
	case bool:
		dst[kind] = bsonBool
		if v {
			return append(dst, 1), nil
		}
		return append(dst, 0), nil
	case string:
		dst[kind] = bsonString
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(v)+1))
		return append(append(dst, v...), 0), nil
	case []byte:
		dst[kind] = bsonBinary
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(v)))
		return append(append(dst, 0), v...), nil
	case map[string]any:
		dst[kind] = bsonDocument
		return encodeBSON(dst, v)
	default:
		return appendBSONOther(dst, kind, v)
	}
	return dst, nil
}

// appendBSONOther writes a number or an array, whose type goes to dst[kind].
func appendBSONOther(dst []byte, kind int, v any) ([]byte, error) {
	if n, ok := integer(v); ok {
		dst[kind] = bsonInt64
		return binary.LittleEndian.AppendUint64(dst, uint64(n)), nil
	}
	if f, ok := floating(v); ok {
		dst[kind] = bsonDouble
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f)), nil
	}
	list, ok := elements(v)
	if !ok {
		return nil, fmt.Errorf("%w: no element of %T", errBSON, v)
	}
	dst[kind] = bsonArray
	return encodeBSONArray(dst, list)
}

// encodeBSONArray writes a document whose names are indices.
func encodeBSONArray(dst []byte, list []any) ([]byte, error) {
	begin := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for i, v := range list {
		var err error
		if dst, err = appendBSON(dst, strconv.Itoa(i), v); err != nil {
			return nil, err
		}
	}
	dst = append(dst, 0)
	binary.LittleEndian.PutUint32(dst[begin:], uint32(len(dst)-begin))
	return dst, nil
}
