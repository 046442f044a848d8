package rosbridgetest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
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
