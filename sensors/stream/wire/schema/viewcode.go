package schema

import (
	"fmt"
	"reflect"
	"strings"
)

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
