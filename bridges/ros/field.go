package ros

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"unsafe"
)

// Kind is a primitive type of ROS.
type Kind uint8

// Kinds. The zero value isn't a kind.
const (
	KindBool Kind = iota + 1
	KindInt8
	KindUint8
	KindInt16
	KindUint16
	KindInt32
	KindUint32
	KindInt64
	KindUint64
	KindFloat32
	KindFloat64
	KindString
)

var kinds = [...]struct {
	name string
	size int // bytes of a number, 0 for a string
}{
	KindBool: {"bool", 1}, KindInt8: {"int8", 1}, KindUint8: {"uint8", 1}, KindInt16: {"int16", 2}, KindUint16: {"uint16", 2},
	KindInt32: {"int32", 4}, KindUint32: {"uint32", 4}, KindInt64: {"int64", 8}, KindUint64: {"uint64", 8},
	KindFloat32: {"float32", 4}, KindFloat64: {"float64", 8}, KindString: {"string", 0},
}

// String returns the type's name in a definition, such as "int16".
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k].name
	}
	return fmt.Sprintf("Kind(%d)", k)
}

// Size is the number of bytes that binary encodings have for an element, 0 for strings.
func (k Kind) Size() int { return kinds[k].size }

// Number is the Go type of a field with one number or bool: byte stands for uint8.
type Number interface {
	bool | int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | float32 | float64
}

// Ref is a field with one number or bool, as [Visitor] is shown it: Of makes one. It refers
// to the message's own memory, whose owner may use it. The zero value is not a field.
type Ref struct {
	kind Kind
	at   unsafe.Pointer // to the Go type that kind stands for
}

// Of makes a field visitable, as in v.Value("x", Of(&m.X)). It does not allocate.
func Of[T Number](field *T) Ref { return Ref{kindOf[T](), unsafe.Pointer(field)} }

// Kind is the field's type, never KindString.
func (r Ref) Kind() Kind { return r.kind }

// Size is the number of bytes that binary encodings have for the field.
func (r Ref) Size() int { return r.kind.Size() }

// Bool returns the value of a KindBool.
func (r Ref) Bool() bool { return *(*bool)(r.at) }

// Int returns the value of a signed integer, and that of an unsigned one up to 32 bits.
func (r Ref) Int() int64 {
	switch r.kind {
	case KindInt8:
		return int64(*(*int8)(r.at))
	case KindInt16:
		return int64(*(*int16)(r.at))
	case KindInt32:
		return int64(*(*int32)(r.at))
	}
	return int64(r.bits())
}

// Uint returns the value of an unsigned integer.
func (r Ref) Uint() uint64 { return r.bits() }

// Float returns the value of a KindFloat32 or a KindFloat64.
func (r Ref) Float() float64 {
	if r.kind == KindFloat32 {
		return float64(*(*float32)(r.at))
	}
	return *(*float64)(r.at)
}

// bits returns the field's memory as a number, zeros before it.
func (r Ref) bits() uint64 {
	switch r.Size() {
	case 1:
		return uint64(*(*uint8)(r.at))
	case 2:
		return uint64(*(*uint16)(r.at))
	case 4:
		return uint64(*(*uint32)(r.at))
	default:
		return *(*uint64)(r.at)
	}
}

// SetBool sets a KindBool.
func (r Ref) SetBool(b bool) { *(*bool)(r.at) = b }

// SetInt sets an integer, signed or not, to n's lower bits.
func (r Ref) SetInt(n uint64) {
	switch r.Size() {
	case 1:
		*(*uint8)(r.at) = uint8(n)
	case 2:
		*(*uint16)(r.at) = uint16(n)
	case 4:
		*(*uint32)(r.at) = uint32(n)
	default:
		*(*uint64)(r.at) = n
	}
}

// SetFloat sets a KindFloat32 or a KindFloat64; the former to the nearest value.
func (r Ref) SetFloat(f float64) {
	if r.kind == KindFloat32 {
		*(*float32)(r.at) = float32(f)
		return
	}
	*(*float64)(r.at) = f
}

// AppendBinary appends the value as CDR and ROS 1 have it alike: little-endian, a bool as
// one byte.
func (r Ref) AppendBinary(dst []byte) []byte {
	switch r.Size() {
	case 1:
		return append(dst, *(*uint8)(r.at))
	case 2:
		return binary.LittleEndian.AppendUint16(dst, *(*uint16)(r.at))
	case 4:
		return binary.LittleEndian.AppendUint32(dst, *(*uint32)(r.at))
	default:
		return binary.LittleEndian.AppendUint64(dst, *(*uint64)(r.at))
	}
}

// SetBinary sets the value to what AppendBinary made of it, of Size bytes. All bytes but 0
// are true.
func (r Ref) SetBinary(src []byte) {
	switch {
	case r.kind == KindBool:
		r.SetBool(src[0] != 0)
	case r.Size() == 1:
		*(*uint8)(r.at) = src[0]
	case r.Size() == 2:
		*(*uint16)(r.at) = binary.LittleEndian.Uint16(src)
	case r.Size() == 4:
		*(*uint32)(r.at) = binary.LittleEndian.Uint32(src)
	default:
		*(*uint64)(r.at) = binary.LittleEndian.Uint64(src)
	}
}

// Clear sets the value to zero, or to false.
func (r Ref) Clear() { r.SetInt(0) }

// Element is the Go type of a primitive: byte stands for uint8, and string for string.
type Element interface {
	bool | int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | float32 | float64 | string
}

// Array is a field with several elements of one primitive type, as [Visitor] is shown it:
// Sequence and Fixed make one. It refers to the message's own memory. Its elements are
// had by [Elements], under the type that its Kind is.
type Array struct {
	kind Kind
	// size is what an array of a fixed size has, -1 for a sequence.
	size     int
	elements elements
}

// elements is a sequence[T] or a fixed[T]: both are no more than a pointer, which an
// interface holds without allocating. Size is the Array's.
type elements interface {
	length(size int) int
	clear(size int)
}

type sequence[T Element] struct{ slice *[]T }

func (s sequence[T]) length(int) int { return len(*s.slice) }

func (s sequence[T]) clear(int) { *s.slice = (*s.slice)[:0] }

type fixed[T Element] struct{ first *T }

func (f fixed[T]) length(size int) int { return size }

func (f fixed[T]) clear(size int) { clear(unsafe.Slice(f.first, size)) }

// Sequence makes a T[] visitable, as in v.Array("ranges", Sequence(&m.Ranges)).
func Sequence[T Element](slice *[]T) Array {
	return Array{kind: kindOf[T](), size: -1, elements: sequence[T]{slice}}
}

// Fixed makes a T[N] with N = len(array) visitable, as in v.Array("k", Fixed(m.K[:])).
func Fixed[T Element](array []T) Array {
	return Array{kind: kindOf[T](), size: len(array), elements: fixed[T]{unsafe.SliceData(array)}}
}

func kindOf[T Element]() Kind {
	switch any(*new(T)).(type) {
	case bool:
		return KindBool
	case int8:
		return KindInt8
	case uint8:
		return KindUint8
	case int16:
		return KindInt16
	case uint16:
		return KindUint16
	case int32:
		return KindInt32
	case uint32:
		return KindUint32
	case int64:
		return KindInt64
	case uint64:
		return KindUint64
	case float32:
		return KindFloat32
	case float64:
		return KindFloat64
	}
	return KindString
}

// Kind is the type of the elements.
func (a Array) Kind() Kind { return a.kind }

// Fixed returns the size that the field's type has, if it has one.
func (a Array) Fixed() (size int, fixed bool) { return max(a.size, 0), a.size >= 0 }

// Len returns the number of elements.
func (a Array) Len() int { return a.elements.length(a.size) }

// Clear empties a sequence and keeps its memory; an array of a fixed size becomes zero.
func (a Array) Clear() { a.elements.clear(a.size) }

// Elements returns the elements of an array whose Kind is T's; those of another are a
// panic. They are the message's memory.
func Elements[T Element](a Array) []T {
	if a.size >= 0 {
		return unsafe.Slice(a.elements.(fixed[T]).first, a.size)
	}
	return *a.elements.(sequence[T]).slice
}

// Resize gives a sequence n elements and returns them, to be set: they may hold what was
// there before. An array of a fixed size keeps its own.
func Resize[T Element](a Array, n int) []T {
	if a.size >= 0 {
		return Elements[T](a)
	}
	slice := a.elements.(sequence[T]).slice
	if n > cap(*slice) {
		*slice = make([]T, n)
	}
	*slice = (*slice)[:n]
	return *slice
}

// Set makes values a sequence's elements, which may be its own memory with more or fewer
// of them. Of an array of a fixed size as many are set as there are.
func Set[T Element](a Array, values []T) {
	if a.size >= 0 {
		copy(Elements[T](a), values)
		return
	}
	*a.elements.(sequence[T]).slice = values
}

// AppendBinary appends the elements of an array of numbers or bools as CDR, ROS 1 and RFC 8746
// have them alike. They are little-endian, a bool as one byte, nothing between them. Of an
// array of strings it appends nothing.
func (a Array) AppendBinary(dst []byte) []byte {
	switch a.kind {
	case KindBool:
		for _, b := range Elements[bool](a) {
			dst = append(dst, octet(b))
		}
	case KindInt8:
		for _, n := range Elements[int8](a) {
			dst = append(dst, byte(n))
		}
	case KindUint8:
		return append(dst, Elements[uint8](a)...)
	case KindInt16:
		return append16(dst, Elements[int16](a))
	case KindUint16:
		return append16(dst, Elements[uint16](a))
	case KindInt32:
		return append32(dst, Elements[int32](a))
	case KindUint32:
		return append32(dst, Elements[uint32](a))
	case KindInt64:
		return append64(dst, Elements[int64](a))
	case KindUint64:
		return append64(dst, Elements[uint64](a))
	case KindFloat32:
		for _, f := range Elements[float32](a) {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(f))
		}
	case KindFloat64:
		for _, f := range Elements[float64](a) {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
		}
	}
	return dst
}

func octet(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func append16[T int16 | uint16](dst []byte, list []T) []byte {
	for _, n := range list {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(n))
	}
	return dst
}

func append32[T int32 | uint32](dst []byte, list []T) []byte {
	for _, n := range list {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	}
	return dst
}

func append64[T int64 | uint64](dst []byte, list []T) []byte {
	for _, n := range list {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(n))
	}
	return dst
}

// SetBinary sets the elements to what AppendBinary made of them. A sequence's are as many as
// src has, an array of a fixed size takes as many bytes as it has. All bytes but 0 are true. An
// array of strings becomes empty.
func (a Array) SetBinary(src []byte) {
	switch a.kind {
	case KindBool:
		set(a, src, func(b []byte) bool { return b[0] != 0 })
	case KindInt8:
		set(a, src, func(b []byte) int8 { return int8(b[0]) })
	case KindUint8:
		copy(Resize[uint8](a, len(src)), src)
	case KindInt16:
		set(a, src, func(b []byte) int16 { return int16(binary.LittleEndian.Uint16(b)) })
	case KindUint16:
		set(a, src, binary.LittleEndian.Uint16)
	case KindInt32:
		set(a, src, func(b []byte) int32 { return int32(binary.LittleEndian.Uint32(b)) })
	case KindUint32:
		set(a, src, binary.LittleEndian.Uint32)
	case KindInt64:
		set(a, src, func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) })
	case KindUint64:
		set(a, src, binary.LittleEndian.Uint64)
	case KindFloat32:
		set(a, src, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) })
	case KindFloat64:
		set(a, src, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) })
	case KindString:
		a.Clear()
	}
}

// set sets elements, each of as many bytes as its Kind has.
func set[T Element](a Array, src []byte, value func([]byte) T) {
	size := a.kind.Size()
	list := Resize[T](a, len(src)/size)
	for i := range list {
		list[i] = value(src[i*size:])
	}
}

// Messages is an array of messages of one type, as [Visitor] is shown it: List and
// FixedList make one. It refers to the message's own memory.
type Messages struct {
	// size is what an array of a fixed size has, -1 for any number.
	size int
	list messageList
}

// messageList is a list or a fixedList: both are no more than a pointer, which an interface
// holds without allocating. Size is the Messages'.
type messageList interface {
	length(size int) int
	at(size, i int) Message
	clear()
	append() Message
	reserve(n int)
	elementType() string
	element() reflect.Type
}

// List makes a slice of messages visitable, as in v.Messages("points", List(&m.Points)); P is *M, a Message.
// Elements that are appended reuse the slice's memory.
func List[M any, P pointer[M]](slice *[]M) Messages {
	return Messages{size: -1, list: list[M, P]{slice}}
}

// FixedList makes an array of messages visitable whose type has a size, as in
// v.Messages("corners", FixedList(m.Corners[:])); P is *M, a Message.
func FixedList[M any, P pointer[M]](array []M) Messages {
	return Messages{size: len(array), list: fixedList[M, P]{unsafe.SliceData(array)}}
}

// Len returns the number of messages.
func (m Messages) Len() int { return m.list.length(m.size) }

// At returns message i, the array's own.
func (m Messages) At(i int) Message { return m.list.at(m.size, i) }

// Fixed reports whether the type has a size, which is Len then. Nothing can be appended to
// such an array, and clearing leaves it as it is.
func (m Messages) Fixed() bool { return m.size >= 0 }

// Clear empties the array and keeps its memory.
func (m Messages) Clear() { m.list.clear() }

// Append adds a message and returns it to be set; its old content, where memory is reused,
// stays until then.
func (m Messages) Append() Message { return m.list.append() }

// Reserve makes room for n messages more, and for no others.
func (m Messages) Reserve(n int) { m.list.reserve(n) }

// Element is the Go type of the messages.
func (m Messages) Element() reflect.Type { return m.list.element() }

// ElementType is the TypeName of the messages.
func (m Messages) ElementType() string { return m.list.elementType() }

type list[M any, P pointer[M]] struct{ slice *[]M }

func (l list[M, P]) length(int) int { return len(*l.slice) }

func (l list[M, P]) at(_, i int) Message { return P(&(*l.slice)[i]) }

func (l list[M, P]) clear() { *l.slice = (*l.slice)[:0] }

func (l list[M, P]) append() Message {
	s := *l.slice
	if len(s) < cap(s) {
		s = s[:len(s)+1]
	} else {
		var m M
		s = append(s, m)
	}
	*l.slice = s
	return P(&s[len(s)-1])
}

func (l list[M, P]) reserve(n int) {
	if s := *l.slice; cap(s)-len(s) < n {
		*l.slice = append(make([]M, 0, len(s)+n), s...)
	}
}

func (l list[M, P]) elementType() string { return P(new(M)).TypeName() }

func (l list[M, P]) element() reflect.Type { return reflect.TypeFor[M]() }

type fixedList[M any, P pointer[M]] struct{ first *M }

func (l fixedList[M, P]) length(size int) int { return size }

func (l fixedList[M, P]) at(size, i int) Message { return P(&unsafe.Slice(l.first, size)[i]) }

func (l fixedList[M, P]) clear() {}

func (l fixedList[M, P]) append() Message { panic("ros: append to an array of a fixed size") }

func (l fixedList[M, P]) reserve(int) {}

func (l fixedList[M, P]) elementType() string { return P(new(M)).TypeName() }

func (l fixedList[M, P]) element() reflect.Type { return reflect.TypeFor[M]() }
