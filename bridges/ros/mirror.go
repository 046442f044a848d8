package ros

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unsafe"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// ErrMirror says that a Go type has no mirror; the message names the field that is why.
var ErrMirror = errors.New("the type can't be a ROS message")

// Mirror is the message raybridge_msgs/msg/T of a Go structure T, for types that ROS has no
// message for. A sample whose fields are those of a ROS message is that message instead.
//
// It has the structure's fields in their order, under their names in lower case
// with underscores. A sample.Header becomes a std_msgs/Header; what that hasn't got isn't in the
// message. Vectors, rotations, poses and twists are those of geometry_msgs, an int is an
// int64, other structures are messages of raybridge_msgs. One goroutine at a time uses a
// mirror.
type Mirror struct {
	structure
	value   any  // as it was given to Show or Fill
	filling bool // what is visited is set
}

// NewMirror returns the mirror of a structure's type, filling an empty value. Errors wrap
// ErrMirror.
func NewMirror(t reflect.Type) (*Mirror, error) {
	m := &Mirror{}
	s, err := m.structureOf(t, nil)
	if err != nil {
		return nil, err
	}
	m.structure = *s
	m.Fill(reflect.New(t).Interface())
	return m, nil
}

// Show makes v, a pointer to a structure of the mirror's type, what the mirror's fields are
// read from. The error is ErrStampRange.
func (m *Mirror) Show(v any) error {
	m.reflect(v, false)
	if h, ok := v.(interface{ SampleHeader() *sample.Header }); ok {
		return new(Time).Set(int64(h.SampleHeader().Stamp))
	}
	return nil
}

// Fill makes v, a pointer to a structure of the mirror's type, what a decoder sets through
// the mirror. Of a sample.Header the pose and the world's frame become zero, which the
// message doesn't carry.
func (m *Mirror) Fill(v any) { m.reflect(v, true) }

func (m *Mirror) reflect(v any, filling bool) {
	m.value, m.at, m.filling = v, reflect.ValueOf(v).UnsafePointer(), filling
}

// Value returns what Show or Fill was given last.
func (m *Mirror) Value() any { return m.value }

// MirrorOf makes a Publication of the samples of a type, a pointer to a structure with a stamp,
// as its mirror. Errors wrap ErrMirror.
func MirrorOf(t reflect.Type) (Publication, error) {
	if t.Kind() != reflect.Pointer || !t.Implements(reflect.TypeFor[simtime.Stamped]()) {
		return Publication{}, fmt.Errorf("%w: %v is not a pointer with a method Captured() simtime.Stamp", ErrMirror, t)
	}
	first, err := NewMirror(t.Elem())
	if err != nil {
		return Publication{}, err
	}
	name := first.TypeName()
	pub := bridges.PublishAny(t, name, name, func(bridges.Instance) func(simtime.Stamped) (Message, error) {
		m, _ := NewMirror(t.Elem()) // as the first
		return func(src simtime.Stamped) (Message, error) { return m, m.Show(src) }
	})
	pub.Declare = func() error { return declareMessage(first) }
	return pub, nil
}

// CarryMirrors lets a bridge publish what nobody declared to it, as mirrors. The run's log isn't
// data, and is left out.
func CarryMirrors(p *bridges.Plugin, f Carrier) error {
	return bridges.SetFallback(p, func(t reflect.Type) error {
		pub, err := MirrorOf(t)
		switch {
		case err != nil:
			return err
		case t == reflect.TypeFor[*sample.Log]():
			return fmt.Errorf("%w: a log isn't data", ErrMirror)
		}
		return f.RegPublication(p, pub)
	})
}

// PublishMirror makes a Publication of samples T, a pointer to a structure, as its mirror.
// It panics for a type that has none.
func PublishMirror[T simtime.Stamped]() Publication {
	mirror := func() *Mirror {
		m, err := NewMirror(reflect.TypeFor[T]().Elem())
		if err != nil {
			panic(err)
		}
		return m
	}
	name := mirror().TypeName()
	pub := bridges.Publish(name, name, func(bridges.Instance) func(T) (Message, error) {
		m := mirror()
		return func(src T) (Message, error) { return m, m.Show(src) }
	})
	pub.Declare = func() error { return declareMessage(mirror()) }
	return pub
}

// plain are the samples whose fields are those of a ROS message, which Declare compares.
var plain = map[reflect.Type]string{
	reflect.TypeFor[sample.CompressedImage](): "sensor_msgs/msg/CompressedImage",
	reflect.TypeFor[sample.Imu]():             "sensor_msgs/msg/Imu",
	reflect.TypeFor[sample.LaserScan]():       "sensor_msgs/msg/LaserScan",
	reflect.TypeFor[sample.Range]():           "sensor_msgs/msg/Range",
}

// structure is the message of a structure that lies at an address.
type structure struct {
	name   string
	fields []mirrored
	at     unsafe.Pointer
}

// visit visits the field that lies at an address.
type visit func(v Visitor, name string, at unsafe.Pointer)

// mirrored is a field, at an offset into its structure.
type mirrored struct {
	name   string
	offset uintptr
	visit  visit
}

// mirrors tells that the definition follows from the fields.
func (*structure) mirrors() {}

// TypeName is the message's full name.
func (s *structure) TypeName() string { return s.name }

// Fields visits the structure's fields in order.
func (s *structure) Fields(v Visitor) {
	for i := range s.fields {
		f := &s.fields[i]
		f.visit(v, f.name, unsafe.Add(s.at, f.offset))
	}
}

// structureOf returns the message of a structure's type, which others may be made of.
func (m *Mirror) structureOf(t reflect.Type, within []reflect.Type) (*structure, error) {
	if t.Kind() != reflect.Struct || t.Name() == "" || slices.Contains(within, t) {
		return nil, fmt.Errorf("%w: %v is not a structure with a name, or is made of itself", ErrMirror, t)
	}
	s := &structure{name: cmp.Or(plain[t], "raybridge_msgs/msg/"+strings.ToUpper(t.Name()[:1])+t.Name()[1:])}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			return nil, fmt.Errorf("%w: field %s of %v isn't exported", ErrMirror, f.Name, t)
		}
		visit, err := m.visitOf(f.Type, append(within, t))
		if err != nil {
			return nil, fmt.Errorf("field %s of %v: %w", f.Name, t, err)
		}
		s.fields = append(s.fields, mirrored{snake(f.Name), f.Offset, visit})
	}
	return s, nil
}

var words = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// snake turns "EngineRPM" into "engine_rpm".
func snake(name string) string {
	return strings.ToLower(words.ReplaceAllString(name, "${1}${3}_${2}${4}"))
}

// visitOf returns what visits a field of a type.
func (m *Mirror) visitOf(t reflect.Type, within []reflect.Type) (visit, error) {
	switch t {
	case reflect.TypeFor[sample.Header]():
		return through(m, headerOf, SampleHeader), nil
	case reflect.TypeFor[mgl64.Vec3]():
		return through(m, Vector3Of, (*Vector3).Vec3), nil
	case reflect.TypeFor[mgl64.Quat]():
		return through(m, QuaternionOf, (*Quaternion).Quat), nil
	case reflect.TypeFor[spatial.Pose]():
		return through(m, PoseOf, (*Pose).Spatial), nil
	case reflect.TypeFor[spatial.Twist]():
		return through(m, TwistOf, (*Twist).Spatial), nil
	}
	switch t.Kind() {
	case reflect.Int:
		var scratch int64
		return func(v Visitor, name string, at unsafe.Pointer) {
			scratch = int64(*(*int)(at))
			if v.Value(name, Of(&scratch)); m.filling {
				*(*int)(at) = int(scratch)
			}
		}, nil
	case reflect.String:
		return func(v Visitor, name string, at unsafe.Pointer) { v.String(name, (*string)(at)) }, nil
	case reflect.Struct:
		part, err := m.structureOf(t, within)
		return func(v Visitor, name string, at unsafe.Pointer) {
			part.at = at
			v.Message(name, part)
		}, err
	case reflect.Slice:
		return m.sequenceOf(t, within)
	case reflect.Array:
		if p, ok := primitives[t.Elem().Kind()]; ok {
			n := t.Len()
			return func(v Visitor, name string, at unsafe.Pointer) { v.Array(name, p.fixed(at, n)) }, nil
		}
	}
	if p, ok := primitives[t.Kind()]; ok {
		return p.value, nil
	}
	return nil, fmt.Errorf("%w: it has no %v", ErrMirror, t)
}

// sequenceOf is visitOf of a slice.
func (m *Mirror) sequenceOf(t reflect.Type, within []reflect.Type) (visit, error) {
	element := t.Elem()
	if element.Kind() == reflect.Uint8 {
		var scratch Bytes
		return func(v Visitor, name string, at unsafe.Pointer) {
			scratch = Bytes{Data: *(*[]byte)(at)}
			if v.Bytes(name, &scratch); m.filling {
				*(*[]byte)(at) = scratch.Data
			}
		}, nil
	}
	if p, ok := primitives[element.Kind()]; ok {
		return func(v Visitor, name string, at unsafe.Pointer) { v.Array(name, p.sequence(at)) }, nil
	}
	if element == reflect.TypeFor[mgl64.Vec3]() { // which is laid out as Vector3
		return func(v Visitor, name string, at unsafe.Pointer) { v.Messages(name, List((*[]Vector3)(at))) }, nil
	}
	if element.Kind() == reflect.String {
		return func(v Visitor, name string, at unsafe.Pointer) { v.Array(name, Sequence((*[]string)(at))) }, nil
	}
	part, err := m.structureOf(element, within)
	if err != nil {
		return nil, err
	}
	list := &structures{part: part, slice: t}
	return func(v Visitor, name string, at unsafe.Pointer) {
		list.place = at
		v.Messages(name, Messages{size: -1, list: list})
	}, nil
}

// primitive makes fields visitable whose type is of one kind, under any name.
type primitive struct {
	value    visit
	sequence func(at unsafe.Pointer) Array
	fixed    func(at unsafe.Pointer, n int) Array
}

func primitiveOf[T Number]() primitive {
	return primitive{
		value:    func(v Visitor, name string, at unsafe.Pointer) { v.Value(name, Of((*T)(at))) },
		sequence: func(at unsafe.Pointer) Array { return Sequence((*[]T)(at)) },
		fixed:    func(at unsafe.Pointer, n int) Array { return Fixed(unsafe.Slice((*T)(at), n)) },
	}
}

var primitives = map[reflect.Kind]primitive{
	reflect.Bool: primitiveOf[bool](),
	reflect.Int8: primitiveOf[int8](), reflect.Int16: primitiveOf[int16](),
	reflect.Int32: primitiveOf[int32](), reflect.Int64: primitiveOf[int64](),
	reflect.Uint8: primitiveOf[uint8](), reflect.Uint16: primitiveOf[uint16](),
	reflect.Uint32: primitiveOf[uint32](), reflect.Uint64: primitiveOf[uint64](),
	reflect.Float32: primitiveOf[float32](), reflect.Float64: primitiveOf[float64](),
}

// through visits a value as a message that has the same content in another form.
func through[V, M any, P pointer[M]](m *Mirror, to func(V) M, from func(P) V) visit {
	scratch := P(new(M))
	return func(v Visitor, name string, at unsafe.Pointer) {
		*scratch = to(*(*V)(at))
		if v.Message(name, scratch); m.filling {
			*(*V)(at) = from(scratch)
		}
	}
}

// headerOf is SetHeader of a header that Show has found to have a stamp in range.
func headerOf(h sample.Header) (m Header) {
	_ = SetHeader(&m, &h)
	return m
}

// structures is a slice of structures that lies at an address.
type structures struct {
	part  *structure
	slice reflect.Type
	place unsafe.Pointer
}

var _ messageList = (*structures)(nil)

// value is the slice itself.
func (s *structures) value() reflect.Value { return reflect.NewAt(s.slice, s.place).Elem() }

func (s *structures) length(int) int { return s.value().Len() }

func (s *structures) at(_, i int) Message {
	s.part.at = s.value().Index(i).Addr().UnsafePointer()
	return s.part
}

func (s *structures) clear() { s.value().SetLen(0) }

func (s *structures) append() Message {
	v := s.value()
	n := v.Len()
	v.Grow(1)
	v.SetLen(n + 1)
	return s.at(-1, n)
}

func (s *structures) reserve(n int) { s.value().Grow(n) }

func (s *structures) elementType() string { return s.part.name }

func (s *structures) element() reflect.Type { return s.slice.Elem() }
