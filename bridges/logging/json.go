package logging

import (
	"encoding/base64"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/go-gl/mathgl/mgl64"
)

// object appends one JSON object to buf, key by key.
type object struct {
	buf []byte
}

func (o *object) begin() { o.buf = append(o.buf, '{') }

func (o *object) end() { o.buf = append(o.buf, '}') }

// key appends the key, after a comma unless it is the object's first.
func (o *object) key(name string) {
	o.comma()
	o.buf = append(o.buf, '"')
	o.buf = append(o.buf, name...)
	o.buf = append(o.buf, '"', ':')
}

// comma appends a comma unless an object or a list has just begun.
func (o *object) comma() {
	if last := o.buf[len(o.buf)-1]; last != '{' && last != '[' {
		o.buf = append(o.buf, ',')
	}
}

func (o *object) text(name, v string) {
	o.key(name)
	o.buf = appendString(o.buf, v)
}

func (o *object) integer(name string, v int64) {
	o.key(name)
	o.buf = strconv.AppendInt(o.buf, v, 10)
}

func (o *object) boolean(name string, v bool) {
	o.key(name)
	o.buf = strconv.AppendBool(o.buf, v)
}

func (o *object) number(name string, v float64) {
	o.key(name)
	o.buf = appendFloat(o.buf, v, 64)
}

func (o *object) number32(name string, v float32) {
	o.key(name)
	o.buf = appendFloat(o.buf, float64(v), 32)
}

// seconds writes nanoseconds as seconds with nine decimals, exactly.
func (o *object) seconds(name string, ns int64) {
	o.key(name)
	abs := uint64(ns)
	if ns < 0 {
		o.buf = append(o.buf, '-')
		abs = -abs
	}
	o.buf = strconv.AppendUint(o.buf, abs/1e9, 10)
	// A leading 1 keeps the zeros of the fraction; the point takes its place.
	point := len(o.buf)
	o.buf = strconv.AppendUint(o.buf, 1e9+abs%1e9, 10)
	o.buf[point] = '.'
}

func (o *object) bytes(name string, v []byte) {
	o.key(name)
	o.buf = append(o.buf, '"')
	o.buf = base64.StdEncoding.AppendEncode(o.buf, v)
	o.buf = append(o.buf, '"')
}

func (o *object) numbers(name string, v ...float64) {
	o.beginList(name)
	for _, f := range v {
		o.comma()
		o.buf = appendFloat(o.buf, f, 64)
	}
	o.endList()
}

func (o *object) numbers32(name string, v []float32) {
	o.beginList(name)
	for _, f := range v {
		o.comma()
		o.buf = appendFloat(o.buf, float64(f), 32)
	}
	o.endList()
}

func (o *object) vector(name string, v mgl64.Vec3) {
	o.key(name)
	o.begin()
	o.number("x", v[0])
	o.number("y", v[1])
	o.number("z", v[2])
	o.end()
}

func (o *object) quaternion(name string, q mgl64.Quat) {
	o.key(name)
	o.begin()
	o.number("x", q.V[0])
	o.number("y", q.V[1])
	o.number("z", q.V[2])
	o.number("w", q.W)
	o.end()
}

func (o *object) beginList(name string) {
	o.key(name)
	o.buf = append(o.buf, '[')
}

func (o *object) endList() { o.buf = append(o.buf, ']') }

// appendFloat appends the shortest decimal that reads back as v of so many bits.
func appendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-Infinity"`...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, bits)
}

// appendString appends s in quotes; what isn't UTF-8 becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
