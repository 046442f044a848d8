package coco

// polygons returns the outlines of a mask's parts as COCO's polygons: x and y of each corner in turn, in pixels from
// the picture's corner, clockwise. They run along the edges of pixels, and a corner stands where they turn. Pixels that
// touch in a corner alone belong to two parts. Holes are left out, since a polygon of COCO has none.
func (m *mask) polygons() [][]float64 {
	g := newGrid(m)
	var list [][]float64
	for y := range g.height {
		for x := range g.width {
			if g.at(x, y) && !g.at(x-1, y) && !g.seen[y*g.width+x] {
				if outline, area := g.follow(x, y, m.left, m.top); area > 0 {
					list = append(list, outline)
				}
			}
		}
	}
	return list
}

// A grid is the part of a picture within a mask's box.
type grid struct {
	width, height int
	set           []bool
	seen          []bool // the pixel's left edge was followed
}

func newGrid(m *mask) *grid {
	g := &grid{width: m.right - m.left, height: m.bottom - m.top}
	g.set, g.seen = make([]bool, g.width*g.height), make([]bool, g.width*g.height)
	at := 0
	for i, n := range m.lengths() {
		for p := at; i%2 == 1 && p < at+n; p++ {
			g.set[(p%m.height-m.top)*g.width+p/m.height-m.left] = true
		}
		at += n
	}
	return g
}

func (g *grid) at(x, y int) bool {
	return x >= 0 && y >= 0 && x < g.width && y < g.height && g.set[y*g.width+x]
}

// Directions along the edges of pixels: the actor lies to the right.
const (
	east = iota
	south
	west
	north
	directions
)

// ahead are the pixels, left and right, that lie before a corner in each direction, relative to the pixel whose corner at the
// top left it is; step is the way to the next corner.
var (
	ahead = [directions][2][2]int{east: {{0, -1}, {0, 0}}, south: {{0, 0}, {-1, 0}}, west: {{-1, 0}, {-1, -1}}, north: {{-1, -1}, {0, -1}}}
	step  = [directions][2]int{east: {1, 0}, south: {0, 1}, west: {-1, 0}, north: {0, -1}}
)

// follow goes around the outline that begins with the left edge of a pixel. Its corners are moved by left and top. The
// area is positive for the outline of a part and negative for that of a hole.
func (g *grid) follow(x0, y0, left, top int) (outline []float64, area int) {
	x, y, heading := x0, y0+1, north // the bottom of the left edge
	for {
		if heading == north {
			g.seen[(y-1)*g.width+x] = true
		}
		area += x * step[heading][1] // the shoelace formula
		x, y = x+step[heading][0], y+step[heading][1]
		next := heading
		switch l, r := ahead[heading][0], ahead[heading][1]; {
		case !g.at(x+r[0], y+r[1]): // also where the pixel on the left is set, so that it stays another part's
			next = (heading + 1) % directions
		case g.at(x+l[0], y+l[1]):
			next = (heading + directions - 1) % directions
		}
		if next != heading {
			outline = append(outline, float64(x+left), float64(y+top))
		}
		if heading = next; x == x0 && y == y0+1 && heading == north {
			return outline, area
		}
	}
}
