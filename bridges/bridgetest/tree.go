package bridgetest

import (
	"math"

	"github.com/raybridge/raybridge/bridges/ros"
)

// Form says how somebody else's decoder, whose output went through JSON, shows a message.
type Form struct {
	// ROS1 has ROS 1's names of fields, and a header's seq.
	ROS1 bool
	// Rename has the names that the decoder gives to fields, by the definition's.
	Rename map[string]string
	// Bytes is what it shows of an array of octets.
	Bytes func(data []byte) any
	// Number is what it shows of a float32, which has 32 bits, or a float64; nil stands
	// for Finite.
	Number func(v float64, bits int) any
	// Int64 is what it shows of an int64; nil stands for a number.
	Int64 func(v int64) any
	// Array is what it shows of any other array; nil stands for a list.
	Array func(v ros.Array) any
}

// Finite returns v, or of what isn't finite the name that JavaScript has for it.
func Finite(v float64, _ int) any {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	return v
}

// Tree returns all fields of a message, by name, as encoding/json decodes what a decoder
// of this form prints. No encoder has a part in it.
func (f Form) Tree(m ros.Message) map[string]any {
	if f.Number == nil {
		f.Number = Finite
	}
	t := &tree{form: f, names: ros.ROS1.Names(m), fields: map[string]any{}}
	m.Fields(t)
	return t.fields
}

// tree is the Visitor that collects fields.
type tree struct {
	form   Form
	names  ros.Names
	fields map[string]any
}

var _ ros.SeqVisitor = (*tree)(nil)

func (t *tree) set(name string, v any) {
	if t.form.ROS1 {
		name = t.names.Of(name)
	}
	if other, ok := t.form.Rename[name]; ok {
		name = other
	}
	t.fields[name] = v
}

// HeaderSeq sets what ROS 1 alone has.
func (t *tree) HeaderSeq(v *uint32) {
	if t.form.ROS1 {
		t.set("seq", float64(*v))
	}
}

func (t *tree) Value(name string, v ros.Ref) {
	switch v.Kind() {
	case ros.KindBool:
		t.set(name, v.Bool())
	case ros.KindFloat32, ros.KindFloat64:
		t.set(name, t.form.Number(v.Float(), 8*v.Size()))
	case ros.KindInt64:
		if t.form.Int64 != nil {
			t.set(name, t.form.Int64(v.Int()))
			return
		}
		t.set(name, float64(v.Int()))
	case ros.KindUint64:
		t.set(name, float64(v.Uint()))
	default:
		t.set(name, float64(v.Int()))
	}
}

func (t *tree) String(name string, v *string)      { t.set(name, *v) }
func (t *tree) Message(name string, v ros.Message) { t.set(name, t.form.Tree(v)) }

func (t *tree) Bytes(name string, v *ros.Bytes) {
	data := make([]byte, v.Len())
	v.Put(data)
	t.set(name, t.form.Bytes(data))
}

func (t *tree) Array(name string, v ros.Array) {
	switch {
	case t.form.Array != nil:
		t.set(name, t.form.Array(v))
	case v.Kind() == ros.KindInt32:
		t.set(name, each(ros.Elements[int32](v), func(n int32) any { return float64(n) }))
	case v.Kind() == ros.KindFloat32:
		t.set(name, each(ros.Elements[float32](v), func(n float32) any { return t.form.Number(float64(n), 32) }))
	case v.Kind() == ros.KindFloat64:
		t.set(name, each(ros.Elements[float64](v), func(n float64) any { return t.form.Number(n, 64) }))
	default:
		panic("no sample's message has an array of " + v.Kind().String())
	}
}

func (t *tree) Messages(name string, v ros.Messages) {
	all := make([]any, v.Len())
	for i := range all {
		all[i] = t.form.Tree(v.At(i))
	}
	t.set(name, all)
}
