package city

import (
	"github.com/raybridge/raybridge/scene"
)

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
// a to crossing b. What lies across (stop lines, crosswalks) is no lane mark.
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
