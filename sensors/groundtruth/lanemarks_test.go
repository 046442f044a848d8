package groundtruth_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
)

// TestLaneMarksComeOnce: all of the scene's, as a LaneWatch takes them.
func TestLaneMarksComeOnce(t *testing.T) {
	h := sensortest.New(t, groundtruth.LaneMarksDefinition, sensortest.Options{Scene: road()})
	h.Fire(1e8)
	h.Fire(2e8)
	require.Len(t, h.Messages["lane_marks"], 1)
	m := sensortest.Last[*sample.LaneMarks](h, "lane_marks")
	assert.Equal(t, marks(), m.Marks)
	assert.Equal(t, "map", m.FrameID)
	assert.EqualValues(t, 1e8, m.Stamp)
	assert.EqualValues(t, 2*(32+3*24), m.SizeBytes())

	var kept sample.LaneMarks
	sample.Copy(&kept, m)
	assert.Equal(t, m, &kept)
	kept.Marks[0].Points[0][0] = 7
	assert.Equal(t, marks(), m.Marks, "the copy is deep")
}
