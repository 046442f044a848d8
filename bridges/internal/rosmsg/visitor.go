package rosmsg

// Message is one ROS message structure.
type Message interface {
	// TypeName is the message's full name, such as "sensor_msgs/msg/Image".
	TypeName() string
	// Fields calls the visitor once for each field, in the definition's order.
	Fields(v Visitor)
}

// Visitor is given every field of a message with its name in ROS 2: an encoder
// reads the values, a decoder sets them. One visitor serves one message at a
// time.
type Visitor interface {
	Bool(name string, v *bool)
	Int8(name string, v *int8)
	Uint8(name string, v *uint8)
	Uint16(name string, v *uint16)
	Int32(name string, v *int32)
	Uint32(name string, v *uint32)
	Float32(name string, v *float32)
	Float64(name string, v *float64)
	String(name string, v *string)
	// Bytes is an uint8[].
	Bytes(name string, v *Bytes)
	// Float64Array is a float64[N] with N = len(v).
	Float64Array(name string, v []float64)
	// Float64Sequence is a float64[].
	Float64Sequence(name string, v *[]float64)
	// Float32Sequence is a float32[].
	Float32Sequence(name string, v *[]float32)
	// Int32Sequence is an int32[].
	Int32Sequence(name string, v *[]int32)
	// Message is a nested message.
	Message(name string, v Message)
	// Messages is an array of nested messages of any length.
	Messages(name string, v Messages)
}

// Bytes is the content of an uint8[] field: bytes at hand, or a source that
// writes them where an encoder wants them.
type Bytes struct {
	// Data are the bytes if Source is nil. An encoder only reads them; a
	// decoder sets them to a copy of its own, reusing their capacity.
	Data []byte
	// Source makes the bytes; a decoder sets it to nil.
	Source BytesSource
}

// BytesSource writes the content of a field in place.
type BytesSource interface {
	// Size is the number of bytes that Put writes.
	Size() int
	// Put fills dst, which has Size bytes.
	Put(dst []byte)
}

// Len returns the number of bytes.
func (b *Bytes) Len() int {
	if b.Source != nil {
		return b.Source.Size()
	}
	return len(b.Data)
}

// Put writes the bytes to dst, which has Len bytes.
func (b *Bytes) Put(dst []byte) {
	if b.Source != nil {
		b.Source.Put(dst)
		return
	}
	copy(dst, b.Data)
}

// Messages is an array of messages of one type.
type Messages interface {
	Len() int
	At(i int) Message
	// Clear empties the array and keeps its memory.
	Clear()
	// Append adds a message and returns it to be set; its old content, where
	// memory is reused, stays until then.
	Append() Message
	// ElementType is the TypeName of the elements.
	ElementType() string
}

// list makes a slice of messages M, whose pointers P are Messages, visitable.
type list[M any, P interface {
	*M
	Message
}] struct{ slice *[]M }

// List makes a slice of messages visitable, as in v.Messages("points", List(&m.Points)).
// Elements that are appended reuse the slice's memory.
func List[M any, P interface {
	*M
	Message
}](slice *[]M) Messages {
	return list[M, P]{slice}
}

func (l list[M, P]) Len() int { return len(*l.slice) }

func (l list[M, P]) At(i int) Message { return P(&(*l.slice)[i]) }

func (l list[M, P]) Clear() { *l.slice = (*l.slice)[:0] }

func (l list[M, P]) Append() Message {
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

func (l list[M, P]) ElementType() string {
	var m M
	return P(&m).TypeName()
}
