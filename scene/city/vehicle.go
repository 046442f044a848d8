package city

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/raybridge/raybridge/scene"
)

// vehicleModel names a kind of vehicle in the table of vehicles.
type vehicleModel int

const (
	sedanModel vehicleModel = iota
	hatchbackModel
	suvModel
	wagonModel
	vanModel
	lorryModel
	busModel
	taxiModel
)

// vehicle is what placing needs to know of a vehicle model.
type vehicle struct {
	typeID string
	length float64
	build  func(paint material, level int) *shape
	tag    scene.Tag
}

var vehicles = [...]vehicle{
	sedanModel:     {sedan.typeID, sedan.length, sedan.build, sedan.tag},
	hatchbackModel: {hatchback.typeID, hatchback.length, hatchback.build, hatchback.tag},
	suvModel:       {offRoader.typeID, offRoader.length, offRoader.build, offRoader.tag},
	wagonModel:     {estate.typeID, estate.length, estate.build, estate.tag},
	vanModel:       {van.typeID, van.length, van.build, van.tag},
	lorryModel:     {lorry.typeID, lorry.length, lorry.build, lorry.tag},
	busModel:       {bus.typeID, bus.length, bus.build, bus.tag},
	taxiModel:      {"vehicle.taxi", sedan.length, buildTaxi, sedan.tag},
}

// buildTaxi is a sedan with a sign on its roof.
func buildTaxi(paint material, level int) *shape {
	s := sedan.build(paint, level)
	s.boxAt(lampGlow, around(-0.35, 0, 0.11, 0.3), sedan.height, sedan.height+0.14)
	z := sedan.height + 0.01
	s.faceUV(shopSign, [4]vec{{-0.235, -0.28, z}, {-0.235, 0.28, z}, {-0.235, 0.28, z + 0.12}, {-0.235, -0.28, z + 0.12}},
		faceUVs(faceTaxi, vec2{0, 0.3}, vec2{1, 0.7}))
	return s
}

// drawVehicle chooses a vehicle for the street and its paint.
func drawVehicle(rng *rand.Rand) (vehicleModel, material) {
	m := pick(rng, sedanModel, sedanModel, sedanModel, hatchbackModel, hatchbackModel, hatchbackModel, suvModel, suvModel, wagonModel, wagonModel, vanModel, taxiModel)
	paint := firstPaint + material(rng.IntN(int(lastPaint-firstPaint)+1))
	switch m {
	case vanModel:
		paint = pick(rng, carWhite, carWhite, carSilver, carYellow, carBlue)
	case taxiModel:
		paint = carYellow
	default:
		if chance(rng, 0.45) { // most cars have no colour
			paint = pick(rng, carWhite, carBlack, carSilver, carGraphite)
		} else if paint == carYellow {
			paint = carBlue
		}
	}
	return m, paint
}

// vehicleDetails returns the levels of detail of a vehicle; the first is free
// where weights[0] is 0.
func (t *town) vehicleDetails(m vehicleModel, paint material, weights [3]float64) []detail {
	out := make([]detail, len(weights))
	for level, w := range weights {
		out[level] = detail{weight: w, make: func() *model {
			return t.library.model(modelKey{"vehicle", int(m), int(paint), level}, func() *model {
				return single("body", vehicles[m].build(paint, level), vehicles[m].tag)
			})
		}}
	}
	return out
}

// parkedWeights are the prices of a parked car's levels.
var parkedWeights = [3]float64{0.4, 1.3, 7}

func (t *town) park(m vehicleModel, paint material, p vec2, yaw float64) {
	t.add(object{typeID: vehicles[m].typeID, pose: standing(at3(p, 0), yaw), details: t.vehicleDetails(m, paint, parkedWeights)}, p)
}

// addParkedCars fills the bays along a kerb.
func (t *town) addParkedCars(k kerbside, rng *rand.Rand, stop bool) {
	const bay, start = 6.2, parkingStart - cornerReach
	n := int((k.length - 2*start) / bay)
	first := (k.length - float64(n)*bay) / 2
	for i := range n {
		s := first + (float64(i)+0.5)*bay
		if stop && math.Abs(s-stopMiddle*k.length) < 12 || !chance(rng, 0.66) {
			continue
		}
		if chance(rng, 0.05) {
			for j := range 2 {
				p := k.at(s+1.6*float64(j)-0.8, -1.1)
				paint := pick(rng, carRed, carBlack, carBlue, carGreen)
				t.put(prop{"motorcycle", "vehicle.motorcycle", int(paint), 0.45, func(level int) *model { return motorcycle(paint, level) }},
					at3(p, 0), k.roadYaw()+between(rng, 0.3, 0.6))
			}
			continue
		}
		m, paint := drawVehicle(rng)
		p := k.at(s+between(rng, -0.35, 0.35), parkingCentre-kerbLine+between(rng, -0.08, 0.08))
		if m == vanModel && p.Sub(t.start).Len() < 30 { // it would hide the first picture's street
			m = hatchbackModel
		}
		t.park(m, paint, p, k.trafficYaw()+between(rng, -0.02, 0.02))
	}
}

// addBusStop places a shelter with its sign, people who wait, and a bus.
func (t *town) addBusStop(k kerbside, rng *rand.Rand) {
	s := stopMiddle * k.length
	at := func(along, in float64) vec { return at3(k.at(s+along, in), kerbHeight) }
	t.put(shelterProp, at(0, 1.25), k.roadYaw())
	t.put(signProp(busStopSign), at(-5, furnitureIn), k.yaw())
	t.put(binProp, at(3.2, furnitureIn), k.roadYaw())
	for i := range 4 {
		t.addBystander(at(-1.6+1.1*float64(i), 0.75+0.3*float64(i%2)), k.roadYaw()+between(rng, -0.6, 0.6), rng)
	}
	if chance(rng, 0.8) {
		t.park(busModel, pick(rng, carRed, carBlue, carGreen), k.at(s-3, -1.25), k.trafficYaw())
	}
}

// addBystander places somebody who stands still.
func (t *town) addBystander(p vec, yaw float64, rng *rand.Rand) {
	variant := rng.IntN(peopleVariants)
	details := make([]detail, len(personSides))
	for level, w := range [3]float64{0.3, 1.2, 4} {
		details[level] = detail{weight: w, make: func() *model {
			return t.library.model(modelKey{"bystander", 0, variant, level}, func() *model {
				return drawOutfit(stream(t.seed, "outfit", variant)).standing(level)
			})
		}}
	}
	t.add(object{typeID: pedestrianID(variant), pose: standing(p, yaw), size: between(rng, 0.92, 1.06), details: details}, vec2{p[0], p[1]})
}

// carForm is a passenger car's shape: x forward from the middle of the car, on
// the ground, metres.
type carForm struct {
	typeID                string
	tag                   scene.Tag
	length, width, height float64
	axles                 [2]float64 // x of the rear and the front axle
	wheel                 float64    // radius
	deck                  []vec2     // x and z of the body's upper edge, rear to front
	cabin                 cabin
}

// cabin is what stands on the body: the glass and the roof.
type cabin struct {
	base, roof         [2]float64 // x of the rear and front ends at the belt and at the roof
	baseHalf, roofHalf float64    // half widths
	pillars            []float64  // where the side windows part, as fractions from the rear
}

var (
	sedan = carForm{
		typeID: "vehicle.sedan", tag: scene.TagCar, length: 4.62, width: 1.82, height: 1.44, axles: [2]float64{-1.36, 1.38}, wheel: 0.33,
		deck:  []vec2{{-2.31, 0.92}, {-2.1, 1.0}, {-1.5, 1.02}, {0.9, 0.96}, {1.7, 0.86}, {2.31, 0.68}},
		cabin: cabin{base: [2]float64{-1.75, 1.05}, roof: [2]float64{-0.95, 0.2}, baseHalf: 0.78, roofHalf: 0.58, pillars: []float64{0.22, 0.56}},
	}
	hatchback = carForm{
		typeID: "vehicle.hatchback", tag: scene.TagCar, length: 3.98, width: 1.76, height: 1.48, axles: [2]float64{-1.24, 1.26}, wheel: 0.31,
		deck:  []vec2{{-1.99, 0.84}, {-1.8, 0.98}, {0.9, 0.96}, {1.5, 0.86}, {1.99, 0.68}},
		cabin: cabin{base: [2]float64{-1.88, 1.05}, roof: [2]float64{-1.45, 0.25}, baseHalf: 0.76, roofHalf: 0.58, pillars: []float64{0.28, 0.58}},
	}
	offRoader = carForm{
		typeID: "vehicle.suv", tag: scene.TagCar, length: 4.7, width: 1.92, height: 1.74, axles: [2]float64{-1.38, 1.42}, wheel: 0.38,
		deck:  []vec2{{-2.35, 0.98}, {-2.2, 1.12}, {1.0, 1.1}, {1.8, 1.04}, {2.35, 0.86}},
		cabin: cabin{base: [2]float64{-2.24, 1.15}, roof: [2]float64{-1.95, 0.4}, baseHalf: 0.84, roofHalf: 0.68, pillars: []float64{0.3, 0.6}},
	}
	estate = carForm{
		typeID: "vehicle.wagon", tag: scene.TagCar, length: 4.7, width: 1.82, height: 1.5, axles: [2]float64{-1.38, 1.4}, wheel: 0.33,
		deck:  []vec2{{-2.35, 0.88}, {-2.15, 1.0}, {0.9, 0.97}, {1.75, 0.87}, {2.35, 0.68}},
		cabin: cabin{base: [2]float64{-2.22, 1.05}, roof: [2]float64{-1.8, 0.22}, baseHalf: 0.78, roofHalf: 0.6, pillars: []float64{0.3, 0.6}},
	}
)

// carDetail is how finely a vehicle is built.
type carDetail struct {
	arch    int // segments of a wheel arch
	wheel   int // sides of a wheel
	fitting bool
}

var carDetails = [3]carDetail{{0, 8, false}, {6, 12, true}, {12, 22, true}}

// build makes a car in one paint.
func (c *carForm) build(paint material, level int) *shape {
	d := carDetails[level]
	s := newShape()
	c.body(s, paint, d)
	c.cabinShell(s, paint)
	c.fittings(s, paint, d)
	for _, x := range c.axles {
		s.wheelPair(vec2{x, c.width/2 - 0.02}, c.wheel, d)
	}
	return s
}

// deckAt returns the height of the body's upper edge.
func (c *carForm) deckAt(x float64) float64 {
	for i := 1; i < len(c.deck); i++ {
		if a, b := c.deck[i-1], c.deck[i]; x <= b[0] {
			return a[1] + (b[1]-a[1])*max(0, (x-a[0])/(b[0]-a[0]))
		}
	}
	return c.deck[len(c.deck)-1][1]
}

// halfWidth returns half the body's width: rounded towards the ends.
func (c *carForm) halfWidth(x float64) float64 {
	k := max(0, math.Abs(x)/(c.length/2)-0.7) / 0.3
	return c.width / 2 * (1 - 0.16*k*k)
}

// clearance is the height of the sills.
const clearance = 0.24

// stations returns where the body's cross-sections stand and the height of its
// lower edge there: raised over the wheels.
func (c *carForm) stations(arch int) []vec2 {
	half := c.length / 2
	out := []vec2{{-half, clearance + 0.14}, {-half + 0.07, clearance + 0.04}, {half - 0.1, clearance + 0.04}, {half, clearance + 0.14}}
	for _, p := range c.deck[1 : len(c.deck)-1] {
		out = append(out, vec2{p[0], clearance})
	}
	r := c.wheel + 0.06
	for _, axle := range c.axles {
		for k := range arch + 1 {
			sn, co := math.Sincos(math.Pi * float64(k) / float64(max(arch, 1)))
			out = append(out, vec2{axle - r*co, max(clearance, c.wheel+r*sn-0.02)})
		}
	}
	slices.SortFunc(out, func(a, b vec2) int { return int(math.Copysign(1, a[0]-b[0])) })
	inArch := func(x float64) float64 {
		z := clearance
		for _, axle := range c.axles {
			if d := math.Abs(x - axle); d < r && arch > 0 {
				z = max(z, c.wheel+math.Sqrt(r*r-d*d)-0.02)
			}
		}
		return z
	}
	for i := range out {
		out[i][1] = max(out[i][1], inArch(out[i][0]))
	}
	return out
}

// section returns the body's outline at x, from the right sill over the deck
// to the left sill.
func (c *carForm) section(x, low float64) []vec {
	w, top := c.halfWidth(x), c.deckAt(x)
	mid := max(0.5, low+0.02)
	high := max(mid+0.02, top-0.16)
	tuck := 0.05 * min(1, (mid-low)/0.26) // less where a wheel arch cuts in
	right := []vec{{x, -w + tuck, low}, {x, -w, mid}, {x, -w * 0.985, high}, {x, -w * 0.9, top}, {x, -w * 0.45, top + 0.025}}
	out := slices.Clone(right)
	for i := len(right) - 1; i >= 0; i-- {
		out = append(out, vec{right[i][0], -right[i][1], right[i][2]})
	}
	return out
}

// body builds the painted lower body, the dark wheel houses and the floor.
func (c *carForm) body(s *shape, paint material, d carDetail) {
	stations := c.stations(d.arch)
	sections := make([][]vec, len(stations))
	for i, p := range stations {
		sections[i] = c.section(p[0], p[1])
	}
	s.loft(paint, sections, false, 40*math.Pi/180)
	last := len(sections) - 1
	s.cap(paint, sections[0], false)
	s.cap(paint, sections[last], true)
	floor := c.width/2 - 0.3
	c.underside(s)
	for i := 1; i < len(stations) && d.arch > 0; i++ {
		a, b := stations[i-1], stations[i]
		for _, side := range []float64{-1, 1} {
			ya, yb := side*(c.halfWidth(a[0])-0.05), side*(c.halfWidth(b[0])-0.05)
			outerA, outerB := vec{a[0], ya, a[1]}, vec{b[0], yb, b[1]}
			innerA, innerB := vec{a[0], side * floor, a[1]}, vec{b[0], side * floor, b[1]}
			if side < 0 {
				s.patch(carTrim, innerA, innerB, outerB, outerA)
			} else {
				s.patch(carTrim, outerA, outerB, innerB, innerA)
			}
		}
	}
}

// underside closes the body from below: level between the sills, rising to the
// bumpers.
func (c *carForm) underside(s *shape) {
	half := c.length / 2
	row := [4]vec2{{-half, clearance + 0.14}, {-half + 0.3, clearance}, {half - 0.3, clearance}, {half, clearance + 0.14}}
	for i := 1; i < len(row); i++ {
		a, b := row[i-1], row[i]
		w := c.halfWidth(half) - 0.05
		s.face(carTrim, vec{a[0], -w, a[1]}, vec{a[0], w, a[1]}, vec{b[0], w, b[1]}, vec{b[0], -w, b[1]})
	}
}

// cap closes a loft's end with strips between mirrored points; forward says
// that the end looks along +x.
func (s *shape) cap(m material, section []vec, forward bool) {
	n := len(section)
	for i := range n/2 - 1 {
		a, b, c, d := section[i], section[n-1-i], section[n-2-i], section[i+1]
		if forward {
			s.patch(m, a, b, c, d)
		} else {
			s.patch(m, d, c, b, a)
		}
	}
}

// cabinShell builds windscreen, windows, pillars and roof.
func (c *carForm) cabinShell(s *shape, paint material) {
	k := &c.cabin
	roofZ := c.height - 0.07
	corner := func(end int, side float64, up float64) vec {
		base := vec{k.base[end], side * k.baseHalf, c.deckAt(k.base[end]) - 0.02}
		roof := vec{k.roof[end], side * k.roofHalf, roofZ}
		return base.Add(roof.Sub(base).Mul(up))
	}
	s.face(carGlass, corner(1, -1, 0), corner(1, 1, 0), corner(1, 1, 1), corner(1, -1, 1))
	s.face(carGlass, corner(0, 1, 0), corner(0, -1, 0), corner(0, -1, 1), corner(0, 1, 1))
	for _, side := range []float64{-1, 1} {
		at := func(along, up float64) vec {
			p := corner(0, side, up)
			p = p.Add(corner(1, side, up).Sub(p).Mul(along))
			return p.Add(vec{0, side * 0.012, 0})
		}
		panel := func(m material, a, b vec2, out float64) {
			q := [4]vec{at(a[0], a[1]), at(b[0], a[1]), at(b[0], b[1]), at(a[0], b[1])}
			for i := range q {
				q[i][1] += side * out
			}
			if side < 0 {
				s.patch(m, q[0], q[1], q[2], q[3])
			} else {
				s.patch(m, q[3], q[2], q[1], q[0])
			}
		}
		panel(carGlass, vec2{0, 0}, vec2{1, 1}, 0)
		panel(paint, vec2{0, 0}, vec2{0.07, 1}, 0.006)
		panel(paint, vec2{0.95, 0}, vec2{1, 1}, 0.006)
		panel(paint, vec2{0, 0.9}, vec2{1, 1}, 0.006)
		for _, p := range k.pillars {
			panel(carTrim, vec2{p - 0.018, 0}, vec2{p + 0.018, 0.95}, 0.008)
		}
	}
	c.roofPanel(s, paint)
}

// roofPanel builds the rounded roof over the windows.
func (c *carForm) roofPanel(s *shape, paint material) {
	k := &c.cabin
	low := c.height - 0.07
	ring := func(in, z float64) [4]vec {
		x0, x1, y := k.roof[0]+in, k.roof[1]-in, k.roofHalf+0.02-in
		return [4]vec{{x0, -y, z}, {x1, -y, z}, {x1, y, z}, {x0, y, z}}
	}
	from := len(s.verts)
	a, b := ring(-0.03, low-0.01), ring(0.14, c.height)
	for i := range a {
		j := (i + 1) % 4
		s.patch(paint, a[i], a[j], b[j], b[i])
	}
	s.face(paint, b[:]...)
	s.smooth(from, 60*math.Pi/180)
}

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

// hoop adds a wheel or another ring of rod in a plane of constant y: size.r is
// the ring's radius, size.z the rod's.
func (s *shape) hoop(m material, c vec, size ring, n int) {
	in, out, thick := size.r-size.z, size.r+size.z, size.z
	for i := range n {
		a, b := 2*math.Pi*float64(i)/float64(n), 2*math.Pi*float64((i+1)%n)/float64(n)
		p := func(t, r, y float64) vec { return vec{c[0] + r*math.Cos(t), c[1] + y, c[2] + r*math.Sin(t)} }
		s.face(m, p(a, in, -thick), p(a, out, -thick), p(b, out, -thick), p(b, in, -thick))
		s.face(m, p(b, in, thick), p(b, out, thick), p(a, out, thick), p(a, in, thick))
		s.face(m, p(a, out, -thick), p(a, out, thick), p(b, out, thick), p(b, out, -thick))
		s.face(m, p(a, in, thick), p(a, in, -thick), p(b, in, -thick), p(b, in, thick))
	}
}

// bicycle stands upright, its front along +x.
func bicycle(paint material, level int) *model {
	s := newShape()
	n := [3]int{8, 14, 24}[level]
	rear, front := vec{-0.52, 0, 0.34}, vec{0.54, 0, 0.34}
	crank, seat, head := vec{-0.08, 0, 0.3}, vec{-0.22, 0, 0.82}, vec{0.38, 0, 0.86}
	for _, c := range []vec{rear, front} {
		s.hoop(tyre, c, ring{0.018, 0.33}, n)
		if level > 0 {
			for i := range 6 {
				sn, co := math.Sincos(math.Pi * float64(i) / 6)
				d := vec{0.31 * co, 0, 0.31 * sn}
				s.pole(steel, 3, c.Sub(d), c.Add(d), [2]float64{0.004, 0.004})
			}
		}
	}
	rods := [][2]vec{{rear, crank}, {rear, seat}, {crank, seat}, {crank, head}, {seat, head}, {front, vec{0.36, 0, 0.95}}}
	for _, r := range rods {
		s.pole(paint, max(3, sidesOf(level)-3), r[0], r[1], [2]float64{0.018, 0.018})
	}
	s.pole(steel, 4, seat, vec{-0.25, 0, 0.95}, [2]float64{0.014, 0.014})
	s.boxAt(plasticBlack, around(-0.25, 0, 0.13, 0.07), 0.95, 1.0)
	s.pole(steel, 4, vec{0.36, -0.26, 1.0}, vec{0.36, 0.26, 1.0}, [2]float64{0.014, 0.014})
	s.pole(plasticBlack, 4, vec{-0.08, -0.14, 0.2}, vec{-0.08, 0.14, 0.4}, [2]float64{0.02, 0.02})
	return single("bicycle", s, scene.TagBicycle)
}

// bikeStand is a row of steel hoops.
func bikeStand(level int) *model {
	s := newShape()
	for i := range 3 {
		y := float64(i-1) * 0.9
		for _, x := range []float64{-0.35, 0.35} {
			s.pole(steel, sidesOf(level)-1, vec{x, y, 0}, vec{x, y, 0.75}, [2]float64{0.025, 0.025})
		}
		s.pole(steel, sidesOf(level)-1, vec{-0.37, y, 0.76}, vec{0.37, y, 0.76}, [2]float64{0.025, 0.025})
	}
	return single("stand", s, scene.TagPole)
}

// motorcycle stands upright, its front along +x.
func motorcycle(paint material, level int) *model {
	s := newShape()
	n := [3]int{8, 12, 20}[level]
	for _, x := range []float64{-0.68, 0.68} {
		s.hoop(tyre, vec{x, 0, 0.31}, ring{0.06, 0.26}, n)
		s.boxAt(steel, around(x, 0, 0.05, 0.09), 0.26, 0.36)
	}
	s.boxAt(carTrim, around(0, 0, 0.28, 0.16), 0.25, 0.58)
	s.loft(paint, [][]vec{tankSection(-0.05, 0.12, 0.62, 0.8), tankSection(0.12, 0.17, 0.6, 0.92), tankSection(0.42, 0.1, 0.64, 0.86)}, true, 1)
	s.cap(paint, tankSection(-0.05, 0.12, 0.62, 0.8), false)
	s.cap(paint, tankSection(0.42, 0.1, 0.64, 0.86), true)
	s.boxAt(plasticBlack, around(-0.38, 0, 0.34, 0.13), 0.7, 0.8)
	s.pole(chrome, 5, vec{0.68, 0.07, 0.31}, vec{0.42, 0.07, 0.98}, [2]float64{0.03, 0.03})
	s.pole(chrome, 5, vec{0.68, -0.07, 0.31}, vec{0.42, -0.07, 0.98}, [2]float64{0.03, 0.03})
	s.pole(plasticBlack, 5, vec{0.38, -0.36, 1.02}, vec{0.38, 0.36, 1.02}, [2]float64{0.018, 0.018})
	s.boxAt(headLamp, around(0.54, 0, 0.06, 0.08), 0.8, 0.95)
	s.boxAt(tailLamp, around(-0.76, 0, 0.03, 0.06), 0.68, 0.74)
	s.pole(chrome, 6, vec{-0.1, -0.16, 0.3}, vec{-0.8, -0.18, 0.36}, [2]float64{0.05, 0.06})
	return single("motorcycle", s, scene.TagMotorcycle)
}

// tankSection is a hexagon across x.
func tankSection(x, half, low, high float64) []vec {
	mid := low + 0.5*(high-low)
	return []vec{{x, -half * 0.6, low}, {x, -half, mid}, {x, -half * 0.5, high}, {x, half * 0.5, high}, {x, half, mid}, {x, half * 0.6, low}}
}
