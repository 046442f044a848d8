package city

import (
	"math"

	"github.com/raybridge/raybridge/scene"
)

// boxForm is a van's, lorry's or bus's shape: a body of one width whose side
// elevation is drawn by its upper edge.
type boxForm struct {
	typeID        string
	tag           scene.Tag
	length, width float64
	axles         []float64
	wheel         float64
	profile       []vec2 // x and z of the upper edge, rear to front
	windows       []rect // on both sides: x and z
	cargo         rect   // x and z of a lorry's box; empty for others
	livery        material
}

var (
	van = boxForm{
		typeID: "vehicle.van", tag: scene.TagCar, length: 5.2, width: 1.98, axles: []float64{-1.6, 1.65}, wheel: 0.35,
		profile: []vec2{{-2.6, 2.05}, {-2.45, 2.2}, {0.9, 2.2}, {1.25, 2.1}, {2.0, 1.2}, {2.45, 1.0}, {2.6, 0.85}},
		windows: []rect{{0.45, 1.22, 1.42, 1.86}},
	}
	lorry = boxForm{
		typeID: "vehicle.truck", tag: scene.TagTruck, length: 7.2, width: 2.3, axles: []float64{-2.0, 2.3}, wheel: 0.46,
		profile: []vec2{{1.65, 2.5}, {2.9, 2.55}, {3.25, 2.3}, {3.5, 1.3}, {3.6, 1.1}},
		windows: []rect{{2.2, 1.45, 3.1, 2.2}}, cargo: rect{-3.6, 0.95, 1.55, 3.3}, livery: carWhite,
	}
	bus = boxForm{
		typeID: "vehicle.bus", tag: scene.TagBus, length: 9.6, width: 2.4, axles: []float64{-2.4, 2.6}, wheel: 0.48,
		profile: []vec2{{-4.8, 2.85}, {-4.55, 3.05}, {4.35, 3.05}, {4.65, 2.85}, {4.8, 1.2}},
		windows: []rect{{-4.3, 1.35, -2.8, 2.5}, {-2.7, 1.35, -1.2, 2.5}, {-1.1, 1.35, 0.4, 2.5}, {0.5, 1.35, 2.0, 2.5}, {2.1, 1.35, 3.1, 2.5}},
	}
)

const boxClearance = 0.32

func (b *boxForm) build(paint material, level int) *shape {
	d := carDetails[level]
	s := newShape()
	b.shell(s, paint)
	b.glass(s)
	b.ends(s, int(paint))
	if b.cargo.width() > 0 {
		b.cargoBox(s)
	}
	if d.fitting {
		b.trimmings(s, paint)
	}
	for _, x := range b.axles {
		s.wheelPair(vec2{x, b.width/2 + 0.01}, b.wheel, d)
	}
	return s
}

// shell builds the body through cross-sections at the profile's points.
func (b *boxForm) shell(s *shape, paint material) {
	sections := make([][]vec, len(b.profile))
	w := b.width / 2
	for i, p := range b.profile {
		x, top := p[0], p[1]
		low := boxClearance
		half := w
		if i == 0 || i == len(b.profile)-1 {
			half = w * 0.95
		}
		belt := min(1.15, top-0.15)
		lean := 0.02 * max(0, top-1.2)
		sections[i] = []vec{
			{x, -half + 0.03, low}, {x, -half, 0.6}, {x, -half, belt}, {x, -half + lean + 0.02, top - 0.14}, {x, -half + lean + 0.16, top},
			{x, half - lean - 0.16, top}, {x, half - lean - 0.02, top - 0.14}, {x, half, belt}, {x, half, 0.6}, {x, half - 0.03, low},
		}
	}
	s.loft(paint, sections, false, 38*math.Pi/180)
	s.cap(paint, sections[0], false)
	s.cap(paint, sections[len(sections)-1], true)
	s.face(carTrim, vec{b.profile[0][0], -w + 0.1, boxClearance}, vec{b.profile[0][0], w - 0.1, boxClearance},
		vec{b.length / 2, w - 0.1, boxClearance}, vec{b.length / 2, -w + 0.1, boxClearance})
}

// glass adds the windscreen on the profile's steepest forward piece, the side
// windows and, on a bus, the rear window.
func (b *boxForm) glass(s *shape) {
	w := b.width/2 - 0.14
	a, c := b.screen()
	p, q := lerp2(a, c, 0.06), lerp2(a, c, 0.9)
	n := vec2{a[1] - c[1], c[0] - a[0]}.Normalize().Mul(0.03) // clear of the body
	s.face(carGlass, vec{q[0] + n[0], -w, q[1] + n[1]}, vec{q[0] + n[0], w, q[1] + n[1]},
		vec{p[0] + n[0], w - 0.04, p[1] + n[1]}, vec{p[0] + n[0], -w + 0.04, p[1] + n[1]})
	for _, r := range b.windows {
		for _, side := range []float64{-1, 1} {
			b.sidePanel(s, carGlass, r, side)
		}
	}
	if b.tag == scene.TagBus {
		x := b.profile[0][0] - 0.01
		s.endPanel(carGlass, x, rect{-w + 0.1, 1.5, w - 0.1, 2.5}, -1)
	}
}

// screen returns the upper and lower ends of the windscreen in the profile.
func (b *boxForm) screen() (upper, lower vec2) {
	best := 0.0
	for i := 1; i < len(b.profile); i++ {
		if fall := b.profile[i-1][1] - b.profile[i][1]; fall > best {
			best, upper, lower = fall, b.profile[i-1], b.profile[i]
		}
	}
	return upper, lower
}

// sidePanel adds a rectangle (x and z) just off one side.
func (b *boxForm) sidePanel(s *shape, m material, r rect, side float64) {
	y := func(z float64) float64 { return side * (b.width/2 + 0.012 - 0.02*max(0, z-1.2)) }
	q := [4]vec{{r.x0, y(r.y0), r.y0}, {r.x1, y(r.y0), r.y0}, {r.x1, y(r.y1), r.y1}, {r.x0, y(r.y1), r.y1}}
	if side < 0 {
		s.patch(m, q[0], q[1], q[2], q[3])
	} else {
		s.patch(m, q[3], q[2], q[1], q[0])
	}
}

// ends adds lamps, plates and bumpers.
func (b *boxForm) ends(s *shape, number int) {
	front, rear := b.length/2+0.012, b.profile[0][0]-0.012
	if b.cargo.width() > 0 {
		rear = b.cargo.x0 - 0.012
	}
	w := b.width/2*0.95 - 0.05
	s.plateAt(front+0.01, 0.42, 1, number)
	s.plateAt(rear-0.02, 1.0, -1, number)
	s.endPanel(carTrim, front, rect{-w, boxClearance, w, 0.62}, 1)
	s.endPanel(carTrim, rear-0.008, rect{-w, boxClearance + 0.05, w, 0.6}, -1)
	for _, side := range []float64{-1, 1} {
		y0, y1 := min(side*(w-0.3), side*w), max(side*(w-0.3), side*w)
		s.endPanel(headLamp, front, rect{y0, 0.66, y1, 0.84}, 1)
		y0, y1 = min(side*(w-0.14), side*w), max(side*(w-0.14), side*w)
		s.endPanel(tailLamp, rear-0.01, rect{y0, 0.95, y1, 1.3}, -1)
	}
}

// cargoBox adds a lorry's box and its frame.
func (b *boxForm) cargoBox(s *shape) {
	w := b.width/2 + 0.05
	r := b.cargo
	s.box(b.livery, vec{r.x0, -w, r.y0}, vec{r.x1, w, r.y1}, allSides)
	s.box(carTrim, vec{r.x0, -w + 0.2, 0.5}, vec{b.profile[0][0] + 0.2, w - 0.2, r.y0}, allSides)
	s.box(canvasBlue, vec{r.x0 + 0.4, -w - 0.01, 1.5}, vec{r.x1 - 0.4, w + 0.01, 2.1}, front|back)
}

// trimmings adds mirrors, door joints, a stripe and a bus's doors and sign.
func (b *boxForm) trimmings(s *shape, paint material) {
	upper, lower := b.screen()
	x, w := upper[0]*0.5+lower[0]*0.5, b.width/2
	for _, side := range []float64{-1, 1} {
		y0, y1 := min(side*w, side*(w+0.1)), max(side*w, side*(w+0.1))
		s.box(carTrim, vec{x - 0.1, y0, 1.35}, vec{x, y1, 1.75}, allSides)
		b.sidePanel(s, carTrim, rect{b.profile[0][0] + 0.2, 0.45, b.length/2 - 0.5, 0.55}, side)
		for _, r := range b.windows[len(b.windows)-1:] {
			b.sidePanel(s, carTrim, rect{r.x0 - 0.06, 0.6, r.x0 - 0.045, r.y1}, side)
		}
	}
	if b.tag != scene.TagBus {
		return
	}
	for _, d := range []rect{{3.2, 0.45, 4.3, 2.6}, {-0.6, 0.45, 0.65, 1.3}} {
		b.sidePanel(s, carGlass, d, -1) // doors towards the kerb
	}
	s.endPanel(plasticBlack, b.length/2-0.1, rect{-0.9, 2.58, 0.9, 2.84}, 1)
	for _, side := range []float64{-1, 1} {
		b.sidePanel(s, carWhite, rect{-4.5, 0.95, 3.1, 1.12}, side)
	}
	s.box(paint, vec{-3.2, -0.8, 3.05}, vec{-0.9, 0.8, 3.28}, standsOn)
}
