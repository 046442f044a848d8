package viewer_test

import (
	"context"
	"errors"
	"image"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/viewer"
	"github.com/raybridge/raybridge/window"
)

// screenless is a window without a screen.
type screenless struct {
	events  chan window.Event
	size    atomic.Pointer[image.Point]
	shown   chan []byte   // the pictures shown
	refused error         // what Show answers, if anything
	slow    chan struct{} // Show tells here that it has begun, and is told to end; if not nil
}

func newWindow(size image.Point) *screenless {
	w := &screenless{events: make(chan window.Event, 16), shown: make(chan []byte, 1000)}
	w.size.Store(&size)
	return w
}

func (w *screenless) Events() <-chan window.Event { return w.events }
func (w *screenless) Size() (width, height int)   { s := w.size.Load(); return s.X, s.Y }

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
