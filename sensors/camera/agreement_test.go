//go:build cgo

package camera_test

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/gltf"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// comparison holds a depth, a semantic and an instance camera beside a float64 ray
// caster that shares no code with them.
type comparison struct {
	scene         *scene.Scene
	ego           scene.Motion
	mount         spatial.Pose
	stamp         simtime.Stamp
	width, height int
	stride        int // every so many pixels of a row, and rows

	lens   camera.Lens
	pose   spatial.Pose // of the optical frame
	tracer *scenetest.Tracer
	rig    *rig
}

// result counts pixels: ranges as scenetest has it, and equal labels.
type result struct {
	ranges scenetest.Agreement
	labels int
}

func (r *result) add(o *result) {
	r.ranges.Equal += o.ranges.Equal
	r.ranges.Edge += o.ranges.Edge
	r.ranges.Wrong += o.ranges.Wrong
	r.ranges.Worst = max(r.ranges.Worst, o.ranges.Worst)
	r.ranges.Examples = append(r.ranges.Examples, o.ranges.Examples...)
	r.labels += o.labels
}

func (c *comparison) run(t *testing.T) result {
	t.Helper()
	attributes := size(c.width, c.height)
	c.rig = newRig(t, c.scene, c.ego,
		mounted{camera.DepthDefinition, c.mount, attributes}, mounted{camera.SemanticDefinition, c.mount, attributes}, mounted{camera.InstanceDefinition, c.mount, attributes})
	c.rig.fire(c.stamp)
	c.lens = lens(t, c.width, c.height, 90)
	ego := c.scene.Ego
	if c.ego != nil {
		ego = c.ego.PoseAt(c.stamp)
	}
	c.pose = ego.Compose(c.mount).Compose(spatial.OpticalInBody())
	c.tracer = scenetest.NewTracer(c.scene, nil)

	workers := runtime.GOMAXPROCS(0)
	parts := make([]result, workers)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for v := w * c.stride; v < c.height; v += workers * c.stride {
				for u := v % c.stride; u < c.width; u += c.stride {
					c.compare(&parts[w], u, v)
				}
			}
		})
	}
	wait.Wait()
	var total result
	for i := range parts {
		total.add(&parts[i])
	}
	return total
}

const near, far = 0.05, 1000

func (c *comparison) compare(r *result, u, v int) {
	ray := c.lens.Ray(float64(u), float64(v))
	got := depthAt(c.rig.picture(0), u, v)
	wrong := r.ranges.Wrong
	direction := c.pose.Rotate(ray).Normalize()
	r.ranges.Add(c.tracer, c.pose.Position, direction, near*ray.Len(), far*ray.Len(), c.stamp, got*ray.Len())
	if r.ranges.Wrong > wrong && c.seenBeside(u, v, got) {
		r.ranges.Wrong--
		r.ranges.Edge++
	}
	tag, id := scene.TagSky, uint32(0)
	if h, ok := c.tracer.Trace(c.pose.Position, direction, near*ray.Len(), far*ray.Len(), c.stamp); ok {
		tag, id = h.Tag(), h.Actor.ID
	}
	p := at(c.rig.picture(2), u, v, 2)
	if at(c.rig.picture(1), u, v, 1)[0] == byte(tag) && uint32(p[0])|uint32(p[1])<<8 == id {
		r.labels++
	}
}

// seenBeside tells whether a ray some hundredths of a pixel beside the pixel's centre has the
// depth. Rasterisers round corners to 1/256 of a pixel, and what is cut off at the near plane a
// little more.
func (c *comparison) seenBeside(u, v int, depth float64) bool {
	for _, shift := range []float64{0.003, 0.008, 0.02} {
		for k := range 8 {
			sin, cos := math.Sincos(float64(k) * math.Pi / 4)
			ray := c.lens.Ray(float64(u)+shift*cos, float64(v)+shift*sin)
			want := math.Inf(1)
			if h, ok := c.tracer.Trace(c.pose.Position, c.pose.Rotate(ray).Normalize(), near*ray.Len(), far*ray.Len(), c.stamp); ok {
				want = h.T / ray.Len()
			}
			if want == depth || math.Abs(want-depth) <= 0.01+0.01*want {
				return true
			}
		}
	}
	return false
}

// placed is a piece of a street and where it stands.
type placed struct {
	name      string
	x, y, yaw float64
}

// models is a street of glTF models, scaled.
func models(t *testing.T, folder string, scale float64, pieces ...placed) *scene.Scene {
	t.Helper()
	s := scene.New("street")
	for _, p := range pieces {
		asset, err := gltf.Load(t.Context(), filepath.Join(folder, p.name+".gltf"), gltf.Options{Scale: scale})
		require.NoError(t, err)
		_, err = s.Add(asset, scene.Placement{Pose: spatial.FromRPY(mgl64.Vec3{p.x, p.y, 0}, 0, 0, p.yaw)})
		require.NoError(t, err)
	}
	return s
}

// kaykit is a street of models that nobody here made; nil where they are not at hand.
func kaykit(t *testing.T) *scene.Scene {
	t.Helper()
	const folder = "../../../shared/assets/kaykit_city"
	if _, err := os.Stat(folder); err != nil {
		t.Logf("no KayKit street is compared, our own street alone: %v", err)
		return nil
	}
	return models(t, folder, 6, placed{"road_straight", 12, 0, 0}, placed{"building_A", 12, 12, -90}, placed{"building_C", 24, -12, 90},
		placed{"car_taxi", 10, -3, 20}, placed{"trafficlight_A", 15, -5, 90}, placed{"bench", 9, 4, -80})
}

// ownStreet is a street of our own small models.
func ownStreet(t *testing.T) *scene.Scene {
	t.Helper()
	return models(t, "../../testdata/street", 1, placed{"road_straight", 12, 0, 0}, placed{"building_A", 14, 10, -100}, placed{"building_B", 24, -10, 85},
		placed{"car_small", 10, -3, 20}, placed{"trafficlight_A", 15, -5, 170}, placed{"bench", 9, 4, -80}, placed{"bush", 8, -4.5, 7})
}

func TestPicturesAgreeWithAReferenceTracer(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	town, err := city.Generate(city.Options{})
	require.NoError(t, err)
	soup := func(seed uint64, mount spatial.Pose) *comparison {
		return &comparison{
			scene: scenetest.Soup(seed, 6000, true), mount: mount, stamp: simtime.Stamp(int64(seed) * second / 2), width: 240, height: 180, stride: 1,
		}
	}
	street := func(stamp simtime.Stamp) *comparison {
		mount := spatial.FromRPY(mgl64.Vec3{1.2, 0.3, 1.6}, 0, 2, 5)
		return &comparison{scene: town, ego: town.Route, mount: mount, stamp: stamp, width: 640, height: 480, stride: 6}
	}
	comparisons := map[string]*comparison{
		"soup 0":    soup(0, spatial.FromRPY(mgl64.Vec3{0, 0, 1}, 0, 0, 0)),
		"soup 1":    soup(1, spatial.FromRPY(mgl64.Vec3{-20, 13, 7}, 12, 20, 140)),
		"soup 2":    soup(2, spatial.FromRPY(mgl64.Vec3{40, -40, -3}, -30, -15, 100)),
		"city":      street(0),
		"city, 9 s": street(simtime.Stamp(9 * second)),
	}
	for name, s := range map[string]*scene.Scene{"street": ownStreet(t), "kaykit": kaykit(t)} {
		if s != nil {
			comparisons[name] = &comparison{
				scene: s, mount: spatial.FromRPY(mgl64.Vec3{0, 0.4, 1.7}, 0, 0, 0), width: 640, height: 480, stride: 3,
			}
		}
	}
	var all result
	for name, c := range comparisons {
		r := c.run(t)
		t.Logf("%s: %v; %d labels differ", name, &r.ranges, r.ranges.Rays()-r.labels)
		all.add(&r)
	}
	assert.Zero(t, all.ranges.Wrong, "pixels that no edge explains: %v", all.ranges.Examples)
	assert.GreaterOrEqual(t, all.ranges.Share(), 0.9999)
	assert.GreaterOrEqual(t, float64(all.labels)/float64(all.ranges.Rays()), 0.9999)
}

// A triangle that is seen on its edge covers pixels by the rasteriser's rounding alone.
// Their rays meet its plane anywhere, and yet their depth is that of the triangle.
func TestTrianglesOnEdgeAreWhereTheyAre(t *testing.T) {
	const width, height, tall = 201, 151, 1.5
	rng := rand.New(rand.NewPCG(3, 9))
	b := scenetest.NewBuilder("edges")
	span := map[uint32][2]float64{}
	for range 200 {
		at, wide := 3+30*rng.Float64(), 0.5+2*rng.Float64()
		side := (rng.Float64() - 0.5) * at
		tilt := (rng.Float64() - 0.5) * 0.02 // degrees
		place := scenetest.At(at, side, tall+(rng.Float64()-0.5)*1e-3, scene.TagCar)
		place.Pose.Orientation = spatial.FromRPY(mgl64.Vec3{}, tilt, tilt, 0).Orientation
		a := b.Put("edge", scenetest.Plane(wide, 1), scenetest.Matte("edge", 1, 1, 1), place)
		span[a.ID] = [2]float64{at - 0.51*wide, at + 0.51*wide}
	}
	r := newRig(t, b.Scene, nil, mounted{camera.DepthDefinition, forward(tall), size(width, height)}, mounted{camera.InstanceDefinition, forward(tall), size(width, height)})
	r.fire(0)
	seen := 0
	for v := range height {
		for u := range width {
			id := idAt(r.picture(1), u, v)
			if id == 0 {
				continue
			}
			seen++
			depth := depthAt(r.picture(0), u, v)
			assert.True(t, depth >= span[id][0] && depth <= span[id][1], "pixel %d, %d of %d is %v m away, not %.2f", u, v, id, depth, span[id])
		}
	}
	assert.Greater(t, seen, 20)
}
