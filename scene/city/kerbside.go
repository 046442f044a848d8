package city

import (
	"math"
	"math/rand/v2"
)

// kerbside is one straight side of a block, seen from its start at a corner:
// along runs counter-clockwise around the block, so the traffic beside it runs
// against along.
type kerbside struct {
	start          vec2 // on the kerb
	along, inwards vec2
	length         float64
}

// kerbsides returns a block's sides: south, east, north and west.
func (b *block) kerbsides() [4]kerbside {
	var out [4]kerbside
	corners := b.kerbs.corners()
	for i, c := range corners {
		d := corners[(i+1)%4].Sub(c)
		length := d.Len()
		d = d.Mul(1 / length)
		out[i] = kerbside{start: c.Add(d.Mul(kerbRadius)), along: d, inwards: vec2{-d[1], d[0]}, length: length - 2*kerbRadius}
	}
	return out
}

// at returns the place s metres along and in metres behind the kerb.
func (k kerbside) at(s, in float64) vec2 {
	return k.start.Add(k.along.Mul(s)).Add(k.inwards.Mul(in))
}

// yaw returns the heading of along.
func (k kerbside) yaw() float64 { return math.Atan2(k.along[1], k.along[0]) }

// roadYaw returns the heading from the pavement to the roadway.
func (k kerbside) roadYaw() float64 { return math.Atan2(-k.inwards[1], -k.inwards[0]) }

// trafficYaw returns the heading of the lane beside the kerb.
func (k kerbside) trafficYaw() float64 { return math.Atan2(-k.along[1], -k.along[0]) }

// furnitureIn is how far behind the kerb poles and trees stand.
const furnitureIn = furnitureLine - kerbLine + 0.1

// prop is a kind of street furniture. Its build function is called once a
// level; levels are bought at weight, 4 weight and 10 weight.
type prop struct {
	kind, typeID string
	form         int // tells props of a kind apart
	weight       float64
	build        func(level int) *model
}

// put places a prop at p on ground height z, its front turned to yaw.
func (t *town) put(pr prop, p vec, yaw float64) *object {
	factors := [3]float64{1, 4, 10}
	details := make([]detail, len(factors))
	for level, k := range factors {
		details[level] = detail{weight: pr.weight * k, make: func() *model {
			return t.library.model(modelKey{pr.kind, pr.form, 0, level}, func() *model { return pr.build(level) })
		}}
	}
	return t.add(object{typeID: pr.typeID, pose: standing(p, yaw), details: details}, vec2{p[0], p[1]})
}

// Street furniture. Weights are small where a sensor sees much of a thing.
var (
	lampProp      = prop{"street_lamp", "static.streetlight", 0, 0.3, streetLamp}
	parkLampProp  = prop{"park_lamp", "static.streetlight", 0, 0.3, parkLamp}
	benchProp     = prop{"bench", "static.bench", 0, 0.4, bench}
	binProp       = prop{"bin", "static.trashcan", 0, 0.4, litterBin}
	hydrantProp   = prop{"hydrant", "static.hydrant", 0, 0.4, hydrant}
	bollardProp   = prop{"bollard", "static.bollard", 0, 0.45, bollard}
	postBoxProp   = prop{"post_box", "static.mailbox", 0, 0.4, postBox}
	meterProp     = prop{"meter", "static.parking_meter", 0, 0.45, parkingMeter}
	cabinetProp   = prop{"cabinet", "static.cabinet", 0, 0.4, utilityBox}
	planterProp   = prop{"planter", "static.planter", 0, 0.5, planter}
	columnProp    = prop{"column", "static.advertising_column", 0, 0.4, column}
	shelterProp   = prop{"shelter", "static.bus_stop", 0, 0.3, busShelter}
	kioskProp     = prop{"kiosk", "static.kiosk", 0, 0.3, kiosk}
	bikeStandProp = prop{"bike_stand", "static.bike_stand", 0, 0.5, bikeStand}
)

func signProp(signs ...roadSign) prop {
	form := 0
	for _, s := range signs {
		form = form*32 + int(s.face) + 1
	}
	return prop{"sign", signs[0].typeID, form, 0.3, func(level int) *model { return signPost(level, signs...) }}
}

func bicycleProp(paint material) prop {
	return prop{"bicycle", "vehicle.bicycle", int(paint), 0.5, func(level int) *model { return bicycle(paint, level) }}
}

func tableProp(cloth material) prop {
	return prop{"table", "static.table", int(cloth), 0.45, func(level int) *model { return cafeTable(cloth, level) }}
}

// furnish places what stands along a block's kerbs.
func (t *town) furnish(b *block) {
	for i, k := range b.kerbsides() {
		rng := stream(t.seed, "kerbside", t.index(b), i)
		stop := busStopOn(t, b, i)
		t.addTreesAndLamps(k, rng, stop)
		t.addParkedCars(k, rng, stop)
		if stop {
			t.addBusStop(k, rng)
		}
		t.put(signProp(pick(rng, parkingSign, parkingSign, noParkingSign, limit30Sign, limit50Sign, noStoppingSign, schoolSign)),
			at3(k.at(k.length-9.5, furnitureIn), kerbHeight), k.yaw())
		t.addCornerFurniture(b, i, rng)
		if b.use == perimeterUse && chance(rng, 0.6) {
			t.addTerrace(k, rng)
		}
	}
}

// busStopOn reports a bus stop on side i of a block: opposite the park, where
// the ego comes by first, and here and there.
func busStopOn(t *town, b *block, i int) bool {
	middle := t.size / 2
	return b.column == middle && b.row == middle+1 && i == 0 || (t.index(b)*7+i)%23 == 4
}

// stopMiddle is where a bus stop lies along its kerbside.
const stopMiddle = 0.7

// addTreesAndLamps plants the row along the kerb: trees and lamps in turn,
// smaller things between them.
func (t *town) addTreesAndLamps(k kerbside, rng *rand.Rand, stop bool) {
	const pitch = 4.4
	row := pick(rng, lime, lime, plane, maple, cherry, poplar)
	n := int((k.length - 11) / pitch)
	offset := (k.length - float64(n-1)*pitch) / 2
	for i := range n {
		s := offset + float64(i)*pitch
		if stop && math.Abs(s-stopMiddle*k.length) < 6.5 {
			continue
		}
		p := at3(k.at(s, furnitureIn), kerbHeight)
		switch {
		case i%6 == 1:
			t.put(lampProp, p, k.roadYaw())
		case i%2 == 1:
			t.addTree(vec2{p[0], p[1]}, treeWish{species: row, size: streetTreeSize(row) * between(rng, 0.85, 1.1), ground: kerbHeight, rng: rng})
		default:
			t.addSmallThing(k, s, rng)
		}
	}
}

// streetTreeSize keeps a species narrow enough for a street.
func streetTreeSize(sp species) float64 {
	if sp == plane {
		return 0.78
	}
	return 0.95
}

// addSmallThing places one thing between two trees, or nothing.
func (t *town) addSmallThing(k kerbside, s float64, rng *rand.Rand) {
	p, yaw := at3(k.at(s, furnitureIn), kerbHeight), k.roadYaw()
	switch v := rng.IntN(16); v {
	case 0, 1:
		t.put(benchProp, at3(k.at(s, 1.0), kerbHeight), yaw+math.Pi)
	case 2:
		t.put(binProp, p, yaw)
	case 3:
		t.put(hydrantProp, p, yaw)
	case 4:
		t.put(postBoxProp, p, yaw)
	case 5, 6, 7:
		t.put(meterProp, p, yaw)
	case 8:
		t.put(cabinetProp, p, yaw)
	case 9, 10:
		t.put(planterProp, p, yaw)
	case 11, 12:
		t.put(bikeStandProp, at3(k.at(s, 0.95), kerbHeight), k.yaw()+math.Pi/2)
		for i := range 1 + rng.IntN(2) {
			paint := pick(rng, paintRed, paintBlue, ironDark, plasticGreen, chrome)
			t.put(bicycleProp(paint), at3(k.at(s, 0.6+0.6*float64(i)), kerbHeight), k.yaw()+between(rng, -0.1, 0.1))
		}
	case 13:
		t.put(columnProp, at3(k.at(s, 1.0), kerbHeight), yaw)
	}
}

// addCornerFurniture places what stands at the corner where side i begins:
// bollards around the bend, the streets' names, a bin.
func (t *town) addCornerFurniture(b *block, i int, rng *rand.Rand) {
	c := b.kerbs.inset(kerbRadius).corners()[i]
	on := func(degrees, in float64) vec {
		a := -math.Pi + float64(i)*math.Pi/2 + degrees*math.Pi/180
		s, co := math.Sincos(a)
		return vec{c[0] + (kerbRadius-in)*co, c[1] + (kerbRadius-in)*s, kerbHeight}
	}
	for k := range 5 {
		t.put(bollardProp, on(22.5+11.25*float64(k), 0.45), 0)
	}
	index := t.index(b)
	t.put(prop{"street_names", "static.street_sign", index % 4, 0.35, func(level int) *model { return streetNames(index, level) }},
		on(12, 0.8), float64(i)*math.Pi/2)
	if chance(rng, 0.6) {
		t.put(binProp, on(78, 0.9), 0)
	}
	// Who waits to cross stands behind the bollards and looks over the street.
	for k := range rng.IntN(3) {
		away := -math.Pi + float64(i)*math.Pi/2 + math.Pi/4
		t.addBystander(on(30+22*float64(k), 1.15), away+between(rng, -0.8, 0.8), rng)
	}
}

// addTerrace places a café's tables along the houses.
func (t *town) addTerrace(k kerbside, rng *rand.Rand) {
	from := between(rng, 10, k.length-22)
	cloth := pick(rng, canvasRed, canvasGreen, canvasCream, canvasOrange)
	for i := range 3 + rng.IntN(3) {
		c := cloth
		if i%2 == 1 {
			c = 0
		}
		t.put(tableProp(c), at3(k.at(from+2.3*float64(i), 4.05), kerbHeight), k.roadYaw())
	}
}
