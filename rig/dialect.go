package rig

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
)

// Dialect is a way of describing rigs that another program has.
type Dialect struct {
	// Name is the program's: "SVL", "CARLA".
	Name  string
	Types []*ForeignType
}

// Dialects returns what is known of other programs' rigs. It is shared: nothing of
// it may be changed.
func Dialects() []*Dialect { return []*Dialect{svlDialect, carlaDialect} }

// ForeignType is a type of sensor in a Dialect.
type ForeignType struct {
	// Names are the names that rigs give it, the usual one first.
	Names []string
	// ID is our type that it becomes; "" where Without says why it becomes none, or
	// Driver who drives the vehicle.
	ID, Without, Driver string
	// How says what isn't plain in what becomes of it.
	How string
	// Parameters are those of its own and those that it shares with others.
	Parameters []Parameter
	// Set are the attributes that it always gets.
	Set []Fixed

	// open: it may have other parameters too, which do nothing.
	open bool
	// output is the one whose topic the sensor's topic is.
	output string
	// anchor types are frames for others: those are mounted through them.
	anchor bool
	// rateOf is the parameter that is the rate, rate the rate where none is.
	rateOf string
	rate   simtime.Rate
	// finish does what the parameters don't say, after them.
	finish func(*conversion) error
}

// Fixed is an attribute that a type always gets.
type Fixed struct {
	Attribute string
	Value     any
}

// ParameterKind is the kind of value that a parameter takes.
type ParameterKind uint8

// The kinds, with the Go type of their values.
const (
	KindNumber  ParameterKind = iota + 1 // float64
	KindInteger                          // int64
	KindBool                             // bool
	KindText                             // string
	KindNumbers                          // []float64
	KindTexts                            // []string
	KindAny                              // nothing reads it
)

var kindNames = [...]string{
	KindNumber: "number", KindInteger: "whole number", KindBool: "true or false", KindText: "text",
	KindNumbers: "numbers", KindTexts: "texts", KindAny: "anything",
}

// String returns the kind's name in documentation.
func (k ParameterKind) String() string { return kindNames[k] }

// Parameter is a parameter of a ForeignType.
type Parameter struct {
	Name string
	Kind ParameterKind
	Unit string
	// Default is what the other program takes where it isn't given, nil for nothing.
	Default any
	// Min and Max bound numbers, those of lists too, where Min < Max.
	Min, Max float64
	// Options are the only values of a text, where there are any.
	Options []string
	// Attribute is ours that takes the value; "" where How says what becomes of it,
	// or Lost why nothing does.
	Attribute, How, Lost string

	// asOurs: the attribute has the same default, so that it can be left out.
	asOurs bool
	// quiet: what is lost isn't worth a notice.
	quiet bool
}

// take says which attribute takes the value.
func (p Parameter) take(attribute string) Parameter { p.Attribute = attribute; return p }

// same is take for an attribute with the same default.
func (p Parameter) same(attribute string) Parameter {
	p.Attribute, p.asOurs = attribute, true
	return p
}

// in bounds the values.
func (p Parameter) in(low, high float64) Parameter { p.Min, p.Max = low, high; return p }

// of allows the given texts alone.
func (p Parameter) of(options ...string) Parameter { p.Options = options; return p }

// becomes says what the value turns into.
func (p Parameter) becomes(how string) Parameter { p.How = how; return p }

// without says why the value does nothing.
func (p Parameter) without(why string) Parameter { p.Lost = why; return p }

// drawn marks what only changes how the other program draws, or computes, the same.
func (p Parameter) drawn() Parameter {
	p.Lost, p.quiet = "only how the other program draws or computes it", true
	return p
}

func number(name, unit string, value float64) Parameter {
	return Parameter{Name: name, Kind: KindNumber, Unit: unit, Default: value}
}

func integer(name, unit string, value int64) Parameter {
	return Parameter{Name: name, Kind: KindInteger, Unit: unit, Default: value}
}

func boolean(name string, value bool) Parameter {
	return Parameter{Name: name, Kind: KindBool, Default: value}
}

func text(name, value string) Parameter {
	return Parameter{Name: name, Kind: KindText, Default: value}
}

func list(name string, kind ParameterKind) Parameter { return Parameter{Name: name, Kind: kind} }

// parameters joins lists of parameters.
func parameters(lists ...[]Parameter) (all []Parameter) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// find returns the type of a name, nil where there is none; plain brings names that
// mean the same to one form.
func (d *Dialect) find(name string, plain func(string) string) *ForeignType {
	for _, t := range d.Types {
		for _, known := range t.Names {
			if plain(known) == plain(name) {
				return t
			}
		}
	}
	return nil
}

// names lists the usual names of all types.
func (d *Dialect) names() (all []string) {
	for _, t := range d.Types {
		all = append(all, t.Names...)
	}
	return all
}

// parameter returns the type's parameter of a name, nil where there is none.
func (t *ForeignType) parameter(name string) *Parameter {
	for i := range t.Parameters {
		if t.Parameters[i].Name == name {
			return &t.Parameters[i]
		}
	}
	return nil
}

// foreignReader reads a rig of another program.
type foreignReader struct {
	lenient bool
	rig     *Rig
	names   map[string]bool // of the rig's sensors
}

func newForeignReader(lenient bool, origin string) *foreignReader {
	return &foreignReader{lenient: lenient, rig: &Rig{origin: origin}, names: map[string]bool{}}
}

// fault is for what a lenient reader puts up with: it returns err, or notes it.
func (f *foreignReader) fault(err error) error {
	if err == nil || !f.lenient {
		return err
	}
	f.note(err)
	return nil
}

// note tells the user of something; lose of something without counterpart.
func (f *foreignReader) note(err error) { f.rig.Notices = append(f.rig.Notices, noticeOf(err, false)) }

func (f *foreignReader) lose(n doc.JSONNode, format string, args ...any) {
	f.rig.Notices = append(f.rig.Notices, noticeOf(n.Errorf(noCounterpart+format, args...), true))
}

// name makes a name that a rig can have of any text, unlike those it has made before.
func (f *foreignReader) name(wanted string) string {
	plain := strings.Map(func(r rune) rune {
		if r <= ' ' || r == '/' || r == 0x7f {
			return '_'
		}
		return r
	}, strings.TrimSpace(wanted))
	if plain == "" {
		plain = "sensor"
	}
	name := plain
	for i := 2; f.names[name]; i++ {
		name = fmt.Sprintf("%s_%d", plain, i)
	}
	f.names[name] = true
	return name
}

// comment says for WriteYAML what a sensor came from.
func (f *foreignReader) comment(e *sensors.Config, text string) {
	if f.rig.comments == nil {
		f.rig.comments = map[string]string{}
	}
	f.rig.comments[e.Name] = text
}

// conversion is one sensor on its way to ours.
type conversion struct {
	reader *foreignReader
	kind   *ForeignType
	node   doc.JSONNode
	entry  *sensors.Config
	second *sensors.Config         // another one that the sensor also becomes, nil for none
	output string                  // the one whose topic is the sensor's
	values map[string]any          // of the parameters, defaults included
	given  map[string]doc.JSONNode // of those that are written
}

// convert makes an entry of a sensor: its parameters become attributes.
func (f *foreignReader) convert(t *ForeignType, node doc.JSONNode, params []doc.JSONEntry) (*conversion, error) {
	c := &conversion{
		reader: f, kind: t, node: node, output: t.output, values: map[string]any{}, given: map[string]doc.JSONNode{},
		entry: &sensors.Config{ID: t.ID, Rate: t.rate},
	}
	c.entry.PlaceAt("", node)
	if err := c.read(params); err != nil {
		return nil, err
	}
	if t.ID == "" {
		return c, nil
	}
	for i := range t.Parameters {
		p := &t.Parameters[i]
		if _, given := c.given[p.Name]; p.Attribute != "" && (given || !p.asOurs) && c.values[p.Name] != nil {
			c.set(p.Attribute, c.values[p.Name], p.Name)
		}
	}
	for _, s := range t.Set {
		c.set(s.Attribute, s.Value, "")
	}
	if t.rateOf != "" {
		if err := c.rate(decimalRate(c.number(t.rateOf)), t.rateOf); err != nil {
			return nil, err
		}
	}
	if t.finish != nil {
		return c, t.finish(c)
	}
	return c, nil
}

// read fills in the values of the parameters.
func (c *conversion) read(params []doc.JSONEntry) error {
	for i := range c.kind.Parameters {
		p := &c.kind.Parameters[i]
		c.values[p.Name] = p.Default
	}
	for _, e := range params {
		p := c.kind.parameter(e.Key)
		if p == nil && c.kind.open {
			continue
		}
		if p == nil {
			if err := c.reader.fault(e.UnknownKey(c.known())); err != nil {
				return err
			}
			continue
		}
		if e.Value.Null() {
			continue
		}
		v, err := p.parse(e.Value)
		if err != nil {
			return err
		}
		if err := c.reader.fault(p.check(e.Value, v)); err != nil {
			return err
		}
		c.values[p.Name], c.given[p.Name] = v, e.Value
		if p.Lost != "" && !p.quiet && !same(v, p.Default) {
			c.reader.lose(e.Place, "%s", p.Lost)
		}
	}
	return nil
}

// same reports whether a value is a parameter's default, or as empty.
func same(v, def any) bool {
	switch v := v.(type) {
	case []float64:
		return len(v) == 0
	case []string:
		return len(v) == 0
	default:
		return v == def
	}
}

func (c *conversion) known() (names []string) {
	for i := range c.kind.Parameters {
		names = append(names, c.kind.Parameters[i].Name)
	}
	return names
}

// set gives the entry an attribute; parameter is the one that it comes from, if any.
func (c *conversion) set(attribute string, value any, parameter string) {
	c.entry.Set(attribute, value, c.place(parameter))
}

// place is where a parameter stands, or the sensor where it isn't written.
func (c *conversion) place(parameter string) doc.JSONNode {
	if n, given := c.given[parameter]; given {
		return n
	}
	return c.node
}

// rate sets the rate from a text in Hz; parameter is where it comes from.
func (c *conversion) rate(text, parameter string) (err error) {
	if c.entry.Rate, err = simtime.ParseRate(text); err != nil {
		return c.errorf(parameter, "%w", err)
	}
	c.entry.PlaceAt("rate", c.place(parameter))
	return nil
}

// period sets the rate to its inverse, seconds.
func (c *conversion) period(seconds float64, parameter string) error {
	return c.rate("1/"+decimalRate(seconds), parameter)
}

// decimalRate rounds a number to as many decimals as a rate may have.
func decimalRate(f float64) string {
	const decimals = 1e9
	if rounded := math.Round(f*decimals) / decimals; !math.IsInf(rounded, 0) { // a huge one has no decimals
		f = rounded
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// topic sets the topic of an output.
func (c *conversion) topic(output, topic, parameter string) {
	if c.entry.Topics == nil {
		c.entry.Topics = map[string]string{}
	}
	c.entry.Topics[output] = topic
	if n, given := c.given[parameter]; given {
		c.entry.PlaceAt("topics."+output, n)
	}
}

// number, integer, boolean, text and numbers return a parameter's value.
func (c *conversion) number(name string) float64 {
	if i, ok := c.values[name].(int64); ok {
		return float64(i)
	}
	f, _ := c.values[name].(float64)
	return f
}

func (c *conversion) integer(name string) int { i, _ := c.values[name].(int64); return int(i) }

func (c *conversion) boolean(name string) bool { b, _ := c.values[name].(bool); return b }

func (c *conversion) text(name string) string { s, _ := c.values[name].(string); return s }

func (c *conversion) numbers(name string) []float64 { l, _ := c.values[name].([]float64); return l }

func (c *conversion) texts(name string) []string { l, _ := c.values[name].([]string); return l }

// errorf makes an error at a parameter, or at the sensor where it isn't written.
func (c *conversion) errorf(parameter, format string, args ...any) error {
	return c.place(parameter).Errorf(format, args...)
}

// parse reads a parameter's value. Numbers and truth values may be texts: CARLA's ROS
// bridge and SVL read those too.
func (p *Parameter) parse(n doc.JSONNode) (any, error) {
	switch p.Kind {
	case KindBool:
		if s, err := n.Text(); err == nil {
			if b, err := strconv.ParseBool(strings.ToLower(s)); err == nil {
				return b, nil
			}
		}
		return n.Bool()
	case KindNumber:
		return numberOf(n)
	case KindInteger:
		f, err := numberOf(n)
		if err == nil && (f != math.Trunc(f) || math.Abs(f) > 1<<53) {
			err = n.Errorf("%w: %s, need a whole number", doc.ErrType, n)
		}
		return int64(f), err
	case KindText:
		if f, err := n.Number(); err == nil {
			return strconv.FormatFloat(f, 'f', -1, 64), nil
		}
		return n.Text()
	case KindNumbers:
		return listOf(n, numberOf)
	case KindTexts:
		return listOf(n, doc.JSONNode.Text)
	default:
		return nil, nil
	}
}

// needed returns the text of a key that an object must have.
func needed(n doc.JSONNode, key string) (string, error) {
	v := n.Get(key)
	if v.Null() {
		return "", n.Errorf("%w: it needs the key %s", doc.ErrType, key)
	}
	text, err := v.Text()
	if err == nil && strings.TrimSpace(text) == "" {
		err = v.Errorf("%w: %q, need a name", doc.ErrValue, text)
	}
	return text, err
}

func numberOf(n doc.JSONNode) (float64, error) {
	if s, err := n.Text(); err == nil {
		if f, err := strconv.ParseFloat(s, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f, nil
		}
	}
	return n.Number()
}

func listOf[T any](n doc.JSONNode, read func(doc.JSONNode) (T, error)) ([]T, error) {
	items, err := n.Items()
	if err != nil {
		return nil, err
	}
	list := make([]T, len(items))
	for i, item := range items {
		if list[i], err = read(item); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// check holds a value against the parameter's range and options.
func (p *Parameter) check(n doc.JSONNode, value any) error {
	var numbers []float64
	var texts []string
	switch v := value.(type) {
	case float64:
		numbers = []float64{v}
	case int64:
		numbers = []float64{float64(v)}
	case []float64:
		numbers = v
	case string:
		texts = []string{v}
	case []string:
		texts = v
	}
	for _, s := range texts {
		if len(p.Options) > 0 && !slices.Contains(p.Options, s) {
			return n.Errorf("%w: %q, %s", doc.ErrValue, s, fault.Hint(s, p.Options))
		}
	}
	for _, f := range numbers {
		if p.Min < p.Max && (f < p.Min || f > p.Max) {
			unit := p.Unit
			if unit != "" {
				unit = " " + unit
			}
			return n.Errorf("%w: %v, the range is %v to %v%s", doc.ErrRange, f, p.Min, p.Max, unit)
		}
	}
	return nil
}
