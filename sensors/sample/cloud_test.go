package sample_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/sensors/sample"
)

// TestSingleReturn: of each firing the strongest is left, which is the first; what organized clouds say of firings without an echo stays.
func TestSingleReturn(t *testing.T) {
	none := float32(math.Inf(1))
	point := func(ray uint32, distance float32) sample.Point { return sample.Point{Ray: ray, Distance: distance} }
	one := &sample.PointCloud{Rings: 1, Columns: 3, Points: []sample.Point{point(0, 1), point(2, 3)}}
	for name, c := range map[string]struct {
		cloud sample.PointCloud
		want  []sample.Point
	}{
		"dual":      {sample.PointCloud{Returns: sample.DualReturns, Points: []sample.Point{point(0, 5), point(0, 9), point(2, 4), point(3, 8), point(3, 2)}}, []sample.Point{point(0, 5), point(2, 4), point(3, 8)}},
		"triple":    {sample.PointCloud{Returns: sample.TripleReturns, Points: []sample.Point{point(1, 5), point(1, 9), point(1, 4)}}, []sample.Point{point(1, 5)}},
		"organized": {sample.PointCloud{Returns: sample.DualReturns, Organized: true, Points: []sample.Point{point(0, 5), point(0, none), point(1, none), point(1, none)}}, []sample.Point{point(0, 5), point(1, none)}},
		"empty":     {sample.PointCloud{Returns: sample.DualReturns}, nil},
	} {
		scratch := sample.PointCloud{Points: make([]sample.Point, 7)}
		c.cloud.Stamp, c.cloud.Layout = 5, sample.LayoutSVL
		got := c.cloud.SingleReturn(&scratch)
		assert.Equal(t, len(c.want), len(got.Points), name)
		assert.Equal(t, append([]sample.Point{}, c.want...), got.Points, name)
		assert.Equal(t, 1, got.Returns.Points(), name)
		assert.Equal(t, c.cloud.Header, got.Header, name)
		assert.Equal(t, c.cloud.Layout, got.Layout, name)
	}
	assert.Same(t, one, one.SingleReturn(nil), "nothing to leave out")
}

func TestShapesOfClouds(t *testing.T) {
	for _, c := range []struct {
		rings, columns, points int
		returns                sample.ReturnMode
		whole                  bool
	}{
		{2, 3, 6, "", true},
		{2, 3, 6, sample.LastReturn, true},
		{2, 3, 6, sample.DualReturns, false},
		{2, 3, 12, sample.DualReturns, true},
		{2, 3, 18, sample.TripleReturns, true},
		{2, 3, 12, sample.TripleReturns, false},
		{0, 3, 0, "", false},
		{-2, -3, 6, "", false},
		{1 << 32, 1 << 32, 0, "", false},
		{1, math.MaxInt, 1, sample.DualReturns, false},
	} {
		m := sample.PointCloud{Rings: c.rings, Columns: c.columns, Returns: c.returns, Points: make([]sample.Point, c.points)}
		assert.Equal(t, c.whole, m.IsWhole(), "%+v", c)
	}
	one, two := sample.PointCloud{Rings: 16, Columns: 1800}, sample.PointCloud{Rings: 16, Columns: 1800, Returns: sample.DualReturns}
	assert.NotEqual(t, one.CacheKey(), two.CacheKey())
	assert.Equal(t, []string{"strongest", "last", "first", "dual", "triple"}, sample.ReturnMode("").Values())
}
