package report

import (
	"fmt"
	"image"
	"strings"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/picture"
	"github.com/raybridge/raybridge/sensors/sample"
)

// drawImage shows a camera's data as people see it, and says how. The type id
// tells whether mono8 means semantic tags.
func drawImage(m *sample.Image, typeID string) (shown image.Image, caption string) {
	caption = fmt.Sprintf("%d × %d, %s", m.Width, m.Height, m.Encoding)
	labels := strings.HasPrefix(typeID, "sensor.camera.semantic")
	kind, err := picture.KindOf(m, labels)
	if err != nil {
		return image.NewNRGBA(image.Rect(0, 0, 1, 1)), caption + ": " + err.Error()
	}
	if labels && m.Encoding == sample.EncodingMono8 {
		return kind.Paint(nil, m), caption + ": semantic tags in CityScapes colours"
	}
	return kind.Paint(nil, m), caption + captions[m.Encoding]
}

var captions = map[string]string{
	sample.Encoding32FC1: ": depth in metres, bright is near",
	sample.Encoding16UC1: ": a colour for each actor",
	sample.Encoding32SC1: ": a colour for each actor",
	sample.Encoding32FC2: ": optical flow, red to the right, strong is fast",
	sample.Encoding32FC3: ": normals as colours",
}
