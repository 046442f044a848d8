package viewer_test

import (
	"context"
	"errors"
	"image"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/viewer"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/glfwctx"
	"github.com/raybridge/raybridge/gpu/gputest"
)

// window is a window without a screen, on a fake GL thread.
type window struct {
	fake    *gputest.Fake
	events  chan glfwctx.Event
	size    atomic.Pointer[image.Point]
	shown   chan []byte // the pictures presented
	refused error       // what Present answers, if anything
}

func newWindow(t *testing.T, size image.Point) (*window, *gpu.Thread) {
	fake := gputest.NewFake()
	w := &window{fake: fake, events: make(chan glfwctx.Event, 16), shown: make(chan []byte, 1000)}
	w.size.Store(&size)
	return w, fake.Start(t)
}

func (w *window) Events() <-chan glfwctx.Event { return w.events }
func (w *window) Size() (width, height int)    { s := w.size.Load(); return s.X, s.Y }

func (w *window) Present(c *gpu.Ctx, _ *gpu.Texture) error {
	if err := errors.Join(w.refused, c.Finish()); err != nil {
		return err
	}
	w.shown <- w.fake.Bytes("window")
	return nil
}

// show runs Show until the test ends or the result was received.
func show(t *testing.T, v *viewer.Viewer, w *window, gl *gpu.Thread, ending <-chan struct{}) (stop func(), ended <-chan error) {
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- v.Show(ctx, ending, w, gl) }()
	return cancel, result
}

func TestShowPresentsThePicture(t *testing.T) {
	v, c := newViewer(t, viewer.Options{Title: "scene"})
	put, _ := v.AddCamera(viewer.Sensor{Name: "front"})
	put(tick(c), colours(64, 48))
	w, gl := newWindow(t, image.Pt(320, 240))
	stop, ended := show(t, v, w, gl, nil)
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
	w, gl := newWindow(t, image.Pt(200, 100))
	stop, ended := show(t, v, w, gl, nil)
	w.events <- key('Q')
	<-quit
	stop()
	assert.NoError(t, <-ended)
}

func TestShowSaysThatTheRunIsEnding(t *testing.T) {
	v, c := newViewer(t, viewer.Options{})
	c.paused = true
	ending := make(chan struct{})
	w, gl := newWindow(t, image.Pt(800, 400))
	stop, ended := show(t, v, w, gl, ending)
	before := <-w.shown
	close(ending)
	assert.NotEqual(t, before, <-w.shown, "nothing else changes a picture of a paused clock")
	w.events <- key(' ')
	stop()
	require.NoError(t, <-ended)
	assert.True(t, c.paused, "the clock is the run's again")
}

func TestShowEndsWithTheGLThread(t *testing.T) {
	v, _ := newViewer(t, viewer.Options{})
	w, gl := newWindow(t, image.Pt(100, 100))
	_, ended := show(t, v, w, gl, nil)
	<-w.shown
	require.NoError(t, gl.Close())
	assert.NoError(t, <-ended)
}

func TestShowEndsTheRunWhenItCantShow(t *testing.T) {
	quit := 0
	v, _ := newViewer(t, viewer.Options{Quit: func() { quit++ }})
	w, gl := newWindow(t, image.Pt(100, 100))
	w.refused = errors.New("no surface")
	_, ended := show(t, v, w, gl, nil)
	assert.ErrorIs(t, <-ended, w.refused)
	assert.Equal(t, 1, quit)
}

func TestALostContextIsTheRunsToReport(t *testing.T) {
	v, _ := newViewer(t, viewer.Options{Quit: func() { t.Error("quit") }})
	w, gl := newWindow(t, image.Pt(100, 100))
	w.fake.Lose()
	_, ended := show(t, v, w, gl, nil)
	assert.NoError(t, <-ended)
}

func TestAMinimisedWindowShowsNothing(t *testing.T) {
	v, _ := newViewer(t, viewer.Options{})
	w, gl := newWindow(t, image.Point{})
	stop, ended := show(t, v, w, gl, nil)
	w.events <- key('H')
	w.events <- key('H')
	stop()
	assert.NoError(t, <-ended)
	assert.Empty(t, w.shown)
}

// TestABusyGLThreadIsNotWaitedFor fills the queue: captures go first, and the
// picture comes when there is room.
func TestABusyGLThreadIsNotWaitedFor(t *testing.T) {
	v, _ := newViewer(t, viewer.Options{})
	w, gl := newWindow(t, image.Pt(100, 100))
	release := make(chan struct{})
	for gl.Go(func(*gpu.Ctx) error { <-release; return nil }) == nil {
	}
	stop, ended := show(t, v, w, gl, nil)
	for range cap(w.events) + 1 {
		w.events <- glfwctx.Event{Kind: glfwctx.MouseMove} // taken by a loop that doesn't wait
	}
	close(release)
	<-w.shown
	stop()
	assert.NoError(t, <-ended)
}
