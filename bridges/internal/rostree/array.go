package rostree

import (
	"fmt"
	"reflect"

	"github.com/raybridge/raybridge/bridges/ros"
)

// Bytes reads what the encoding has for bytes, or an array of numbers.
func (d *Decoder) Bytes(name string, v *ros.Bytes) {
	v.Source, v.Data = nil, v.Data[:0]
	if value, ok := d.value(name); ok {
		v.Data = d.octets(name, value, v.Data)
	}
}

// octets appends the uint8[] that find returned to dst.
func (d *Decoder) octets(name string, v Value, dst []byte) []byte {
	data, end, ok, err := d.syntax.Bytes(dst, v)
	if ok || err != nil {
		d.done(name, end, err)
		return data
	}
	return sequence(d, name, v, dst, unsigned[byte](8))
}

// Array reads an array; one of a fixed size has as many elements.
func (d *Decoder) Array(name string, v ros.Array) {
	value, ok := d.value(name)
	if !ok {
		v.Clear()
		return
	}
	switch v.Kind() {
	case ros.KindBool:
		array(d, name, value, v, Syntax.Bool)
	case ros.KindInt8:
		array(d, name, value, v, signed[int8](8))
	case ros.KindUint8:
		setArray(d, name, v, d.octets(name, value, empty[uint8](v)))
	case ros.KindInt16:
		array(d, name, value, v, signed[int16](16))
	case ros.KindUint16:
		array(d, name, value, v, unsigned[uint16](16))
	case ros.KindInt32:
		array(d, name, value, v, signed[int32](32))
	case ros.KindUint32:
		array(d, name, value, v, unsigned[uint32](32))
	case ros.KindInt64:
		array(d, name, value, v, signed[int64](64))
	case ros.KindUint64:
		array(d, name, value, v, unsigned[uint64](64))
	case ros.KindFloat32:
		array(d, name, value, v, readFloat32)
	case ros.KindFloat64:
		array(d, name, value, v, readFloat64)
	case ros.KindString:
		array(d, name, value, v, readString)
	}
}

// reader reads one element.
type reader[T any] func(Syntax, Value) (T, int, error)

func signed[T int8 | int16 | int32 | int64](bits int) reader[T] {
	return func(s Syntax, v Value) (T, int, error) {
		n, end, err := s.Integer(v)
		if err != nil {
			return 0, 0, err
		}
		out, err := n.toSigned(bits)
		return T(out), end, err
	}
}

func unsigned[T uint8 | uint16 | uint32 | uint64](bits int) reader[T] {
	return func(s Syntax, v Value) (T, int, error) {
		n, end, err := s.Integer(v)
		if err != nil {
			return 0, 0, err
		}
		out, err := n.toUnsigned(bits)
		return T(out), end, err
	}
}

func readFloat32(s Syntax, v Value) (float32, int, error) {
	f, end, err := s.Float(v, 32)
	return float32(f), end, err
}

func readFloat64(s Syntax, v Value) (float64, int, error) { return s.Float(v, 64) }

func readString(s Syntax, v Value) (string, int, error) {
	text, end, err := s.Text(v)
	return string(text), end, err
}

// array sets v from the array that find returned.
func array[T ros.Element](d *Decoder, name string, value Value, v ros.Array, read reader[T]) {
	setArray(d, name, v, sequence(d, name, value, empty[T](v), read))
}

// empty returns an array's memory: appending to it sets one of a fixed size in place, as
// far as it goes.
func empty[T ros.Element](v ros.Array) []T { return ros.Elements[T](v)[:0] }

func setArray[T ros.Element](d *Decoder, name string, v ros.Array, list []T) {
	if size, fixed := v.Fixed(); fixed {
		if len(list) != size {
			d.fail(name, fmt.Errorf("array of %d has %d elements: %w", size, len(list), ErrRange))
		}
		return
	}
	ros.Set(v, list)
}

// sequence appends the elements of the array that find returned to dst.
func sequence[T any](d *Decoder, name string, v Value, dst []T, read reader[T]) []T {
	start, err := d.syntax.Array(v)
	c := &d.cursor
	*c = start
	for err == nil {
		var element Value
		var more bool
		if element, more, err = d.syntax.Element(c); err != nil || !more {
			break
		}
		if len(dst) == cap(dst) && len(dst) >= longArray {
			n := d.left(element, *c)
			if err = d.take(len(dst)+n, reflect.TypeFor[T]()); err != nil {
				break
			}
			dst = append(make([]T, 0, len(dst)+n), dst...)
		}
		var value T
		if value, c.Pos, err = read(d.syntax, element); err == nil {
			dst = append(dst, value)
		}
	}
	d.done(name, c.Pos, err)
	return dst
}
