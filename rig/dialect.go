package rig

import (
	"embed"
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
func Dialects() []*Dialect { return []*Dialect{svlDialect(), carlaDialect()} }

// ForeignType is a type of sensor in a Dialect. The tags are the keys of the tables.
type ForeignType struct {
	// Names are the names that rigs give it, the usual one first.
	Names []string `yaml:"names"`
	// ID is our type that it becomes; "" where Without says why it becomes none, or
	// Driver who drives the vehicle.
	ID      string `yaml:"id"`
	Without string `yaml:"without"`
	Driver  string `yaml:"driver"`
	// How says what isn't plain in what becomes of it.
	How string `yaml:"how"`
	// Parameters are those of its own and those that it shares with others.
	Parameters Parameters `yaml:"parameters"`
	// Set are the attributes that it always gets.
	Set []Fixed `yaml:"set"`
	// Open: it may have other parameters too, which do nothing.
	Open bool `yaml:"open"`
	// Output is the one whose topic the sensor's topic is.
	Output string `yaml:"output"`
	// Anchor types are frames for others: those are mounted through them.
	Anchor bool `yaml:"anchor"`
	// RateOf is the parameter that is the rate, Rate the rate where none is.
	RateOf string       `yaml:"rate_of"`
	Rate   simtime.Rate `yaml:"rate"`
	// Finish names the function that does what the parameters don't say, after them.
	Finish string `yaml:"finish"`

	finish func(*conversion) error
}

// Fixed is an attribute that a type always gets.
type Fixed struct {
	Attribute string `yaml:"attribute"`
	Value     any    `yaml:"value"` // numbers are float64
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

// kindNames are the kinds' names in documentation, and in tables.
var kindNames = [...][2]string{
	KindNumber: {"number", "number"}, KindInteger: {"whole number", "integer"}, KindBool: {"true or false", "bool"}, KindText: {"text", "text"},
	KindNumbers: {"numbers", "numbers"}, KindTexts: {"texts", "texts"}, KindAny: {"anything", "any"},
}

// String returns the kind's name in documentation.
func (k ParameterKind) String() string { return kindNames[k][0] }

// UnmarshalText reads the kind's name in a table.
func (k *ParameterKind) UnmarshalText(text []byte) error {
	i := slices.IndexFunc(kindNames[:], func(names [2]string) bool { return names[1] == string(text) })
	if i < 1 {
		return fmt.Errorf("%w: %q is not a kind of parameter", doc.ErrValue, text)
	}
	*k = ParameterKind(i)
	return nil
}

// Parameter is a parameter of a ForeignType. The tags are the keys of the tables.
type Parameter struct {
	Name string        `yaml:"name"`
	Kind ParameterKind `yaml:"kind"`
	Unit string        `yaml:"unit"`
	// Default is what the other program takes where it isn't given, nil for nothing.
	Default any `yaml:"default"`
	// Min and Max bound numbers, those of lists too, where Min < Max.
	Min float64 `yaml:"min"`
	Max float64 `yaml:"max"`
	// Options are the only values of a text, where there are any.
	Options []string `yaml:"options"`
	// Attribute is ours that takes the value; "" where How says what becomes of it,
	// or Lost why nothing does.
	Attribute string `yaml:"attribute"`
	How       string `yaml:"how"`
	Lost      string `yaml:"lost"`
	// Same is Attribute where that has the same default, so that it can be left out.
	Same string `yaml:"same"`
	// Quiet: what is lost isn't worth a notice.
	Quiet bool `yaml:"quiet"`
	// Drawn marks what only changes how the other program draws, or computes, the same. Gone
	// marks parameters of a type that has no counterpart, which is told once.
	Drawn bool `yaml:"drawn"`
	Gone  bool `yaml:"gone"`
}

// complete works out what the keys of a table mean.
func (p *Parameter) complete() {
	switch {
	case p.Same != "":
		p.Attribute = p.Same
	case p.Drawn:
		p.Lost, p.Quiet = "it only affects how the other program draws or computes", true
	case p.Gone:
		p.Lost, p.Quiet = "the sensor has no counterpart", true
	}
	if p.Default = floatOf(p.Default); p.Kind == KindInteger && p.Default != nil {
		p.Default = int64(p.Default.(float64))
	}
}

// floatOf makes YAML's whole numbers float64, and leaves other values as they are.
func floatOf(v any) any {
	switch v := v.(type) {
	case uint64:
		return float64(v)
	case int64:
		return float64(v)
	default:
		return v
	}
}

// Parameters are a type's; in a table the lists within their list are its members.
type Parameters []Parameter

// DecodeYAML reads the parameters of a table.
func (l *Parameters) DecodeYAML(n doc.Node) error {
	items, err := n.Items()
	if err != nil {
		return err
	}
	for _, item := range items {
		if _, err := item.Items(); err == nil {
			if err := l.DecodeYAML(item); err != nil {
				return err
			}
			continue
		}
		var p Parameter
		if err := item.Decode(&p); err != nil {
			return err
		}
		p.complete()
		*l = append(*l, p)
	}
	return nil
}

//go:embed svl.yaml carla.yaml
var tables embed.FS

// dialectOf reads the table of a dialect; finish are the functions that its types name. A
// fault of a table is the program's, and panics.
func dialectOf(file string, finish map[string]func(*conversion) error) *Dialect {
	var table struct {
		Name   string         `yaml:"name"`
		Shared any            `yaml:"shared"` // lists of parameters that types name by aliases
		Types  []*ForeignType `yaml:"types"`
	}
	text, err := tables.ReadFile(file)
	if err == nil {
		var n doc.Node
		if n, err = doc.ParseYAML(file, text); err == nil {
			err = n.Decode(&table)
		}
	}
	if err != nil {
		panic(err)
	}
	for _, t := range table.Types {
		for i := range t.Set {
			t.Set[i].Value = floatOf(t.Set[i].Value)
		}
		var known bool
		if t.finish, known = finish[t.Finish]; !known && t.Finish != "" {
			panic(fmt.Sprintf("%s: nothing finishes as %s", file, t.Finish))
		}
	}
	return &Dialect{Name: table.Name, Types: table.Types}
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
	faults  doc.Faults      // that a lenient reader would have put up with
}

func newForeignReader(lenient bool, origin string) *foreignReader {
	return &foreignReader{lenient: lenient, rig: &Rig{origin: origin}, names: map[string]bool{}}
}

// fault is for what a lenient reader puts up with, which notes it. Another one keeps err for the end, and reads
// on, to tell of more. It returns err where that is enough.
func (f *foreignReader) fault(err error) error {
	switch {
	case err == nil:
	case f.lenient:
		f.note(err)
	case f.faults.Add(err):
		return err
	}
	return nil
}

// failed returns all faults, of which err ended the reading; nil for none.
func (f *foreignReader) failed(err error) error {
	f.faults.Add(err)
	return f.faults.Err()
}

// note tells the user of something; lose of something without counterpart.
func (f *foreignReader) note(err error) { f.rig.Notices = append(f.rig.Notices, noticeOf(err, false)) }

func (f *foreignReader) lose(n doc.JSONNode, format string, args ...any) {
	f.rig.Notices = append(f.rig.Notices, NoCounterpart(n, fmt.Sprintf(format, args...)))
}

// entries returns an object's entries, and finds fault with those whose key is neither among the known nor among
// others that are put up with.
func (f *foreignReader) entries(n doc.JSONNode, known []string, others ...string) ([]doc.JSONEntry, error) {
	entries, err := n.Entries()
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !slices.Contains(known, e.Key) && !slices.Contains(others, e.Key) {
			if err := f.fault(e.UnknownKey(known)); err != nil {
				return nil, err
			}
		}
	}
	return entries, nil
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

// plainFrame returns the frame that a file names, in the form that tf takes.
func (f *foreignReader) plainFrame(written string, at doc.JSONNode) string {
	plain := strings.Join(strings.Fields(strings.TrimLeft(written, "/ ")), "_")
	if plain != written {
		f.note(at.Errorf("%w %q becomes %q: names have no spaces and no leading slash", ErrFrame, written, plain))
	}
	return plain
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
		reader: f, kind: t, node: node, output: t.Output, values: map[string]any{}, given: map[string]doc.JSONNode{},
		entry: &sensors.Config{ID: t.ID, Rate: t.Rate},
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
		if _, given := c.given[p.Name]; p.Attribute != "" && (given || p.Same == "") && c.values[p.Name] != nil {
			c.set(p.Attribute, c.values[p.Name], p.Name)
		}
	}
	for _, s := range t.Set {
		c.set(s.Attribute, s.Value, "")
	}
	if t.RateOf != "" {
		if err := c.rate(decimalRate(c.number(t.RateOf)), t.RateOf); err != nil {
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
		if p == nil && c.kind.Open {
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
		if p.Lost != "" && !p.Quiet && !same(v, p.Default) {
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
