package rostree

import (
	"fmt"
	"math"
	"reflect"

	"github.com/raybridge/raybridge/bridges/ros"
)

// budgetOf returns how many bytes of memory the elements of all arrays may take, for data of
// a size. A byte of it can be an object without members, or a number of eight bytes. Small data
// may grow more, since little is lost by it.
func budgetOf(size int) int {
	const (
		least       = 64 << 10
		small, much = 16, 4 // times the size
		enough      = 16 << 20
	)
	return least + max(much*size, min(small*size, enough))
}

// longArray is how many elements an array of numbers or texts has before the others are
// counted; longList is the same for messages. Growing step by step would take several times
// the memory.
const (
	longArray = 1024
	longList  = 64
)

// take counts memory for n elements of a type.
func (d *Decoder) take(n int, element reflect.Type) error {
	if d.budget -= n * int(element.Size()); d.budget < 0 {
		return ErrTooLarge
	}
	return nil
}

// left returns how many elements are left from this one on, to which the cursor has stepped.
// One that can't be read is the last that counts.
func (d *Decoder) left(element Value, c Cursor) int {
	for n := 1; ; n++ {
		var err error
		var more bool
		if c.Pos, err = d.syntax.Skip(element); err != nil {
			return n
		}
		if element, more, err = d.syntax.Element(&c); err != nil || !more {
			return n
		}
	}
}

// Decoder sets messages. The zero value is ready; one goroutine uses it at a time. What it
// sets holds no reference to the data, and never takes more memory than a small multiple
// of the data's size.
type Decoder struct {
	version ros.Version
	syntax  Syntax
	object  object
	cursor  Cursor // of find, finish and sequence, which don't call each other
	budget  int    // bytes that elements of arrays may still take
	err     error
}

var _ ros.SeqVisitor = (*Decoder)(nil)

// object is the one whose fields are being visited.
type object struct {
	absent bool      // there is none: its fields are zero
	names  ros.Names // that its members may have besides ROS 2's
	start  Cursor    // before its first member
	next   Cursor    // behind the last value that was read
	end    int       // behind the object, once that was reached; else 0
}

// Source is data to decode.
type Source struct {
	Syntax Syntax
	// Root is the message's object, Size the size of all the data.
	Root Value
	Size int
	// Version decides about seq, and about times before the epoch.
	Version ros.Version
}

// Decode sets m from the object and returns where it ends. On an error m is set in part.
func (d *Decoder) Decode(source Source, m ros.Message) (end int, err error) {
	*d = Decoder{version: source.Version, syntax: source.Syntax, budget: budgetOf(source.Size)}
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
	other := o.names.Of(name)
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
		case string(key) == name || string(key) == other:
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
func (d *Decoder) fields(v Value, present bool, m ros.Message) int {
	outer := d.object
	defer func() { d.object = outer }()
	d.object = object{absent: !present, names: ros.ROS1.Names(m)}
	if present {
		c, err := d.syntax.Object(v)
		if err != nil {
			d.fail("object", err)
		}
		d.object.start, d.object.next = c, c
	}
	m.Fields(d)
	if t, ok := m.(*ros.Time); ok && d.version == ros.ROS1 && t.Sec < 0 {
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
	if d.version == ros.ROS1 {
		d.Value("seq", ros.Of(v))
	}
}

// Value reads true or false, or a number; null is NaN for a float.
func (d *Decoder) Value(name string, v ros.Ref) {
	v.Clear()
	bits := 8 * v.Size()
	switch v.Kind() {
	case ros.KindBool:
		if value, ok := d.value(name); ok {
			b, end, err := d.syntax.Bool(value)
			d.done(name, end, err)
			v.SetBool(b)
		}
	case ros.KindFloat32, ros.KindFloat64:
		v.SetFloat(d.float(name, bits))
	case ros.KindUint8, ros.KindUint16, ros.KindUint32, ros.KindUint64:
		v.SetInt(d.unsigned(name, bits))
	default:
		v.SetInt(uint64(d.signed(name, bits)))
	}
}

// signed reads an integer of so many bits.
func (d *Decoder) signed(name string, bits int) int64 {
	value, ok := d.value(name)
	if !ok {
		return 0
	}
	n, end, err := d.syntax.Integer(value)
	var out int64
	if err == nil {
		out, err = n.toSigned(bits)
	}
	d.done(name, end, err)
	return out
}

// unsigned reads an integer of so many bits.
func (d *Decoder) unsigned(name string, bits int) uint64 {
	value, ok := d.value(name)
	if !ok {
		return 0
	}
	n, end, err := d.syntax.Integer(value)
	var out uint64
	if err == nil {
		out, err = n.toUnsigned(bits)
	}
	d.done(name, end, err)
	return out
}

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

// String reads a string.
func (d *Decoder) String(name string, v *string) {
	*v = ""
	if value, ok := d.value(name); ok {
		text, end, err := d.syntax.Text(value)
		d.done(name, end, err)
		*v = string(text)
	}
}

// Message reads an object.
func (d *Decoder) Message(name string, v ros.Message) {
	value, ok := d.value(name)
	end := d.fields(value, ok, v)
	if ok {
		d.done(name, end, nil)
	}
}

// Messages reads an array of objects. It grows the array only as the data bears it out.
func (d *Decoder) Messages(name string, v ros.Messages) {
	v.Clear()
	value, ok := d.value(name)
	if v.Fixed() {
		d.fixedMessages(name, v, value, ok)
		return
	}
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
		if err = d.room(v, element, c); err != nil {
			break
		}
		c.Pos = d.fields(element, true, v.Append())
	}
	d.done(name, c.Pos, err)
}

// room counts the memory for an element that is to be appended, or for all that are left.
func (d *Decoder) room(v ros.Messages, element Value, c Cursor) error {
	switch n := v.Len(); {
	case n > longList:
		return nil // is counted
	case n == longList:
		left := d.left(element, c)
		if err := d.take(left, v.Element()); err != nil {
			return err
		}
		v.Reserve(left)
		return nil
	default:
		return d.take(1, v.Element())
	}
}

// fixedMessages reads an array of as many objects as v has; all are zero if there is none.
func (d *Decoder) fixedMessages(name string, v ros.Messages, value Value, present bool) {
	var c Cursor
	var err error
	if present {
		c, err = d.syntax.Array(value)
	}
	n := 0
	for present && err == nil && d.err == nil {
		var element Value
		var more bool
		if element, more, err = d.syntax.Element(&c); err != nil || !more {
			break
		}
		if n == v.Len() {
			err = fmt.Errorf("array of %d has more elements: %w", n, ErrRange)
			break
		}
		c.Pos = d.fields(element, true, v.At(n))
		n++
	}
	if present && err == nil && n < v.Len() {
		err = fmt.Errorf("array of %d has %d elements: %w", v.Len(), n, ErrRange)
	}
	if present {
		d.done(name, c.Pos, err)
	}
	for ; n < v.Len(); n++ {
		d.fields(Value{}, false, v.At(n))
	}
}

// ToFloat32 returns f as a float of 32 bits, ErrRange if it is finite and too large.
func ToFloat32(f float64) (float64, error) {
	narrow := float64(float32(f))
	if math.IsInf(narrow, 0) && !math.IsInf(f, 0) {
		return 0, fmt.Errorf("%g in a float32: %w", f, ErrRange)
	}
	return narrow, nil
}
