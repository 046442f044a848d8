package config

import (
	"cmp"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors"
)

// Keys that a setting treats in a way of their own.
const (
	rigKey     = "rig"
	sensorsKey = "sensors"
	weatherKey = "weather"

	rigBridgesKey = "rig_bridges"
)

// Set gives one key a value, after the file and the rig were read. The key is a path: scene.seed, ego.pose.x,
// actors[0].speed. Items of lists go by their index, or by what names them: a sensor's name, or its id if no other has
// it; an actor's name, or its type or its file's name without the ending; a bridge's type; a topic. A sensor's
// attributes are keys, too, and those that its type doesn't have are found where it is resolved
// (sensors.Config.Resolve). rig reads another rig. The value is YAML, read as that of a file; paths stay as they are.
//
// Errors are *doc.Error with the key as their path; c is as before then. Set changes nothing that a copy of c made by
// assignment shares with it, so that one configuration serves as the base of many. Call Validate after the last one.
func (c *Config) Set(key, value string) error {
	n, err := doc.ParseValue(key, value)
	if err != nil {
		return err
	}
	if n.Null() {
		return n.Errorf("%w: give a value; the empty text is \"\", the empty list []", doc.ErrType)
	}
	next := *c
	if key == rigKey {
		err = next.setRig(n)
	} else {
		err = (&setting{value: n}).inStruct(reflect.ValueOf(&next).Elem(), "", "."+key)
	}
	if err != nil {
		return err
	}
	first, rest, _ := strings.Cut(key, ".")
	switch {
	case first == "ego":
		inner, _ := n.Entries() // other kinds of values have none
		next.driverGiven = next.driverGiven || strings.HasPrefix(rest, "driver") || strings.HasPrefix(rest, "waypoints") ||
			rest == "" && slices.ContainsFunc(inner, givesDriver)
		next.nameCommands("")
	case key == sensorsKey:
		next.RigBridges = nil // they are of the rig's sensors
	case strings.HasPrefix(first, "bridges"):
		next.bridgePlaces = nil // the file no longer says what they are
	}
	*c = next
	return nil
}

// setRig carries another rig.
func (c *Config) setRig(n doc.Node) error {
	var path string
	if err := n.Decode(&path); err != nil {
		return err
	}
	r, err := rig.Reader{Lenient: c.lenient}.Read(path)
	if err != nil {
		return n.Errorf("%w", err)
	}
	c.Rig = path
	c.Carry(r)
	return nil
}

// Validate checks what no single key shows, after Set, and fills in defaults. Errors are *doc.Error without a file.
func (c *Config) Validate() error { return c.validate("") }

// setting is a value on the way to its place.
type setting struct{ value doc.Node }

// unknown is the error for a key that isn't among those known there.
func (s *setting) unknown(path, name string, known []string) error {
	return doc.Entry{Key: name, Place: s.value.At(path)}.UnknownKey(known)
}

// cutKey splits what is left of a path, ".a.b" or "[1].b", behind its first step.
func cutKey(path string) (step, rest string) {
	end := strings.IndexAny(path[1:], ".[") + 1
	if end == 0 {
		end = len(path)
	}
	return path[:end], path[end:]
}

// inStruct sets one of a structure's keys. at is the structure's own path, rest the path from there.
func (s *setting) inStruct(v reflect.Value, at, rest string) error {
	step, rest := cutKey(rest)
	name := strings.TrimPrefix(step, ".")
	path := strings.TrimPrefix(at+step, ".")
	fields := doc.Fields(v.Type())
	i := slices.IndexFunc(fields, func(f reflect.StructField) bool { return f.Tag.Get("yaml") == name })
	if i < 0 || step[0] != '.' {
		return s.unknown(path, name, doc.Keys(v.Type()))
	}
	if rest == "" {
		_, err := doc.DecodeKey(v.Addr().Interface(), doc.Entry{Key: name, Value: s.value, Place: s.value})
		return err
	}
	return s.inside(v.FieldByIndex(fields[i].Index), path, rest)
}

// inside sets what lies within a value. It replaces pointers and lists on its way, which others may share.
func (s *setting) inside(v reflect.Value, at, rest string) error {
	if sensor, ok := v.Addr().Interface().(*sensors.Config); ok {
		return s.inSensor(sensor, at, rest)
	}
	switch {
	case rest == "":
		return s.value.Decode(v.Addr().Interface())
	case v.Kind() == reflect.Pointer:
		fresh := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			fresh.Elem().Set(v.Elem())
		}
		v.Set(fresh)
		return s.inside(fresh.Elem(), at, rest)
	case v.Kind() == reflect.Slice:
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		v.Set(list)
		return s.inList(list, at, rest)
	case v.Kind() == reflect.Struct && len(doc.Fields(v.Type())) > 0:
		return s.inStruct(v, at, rest)
	}
	step, _ := cutKey(rest)
	return s.unknown(at+step, strings.TrimPrefix(step, "."), nil)
}

// inSensor sets one of a sensor's keys, which are attributes, too.
func (s *setting) inSensor(c *sensors.Config, at, rest string) error {
	*c = c.Clone()
	if rest == "" {
		return s.value.Decode(c)
	}
	step, inner := cutKey(rest)
	if step[0] != '.' {
		return s.unknown(at+step, step, doc.Keys(reflect.TypeFor[sensors.Config]()))
	}
	keys := []string{step[1:]}
	switch {
	case inner == "":
	case keys[0] == "topics": // outputs have names of any kind
		keys = append(keys, inner[1:])
	default:
		keys = append(keys, strings.Split(strings.TrimPrefix(inner, "."), ".")...)
	}
	return s.value.Below(at, keys...).Decode(c)
}

// inList sets an item of a list, or what lies within it.
func (s *setting) inList(list reflect.Value, at, rest string) error {
	if rest[0] == '[' {
		step, inner := cutKey(rest)
		i, err := strconv.Atoi(strings.TrimSuffix(step[1:], "]"))
		switch {
		case err != nil || !strings.HasSuffix(step, "]"):
			return s.value.At(at+step).Errorf("%w: want the index of an item in brackets", doc.ErrUnknownKey)
		case i < 0 || i >= list.Len():
			return s.value.At(at+step).Errorf("%w: the list has %s, the first is [0]", doc.ErrUnknownKey, fault.Count(list.Len(), "item"))
		}
		return s.inside(list.Index(i), at+step, inner)
	}
	i, name, err := s.find(list, at, rest[1:])
	if err != nil {
		return err
	}
	return s.inside(list.Index(i), at+"."+name, rest[1+len(name):])
}

// find returns the index of the item whose name a path begins with, and that name. Names may have dots: the longest
// counts, and of equal ones that which the item has been given comes first.
func (s *setting) find(list reflect.Value, at, path string) (index int, name string, err error) {
	var found []int
	var known []string
	rank := -1
	for i := range list.Len() {
		names := namesOf(list.Index(i).Addr().Interface())
		known = append(known, names[:min(1, len(names))]...)
		for k, n := range names {
			if n == "" || path != n && !strings.HasPrefix(path, n+".") && !strings.HasPrefix(path, n+"[") {
				continue
			}
			switch r := 2*len(n) + min(1, len(names)-1-k); {
			case r > rank:
				rank, found, name = r, []int{i}, n
			case r == rank && !slices.Contains(found, i):
				found = append(found, i)
			}
		}
	}
	switch {
	case len(found) == 1:
		return found[0], name, nil
	case len(found) > 1:
		return 0, "", s.value.At(at+"."+name).Errorf("%w: %d items are %s: give the name or the index of one, such as %s[%d]", errAmbiguous, len(found), name, at, found[0])
	}
	name, _, _ = strings.Cut(path, ".")
	return 0, "", s.unknown(at+"."+name, name, known)
}

// errAmbiguous: a setting's key is that of several items.
var errAmbiguous = errors.New("ambiguous key")

// namesOf returns what an item of a list goes by, the name that it was given first. An item that goes by its index
// alone has none.
func namesOf(item any) []string {
	switch item := item.(type) {
	case *sensors.Config:
		return []string{item.Name, item.ID}
	case *Place:
		file := strings.TrimSuffix(filepath.Base(item.File), filepath.Ext(item.File))
		return []string{cmp.Or(item.Name, file), item.Type, file}
	case *Bridge:
		return []string{item.Type}
	case *Quality:
		return []string{item.Topic}
	case *LabelRule:
		return []string{item.Match}
	}
	return nil
}
