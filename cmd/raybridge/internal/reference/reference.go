// Package reference writes the pages docs/config.md, docs/sensors.md, docs/messages.md and
// docs/rigs.md from what the program itself knows. That is the types that configurations are read
// into, the registries of sensors and bridges, and the tables of other simulators' rigs. A test
// holds the pages in the repository beside them, and writes them with its flag -update.
package reference

import (
	_ "embed" // texts of the pages
	"encoding"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/weather"
)

//go:generate go test -run ^(TestPagesAreInStep|TestNumbersAreForEver)$ . -update

// page is a Markdown page under construction.
type page struct{ strings.Builder }

// notice begins every page that is written here.
const notice = "<!-- Written by `make generate`: change the Go sources that it describes instead. -->\n"

func (p *page) printf(format string, args ...any) { fmt.Fprintf(p, format, args...) }

// table writes a table; no rows, no table.
func (p *page) table(head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	p.row(head)
	p.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, r := range rows {
		p.row(r)
	}
	p.WriteString("\n")
}

func (p *page) row(cells []string) {
	for _, c := range cells {
		p.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
	}
	p.WriteString("|\n")
}

// code sets text as code, nothing as nothing.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// codes sets each of a list as code.
func codes(list []string) string {
	set := make([]string, len(list))
	for i, s := range list {
		set[i] = code(s)
	}
	return strings.Join(set, ", ")
}

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
Lists and mappings lie at most %d deep in one another. Aliases (`+"`*name`"+`) stand for
at most %d values, a key has at most %d bytes, a file 4 MiB.

`+"`--set KEY=VALUE`"+` of `+"`run`, `demo` and `config check`"+` changes one key, after the file, the rig and the other flags were read: `+"`--set ego.speed=5 --set sensors.lidar.range=50`"+`.
KEY is the path that errors name. An item of a list goes by its index, `+"`actors[0].speed`"+`, or by its name, `+"`actors.bus.speed`"+`: a sensor's name, or its id if no other has it;
an actor's name, or its type or its file's name without the ending; a bridge's type; a topic. Sensors are those of a rig file and of the demo rig, too. VALUE is YAML, as in the
file: `+"`true`, `[1, 2]`, `{x: 1}`"+`. A path is relative to the working directory. A key that isn't there is an error that names the closest one.
`+"`raybridge config show FILE.yaml`"+` prints every key with its value.

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
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return nil, isList
	}
	return t, isList
}

func nameOf(t reflect.Type) string {
	if t == reflect.TypeFor[sensors.Config]() {
		return "sensor"
	}
	if t == reflect.TypeFor[config.LabelRule]() {
		return "label rule"
	}
	if t == reflect.TypeFor[weather.Setting]() {
		return "weather"
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
	if s.of == reflect.TypeFor[sensors.Config]() {
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
	kind, within := scalarKind(f.Type), bounds(f.Tag)
	if kind == "text" && within != "" {
		kind = "number"
	}
	return kind + within
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

//go:embed rigs.md
var rigsText string

// Rigs returns docs/rigs.md: how rigs of other simulators are brought, and what each
// of their sensors and parameters becomes.
func Rigs(dialects []*rig.Dialect) []byte {
	var p page
	p.WriteString(notice + "\n" + rigsText)
	for _, d := range dialects {
		p.dialect(d)
	}
	return []byte(strings.TrimRight(p.String(), "\n") + "\n")
}

// dialect writes a table of a dialect's types, and one for each type's parameters.
func (p *page) dialect(d *rig.Dialect) {
	p.printf("## %s's sensors\n\n", d.Name)
	var rows [][]string
	for _, t := range d.Types {
		name := strings.Join(t.Names, ", ")
		if t.ID != "" {
			name = fmt.Sprintf("[%s](#%s)", name, anchor(typeHeading(d, t)))
		}
		rows = append(rows, []string{name, becomes(t), t.How})
	}
	p.table([]string{"sensor", "becomes", "remarks"}, rows)
	shared := sharedParameters(d)
	p.printf("Every sensor has:\n\n")
	p.parameters(shared)
	for _, t := range d.Types {
		if t.ID == "" {
			continue
		}
		var own []rig.Parameter
		for _, x := range t.Parameters {
			if !slices.ContainsFunc(shared, func(s rig.Parameter) bool { return s.Name == x.Name }) {
				own = append(own, x)
			}
		}
		p.printf("### %s\n\n", typeHeading(d, t))
		if len(t.Set) > 0 {
			var set []string
			for _, s := range t.Set {
				set = append(set, code(fmt.Sprintf("%s: %s", s.Attribute, value(s.Value))))
			}
			p.printf("%s with %s.\n\n", code(t.ID), strings.Join(set, ", "))
		} else {
			p.printf("%s.\n\n", code(t.ID))
		}
		p.parameters(own)
	}
}

// typeHeading is unlike those of the other dialects.
func typeHeading(d *rig.Dialect, t *rig.ForeignType) string { return d.Name + " " + t.Names[0] }

// becomes says what a type turns into.
func becomes(t *rig.ForeignType) string {
	switch {
	case t.ID != "":
		return fmt.Sprintf("[`%s`](sensors.md#%s)", t.ID, anchor(t.ID))
	case t.Driver != "":
		return "the vehicle's driver: " + code(t.Driver)
	default:
		return "ignored: " + t.Without
	}
}

// sharedParameters are those of every type that becomes a sensor.
func sharedParameters(d *rig.Dialect) (shared []rig.Parameter) {
	count := map[string]int{}
	types := 0
	for _, t := range d.Types {
		if t.ID == "" {
			continue
		}
		types++
		for _, x := range t.Parameters {
			if count[x.Name]++; count[x.Name] == 1 {
				shared = append(shared, x)
			}
		}
	}
	return slices.DeleteFunc(shared, func(x rig.Parameter) bool { return count[x.Name] < types })
}

func (p *page) parameters(list []rig.Parameter) {
	var rows [][]string
	for _, x := range list {
		def := ""
		if x.Default != nil {
			def = code(value(x.Default))
		}
		bounds := codes(x.Options)
		if x.Min < x.Max {
			bounds = value(x.Min) + " to " + value(x.Max)
		}
		rows = append(rows, []string{code(x.Name), x.Kind.String(), x.Unit, def, bounds, taken(x)})
	}
	p.table([]string{"parameter", "value", "unit", "default there", "range there", "becomes"}, rows)
}

// taken says what a parameter turns into.
func taken(x rig.Parameter) string {
	switch {
	case x.Lost != "":
		return "ignored: " + x.Lost
	case x.Attribute != "" && x.How != "":
		return code(x.Attribute) + "; " + x.How
	case x.Attribute != "":
		return code(x.Attribute)
	default:
		return x.How
	}
}

// Sensors returns docs/sensors.md: every type of sensor with its outputs and
// attributes.
func Sensors(registry *sensors.Registry) []byte {
	var p page
	p.WriteString(notice + `
# Sensors

A rig lists sensors by these ids; ` + "`raybridge sensors list` and `raybridge sensors show ID`" + ` print the same. Every sensor
also has the keys that [docs/config.md](config.md#sensor) lists: its name, frame, pose, topic and rate. An attribute that
isn't given has its default. One outside its range is an error that names the range, and one outside what is *usually* given a
warning. A *fixed* attribute describes the type
and can't be set to anything else; one that *changes nothing* is accepted because other simulators' rigs name it. One that is *live* may change [while the sensor runs](time.md#changing-sensors). A sensor
that fires each frame does so at every instant at which anything happens, before all others, and takes no rate. Its number
stands for the type in wire formats and never changes. Coordinates are REP-103: metres, x forward, y left, z up.

`)
	var rows [][]string
	for _, d := range registry.Match("*") {
		rows = append(rows, []string{fmt.Sprintf("[`%s`](#%s)", d.ID, anchor(d.ID)), d.Doc})
	}
	p.table([]string{"id", "what it is"}, rows)
	for _, d := range registry.Match("*") {
		p.sensor(d)
	}
	return []byte(strings.TrimRight(p.String(), "\n") + "\n")
}

// The line of docs/weather.md with which the table of sensors begins, and that with which a written part of a page ends.
const (
	feltBegins = "<!-- Sensors: written by `make generate`. -->\n"
	partEnds   = "<!-- . -->\n"
)

// Weather returns docs/weather.md, whose text is given, with the table of what each sensor feels of the weather. A sensor that feels none
// of it has a row if it says why.
func Weather(text []byte, registry *sensors.Registry) ([]byte, error) {
	head, rows, without := []string{"sensor"}, [][]string{}, [][]string{}
	for _, part := range (&sensors.Felt{}).Parts() {
		head = append(head, code(part.Key))
	}
	for _, d := range registry.Match("*") {
		row := []string{fmt.Sprintf("[`%s`](sensors.md#%s)", d.ID, anchor(d.ID))}
		if d.Weather.None != "" {
			without = append(without, append(row, d.Weather.None))
		}
		if d.Weather.Keys() == nil {
			continue
		}
		for _, part := range d.Weather.Parts() {
			row = append(row, part.How)
		}
		rows = append(rows, row)
	}
	var p page
	p.table(head, rows)
	p.table([]string{"feels none of it", "because"}, without)
	return fill("docs/weather.md", text, feltBegins, p.String())
}

// fill puts a part that is written into a page, between the line with which it begins and partEnds.
func fill(name string, text []byte, begins, part string) ([]byte, error) {
	before, rest, begun := strings.Cut(string(text), begins)
	_, after, ended := strings.Cut(rest, partEnds)
	if !begun || !ended {
		return nil, fmt.Errorf("%s lacks the lines %s and %s around its table", name, strings.TrimSpace(begins), strings.TrimSpace(partEnds))
	}
	return []byte(before + begins + "\n" + part + partEnds + after), nil
}

// devicesBegin is the line of docs/lidars.md with which the table of devices begins.
const devicesBegin = "<!-- Devices: written by `make generate`. -->\n"

// Lidars returns docs/lidars.md, whose text is given, with the table of the devices of presets.
func Lidars(text []byte, d *sensors.Definition) ([]byte, error) {
	var p page
	p.table(d.Devices.Head, d.Devices.Rows)
	return fill("docs/lidars.md", text, devicesBegin, p.String())
}

// anchor is the link target that renderers give a heading.
func anchor(heading string) string {
	return strings.NewReplacer(".", "", " ", "-").Replace(strings.ToLower(heading))
}

func (p *page) sensor(d *sensors.Definition) {
	p.printf("## %s\n\n%s. %s.\n\n", d.ID, sentence(d.Doc), sentence(strings.Join(facts(d, codes), "; ")))
	var rows [][]string
	for i := range d.Outputs {
		out := &d.Outputs[i]
		rows = append(rows, []string{code(out.Name), topic(out.Suffix), code(message(out.Type)), out.Doc, quality(out.QoS)})
	}
	p.table([]string{"output", "topic", "message", "what it carries", "quality of service"}, rows)
	rows = nil
	for i := range d.Inputs {
		in := &d.Inputs[i]
		rows = append(rows, []string{code(in.Name), topic(in.Suffix), code(message(in.Type)), in.Doc, quality(in.QoS)})
	}
	p.table([]string{"input", "topic", "message", "what it says", "quality of service"}, rows)
	rows = nil
	for i := range d.Attributes {
		a := &d.Attributes[i]
		rows = append(rows, []string{code(a.Name), a.Type.String(), a.Unit, code(value(a.Default)), allowed(a, codes), meaning(a)})
	}
	p.table([]string{"attribute", "type", "unit", "default", "range or values", "meaning"}, rows)
}

// facts returns what a definition says of its type as a whole; set makes the list of tags.
func facts(d *sensors.Definition, set func([]string) string) []string {
	list := []string{"default rate " + rate(d)}
	if d.EachFrame {
		list[0] = "fires " + rate(d)
	}
	if d.Number != 0 {
		list = append(list, fmt.Sprint("number ", d.Number))
	}
	if len(d.Tags) > 0 {
		list = append(list, "tags "+set(d.Tags))
	}
	if felt := d.Weather.Keys(); felt != nil {
		list = append(list, "depends on the weather's "+set(felt))
	}
	return list
}

// rate says how often a sensor fires where a rig doesn't.
func rate(d *sensors.Definition) string {
	if d.EachFrame {
		return "each frame"
	}
	return d.Rate.String() + " Hz"
}

// meaning is what an attribute does, or why it does nothing.
func meaning(a *sensors.Attribute) string {
	switch {
	case a.Fixed:
		return "fixed: " + a.Doc
	case a.Inert != "":
		return strings.TrimPrefix(a.Doc+"; changes nothing: ", "; ") + a.Inert
	case a.Live:
		return a.Doc + "; *live*"
	default:
		return a.Doc
	}
}

// sentence begins a text with a capital letter.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// topic says where an output or input with that suffix is: below the sensor's topic, or
// on a topic of its own.
func topic(suffix string) string {
	if absolute, ok := strings.CutPrefix(suffix, "//"); ok {
		return code("/" + absolute)
	}
	return "TOPIC" + code(suffix)
}

// message names a message's Go type without its pointer.
func message(t reflect.Type) string { return strings.TrimPrefix(t.String(), "*") }

func quality(q flow.QoS) string {
	q = q.OrDefault()
	words := []string{strings.ReplaceAll(q.Reliability.String(), "_", " ")}
	if q.Durability == flow.TransientLocal {
		words = append(words, "transient local")
	}
	return strings.Join(append(words, fmt.Sprintf("depth %d", q.Depth)), ", ")
}

// exact is the number from which on float64 does not hold every whole number.
const exact = 1 << 53

// value prints an attribute's value as a rig file gives it.
func value(v any) string {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < exact {
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	case [3]uint8:
		return fmt.Sprintf("%d,%d,%d", v[0], v[1], v[2])
	case []float64:
		parts := make([]string, len(v))
		for i, f := range v {
			parts[i] = value(f)
		}
		return strings.Join(parts, ",")
	default:
		return fmt.Sprint(v)
	}
}

// allowed says which values an attribute takes; set makes the list of names.
func allowed(a *sensors.Attribute, set func([]string) string) string {
	var parts []string
	if a.Min < a.Max {
		parts = append(parts, value(a.Min)+" to "+value(a.Max))
	}
	if a.UsualMin < a.UsualMax {
		parts = append(parts, "usually "+value(a.UsualMin)+" to "+value(a.UsualMax))
	}
	if len(a.Recommended) > 0 {
		names := set(a.Recommended)
		if !a.Restricted {
			names = "such as " + names
		}
		parts = append(parts, names)
	}
	return strings.Join(parts, "; ")
}

// Messages returns docs/messages.md: which bridge carries what sensors publish, and why another
// doesn't. An error names those that do neither.
func Messages(types *sensors.Registry, registry *bridges.Registry) ([]byte, error) {
	var p page
	p.WriteString(notice + `
# What each bridge carries

Rows are the messages that sensors publish ([sensors.md](sensors.md) says which sensor has which), columns the bridges.

* **yes**: a message of the protocol's own, or of the system that it is for; ` + "`raybridge bridges show NAME`" + ` names it.
* **mirror**: the message of that name in ` + "`raybridge_msgs`" + `, field by field, since the system has none.
  [raybridge-msgs.md](raybridge-msgs.md) has the definitions; recordings and Foxglove have them with the data.
* **no**: nothing, [for a reason](#why-not).

A type of your own is carried as its mirror by every bridge that has mirrors, unless it is
[registered as another](adding-a-bridge.md#types-of-your-own). The run's log goes to Foxglove alone: it isn't data.

`)
	var rows [][]string
	for _, t := range published(types) {
		row := []string{sampleCode(t.String())}
		for _, plugin := range registry.Plugins() {
			row = append(row, carriage(plugin, t))
		}
		rows = append(rows, row)
	}
	p.table(append([]string{"message"}, registry.Names()...), rows)
	p.WriteString("## Why not\n\n")
	reasons, err := whyNot(types, registry)
	p.table([]string{"bridge", "message", "reason"}, reasons)
	p.WriteString("## What is left out\n\nThese messages have no place for all that a sample of ground truth says. Mirrors, `logging` and `stream` have all of it.\n\n")
	p.table([]string{"message", "as", "without"}, lacks(types, registry))
	return []byte(strings.TrimRight(p.String(), "\n") + "\n"), err
}

// sampleCode names a message's Go type as the page's tables do.
func sampleCode(goType string) string {
	return code(strings.TrimPrefix(strings.TrimPrefix(goType, "*"), "sample."))
}

// whyNot has a row for each reason of each bridge, with the messages that it is of. The error is
// that of NotCarried for all bridges.
func whyNot(types *sensors.Registry, registry *bridges.Registry) (rows [][]string, err error) {
	for _, plugin := range registry.Plugins() {
		gaps, holes := NotCarried(plugin, types)
		err = errors.Join(err, holes)
		from := len(rows)
		for _, g := range gaps {
			at := slices.IndexFunc(rows[from:], func(row []string) bool { return row[2] == g.Reason })
			if at < 0 {
				rows = append(rows, []string{code(plugin.Info().Name), sampleCode(g.Go), g.Reason})
				continue
			}
			rows[from+at][1] += ", " + sampleCode(g.Go)
		}
	}
	return rows, err
}

// NotCarried lists what sensors publish and a bridge doesn't carry, by name. The error names what
// it gives no reason for, and what it carries though it has one.
func NotCarried(p *bridges.Plugin, types *sensors.Registry) (gaps []bridges.Gap, err error) {
	info := p.Info()
	for _, t := range published(types) {
		_, refused := p.Publishes(t)
		switch reason := info.Gap(t); {
		case refused == nil && slices.ContainsFunc(info.Gaps, func(g bridges.Gap) bool { return g.Go == t.String() }):
			err = errors.Join(err, fmt.Errorf("bridge %s carries %v and says why it doesn't (Info.Gaps)", info.Name, t))
		case refused == nil:
		case reason == "":
			err = errors.Join(err, fmt.Errorf("bridge %s neither carries %v nor says why (Info.Gaps)", info.Name, t))
		default:
			gaps = append(gaps, bridges.Gap{Go: t.String(), Reason: reason})
		}
	}
	return gaps, err
}

// lacks has a row for each message of a protocol that lacks fields of a sample.
func lacks(types *sensors.Registry, registry *bridges.Registry) (rows [][]string) {
	for _, t := range published(types) {
		var wires []string
		for _, plugin := range registry.Plugins() {
			if wire, err := plugin.Publishes(t); err == nil {
				wires = append(wires, strings.Replace(wire, "/msg/", "/", 1))
			}
		}
		slices.Sort(wires)
		for _, wire := range slices.Compact(wires) {
			fields := mcap.Lacks(wire, t)
			if len(fields) > 0 {
				rows = append(rows, []string{sampleCode(t.String()), code(wire), codes(fields)})
			}
		}
	}
	return rows
}

// published lists the types of all sensors' outputs, by name.
func published(types *sensors.Registry) (list []reflect.Type) {
	for _, d := range types.Match("*") {
		for _, out := range d.Outputs {
			if !slices.Contains(list, out.Type) {
				list = append(list, out.Type)
			}
		}
	}
	slices.SortFunc(list, func(a, b reflect.Type) int { return strings.Compare(a.String(), b.String()) })
	return list
}

// carriage says how a bridge carries a type.
func carriage(plugin *bridges.Plugin, t reflect.Type) string {
	wire, err := plugin.Publishes(t)
	switch {
	case err != nil:
		return "no"
	case strings.HasPrefix(wire, "raybridge_msgs/"):
		return "mirror"
	default:
		return "yes"
	}
}

// ListSensors writes one line for each of the given types of sensors.
func ListSensors(out io.Writer, list []*sensors.Definition) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, d := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\n", d.ID, rate(d), d.Doc)
	}
	_ = w.Flush() // a terminal that is gone needs no table
}

// ShowSensor writes all that docs/sensors.md says of one type of sensor, for a
// terminal.
func ShowSensor(out io.Writer, d *sensors.Definition) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s: %s\n%s\n", d.ID, d.Doc, strings.Join(facts(d, words), "; "))
	if len(d.Outputs) > 0 || len(d.Inputs) == 0 {
		fmt.Fprintln(w, "\noutput\ttopic\tmessage\tquality of service\twhat it carries")
	}
	for i := range d.Outputs {
		o := &d.Outputs[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", o.Name, strings.ReplaceAll(topic(o.Suffix), "`", ""), message(o.Type), quality(o.QoS), o.Doc)
	}
	if len(d.Inputs) > 0 {
		fmt.Fprintln(w, "\ninput\ttopic\tmessage\tquality of service\twhat it says")
	}
	for i := range d.Inputs {
		in := &d.Inputs[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", in.Name, strings.ReplaceAll(topic(in.Suffix), "`", ""), message(in.Type), quality(in.QoS), in.Doc)
	}
	if len(d.Attributes) > 0 {
		fmt.Fprintln(w, "\nattribute\ttype\tdefault\trange or values\tmeaning")
	}
	for i := range d.Attributes {
		a := &d.Attributes[i]
		values := wrap(withUnit(allowed(a, words), a.Unit), valuesWidth)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", a.Name, a.Type, withUnit(value(a.Default), a.Unit), values[0], strings.ReplaceAll(meaning(a), "*", ""))
		for _, more := range values[1:] {
			fmt.Fprintf(w, "\t\t\t%s\t\n", more) // the last tab keeps the column one
		}
	}
	if len(d.Devices.Rows) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(d.Devices.Head, "\t"))
	}
	for _, row := range d.Devices.Rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // a terminal that is gone needs no table
}

// valuesWidth is the number of characters of a list of values in a line.
const valuesWidth = 60

// wrap breaks a text at its spaces into lines of at most width characters; a word that
// is longer has a line of its own. There is always one line.
func wrap(text string, width int) []string {
	lines := []string{""}
	for i, word := range strings.Fields(text) {
		last := &lines[len(lines)-1]
		switch {
		case i == 0:
			*last = word
		case utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

func words(list []string) string { return strings.Join(list, ", ") }

func withUnit(text, unit string) string {
	if text == "" || unit == "" {
		return text
	}
	return text + " " + unit
}
