package viewer

import (
	"slices"
	"sync"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// latest holds the newest message of one output until the window takes it. Three
// messages' memory goes round: the newest, the one shown and a spare one. Any
// goroutine may use it.
type latest[E any] struct {
	mu    sync.Mutex
	fresh *E // guarded by mu; nil when taken
	spare *E // guarded by mu
}

// put keeps a copy of m in place of what was not taken.
func (l *latest[E]) put(m *E) {
	l.mu.Lock()
	dst := l.spare
	l.spare = nil
	l.mu.Unlock()
	if dst == nil {
		dst = new(E)
	}
	sample.Copy(dst, m)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fresh != nil {
		l.spare = l.fresh
	}
	l.fresh = dst
}

// take returns the newest message, nil where there is none since the last call.
// It gives back the one that the caller had before.
func (l *latest[E]) take(before *E) *E {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.fresh
	if m == nil {
		return nil
	}
	l.fresh = nil
	if before != nil {
		l.spare = before
	}
	return m
}

// hear returns a listener that keeps and counts messages, and tells the window.
func hear[E any](v *Viewer, m *Meter, into *latest[E]) func(sensors.Tick, *E) {
	return func(at sensors.Tick, message *E) {
		into.put(message)
		m.Note(at)
		v.arrived.Store(true)
	}
}

// Figures are taken over the latest messages. There are at most meterRing of them, no older
// than meterSpan of simulation time, or a few periods of a slow sensor.
const (
	meterRing    = 256
	meterSpan    = int64(2 * time.Second)
	meterPeriods = 4
)

// Meter measures one sensor's rate in simulation time and its latency. Any
// goroutine may use it.
type Meter struct {
	name   string
	wanted float64           // Hz
	drops  func() flow.Drops // nil where nobody counts them

	mu        sync.Mutex
	stamps    [meterRing]int64         // guarded by mu
	latencies [meterRing]time.Duration // guarded by mu
	count     int                      // guarded by mu: ever noted
}

// Note counts a message that was received now.
func (m *Meter) Note(at sensors.Tick) {
	latency := time.Since(at.Started)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stamps[m.count%meterRing], m.latencies[m.count%meterRing] = int64(at.Due), latency
	m.count++
}

// reading is what a meter says: the rate in Hz, 0 where nothing came lately,
// the median latency, and the messages lost.
type reading struct {
	rateHz  float64
	latency time.Duration
	lost    int64
}

// read returns the figures at a simulation time.
func (m *Meter) read(nowNs int64) reading {
	var r reading
	if m.drops != nil {
		for _, n := range m.drops() {
			r.lost += n
		}
	}
	span := meterSpan
	if m.wanted > 0 {
		span = max(span, int64(meterPeriods*float64(time.Second)/m.wanted))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var recent []time.Duration
	var first, last int64
	for k := max(0, m.count-meterRing); k < m.count; k++ {
		stamp := m.stamps[k%meterRing]
		if stamp < nowNs-span {
			continue
		}
		if len(recent) == 0 {
			first = stamp
		}
		last = stamp
		recent = append(recent, m.latencies[k%meterRing])
	}
	if len(recent) == 0 {
		return r
	}
	if last > first {
		r.rateHz = float64(len(recent)-1) / (float64(last-first) * 1e-9)
	}
	slices.Sort(recent)
	r.latency = recent[len(recent)/2]
	return r
}
