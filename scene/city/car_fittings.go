package city

import "math"

// wheelPair adds the two wheels of an axle: at[0] is its x, at[1] half the
// distance between the wheels' outer sides.
func (s *shape) wheelPair(at vec2, radius float64, d carDetail) {
	for _, side := range []float64{-1, 1} {
		// The wheel is turned about its frame's z axis, which points outwards.
		f := frame{origin: vec{at[0], side * at[1], radius}, x: vec{1, 0, 0}, y: vec{0, 0, -side}, z: vec{0, side, 0}}
		restore := s.in(s.frameAt(f))
		s.wheel(radius, d)
		restore()
	}
}

// frameAt returns the frame f, given in the current frame, in the shape's.
func (s *shape) frameAt(f frame) frame {
	g := s.frame
	return frame{origin: g.point(f.origin), x: g.direction(f.x), y: g.direction(f.y), z: g.direction(f.z)}
}

// wheel adds one wheel about z, its outer side at z = 0.
func (s *shape) wheel(radius float64, d carDetail) {
	const wide = 0.21
	rimRadius := 0.66 * radius
	if d.wheel < 20 {
		s.turned(tyre, d.wheel, ring{-wide, radius}, ring{0, radius}, ring{0, rimRadius})
		s.discFace(rim, d.wheel, rimRadius, faceHubcap)
		return
	}
	s.turned(tyre, d.wheel, ring{-wide, 0}, ring{-wide, 0.93 * radius}, ring{-wide + 0.03, radius}, ring{-0.03, radius}, ring{0, 0.93 * radius},
		ring{0, rimRadius}, ring{-0.03, rimRadius - 0.01})
	defer s.in(s.frame.moved(0, 0, -0.03))()
	s.discFace(rim, d.wheel, rimRadius, faceHubcap)
}

// plateAt adds a number plate in the plane x = x0, looking along facing (1 or -1).
func (s *shape) plateAt(x0, z, facing float64, number int) {
	const half, high = 0.26, 0.11
	row := float64(number%4) / 4
	uv := faceUVs(facePlateA+face(number/4%2), vec2{0, row}, vec2{1, row + 0.25})
	s.faceUV(licensePlate, [4]vec{{x0, -facing * half, z}, {x0, facing * half, z}, {x0, facing * half, z + high}, {x0, -facing * half, z + high}}, uv)
}

// fittings adds lamps, plates, mirrors, bumpers and handles.
func (c *carForm) fittings(s *shape, paint material, d carDetail) {
	half := c.length / 2
	number := int(paint)*3 + int(c.length*10)
	nose := c.deckAt(half)
	end := c.halfWidth(half)
	s.plateAt(half+0.012, clearance+0.2, 1, number)
	s.plateAt(-half-0.012, clearance+0.36, -1, number)
	s.endPanel(carTrim, half+0.005, rect{-end + 0.12, clearance + 0.16, end - 0.12, clearance + 0.34}, 1)
	s.endPanel(carTrim, half+0.005, rect{-0.42, nose - 0.2, 0.42, nose - 0.1}, 1)
	s.endPanel(carTrim, -half-0.005, rect{-end + 0.12, clearance + 0.14, end - 0.12, clearance + 0.28}, -1)
	for _, side := range []float64{-1, 1} {
		lamp := func(a, b float64) (float64, float64) { return min(side*a, side*b), max(side*a, side*b) }
		y0, y1 := lamp(end-0.3, end-0.05)
		s.endPanel(headLamp, half+0.008, rect{y0, nose - 0.2, y1, nose - 0.06}, 1)
		y0, y1 = lamp(end-0.24, end-0.06)
		tail := c.deckAt(-half)
		s.endPanel(tailLamp, -half-0.008, rect{y0, tail - 0.24, y1, tail - 0.07}, -1)
		if d.fitting {
			s.endPanel(indicatorLamp, -half-0.008, rect{y0, tail - 0.29, y1, tail - 0.245}, -1)
			c.sideFittings(s, paint, side)
		}
	}
}

// endPanel adds a rectangle (y and z) in the plane x, looking along facing.
func (s *shape) endPanel(m material, x float64, r rect, facing float64) {
	if facing > 0 {
		s.face(m, vec{x, r.x0, r.y0}, vec{x, r.x1, r.y0}, vec{x, r.x1, r.y1}, vec{x, r.x0, r.y1})
		return
	}
	s.face(m, vec{x, r.x1, r.y0}, vec{x, r.x0, r.y0}, vec{x, r.x0, r.y1}, vec{x, r.x1, r.y1})
}

// sideFittings adds a mirror, door handles, the joints of the doors and a
// sill strip to one side.
func (c *carForm) sideFittings(s *shape, paint material, side float64) {
	k := &c.cabin
	belt := c.deckAt(0)
	y := side * (c.width/2 + 0.01)
	x := k.base[1] - 0.28
	s.box(paint, vec{x, min(y-side*0.08, y+side*0.13), belt - 0.02}, vec{x + 0.1, max(y-side*0.08, y+side*0.13), belt + 0.13}, allSides)
	panel := func(m material, r rect, out float64) {
		yy := side * (c.width/2*0.992 + out)
		a, b, cc, dd := vec{r.x0, yy, r.y0}, vec{r.x1, yy, r.y0}, vec{r.x1, yy, r.y1}, vec{r.x0, yy, r.y1}
		if side < 0 {
			s.face(m, a, b, cc, dd)
		} else {
			s.face(m, dd, cc, b, a)
		}
	}
	length := k.base[1] - k.base[0]
	joints := append([]float64{0.93}, k.pillars...)
	for _, p := range joints {
		x := k.base[0] + p*length
		if math.Abs(x-c.axles[0]) > c.wheel+0.1 && math.Abs(x-c.axles[1]) > c.wheel+0.1 {
			panel(carTrim, rect{x - 0.008, 0.38, x + 0.008, belt - 0.17}, 0.006)
		}
	}
	for _, p := range k.pillars {
		x := k.base[0] + p*length
		panel(chrome, rect{x + 0.06, belt - 0.26, x + 0.24, belt - 0.225}, 0.02)
	}
	panel(carTrim, rect{c.axles[0] + c.wheel + 0.1, clearance, c.axles[1] - c.wheel - 0.1, clearance + 0.1}, 0.008)
}
