package window_test

import (
	"errors"
	"image"
	"image/color"
	"image/draw"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/window"
)

// open opens a window on a virtual screen of its own until the test ends.
func open(t *testing.T, opts window.Options) (*window.Window, *gputest.Screen) {
	t.Helper()
	screen := gputest.Display(t)
	w, err := window.Open(opts)
	require.NoError(t, err)
	t.Cleanup(w.Close)
	return w, screen
}

// The time that a window may take to paint on a busy machine, and how often a test looks.
const (
	patience = 30 * time.Second
	glance   = 5 * time.Millisecond
)

// gradient is a picture whose pixels tell their place.
func gradient(width, height int) *image.RGBA {
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			picture.SetRGBA(x, y, color.RGBA{byte(x), byte(y), byte(200 + x/256), 255})
		}
	}
	return picture
}

func TestShow(t *testing.T) {
	for name, c := range map[string]struct {
		window, picture image.Point
	}{
		"small":             {image.Pt(64, 48), image.Pt(64, 48)},
		"of many requests":  {image.Pt(1280, 840), image.Pt(1280, 840)},
		"larger than it is": {image.Pt(64, 48), image.Pt(100, 90)},
	} {
		t.Run(name, func(t *testing.T) {
			w, screen := open(t, window.Options{Width: c.window.X, Height: c.window.Y})
			for range 2 { // the second takes what the first has made
				picture := gradient(c.picture.X, c.picture.Y)
				require.NoError(t, w.Show(picture))
				clear(picture.Pix) // it is ours again
				shown, err := screen.Picture()
				require.NoError(t, err)
				want := image.NewRGBA(image.Rectangle{Max: c.window})
				draw.Draw(want, want.Rect, gradient(c.picture.X, c.picture.Y), image.Point{}, draw.Src)
				require.Equal(t, want.Pix, shown.Pix)
			}
		})
	}
}

func TestShowAPartOfAPicture(t *testing.T) {
	w, screen := open(t, window.Options{Width: 20, Height: 10})
	part := gradient(64, 48).SubImage(image.Rect(7, 9, 27, 19)).(*image.RGBA)
	require.NoError(t, w.Show(part))
	shown, err := screen.Picture()
	require.NoError(t, err)
	for y := range 10 {
		for x := range 20 {
			require.Equal(t, part.RGBAAt(7+x, 9+y), shown.RGBAAt(x, y))
		}
	}
}

func TestShowRefusesNoPicture(t *testing.T) {
	w, _ := open(t, window.Options{Width: 20, Height: 10})
	assert.ErrorContains(t, w.Show(&image.RGBA{}), "0 x 0")
}

// Another window lies over ours for a moment; nobody shows the picture again.
func TestUncoveredPartsAreRepainted(t *testing.T) {
	w, screen := open(t, window.Options{Width: 64, Height: 48})
	require.NoError(t, w.Show(gradient(64, 48)))
	require.NoError(t, screen.Cover(10, 10, 30, 20))
	require.Eventually(t, func() bool {
		shown, err := screen.Picture()
		return assert.NoError(t, err) && assert.ObjectsAreEqual(gradient(64, 48).Pix, shown.Pix)
	}, patience, glance)
}

func TestInputArrivesInOrder(t *testing.T) {
	w, screen := open(t, window.Options{Width: 200, Height: 100})
	require.NoError(t, errors.Join(
		screen.MoveMouse(30, 40), screen.Click(1), screen.Click(3), screen.Click(4), screen.Click(5), screen.Type('p'), screen.Type('\x1b'), screen.CloseWindow(),
	))
	<-w.Closed()
	var got []window.Event
	for len(w.Events()) > 0 {
		if e := <-w.Events(); e.Kind != window.MouseMove && e.Kind != window.Resize {
			got = append(got, e)
		}
	}
	assert.Equal(t, []window.Event{
		{Kind: window.MouseDown, Button: window.ButtonLeft, X: 30, Y: 40},
		{Kind: window.MouseUp, Button: window.ButtonLeft, X: 30, Y: 40},
		{Kind: window.MouseDown, Button: window.ButtonRight, X: 30, Y: 40},
		{Kind: window.MouseUp, Button: window.ButtonRight, X: 30, Y: 40},
		{Kind: window.Scroll, ScrollY: 1, X: 30, Y: 40},
		{Kind: window.Scroll, ScrollY: -1, X: 30, Y: 40},
		{Kind: window.KeyDown, Key: 'P'},
		{Kind: window.KeyUp, Key: 'P'},
		{Kind: window.KeyDown, Key: window.KeyEscape},
		{Kind: window.KeyUp, Key: window.KeyEscape},
	}, got)
	assert.Zero(t, w.Dropped())
}

// A key that is held repeats without releases between, and is released when another
// window takes the keyboard.
func TestAHeldKey(t *testing.T) {
	w, screen := open(t, window.Options{Width: 200, Height: 100})
	require.NoError(t, errors.Join(screen.MoveMouse(30, 40), screen.Focus(), screen.Hold('w')))
	var kinds []window.EventKind
	for len(kinds) < 3 {
		if e := <-w.Events(); e.Key == 'W' {
			kinds = append(kinds, e.Kind)
		}
	}
	assert.Equal(t, []window.EventKind{window.KeyDown, window.KeyRepeat, window.KeyRepeat}, kinds)
	require.NoError(t, screen.Unfocus())
	for e := range w.Events() {
		if e.Kind != window.KeyRepeat {
			assert.Equal(t, window.Event{Kind: window.KeyUp, Key: 'W'}, e)
			return
		}
	}
}

func TestResize(t *testing.T) {
	w, screen := open(t, window.Options{Width: 64, Height: 48})
	width, height := w.Size()
	assert.Equal(t, image.Pt(64, 48), image.Pt(width, height))
	require.NoError(t, screen.Resize(80, 90))
	for e := range w.Events() {
		if e.Kind == window.Resize {
			assert.Equal(t, window.Event{Kind: window.Resize, Width: 80, Height: 90}, e)
			break
		}
	}
	width, height = w.Size()
	assert.Equal(t, image.Pt(80, 90), image.Pt(width, height))
}

func TestWindowsFollowEachOther(t *testing.T) {
	gputest.Display(t)
	for range 2 {
		w, err := window.Open(window.Options{Title: "again", Width: 32, Height: 32})
		require.NoError(t, err)
		w.SetTitle("другой заголовок")
		require.NoError(t, w.Show(gradient(32, 32)))
		select {
		case <-w.Closed():
			t.Error("nobody closed it")
		default:
		}
		w.Close()
		assert.NoError(t, w.Err())
		assert.Error(t, w.Show(gradient(32, 32)))
	}
}

// The display goes: the program is told, and nothing hangs.
func TestADisplayThatEnds(t *testing.T) {
	w, screen := open(t, window.Options{Width: 32, Height: 32})
	assert.NoError(t, w.Err())
	screen.End()
	<-w.Closed()
	assert.ErrorIs(t, w.Err(), window.ErrDisplayGone)
	assert.ErrorIs(t, w.Show(gradient(32, 32)), window.ErrDisplayGone)
}

func TestNoDisplay(t *testing.T) {
	for name, display := range map[string]string{"none": "", "dead": ":4093", "no name of one": "screen"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("DISPLAY", display)
			_, err := window.Open(window.Options{})
			require.ErrorIs(t, err, gpu.ErrNotSupported)
			assert.ErrorContains(t, err, "xvfb")
		})
	}
}
