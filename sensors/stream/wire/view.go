package wire

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"
	"unsafe"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
)

// native says that this machine's numbers are little-endian, as the wire's are: then
// lists are read and written as they lie in memory.
var native = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// memory returns the bytes of a list in memory.
func memory[T any](list []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(*new(T))))
}

// alias returns a list as it lies in the message, or a decoded copy where the machine
// can't read it there.
func alias[T any](part []byte, get func([]byte) T) []T {
	size := int(unsafe.Sizeof(*new(T)))
	n := len(part) / size
	if n == 0 {
		return nil
	}
	start := unsafe.Pointer(unsafe.SliceData(part))
	if native && uintptr(start)%unsafe.Alignof(*new(T)) == 0 {
		return unsafe.Slice((*T)(start), n)
	}
	list := make([]T, n)
	for i := range list {
		list[i] = get(part[i*size:])
	}
	return list
}

// List is the records of a list, read from the message one by one.
type List[V any] struct {
	b, text []byte
	stride  int
	at      func(b, text []byte) V
}

// Len returns the number of records.
func (l List[V]) Len() int {
	if l.stride == 0 {
		return 0
	}
	return len(l.b) / l.stride
}

// At returns the i-th record; it panics where there is none, as a slice does.
func (l List[V]) At(i int) V { return l.at(l.b[i*l.stride:(i+1)*l.stride], l.text) }

// All iterates over the records.
func (l List[V]) All() iter.Seq2[int, V] {
	return func(yield func(int, V) bool) {
		for i := range l.Len() {
			if !yield(i, l.At(i)) {
				return
			}
		}
	}
}

// parser cuts a body into its parts.
type parser struct {
	body, fixed []byte
	used        uint64
	err         error
}

// parse checks kind and version, and that the fixed part is there.
func parse(m Message, kind Kind, fixed int) (parser, error) {
	switch {
	case m.b == nil:
		return parser{}, fmt.Errorf("%w: it was not opened", ErrTruncated)
	case m.Kind() != kind:
		return parser{}, fmt.Errorf("%w: %v, want %v", ErrKind, m.Kind(), kind)
	case m.SchemaVersion() != kind.Version():
		return parser{}, fmt.Errorf("%w: %v version %d, want %d", ErrSchema, kind, m.SchemaVersion(), kind.Version())
	}
	body := m.Body()
	if len(body) < fixed {
		return parser{}, fmt.Errorf("%w: the body of %v has %d bytes, at least %d are needed", ErrTruncated, kind, len(body), fixed)
	}
	return parser{body: body, fixed: body[:fixed:fixed], used: uint64(fixed)}, nil
}

// part takes the next part of variable size, whose number of elements is in the fixed
// part.
func (p *parser) part(countAt, stride int) []byte {
	size := uint64(le.Uint32(p.fixed[countAt:])) * uint64(stride)
	end := (p.used + size + 7) &^ 7
	if end > uint64(len(p.body)) {
		if p.err == nil {
			p.err = fmt.Errorf("%w: the body has %d bytes, its lists need %d and more", ErrTruncated, len(p.body), end)
		}
		return nil
	}
	part := p.body[p.used : p.used+size : p.used+size]
	p.used = end
	return part
}

// checkInt checks that a number fits an int of this machine, which has 32 bits on some.
func (p *parser) checkInt(at int) {
	if n := le.Uint32(p.fixed[at:]); uint64(n) > math.MaxInt && p.err == nil {
		p.err = fmt.Errorf("%w: %d is more than an int of this machine holds", ErrSize, n)
	}
}

// end checks that nothing is left.
func (p *parser) end() error {
	if p.err == nil && p.used != uint64(len(p.body)) {
		return fmt.Errorf("%w: the body has %d bytes, its parts %d", ErrSize, len(p.body), p.used)
	}
	return p.err
}

// checkTexts checks that all strings of a list lie in the text.
func checkTexts(part []byte, stride int, text []byte, offsets []int) error {
	for ; len(part) >= stride; part = part[stride:] {
		for _, o := range offsets {
			from, n := uint64(le.Uint32(part[o:])), uint64(le.Uint32(part[o+4:]))
			if from+n > uint64(len(text)) {
				return fmt.Errorf("%w: a string ends at %d of %d bytes of text", ErrSize, from+n, len(text))
			}
		}
	}
	return nil
}

// textOf returns a record's string, whose place was checked.
func textOf(place, text []byte) []byte {
	from := le.Uint32(place)
	return text[from:][:le.Uint32(place[4:])]
}

// keep sets a string, and allocates only where it differs.
func keep[T ~string](dst *T, b []byte) {
	if string(*dst) != string(b) {
		*dst = T(b)
	}
}

// resize sets a slice's length and keeps its elements' memory.
func resize[T any](list []T, n int) []T {
	if n > cap(list) {
		list = slices.Grow(list[:cap(list)], n-cap(list))
	}
	return list[:n]
}

func getVec3(b []byte) mgl64.Vec3 {
	return mgl64.Vec3{getFloat64(b), getFloat64(b[8:]), getFloat64(b[16:])}
}

func getQuat(b []byte) mgl64.Quat { return mgl64.Quat{V: getVec3(b), W: getFloat64(b[24:])} }

func getPose(b []byte) spatial.Pose {
	return spatial.Pose{Position: getVec3(b), Orientation: getQuat(b[24:])}
}

func getTwist(b []byte) spatial.Twist {
	return spatial.Twist{Linear: getVec3(b), Angular: getVec3(b[24:])}
}

func getFloat32(b []byte) float32 { return math.Float32frombits(le.Uint32(b)) }

func getFloat64(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) }

// getFloats64 fills a fixed array.
func getFloats64(dst []float64, b []byte) {
	for i := range dst {
		dst[i] = getFloat64(b[8*i:])
	}
}

// decode makes a sample of an opened message.
func decode[V, T any](m Message, as func(Message) (V, error), copyTo func(V, *T)) (any, error) {
	v, err := as(m)
	if err != nil {
		return nil, err
	}
	dst := new(T)
	copyTo(v, dst)
	return dst, nil
}
