package kitti

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseLabel(t *testing.T) {
	l, err := parseLabel("Car 0.25 1 -1.57 599.41 156.40 629.75 189.25 2.85 2.63 12.34 0.47 1.49 69.44 -1.56")
	require.NoError(t, err)
	assert.Equal(t, label{"Car", 0.25, 1, -1.57, 599.41, 156.40, 629.75, 189.25, 2.85, 2.63, 12.34, 0.47, 1.49, 69.44, -1.56}, l)
	whole := l
	l, err = parseLabel("Car 0.25 1.0 -1.57 599.41 156.40 629.75 189.25 2.85 2.63 12.34 0.47 1.49 69.44 -1.56")
	assert.ErrorIs(t, err, errOccluded)
	assert.Equal(t, whole, l)
	for _, bad := range []string{"", "Car", "Car 0 0 0 0 0 0 0 0 0 0 0 0 0 NaN", "Car 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", "Car 0 0 0 0 0 0 0 0 0 0 0 0 0 x"} {
		_, err := parseLabel(bad)
		assert.ErrorIs(t, err, errColumns, "%q", bad)
	}
}

func TestMatrix(t *testing.T) {
	m := matrix{0, -1, 0, 1, 0, 0, -1, 2, 1, 0, 0, 3}
	assert.Equal(t, vector{1 - 5, 2 - 6, 3 + 4}, m.apply(vector{4, 5, 6}))
	back := m.inverse()
	product := m.times(&back)
	assert.Zero(t, product.off(&identity))
	assert.Zero(t, m.unrigid())
	m[0], m[1] = m[1], m[0]
	assert.Positive(t, m.unrigid())
	reflection := matrix{0: 1, 5: 1, 10: -1}
	assert.Equal(t, 2.0, reflection.unrigid())
}

func FuzzLabel(f *testing.F) {
	f.Add("Car 0.25 1 -1.57 599.41 156.40 629.75 189.25 2.85 2.63 12.34 0.47 1.49 69.44 -1.56")
	f.Add("DontCare -1 -1 -10 1 2 3 4 -1 -1 -1 -1000 -1000 -1000 -10")
	f.Fuzz(func(t *testing.T, line string) {
		l, err := parseLabel(line)
		if err == nil {
			assert.False(t, math.IsNaN(l.ry) || math.IsInf(l.x, 0))
			l.projected(&identity)
			overlapInSpace(&l, &l)
		}
	})
}

func FuzzCalibration(f *testing.F) {
	f.Add(calibText(false))
	f.Add(calibText(true))
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := parseCalibration(text); err == nil {
			c.toCamera()
			assert.Equal(t, 7, strings.Count(text, ": "))
		}
		_, _ = parseSequenceCalibration(text)
	})
}

func FuzzPoses(f *testing.F) {
	f.Add("1 0 0 0 0 1 0 0 0 0 1 0\n")
	f.Add("0\n0.1\n")
	f.Fuzz(func(t *testing.T, text string) {
		poses, err := parsePoses(text)
		if err == nil {
			assert.Len(t, rows(text), len(poses))
		}
		times, err := parseTimes(text)
		if err == nil {
			assert.Len(t, rows(text), len(times))
		}
	})
}

func FuzzPoints(f *testing.F) {
	f.Add(make([]byte, 320))
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		if points, err := parsePoints(data); err == nil {
			assert.Len(t, data, 16*len(points))
		}
		hasRings(data)
		if labels, err := parsePointLabels(data); err == nil {
			for i, l := range labels {
				assert.Equal(t, binary.LittleEndian.Uint32(data[4*i:]), uint32(l.class)|uint32(l.instance)<<16)
			}
		}
	})
}
