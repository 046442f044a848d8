// Package city makes a procedural, seeded town for sensors to drive through. It has a grid of
// streets with kerbs and markings, perimeter blocks of houses and shops, a park, trees and
// street furniture. Cars are parked or move, and there are people.
//
// # Layout
//
// The map frame is REP-103's (x east, y north, z up, metres). Its origin lies in the middle of
// the park's block, on the level of the roadway. Traffic keeps right. Every block is circled
// clockwise, so the lane beside a block is that block's alone and no two loops ever cross. The
// ego circles the park.
//
// # Roads
//
// Scene.SpawnPoints are in the lanes around the blocks, between the crossings.
//
// Scene.LaneMarks has what is painted along the streets, all of it white. The centre lines are
// broken and, before the stop lines, solid. The edges of the parking bays and of the streets'
// ends are solid. The kerbs are marks too. Stop lines and crosswalks lie across and are none.
//
// Scene.Signals has two lights for each traffic light, one a head for vehicles. Green is 12 s,
// yellow 3 s, then all have red for 1 s. Opposite arms show the same, and the crossings' cycles
// begin at different times, by the seed. Their names are those of their actors. Walkers' lights are
// green while the drivers' are red. The traffic drives in loops and heeds no light.
//
// # Models
//
// Each kind of vehicle and some of the people are models, too, of which actors may be spawned
// during a run (scene.History.Spawn). They share their meshes with those who are there, and count
// into no budget.
//
// # Detail
//
// Options.Triangles is spent near the ego's route first: each building, tree
// and lamp has several levels of detail, the first of which may be "absent".
// Levels are bought in the order of distance times a weight of their kind,
// until the budget is reached. A larger budget also makes a larger town.
//
// # Determinism
//
// Equal options give equal scenes. All chance comes from PCG streams keyed by the seed and by
// what is drawn. No map is iterated, and the goroutines that paint textures each own one
// picture. Across processor architectures the last bits of a coordinate may differ. Go may fuse
// a multiply and an add (the language specification, "Floating-point operators"), and math.Sin
// and its like may come from assembly. So mesh vertices are rounded to 1/4096 m, which hides all
// but a vanishing share of such differences. The choice of levels, and so the list of actors,
// depends on coordinates only through comparisons of rounded distances.
package city

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Limits and defaults of Options.
const (
	DefaultTriangles = 100_000
	MinTriangles     = 40_000
	MaxTriangles     = 4_000_000
	DefaultCars      = 20
	DefaultWalkers   = 20
	DefaultSlots     = 256
	MaxCars          = 60
	MaxWalkers       = 90
	MaxSlots         = 8192
)

// ErrOptions is wrapped by every error about Options.
var ErrOptions = errors.New("city options")

// Options says which town to make. The zero value is the default town.
type Options struct {
	// Seed chooses the town.
	Seed uint64
	// Triangles is how many triangles the town has, within a tenth; default
	// DefaultTriangles, between MinTriangles and MaxTriangles.
	Triangles int
	// Cars and Walkers are how many of them move; default 20 each, negative
	// for none, at most MaxCars and MaxWalkers.
	Cars, Walkers int
	// Slots is how many actors scene.History.Spawn may bring at a time. The default is
	// DefaultSlots; negative means none, and MaxSlots is the most. They cost nothing until they
	// are used. People go on the spot where they don't move.
	Slots int
	// CacheDir is the folder that keeps painted pictures for later processes (scene.CacheDir), "" for none.
	CacheDir string
}

// withDefaults returns the options with their defaults filled in, or an error
// that wraps ErrOptions.
func (o Options) withDefaults() (Options, error) {
	fill := func(v, standard int) int {
		if v == 0 {
			return standard
		}
		return max(v, 0)
	}
	if o.Triangles == 0 {
		o.Triangles = DefaultTriangles
	}
	o.Cars, o.Walkers, o.Slots = fill(o.Cars, DefaultCars), fill(o.Walkers, DefaultWalkers), fill(o.Slots, DefaultSlots)
	switch {
	case o.Triangles < MinTriangles || o.Triangles > MaxTriangles:
		return o, fmt.Errorf("%w: triangles is %d, must be %d to %d", ErrOptions, o.Triangles, MinTriangles, MaxTriangles)
	case o.Cars > MaxCars:
		return o, fmt.Errorf("%w: cars is %d, must be at most %d", ErrOptions, o.Cars, MaxCars)
	case o.Walkers > MaxWalkers:
		return o, fmt.Errorf("%w: walkers is %d, must be at most %d", ErrOptions, o.Walkers, MaxWalkers)
	case o.Slots > MaxSlots:
		return o, fmt.Errorf("%w: slots is %d, must be at most %d", ErrOptions, o.Slots, MaxSlots)
	}
	return o, nil
}

// Generate makes a town. The scene is the caller's alone. Errors wrap
// ErrOptions. It may be called from any goroutine; the goroutines it starts
// have ended when it returns.
func Generate(o Options) (*scene.Scene, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	painted := make(chan []scene.Texture, 1)
	go func() { painted <- townTextures(o.Seed, o.CacheDir) }()
	s, err := build(o)
	textures := <-painted
	if err != nil {
		return nil, fmt.Errorf("build the city: %w", err)
	}
	s.Textures = textures
	return s, nil
}

// Furnish adds the town's vehicles and people to another scene as models, for actors that come
// from outside. It brings the materials and textures that they show, and no others. Any goroutine
// may call it that has the scene.
func Furnish(s *scene.Scene, seed uint64) {
	t := newTown(seed, 1)
	t.addModels()
	first := len(s.Meshes)
	for _, o := range t.models {
		t.useModel(s, o)
		s.Reserve(o.actor(o.typeID), 0)
	}
	palette, brought := materials(), map[int]int{}
	var shown []picture
	for i := range s.Meshes[first:] {
		groups := s.Meshes[first+i].Groups
		for g := range groups {
			town := groups[g].Material
			if _, known := brought[town]; !known {
				brought[town] = len(s.Materials)
				m := palette[town]
				if m.BaseColorTexture != scene.NoTexture {
					m.BaseColorTexture = len(s.Textures) + numberOf(&shown, picture(m.BaseColorTexture))
				}
				s.Materials = append(s.Materials, m)
			}
			groups[g].Material = brought[town]
		}
	}
	s.Textures = append(s.Textures, paintTextures(seed, shown)...)
}

// numberOf returns the place of a picture in a list, at whose end it is put where it isn't there.
func numberOf(list *[]picture, p picture) int {
	at := slices.Index(*list, p)
	if at < 0 {
		at = len(*list)
		*list = append(*list, p)
	}
	return at
}

// build makes all of the scene but its textures.
func build(o Options) (*scene.Scene, error) {
	t, err := plan(o)
	if err != nil {
		return nil, err
	}
	if o.Slots > 0 {
		t.addModels()
	}
	s := scene.New("city")
	s.Slots = o.Slots
	s.Materials, s.Light, s.Occlusion = materials(), afternoon(), true
	// A park in Lisbon; metres above the ellipsoid.
	s.Map = spatial.TangentMap(spatial.Geodetic{Latitude: 38.7369, Longitude: -9.1427, Altitude: 132})
	if err := t.emit(s); err != nil {
		return nil, err
	}
	route, err := t.parkBlock().laneWay().loop(egoSpeed, -egoStart)
	if err != nil {
		return nil, err
	}
	s.Route, s.Ego = route, route.PoseAt(0)
	s.SpawnPoints, err = t.spawnPoints(s)
	return s, err
}

// firstSize is how many blocks across a town of so many triangles has at least.
func firstSize(triangles int) int {
	switch {
	case triangles < 250_000:
		return 3
	case triangles < 1_800_000:
		return 5
	}
	return 7
}

// plan returns the smallest town that holds enough triangles, bought.
func plan(o Options) (*town, error) {
	for size := firstSize(o.Triangles); ; size += 2 {
		t := newTown(o.Seed, size)
		if err := t.fill(o); err != nil {
			return nil, err
		}
		if t.spend(o.Triangles) >= o.Triangles {
			return t, nil
		}
	}
}

// fill places everything the town may have.
func (t *town) fill(o Options) error {
	t.addTerrain()
	t.addRoads()
	for i := range t.blocks {
		b := &t.blocks[i]
		t.addPavement(b)
		t.addBlock(b)
		t.furnish(b)
	}
	for i := range t.xs {
		for j := range t.ys {
			t.addTrafficControl(i, j)
		}
	}
	t.addOutskirts()
	if err := t.addTraffic(o.Cars); err != nil {
		return err
	}
	return t.addWalkers(o.Walkers)
}

// afternoon is the light of a clear afternoon: the sun in the south-west,
// 34 degrees high. Irradiance and radiance are relative: white paint in the
// full sun is a little over 1 before exposure. In the open the sun gives a road
// four to five times what the sky gives it, as it does on earth.
func afternoon() scene.Light {
	const elevation, azimuth = 34 * math.Pi / 180, 233 * math.Pi / 180 // azimuth clockwise from north
	se, ce := math.Sincos(elevation)
	sa, ca := math.Sincos(azimuth)
	return scene.Light{
		SunDirection: mgl32.Vec3{float32(ce * sa), float32(ce * ca), float32(se)}.Normalize(),
		SunColor:     mgl32.Vec3{5.4, 4.95, 4.2},
		SkyZenith:    mgl32.Vec3{0.075, 0.155, 0.32},
		SkyHorizon:   mgl32.Vec3{0.4, 0.5, 0.62},
		Ground:       mgl32.Vec3{0.17, 0.15, 0.12},
		Exposure:     1,
	}
}

// model is the shape of an object at one level of detail. Objects may share it.
type model struct {
	parts  []modelPart
	joints []scene.Joint
	// apart returns the same with its wheels as parts; nil for what has no wheels.
	apart func() *model
	used  bool // its meshes are in the scene
}

// modelPart is one part of a model. Parts with the same geometry pointer share
// a mesh. Joint, where not nil, moves the part, and so does posed by the model's joints.
type modelPart struct {
	name  string
	shape *shape
	tag   scene.Tag
	joint func(stamp simtime.Stamp) mgl64.Mat4
	posed func(values scene.JointValues) mgl64.Mat4
	mesh  int // once used
}

func single(name string, s *shape, tag scene.Tag) *model {
	return &model{parts: []modelPart{{name: name, shape: s, tag: tag}}}
}

func (m *model) triangles() int {
	if m == nil {
		return 0
	}
	n := 0
	for i := range m.parts {
		n += m.parts[i].shape.triangles()
	}
	return n
}

// object is one thing of the town: an actor, once its detail is chosen.
type object struct {
	typeID string
	pose   spatial.Pose
	size   float64 // scales the model
	motion scene.Motion
	near   float64 // metres to the ego's route
	// details are the levels that can be bought, coarsest first; the first
	// with weight 0 comes free.
	details []detail
	model   *model // the level bought; nil while absent
	id      uint32 // the actor's, as the name, once it was emitted
	name    string
}

// detail is one level of an object. It is bought once distance times weight
// is within reach.
type detail struct {
	weight float64
	make   func() *model
}

// levels are the levels of an object by their weights; build makes the model of one.
func levels(weights []float64, build func(level int) *model) []detail {
	out := make([]detail, len(weights))
	for level, w := range weights {
		out[level] = detail{weight: w, make: func() *model { return build(level) }}
	}
	return out
}

// always is the only level of an object that is there as it is.
func always(m *model) []detail {
	return []detail{{make: func() *model { return m }}}
}

// add places an object. near is where its distance to the route counts from.
func (t *town) add(o object, near vec2) *object {
	if o.size == 0 {
		o.size = 1
	}
	// The start is where the first picture is taken, so it counts a little more.
	d := distanceToPath(t.route, near) + 0.15*near.Sub(t.start).Len()
	o.near = math.Round(d*1000) / 1000
	t.objects = append(t.objects, &o)
	return &o
}

// purchase is one level that may be bought.
type purchase struct {
	price  float64
	object int
	level  int
}

// spend buys levels of detail, cheapest first, until there are at least budget
// triangles. It returns how many there are.
func (t *town) spend(budget int) int {
	total := 0
	var wishes []purchase
	for i, o := range t.objects {
		for k, d := range o.details {
			if d.weight == 0 {
				o.model = d.make()
				total += o.model.triangles()
				continue
			}
			wishes = append(wishes, purchase{price: (o.near + 4) * d.weight, object: i, level: k})
		}
	}
	slices.SortFunc(wishes, func(a, b purchase) int {
		return cmp.Or(cmp.Compare(a.price, b.price), cmp.Compare(a.object, b.object), cmp.Compare(a.level, b.level))
	})
	for _, w := range wishes {
		if total >= budget {
			break
		}
		o := t.objects[w.object]
		m := o.details[w.level].make()
		total += m.triangles() - o.model.triangles()
		o.model = m
	}
	return total
}

// emit writes the objects that are there, and the models, into the scene, with
// the lane marks and signals. Errors are
// scene.AddActor's.
func (t *town) emit(s *scene.Scene) error {
	counts := make(map[string]int)
	for i, o := range slices.Concat(t.objects, t.models) {
		if o.model == nil {
			continue
		}
		t.useModel(s, o)
		counts[o.typeID]++
		actor := o.actor(fmt.Sprintf("%s_%04d", o.typeID, counts[o.typeID]))
		if i >= len(t.objects) {
			s.Reserve(actor, 0)
			continue
		}
		if err := s.AddActor(actor); err != nil {
			return fmt.Errorf("place %s: %w", actor.Name, err)
		}
		o.id, o.name = actor.ID, actor.Name
	}
	s.LaneMarks, s.Signals = t.marks, t.signals()
	return nil
}

// useModel appends the meshes of an object's model to the scene once. Their materials are the town's.
func (t *town) useModel(s *scene.Scene, o *object) {
	if o.model.used {
		return
	}
	o.model.used = true
	for i := range o.model.parts {
		p := &o.model.parts[i]
		p.mesh = len(s.Meshes)
		s.Meshes = append(s.Meshes, p.shape.mesh(fmt.Sprintf("%s_%s_%d", o.typeID, p.name, p.mesh)))
	}
}

// actor returns the object as an actor of a name.
func (o *object) actor(name string) *scene.Actor {
	return &scene.Actor{Name: name, TypeID: o.typeID, Parts: o.actorParts(), Joints: o.model.joints, Pose: o.pose, Motion: o.motion}
}

// scaled returns a place in what is so many times the size.
func scaled(m mgl64.Mat4, size float64) mgl64.Mat4 {
	for column := 0; column < 16; column += 4 {
		m[column], m[column+1], m[column+2] = size*m[column], size*m[column+1], size*m[column+2]
	}
	return m
}

func (o *object) actorParts() []scene.Part {
	parts := make([]scene.Part, len(o.model.parts))
	scale := mgl64.Scale3D(o.size, o.size, o.size)
	for i, p := range o.model.parts {
		parts[i] = scene.Part{Name: p.name, Mesh: p.mesh, Local: scale, Tag: p.tag}
		if p.posed != nil {
			parts[i].Posed = func(values scene.JointValues, _ simtime.Stamp) mgl64.Mat4 { return scaled(p.posed(values), o.size) }
			parts[i].Local = parts[i].Posed(scene.JointValues{}, 0)
		}
		if p.joint != nil {
			parts[i].Joints = func(stamp simtime.Stamp) mgl64.Mat4 { return scaled(p.joint(stamp), o.size) }
			parts[i].Local = parts[i].Joints(0)
		}
	}
	return parts
}

// walkerModels is how many of the people are models.
const walkerModels = 4

// modelPaints are the paints of vehicles that look like nobody who is there.
var modelPaints = [...]material{
	sedanModel: carSilver, hatchbackModel: carBlue, suvModel: carGraphite, wagonModel: carRed,
	vanModel: carWhite, lorryModel: carOrange, busModel: carRed, taxiModel: carYellow,
}

// addModels lists the models: each kind of vehicle, and some people. It comes after spend, for
// they look like somebody who is there, where there is one: so they share their meshes.
func (t *town) addModels() {
	for m := range vehicles {
		look := t.moverLike(vehicles[m].typeID)
		if look == nil {
			look = t.vehicleDetails(vehicleModel(m), modelPaints[m], [3]float64{})[middleLevel].make()
		}
		t.addModel(vehicles[m].typeID, look)
	}
	t.addModel("vehicle.bicycle", bicycle(firstPaint, middleLevel))
	t.addModel("vehicle.motorcycle", motorcycle(firstPaint, middleLevel))
	for i := range walkerModels {
		look := t.moverLike(pedestrianID(i))
		if look == nil || len(look.parts) == 1 { // one who stands has no limbs to move
			g := gait{strideHz: 1, swing: usualSwing}
			look = drawOutfit(stream(t.seed, "outfit", i)).walker(g, middleLevel)
		}
		t.addModel(pedestrianID(i), look)
	}
}

// middleLevel is the level of detail of what isn't there from the start.
const middleLevel = 1

func (t *town) addModel(typeID string, look *model) {
	if look.apart != nil {
		look = look.apart()
	}
	t.models = append(t.models, &object{
		typeID: typeID, size: 1, model: look,
		pose: spatial.Pose{Orientation: mgl64.QuatIdent()},
	})
}

// moverLike returns the model of somebody of a type that moves, or else stands.
func (t *town) moverLike(typeID string) *model {
	var standing *model
	for _, o := range t.objects {
		if o.typeID != typeID || o.model == nil {
			continue
		}
		if o.motion != nil {
			return o.model
		}
		if standing == nil {
			standing = o.model
		}
	}
	return standing
}

// stream returns the stream of chance of one thing: what names the purpose,
// index the thing. Streams don't depend on the order they are asked for.
func stream(seed uint64, what string, index ...int) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(what))
	var b [8]byte
	for _, i := range index {
		for k := range b {
			b[k] = byte(uint64(i) >> (8 * k))
		}
		h.Write(b[:])
	}
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// between returns a number in [lo, hi).
func between(rng *rand.Rand, lo, hi float64) float64 { return lo + (hi-lo)*rng.Float64() }

// chance reports true with probability p.
func chance(rng *rand.Rand, p float64) bool { return rng.Float64() < p }

// pick returns one of the items.
func pick[T any](rng *rand.Rand, items ...T) T { return items[rng.IntN(len(items))] }
