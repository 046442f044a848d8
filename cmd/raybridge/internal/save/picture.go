package save

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"strings"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/picture"
	"github.com/raybridge/raybridge/sensors/sample"
)

// painter makes PNG files of a stream's images; one goroutine at a time uses it.
type painter struct {
	labels  bool // mono8 means semantic tags
	canvas  *image.RGBA
	encoder png.Encoder
}

func newPainter(sensorType string) *painter {
	// Pictures come many a second: speed counts more than the last bytes.
	return &painter{
		labels:  strings.HasPrefix(sensorType, "sensor.camera.semantic"),
		encoder: png.Encoder{CompressionLevel: png.BestSpeed},
	}
}

// appendPNG appends the picture of an image. Errors wrap ErrContent.
func (p *painter) appendPNG(dst []byte, m *sample.Image) ([]byte, error) {
	kind, err := picture.KindOf(m, p.labels)
	if err != nil {
		return dst, fmt.Errorf("%w: %w", ErrContent, err)
	}
	p.canvas = kind.Paint(p.canvas, m)
	out := bytes.NewBuffer(dst)
	if err := p.encoder.Encode(out, p.canvas); err != nil {
		return dst, fmt.Errorf("%w: %w", ErrContent, err)
	}
	return out.Bytes(), nil
}

// compressedSuffix returns how files of a compressed image end. Errors wrap ErrContent.
func compressedSuffix(format string) (string, error) {
	switch format {
	case "jpeg", "jpg":
		return ".jpg", nil
	case "png":
		return ".png", nil
	default:
		return "", fmt.Errorf("%w: an image compressed as %q", ErrContent, format)
	}
}
