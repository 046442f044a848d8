package peers

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Definition is what a .msg file says (ROS 2 documentation, "Interface definition").
type Definition struct {
	// Name is "package/Name".
	Name   string
	Fields []Field
}

// Field is one member of a message.
type Field struct {
	Name string
	// Type is a primitive's name, or "" where Message is set.
	Type    string
	Message *Definition
	// Array is the number of elements of an array of fixed size. It is Sequence for those of
	// any size, Single for a value that isn't an array.
	Array int
}

// Arrays that aren't of fixed size.
const (
	Single   = 0
	Sequence = -1
)

// ErrDefinition says that a .msg file can't be read.
var ErrDefinition = errors.New("bad message definition")

// primitives has how a value of each is read.
var primitives = map[string]func(*reader) (any, error){
	"bool": fixed[bool], "byte": fixed[uint8], "char": fixed[uint8], "int8": fixed[int8], "uint8": fixed[uint8],
	"int16": fixed[int16], "uint16": fixed[uint16], "int32": fixed[int32], "uint32": fixed[uint32],
	"int64": fixed[int64], "uint64": fixed[uint64], "float32": fixed[float32], "float64": fixed[float64], "string": (*reader).text,
}

// LoadDefinition reads the definition of "package/Name" and all it is made of. text returns the
// content of a .msg file.
func LoadDefinition(name string, text func(name string) (string, error)) (*Definition, error) {
	return load(name, text, nil)
}

func load(name string, text func(string) (string, error), within []string) (*Definition, error) {
	if len(within) > 32 {
		return nil, fmt.Errorf("%w: %s contains itself", ErrDefinition, within[0])
	}
	pkg, base, ok := strings.Cut(name, "/")
	if !ok || pkg == "" || base == "" || strings.Contains(base, "/") {
		return nil, fmt.Errorf("%w: type %q isn't package/Name", ErrDefinition, name)
	}
	content, err := text(name)
	if err != nil {
		return nil, err
	}
	d := &Definition{Name: name}
	for line := range strings.Lines(content) {
		f, typ, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if typ == "" {
			continue
		}
		if _, primitive := primitives[typ]; primitive {
			f.Type = typ
		} else {
			if !strings.Contains(typ, "/") {
				typ = pkg + "/" + typ
			}
			if f.Message, err = load(typ, text, append(within, name)); err != nil {
				return nil, err
			}
		}
		d.Fields = append(d.Fields, f)
	}
	if len(d.Fields) == 0 { // as rosidl has it
		d.Fields = []Field{{Name: "structure_needs_at_least_one_member", Type: "uint8"}}
	}
	return d, nil
}

// parseLine reads a line: TYPE NAME [DEFAULT], TYPE NAME=CONSTANT, or nothing.
func parseLine(line string) (f Field, typ string, err error) {
	line, _, _ = strings.Cut(line, "#")
	words := strings.Fields(line)
	if len(words) == 0 {
		return f, "", nil
	}
	if len(words) < 2 {
		return f, "", fmt.Errorf("%w: line %q", ErrDefinition, line)
	}
	if name, _, constant := strings.Cut(strings.Join(words[1:], " "), "="); constant && strings.ToUpper(name) == name {
		return f, "", nil
	}
	f.Name = words[1]
	typ, bounds, isArray := strings.Cut(words[0], "[")
	typ, _, _ = strings.Cut(typ, "<=")
	if isArray {
		bounds, closed := strings.CutSuffix(bounds, "]")
		if !closed {
			return f, "", fmt.Errorf("%w: line %q", ErrDefinition, line)
		}
		f.Array = Sequence
		if bounds != "" && !strings.HasPrefix(bounds, "<=") {
			if f.Array, err = strconv.Atoi(bounds); err != nil || f.Array < 1 {
				return f, "", fmt.Errorf("%w: line %q", ErrDefinition, line)
			}
		}
	}
	return f, typ, nil
}

// Value is a message as its definition takes it apart. By the names of its fields it has a
// bool, a number of the Go type of the same size, or a string. Arrays are []byte (uint8[]) or
// []any; a part is another Value.
type Value map[string]any

// ErrShort says that a message ends before its definition does.
var ErrShort = errors.New("message too short")

// ErrCount says that an array of fixed size has another number of elements.
var ErrCount = errors.New("wrong number of elements")

// Decode takes a message apart, and returns what is left over.
func (d *Definition) Decode(data []byte) (Value, []byte, error) {
	r := reader{data}
	v, err := r.message(d)
	return v, r.data, err
}

type reader struct{ data []byte }

func (r *reader) message(d *Definition) (Value, error) {
	v := Value{}
	for i := range d.Fields {
		f := &d.Fields[i]
		var err error
		if f.Array == Single {
			v[f.Name], err = r.element(f)
		} else {
			v[f.Name], err = r.array(f)
		}
		if err != nil {
			return v, fmt.Errorf("%s.%s: %w", d.Name, f.Name, err)
		}
	}
	return v, nil
}

func (r *reader) array(f *Field) (any, error) {
	head, err := fixed[uint32](r)
	if err != nil {
		return nil, err
	}
	n := int(head.(uint32))
	missing := 0
	if f.Array != Sequence {
		if n != 0 && n != f.Array {
			return nil, fmt.Errorf("%w: %d instead of %d", ErrCount, n, f.Array)
		}
		missing = f.Array - n
	}
	if n > len(r.data) { // an element has a byte at least
		return nil, fmt.Errorf("%w: %d elements", ErrShort, n)
	}
	if f.Type == "uint8" || f.Type == "byte" {
		b, err := r.take(n)
		return append(append([]byte{}, b...), make([]byte, missing)...), err
	}
	list := make([]any, n, n+missing)
	for i := range list {
		if list[i], err = r.element(f); err != nil {
			return nil, err
		}
	}
	for range missing {
		list = append(list, zero(f))
	}
	return list, nil
}

// zero is an element of an array that was sent without elements.
func zero(f *Field) any {
	v, err := (&reader{make([]byte, 1<<16)}).element(f)
	if err != nil {
		panic(err)
	}
	return v
}

func (r *reader) element(f *Field) (any, error) {
	if f.Message != nil {
		return r.message(f.Message)
	}
	return primitives[f.Type](r)
}

// fixed reads a value whose type has a size.
func fixed[T any](r *reader) (any, error) {
	var v T
	b, err := r.take(binary.Size(v))
	if err != nil {
		return nil, err
	}
	_, err = binary.Decode(b, binary.LittleEndian, &v)
	return v, err
}

// text reads a string: its length, and as many bytes.
func (r *reader) text() (any, error) {
	n, err := fixed[uint32](r)
	if err != nil {
		return nil, err
	}
	b, err := r.take(int(n.(uint32)))
	return string(b), err
}

func (r *reader) take(n int) ([]byte, error) {
	if n > len(r.data) {
		return nil, fmt.Errorf("%w: %d bytes where %d are left", ErrShort, n, len(r.data))
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b, nil
}

// writer puts values together again, by the protocol's rules or by CDR's.
type writer struct {
	buf []byte
	cdr bool
}

// Encode puts a message together for a client. Values of other types than Decode makes
// panic; fields that are missing are zero.
func (d *Definition) Encode(v Value) []byte {
	w := writer{}
	w.message(d, v)
	return w.buf
}

// CDR puts a message together as DDS has it: plain CDR, little endian, after its
// encapsulation header (OMG DDSI-RTPS 2.3, section 10).
func (d *Definition) CDR(v Value) []byte {
	w := writer{cdr: true}
	w.message(d, v)
	return append([]byte{0, 1, 0, 0}, w.buf...)
}

func (w *writer) message(d *Definition, v Value) {
	for i := range d.Fields {
		f := &d.Fields[i]
		field, ok := v[f.Name]
		switch {
		case f.Array != Single:
			w.array(f, field)
		case !ok:
			w.element(f, zero(f))
		default:
			w.element(f, field)
		}
	}
}

func (w *writer) array(f *Field, field any) {
	data, isBytes := field.([]byte)
	list, _ := field.([]any)
	n := max(len(list), len(data))
	if f.Array != Sequence && n == 0 {
		for range f.Array {
			list = append(list, zero(f))
		}
		n = f.Array
	}
	if !w.cdr || f.Array == Sequence {
		w.put(uint32(n))
	}
	if isBytes && len(data) > 0 {
		w.buf = append(w.buf, data...)
		return
	}
	for _, element := range list {
		w.element(f, element)
	}
}

func (w *writer) element(f *Field, value any) {
	switch v := value.(type) {
	case Value:
		w.message(f.Message, v)
	case string:
		w.text(v)
	case bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64:
		w.put(v)
	default:
		panic(fmt.Sprintf("peers: %s is a %T", f.Name, value))
	}
}

func (w *writer) text(s string) {
	if w.cdr {
		s += "\x00"
	}
	w.put(uint32(len(s)))
	w.buf = append(w.buf, s...)
}

// put writes a bool or a number; in CDR at a multiple of its size.
func (w *writer) put(value any) {
	size := binary.Size(value)
	for w.cdr && len(w.buf)%size != 0 {
		w.buf = append(w.buf, 0)
	}
	w.buf, _ = binary.Append(w.buf, binary.LittleEndian, value) // it has a size
}
