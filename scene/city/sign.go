package city

import (
	"math"

	"github.com/raybridge/raybridge/scene"
)

// plateForm is the outline of a road sign.
type plateForm int

const (
	round plateForm = iota
	square
	octagon
	pointDown
	pointUp
	diamond
)

// roadSign is one kind of traffic sign.
type roadSign struct {
	typeID string
	face   face
	form   plateForm
}

var (
	stopSign       = roadSign{"traffic.stop", faceStop, octagon}
	yieldSign      = roadSign{"traffic.yield", faceYield, pointDown}
	limit30Sign    = roadSign{"traffic.speed_limit.30", faceSpeed30, round}
	limit50Sign    = roadSign{"traffic.speed_limit.50", faceSpeed50, round}
	noParkingSign  = roadSign{"traffic.no_parking", faceNoParking, round}
	noStoppingSign = roadSign{"traffic.no_stopping", faceCrossed, round}
	parkingSign    = roadSign{"traffic.parking", faceParking, square}
	crossingSign   = roadSign{"traffic.pedestrian_crossing", faceCrossing, square}
	prioritySign   = roadSign{"traffic.priority", facePriority, diamond}
	schoolSign     = roadSign{"traffic.warning", faceSchool, pointUp}
	busStopSign    = roadSign{"traffic.bus_stop", faceBus, round}
)

// outline returns the sign's corners counter-clockwise, 1 the half size.
func (f plateForm) outline() []vec2 {
	regular := func(n int, turn float64) []vec2 {
		pts := make([]vec2, n)
		for i := range pts {
			s, c := math.Sincos(turn + 2*math.Pi*float64(i)/float64(n))
			pts[i] = vec2{c, s}
		}
		return pts
	}
	switch f {
	case square:
		return []vec2{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}}
	case octagon:
		return regular(8, math.Pi/8)
	case pointDown:
		return []vec2{{0, -1}, {1, 0.8}, {-1, 0.8}}
	case pointUp:
		return []vec2{{-1, -0.8}, {1, -0.8}, {0, 1}}
	case diamond:
		return regular(4, 0)
	}
	return regular(12, 0)
}

// plateFace adds a sign's plate, facing +x, around height z.
func (r roadSign) plateFace(s *shape, z, half float64) {
	outline := r.form.outline()
	front, rear := make([]vec, len(outline)), make([]vec, len(outline))
	for i, p := range outline {
		front[i] = vec{0.05, p[0] * half, z + p[1]*half}
		rear[len(outline)-1-i] = vec{0.035, p[0] * half, z + p[1]*half}
	}
	n := len(s.verts)
	s.face(signFace, front...)
	uv := faceUVs(r.face, vec2{}, vec2{1, 1})
	for i := n; i < len(s.verts); i++ {
		p := outline[i-n]
		s.verts[i].uv = vec2{uv[0][0] + (uv[1][0]-uv[0][0])*(p[0]+1)/2, uv[0][1] + (uv[2][1]-uv[0][1])*(p[1]+1)/2}
	}
	s.face(signBack, rear...)
}

// signPost is a pole with one or more signs, the first on top, facing +x.
func signPost(level int, signs ...roadSign) *model {
	pole, plates := newShape(), newShape()
	height := 2.55 + 0.72*float64(len(signs)-1)
	pole.post(steel, sidesOf(level), height+0.4, 0.035)
	for i, r := range signs {
		r.plateFace(plates, height-0.72*float64(i), 0.33)
	}
	return &model{parts: []modelPart{{name: "pole", shape: pole, tag: scene.TagPole}, {name: "signs", shape: plates, tag: scene.TagTrafficSign}}}
}

// streetNames is a pole with the names of the two streets that cross.
func streetNames(index, level int) *model {
	pole, plates := newShape(), newShape()
	pole.post(ironGreen, sidesOf(level), 3.1, 0.04)
	for k := range 2 {
		restore := plates.in(level0(vec{0, 0, 2.72 + 0.22*float64(k)}).turned(float64(k) * math.Pi / 2))
		row := float64((index+k)%4) / 4
		uv := faceUVs(faceStreetA+face(k), vec2{0, row}, vec2{1, row + 0.25})
		plates.faceUV(signFace, [4]vec{{0.02, 0.05, 0}, {0.02, 0.85, 0}, {0.02, 0.85, 0.2}, {0.02, 0.05, 0.2}}, uv)
		plates.faceUV(signFace, [4]vec{{0, 0.85, 0}, {0, 0.05, 0}, {0, 0.05, 0.2}, {0, 0.85, 0.2}}, uv)
		restore()
	}
	return &model{parts: []modelPart{{name: "pole", shape: pole, tag: scene.TagPole}, {name: "names", shape: plates, tag: scene.TagTrafficSign}}}
}

// aspect is what a traffic light shows.
type aspect int

const (
	showRed aspect = iota
	showAmber
	showGreen
)

// trafficLight stands at the kerb and faces +x, with a second head on an arm
// over the lane, which lies towards -y, and one for walkers on the pole.
func trafficLight(show aspect, level int) *model {
	pole, heads := newShape(), newShape()
	n := sidesOf(level)
	pole.turned(ironDark, n, ring{0, 0.16}, ring{0.3, 0.14}, ring{0.35, 0.09}, ring{5.6, 0.07}, ring{5.6, 0})
	pole.pole(ironDark, n, vec{0, 0, 5.35}, vec{0, -4.3, 5.65}, [2]float64{0.06, 0.045})
	for _, at := range signalHeads {
		signalHead(heads, at, show, n)
	}
	// The walkers' light looks across the street.
	restore := heads.in(level0(vec{0, 0.12, 2.35}).turned(math.Pi / 2))
	heads.boxAt(plasticBlack, around(0.06, 0, 0.09, 0.12), 0, 0.5)
	lens := [2]material{lightRed, lensOff}
	if show == showRed {
		lens = [2]material{lensOff, lightGreen}
	}
	for i, m := range lens {
		heads.lens(m, vec{0.16, 0, 0.37 - 0.24*float64(i)}, 0.085, n)
	}
	restore()
	return &model{parts: []modelPart{{name: "pole", shape: pole, tag: scene.TagPole}, {name: "heads", shape: heads, tag: scene.TagTrafficLight}}}
}

// signalHead adds three lamps in a housing with hoods, facing +x.
func signalHead(s *shape, at vec, show aspect, n int) {
	defer s.in(s.frame.moved(at[0], at[1], at[2]))()
	s.box(paintYellow, vec{-0.02, -0.24, -0.06}, vec{0, 0.24, 1.12}, allSides)
	s.box(plasticBlack, housingMin, housingMax, allSides&^left)
	for i, on := range [3]material{lightGreen, lightAmber, lightRed} {
		z := 0.19 + 0.34*float64(i)
		m := lensOff
		if int(show) == 2-i {
			m = on
		}
		s.lens(m, vec{0.165, 0, z}, 0.125, n)
		s.face(plasticBlack, vec{0.16, -0.14, z + 0.06}, vec{0.36, -0.12, z + 0.08}, vec{0.36, 0, z + 0.15}, vec{0.16, 0, z + 0.15})
		s.face(plasticBlack, vec{0.16, 0, z + 0.15}, vec{0.36, 0, z + 0.15}, vec{0.36, 0.12, z + 0.08}, vec{0.16, 0.14, z + 0.06})
	}
}

// lens adds a disc that faces +x.
func (s *shape) lens(m material, at vec, radius float64, n int) {
	f := frame{origin: at, x: vec{0, 1, 0}, y: vec{0, 0, 1}, z: vec{1, 0, 0}}
	defer s.in(s.frameAt(f))()
	s.disc(m, n, 0, radius)
}
