package reference

import (
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
)

// Sensors returns docs/sensors.md: every type of sensor with its outputs and
// attributes.
func Sensors(registry *sensors.Registry) []byte {
	var p page
	p.WriteString(notice + `
# Sensors

A rig lists sensors by these ids; ` + "`raybridge sensors list` and `raybridge sensors show ID`" + ` print the same. Every sensor
also has the keys that [docs/config.md](config.md#sensor) lists: its name, frame, pose, topic and rate. An attribute that
isn't given has its default; one outside its range is an error that names the range, and one outside what is *usually* given a
warning. A *fixed* attribute describes the type
and can't be set to anything else; one that *changes nothing* is accepted because other simulators' rigs name it. A sensor
that fires each frame does so at every instant at which anything happens, before all others, and takes no rate. Its number
stands for the type in wire formats and never changes. Coordinates are REP-103: metres, x forward, y left, z up.

`)
	var rows [][]string
	for _, id := range registry.IDs() {
		d := mustGet(registry, id)
		rows = append(rows, []string{fmt.Sprintf("[`%s`](#%s)", id, anchor(id)), d.Doc})
	}
	p.table([]string{"id", "what it is"}, rows)
	for _, id := range registry.IDs() {
		p.sensor(mustGet(registry, id))
	}
	return []byte(strings.TrimRight(p.String(), "\n") + "\n")
}

// mustGet returns a definition that the registry itself has just listed.
func mustGet(registry *sensors.Registry, id string) *sensors.Definition {
	d, err := registry.Get(id)
	if err != nil {
		panic(err)
	}
	return d
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
		rows = append(rows, []string{code(out.Name), topic(out), code(message(out.Type)), out.Doc, quality(out.QoS)})
	}
	p.table([]string{"output", "topic", "message", "what it carries", "quality of service"}, rows)
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
	return list
}

// rate says how often a sensor fires where a rig doesn't.
func rate(d *sensors.Definition) string {
	if d.EachFrame {
		return "each frame"
	}
	return d.DefaultRate + " Hz"
}

// meaning is what an attribute does, or why it does nothing.
func meaning(a *sensors.Attribute) string {
	switch {
	case a.Fixed:
		return "fixed: " + a.Doc
	case a.Inert != "":
		return strings.TrimPrefix(a.Doc+"; changes nothing: ", "; ") + a.Inert
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

// topic says where an output is published: below the sensor's topic, or on a
// topic of its own.
func topic(out *sensors.OutputSpec) string {
	if absolute, ok := strings.CutPrefix(out.Suffix, "//"); ok {
		return code("/" + absolute)
	}
	return "TOPIC" + code(out.Suffix)
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
	fmt.Fprintln(w, "\noutput\ttopic\tmessage\tquality of service\twhat it carries")
	for i := range d.Outputs {
		o := &d.Outputs[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", o.Name, strings.ReplaceAll(topic(o), "`", ""), message(o.Type), quality(o.QoS), o.Doc)
	}
	if len(d.Attributes) > 0 {
		fmt.Fprintln(w, "\nattribute\ttype\tdefault\trange or values\tmeaning")
	}
	for i := range d.Attributes {
		a := &d.Attributes[i]
		values := wrap(withUnit(allowed(a, words), a.Unit), valuesWidth)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", a.Name, a.Type, withUnit(value(a.Default), a.Unit), values[0], meaning(a))
		for _, more := range values[1:] {
			fmt.Fprintf(w, "\t\t\t%s\t\n", more) // the last tab keeps the column one
		}
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
