package pipeline

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/filefault"
)

// SummarySchema is the version of the summary's form.
const SummarySchema = 1

// Summary is what a run did, for people and machines. Latencies are wall time
// from the begin of a capture to its publication.
type Summary struct {
	Schema  int    `json:"schema"`
	Version string `json:"version"`
	Seed    uint64 `json:"seed"`
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
}

// GPUSummary names what the sensors' data was generated on.
type GPUSummary struct {
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
	RateWantedHz float64    `json:"rate_wanted_hz"`
	RateHz       float64    `json:"rate_hz"` // in simulated seconds; /clock's of a realtime run in WallS
	LatencyP50Ms float64    `json:"latency_p50_ms"`
	LatencyP99Ms float64    `json:"latency_p99_ms"`
	Drops        flow.Drops `json:"drops"`
	// Idle is true where nobody listened, so nothing was computed.
	Idle bool `json:"idle,omitempty"`
	// Ended is true for a sensor that was ended before the run was. One row has all
	// that had its name, type and topic one after another, with the last one's latencies.
	Ended bool `json:"ended,omitempty"`
}

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
func (p *Pipeline) progress(t int64) Progress {
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
		Schema: SummarySchema, Version: p.config.Run.Version, Seed: p.config.Seed,
		WallS: wall, SimS: simulated, StartupS: startup,
		GPU: GPUSummary{Vendor: info.Vendor, Renderer: info.Renderer, Version: info.Version, Device: info.Device, Software: info.Software},
		// Readers of the JSON form find lists, also where nothing is in them.
		Sensors: []SensorSummary{}, Bridges: []BridgeSummary{},
	}
	if s.WallS > 0 {
		s.RealTimeFactor = s.SimS / s.WallS
	}
	if p.clockDue != nil {
		row := sensorRow(p.clockStats, p.clockSeconds(&s))
		row.Name, row.Type, row.Topic, row.RateWantedHz = "clock", "clock", clockTopic, p.config.ClockHz
		row.Idle = row.Messages == 0 && !p.clockStats.heard(p.clockListening())
		s.Sensors = append(s.Sensors, row)
	}
	p.change.Lock()
	members, former, formerInputs := p.members, slices.Clone(p.former), p.formerInputs
	p.change.Unlock()
	for _, sensor := range members {
		s.Sensors = append(s.Sensors, sensor.rows(s.SimS)...)
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
		row.RateWantedHz = s.spec.RateHz
		row.Idle = row.Messages == 0 && !stats.heard(s.ports[i].Listening())
		list = append(list, row)
	}
	return list
}

// mergeRows adds the rows of a sensor that has ended to those of others, and returns
// the sum.
func mergeRows(former, rows []SensorSummary) []SensorSummary {
	former = slices.Clone(former)
	for _, row := range rows {
		row.Ended = true
		i := slices.IndexFunc(former, func(f SensorSummary) bool {
			return f.Name == row.Name && f.Type == row.Type && f.Topic == row.Topic
		})
		if i < 0 {
			former = append(former, row)
			continue
		}
		was := &former[i]
		row.Messages += was.Messages
		for cause, n := range was.Drops {
			row.Drops[cause] += n
		}
		row.Idle = row.Idle && was.Idle
		*was = row
	}
	return former
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
	for cause, n := range stats.Drops {
		row.Drops[cause] += n
	}
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
	b.undelivered.Lock()
	defer b.undelivered.Unlock()
	for cause, n := range b.undelivered.byCause {
		row.Drops[cause] += n
	}
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
		return fmt.Errorf("write summary: %w", filefault.Explain(err))
	}
	return nil
}
