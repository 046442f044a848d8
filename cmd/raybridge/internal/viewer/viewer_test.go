package viewer_test

import (
	"context"
	"encoding/binary"
	"errors"
	"image"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/viewer"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/window"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() { runtime.LockOSThread() } // TestMain keeps the main thread

func TestMain(m *testing.M) {
	window.Main(func() { os.Exit(m.Run()) })
}

// clock is a simulation clock that a test sets.
type clock struct {
	now    int64
	paused bool
	steps  []int64
}

func (c *clock) Now() simtime.Stamp { return simtime.Stamp(c.now) }

func (c *clock) Paused() bool { return c.paused }

func (c *clock) Pause() { c.paused = true }

func (c *clock) Resume() { c.paused = false }

func (c *clock) Step(d int64) error { c.steps = append(c.steps, d); c.now += d; return nil }

func newViewer(t testing.TB, o viewer.Options) (*viewer.Viewer, *clock) {
	t.Helper()
	c := &clock{now: 1_000_000_000}
	o.Clock = c
	v, err := viewer.New(o)
	require.NoError(t, err)
	return v, c
}

func tick(c *clock) sensors.Tick { return sensors.Tick{Due: simtime.Stamp(c.now), Started: time.Now()} }

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

// compose returns a copy of the window's picture.
func compose(v *viewer.Viewer, size image.Point) *image.RGBA {
	picture, _ := v.Compose(size)
	kept := image.NewRGBA(picture.Rect)
	copy(kept.Pix, picture.Pix)
	return kept
}

// differing is the smallest rectangle that holds all differences of two pictures.
func differing(a, b *image.RGBA) (r image.Rectangle) {
	for y := range a.Rect.Dy() {
		for x := range a.Rect.Dx() {
			if a.RGBAAt(x, y) != b.RGBAAt(x, y) {
				r = r.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return r
}

func TestCameraIsShownPixelForPixel(t *testing.T) {
	v, c := newViewer(t, viewer.Options{Title: "scene"})
	put, _ := v.AddCamera(viewer.Sensor{Name: "front", Topic: "/front"})
	v.AddCloud(viewer.Sensor{Name: "lidar", Topic: "/lidar"})
	m := colours(640, 480)
	put(tick(c), m)
	for _, size := range []image.Point{{1600, 1000}, {1280, 840}, {1024, 768}} {
		picture := compose(v, size)
		bounds, unscaled := v.PictureBounds("front")
		require.True(t, unscaled)
		require.Equal(t, image.Pt(640, 480), bounds.Size())
		for y := range 480 {
			for x := range 640 {
				at := picture.RGBAAt(bounds.Min.X+x, bounds.Min.Y+y)
				require.Equal(t, [3]byte(m.Data[y*m.Step+3*x:][:3]), [3]byte{at.R, at.G, at.B})
			}
		}
	}
	picture := compose(v, image.Pt(500, 400))
	bounds, unscaled := v.PictureBounds("front")
	assert.False(t, unscaled)
	assert.InDelta(t, 640.0/480, float64(bounds.Dx())/float64(bounds.Dy()), 0.02, "it keeps its shape")
	middle := picture.RGBAAt(bounds.Min.X+bounds.Dx()/4, bounds.Min.Y+bounds.Dy()/4)
	assert.InDelta(t, 160, int(middle.R), 4)
	assert.InDelta(t, 120, int(middle.G), 4)
}

func TestThePictureChangesOnlyWithItsContents(t *testing.T) {
	v, c := newViewer(t, viewer.Options{})
	put, _ := v.AddCamera(viewer.Sensor{Name: "front"})
	size := image.Pt(800, 600)
	_, changed := v.Compose(size)
	assert.True(t, changed, "the first")
	c.paused = true
	v.Compose(size)
	_, changed = v.Compose(size)
	assert.False(t, changed, "nothing happened")
	before := compose(v, size)
	put(tick(c), colours(64, 48))
	after, changed := v.Compose(size)
	assert.True(t, changed)
	bounds, _ := v.PictureBounds("front")
	assert.True(t, bounds.Overlaps(differing(before, after)))
	_, changed = v.Compose(image.Pt(801, 600))
	assert.True(t, changed, "another size")
}

func TestAnyRigInAnyWindow(t *testing.T) {
	for _, sizes := range [][]image.Point{{{1, 1}, {40, 30}, {200, 120}, {640, 480}, {1920, 1080}, {90, 900}}} {
		for cameras := range 4 {
			for lidars := range 3 {
				v, c := newViewer(t, viewer.Options{Title: "scene", GPU: "gpu", EgoSpeed: func(int64) float64 { return 3 }})
				for k := range cameras {
					put, _ := v.AddCamera(viewer.Sensor{Name: "camera", Topic: "/camera"})
					put(tick(c), colours(20<<(3*k), 30))
				}
				for range lidars {
					put := v.AddCloud(viewer.Sensor{Name: "lidar", Topic: "/lidar", Mount: spatial.Identity()})
					put(tick(c), scan(64))
				}
				for _, size := range sizes {
					v.Handle(key('H'))
					v.Handle(key('C'))
					picture, _ := v.Compose(size)
					assert.Equal(t, size, picture.Rect.Size())
				}
			}
		}
	}
}

func TestABadImageIsSaidSo(t *testing.T) {
	v, c := newViewer(t, viewer.Options{})
	put, compressed := v.AddCamera(viewer.Sensor{Name: "front"})
	size := image.Pt(640, 480)
	put(tick(c), colours(64, 48))
	before := compose(v, size)
	put(tick(c), &sample.Image{Width: 64, Height: 48, Encoding: "yuv422", Step: 128, Data: make([]byte, 128*48)})
	bad := compose(v, size)
	assert.False(t, differing(before, bad).Empty())
	compressed(tick(c), &sample.CompressedImage{Format: "png", Data: []byte("no picture")})
	assert.False(t, differing(bad, compose(v, size)).Empty())
	put(tick(c), colours(64, 48))
	bounds, _ := v.PictureBounds("front")
	assert.False(t, bounds.Overlaps(differing(before, compose(v, size))), "it recovers")
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

// screenless is a window without a screen.
type screenless struct {
	events  chan window.Event
	size    atomic.Pointer[image.Point]
	shown   chan []byte   // the pictures shown
	refused error         // what Show answers, if anything
	slow    chan struct{} // Show tells here that it has begun, and is told to end; if not nil
	fills   chan bool     // what SetFullScreen was told
}

func newWindow(size image.Point) *screenless {
	w := &screenless{events: make(chan window.Event, 16), shown: make(chan []byte, 1000), fills: make(chan bool, 16)}
	w.size.Store(&size)
	return w
}

func (w *screenless) Events() <-chan window.Event { return w.events }

func (w *screenless) Size() (width, height int) { s := w.size.Load(); return s.X, s.Y }

func (w *screenless) SetFullScreen(on bool) { w.fills <- on }

func (w *screenless) Show(picture *image.RGBA) error {
	if w.refused != nil {
		return w.refused
	}
	if w.slow != nil {
		w.slow <- struct{}{}
		<-w.slow
	}
	w.shown <- slices.Clone(picture.Pix)
	return nil
}

// show runs Show until the test ends or the result was received.
func show(t *testing.T, v *viewer.Viewer, w *screenless, ending <-chan struct{}) (stop func(), ended <-chan error) {
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- v.Show(ctx, ending, w) }()
	return cancel, result
}

func TestF11FillsTheScreen(t *testing.T) {
	v, _ := newViewer(t, viewer.Options{Title: "scene"})
	w := newWindow(image.Pt(320, 240))
	stop, ended := show(t, v, w, nil)
	w.events <- key(window.KeyF11)
	w.events <- window.Event{Kind: window.KeyRepeat, Key: window.KeyF11} // held
	w.events <- key(' ')
	assert.True(t, <-w.fills)
	w.events <- key(window.KeyF11)
	assert.False(t, <-w.fills)
	stop()
	assert.NoError(t, <-ended)
	assert.Empty(t, w.fills)
}

func TestShowShowsThePicture(t *testing.T) {
	v, c := newViewer(t, viewer.Options{Title: "scene"})
	put, _ := v.AddCamera(viewer.Sensor{Name: "front"})
	put(tick(c), colours(64, 48))
	w := newWindow(image.Pt(320, 240))
	stop, ended := show(t, v, w, nil)
	assert.Len(t, <-w.shown, 320*240*4)
	bigger := image.Pt(400, 300)
	w.size.Store(&bigger)
	shown := <-w.shown
	for len(shown) != 400*300*4 {
		shown = <-w.shown
	}
	stop()
	require.NoError(t, <-ended)
	picture, _ := v.Compose(bigger)
	bounds, _ := v.PictureBounds("front")
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		row := picture.Pix[picture.PixOffset(bounds.Min.X, y):][:4*bounds.Dx()]
		require.Equal(t, row, shown[4*(y*400+bounds.Min.X):][:len(row)])
	}
}

func TestShowFollowsInput(t *testing.T) {
	quit := make(chan struct{})
	v, _ := newViewer(t, viewer.Options{Quit: func() { close(quit) }})
	w := newWindow(image.Pt(200, 100))
	stop, ended := show(t, v, w, nil)
	w.events <- key('Q')
	<-quit
	stop()
	assert.NoError(t, <-ended)
}

func TestShowSaysThatTheRunIsEnding(t *testing.T) {
	v, c := newViewer(t, viewer.Options{})
	c.paused = true
	ending := make(chan struct{})
	w := newWindow(image.Pt(800, 400))
	stop, ended := show(t, v, w, ending)
	before := <-w.shown
	close(ending)
	assert.NotEqual(t, before, <-w.shown, "nothing else changes a picture of a paused clock")
	w.events <- key(' ')
	stop()
	require.NoError(t, <-ended)
	assert.True(t, c.paused, "the clock is the run's again")
}

func TestShowEndsTheRunWhenItCantShow(t *testing.T) {
	quit := 0
	v, _ := newViewer(t, viewer.Options{Quit: func() { quit++ }})
	w := newWindow(image.Pt(100, 100))
	w.refused = errors.New("no surface")
	_, ended := show(t, v, w, nil)
	assert.ErrorIs(t, <-ended, w.refused)
	assert.Equal(t, 1, quit)
}

func TestAMinimisedWindowShowsNothing(t *testing.T) {
	v, _ := newViewer(t, viewer.Options{})
	w := newWindow(image.Point{})
	stop, ended := show(t, v, w, nil)
	w.events <- key('H')
	w.events <- key('H')
	stop()
	assert.NoError(t, <-ended)
	assert.Empty(t, w.shown)
}

// A picture on its way to a slow display holds up no input.
func TestASlowDisplayIsNotWaitedFor(t *testing.T) {
	v, _ := newViewer(t, viewer.Options{})
	w := newWindow(image.Pt(100, 100))
	w.slow = make(chan struct{})
	stop, ended := show(t, v, w, nil)
	<-w.slow
	for range cap(w.events) + 1 {
		w.events <- window.Event{Kind: window.MouseMove} // taken by a loop that doesn't wait
	}
	stop()
	w.slow <- struct{}{}
	assert.NoError(t, <-ended)
}
