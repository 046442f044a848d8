package nuscenes

import (
	"bytes"
	"image/png"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/dataset"
)

// TestPlacesThatNoRunHas: a journal that comes from elsewhere can't ask for more memory than there is.
func TestPlacesThatNoRunHas(t *testing.T) {
	add := func(data string, sweeps ...string) error {
		row := &dataset.FrameRow{Data: []byte(data)}
		for _, s := range sweeps {
			row.Sweeps = append(row.Sweeps, []byte(s))
		}
		return new(recorded).add(row)
	}
	require.NoError(t, add(`{"data":[{"ego":{"at":[1e7,-1e7,0]}}],"objects":[{"pose":{"at":[5,6,7]}}],"ground":[[-4,5,5]]}`, `{"ego":{"at":[1,2,3]}}`))
	for name, data := range map[string]string{
		"ego":            `{"data":[{"ego":{"at":[0,-1e300,0]}}]}`,
		"object":         `{"objects":[{"pose":{"at":[1e18,0,0]}}]}`,
		"ground's y":     `{"ground":[[9223372036854775807,0,1]]}`,
		"ground's x":     `{"ground":[[0,-1000000000000,1]]}`,
		"ground's width": `{"ground":[[0,0,1000000000]]}`,
		"ground's order": `{"ground":[[0,5,4]]}`,
	} {
		assert.Error(t, add(data), name)
	}
	assert.Error(t, add(`{}`, `{"ego":{"at":[1e9,0,0]}}`), "sweep")
}

// TestMaskOfLeapingEgo: a mask has a largest size, and what lies within it.
func TestMaskOfLeapingEgo(t *testing.T) {
	m := &mask{}
	m.add(0, 2, 3)
	m.add(0, mostSide-1, mostSide+9)
	m.add(0, mostSide+5, mostSide+9)
	m.add(1e7, 0, 1)
	m.cut()
	assert.Equal(t, mostSide, m.width)
	assert.LessOrEqual(t, m.width*m.height, mostCells)
	m.height = 1 // all of it takes seconds
	var file bytes.Buffer
	require.NoError(t, m.png(&file))
	picture, err := png.Decode(&file)
	require.NoError(t, err)
	for column, want := range map[int]uint32{0: 0, 2: 0xffff, 3: 0xffff, 4: 0, mostSide - 2: 0, mostSide - 1: 0xffff} {
		grey, _, _, _ := picture.At(column*pixelsOfCell, 0).RGBA()
		assert.Equal(t, want, grey, "cell %d", column)
	}
}
