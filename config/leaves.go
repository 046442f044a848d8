package config

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Leaf is one value of a configuration.
type Leaf struct {
	// Key is the value's path as Set takes it, with the index of each item of a list: "sensors[2].range".
	Key string
	// Value is the value as YAML in one line, which is read as the same one; that of a path is the path itself. It is
	// null where none is given and there is no default.
	Value string
	// Path says that the value is the path of a file, so that its content counts. A glTF file counts with those that
	// it names, and with its labels if scene.labels is empty.
	Path bool
}

// Leaves returns all that decides what a run does, in a fixed order: the keys with their defaults, and the sensors with
// their rates and all attributes of their types. Two configurations that could make two runs differ have different
// leaves. The key rig isn't among them, since the sensors that it brought are, nor is rig_bridges, since these change nothing. An error is that of a sensor whose
// type or attributes are wrong.
func (c *Config) Leaves(registry *sensors.Registry) (leaves []Leaf, err error) {
	var faults doc.Faults
	leaves = make([]Leaf, 0, 64*(1+len(c.Sensors))) // about as many as there are
	add := func(l leaf) {
		if l.key != rigKey {
			leaves = append(leaves, Leaf{l.key, l.text(), l.isPath()})
		}
	}
	for _, f := range doc.Fields(reflect.TypeFor[Config]()) {
		key, v := f.Tag.Get("yaml"), reflect.ValueOf(c).Elem().FieldByIndex(f.Index)
		switch {
		case key == weatherKey && v.IsNil(), key == rigBridgesKey: // it would give every run of before another id
			continue
		case key != sensorsKey:
			walk(v, key, f.Tag, add)
			continue
		}
		for i := range c.Sensors {
			faults.Add(walkSensor(&c.Sensors[i], registry, fmt.Sprintf("%s[%d]", key, i), add))
		}
	}
	if !c.driverGiven && len(c.Drivers) > 0 {
		walk(reflect.ValueOf(c.Drivers), "drivers", "", add) // ChooseDriver's
	}
	return leaves, faults.Err()
}

// walkSensor visits a sensor's own keys, and all attributes of its type with their values.
func walkSensor(c *sensors.Config, registry *sensors.Registry, path string, visit func(leaf)) error {
	s, err := c.Resolve(registry)
	if err != nil {
		return err
	}
	resolved := *c
	resolved.ID, resolved.Rate = s.Definition.ID, s.Rate
	walk(reflect.ValueOf(resolved), path, "", visit)
	for _, output := range slices.Sorted(maps.Keys(c.Topics)) {
		visit(leaf{key: path + ".topics." + output, value: reflect.ValueOf(c.Topics[output])})
	}
	for i := range s.Definition.Attributes {
		a := &s.Definition.Attributes[i]
		l := leaf{key: path + "." + a.Name, value: reflect.ValueOf(c.Shown(a, s.Settings.Value(a.Name)))}
		if a.Path || c.PathOf(a) != "" {
			l.tag = `path:"true"`
		}
		visit(l)
	}
	if c.AttachTo != 0 {
		visit(leaf{key: path + ".attach_to", value: reflect.ValueOf(c.AttachTo)})
	}
	return nil
}

// leaf is one value in a structure, with the tag of its field.
type leaf struct {
	key   string
	value reflect.Value // of an empty list the list, of none the nil pointer
	tag   reflect.StructTag
}

// isPath reports whether the value is the path of a file.
func (l leaf) isPath() bool { return l.tag.Get("path") != "" && l.value.Kind() == reflect.String }

// walk visits the values in one of a structure's, in the order of its fields. Maps are left out.
func walk(v reflect.Value, key string, tag reflect.StructTag, visit func(leaf)) {
	switch {
	case v.Kind() == reflect.Map:
	case v.Kind() == reflect.Pointer && !v.IsNil():
		walk(v.Elem(), key, tag, visit)
	case v.Kind() == reflect.Struct && len(doc.Fields(v.Type())) > 0:
		if key != "" {
			key += "."
		}
		for _, f := range doc.Fields(v.Type()) {
			walk(v.FieldByIndex(f.Index), key+f.Tag.Get("yaml"), f.Tag, visit)
		}
	case v.Kind() == reflect.Slice && v.Len() > 0 && v.Type().Elem().Kind() != reflect.Float64:
		for i := range v.Len() {
			walk(v.Index(i), fmt.Sprintf("%s[%d]", key, i), tag, visit)
		}
	default:
		visit(leaf{key, v, tag})
	}
}

// absent reports whether a value stands for none: zero, where no file could give that.
func (l leaf) absent() bool {
	if !l.value.IsZero() {
		return false
	}
	low, _ := strconv.ParseFloat(l.tag.Get("min"), 64) // tags have numbers
	switch l.value.Interface().(type) {
	case simtime.Rate:
		return l.tag.Get("min") == ""
	case spatial.UTMZone:
		return true
	}
	return low > 0 || l.tag.Get("enum") != "" || l.value.Kind() == reflect.Pointer
}

// text returns a value as Leaf has it.
func (l leaf) text() string {
	if l.absent() {
		return null
	}
	switch v := l.value.Interface().(type) {
	case string:
		if l.isPath() {
			return v
		}
		return doc.Text(v)
	case float64:
		return number(v)
	case []float64:
		list := make([]string, len(v))
		for i, f := range v {
			list[i] = number(f)
		}
		return "[" + strings.Join(list, ", ") + "]"
	case time.Duration:
		return v.String()
	case [3]uint8:
		return doc.Text("#" + hex.EncodeToString(v[:]))
	case simtime.Rate:
		if v.IsZero() {
			return "0"
		}
		return v.String()
	case spatial.UTMZone:
		return v.String()
	}
	switch l.value.Kind() {
	case reflect.Slice:
		return "[]"
	case reflect.String:
		return doc.Text(l.value.String())
	case reflect.Int, reflect.Int64:
		return strconv.FormatInt(l.value.Int(), 10)
	}
	return fmt.Sprint(l.value.Interface()) // a bool or a number without sign
}

// null is the text of what isn't given.
const null = "null"

// number writes a number, with the sign of zero.
func number(f float64) string {
	if f == 0 && math.Signbit(f) {
		return "-0.0"
	}
	return doc.Number(f)
}
