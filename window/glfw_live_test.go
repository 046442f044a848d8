//go:build cgo && linux && !nowindow

package window_test

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/window"
)

func init() { runtime.LockOSThread() } // TestMain keeps the main thread

func TestMain(m *testing.M) {
	window.Main(func() { os.Exit(m.Run()) })
}

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

// eventually waits until the screen shows a picture.
func eventually(t *testing.T, screen *gputest.Screen, want *image.RGBA) {
	t.Helper()
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		shown, err := screen.Picture()
		require.NoError(t, err)
		require.Equal(t, want.Rect, shown.Rect)
		require.True(t, bytes.Equal(want.Pix, shown.Pix), "the screen shows something else")
	}, patience, glance)
}

func TestShow(t *testing.T) {
	for name, c := range map[string]struct {
		window, picture image.Point
	}{
		"small":             {image.Pt(64, 48), image.Pt(64, 48)},
		"large":             {image.Pt(1280, 840), image.Pt(1280, 840)},
		"larger than it is": {image.Pt(64, 48), image.Pt(100, 90)},
		"smaller":           {image.Pt(64, 48), image.Pt(50, 30)},
	} {
		t.Run(name, func(t *testing.T) {
			w, screen := open(t, window.Options{Width: c.window.X, Height: c.window.Y})
			for range 2 { // the second takes what the first has made
				picture := gradient(c.picture.X, c.picture.Y)
				require.NoError(t, w.Show(picture))
				clear(picture.Pix) // it is ours again
				want := image.NewRGBA(image.Rectangle{Max: c.window})
				draw.Draw(want, want.Rect, image.Black, image.Point{}, draw.Src)
				draw.Draw(want, want.Rect, gradient(c.picture.X, c.picture.Y), image.Point{}, draw.Src)
				eventually(t, screen, want)
			}
		})
	}
}

func TestShowAPartOfAPicture(t *testing.T) {
	w, screen := open(t, window.Options{Width: 20, Height: 10})
	part := gradient(64, 48).SubImage(image.Rect(7, 9, 27, 19)).(*image.RGBA)
	require.NoError(t, w.Show(part))
	want := image.NewRGBA(image.Rect(0, 0, 20, 10))
	draw.Draw(want, want.Rect, part, part.Rect.Min, draw.Src)
	eventually(t, screen, want)
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
	eventually(t, screen, gradient(64, 48))
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

// A dense screen shows two of its pixels a side for one of ours.
func TestADenseScreen(t *testing.T) {
	screen := gputest.Display(t)
	require.NoError(t, screen.SetDPI(192))
	w, err := window.Open(window.Options{Width: 64, Height: 48})
	require.NoError(t, err)
	defer w.Close()
	width, height := w.Size()
	assert.Equal(t, image.Pt(64, 48), image.Pt(width, height))
	require.NoError(t, w.Show(gradient(64, 48)))
	small, want := gradient(64, 48), image.NewRGBA(image.Rect(0, 0, 128, 96))
	for i := range want.Pix {
		x, y := i%(4*128)/8, i/(4*128)/2
		want.Pix[i] = small.Pix[y*4*64+4*x+i%4]
	}
	eventually(t, screen, want)

	require.NoError(t, errors.Join(screen.MoveMouse(30, 40), screen.Click(1)))
	e := <-w.Events()
	for e.Kind != window.MouseDown {
		e = <-w.Events()
	}
	assert.Equal(t, window.Event{Kind: window.MouseDown, Button: window.ButtonLeft, X: 15, Y: 20}, e)
	require.NoError(t, screen.Resize(81, 90))
	for e.Kind != window.Resize {
		e = <-w.Events()
	}
	assert.Equal(t, window.Event{Kind: window.Resize, Width: 41, Height: 45}, e, "no pixel of the screen is left out")
}

func TestFullScreen(t *testing.T) {
	w, screen := open(t, window.Options{Width: 64, Height: 48})
	for range 2 {
		w.SetFullScreen(true)
		awaitSize(t, w, 1920, 1200)
		picture := gradient(1920, 1200)
		require.NoError(t, w.Show(picture))
		eventually(t, screen, picture)
		w.SetFullScreen(false)
		awaitSize(t, w, 64, 48)
		require.NoError(t, w.Show(gradient(64, 48)))
		eventually(t, screen, gradient(64, 48))
	}
}

// awaitSize waits until the program is told of a size.
func awaitSize(t *testing.T, w *window.Window, width, height int) {
	t.Helper()
	for e := range w.Events() {
		if e.Kind == window.Resize && e.Width == width && e.Height == height {
			return
		}
	}
}

func TestWindowsFollowEachOther(t *testing.T) {
	screen := gputest.Display(t)
	for range 2 {
		w, err := window.Open(window.Options{Title: "again", Width: 32, Height: 32})
		require.NoError(t, err)
		assert.True(t, w.OnMainThread())
		w.SetTitle("другой заголовок")
		require.NoError(t, w.Show(gradient(32, 32)))
		eventually(t, screen, gradient(32, 32))
		_, err = window.Open(window.Options{})
		require.ErrorContains(t, err, "another is open")
		select {
		case <-w.Closed():
			t.Error("nobody closed it")
		default:
		}
		w.Close()
		assert.NoError(t, w.Err())
		assert.ErrorContains(t, w.Show(gradient(32, 32)), "closed")
		_, err = screen.Picture()
		assert.ErrorContains(t, err, "no window")
	}
}

// A server such as xvfb-run's begins again when its last client has left.
func TestAServerThatBeginsAgain(t *testing.T) {
	screen := gputest.Display(t, "-reset")
	screen.Leave()
	for range 5 {
		w, err := window.Open(window.Options{Width: 32, Height: 32})
		require.NoError(t, err)
		require.NoError(t, w.Show(gradient(32, 32)))
		w.Close()
		require.NoError(t, w.Err())
	}
}

// alone runs a test again in a process of its own, since its display takes the process's
// windows with it. It reports whether this is that process.
func alone(t *testing.T) bool {
	t.Helper()
	const variable = "RAYBRIDGE_TEST_ALONE"
	if os.Getenv(variable) == t.Name() {
		return true
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"="+t.Name())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "PASS\n", string(out), "nothing else is said")
	return false
}

// The display goes, while pictures are shown or while nothing is: the program is told, and
// nothing hangs.
func TestADisplayThatEnds(t *testing.T) {
	if !alone(t) {
		return
	}
	w, screen := open(t, window.Options{Width: 32, Height: 32})
	require.NoError(t, w.Show(gradient(32, 32)))
	assert.NoError(t, w.Err())
	screen.End()
	<-w.Closed()
	assert.ErrorIs(t, w.Err(), window.ErrDisplayGone)
	assert.ErrorIs(t, w.Show(gradient(32, 32)), window.ErrDisplayGone)
	w.SetTitle("too late")
	w.SetFullScreen(true)
	_, err := window.Open(window.Options{})
	assert.ErrorIs(t, err, window.ErrDisplayGone)
}

func TestADisplayThatEndsWhileItShows(t *testing.T) {
	if !alone(t) {
		return
	}
	w, screen := open(t, window.Options{Width: 640, Height: 480})
	shown, failed := make(chan bool, 1), make(chan error, 1)
	go func() {
		for picture := gradient(640, 480); ; {
			if err := w.Show(picture); err != nil {
				failed <- err
				return
			}
			select {
			case shown <- true:
			default:
			}
		}
	}()
	for range 3 {
		<-shown
	}
	screen.End()
	assert.ErrorIs(t, <-failed, window.ErrDisplayGone)
	<-w.Closed()
	assert.ErrorIs(t, w.Err(), window.ErrDisplayGone)
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

// ssh -X and some VNC servers have displays without OpenGL.
func TestADisplayWithoutGLX(t *testing.T) {
	gputest.Display(t, "-extension", "GLX")
	_, err := window.Open(window.Options{})
	require.ErrorIs(t, err, gpu.ErrNotSupported)
	assert.ErrorContains(t, err, "GLX")
}

// An old driver's OpenGL, below 3.3.
func TestADisplayWhoseOpenGLIsTooOld(t *testing.T) {
	gputest.Display(t)
	t.Setenv("MESA_GL_VERSION_OVERRIDE", "2.1")
	t.Setenv("LIBGL_ALWAYS_SOFTWARE", "1")
	_, err := window.Open(window.Options{})
	require.ErrorIs(t, err, gpu.ErrNotSupported)
	assert.ErrorContains(t, err, "OpenGL 3.3")
}
