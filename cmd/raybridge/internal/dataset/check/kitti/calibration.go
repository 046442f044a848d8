package kitti

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// errCalibration says that a file of calibration doesn't have the lines of its format, in their order.
var errCalibration = errors.New("readers go by the number of the line")

// A matrix has three rows of four numbers.
type matrix [12]float64

// apply returns matrix x (p, 1).
func (m *matrix) apply(p vector) (v vector) {
	for i := range v {
		v[i] = m[4*i]*p[0] + m[4*i+1]*p[1] + m[4*i+2]*p[2] + m[4*i+3]
	}
	return v
}

// times returns m x o, where both have a fourth row of 0 0 0 1.
func (m *matrix) times(o *matrix) (r matrix) {
	for j := range 4 {
		column := vector{o[j], o[4+j], o[8+j]}
		moved := m.apply(column)
		for i := range 3 {
			r[4*i+j] = moved[i]
			if j < 3 {
				r[4*i+j] -= m[4*i+3]
			}
		}
	}
	return r
}

// inverse is that of a rigid matrix.
func (m *matrix) inverse() (r matrix) {
	for i := range 3 {
		for j := range 3 {
			r[4*i+j] = m[4*j+i]
			r[4*i+3] -= m[4*j+i] * m[4*j+3]
		}
	}
	return r
}

// unrigid returns how far the left 3 x 3 numbers are from a rotation: the largest error of their products, 2 for a reflection.
func (m *matrix) unrigid() (worst float64) {
	for i := range 3 {
		for j := range 3 {
			dot := 0.0
			for k := range 3 {
				dot += m[4*i+k] * m[4*j+k]
			}
			if i == j {
				dot--
			}
			worst = max(worst, math.Abs(dot))
		}
	}
	det := m[0]*(m[5]*m[10]-m[6]*m[9]) - m[1]*(m[4]*m[10]-m[6]*m[8]) + m[2]*(m[4]*m[9]-m[5]*m[8])
	if det < 0 {
		worst = 2
	}
	return worst
}

var identity = matrix{0: 1, 5: 1, 10: 1}

// A vector is x, y, z in metres.
type vector [3]float64

// A calibration is how the sensors stand to each other.
type calibration struct {
	p       [4]matrix // rectified camera 0 to the pixels of camera i
	rect    matrix    // camera 0 to rectified camera 0
	lidar   matrix    // lidar to camera 0; in sequences to rectified camera 0
	inertia matrix    // inertial unit to lidar
}

// toCamera is lidar to rectified camera 0.
func (c *calibration) toCamera() matrix { return c.rect.times(&c.lidar) }

// parseCalibration reads a file of calib. Errors wrap errCalibration.
func parseCalibration(text string) (*calibration, error) {
	c := &calibration{}
	err := parseLines(text, []line{
		{"P0", &c.p[0], 12}, {"P1", &c.p[1], 12}, {"P2", &c.p[2], 12}, {"P3", &c.p[3], 12}, {"R0_rect", &c.rect, 9}, {"Tr_velo_to_cam", &c.lidar, 12}, {"Tr_imu_to_velo", &c.inertia, 12},
	})
	return c, err
}

// parseSequenceCalibration reads a sequence's calib.txt, whose Tr leads to the rectified frame.
func parseSequenceCalibration(text string) (*calibration, error) {
	c := &calibration{rect: identity, inertia: identity}
	err := parseLines(text, []line{{"P0", &c.p[0], 12}, {"P1", &c.p[1], 12}, {"P2", &c.p[2], 12}, {"P3", &c.p[3], 12}, {"Tr", &c.lidar, 12}})
	return c, err
}

// A line is one of a file of calibration.
type line struct {
	key   string
	to    *matrix
	count int // 12 numbers, or the 9 of a rotation
}

func parseLines(text string, lines []line) error {
	found := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, want := range lines {
		if i >= len(found) {
			return fmt.Errorf("line %d is missing, %s is wanted: %w", i+1, want.key, errCalibration)
		}
		key, rest, _ := strings.Cut(found[i], ": ")
		if key != want.key {
			return fmt.Errorf("line %d is %.20q, %s is wanted: %w", i+1, key, want.key, errCalibration)
		}
		fields := strings.Split(rest, " ")
		if len(fields) != want.count {
			return fmt.Errorf("line %d has %d numbers with single blanks between them, %d are wanted: %w", i+1, len(fields), want.count, errCalibration)
		}
		for j, field := range fields {
			value, err := finite(field)
			if err != nil {
				return fmt.Errorf("line %d has %.20q for a number: %w", i+1, field, errCalibration)
			}
			at := j
			if want.count == 9 {
				at = j/3*4 + j%3
			}
			want.to[at] = value
		}
	}
	if len(found) > len(lines) {
		return fmt.Errorf("%d lines follow the last: %w", len(found)-len(lines), errCalibration)
	}
	return nil
}

var (
	// errPoses says that a line of a file of poses isn't a 3 x 4 matrix.
	errPoses = errors.New("a pose is 12 numbers, three rows of four")
	// errTimes says that a line of a file of times isn't a number.
	errTimes = errors.New("a time is one number of seconds a line")
)

// parsePoses reads a file of poses, one a line. Errors wrap errPoses.
func parsePoses(text string) (poses []matrix, err error) {
	for i, l := range rows(text) {
		fields := strings.Split(l, " ")
		if len(fields) != 12 {
			return poses, fmt.Errorf("line %d has %d columns: %w", i+1, len(fields), errPoses)
		}
		var m matrix
		for j, field := range fields {
			if m[j], err = finite(field); err != nil {
				return poses, fmt.Errorf("line %d has %.20q for a number: %w", i+1, field, errPoses)
			}
		}
		poses = append(poses, m)
	}
	return poses, nil
}

// parseTimes reads a file of times. Errors wrap errTimes.
func parseTimes(text string) (times []float64, err error) {
	for i, l := range rows(text) {
		value, err := finite(l)
		if err != nil {
			return times, fmt.Errorf("line %d is %.20q: %w", i+1, l, errTimes)
		}
		times = append(times, value)
	}
	return times, nil
}

// rows are a text's lines, without what follows the last line's end.
func rows(text string) []string {
	if text = strings.TrimSuffix(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
