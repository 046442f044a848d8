package window

import (
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"io"
	"math/bits"
	"sync"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"

	"github.com/raybridge/raybridge/gpu"
)

// canvas holds the picture that the window shows, on the server, so that uncovered parts
// are painted without the program.
type canvas struct {
	conn       *xgb.Conn
	window     xproto.Drawable
	gc         xproto.Gcontext
	depth      byte
	colors     colors
	maxRequest int // bytes

	mu     sync.Mutex // guards what follows
	pixmap xproto.Pixmap
	size   image.Point // of pixmap; zero for none
	buffer []byte
}

// bytesPerPixel of every screen with true colours since the nineties.
const bytesPerPixel = 4

func (c *canvas) init(w *Window, colors colors, maxRequest int) error {
	c.conn, c.window, c.colors, c.maxRequest = w.conn, xproto.Drawable(w.id), colors, maxRequest
	c.depth = xproto.Setup(w.conn).DefaultScreen(w.conn).RootDepth
	var err error
	if c.gc, err = xproto.NewGcontextId(w.conn); err != nil {
		return fmt.Errorf("prepare drawing: %w", err)
	}
	// Without GraphicsExposures the server sends no event for each copy.
	if err := xproto.CreateGCChecked(w.conn, c.gc, c.window, xproto.GcGraphicsExposures, []uint32{0}).Check(); err != nil {
		return fmt.Errorf("prepare drawing: %w", err)
	}
	return nil
}

// Show shows a picture, its top-left corner in the window's; what is beyond the window
// is not seen, and alpha is taken as opaque. It returns once the server has it: the
// picture is the caller's again. The error is the display's: ErrDisplayGone once it is.
func (w *Window) Show(picture *image.RGBA) error {
	c := &w.canvas
	size := picture.Rect.Size()
	if size.X <= 0 || size.Y <= 0 || size.X > maxSide || size.Y > maxSide {
		return fmt.Errorf("show a picture of %d x %d pixels: a side has 1 to %d", size.X, size.Y, maxSide)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.resize(size)
	if err == nil {
		c.send(picture)
		err = c.copy(image.Rectangle{Max: size}).Check()
	}
	if errors.Is(err, io.EOF) && !w.closing.Load() {
		err = ErrDisplayGone
	}
	if err != nil {
		return fmt.Errorf("show picture: %w", err)
	}
	return nil
}

// resize makes the pixmap as large as the picture.
func (c *canvas) resize(size image.Point) error {
	if c.size == size {
		return nil
	}
	if c.size != (image.Point{}) {
		xproto.FreePixmap(c.conn, c.pixmap)
		c.size = image.Point{}
	}
	var err error
	if c.pixmap, err = xproto.NewPixmapId(c.conn); err != nil {
		return err
	}
	if err := xproto.CreatePixmapChecked(c.conn, c.depth, c.pixmap, c.window, uint16(size.X), uint16(size.Y)).Check(); err != nil {
		return err
	}
	c.size = size
	return nil
}

// The head of PutImage, which the server takes no larger than a request may be.
const (
	putImage     = 72
	putImageHead = 24
)

// send puts the picture into the pixmap, as many rows a request as fit. The requests lie
// in the buffer until the server has answered what comes after them.
func (c *canvas) send(picture *image.RGBA) {
	stride := c.size.X * bytesPerPixel
	rows := max((c.maxRequest-putImageHead)/stride, 1)
	requests := (c.size.Y + rows - 1) / rows
	if need := c.size.Y*stride + requests*putImageHead; cap(c.buffer) < need {
		c.buffer = make([]byte, need)
	}
	rest := c.buffer[:cap(c.buffer)]
	for y := 0; y < c.size.Y; y += rows {
		n := min(rows, c.size.Y-y)
		request := rest[:putImageHead+n*stride]
		rest = rest[len(request):]
		c.head(request, y, n)
		for row := range n {
			from := picture.Pix[picture.PixOffset(picture.Rect.Min.X, picture.Rect.Min.Y+y+row):]
			c.colors.convert(request[putImageHead+row*stride:][:stride], from)
		}
		c.conn.NewRequest(request, c.conn.NewCookie(false, false))
	}
}

// head writes the head of PutImage for n rows from row y.
func (c *canvas) head(request []byte, y, n int) {
	le := binary.LittleEndian
	request[0], request[1] = putImage, xproto.ImageFormatZPixmap
	le.PutUint16(request[2:], uint16(len(request)/4))
	le.PutUint32(request[4:], uint32(c.pixmap))
	le.PutUint32(request[8:], uint32(c.gc))
	le.PutUint16(request[12:], uint16(c.size.X))
	le.PutUint16(request[14:], uint16(n))
	le.PutUint16(request[16:], 0)
	le.PutUint16(request[18:], uint16(y))
	le.PutUint32(request[20:], uint32(c.depth)<<8) // behind the left pad, 0
}

// copy paints a part of the window.
func (c *canvas) copy(part image.Rectangle) xproto.CopyAreaCookie {
	x, y := int16(part.Min.X), int16(part.Min.Y)
	return xproto.CopyAreaChecked(c.conn, xproto.Drawable(c.pixmap), c.window, c.gc, x, y, x, y, uint16(part.Dx()), uint16(part.Dy()))
}

// repaint paints what was uncovered.
func (c *canvas) repaint(part image.Rectangle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if part = part.Intersect(image.Rectangle{Max: c.size}); !part.Empty() {
		c.copy(part)
	}
}

// colors has a screen's bits for each value of red, green and blue. Written little-endian,
// they have the server's byte order.
type colors [3][256]uint32

func (c *colors) convert(to, from []byte) {
	for len(to) >= bytesPerPixel {
		binary.LittleEndian.PutUint32(to, c[0][from[0]]|c[1][from[1]]|c[2][from[2]])
		to, from = to[bytesPerPixel:], from[bytesPerPixel:]
	}
}

// trueColors reads how the screen has its colours. Every X server of today has 24 or 30
// bits in 32.
func trueColors(setup *xproto.SetupInfo, screen *xproto.ScreenInfo) (colors, error) {
	wide := false
	for _, format := range setup.PixmapFormats {
		wide = wide || format.Depth == screen.RootDepth && format.BitsPerPixel == 8*bytesPerPixel
	}
	for _, depth := range screen.AllowedDepths {
		for _, visual := range depth.Visuals {
			if wide && visual.VisualId == screen.RootVisual && visual.Class == xproto.VisualClassTrueColor {
				return newColors([3]uint32{visual.RedMask, visual.GreenMask, visual.BlueMask}, setup.ImageByteOrder == xproto.ImageOrderMSBFirst), nil
			}
		}
	}
	return colors{}, &gpu.UnsupportedError{
		Feature: "screen with true colours",
		Need:    "a display of 24 bits a pixel or more, or run headless",
		Err:     fmt.Errorf("the display's depth is %d", screen.RootDepth),
	}
}

func newColors(masks [3]uint32, bigEndian bool) colors {
	var c colors
	for i, mask := range masks {
		top := uint32(1)<<bits.OnesCount32(mask) - 1
		for v := range uint32(256) {
			value := (v*top + 127) / 255 << bits.TrailingZeros32(mask)
			if bigEndian {
				value = bits.ReverseBytes32(value)
			}
			c[i][v] = value
		}
	}
	return c
}
