package city

import (
	"math"

	"github.com/raybridge/raybridge/scene"
)

// Heights of what lies on the roadway, in metres: each is clear of the one
// below by more than a depth buffer mistakes at a hundred metres.
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

// stretchMarkings draws what is painted on a stretch of road of the given
// length that lies along x: centre dashes, the parking bays' edges, the two
// crosswalks and the stop lines.
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

// turnArrow paints an arrow in the middle of a lane at p: straight on along dir
// (1 or -1 for +x or -x), then to the right.
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
	s.prism(kerbStone, outer, [2]float64{0, kerbHeight}, false)
	for i := range outer {
		j := (i + 1) % len(outer)
		s.face(kerbStone, at3(outer[i], kerbHeight), at3(outer[j], kerbHeight), at3(inner[j], kerbHeight), at3(inner[i], kerbHeight))
	}
	s.plate(skin, inner, kerbHeight)
	t.add(object{typeID: "static.sidewalk", pose: standing(vec{}, 0),
		details: always(single("pavement", s, scene.TagSidewalks))}, b.kerbs.centre())
}

func at3(p vec2, z float64) vec { return vec{p[0], p[1], z} }
