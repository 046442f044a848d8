package lidar_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/sensors/lidar"
)

func TestHalvedIsAPowerOfTwo(t *testing.T) {
	for x := float32(0); x < 126; x += 0.0037 {
		assert.InEpsilon(t, math.Exp2(-float64(x)), lidar.Halved(x), 3e-7, "2^-%v", x)
	}
	assert.Equal(t, float32(1), lidar.Halved(0))
	for _, dark := range []float64{126, 1e30, math.Inf(1), math.NaN()} {
		assert.Zero(t, lidar.Halved(float32(dark)))
	}
}
