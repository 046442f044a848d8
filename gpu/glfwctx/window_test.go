//go:build cgo && !nowindow

package glfwctx_test

import (
	"errors"
	"image"
	"image/color"
	"iter"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/glfwctx"
	"github.com/raybridge/raybridge/gpu/gputest"
)

// open runs f in a window on a virtual screen, with its GL thread.
func open(t *testing.T, opts glfwctx.Options, f func(*glfwctx.Window, *gpu.Thread, *gputest.Screen) error) {
	t.Helper()
	screen := gputest.Display(t)
	opts.Debug = true
	err := glfwctx.Main(opts, func(w *glfwctx.Window) error {
		thread, err := gpu.Start(w.Open)
		if err != nil {
			return err
		}
		err = f(w, thread, screen)
		assert.Empty(t, thread.DebugErrors())
		assert.Empty(t, thread.Live())
		return errors.Join(err, thread.Close())
	})
	if errors.Is(err, gpu.ErrNotSupported) && os.Getenv("REQUIRE_GL") != "1" {
		t.Skipf("no OpenGL in a window: %v", err)
	}
	require.NoError(t, err)
}

// gradient is a picture whose pixels tell their place.
func gradient(width, height int) *image.RGBA {
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			picture.SetRGBA(x, y, color.RGBA{byte(x), byte(y), 200, 255})
		}
	}
	return picture
}

// show presents a picture and returns what Snapshot says of it.
func show(w *glfwctx.Window, c *gpu.Ctx, picture *image.RGBA) (*image.RGBA, error) {
	tex, err := c.NewTexture(gpu.TextureDesc{
		Label: "picture", Format: gpu.FormatRGBA8, Width: picture.Rect.Dx(), Height: picture.Rect.Dy(),
	})
	if err != nil {
		return nil, err
	}
	defer tex.Close()
	if err := c.WriteTexture(tex, gpu.TextureRegion{}, picture.Pix); err != nil {
		return nil, err
	}
	snapshot, err := w.Snapshot(c, tex)
	if err != nil {
		return nil, err
	}
	return snapshot, errors.Join(w.Present(c, tex), c.Finish())
}

func TestPresentShowsTheTextureUpright(t *testing.T) {
	const width, height = 64, 48
	open(t, glfwctx.Options{Width: width, Height: height}, func(w *glfwctx.Window, thread *gpu.Thread, screen *gputest.Screen) error {
		assert.Contains(t, thread.Info().Device, "window")
		var snapshot *image.RGBA
		if err := thread.Do(t.Context(), func(c *gpu.Ctx) (err error) {
			snapshot, err = show(w, c, gradient(width, height))
			return err
		}); err != nil {
			return err
		}
		onScreen, err := screen.Picture()
		if err != nil {
			return err
		}
		assert.Equal(t, gradient(width, height).Pix, opaque(snapshot).Pix)
		assert.Equal(t, gradient(width, height).Pix, onScreen.Pix)
		return nil
	})
}

// opaque overwrites alpha, which a window need not keep.
func opaque(picture *image.RGBA) *image.RGBA {
	for i := 3; i < len(picture.Pix); i += 4 {
		picture.Pix[i] = 255
	}
	return picture
}

func TestInputArrivesInOrder(t *testing.T) {
	open(t, glfwctx.Options{Width: 200, Height: 100}, func(w *glfwctx.Window, _ *gpu.Thread, screen *gputest.Screen) error {
		if err := errors.Join(
			screen.MoveMouse(30, 40), screen.Click(1), screen.Click(4), screen.Type('p'), screen.Type('\x1b'), screen.CloseWindow(),
		); err != nil {
			return err
		}
		<-w.Closed()
		var got []glfwctx.Event
		for e := range events(w) {
			if e.Kind != glfwctx.MouseMove && e.Kind != glfwctx.Resize {
				got = append(got, e)
			}
		}
		assert.Equal(t, []glfwctx.Event{
			{Kind: glfwctx.MouseDown, Button: glfwctx.ButtonLeft, X: 30, Y: 40},
			{Kind: glfwctx.MouseUp, Button: glfwctx.ButtonLeft, X: 30, Y: 40},
			{Kind: glfwctx.Scroll, ScrollY: 1, X: 30, Y: 40},
			{Kind: glfwctx.KeyDown, Key: 'P'},
			{Kind: glfwctx.KeyUp, Key: 'P'},
			{Kind: glfwctx.KeyDown, Key: glfwctx.KeyEscape},
			{Kind: glfwctx.KeyUp, Key: glfwctx.KeyEscape},
		}, got)
		return nil
	})
}

// events yields what has arrived; the close request came after all of it.
func events(w *glfwctx.Window) iter.Seq[glfwctx.Event] {
	return func(yield func(glfwctx.Event) bool) {
		for {
			select {
			case e := <-w.Events():
				if !yield(e) {
					return
				}
			default:
				return
			}
		}
	}
}

func TestWindowsFollowEachOther(t *testing.T) {
	for range 2 {
		open(t, glfwctx.Options{Title: "again", Width: 32, Height: 32}, func(w *glfwctx.Window, _ *gpu.Thread, _ *gputest.Screen) error {
			w.SetTitle("another title")
			select {
			case <-w.Closed():
				return errors.New("nobody closed it")
			default:
			}
			assert.Zero(t, w.Dropped())
			return nil
		})
	}
}

func TestMainReturnsTheFunctionsError(t *testing.T) {
	gputest.Display(t)
	failed := errors.New("bridge refused")
	err := glfwctx.Main(glfwctx.Options{Width: 32, Height: 32}, func(*glfwctx.Window) error { return failed })
	require.ErrorIs(t, err, failed)
	err = glfwctx.Main(glfwctx.Options{Width: 32, Height: 32}, func(*glfwctx.Window) error { runtime.Goexit(); return nil })
	require.ErrorContains(t, err, "ended its goroutine")
}

func TestOneThreadHasTheContext(t *testing.T) {
	open(t, glfwctx.Options{Width: 32, Height: 32}, func(w *glfwctx.Window, _ *gpu.Thread, _ *gputest.Screen) error {
		_, err := gpu.Start(w.Open)
		assert.ErrorContains(t, err, "current on another thread")
		return nil
	})
}

func TestNoDisplay(t *testing.T) {
	for name, display := range map[string]string{"none": "", "dead": ":4093"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("DISPLAY", display)
			err := glfwctx.Main(glfwctx.Options{}, func(*glfwctx.Window) error {
				t.Error("run was called without a window")
				return nil
			})
			require.ErrorIs(t, err, gpu.ErrNotSupported)
			assert.ErrorContains(t, err, "xvfb")
		})
	}
}
