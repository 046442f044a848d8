package carry_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// offsets are those of the lanes that a sensor takes now.
func (p *probe) offsets() (list []float64) {
	for l := range p.in.(*sensors.Input[*lane]).Take() {
		list = append(list, l.offset)
	}
	return list
}

// TestSensorsAreBroughtTheirInputs, those that join before the bridge and behind it, until they leave.
func TestSensorsAreBroughtTheirInputs(t *testing.T) {
	to := &peer{}
	h := newHost(t, true, to)
	first := h.join(takes[*lane](newProbe("first"), "/first/lane", false))
	h.attach("test:x", "")
	second := h.join(takes[*lane](newProbe("second"), "/lanes", false))
	assert.True(t, to.bring("/first/lane", &lane{1}))
	assert.True(t, to.bring("/lanes", &lane{2}))
	assert.Equal(t, []float64{1}, first.offsets())
	assert.Equal(t, []float64{2}, second.offsets())
	h.Leave([]*carry.Topics{second.topics})
	assert.Zero(t, h.Takers("/lanes"), "nothing is kept of it")
	assert.Equal(t, 1, h.Takers("/first/lane"))
	to.bring("/lanes", &lane{3}) // to nobody
	assert.Empty(t, second.offsets())

	again := h.join(takes[*lane](newProbe("second"), "/lanes", false))
	to.bring("/lanes", &lane{4})
	assert.Equal(t, []float64{4}, again.offsets())
	assert.EqualValues(t, 1, again.topics.InputRows()[0].Messages)
}

// TestMissingTopicsAreTold: at the start, and of sensors that come later. Of alternatives one is
// enough.
func TestMissingTopicsAreTold(t *testing.T) {
	type riddle struct{}
	const alternative = true
	h := newHost(t, true, &peer{})
	h.attach("test:x", "")
	h.join(takes[*riddle](takes[*lane](newProbe("first"), "/first/lane", false), "/first/riddle", false))
	h.join(takes[*riddle](takes[*lane](newProbe("served"), "/served/lane", alternative), "/served/riddle", alternative))
	lines := func() []string { return h.log.lines("waited for") }
	assert.Empty(t, lines())
	h.Start()
	require.Len(t, lines(), 1)
	assert.Contains(t, lines()[0], `topics="/first/riddle (*carry_test.riddle)"`)
	h.join(takes[*riddle](newProbe("second"), "/second/riddle", alternative))
	require.Len(t, lines(), 2)
	assert.Contains(t, lines()[1], `topics="/second/riddle (*carry_test.riddle)"`)
}

// TestRowsHaveWhatSensorsDidNotTake: messages that newer ones pushed out are counted, those of
// sensors that have ended too (law S5).
func TestRowsHaveWhatSensorsDidNotTake(t *testing.T) {
	to := &peer{}
	h := newHost(t, true, to)
	h.attach("test:x", "")
	var former carry.Former
	row := carry.InputSummary{Name: "deaf", Type: "sensor.test.probe", Topic: "/deaf/lane", Drops: flow.Drops{}}
	for _, messages := range []int{70, 65} {
		s := h.join(takes[*lane](newProbe("deaf"), "/deaf/lane", false))
		for range messages {
			to.bring("/deaf/lane", &lane{})
		}
		former = former.With(nil, s.topics.InputRows())
		h.Leave([]*carry.Topics{s.topics})
	}
	row.Messages, row.Drops, row.Ended = 135, flow.Drops{"queue_full": 7}, true
	assert.Equal(t, []carry.InputSummary{row}, former.Inputs)
}

// TestAROSClockIsFollowed: a bridge brings /clock while that is the clock's source, and takes it
// otherwise.
func TestAROSClockIsFollowed(t *testing.T) {
	to := &peer{}
	h := newHost(t, false, to)
	h.attach("test:x", "")
	h.Start()
	assert.False(t, to.bring(carry.ClockTopic, &sample.Clock{Stamp: 1}), "nobody asked for /clock")
	h.PublishClock(t.Context(), 1)
	assert.Len(t, to.stamps(carry.ClockTopic), 1)

	require.NoError(t, h.clock.Select(simtime.ROS2))
	soon := func(what string, done func() bool) {
		t.Helper()
		require.Eventually(t, done, 20*time.Second, time.Millisecond, what)
	}
	soon("/clock is waited for", func() bool { return h.waitsFor() != "" })
	assert.Contains(t, h.waitsFor(), carry.ClockTopic)
	const told = simtime.Stamp(100 * time.Second)
	assert.True(t, to.bring(carry.ClockTopic, &sample.Clock{Stamp: told}))
	assert.Empty(t, h.waitsFor())
	assert.Equal(t, told, h.clock.Now())
	h.PublishClock(t.Context(), told)
	assert.Len(t, to.stamps(carry.ClockTopic), 1, "not published to where it comes from")

	require.NoError(t, h.clock.Select(simtime.Engine))
	soon("the bridge takes /clock again", func() bool {
		h.PublishClock(t.Context(), 2)
		return len(to.stamps(carry.ClockTopic)) > 1
	})
}

// waitsFor is what the run was told last that it waits for.
func (h *host) waitsFor() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.awaited) == 0 {
		return ""
	}
	return h.awaited[len(h.awaited)-1]
}
