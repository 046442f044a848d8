package coco

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPartition parts a small picture: actor 9 is a thing, actor 5 isn't, so that its pixels are stuff by their tag;
// tag 11 is void.
func TestPartition(t *testing.T) {
	actors := [][]uint32{
		{0, 0, 70_000, 70_000},
		{0, 70_000, 70_000, 5},
		{5, 0, 0, 0},
	}
	tags := [][]uint8{
		{1, 1, 14, 14},
		{11, 14, 15, 1}, // a thing is one segment, whatever its tags
		{2, 1, 11, 1},
	}
	data, step := drawn(8, 4, 3, func(x, y int) uint32 { return actors[y][x] })
	var classes []byte
	for _, row := range tags {
		classes = append(append(classes, row...), 0xff) // rows are 5 bytes apart
	}
	p := partition{things: map[uint32]int{70_000: 3}, stuff: map[uint8]int{1: 201, 2: 202, 14: 3}}
	out, segments := p.part(plane{data, step}, plane{classes, 5}, 4, 3)
	assert.Equal(t, []segment{
		{ID: 1, Category: 201, Area: 5, Box: [4]int{0, 0, 4, 3}},
		{ID: 2, Category: 3, Area: 4, Box: [4]int{1, 0, 3, 2}, Actor: 70_000},
		{ID: 3, Category: 202, Area: 1, Box: [4]int{0, 2, 1, 1}},
	}, segments)
	var ids [][]uint32
	for y := range 3 {
		var row []uint32
		for x := range 4 {
			c := out.NRGBAAt(x, y)
			assert.Equal(t, uint8(255), c.A)
			row = append(row, uint32(c.R)+256*uint32(c.G)+65536*uint32(c.B))
		}
		ids = append(ids, row)
	}
	assert.Equal(t, [][]uint32{{1, 1, 2, 2}, {0, 2, 2, 1}, {3, 1, 0, 1}}, ids)
}

// TestPartitionCounts compares each segment's area and box with its pixels, in a picture of more than 255 segments.
func TestPartitionCounts(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	const width, height = 40, 30
	things := map[uint32]int{}
	data, step := drawn(0, width, height, func(int, int) uint32 {
		id := 1 + random.Uint32N(600)
		things[id] = 3
		return id
	})
	p := partition{things: things}
	out, segments := p.part(plane{data, step}, plane{make([]byte, width*height), width}, width, height)
	require.Greater(t, len(segments), 255)
	for i, s := range segments {
		require.Equal(t, i+1, s.ID)
		left, top, right, bottom, area := width, height, 0, 0, 0
		for y := range height {
			for x := range width {
				c := out.NRGBAAt(x, y)
				if int(c.R)+256*int(c.G)+65536*int(c.B) == s.ID {
					left, top, right, bottom, area = min(left, x), min(top, y), max(right, x+1), max(bottom, y+1), area+1
				}
			}
		}
		require.Equal(t, area, s.Area)
		require.Equal(t, [4]int{left, top, right - left, bottom - top}, s.Box)
	}
}
