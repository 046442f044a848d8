package camera

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

const dvsPeriod = int64(10_000_000)

// gray returns the luminance of a grey colour.
func gray(level int) uint32 { return uint32(level) * (2989 + 5870 + 1140) }

// brightnessOf is CARLA's formula, for a grey level of 0 to 255.
func brightnessOf(level int, eps float64) float64 {
	return math.Log(eps + float64(level)*(0.2989+0.5870+0.1140)/255)
}

// happened returns the events of a picture, which are not too many.
func (m *eventModel) happened(luminances []uint32, at sensors.Tick) []sample.DvsEvent {
	events, err := m.events(luminances, at)
	if err != nil {
		panic(err)
	}
	return events
}

func modelOf(width, height int) *eventModel {
	return &eventModel{
		width: width, height: height, thresholds: thresholds{positive: threshold{mean: 0.3}, negative: threshold{mean: 0.3}},
		useLog: true, eps: 0.001, seed: 5, limit: maxEvents,
	}
}

// tickAt is the k-th firing.
func tickAt(k int64) sensors.Tick {
	return sensors.Tick{Due: simtime.Stamp(k * dvsPeriod), PeriodNs: dvsPeriod, Seq: uint64(k)}
}

func TestAStepEdgeMakesThePredictedEvents(t *testing.T) {
	for _, c := range []struct{ from, to int }{{10, 200}, {200, 10}, {0, 255}, {255, 0}, {100, 130}, {100, 140}, {140, 100}} {
		m := modelOf(3, 2)
		m.positive.mean, m.negative.mean = 0.25, 0.4
		dark := []uint32{gray(c.from), gray(c.from), gray(c.from), gray(50), gray(50), gray(50)}
		light := []uint32{gray(50), gray(50), gray(50), gray(50), gray(c.to), gray(50)}
		copy(light, dark)
		light[1] = gray(c.to)
		require.Empty(t, m.happened(dark, tickAt(7)), "the first picture sets the levels")
		got := m.happened(light, tickAt(8))

		change := brightnessOf(c.to, 0.001) - brightnessOf(c.from, 0.001)
		step := 0.25
		if change < 0 {
			step = 0.4
		}
		require.Len(t, got, int(math.Abs(change)/step), "from %d to %d", c.from, c.to)
		for k, e := range got {
			assert.EqualValues(t, [2]uint16{1, 0}, [2]uint16{e.X, e.Y})
			assert.Equal(t, change > 0, e.Polarity)
			want := 7*dvsPeriod + int64(float64(k+1)*step/math.Abs(change)*float64(dvsPeriod))
			assert.InDelta(t, float64(simtime.Stamp(want)), float64(e.TimeNs), 1)
		}
		assert.Empty(t, m.happened(light, tickAt(9)), "nothing changed")
	}
}

func TestASlowRampCountsFromItsLastEvent(t *testing.T) {
	m := modelOf(1, 1)
	m.happened([]uint32{gray(50)}, tickAt(0))
	var got []sample.DvsEvent
	for k := int64(1); k <= 60; k++ {
		got = append(got, m.happened([]uint32{gray(50 + 3*int(k))}, tickAt(k))...)
	}
	change := brightnessOf(230, 0.001) - brightnessOf(50, 0.001)
	require.Len(t, got, int(change/0.3))
	for i, e := range got {
		// Between two pictures the brightness at the event is i+1 steps up.
		k := float64(e.TimeNs) / float64(dvsPeriod)
		low := int(k)
		a, b := brightnessOf(50+3*low, 0.001), brightnessOf(50+3*(low+1), 0.001)
		assert.InDelta(t, 0.3*float64(i+1), a+(b-a)*(k-float64(low))-brightnessOf(50, 0.001), 1e-6)
	}
}

func TestWithoutLogTheStepIsOfGreyLevels(t *testing.T) {
	m := modelOf(1, 1)
	m.useLog, m.positive.mean = false, 12
	m.happened([]uint32{gray(20)}, tickAt(0))
	assert.Len(t, m.happened([]uint32{gray(20 + 100)}, tickAt(1)), 8, "100 x 0.9999 / 12")
}

func TestRefractoryPeriod(t *testing.T) {
	m := modelOf(1, 1)
	m.refractoryNs = 3_000_000
	m.happened([]uint32{gray(0)}, tickAt(0))
	first := slices.Clone(m.happened([]uint32{gray(255)}, tickAt(1)))
	free := modelOf(1, 1)
	free.happened([]uint32{gray(0)}, tickAt(0))
	var want []sample.DvsEvent
	for _, e := range free.happened([]uint32{gray(255)}, tickAt(1)) {
		if len(want) == 0 || e.TimeNs-want[len(want)-1].TimeNs >= 3_000_000 {
			want = append(want, e)
		}
	}
	assert.Equal(t, want, first)
	assert.Greater(t, len(first), 2)
	// The levels of events that were left out count: the way back starts there.
	m.refractoryNs = 0
	reached := math.Floor((brightnessOf(255, 0.001)-brightnessOf(0, 0.001))/0.3) * 0.3
	back := reached - (brightnessOf(1, 0.001) - brightnessOf(0, 0.001))
	assert.Len(t, m.happened([]uint32{gray(1)}, tickAt(2)), int(back/0.3))
	m.refractoryNs = 3 * dvsPeriod
	assert.Empty(t, m.happened([]uint32{gray(255)}, tickAt(3)), "the period continues from picture to picture")
}

// TestSigmaOfTheThreshold reads each pixel's threshold off its first event's time.
func TestSigmaOfTheThreshold(t *testing.T) {
	const sigma = 0.04
	m := modelOf(200, 100)
	m.positive.sigma = sigma
	dark, light := make([]uint32, 20_000), make([]uint32, 20_000)
	for i := range dark {
		dark[i], light[i] = gray(20), gray(250)
	}
	change := brightnessOf(250, 0.001) - brightnessOf(20, 0.001)
	draw := func(k int64) []float64 {
		m.restart(dark, simtime.Stamp((k-1)*dvsPeriod))
		thresholds := make([]float64, len(dark))
		for _, e := range m.happened(light, tickAt(k)) {
			if i := int(e.Y)*200 + int(e.X); thresholds[i] == 0 {
				thresholds[i] = float64(e.TimeNs-simtime.Stamp((k-1)*dvsPeriod)) / float64(dvsPeriod) * change
			}
		}
		return thresholds
	}
	one, two := draw(1), draw(2)
	mean, square, product := 0.0, 0.0, 0.0
	for i := range one {
		mean += one[i] / float64(len(one))
	}
	for i := range one {
		square += (one[i] - mean) * (one[i] - mean) / float64(len(one))
		product += (one[i] - mean) * (two[i] - mean) / float64(len(one))
	}
	// Standard errors of 20,000 draws are sigma/141 and sigma/200.
	assert.InDelta(t, 0.3, mean, 5*sigma/141)
	assert.InDelta(t, sigma, math.Sqrt(square), 5*sigma/200)
	assert.InDelta(t, 0, product/square, 5.0/141, "each picture draws anew")
	assert.Equal(t, one, draw(1), "the same firing draws the same")

	m.seed++
	assert.NotEqual(t, one, draw(1))
	m.positive.sigma = 5
	crossed := slices.DeleteFunc(draw(1), func(c float64) bool { return c == 0 }) // the others are above the change
	assert.InDelta(t, minThreshold, slices.Min(crossed), 1e-4, "noise leaves no less")
}

// randomPictures returns three random pictures.
func randomPictures(n int) [3][]uint32 {
	random := rand.New(rand.NewPCG(1, 2))
	var list [3][]uint32
	for k := range list {
		for range n {
			list[k] = append(list[k], gray(random.IntN(256)))
		}
	}
	return list
}

func TestEventsAreSortedAndTheSameWithAnyNumberOfWorkers(t *testing.T) {
	list := randomPictures(64 * 37)
	var want []sample.DvsEvent
	for _, workers := range []int{1, 2, 7, 100} {
		m := modelOf(64, 37)
		m.positive.sigma, m.negative.sigma, m.workers = 0.1, 0.1, workers
		m.happened(list[0], tickAt(0))
		got := slices.Clone(m.happened(list[1], tickAt(1)))
		got = append(got, m.happened(list[2], tickAt(2))...)
		require.NotEmpty(t, got)
		assert.True(t, slices.IsSortedFunc(got, func(a, b sample.DvsEvent) int {
			return cmp.Or(cmp.Compare(a.TimeNs, b.TimeNs), cmp.Compare(a.Y, b.Y), cmp.Compare(a.X, b.X))
		}))
		if want == nil {
			want = got
		}
		assert.Equal(t, want, got, "%d workers", workers)
	}
}

func TestAMissingPictureLengthensTheInterval(t *testing.T) {
	m := modelOf(1, 1)
	m.happened([]uint32{gray(10)}, tickAt(0))
	got := m.happened([]uint32{gray(200)}, tickAt(5))
	require.NotEmpty(t, got)
	change := brightnessOf(200, 0.001) - brightnessOf(10, 0.001)
	assert.InDelta(t, 0.3/change*5*float64(dvsPeriod), float64(got[0].TimeNs), 1)
}

func TestAJumpOfTimeStartsAnew(t *testing.T) {
	for name, to := range map[string]int64{"back": 2, "to the same": 4, "far on": 4 + maxGap + 1} {
		m := modelOf(1, 1)
		m.happened([]uint32{gray(10)}, tickAt(3))
		m.happened([]uint32{gray(200)}, tickAt(4))
		assert.Empty(t, m.happened([]uint32{gray(10)}, tickAt(to)), name)
		assert.Len(t, m.happened([]uint32{gray(20)}, tickAt(to+1)), 2, "%s: ln 2 / 0.3", name)
	}
}

func TestLessThanTheToleranceIsNothing(t *testing.T) {
	m := modelOf(1, 1)
	m.positive.mean = minThreshold
	m.eps = 1
	luminance := uint32(250 * luminanceUnit)
	m.happened([]uint32{luminance}, tickAt(0))
	for k := int64(1); k < 10_000; k++ {
		luminance++ // by ln(1 + 1e-4/255/1.98) each time
		require.Empty(t, m.happened([]uint32{luminance}, tickAt(k)))
	}
}

// TestTooManyEventsAreNone has one more event than a picture may have, on as many
// goroutines as may be; the picture sets the levels all the same.
func TestTooManyEventsAreNone(t *testing.T) {
	list := randomPictures(64 * 37)
	free := modelOf(64, 37)
	free.happened(list[0], tickAt(0))
	n := len(free.happened(list[1], tickAt(1)))
	after := slices.Clone(free.happened(list[2], tickAt(2)))
	for _, workers := range []int{1, 2, 7, 100} {
		m := modelOf(64, 37)
		m.workers = workers
		m.limit = n
		m.happened(list[0], tickAt(0))
		assert.Len(t, m.happened(list[1], tickAt(1)), n, "as many as may be")
		m = modelOf(64, 37)
		m.workers = workers
		m.limit = n - 1
		m.happened(list[0], tickAt(0))
		got, err := m.events(list[1], tickAt(1))
		assert.ErrorIs(t, err, errTooManyEvents)
		assert.Empty(t, got)
		m.limit = maxEvents
		assert.Equal(t, after, m.happened(list[2], tickAt(2)))
	}
}

// TestMemoryOfACutIsGivenBack cuts once, and then little happens.
func TestMemoryOfACutIsGivenBack(t *testing.T) {
	const pixels = 100 * 400
	m := modelOf(100, 400)
	dark, light := make([]uint32, pixels), make([]uint32, pixels)
	for i := range light {
		light[i] = gray(255)
	}
	m.happened(dark, tickAt(0))
	n := len(m.happened(light, tickAt(1)))
	require.Greater(t, n, 8*keptEvents)
	require.GreaterOrEqual(t, cap(m.list), n)
	for k := int64(2); k < 2+2*trimPictures; k++ {
		light[0] = gray(int(k%2) * 255)
		require.NotEmpty(t, m.happened(light, tickAt(k)))
	}
	for _, held := range [][]sample.DvsEvent{m.list, m.turn, m.bands[0].events} {
		assert.Less(t, cap(held), keptEvents)
	}
	k := int64(2 + 2*trimPictures)
	assert.Zero(t, testing.AllocsPerRun(3*trimPictures, func() {
		light[0] = gray(int(k%2) * 255)
		m.happened(light, tickAt(k))
		k++
	}), "what is needed is kept")
}

func BenchmarkEvents(b *testing.B) {
	m := modelOf(640, 480)
	list := randomPictures(640 * 480)
	for i := range list[1] {
		if i%20 != 0 { // a twentieth of the pixels changes
			list[1][i] = list[0][i]
		}
	}
	b.ReportAllocs()
	k := int64(0)
	for b.Loop() {
		m.happened(list[k%2], tickAt(k))
		k++
	}
}
