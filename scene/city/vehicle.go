package city

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-gl/mathgl/mgl64"

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

var vehicles = [...]*vehicleForm{
	sedanModel: &sedan, hatchbackModel: &hatchback, suvModel: &offRoader, wagonModel: &estate,
	vanModel: &van, lorryModel: &lorry, busModel: &bus, taxiModel: &taxi,
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
	return levels(weights[:], func(level int) *model {
		return t.library.model(modelKey{"vehicle", int(m), int(paint), level}, func() *model {
			look := single("body", vehicles[m].build(paint, level), vehicles[m].tag)
			look.apart = func() *model { return vehicles[m].apart(paint, level) }
			return look
		})
	})
}

// parkedWeights are the prices of a parked car's levels.
var parkedWeights = [3]float64{0.4, 1.7, 8}

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
	details := levels([]float64{0.3, 1.6, 5}, func(level int) *model {
		return t.library.model(modelKey{"bystander", 0, variant, level}, func() *model {
			return drawOutfit(stream(t.seed, "outfit", variant)).standing(level)
		})
	})
	t.add(object{typeID: pedestrianID(variant), pose: standing(p, yaw), size: between(rng, 0.92, 1.06), details: details}, vec2{p[0], p[1]})
}

// vehicleForm is a vehicle's shape: x forward from its middle, on the ground, metres. Letters in
// its tables stand for materials: see skins.
type vehicleForm struct {
	typeID        string
	tag           scene.Tag
	length, width float64
	clearance     float64    // height of the sills
	axles         []float64  // x
	wheel         float64    // radius
	deck          []vec2     // x and z of the body's upper edge, rear to front
	section       [5]vec2    // of the body, sill to roof: shares of its height and of half its width
	taper         float64    // how much the ends are rounded in plan, 0..1
	bulge         float64    // how far the middles of the ends stand out
	tail, nose    [4]string  // what the ends show: rows from the sill up, pieces across as in endColumns
	panels        []panel    // what the sides show where they aren't painted
	cabin         *cabin     // nil where the body reaches the roof
	plates        [2]float64 // heights of the number plates, rear and front
	attachments   []attachment
	decals        []decal
}

// panel is a piece of a body's skin: a row of its section between two x.
type panel struct {
	skin     byte
	row      int
	from, to float64
}

// cabin is what stands on a car's body: the windows and the roof.
type cabin struct {
	belt, roof [2]float64 // x of the rear and front ends at the belt and at the roof
	half       [2]float64 // half widths there
	height     float64    // of the roof
	ribs       []rib
}

// rib is what a cabin's sides show up to a share of their length, from the rear.
type rib struct {
	to   float64
	skin byte
}

// attachment is a box on a vehicle. One that begins at y > 0 is on both sides.
type attachment struct {
	skin   byte
	lo, hi vec
}

// decal is a rectangle on a vehicle's skin: x and z on a side, y and z at an end.
type decal struct {
	skin  byte
	place place
	r     rect
}

type place int

const (
	onSides place = iota
	onKerbSide
	onTail // one that begins at y > 0 is there twice
	onNose
)

// skins are the materials of the letters; all other letters are the paint.
var skins = map[byte]material{
	'g': carGlass, 't': carTrim, 'c': chrome, 'w': carLettering, 'b': canvasBlue, 'k': plasticBlack,
	'h': headLamp, 'r': tailLamp, 'i': indicatorLamp, 'v': reverseLamp, 'l': lampGlow,
}

func materialOf(letter byte, paint material) material {
	if m, ok := skins[letter]; ok {
		return m
	}
	return paint
}

var (
	carSection = [5]vec2{{0, 0.945}, {0.5, 1}, {0.79, 0.985}, {0.955, 0.9}, {1.03, 0.5}}
	carNose    = [4]string{"ptp", "ihthi", "ppp", "ppp"}
	carTail    = [4]string{"ppp", "irvpvri", "ppp", "ppp"}
	carPlates  = [2]float64{0.62, 0.36}

	sedan = vehicleForm{
		typeID: "vehicle.sedan", tag: scene.TagCar, length: 4.62, width: 1.82, clearance: 0.24, axles: []float64{-1.36, 1.38}, wheel: 0.33,
		deck:    []vec2{{-2.31, 0.88}, {-2.2, 0.98}, {-1.6, 1.01}, {0.95, 0.96}, {1.75, 0.87}, {2.2, 0.77}, {2.31, 0.68}},
		section: carSection, taper: 1, bulge: 0.05, tail: carTail, nose: carNose, plates: carPlates,
		panels: []panel{{'h', 1, 2.02, 2.31}, {'r', 1, -2.31, -2.08}},
		cabin: &cabin{[2]float64{-1.75, 1.08}, [2]float64{-0.92, 0.2}, [2]float64{0.79, 0.6}, 1.44,
			[]rib{{0.1, 'p'}, {0.5, 'g'}, {0.535, 't'}, {0.95, 'g'}, {1, 'p'}}},
	}
	hatchback = vehicleForm{
		typeID: "vehicle.hatchback", tag: scene.TagCar, length: 3.98, width: 1.76, clearance: 0.23, axles: []float64{-1.24, 1.26}, wheel: 0.31,
		deck:    []vec2{{-1.99, 0.86}, {-1.88, 0.98}, {0.9, 0.97}, {1.5, 0.88}, {1.87, 0.79}, {1.99, 0.69}},
		section: carSection, taper: 1, bulge: 0.05, tail: carTail, nose: carNose, plates: carPlates,
		panels: []panel{{'h', 1, 1.7, 1.99}, {'r', 1, -1.99, -1.8}},
		cabin: &cabin{[2]float64{-1.9, 1.06}, [2]float64{-1.48, 0.25}, [2]float64{0.76, 0.6}, 1.48,
			[]rib{{0.13, 'p'}, {0.48, 'g'}, {0.52, 't'}, {0.95, 'g'}, {1, 'p'}}},
	}
	offRoader = vehicleForm{
		typeID: "vehicle.suv", tag: scene.TagCar, length: 4.7, width: 1.92, clearance: 0.3, axles: []float64{-1.38, 1.42}, wheel: 0.38,
		deck:    []vec2{{-2.35, 1.0}, {-2.24, 1.12}, {1.0, 1.11}, {1.8, 1.06}, {2.22, 0.98}, {2.35, 0.86}},
		section: carSection, taper: 0.8, bulge: 0.05, tail: carTail, nose: carNose, plates: [2]float64{0.76, 0.44},
		panels: []panel{{'h', 1, 2.1, 2.35}, {'r', 1, -2.35, -2.16}, {'t', 0, -2.35, 2.35}},
		cabin: &cabin{[2]float64{-2.24, 1.17}, [2]float64{-1.98, 0.4}, [2]float64{0.85, 0.69}, 1.74,
			[]rib{{0.06, 'p'}, {0.26, 'g'}, {0.3, 'p'}, {0.6, 'g'}, {0.63, 't'}, {0.95, 'g'}, {1, 'p'}}},
	}
	estate = vehicleForm{
		typeID: "vehicle.wagon", tag: scene.TagCar, length: 4.7, width: 1.82, clearance: 0.24, axles: []float64{-1.38, 1.4}, wheel: 0.33,
		deck:    []vec2{{-2.35, 0.9}, {-2.23, 1.0}, {0.95, 0.97}, {1.78, 0.88}, {2.24, 0.78}, {2.35, 0.68}},
		section: carSection, taper: 1, bulge: 0.05, tail: carTail, nose: carNose, plates: carPlates,
		panels: []panel{{'h', 1, 2.06, 2.35}, {'r', 1, -2.35, -2.14}},
		cabin: &cabin{[2]float64{-2.24, 1.08}, [2]float64{-1.86, 0.22}, [2]float64{0.79, 0.61}, 1.5,
			[]rib{{0.06, 'p'}, {0.27, 'g'}, {0.31, 'p'}, {0.6, 'g'}, {0.63, 't'}, {0.95, 'g'}, {1, 'p'}}},
	}
	taxi = sedan.with(taxiID, attachment{'l', vec{-0.46, -0.3, 1.43}, vec{-0.24, 0.3, 1.58}})

	van = vehicleForm{
		typeID: "vehicle.van", tag: scene.TagCar, length: 5.2, width: 1.98, clearance: 0.3, axles: []float64{-1.6, 1.65}, wheel: 0.35,
		deck:    []vec2{{-2.6, 2.05}, {-2.48, 2.18}, {0.9, 2.2}, {1.2, 2.12}, {1.98, 1.22}, {2.42, 1.04}, {2.6, 0.86}},
		section: [5]vec2{{0, 0.965}, {0.46, 1}, {0.83, 0.975}, {0.96, 0.93}, {1, 0.78}}, taper: 0.45, bulge: 0.04,
		tail: [4]string{"ppp", "irvgvri", "ppp", "ppp"}, nose: [4]string{"ttt", "ihthi", "ppp", "ppp"}, plates: [2]float64{0.85, 0.4},
		panels:      []panel{{'g', 4, 1.22, 1.96}, {'g', 3, 1.28, 1.94}, {'g', 1, 0.42, 1.34}, {'h', 1, 2.38, 2.6}},
		attachments: []attachment{{'k', vec{1.35, 0.98, 1.1}, vec{1.47, 1.18, 1.42}}},
		decals: []decal{
			{'t', onTail, rect{-0.9, 0.36, 0.9, 0.56}}, {'t', onSides, rect{-1.1, 0.5, 1.15, 0.58}},
			{'t', onSides, rect{0.34, 0.5, 0.352, 1.9}}, {'t', onSides, rect{1.12, 0.6, 1.132, 1.15}}, {'t', onSides, rect{-0.9, 1.0, 0.3, 1.02}},
			{'t', onTail, rect{-0.008, 0.6, 0.008, 1.95}}, {'c', onSides, rect{0.46, 1.06, 0.62, 1.1}},
		},
	}
	lorry = vehicleForm{
		typeID: "vehicle.truck", tag: scene.TagTruck, length: 7.2, width: 2.3, clearance: 0.42, axles: []float64{-2.0, 2.5}, wheel: 0.46,
		deck:    []vec2{{1.65, 2.48}, {1.8, 2.55}, {2.9, 2.55}, {3.2, 2.4}, {3.46, 1.42}, {3.6, 1.24}},
		section: [5]vec2{{0, 0.98}, {0.5, 1}, {0.83, 0.985}, {0.95, 0.95}, {1, 0.82}}, taper: 0.3, bulge: 0.03,
		tail: [4]string{"ppp", "ppp", "ppp", "ppp"}, nose: [4]string{"tkt", "ptp", "ppp", "ppp"}, plates: [2]float64{0.66, 0.44},
		panels: []panel{{'g', 4, 3.2, 3.45}, {'g', 3, 3.2, 3.45}, {'g', 1, 2.2, 3.08}},
		attachments: []attachment{
			{'w', vec{-3.6, -1.2, 0.98}, vec{1.55, 1.2, 3.3}}, {'b', vec{-3.2, -1.21, 1.5}, vec{1.15, 1.21, 2.1}},
			{'t', vec{-3.58, -0.5, 0.5}, vec{1.85, 0.5, 0.98}}, {'k', vec{3.12, 1.14, 1.45}, vec{3.22, 1.36, 2.05}},
			{'t', vec{-3.63, 0.8, 0.55}, vec{-3.55, 1.15, 0.98}}, {'t', vec{-0.9, 0.9, 0.5}, vec{1.2, 1.1, 0.92}},
		},
		decals: []decal{
			{'h', onNose, rect{0.66, 0.62, 0.94, 0.8}}, {'i', onNose, rect{0.95, 0.62, 1.04, 0.8}},
			{'r', onTail, rect{0.9, 0.7, 1.1, 0.9}}, {'i', onTail, rect{0.72, 0.7, 0.88, 0.9}}, {'v', onTail, rect{0.9, 0.58, 1.1, 0.68}},
			{'t', onTail, rect{-0.01, 1.0, 0.01, 3.2}}, {'t', onSides, rect{2.1, 0.95, 2.112, 2.2}},
		},
	}
	bus = vehicleForm{
		typeID: "vehicle.bus", tag: scene.TagBus, length: 9.6, width: 2.4, clearance: 0.32, axles: []float64{-2.4, 2.6}, wheel: 0.48,
		deck:    []vec2{{-4.8, 2.9}, {-4.6, 3.05}, {4.5, 3.05}, {4.8, 2.9}},
		section: [5]vec2{{0, 0.975}, {0.36, 1}, {0.8, 0.985}, {0.95, 0.95}, {1, 0.8}}, taper: 0.35, bulge: 0.06,
		tail: [4]string{"ppp", "ggg", "ppp", "ppp"}, nose: [4]string{"ppp", "ggg", "kkk", "ppp"}, plates: [2]float64{0.8, 0.46},
		panels: []panel{{'g', 1, -4.5, -3.0}, {'g', 1, -2.94, -1.44}, {'g', 1, -1.38, 0.12}, {'g', 1, 0.18, 1.68}, {'g', 1, 1.74, 3.1},
			{'g', 1, 3.16, 4.3}, {'g', 1, 4.42, 4.8}},
		attachments: []attachment{{'p', vec{-3.2, -0.8, 3.0}, vec{-0.9, 0.8, 3.28}}, {'k', vec{4.6, 1.16, 1.75}, vec{4.72, 1.4, 2.25}}},
		decals: []decal{
			{'t', onNose, rect{-1.0, 0.36, 1.0, 0.6}}, {'h', onNose, rect{0.66, 0.66, 1.0, 0.84}}, {'i', onNose, rect{0.8, 0.86, 1.0, 0.93}}, {'t', onTail, rect{-1.0, 0.37, 1.0, 0.6}},
			{'r', onTail, rect{0.84, 0.9, 1.0, 1.25}}, {'i', onTail, rect{0.84, 0.78, 1.0, 0.88}}, {'v', onTail, rect{0.84, 0.66, 1.0, 0.76}},
			{'g', onKerbSide, rect{3.2, 0.45, 4.3, 2.5}}, {'g', onKerbSide, rect{-0.6, 0.45, 0.65, 1.3}},
			{'w', onSides, rect{-1.7, 0.98, 1.9, 1.12}}, {'t', onSides, rect{-1.7, 0.4, 1.9, 0.48}},
		},
	}
)

const taxiID = "vehicle.taxi"

// with returns the form under another type id and with one more attachment.
func (f vehicleForm) with(typeID string, b attachment) vehicleForm {
	f.typeID, f.attachments = typeID, append(slices.Clone(f.attachments), b)
	return f
}

// carDetail is how finely a vehicle is built.
type carDetail struct {
	arch    int     // segments of a wheel arch
	wheel   int     // sides of a wheel
	gap     float64 // the least distance of two cross-sections
	fitting bool
}

var carDetails = [3]carDetail{{3, 7, 0.12, false}, {5, 12, 0.05, true}, {12, 22, 0.02, true}}

// build makes a vehicle in one paint.
func (f *vehicleForm) build(paint material, level int) *shape {
	s := f.hull(paint, level)
	for _, x := range f.axles {
		s.wheelPair(vec2{x, f.width/2 - 0.02}, f.wheel, carDetails[level])
	}
	return s
}

// apart makes a vehicle whose wheels turn, and whose front wheels steer.
func (f *vehicleForm) apart(paint material, level int) *model {
	const middle = wheelWidth / 2
	m := single("body", f.hull(paint, level), f.tag)
	for _, side := range []struct {
		name string
		y    float64
	}{{"left", 1}, {"right", -1}} {
		wheel := newShape()
		restore := wheel.in(wheelFrame(vec{0, side.y * middle, 0}, side.y))
		wheel.wheel(f.wheel, carDetails[level])
		restore()
		for i, x := range slices.Backward(f.axles) {
			hub := vec{x, side.y * (f.width/2 - 0.02 - middle), f.wheel}
			if i == len(f.axles)-1 {
				m.addWheel("front_"+side.name, wheel, wheelMount{hub, f.wheel, x - f.axles[0]})
			} else {
				m.addWheel("rear_"+side.name, wheel, wheelMount{hub, f.wheel, 0})
			}
		}
	}
	return m
}

// wheelMount is where a wheel is. The wheelbase is 0 for one that isn't steered.
type wheelMount struct {
	hub               vec
	radius, wheelbase float64
}

// addWheel adds a wheel about the y axis with a joint that turns it as the vehicle rolls. One that
// is steered has a joint for that, too.
func (m *model) addWheel(name string, s *shape, at wheelMount) {
	steer := -1
	if at.wheelbase > 0 {
		vehicle := scene.Vehicle{Wheelbase: at.wheelbase}
		steer = len(m.joints)
		m.joints = append(m.joints, scene.Joint{Name: name + "_steer", Follow: func(_ float64, m scene.Moved) float64 {
			return vehicle.ControlsOf(m.State).Steering
		}})
	}
	spin := len(m.joints)
	m.joints = append(m.joints, scene.Joint{Name: name + "_spin", Follow: func(before float64, m scene.Moved) float64 {
		return before + m.Way/at.radius
	}})
	m.parts = append(m.parts, modelPart{name: "wheel_" + name, shape: s, tag: m.parts[0].tag, posed: func(values scene.JointValues) mgl64.Mat4 {
		turn, _ := values.Of(spin)
		sin, cos := math.Sincos(turn)
		sinZ, cosZ := 0.0, 1.0
		if steer >= 0 {
			angle, _ := values.Of(steer)
			sinZ, cosZ = math.Sincos(angle)
		}
		return mgl64.Mat4{ // the turn about y, and the one about z after it
			cosZ * cos, sinZ * cos, -sin, 0,
			-sinZ, cosZ, 0, 0,
			cosZ * sin, sinZ * sin, cos, 0,
			at.hub[0], at.hub[1], at.hub[2], 1,
		}
	}})
}

// hull makes a vehicle without its wheels.
func (f *vehicleForm) hull(paint material, level int) *shape {
	d := carDetails[level]
	if f.cabin == nil {
		d.gap = min(d.gap, 0.05) // the posts between windows
	}
	s := newShape()
	f.body(s, paint, d)
	if f.cabin != nil {
		f.glasshouse(s, paint, d)
	}
	number := int(paint)*3 + int(f.length*10)
	s.plateAt(-f.length/2-f.bulge-0.012, f.plates[0], -1, number)
	s.plateAt(f.length/2+f.bulge+0.012, f.plates[1], 1, number)
	f.fittings(s, paint, d)
	return s
}

// deckAt returns the height of the body's upper edge.
func (f *vehicleForm) deckAt(x float64) float64 {
	for i := 1; i < len(f.deck); i++ {
		if a, b := f.deck[i-1], f.deck[i]; x <= b[0] {
			return a[1] + (b[1]-a[1])*max(0, (x-a[0])/(b[0]-a[0]))
		}
	}
	return f.deck[len(f.deck)-1][1]
}

// ends returns x of the body's rear and front.
func (f *vehicleForm) ends() (rear, front float64) { return f.deck[0][0], f.deck[len(f.deck)-1][0] }

// endward is 0 along the body and rises to 1 over the last 0.7 m before its ends.
func (f *vehicleForm) endward(x float64) float64 {
	rear, front := f.ends()
	return max(0, 1-min(x-rear, front-x)/0.7)
}

// halfWidth returns half the body's width: rounded towards the ends, wider over the wheels.
func (f *vehicleForm) halfWidth(x float64) float64 {
	k := f.endward(x)
	k *= k
	w := f.width / 2 * (1 - f.taper*(0.08*k+0.16*k*k*k*k))
	for _, axle := range f.axles {
		w += 0.018 * max(0, 1-math.Pow((x-axle)/(1.6*f.wheel), 2))
	}
	return w
}

// archRadius is that of the openings for the wheels.
func (f *vehicleForm) archRadius() float64 { return f.wheel + 0.06 }

// low returns the height of the body's lower edge: raised at the ends and over the wheels.
func (f *vehicleForm) low(x float64) float64 {
	k := f.endward(x)
	z := f.clearance + 0.06*k*k*k*k
	r := f.archRadius()
	for _, axle := range f.axles {
		if d := math.Abs(x - axle); d <= r+1e-6 {
			z = max(z, f.wheel-0.02+math.Sqrt(max(0, r*r-d*d)))
		}
	}
	return z
}

// stations returns where the body's cross-sections stand: what matters most comes first, and what
// is too near to it is left out.
func (f *vehicleForm) stations(d carDetail) []float64 {
	rear, front := f.ends()
	out := []float64{rear, front}
	add := func(places ...float64) {
		for _, x := range places {
			if !slices.ContainsFunc(out, func(y float64) bool { return math.Abs(x-y) < d.gap }) {
				out = append(out, x)
			}
		}
	}
	r := f.archRadius()
	for _, axle := range f.axles {
		for k := range d.arch + 1 {
			if x := axle - r*math.Cos(math.Pi*float64(k)/float64(d.arch)); rear < x && x < front {
				add(x)
			}
		}
		if d.fitting && axle-r-d.gap > rear {
			add(axle-r-d.gap, axle+r+d.gap)
		}
	}
	for _, p := range f.panels {
		add(p.from, p.to)
	}
	for _, p := range f.deck {
		add(p[0])
	}
	add(rear+0.14, front-0.14)
	if d.fitting {
		add(rear+0.05, front-0.05, rear+0.35, front-0.35)
	}
	slices.Sort(out)
	return out
}

// crossSection returns the body's outline at x, from the right sill over the deck to the left
// sill. A coarse car has no shoulders.
func (f *vehicleForm) crossSection(x float64, d carDetail) []vec {
	w, top, z := f.halfWidth(x), f.deckAt(x), f.low(x)
	section := f.section[:]
	if !d.fitting && f.cabin != nil {
		section = []vec2{section[0], section[1], section[2], section[4]}
	}
	n := len(section)
	out := make([]vec, 2*n)
	tuck := 1 - min(1, (z-f.clearance)/0.3) // none where a wheel arch cuts in
	for i, p := range section {
		y := w * p[1]
		if i == 0 {
			y = w * (1 - tuck*(1-p[1]))
		} else {
			z = max(z+0.012, f.clearance+p[0]*(top-f.clearance))
		}
		out[i], out[2*n-1-i] = vec{x, -y, z}, vec{x, y, z}
	}
	return out
}

// body builds the skin, the dark wheel houses and the floor.
func (f *vehicleForm) body(s *shape, paint material, d carDetail) {
	from := len(s.verts)
	stations := f.stations(d)
	sections := make([][]vec, len(stations))
	for i, x := range stations {
		sections[i] = f.crossSection(x, d)
	}
	rows := len(sections[0]) - 1
	s.skin(sections, false, func(k, i int) material {
		x, row := (stations[k]+stations[k+1])/2, min(i, rows-1-i)
		for _, p := range f.panels {
			if p.row == row && p.from < x && x < p.to {
				return materialOf(p.skin, paint)
			}
		}
		if c := f.cabin; c != nil && i == rows/2 && c.belt[0]+0.2 < stations[k] && stations[k+1] < c.belt[1]-0.2 {
			return noMaterial // under the cabin
		}
		return paint
	})
	f.end(s, sections[0], f.tail, paint)
	f.end(s, sections[len(sections)-1], f.nose, paint)
	s.smooth(from, 42*math.Pi/180)
	f.underside(s)
	for i := 1; i < len(sections) && d.fitting; i++ {
		f.wheelHouse(s, sections[i-1], sections[i])
	}
}

// endColumns are the edges of an end's pieces, in shares of its width, by how many there are. A
// lamp is a piece of the outer two, whose left one indicates to the left.
var endColumns = map[int][]float64{
	3: {0, 0.21, 0.79, 1},
	5: {0, 0.08, 0.21, 0.79, 0.92, 1},
	7: {0, 0.06, 0.15, 0.21, 0.79, 0.85, 0.94, 1},
}

// end closes the body at its first or last section.
func (f *vehicleForm) end(s *shape, section []vec, look [4]string, paint material) {
	facing := 1.0
	if rear, _ := f.ends(); section[0][0] == rear {
		facing = -1
	}
	corner := func(i int, share float64) vec {
		p, q := section[i], section[len(section)-1-i]
		v := p.Add(q.Sub(p).Mul(share))
		if last := len(section)/2 - 1; i < last {
			v[0] += facing * f.bulge * [4]float64{0.6, 1, 1, 0.5}[i] * min(1, share/0.21, (1-share)/0.21)
		}
		return v
	}
	for row, letters := range look[:len(section)/2-1] {
		columns := endColumns[len(letters)]
		for column := range letters {
			a, b := corner(row, columns[column]), corner(row, columns[column+1])
			c, d := corner(row+1, columns[column+1]), corner(row+1, columns[column])
			m := materialOf(letters[column], paint)
			if facing > 0 {
				s.patch(m, a, b, c, d)
			} else {
				s.patch(m, d, c, b, a)
			}
		}
	}
}

// wheelHouse closes the space above a wheel between two cross-sections.
func (f *vehicleForm) wheelHouse(s *shape, a, b []vec) {
	if max(a[0][2], b[0][2]) < f.wheel-0.03 {
		return
	}
	inner := f.width/2 - 0.3
	last := len(a) - 1
	in := func(p vec, y float64) vec { return vec{p[0], y, p[2]} }
	s.patch(carTrim, in(a[0], -inner), in(b[0], -inner), b[0], a[0])
	s.patch(carTrim, a[last], b[last], in(b[last], inner), in(a[last], inner))
}

// underside closes the body from below: level between the sills, rising to the bumpers.
func (f *vehicleForm) underside(s *shape) {
	rear, front := f.ends()
	row := [4]vec2{{rear, f.low(rear)}, {rear + 0.3, f.clearance}, {front - 0.3, f.clearance}, {front, f.low(front)}}
	w := f.halfWidth(front) - 0.05
	for i := 1; i < len(row); i++ {
		a, b := row[i-1], row[i]
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

// glasshouse builds a car's windows, pillars and roof: one skin over arches from side to side.
// The first and the last arch lie on the body, at the feet of the rear window and the windscreen.
func (f *vehicleForm) glasshouse(s *shape, paint material, d carDetail) {
	c, sunk := f.cabin, 0.03
	if !d.fitting { // the body has no shoulders to stand on
		sunk = 0.1
	}
	arch := func(t float64) []vec {
		belt := vec{c.belt[0] + (c.belt[1]-c.belt[0])*t, -c.half[0], 0}
		belt[1] = max(belt[1], -0.87*f.halfWidth(belt[0])) // not beside the rounded ends
		belt[2] = f.deckAt(belt[0]) - sunk
		x, end := c.roof[0]+(c.roof[1]-c.roof[0])*t, 2*t-1
		rail := vec{x, -c.half[1], c.height - 0.075}
		return mirrored(belt, belt.Add(rail.Sub(belt).Mul(0.87)), rail,
			vec{x + 0.02*end, -c.half[1] + 0.08, c.height - 0.018}, vec{x + 0.06*end, 0, c.height})
	}
	foot := func(t float64) []vec {
		p, end := arch(t)[0], 2*t-1
		return mirrored(p, p, p, vec{p[0] + 0.03*end, 0.88 * p[1], p[2] + 0.015}, vec{p[0] + 0.13*end, 0, p[2] + 0.04})
	}
	arches := [][]vec{foot(0), arch(0)}
	for _, r := range c.ribs {
		arches = append(arches, arch(r.to))
	}
	arches = append(arches, foot(1))
	from := len(s.verts)
	s.skin(arches, false, func(k, i int) material {
		row := min(i, 7-i)
		switch {
		case k == 0 || k == len(c.ribs)+1:
			if row == 3 {
				return carGlass
			}
		case row == 0:
			return materialOf(c.ribs[k-1].skin, paint)
		}
		return paint
	})
	s.smooth(from, 42*math.Pi/180)
}

// mirrored returns points from the right to the middle, the last, and on to the left.
func mirrored(right ...vec) []vec {
	out := slices.Clone(right)
	for i := len(right) - 2; i >= 0; i-- {
		out = append(out, vec{right[i][0], -right[i][1], right[i][2]})
	}
	return out
}

// wheelPair adds the two wheels of an axle: at[0] is its x, at[1] half the
// distance between the wheels' outer sides.
func (s *shape) wheelPair(at vec2, radius float64, d carDetail) {
	for _, side := range []float64{-1, 1} {
		restore := s.in(s.frameAt(wheelFrame(vec{at[0], side * at[1], radius}, side)))
		s.wheel(radius, d)
		restore()
	}
}

// wheelFrame returns the frame that a wheel is turned about, by its z axis. That points outwards, to
// the left (1) or the right (-1).
func wheelFrame(origin vec, side float64) frame {
	return frame{origin: origin, x: vec{1, 0, 0}, y: vec{0, 0, -side}, z: vec{0, side, 0}}
}

// frameAt returns the frame f, given in the current frame, in the shape's.
func (s *shape) frameAt(f frame) frame {
	g := s.frame
	return frame{origin: g.point(f.origin), x: g.direction(f.x), y: g.direction(f.y), z: g.direction(f.z)}
}

// wheelWidth is how wide wheels are, metres.
const wheelWidth = 0.21

// wheel adds one wheel about z, its outer side at z = 0.
func (s *shape) wheel(radius float64, d carDetail) {
	const wide = wheelWidth
	rimRadius := 0.68 * radius
	if d.wheel < 20 {
		s.turned(tyre, d.wheel, ring{-wide, radius}, ring{0, 0.97 * radius}, ring{-0.01, rimRadius})
	} else {
		s.turned(tyre, d.wheel, ring{-wide, 0.5 * radius}, ring{-wide, 0.93 * radius}, ring{-wide + 0.03, radius}, ring{-0.03, radius}, ring{0, 0.93 * radius},
			ring{0, rimRadius}, ring{-0.03, rimRadius - 0.01})
	}
	defer s.in(s.frame.moved(0, 0, -0.012))()
	s.discFace(rim, d.wheel, rimRadius, faceHubcap)
}

// plateAt adds a number plate in the plane x = x0, looking along facing (1 or -1).
func (s *shape) plateAt(x0, z, facing float64, number int) {
	const half, high = 0.26, 0.11
	row := float64(number%4) / 4
	uv := faceUVs(facePlateA+face(number/4%2), vec2{0, row}, vec2{1, row + 0.25})
	s.faceUV(licensePlate, [4]vec{{x0, -facing * half, z}, {x0, facing * half, z}, {x0, facing * half, z + high}, {x0, -facing * half, z + high}}, uv)
}

// endPanel adds a rectangle (y and z) in the plane x, looking along facing.
func (s *shape) endPanel(m material, x float64, r rect, facing float64) {
	if facing > 0 {
		s.face(m, vec{x, r.x0, r.y0}, vec{x, r.x1, r.y0}, vec{x, r.x1, r.y1}, vec{x, r.x0, r.y1})
		return
	}
	s.face(m, vec{x, r.x1, r.y0}, vec{x, r.x0, r.y0}, vec{x, r.x0, r.y1}, vec{x, r.x1, r.y1})
}

// fittings adds what a vehicle has besides its body, where it is built finely enough to show.
func (f *vehicleForm) fittings(s *shape, paint material, d carDetail) {
	for _, b := range f.attachments {
		m := materialOf(b.skin, paint)
		s.box(m, b.lo, b.hi, allSides)
		if b.lo[1] > 0 {
			s.box(m, vec{b.lo[0], -b.hi[1], b.lo[2]}, vec{b.hi[0], -b.lo[1], b.hi[2]}, allSides)
		}
	}
	for _, p := range f.decals {
		f.decal(s, p, paint)
	}
	if f.typeID == taxiID {
		z := f.attachments[0].lo[2] + 0.015
		s.faceUV(shopSign, [4]vec{{-0.235, -0.28, z}, {-0.235, 0.28, z}, {-0.235, 0.28, z + 0.12}, {-0.235, -0.28, z + 0.12}},
			faceUVs(faceTaxi, vec2{0, 0.3}, vec2{1, 0.7}))
	}
	if d.fitting && f.cabin != nil {
		f.doors(s, paint)
	}
}

// decal adds one rectangle, just off the skin.
func (f *vehicleForm) decal(s *shape, p decal, paint material) {
	m, r := materialOf(p.skin, paint), p.r
	twin := rect{-r.x1, r.y0, -r.x0, r.y1}
	switch p.place {
	case onTail, onNose:
		facing := 2*float64(p.place-onTail) - 1
		x := facing * (f.length/2 + f.bulge + 0.008)
		s.endPanel(m, x, r, facing)
		if r.x0 > 0 {
			s.endPanel(m, x, twin, facing)
		}
	case onSides:
		s.sidePanel(m, r, f.width/2+0.008)
		fallthrough
	case onKerbSide:
		s.sidePanel(m, r, -f.width/2-0.008)
	}
}

// sidePanel adds a rectangle (x and z) in the plane y, looking outwards.
func (s *shape) sidePanel(m material, r rect, y float64) {
	a, b, c, d := vec{r.x0, y, r.y0}, vec{r.x1, y, r.y0}, vec{r.x1, y, r.y1}, vec{r.x0, y, r.y1}
	if y < 0 {
		s.face(m, a, b, c, d)
	} else {
		s.face(m, d, c, b, a)
	}
}

// doors adds a car's mirrors, and the joints and handles of its doors.
func (f *vehicleForm) doors(s *shape, paint material) {
	c := f.cabin
	w, belt := f.width/2, f.deckAt(0)
	length := c.belt[1] - c.belt[0]
	for _, side := range []float64{-1, 1} {
		x := c.belt[1] - 0.3
		y0, y1 := side*(w-0.08), side*(w+0.11)
		s.box(paint, vec{x, min(y0, y1), belt + 0.02}, vec{x + 0.07, max(y0, y1), belt + 0.12}, allSides)
		at := func(x, out float64) float64 { return side * (f.halfWidth(x) + out) }
		for i, r := range c.ribs {
			x := c.belt[0] + r.to*length
			if r.skin != 't' && i != len(c.ribs)-2 || math.Abs(x-f.axles[1]) < f.archRadius() {
				continue
			}
			s.sidePanel(carTrim, rect{x - 0.007, 0.36, x + 0.007, belt - 0.12}, at(x, 0.005))
			s.sidePanel(chrome, rect{x - 0.3, belt - 0.21, x - 0.13, belt - 0.18}, at(x-0.2, 0.012))
		}
		x = f.axles[0] + f.archRadius() + 0.02
		s.sidePanel(carTrim, rect{x, f.clearance + 0.01, f.axles[1] - f.archRadius() - 0.02, f.clearance + 0.09}, at(0, 0.002))
	}
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

// cycle is what stands upright on two wheels, the rear one first, its front along +x.
type cycle struct {
	name   string
	tag    scene.Tag
	hubs   [2]vec
	radius float64
	wheel  func(s *shape, hub vec)
	frame  func(s *shape)
}

// model makes it in one part.
func (c *cycle) model() *model {
	s := newShape()
	for _, hub := range c.hubs {
		c.wheel(s, hub)
	}
	c.frame(s)
	m := single(c.name, s, c.tag)
	m.apart = c.apart
	return m
}

// apart makes it with wheels that turn.
func (c *cycle) apart() *model {
	s, wheel := newShape(), newShape()
	c.frame(s)
	c.wheel(wheel, vec{})
	m := single(c.name, s, c.tag)
	m.addWheel("front", wheel, wheelMount{hub: c.hubs[1], radius: c.radius})
	m.addWheel("rear", wheel, wheelMount{hub: c.hubs[0], radius: c.radius})
	return m
}

func bicycle(paint material, level int) *model {
	c := cycle{name: "bicycle", tag: scene.TagBicycle, hubs: [2]vec{{-0.52, 0, 0.34}, {0.54, 0, 0.34}}, radius: 0.348}
	c.wheel = func(s *shape, hub vec) {
		s.hoop(tyre, hub, ring{0.018, 0.33}, [3]int{8, 14, 24}[level])
		if level == 0 {
			return
		}
		for i := range 6 {
			sn, co := math.Sincos(math.Pi * float64(i) / 6)
			d := vec{0.31 * co, 0, 0.31 * sn}
			s.pole(steel, 3, hub.Sub(d), hub.Add(d), [2]float64{0.004, 0.004})
		}
	}
	c.frame = func(s *shape) { s.bicycleFrame(paint, level, c.hubs) }
	return c.model()
}

func (s *shape) bicycleFrame(paint material, level int, hubs [2]vec) {
	rear, front := hubs[0], hubs[1]
	crank, seat, head := vec{-0.08, 0, 0.3}, vec{-0.22, 0, 0.82}, vec{0.38, 0, 0.86}
	rods := [][2]vec{{rear, crank}, {rear, seat}, {crank, seat}, {crank, head}, {seat, head}, {front, vec{0.36, 0, 0.95}}}
	for _, r := range rods {
		s.pole(paint, max(3, sidesOf(level)-3), r[0], r[1], [2]float64{0.018, 0.018})
	}
	s.pole(steel, 4, seat, vec{-0.25, 0, 0.95}, [2]float64{0.014, 0.014})
	s.boxAt(plasticBlack, around(-0.25, 0, 0.13, 0.07), 0.95, 1.0)
	s.pole(steel, 4, vec{0.36, -0.26, 1.0}, vec{0.36, 0.26, 1.0}, [2]float64{0.014, 0.014})
	s.pole(plasticBlack, 4, vec{-0.08, -0.14, 0.2}, vec{-0.08, 0.14, 0.4}, [2]float64{0.02, 0.02})
}

// bikeStand is a row of steel hoops.
func bikeStand(s *shape, level int) {
	for i := range 3 {
		y := float64(i-1) * 0.9
		for _, x := range []float64{-0.35, 0.35} {
			s.pole(steel, sidesOf(level)-1, vec{x, y, 0}, vec{x, y, 0.75}, [2]float64{0.025, 0.025})
		}
		s.pole(steel, sidesOf(level)-1, vec{-0.37, y, 0.76}, vec{0.37, y, 0.76}, [2]float64{0.025, 0.025})
	}
}

func motorcycle(paint material, level int) *model {
	c := cycle{name: "motorcycle", tag: scene.TagMotorcycle, hubs: [2]vec{{-0.68, 0, 0.31}, {0.68, 0, 0.31}}, radius: 0.32}
	c.wheel = func(s *shape, hub vec) {
		s.hoop(tyre, hub, ring{0.06, 0.26}, [3]int{8, 12, 20}[level])
		s.boxAt(steel, around(hub[0], 0, 0.05, 0.09), hub[2]-0.05, hub[2]+0.05)
	}
	c.frame = func(s *shape) { s.motorcycleFrame(paint) }
	return c.model()
}

func (s *shape) motorcycleFrame(paint material) {
	s.boxAt(carTrim, around(0, 0, 0.28, 0.16), 0.25, 0.58)
	s.loft(paint, [][]vec{tankSection(-0.05, 0.12, 0.62, 0.8), tankSection(0.12, 0.17, 0.6, 0.92), tankSection(0.42, 0.1, 0.64, 0.86)}, true, 1)
	s.cap(paint, tankSection(-0.05, 0.12, 0.62, 0.8), false)
	s.cap(paint, tankSection(0.42, 0.1, 0.64, 0.86), true)
	s.boxAt(plasticBlack, around(-0.38, 0, 0.34, 0.13), 0.7, 0.8)
	s.pole(chrome, 5, vec{0.68, 0.07, 0.31}, vec{0.42, 0.07, 0.98}, [2]float64{0.03, 0.03})
	s.pole(chrome, 5, vec{0.68, -0.07, 0.31}, vec{0.42, -0.07, 0.98}, [2]float64{0.03, 0.03})
	s.pole(plasticBlack, 5, vec{0.38, -0.36, 1.02}, vec{0.38, 0.36, 1.02}, [2]float64{0.018, 0.018})
	s.boxAt(headLamp, around(0.54, 0, 0.06, 0.08), 0.8, 0.95)
	s.boxAt(carTrim, around(0.47, 0, 0.02, 0.09), 0.79, 0.96) // it doesn't shine backwards
	s.boxAt(tailLamp, around(-0.76, 0, 0.03, 0.06), 0.68, 0.74)
	for _, side := range []float64{-1, 1} {
		s.boxAt(indicatorLamp, around(0.5, 0.2*side, 0.03, 0.035), 0.84, 0.91)
		s.boxAt(indicatorLamp, around(-0.72, 0.15*side, 0.03, 0.035), 0.66, 0.72)
	}
	s.pole(chrome, 6, vec{-0.1, -0.16, 0.3}, vec{-0.8, -0.18, 0.36}, [2]float64{0.05, 0.06})
}

// tankSection is a hexagon across x.
func tankSection(x, half, low, high float64) []vec {
	mid := low + 0.5*(high-low)
	return []vec{{x, -half * 0.6, low}, {x, -half, mid}, {x, -half * 0.5, high}, {x, half * 0.5, high}, {x, half, mid}, {x, half * 0.6, low}}
}
