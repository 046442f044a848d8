package rostree

import (
	"fmt"
	"math"
	"reflect"

	"github.com/raybridge/raybridge/bridges/internal/rosmsg"
)

// The elements of all arrays of messages may take minBudget bytes of memory, and
// elementMultiple times the data's size besides: a byte or two can be an object without
// members.
const (
	minBudget       = 64 << 10
	elementMultiple = 8
)

// Decoder sets messages. The zero value is ready; one goroutine uses it at a time. What it
// sets holds no reference to the data, and never takes more memory than a small multiple
// of the data's size.
type Decoder struct {
	version rosmsg.Version
	syntax  Syntax
	object  object
	cursor  Cursor // of find, finish and sequence, which don't call each other
	budget  int    // bytes that elements of arrays of messages may still take
	err     error
}

var _ rosmsg.SeqVisitor = (*Decoder)(nil)

// object is the one whose fields are being visited.
type object struct {
	absent bool   // there is none: its fields are zero
	start  Cursor // before its first member
	next   Cursor // behind the last value that was read
	end    int    // behind the object, once that was reached; else 0
}

// Source is data to decode.
type Source struct {
	Syntax Syntax
	// Root is the message's object, Size the size of all the data.
	Root Value
	Size int
	// Version decides about seq, and about times before the epoch.
	Version rosmsg.Version
}

// Decode sets m from the object and returns where it ends. On an error m is set in part.
func (d *Decoder) Decode(source Source, m rosmsg.Message) (end int, err error) {
	*d = Decoder{version: source.Version, syntax: source.Syntax, budget: minBudget + elementMultiple*source.Size}
	end = d.fields(source.Root, true, m)
	err = d.err
	*d = Decoder{}
	if err != nil {
		return 0, fmt.Errorf("decode %s: %w", m.TypeName(), err)
	}
	return end, nil
}

// fail keeps the first error with the field's name.
func (d *Decoder) fail(name string, err error) {
	if d.err == nil {
		d.err = fmt.Errorf("%s: %w", name, err)
	}
}

// find returns the member of the current object that is the field of a name. Its reader
// calls done.
func (d *Decoder) find(name string) (Value, bool) {
	o := &d.object
	if o.absent || d.err != nil {
		return Value{}, false
	}
	c, wrapped := &d.cursor, false
	*c = o.next
	for {
		key, v, more, err := d.syntax.Member(c)
		if err != nil {
			d.fail(name, err)
			return Value{}, false
		}
		switch {
		case !more:
			o.end = c.Pos
			if wrapped || o.next.Pos == o.start.Pos {
				return Value{}, false
			}
			*c, wrapped = o.start, true
			continue
		case rosmsg.SameField(key, name):
			o.next = *c
			return v, true
		}
		if c.Pos, err = d.syntax.Skip(v); err != nil {
			d.fail(name, err)
			return Value{}, false
		}
		if wrapped && c.Pos >= o.next.Pos {
			return Value{}, false
		}
	}
}

// done says that the value that find returned was read up to end.
func (d *Decoder) done(name string, end int, err error) {
	if err != nil {
		d.fail(name, err)
		return
	}
	d.object.next.Pos = end
}

// value is find for fields that are zero if they are null.
func (d *Decoder) value(name string) (Value, bool) {
	v, ok := d.find(name)
	if ok {
		if end, null := d.syntax.Null(v); null {
			d.done(name, end, nil)
			return v, false
		}
	}
	return v, ok
}

// fields sets a message from an object, if there is one, and returns the object's end.
func (d *Decoder) fields(v Value, present bool, m rosmsg.Message) int {
	outer := d.object
	defer func() { d.object = outer }()
	d.object = object{absent: !present}
	if present {
		c, err := d.syntax.Object(v)
		if err != nil {
			d.fail("object", err)
		}
		d.object.start, d.object.next = c, c
	}
	m.Fields(d)
	if t, ok := m.(*rosmsg.Time); ok && d.version == rosmsg.ROS1 && t.Sec < 0 {
		d.fail("secs", fmt.Errorf("%d, before the epoch: %w", t.Sec, ErrRange))
	}
	return d.finish()
}

// finish steps over what is left of the current object.
func (d *Decoder) finish() int {
	c := &d.cursor
	*c = d.object.next
	for !d.object.absent && d.err == nil && d.object.end == 0 {
		_, v, more, err := d.syntax.Member(c)
		if err == nil && more {
			c.Pos, err = d.syntax.Skip(v)
		}
		if err != nil {
			d.fail("object", err)
		} else if !more {
			d.object.end = c.Pos
		}
	}
	return d.object.end
}

// HeaderSeq reads "seq" of ROS 1.
func (d *Decoder) HeaderSeq(v *uint32) {
	*v = 0
	if d.version == rosmsg.ROS1 {
		d.Uint32("seq", v)
	}
}

// Bool reads true or false.
func (d *Decoder) Bool(name string, v *bool) {
	*v = false
	if value, ok := d.value(name); ok {
		b, end, err := d.syntax.Bool(value)
		d.done(name, end, err)
		*v = b
	}
}

// integer reads a number of low to high.
func (d *Decoder) integer(name string, low, high int64) int64 {
	value, ok := d.value(name)
	if !ok {
		return 0
	}
	n, end, err := d.syntax.Integer(value)
	if err == nil && (n < low || n > high) {
		err = fmt.Errorf("%d, where %d to %d fit: %w", n, low, high, ErrRange)
	}
	d.done(name, end, err)
	if err != nil {
		return 0
	}
	return n
}

// Int8 reads a number.
func (d *Decoder) Int8(name string, v *int8) { *v = int8(d.integer(name, math.MinInt8, math.MaxInt8)) }

// Uint8 reads a number.
func (d *Decoder) Uint8(name string, v *uint8) { *v = uint8(d.integer(name, 0, math.MaxUint8)) }

// Uint16 reads a number.
func (d *Decoder) Uint16(name string, v *uint16) { *v = uint16(d.integer(name, 0, math.MaxUint16)) }

// Int32 reads a number.
func (d *Decoder) Int32(name string, v *int32) {
	*v = int32(d.integer(name, math.MinInt32, math.MaxInt32))
}

// Uint32 reads a number.
func (d *Decoder) Uint32(name string, v *uint32) { *v = uint32(d.integer(name, 0, math.MaxUint32)) }

// float reads a number; null is NaN.
func (d *Decoder) float(name string, bits int) float64 {
	value, ok := d.find(name)
	if !ok {
		return 0
	}
	f, end, err := d.syntax.Float(value, bits)
	d.done(name, end, err)
	return f
}

// Float32 reads a number; null is NaN.
func (d *Decoder) Float32(name string, v *float32) { *v = float32(d.float(name, 32)) }

// Float64 reads a number; null is NaN.
func (d *Decoder) Float64(name string, v *float64) { *v = d.float(name, 64) }

// String reads a string.
func (d *Decoder) String(name string, v *string) {
	*v = ""
	if value, ok := d.value(name); ok {
		text, end, err := d.syntax.Text(value)
		d.done(name, end, err)
		*v = string(text)
	}
}

// Bytes reads what the encoding has for bytes, or an array of numbers.
func (d *Decoder) Bytes(name string, v *rosmsg.Bytes) {
	v.Source, v.Data = nil, v.Data[:0]
	value, ok := d.value(name)
	if !ok {
		return
	}
	data, end, ok, err := d.syntax.Bytes(v.Data, value)
	if ok || err != nil {
		v.Data = data
		d.done(name, end, err)
		return
	}
	v.Data = sequence(d, name, value, v.Data, readByte)
}

func readByte(s Syntax, v Value) (byte, int, error) {
	n, end, err := s.Integer(v)
	if err == nil && (n < 0 || n > math.MaxUint8) {
		err = fmt.Errorf("%d in uint8[]: %w", n, ErrRange)
	}
	return byte(n), end, err
}

func readInt32(s Syntax, v Value) (int32, int, error) {
	n, end, err := s.Integer(v)
	if err == nil && (n < math.MinInt32 || n > math.MaxInt32) {
		err = fmt.Errorf("%d in int32[]: %w", n, ErrRange)
	}
	return int32(n), end, err
}

func readFloat32(s Syntax, v Value) (float32, int, error) {
	f, end, err := s.Float(v, 32)
	return float32(f), end, err
}

func readFloat64(s Syntax, v Value) (float64, int, error) { return s.Float(v, 64) }

// sequence appends the elements of the array that find returned to dst.
func sequence[T any](d *Decoder, name string, v Value, dst []T, read func(Syntax, Value) (T, int, error)) []T {
	start, err := d.syntax.Array(v)
	c := &d.cursor
	*c = start
	for err == nil {
		var element Value
		var more bool
		if element, more, err = d.syntax.Element(c); err != nil || !more {
			break
		}
		var value T
		if value, c.Pos, err = read(d.syntax, element); err == nil {
			dst = append(dst, value)
		}
	}
	d.done(name, c.Pos, err)
	return dst
}

// Float64Array reads an array of as many numbers as v has.
func (d *Decoder) Float64Array(name string, v []float64) {
	value, ok := d.value(name)
	if !ok {
		clear(v)
		return
	}
	// Appending sets v in place, as far as it goes.
	if got := sequence(d, name, value, v[:0:len(v)], readFloat64); len(got) != len(v) {
		d.fail(name, fmt.Errorf("array of %d has %d elements: %w", len(v), len(got), ErrRange))
	}
}

// Float64Sequence reads an array of numbers.
func (d *Decoder) Float64Sequence(name string, v *[]float64) {
	*v = (*v)[:0]
	if value, ok := d.value(name); ok {
		*v = sequence(d, name, value, *v, readFloat64)
	}
}

// Float32Sequence reads an array of numbers.
func (d *Decoder) Float32Sequence(name string, v *[]float32) {
	*v = (*v)[:0]
	if value, ok := d.value(name); ok {
		*v = sequence(d, name, value, *v, readFloat32)
	}
}

// Int32Sequence reads an array of numbers.
func (d *Decoder) Int32Sequence(name string, v *[]int32) {
	*v = (*v)[:0]
	if value, ok := d.value(name); ok {
		*v = sequence(d, name, value, *v, readInt32)
	}
}

// Message reads an object.
func (d *Decoder) Message(name string, v rosmsg.Message) {
	value, ok := d.value(name)
	end := d.fields(value, ok, v)
	if ok {
		d.done(name, end, nil)
	}
}

// Messages reads an array of objects. It grows the array only as the data bears it out.
func (d *Decoder) Messages(name string, v rosmsg.Messages) {
	v.Clear()
	value, ok := d.value(name)
	if !ok {
		return
	}
	c, err := d.syntax.Array(value)
	for err == nil && d.err == nil {
		var element Value
		var more bool
		if element, more, err = d.syntax.Element(&c); err != nil || !more {
			break
		}
		m := v.Append()
		if d.budget -= int(reflect.TypeOf(m).Elem().Size()); d.budget < 0 {
			err = ErrTooLarge
			break
		}
		c.Pos = d.fields(element, true, m)
	}
	d.done(name, c.Pos, err)
}

// ToFloat32 returns f as a float of 32 bits, ErrRange if it is finite and too large.
func ToFloat32(f float64) (float64, error) {
	narrow := float64(float32(f))
	if math.IsInf(narrow, 0) && !math.IsInf(f, 0) {
		return 0, fmt.Errorf("%g in a float32: %w", f, ErrRange)
	}
	return narrow, nil
}

// ToInteger returns f as an integer, ErrType if it has a fraction, ErrRange if it is
// beyond the integers that a float64 counts one by one.
func ToInteger(f float64) (int64, error) {
	if f != math.Trunc(f) {
		return 0, fmt.Errorf("%g for an integer: %w", f, ErrType)
	}
	if math.Abs(f) > 1<<53 {
		return 0, fmt.Errorf("%g for an integer: %w", f, ErrRange)
	}
	return int64(f), nil
}
