package calibration

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/internal/doc"
)

// Rays are the directions that the pixels of a picture see along, in the optical frame: row by row from
// the top.
type Rays struct {
	Width, Height int
	Directions    []mgl64.Vec3
}

// The beginning of numpy's files, and of their base64.
const (
	npyMagic  = "\x93NUMPY"
	npyBase64 = "k05VTVBZ"
)

var npyHeader = regexp.MustCompile(`^\{\s*'descr':\s*'(<f[48])',\s*'fortran_order':\s*(False|True),\s*'shape':\s*\((\d+),\s*(\d+),\s*(\d+)\),?\s*\}\s*$`)

// ParseRays reads a table of rays: what numpy.save writes of an array of float32 or float64 whose shape is
// (height, width, 3), or its base64. file names it in errors, which wrap ErrCalibration.
func ParseRays(file string, data []byte) (*Rays, error) {
	fail := func(format string, args ...any) (*Rays, error) {
		return nil, &doc.Error{File: file, Err: fmt.Errorf("%w: %s", ErrCalibration, fmt.Sprintf(format, args...))}
	}
	if bytes.HasPrefix(data, []byte(npyBase64)) {
		plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(data)))
		if err != nil {
			return fail("%v", err)
		}
		data = plain
	}
	const fixed = len(npyMagic) + 4
	if len(data) < fixed || string(data[:len(npyMagic)]) != npyMagic {
		return fail("it isn't a table of rays: write one with numpy.save, of an array of (height, width, 3)")
	}
	length, header := int(binary.LittleEndian.Uint16(data[8:])), data[fixed:]
	if data[6] > 1 { // later versions have four bytes
		if len(data) < fixed+2 {
			return fail("it ends within its header")
		}
		length, header = int(binary.LittleEndian.Uint32(data[8:])), data[fixed+2:]
	}
	if length < 0 || length > len(header) {
		return fail("it ends within its header")
	}
	m := npyHeader.FindSubmatch(header[:length])
	if m == nil {
		return fail("an array of %s: need float32 or float64, little endian, with the shape (height, width, 3)", bytes.TrimSpace(header[:length]))
	}
	height, _ := strconv.Atoi(string(m[3])) // too many digits fail below
	width, _ := strconv.Atoi(string(m[4]))
	bytesEach := int(m[1][2] - '0')
	if string(m[2]) == "True" || string(m[5]) != "3" || width < 1 || height < 1 || width > maxSide || height > maxSide {
		return fail("an array of %s: need the shape (height, width, 3), in C's order, with sides up to %d", bytes.TrimSpace(header[:length]), maxSide)
	}
	body := header[length:]
	if want := 3 * width * height * bytesEach; len(body) != want {
		return fail("%d bytes follow the header, %dx%d rays have %d", len(body), width, height, want)
	}
	r := &Rays{Width: width, Height: height, Directions: make([]mgl64.Vec3, width*height)}
	for i := range r.Directions {
		for k := range 3 {
			at := body[(3*i+k)*bytesEach:]
			if bytesEach == 4 {
				r.Directions[i][k] = float64(math.Float32frombits(binary.LittleEndian.Uint32(at)))
			} else {
				r.Directions[i][k] = math.Float64frombits(binary.LittleEndian.Uint64(at))
			}
		}
	}
	return r, nil
}
