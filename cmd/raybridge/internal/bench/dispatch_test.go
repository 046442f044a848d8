package bench_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/bench"
)

func TestMessageCases(t *testing.T) {
	assert.Equal(t, []string{"64B", "64KiB", "1MiB", "8MiB"}, bench.MessageCaseNames(1, false))
	assert.Equal(t, []string{
		"64B_1worker", "64B", "64KiB_1worker", "64KiB", "1MiB_1worker", "1MiB", "8MiB_1worker", "8MiB",
	}, bench.MessageCaseNames(2, false))
	assert.Equal(t, []string{"64B_1worker", "64B_2workers", "64B_4workers", "64B"}, bench.MessageCaseNames(6, false)[:4])
	assert.Equal(t, []string{"64B_1worker", "64B_2workers", "64B_4workers", "64B"}, bench.MessageCaseNames(8, false)[:4])
	assert.Equal(t, bench.MessageCaseNames(2, false), bench.MessageCaseNames(64, true), "a brief one has the ends alone")
}

// Runs are compared with those beside them.
func TestRunsAreComparedInPairs(t *testing.T) {
	assert.InDelta(t, 2, bench.OverTimes([]int{20, 2000, 40}, []int{10, 1000, 20}), 1e-9)
	assert.InDelta(t, 1.5, bench.OverTimes([]int{10, 20, 15}, []int{10, 10, 10}), 1e-9)
}

// messageUnits are the figures of each case.
var messageUnits = map[string]string{
	"dispatch.ns_per_msg": "ns", "channel.ns_per_msg": "ns", "dispatch.msgs_per_s": "messages/s",
	"dispatch.allocs_per_msg": "allocations", "dispatch.bytes_per_s": "bytes/s", "memcpy.bytes_per_s": "bytes/s",
}

func TestDispatch(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	var r bench.Report
	c := bench.Config{Runs: 2, Quick: true, Cases: []string{"64B", "1MiB"}}
	require.NoError(t, bench.Dispatch(context.Background(), c, &r))
	byCase := map[string]map[string]float64{}
	for _, f := range figures(t, &r) {
		assert.Equal(t, messageUnits[f.Name], f.Unit, f.Name)
		if byCase[f.Case] == nil {
			byCase[f.Case] = map[string]float64{}
		}
		byCase[f.Case][f.Name] = f.Value
	}
	require.Len(t, byCase, 2)
	for name, bytes := range map[string]float64{"64B": 64, "1MiB": 1 << 20} {
		got := byCase[name]
		require.Len(t, got, len(messageUnits), name)
		assert.Positive(t, got["channel.ns_per_msg"], name)
		assert.InEpsilon(t, got["dispatch.bytes_per_s"], bytes*got["dispatch.msgs_per_s"], 1e-6, name)
		assert.Positive(t, got["memcpy.bytes_per_s"], name)
		assert.Less(t, got["dispatch.allocs_per_msg"], 0.5, name)
	}
	took := map[string][]float64{} // by case
	for i := range r.Results {
		f := &r.Results[i]
		require.Len(t, f.Runs, 2)
		switch f.Name {
		case "dispatch.ns_per_msg":
			took[f.Case] = f.Runs
		case "dispatch.msgs_per_s":
			for run, rate := range f.Runs { // of one run: their medians may be of two
				assert.InEpsilon(t, 1e9, rate*took[f.Case][run], 1e-6, f.Case)
			}
		}
	}
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	for _, want := range []string{"times the channel, run by run", "% of memcpy", "and a channel of free buffers"} {
		assert.Contains(t, text.String(), want)
	}
	require.Len(t, r.Charts, 2)
	for i := range r.Charts {
		for _, s := range r.Charts[i].Series {
			assert.Equal(t, []float64{64, 1 << 20}, s.X)
			assert.Len(t, s.Y, 2)
		}
	}
	assert.Empty(t, r.Scenes)
}

func TestDispatchRefuses(t *testing.T) {
	var r bench.Report
	assert.ErrorIs(t, bench.Dispatch(context.Background(), bench.Config{Runs: -1}, &r), bench.ErrConfig)
	err := bench.Dispatch(context.Background(), bench.Config{Cases: []string{"3MiB"}}, &r)
	assert.ErrorIs(t, err, bench.ErrConfig)
	assert.ErrorContains(t, err, "did you mean 1MiB?")
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, bench.Dispatch(ended, bench.Config{}, &r), context.Canceled)
	assert.Empty(t, r.Results)
	assert.Empty(t, r.Methods)
}
