package kitti

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

var (
	// errColumns says that a line doesn't have the columns of a label.
	errColumns = errors.New("a label has a type and 14 numbers")
	// errOccluded says that the third column isn't an integer. Everything else of the label was read.
	errOccluded = errors.New("occluded must be an integer: readers with %d take what follows a decimal point for the next column")
)

// A label is a line of label_2: an object in a picture.
type label struct {
	class     string
	truncated float64 // the share that left the picture; -1 unknown
	occluded  int     // 0 visible, 1 partly, 2 largely, 3 unknown; -1 in DontCare
	alpha     float64 // how the object's heading appears from the camera, radians; -10 unknown

	left, top, right, bottom float64 // pixels from the picture's first, which is 0

	height, width, length float64 // metres
	x, y, z               float64 // centre of the bottom face in the rectified camera frame: x right, y down, z forward; metres
	ry                    float64 // about y, radians: heading is (cos ry, 0, -sin ry)
}

// dontCare is the class of parts of a picture that aren't labelled.
const dontCare = "DontCare"

// parseLabel reads a line. Errors are or wrap errColumns and errOccluded; with the latter the label is complete.
func parseLabel(line string) (l label, err error) {
	columns := strings.Split(line, " ")
	if len(columns) != 15 {
		return l, fmt.Errorf("%w: this line has %d columns with single blanks between them", errColumns, len(columns))
	}
	l.class = columns[0]
	numbers := []*float64{
		&l.truncated, nil, &l.alpha, &l.left, &l.top, &l.right, &l.bottom, &l.height, &l.width, &l.length, &l.x, &l.y, &l.z, &l.ry,
	}
	for i, to := range numbers {
		value, err := finite(columns[i+1])
		if err != nil {
			return l, fmt.Errorf("%w: column %d is %q", errColumns, i+2, columns[i+1])
		}
		if to != nil {
			*to = value
			continue
		}
		if l.occluded, err = strconv.Atoi(columns[i+1]); err != nil {
			l.occluded = int(math.Max(-2, math.Min(value, 4)))
		}
	}
	if _, err := strconv.Atoi(columns[2]); err != nil {
		return l, fmt.Errorf("%w: it is %q", errOccluded, columns[2])
	}
	return l, nil
}

func finite(text string) (float64, error) {
	value, err := strconv.ParseFloat(text, 64)
	if err == nil && (math.IsNaN(value) || math.IsInf(value, 0)) {
		err = strconv.ErrRange
	}
	return value, err
}

// wrap returns an angle in -pi to pi.
func wrap(angle float64) float64 { return math.Remainder(angle, 2*math.Pi) }
