package yamldoc

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/raybridge/raybridge/internal/closest"
)

var durationType = reflect.TypeFor[time.Duration]()

// decode fills v from the node. tag is the struct tag of the field v is, for
// its bounds.
func (n Node) decode(v reflect.Value, tag reflect.StructTag) error {
	if d, ok := v.Addr().Interface().(Decoder); ok {
		return d.DecodeYAML(n)
	}
	if n.Null() {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return n.decode(v.Elem(), tag)
	case reflect.Struct:
		return n.decodeStruct(v)
	case reflect.Slice:
		return n.decodeSlice(v, tag)
	case reflect.Interface:
		value, err := n.Value()
		if err == nil {
			v.Set(reflect.ValueOf(value))
		}
		return err
	default:
		return n.decodeScalar(v, tag)
	}
}

// Fields returns the keys of a structure's type in order.
func Fields(t reflect.Type) []reflect.StructField {
	var fields []reflect.StructField
	for i := range t.NumField() {
		if f := t.Field(i); f.Tag.Get("yaml") != "" {
			fields = append(fields, f)
		}
	}
	return fields
}

func (n Node) decodeStruct(v reflect.Value) error {
	entries, err := n.Entries()
	if err != nil {
		return err
	}
	fields := Fields(v.Type())
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.Tag.Get("yaml")
	}
	for _, e := range entries {
		f := fieldOf(fields, e.Key)
		if f == nil && n.lax {
			continue
		}
		if f == nil {
			return e.UnknownKey(known)
		}
		if err := e.Value.decode(v.FieldByIndex(f.Index), f.Tag); err != nil {
			return err
		}
	}
	return nil
}

func fieldOf(fields []reflect.StructField, key string) *reflect.StructField {
	for i := range fields {
		if fields[i].Tag.Get("yaml") == key {
			return &fields[i]
		}
	}
	return nil
}

func (n Node) decodeSlice(v reflect.Value, tag reflect.StructTag) error {
	items, err := n.Items()
	if err != nil {
		return err
	}
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		if err := item.decode(list.Index(i), tag); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

func (n Node) decodeScalar(v reflect.Value, tag reflect.StructTag) error {
	value, err := n.Value()
	if err != nil {
		return err
	}
	if v.Type() == durationType {
		return n.decodeDuration(v, value)
	}
	switch v.Kind() {
	case reflect.String:
		switch s := value.(type) {
		case string:
			v.SetString(s)
			return n.allowed(s, tag)
		case int64, uint64, float64:
			// A number where text is due keeps the document's spelling.
			v.SetString(n.content().Value)
			return n.allowed(v.String(), tag)
		}
	case reflect.Bool:
		if b, ok := value.(bool); ok {
			v.SetBool(b)
			return nil
		}
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
		return n.decodeNumber(v, value, tag)
	}
	return n.Errorf("%w: %v, need a %s", ErrType, value, v.Kind())
}

// allowed checks text against the names that an enum tag lists.
func (n Node) allowed(text string, tag reflect.StructTag) error {
	list := tag.Get("enum")
	if list == "" {
		return nil
	}
	names := strings.Split(list, ",")
	same := func(name string) bool { return name == text }
	if tag.Get("case") == "any" {
		same = func(name string) bool { return strings.EqualFold(name, text) }
	}
	if slices.ContainsFunc(names, same) {
		return nil
	}
	return n.Errorf("%w: %q, %s", ErrValue, text, closest.Hint(text, names))
}

func (n Node) decodeDuration(v reflect.Value, value any) error {
	var seconds float64
	switch x := value.(type) {
	case int64:
		seconds = float64(x)
	case uint64:
		seconds = float64(x)
	case float64:
		seconds = x
	case string:
		d, err := time.ParseDuration(x)
		if err != nil {
			return n.Errorf("%w: %q, need a duration such as 10s or 2m30s", ErrType, x)
		}
		seconds = d.Seconds()
		if d >= 0 {
			v.SetInt(int64(d))
			return nil
		}
	default:
		return n.Errorf("%w: %v, need a duration such as 10s", ErrType, value)
	}
	if seconds < 0 || seconds > math.MaxInt64/2e9 || math.IsNaN(seconds) {
		return n.Errorf("%w: %v, a duration is not negative", ErrRange, value)
	}
	v.SetInt(int64(math.Round(seconds * 1e9)))
	return nil
}

func (n Node) decodeNumber(v reflect.Value, value any, tag reflect.StructTag) error {
	var f float64
	switch x := value.(type) {
	case int64:
		f = float64(x)
	case uint64:
		f = float64(x)
	case float64:
		f = x
	case string: // a number in quotes
		parsed, err := strconv.ParseFloat(x, 64)
		if err != nil {
			return n.Errorf("%w: %v, need a number", ErrType, value)
		}
		f = parsed
	default:
		return n.Errorf("%w: %v, need a number", ErrType, value)
	}
	if math.IsNaN(f) || math.IsInf(f, 0) || outside(f, tag) {
		return n.Errorf("%w: %v, the range is %s to %s", ErrRange, value, bound(tag, "min", "-inf"), bound(tag, "max", "inf"))
	}
	if v.Kind() == reflect.Float64 {
		v.SetFloat(f)
		return nil
	}
	if f != math.Trunc(f) {
		return n.Errorf("%w: %v, need a whole number", ErrType, value)
	}
	if v.Kind() == reflect.Uint64 {
		if u, ok := value.(uint64); ok {
			v.SetUint(u)
			return nil
		}
		if f < 0 {
			return n.Errorf("%w: %v, need a number of at least 0", ErrRange, value)
		}
		v.SetUint(uint64(f))
		return nil
	}
	if math.Abs(f) > 1<<53 {
		return n.Errorf("%w: %v is too large", ErrRange, value)
	}
	v.SetInt(int64(f))
	return nil
}

func outside(f float64, tag reflect.StructTag) bool {
	if s := tag.Get("min"); s != "" {
		if lo, err := strconv.ParseFloat(s, 64); err == nil && f < lo {
			return true
		}
	}
	if s := tag.Get("max"); s != "" {
		if hi, err := strconv.ParseFloat(s, 64); err == nil && f > hi {
			return true
		}
	}
	return false
}

func bound(tag reflect.StructTag, key, none string) string {
	if s := tag.Get(key); s != "" {
		return s
	}
	return none
}

// DecodeKey decodes one entry into the structure that target points to and
// reports whether the structure has that key: for mappings whose other keys
// the caller reads itself.
func DecodeKey(target any, e Entry) (known bool, err error) {
	v := reflect.ValueOf(target).Elem()
	f := fieldOf(Fields(v.Type()), e.Key)
	if f == nil {
		return false, nil
	}
	return true, e.Value.decode(v.FieldByIndex(f.Index), f.Tag)
}
