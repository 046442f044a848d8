package lidar_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
)

// An echo is the strongest, the last, the first of its firing, its only one, or the second strongest.
const (
	strongest, last, first = 1, 2, 4
	only                   = strongest | last | first | 8
	second                 = 16
)

// TestReturnCodes: the numbers are those of the three projects, copied from their enumerations by hand, for the echoes that a
// firing may report. The echo between is the strongest of three, neither the first nor the last.
func TestReturnCodes(t *testing.T) {
	type table map[int]uint8
	between := strongest
	for codes, modes := range map[lidar.ReturnCodes]map[sample.ReturnMode]table{
		// autoware_point_types: INVALID, SINGLE_STRONGEST, SINGLE_LAST, DUAL_STRONGEST_FIRST, DUAL_STRONGEST_LAST, DUAL_WEAK_FIRST,
		// DUAL_WEAK_LAST, DUAL_ONLY.
		"autoware": {
			"":       {strongest: 1},
			"last":   {last: 2, strongest | last: 2},
			"first":  {first: 1, strongest | first: 1},
			"dual":   {strongest | first: 3, between: 3, strongest | last: 4, second: 5, second | first: 5, last: 6, second | last: 6, only: 7},
			"triple": {strongest | first: 3, between: 3, strongest | last: 4, first: 5, last: 6, only: 7},
		},
		// nebula_common: UNKNOWN, LAST, FIRST, STRONGEST, FIRST_WEAK, LAST_WEAK, IDENTICAL, SECOND, SECONDSTRONGEST, FIRSTSTRONGEST,
		// LASTSTRONGEST. Its decoder of Velodyne compares the two blocks: the nearer is the first.
		"nebula": {
			"":       {strongest: 3},
			"last":   {last: 1, strongest | last: 1},
			"first":  {first: 2, strongest | first: 2},
			"dual":   {strongest | first: 9, between: 9, strongest | last: 10, second: 4, second | first: 4, last: 5, second | last: 5, only: 6},
			"triple": {strongest | first: 9, between: 3, strongest | last: 10, first: 4, last: 5, only: 6},
		},
		// velodyne_decoder: STRONGEST, LAST, BOTH, by the block of the packet; both where the blocks are equal.
		"velodyne": {
			"":     {strongest: 1},
			"last": {last: 2, strongest | last: 2},
			"dual": {strongest | first: 1, between: 1, strongest | last: 2, second: 1, second | first: 1, last: 2, second | last: 2, only: 3},
		},
	} {
		for mode, want := range modes {
			number, err := lidar.NumbersOf(codes, mode)
			require.NoError(t, err)
			for mark, code := range want {
				assert.Equal(t, code, number(uint8(mark)), "%s, returns: %s, marks %05b", codes, mode, mark)
			}
			for mark := range 32 {
				assert.Equal(t, mark == 0, number(uint8(mark)) == sample.ReturnUnknown, "%s, returns: %s, marks %05b: a point that is one has a number", codes, mode, mark)
			}
		}
	}
	for _, mode := range []sample.ReturnMode{"first", "triple"} {
		_, err := lidar.NumbersOf("velodyne", mode)
		require.ErrorIs(t, err, sensors.ErrValue)
		require.ErrorContains(t, err, "returns: "+string(mode))
	}
}
