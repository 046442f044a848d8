package gltf

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/qmuntal/gltf"
)

// format is what a reader of an accessor takes.
type format struct {
	typ gltf.AccessorType
	// integers: which component types besides float.
	integers integers
}

type integers uint8

const (
	onlyFloats integers = iota
	// normalizedIntegers: bytes and shorts that stand for -1..1 or 0..1.
	normalizedIntegers
	// anyIntegers: those, and bytes and shorts that stand for themselves
	// (KHR_mesh_quantization).
	anyIntegers
)

// elements is a strided array in a buffer.
type elements struct {
	data   []byte // nil stands for zeros
	stride int
	count  int
}

// elements finds the elements of an accessor, each of size bytes, and makes
// sure that all of them are there.
func (l *loader) elements(i, size int) (elements, error) {
	a := l.doc.Accessors[i]
	e := elements{stride: size, count: a.Count}
	if a.BufferView == nil || a.Count == 0 {
		return e, nil
	}
	data, err := l.view(*a.BufferView)
	if err != nil {
		return e, err
	}
	if stride := l.doc.BufferViews[*a.BufferView].ByteStride; stride != 0 {
		e.stride = stride
	}
	if e.stride < size {
		return e, invalid("elements have %d bytes, bufferViews[%d].byteStride is %d", size, *a.BufferView, e.stride)
	}
	end := int64(a.ByteOffset) + int64(e.stride)*int64(a.Count-1) + int64(size)
	if a.ByteOffset < 0 || end > int64(len(data)) {
		return e, invalid("its %d elements end at byte %d, bufferViews[%d] has %d", a.Count, end, *a.BufferView, len(data))
	}
	e.data = data[a.ByteOffset:]
	return e, nil
}

// floats returns an accessor's components one after the other, normalized
// integers as fractions. All are finite. The result is shared: don't change it.
func (l *loader) floats(i int, want format) ([]float32, error) {
	if err := checkIndex("accessors", i, len(l.doc.Accessors)); err != nil {
		return nil, err
	}
	a := l.doc.Accessors[i]
	if err := want.check(a); err != nil {
		return nil, fmt.Errorf("accessors[%d]: %w", i, err)
	}
	if values, ok := l.decoded[i]; ok {
		return values, nil
	}
	values, err := l.decodeFloats(i)
	if err != nil {
		return nil, fmt.Errorf("accessors[%d]: %w", i, err)
	}
	l.decoded[i] = values
	return values, nil
}

func (f format) check(a *gltf.Accessor) error {
	if a.Type != f.typ {
		return invalid("type is %v, want %v", a.Type, f.typ)
	}
	switch {
	case a.ComponentType == gltf.ComponentFloat:
		return nil
	case f.integers == onlyFloats, a.ComponentType == gltf.ComponentUint:
		return invalid("componentType is %v, which isn't allowed here", a.ComponentType)
	case f.integers == normalizedIntegers && !a.Normalized:
		return invalid("componentType is %v, which must be normalized here", a.ComponentType)
	}
	return nil
}

func (l *loader) decodeFloats(i int) ([]float32, error) {
	a := l.doc.Accessors[i]
	n := a.Type.Components()
	read := componentReader(a.ComponentType, a.Normalized)
	size := a.ComponentType.ByteSize()
	e, err := l.elements(i, n*size)
	if err != nil {
		return nil, err
	}
	if err := l.spend(int64(a.Count) * int64(n) * 4); err != nil {
		return nil, err
	}
	values := make([]float32, a.Count*n)
	if e.data != nil {
		for j := range a.Count {
			at := e.data[j*e.stride:]
			for c := range n {
				values[j*n+c] = read(at[c*size:])
			}
		}
	}
	if err := l.applySparse(a, n*size, func(element int, at []byte) {
		for c := range n {
			values[element*n+c] = read(at[c*size:])
		}
	}); err != nil {
		return nil, within("sparse", err)
	}
	for j, v := range values {
		if !finite(float64(v)) {
			return nil, invalid("element %d is not finite: %v", j/n, values[j/n*n:j/n*n+n])
		}
	}
	return values, nil
}

// componentReader returns the function that reads one component (glTF 2.0,
// section 3.6.2.2 for normalized ones).
func componentReader(t gltf.ComponentType, normalized bool) func([]byte) float32 {
	le := binary.LittleEndian
	switch t {
	case gltf.ComponentByte:
		return scaled(normalized, 127, func(b []byte) float32 { return float32(int8(b[0])) })
	case gltf.ComponentUbyte:
		return scaled(normalized, 255, func(b []byte) float32 { return float32(b[0]) })
	case gltf.ComponentShort:
		return scaled(normalized, 32767, func(b []byte) float32 { return float32(int16(le.Uint16(b))) })
	case gltf.ComponentUshort:
		return scaled(normalized, 65535, func(b []byte) float32 { return float32(le.Uint16(b)) })
	}
	return func(b []byte) float32 { return math.Float32frombits(le.Uint32(b)) }
}

// scaled divides by the largest value; the one negative value below -1 is -1.
func scaled(normalized bool, largest float32, read func([]byte) float32) func([]byte) float32 {
	if !normalized {
		return read
	}
	return func(b []byte) float32 { return max(read(b)/largest, -1) }
}

// applySparse calls set for each element that a sparse accessor replaces, with
// its bytes (glTF 2.0, section 3.6.2.3).
func (l *loader) applySparse(a *gltf.Accessor, size int, set func(element int, at []byte)) error {
	s := a.Sparse
	if s == nil {
		return nil
	}
	indices, err := l.sparseBytes(s.Indices.BufferView, s.Indices.ByteOffset, int64(s.Count)*int64(s.Indices.ComponentType.ByteSize()))
	if err != nil {
		return within("indices", err)
	}
	values, err := l.sparseBytes(s.Values.BufferView, s.Values.ByteOffset, int64(s.Count)*int64(size))
	if err != nil {
		return within("values", err)
	}
	read := indexReader(s.Indices.ComponentType)
	step := s.Indices.ComponentType.ByteSize()
	for j := range s.Count {
		element := read(indices[j*step:])
		if int64(element) >= int64(a.Count) {
			return within("indices", invalid("index %d is out of range: the accessor has %d elements", element, a.Count))
		}
		set(int(element), values[j*size:])
	}
	return nil
}

func (l *loader) sparseBytes(view, offset int, size int64) ([]byte, error) {
	data, err := l.view(view)
	if err != nil {
		return nil, err
	}
	if end := int64(offset) + size; offset < 0 || end > int64(len(data)) {
		return nil, invalid("end at byte %d, bufferViews[%d] has %d", end, view, len(data))
	}
	return data[offset:], nil
}

// indices returns the vertex indices in an accessor.
func (l *loader) indices(i int) ([]uint32, error) {
	if err := checkIndex("accessors", i, len(l.doc.Accessors)); err != nil {
		return nil, err
	}
	values, err := l.decodeIndices(i)
	if err != nil {
		return nil, fmt.Errorf("accessors[%d]: %w", i, err)
	}
	return values, nil
}

func (l *loader) decodeIndices(i int) ([]uint32, error) {
	a := l.doc.Accessors[i]
	if a.Type != gltf.AccessorScalar {
		return nil, invalid("type is %v, want SCALAR", a.Type)
	}
	read := indexReader(a.ComponentType)
	if read == nil {
		return nil, invalid("componentType is %v, which isn't allowed for indices", a.ComponentType)
	}
	size := a.ComponentType.ByteSize()
	e, err := l.elements(i, size)
	if err != nil {
		return nil, err
	}
	if err := l.spend(int64(a.Count) * 4); err != nil {
		return nil, err
	}
	values := make([]uint32, a.Count)
	if e.data != nil {
		for j := range values {
			values[j] = read(e.data[j*e.stride:])
		}
	}
	err = l.applySparse(a, size, func(element int, at []byte) { values[element] = read(at) })
	return values, within("sparse", err)
}

// indexReader returns nil for a type that can't hold indices.
func indexReader(t gltf.ComponentType) func([]byte) uint32 {
	le := binary.LittleEndian
	switch t {
	case gltf.ComponentUbyte:
		return func(b []byte) uint32 { return uint32(b[0]) }
	case gltf.ComponentUshort:
		return func(b []byte) uint32 { return uint32(le.Uint16(b)) }
	case gltf.ComponentUint:
		return func(b []byte) uint32 { return le.Uint32(b) }
	}
	return nil
}
