package city

import (
	"math/rand/v2"

	"github.com/raybridge/raybridge/scene"
)

// groundUse is what a house's ground floor is.
type groundUse int

const (
	flats groundUse = iota
	shops
	lobby
)

// roofForm is how a house ends.
type roofForm int

const (
	flatRoof roofForm = iota
	mansardRoof
	pitchedRoof // a gable along the street; hipped where the plot has a cut corner
)

// openings is how the windows of a house are proportioned, metres.
type openings struct {
	bay    float64 // wanted distance from window to window
	ratio  float64 // a window's part of its bay
	sill   float64 // above the floor
	height float64
	recess float64 // of the panes behind the wall
}

// houseLook is the architecture of a house.
type houseLook struct {
	wall, base, trim, frame, roof, door material
	panes                               material
	painting                            painting
	openings                            openings
	groundHeight, storeyHeight          float64
	storeys                             int // above the ground floor
	ground                              groundUse
	form                                roofForm
	parapet                             float64
	balconies                           float64 // the share of bays that have one
	cornice                             float64 // how far it stands out; 0 for none
	shutters                            bool
	fins                                bool // office mullions
}

// storeyLimits bounds the storeys above the ground floor.
type storeyLimits struct{ lo, hi int }

func (l storeyLimits) draw(rng *rand.Rand) int { return l.lo + rng.IntN(l.hi-l.lo+1) }

// brickTownhouse is a brick house with stone sills.
func brickTownhouse(rng *rand.Rand, n storeyLimits) houseLook {
	l := houseLook{
		wall: pick(rng, brickRed, brickBrown, brickOrange, brickBuff, brickGrey, brickWhite),
		trim: pick(rng, trimStone, trimWhite), frame: pick(rng, trimWhite, trimWhite, trimDark),
		roof: pick(rng, slate, tilesRed, tilesBrown), door: pick(rng, doorRed, doorGreen, doorBlue),
		panes: paneClassic, openings: openings{bay: 2.7, ratio: 0.42, sill: 0.85, height: 1.75, recess: 0.16},
		groundHeight: 3.9, storeyHeight: 3.2, storeys: n.draw(rng), form: pick(rng, pitchedRoof, flatRoof, mansardRoof),
		parapet: 0.9, cornice: 0.3,
	}
	l.base = l.wall
	return l
}

// stuccoHouse is a plastered house in a light colour, with a stone base.
func stuccoHouse(rng *rand.Rand, n storeyLimits) houseLook {
	return houseLook{
		wall: pick(rng, plasterWhite, plasterCream, plasterYellow, plasterPink, plasterBlue, plasterGreen, plasterTerracotta),
		base: pick(rng, ashlarSand, ashlarGrey, plasterGrey),
		trim: pick(rng, trimWhite, trimWhite, trimStone), frame: pick(rng, trimWhite, trimBrown),
		roof: pick(rng, tilesRed, slate, tilesBrown), door: pick(rng, doorWood, doorGreen, doorBlue),
		panes: paneClassic, openings: openings{bay: 2.9, ratio: 0.4, sill: 0.7, height: 2.0, recess: 0.2},
		groundHeight: 4.2, storeyHeight: 3.4, storeys: n.draw(rng), form: pick(rng, mansardRoof, mansardRoof, pitchedRoof, flatRoof),
		parapet: 0.8, balconies: pick(rng, 0, 0.2, 0.45), cornice: 0.45, shutters: chance(rng, 0.4),
	}
}

// modernHouse is a block of flats with wide windows and balconies.
func modernHouse(rng *rand.Rand, n storeyLimits) houseLook {
	l := houseLook{
		wall: pick(rng, concreteLight, plasterWhite, plasterGrey, brickWhite, plasterTerracotta),
		base: pick(rng, concreteGrey, claddingDark, brickGrey), trim: pick(rng, trimWhite, trimDark), frame: trimDark,
		roof: roofGravel, door: doorWood, panes: paneModern,
		openings:     openings{bay: 3.5, ratio: 0.6, sill: 0.55, height: 1.95, recess: 0.12},
		groundHeight: 3.8, storeyHeight: 3.05, storeys: n.draw(rng), parapet: 0.6, balconies: pick(rng, 0.3, 0.5, 0.7),
	}
	return l
}

// stoneHouse is a bank or a department store in ashlar.
func stoneHouse(rng *rand.Rand, n storeyLimits) houseLook {
	wall := pick(rng, ashlarSand, ashlarGrey)
	return houseLook{
		wall: wall, base: wall, trim: trimStone, frame: pick(rng, trimDark, trimGreen), roof: pick(rng, copper, slate, zinc),
		door: doorWood, panes: paneClassic,
		openings:     openings{bay: 3.2, ratio: 0.44, sill: 0.5, height: 2.5, recess: 0.32},
		groundHeight: 4.8, storeyHeight: 3.8, storeys: n.draw(rng), form: pick(rng, mansardRoof, flatRoof), parapet: 1.1, cornice: 0.6,
	}
}

// office is a house with bands of glass.
func office(rng *rand.Rand, n storeyLimits) houseLook {
	return houseLook{
		wall: pick(rng, claddingDark, claddingBlue, concreteLight, concreteGrey, brickRed),
		base: pick(rng, claddingDark, concreteGrey), trim: pick(rng, trimDark, trimWhite), frame: trimDark,
		roof: roofGravel, door: doorBlue, panes: paneModern, painting: paintedOffice,
		openings:     openings{bay: 3.0, ratio: 0.9, sill: 0.75, height: 2.35, recess: 0.1},
		groundHeight: 4.6, storeyHeight: 3.7, storeys: n.draw(rng), ground: lobby, parapet: 1.0, fins: true,
	}
}

// house is one building of the town.
type house struct {
	plot  plot
	look  houseLook
	seed  uint64
	index int
}

// drawHouse chooses the architecture of a plot's house.
func drawHouse(rng *rand.Rand, p plot, index int, seed uint64) *house {
	limits := storeyLimits{2, 4}
	if p.corner {
		limits = storeyLimits{3, 5}
	}
	var l houseLook
	switch v := rng.Float64(); {
	case v < 0.34:
		l = brickTownhouse(rng, limits)
	case v < 0.7:
		l = stuccoHouse(rng, limits)
	case v < 0.86:
		l = modernHouse(rng, storeyLimits{limits.lo, limits.hi + 1})
	case v < 0.95:
		l = stoneHouse(rng, limits)
	default:
		l = office(rng, storeyLimits{limits.lo + 1, limits.hi + 1})
	}
	if l.ground == flats && chance(rng, 0.6) {
		l.ground = shops
	}
	return &house{plot: p, look: l, seed: seed, index: index}
}

// wallHeight is where the walls end and the roof begins, above the pavement.
func (h *house) wallHeight() float64 {
	return h.look.groundHeight + float64(h.look.storeys)*h.look.storeyHeight
}

// details returns the house's levels of detail: 0 with painted windows, 1 with
// windows as geometry towards the street, 2 with frames, sills and shop
// fittings, 3 with everything.
func (h *house) details() []detail {
	weights := [4]float64{0, 0.22, 1.3, 4}
	out := make([]detail, len(weights))
	for level, w := range weights {
		out[level] = detail{weight: w, make: func() *model {
			return single("house", h.build(level), scene.TagBuilding)
		}}
	}
	return out
}

// build makes the house's shape in the frame of the map.
func (h *house) build(level int) *shape {
	s := newShape()
	n := len(h.plot.outline)
	for i, a := range h.plot.outline {
		b := h.plot.outline[(i+1)%n]
		f := facade{
			s: s, h: h, level: level, front: h.plot.fronts[i],
			width: b.Sub(a).Len(), rng: stream(h.seed, "facade", h.index, i),
		}
		restore := s.in(along(a, b, kerbHeight))
		f.build()
		restore()
	}
	r := roof{s: s, h: h, level: level, rng: stream(h.seed, "roof", h.index), z: kerbHeight + h.wallHeight()}
	r.build()
	return s
}
