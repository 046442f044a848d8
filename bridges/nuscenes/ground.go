package nuscenes

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/scene"
)

// The mask of a scene's ground is made of square cells.
const (
	cell          = 0.5 // metres
	pixelsOfCell  = 5   // of 0.1 m
	footprint     = 3   // cells around the ego's place, which are drivable
	tileBits      = 6
	tileSide      = 1 << tileBits
	tileCellsMask = tileSide - 1
)

// ground has the cells that are drivable or sidewalk, as far as lidars have seen them.
type ground struct{ tiles map[[2]int]*[tileSide]uint64 }

// drivable are the tags of what the mask shows.
var drivable = func() (is [256]bool) {
	for _, tag := range []scene.Tag{scene.TagRoads, scene.TagRoadLine, scene.TagSidewalks} {
		is[tag] = true
	}
	return is
}()

// add adds what a key frame shows, and returns the cells that are new, by y and then x.
func (g *ground) add(f *dataset.Frame) [][3]int {
	if g.tiles == nil {
		g.tiles = map[[2]int]*[tileSide]uint64{}
	}
	var fresh [][2]int // y, x
	mark := func(x, y float64, around int) {
		column, row := int(math.Floor(x/cell)), int(math.Floor(y/cell))
		for dy := -around; dy <= around; dy++ {
			for dx := -around; dx <= around; dx++ {
				if g.set(column+dx, row+dy) {
					fresh = append(fresh, [2]int{row + dy, column + dx})
				}
			}
		}
	}
	mark(f.Ego.Pose.Position[0], f.Ego.Pose.Position[1], footprint)
	for i := range f.Clouds {
		c := &f.Clouds[i]
		toMap := c.Ego.Compose(c.Sensor.Mount).Mat4()
		for k := range c.Points {
			if p := &c.Points[k]; drivable[p.Tag] {
				x, y, z := float64(p.X), float64(p.Y), float64(p.Z)
				mark(toMap[0]*x+toMap[4]*y+toMap[8]*z+toMap[12], toMap[1]*x+toMap[5]*y+toMap[9]*z+toMap[13], 1)
			}
		}
	}
	slices.SortFunc(fresh, func(a, b [2]int) int {
		if a[0] != b[0] {
			return a[0] - b[0]
		}
		return a[1] - b[1]
	})
	var rows [][3]int
	for _, c := range fresh {
		if n := len(rows) - 1; n >= 0 && rows[n][0] == c[0] && rows[n][2] == c[1]-1 {
			rows[n][2] = c[1]
			continue
		}
		rows = append(rows, [3]int{c[0], c[1], c[1]})
	}
	return rows
}

// set marks a cell, and reports whether it is new.
func (g *ground) set(x, y int) bool {
	key := [2]int{x >> tileBits, y >> tileBits}
	tile := g.tiles[key]
	if tile == nil {
		tile = new([tileSide]uint64)
		g.tiles[key] = tile
	}
	bit := uint64(1) << (x & tileCellsMask)
	row := &tile[y&tileCellsMask]
	fresh := *row&bit == 0
	*row |= bit
	return fresh
}

// mask is the picture of a scene's ground.
type mask struct {
	rows          map[int][][2]int // first and last x of cells, by y
	width, height int              // cells
}

// add adds a row of cells, from x, y >= 0.
func (m *mask) add(y, first, last int) {
	if m.rows == nil {
		m.rows = map[int][][2]int{}
	}
	m.rows[y] = append(m.rows[y], [2]int{first, last})
	m.width, m.height = max(m.width, last+1), max(m.height, y+1)
}

// A mask that is larger has no use: nobody has the memory for it.
const (
	mostSide  = 1 << 20 / pixelsOfCell // cells
	mostCells = 1 << 32 / (pixelsOfCell * pixelsOfCell)
)

// cut cuts off what a mask of that size has no place for, as in a scene whose ego leaps from town to town.
func (m *mask) cut() {
	m.width = min(m.width, mostSide)
	m.height = min(m.height, mostCells/max(1, m.width))
}

// png writes the mask: 8-bit grey, 255 on the ground, 10 pixels a metre, the last row at y = 0. It goes row by row, since a picture of a
// large map is too large for memory.
func (m *mask) png(w io.Writer) error {
	out := &chunks{w: w}
	out.raw([]byte("\x89PNG\r\n\x1a\n"))
	width, height := m.width*pixelsOfCell, m.height*pixelsOfCell
	header := binary.BigEndian.AppendUint32(nil, uint32(width))
	header = binary.BigEndian.AppendUint32(header, uint32(height))
	out.chunk("IHDR", append(header, 8, 0, 0, 0, 0)) // grey of 8 bits
	buffered := bufio.NewWriterSize(out, 64<<10)
	z, err := zlib.NewWriterLevel(buffered, zlib.BestSpeed)
	if err != nil {
		return err
	}
	line, same := make([]byte, 1+width), make([]byte, 1+width)
	same[0] = 2 // as the line above
	blank := false
	for y := m.height - 1; y >= 0; y-- {
		cells := m.rows[y]
		repeat := 0
		if len(cells) > 0 || !blank {
			clear(line)
			for _, c := range cells {
				first, end := min(c[0], m.width), min(c[1]+1, m.width)
				part := line[1+first*pixelsOfCell : 1+end*pixelsOfCell]
				for i := range part {
					part[i] = 255
				}
			}
			if _, err := z.Write(line); err != nil {
				return err
			}
			repeat = 1
		}
		blank = len(cells) == 0
		for ; repeat < pixelsOfCell; repeat++ {
			if _, err := z.Write(same); err != nil {
				return err
			}
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	out.chunk("IEND", nil)
	return out.err
}

// chunks writes PNG's chunks. What is written to it becomes chunks of pixels.
type chunks struct {
	w   io.Writer
	err error
}

func (c *chunks) raw(p []byte) {
	if c.err == nil {
		_, c.err = c.w.Write(p)
	}
}

func (c *chunks) chunk(kind string, data []byte) {
	c.raw(binary.BigEndian.AppendUint32(nil, uint32(len(data))))
	body := slices.Concat([]byte(kind), data)
	c.raw(body)
	c.raw(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(body)))
}

// Write writes a chunk of pixels.
func (c *chunks) Write(p []byte) (int, error) {
	c.chunk("IDAT", bytes.Clone(p))
	return len(p), c.err
}
