package rig

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
	rateOf, rate string
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
