package city

import (
	"math"
	"math/rand/v2"
)

// roof builds what lies on a house's walls, from height z above the map's zero.
type roof struct {
	s     *shape
	h     *house
	rng   *rand.Rand
	level int
	z     float64
}

func (r *roof) build() {
	outline := r.h.plot.outline
	switch {
	case r.h.look.form == mansardRoof:
		r.mansard(outline)
	case r.h.look.form == pitchedRoof && len(outline) == 4:
		r.gable(outline)
	case r.h.look.form == pitchedRoof:
		r.hipped(outline)
	default:
		r.flat(outline)
	}
}

// flat builds a deck behind a parapet, and what stands on it.
func (r *roof) flat(outline []vec2) {
	l := &r.h.look
	const thick, below = 0.3, 0.5
	top := r.z + l.parapet
	inner := insetPolygon(outline, thick)
	n := len(outline)
	for i := range outline {
		j := (i + 1) % n
		r.s.face(l.trim, at3(outline[i], top), at3(outline[j], top), at3(inner[j], top), at3(inner[i], top))
		r.s.face(l.wall, at3(inner[j], r.z-below), at3(inner[i], r.z-below), at3(inner[i], top), at3(inner[j], top))
	}
	r.s.plate(pick(r.rng, roofGravel, roofTar), inner, r.z-below)
	r.deck(inner, r.z-below)
}

// deck puts a stair head, ventilation and tanks on a flat roof.
func (r *roof) deck(outline []vec2, z float64) {
	core := insetPolygon(outline, 2)
	at := func() vec2 { // a place well inside the convex outline
		p := lerp2(core[0], core[len(core)/2], between(r.rng, 0.2, 0.8))
		return lerp2(p, core[1], between(r.rng, 0, 0.35))
	}
	yaw := math.Atan2(outline[1][1]-outline[0][1], outline[1][0]-outline[0][0])
	place := func(p vec2) func() { return r.s.in(level(at3(p, z), yaw)) }
	restore := place(at())
	r.s.box(r.h.look.wall, vec{-1.6, -1.3, 0}, vec{1.6, 1.3, 2.5}, standsOn&^top)
	r.s.box(r.h.look.trim, vec{-1.75, -1.45, 2.5}, vec{1.75, 1.45, 2.65}, allSides)
	restore()
	for range [4]int{1, 2, 4, 6}[r.level] {
		restore := place(at())
		r.unit()
		restore()
	}
	if r.h.index%5 == 2 && r.level > 0 {
		restore := place(at())
		r.waterTank()
		restore()
	}
}

// unit builds one air conditioner, duct or antenna.
func (r *roof) unit() {
	switch v := r.rng.IntN(4); {
	case v == 0 && r.level > 0:
		r.s.pole(steel, 4, vec{}, vec{0, 0, 3.5}, [2]float64{0.04, 0.03})
		for k := range 3 {
			y := 0.7 - 0.15*float64(k)
			r.s.pole(steel, 3, vec{0, -y, 2.4 + 0.4*float64(k)}, vec{0, y, 2.4 + 0.4*float64(k)}, [2]float64{0.015, 0.015})
		}
	case v == 1:
		r.s.box(aluminium, vec{-0.4, -1.6, 0.2}, vec{0.4, 1.6, 0.8}, allSides)
	default:
		r.s.box(steel, vec{-0.8, -0.6, 0.15}, vec{0.8, 0.6, 1.15}, allSides)
		if r.level >= 2 {
			defer r.s.in(r.s.frame.moved(0, 0, 1.15))()
			r.s.turned(plasticBlack, 10, ring{0, 0.45}, ring{0.1, 0.45}, ring{0.1, 0})
		}
	}
}

// waterTank builds a wooden tank on four legs.
func (r *roof) waterTank() {
	for _, p := range [4]vec2{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}} {
		r.s.pole(ironDark, 4, at3(p, 0), at3(p, 1.6), [2]float64{0.09, 0.09})
	}
	defer r.s.in(r.s.frame.moved(0, 0, 1.6))()
	r.s.turned(woodDark, 12, ring{0, 0}, ring{0, 1.6}, ring{2.6, 1.5}, ring{2.6, 1.65}, ring{3.5, 0})
}

// mansard builds a steep lower slope with dormers and a flat top.
func (r *roof) mansard(outline []vec2) {
	const rise, back = 2.7, 1.3
	l := &r.h.look
	eaves := insetPolygon(outline, -0.12)
	upper := insetPolygon(outline, back)
	n := len(outline)
	for i := range outline {
		j := (i + 1) % n
		if r.h.plot.fronts[i] == partyWall {
			r.fireWall(outline[i], outline[j], upper[i], upper[j], rise)
			continue
		}
		r.slope(l.roof, at3(eaves[i], r.z-0.02), at3(eaves[j], r.z-0.02), at3(upper[j], r.z+rise), at3(upper[i], r.z+rise))
		if r.level > 0 && r.h.plot.fronts[i] == streetFront {
			r.dormers(outline[i], outline[j], back/rise)
		}
	}
	r.s.plate(zinc, upper, r.z+rise)
	r.chimneys(upper, r.z+rise, 1.6)
}

// fireWall closes a mansard towards the neighbour.
func (r *roof) fireWall(a, b, ua, ub vec2, rise float64) {
	r.s.face(r.h.look.wall, at3(a, r.z), at3(b, r.z), at3(ub, r.z+rise), at3(ua, r.z+rise))
}

// slope adds a roof plane, textured along its lower edge and up the slope.
func (r *roof) slope(m material, a, b, c, d vec) {
	f := slopeFrame(a, b, d)
	inverse := func(p vec) vec {
		q := p.Sub(a)
		return vec{q.Dot(f.x), q.Dot(f.y), q.Dot(f.z)}
	}
	defer r.s.in(f)()
	r.s.face(m, inverse(a), inverse(b), inverse(c), inverse(d))
}

// slopeFrame is the frame at a with x to b and y up the slope towards d.
func slopeFrame(a, b, d vec) frame {
	x := b.Sub(a).Normalize()
	up := d.Sub(a)
	y := up.Sub(x.Mul(up.Dot(x))).Normalize()
	return frame{origin: a, x: x, y: y, z: x.Cross(y)}
}

// dormers adds windows that stand out of a mansard's slope; back is how far
// the slope recedes a metre of height.
func (r *roof) dormers(a, b vec2, back float64) {
	width := b.Sub(a).Len()
	n := int((width - 2) / (2 * r.h.look.openings.bay * 0.75))
	if n < 1 {
		return
	}
	defer r.s.in(along(a, b, r.z))()
	for i := range n {
		x := width * (float64(i) + 0.5) / float64(n)
		r.dormer(x, back)
	}
}

func (r *roof) dormer(x, back float64) {
	const half, sill, head = 0.6, 0.45, 2.05
	l := &r.h.look
	face := sill * back // where the front stands
	deep := head*back + 0.05
	u, v := float64(r.rng.IntN(paneCells))/paneCells, float64(r.rng.IntN(paneCells))/paneCells
	y := face - 0.02
	r.s.faceUV(paneClassic, [4]vec{{x - half, y, sill}, {x + half, y, sill}, {x + half, y, head}, {x - half, y, head}},
		cellUVs(u, v, u+1.0/paneCells, v+1.0/paneCells))
	r.s.face(l.trim, vec{x - half, deep, head}, vec{x - half, y, sill}, vec{x - half, y, head})
	r.s.face(l.trim, vec{x + half, y, sill}, vec{x + half, deep, head}, vec{x + half, y, head})
	// A small gable over the window.
	ridge := head + 0.5
	rd := ridge*back + 0.05
	e := 0.14
	r.s.face(l.trim, vec{x - half, y, head}, vec{x + half, y, head}, vec{x, y, ridge - 0.08})
	r.s.face(zinc, vec{x - half - e, y - e, head - 0.08}, vec{x, y - e, ridge}, vec{x, rd, ridge}, vec{x - half - e, deep, head - 0.08})
	r.s.face(zinc, vec{x, y - e, ridge}, vec{x + half + e, y - e, head - 0.08}, vec{x + half + e, deep, head - 0.08}, vec{x, rd, ridge})
	if r.level >= 2 {
		r.s.box(l.trim, vec{x - half - 0.08, y - 0.1, sill - 0.1}, vec{x + half + 0.08, y, sill}, allSides&^bottom)
	}
}

// gable builds two slopes with the ridge along the street.
func (r *roof) gable(p []vec2) {
	l := &r.h.look
	f := along(p[0], p[1], r.z)
	w, d := p[1].Sub(p[0]).Len(), p[2].Sub(p[1]).Len()
	defer r.s.in(f)()
	rise := d * 0.36
	const eaves = 0.4
	drop := eaves * rise / (d / 2)
	ridge0, ridge1 := vec{-0.05, d / 2, rise}, vec{w + 0.05, d / 2, rise}
	r.slopeHere(l.roof, vec{-0.05, -eaves, -drop}, vec{w + 0.05, -eaves, -drop}, ridge1, ridge0)
	r.slopeHere(l.roof, vec{w + 0.05, d + eaves, -drop}, vec{-0.05, d + eaves, -drop}, ridge0, ridge1)
	// Undersides of the eaves, and the gable walls.
	r.s.face(l.trim, vec{0, -eaves, -drop}, vec{0, 0, 0}, vec{w, 0, 0}, vec{w, -eaves, -drop})
	r.s.face(l.wall, vec{w, 0, 0}, vec{w, d, 0}, vec{w, d / 2, rise - 0.04})
	r.s.face(l.wall, vec{0, d, 0}, vec{0, 0, 0}, vec{0, d / 2, rise - 0.04})
	if r.level > 0 {
		r.gutter(w, -eaves, -drop)
		r.skylights(w, d, rise)
	}
	r.chimneyHere(vec{between(r.rng, 0.15, 0.3) * w, d/2 + 0.3, rise - 0.7}, 1.9)
	if r.level > 1 || w > 11 {
		r.chimneyHere(vec{between(r.rng, 0.7, 0.85) * w, d/2 - 0.3, rise - 0.7}, 1.9)
	}
}

// slopeHere is slope in the coordinates of the current frame.
func (r *roof) slopeHere(m material, a, b, c, d vec) {
	f := r.s.frame
	restore := r.s.in(worldFrame())
	r.slope(m, f.point(a), f.point(b), f.point(c), f.point(d))
	restore()
}

func (r *roof) gutter(w, y, z float64) {
	r.s.box(zinc, vec{0, y - 0.12, z - 0.08}, vec{w, y, z + 0.04}, allSides)
}

// skylights adds flat windows to a gable's street slope.
func (r *roof) skylights(w, d, rise float64) {
	n := r.rng.IntN(3)
	slopeAngle := math.Atan2(rise, d/2)
	for i := range n {
		x := w * (float64(i) + 0.5) / float64(n)
		y := d / 4
		restore := r.s.in(r.s.frame.moved(x, y, y*rise/(d/2)).rolled(slopeAngle))
		r.s.box(trimDark, vec{-0.45, -0.6, 0}, vec{0.45, 0.6, 0.08}, standsOn&^top)
		r.s.floorQuad(glassPlain, 0.08, rect{-0.45, -0.6, 0.45, 0.6})
		restore()
	}
}

// hipped builds slopes on all sides up to a small deck.
func (r *roof) hipped(outline []vec2) {
	const back, rise = 4.2, 3.4
	l := &r.h.look
	eaves := insetPolygon(outline, -0.35)
	upper := insetPolygon(outline, back)
	for i := range outline {
		j := (i + 1) % len(outline)
		r.slope(l.roof, at3(eaves[i], r.z-0.25), at3(eaves[j], r.z-0.25), at3(upper[j], r.z+rise), at3(upper[i], r.z+rise))
		r.s.face(l.trim, at3(eaves[j], r.z-0.25), at3(eaves[i], r.z-0.25), at3(outline[i], r.z-0.1), at3(outline[j], r.z-0.1))
	}
	r.s.plate(zinc, upper, r.z+rise)
	r.chimneys(upper, r.z+rise, 1.2)
}

// chimneys puts one or two stacks on a roof's deck.
func (r *roof) chimneys(outline []vec2, z, height float64) {
	for i := range 1 + r.rng.IntN(2) {
		p := lerp2(outline[i], outline[(i+2)%len(outline)], between(r.rng, 0.1, 0.25))
		restore := r.s.in(level(at3(p, z-0.2), 0))
		r.chimneyHere(vec{}, height)
		restore()
	}
}

func (r *roof) chimneyHere(p vec, height float64) {
	defer r.s.in(r.s.frame.moved(p[0], p[1], p[2]))()
	r.s.box(pick(r.rng, brickRed, brickBrown), vec{-0.45, -0.35, 0}, vec{0.45, 0.35, height}, standsOn)
	r.s.box(trimStone, vec{-0.52, -0.42, height - 0.2}, vec{0.52, 0.42, height - 0.08}, allSides)
	if r.level == 0 {
		return
	}
	for _, x := range []float64{-0.22, 0.22} {
		r.s.box(tilesRed, vec{x - 0.1, -0.1, height}, vec{x + 0.1, 0.1, height + 0.35}, standsOn)
	}
}
