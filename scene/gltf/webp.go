package gltf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"io"

	"github.com/raybridge/raybridge/internal/fault"
	"golang.org/x/image/vp8"
	"golang.org/x/image/vp8l"
	"golang.org/x/image/webp"
)

// Chunks of a WebP file (RFC 9649, section 2).
const (
	webpHeaderSize = 12
	vp8xSize       = 10
	chunkLossy     = "VP8 "
	chunkLossless  = "VP8L"
	chunkExtended  = "VP8X"
	chunkAlpha     = "ALPH"
	chunkAnimation = "ANIM"
	flagAlpha      = 1 << 4 // of VP8X
)

func isWebP(data []byte) bool {
	return len(data) >= webpHeaderSize && string(data[:4]) == "RIFF" && string(data[8:webpHeaderSize]) == "WEBP"
}

// animated reports whether a WebP file holds frames of a film instead of a picture.
func animated(data []byte) bool {
	found := false
	_ = eachChunk(data, func(name string, _ []byte) error { found = found || name == chunkAnimation; return nil })
	return found
}

// eachChunk calls do for each chunk of a WebP file until that returns an error.
func eachChunk(data []byte, do func(name string, body []byte) error) error {
	for rest := data[webpHeaderSize:]; len(rest) >= chunkHeader; {
		name, size := string(rest[:4]), int64(binary.LittleEndian.Uint32(rest[4:]))
		rest = rest[chunkHeader:]
		if size > int64(len(rest)) {
			return invalid("decode WebP: chunk %q says %d bytes, %d are left", name, size, len(rest))
		}
		if err := do(name, rest[:size:size]); err != nil {
			return err
		}
		rest = rest[min(size+size%2, int64(len(rest))):]
	}
	return nil
}

// webpParts are what a still picture's file is made of.
type webpParts struct {
	frame    []byte      // of VP8 or VP8L
	lossless bool        // the frame is of VP8L
	alpha    bool        // a lossy frame has its alpha in a chunk of its own
	canvas   image.Point // what VP8X says of the picture; zero without
}

func parseWebP(data []byte) (w webpParts, err error) {
	flagged := false
	err = eachChunk(data, func(name string, body []byte) error {
		switch {
		case name == chunkExtended && len(body) != vp8xSize:
			return invalid("decode WebP: chunk %q has %s, want %d", name, fault.Count(len(body), "byte"), vp8xSize)
		case name == chunkExtended: // flags, then width and height less one, of 24 bits each
			flagged = body[0]&flagAlpha != 0
			w.canvas.X = 1 + int(binary.LittleEndian.Uint32(body[4:])&0xffffff)
			w.canvas.Y = 1 + int(binary.LittleEndian.Uint32(body[6:])>>8)
		case name == chunkAlpha:
			w.alpha = flagged
		case (name == chunkLossy || name == chunkLossless) && w.frame == nil:
			w.frame, w.lossless = body, name == chunkLossless
		}
		return nil
	})
	if err == nil && w.frame == nil {
		err = invalid("decode WebP: it has no picture")
	}
	return w, err
}

// webpFormat returns how a WebP file is decoded. Package webp does it where alpha is a chunk of its
// own. It refuses a lossless frame with VP8X's flag for alpha, and a lossy one whose alpha only the
// flag promises. The frame's own decoder reads these.
func webpFormat(data []byte) (f pictureFormat, err error) {
	w, err := parseWebP(data)
	if err != nil {
		return f, err
	}
	lossy := lossyFrame(len(w.frame))
	f = pictureFormat{"WebP", w.frame, lossy.config, lossy.decode, maxPixels}
	if w.lossless {
		f.config, f.decode = vp8l.DecodeConfig, vp8l.Decode
	}
	c, err := f.config(bytes.NewReader(w.frame))
	if err != nil {
		return f, invalid("read WebP header: %w", err)
	}
	if size := image.Pt(c.Width, c.Height); w.canvas != (image.Point{}) && size != w.canvas {
		return f, invalid("decode WebP: the picture has %dx%d pixels, its canvas %dx%d", size.X, size.Y, w.canvas.X, w.canvas.Y)
	}
	if w.alpha && !w.lossless {
		f.data, f.config, f.decode = data, webp.DecodeConfig, decodeTranslucent
	}
	return f, nil
}

// lossyFrame decodes a VP8 frame of so many bytes.
type lossyFrame int

// begin decodes the frame's header.
func (n lossyFrame) begin(r io.Reader) (d *vp8.Decoder, h vp8.FrameHeader, err error) {
	d = vp8.NewDecoder()
	d.Init(r, int(n))
	h, err = d.DecodeFrameHeader()
	return d, h, err
}

func (n lossyFrame) config(r io.Reader) (image.Config, error) {
	_, h, err := n.begin(r)
	return image.Config{ColorModel: color.YCbCrModel, Width: h.Width, Height: h.Height}, err
}

func (n lossyFrame) decode(r io.Reader) (image.Image, error) {
	d, _, err := n.begin(r)
	if err != nil {
		return nil, err
	}
	m, err := d.DecodeFrame()
	if err != nil {
		return nil, err
	}
	return fromVideo(m), nil
}

func decodeTranslucent(r io.Reader) (image.Image, error) {
	m, err := webp.Decode(r)
	if err != nil {
		return nil, err
	}
	t, ok := m.(*image.NYCbCrA)
	if !ok {
		return nil, errors.New("it has no alpha")
	}
	out := fromVideo(&t.YCbCr)
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			out.Pix[y*out.Stride+4*x+3] = t.A[y*t.AStride+x]
		}
	}
	return out, nil
}

// fromVideo converts a lossy frame to RGB. WebP's colours are of ITU-R BT.601 in its narrow range:
// Y from 16 to 235, Cb and Cr from 16 to 240. The type's own conversion is JPEG's, of full range.
func fromVideo(m *image.YCbCr) *image.NRGBA {
	out := image.NewNRGBA(image.Rect(0, 0, m.Rect.Dx(), m.Rect.Dy()))
	for y := range m.Rect.Dy() {
		for x := range m.Rect.Dx() {
			c := m.COffset(x, y)
			luma := 1.164384 * (float32(m.Y[m.YOffset(x, y)]) - 16)
			cb, cr := float32(m.Cb[c])-128, float32(m.Cr[c])-128
			p := out.Pix[y*out.Stride+4*x:]
			p[0], p[1], p[2], p[3] = rounded(luma+1.596027*cr), rounded(luma-0.391762*cb-0.812968*cr), rounded(luma+2.017232*cb), 255
		}
	}
	return out
}

// rounded is the byte nearest to v.
func rounded(v float32) byte { return byte(min(max(v+0.5, 0), 255)) }
