package control

import (
	"time"

	"github.com/raybridge/raybridge/pipeline"
)

// RunStatus is what GET /v1/status answers. It has the summary up to now, the clock, what waits
// to be sent, and by cause how many the API itself refused.
type RunStatus struct {
	pipeline.Summary
	Time    Time             `json:"time"`
	Load    pipeline.Load    `json:"load"`
	Stages  []Stage          `json:"stages"`
	Refused map[string]int64 `json:"control_refused,omitempty"`
}

// Stage is how long one stage of the way from capture to publication takes for a sensor, as the report's table has
// it. Timed is how often it was measured.
type Stage struct {
	Sensor string  `json:"sensor"`
	Stage  string  `json:"stage"`
	Bridge string  `json:"bridge,omitempty"`
	Timed  int64   `json:"timed"`
	P50Ms  float64 `json:"p50_ms"`
	P99Ms  float64 `json:"p99_ms"`
}

// StatusOf is a run's status now. Any goroutine may ask.
func StatusOf(p *pipeline.Pipeline, refused map[string]int64) RunStatus {
	s := RunStatus{Summary: p.Summary(), Time: timeOf(p.Clock()), Load: p.Load(), Stages: []Stage{}, Refused: refused}
	for _, part := range p.Latencies() {
		s.Stages = append(s.Stages, Stage{part.Sensor, part.Name, part.Bridge, part.Count, milliseconds(part.P50), milliseconds(part.P99)})
	}
	return s
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
