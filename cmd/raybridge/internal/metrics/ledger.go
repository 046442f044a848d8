package metrics

import (
	"cmp"
	"slices"
	"time"

	"github.com/raybridge/raybridge/flow"
)

// key is what a row counts: the captures of a sensor, the messages of a topic, or those of a topic at a bridge. Stages are
// counted over all sensors, in the row without a name, and over a bridge's topics, in the row of the bridge.
type key struct{ sensor, topic, bridge string }

// counts are those of a row, or a part of them.
type counts struct {
	captures, messages, bytes int64
	drops                     flow.Drops
	stages                    []flow.Histogram // in the row's own order
}

// add adds other counts.
func (c *counts) add(other *counts) {
	c.captures += other.captures
	c.messages += other.messages
	c.bytes += other.bytes
	c.drops.Merge(other.drops)
	if len(c.stages) == 0 {
		c.stages = make([]flow.Histogram, len(other.stages))
	}
	for i := range other.stages {
		c.stages[i].Merge(&other.stages[i])
	}
}

// raise takes the counts that are told now. A message that was sent may be counted as lost afterwards, and is counted as both then:
// no counter falls.
func (c *counts) raise(now *counts) {
	now.messages, now.bytes = max(now.messages, c.messages), max(now.bytes, c.bytes)
	*c = *now
}

// source is who counts for a row. It is a sensor by its serial number, with a topic and the number of a way from there, or
// a bridge by its place, with the number of a topic's addition.
type source struct {
	bridge   bool
	of, part uint64
	topic    string
}

// row adds up what its sources count. All of them count the same stages.
type row struct {
	past  counts // of sources that aren't told of any more
	lives map[source]*part
	live  bool      // its sensor is there
	gone  time.Time // since when it isn't
}

// part is what one source counts.
type part struct {
	counts
	told int // when it was told of last
}

// total is what the row's sources counted.
func (r *row) total() counts {
	sum := counts{}
	sum.add(&r.past)
	for _, p := range r.lives {
		sum.add(&p.counts)
	}
	return sum
}

// How long the series of a sensor stay after its end, and how many rows are kept after that: if the sensor comes again, it
// continues them.
const (
	lingering = 5 * time.Minute
	mostGone  = 1000
)

// ledger holds rows over the ends of those who count. It is told what they have counted by rounds.
type ledger struct {
	rows  map[key]*row
	round int
}

// begin begins a round.
func (l *ledger) begin() {
	l.round++
	for _, r := range l.rows {
		r.live = false
	}
}

// tell tells what a source has counted for a row, and returns that.
func (l *ledger) tell(k key, s source, now *counts) *row {
	r := l.rows[k]
	if r == nil {
		r = &row{lives: map[source]*part{}}
		l.rows[k] = r
	}
	p := r.lives[s]
	if p == nil {
		p = &part{}
		r.lives[s] = p
	}
	p.raise(now)
	p.told = l.round
	return r
}

// end ends a round: sources that weren't told of in it won't be again, and rows whose sensor isn't there have ended by now.
func (l *ledger) end(now time.Time) {
	var gone []key
	for k, r := range l.rows {
		for s, p := range r.lives {
			if p.told != l.round {
				r.past.add(&p.counts)
				delete(r.lives, s)
			}
		}
		switch {
		case r.live:
			r.gone = time.Time{}
		case r.gone.IsZero():
			r.gone = now
		}
		if !r.live && len(r.lives) == 0 { // a row that is told of would be there again in the next round
			gone = append(gone, k)
		}
	}
	slices.SortFunc(gone, func(a, b key) int {
		return cmp.Or(l.rows[a].gone.Compare(l.rows[b].gone), cmp.Compare(a.topic, b.topic), cmp.Compare(a.bridge, b.bridge))
	})
	for _, k := range gone[:max(len(gone)-mostGone, 0)] {
		delete(l.rows, k)
	}
}

// shown reports whether the row has series.
func (r *row) shown(now time.Time) bool { return r.live || now.Sub(r.gone) < lingering }
