// Package judge holds what a run did against limits, and compares two runs.
package judge

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
)

// Flags are limits as a command line has them.
type Flags struct {
	minRate, maxDrops, maxLatency []string
	minRealtime                   float64
	given                         *pflag.FlagSet // says which were given
}

// Names of the flags, without dashes. Rate and latency take a topic, drops may take a cause.
const (
	MinRate     = "min-rate"
	MaxDrops    = "max-drops"
	MinRealtime = "min-realtime"
	MaxLatency  = "max-latency"
)

// Register makes the flags a command's.
func (f *Flags) Register(flags *pflag.FlagSet) {
	f.given = flags
	flags.StringArrayVar(&f.minRate, MinRate, nil, "least mean rates of topics, in messages a simulated second: `TOPIC=HZ,...`; repeatable")
	flags.StringArrayVar(&f.maxDrops, MaxDrops, nil, "most that may be lost, by a cause or by all together: `[CAUSE=]N,...`; repeatable")
	flags.Float64Var(&f.minRealtime, MinRealtime, 0, "least simulated seconds in a second: the real-time factor")
	flags.StringArrayVar(&f.maxLatency, MaxLatency, nil, "longest p99 of topics from capture to publication, in ms: `TOPIC=MS,...`; repeatable")
}

// Limits reads the flags. An error names the flag and what it takes.
func (f *Flags) Limits() (Limits, error) {
	var list Limits
	for _, kind := range []struct {
		name  string
		texts []string
	}{{MinRate, f.minRate}, {MaxDrops, f.maxDrops}, {MaxLatency, f.maxLatency}} {
		if kind.texts == nil {
			continue
		}
		for text := range strings.SplitSeq(strings.Join(kind.texts, ","), ",") { // an empty one is a fault, of a variable that isn't set perhaps
			l, err := parse(kind.name, text)
			if err != nil {
				return nil, fmt.Errorf("--%s %q: %w", kind.name, text, err)
			}
			list = append(list, l)
		}
	}
	if math.IsNaN(f.minRealtime) || math.IsInf(f.minRealtime, 0) || f.minRealtime < 0 {
		return nil, fmt.Errorf("--%s %v: want a number that isn't negative, such as 0.9", MinRealtime, f.minRealtime)
	}
	if f.given != nil && f.given.Changed(MinRealtime) { // a limit of 0, too, which every run keeps
		list = append(list, Limit{Kind: MinRealtime, Value: f.minRealtime})
	}
	return list, nil
}

// Limit is one thing that a run is to keep.
type Limit struct {
	// Kind is the name of its flag.
	Kind string `json:"kind"`
	// Topic is that of a rate or a latency, Cause that of drops, "" for all of them together.
	Topic string     `json:"topic,omitempty"`
	Cause flow.Cause `json:"cause,omitempty"`
	// Value is in Hz, messages and firings, simulated seconds in a second, or ms.
	Value float64 `json:"limit"`
}

// Limits are all that a run is to keep, in the order of the flags.
type Limits []Limit

// parse reads the value of a flag that may be repeated.
func parse(kind, text string) (Limit, error) {
	l := Limit{Kind: kind}
	at := strings.LastIndex(text, "=")
	name, number := text[:max(at, 0)], text[at+1:]
	if kind == MaxDrops {
		n, err := strconv.ParseUint(number, 10, 53)
		if err != nil {
			return l, errors.New("want a whole number of 0 or more, with a cause before it or without: 0, peer_slow=5")
		}
		l.Cause, l.Value = flow.Cause(name), float64(n)
		if at >= 0 && !slices.Contains(flow.Losses(), l.Cause) {
			return l, fmt.Errorf("%q is not a cause of a loss, %s", name, fault.Hint(name, lossNames()))
		}
		return l, nil
	}
	v, err := strconv.ParseFloat(number, 64)
	if name == "" || err != nil || math.IsInf(v, 0) || !(v >= 0) { // nor is NaN
		return l, errors.New("want a topic and a number that isn't negative, such as /lidar/points=10")
	}
	l.Topic, l.Value = name, v
	return l, nil
}

func lossNames() []string {
	var names []string
	for _, cause := range flow.Losses() {
		names = append(names, string(cause))
	}
	return names
}

// Known returns an error for the first topic of a limit that isn't among those that a run will have.
func (list Limits) Known(topics []string) error {
	for _, l := range list {
		if l.Topic != "" && !slices.Contains(topics, l.Topic) {
			return fmt.Errorf("--%s %s: the run has no such topic, %s", l.Kind, l.Topic, fault.Hint(l.Topic, topics))
		}
	}
	return nil
}

// Check is a limit, and how a run kept it.
type Check struct {
	Limit
	// Measured is in the limit's unit, nil where there is nothing to measure.
	Measured *float64 `json:"measured"`
	Held     bool     `json:"held"`
	// Note says why Measured is nil, or what is odd about it.
	Note string `json:"note,omitempty"`
}

// Verdict is how a run kept all limits.
type Verdict struct {
	Held   bool    `json:"held"`
	Checks []Check `json:"checks"`
}

// Judge holds a run against the limits.
func (list Limits) Judge(s *pipeline.Summary) Verdict {
	v := Verdict{Held: true, Checks: []Check{}}
	for _, l := range list {
		c := l.check(s)
		v.Checks, v.Held = append(v.Checks, c), v.Held && c.Held
	}
	return v
}

// Err says which limits weren't held, with what was measured; nil if all were.
func (v Verdict) Err() error {
	var parts []string
	for i := range v.Checks {
		if c := &v.Checks[i]; !c.Held {
			parts = append(parts, fmt.Sprintf("%s: %s, want %s", c.what(), c.measured(), c.limit()))
		}
	}
	if parts == nil {
		return nil
	}
	return errors.New("the run falls short: " + strings.Join(parts, "; "))
}

// rounding is what sums of floats may lack: a rate of exactly ten isn't to fall short of ten.
const rounding = 1e-9

// check measures what the limit is of.
func (l Limit) check(s *pipeline.Summary) Check {
	c := Check{Limit: l}
	switch l.Kind {
	case MaxDrops:
		n := s.Lost.Total()
		if l.Cause != "" {
			n = s.Lost[l.Cause]
		}
		c.measure(float64(n))
	case MinRealtime:
		if c.measure(s.RealTimeFactor); s.WallS <= 0 {
			c.Note = "the run took no time"
		}
	default:
		c.topic(s)
	}
	if c.Measured != nil {
		if least := l.Kind == MinRate || l.Kind == MinRealtime; least {
			c.Held = *c.Measured >= l.Value*(1-rounding)
		} else {
			c.Held = *c.Measured <= l.Value
		}
	}
	return c
}

func (c *Check) measure(v float64) { c.Measured = &v }

// topic measures a topic. Sensors that had it one after another have a row each: their messages are the topic's, and its
// latency is the longest of theirs.
func (c *Check) topic(s *pipeline.Summary) {
	rate, latency, messages, rows, idle := 0.0, 0.0, int64(0), 0, true
	var names []string
	for i := range s.Sensors {
		row := &s.Sensors[i]
		if name := fault.Printable(row.Topic); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
		if row.Topic != c.Topic {
			continue
		}
		rows++
		rate, messages, idle = rate+row.RateHz, messages+row.Messages, idle && row.Idle
		if row.Messages > 0 {
			latency = max(latency, row.LatencyP99Ms)
		}
	}
	switch {
	case rows == 0:
		c.Note = "no such topic, " + fault.Hint(c.Topic, names) + others(s.Sensors)
		return
	case idle:
		c.Note = "idle: nobody listened"
	case messages == 0:
		c.Note = "no message came"
	case rate == 0:
		c.Note = "the run took no time"
	}
	if c.Kind == MinRate {
		c.measure(rate)
	} else if messages > 0 {
		c.measure(latency)
	}
}

// others says that the names of some topics aren't known.
func others(rows []carry.SensorSummary) string {
	n := 0
	for i := range rows {
		n += rows[i].Others
	}
	if n == 0 {
		return ""
	}
	return "; of " + fault.Count(n, "topic") + " that ended the summary has no name"
}
