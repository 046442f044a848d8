package city

import (
	"math"
	"math/rand/v2"

	"github.com/raybridge/raybridge/scene"
)

// The cross-section of a street, metres from its centre line.
const (
	laneCentre    = 1.6
	laneEdge      = 3.3 // between the lane and the parking bays
	parkingCentre = 4.4
	kerbLine      = 5.5
	furnitureLine = 6.2 // poles and trees stand here
	buildingLine  = 10.0
)

const (
	kerbHeight = 0.12
	kerbRadius = 10.0 // of a block's corners
	chamfer    = 4.0  // cut off a corner house

	// cornerReach is where a street's straight part begins, from the centre of
	// its crossing.
	cornerReach = kerbLine + kerbRadius

	crosswalkNear, crosswalkFar = cornerReach + 0.3, cornerReach + 3.5
	stopLine                    = crosswalkFar + 1.0
	parkingStart                = crosswalkFar + 5
)

// blockUse is what stands on a block.
type blockUse int

const (
	perimeterUse blockUse = iota // houses around a court
	towerUse                     // offices standing free
	parkUse                      // the park and the town hall: the ego's block
)

// block is what four streets enclose.
type block struct {
	column, row int
	use         blockUse
	kerbs       rect // along the kerbs
	lots        rect // along the building lines
}

// town is the plan that everything is placed by.
type town struct {
	seed     uint64
	size     int       // blocks across and down, odd
	xs, ys   []float64 // centre lines of the streets, ascending
	blocks   []block   // row by row
	objects  []*object
	route    []vec2    // the ego's loop
	start    vec2      // where the ego starts
	reserved []*object // held in reserve, besides
	marks    []scene.LaneMark
	lights   []light
	// library keeps the models that many objects share.
	library library
}

// newTown lays out size by size blocks around the park.
func newTown(seed uint64, size int) *town {
	t := &town{seed: seed, size: size, library: make(library)}
	t.xs = streetLines(stream(seed, "columns"), size, 100, vec2{80, 106})
	t.ys = streetLines(stream(seed, "rows"), size, 78, vec2{68, 86})
	for row := range size {
		for column := range size {
			t.blocks = append(t.blocks, t.newBlock(column, row))
		}
	}
	lane := t.parkBlock().laneWay()
	t.route, t.start = lane.points(), vec2{-egoStart, lane.outline.y1}
	return t
}

// streetLines returns the centre lines around size blocks, the middle one of
// the given pitch and centred on 0, the others between the limits. A larger
// town has the lines of a smaller one in its middle.
func streetLines(rng *rand.Rand, size int, middle float64, limits vec2) []float64 {
	lines := make([]float64, size+1)
	half := size / 2
	lines[half], lines[half+1] = -middle/2, middle/2
	for i := range half {
		lines[half-1-i] = lines[half-i] - math.Round(between(rng, limits[0], limits[1]))
		lines[half+2+i] = lines[half+1+i] + math.Round(between(rng, limits[0], limits[1]))
	}
	return lines
}

func (t *town) newBlock(column, row int) block {
	streets := rect{t.xs[column], t.ys[row], t.xs[column+1], t.ys[row+1]}
	b := block{column: column, row: row, kerbs: streets.inset(kerbLine), lots: streets.inset(buildingLine)}
	middle := t.size / 2
	far := max(abs(column-middle), abs(row-middle))
	tower := chance(stream(t.seed, "use", t.index(&b)), 0.2)
	switch {
	case far == 0:
		b.use = parkUse
	case far > 1 && tower, column == middle+1 && row == middle-1:
		b.use = towerUse
	}
	return b
}

func abs(i int) int { return max(i, -i) }

// index numbers the blocks, and the crossings at their south-west corners, by
// their place seen from the park, so that a block has one number in towns of
// any size.
func (t *town) index(b *block) int { return t.gridIndex(b.column, b.row) }

func (t *town) gridIndex(column, row int) int {
	const reach = 64 // more than half the largest town
	m := t.size / 2
	return (row-m+reach)*2*reach + column - m + reach
}

func (t *town) parkBlock() *block { return &t.blocks[t.size*t.size/2] }

// distanceToPath returns how far p is from a closed polyline.
func distanceToPath(path []vec2, p vec2) float64 {
	best := math.Inf(1)
	for i, a := range path {
		ab := path[(i+1)%len(path)].Sub(a)
		k := 0.0
		if l := ab.Dot(ab); l > 0 {
			k = max(0, min(1, p.Sub(a).Dot(ab)/l))
		}
		best = min(best, p.Sub(a.Add(ab.Mul(k))).Len())
	}
	return best
}
