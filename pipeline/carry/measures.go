package carry

import (
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
)

// TopicMeasures are the counts of an outlet.
type TopicMeasures struct {
	Topic string
	// Drops are what was lost at the sensor, or at those who listen to it in this program.
	Drops flow.Drops
	// Latency goes from the capture's begin to each delivery.
	Latency flow.Histogram
	Ways    []WayMeasures
}

// WayMeasures are the counts of an outlet's way to one bridge.
type WayMeasures struct {
	Bridge string
	// Undelivered are the messages that the dispatcher didn't bring there. The bridge's own losses are in its Tallies.
	Undelivered flow.Drops
	// Queue is the time in the dispatcher's queue, Send that of the bridge's publisher. They are sampled, see
	// dispatch.TopicStats.
	Queue, Send flow.Histogram
	// Waiting messages stand in the dispatcher's queue, with so many bytes.
	Waiting      int
	WaitingBytes int64
}

// BridgeMeasures are the counts of a bridge, and its state.
type BridgeMeasures struct {
	// Name is the bridge's in its registry. Several bridges of a run may have it.
	Name string
	// Network is false for a file.
	Network, Connected bool
	// Receivers are those of its topic that has most.
	Receivers int
	Tallies   []bridges.TopicTally
}

// Measures returns the outlet's counts.
func (o *Outlet) Measures() TopicMeasures {
	m := TopicMeasures{Topic: o.Topic.Name, Drops: flow.Drops{}}
	o.mu.Lock()
	m.Drops.Merge(o.drops)
	m.Latency = o.latency.Histogram()
	o.mu.Unlock()
	for bridge, stats := range o.Ways() {
		m.Ways = append(m.Ways, WayMeasures{
			Bridge: bridge, Undelivered: stats.Undelivered, Queue: stats.QueueTime.Histogram(), Send: stats.PublishTime.Histogram(),
			Waiting: stats.Waiting, WaitingBytes: stats.WaitingBytes,
		})
	}
	return m
}

// OwnMeasures are those of the run's own topics.
func (b *Bridges) OwnMeasures() []TopicMeasures {
	list := []TopicMeasures{b.config.Lines.outlet.Measures()}
	if b.config.HasClock {
		list = append(list, b.clock.Measures())
	}
	return list
}

// Measures are those of the bridges. Any goroutine may ask.
func (b *Bridges) Measures() []BridgeMeasures {
	var list []BridgeMeasures
	for _, c := range b.all() {
		m := BridgeMeasures{Name: c.bridge.Info().Name, Network: !c.file(), Connected: c.connected(), Tallies: c.bridge.Tallies()}
		for _, t := range m.Tallies {
			m.Receivers = max(m.Receivers, c.bridge.Receivers(t.Topic))
		}
		list = append(list, m)
	}
	return list
}
