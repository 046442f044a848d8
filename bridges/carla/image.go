package carla

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// appendImageHead appends the 12 bytes before the pixels: width, height, horizontal
// field of view in degrees.
func appendImageHead(dst []byte, width, height int, fov float64) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(width))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(height))
	return appendF32(dst, fov)
}

// imageBytes returns the size of an image's body.
func imageBytes(m *sample.Image) int {
	pixel := 4
	if m.Encoding == sample.Encoding32FC2 {
		pixel = 8
	}
	return 12 + pixel*m.Width*m.Height
}

// checkImage says why an image can't be sent.
func checkImage(m *sample.Image) error {
	size, ok := pixelSizes[m.Encoding]
	switch {
	case !ok:
		return fmt.Errorf("%w: CARLA has no picture of encoding %q", bridges.ErrConvert, m.Encoding)
	case m.Width < 0 || m.Height < 0 || m.Step < size*m.Width || len(m.Data) < m.Step*m.Height:
		return fmt.Errorf("%w: %d bytes are no %dx%d picture of %s", bridges.ErrConvert, len(m.Data), m.Width, m.Height, m.Encoding)
	}
	return nil
}

var pixelSizes = map[string]int{
	sample.EncodingRGB8: 3, sample.EncodingBGR8: 3, sample.EncodingBGRA8: 4, sample.EncodingMono8: 1,
	sample.Encoding16UC1: 2, sample.Encoding32SC1: 4, sample.Encoding32FC1: 4, sample.Encoding32FC2: 8, sample.Encoding32FC3: 12,
}

// appendImage appends an image's body: pixels are B, G, R, A, or two float32 of
// optical flow. The image was checked.
func appendImage(dst []byte, m *sample.Image) []byte {
	dst = appendImageHead(dst, m.Width, m.Height, m.FovDeg)
	size := pixelSizes[m.Encoding]
	convert := rowConverter(m)
	for y := range m.Height {
		row := m.Data[y*m.Step:][:size*m.Width]
		if convert == nil {
			dst = append(dst, row...)
			continue
		}
		at := len(dst)
		dst = append(dst, make([]byte, 4*m.Width)...)
		convert(dst[at:], row)
	}
	return dst
}

// rowConverter returns what turns a row into B, G, R, A; nil where it is taken as it is.
func rowConverter(m *sample.Image) func(dst, row []byte) {
	switch m.Encoding {
	case sample.EncodingRGB8:
		return func(dst, row []byte) { spread(dst, row, 2, 1, 0) }
	case sample.EncodingBGR8:
		return func(dst, row []byte) { spread(dst, row, 0, 1, 2) }
	case sample.EncodingMono8:
		return tagRow
	case sample.Encoding16UC1:
		return func(dst, row []byte) { idRow(dst, row, 2) }
	case sample.Encoding32SC1:
		return func(dst, row []byte) { idRow(dst, row, 4) }
	case sample.Encoding32FC1:
		return depthRow
	case sample.Encoding32FC3:
		toMap := m.Pose.Compose(spatial.OpticalInBody())
		return func(dst, row []byte) { normalRow(dst, row, toMap) }
	default:
		return nil
	}
}

// spread writes three bytes a pixel as four.
func spread(dst, row []byte, b, g, r int) {
	for ; len(row) >= 3 && len(dst) >= 4; dst, row = dst[4:], row[3:] {
		p := row[:3:3]
		dst[0], dst[1], dst[2], dst[3] = p[b], p[g], p[r], 255
	}
}

// tagRow puts a tag into red.
func tagRow(dst, row []byte) {
	for i, tag := range row {
		copy(dst[4*i:], []byte{0, 0, tag, 255})
	}
}

// idRow puts the lower and the upper byte of an id into green and blue.
func idRow(dst, row []byte, size int) {
	for i := 0; i*size < len(row); i++ {
		copy(dst[4*i:], []byte{row[i*size+1], row[i*size], 0, 255})
	}
}

// farthest is the distance that CARLA's depth code can say, metres.
const farthest = 1000.0

// depthRow writes metres as 24 bits, red the lowest: R + 256 G + 65536 B of 2^24 - 1
// is 1000 m. What is beyond, and the sky, is 1000 m; what isn't known is 0.
func depthRow(dst, row []byte) {
	for i := 0; 4*i < len(row); i++ {
		depth := float64(math.Float32frombits(binary.LittleEndian.Uint32(row[4*i:])))
		code := uint32(0)
		if depth > 0 { // nor is NaN
			code = uint32(math.Min(depth, farthest)/farthest*(1<<24-1) + 0.5)
		}
		copy(dst[4*i:], []byte{byte(code >> 16), byte(code >> 8), byte(code), 255})
	}
}

// normalRow writes normals, which are in the optical frame, as colours: each axis of
// the world, -1 to 1, is 0 to 255.
func normalRow(dst, row []byte, toMap spatial.Pose) {
	for i := 0; 12*i < len(row); i++ {
		var n mgl64.Vec3
		for k := range n {
			n[k] = float64(math.Float32frombits(binary.LittleEndian.Uint32(row[12*i+4*k:])))
		}
		if math.IsNaN(n[0]) {
			copy(dst[4*i:], []byte{0, 0, 0, 255})
			continue
		}
		n = vector(toMap.Rotate(n))
		level := func(x float64) byte { return byte(math.Round((math.Max(-1, math.Min(1, x)) + 1) / 2 * 255)) }
		copy(dst[4*i:], []byte{level(n[2]), level(n[1]), level(n[0]), 255})
	}
}

// dvsEventBytes is the size of an event: x u16, y u16, time i64 ns, polarity u8.
const dvsEventBytes = 13

func appendDVS(dst []byte, m *sample.DvsEvents) []byte {
	dst = appendImageHead(dst, m.Width, m.Height, m.FovDeg)
	for i := range m.Events {
		e := &m.Events[i]
		dst = binary.LittleEndian.AppendUint16(dst, e.X)
		dst = binary.LittleEndian.AppendUint16(dst, e.Y)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(e.TimeNs))
		polarity := byte(0)
		if e.Polarity {
			polarity = 1
		}
		dst = append(dst, polarity)
	}
	return dst
}
