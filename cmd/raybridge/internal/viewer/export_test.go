package viewer

import "image"

// PictureBounds returns where in the window the named camera's picture is, and
// whether it is shown pixel for pixel.
func (v *Viewer) PictureBounds(name string) (bounds image.Rectangle, unscaled bool) {
	for _, p := range v.panes {
		if c, ok := p.view.(*camera); ok && p.name == name && c.picture != nil {
			return c.drawn, c.drawn.Size() == c.picture.Rect.Size()
		}
	}
	return image.Rectangle{}, false
}
