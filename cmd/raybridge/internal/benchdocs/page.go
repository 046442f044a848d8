package main

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/bench"
)

// Marks around a part's tables, and at the head of each machine's block in them. Everything else on the
// page is written by hand.
const (
	beginMark   = "<!-- figures: %s -->\n"
	machineMark = "<!-- machine: "
	endMark     = "<!-- end -->\n"
)

// errPage says that the page doesn't fit the parts.
var errPage = errors.New("the page lacks a mark")

// write puts the part's tables of one machine between the part's marks, and its figures where the
// page repeats them. Blocks of other machines stay as they are. Equal figures give an equal text.
func (p *part) write(page string, figures []bench.Figure) (string, error) {
	begin := fmt.Sprintf(beginMark, p.name)
	before, rest, found := strings.Cut(page, begin)
	if !found {
		return "", fmt.Errorf("%w: %q", errPage, strings.TrimSpace(begin))
	}
	blocks, after, found := strings.Cut(rest, endMark)
	if !found {
		return "", fmt.Errorf("%w: %q after %q", errPage, strings.TrimSpace(endMark), strings.TrimSpace(begin))
	}
	text, err := p.text(figures)
	if err != nil {
		return "", err
	}
	return repeat(before+begin+replaceBlock(blocks, figures[0].Machine.Name(), text)+endMark+after, figures), nil
}

// replaceBlock puts a machine's text where its last one stood, or behind those of the others.
func replaceBlock(blocks, machine, text string) string {
	mark := machineMark + machine + " -->\n"
	before, rest, found := strings.Cut(blocks, mark)
	if !found {
		return blocks + mark + text
	}
	if next := strings.Index(rest, machineMark); next >= 0 {
		text += rest[next:]
	}
	return before + mark + text
}

var (
	// called says by which name the page's text calls a machine:
	// <!-- called AMD EPYC: 2 cores of AMD EPYC (family 25, model 17) -->.
	called = regexp.MustCompile(`<!-- called (.+?): (.+?) -->`)
	// repeated is a figure of such a machine within the text of the page:
	// <!-- = NAME CASE @ AMD EPYC -->4.31 M rays/s<!-- . -->. NAME:OVER is a ratio.
	repeated = regexp.MustCompile(`<!-- = (\S+) (\S+) @ (.+?) -->(.*?)<!-- \. -->`)
)

// repeat writes the medians where the page repeats them. It leaves alone what it has no figures of,
// and figures of other machines.
func repeat(page string, figures []bench.Figure) string {
	machines := map[string]string{}
	for _, m := range called.FindAllStringSubmatch(page, -1) {
		machines[m[1]] = m[2]
	}
	return repeated.ReplaceAllStringFunc(page, func(whole string) string {
		m := repeated.FindStringSubmatch(whole)
		if machines[m[3]] != figures[0].Machine.Name() {
			return whole
		}
		name, over, _ := strings.Cut(m[1], ":")
		runs, unit := runsOf(figures, m[2], column{figure: name, over: over})
		if len(runs) == 0 {
			return whole
		}
		r := bench.Result{Runs: runs}
		return fmt.Sprintf("<!-- = %s %s @ %s -->%s<!-- . -->", m[1], m[2], m[3], scaleOf(r.Median(), unit).full(r.Median()))
	})
}

// text is what stands between the marks.
func (p *part) text(figures []bench.Figure) (string, error) {
	var b strings.Builder
	b.WriteString("\n" + measured(figures) + "\n")
	var cases []string
	for i := range figures {
		if !slices.Contains(cases, figures[i].Case) {
			cases = append(cases, figures[i].Case)
		}
	}
	written := 0
	for _, columns := range p.tables {
		var rows []string
		for _, title := range cases {
			row, some := fmt.Sprintf("| `%s` |", title), false
			for _, c := range columns {
				text := "-"
				if runs, unit := runsOf(figures, title, c); len(runs) > 0 {
					text, some = cell(runs, unit), true
				}
				row += " " + text + " |"
			}
			if some {
				rows = append(rows, row)
			}
		}
		if len(rows) == 0 {
			continue
		}
		written++
		head, line := "| case |", "|---|"
		for _, c := range columns {
			head, line = head+" "+c.head+" |", line+"---|"
		}
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n", head, line, strings.Join(rows, "\n"))
	}
	if written == 0 {
		return "", fmt.Errorf("measured none of the figures of %s", p.name)
	}
	if p.chart != "" {
		machine := figures[0].Machine.Name()
		fmt.Fprintf(&b, "\n![%s on %s: the medians and what was fitted to them](%s)\n", p.name, machine, p.chartOf(machine))
	}
	return b.String() + "\n", nil
}

// measured says what figures are of, a fact a sentence.
func measured(figures []bench.Figure) string {
	if len(figures) == 0 {
		return "Nothing was measured."
	}
	m := figures[0].Machine
	least, most := math.MaxInt, 0
	var devices []string
	for i := range figures {
		name, _, _ := strings.Cut(figures[i].Machine.Device, ";")
		if name != "" && !slices.Contains(devices, name) {
			devices = append(devices, name)
		}
		n := len(figures[i].Runs)
		least, most = min(least, n), max(most, n)
		m.LoadBefore, m.LoadAfter = max(m.LoadBefore, figures[i].Machine.LoadBefore), max(m.LoadAfter, figures[i].Machine.LoadAfter)
	}
	runs := strconv.Itoa(most)
	if least < most {
		runs = fmt.Sprintf("%d to %d", least, most)
	}
	flags, device, load := "", "", ""
	if m.Flags != "" {
		flags = " with " + m.Flags
	}
	if len(devices) > 0 {
		device = fmt.Sprintf(" Device: %s.", strings.Join(devices, "; "))
	}
	if m.LoadBefore >= 0 {
		load = fmt.Sprintf(" Load: %.2f before, %.2f after.", m.LoadBefore, m.LoadAfter)
		if m.Busy() {
			load += " **Other programs were running.**"
		}
	}
	return fmt.Sprintf("Measured %s of commit %s with %s, n = %s. Machine: **%s**%s.%s%s", m.Date, m.Commit, m.GoVersion, runs, m.Name(), flags, device, load)
}

// runsOf returns the values of a column in one case, nil where there are none.
func runsOf(figures []bench.Figure, title string, c column) (runs []float64, unit string) {
	find := func(name string) *bench.Figure {
		for i := range figures {
			if figures[i].Name == name && figures[i].Case == title {
				return &figures[i]
			}
		}
		return nil
	}
	f := find(c.figure)
	if f == nil {
		return nil, ""
	}
	if c.over == "" {
		return f.Runs, f.Unit
	}
	by := find(c.over)
	if by == nil {
		return nil, ""
	}
	for i := range min(len(f.Runs), len(by.Runs)) {
		runs = append(runs, f.Runs[i]/by.Runs[i])
	}
	return runs, ""
}

// cell has the median with its unit, and the least and the greatest run.
func cell(runs []float64, unit string) string {
	r := bench.Result{Runs: runs}
	s := scaleOf(r.Median(), unit)
	least, most := s.number(slices.Min(runs)), s.number(slices.Max(runs))
	if least == most {
		return s.full(r.Median())
	}
	return fmt.Sprintf("%s (%s to %s)", s.full(r.Median()), least, most)
}

// scale is how a quantity is written: divided by a factor, with a unit.
type scale struct {
	factor float64
	unit   string
}

// scaleOf chooses the scale for a value of a unit.
func scaleOf(v float64, unit string) scale {
	v = math.Abs(v)
	pick := func(list ...scale) scale { // the first whose factor the value reaches, or the last
		for _, s := range list {
			if v >= s.factor {
				return s
			}
		}
		return list[len(list)-1]
	}
	switch unit {
	case "bytes":
		return pick(scale{1e9, "GB"}, scale{1e6, "MB"}, scale{1e3, "kB"})
	case "bytes/s":
		return pick(scale{1e9, "GB/s"}, scale{1e6, "MB/s"})
	case "rays/s", "rays/CPU s":
		return scale{1e6, "M " + unit}
	case "ns":
		return pick(scale{1e6, "ms"}, scale{1e3, "µs"}, scale{1, "ns"})
	case "µs":
		return pick(scale{1e3, "ms"}, scale{1, "µs"})
	}
	return scale{1, unit}
}

// number writes a value with three significant digits.
func (s scale) number(v float64) string {
	v /= s.factor
	if v == 0 {
		return "0"
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	if digits < 0 {
		unit := math.Pow10(-digits)
		v, digits = math.Round(v/unit)*unit, 0
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	whole, fraction, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
		whole += "." + fraction
	}
	return whole
}

// full is the number with its unit.
func (s scale) full(v float64) string { return strings.TrimSpace(s.number(v) + " " + s.unit) }
