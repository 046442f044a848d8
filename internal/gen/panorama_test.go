package main

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAPanoramaGoesAllTheWayRound: from behind, over the left, ahead and the right, to behind.
func TestAPanoramaGoesAllTheWayRound(t *testing.T) {
	require.Error(t, panorama(nil))
	path := filepath.Join(t.TempDir(), "rays.npy")
	require.NoError(t, panorama([]string{path}))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	body := data[len(data)-4*3*panoramaWidth*panoramaHeight:]
	assert.Contains(t, string(data[:len(data)-len(body)]), "'shape': (240, 320, 3), }\n")
	ray := func(u, v int) (x, y, z float64) {
		at := func(k int) float64 {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(body[4*(3*(v*panoramaWidth+u)+k):])))
		}
		return at(0), at(1), at(2)
	}
	pixel := 2 * math.Pi / panoramaWidth
	for u, want := range map[int]float64{0: -math.Pi + pixel/2, 80: -math.Pi/2 + pixel/2, 160: pixel / 2, 319: math.Pi - pixel/2} {
		x, y, z := ray(u, 0)
		assert.InDelta(t, want, math.Atan2(x, z), 1e-6)
		assert.InDelta(t, -119.5*pixel, y, 1e-6, "up")
	}
}
