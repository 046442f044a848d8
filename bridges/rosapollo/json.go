package rosapollo

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raybridge/raybridge/bridges/internal/rosjson"
)

// encoder writes messages in JSON.
type encoder struct {
	nonFinite rosjson.NonFinite
	altered   bool // numbers were replaced
}

// appendObject appends a message as SVL wrote one: the fields that are set, in the order of
// the definition, by the definition's names. Unlike protobuf's own JSON form it has integers
// for enumerations and numbers for 64-bit integers.
func (e *encoder) appendObject(dst []byte, m protoreflect.Message) []byte {
	fields := m.Descriptor().Fields()
	separator := byte('{')
	for i := range fields.Len() {
		field := fields.Get(i)
		if !m.Has(field) {
			continue
		}
		dst = append(append(append(dst, separator, '"'), field.Name()...), '"', ':')
		separator = ','
		if value := m.Get(field); field.IsList() {
			dst = e.appendList(dst, field, value.List())
		} else {
			dst = e.appendValue(dst, field, value)
		}
	}
	if separator == '{' {
		dst = append(dst, '{')
	}
	return append(dst, '}')
}

func (e *encoder) appendList(dst []byte, field protoreflect.FieldDescriptor, list protoreflect.List) []byte {
	dst = append(dst, '[')
	for i := range list.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = e.appendValue(dst, field, list.Get(i))
	}
	return append(dst, ']')
}

func (e *encoder) appendValue(dst []byte, field protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	switch field.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return e.appendObject(dst, v.Message())
	case protoreflect.BoolKind:
		return strconv.AppendBool(dst, v.Bool())
	case protoreflect.EnumKind:
		return strconv.AppendInt(dst, int64(v.Enum()), 10)
	case protoreflect.StringKind:
		return appendText(dst, v.String())
	case protoreflect.BytesKind:
		dst = base64.StdEncoding.AppendEncode(append(dst, '"'), v.Bytes())
		return append(dst, '"')
	case protoreflect.FloatKind:
		return e.appendNumber(dst, v.Float(), 32)
	case protoreflect.DoubleKind:
		return e.appendNumber(dst, v.Float(), 64)
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		return strconv.AppendUint(dst, v.Uint(), 10)
	default:
		return strconv.AppendInt(dst, v.Int(), 10)
	}
}

// appendNumber appends the shortest decimals that are this number.
func (e *encoder) appendNumber(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		dst, altered := e.nonFinite.Append(dst, f, bits)
		e.altered = e.altered || altered
		return dst
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, bits)
}

func appendText(dst []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil { // a string has none
		panic(err)
	}
	return append(dst, quoted...)
}
