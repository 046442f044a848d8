package packed

import "github.com/raybridge/raybridge/bridges/internal/rosmsg"

// Sizer tells how long messages are in a format, without writing them. One goroutine uses
// it at a time; it allocates nothing.
type Sizer struct {
	Format Format

	size int64
}

var _ rosmsg.SeqVisitor = (*Sizer)(nil)

// Size returns how many bytes an Encoder of the same format appends for m.
func (s *Sizer) Size(m rosmsg.Message) int64 {
	s.size = 0
	m.Fields(s)
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

// Bool adds one byte.
func (s *Sizer) Bool(string, *bool) { s.size++ }

// Int8 adds one byte.
func (s *Sizer) Int8(string, *int8) { s.size++ }

// Uint8 adds one byte.
func (s *Sizer) Uint8(string, *uint8) { s.size++ }

// Uint16 adds two bytes.
func (s *Sizer) Uint16(string, *uint16) { s.size += 2 }

// Int32 adds four bytes.
func (s *Sizer) Int32(string, *int32) { s.size += 4 }

// Uint32 adds four bytes.
func (s *Sizer) Uint32(string, *uint32) { s.size += 4 }

// Float32 adds four bytes.
func (s *Sizer) Float32(string, *float32) { s.size += 4 }

// Float64 adds eight bytes.
func (s *Sizer) Float64(string, *float64) { s.size += 8 }

// String adds the length and the bytes.
func (s *Sizer) String(_ string, v *string) { s.sequence(len(*v), 1) }

// Bytes adds the length and the bytes.
func (s *Sizer) Bytes(_ string, v *rosmsg.Bytes) { s.sequence(v.Len(), 1) }

// Float64Array adds the elements, and their number where the format has it.
func (s *Sizer) Float64Array(_ string, v []float64) {
	s.sequence(len(v), 8)
	if !s.Format.CountedArrays {
		s.size -= lengthSize
	}
}

// Float64Sequence adds the length and the elements.
func (s *Sizer) Float64Sequence(_ string, v *[]float64) { s.sequence(len(*v), 8) }

// Float32Sequence adds the length and the elements.
func (s *Sizer) Float32Sequence(_ string, v *[]float32) { s.sequence(len(*v), 4) }

// Int32Sequence adds the length and the elements.
func (s *Sizer) Int32Sequence(_ string, v *[]int32) { s.sequence(len(*v), 4) }

// Message adds the nested message's fields.
func (s *Sizer) Message(_ string, v rosmsg.Message) { v.Fields(s) }

// Messages adds the length and each message's fields.
func (s *Sizer) Messages(_ string, v rosmsg.Messages) {
	n := v.Len()
	s.size += lengthSize
	for i := range n {
		v.At(i).Fields(s)
	}
}
