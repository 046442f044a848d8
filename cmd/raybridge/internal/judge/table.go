package judge

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
)

// Form is how a result is written.
type Form uint8

// Forms of results.
const (
	// Table is for terminals, in aligned columns.
	Table Form = iota
	// Markdown is GitHub's, as a job's summary takes it.
	Markdown
	// JSON is the result's own structure, for programs.
	JSON
)

// Write writes the verdict: a row for each limit, and below them what the figures mean.
func (v Verdict) Write(out io.Writer, form Form) error {
	if form == JSON {
		return writeJSON(out, v)
	}
	t := table{head: []string{"check", "limit", "measured", ""}}
	for i := range v.Checks {
		c := &v.Checks[i]
		result := "held"
		if !c.Held {
			result = form.strong("falls short")
		}
		t.rows = append(t.rows, []string{c.what(), c.limit(), c.measured(), result})
		t.meaning(c.Kind, c.Topic)
	}
	return t.write(out, form)
}

func writeJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// table is a result for people.
type table struct {
	head     []string
	rows     [][]string
	meanings []string // of the figures, each once
}

// what names what a limit is of.
func (l Limit) what() string { return nameOf(l.Kind, l.Topic, l.Cause) }

func nameOf(kind, topic string, cause flow.Cause) string {
	switch kind {
	case MinRate:
		return "rate of " + fault.Printable(topic)
	case MaxLatency:
		return "latency (p99) of " + fault.Printable(topic)
	case MinRealtime:
		return "real-time factor"
	}
	if cause == "" {
		return "drops"
	}
	return "drops by " + fault.Printable(string(cause))
}

// units are what values of a kind are followed by.
var units = map[string]string{MinRate: " Hz", MaxLatency: " ms"}

// limit is the limit as text.
func (l Limit) limit() string {
	sign := "at most "
	if l.Kind == MinRate || l.Kind == MinRealtime {
		sign = "at least "
	}
	return sign + strconv.FormatFloat(l.Value, 'f', -1, 64) + units[l.Kind]
}

// measured is what was measured as text, with as many digits as it takes to tell it from a limit that wasn't held.
func (c *Check) measured() string {
	var parts []string
	if c.Measured != nil {
		v := *c.Measured
		text := fault.Number(v, 4)
		if rounded, err := strconv.ParseFloat(text, 64); err != nil || (rounded-c.Value)*(v-c.Value) <= 0 {
			text = strconv.FormatFloat(v, 'f', -1, 64)
		}
		parts = append(parts, text+units[c.Kind])
	}
	if c.Note != "" {
		parts = append(parts, c.Note)
	}
	return strings.Join(parts, ", ")
}

// meaning adds what a figure means.
func (t *table) meaning(kind, topic string) {
	texts := map[string]string{
		MinRate:    "Rates are messages in a simulated second, as means over the whole run.",
		MaxDrops:   "Drops are what was lost, at sensors, inputs and bridges; a message that two bridges lost counts twice.",
		MaxLatency: "Latencies are wall time from capture to publication.",
	}
	t.note(texts[kind])
	if kind == MinRate && topic == clock {
		t.note("The rate of /clock is that in a second of wall time where the run followed the host's clock.")
	}
}

// clock is the topic of simulation time.
const clock = "/clock"

// note adds a line below the table, once.
func (t *table) note(text string) {
	if text == "" {
		return
	}
	for _, m := range t.meanings {
		if m == text {
			return
		}
	}
	t.meanings = append(t.meanings, text)
}

// strong marks a text.
func (f Form) strong(text string) string {
	if f == Markdown {
		return "**" + text + "**"
	}
	return text
}

// write writes the table; a column's cells are aligned on a terminal.
func (t *table) write(out io.Writer, form Form) error {
	var text strings.Builder
	if form == Markdown {
		t.markdown(&text)
	} else {
		w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
		for _, row := range append([][]string{t.head}, t.rows...) {
			fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t"))
		}
		_ = w.Flush() // to memory
	}
	if len(t.meanings) > 0 {
		text.WriteString("\n" + strings.Join(t.meanings, "\n") + "\n")
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func (t *table) markdown(text *strings.Builder) {
	line := func(cells []string) {
		for _, cell := range cells {
			text.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
		}
		text.WriteString("|\n")
	}
	line(t.head)
	text.WriteString(strings.Repeat("|---", len(t.head)) + "|\n")
	for _, row := range t.rows {
		line(row)
	}
}
