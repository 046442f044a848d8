package encode

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/raybridge/raybridge/bridges/ros"
)

// Tree is a self-describing format of ROS messages: a message is an object, whose members
// have names. What isn't UTF-8 in a string is written as U+FFFD.
type Tree uint8

const (
	// JSON (RFC 8259) has the rules of rosbridge's protocol: uint8[] is base64, a time is
	// {"secs":...,"nsecs":...} in ROS 1 and {"sec":...,"nanosec":...} in ROS 2. JSON has no
	// NaN and no infinities: NonFinite says how they are written. Null and the words NaN,
	// Infinity and -Infinity are read; null is NaN, so that a distance of +Inf becomes one
	// that isn't known. Floats are the shortest text that reads back as the same number of
	// their width.
	JSON Tree = iota
	// BSON is BSON 1.1 (bsonspec.org), as rosbridge uses it. A message is a document, and
	// uint8[] is binary of the generic subtype. Floats are doubles, NaN and infinities
	// included. Integers are int32, and int64 where they don't fit.
	BSON
	// CBOR (RFC 8949) is rosbridge's compression "cbor". A message is a map, uint8[] is a byte
	// string, arrays of numbers are typed arrays (RFC 8746) of little-endian elements. Integers
	// are as short as can be, floats of the field's own width, NaN and infinities included.
	CBOR
)

// TreeEncoder encodes messages in a self-describing format. The zero value is ready, for JSON
// and ROS 2; one goroutine uses it at a time. Encoding into a large enough buffer allocates
// nothing.
type TreeEncoder struct {
	Format  Tree
	Version ros.Version
	// NonFinite is how JSON has NaN and infinities.
	NonFinite NonFinite
	// Limit is how long the buffer may get with BSON, bytes. By default, and at the most, it is
	// 2 GiB less one, since a document's length is an int32. Bytes beyond are given no memory.
	Limit int

	form    treeForm
	visitor ros.Visitor // form once more: it takes time to make one of the other
	buf     []byte
	names   ros.Names // of the object that is being written
	members int       // that it has up to now
	err     error
	// altered says that a number of the message was replaced.
	altered bool
	octets  ros.Bytes // an uint8[] that is being written
	// made is what a source made for Bytes, kept between messages. It isn't made in buf. The
	// processor that sent what was in buf before has its lines still, and filling them at
	// memory's pace waits for each. base64 is slow enough for them to come meanwhile.
	made []byte
}

// treeForm is an encoder's visitor: its TreeEncoder with what a format has of its own. Types
// are those of BSON's elements. Most fields have one number, so each format has its own Value:
// calls of the other methods from there are direct.
type treeForm interface {
	ros.SeqVisitor
	// member writes what stands before an object's member, whose name ROS 1 may call
	// otherwise; element writes what stands before an array's.
	member(typ byte, name string)
	element(typ byte, i int)
	// open begins a document, or an array of n elements, and returns where; close ends it.
	open(typ byte, n int) (start int)
	close(typ byte, start int)
	bool(b bool)
	int(n int64)
	// large writes an integer beyond an int64's range.
	large(n uint64)
	// float writes a float of so many bits.
	float(f float64, bits int)
	text(text string)
	bytes(name string, v *ros.Bytes)
	// numbers writes an array of numbers as one value, if the format has such.
	numbers(name string, v ros.Array) bool
}

// Append appends m as an object to dst and returns the result. The bytes are a whole value, so
// they can stand as they are where an object has one.
func (e *TreeEncoder) Append(dst []byte, m ros.Message) []byte {
	switch e.Format {
	case BSON:
		e.form, e.visitor = bsonForm{e}, bsonForm{e}
	case CBOR:
		e.form, e.visitor = cborForm{e}, cborForm{e}
	default:
		e.form, e.visitor = jsonForm{e}, jsonForm{e}
	}
	e.buf, e.err, e.altered = dst, nil, false
	e.object("", m)
	out := e.buf
	e.form, e.visitor, e.buf = nil, nil, nil
	return out
}

// Err returns what of the last message couldn't be written: ros.ErrBeforeEpoch if Version is
// ROS1, and in BSON ErrSize or errBSONRange. It was written as 0, and the message isn't to be
// sent.
func (e *TreeEncoder) Err() error { return e.err }

// Altered reports whether the last message had numbers that aren't finite, which JSON has as
// null or as finite ones.
func (e *TreeEncoder) Altered() bool { return e.altered }

func (e *TreeEncoder) fail(name string, err error) {
	if e.err == nil {
		e.err = fmt.Errorf("encode %s: %w", name, err)
	}
}

// zero stands for times that can't be written; nobody changes it.
var zero ros.Time

func (e *TreeEncoder) object(name string, m ros.Message) {
	if t, ok := m.(*ros.Time); ok && e.Version == ros.ROS1 && t.Sec < 0 {
		e.fail(name, fmt.Errorf("time of %d s: %w", t.Sec, ros.ErrBeforeEpoch))
		m = &zero
	}
	names, members := e.names, e.members
	start := e.form.open(typeDocument, 0)
	e.names, e.members = e.Version.Names(m), 0
	m.Fields(e.visitor)
	e.form.close(typeDocument, start)
	e.names, e.members = names, members
}

// HeaderSeq appends "seq" of ROS 1.
func (e *TreeEncoder) HeaderSeq(v *uint32) {
	if e.Version == ros.ROS1 {
		e.form.Value("seq", ros.Of(v))
	}
}

// unsigned returns a number as an int64, or large if it is beyond its range. BSON has no such
// number.
func (e *TreeEncoder) unsigned(name string, v uint64) (n int64, large uint64) {
	switch {
	case v <= math.MaxInt64:
		return int64(v), 0
	case e.Format == BSON:
		e.fail(name, fmt.Errorf("%d: %w", v, errBSONRange))
		return 0, 0
	}
	return 0, v
}

func (e *TreeEncoder) integer(n int64, large uint64) {
	if large > 0 {
		e.form.large(large)
		return
	}
	e.form.int(n)
}

// String appends a string.
func (e *TreeEncoder) String(name string, v *string) {
	e.form.member(typeString, name)
	e.form.text(*v)
}

// Bytes appends what the format has for bytes. Their source writes them in place where they
// aren't text.
func (e *TreeEncoder) Bytes(name string, v *ros.Bytes) {
	e.form.member(typeBinary, name)
	e.form.bytes(name, v)
}

// Array appends an array of numbers, bools or strings, and bytes of uint8's.
func (e *TreeEncoder) Array(name string, v ros.Array) {
	if v.Kind() == ros.KindUint8 {
		e.octets.Data = ros.Elements[uint8](v)
		e.Bytes(name, &e.octets)
		e.octets.Data = nil
		return
	}
	e.form.member(typeArray, name)
	if e.form.numbers(name, v) {
		return
	}
	start := e.form.open(typeArray, v.Len())
	switch v.Kind() {
	case ros.KindBool:
		for i, b := range ros.Elements[bool](v) {
			e.form.element(typeBool, i)
			e.form.bool(b)
		}
	case ros.KindInt8:
		integers(e, ros.Elements[int8](v))
	case ros.KindInt16:
		integers(e, ros.Elements[int16](v))
	case ros.KindUint16:
		integers(e, ros.Elements[uint16](v))
	case ros.KindInt32:
		integers(e, ros.Elements[int32](v))
	case ros.KindUint32:
		integers(e, ros.Elements[uint32](v))
	case ros.KindInt64:
		integers(e, ros.Elements[int64](v))
	case ros.KindUint64:
		for i, u := range ros.Elements[uint64](v) {
			n, large := e.unsigned(name, u)
			e.form.element(integerType(n), i)
			e.integer(n, large)
		}
	case ros.KindFloat32:
		floats(e, ros.Elements[float32](v), 32)
	case ros.KindFloat64:
		floats(e, ros.Elements[float64](v), 64)
	case ros.KindString:
		for i, text := range ros.Elements[string](v) {
			e.form.element(typeString, i)
			e.form.text(text)
		}
	}
	e.form.close(typeArray, start)
}

func integers[T int8 | int16 | uint16 | int32 | uint32 | int64](e *TreeEncoder, list []T) {
	for i, n := range list {
		e.form.element(integerType(int64(n)), i)
		e.form.int(int64(n))
	}
}

func floats[T float32 | float64](e *TreeEncoder, list []T, bits int) {
	for i, f := range list {
		e.form.element(typeDouble, i)
		e.form.float(float64(f), bits)
	}
}

// Message appends an object.
func (e *TreeEncoder) Message(name string, v ros.Message) {
	e.form.member(typeDocument, name)
	e.object(name, v)
}

// Messages appends an array of objects.
func (e *TreeEncoder) Messages(name string, v ros.Messages) {
	e.form.member(typeArray, name)
	n := v.Len()
	start := e.form.open(typeArray, n)
	for i := range n {
		e.form.element(typeDocument, i)
		e.object(name, v.At(i))
	}
	e.form.close(typeArray, start)
}

// Errors of decoders, besides ErrTruncated and ErrMalformed.
var (
	// ErrDepth says that values lie in each other more than MaxDepth deep.
	ErrDepth = errors.New("values lie in each other too deep")
	// ErrType says that a member isn't of its field's type.
	ErrType = errors.New("value is of another type than the field")
	// ErrRange says that a number is beyond its field's type, or that an array of fixed
	// size has another.
	ErrRange = errors.New("value is out of the field's range")
	// ErrTooLarge says that an array has so many elements of so few bytes each that they
	// would take a large multiple of the data's size.
	ErrTooLarge = errors.New("elements would take far more memory than the data")
)

// maxDepth is how deep values may lie in each other where a decoder ignores them.
const maxDepth = 64

// node is the place of a value in the data.
type node struct {
	Pos int
	// Kind is what the syntax must know besides, such as a type that stands before the
	// value's name.
	Kind byte
}

// cursor is a place between the members of an object, or the elements of an array.
type cursor struct {
	Pos int
	// N and Kind are the syntax's own.
	N    int
	Kind byte
}

// syntax reads values of one encoding. The caller that has read a member's or an element's
// value sets the cursor's Pos to its end. What is returned as bytes is good until the next
// call.
type syntax interface {
	// Object enters an object, Member steps to its next member, whose value begins at the
	// cursor then. Without more, the cursor is behind the object.
	Object(v node) (cursor, error)
	Member(c *cursor) (name []byte, v node, more bool, err error)
	// Array and Element do the same for an array.
	Array(v node) (cursor, error)
	Element(c *cursor) (v node, more bool, err error)
	// Skip returns the end of a value of any type.
	Skip(v node) (end int, err error)
	// Null reports whether a value is null, and its end if it is.
	Null(v node) (end int, null bool)
	Bool(v node) (b bool, end int, err error)
	// Integer reads a number without a fraction.
	Integer(v node) (n integer, end int, err error)
	// Float reads a number, to the nearest of a float of so many bits.
	Float(v node, bits int) (f float64, end int, err error)
	// Text reads a string as valid UTF-8.
	Text(v node) (text []byte, end int, err error)
	// Bytes appends what the encoding has for uint8[], unless it is an array of numbers:
	// ok is false then.
	Bytes(dst []byte, v node) (data []byte, end int, ok bool, err error)
}

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
func (d *TreeDecoder) take(n int, element reflect.Type) error {
	if d.budget -= n * int(element.Size()); d.budget < 0 {
		return ErrTooLarge
	}
	return nil
}

// left returns how many elements are left from this one on, to which the cursor has stepped.
// One that can't be read is the last that counts.
func (d *TreeDecoder) left(element node, c cursor) int {
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

// TreeDecoder decodes messages of a self-describing format, JSON if none is set. One goroutine
// uses it at a time. What it sets holds no reference to the data, and never takes more memory
// than a small multiple of the data's size.
//
// It takes the names of both versions of ROS; Version decides whether there is a seq, and about
// times before the epoch. Numbers may be of any of the format's types. uint8[] may be base64 in
// JSON, binary of any subtype in BSON, a byte string in CBOR, or an array of numbers. CBOR's
// arrays may be plain or typed of any type except float128, its lengths indefinite; its tags
// are ignored, except those of typed arrays.
//
// Nothing is built between the data and the message. The decoder visits the message's fields
// and looks for each in the data, at first behind the one before, where it mostly is. So a
// message whose members lie in the definition's order is read in one pass. Out of order, a
// field costs one pass over its object at most.
//
// Members that aren't fields are ignored. Fields that aren't members become zero, and so do
// those that are null, except floats: JSON has null for their NaN. Of members of the same name,
// one counts.
type TreeDecoder struct {
	Format  Tree
	Version ros.Version

	json   jsonSyntax
	bson   bsonSyntax
	cbor   cborSyntax
	syntax syntax
	object object
	cursor cursor // of find, finish and sequence, which don't call each other
	budget int    // bytes that elements of arrays may still take
	err    error
}

var _ ros.SeqVisitor = (*TreeDecoder)(nil)

// object is the one whose fields are being visited.
type object struct {
	absent bool      // there is none: its fields are zero
	names  ros.Names // that its members may have besides ROS 2's
	start  cursor    // before its first member
	next   cursor    // behind the last value that was read
	end    int       // behind the object, once that was reached; else 0
}

// Decode sets m from an object, which is all there is but white space. On an error m is set
// in part.
func (d *TreeDecoder) Decode(data []byte, m ros.Message) error {
	root := node{}
	switch d.Format {
	case BSON:
		d.bson.data, d.syntax, root.Kind = data, &d.bson, typeDocument
	case CBOR:
		d.cbor.data, d.syntax = data, &d.cbor
	default:
		d.json.data, d.syntax = data, &d.json
		root.Pos = d.json.space(0)
	}
	d.object, d.budget, d.err = object{}, budgetOf(len(data)), nil
	end := d.fields(root, true, m)
	if d.Format == JSON {
		end = d.json.space(end)
	}
	if left := len(data) - end; d.err == nil && left > 0 {
		d.fail("end", fmt.Errorf("%d bytes follow the message: %w", left, ErrMalformed))
	}
	err := d.err
	d.json.release()
	d.bson.data, d.cbor.data, d.err, d.object = nil, nil, nil, object{}
	if err != nil {
		return fmt.Errorf("decode %s: %w", m.TypeName(), err)
	}
	return nil
}

// fail keeps the first error with the field's name.
func (d *TreeDecoder) fail(name string, err error) {
	if d.err == nil {
		d.err = fmt.Errorf("%s: %w", name, err)
	}
}

// find returns the member of the current object that is the field of a name. Its reader
// calls done.
func (d *TreeDecoder) find(name string) (node, bool) {
	o := &d.object
	if o.absent || d.err != nil {
		return node{}, false
	}
	c, wrapped := &d.cursor, false
	*c = o.next
	other := o.names.Of(name)
	for {
		key, v, more, err := d.syntax.Member(c)
		if err != nil {
			d.fail(name, err)
			return node{}, false
		}
		switch {
		case !more:
			o.end = c.Pos
			if wrapped || o.next.Pos == o.start.Pos {
				return node{}, false
			}
			*c, wrapped = o.start, true
			continue
		case string(key) == name || string(key) == other:
			o.next = *c
			return v, true
		}
		if c.Pos, err = d.syntax.Skip(v); err != nil {
			d.fail(name, err)
			return node{}, false
		}
		if wrapped && c.Pos >= o.next.Pos {
			return node{}, false
		}
	}
}

// done says that the value that find returned was read up to end.
func (d *TreeDecoder) done(name string, end int, err error) {
	if err != nil {
		d.fail(name, err)
		return
	}
	d.object.next.Pos = end
}

// value is find for fields that are zero if they are null.
func (d *TreeDecoder) value(name string) (node, bool) {
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
func (d *TreeDecoder) fields(v node, present bool, m ros.Message) int {
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
	if t, ok := m.(*ros.Time); ok && d.Version == ros.ROS1 && t.Sec < 0 {
		d.fail("secs", fmt.Errorf("%d, before the epoch: %w", t.Sec, ErrRange))
	}
	return d.finish()
}

// finish steps over what is left of the current object.
func (d *TreeDecoder) finish() int {
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
func (d *TreeDecoder) HeaderSeq(v *uint32) {
	*v = 0
	if d.Version == ros.ROS1 {
		d.Value("seq", ros.Of(v))
	}
}

// Value reads true or false, or a number; null is NaN for a float.
func (d *TreeDecoder) Value(name string, v ros.Ref) {
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
		v.SetInt(d.integer(name, bits, integer.toUnsigned))
	default:
		v.SetInt(d.integer(name, bits, integer.toSigned))
	}
}

// integer reads an integer of so many bits.
func (d *TreeDecoder) integer(name string, bits int, convert conversion) uint64 {
	value, ok := d.value(name)
	if !ok {
		return 0
	}
	n, end, err := d.syntax.Integer(value)
	var out uint64
	if err == nil {
		out, err = convert(n, bits)
	}
	d.done(name, end, err)
	return out
}

// float reads a number; null is NaN.
func (d *TreeDecoder) float(name string, bits int) float64 {
	value, ok := d.find(name)
	if !ok {
		return 0
	}
	f, end, err := d.syntax.Float(value, bits)
	d.done(name, end, err)
	return f
}

// String reads a string.
func (d *TreeDecoder) String(name string, v *string) {
	*v = ""
	if value, ok := d.value(name); ok {
		text, end, err := d.syntax.Text(value)
		d.done(name, end, err)
		*v = string(text)
	}
}

// Message reads an object.
func (d *TreeDecoder) Message(name string, v ros.Message) {
	value, ok := d.value(name)
	end := d.fields(value, ok, v)
	if ok {
		d.done(name, end, nil)
	}
}

// Messages reads an array of objects. It grows the array only as the data bears it out.
func (d *TreeDecoder) Messages(name string, v ros.Messages) {
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
		var element node
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
func (d *TreeDecoder) room(v ros.Messages, element node, c cursor) error {
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
func (d *TreeDecoder) fixedMessages(name string, v ros.Messages, value node, present bool) {
	var c cursor
	var err error
	if present {
		c, err = d.syntax.Array(value)
	}
	n := 0
	for present && err == nil && d.err == nil {
		var element node
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
		d.fields(node{}, false, v.At(n))
	}
}

// toFloat32 returns f as a float of 32 bits, ErrRange if it is finite and too large.
func toFloat32(f float64) (float64, error) {
	narrow := float64(float32(f))
	if math.IsInf(narrow, 0) && !math.IsInf(f, 0) {
		return 0, fmt.Errorf("%g in a float32: %w", f, ErrRange)
	}
	return narrow, nil
}

// Bytes reads what the encoding has for bytes, or an array of numbers.
func (d *TreeDecoder) Bytes(name string, v *ros.Bytes) {
	v.Source, v.Data = nil, v.Data[:0]
	if value, ok := d.value(name); ok {
		v.Data = d.octets(name, value, v.Data)
	}
}

// octets appends the uint8[] that find returned to dst.
func (d *TreeDecoder) octets(name string, v node, dst []byte) []byte {
	data, end, ok, err := d.syntax.Bytes(dst, v)
	if ok || err != nil {
		d.done(name, end, err)
		return data
	}
	return sequence(d, name, v, dst, unsigned[byte](8))
}

// Array reads an array; one of a fixed size has as many elements.
func (d *TreeDecoder) Array(name string, v ros.Array) {
	value, ok := d.value(name)
	if !ok {
		v.Clear()
		return
	}
	switch v.Kind() {
	case ros.KindBool:
		array(d, name, value, v, syntax.Bool)
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
type reader[T any] func(syntax, node) (T, int, error)

func signed[T int8 | int16 | int32 | int64](bits int) reader[T] {
	return readInteger[T](bits, integer.toSigned)
}

func unsigned[T uint8 | uint16 | uint32 | uint64](bits int) reader[T] {
	return readInteger[T](bits, integer.toUnsigned)
}

func readInteger[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](bits int, convert conversion) reader[T] {
	return func(s syntax, v node) (T, int, error) {
		n, end, err := s.Integer(v)
		if err != nil {
			return 0, 0, err
		}
		out, err := convert(n, bits)
		return T(out), end, err
	}
}

func readFloat32(s syntax, v node) (float32, int, error) {
	f, end, err := s.Float(v, 32)
	return float32(f), end, err
}

func readFloat64(s syntax, v node) (float64, int, error) { return s.Float(v, 64) }

func readString(s syntax, v node) (string, int, error) {
	text, end, err := s.Text(v)
	return string(text), end, err
}

// array sets v from the array that find returned.
func array[T ros.Element](d *TreeDecoder, name string, value node, v ros.Array, read reader[T]) {
	setArray(d, name, v, sequence(d, name, value, empty[T](v), read))
}

// empty returns an array's memory: appending to it sets one of a fixed size in place, as
// far as it goes.
func empty[T ros.Element](v ros.Array) []T { return ros.Elements[T](v)[:0] }

func setArray[T ros.Element](d *TreeDecoder, name string, v ros.Array, list []T) {
	if size, fixed := v.Fixed(); fixed {
		if len(list) != size {
			d.fail(name, fmt.Errorf("array of %d has %d elements: %w", size, len(list), ErrRange))
		}
		return
	}
	ros.Set(v, list)
}

// sequence appends the elements of the array that find returned to dst.
func sequence[T any](d *TreeDecoder, name string, v node, dst []T, read reader[T]) []T {
	start, err := d.syntax.Array(v)
	c := &d.cursor
	*c = start
	for err == nil {
		var element node
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

// integer is a number from an int64's least to an uint64's greatest: each type of ROS is
// within it.
type integer struct {
	// Negative says that the number is Magnitude below zero.
	Negative  bool
	Magnitude uint64
}

// signedInteger returns an int64 as an integer.
func signedInteger(n int64) integer {
	if n < 0 {
		return integer{Negative: true, Magnitude: -uint64(n)}
	}
	return integer{Magnitude: uint64(n)}
}

// String returns the number's digits.
func (n integer) String() string {
	if n.Negative {
		return fmt.Sprintf("-%d", n.Magnitude)
	}
	return fmt.Sprint(n.Magnitude)
}

// float64 returns the nearest float64.
func (n integer) float64() float64 {
	if n.Negative {
		return -float64(n.Magnitude)
	}
	return float64(n.Magnitude)
}

// conversion returns a number as an integer of so many bits, in two's complement where it is below
// zero. It returns ErrRange if they don't hold it.
type conversion func(n integer, bits int) (uint64, error)

// toSigned is the conversion to a signed integer.
func (n integer) toSigned(bits int) (uint64, error) {
	most := uint64(1)<<(bits-1) - 1
	if n.Negative {
		most++
	}
	if n.Magnitude > most {
		return 0, fmt.Errorf("%v in an int%d: %w", n, bits, ErrRange)
	}
	if n.Negative {
		return -n.Magnitude, nil
	}
	return n.Magnitude, nil
}

// toUnsigned is the conversion to an unsigned integer.
func (n integer) toUnsigned(bits int) (uint64, error) {
	if n.Negative && n.Magnitude > 0 || n.Magnitude > math.MaxUint64>>(64-bits) {
		return 0, fmt.Errorf("%v in an uint%d: %w", n, bits, ErrRange)
	}
	return n.Magnitude, nil
}

// toInteger returns f as an integer. It returns ErrType if f has a fraction, ErrRange if it is
// beyond the integers that a float64 counts one by one.
func toInteger(f float64) (integer, error) {
	if f != math.Trunc(f) {
		return integer{}, fmt.Errorf("%g for an integer: %w", f, ErrType)
	}
	if math.Abs(f) > 1<<53 {
		return integer{}, fmt.Errorf("%g for an integer: %w", f, ErrRange)
	}
	return signedInteger(int64(f)), nil
}
