package judge

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/pipeline"
)

// Pair is one figure of two runs, nil where a run hasn't got it.
type Pair struct {
	// Kind is a limit's: the figure is what that limit would be held against.
	Kind  string     `json:"kind"`
	Topic string     `json:"topic,omitempty"`
	Cause flow.Cause `json:"cause,omitempty"`
	// Metric is the name of the metric that the figure is, of the kind metric.
	Metric string   `json:"metric,omitempty"`
	A      *float64 `json:"a"`
	B      *float64 `json:"b"`
}

// metric is the kind of a pair that no limit is of.
const metric = "metric"

// Comparison is what two runs did.
type Comparison struct {
	// A and B name the runs.
	A     string `json:"a"`
	B     string `json:"b"`
	Pairs []Pair `json:"pairs"`
}

// Compare puts two runs beside each other: the real-time factor, the drops, all together and by each cause, the rate of each topic, and
// the metrics.
func Compare(nameA, nameB string, a, b *pipeline.Summary) Comparison {
	c := Comparison{A: nameA, B: nameB}
	limits := Limits{{Kind: MinRealtime}, {Kind: MaxDrops}}
	for _, cause := range lostBy(a.Lost, b.Lost) {
		limits = append(limits, Limit{Kind: MaxDrops, Cause: cause})
	}
	topics := map[string]bool{}
	for _, s := range []*pipeline.Summary{a, b} {
		for i := range s.Sensors {
			topics[s.Sensors[i].Topic] = true
		}
	}
	delete(topics, "") // of rows that sum up others
	for _, topic := range slices.Sorted(maps.Keys(topics)) {
		limits = append(limits, Limit{Kind: MinRate, Topic: topic})
	}
	for _, l := range limits {
		c.Pairs = append(c.Pairs, Pair{Kind: l.Kind, Topic: l.Topic, Cause: l.Cause, A: l.check(a).Measured, B: l.check(b).Measured})
	}
	metrics := maps.Clone(a.Metrics)
	if metrics == nil {
		metrics = map[string]float64{}
	}
	maps.Copy(metrics, b.Metrics)
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		c.Pairs = append(c.Pairs, Pair{Kind: metric, Metric: name, A: valueOf(a.Metrics, name), B: valueOf(b.Metrics, name)})
	}
	return c
}

// valueOf returns a metric's value, nil for none.
func valueOf(metrics map[string]float64, name string) *float64 {
	v, ok := metrics[name]
	if !ok {
		return nil
	}
	return &v
}

// lostBy are the causes of losses in either of two runs: those that this program knows in its order, then those of
// other versions by their names.
func lostBy(a, b flow.Drops) (causes []flow.Cause) {
	var all flow.Drops
	all.Merge(a)
	all.Merge(b)
	for _, cause := range slices.Concat(flow.Losses(), slices.Sorted(maps.Keys(all))) {
		if all[cause] > 0 && !slices.Contains(causes, cause) {
			causes = append(causes, cause)
		}
	}
	return causes
}

// Write writes the comparison: a row for each figure, with the change from A to B.
func (c Comparison) Write(out io.Writer, form Form) error {
	if form == JSON {
		return writeJSON(out, c)
	}
	t := table{head: []string{"", fault.Printable(c.A), fault.Printable(c.B), "change"}}
	for i := range c.Pairs {
		p := &c.Pairs[i]
		t.rows = append(t.rows, []string{p.name(), p.figure(p.A), p.figure(p.B), p.change(form)})
		t.meaning(p.Kind, p.Topic)
	}
	return t.write(out, form)
}

// name is what the figure is of.
func (p *Pair) name() string {
	if p.Kind == metric {
		return fault.Printable(p.Metric)
	}
	return nameOf(p.Kind, p.Topic, p.Cause)
}

// unit is what the figure is followed by.
func (p *Pair) unit() string {
	if unit := pipeline.MetricUnit(p.Metric); unit != "" {
		return " " + unit
	}
	return units[p.Kind]
}

// figure is one run's.
func (p *Pair) figure(v *float64) string {
	switch {
	case v != nil:
		return fault.Number(*v, 4) + p.unit()
	case p.Kind == metric:
		return "none"
	}
	return "no such topic"
}

// change is how the figure changed from A to B, "" where it is the same.
func (p *Pair) change(form Form) string {
	switch {
	case p.A == nil && p.B == nil || p.A != nil && p.B != nil && *p.A == *p.B:
		return ""
	case p.A == nil:
		return form.strong("only in the second")
	case p.B == nil:
		return form.strong("only in the first")
	}
	by, sign := *p.B-*p.A, "+"
	if by < 0 {
		by, sign = -by, "-"
	}
	text := sign + fault.Number(by, 3) + p.unit()
	if *p.A != 0 {
		text += fmt.Sprintf(" (%s%.1f %%)", sign, 100*by / *p.A)
	}
	return text
}
