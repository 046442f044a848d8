package pipeline

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/weather"
)

// SummarySchema is the version of the summary's form.
const SummarySchema = 1

// Summary is what a run did, for people and machines. Latencies are wall time
// from the beginning of a capture to its publication.
type Summary struct {
	Schema  int    `json:"schema"`
	Version string `json:"version"`
	Seed    uint64 `json:"seed"`
	// Resets counts how often the run began again (Reset).
	Resets int64 `json:"resets,omitempty"`
	// RealTimeFactor is SimS / WallS; the wall time goes from the first tick to
	// the last delivery.
	RealTimeFactor float64               `json:"real_time_factor"`
	WallS          float64               `json:"wall_s"`
	SimS           float64               `json:"sim_s"`
	StartupS       float64               `json:"startup_s"`
	GPU            GPUSummary            `json:"gpu"`
	Sensors        []carry.SensorSummary `json:"sensors"`
	Bridges        []carry.BridgeSummary `json:"bridges"`
	// Inputs are the topics that sensors are brought.
	Inputs []carry.InputSummary `json:"inputs,omitempty"`
	// Lost is what was lost of all that, by cause (carry.Lost).
	Lost flow.Drops `json:"lost"`
	// World is what frames of StepTo brought, nil without any.
	World *WorldSummary `json:"world,omitempty"`
	// Weather is nil if it was clear all the time.
	Weather *WeatherSummary `json:"weather,omitempty"`
	// Metrics are the figures of the drive itself, by their names, which docs/ci.md has with their units. They follow from
	// simulated time alone: equal stepped runs have equal ones.
	Metrics map[string]float64 `json:"metrics,omitempty"`
	// WaitingFor is what the run has been waiting for from outside for some seconds, "" for nothing.
	WaitingFor string `json:"waiting_for,omitempty"`
	// Interrupted is set by a program whose run was told to end before its time, as by Ctrl-C.
	Interrupted bool `json:"interrupted,omitempty"`
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

// Summary returns the counts up to now. Any goroutine may call it at any time,
// after Close too.
func (p *Pipeline) Summary() Summary {
	info := p.gl.Info()
	startup, wall, simulated := p.loop.elapsed.seconds()
	s := Summary{
		Schema: SummarySchema, Version: p.config.Run.Version, Seed: p.roster.seed.Load(), Resets: p.runner.resets.Load(),
		WallS: wall, SimS: simulated, StartupS: startup,
		GPU: GPUSummary{Class: info.Class(), Vendor: info.Vendor, Renderer: info.Renderer, Version: info.Version, Device: info.Device, Software: info.Software},
		// Readers of the JSON form find lists, also where nothing is in them.
		Sensors: []carry.SensorSummary{}, Metrics: map[string]float64{}, Bridges: p.bridges.Rows(), World: p.stepper.summary(), Weather: p.scenery.summary(), WaitingFor: p.waiting.text(),
	}
	if s.WallS > 0 {
		s.RealTimeFactor = s.SimS / s.WallS
	}
	if p.loop.clockDue != nil {
		seconds := s.SimS
		if p.config.Mode == Realtime { // it follows the host, whatever the scale, and while paused, too
			seconds = s.WallS
		}
		row := p.bridges.ClockRow(seconds)
		row.RateWantedHz = p.config.ClockRate.Float64()
		s.Sensors = append(s.Sensors, row)
	}
	p.loop.metrics.add(s.Metrics)
	members, former, closed := p.roster.all()
	for _, sensor := range members {
		sensor.points.add(s.Metrics, sensor.spec.Name)
		rows := sensor.rows(s.SimS)
		for i, o := range sensor.topics.Outlets {
			if !closed {
				rows[i].Status = o.Status().String()
				rows[i].Listeners, _ = p.bridges.Receivers(o.Topic.Name) // 0 where no bridge has it
			}
		}
		s.Sensors = append(s.Sensors, rows...)
		s.Inputs = append(s.Inputs, sensor.topics.InputRows()...)
	}
	s.Inputs = append(s.Inputs, former.Inputs...)
	for _, row := range former.Sensors {
		if s.SimS > 0 {
			row.RateHz = float64(row.Messages) / s.SimS
		}
		s.Sensors = append(s.Sensors, row)
	}
	s.Lost = carry.Lost(s.Sensors, s.Bridges, s.Inputs)
	return s
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
		if err == nil && plugin.KindOf(b.Connection) == bridges.KindFile && len(b.Drops) > 0 {
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

// Load is what the dispatcher has to do now, over all topics and bridges.
type Load struct {
	// Workers are the goroutines that send, Idle those of them that wait for work.
	Workers int `json:"workers"`
	Idle    int `json:"idle"`
	// Outstanding messages are on their way to bridges. Waiting of them stand in queues, with
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

// PartLatency is how long one part of the way from capture to publication took, over
// all of a sensor's captures so far.
type PartLatency struct {
	// Sensor is the sensor's name; Name is the part, in the order of the way. "gpu" is compute
	// on the GPU, where the driver has timers, and "fence" is from capture begun to fence seen.
	// "copy" is to the data being readable, "wait" to its completion. Then each bridge has
	// "queue" and "send".
	Sensor, Name string
	// Bridge is set for the parts queue and send.
	Bridge   string
	Count    int64
	P50, P99 time.Duration
}

// Latencies returns the latencies of all parts that have happened. Any goroutine
// may call it at any time, after Close too.
func (p *Pipeline) Latencies() []PartLatency {
	var list []PartLatency
	for _, s := range p.roster.list() {
		if read, ok := s.reads.total(s.life.Load()); ok {
			list = appendLatency(list, PartLatency{Sensor: s.spec.Name, Name: "gpu"}, &read.GPU)
			list = appendLatency(list, PartLatency{Sensor: s.spec.Name, Name: "fence"}, &read.Fence)
			list = appendLatency(list, PartLatency{Sensor: s.spec.Name, Name: "copy"}, &read.Copy)
			list = appendLatency(list, PartLatency{Sensor: s.spec.Name, Name: "wait"}, &read.Queue)
		}
		if outlets := s.topics.Outlets; len(outlets) > 0 {
			for bridge, sent := range outlets[0].Ways() {
				list = appendLatency(list, PartLatency{Sensor: s.spec.Name, Name: "queue", Bridge: bridge}, &sent.QueueTime)
				list = appendLatency(list, PartLatency{Sensor: s.spec.Name, Name: "send", Bridge: bridge}, &sent.PublishTime)
			}
		}
	}
	return list
}

// appendLatency appends a part with its figures, if it has happened.
func appendLatency(list []PartLatency, part PartLatency, took *flow.Latency) []PartLatency {
	if took.Count == 0 {
		return list
	}
	part.Count, part.P50, part.P99 = int64(took.Count), took.Quantile(0.5), took.Quantile(0.99)
	return append(list, part)
}

// WeatherSummary is the weather of a run.
type WeatherSummary struct {
	// Begin is that of the first tick, End that of the latest.
	Begin weather.State `json:"begin"`
	End   weather.State `json:"end"`
	// Changes counts how often it was changed in between. That a Reset restores it doesn't count.
	Changes int64 `json:"changes"`
}

// summary returns the weather of a run, nil if it was clear from the first tick on. Any goroutine.
func (x *scenery) summary() *WeatherSummary {
	var sum WeatherSummary
	if sum.Begin, sum.End, sum.Changes = x.history.Weather().Course(); sum == (WeatherSummary{}) {
		return nil
	}
	return &sum
}

// WorldSummary is what the frames of a world brought.
type WorldSummary struct {
	Kind   string `json:"kind,omitempty"`
	Frames int64  `json:"frames"`
	Gaps   int64  `json:"gaps"`
	Actors struct {
		Now  int `json:"now"`
		Most int `json:"most"`
	} `json:"actors"`
}

// summary returns what frames brought, nil before the first. Any goroutine.
func (s *stepper) summary() *WorldSummary {
	counts, kind := s.scenery.counts(), s.following.kindOf()
	if counts.Frames == 0 && kind == "" {
		return nil
	}
	sum := &WorldSummary{Kind: kind, Frames: counts.Frames, Gaps: s.following.gaps.Load()}
	sum.Actors.Now, sum.Actors.Most = counts.Actors, counts.Most
	return sum
}
