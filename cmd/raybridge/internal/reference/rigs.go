package reference

import (
	_ "embed" // the text before the tables
	"fmt"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/rig"
)

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
		return "nothing: " + t.Without
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
		return "nothing: " + x.Lost
	case x.Attribute != "" && x.How != "":
		return code(x.Attribute) + "; " + x.How
	case x.Attribute != "":
		return code(x.Attribute)
	default:
		return x.How
	}
}
