package viewer

import (
	"context"
	"errors"
	"image"
	"time"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/glfwctx"
)

// Window is where the picture is shown; *glfwctx.Window is one.
type Window interface {
	Events() <-chan glfwctx.Event
	Size() (width, height int)
	Present(c *gpu.Ctx, t *gpu.Texture) error
}

// frameInterval is the time between pictures: thirty a second.
const frameInterval = time.Second / 30

// Show runs the viewer in a window, on the GL thread that has the window's
// context, until ctx ends or the GL thread is closed. Once ending is closed the
// window says that the run is finishing. The error is of showing the
// picture; a lost context, which the run reports itself, is none.
func (v *Viewer) Show(ctx context.Context, ending <-chan struct{}, w Window, gl *gpu.Thread) error {
	s := &screen{window: w, gl: gl, shown: make(chan error, 1)}
	defer v.saving.Wait()
	defer s.close()
	ticker := time.NewTicker(frameInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ending:
			ending = nil
			v.ending, v.changed = true, true
		case e := <-w.Events():
			v.Handle(e)
		case err := <-s.shown:
			s.busy = false
			if errors.Is(err, gpu.ErrContextLost) {
				return nil
			}
			if err != nil {
				v.quit(false)
				return err
			}
		case <-ticker.C:
			if err := v.driver.update(v.options.Clock.Now()); err != nil {
				v.say(err.Error())
			}
			if v.frame(s) != nil {
				return nil // the GL thread is closed
			}
		}
	}
}

// frame composes a picture and shows it if it has changed.
func (v *Viewer) frame(s *screen) error {
	width, height := s.window.Size()
	if s.busy || width == 0 || height == 0 {
		return nil
	}
	picture, changed := v.Compose(image.Pt(width, height))
	if !changed {
		return nil
	}
	err := s.show(picture)
	if errors.Is(err, gpu.ErrBusy) {
		v.changed = true // captures go first
		return nil
	}
	return err
}

// screen shows pictures through the GL thread, one at a time.
type screen struct {
	window Window
	gl     *gpu.Thread
	shown  chan error // the answer to each accepted show
	busy   bool       // the answer is yet to come

	texture *gpu.Texture // GL thread's until the answer came
	size    image.Point  // of texture
}

// show queues a picture, which must not be changed until the answer has come.
func (s *screen) show(picture *image.RGBA) error {
	err := s.gl.Go(func(c *gpu.Ctx) error {
		s.shown <- s.present(c, picture)
		return nil // the answer has it
	})
	s.busy = err == nil
	return err
}

// present uploads and shows a picture. GL thread.
func (s *screen) present(c *gpu.Ctx, picture *image.RGBA) error {
	size := picture.Rect.Size()
	if s.texture == nil || s.size != size {
		if s.texture != nil {
			s.texture.Close()
		}
		var err error
		s.texture, err = c.NewTexture(gpu.TextureDesc{Label: "window", Format: gpu.FormatRGBA8, Width: size.X, Height: size.Y})
		if err != nil {
			return err
		}
		s.size = size
	}
	if err := c.WriteTexture(s.texture, gpu.TextureRegion{}, picture.Pix); err != nil {
		return err
	}
	return s.window.Present(c, s.texture)
}

// close waits for the picture under way; the texture's deletion is queued (law G3).
func (s *screen) close() {
	if s.busy {
		<-s.shown //nolint:errcheck // nobody will see whether the last picture was shown
	}
	if s.texture != nil {
		s.texture.Close()
	}
}
