package peers

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fxamacker/cbor/v2"
)

// Tags of little-endian typed arrays (RFC 8746, section 2.1).
const (
	tagInt32   = 78
	tagFloat32 = 85
	tagFloat64 = 86
)

func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case uint32:
		return int64(v), true
	case json.Number:
		n, err := v.Int64()
		return n, err == nil
	}
	return 0, false
}

func floating(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case float32:
		return float64(v), true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	}
	return 0, false
}

// elements returns a slice of numbers, or of anything, as one of anything.
func elements(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case []map[string]any:
		return anys(v), true
	case []float32:
		return anys(v), true
	case []float64:
		return anys(v), true
	case []int32:
		return anys(v), true
	case []string:
		return anys(v), true
	}
	return nil, false
}

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// mapped returns a copy of a value in which f has replaced those leaves that it wants to.
func mapped(v any, f func(any) (any, bool)) any {
	if w, ok := f(v); ok {
		return w
	}
	if m, ok := v.(map[string]any); ok {
		out := make(map[string]any, len(m))
		for k, e := range m {
			out[k] = mapped(e, f)
		}
		return out
	}
	if list, ok := elements(v); ok {
		out := make([]any, len(list))
		for i, e := range list {
			out[i] = mapped(e, f)
		}
		return out
	}
	return v
}

// notFinite are the words that Python's JSON modules have for what JSON hasn't got.
var notFinite = []string{"NaN", "-Infinity", "Infinity"}

// decodeJSON reads an object as Python's JSON modules do, which all of rosbridge_suite's
// servers use: numbers are json.Number, among them the words of notFinite.
func decodeJSON(frame []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(quoted(frame)))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errOperation
	}
	whole, _ := mapped(m, func(v any) (any, bool) {
		word, ok := v.(string)
		word, marked := strings.CutPrefix(word, mark)
		return json.Number(word), ok && marked
	}).(map[string]any)
	return whole, nil
}

// mark begins the strings that quoted makes.
const mark = "\x00word "

// quoted makes strings of the words that stand where values do.
func quoted(frame []byte) []byte {
	if !bytes.Contains(frame, []byte("NaN")) && !bytes.Contains(frame, []byte("Infinity")) {
		return frame
	}
	var out []byte
	inside := false
	for i := 0; i < len(frame); i++ {
		switch c := frame[i]; {
		case inside && c == '\\' && i+1 < len(frame):
			out = append(out, c)
			i++
		case c == '"':
			inside = !inside
		case !inside:
			if word := wordAt(frame[i:]); word != "" {
				out = append(append(append(out, `"\u0000word `...), word...), '"')
				i += len(word) - 1
				continue
			}
		}
		out = append(out, frame[i])
	}
	return out
}

func wordAt(text []byte) string {
	for _, word := range notFinite {
		if bytes.HasPrefix(text, []byte(word)) {
			return word
		}
	}
	return ""
}

// hasNull reports whether a value is null, or has one in it: rosbridge_suite fills no field
// with it.
func hasNull(v any) bool {
	found := v == nil
	mapped(v, func(v any) (any, bool) {
		found = found || v == nil
		return nil, false
	})
	return found
}

// encodeJSON writes bytes as base64, and null where JSON has no number.
func encodeJSON(document map[string]any) ([]byte, error) {
	text, err := json.Marshal(mapped(document, func(v any) (any, bool) {
		if b, ok := v.([]byte); ok {
			return base64.StdEncoding.EncodeToString(b), true
		}
		f, ok := floating(v)
		return nil, ok && (math.IsNaN(f) || math.IsInf(f, 0))
	}))
	if err != nil {
		return nil, fmt.Errorf("encode JSON: %w", err)
	}
	return text, nil
}

// encodeCBOR writes numeric slices as typed arrays.
func encodeCBOR(document map[string]any) ([]byte, error) {
	data, err := cbor.Marshal(mapped(document, func(v any) (any, bool) {
		var content []byte
		switch v := v.(type) {
		case []float32:
			for _, f := range v {
				content = binary.LittleEndian.AppendUint32(content, math.Float32bits(f))
			}
			return cbor.Tag{Number: tagFloat32, Content: content}, true
		case []float64:
			for _, f := range v {
				content = binary.LittleEndian.AppendUint64(content, math.Float64bits(f))
			}
			return cbor.Tag{Number: tagFloat64, Content: content}, true
		case []int32:
			for _, n := range v {
				content = binary.LittleEndian.AppendUint32(content, uint32(n))
			}
			return cbor.Tag{Number: tagInt32, Content: content}, true
		case json.Number:
			if n, ok := integer(v); ok {
				return n, true
			}
			return floating(v)
		}
		return nil, false
	}))
	if err != nil {
		return nil, fmt.Errorf("encode CBOR: %w", err)
	}
	return data, nil
}

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

// uint reads so many bytes as a number, 0 after an error.
func (d *bsonReader) uint(size int) (n uint64) {
	for i, b := range d.take(size) {
		n |= uint64(b) << (8 * i)
	}
	return n
}

func (d *bsonReader) int32() int32 { return int32(d.uint(4)) }

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
		return math.Float64frombits(d.uint(8))
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
		return int64(d.uint(8))
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
	names := slices.Sorted(maps.Keys(document))
	return appendBSONDocument(dst, len(names), func(i int) (string, any) { return names[i], document[names[i]] })
}

// appendBSONDocument writes a document of n elements.
func appendBSONDocument(dst []byte, n int, element func(i int) (name string, value any)) ([]byte, error) {
	begin := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for i := range n {
		name, value := element(i)
		var err error
		if dst, err = appendBSON(dst, name, value); err != nil {
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
	return appendBSONDocument(dst, len(list), func(i int) (string, any) { return strconv.Itoa(i), list[i] })
}
