package gltf

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// check reports what is wrong with a decoded JSON value (with json.Number),
// as an *Error whose place is relative to the value.
type check func(v any) error

// property is one property of a JSON object.
type property struct {
	name     string
	check    check
	required bool
}

func required(name string, c check) property { return property{name, c, true} }
func optional(name string, c check) property { return property{name, c, false} }

// object checks the properties that it knows and lets others be, but for such
// as encoding/json would take for a known one.
func object(properties ...property) check {
	return func(v any) error {
		m, ok := v.(map[string]any)
		if !ok {
			return invalid("want an object, have %s", describe(v))
		}
		for key := range m {
			for _, p := range properties {
				if key != p.name && strings.EqualFold(key, p.name) {
					return invalid("property %q must be written %q", cut(key), p.name)
				}
			}
		}
		for _, p := range properties {
			value, ok := m[p.name]
			switch {
			case ok:
				if err := p.check(value); err != nil {
					return within(p.name, err)
				}
			case p.required:
				return within(p.name, invalid("is missing"))
			}
		}
		return nil
	}
}

// list checks an array of at least min items.
func list(min int, item check) check {
	return func(v any) error {
		items, ok := v.([]any)
		if !ok {
			return invalid("want an array, have %s", describe(v))
		}
		if len(items) < min {
			return invalid("want at least %d items, have %d", min, len(items))
		}
		for i := range items {
			if err := item(items[i]); err != nil {
				return within("["+strconv.Itoa(i)+"]", err)
			}
		}
		return nil
	}
}

// mapOf checks every value of an object, in the order of its keys.
func mapOf(value check) check {
	return func(v any) error {
		m, ok := v.(map[string]any)
		if !ok {
			return invalid("want an object, have %s", describe(v))
		}
		keys := make([]string, 0, len(m))
		for k := range m {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			if err := value(m[k]); err != nil {
				return within(k, err)
			}
		}
		return nil
	}
}

// numbers checks an array of exactly n finite numbers.
func numbers(n int) check {
	item := list(n, number)
	return func(v any) error {
		if err := item(v); err != nil {
			return err
		}
		if have := len(v.([]any)); have != n {
			return invalid("want %d numbers, have %d", n, have)
		}
		return nil
	}
}

func number(v any) error {
	n, ok := v.(json.Number)
	if !ok {
		return invalid("want a number, have %s", describe(v))
	}
	if f, err := n.Float64(); err != nil || math.IsInf(f, 0) {
		return invalid("number %.40s is out of range", n)
	}
	return nil
}

// integer checks a whole number from lo to hi.
func integer(lo, hi int64) check {
	return func(v any) error {
		n, ok := v.(json.Number)
		if !ok {
			return invalid("want a whole number, have %s", describe(v))
		}
		i, err := n.Int64()
		if err != nil {
			return invalid("want a whole number, have %.40s", n)
		}
		if i < lo || i > hi {
			return invalid("%d is out of range: want %d to %d", i, lo, hi)
		}
		return nil
	}
}

// code checks one of glTF's numeric constants.
func code(codes ...int64) check {
	return func(v any) error {
		if n, ok := v.(json.Number); ok {
			if i, err := n.Int64(); err == nil && slices.Contains(codes, i) {
				return nil
			}
		}
		return invalid("%s is none of %v", describe(v), codes)
	}
}

// word checks one of glTF's named constants.
func word(words ...string) check {
	return func(v any) error {
		if s, ok := v.(string); ok && slices.Contains(words, s) {
			return nil
		}
		return invalid("%s is none of %s", describe(v), strings.Join(words, ", "))
	}
}

func text(v any) error {
	if _, ok := v.(string); !ok {
		return invalid("want a string, have %s", describe(v))
	}
	return nil
}

func boolean(v any) error {
	if _, ok := v.(bool); !ok {
		return invalid("want true or false, have %s", describe(v))
	}
	return nil
}

// describe names a JSON value in an error.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return cut(v.String())
	case string:
		return strconv.Quote(cut(v))
	case []any:
		return "an array"
	}
	return "an object"
}

// cut keeps errors short where a file's strings are long.
func cut(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
