package viewer

import (
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"strings"
)

// save writes a PNG in the background: the enlarged pane's picture in its own
// size, or the whole window.
func (v *Viewer) save(window bool) {
	if v.canvas == nil {
		return
	}
	name, from, stampNs := "window", v.canvas, v.options.Clock.Now()
	if !window && len(v.panes) > 0 {
		p := v.panes[v.selected]
		name, from = p.name, within(v.canvas, p.content())
		if c, ok := p.view.(*camera); ok {
			if c.picture == nil || c.err != nil {
				v.say(name + " has no picture to save")
				return
			}
			from, stampNs = c.picture, c.shown.StampNs
		}
	}
	// The original is drawn over while the copy is being written.
	picture := image.NewRGBA(image.Rectangle{Max: from.Rect.Size()})
	draw.Draw(picture, picture.Rect, from, from.Rect.Min, draw.Src)
	file := fmt.Sprintf("%s_%.3f.png", strings.ReplaceAll(name, string(filepath.Separator), "_"), float64(stampNs)*1e-9)
	path := filepath.Join(v.options.SaveDir, file)
	v.saving.Go(func() {
		text := "saved " + path
		if err := writePNG(path, picture); err != nil {
			text = err.Error()
		}
		select {
		case v.saved <- text:
		default: // so many at once: the latest toasts say enough
		}
	})
}

// writePNG writes a picture so that the file is whole when it appears.
func writePNG(path string, picture image.Image) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("save picture: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".picture-*")
	if err != nil {
		return fmt.Errorf("save picture: %w", err)
	}
	err = png.Encode(f, picture)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error says what is wrong
		return fmt.Errorf("save picture: %w", err)
	}
	return nil
}
