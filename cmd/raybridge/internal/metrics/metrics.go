// Package metrics tells Prometheus what a run has counted.
//
// A Collector reads the counts of a pipeline when it is asked, so that a run pays nothing for it. Its
// names, units and labels follow https://prometheus.io/docs/practices/naming. A counter falls at the start of
// the program only: what a sensor has counted stays, also when it ends and comes again, and when the run is reset. The
// series of a sensor go five minutes after its end.
package metrics

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
)

// Source is the run: *pipeline.Pipeline. Any goroutine may call it.
type Source interface {
	Measures() *pipeline.Measures
}

// Build names the program.
type Build struct{ Version, Revision, GoVersion string }

// BuildOf is this program, of a version. Its revision is "" where Go hasn't noted the commit.
func BuildOf(version string) Build {
	b := Build{Version: version, GoVersion: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Revision = s.Value
			}
		}
	}
	return b
}

// Handler answers scrapes of a run in the text format of Prometheus. It may be called from any goroutine.
func Handler(run Source, build Build) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), newCollector(run, build, time.Now))
	// Compression would take longer than the rest of the answer.
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true})
}

// The stages of captures and of messages on their way to a bridge, under the names of pipeline.PartLatency.
var (
	captureStages = []string{"gpu", "fence", "copy", "wait"}
	bridgeStages  = []string{"queue", "send"}
)

// Causes whose series are there from the beginning, since the increase of a counter that wasn't is unknown. Others come when
// they happen.
var (
	sensorCauses = []flow.Cause{flow.CauseReadbackFull, flow.CauseReadbackFailed, flow.CauseSkipped}
	bridgeCauses = []flow.Cause{flow.CauseQueueFull, flow.CauseNotConnected, flow.CausePeerSlow, flow.CauseWriteFailed}
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("raybridge_"+name, help, labels, nil)
}

var (
	buildInfo   = desc("build_info", "The program, always 1.", "version", "revision", "goversion")
	frames      = desc("frames_total", "Instants that the run has begun.")
	simulated   = desc("simulated_seconds_total", "Simulated time, without jumps of the clock.")
	wall        = desc("run_seconds_total", "Wall time of the run, from its first instant on.")
	simTime     = desc("sim_time_seconds", "The time of the simulation clock.")
	factor      = desc("real_time_factor", "Simulated time by wall time, over the whole run.")
	paused      = desc("paused", "1 while the simulation clock is paused.")
	deviceBytes = desc("device_memory_bytes", "Buffers and textures on the device that renders.")
	slots       = desc("readback_slots", "Slots for captures on their way back from the device, by what they do.", "state")
	captures    = desc("sensor_captures_total", "Captures that came back from the device with data.", "sensor")
	published   = desc("messages_published_total", "Messages that the bridge has sent or written.", "topic", "bridge")
	size        = desc("message_bytes_total", "Bytes of these messages in the bridge's encoding.", "topic", "bridge")
	dropped     = desc("messages_dropped_total",
		"Messages that were lost, by cause: at the bridge, or without one at the sensor. One that was lost after it was sent is counted here and as published.", "topic", "bridge", "cause")
	empty   = desc("empty_scans_total", "Published scans of lidars that hit nothing.", "topic")
	latency = desc("message_latency_seconds", "Time from the beginning of a message's capture to each of its deliveries.", "topic")
	stages  = desc("stage_latency_seconds",
		"Time that a stage takes: gpu, fence, copy and wait of all captures, queue and send of the messages to a bridge. Of a topic's first 256 messages all are timed in queue and send, then one in 16.",
		"stage", "bridge")
	queueMessages = desc("queue_messages", "Messages that wait in the dispatcher for the bridge.", "bridge")
	queueBytes    = desc("queue_bytes", "Bytes of the messages that wait in the dispatcher for the bridge.", "bridge")
	connected     = desc("bridge_connected", "1 while the bridge takes messages: its file is open, or its peer or server is there.", "bridge")
	receivers     = desc("receivers", "Receivers of the bridge's topic that has most; none of a file.", "bridge")
)

// collector reads a run at each scrape.
type collector struct {
	run   Source
	build Build
	now   func() time.Time

	mu     sync.Mutex // scrapes come one after the other
	ledger ledger     // guarded by mu
	labels labels     // guarded by mu
}

func newCollector(run Source, build Build, now func() time.Time) *collector {
	return &collector{run: run, build: build, now: now, ledger: ledger{rows: map[key]*row{}}, labels: labels{}}
}

// Describe lists all metrics.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		buildInfo, frames, simulated, wall, simTime, factor, paused, deviceBytes, slots, captures, published, size, dropped, empty, latency, stages,
		queueMessages, queueBytes, connected, receivers,
	} {
		to <- d
	}
}

// Collect reads the run.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, now := c.run.Measures(), c.now()
	c.ledger.begin()
	c.tell(m)
	c.ledger.end(now)

	out := output{to, c.labels}
	out.gauge(buildInfo, 1, c.build.Version, c.build.Revision, c.build.GoVersion)
	out.run(m)
	out.slots(m.Sensors)
	out.bridges(m)
	for k, r := range c.ledger.rows {
		if r.shown(now) {
			total := r.total()
			out.row(k, &total)
		}
	}
}

// tell tells the ledger what sensors and bridges have counted.
func (c *collector) tell(m *pipeline.Measures) {
	for i := range m.Ended {
		c.tellSensor(&m.Ended[i])
	}
	for i := range m.Sensors {
		c.tellSensor(&m.Sensors[i])
	}
	there := map[string]bool{}
	for i := range m.Own {
		c.tellTopic(&m.Own[i], 0, time.Time{})
		there[m.Own[i].Topic] = true
	}
	for i := range m.Sensors {
		for _, t := range m.Sensors[i].Topics {
			there[t.Topic] = true
		}
	}
	for place, b := range m.Bridges {
		for _, t := range b.Tallies {
			n := counts{messages: t.Messages, bytes: t.Bytes, drops: t.Drops}
			r := c.ledger.tell(key{topic: t.Topic, bridge: b.Name}, source{bridge: true, of: uint64(place), part: t.Addition}, &n)
			r.live = r.live || there[t.Topic]
		}
	}
}

// tellSensor tells what a sensor has counted that is there, or has ended.
func (c *collector) tellSensor(s *pipeline.SensorMeasures) {
	if read := s.Readback; read != nil {
		c.ledger.tell(key{sensor: s.Name}, source{of: s.Serial}, &counts{captures: int64(read.Completed)}).ended(s.Ended)
		took := counts{stages: []flow.Histogram{read.GPU, read.Fence, read.Copy, read.Wait}}
		c.ledger.tell(key{}, source{of: s.Serial}, &took).live = true
	}
	for i := range s.Topics {
		c.tellTopic(&s.Topics[i], s.Serial, s.Ended)
	}
}

// tellTopic tells what a topic of a sensor has counted.
func (c *collector) tellTopic(t *carry.TopicMeasures, serial uint64, ended time.Time) {
	n := counts{drops: t.Drops, stages: []flow.Histogram{t.Latency}}
	c.ledger.tell(key{topic: t.Topic}, source{of: serial, topic: t.Topic}, &n).ended(ended)
	for i, w := range t.Ways {
		from := source{of: serial, topic: t.Topic, part: uint64(i)}
		c.ledger.tell(key{topic: t.Topic, bridge: w.Bridge}, from, &counts{drops: w.Undelivered}).ended(ended)
		c.ledger.tell(key{bridge: w.Bridge}, from, &counts{stages: []flow.Histogram{w.Queue, w.Send}}).live = true
	}
}

// ended tells the row when its sensor ended, or that it is there.
func (r *row) ended(at time.Time) {
	if at.IsZero() {
		r.live = true
	} else if r.gone.Before(at) {
		r.gone = at
	}
}

// output is where the metrics of a scrape go.
type output struct {
	to     chan<- prometheus.Metric
	labels labels
}

func (o output) gauge(d *prometheus.Desc, v float64, labels ...string) {
	o.to <- &number{desc: d, labels: o.labels.of(d, labels...), value: v}
}

func (o output) counter(d *prometheus.Desc, v float64, labels ...string) {
	o.to <- &number{desc: d, labels: o.labels.of(d, labels...), value: v, counter: true}
}

// run puts out what concerns the run as a whole.
func (o output) run(m *pipeline.Measures) {
	o.counter(frames, float64(m.Frames))
	o.counter(simulated, m.SimulatedS)
	o.counter(wall, m.WallS)
	o.gauge(simTime, float64(m.Now)/1e9)
	rate := 0.0
	if m.WallS > 0 {
		rate = m.SimulatedS / m.WallS
	}
	o.gauge(factor, rate)
	o.gauge(paused, float(m.Paused))
	o.gauge(deviceBytes, float64(m.DeviceBytes))
}

func float(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// slots puts out what the slots of all sensors do.
func (o output) slots(list []pipeline.SensorMeasures) {
	all, flying, ready, lent, stuck := 0, 0, 0, 0, 0
	for i := range list {
		if r := list[i].Readback; r != nil {
			all, flying, ready, lent, stuck = all+r.Slots, flying+r.InFlight, ready+r.Ready, lent+r.Lent, stuck+r.Stuck
		}
	}
	o.gauge(slots, float64(max(all-flying-ready-lent-stuck, 0)), "free")
	o.gauge(slots, float64(flying), "in_flight")
	o.gauge(slots, float64(ready), "ready")
	o.gauge(slots, float64(lent), "lent")
	o.gauge(slots, float64(stuck), "stuck")
}

// bridges puts out the state of the bridges. Bridges of one name are one: connected if all are.
func (o output) bridges(m *pipeline.Measures) {
	type state struct {
		down                       bool
		receivers, messages, bytes int64
	}
	list := map[string]*state{}
	for _, b := range m.Bridges {
		s := list[b.Name]
		if s == nil {
			s = &state{}
			list[b.Name] = s
		}
		s.down = s.down || !b.Connected
		s.receivers += int64(b.Receivers)
	}
	waiting := func(topics []carry.TopicMeasures) {
		for _, t := range topics {
			for _, w := range t.Ways {
				if s := list[w.Bridge]; s != nil {
					s.messages += int64(w.Waiting)
					s.bytes += w.WaitingBytes
				}
			}
		}
	}
	waiting(m.Own)
	for i := range m.Sensors {
		waiting(m.Sensors[i].Topics)
	}
	for name, s := range list {
		o.gauge(connected, float(!s.down), name)
		o.gauge(receivers, float64(s.receivers), name)
		o.gauge(queueMessages, float64(s.messages), name)
		o.gauge(queueBytes, float64(s.bytes), name)
	}
}

// row puts out a row of the ledger.
func (o output) row(k key, c *counts) {
	switch {
	case k.sensor != "":
		o.counter(captures, float64(c.captures), k.sensor)
	case k.topic == "": // stages alone
	case k.bridge == "":
		o.drops(k, c.drops, sensorCauses)
	default:
		o.counter(published, float64(c.messages), k.topic, k.bridge)
		o.counter(size, float64(c.bytes), k.topic, k.bridge)
		o.drops(k, c.drops, bridgeCauses)
	}
	for i := range c.stages {
		switch h := &c.stages[i]; {
		case h.Count == 0:
		case k == key{}:
			o.histogram(stages, h, captureStages[i], "")
		case k.topic == "":
			o.histogram(stages, h, bridgeStages[i], k.bridge)
		default:
			o.histogram(latency, h, k.topic)
		}
	}
}

// drops puts out the losses of a row: those of some causes in any case.
func (o output) drops(k key, lost flow.Drops, always []flow.Cause) {
	for _, cause := range always {
		o.counter(dropped, float64(lost[cause]), k.topic, k.bridge, string(cause))
	}
	for cause, n := range lost {
		switch {
		case cause == flow.CauseNoReturn:
			o.counter(empty, float64(n), k.topic)
		case !slices.Contains(always, cause):
			o.counter(dropped, float64(n), k.topic, k.bridge, string(cause))
		}
	}
}

// histogram puts a histogram out.
func (o output) histogram(d *prometheus.Desc, h *flow.Histogram, labels ...string) {
	o.to <- &distribution{desc: d, labels: o.labels.of(d, labels...), within: *h}
}
