package viewer

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

func TestLatestKeepsTheNewestCopy(t *testing.T) {
	var l latest[sample.Image]
	assert.Nil(t, l.take(nil))
	m := &sample.Image{Data: []byte{1}}
	l.put(m)
	m.Data[0] = 2
	l.put(m)
	m.Data[0] = 3
	got := l.take(nil)
	require.NotNil(t, got)
	assert.Equal(t, []byte{2}, got.Data, "a copy of the newest")
	assert.Nil(t, l.take(got), "taken once")
	l.put(m)
	assert.Equal(t, []byte{2}, got.Data, "what is shown stays as it is")
	next := l.take(got)
	l.put(m)
	l.put(m)
	assert.Equal(t, []byte{3}, next.Data)
	assert.Zero(t, testing.AllocsPerRun(20, func() {
		l.put(m)
		next = l.take(next)
	}), "the memory goes round")
}

func TestLatestAcrossGoroutines(t *testing.T) {
	const n = 2000
	var l latest[sample.PointCloud]
	var wg sync.WaitGroup
	wg.Go(func() {
		m := &sample.PointCloud{Points: make([]sample.Point, 50)}
		for k := range n {
			m.Stamp = simtime.Stamp(k)
			for i := range m.Points {
				m.Points[i].Ray = uint32(k)
			}
			l.put(m)
		}
	})
	var shown *sample.PointCloud
	for before := int64(-1); before < n-1; {
		m := l.take(shown)
		if m == nil {
			continue
		}
		shown = m
		require.Greater(t, m.Stamp, simtime.Stamp(before))
		before = int64(m.Stamp)
		for i := range m.Points {
			require.EqualValues(t, m.Stamp, m.Points[i].Ray, "a torn message")
		}
	}
	wg.Wait()
}

func TestMeterMeasuresRateAndLatency(t *testing.T) {
	m := &Meter{name: "front", wanted: 10, drops: func() flow.Drops { return flow.Drops{"a": 2, "b": 3} }}
	assert.Equal(t, reading{lost: 5}, m.read(0))
	started := time.Now().Add(-40 * time.Millisecond)
	for k := range 1000 {
		m.Note(sensors.Tick{Due: simtime.Stamp(int64(k) * 100_000_000), Started: started})
	}
	now := int64(999 * 100_000_000)
	r := m.read(now)
	assert.InDelta(t, 10, r.rateHz, 1e-9)
	assert.GreaterOrEqual(t, r.latency, 40*time.Millisecond)
	assert.Zero(t, m.read(now+int64(10*time.Second)).rateHz, "nothing came lately")

	half := &Meter{wanted: 10}
	for k := range 20 {
		half.Note(sensors.Tick{Due: simtime.Stamp(int64(k) * 200_000_000), Started: started})
	}
	assert.InDelta(t, 5, half.read(19*200_000_000).rateHz, 1e-9, "every other one is lost")

	seldom := &Meter{wanted: 0.1}
	seldom.Note(sensors.Tick{Due: 10e9})
	seldom.Note(sensors.Tick{Due: 20e9})
	assert.InDelta(t, 0.1, seldom.read(25e9).rateHz, 1e-9, "a slow sensor is seen longer")
}

func TestRealTimeFactor(t *testing.T) {
	var f figures
	begun := time.Unix(0, 0)
	at := func(wallMs int, sim float64) {
		f.measure(moment{begun.Add(time.Duration(wallMs) * time.Millisecond), int64(sim * 1e9)})
	}
	at(0, 0)
	assert.True(t, math.IsNaN(f.factor), "one moment is none")
	at(250, 0.5)
	assert.InDelta(t, 2, f.factor, 1e-9)
	for k := 1; k <= 20; k++ {
		at(250+250*k, 0.5+0.125*float64(k))
	}
	assert.InDelta(t, 0.5, f.factor, 1e-9, "what is long ago doesn't count")
	f.paused = true
	at(60_000, 3)
	f.paused = false
	at(60_250, 3.25)
	assert.InDelta(t, 1, f.factor, 1e-9, "nor does a pause")
}

func TestTextFits(t *testing.T) {
	face := fonts(t).regular
	text := "front_semantic/image_raw"
	assert.Equal(t, text, face.fit(text, face.width(text)))
	for width := range face.width(text) {
		short := face.fit(text, width)
		assert.LessOrEqual(t, face.width(short), width)
		assert.Less(t, len([]rune(short)), len(text))
	}
	assert.Empty(t, face.fit(text, -5))
	assert.Empty(t, face.fit("", 0))
}
