package bench

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/raybridge/raybridge/readback"
)

// The stages of a capture's way, in order.
const (
	stageHop     = iota // announced, to its turn on the GL thread
	stageGPU            // the GPU's work, where the driver has timers; within stageFence
	stageFence          // its turn on the GL thread, to its fence being seen
	stageCopy           // to its bytes being in host memory; 0 where the copy went before the fence
	stageHandOn         // to its completion
	stageQueue          // handed to the dispatcher, to a worker taking it
	stageConvert        // to it being encoded and written
	stageCount
)

// stageNames are the stages' names in results.
var stageNames = [stageCount]string{"hop", "gpu", "fence", "copy", "hand_on", "queue", "convert"}

// stageTimes has a histogram of each stage, in nanoseconds.
type stageTimes [stageCount]*hdrhistogram.Histogram

func newStageTimes() *stageTimes {
	var t stageTimes
	for i := range t {
		t[i] = newHistogram()
	}
	return &t
}

// newHistogram holds up to a minute, to three digits.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, time.Minute.Nanoseconds(), 3)
}

// record adds n durations; those beyond the histogram's end count as its end.
func record(h *hdrhistogram.Histogram, d time.Duration, n uint64) {
	// Within the histogram's range there is no error.
	_ = h.RecordValues(min(max(d.Nanoseconds(), 0), h.HighestTrackableValue()), int64(n))
}

// merge adds another run's times.
func (t *stageTimes) merge(other *stageTimes) {
	for i := range t {
		t[i].Merge(other[i])
	}
}

// buckets counts durations by a bucket of a readback.Latency.
type buckets map[time.Duration]uint64

// readbackBuckets returns how long the readbacks of all sensors of the rig took so
// far; the stages that happen elsewhere are nil.
func (r *rigged) readbackBuckets() [stageCount]buckets {
	var all [stageCount]buckets
	for _, s := range r.sensors {
		reporter, ok := s.(interface{ ReadbackStats() readback.Stats })
		if !ok {
			continue
		}
		stats := reporter.ReadbackStats()
		for stage, latency := range map[int]*readback.Latency{
			stageGPU: &stats.GPU, stageFence: &stats.Fence, stageCopy: &stats.Copy, stageHandOn: &stats.Queue,
		} {
			if all[stage] == nil {
				all[stage] = buckets{}
			}
			for d, n := range latency.Buckets() {
				all[stage][d] += n
			}
		}
	}
	return all
}

// stages returns how long each stage took in a pass, before and after which the
// readbacks had those times.
func (p *pass) stages(before, after [stageCount]buckets) *stageTimes {
	t := newStageTimes()
	for stage := range after {
		for d, n := range after[stage] {
			record(t[stage], d, n-before[stage][d])
		}
	}
	for _, d := range p.waits {
		record(t[stageHop], d, 1)
	}
	for i := range p.streams {
		for k := range p.streams[i].arrivals {
			a := &p.streams[i].arrivals[k]
			record(t[stageQueue], a.taken.Sub(a.queued), 1)
			record(t[stageConvert], a.published.Sub(a.taken), 1)
		}
	}
	return t
}

// latencies returns for each capture how long it took from its announcement to the
// publication of its last message.
func (p *pass) latencies() []time.Duration {
	var list []time.Duration
	for i := range p.streams {
		for k := range p.streams[i].arrivals {
			a := &p.streams[i].arrivals[k]
			if k == len(list) {
				list = append(list, 0)
			}
			list[k] = max(list[k], a.published.Sub(a.started))
		}
	}
	return list
}
