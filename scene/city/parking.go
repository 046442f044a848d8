package city

import (
	"math"
	"math/rand/v2"

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
