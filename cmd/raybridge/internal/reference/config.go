package reference

import (
	_ "embed" // the example
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/rig"
)

//go:embed example.yaml
var example string

// Example returns the configuration that docs/config.md ends with. It shows every
// key but rig, scene.file and scene.labels, which exclude others.
func Example() string { return example }

// Config returns docs/config.md: every key of a configuration file.
func Config() []byte {
	var p page
	p.printf(notice+`
# The configuration file

`+"`raybridge run --config FILE.yaml`"+` reads one file that describes a whole run; flags win over it.
`+"`raybridge config check FILE.yaml`"+` says whether a run would accept it. A rig file, `+"`--rig FILE`"+`, has the key
`+"`sensors`"+` and may have `+"`drivers`"+`, or is another simulator's: [docs/rigs.md](rigs.md). An unknown key is an error that names its place and the closest known one. Paths are relative to the file
that names them. A key without a default is empty, 0 or false. Lengths are metres, angles degrees, axes REP-103: x forward (east in the map), y left (north), z up.
Lists and mappings lie at most %d deep in one another, aliases (`+"`*name`"+`) stand for
at most %d values, a key has at most %d bytes, a file 4 MiB.

`, doc.MaxDepth, doc.MaxAliased, doc.MaxKey)
	for _, s := range sections() {
		p.section(s)
	}
	p.printf("## Example\n\n```yaml\n%s```\n", example)
	return []byte(p.String())
}

// section is the keys of one structure.
type section struct {
	name   string
	of     reflect.Type
	usedAs []string // key paths that have it
}

// sections lists the structures of a configuration, the file itself first.
func sections() []*section {
	list := []*section{{name: "The file", of: reflect.TypeFor[config.Config]()}}
	for i := 0; i < len(list); i++ {
		for _, f := range doc.Fields(list[i].of) {
			of, isList := structOf(f.Type)
			if of == nil {
				continue
			}
			path := f.Tag.Get("yaml")
			if i > 0 {
				path = list[i].name + "." + path
			}
			if isList {
				path += "[]"
			}
			k := slices.IndexFunc(list, func(s *section) bool { return s.of == of })
			if k < 0 {
				k = len(list)
				list = append(list, &section{name: nameOf(of), of: of})
			}
			list[k].usedAs = append(list[k].usedAs, path)
		}
	}
	return list
}

// structOf returns the structure that a value or a list of values is, nil for
// scalars.
func structOf(t reflect.Type) (of reflect.Type, isList bool) {
	if t.Kind() == reflect.Slice {
		t, isList = t.Elem(), true
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, isList
	}
	return t, isList
}

func nameOf(t reflect.Type) string {
	if t == reflect.TypeFor[rig.Entry]() {
		return "sensor"
	}
	if t == reflect.TypeFor[config.LabelRule]() {
		return "label rule"
	}
	return strings.ToLower(t.Name())
}

func (p *page) section(s *section) {
	p.printf("## %s\n\n", s.name)
	if len(s.usedAs) > 0 {
		p.printf("In %s.\n\n", codes(s.usedAs))
	}
	var rows [][]string
	for _, f := range doc.Fields(s.of) {
		rows = append(rows, []string{code(f.Tag.Get("yaml")), kindOf(f), f.Tag.Get("default"), f.Tag.Get("doc")})
	}
	if s.of == reflect.TypeFor[rig.Entry]() {
		rows = append(rows, []string{"others", "", "", "the attributes of its type: [docs/sensors.md](sensors.md)"})
	}
	p.table([]string{"key", "value", "default", "meaning"}, rows)
}

// kindOf says which values a key takes.
func kindOf(f reflect.StructField) string {
	if of, isList := structOf(f.Type); of != nil {
		link := fmt.Sprintf("[%s](#%s)", nameOf(of), anchor(nameOf(of)))
		if isList {
			return "list of " + link
		}
		return link
	}
	if enum := f.Tag.Get("enum"); enum != "" {
		return codes(strings.Split(enum, ","))
	}
	return scalarKind(f.Type) + bounds(f.Tag)
}

func scalarKind(t reflect.Type) string {
	if t == reflect.TypeFor[time.Duration]() {
		return "duration"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "`true` or `false`"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "whole number"
	case reflect.Float64:
		return "number"
	case reflect.Map:
		return "names and texts"
	default:
		return "text"
	}
}

func bounds(tag reflect.StructTag) string {
	low, high := tag.Get("min"), tag.Get("max")
	switch {
	case low != "" && high != "":
		return ", " + low + " to " + high
	case low != "":
		return ", at least " + low
	case high != "":
		return ", at most " + high
	default:
		return ""
	}
}
