package city

import (
	"math"
	"math/rand/v2"

	"github.com/raybridge/raybridge/scene"
)

// Heights of what lies on the roadway, in metres. Each is clear of the one below by more than a
// depth buffer mistakes at a hundred metres.
const (
	patchHeight = 0.006
	coverHeight = 0.012
	lineHeight  = 0.018
)

// addRoads places the carriageways: one actor for each crossing and for each
// stretch between two of them. Pavements stand on top of the crossings' corners.
func (t *town) addRoads() {
	for i, x := range t.xs {
		for j, y := range t.ys {
			t.addCrossing(i, j)
			if i+1 < len(t.xs) {
				t.addStretch(vec2{x, y}, vec2{t.xs[i+1], y}, t.gridIndex(i, j))
			}
			if j+1 < len(t.ys) {
				t.addStretch(vec2{x, y}, vec2{x, t.ys[j+1]}, -t.gridIndex(i, j))
			}
		}
	}
}

func (t *town) addCrossing(i, j int) {
	at := vec2{t.xs[i], t.ys[j]}
	road, lines := newShape(), newShape()
	road.floorQuad(asphalt, 0, rect{-cornerReach, -cornerReach, cornerReach, cornerReach})
	rng := stream(t.seed, "crossing", t.gridIndex(i, j))
	road.cover(vec2{between(rng, -3, 3), between(rng, -3, 3)}, 0.33)
	for arm := range 4 {
		neighbour := [4][2]int{{i + 1, j}, {i, j + 1}, {i - 1, j}, {i, j - 1}}[arm]
		if neighbour[0] < 0 || neighbour[1] < 0 || neighbour[0] > t.size || neighbour[1] > t.size {
			lines.edgeAcross(arm)
			t.markEdge(i, j, arm)
		}
	}
	t.add(object{typeID: "static.road", pose: standing(vec{at[0], at[1], 0}, 0),
		details: always(roadModel(road, lines))}, at)
}

func roadModel(road, lines *shape) *model {
	m := single("asphalt", road, scene.TagRoads)
	if lines.triangles() > 0 {
		m.parts = append(m.parts, modelPart{name: "lines", shape: lines, tag: scene.TagRoadLine})
	}
	return m
}

// An edge line across the end of a street lies so far from the crossing's centre.
const edgeNear, edgeFar = kerbLine - 0.4, kerbLine - 0.28

// edgeAcross draws the edge line where no street goes on beyond a crossing.
func (s *shape) edgeAcross(arm int) {
	defer s.in(s.frame.turned(float64(arm) * math.Pi / 2))()
	s.floorQuad(lineWhite, lineHeight, rect{edgeNear, -cornerReach, edgeFar, cornerReach})
}

// addStretch places the road from crossing a to crossing b.
func (t *town) addStretch(a, b vec2, index int) {
	length := b.Sub(a).Len() - 2*cornerReach
	rng := stream(t.seed, "stretch", index)
	road, lines := newShape(), newShape()
	skin := pick(rng, asphalt, asphalt, asphaltOld)
	road.floorQuad(skin, 0, rect{-length / 2, -kerbLine, length / 2, kerbLine})
	// Repairs: darker rectangles along the lanes.
	for range 1 + rng.IntN(3) {
		x, y := between(rng, -length/2, length/2-8), between(rng, -3, 1)
		w, h := between(rng, 1.5, 7), between(rng, 0.8, 2.2)
		road.floorQuad(asphaltPatch, patchHeight, rect{x, y, min(x+w, length/2), y + h})
	}
	for range 2 + rng.IntN(2) {
		road.cover(vec2{between(rng, -length/2+2, length/2-2), between(rng, -2.6, 2.6)}, 0.33)
	}
	for i := range 4 { // drains in the gutters
		x, y := (float64(i/2)-0.5)*0.6*length, (float64(i%2)-0.5)*2*(kerbLine-0.25)
		road.floorQuad(ironCover, coverHeight, around(x, y, 0.3, 0.2))
	}
	lines.stretchMarkings(length)
	t.markStretch(a, b, length)
	mid := lerp2(a, b, 0.5)
	d := b.Sub(a)
	t.add(object{typeID: "static.road", pose: standing(vec{mid[0], mid[1], 0}, math.Atan2(d[1], d[0])),
		details: always(roadModel(road, lines))}, mid)
}

// cover adds a manhole's iron lid.
func (s *shape) cover(at vec2, radius float64) {
	defer s.in(s.frame.moved(at[0], at[1], 0))()
	s.disc(ironCover, 10, coverHeight, radius)
}

// stretchMarkings draws what is painted on a stretch of road of the given length that lies
// along x. It draws centre dashes, the parking bays' edges, the two crosswalks and the stop
// lines.
func (s *shape) stretchMarkings(length float64) {
	half := length/2 + cornerReach // to the crossings' centres
	line := func(x0, y0, x1, y1 float64) { s.floorQuad(lineWhite, lineHeight, rect{x0, y0, x1, y1}) }
	at := linesOf(length)
	end, inner, park := at.end, at.inner, at.park
	line(-end, -0.07, -inner, 0.07)
	line(inner, -0.07, end, 0.07)
	const dash, gap = 3.0, 4.5
	for x := -inner + gap; x+dash < inner; x += dash + gap {
		line(x, -0.07, x+dash, 0.07)
	}
	for _, y := range []float64{-laneEdge, laneEdge} {
		line(-park, y-0.06, park, y+0.06)
		side := math.Copysign(1, y)
		for _, x := range []float64{-park, park} {
			line(x-0.06, min(y, side*kerbLine), x+0.06, max(y, side*kerbLine))
		}
	}
	for _, dir := range []float64{-1, 1} {
		for y := -5.0; y < 5; y += 1.0 {
			a, b := dir*(half-crosswalkFar), dir*(half-crosswalkNear)
			line(min(a, b), y, max(a, b), y+0.5)
		}
		// Who drives towards +x keeps to -y.
		x := dir * (half - stopLine)
		line(x-0.2, min(0, -dir*laneEdge), x+0.2, max(0, -dir*laneEdge))
		s.turnArrow(vec2{dir * (half - stopLine - 6), -dir * laneCentre}, dir)
	}
}

// turnArrow paints an arrow at p in the middle of a lane. It points straight on along dir (1 or
// -1 for +x or -x), then to the right.
func (s *shape) turnArrow(p vec2, dir float64) {
	defer s.in(s.frame.moved(p[0], p[1], 0).turned((1 - dir) * math.Pi / 2))()
	at := func(x, y float64) vec { return vec{x, y, lineHeight} }
	s.floorQuad(lineWhite, lineHeight, rect{-2.2, 0, 0.9, 0.16})
	s.face(lineWhite, at(0.9, 0), at(1.25, -0.35), at(1.36, -0.24), at(0.9, 0.16))
	s.face(lineWhite, at(1.0, -0.6), at(1.75, -0.35), at(1.25, 0.15))
}

// addPavement places a block's raised ground with its kerb.
func (t *town) addPavement(b *block) {
	s := newShape()
	rng := stream(t.seed, "pavement", t.index(b))
	skin := pick(rng, paving, paving, pavingWarm)
	outer := b.kerbs.rounded(kerbRadius, 8)
	t.markKerb(outer)
	inner := b.kerbs.inset(0.3).rounded(kerbRadius-0.3, 8)
	s.prism(kerbStone, outer, [2]float64{0, kerbHeight})
	for i := range outer {
		j := (i + 1) % len(outer)
		s.face(kerbStone, at3(outer[i], kerbHeight), at3(outer[j], kerbHeight), at3(inner[j], kerbHeight), at3(inner[i], kerbHeight))
	}
	s.plate(skin, inner, kerbHeight)
	t.add(object{typeID: "static.sidewalk", pose: standing(vec{}, 0),
		details: always(single("pavement", s, scene.TagSidewalks))}, b.kerbs.centre())
}

func at3(p vec2, z float64) vec { return vec{p[0], p[1], z} }

// stretchLines says where the lines of a stretch of road begin and end, metres from
// its middle: the road lies along x.
type stretchLines struct {
	end   float64 // of the centre line, at the stop line
	inner float64 // of its dashes: the last metres before a stop line are solid
	park  float64 // of the edges of the parking bays
}

// solidEnd is how much of the centre line before a stop line is solid, metres.
const solidEnd = 8.0

func linesOf(length float64) stretchLines {
	half := length/2 + cornerReach // to the crossings' centres
	end := half - stopLine
	return stretchLines{end: end, inner: end - solidEnd, park: half - parkingStart}
}

// markStretch lists the lines that are painted along a stretch of road from crossing
// a to crossing b. What lies across (stop lines, crosswalks) is not a lane mark.
func (t *town) markStretch(a, b vec2, length float64) {
	mid, along := lerp2(a, b, 0.5), b.Sub(a).Normalize()
	left := vec2{-along[1], along[0]}
	line := func(kind scene.LaneMarkType, x0, x1, y float64) {
		at := func(x float64) vec2 { return mid.Add(along.Mul(x)).Add(left.Mul(y)) }
		t.mark(kind, lineHeight, at(x0), at(x1))
	}
	l := linesOf(length)
	line(scene.LaneMarkSolid, -l.end, -l.inner, 0)
	line(scene.LaneMarkBroken, -l.inner, l.inner, 0)
	line(scene.LaneMarkSolid, l.inner, l.end, 0)
	for _, y := range []float64{-laneEdge, laneEdge} {
		line(scene.LaneMarkSolid, -l.park, l.park, y)
	}
}

// markEdge lists the edge line where crossing (i, j) has no arm. At a corner of the
// town it ends at the verge, which covers the rest of it.
func (t *town) markEdge(i, j, arm int) {
	along, left := armAxes(arm)
	reach := func(side int) float64 {
		if t.hasArm(i, j, side%4) {
			return cornerReach
		}
		return kerbLine
	}
	edge := vec2{t.xs[i], t.ys[j]}.Add(along.Mul((edgeNear + edgeFar) / 2))
	t.mark(scene.LaneMarkSolid, lineHeight, edge.Sub(left.Mul(reach(arm+3))), edge.Add(left.Mul(reach(arm+1))))
}

// markKerb lists a kerb along a closed outline, at its foot; the pavement lies to the
// left of it.
func (t *town) markKerb(outline []vec2) {
	t.mark(scene.LaneMarkCurb, 0, append(outline[:len(outline):len(outline)], outline[0])...)
}

// mark lists a line at a height above the roadway: all paint is white.
func (t *town) mark(kind scene.LaneMarkType, z float64, points ...vec2) {
	m := scene.LaneMark{ID: uint32(len(t.marks) + 1), Type: kind, Color: scene.LaneMarkWhite}
	if kind == scene.LaneMarkCurb {
		m.Color = scene.LaneMarkColorOther
	}
	for _, p := range points {
		m.Points = append(m.Points, at3(p, z))
	}
	t.marks = append(t.marks, m)
}

const (
	terrainReach = 1800.0 // metres from the middle of the town
	terrainSides = 72
	terrainRings = 14
)

// addTerrain places the country around the town: meadows, fields and wooded
// hills up to the horizon.
func (t *town) addTerrain() {
	s := newShape()
	rng := stream(t.seed, "terrain")
	var hills [6][3]float64 // wave vector and phase of the hills
	for i := range hills {
		k := between(rng, 0.002, 0.008)
		sn, c := math.Sincos(between(rng, 0, 2*math.Pi))
		hills[i] = [3]float64{k * c, k * sn, between(rng, 0, 2*math.Pi)}
	}
	edge := rect{t.xs[0], t.ys[0], t.xs[t.size], t.ys[t.size]}.inset(-kerbLine)
	ground := func(ring, side int) vec {
		// The rings start below the town and grow wider outwards.
		k := float64(ring) / terrainRings
		r := 0.6 * min(edge.width(), edge.height()) / 2
		r += (terrainReach - r) * k * k
		sn, c := math.Sincos(2 * math.Pi * float64(side) / terrainSides)
		p := vec2{r * c, r * sn}
		return at3(p, terrainHeight(edge, hills[:], p))
	}
	use := newLandUse(rng)
	for ring := range terrainRings {
		for side := range terrainSides {
			a, b, c, d := ground(ring, side), ground(ring+1, side), ground(ring+1, side+1), ground(ring, side+1)
			s.face(use.at(a.Add(b).Add(c)), a, b, c)
			s.face(use.at(a.Add(c).Add(d)), a, c, d)
		}
	}
	s.smooth(0, 60*math.Pi/180)
	t.add(object{typeID: "static.terrain", pose: standing(vec{}, 0),
		details: always(single("country", s, scene.TagTerrain))}, vec2{})
}

// terrainHeight is flat around the town and rises to hills behind it.
func terrainHeight(town rect, hills [][3]float64, p vec2) float64 {
	outside := vec2{max(town.x0-p[0], 0, p[0]-town.x1), max(town.y0-p[1], 0, p[1]-town.y1)}.Len()
	k := max(0, min(1, (outside-90)/900))
	k = k * k * (3 - 2*k)
	h := 0.0
	for _, w := range hills {
		h += math.Sin(p[0]*w[0] + p[1]*w[1] + w[2])
	}
	return -0.05 + k*(46+14*h)
}

// landUse draws woods and fields as patches of a sum of waves.
type landUse [4][3]float64

func newLandUse(rng *rand.Rand) landUse {
	var l landUse
	for i := range l {
		k := between(rng, 0.006, 0.013)
		sn, c := math.Sincos(between(rng, 0, 2*math.Pi))
		l[i] = [3]float64{k * c / 3, k * sn / 3, between(rng, 0, 2*math.Pi)}
	}
	return l
}

// at returns what grows at a place, given as three times its coordinates.
func (l landUse) at(p vec) material {
	v := 0.0
	for _, w := range l {
		v += math.Sin(p[0]*w[0] + p[1]*w[1] + w[2])
	}
	far := p.Len() > 3*420
	switch {
	case far && v > 0.7:
		return forest
	case far && v < -1.2:
		return field
	}
	return meadow
}

// verge is the width of the pavement on the far side of the outermost streets.
const verge = 4.0

// addOutskirts places what closes the view at the ends of the streets: a
// pavement, detached houses and trees around the town.
func (t *town) addOutskirts() {
	edge := rect{t.xs[0], t.ys[0], t.xs[t.size], t.ys[t.size]}.inset(-kerbLine)
	t.addVerge(edge)
	corners := edge.corners()
	for i, a := range corners {
		b := corners[(i+1)%4]
		lines := t.xs
		if i%2 == 1 {
			lines = t.ys
		}
		// One house faces the end of each street, one lies between two.
		for k := range 2*len(lines) - 1 {
			at := lines[k/2]
			if k%2 == 1 {
				at = (lines[k/2] + lines[k/2+1]) / 2
			}
			d := b.Sub(a).Normalize()
			along := at - a[i%2]
			if i >= 2 {
				along = a[i%2] - at
			}
			t.addVilla(a.Add(d.Mul(along)), d, i*64+k)
		}
	}
}

// addVerge surrounds the outermost streets with a strip of pavement.
func (t *town) addVerge(edge rect) {
	s := newShape()
	in, out := edge.corners(), edge.inset(-verge).corners()
	t.markKerb([]vec2{in[3], in[2], in[1], in[0]})
	for i := range in {
		j := (i + 1) % 4
		s.face(kerbStone, at3(in[j], 0), at3(in[i], 0), at3(in[i], kerbHeight), at3(in[j], kerbHeight))
		s.face(paving, at3(out[i], kerbHeight), at3(out[j], kerbHeight), at3(in[j], kerbHeight), at3(in[i], kerbHeight))
		s.face(soil, at3(out[i], -0.1), at3(out[j], -0.1), at3(out[j], kerbHeight), at3(out[i], kerbHeight))
	}
	t.add(object{typeID: "static.sidewalk", pose: standing(vec{}, 0), details: always(single("verge", s, scene.TagSidewalks))}, in[0])
}

// addVilla places a detached house behind the verge at p; d runs along the
// street, the town to its left.
func (t *town) addVilla(p, d vec2, index int) {
	rng := stream(t.seed, "villa", index)
	out := vec2{d[1], -d[0]}
	at := func(along, back float64) vec2 { return p.Add(d.Mul(along)).Add(out.Mul(verge + back)) }
	w, deep, front := between(rng, 10, 15), between(rng, 9, 11), between(rng, 5, 9)
	// The street side comes first, counter-clockwise: it runs against d.
	plot := plot{outline: []vec2{at(w/2, front), at(-w/2, front), at(-w/2, front+deep), at(w/2, front+deep)},
		fronts: []frontage{streetFront, streetFront, courtFront, streetFront}}
	look := pick(rng, stuccoHouse, brickTownhouse)(rng, storeyLimits{1, 2})
	look.form, look.ground, look.groundHeight, look.balconies = pitchedRoof, flats, 3.3, 0
	t.addHouse(&house{plot: plot, look: look, seed: t.seed, index: 3000000 + index})
	for _, side := range []float64{-1, 1} {
		x := side * (w/2 + between(rng, 4, 8))
		t.addTree(at(x, front+between(rng, 0, 8)), treeWish{species: pick(rng, plane, lime, spruce, poplar, maple), size: between(rng, 0.9, 1.3), ground: -0.05, rng: rng})
		a, b := at(side*(w/2+9), 1.2), at(side*1.8, 1.2)
		if side > 0 {
			a, b = b, a
		}
		t.addHedgeAt(a, b, -0.05)
	}
}
