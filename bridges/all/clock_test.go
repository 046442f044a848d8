package all_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/all/alltest"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
)

// live are the protocols of a realtime run that bring a clock.
func live() (list []protocol) {
	for _, way := range protocols {
		if slices.Contains([]string{
			"stream", "rosbridge JSON", "rosbridge BSON", "rosbridge's server JSON", "rosapollo", "ros2lgsvl", "cyber", "foxglove", "ros1",
		}, way.name) {
			list = append(list, way)
		}
	}
	return list
}

// TestNoSampleIsAheadOfItsClock: law T4 as receivers see it. The clock ticks slower than
// the sensors, so that most samples have to wait for it.
func TestNoSampleIsAheadOfItsClock(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	ways := live()
	require.Len(t, ways, 9)
	receivers := make([]*receiver, len(ways))
	for i, way := range ways {
		receivers[i] = way.open(t, t.TempDir())
	}
	p := alltest.NewPipeline(t, "50", pipeline.Config{Mode: pipeline.Realtime, ClockHz: 20})
	attach(t, p, receivers...)
	for deadline := time.Now().Add(patience); ; {
		require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
		if allThere(t, ways, receivers) {
			break
		}
		require.True(t, time.Now().Before(deadline), "not every receiver has every topic")
	}
	require.NoError(t, p.Run(t.Context(), time.Second))
	arrived := func() bool {
		for i, row := range p.Summary().Bridges {
			if int64(len(withoutTime(receivers[i].in.arrivals(t)))) != row.Sent {
				return false
			}
		}
		return true
	}
	require.Eventually(t, arrived, patience, tick, "all that was sent arrives")
	require.NoError(t, p.Close(t.Context()))
	assert.True(t, arrived(), "and nothing else")
	for i, row := range p.Summary().Bridges {
		for cause, n := range row.Drops {
			assert.Equal(t, string(flow.CauseNotConnected), cause, "%s: %d dropped", ways[i].name, n)
		}
	}
	for i, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			list := receivers[i].in.arrivals(t)
			if way.name == "ros1" {
				// A topic each has its connection, and what comes by two of them in no order:
				// what holds is each topic's own.
				risingOnEachTopic(t, list)
				return
			}
			clockFirst(t, list, alltest.ClockTopic)
			if way.name == "foxglove" {
				clockFirst(t, list, timeTopic)
			}
			risingOnEachTopic(t, list)
		})
	}
}

// withoutTime leaves out what is no message of a topic.
func withoutTime(list []arrival) []arrival {
	return slices.DeleteFunc(list, func(a arrival) bool { return a.topic == timeTopic })
}

// allThere reports whether each receiver has something of each of its topics.
func allThere(t *testing.T, ways []protocol, receivers []*receiver) bool {
	t.Helper()
	for i, way := range ways {
		list := receivers[i].in.arrivals(t)
		for _, topic := range way.topics {
			if !slices.ContainsFunc(list, func(a arrival) bool { return a.topic == topic }) {
				return false
			}
		}
	}
	return true
}

// clockFirst asserts that no sample is later than the clock that arrived last before it.
func clockFirst(t *testing.T, list []arrival, clock string) {
	t.Helper()
	last, samples := int64(math.MinInt64), 0
	for i, a := range list {
		switch a.topic {
		case clock:
			last = a.stamp
		case alltest.ClockTopic, timeTopic:
		default:
			samples++
			if !assert.LessOrEqual(t, a.stamp, last, "message %d, on %s, after the %s of then", i, a.topic, clock) {
				return
			}
		}
	}
	assert.Positive(t, samples)
}

// risingOnEachTopic asserts that a topic's messages arrive in the order of their stamps,
// each once.
func risingOnEachTopic(t *testing.T, list []arrival) {
	t.Helper()
	last := map[string]int64{}
	for _, a := range list {
		before, ok := last[a.topic]
		switch {
		case !ok:
		case a.topic == alltest.ClockTopic || a.topic == timeTopic:
			assert.GreaterOrEqual(t, a.stamp, before, a.topic) // runs end and begin with the same time
		default:
			assert.Greater(t, a.stamp, before, a.topic)
		}
		last[a.topic] = a.stamp
	}
}
