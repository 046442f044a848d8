package packed

import "github.com/raybridge/raybridge/bridges/ros"

// Sizer tells how long messages are in a format, without writing them. One goroutine uses
// it at a time; it allocates nothing.
type Sizer struct {
	Format Format

	size int64
}

var _ ros.SeqVisitor = (*Sizer)(nil)

// Size returns how many bytes an Encoder of the same format appends for m.
func (s *Sizer) Size(m ros.Message) int64 {
	s.size = 0
	s.Message("", m)
	return s.size
}

// lengthSize is the size of a string's or a sequence's length.
const lengthSize = 4

// sequence adds elements of a size and their number.
func (s *Sizer) sequence(elements, size int) { s.size += lengthSize + int64(elements)*int64(size) }

// HeaderSeq adds four bytes where the format has them.
func (s *Sizer) HeaderSeq(*uint32) {
	if s.Format.ROS1 {
		s.size += 4
	}
}

// Value adds the number's size.
func (s *Sizer) Value(_ string, v ros.Ref) { s.size += int64(v.Size()) }

// String adds the length and the bytes.
func (s *Sizer) String(_ string, v *string) { s.sequence(len(*v), 1) }

// Bytes adds the length and the bytes.
func (s *Sizer) Bytes(_ string, v *ros.Bytes) { s.sequence(v.Len(), 1) }

// count adds the number of elements, where the format has it.
func (s *Sizer) count(fixed bool) {
	if !fixed || s.Format.CountedArrays {
		s.size += lengthSize
	}
}

// Array adds the elements, and their number where the format has it.
func (s *Sizer) Array(_ string, v ros.Array) {
	_, fixed := v.Fixed()
	s.count(fixed)
	if v.Kind() == ros.KindString {
		for _, text := range ros.Elements[string](v) {
			s.sequence(len(text), 1)
		}
		return
	}
	s.size += int64(v.Len()) * int64(v.Kind().Size())
}

// Message adds the nested message's fields.
func (s *Sizer) Message(_ string, v ros.Message) {
	start := s.size
	v.Fields(s)
	if s.size == start && !s.Format.ROS1 {
		s.size++
	}
}

// Messages adds each message's fields, and their number where the format has it.
func (s *Sizer) Messages(name string, v ros.Messages) {
	s.count(v.Fixed())
	for i := range v.Len() {
		s.Message(name, v.At(i))
	}
}
