package sensors

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/internal/fault"
)

// Errors of attributes; callers test them with errors.Is.
var (
	// ErrUnknownAttribute: the definition has no attribute of that name.
	ErrUnknownAttribute = errors.New("unknown attribute")
	// ErrValue: the value doesn't parse, is out of range or not one of the allowed.
	ErrValue = errors.New("bad attribute value")
	// ErrFixed: the attribute describes the type and can't be set, or not while it runs.
	ErrFixed = errors.New("attribute can't be changed")
)

// AttributeType is the type of an attribute's value.
type AttributeType uint8

// The types, with the Go type of their values.
const (
	Bool   AttributeType = iota + 1 // bool
	Int                             // int64
	Float                           // float64
	String                          // string
	Color                           // [3]uint8, written "#rrggbb" or "r,g,b"
	Floats                          // []float64, a list or "a,b,c"
)

var attributeTypeNames = [...]string{Bool: "bool", Int: "int", Float: "float", String: "string", Color: "colour", Floats: "list"}

// String returns the type's name in documentation and messages.
func (t AttributeType) String() string { return attributeTypeNames[t] }

// Attribute describes one parameter of a sensor.
type Attribute struct {
	Name string
	Type AttributeType
	Doc  string
	Unit string // SI symbol, "" for none
	// Default is a value of Type's Go type.
	Default any
	// Min and Max bound Int, Float and each element of Floats where Min < Max.
	Min, Max float64
	// UsualMin and UsualMax are the range of what is usual, where UsualMin < UsualMax: a
	// value outside is allowed, and its user is told (Unusual).
	UsualMin, UsualMax float64
	// Recommended are values worth offering; Restricted allows no others.
	Recommended []string
	Restricted  bool
	// Fixed attributes describe the type: they always have their default. Setting
	// one to it is allowed, for rigs that spell it out.
	Fixed bool
	// Live attributes may change while the sensor runs (Tuner).
	Live bool
	// Path says that the value, a string, names a file. A relative path is relative to the file that
	// gives it, and else to the working directory.
	Path bool
	// File attributes have the content of a file. In a file, such as a rig, the value is its path or the
	// content (IsContent).
	File bool
	// Inert says, where it isn't empty, why the attribute changes nothing: it is
	// there because other simulators' rigs name it.
	Inert string
}

// Parse turns a value from Go, YAML or text into the attribute's Go type and
// checks it. An error wraps ErrValue and names what is allowed.
func (a *Attribute) Parse(value any) (any, error) {
	v, err := a.convert(value)
	if err != nil {
		return nil, err
	}
	if a.Restricted && !a.recommends(v) {
		return nil, fmt.Errorf("%w: %s is %v, %s", ErrValue, a.Name, value, fault.Want(fmt.Sprint(value), a.Recommended...))
	}
	for _, n := range numbersOf(v) {
		if (math.IsNaN(n) || math.IsInf(n, 0)) && a.Min >= a.Max {
			return nil, fmt.Errorf("%w: %s is %v, need a finite number", ErrValue, a.Name, value)
		}
		if math.IsNaN(n) || math.IsInf(n, 0) || (a.Min < a.Max && (n < a.Min || n > a.Max)) {
			return nil, fmt.Errorf("%w: %s is %v, the range is %v to %v%s", ErrValue, a.Name, value, a.Min, a.Max, a.unitSuffix())
		}
	}
	return v, nil
}

// numbersOf lists the numbers of a value of an attribute's Go type.
func numbersOf(v any) []float64 {
	switch v := v.(type) {
	case int64:
		return []float64{float64(v)}
	case float64:
		return []float64{v}
	case []float64:
		return v
	default:
		return nil
	}
}

// Unusual returns an error that names the usual range if the value is outside of it, else
// nil. The value is as Parse takes it. It returns nil for a value that Parse rejects.
func (a *Attribute) Unusual(value any) error {
	if a.UsualMin >= a.UsualMax {
		return nil
	}
	v, _ := a.Parse(value) // nil has no numbers
	for _, n := range numbersOf(v) {
		if n < a.UsualMin || n > a.UsualMax {
			return fmt.Errorf("%s is %v%s, which is unusual: %v to %v%s are usual", a.Name, n, a.unitSuffix(), a.UsualMin, a.UsualMax, a.unitSuffix())
		}
	}
	return nil
}

// recommends reports whether a value of the attribute's Go type is a recommended one.
func (a *Attribute) recommends(v any) bool {
	return slices.ContainsFunc(a.Recommended, func(text string) bool {
		r, err := a.convert(text)
		return err == nil && reflect.DeepEqual(r, v)
	})
}

// validate checks that the attribute's description agrees with itself.
func (a *Attribute) validate() error {
	numeric := a.Type == Int || a.Type == Float || a.Type == Floats
	switch {
	case a.Name == "":
		return errors.New("it has no name")
	case a.Type < Bool || a.Type > Floats:
		return fmt.Errorf("%d is not a type", a.Type)
	case a.Min > a.Max:
		return fmt.Errorf("its range goes from %v down to %v", a.Min, a.Max)
	case a.UsualMin > a.UsualMax:
		return fmt.Errorf("its usual range goes from %v down to %v", a.UsualMin, a.UsualMax)
	case (a.Min < a.Max || a.UsualMin < a.UsualMax) && !numeric:
		return fmt.Errorf("a %s has no range", a.Type)
	case a.UsualMin < a.UsualMax && a.Min < a.Max && (a.UsualMin < a.Min || a.UsualMax > a.Max):
		return fmt.Errorf("its usual range, %v to %v, goes beyond its range, %v to %v", a.UsualMin, a.UsualMax, a.Min, a.Max)
	case a.File && a.Type != String:
		return fmt.Errorf("a %s has no file's content", a.Type)
	case a.Path && a.Type != String:
		return fmt.Errorf("a %s is no path", a.Type)
	case a.Restricted && len(a.Recommended) == 0:
		return errors.New("it is restricted to no value at all")
	case a.Fixed && a.Inert != "":
		return errors.New("it is fixed, so it can't be inert too")
	case a.Fixed && len(a.Recommended) > 0:
		return errors.New("it is fixed, so nothing can be recommended")
	}
	if v, err := a.Parse(a.Default); err != nil {
		return fmt.Errorf("default: %w", err)
	} else if !reflect.DeepEqual(v, a.Default) {
		return fmt.Errorf("its default is a %T, need a %T", a.Default, v)
	} else if err := a.Unusual(a.Default); err != nil {
		return fmt.Errorf("default: %w", err)
	}
	for _, text := range a.Recommended {
		if _, err := a.Parse(text); err != nil {
			return fmt.Errorf("recommended value: %w", err)
		}
	}
	return nil
}

func (a *Attribute) unitSuffix() string {
	if a.Unit == "" {
		return ""
	}
	return " " + a.Unit
}

// convert turns value into the attribute's Go type.
func (a *Attribute) convert(value any) (any, error) {
	switch a.Type {
	case Bool:
		switch v := value.(type) {
		case bool:
			return v, nil
		case string:
			if b, err := strconv.ParseBool(v); err == nil {
				return b, nil
			}
		}
	case Int:
		if f, ok := number(value); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return int64(f), nil
		}
	case Float:
		if f, ok := number(value); ok {
			return f, nil
		}
	case String:
		if s, ok := value.(string); ok {
			return s, nil
		}
		if f, ok := number(value); ok && a.Restricted { // a file's author writes a choice such as 905 without quotes
			return strconv.FormatFloat(f, 'f', -1, 64), nil
		}
	case Color:
		return a.color(value)
	case Floats:
		if list, ok := floats(value); ok {
			return list, nil
		}
	}
	return nil, fmt.Errorf("%w: %s is %v (%T), need a %s", ErrValue, a.Name, value, value, a.Type)
}

func (a *Attribute) color(value any) (any, error) {
	if c, ok := value.([3]uint8); ok {
		return c, nil
	}
	if text, ok := value.(string); ok && strings.HasPrefix(text, "#") {
		rgb, err := hex.DecodeString(text[1:])
		if err != nil || len(rgb) != 3 {
			return nil, fmt.Errorf("%w: %s is %v, need a colour as \"#rrggbb\" or \"r,g,b\"", ErrValue, a.Name, value)
		}
		return [3]uint8(rgb), nil
	}
	list, ok := floats(value)
	if !ok || len(list) != 3 {
		return nil, fmt.Errorf("%w: %s is %v, need a colour as \"#rrggbb\" or \"r,g,b\"", ErrValue, a.Name, value)
	}
	var c [3]uint8
	for i, f := range list {
		if f < 0 || f > 255 || f != math.Trunc(f) {
			return nil, fmt.Errorf("%w: %s is %v, each part of a colour is 0 to 255", ErrValue, a.Name, value)
		}
		c[i] = uint8(f)
	}
	return c, nil
}

// number reads any Go number or the text of one.
func number(value any) (float64, bool) {
	switch v := value.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		return f, err == nil
	default:
		return 0, false
	}
}

// floats reads a list of numbers or the text of one, "a,b,c".
func floats(value any) ([]float64, bool) {
	var parts []any
	switch v := value.(type) {
	case []float64:
		return slices.Clone(v), true
	case []any:
		parts = v
	case string:
		for s := range strings.SplitSeq(v, ",") {
			parts = append(parts, s)
		}
	default:
		return nil, false
	}
	list := make([]float64, 0, len(parts))
	for _, p := range parts {
		f, ok := number(p)
		if !ok {
			return nil, false
		}
		list = append(list, f)
	}
	return list, true
}

// Define completes the definition of a type of sensor whose options are the struct O. Fields of
// O that have the tag attribute are its Attributes, in their order. New calls make with an O in
// which every one of them has its value. Tags of such a field:
//
//	attribute   Attribute.Name; of a vector's x, y and z what comes before _x, _y and _z
//	doc, unit   Attribute.Doc, Attribute.Unit
//	default     Attribute.Default as text; zero without it
//	min, max    Attribute.Min, Attribute.Max
//	usual       Attribute.UsualMin and Attribute.UsualMax, with a space between them
//	enum        Attribute.Recommended with commas between; there are no other values
//	recommended the same where there are others
//	fixed, live   Attribute.Fixed and Attribute.Live where they are true
//	path, file    Attribute.Path and Attribute.File where they are true
//	inert         Attribute.Inert
//
// A field is a bool, a whole number, a float64, a string, a [3]uint8, a []float64 or a vector
// of three float64. A string's type may have a method Values() []string in place of enum. A
// program that fills in an O leaves out what has its default: zero is not given. So a
// field is a pointer where zero is a value of its own.
//
// Fields of a struct in O count as O's. The tags of that struct hold for all of them: inert,
// and defaults, which replaces some defaults ("quality=100,raw=false").
//
// A struct that doesn't keep to this is found when a Registry is made.
func Define[O any](d Definition, make func(spec Spec, options O) (Sensor, error)) *Definition {
	d.options = reflect.TypeFor[O]()
	d.fault = d.declare(d.options, nil, "")
	d.New = func(spec Spec) (Sensor, error) {
		if spec.Definition == nil {
			spec.Definition = &d
		}
		if spec.Settings == nil {
			spec.Settings = d.NewSettings()
		}
		var options O
		d.fill(reflect.ValueOf(&options).Elem(), spec.Settings.Value)
		return make(spec, options)
	}
	return &d
}

// DefaultsOf returns options in which every field that declares an attribute has its
// default. O is as Define has it, or a struct in such a one.
func DefaultsOf[O any]() (options O) {
	d := Define[O](Definition{}, nil)
	d.fill(reflect.ValueOf(&options).Elem(), d.NewSettings().Value)
	return options
}

// fill sets the fields of an options struct.
func (d *Definition) fill(options reflect.Value, value func(name string) any) {
	for i, f := range d.fields {
		v := f.of(options)
		if v.Kind() == reflect.Pointer {
			v.Set(reflect.New(v.Type().Elem()))
			v = v.Elem()
		}
		v.Set(reflect.ValueOf(value(d.Attributes[i].Name)).Convert(v.Type()))
	}
}

// Given returns the attributes that an options struct, or what a pointer leads to, sets:
// those whose field isn't zero. The struct has to be the definition's (Registry.Of).
func (d *Definition) Given(options any) map[string]any {
	from, given := reflect.Indirect(reflect.ValueOf(options)), map[string]any{}
	for i, f := range d.fields {
		v := f.of(from)
		if v.IsZero() {
			continue
		}
		given[d.Attributes[i].Name] = reflect.Indirect(v).Convert(reflect.TypeOf(d.Attributes[i].Default)).Interface()
	}
	return given
}

// field is where an options struct has the value of an attribute.
type field struct {
	index []int
	axis  int // of a vector, else -1
}

func (f field) of(options reflect.Value) reflect.Value {
	v := options.FieldByIndex(f.index)
	if f.axis >= 0 {
		v = v.Index(f.axis)
	}
	return v
}

// axes are the endings of the attributes that a vector has.
var axes = [3]string{"_x", "_y", "_z"}

// declare appends the attributes of a struct's fields.
func (d *Definition) declare(t reflect.Type, index []int, inert string) error {
	for i := range t.NumField() {
		f, at := t.Field(i), append(slices.Clone(index), i)
		why, name := cmp.Or(f.Tag.Get("inert"), inert), f.Tag.Get("attribute")
		if name == "" {
			if f.Type.Kind() == reflect.Struct {
				first := len(d.Attributes)
				if err := d.declare(f.Type, at, why); err != nil {
					return err
				}
				if err := redefault(d.Attributes[first:], f.Tag.Get("defaults")); err != nil {
					return err
				}
			}
			continue
		}
		a, err := attributeOf(name, f.Type, f.Tag)
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		a.Inert = why
		if f.Type.Kind() != reflect.Array || a.Type == Color {
			d.Attributes, d.fields = append(d.Attributes, a), append(d.fields, field{at, -1})
			continue
		}
		for axis, end := range axes {
			a.Name = name + end
			d.Attributes, d.fields = append(d.Attributes, a), append(d.fields, field{at, axis})
		}
	}
	return nil
}

// redefault replaces defaults as the tag defaults says.
func redefault(attributes []Attribute, tag string) (err error) {
	for pair := range strings.FieldsFuncSeq(tag, func(r rune) bool { return r == ',' }) {
		name, text, _ := strings.Cut(pair, "=")
		at := slices.IndexFunc(attributes, func(a Attribute) bool { return a.Name == name })
		if at < 0 {
			return fmt.Errorf("tag defaults: %w %q", ErrUnknownAttribute, name)
		}
		if attributes[at].Default, err = attributes[at].convert(text); err != nil {
			return err
		}
	}
	return nil
}

// attributeOf reads the tags of a field.
func attributeOf(name string, t reflect.Type, tag reflect.StructTag) (a Attribute, err error) {
	optional := t.Kind() == reflect.Pointer
	if optional {
		t = t.Elem()
	}
	a = Attribute{Name: name, Doc: tag.Get("doc"), Unit: tag.Get("unit"), Fixed: tag.Get("fixed") == "true", Live: tag.Get("live") == "true", Path: tag.Get("path") == "true", File: tag.Get("file") == "true"}
	switch zero := reflect.Zero(t).Interface().(type) {
	case []float64:
		a.Type, a.Default = Floats, []float64{}
	case [3]uint8:
		a.Type, a.Default = Color, zero
	default:
		if t.Kind() == reflect.Array {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Bool:
			a.Type, a.Default = Bool, false
		case reflect.Int, reflect.Int64, reflect.Uint64:
			a.Type, a.Default = Int, int64(0)
		case reflect.Float64:
			a.Type, a.Default = Float, 0.0
		case reflect.String:
			a.Type, a.Default = String, ""
		default:
			return a, fmt.Errorf("a %s can't be an attribute", t)
		}
		if v, ok := zero.(interface{ Values() []string }); ok {
			a.Recommended, a.Restricted = v.Values(), true
		}
	}
	for key, list := range map[string][]*float64{"min": {&a.Min}, "max": {&a.Max}, "usual": {&a.UsualMin, &a.UsualMax}} {
		for i, text := range strings.Fields(tag.Get(key)) {
			if *list[min(i, len(list)-1)], err = strconv.ParseFloat(text, 64); err != nil {
				return a, fmt.Errorf("tag %s: %w", key, err)
			}
		}
	}
	for key, restricted := range map[string]bool{"enum": true, "recommended": false} {
		if text := tag.Get(key); text != "" {
			a.Recommended, a.Restricted = strings.Split(text, ","), restricted
		}
	}
	zero := a.Default
	if text, ok := tag.Lookup("default"); ok {
		if a.Default, err = a.convert(text); err != nil {
			return a, err
		}
	}
	if _, refused := a.Parse(zero); !optional && refused == nil && a.Type <= Float && a.Default != zero {
		return a, fmt.Errorf("%v is a value of its own, which isn't its default: make the field a pointer", zero)
	}
	return a, nil
}

// Settings holds one sensor's attribute values, every attribute of its
// definition present. It is not safe for concurrent change.
type Settings struct {
	definition *Definition
	values     map[string]any
	set        map[string]bool
}

// Set parses and stores one value. Errors wrap ErrUnknownAttribute, ErrFixed or
// ErrValue.
func (s *Settings) Set(name string, value any) error {
	a := s.definition.Attribute(name)
	if a == nil {
		return fmt.Errorf("%w %q of %s, %s", ErrUnknownAttribute, name, s.definition.ID, fault.Hint(name, s.definition.AttributeNames()))
	}
	v, err := a.Parse(value)
	if err != nil {
		return err
	}
	if a.Fixed && !reflect.DeepEqual(v, s.values[name]) {
		return fmt.Errorf("%w: %s of %s is always %v: leave it out", ErrFixed, name, s.definition.ID, s.values[name])
	}
	s.values[name], s.set[name] = v, true
	return nil
}

// With returns a copy in which attributes have new values, for a sensor that runs: only Live
// ones may change. Errors are those of Set, and wrap ErrFixed for others.
func (s *Settings) With(attributes map[string]any) (*Settings, error) {
	next := &Settings{definition: s.definition, values: maps.Clone(s.values), set: maps.Clone(s.set)}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if err := next.Set(name, attributes[name]); err != nil {
			return nil, err
		}
		if !s.definition.Attribute(name).Live {
			return nil, fmt.Errorf("%w while a %s runs: %s; those that can: %s", ErrFixed, s.definition.ID, name, cmp.Or(strings.Join(s.Live(), ", "), "none"))
		}
	}
	return next, nil
}

// IsSet reports whether Set was called for the name.
func (s *Settings) IsSet(name string) bool { return s.set[name] }

// Differs reports whether Set gave the name another value than its default.
func (s *Settings) Differs(name string) bool {
	return s.set[name] && !reflect.DeepEqual(s.values[name], s.definition.Attribute(name).Default)
}

// Live names the attributes that may change while a sensor of these settings runs.
func (s *Settings) Live() (names []string) {
	var refused []string
	if s.definition.Refuses != nil {
		refused = s.definition.Refuses(s)
	}
	for i := range s.definition.Attributes {
		if a := &s.definition.Attributes[i]; a.Live && !slices.Contains(refused, a.Name) {
			names = append(names, a.Name)
		}
	}
	return names
}

// Value returns the named attribute's value, in its type's Go type. A name that the
// definition doesn't have is a programming error and panics.
func (s *Settings) Value(name string) any {
	v, ok := s.values[name]
	if !ok {
		panic(fmt.Sprintf("sensors: %s has no attribute %q", s.definition.ID, name))
	}
	return v
}
