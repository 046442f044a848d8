package viewer

import (
	"context"
	"image"
	"time"

	"github.com/raybridge/raybridge/window"
)

// Window is where the picture is shown; *window.Window is one.
type Window interface {
	Events() <-chan window.Event
	Size() (width, height int)
	// Show returns when the picture may be changed again.
	Show(picture *image.RGBA) error
}

// frameInterval is the time between pictures: thirty a second.
const frameInterval = time.Second / 30

// Show runs the viewer in a window until ctx ends. Once ending is closed the window says
// that the run is finishing. The error is of showing the picture.
func (v *Viewer) Show(ctx context.Context, ending <-chan struct{}, w Window) error {
	s := &screen{window: w, shown: make(chan error, 1)}
	defer v.saving.Wait()
	defer s.wait()
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
			if err != nil {
				v.quit(false)
				return err
			}
		case <-ticker.C:
			if err := v.driver.update(v.options.Clock.Now()); err != nil {
				v.say(err.Error())
			}
			v.frame(s)
		}
	}
}

// frame composes a picture and shows it if it has changed.
func (v *Viewer) frame(s *screen) {
	width, height := s.window.Size()
	if s.busy || width == 0 || height == 0 {
		return
	}
	if picture, changed := v.Compose(image.Pt(width, height)); changed {
		s.show(picture)
	}
}

// screen shows pictures, one at a time, beside the viewer's own work: a display may be slow.
type screen struct {
	window Window
	shown  chan error // the answer to each show
	busy   bool       // the answer is yet to come
}

// show begins to show a picture, which must not be changed until the answer has come.
func (s *screen) show(picture *image.RGBA) {
	s.busy = true
	go func() { s.shown <- s.window.Show(picture) }()
}

// wait waits for the picture under way.
func (s *screen) wait() {
	if s.busy {
		<-s.shown //nolint:errcheck // nobody will see whether the last picture was shown
	}
}
