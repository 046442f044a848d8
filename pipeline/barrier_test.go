package pipeline_test

import (
	"cmp"
	"context"
	"io"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// expected is one firing, worked out without a pipeline.
type expected struct {
	sensor string
	stamp  simtime.Stamp
	seq    uint64
}

// grid returns the firings of a rate in (after, until], from the first one's number on:
// floor(k 1e9 / rate), in rationals.
func grid(sensor, rate string, after, until int64) []expected {
	r, _ := new(big.Rat).SetString(rate)
	var list []expected
	for k := int64(1); ; k++ {
		t := new(big.Rat).Quo(new(big.Rat).SetInt64(k*1_000_000_000), r)
		ns := new(big.Int).Quo(t.Num(), t.Denom()).Int64()
		if ns > until {
			return list
		}
		if ns > after {
			list = append(list, expected{sensor, simtime.Stamp(ns), uint64(k - 1)})
		}
	}
}

// TestTheBarriersSetIsExact compares what the barrier says with what is worked out, for
// sensors of many rates.
func TestTheBarriersSetIsExact(t *testing.T) {
	rates := []struct{ name, id, rate string }{
		{"a", plainID, "7"}, {"b", laggyID, "10"}, {"c", plainID, "13.4"}, {"d", laggyID, "20"}, {"e", plainID, "100"}, {"f", laggyID, "100"},
	}
	to := &peer{kind: bridges.KindNetwork}
	p := newScripted(t, &script{}, pipeline.Config{Bridges: to.registry()})
	order := map[string]int{}
	for i, r := range rates {
		addScripted(t, p, r.id, r.name, r.rate)
		order[r.name] = i
	}
	to.attach(t, p, "")
	for _, n := range []int{1, 7, 50, 0, 142} {
		from := p.Clock().Now()
		dueNs, due := p.NextDue()
		list, err := p.StepSensors(t.Context(), n)
		require.NoError(t, err)
		until := from + simtime.Stamp(int64(n)*10_000_000)
		assert.Equal(t, until, p.Clock().Now())

		var want []expected
		for _, r := range rates {
			want = append(want, grid(r.name, r.rate, int64(from), int64(until))...)
		}
		slices.SortStableFunc(want, func(a, b expected) int {
			return cmp.Or(cmp.Compare(a.stamp, b.stamp), cmp.Compare(order[a.sensor], order[b.sensor]))
		})
		var got []expected
		frames := map[int64]uint64{}
		for _, d := range list {
			assert.True(t, d.Delivered(), "%+v", d)
			assert.Equal(t, 1, d.Messages)
			got = append(got, expected{d.Sensor, d.Due, d.Seq})
			if f, known := frames[int64(d.Due)]; known {
				assert.Equal(t, f, d.Frame, "one instant is one frame")
			}
			frames[int64(d.Due)] = d.Frame
			for other, f := range frames {
				assert.Equal(t, cmp.Compare(simtime.Stamp(other), d.Due), cmp.Compare(f, d.Frame), "frames rise with time")
			}
		}
		assert.Equal(t, want, got)
		if len(want) > 0 {
			assert.Equal(t, want[0].stamp, dueNs)
			for i, s := range due {
				assert.Equal(t, want[i].sensor, s.Name())
			}
		}
		for _, w := range want { // and all of it is there
			assert.Contains(t, to.stamps("/"+w.sensor), int64(w.stamp))
		}
	}
}

// TestWhatIsMissingHasACause goes through the ways in which a firing comes to nothing.
func TestWhatIsMissingHasACause(t *testing.T) {
	refuse := &peer{kind: bridges.KindNetwork, publish: func(_ context.Context, topic string, stamp simtime.Stamp) error {
		if topic == "/refused" && stamp == 20_000_000 {
			return flow.ErrWriteFailed
		}
		return nil
	}}
	lose := &script{lose: func(name string, at sensors.Tick) flow.Cause {
		switch {
		case name == "full" && at.Seq == 1:
			return flow.CauseReadbackFull
		case name == "failed" && at.Seq == 1:
			return flow.CauseReadbackFailed
		case name == "blurred" && at.Seq == 1:
			return flow.CauseConvertFailed
		case name == "unfit" && at.Seq == 1:
			return "too_hot"
		}
		return ""
	}}
	p := newScripted(t, lose, pipeline.Config{Bridges: refuse.registry()})
	for _, name := range []string{"full", "failed", "blurred"} {
		addScripted(t, p, laggyID, name, "100")
	}
	addScripted(t, p, plainID, "refused", "100")
	unfit := addScripted(t, p, plainID, "unfit", "100")
	panicking := addScripted(t, p, plainID, "panicking", "100")
	refuse.attach(t, p, "")
	deaf := newScripted(t, &script{}, pipeline.Config{})
	addScripted(t, deaf, plainID, "idle", "100")
	hear(t, panicking, func(at sensors.Tick, _ *sample.Imu) {
		if at.Seq == 1 {
			panic("second")
		}
	})
	list, err := p.StepSensors(t.Context(), 3)
	require.NoError(t, err)
	idle, err := deaf.StepSensors(t.Context(), 3)
	require.NoError(t, err)
	got := map[string][]string{}
	for _, d := range append(list, idle...) {
		got[d.Sensor] = append(got[d.Sensor], string(d.Missing))
	}
	assert.Equal(t, map[string][]string{
		"full": {"", "readback_full", ""}, "failed": {"", "readback_failed", ""}, "refused": {"", "write_failed", ""},
		"blurred":   {"", "convert_failed", ""},
		"panicking": {"", "callback_failed", ""}, "idle": {"idle", "idle", "idle"},
		"unfit": {"", "too_hot", ""},
	}, got)
	assert.Equal(t, flow.Drops{"too_hot": 1}, unfit.Drops(), "the summary counts it as well")
}

// TestAStalledBridgeIsNamed: policy block waits, but not for ever, and the pipeline is
// of use afterwards.
func TestAStalledBridgeIsNamed(t *testing.T) {
	stall := make(chan struct{})
	to := &peer{kind: bridges.KindNetwork, publish: func(_ context.Context, topic string, stamp simtime.Stamp) error {
		if topic == "/s" && stamp == 20_000_000 {
			<-stall
		}
		return nil
	}}
	p := newScripted(t, &script{}, pipeline.Config{Bridges: to.registry()})
	addScripted(t, p, plainID, "s", "100")
	to.attach(t, p, "block")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	list, err := p.StepSensors(ctx, 3)
	require.ErrorIs(t, err, pipeline.ErrUndelivered)
	var causes []string
	for _, d := range list {
		causes = append(causes, string(d.Missing))
	}
	assert.Equal(t, []string{"", "peer_slow", "peer_slow"}, causes)
	close(stall)
	list, err = p.StepSensors(t.Context(), 1)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.True(t, list[0].Delivered())
	everyMs(t, 10, to.stamps("/s"))
	assert.Len(t, to.stamps("/s"), 4, "what was missing came later")
}

// TestAStepThatIsCutShortSaysSo: the context ends it between two instants.
func TestAStepThatIsCutShortSaysSo(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	s := addScripted(t, p, plainID, "s", "100")
	ctx, cancel := context.WithCancel(t.Context())
	hear(t, s, func(at sensors.Tick, _ *sample.Imu) {
		if at.Seq == 4 {
			cancel()
		}
	})
	list, err := p.StepSensors(ctx, 1_000_000)
	require.ErrorIs(t, err, context.Canceled)
	assert.GreaterOrEqual(t, len(list), 5)
	for _, d := range list {
		assert.True(t, d.Delivered(), "what was begun is whole: %+v", d)
	}
	_, err = p.StepSensors(ctx, 1)
	require.ErrorIs(t, err, context.Canceled, "not begun at all")
	_, err = p.StepSensors(t.Context(), 1)
	require.NoError(t, err)

	broken := newScripted(t, &script{tick: func(_ string, at sensors.Tick) error {
		if at.Seq == 1 {
			return errBroken
		}
		return nil
	}}, pipeline.Config{})
	hear(t, addScripted(t, broken, plainID, "s", "100"), func(sensors.Tick, *sample.Imu) {})
	list, err = broken.StepSensors(t.Context(), 3)
	require.ErrorIs(t, err, errBroken)
	require.GreaterOrEqual(t, len(list), 2)
	assert.True(t, list[0].Delivered())
	assert.Equal(t, flow.CauseClosed, list[1].Missing)
}

// TestNoDriftInAnHour: 10 Hz at 60 steps a second, whose length is not a whole number of
// nanoseconds, stays on its grid.
func TestNoDriftInAnHour(t *testing.T) {
	p := newUnclocked(t, &script{}, pipeline.Config{Step: time.Second / 60})
	s := addScripted(t, p, plainID, "s", "10")
	n := int64(0)
	hear(t, s, func(at sensors.Tick, m *sample.Imu) {
		if n++; m.Stamp != simtime.Stamp(n*100_000_000) || at.PeriodNs != 100_000_000 || at.Seq != uint64(n-1) {
			t.Errorf("firing %d is %+v", n, at)
			s.Stop()
		}
	})
	require.NoError(t, p.Run(t.Context(), time.Hour))
	assert.EqualValues(t, 36_000, n)
}

// TestALongStepsAccountIsBounded: beyond so many, firings are added up, and what is kept of them stays small.
func TestALongStepsAccountIsBounded(t *testing.T) {
	const firings = 10_000 // of each sensor
	lose := &script{lose: func(_ string, at sensors.Tick) flow.Cause {
		switch {
		case at.Seq%1000 == 999 && at.Seq < 2000:
			return "too_cold"
		case at.Seq%1000 == 999:
			return "too_hot"
		}
		return ""
	}}
	p := newUnclocked(t, lose, pipeline.Config{})
	most := 0
	for _, s := range []*pipeline.Sensor{addScripted(t, p, plainID, "plain", "1000"), addScripted(t, p, laggyID, "laggy", "1000")} {
		hear(t, s, func(sensors.Tick, *sample.Imu) { most = max(most, p.Accounted()) })
	}
	addScripted(t, p, plainID, "idle", "1000")
	check := func(list []world.Delivery) {
		t.Helper()
		require.Len(t, list, pipeline.MaxDeliveries+3)
		count, lost := map[string]int{}, map[string]int{}
		for i, d := range list {
			assert.Equal(t, i >= pipeline.MaxDeliveries, d.More > 0)
			count[d.Sensor] += 1 + d.More
			switch {
			case d.More > 0:
				assert.Equal(t, d.Lost > 0, !d.Delivered())
				lost[d.Sensor] += d.Lost
				assert.Equal(t, 1+d.More-d.Lost, d.Messages)
			case !d.Delivered():
				lost[d.Sensor]++
			}
		}
		assert.Equal(t, map[string]int{"plain": firings, "laggy": firings, "idle": firings}, count)
		assert.Equal(t, map[string]int{"plain": firings / 1000, "laggy": firings / 1000, "idle": firings}, lost)
	}
	list, err := p.StepSensors(t.Context(), firings/10)
	require.NoError(t, err)
	check(list)
	causes := map[string]flow.Cause{}
	for _, sum := range list[pipeline.MaxDeliveries:] {
		causes[sum.Sensor] = sum.Missing
	}
	assert.Equal(t, map[string]flow.Cause{"plain": "too_hot", "laggy": "too_hot", "idle": flow.CauseIdle}, causes, "the first of those that aren't listed")
	assert.Less(t, most, pipeline.MaxDeliveries+3*400, "instants that are under way")

	r, err := p.StepTo(t.Context(), &world.Frame{Until: p.Clock().Now() + firings*1_000_000})
	require.NoError(t, err)
	check(r.Deliveries)
	list, err = p.StepSensors(t.Context(), 1)
	require.NoError(t, err)
	assert.Len(t, list, 30, "a short one has its own")
}

// TestNoAccountIsKeptWhereNobodyAsks: of a world that is followed, and of a step that doesn't wait.
func TestNoAccountIsKeptWhereNobodyAsks(t *testing.T) {
	p := newUnclocked(t, &script{}, pipeline.Config{})
	heard := 0
	hear(t, addScripted(t, p, plainID, "s", "1000"), func(sensors.Tick, *sample.Imu) {
		heard++
		assert.Zero(t, p.Accounted())
	})
	_, err := p.StepTo(t.Context(), &world.Frame{Until: 100_000_000, Wait: world.None})
	require.NoError(t, err)
	require.NoError(t, p.Follow(t.Context(), pipeline.Following{Kind: "test", Source: &frames{list: []world.Frame{{Until: 300_000_000}}, then: io.EOF}}))
	assert.Equal(t, 300, heard)
}
