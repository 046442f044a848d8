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
	asItIs := m.Encoding == sample.EncodingBGRA8 || m.Encoding == sample.Encoding32FC2
	var colors [9]float32
	if m.Encoding == sample.Encoding32FC3 {
		colors = normalColors(m.Pose)
	}
	for y := range m.Height {
		row := m.Data[y*m.Step:][:size*m.Width]
		if asItIs {
			dst = append(dst, row...)
			continue
		}
		var pixels []byte
		dst, pixels = extend(dst, 4*m.Width)
		convertRow(pixels, row, m.Encoding, &colors)
	}
	return dst
}

// convertRow turns a row of an encoding into B, G, R, A; normals with their colors.
func convertRow(dst, row []byte, encoding string, colors *[9]float32) {
	switch encoding {
	case sample.EncodingRGB8:
		spread(dst, row, 2, 1, 0)
	case sample.EncodingBGR8:
		spread(dst, row, 0, 1, 2)
	case sample.EncodingMono8:
		tagRow(dst, row)
	case sample.Encoding16UC1:
		idRow(dst, row, 2)
	case sample.Encoding32SC1:
		idRow(dst, row, 4)
	case sample.Encoding32FC1:
		depthRow(dst, row)
	case sample.Encoding32FC3:
		normalRow(dst, row, colors)
	}
}

// spread writes three bytes a pixel as four.
func spread(dst, row []byte, b, g, r int) {
	for ; len(row) >= 3 && len(dst) >= 4; dst, row = dst[4:], row[3:] {
		p := row[:3:3]
		dst[0], dst[1], dst[2], dst[3] = p[b], p[g], p[r], 255
	}
}

// opaque is a pixel's alpha, where a pixel is the little-endian word of B, G, R, A.
const opaque = 0xff << 24

// tagRow puts a tag into red.
func tagRow(dst, row []byte) {
	for i, tag := range row {
		binary.LittleEndian.PutUint32(dst[4*i:], opaque|uint32(tag)<<16)
	}
}

// idRow puts the lower and the upper byte of an id of so many bytes into green and blue.
func idRow(dst, row []byte, size int) {
	for i := 0; (i+1)*size <= len(row); i++ {
		id := uint32(binary.LittleEndian.Uint16(row[i*size:]))
		binary.LittleEndian.PutUint32(dst[4*i:], opaque|(id&0xff)<<8|id>>8)
	}
}

// farthest is the distance that CARLA's depth code can say, metres, and depthSteps the
// code of it.
const (
	farthest   = 1000.0
	depthSteps = 1<<24 - 1
)

// depthRow writes metres as 24 bits, red the lowest: R + 256 G + 65536 B of 2^24 - 1
// is 1000 m. What is beyond, and the sky, is 1000 m; what isn't known is 0.
func depthRow(dst, row []byte) {
	for ; len(row) >= 4 && len(dst) >= 4; dst, row = dst[4:], row[4:] {
		depth := math.Float32frombits(binary.LittleEndian.Uint32(row))
		code := uint32(0)
		if depth >= farthest {
			code = depthSteps
		} else if depth > 0 { // nor is NaN
			code = uint32(float64(depth)*(depthSteps/farthest) + 0.5)
		}
		binary.LittleEndian.PutUint32(dst, opaque|code>>16|code&0xff00|(code&0xff)<<16)
	}
}

// normalColors returns the map from normals in a camera's optical frame to colours: each
// axis of CARLA's world, -1 to 1, is 0 to 255.
func normalColors(camera spatial.Pose) (m [9]float32) {
	turn := camera.Compose(spatial.OpticalInBody()).Orientation.Mat4().Mat3()
	for row, sign := range spatial.UnrealAxes.Out(mgl64.Vec3{1, 1, 1}) {
		for column := range 3 {
			m[3*row+column] = float32(sign * 127.5 * turn.At(row, column))
		}
	}
	return m
}

// normalRow writes normals as colours; what has none is black.
func normalRow(dst, row []byte, m *[9]float32) {
	for ; len(row) >= 12 && len(dst) >= 4; dst, row = dst[4:], row[12:] {
		x := math.Float32frombits(binary.LittleEndian.Uint32(row))
		y := math.Float32frombits(binary.LittleEndian.Uint32(row[4:]))
		z := math.Float32frombits(binary.LittleEndian.Uint32(row[8:]))
		if math.IsNaN(float64(x + y + z)) {
			binary.LittleEndian.PutUint32(dst, opaque)
			continue
		}
		r, g, b := level(m[0]*x+m[1]*y+m[2]*z), level(m[3]*x+m[4]*y+m[5]*z), level(m[6]*x+m[7]*y+m[8]*z)
		binary.LittleEndian.PutUint32(dst, opaque|r<<16|g<<8|b)
	}
}

// level returns the colour of a normal's part that is -127.5 to 127.5.
func level(part float32) uint32 { return uint32(max(min(part+128, 255), 0)) }

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
