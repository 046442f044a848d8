package city

import (
	"math"
	"math/rand/v2"

	"github.com/raybridge/raybridge/scene"
)

// kerbside is one straight side of a block, seen from its start at a corner. along runs
// counter-clockwise around the block, so the traffic beside it runs against along.
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

// solid builds a prop of one part, whose surface draw adds.
func solid(name string, tag scene.Tag, draw func(s *shape, level int)) func(level int) *model {
	return func(level int) *model {
		s := newShape()
		draw(s, level)
		return single(name, s, tag)
	}
}

// put places a prop at p on ground height z, its front turned to yaw.
func (t *town) put(pr prop, p vec, yaw float64) *object {
	details := levels([]float64{pr.weight, 4 * pr.weight, 10 * pr.weight}, func(level int) *model {
		return t.library.model(modelKey{pr.kind, pr.form, 0, level}, func() *model { return pr.build(level) })
	})
	return t.add(object{typeID: pr.typeID, pose: standing(p, yaw), details: details}, vec2{p[0], p[1]})
}

// Street furniture. Weights are small where a sensor sees much of a thing.
var (
	lampProp      = prop{"street_lamp", "static.streetlight", 0, 0.3, solid("lamp", scene.TagPole, streetLamp)}
	parkLampProp  = prop{"park_lamp", "static.streetlight", 0, 0.3, solid("lamp", scene.TagPole, parkLamp)}
	benchProp     = prop{"bench", "static.bench", 0, 0.4, solid("bench", scene.TagStatic, bench)}
	binProp       = prop{"bin", "static.trashcan", 0, 0.4, solid("bin", scene.TagStatic, litterBin)}
	hydrantProp   = prop{"hydrant", "static.hydrant", 0, 0.4, solid("hydrant", scene.TagStatic, hydrant)}
	bollardProp   = prop{"bollard", "static.bollard", 0, 0.45, solid("bollard", scene.TagPole, bollard)}
	postBoxProp   = prop{"post_box", "static.mailbox", 0, 0.4, solid("post_box", scene.TagStatic, postBox)}
	meterProp     = prop{"meter", "static.parking_meter", 0, 0.45, solid("meter", scene.TagStatic, parkingMeter)}
	cabinetProp   = prop{"cabinet", "static.cabinet", 0, 0.4, solid("cabinet", scene.TagStatic, utilityBox)}
	planterProp   = prop{"planter", "static.planter", 0, 0.5, solid("planter", scene.TagStatic, planter)}
	columnProp    = prop{"column", "static.advertising_column", 0, 0.4, solid("column", scene.TagStatic, column)}
	shelterProp   = prop{"shelter", "static.bus_stop", 0, 0.3, solid("shelter", scene.TagStatic, busShelter)}
	kioskProp     = prop{"kiosk", "static.kiosk", 0, 0.3, solid("kiosk", scene.TagBuilding, kiosk)}
	lightProp     = prop{"traffic_light", scene.TypeTrafficLight, 0, 0.15, trafficLight}
	bikeStandProp = prop{"bike_stand", "static.bike_stand", 0, 0.5, solid("stand", scene.TagPole, bikeStand)}
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
	return prop{"table", "static.table", int(cloth), 0.45, solid("table", scene.TagStatic, func(s *shape, level int) { cafeTable(s, cloth, level) })}
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

// Models of street furniture stand at the origin, on the ground, with their
// front along +x, which points to the roadway.

// around makes a rectangle around (x, y).
func around(x, y, halfX, halfY float64) rect { return rect{x - halfX, y - halfY, x + halfX, y + halfY} }

// post adds a round upright pole.
func (s *shape) post(m material, sides int, height, radius float64) {
	s.turned(m, sides, ring{0, radius}, ring{height, radius * 0.85}, ring{height, 0})
}

// boxAt adds a box standing on z0 around (x, y).
func (s *shape) boxAt(m material, r rect, z0, z1 float64) {
	s.box(m, vec{r.x0, r.y0, z0}, vec{r.x1, r.y1, z1}, allSides)
}

func sidesOf(level int) int { return [3]int{5, 8, 12}[level] }

// streetLamp has its head over the roadway.
func streetLamp(s *shape, level int) {
	n := sidesOf(level)
	s.turned(ironGreen, n, ring{0, 0.16}, ring{0.5, 0.14}, ring{0.6, 0.09}, ring{6.6, 0.06})
	s.pole(ironGreen, n, vec{0, 0, 6.6}, vec{0.5, 0, 7.25}, [2]float64{0.06, 0.045})
	s.pole(ironGreen, n, vec{0.5, 0, 7.25}, vec{1.6, 0, 7.4}, [2]float64{0.045, 0.04})
	s.boxAt(ironGreen, around(1.75, 0, 0.42, 0.14), 7.36, 7.48)
	s.box(lampGlow, vec{1.4, -0.11, 7.33}, vec{2.1, 0.11, 7.36}, bottom|uprights)
}

// parkLamp is an old lantern.
func parkLamp(s *shape, level int) {
	n := sidesOf(level)
	s.turned(ironDark, n, ring{0, 0.17}, ring{0.25, 0.15}, ring{0.35, 0.08}, ring{0.9, 0.075}, ring{1.0, 0.05}, ring{3.3, 0.04}, ring{3.4, 0.09})
	s.turned(lampGlow, 6, ring{3.4, 0.11}, ring{3.85, 0.19})
	s.turned(ironDark, 6, ring{3.85, 0.22}, ring{4.0, 0.12}, ring{4.15, 0})
}

// bench looks along +x.
func bench(s *shape, level int) {
	for _, y := range []float64{-0.7, 0.7} {
		s.boxAt(ironDark, around(-0.02, y, 0.24, 0.035), 0.36, 0.42)
		s.boxAt(ironDark, around(0.16, y, 0.035, 0.035), 0, 0.36)
		s.boxAt(ironDark, around(-0.22, y, 0.035, 0.035), 0, 0.85)
	}
	slats := [3]int{1, 3, 4}[level]
	w := 0.46 / float64(slats)
	for i := range slats {
		x := -0.22 + w*(float64(i)+0.5)
		s.boxAt(woodLight, around(x, 0, w*0.44, 0.85), 0.42, 0.455)
	}
	for i := range max(1, slats-1) {
		z := 0.56 + 0.17*float64(i)
		s.boxAt(woodLight, around(-0.17, 0, 0.018, 0.85), z, z+0.13)
	}
}

func litterBin(s *shape, level int) {
	s.turned(ironGreen, sidesOf(level)+2, ring{0, 0.2}, ring{0.8, 0.26}, ring{0.85, 0.27}, ring{0.86, 0.2}, ring{0.7, 0})
	s.post(ironGreen, 4, 0.3, 0.05)
}

func hydrant(s *shape, level int) {
	n := sidesOf(level) + 1
	s.turned(paintRed, n, ring{0, 0.18}, ring{0.08, 0.18}, ring{0.09, 0.12}, ring{0.55, 0.12}, ring{0.56, 0.15}, ring{0.62, 0.15}, ring{0.74, 0.08}, ring{0.8, 0.03}, ring{0.8, 0})
	s.pole(paintRed, n, vec{0, 0, 0.42}, vec{0, 0.2, 0.42}, [2]float64{0.06, 0.06})
	s.pole(paintRed, n, vec{0, 0, 0.42}, vec{0, -0.2, 0.42}, [2]float64{0.06, 0.06})
	s.pole(paintYellow, n, vec{0, 0, 0.4}, vec{0.22, 0, 0.4}, [2]float64{0.075, 0.075})
}

func bollard(s *shape, level int) {
	n := sidesOf(level) + 1
	if level == 0 {
		s.turned(ironDark, n, ring{0, 0.085}, ring{0.86, 0.08}, ring{0.96, 0})
	} else {
		s.turned(ironDark, n, ring{0, 0.085}, ring{0.78, 0.07}, ring{0.8, 0.09}, ring{0.86, 0.09}, ring{0.96, 0})
	}
	s.turned(signFace, n, ring{0.62, 0.087}, ring{0.7, 0.087})
}

func postBox(s *shape, level int) {
	s.turned(paintYellow, sidesOf(level)+4, ring{0, 0.3}, ring{0.12, 0.3}, ring{0.13, 0.26}, ring{1.25, 0.26}, ring{1.28, 0.31}, ring{1.36, 0.31}, ring{1.48, 0})
	s.box(plasticBlack, vec{0.22, -0.12, 1.05}, vec{0.27, 0.12, 1.1}, allSides)
}

func parkingMeter(s *shape, level int) {
	s.post(ironDark, sidesOf(level), 1.15, 0.04)
	s.boxAt(paintBlue, around(0, 0, 0.11, 0.14), 1.1, 1.62)
	s.faceUV(shopSign, [4]vec{{-0.115, 0.1, 1.2}, {-0.115, -0.1, 1.2}, {-0.115, -0.1, 1.55}, {-0.115, 0.1, 1.55}}, faceUVs(faceMeter, vec2{}, vec2{1, 1}))
}

func utilityBox(s *shape, _ int) {
	s.boxAt(concreteGrey, around(0, 0, 0.24, 0.66), 0, 0.1)
	s.boxAt(plasterGrey, around(0, 0, 0.2, 0.6), 0.1, 1.2)
	s.boxAt(steel, around(0, 0, 0.23, 0.63), 1.2, 1.26)
}

// planter is a concrete tub with a bush.
func planter(s *shape, level int) {
	s.turned(concreteLight, sidesOf(level)+2, ring{0, 0.32}, ring{0.5, 0.45}, ring{0.55, 0.45}, ring{0.55, 0.38}, ring{0.45, 0})
	rng := stream(7, "planter")
	s.clump(leafMid, rng, clumpShape{vec{0, 0, 0.8}, vec{0.42, 0.42, 0.42}, min(level, 1)})
	s.clump(flowerRed, rng, clumpShape{vec{0.12, 0.1, 1.02}, vec{0.22, 0.22, 0.2}, 0})
	s.clump(flowerYellow, rng, clumpShape{vec{-0.15, -0.1, 1.0}, vec{0.2, 0.2, 0.18}, 0})
}

// column is a round advertising pillar.
func column(s *shape, level int) {
	n := 2*sidesOf(level) + 2
	s.turned(trimStone, n, ring{0, 0.72}, ring{0.4, 0.7}, ring{0.42, 0.64})
	s.turned(ironGreen, n, ring{2.8, 0.72}, ring{3.0, 0.78}, ring{3.1, 0.7}, ring{3.5, 0.2}, ring{3.7, 0})
	for i := range 6 {
		a, b := math.Pi*float64(i)/3, math.Pi*float64(i+1)/3
		for k := range 2 {
			c, d := a+(b-a)*float64(k)/2, a+(b-a)*float64(k+1)/2
			u := float64(k) / 2
			p := func(t, z float64) vec { return vec{0.645 * math.Cos(t), 0.645 * math.Sin(t), z} }
			s.faceUV(shopSign, [4]vec{p(c, 0.42), p(d, 0.42), p(d, 2.8), p(c, 2.8)},
				faceUVs(facePosterA+face(i%3), vec2{u, 0}, vec2{u + 0.5, 1}))
		}
	}
}

// busShelter is open towards +x.
func busShelter(s *shape, level int) {
	s.boxAt(ironDark, around(-0.1, 0, 0.85, 2.3), 2.42, 2.54)
	for _, y := range []float64{-2.1, -0.7, 0.7, 2.1} {
		s.boxAt(ironDark, around(-0.8, y, 0.04, 0.04), 0, 2.42)
	}
	for _, y := range []float64{-2.1, 2.1} {
		s.boxAt(ironDark, around(0.55, y, 0.04, 0.04), 0, 2.42)
	}
	s.boxAt(glassPlain, around(-0.8, 0, 0.012, 2.06), 0.35, 1.1)
	s.boxAt(ironDark, around(-0.8, 0, 0.03, 2.1), 1.1, 1.16)
	s.boxAt(woodLight, around(-0.5, 0.3, 0.2, 1.3), 0.44, 0.5)
	for _, y := range []float64{-0.7, 1.3} {
		s.boxAt(ironDark, around(-0.5, y, 0.05, 0.05), 0, 0.44)
	}
	s.boxAt(trimDark, around(0, -2.1, 0.5, 0.06), 0.4, 2.2)
	for _, side := range []float64{-1, 1} {
		y := -2.1 + side*0.065
		p := [4]vec{{-0.42 * -side, y, 0.5}, {0.42 * -side, y, 0.5}, {0.42 * -side, y, 2.1}, {-0.42 * -side, y, 2.1}}
		s.faceUV(shopSign, p, faceUVs(facePosterA+face(level%3), vec2{}, vec2{1, 1}))
	}
}

// kiosk is a small newsstand.
func kiosk(s *shape, level int) {
	s.boxAt(paintBlue, around(0, 0, 1.1, 1.6), 0, 0.9)
	s.boxAt(trimDark, around(0, 0, 1.02, 1.52), 0.9, 2.3)
	s.boxAt(paintBlue, around(0, 0, 1.35, 1.9), 2.3, 2.55)
	s.boxAt(zinc, around(0, 0, 0.9, 1.4), 2.55, 2.75)
	for i, y := range []float64{-1.1, 0, 1.1} {
		p := [4]vec{{1.03, y - 0.48, 0.95}, {1.03, y + 0.48, 0.95}, {1.03, y + 0.48, 2.2}, {1.03, y - 0.48, 2.2}}
		s.faceUV(paneShop, p, cellUVs(float64(i%2)/2, 0, float64(i%2)/2+0.5, 0.5))
	}
	s.faceUV(shopSign, [4]vec{{1.36, -0.9, 2.31}, {1.36, 0.9, 2.31}, {1.36, 0.9, 2.54}, {1.36, -0.9, 2.54}}, nameUVs(1))
	if level > 0 {
		s.face(canvasRed, vec{2.1, -1.6, 2.0}, vec{2.1, 1.6, 2.0}, vec{1.1, 1.6, 2.3}, vec{1.1, -1.6, 2.3})
	}
}

// cafeTable is a table with two chairs, and a parasol where cloth is not 0.
func cafeTable(s *shape, cloth material, level int) {
	n := sidesOf(level) + 3
	s.turned(ironDark, 5, ring{0, 0.22}, ring{0.03, 0.2}, ring{0.05, 0.03}, ring{0.7, 0.03})
	s.turned(woodLight, n, ring{0.7, 0}, ring{0.7, 0.36}, ring{0.73, 0.36}, ring{0.73, 0})
	for _, side := range []float64{-1, 1} {
		restore := s.in(level0(vec{0, side * 0.72, 0}).turned(-side * math.Pi / 2))
		s.chair()
		restore()
	}
	if cloth != 0 {
		s.parasol(cloth, n)
	}
}

// chair looks along +x.
func (s *shape) chair() {
	s.boxAt(woodDark, around(0, 0, 0.2, 0.2), 0.43, 0.46)
	s.boxAt(woodDark, around(-0.19, 0, 0.015, 0.19), 0.6, 0.88)
	for _, p := range [4]vec2{{-0.18, -0.18}, {0.18, -0.18}, {0.18, 0.18}, {-0.18, 0.18}} {
		h := 0.43
		if p[0] < 0 {
			h = 0.85
		}
		s.box(ironDark, vec{p[0] - 0.015, p[1] - 0.015, 0}, vec{p[0] + 0.015, p[1] + 0.015, h}, uprights)
	}
}

func (s *shape) parasol(cloth material, n int) {
	s.post(woodDark, 5, 2.5, 0.025)
	rim, top := 1.5, vec{0, 0, 2.55}
	for i := range n {
		s0, c0 := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		s1, c1 := math.Sincos(2 * math.Pi * float64(i+1) / float64(n))
		a, b := vec{rim * c0, rim * s0, 2.12}, vec{rim * c1, rim * s1, 2.12}
		s.face(cloth, a, b, top)
		down := vec{0, 0, -0.16}
		s.face(cloth, a.Add(down), b.Add(down), b, a)
	}
}

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

// trafficLight stands at the kerb and faces +x. It has a second head on an arm over the lane,
// which lies towards -y, and one for walkers on the pole.
func trafficLight(level int) *model {
	pole, heads := newShape(), newShape()
	n := sidesOf(level)
	pole.turned(ironDark, n, ring{0, 0.16}, ring{0.3, 0.14}, ring{0.35, 0.09}, ring{5.6, 0.07}, ring{5.6, 0})
	pole.pole(ironDark, n, vec{0, 0, 5.35}, vec{0, -4.3, 5.65}, [2]float64{0.06, 0.045})
	for _, at := range signalHeads {
		signalHead(heads, at, n)
	}
	// The walkers' light looks across the street. They go while the drivers have red.
	restore := heads.in(level0(vec{0, 0.12, 2.35}).turned(math.Pi / 2))
	heads.boxAt(plasticBlack, around(0.06, 0, 0.09, 0.12), 0, 0.5)
	for i, m := range [2]material{walkersRed, walkersGreen} {
		heads.lens(m, vec{0.16, 0, 0.37 - 0.24*float64(i)}, 0.085, n)
	}
	restore()
	return &model{parts: []modelPart{{name: "pole", shape: pole, tag: scene.TagPole}, {name: "heads", shape: heads, tag: scene.TagTrafficLight}}}
}

// signalHead adds three lamps in a housing with hoods, facing +x.
func signalHead(s *shape, at vec, n int) {
	defer s.in(s.frame.moved(at[0], at[1], at[2]))()
	s.box(paintYellow, vec{-0.02, -0.24, -0.06}, vec{0, 0.24, 1.12}, allSides)
	s.box(plasticBlack, housingMin, housingMax, allSides&^left)
	for i, m := range [3]material{lightGreen, lightAmber, lightRed} {
		z := 0.19 + 0.34*float64(i)
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
