package pipeline

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/sensors"
)

// Stage is how long one part of the way from capture to publication took, over
// all of a sensor's captures so far.
type Stage struct {
	// Sensor is the sensor's name; Name is the stage, in the order of the way:
	// "gpu" (compute on the GPU, where the driver has timers), "fence"
	// (capture begun to fence seen), "copy" (to the data being readable), "wait"
	// (to its completion), then for each bridge "queue" and "send".
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
		if r, ok := s.life.Sensor().(readbackReporter); ok && s.life.Stage() >= sensors.StageBegun {
			list = append(list, readbackStages(s.spec.Name, r.ReadbackStats())...)
		}
		for _, c := range s.carried {
			if c.output != 0 {
				continue
			}
			sink := c.sink
			stats := sink.topic.Stats()
			for _, x := range []struct {
				name  string
				times *hdrhistogram.Histogram
			}{{"queue", stats.QueueTime}, {"send", stats.PublishTime}} {
				if n := x.times.TotalCount(); n > 0 {
					list = append(list, Stage{
						Sensor: s.spec.Name, Name: x.name, Bridge: sink.bridge.bridge.Info().Name, Count: n,
						P50: time.Duration(x.times.ValueAtQuantile(50)), P99: time.Duration(x.times.ValueAtQuantile(99)),
					})
				}
			}
		}
	}
	return list
}

func readbackStages(sensor string, stats readback.Stats) []Stage {
	var list []Stage
	for _, x := range []struct {
		name    string
		latency *readback.Latency
	}{{"gpu", &stats.GPU}, {"fence", &stats.Fence}, {"copy", &stats.Copy}, {"wait", &stats.Queue}} {
		if x.latency.Count > 0 {
			list = append(list, Stage{
				Sensor: sensor, Name: x.name, Count: int64(x.latency.Count),
				P50: x.latency.Quantile(0.5), P99: x.latency.Quantile(0.99),
			})
		}
	}
	return list
}
