package pipeline

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
)

// SummarySchema is the version of the summary's form.
const SummarySchema = 1

// Summary is what a run did, for people and machines. Latencies are wall time
// from the begin of a capture to its publication.
type Summary struct {
	Schema  int    `json:"schema"`
	Version string `json:"version"`
	Seed    uint64 `json:"seed"`
	// Resets counts how often the run began again (Reset).
	Resets int64 `json:"resets,omitempty"`
	// RealTimeFactor is SimS / WallS; the wall time goes from the first tick to
	// the last delivery.
	RealTimeFactor float64         `json:"real_time_factor"`
	WallS          float64         `json:"wall_s"`
	SimS           float64         `json:"sim_s"`
	StartupS       float64         `json:"startup_s"`
	GPU            GPUSummary      `json:"gpu"`
	Sensors        []SensorSummary `json:"sensors"`
	Bridges        []BridgeSummary `json:"bridges"`
	// Inputs are the topics that sensors are brought.
	Inputs []InputSummary `json:"inputs,omitempty"`
	// World is what frames of StepTo brought, nil without any.
	World *WorldSummary `json:"world,omitempty"`
	// WaitingFor is what the run has been waiting for from outside for some seconds, "" for nothing.
	WaitingFor string `json:"waiting_for,omitempty"`
}

// GPUSummary names what the sensors' data was generated on.
type GPUSummary struct {
	// Class is the class of devices that give equal bytes: host, software, or gpu: and the vendor.
	Class    string `json:"class"`
	Vendor   string `json:"vendor"`
	Renderer string `json:"renderer"`
	Version  string `json:"version"`
	Device   string `json:"device"`
	Software bool   `json:"software"`
}

// SensorSummary is one published topic.
type SensorSummary struct {
	Name         string     `json:"name"`
	Type         string     `json:"type"`
	Topic        string     `json:"topic"`
	Messages     int64      `json:"messages"`
	RateWantedHz float64    `json:"rate_wanted_hz"` // 0 without, as of a topic that is latched
	RateHz       float64    `json:"rate_hz"`        // in simulated seconds; /clock's of a realtime run in WallS
	LatencyP50Ms float64    `json:"latency_p50_ms"`
	LatencyP99Ms float64    `json:"latency_p99_ms"`
	Drops        flow.Drops `json:"drops"`
	// Status is the best state of the connections that the messages go through, while the
	// pipeline isn't closed; "" of /clock.
	Status string `json:"status,omitempty"`
	// Idle is true where nobody listened, so nothing was computed.
	Idle bool `json:"idle,omitempty"`
	// Ended is true for a sensor that was ended before the run was. One row has all
	// that had its name, type and topic one after another, with the last one's latencies.
	Ended bool `json:"ended,omitempty"`
	// Others is how many ended topics of sensors of this type the row sums up. It has no name and no
	// topic then. The topics that ended last have rows of their own.
	Others int `json:"others,omitempty"`
}

// mostFormer is how many ended topics have rows of their own.
const mostFormer = 100

// ReceivedSummary is one topic that a bridge brings.
type ReceivedSummary struct {
	Topic    string `json:"topic"`
	Type     string `json:"type"`
	Messages int64  `json:"messages"`
}

// BridgeSummary is one bridge.
type BridgeSummary struct {
	// Name is the bridge's in its registry, Type what it speaks: a variant of a bridge has
	// its own name and the same type.
	Name       string `json:"name"`
	Type       string `json:"type"`
	Connection string `json:"connection"`
	Status     string `json:"status"`
	// StatusAtEnd is the status when the bridge was closed, which tells whether its peer was
	// there to the end; before, the same as Status.
	StatusAtEnd string     `json:"status_at_end"`
	Sent        int64      `json:"sent"`
	Bytes       int64      `json:"bytes"`
	Drops       flow.Drops `json:"drops"`
	// EverConnected is false for a bridge that never reached its peer, or only servers of
	// another protocol.
	EverConnected bool `json:"ever_connected"`
	// Connections that were made, Failures of attempts and connections, Malformed messages
	// of peers, which couldn't be read, and Complaints of peers. Of Altered messages numbers
	// were replaced that the peer can't be sent. Refused are those of the failures who weren't
	// let in, by cause. LastError is what failed last, "" for nothing.
	Connections int64            `json:"connections,omitempty"`
	Failures    int64            `json:"failures,omitempty"`
	Malformed   int64            `json:"malformed,omitempty"`
	Complaints  int64            `json:"complaints,omitempty"`
	Altered     int64            `json:"altered,omitempty"`
	Refused     map[string]int64 `json:"refused,omitempty"`
	LastError   string           `json:"last_error,omitempty"`
	// Received are the topics that the bridge subscribes to.
	Received []ReceivedSummary `json:"received,omitempty"`
	// Endpoints say where receivers find the topics of a bridge that they connect to.
	Endpoints []bridges.Endpoint `json:"endpoints,omitempty"`
}

// progress is how far the run is at a simulation time.
func (p *Pipeline) progress(t simtime.Stamp) Progress {
	_, wall, simulated := p.elapsed.seconds()
	return Progress{
		SimNs: t, Simulated: time.Duration(simulated * float64(time.Second)), Wall: time.Duration(wall * float64(time.Second)),
	}
}

// Summary returns the counts up to now. Any goroutine may call it at any time,
// after Close too.
func (p *Pipeline) Summary() Summary {
	info := p.gl.Info()
	startup, wall, simulated := p.elapsed.seconds()
	s := Summary{
		Schema: SummarySchema, Version: p.config.Run.Version, Seed: p.seed.Load(), Resets: p.resets.Load(),
		WallS: wall, SimS: simulated, StartupS: startup,
		GPU: GPUSummary{Class: info.Class(), Vendor: info.Vendor, Renderer: info.Renderer, Version: info.Version, Device: info.Device, Software: info.Software},
		// Readers of the JSON form find lists, also where nothing is in them.
		Sensors: []SensorSummary{}, Bridges: []BridgeSummary{}, World: p.stepper.summary(), WaitingFor: p.waiting.text(),
	}
	if s.WallS > 0 {
		s.RealTimeFactor = s.SimS / s.WallS
	}
	if p.clockDue != nil {
		row := sensorRow(p.clockStats, p.clockSeconds(&s))
		row.Name, row.Type, row.Topic, row.RateWantedHz = "clock", "clock", clockTopic, p.config.ClockRate.Float64()
		row.Idle = row.Messages == 0 && !p.clockStats.heard(p.clockListening())
		s.Sensors = append(s.Sensors, row)
	}
	p.change.Lock()
	members, former, formerInputs, closed := p.members, slices.Clone(p.former), p.formerInputs, p.closed
	p.change.Unlock()
	for _, sensor := range members {
		rows := sensor.rows(s.SimS)
		for i, port := range sensor.ports {
			if !closed {
				rows[i].Status = port.Status().String()
			}
		}
		s.Sensors = append(s.Sensors, rows...)
		s.Inputs = append(s.Inputs, sensor.inputRows()...)
	}
	s.Inputs = append(s.Inputs, formerInputs...)
	for i := range former {
		if s.SimS > 0 {
			former[i].RateHz = float64(former[i].Messages) / s.SimS
		}
	}
	s.Sensors = append(s.Sensors, former...)
	for _, b := range p.bridges {
		s.Bridges = append(s.Bridges, b.summary())
	}
	return s
}

// rows are the rows of the sensor's topics after so many seconds.
func (s *Sensor) rows(seconds float64) []SensorSummary {
	var list []SensorSummary
	for i, stats := range s.stats {
		row := sensorRow(stats, seconds)
		row.Name, row.Type, row.Topic = s.spec.Name, s.spec.Definition.ID, s.topics[i]
		// A latched message comes once, and again where it changes.
		if s.spec.Definition.Outputs[s.outputs[i]].QoS.Durability != flow.TransientLocal {
			row.RateWantedHz = s.Rate().Float64()
		}
		row.Idle = row.Messages == 0 && !stats.heard(s.ports[i].Listening())
		list = append(list, row)
	}
	return list
}

// endedRow is a row R of what has ended.
type endedRow[R any] interface {
	*R
	// identity is the same of rows that are one: a name, a type and a topic, and how many others it sums up.
	identity() (key [3]string, others int)
	// others begins a row of others of the type.
	others() R
	// include adds another row's counts.
	include(other *R)
	// end marks the row.
	end()
}

// mergeEnded adds the rows of a sensor that has ended to those of others, and returns the sum. The
// newest come last. Beyond mostFormer the oldest are summed up by type, in rows that come first.
func mergeEnded[R any, P endedRow[R]](former, rows []R) []R {
	former = slices.Clone(former)
	for _, row := range rows {
		P(&row).end()
		key, _ := P(&row).identity()
		same := func(f R) bool { k, others := P(&f).identity(); return k == key && others == 0 }
		if i := slices.IndexFunc(former, same); i >= 0 {
			P(&row).include(&former[i])
			former = slices.Delete(former, i, i+1)
		}
		former = append(former, row)
	}
	for {
		sums := slices.IndexFunc(former, func(f R) bool { _, others := P(&f).identity(); return others == 0 })
		if sums < 0 || len(former)-sums <= mostFormer {
			return former
		}
		oldest := former[sums]
		key, _ := P(&oldest).identity()
		former = slices.Delete(former, sums, sums+1)
		i := slices.IndexFunc(former[:sums], func(f R) bool { k, _ := P(&f).identity(); return k[1] == key[1] })
		if i < 0 {
			i = sums
			former = slices.Insert(former, i, P(&oldest).others())
		}
		P(&former[i]).include(&oldest)
	}
}

func (row *SensorSummary) identity() ([3]string, int) {
	return [3]string{row.Name, row.Type, row.Topic}, row.Others
}

func (row *SensorSummary) others() SensorSummary {
	return SensorSummary{Type: row.Type, RateWantedHz: row.RateWantedHz, Drops: flow.Drops{}, Idle: true, Ended: true}
}

func (row *SensorSummary) include(other *SensorSummary) {
	if row.Topic == "" {
		row.Others++
		row.LatencyP50Ms, row.LatencyP99Ms = other.LatencyP50Ms, other.LatencyP99Ms
	}
	row.Messages += other.Messages
	row.Drops = maps.Clone(row.Drops) // others may read it
	row.Drops.Merge(other.Drops)
	row.Idle = row.Idle && other.Idle
}

func (row *SensorSummary) end() {
	row.Ended = true
}

// noteListening remembers which outputs had listeners, before the bridges close.
func (p *Pipeline) noteListening() {
	p.clockStats.heard(p.clockListening())
	for _, s := range p.live() {
		s.noteListening()
	}
}

func (s *Sensor) noteListening() {
	for i, stats := range s.stats {
		stats.heard(s.ports[i].Listening())
	}
}

// clockListening reports whether a bridge would take /clock now.
func (p *Pipeline) clockListening() bool {
	return slices.ContainsFunc(p.bridges, func(b *attachedBridge) bool { return b.clock.Load() != nil && !b.bringsClock.Load() && b.connected() })
}

// clockSeconds is the time in which /clock is published: in real time the host's,
// whatever the scale, and while paused, too.
func (p *Pipeline) clockSeconds(s *Summary) float64 {
	if p.config.Mode == Realtime {
		return s.WallS
	}
	return s.SimS
}

// sensorRow is a topic's row after so many seconds.
func sensorRow(stats *outputStats, seconds float64) SensorSummary {
	var row SensorSummary
	row.Messages, row.LatencyP50Ms, row.LatencyP99Ms, row.Drops = stats.snapshot()
	if seconds > 0 {
		row.RateHz = float64(row.Messages) / seconds
	}
	return row
}

// SummaryOf is the row of a bridge, with what the bridge itself knows. Any goroutine may ask.
func SummaryOf(b *bridges.Bridge) BridgeSummary {
	stats := b.Statistics()
	row := BridgeSummary{
		Name: b.Info().Name, Type: b.Info().Type, Connection: b.Connection(), Status: stats.Status.String(),
		StatusAtEnd: b.StatusAtEnd().String(), Sent: stats.Messages, Bytes: stats.Bytes, Drops: flow.Drops{}, EverConnected: b.EverConnected(),
		Endpoints: b.Endpoints(),
	}
	row.Drops.Merge(stats.Drops)
	fared := b.Diagnosis()
	row.Connections, row.Failures, row.Malformed = fared.Connections, fared.Failures, fared.Malformed
	row.Complaints, row.Altered, row.Refused = fared.Complaints, fared.Altered, fared.Refused
	if fared.LastError != nil {
		row.LastError = fared.LastError.Error()
	}
	for _, t := range stats.Received {
		row.Received = append(row.Received, ReceivedSummary{Topic: t.Topic, Type: t.Type, Messages: t.Messages})
	}
	return row
}

// summary adds what didn't come as far as the bridge.
func (b *attachedBridge) summary() BridgeSummary {
	row := SummaryOf(b.bridge)
	row.Drops.Merge(b.undelivered())
	return row
}

// Complete reports whether every bridge was connected and no recording lost a
// message.
func (s *Summary) Complete(registry *bridges.Registry) bool {
	for i := range s.Bridges {
		b := &s.Bridges[i]
		if !b.EverConnected {
			return false
		}
		plugin, err := registry.Plugin(b.Name)
		if err == nil && plugin.Info().Kind == bridges.KindFile && len(b.Drops) > 0 {
			return false
		}
	}
	return true
}

// WriteJSON writes the summary to a file.
func (s *Summary) WriteJSON(path string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write summary: %w", fault.File(err))
	}
	return nil
}

// outputStats counts what became of one output's messages. Any goroutine may
// use it.
type outputStats struct {
	mu      sync.Mutex
	latency flow.Latency // from the capture's begin to the delivery
	drops   flow.Drops   // of the sensor and its listeners; those of routes are the dispatcher's
	routes  []*route
	// delivered has one counter a receiver: bridge or listener.
	delivered []*int64
	retired   int64 // the most that a receiver had that is gone
	listened  bool
}

func newOutputStats() *outputStats {
	return &outputStats{drops: flow.Drops{}}
}

// receiver adds a counter for one more receiver of the output: a route, or nil for a
// listener.
func (s *outputStats) receiver(r *route) *int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r != nil {
		s.routes = append(s.routes, r)
	}
	n := new(int64)
	s.delivered = append(s.delivered, n)
	return n
}

// retire lets a receiver go that gets no more messages; its count stays.
func (s *outputStats) retire(n *int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = max(s.retired, *n)
	s.delivered = slices.DeleteFunc(s.delivered, func(other *int64) bool { return other == n })
}

// heard notes whether somebody listens now, and reports whether anybody ever did.
func (s *outputStats) heard(now bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listened = s.listened || now
	return s.listened
}

// sent records that the receiver with that counter has a message.
func (s *outputStats) sent(receiver *int64, started time.Time) {
	took := time.Since(started)
	s.mu.Lock()
	defer s.mu.Unlock()
	*receiver++
	s.latency.Add(took)
}

// dropped counts n messages lost by a cause.
func (s *outputStats) dropped(cause flow.Cause, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drops.Add(cause, int64(n))
}

// snapshot returns how many messages the best-served receiver got, and the latency's median and
// 99th percentile in milliseconds, 0 where nothing was delivered. It also returns the drops of
// all receivers by cause.
func (s *outputStats) snapshot() (delivered int64, p50, p99 float64, drops flow.Drops) {
	s.mu.Lock()
	defer s.mu.Unlock()
	drops = maps.Clone(s.drops)
	for _, r := range s.routes {
		lost, _ := r.topic.Drops()
		drops.Merge(lost)
	}
	p50, p99 = float64(s.latency.Quantile(0.5))/1e6, float64(s.latency.Quantile(0.99))/1e6
	delivered = s.retired
	for _, n := range s.delivered {
		delivered = max(delivered, *n)
	}
	return delivered, p50, p99, drops
}

// Load is what the dispatcher has to do now, over all topics and bridges.
type Load struct {
	// Workers are the goroutines that send, Idle those of them that wait for work.
	Workers int `json:"workers"`
	Idle    int `json:"idle"`
	// Outstanding messages are on their way to bridges. Of them Waiting stand in queues, with
	// so many bytes.
	Outstanding  int   `json:"outstanding"`
	Waiting      int   `json:"waiting"`
	WaitingBytes int64 `json:"waiting_bytes"`
	// Blocked senders wait for room in a queue.
	Blocked int `json:"blocked"`
}

// Load returns what waits to be sent. Any goroutine may call it at any time, after Close
// too.
func (p *Pipeline) Load() Load {
	stats := p.dispatcher.Stats()
	load := Load{Workers: stats.Workers, Idle: stats.Idle, Outstanding: stats.Outstanding}
	for i := range stats.Topics {
		t := &stats.Topics[i]
		load.Waiting += t.Waiting
		load.WaitingBytes += t.WaitingBytes
		load.Blocked += t.Blocked
	}
	return load
}

// Stage is how long one part of the way from capture to publication took, over
// all of a sensor's captures so far.
type Stage struct {
	// Sensor is the sensor's name; Name is the stage, in the order of the way. "gpu" is compute
	// on the GPU, where the driver has timers, and "fence" is from capture begun to fence seen.
	// "copy" is to the data being readable, "wait" to its completion. Then each bridge has
	// "queue" and "send".
	Sensor, Name string
	// Bridge is set for the stages queue and send.
	Bridge   string
	Count    int64
	P50, P99 time.Duration
}

// readbackReporter is a sensor that tells how its readbacks fared.
type readbackReporter interface{ ReadbackStats() readback.Stats }

// Stages returns the latencies of all stages that have happened. Any goroutine
// may call it at any time, after Close too.
func (p *Pipeline) Stages() []Stage {
	var list []Stage
	for _, s := range p.live() {
		if r, ok := s.life.Load().Sensor().(readbackReporter); ok && s.life.Load().Stage() >= sensors.StageBegun {
			read := r.ReadbackStats()
			list = appendStage(list, Stage{Sensor: s.spec.Name, Name: "gpu"}, &read.GPU)
			list = appendStage(list, Stage{Sensor: s.spec.Name, Name: "fence"}, &read.Fence)
			list = appendStage(list, Stage{Sensor: s.spec.Name, Name: "copy"}, &read.Copy)
			list = appendStage(list, Stage{Sensor: s.spec.Name, Name: "wait"}, &read.Queue)
		}
		for _, r := range s.routes {
			if r.port != s.ports[0] {
				continue
			}
			sent := r.topic.Stats()
			list = appendStage(list, Stage{Sensor: s.spec.Name, Name: "queue", Bridge: r.bridge.bridge.Info().Name}, &sent.QueueTime)
			list = appendStage(list, Stage{Sensor: s.spec.Name, Name: "send", Bridge: r.bridge.bridge.Info().Name}, &sent.PublishTime)
		}
	}
	return list
}

// appendStage appends a stage with its figures, if it has happened.
func appendStage(list []Stage, stage Stage, took *flow.Latency) []Stage {
	if took.Count == 0 {
		return list
	}
	stage.Count, stage.P50, stage.P99 = int64(took.Count), took.Quantile(0.5), took.Quantile(0.99)
	return append(list, stage)
}

// Drops counts the sensor's lost messages by cause, over its outputs: of those
// that share a capture, the one that lost most.
func (s *Sensor) Drops() flow.Drops {
	most := flow.Drops{}
	for _, stats := range s.stats {
		_, _, _, drops := stats.snapshot()
		for cause, n := range drops {
			most[cause] = max(most[cause], n)
		}
	}
	return most
}
