package pipeline_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
)

// clockWatch is a bridge that carries the clock alone and keeps of it what tells
// whether its deadlines drift, however long it runs.
type clockWatch struct {
	period time.Duration

	mu     sync.Mutex
	count  int
	begin  time.Time       // when the first message came
	phases []time.Duration // of the messages since the last median
	median time.Duration   // the last one
	moved  time.Duration   // from the first median to the last
	judged bool            // there is a median
}

// medianOf is how many messages' phases make a median, which leaves out those
// that are published late.
const medianOf = 100

func (w *clockWatch) Info() bridges.Info {
	return bridges.Info{Name: "watch", Type: "watch", Kind: bridges.KindNetwork, Summary: "watches the clock", Connection: "ANY"}
}

func (w *clockWatch) Register(to *bridges.Plugin) error {
	if err := bridges.AddType[*sample.Clock](to, "Clock"); err != nil {
		return err
	}
	return bridges.AddPublisherCreator(to, func(bridges.Instance, *bridges.PublishedTopic) (bridges.Publisher[*sample.Clock], error) {
		return func(context.Context, *sample.Clock) error { w.add(time.Now()); return nil }, nil
	})
}

func (w *clockWatch) NewInstance(bridges.Env) (bridges.Instance, error) { return w, nil }
func (w *clockWatch) Status() bridges.Status                            { return bridges.Connected }
func (w *clockWatch) Connect(context.Context, string) error             { return nil }
func (w *clockWatch) Disconnect(context.Context) error                  { return nil }

// reset forgets what was seen so far.
func (w *clockWatch) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count, w.phases, w.moved, w.judged = 0, nil, 0, false
}

// add counts a message that came at the instant.
func (w *clockWatch) add(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count == 0 {
		w.begin = now
	}
	w.count++
	if w.phases = append(w.phases, w.nearest(now.Sub(w.begin))); len(w.phases) < medianOf {
		return
	}
	slices.Sort(w.phases)
	median := w.phases[medianOf/2]
	if w.judged {
		w.moved += w.nearest(median - w.median)
	}
	w.median, w.judged, w.phases = median, true, w.phases[:0]
}

// nearest is how far d lies from the nearest multiple of the period: what lateness
// adds, and what a drift would.
func (w *clockWatch) nearest(d time.Duration) time.Duration {
	d %= w.period
	switch {
	case d > w.period/2:
		return d - w.period
	case d < -w.period/2:
		return d + w.period
	}
	return d
}

// seen returns how many messages there were, and how far the deadlines moved
// from the first of them to the last.
func (w *clockWatch) seen() (count int, moved time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count, w.moved
}
