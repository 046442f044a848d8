package viewer_test

import (
	"encoding/binary"
	"image"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/viewer"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// clock is a simulation clock that a test sets.
type clock struct {
	now    int64
	paused bool
	steps  []int64
}

func (c *clock) Now() int64         { return c.now }
func (c *clock) Paused() bool       { return c.paused }
func (c *clock) Pause()             { c.paused = true }
func (c *clock) Resume()            { c.paused = false }
func (c *clock) Step(d int64) error { c.steps = append(c.steps, d); c.now += d; return nil }

func newViewer(t testing.TB, o viewer.Options) (*viewer.Viewer, *clock) {
	t.Helper()
	c := &clock{now: 1_000_000_000}
	o.Clock = c
	v, err := viewer.New(o)
	require.NoError(t, err)
	return v, c
}

func tick(c *clock) sensors.Tick { return sensors.Tick{TimeNs: c.now, Started: time.Now()} }

// colours is a picture whose pixels tell their place.
func colours(width, height int) *sample.Image {
	m := &sample.Image{Width: width, Height: height, Step: 3 * width, Encoding: sample.EncodingRGB8}
	for y := range height {
		for x := range width {
			m.Data = append(m.Data, byte(x), byte(y), byte(x>>8|y>>8<<4|0x40))
		}
	}
	return m
}

// distances is a depth image of a floor.
func distances(width, height int) *sample.Image {
	m := &sample.Image{Width: width, Height: height, Step: 4 * width, Encoding: sample.Encoding32FC1}
	for y := range height {
		for range width {
			z := float32(math.Inf(1))
			if y > height/2 {
				z = 1.5 * float32(height) / float32(y-height/2)
			}
			m.Data = binary.LittleEndian.AppendUint32(m.Data, math.Float32bits(z))
		}
	}
	return m
}

// scan is a cloud of n points around the sensor.
func scan(n int) *sample.PointCloud {
	random := rand.New(rand.NewPCG(1, 2))
	m := &sample.PointCloud{Rings: 16, Columns: n / 16}
	for range n {
		s, c := math.Sincos(random.Float64() * 2 * math.Pi)
		r := 4 + 40*random.Float64()
		m.Points = append(m.Points, sample.Point{
			X: float32(r * c), Y: float32(r * s), Z: float32(random.Float64()*6 - 1.9),
			Intensity: float32(random.Float64() * 120), Tag: uint8(random.IntN(20)),
		})
	}
	return m
}

func BenchmarkCompose(b *testing.B) {
	v, c := newViewer(b, viewer.Options{Title: "city", GPU: "some GPU"})
	var puts []func()
	for _, name := range []string{"front", "left"} {
		put, _ := v.AddCamera(viewer.Sensor{Name: name, Topic: "/" + name})
		m := colours(640, 480)
		puts = append(puts, func() { put(tick(c), m) })
	}
	depth, _ := v.AddCamera(viewer.Sensor{Name: "depth", Topic: "/depth"})
	m := distances(640, 480)
	puts = append(puts, func() { depth(tick(c), m) })
	cloud := v.AddCloud(viewer.Sensor{Name: "lidar", Topic: "/lidar", Mount: spatial.Identity()})
	points := scan(28800)
	puts = append(puts, func() { cloud(tick(c), points) })
	for b.Loop() {
		for _, put := range puts {
			put()
		}
		v.Compose(image.Pt(1280, 840))
	}
}
