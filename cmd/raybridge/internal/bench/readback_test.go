package bench_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/bench"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/chart"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

func TestPercentile(t *testing.T) {
	ms := func(list ...float64) []time.Duration {
		var out []time.Duration
		for _, v := range list {
			out = append(out, time.Duration(v*1e6))
		}
		return out
	}
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100-i) * time.Millisecond
	}
	for _, c := range []struct {
		list []time.Duration
		q    float64
		want float64
	}{
		{ms(7), 0.5, 7}, {ms(7), 0.99, 7}, {ms(3, 1, 2), 0.5, 2}, {ms(4, 1, 3, 2), 0.5, 2}, {ms(1, 9), 0.99, 9},
		{ms(1, 2, 3), 0, 1}, {hundred, 0.5, 50}, {hundred, 0.99, 99}, {hundred, 1, 100},
	} {
		before := slices.Clone(c.list)
		assert.Equal(t, c.want, bench.Percentile(c.list, c.q), "%v of %v", c.q, c.list)
		assert.Equal(t, before, c.list, "the list stays in its order")
	}
	assert.True(t, math.IsNaN(bench.Percentile(nil, 0.5)))
}

// A processor that takes 2 ns a round, interrupted in most tries: the shortest one
// counts.
func TestWorkIsCalibratedByTheShortestTry(t *testing.T) {
	tries := 0
	rounds := bench.RoundsFor(bench.FrameWork, func(rounds int) time.Duration {
		tries++
		took := time.Duration(2 * rounds)
		if tries%3 != 0 {
			took += time.Duration(tries%7) * time.Millisecond
		}
		return took
	})
	assert.InEpsilon(t, float64(bench.FrameWork)/2, float64(rounds), 0.001)
	assert.Less(t, tries, 200)
	assert.Positive(t, bench.RoundsFor(time.Millisecond, func(int) time.Duration { return 0 }), "a clock that stands still ends it")
}

func TestTooSlowLoopIsRefused(t *testing.T) {
	for _, c := range []struct {
		blocking, async []float64
		counts          bool
	}{
		{[]float64{10}, []float64{10}, true},
		{[]float64{10}, []float64{9}, true},
		{[]float64{10}, []float64{8.9}, false},
		{[]float64{10, 20, 10}, []float64{9.5, 19, 1}, true}, // one run was disturbed
		{[]float64{10, 20, 10}, []float64{9.5, 10, 1}, false},
		{[]float64{10}, []float64{math.NaN()}, false},
	} {
		err := bench.CompareRates(c.blocking, c.async)
		assert.Equal(t, c.counts, err == nil, "%v beside %v: %v", c.async, c.blocking, err)
	}
}

func TestOtherDataIsRefused(t *testing.T) {
	const captures = 3
	whole := func() [][]bench.Arrival {
		return [][]bench.Arrival{{{Stamp: 0, Sum: 5}, {Stamp: 1, Sum: 6}, {Stamp: 2, Sum: 6}}, {{Stamp: 0, Sum: 7}, {Stamp: 1, Sum: 8}, {Stamp: 2, Sum: 9}}}
	}
	require.NoError(t, bench.CompareStreams(whole(), whole(), captures))
	for _, c := range []struct {
		name   string
		change func([][]bench.Arrival) [][]bench.Arrival
		want   string
	}{
		{"lost at the end", func(s [][]bench.Arrival) [][]bench.Arrival { s[1] = s[1][:2]; return s }, "2 of 3 captures arrived on /topic1"},
		{"lost in between", func(s [][]bench.Arrival) [][]bench.Arrival { s[0] = slices.Delete(s[0], 1, 2); return s }, "capture 2 of /topic0 came as number 1"},
		{"twice", func(s [][]bench.Arrival) [][]bench.Arrival { s[0] = append(s[0], s[0][2]); return s }, "capture 2 of /topic0 came as number 3"},
		{"reordered", func(s [][]bench.Arrival) [][]bench.Arrival { s[0][1], s[0][2] = s[0][2], s[0][1]; return s }, "capture 2 of /topic0 came as number 1"},
		{"changed", func(s [][]bench.Arrival) [][]bench.Arrival { s[1][0].Sum++; return s }, "capture 0 of /topic1 has other bytes"},
		{"no topic", func(s [][]bench.Arrival) [][]bench.Arrival { return s[:1] }, "1 topics, not 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.ErrorContains(t, bench.CompareStreams(whole(), c.change(whole()), captures), c.want)
		})
	}
	assert.ErrorContains(t, bench.CompareStreams(whole()[:1], whole()[:1], captures+1), "arrived", "both may lose the same")
}

// picture is a message of a few pixels.
func picture(stamp simtime.Stamp, first byte) *sample.Image {
	return &sample.Image{
		Header: sample.Header{Stamp: stamp}, Width: 2, Height: 2, Step: 2, Encoding: sample.EncodingMono8, Data: []byte{first, 2, 3, 4},
	}
}

func TestSumIsOfTheData(t *testing.T) {
	sum := func(message any) uint64 {
		t.Helper()
		s, err := bench.SumOf(message)
		require.NoError(t, err)
		return s
	}
	assert.Equal(t, sum(picture(1, 1)), sum(picture(2, 1)), "the stamp is compared apart")
	assert.NotEqual(t, sum(picture(1, 1)), sum(picture(1, 2)))
	cloud := func(last uint32) *sample.PointCloud {
		return &sample.PointCloud{Rings: 1, Columns: 2, Points: []sample.Point{{X: 1}, {Ray: last}}}
	}
	assert.Equal(t, sum(cloud(1)), sum(cloud(1)))
	assert.NotEqual(t, sum(cloud(1)), sum(cloud(2)))
	assert.NotEqual(t, sum(&sample.PointCloud{}), sum(cloud(1)))
	assert.NotEqual(t, sum(&sample.CameraInfo{Width: 1}), sum(&sample.CameraInfo{Width: 1, P: [12]float64{11: 1}}))
	_, err := bench.SumOf(&sample.Clock{})
	assert.ErrorIs(t, err, errors.ErrUnsupported)
}

// imageOutput is the cameras' own.
func imageOutput(t *testing.T) *sensors.OutputSpec {
	t.Helper()
	i := slices.IndexFunc(camera.RGBDefinition.Outputs, func(o sensors.OutputSpec) bool { return o.Name == camera.OutputImage })
	require.GreaterOrEqual(t, i, 0)
	return &camera.RGBDefinition.Outputs[i]
}

// The sensor's buffer is overwritten at once; what arrives is what was queued.
func TestDeliveryKeepsOrderAndBytes(t *testing.T) {
	const captures = 40
	buffer := picture(0, 0)
	got, err := bench.Deliver(t.Context(), imageOutput(t), captures, func(k int) any {
		buffer.Stamp, buffer.Data[0] = simtime.Stamp(k), byte(k)
		return buffer
	})
	require.NoError(t, err)
	var want []bench.Arrival
	for k := range captures {
		sum, err := bench.SumOf(picture(simtime.Stamp(k), byte(k)))
		require.NoError(t, err)
		want = append(want, bench.Arrival{Stamp: int64(k), Sum: sum})
	}
	assert.Equal(t, want, got)
}

func TestDeliverySaysWhatWasNotPublished(t *testing.T) {
	_, err := bench.Deliver(t.Context(), imageOutput(t), 2, func(k int) any {
		p := picture(simtime.Stamp(k), 0)
		if k == 1 {
			p.Encoding = "no such encoding"
			p.Stamp = -1
		}
		return p
	})
	assert.ErrorContains(t, err, "a message was not published")
}

func TestReadbackCases(t *testing.T) {
	all := []string{"640x480", "1280x720", "1920x1080", "3840x2160", "VelodyneVLP16", "VelodyneVLS128", "1280x720_10hz"}
	for _, c := range []struct {
		config bench.Config
		want   []string
		bare   bool
	}{
		{bench.Config{}, all, true},
		{bench.Config{Quick: true}, []string{"640x480", "1280x720", "VelodyneVLP16"}, true},
		{bench.Config{Quick: true, Cases: []string{"3840x2160"}}, []string{"3840x2160"}, false},
		{bench.Config{Cases: []string{"VelodyneVLS128", "640x480"}}, []string{"640x480", "VelodyneVLS128"}, false},
	} {
		names, bare, err := bench.CasesWanted(c.config)
		require.NoError(t, err)
		assert.Equal(t, c.want, names)
		assert.Equal(t, c.bare, bare)
	}
	var r bench.Report
	err := bench.Readback(context.Background(), bench.Config{Source: soup(true), Cases: []string{"800x600"}}, &r)
	require.ErrorIs(t, err, bench.ErrConfig)
	assert.ErrorContains(t, err, "1280x720")
	assert.Empty(t, r.Results)
}

// runs are the frames of loops that never ran.
func runs() (blocking, async []time.Duration) {
	ms := time.Millisecond
	return []time.Duration{70 * ms, 90 * ms}, []time.Duration{4 * ms, 5 * ms, 4 * ms, 6 * ms, 4 * ms, 4 * ms, 4 * ms}
}

func TestReadbackFigures(t *testing.T) {
	blocking, async := runs()
	rows, _ := bench.FiguresOf([]string{"640x480"}, blocking, async, nil)
	value := map[string]float64{}
	for i := range rows {
		assert.Equal(t, "640x480", rows[i].Case)
		value[rows[i].Name] = rows[i].Median()
	}
	for name, want := range map[string]float64{
		"readback.blocking.frame_ms.p50": 70, "readback.blocking.frame_ms.p99": 90, "readback.blocking.frame_ms.max": 90,
		"readback.async.frame_ms.p50": 4, "readback.async.frame_ms.p99": 6, "readback.async.frame_ms.max": 6,
		"readback.blocking.captures_per_s": 2, "readback.async.captures_per_s": 2, "readback.dropped": 0,
	} {
		assert.Equal(t, want, value[name], name)
	}
	assert.InEpsilon(t, 1, value["readback.stage.copy_ms.p50"], 0.001)
	assert.NotContains(t, value, "readback.stage.gpu_ms.p50", "a stage that didn't happen")

	rows, _ = bench.FiguresOf([]string{"640x480"}, blocking, async, errors.New("lost"))
	var names []string
	for i := range rows {
		names = append(names, rows[i].Name)
	}
	assert.Equal(t, []string{
		"readback.blocking.frame_ms.p50", "readback.blocking.frame_ms.p99", "readback.blocking.frame_ms.max",
		"readback.blocking.captures_per_s", "readback.dropped",
	}, names, "an asynchronous loop that doesn't count has no figures")
}

func TestReadbackCharts(t *testing.T) {
	blocking, async := runs()
	_, charts := bench.FiguresOf([]string{"640x480", "1280x720"}, blocking, async, nil)
	require.Len(t, charts, 6)
	for i, want := range []string{"1280x720: blocking", "1280x720: asynchronous", "1280x720: where", "640x480: blocking", "640x480: asynchronous", "640x480: where"} {
		assert.Contains(t, charts[i].Title, want)
	}
	upper, lower, stages := charts[0], charts[1], charts[2]
	assert.NotEmpty(t, upper.Scale)
	assert.Equal(t, upper.Scale, lower.Scale, "they are compared by eye")
	assert.NotEqual(t, upper.Scale, charts[3].Scale)
	for i, want := range [][2][]float64{
		{{1, 2}, {70, 90}},
		{{1, 2, 3, 4, 5, 6, 7}, {4, 5, 4, 6, 4, 4, 4}},
	} {
		require.Len(t, charts[i].Series, 1)
		s := charts[i].Series[0]
		assert.Equal(t, chart.Bars, s.Kind)
		assert.InDeltaSlice(t, want[0], s.X, 1e-12)
		assert.Equal(t, want[1], s.Y)
	}

	assert.True(t, stages.LogX)
	for _, s := range stages.Series {
		assert.Equal(t, chart.Steps, s.Kind)
		total := 0.0
		for i, y := range s.Y {
			total += y
			if i > 0 {
				assert.Greater(t, s.X[i], s.X[i-1])
			}
		}
		assert.InDelta(t, 100, total, 1e-9, "%s: each duration is in one class", s.Name)
		assert.Zero(t, s.Y[len(s.Y)-1], "the last edge ends the last class")
	}

	_, charts = bench.FiguresOf([]string{"1280x720"}, blocking, async, errors.New("lost"))
	require.Len(t, charts, 1)
	assert.Contains(t, charts[0].Title, "blocking")
}

func TestClasses(t *testing.T) {
	assert.Equal(t, 0, bench.ClassOf(0))
	assert.Equal(t, 0, bench.ClassOf(0.0001), "what is shorter than the first")
	assert.Equal(t, 0, bench.ClassOf(0.001))
	assert.Equal(t, 8, bench.ClassOf(0.01))
	assert.Equal(t, 23, bench.ClassOf(0.99))
	assert.Equal(t, 24, bench.ClassOf(1))
	assert.Equal(t, 32, bench.ClassOf(10))
}
