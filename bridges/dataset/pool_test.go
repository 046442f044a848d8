package dataset

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/sensors/sample"
)

// A set has the strongest of several returns, and an organized cloud loses its misses.
func TestCloudsOfSeveralReturns(t *testing.T) {
	one := bridgetest.PointCloud(3)
	for i := range one.Points {
		one.Points[i].Return = sample.ReturnStrongest
	}
	for _, organized := range []bool{false, true} {
		one.Organized = organized
		dual := bridgetest.Dual(one)
		var p pool
		got := p.cloud(dual)
		assert.Equal(t, 1, got.Returns.Points())
		assert.False(t, got.Organized)
		require.Len(t, got.Points, len(one.Points))
		for i := range got.Points {
			assert.Equal(t, one.Points[i].X, got.Points[i].X)
		}
		got.Points[0].X = -1
		assert.Zero(t, dual.Points[0].X, "a copy")
	}
}
