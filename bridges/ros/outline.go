package ros

import "fmt"

var _ Visitor = (*outline)(nil)

func (o *outline) add(name string, kind Kind, array string) {
	o.fields = append(o.fields, Field{Type: kind.String(), Array: array, Name: name})
}

// part notes a message that the outlined one is made of.
func (o *outline) part(name string, m Message, array string) {
	o.fields = append(o.fields, Field{Type: m.TypeName(), Message: true, Array: array, Name: name})
	o.parts = append(o.parts, m)
}

// Those of a Visitor, see there.

func (o *outline) Bool(name string, _ *bool)       { o.add(name, KindBool, "") }
func (o *outline) Int8(name string, _ *int8)       { o.add(name, KindInt8, "") }
func (o *outline) Uint8(name string, _ *uint8)     { o.add(name, KindUint8, "") }
func (o *outline) Int16(name string, _ *int16)     { o.add(name, KindInt16, "") }
func (o *outline) Uint16(name string, _ *uint16)   { o.add(name, KindUint16, "") }
func (o *outline) Int32(name string, _ *int32)     { o.add(name, KindInt32, "") }
func (o *outline) Uint32(name string, _ *uint32)   { o.add(name, KindUint32, "") }
func (o *outline) Int64(name string, _ *int64)     { o.add(name, KindInt64, "") }
func (o *outline) Uint64(name string, _ *uint64)   { o.add(name, KindUint64, "") }
func (o *outline) Float32(name string, _ *float32) { o.add(name, KindFloat32, "") }
func (o *outline) Float64(name string, _ *float64) { o.add(name, KindFloat64, "") }
func (o *outline) String(name string, _ *string)   { o.add(name, KindString, "") }
func (o *outline) Bytes(name string, _ *Bytes)     { o.add(name, KindUint8, "[]") }
func (o *outline) Message(name string, v Message)  { o.part(name, v, "") }

func (o *outline) Array(name string, v Array) {
	size, fixed := v.Fixed()
	o.add(name, v.Kind(), brackets(size, fixed))
}

func (o *outline) Messages(name string, v Messages) {
	array := brackets(v.Len(), v.Fixed())
	if v.Fixed() {
		if v.Len() > 0 {
			o.part(name, v.At(0), array)
		} else {
			o.fields = append(o.fields, Field{Type: v.ElementType(), Message: true, Array: array, Name: name})
		}
		return
	}
	o.part(name, v.Append(), array)
	v.Clear()
}

func brackets(size int, fixed bool) string {
	if fixed {
		return fmt.Sprintf("[%d]", size)
	}
	return "[]"
}
