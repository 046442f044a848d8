package schema

import (
	"bytes"
	"fmt"
	"go/format"
	"reflect"
	"strings"
)

// Code returns the Go sources of package wire that follow from the layouts, by file.
func Code() (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, write := range map[string]func(*generator){
		"kinds_gen.go": (*generator).kinds, "append_gen.go": (*generator).appends,
		"views_gen.go": (*generator).views, "records_gen.go": (*generator).records,
	} {
		g := &generator{}
		g.line("// Code generated from package schema; DO NOT EDIT.")
		g.line("")
		g.line("package wire")
		write(g)
		source, err := format.Source(g.imported(g.Bytes()))
		if err != nil {
			return nil, fmt.Errorf("generate %s: %w", name, err)
		}
		files[name] = source
	}
	return files, nil
}

type generator struct{ bytes.Buffer }

func (g *generator) line(format string, args ...any) {
	fmt.Fprintf(g, format, args...)
	g.WriteByte('\n')
}

// imported adds the imports that the source uses.
func (g *generator) imported(source []byte) []byte {
	var list strings.Builder
	for _, p := range [][2]string{
		{"fmt.", "fmt"}, {"math.", "math"}, {"slices.", "slices"}, {"unsafe.", "unsafe"}, {"", ""},
		{"mgl64.", "github.com/go-gl/mathgl/mgl64"}, {"", ""},
		{"sample.", "github.com/raybridge/raybridge/sensors/sample"}, {"spatial.", "github.com/raybridge/raybridge/spatial"},
	} {
		switch {
		case p[0] == "":
			list.WriteString("\n")
		case bytes.Contains(source, []byte(p[0])):
			fmt.Fprintf(&list, "%q\n", p[1])
		}
	}
	return bytes.Replace(source, []byte("package wire\n"), []byte("package wire\n\nimport (\n"+list.String()+")\n"), 1)
}

// goType is the Go type of a field of a struct, as package wire writes it.
func goType(owner reflect.Type, f Field) string {
	field, ok := owner.FieldByName(f.Name)
	if !ok {
		panic(fmt.Sprintf("schema: %v has no field %s", owner, f.Name))
	}
	return field.Type.String()
}

func (g *generator) kinds() {
	g.line("\n// Kinds of messages. A number is never changed and never used for another.\nconst (")
	g.line("// KindForeign is the kind of all types from outside raybridge: their layout is their\n// sensor's own.")
	g.line("KindForeign Kind = 0")
	for _, m := range Messages {
		g.line("Kind%s Kind = %d", m.Name, m.Kind)
	}
	g.line(")\n\nvar kindNames = map[Kind]string{\nKindForeign: \"foreign\",")
	for _, m := range Messages {
		g.line("Kind%s: %q,", m.Name, m.Name)
	}
	g.line("}\n\nvar kindVersions = map[Kind]uint16{")
	for _, m := range Messages {
		g.line("Kind%s: %d,", m.Name, m.Version)
	}
	g.line("}\n\n// describe returns what is particular to a sample: false for other types.")
	g.line("func describe(msg any) (d description, ok bool) {\nswitch m := msg.(type) {")
	for _, m := range Messages {
		header, stamp := "&m.Header", "m.Header.StampNs"
		if !m.Headed {
			header, stamp = "nil", "m.StampNs"
		}
		body := 0
		if len(m.Fields) > 0 {
			g.line("case *sample.%s:\nreturn description{Kind%[1]s, %d, %s, %s, size%[1]s(m)}, true", m.Name, m.Version, header, stamp)
			continue
		}
		g.line("case *sample.%s:\nreturn description{Kind%[1]s, %d, %s, %s, %d}, true", m.Name, m.Version, header, stamp, body)
	}
	g.line("}\nreturn description{}, false\n}")
	g.line("\n// put writes the body of a sample into b, which has its size.")
	g.line("func put(b []byte, msg any) error {\nswitch m := msg.(type) {")
	for _, m := range Messages {
		if len(m.Fields) > 0 {
			g.line("case *sample.%s:\nreturn put%[1]s(b, m)", m.Name)
		}
	}
	g.line("}\nreturn nil\n}")
	g.line("\n// Decode returns a message as the sample that it was made from, independent of the\n// received bytes. A message of a foreign kind is ErrKind.")
	g.line("func Decode(m Message) (any, error) {\nswitch m.Kind() {")
	for _, m := range Messages {
		g.line("case Kind%s:\nreturn decode(m, As%[1]s, %[1]sView.CopyTo)", m.Name)
	}
	g.line("}\nreturn nil, fmt.Errorf(\"%%w: %%v\", ErrKind, m.Kind())\n}")
}

// stride returns the size of a variable field's element.
func stride(f Field) int {
	if r := RecordOf(f); r != nil {
		_, n := r.Layout()
		return n
	}
	return scalarSizes[f.Element()]
}

func (g *generator) appends() {
	for _, m := range Messages {
		if len(m.Fields) == 0 {
			continue
		}
		_, _, fixed := m.Layout()
		g.line("\nfunc size%s(m *sample.%[1]s) int64 {", m.Name)
		g.line("n := int64(%d)", fixed)
		for _, f := range m.Fields {
			if f.Variable() {
				g.line("n += padded(len(m.%s), %d)", f.Name, stride(f))
			}
		}
		if m.HasText() {
			g.line("n += padded(text%s(m), 1)", m.Name)
		}
		g.line("return n\n}")
		if m.HasText() {
			g.textSize(m)
		}
		g.put(m)
	}
	for _, r := range Records {
		g.putRecord(r)
	}
}

func (g *generator) textSize(m *Message) {
	g.line("\nfunc text%s(m *sample.%[1]s) int {\nn := 0", m.Name)
	for _, f := range m.Fields {
		r := RecordOf(f)
		if r == nil {
			continue
		}
		g.line("for i := range m.%s {\nr := &m.%[1]s[i]", f.Name)
		for _, s := range r.Fields {
			if s.Type == String {
				g.line("n += len(r.%s)", s.Name)
			}
		}
		g.line("}")
	}
	g.line("return n\n}")
}

func (g *generator) put(m *Message) {
	places, textAt, fixed := m.Layout()
	g.line("\nfunc put%s(b []byte, m *sample.%[1]s) error {\nclear(b[:%d])", m.Name, fixed)
	variable := 0
	for _, p := range places {
		if p.Variable() {
			variable++
			g.line("le.PutUint32(b[%d:], uint32(len(m.%s)))", p.Offset, p.Name)
			continue
		}
		g.putFixed(m.Go, p, m.Name)
	}
	if variable > 0 {
		g.line("o := int64(%d)", fixed)
	}
	if m.HasText() {
		g.line("text := text%s(m)", m.Name)
		g.line("le.PutUint32(b[%d:], uint32(text))", textAt)
		g.line("t := texts{all: b[int64(len(b))-padded(text, 1):]}\npad(b, int64(len(b))-padded(text, 1), text)")
	}
	for _, p := range places {
		if !p.Variable() {
			continue
		}
		r := RecordOf(p.Field)
		switch {
		case p.Type == Bytes || p.Type == String:
			g.line("copy(b[o:], m.%s)", p.Name)
		case p.Element() == F32:
			g.line("putFloats32(b[o:], m.%s)", p.Name)
		case p.Element() == F64:
			g.line("putFloats64(b[o:], m.%s)", p.Name)
		case r.Pure():
			g.line("putRecords(b[o:], m.%s, put%s)", p.Name, r.Name)
		default:
			g.line("for i := range m.%s {", p.Name)
			if r.HasText() {
				g.line("if err := put%s(b[o+%d*int64(i):], &m.%s[i], &t); err != nil {\nreturn err\n}", r.Name, stride(p.Field), p.Name)
			} else {
				g.line("put%s(b[o+%d*int64(i):], &m.%s[i])", r.Name, stride(p.Field), p.Name)
			}
			g.line("}")
		}
		if variable--; variable > 0 {
			g.line("o = pad(b, o, %d*len(m.%s))", stride(p.Field), p.Name)
		} else {
			g.line("pad(b, o, %d*len(m.%s))", stride(p.Field), p.Name)
		}
	}
	g.line("return nil\n}")
}

// putFixed writes a field of fixed size.
func (g *generator) putFixed(owner reflect.Type, p Place, where string) {
	typ, value := goType(owner, p.Field), "m."+p.Name
	at := fmt.Sprintf("b[%d:]", p.Offset)
	switch p.Type {
	case U8, I8:
		g.line("b[%d] = byte(%s)", p.Offset, value)
	case Bool:
		g.line("b[%d] = flag(%s)", p.Offset, value)
	case U16:
		g.line("le.PutUint16(%s, uint16(%s))", at, value)
	case U32, I32:
		if typ == "int" {
			g.line("if uint64(%s) > math.MaxUint32 {\nreturn fmt.Errorf(\"%%w: %s.%s is %%d\", ErrSize, %s)\n}", value, where, p.Name, value)
		}
		g.line("le.PutUint32(%s, uint32(%s))", at, value)
	case U64, I64:
		g.line("le.PutUint64(%s, uint64(%s))", at, value)
	case F32:
		g.line("le.PutUint32(%s, math.Float32bits(%s))", at, value)
	case F64:
		g.line("le.PutUint64(%s, math.Float64bits(%s))", at, value)
	case Vec3, Quat, Pose, Twist:
		g.line("put%s(%s, &%s)", capital(p.Type), at, value)
	default:
		g.line("putFloats64(%s, %s[:])", at, value)
	}
}

func (g *generator) putRecord(r *Record) {
	places, size := r.Layout()
	if r.HasText() {
		g.line("\nfunc put%s(b []byte, m *%s, t *texts) error {", r.Name, r.Go)
	} else {
		g.line("\nfunc put%s(b []byte, m *%s) {", r.Name, r.Go)
	}
	g.line("clear(b[:%d])", size)
	for _, p := range places {
		if p.Type == String {
			g.line("t.put(b[%d:], m.%s)", p.Offset, p.Name)
			continue
		}
		g.putFixed(r.Go, p, r.Name)
	}
	if r.HasText() {
		g.line("return nil")
	}
	g.line("}")
}

// get is the expression that reads a field of fixed size from b.
func get(owner reflect.Type, p Place, b string) string {
	typ := goType(owner, p.Field)
	at := fmt.Sprintf("%s[%d:]", b, p.Offset)
	cast := func(natural, expression string) string {
		if typ == natural {
			return expression
		}
		return typ + "(" + expression + ")"
	}
	switch p.Type {
	case U8:
		return cast("uint8", fmt.Sprintf("%s[%d]", b, p.Offset))
	case I8:
		return fmt.Sprintf("%s(%s[%d])", typ, b, p.Offset)
	case Bool:
		return fmt.Sprintf("%s[%d] != 0", b, p.Offset)
	case U16:
		return cast("uint16", "le.Uint16("+at+")")
	case U32:
		return cast("uint32", "le.Uint32("+at+")")
	case I32:
		return typ + "(le.Uint32(" + at + "))"
	case U64:
		return cast("uint64", "le.Uint64("+at+")")
	case I64:
		return typ + "(le.Uint64(" + at + "))"
	case F32:
		return "math.Float32frombits(le.Uint32(" + at + "))"
	case F64:
		return "math.Float64frombits(le.Uint64(" + at + "))"
	case Vec3, Quat, Pose, Twist:
		return "get" + capital(p.Type) + "(" + at + ")"
	default:
		panic("schema: no expression reads a " + p.Type)
	}
}

func lower(s string) string { return "part" + s }

func (g *generator) views() {
	for _, m := range Messages {
		g.view(m)
		g.open(m)
		g.accessors(m)
		g.copyTo(m)
	}
}

func (g *generator) view(m *Message) {
	g.line("\n// %sView is a message of kind %d, %s, in the bytes it came in.", m.Name, m.Kind, m.Doc)
	g.line("// The sample.%s has its fields' meanings and units.", m.Name)
	g.line("type %sView struct {\nMessage", m.Name)
	if _, _, size := m.Layout(); size > 0 {
		g.line("fixed []byte")
	}
	for _, f := range m.Fields {
		if f.Variable() {
			g.line("%s []byte", lower(f.Name))
		}
	}
	if m.HasText() {
		g.line("text []byte")
	}
	g.line("}")
}

func (g *generator) open(m *Message) {
	_, textAt, size := m.Layout()
	places, _, _ := m.Layout()
	g.line("\n// Open%s opens a message that has to be of kind %s.", m.Name, m.Name)
	g.line("func Open%s(b []byte) (%[1]sView, error) {\nm, err := Open(b)\nif err != nil {\nreturn %[1]sView{}, err\n}\nreturn As%[1]s(m)\n}", m.Name)
	g.line("\n// As%s checks the body of a message of kind %[1]s.", m.Name)
	g.line("func As%s(m Message) (v %[1]sView, err error) {", m.Name)
	g.line("p, err := parse(m, Kind%s, %d)\nif err != nil {\nreturn v, err\n}\nv.Message = m", m.Name, size)
	if size > 0 {
		g.line("v.fixed = p.fixed")
	}
	for _, p := range places {
		switch {
		case p.Variable():
			g.line("v.%s = p.part(%d, %d)", lower(p.Name), p.Offset, stride(p.Field))
		case p.Type == U32 && goType(m.Go, p.Field) == "int":
			g.line("p.checkInt(%d)", p.Offset)
		}
	}
	if textAt >= 0 {
		g.line("v.text = p.part(%d, 1)", textAt)
	}
	g.line("if err := p.end(); err != nil {\nreturn %sView{}, err\n}", m.Name)
	for _, f := range m.Fields {
		if r := RecordOf(f); r != nil && r.HasText() {
			g.line("if err := checkTexts(v.%s, %d, v.text, text%s[:]); err != nil {\nreturn %sView{}, err\n}", lower(f.Name), stride(f), r.Name, m.Name)
		}
	}
	g.line("return v, nil\n}")
}

func (g *generator) accessors(m *Message) {
	places, _, _ := m.Layout()
	for _, p := range places {
		name, part, typ := p.Name, "v."+lower(p.Name), goType(m.Go, p.Field)
		g.line("\n// %s is sample.%s's.", name, m.Name)
		g.WriteString("func (v " + m.Name + "View) " + name + "() ")
		r := RecordOf(p.Field)
		switch {
		case p.Type == String && typ == "string":
			g.line("string { return string(%s) }", part)
		case p.Type == String:
			g.line("%s { return %s(%s) }", typ, typ, part)
		case p.Type == Bytes:
			g.line("[]byte { return %s }", part)
		case p.Element() == F32 && p.Variable():
			g.line("[]float32 { return alias(%s, getFloat32) }", part)
		case p.Element() == F64 && p.Variable():
			g.line("[]float64 { return alias(%s, getFloat64) }", part)
		case r != nil && r.Alias():
			g.line("%s { return alias(%s, get%s) }", typ, part, r.Name)
		case r != nil:
			text := "nil"
			if r.HasText() {
				text = "v.text"
			}
			g.line("List[%sView] { return List[%[1]sView]{%s, %s, %d, new%[1]s} }", r.Name, part, text, stride(p.Field))
		case strings.HasPrefix(p.Type, "f64["):
			g.line("(list %s) {\ngetFloats64(list[:], v.fixed[%d:])\nreturn list\n}", typ, p.Offset)
		default:
			g.line("%s { return %s }", typ, get(m.Go, p, "v.fixed"))
		}
	}
}

func (g *generator) copyTo(m *Message) {
	g.line("\n// CopyTo makes dst the sample that the message was made from, reusing its memory.")
	g.line("func (v %sView) CopyTo(dst *sample.%[1]s) {", m.Name)
	if m.Headed {
		g.line("v.copyHeader(&dst.Header)")
	} else {
		g.line("dst.StampNs = v.CaptureNs()")
	}
	for _, f := range m.Fields {
		r := RecordOf(f)
		switch {
		case f.Type == String:
			g.line("keep(&dst.%s, v.%s)", f.Name, lower(f.Name))
		case f.Variable() && (r == nil || r.Alias()):
			g.line("dst.%s = append(dst.%[1]s[:0], v.%[1]s()...)", f.Name)
		case r != nil:
			g.line("{\nlist := v.%s()\ndst.%[1]s = resize(dst.%[1]s, list.Len())\nfor i := range dst.%[1]s {\nlist.At(i).CopyTo(&dst.%[1]s[i])\n}\n}", f.Name)
		default:
			g.line("dst.%s = v.%[1]s()", f.Name)
		}
	}
	g.line("}")
}

func (g *generator) records() {
	for _, r := range Records {
		places, _ := r.Layout()
		if r.Alias() {
			g.line("\nfunc get%s(b []byte) (r %s) {", r.Name, r.Go)
			for _, p := range places {
				g.line("r.%s = %s", p.Name, get(r.Go, p, "b"))
			}
			g.line("return r\n}")
			g.alike(r, places)
			continue
		}
		g.recordView(r, places)
	}
}

// alike writes constants that compile only where the record lies in memory as on the
// wire: on every machine but those whose compiler aligns it otherwise.
func (g *generator) alike(r *Record, places []Place) {
	_, stride := r.Layout()
	g.line("\n// A %s lies in memory as on the wire, or this doesn't compile.\nconst (", r.Name)
	g.line("_ = -(unsafe.Sizeof(%s{}) ^ %d)", r.Go, stride)
	for _, p := range places {
		g.line("_ = -(unsafe.Offsetof(%s{}.%s) ^ %d)", r.Go, p.Name, p.Offset)
	}
	g.line(")")
}

func (g *generator) recordView(r *Record, places []Place) {
	var texts []string
	for _, p := range places {
		if p.Type == String {
			texts = append(texts, fmt.Sprint(p.Offset))
		}
	}
	if len(texts) > 0 {
		g.line("\n// text%s is where a %[1]s has its strings.\nvar text%[1]s = [...]int{%s}", r.Name, strings.Join(texts, ", "))
	}
	g.line("\n// %sView is one %s of a list, in the bytes it came in.", r.Name, r.Go)
	g.line("type %sView struct{ b, text []byte }", r.Name)
	g.line("\nfunc new%s(b, text []byte) %[1]sView { return %[1]sView{b, text} }", r.Name)
	for _, p := range places {
		g.line("\n// %s is %s's.", p.Name, r.Go)
		if p.Type == String {
			g.line("func (v %sView) %s() string { return string(textOf(v.b[%d:], v.text)) }", r.Name, p.Name, p.Offset)
			continue
		}
		g.line("func (v %sView) %s() %s { return %s }", r.Name, p.Name, goType(r.Go, p.Field), get(r.Go, p, "v.b"))
	}
	g.line("\n// CopyTo makes dst an independent copy, reusing its strings where they are equal.")
	g.line("func (v %sView) CopyTo(dst *%s) {", r.Name, r.Go)
	for _, p := range places {
		if p.Type == String {
			g.line("keep(&dst.%s, textOf(v.b[%d:], v.text))", p.Name, p.Offset)
			continue
		}
		g.line("dst.%s = v.%[1]s()", p.Name)
	}
	g.line("}")
}
