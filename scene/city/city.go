package city

import (
	"errors"
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl32"

	"github.com/raybridge/raybridge/scene"
)

// Limits and defaults of Options.
const (
	DefaultTriangles = 100_000
	MinTriangles     = 40_000
	MaxTriangles     = 4_000_000
	DefaultCars      = 20
	DefaultWalkers   = 20
	DefaultReserve   = 2
	MaxCars          = 60
	MaxWalkers       = 90
	MaxReserve       = 50
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
	// Reserve is how many of each kind of vehicle, and how many walkers, are held
	// in reserve for scene.History.Spawn, besides; default DefaultReserve, negative
	// for none, at most MaxReserve. Until they are spawned they cost nothing to see.
	// The walkers go on the spot where they don't move.
	Reserve int
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
	o.Cars, o.Walkers, o.Reserve = fill(o.Cars, DefaultCars), fill(o.Walkers, DefaultWalkers), fill(o.Reserve, DefaultReserve)
	switch {
	case o.Triangles < MinTriangles || o.Triangles > MaxTriangles:
		return o, fmt.Errorf("%w: triangles is %d, must be %d to %d", ErrOptions, o.Triangles, MinTriangles, MaxTriangles)
	case o.Cars > MaxCars:
		return o, fmt.Errorf("%w: cars is %d, must be at most %d", ErrOptions, o.Cars, MaxCars)
	case o.Walkers > MaxWalkers:
		return o, fmt.Errorf("%w: walkers is %d, must be at most %d", ErrOptions, o.Walkers, MaxWalkers)
	case o.Reserve > MaxReserve:
		return o, fmt.Errorf("%w: reserve is %d, must be at most %d", ErrOptions, o.Reserve, MaxReserve)
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
	go func() { painted <- paintTextures(o.Seed) }()
	s, err := build(o)
	textures := <-painted
	if err != nil {
		return nil, fmt.Errorf("build the city: %w", err)
	}
	s.Textures = textures
	return s, nil
}

// build makes all of the scene but its textures.
func build(o Options) (*scene.Scene, error) {
	t, err := plan(o)
	if err != nil {
		return nil, err
	}
	t.reserve(o.Reserve)
	s := scene.New("city")
	s.Materials, s.Light = materials(), afternoon()
	// A park in Lisbon; metres above the ellipsoid.
	s.Origin = scene.Origin{Latitude: 38.7369, Longitude: -9.1427, Altitude: 132}
	if err := t.emit(s); err != nil {
		return nil, err
	}
	route, err := t.parkBlock().laneWay().loop(egoSpeed, -egoStart)
	if err != nil {
		return nil, err
	}
	s.Route, s.Ego = route, route.PoseAt(0)
	return s, nil
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
// full sun is a little over 1 before exposure.
func afternoon() scene.Light {
	const elevation, azimuth = 34 * math.Pi / 180, 233 * math.Pi / 180 // azimuth clockwise from north
	se, ce := math.Sincos(elevation)
	sa, ca := math.Sincos(azimuth)
	return scene.Light{
		SunDirection: mgl32.Vec3{float32(ce * sa), float32(ce * ca), float32(se)}.Normalize(),
		SunColor:     mgl32.Vec3{3.5, 3.1, 2.5},
		SkyZenith:    mgl32.Vec3{0.19, 0.35, 0.68},
		SkyHorizon:   mgl32.Vec3{0.62, 0.72, 0.86},
		Ground:       mgl32.Vec3{0.24, 0.21, 0.17},
		Exposure:     0.8,
	}
}
