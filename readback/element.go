package readback

import (
	"fmt"
	"reflect"
)

// CheckElement reports whether values of type E can be views of bytes that a GPU wrote. E has a
// fixed size on every machine, no pointers, no hidden padding, and no types for which some
// bytes are not a value. The package's vector mirrors stand where std430 puts them. The error
// is an *ElementError, ErrElement to errors.Is.
func CheckElement[E any]() error {
	t := reflect.TypeFor[E]()
	if t.Kind() == reflect.Interface || t.Size() == 0 {
		return &ElementError{Type: t, Reason: "it has no bytes of its own"}
	}
	check := elementCheck{root: t}
	align, err := check.walk(t, "", 0)
	if err != nil {
		return err
	}
	if align > 0 && t.Size()%align != 0 {
		return check.fail("", "its %d bytes are no multiple of %d, the alignment of its widest vector: add a blank field", t.Size(), align)
	}
	return nil
}

// elementCheck walks one element type.
type elementCheck struct{ root reflect.Type }

func (c elementCheck) fail(path, format string, args ...any) error {
	return &ElementError{Type: c.root, Field: path, Reason: fmt.Sprintf(format, args...)}
}

// walk checks the type of the field at path, which begins offset bytes into the element. It
// returns the greatest std430 alignment of the mirrors in it.
func (c elementCheck) walk(t reflect.Type, path string, offset uintptr) (align uintptr, err error) {
	if a, ok := std430Align[t]; ok {
		if offset%a != 0 {
			return 0, c.fail(path, "a %s at offset %d, but std430 puts it at multiples of %d: add a blank field before it", t.Name(), offset, a)
		}
		return a, nil
	}
	switch t.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return 0, nil
	case reflect.Int, reflect.Uint, reflect.Uintptr:
		return 0, c.fail(path, "the size of %v differs between machines: use %v32 or %v64", t, t.Kind(), t.Kind())
	case reflect.Bool:
		return 0, c.fail(path, "bytes other than 0 and 1 are no bool: use uint32")
	case reflect.Array:
		return c.walkArray(t, path, offset)
	case reflect.Struct:
		return c.walkStruct(t, path, offset)
	default:
		return 0, c.fail(path, "a %v holds a pointer", t.Kind())
	}
}

func (c elementCheck) walkArray(t reflect.Type, path string, offset uintptr) (uintptr, error) {
	if t.Len() == 0 {
		return 0, c.fail(path, "an array of no elements")
	}
	align, err := c.walk(t.Elem(), path+"[]", offset)
	if err == nil && align > 0 && t.Elem().Size()%align != 0 {
		err = c.fail(path, "its elements are %d bytes apart, but std430 puts them at multiples of %d", t.Elem().Size(), align)
	}
	return align, err
}

func (c elementCheck) walkStruct(t reflect.Type, path string, offset uintptr) (align uintptr, err error) {
	var end uintptr
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Name
		if path != "" {
			name = path + "." + name
		}
		a, err := c.walk(f.Type, name, offset+f.Offset)
		if err != nil {
			return 0, err
		}
		if f.Offset != end {
			return 0, c.fail(name, "%d bytes of padding before it: declare them as a blank field", f.Offset-end)
		}
		align = max(align, a)
		end = f.Offset + f.Type.Size()
	}
	if end != t.Size() {
		return 0, c.fail(path, "%d bytes of padding at its end: declare them as a blank field", t.Size()-end)
	}
	return align, nil
}

// Mirrors of GLSL vector types for element structs (std430: OpenGL 4.5 core, section 7.6.2.2).
// Their GLSL alignment is 8 bytes for two components and 16 for four, which Go doesn't know.
// New checks that every such field stands where GLSL puts it, and that the struct is as long as
// GLSL's array stride. A vec3 has no mirror, since GLSL lets the next scalar into its last 4
// bytes. Declare a Vec4, or three float32 in a GLSL struct of three floats.
type (
	// Vec2 mirrors vec2.
	Vec2 [2]float32
	// Vec4 mirrors vec4.
	Vec4 [4]float32
	// IVec2 mirrors ivec2.
	IVec2 [2]int32
	// IVec4 mirrors ivec4.
	IVec4 [4]int32
	// UVec2 mirrors uvec2.
	UVec2 [2]uint32
	// UVec4 mirrors uvec4.
	UVec4 [4]uint32
)

// std430Align is the GLSL alignment of the mirrors, which is stricter than Go's.
var std430Align = map[reflect.Type]uintptr{
	reflect.TypeFor[Vec2]():  8,
	reflect.TypeFor[IVec2](): 8,
	reflect.TypeFor[UVec2](): 8,
	reflect.TypeFor[Vec4]():  16,
	reflect.TypeFor[IVec4](): 16,
	reflect.TypeFor[UVec4](): 16,
}
