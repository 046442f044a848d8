package coco

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io/fs"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

// panoptic is a row of a panoptic file.
type panoptic struct {
	document   *document
	annotation *annotation
}

// segmented is a panoptic PNG: the segment of each pixel, row by row, 0 for none.
type segmented struct {
	width, height int
	ids           []uint32
	of            panoptic
}

// errForm says that a panoptic PNG doesn't hold ids.
var errForm = errors.New("isn't a PNG with 8 bits of red, green and blue")

// decodeSegments decodes a panoptic PNG: an id is red + 256 green + 65536 blue. Errors wrap errForm or are image/png's.
func decodeSegments(data []byte) (*segmented, error) {
	config, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if config.Width > maxPixels/max(config.Height, 1) {
		return nil, fmt.Errorf("%d x %d are too many pixels", config.Width, config.Height)
	}
	decoded, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	s := &segmented{width: config.Width, height: config.Height, ids: make([]uint32, config.Width*config.Height)}
	var pix []uint8
	switch picture := decoded.(type) {
	case *image.RGBA: // what the decoder makes of red, green and blue
		pix = picture.Pix
	case *image.NRGBA:
		pix = picture.Pix
	default:
		return nil, errForm
	}
	for i := range s.ids {
		s.ids[i] = uint32(pix[4*i]) | uint32(pix[4*i+1])<<8 | uint32(pix[4*i+2])<<16
	}
	return s, nil
}

func (d *document) readSegments(root fs.FS, a *annotation) (*segmented, error) {
	file, _ := d.segments(root, a)
	data, err := fs.ReadFile(root, file)
	if err != nil {
		return nil, err
	}
	s, err := decodeSegments(data)
	if err == nil {
		s.of = panoptic{d, a}
	}
	return s, err
}

// measure returns the pixels and the tight box of every id but 0.
func (s *segmented) measure() map[uint32]*extent {
	all := map[uint32]*extent{}
	var open *extent
	for i, id := range s.ids {
		if id == 0 {
			continue
		}
		x, y := i%s.width, i/s.width
		if i == 0 || s.ids[i-1] != id || open == nil {
			if open = all[id]; open == nil {
				open = &extent{left: x, top: y}
				all[id] = open
			}
		}
		open.pixels++
		open.left, open.right, open.bottom = min(open.left, x), max(open.right, x), y
	}
	return all
}

// extent is what pixels of one id cover. Edges are columns and rows that have some.
type extent struct{ pixels, left, top, right, bottom int }

func (e *extent) box() pixelBox {
	return pixelBox{float64(e.left), float64(e.top), float64(e.right - e.left + 1), float64(e.bottom - e.top + 1)}
}

// compare looks for the segment that an annotation of detection is.
func (s *segmented) compare(fr frame, a *annotation, f *check.Findings) {
	if !a.sound() || a.Segmentation.size != [2]int64{int64(s.height), int64(s.width)} || a.Segmentation.runs.ones() == 0 {
		return
	}
	at := fr.document.at("annotation", a.ID)
	pixels := map[uint32]int{}
	a.Segmentation.runs.each(func(from, to int) {
		for i := from; i < to; i++ {
			pixels[s.ids[i%s.height*s.width+i/s.height]]++
		}
	})
	most := uint32(0)
	for id, n := range pixels {
		if n > pixels[most] || n == pixels[most] && id > most {
			most = id
		}
	}
	if n := a.Segmentation.runs.ones(); pixels[most] < n || most == 0 {
		f.Add(rulePanopticAgreement, at, "%d of the mask's %d pixels are in segment %d of %s, the others elsewhere", pixels[most], n, most, s.of.annotation.FileName)
		return
	}
	for _, segment := range s.of.annotation.Segments {
		if segment.ID.value == int64(most) && (segment.CategoryID.value != a.CategoryID.value || segment.Area.value != float64(pixels[most])) {
			f.Add(rulePanopticAgreement, at, "has category %d and %d pixels: segment %d of %s has category %d and %v pixels",
				a.CategoryID.value, pixels[most], most, s.of.annotation.FileName, segment.CategoryID.value, segment.Area.value)
		}
	}
}
