package coco

import (
	"encoding/binary"
	"image"
)

// A segment is a part of a panoptic picture: one actor, or all pixels of one category of stuff. Its fields are those of
// COCO's segments_info, and the actor's id.
type segment struct {
	ID       int    `json:"id"`
	Category int    `json:"category_id"`
	Area     int    `json:"area"` // pixels
	Box      [4]int `json:"bbox"` // left, top, width, height
	Crowd    int    `json:"iscrowd"`
	Actor    uint32 `json:"instance_id,omitempty"`
}

// add enlarges the segment by the pixels of row y from column start up to end. Rows come in rising order.
func (s *segment) add(y, start, end int) {
	if s.Area == 0 {
		s.Box = [4]int{start, y, end - start, 1}
	}
	left, right := min(s.Box[0], start), max(s.Box[0]+s.Box[2], end)
	s.Box = [4]int{left, s.Box[1], right - left, y + 1 - s.Box[1]}
	s.Area += end - start
}

// A plane is the pixels of a picture; its rows are step bytes apart.
type plane struct {
	data []byte
	step int
}

func (p plane) row(y int) []byte { return p.data[y*p.step : (y+1)*p.step] }

// A partition parts a picture into segments.
type partition struct {
	things map[uint32]int // category by actor, of those that are segments of their own
	stuff  map[uint8]int  // category by semantic tag; pixels of other tags are void

	segments []segment
	places   map[segmentKey]int // of a segment, counted from 1; 0 is void
}

// segmentKey tells segments apart: things by their actor, stuff by its category.
type segmentKey struct {
	actor    uint32
	category int
}

// part returns the panoptic picture of a picture of actors (32SC1) and one of semantic tags (mono8), and its segments by
// rising id. A pixel is red + 256 green + 65536 blue, the id of its segment, or 0 for void. The ids count from 1 in the
// order in which the segments appear, row by row.
func (p *partition) part(actors, tags plane, width, height int) (*image.NRGBA, []segment) {
	out := image.NewNRGBA(image.Rect(0, 0, width, height))
	p.segments, p.places = nil, map[segmentKey]int{}
	for y := range height {
		ids, classes := actors.row(y), tags.row(y)
		pixels := out.Pix[y*out.Stride:]
		for start := 0; start < width; {
			id, end := binary.LittleEndian.Uint32(ids[4*start:]), start+1
			for end < width && classes[end] == classes[start] && binary.LittleEndian.Uint32(ids[4*end:]) == id {
				end++
			}
			n := p.place(id, classes[start])
			if n > 0 {
				p.segments[n-1].add(y, start, end)
			}
			for x := start; x < end; x++ {
				pixels[4*x], pixels[4*x+1], pixels[4*x+2], pixels[4*x+3] = uint8(n), uint8(n>>8), uint8(n>>16), 255
			}
			start = end
		}
	}
	return out, p.segments
}

// place returns the id of the segment that pixels of an actor and a tag belong to.
func (p *partition) place(actor uint32, tag uint8) int {
	key := segmentKey{category: p.stuff[tag]}
	if category, ok := p.things[actor]; ok {
		key = segmentKey{actor, category}
	}
	if key.category == 0 {
		return 0
	}
	n := p.places[key]
	if n == 0 {
		n = len(p.segments) + 1
		p.segments = append(p.segments, segment{ID: n, Category: key.category, Actor: key.actor})
		p.places[key] = n
	}
	return n
}
