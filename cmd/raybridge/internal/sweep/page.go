package sweep

import (
	"bytes"
	"cmp"
	_ "embed" // the page
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/chart"
	"github.com/raybridge/raybridge/internal/fault"
)

//go:embed page.tmpl
var pageSource string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"number": func(v float64) string { return fault.Number(v, 5) },
	"count":  fault.Count[int],
}).Parse(pageSource))

// row is a case as the tables and the report have it.
type row struct {
	*Case
	state string
	// found is what it has given, and at the store that has it; nil for a case that isn't done.
	found  *Manifest
	at     *Store
	timing *Timing
	// failure is why it failed for good, and failedAt the store that says so.
	failure  *Failure
	failedAt *Store
}

// metric is what a case gave, NaN for nothing.
func (r *row) metric(name string) float64 {
	if r.found != nil {
		if v, ok := r.found.Metrics[name]; ok {
			return v
		}
	}
	return math.NaN()
}

// tries is how often a case was tried, 0 where that isn't known.
func (r *row) tries() int {
	switch {
	case r.timing != nil:
		return r.timing.Tries
	case r.failure != nil:
		return r.failure.Attempts
	}
	return 0
}

// page is what the report shows. It has no wall times outside of Timing.
type page struct {
	Plan    *Plan
	Merged  *Merged
	Missing int
	Metrics []quantity
	Alarms  []Alarm
	Reasons []reason
	Timing  []quantity
	Took    time.Duration // the sum of the cases' wall times
	Again   int           // cases that were tried more than once
	Hosts   []string
	Cases   caseTable
}

// quantity is a figure that each case has, by each parameter.
type quantity struct {
	Name                     string
	Cases                    int
	Least, Mean, Median, Top float64
	Figures                  []template.HTML
	Heat                     *heatMap
}

// reason is why cases failed for good.
type reason struct {
	Text  string
	Cases int
}

// newPage draws the report of a plan's cases. folder is where it will lie.
func newPage(p *Plan, merged *Merged, rows []row, folder string) *page {
	g := &page{Plan: p, Merged: merged, Missing: merged.Total - merged.Done - merged.Failed}
	for _, a := range merged.Alarms {
		g.Alarms = append(g.Alarms, Alarm{ID: a.ID, Files: a.Files})
	}
	d := newDrawing(p, rows)
	for i, name := range p.Collect {
		g.Metrics = append(g.Metrics, d.quantity(fmt.Sprintf("metric-%d", i), name, func(r *row) float64 { return r.metric(name) }))
	}
	g.Timing = []quantity{
		d.quantity("wall", "wall time, s", (*row).wall),
		d.quantity("factor", "real-time factor", (*row).factor),
	}
	reasons, hosts := map[string]int{}, map[string]bool{}
	for i := range rows {
		r := &rows[i]
		if r.state == stateFailed {
			reasons[r.failure.Reason]++
		}
		if r.timing != nil {
			g.Took += time.Duration(r.timing.WallS * float64(time.Second))
			hosts[r.timing.Host] = true
		}
		if r.tries() > 1 {
			g.Again++
		}
	}
	for _, text := range slices.Sorted(maps.Keys(reasons)) {
		g.Reasons = append(g.Reasons, reason{text, reasons[text]})
	}
	slices.SortStableFunc(g.Reasons, func(a, b reason) int { return b.Cases - a.Cases })
	g.Hosts, g.Took = slices.Sorted(maps.Keys(hosts)), g.Took.Round(10*time.Millisecond)
	g.Cases = d.table(folder)
	return g
}

// wall is how long the case's process took, seconds.
func (r *row) wall() float64 {
	if r.timing == nil {
		return math.NaN()
	}
	return r.timing.WallS
}

// factor is the run's real-time factor.
func (r *row) factor() float64 {
	if r.timing != nil {
		if v, err := strconv.ParseFloat(r.timing.realTimeFactor(), 64); err == nil {
			return v
		}
	}
	return math.NaN()
}

// save writes the report, whole or not at all.
func (g *page) save(folder string) error {
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, g); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return replace(folder, ReportFile, out.Bytes())
}

// parameter is a key that the sweep varies.
type parameter struct {
	name string
	// values has one for each case: the number or the place among names; NaN for a case that leaves the key as it is in the base.
	values []float64
	names  []string // of values that aren't numbers
	timed  bool     // values are times, in seconds
}

// label names the parameter on an axis.
func (p *parameter) label() string {
	if p.timed {
		return p.name + ", s"
	}
	return p.name
}

// newParameter returns a key's values, and false where the sweep doesn't vary it.
func newParameter(name string, key int, rows []row) (parameter, bool) {
	p := parameter{name: name}
	texts := make([]string, len(rows))
	for i := range rows {
		if key < len(rows[i].Values) {
			texts[i] = rows[i].Values[key]
		}
	}
	if values, ok := parsed(texts, func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }); ok {
		p.values = values
	} else if values, ok := parsed(texts, seconds); ok {
		p.values, p.timed = values, true
	} else {
		p.place(texts)
	}
	return p, len(distinct(p.values)) > 1
}

// parsed reads numbers; it reports false where one that is given isn't finite, or isn't a number.
func parsed(texts []string, parse func(string) (float64, error)) (values []float64, ok bool) {
	values = make([]float64, len(texts))
	for i, text := range texts {
		v, err := parse(text)
		switch {
		case text == "":
			v = math.NaN()
		case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
			return nil, false
		}
		values[i] = v
	}
	return values, true
}

func seconds(text string) (float64, error) {
	d, err := time.ParseDuration(unquoted(text))
	return d.Seconds(), err
}

// unquoted is a value of a key without what YAML has around it.
func unquoted(text string) string {
	if plain, err := plainText(text); err == nil {
		return plain
	}
	return text
}

// place gives each text a place, in the plan's order.
func (p *parameter) place(texts []string) {
	at := map[string]int{}
	for _, text := range texts {
		if _, known := at[text]; !known {
			at[text] = len(at)
			name := "as in the base"
			if text != "" {
				name = cmp.Or(unquoted(text), "none")
			}
			p.names = append(p.names, name)
		}
		p.values = append(p.values, float64(at[text]))
	}
}

// distinct returns the values, each once, in order.
func distinct(values []float64) []float64 {
	list := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(list)
	return slices.Compact(list)
}

// drawing draws the figures of a report.
type drawing struct {
	plan       *Plan
	rows       []row
	parameters []parameter
	// order has the rows by id. Ids are hashes, so the first ones are a fair sample.
	order []int
	// most is how many points a figure has.
	most int
}

// Limits of a page that stays quick: points of all figures together, of one at most, and of one at least.
const (
	pagePoints   = 60_000
	figurePoints = 1000
	leastPoints  = 100
)

func newDrawing(p *Plan, rows []row) *drawing {
	d := &drawing{plan: p, rows: rows, order: make([]int, len(rows))}
	for key, name := range p.Keys {
		if v, varied := newParameter(name, key, rows); varied {
			d.parameters = append(d.parameters, v)
		}
	}
	for i := range d.order {
		d.order[i] = i
	}
	slices.SortFunc(d.order, func(a, b int) int { return cmp.Compare(rows[a].ID, rows[b].ID) })
	figures := max(1, len(d.parameters)*(len(p.Collect)+2))
	d.most = min(max(pagePoints/figures, leastPoints), figurePoints)
	return d
}

// quantity draws a figure of all cases over each parameter. id begins the ids of its elements.
func (d *drawing) quantity(id, name string, of func(*row) float64) quantity {
	values := make([]float64, len(d.rows))
	for i := range d.rows {
		values[i] = of(&d.rows[i])
	}
	known := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	q := quantity{Name: name, Cases: len(known)}
	if len(known) > 0 {
		slices.Sort(known)
		q.Least, q.Top, q.Median, q.Mean = known[0], known[len(known)-1], (known[(len(known)-1)/2]+known[len(known)/2])/2, mean(known)
	}
	for i := range d.parameters {
		sheet := chart.Sheet{Title: name + " over " + d.parameters[i].name, Width: 560, Charts: []chart.Chart{d.chart(name, values, &d.parameters[i])}}
		q.Figures = append(q.Figures, template.HTML(sheet.Element(fmt.Sprintf("%s-%d", id, i)))) //nolint:gosec // it is escaped
	}
	q.Heat = d.heat(values)
	return q
}

// chart scatters a figure over a parameter, with the means, and with the cases that failed on the axis.
func (d *drawing) chart(name string, values []float64, over *parameter) chart.Chart {
	cases, failed := chart.Series{Name: "case", Kind: chart.Points}, chart.Series{Name: "failed", Kind: chart.Rug}
	all := 0
	for _, i := range d.order {
		x, y := over.values[i], values[i]
		switch {
		case math.IsNaN(x):
		case !math.IsNaN(y):
			if all++; all <= d.most {
				cases.X, cases.Y = append(cases.X, x), append(cases.Y, y)
			}
		case d.rows[i].state == stateFailed && len(failed.X) < d.most:
			failed.X = append(failed.X, x)
		}
	}
	if all > d.most {
		cases.Name = fmt.Sprintf("case, %d of %d", d.most, all)
	}
	c := chart.Chart{Title: "over " + over.name, X: over.label(), Y: name, Names: over.names, Ticks: over.ticks(), Near: true, Series: []chart.Series{cases, failed, over.means(values)}}
	if len(failed.X) == 0 {
		c.Series[1].Name = "" // nothing for the legend to explain
	}
	return c
}

// ticks are the values of a parameter that has few of them, and none close to each other.
func (p *parameter) ticks() []float64 {
	const most = 12
	at := distinct(p.values)
	if p.names != nil || len(at) > most {
		return nil
	}
	for i := range at[1:] {
		if at[i+1]-at[i] < (at[len(at)-1]-at[0])/most {
			return nil
		}
	}
	return at
}

// Means are taken of each value where a parameter has few, else of as many equal parts of its range.
const (
	fewValues = 40
	parts     = 20
)

// means is the mean of a figure for each of the parameter's values, or in each part of its range.
func (p *parameter) means(values []float64) chart.Series {
	at := distinct(p.values)
	part := func(x float64) int { i, _ := slices.BinarySearch(at, x); return i }
	if len(at) > fewValues && p.names == nil {
		lo, width := at[0], (at[len(at)-1]-at[0])/parts
		part = func(x float64) int { return min(int((x-lo)/width), parts-1) }
		at = make([]float64, parts)
	}
	x, y := make([][]float64, len(at)), make([][]float64, len(at))
	for i, v := range p.values {
		if !math.IsNaN(v) && !math.IsNaN(values[i]) {
			k := part(v)
			x[k], y[k] = append(x[k], v), append(y[k], values[i])
		}
	}
	s := chart.Series{Name: "mean"}
	for k := range at {
		switch {
		case len(y[k]) == 0:
		case p.names != nil: // names have no order: a dash for each
			m := mean(y[k])
			s.X, s.Y = append(s.X, at[k]-0.3, at[k]+0.3, math.NaN()), append(s.Y, m, m, m)
		default:
			s.X, s.Y = append(s.X, mean(x[k])), append(s.Y, mean(y[k]))
		}
	}
	return s
}

// mean is taken in the list's order, so that equal lists give equal means.
func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(len(list))
}

// heatMap is the mean of a figure for each pair of two parameters' values.
type heatMap struct {
	X, Y    string
	Columns []float64
	Rows    []heatRow // the greatest value first
	Dense   bool      // without numbers
	digits  int
}

// Text is the number of a cell, with so many digits that cells which differ look so.
func (m *heatMap) Text(c heatCell) string { return fault.Number(c.Mean, m.digits) }

type heatRow struct {
	Y      float64
	Values []heatCell
}

// heatCell is a pair's. Share is where its mean lies between the least and the greatest, in per cent.
type heatCell struct {
	Cases, Failed int
	Mean          float64
	Share         int
}

// Sizes of a heat map: values of a parameter that it shows at most, and columns that have room for numbers.
const (
	mostCells    = 60
	mostNumbered = 16
)

// heat returns the map where exactly two parameters are numbers and most of their pairs were asked for, else nil.
func (d *drawing) heat(values []float64) *heatMap {
	var axes []*parameter
	for i := range d.parameters {
		if d.parameters[i].names == nil {
			axes = append(axes, &d.parameters[i])
		}
	}
	if len(axes) != 2 {
		return nil
	}
	x, y := axes[0], axes[1]
	columns, lines := distinct(x.values), distinct(y.values)
	if len(columns) > mostCells || len(lines) > mostCells {
		return nil
	}
	pairs := make([][]float64, len(columns)*len(lines))
	cells := make([]heatCell, len(pairs))
	asked := 0
	for i := range d.rows {
		if math.IsNaN(x.values[i]) || math.IsNaN(y.values[i]) {
			continue
		}
		column, _ := slices.BinarySearch(columns, x.values[i])
		line, _ := slices.BinarySearch(lines, y.values[i])
		at := (len(lines)-1-line)*len(columns) + column
		if c := &cells[at]; c.Cases == 0 && c.Failed == 0 && pairs[at] == nil {
			asked++
			pairs[at] = []float64{}
		}
		if d.rows[i].state == stateFailed {
			cells[at].Failed++
		}
		if v := values[i]; !math.IsNaN(v) {
			cells[at].Cases++
			pairs[at] = append(pairs[at], v)
		}
	}
	if 2*asked < len(pairs) {
		return nil
	}
	slices.Reverse(lines)
	m := &heatMap{X: x.label(), Y: y.label(), Columns: columns, Dense: len(columns) > mostNumbered, digits: share(cells, pairs)}
	for i, v := range lines {
		m.Rows = append(m.Rows, heatRow{v, cells[i*len(columns) : (i+1)*len(columns)]})
	}
	return m
}

// share computes the cells' means and shares, and how many digits tell them apart.
func share(cells []heatCell, values [][]float64) (digits int) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range cells {
		if cells[i].Cases > 0 {
			cells[i].Mean = mean(values[i])
			lo, hi = min(lo, cells[i].Mean), max(hi, cells[i].Mean)
		}
	}
	const fewest, most = 3, 7
	if !(hi > lo) {
		return fewest
	}
	for i := range cells {
		if c := &cells[i]; c.Cases > 0 {
			c.Share = int(math.Round(100 * (c.Mean - lo) / (hi - lo)))
		}
	}
	return min(max(fewest, 2+int(math.Ceil(math.Log10(max(math.Abs(lo), math.Abs(hi))/(hi-lo))))), most)
}

// caseTable is the cases for the page's program, which draws a part of them at a time. Texts that many have alike are there
// once.
type caseTable struct {
	Columns []caseColumn `json:"columns"`
	// Rows have a text for each column, Places where their files lie.
	Rows   [][]string   `json:"rows"`
	Places []casePlaces `json:"places"`
	// Stores are their folders relative to the page, Files lists of names below a case's folder.
	Stores []string   `json:"stores"`
	Files  [][]string `json:"files"`
}

// caseColumn sorts by its texts, or as numbers, or by Keys.
type caseColumn struct {
	Name   string    `json:"name"`
	Number bool      `json:"number,omitempty"`
	Keys   []float64 `json:"keys,omitempty"`
}

// casePlaces are indices: the store, and the list of files; -1 for a case that isn't done. Reason is why it failed.
type casePlaces struct {
	Store  int    `json:"s"`
	Files  int    `json:"f"`
	Reason string `json:"r,omitempty"`
}

// table lists the cases in the plan's order.
func (d *drawing) table(folder string) caseTable {
	t := caseTable{Columns: []caseColumn{{Name: "case"}}, Rows: make([][]string, 0, len(d.rows)), Places: make([]casePlaces, 0, len(d.rows)), Stores: []string{}, Files: [][]string{}}
	for key, name := range d.plan.Keys {
		c := caseColumn{Name: name}
		if p, _ := newParameter(name, key, d.rows); p.timed {
			c.Keys = finite(p.values)
		} else {
			c.Number = p.names == nil
		}
		t.Columns = append(t.Columns, c)
	}
	t.Columns = append(t.Columns, caseColumn{Name: "run_seed", Number: true}, caseColumn{Name: "state"})
	for _, name := range d.plan.Collect {
		t.Columns = append(t.Columns, caseColumn{Name: name, Number: true})
	}
	t.Columns = append(t.Columns, caseColumn{Name: "attempts", Number: true})
	stores, lists := map[*Store]int{}, map[string]int{}
	for i := range d.rows {
		r := &d.rows[i]
		cells := append(d.plan.resultOf(r.Case, r.state, r.found), "")
		if n := r.tries(); n > 0 {
			cells[len(cells)-1] = strconv.Itoa(n)
		}
		t.Rows = append(t.Rows, cells)
		place := casePlaces{Store: -1, Files: -1}
		if r.found != nil {
			place.Store, place.Files = t.store(stores, r.at, folder), t.list(lists, r.files())
		} else if r.failure != nil {
			place.Store, place.Reason = t.store(stores, r.failedAt, folder), r.failure.Reason
		}
		t.Places = append(t.Places, place)
	}
	return t
}

// finite replaces what JSON has no word for: cases without a value come first.
func finite(values []float64) []float64 {
	list := slices.Clone(values)
	for i, v := range list {
		if math.IsNaN(v) {
			list[i] = -math.MaxFloat64
		}
	}
	return list
}

// store is the index of a store's folder, relative to the page's where that can be said.
func (t *caseTable) store(known map[*Store]int, s *Store, folder string) int {
	at, ok := known[s]
	if !ok {
		at = len(t.Stores)
		known[s] = at
		whole, err := filepath.Abs(folder)
		if err == nil {
			whole, err = filepath.Rel(whole, s.dir)
		}
		if err != nil { // on another drive
			whole = s.dir
		}
		t.Stores = append(t.Stores, filepath.ToSlash(whole))
	}
	return at
}

// list is the index of a list of files.
func (t *caseTable) list(known map[string]int, files []string) int {
	key := fmt.Sprintf("%q", files)
	at, ok := known[key]
	if !ok {
		at = len(t.Files)
		known[key] = at
		t.Files = append(t.Files, files)
	}
	return at
}

// files are what a case has for people to look at.
func (r *row) files() (names []string) {
	for _, name := range []string{ReportFile, logFile} {
		if _, err := fs.Stat(r.at.root.FS(), path.Join(caseDir(r.ID), name)); err == nil {
			names = append(names, name)
		}
	}
	for _, f := range r.found.Files {
		if checkName(f.Name) == nil {
			names = append(names, f.Name)
		}
	}
	return names
}

// replace writes a file of a folder, whole or not at all.
func replace(folder, name string, data []byte) error {
	next := filepath.Join(folder, temporary+uniqueName())
	defer os.Remove(next)
	err := os.WriteFile(next, data, 0o644)
	if err == nil {
		err = os.Rename(next, filepath.Join(folder, name))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, fault.File(err))
	}
	return nil
}
