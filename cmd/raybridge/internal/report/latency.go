package report

import (
	"math"
	"time"

	"github.com/raybridge/raybridge/pipeline"
)

// bar is one stage of the way to the first bridge. It has the slowest sensor's median and
// 99th percentile, and both as shares of the longest of all, in per cent.
type bar struct {
	Name               string
	P50, P99           time.Duration
	P50Share, P99Share float64
}

// way is the order of the stages.
var way = []string{"gpu", "fence", "copy", "wait", "queue", "send"}

// tabulate takes the slowest sensor of each stage that happened.
func tabulate(stages []pipeline.Stage) (bars []bar) {
	var longest time.Duration
	for _, name := range way {
		b, seen := bar{Name: name}, false
		for _, s := range stages {
			if s.Name == name {
				seen = true
				b.P50, b.P99 = max(b.P50, s.P50), max(b.P99, s.P99)
			}
		}
		if seen {
			bars = append(bars, b)
			longest = max(longest, b.P50, b.P99)
		}
	}
	for i := range bars {
		bars[i].P50Share, bars[i].P99Share = share(bars[i].P50, longest), share(bars[i].P99, longest)
	}
	return bars
}

// share is a part of a whole in per cent, to a tenth.
func share(part, whole time.Duration) float64 {
	if whole <= 0 {
		return 0
	}
	return math.Round(1000*part.Seconds()/whole.Seconds()) / 10
}
