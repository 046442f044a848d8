package viewer

import (
	"fmt"
	"image"

	"golang.org/x/image/draw"

	"github.com/raybridge/raybridge/internal/picture"
	"github.com/raybridge/raybridge/sensors/sample"
)

// camera shows the newest image of one camera.
type camera struct {
	typeID     string // of the sensor
	images     latest[sample.Image]
	compressed latest[sample.CompressedImage]

	shown   *sample.Image // nil before the first
	packed  *sample.CompressedImage
	kind    picture.Kind
	err     error // why shown can't be shown
	picture *image.RGBA
	// drawn is where draw has put the picture, in the window's pixels.
	drawn image.Rectangle
}

// refresh takes what has arrived and reports whether the picture has changed.
func (c *camera) refresh() bool {
	if packed := c.compressed.take(c.packed); packed != nil {
		c.packed = packed
		c.shown, c.err = picture.Decode(packed)
	} else if m := c.images.take(c.shown); m != nil {
		c.shown, c.err = m, nil
	} else {
		return false
	}
	if c.err == nil {
		c.kind, c.err = picture.KindOf(c.shown, c.typeID)
	}
	if c.err == nil {
		c.picture = c.kind.Paint(c.picture, c.shown)
	}
	return true
}

// defaultSize is the shape that a camera's pane has before the first picture.
var defaultSize = image.Pt(640, 480)

func (c *camera) natural() image.Point {
	if c.picture == nil {
		return defaultSize
	}
	return c.picture.Rect.Size()
}

// draw puts the picture into the middle of dst: pixel for pixel where it fits,
// else scaled down.
func (c *camera) draw(dst *image.RGBA, fonts *typefaces) {
	fill(dst, dst.Rect, colorWell)
	c.drawn = image.Rectangle{}
	if c.err != nil || c.picture == nil {
		message := "waiting for the first picture"
		if c.err != nil {
			message = c.err.Error()
		}
		notice(dst, fonts, message)
		return
	}
	size := c.picture.Rect.Size()
	room := dst.Rect.Size()
	if size.X <= room.X && size.Y <= room.Y {
		c.drawn = centred(size, dst.Rect)
		draw.Copy(dst, c.drawn.Min, c.picture, c.picture.Rect, draw.Src, nil)
		return
	}
	if room.X*size.Y < room.Y*size.X {
		size = image.Pt(room.X, max(1, room.X*size.Y/size.X))
	} else {
		size = image.Pt(max(1, room.Y*size.X/size.Y), room.Y)
	}
	c.drawn = centred(size, dst.Rect)
	var scaler draw.Scaler = draw.NearestNeighbor
	if c.kind.Smooth {
		scaler = draw.ApproxBiLinear
	}
	scaler.Scale(dst, c.drawn, c.picture, c.picture.Rect, draw.Src, nil)
}

// caption tells the picture's form, or the pixel under the cursor.
func (c *camera) caption(cursor image.Point) string {
	if c.shown == nil || c.err != nil || c.drawn.Empty() {
		return ""
	}
	size := c.picture.Rect.Size()
	if !cursor.In(c.drawn) {
		text := fmt.Sprintf("%d×%d %s", size.X, size.Y, c.shown.Encoding)
		if rolls := c.shown.Shutter.String(); rolls != "" {
			text += ", " + rolls
		}
		if c.drawn.Dx() != size.X {
			text += fmt.Sprintf(", %d %%", (c.drawn.Dx()*100+size.X/2)/size.X)
		}
		return text
	}
	at := cursor.Sub(c.drawn.Min)
	u, v := at.X*size.X/c.drawn.Dx(), at.Y*size.Y/c.drawn.Dy()
	pixel := c.shown.Data[v*c.shown.Step+u*c.kind.Bytes:][:c.kind.Bytes]
	return fmt.Sprintf("(%d, %d)  %s", u, v, c.kind.Describe(pixel))
}

// notice writes a message into the middle of a picture.
func notice(dst *image.RGBA, fonts *typefaces, message string) {
	face := fonts.regular
	message = face.fit(message, dst.Rect.Dx()-2*textInset)
	at := centred(image.Pt(face.width(message), face.height), dst.Rect).Min
	face.draw(dst, at, message, colorDim)
}
