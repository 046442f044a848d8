//go:build cgo

package lidar_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
)

// deviations is the full width at half maximum of a normal distribution.
var deviations = 2 * math.Sqrt(2*math.Ln2)

// panel is a wall that faces the sensor, from left to right and from top to bottom, in metres. A slope has it recede by so much for each
// metre to the left. It is of a building if it has no tag.
type panel struct {
	distance                 float64
	left, right, top, bottom float64
	slope                    float64
	tag                      scene.Tag
	change                   func(*scene.Material)
}

// panels is a scene of them.
func panels(list ...panel) *scene.Scene {
	b := scenetest.NewBuilder("panels")
	for i, p := range list {
		m := scenetest.Matte(fmt.Sprintf("panel %d", i), 0.5, 0.5, 0.5)
		m.Reflectance = 0.5
		if p.change != nil {
			p.change(&m)
		}
		corner := func(y, z float64) mgl32.Vec3 { return mgl32.Vec3{float32(p.slope * y), float32(y), float32(z)} }
		facing := mgl32.Vec3{-1, float32(p.slope), 0}.Normalize()
		mesh := scene.Mesh{
			Name:      m.Name,
			Positions: []mgl32.Vec3{corner(p.left, p.bottom), corner(p.right, p.bottom), corner(p.right, p.top), corner(p.left, p.top)},
			Normals:   []mgl32.Vec3{facing, facing, facing, facing}, Indices: []uint32{0, 1, 2, 0, 2, 3},
		}
		b.Put(m.Name, mesh, m, scenetest.At(p.distance, 0, 0, cmp.Or(p.tag, scene.TagBuilding)))
	}
	return b.Scene
}

// fan is rays that are a step apart horizontally, from the right to the left of ahead.
func fan(n int, step float64) (rays []lidar.Ray) {
	for i := range n {
		sin, cos := math.Sincos((float64(i) - float64(n-1)/2) * step)
		rays = append(rays, lidar.Ray{Direction: mgl64.Vec3{cos, sin, 0}, TimeNs: int64(i) * 1000, MaxM: 200})
	}
	return rays
}

// tower is rays that are a step apart vertically.
func tower(n int, step float64) (rays []lidar.Ray) {
	for i := range n {
		sin, cos := math.Sincos((float64(i) - float64(n-1)/2) * step)
		rays = append(rays, lidar.Ray{Direction: mgl64.Vec3{cos, 0, sin}, TimeNs: int64(i) * 1000, MaxM: 200})
	}
	return rays
}

// beamed is a sharp receiver that misses nothing, with a beam.
func beamed(more map[string]any) map[string]any {
	a := sharp(map[string]any{"r10": 2000, "beam_divergence": 3, "beam_pattern": "full"})
	maps.Copy(a, more)
	return a
}

// A beam that an edge cuts returns the share of its energy that is on the edge's near side, Phi(d / sigma), within what
// physics.md has for each number of sub-rays.
func TestABeamThatAnEdgeCuts(t *testing.T) {
	const n, distance, horizontal, vertical = 61, 20.0, 3.0, 1.5
	for rays, bound := range map[int]float64{7: 0.22, 19: 0.12, 37: 0.07} {
		attributes := beamed(map[string]any{"beam_rays": rays, "beam_divergence": horizontal, "beam_divergence_vertical": vertical, "intensity_code": "hesai"})
		for _, c := range []struct {
			name   string
			wall   panel
			rays   []lidar.Ray
			across func(mgl64.Vec3) float64
			width  float64
		}{
			{"left", panel{distance: distance, left: 10, right: 0, top: 10, bottom: -10}, fan(n, 0.2e-3), func(d mgl64.Vec3) float64 { return d[1] / d[0] }, horizontal},
			{"above", panel{distance: distance, left: 10, right: -10, top: 10, bottom: 0}, tower(n, 0.1e-3), func(d mgl64.Vec3) float64 { return d[2] / d[0] }, vertical},
		} {
			points := ranged(t, panels(c.wall), c.rays, attributes)
			require.Greater(t, len(points), n/2)
			got := make([]float64, n)
			for _, p := range points {
				got[p.Ray] = float64(p.Intensity) / 50
				require.InDelta(t, distance, p.Distance, 0.01)
			}
			for i := range got {
				require.InDelta(t, phi(c.across(c.rays[i].Direction)/(c.width/1000/deviations)), got[i], bound, "%d sub-rays, %s, firing %d", rays, c.name, i)
			}
		}
	}
}

// A post of 5 cm at 40 m is 1.25 mrad of a beam of 3 mrad: 0.42 of it. Between all firings together no energy is lost, and a receiver
// that sees a quarter of what the post's middle returns sees it over both angles, 4.25 mrad.
func TestAPostIsAsWideAsTheBeamAndItself(t *testing.T) {
	const n, step, distance, post, beam = 161, 0.05e-3, 40.0, 0.05, 3.0
	scene := panels(panel{distance: distance, left: post / 2, right: -post / 2, top: 5, bottom: -5})
	shares := func(more map[string]any) (all []float64) {
		all = make([]float64, n)
		a := beamed(map[string]any{"beam_rays": 37, "beam_divergence": beam, "intensity_code": "hesai"})
		maps.Copy(a, more)
		for _, p := range ranged(t, scene, fan(n, step), a) {
			all[p.Ray] = float64(p.Intensity) / 50
		}
		return all
	}
	seen := shares(nil)
	sum := 0.0
	for _, share := range seen {
		sum += share * step
	}
	assert.InDelta(t, 0.42, seen[n/2], 0.07)
	assert.InEpsilon(t, post/distance, sum, 0.03)
	// The strength of a share of 0.1 at 40 m is that of 10 % at R10.
	r10 := distance * math.Sqrt(0.1/(0.5*0.1))
	wide := 0
	for _, share := range shares(map[string]any{"r10": r10}) {
		if share > 0 {
			wide++
		}
	}
	assert.InDelta(t, 4.25e-3, float64(wide)*step, 0.6e-3)
	narrow := ranged(t, scene, fan(n, step), sharp(map[string]any{"r10": 2000}))
	assert.InDelta(t, post/distance, float64(len(narrow))*step, 2*step, "a ray without width sees the post alone")
}

// Two halves of a beam that meet walls some way apart are one echo within 0.85 of the pulse's half length, 0.64 m, at the mean
// of their ranges by energy. Else they are two.
func TestEchoesMergeWithinThePulse(t *testing.T) {
	const near = 20.0
	for _, c := range []struct {
		step, pulse, merge float64
		want               int
	}{{0.3, 5, 0, 1}, {0.6, 5, 0, 1}, {0.7, 5, 0, 2}, {2, 5, 0, 2}, {0.7, 10, 0, 1}, {2, 5, 2.5, 1}, {0.3, 5, 0.2, 2}} {
		s := panels(panel{distance: near, left: 3, right: 0, top: 3, bottom: -3}, panel{distance: near + c.step, left: 3, right: -3, top: 3, bottom: -3})
		points := ranged(t, s, fan(1, 0), beamed(map[string]any{"pulse_width": c.pulse, "merge_distance": c.merge, "returns": "dual"}))
		require.Len(t, points, c.want, "%v", c)
		if c.want == 2 {
			assert.InDelta(t, near, points[0].Distance, 0.01)
			assert.InDelta(t, near+c.step, points[1].Distance, 0.01)
			continue
		}
		// 10 of 19 sub-rays are on the left or in the middle.
		a, b := 1/(near*near), 1/((near+c.step)*(near+c.step))
		low, high := (8*a*near+11*b*(near+c.step))/(8*a+11*b), (11*a*near+8*b*(near+c.step))/(11*a+8*b)
		assert.GreaterOrEqual(t, float64(points[0].Distance), min(low, high)-0.01)
		assert.LessOrEqual(t, float64(points[0].Distance), max(low, high)+0.01)
	}
}

// An echo of two surfaces has the label and the incidence of the sub-ray that returns most, not of the axis nor of the surface that
// returns most altogether. The near one has 0.58 of the beam and its axis, and the far one is turned by 45 degrees.
func TestAnEchoIsOfItsStrongestSubRay(t *testing.T) {
	for _, c := range []struct {
		near, far float32 // reflectances
		tag       scene.Tag
		cos       float64
	}{
		{0.5, 0.5, scene.TagPole, 1},
		{0.3, 0.5, scene.TagFence, math.Sqrt2 / 2}, // 0.35 of the far one in each sub-ray, and in all 0.15 beside 0.17
		{0.1, 0.9, scene.TagFence, math.Sqrt2 / 2},
	} {
		s := panels(
			panel{distance: 20, left: 3, right: -0.005, top: 3, bottom: -3, tag: scene.TagPole, change: reflecting(c.near)},
			panel{distance: 20.3, left: 3, right: -3, top: 3, bottom: -3, slope: 1, tag: scene.TagFence, change: reflecting(c.far)})
		points := ranged(t, s, fan(1, 0), beamed(map[string]any{"returns": "dual"}))
		require.Len(t, points, 1, "%v", c)
		assert.Equal(t, uint8(c.tag), points[0].Tag, "%v", c)
		assert.InDelta(t, c.cos, points[0].CosIncidence, 1e-2, "%v", c)
	}
}

// fresnel is the share of unpolarised light that a face of glass reflects (n = 1.5).
func fresnel(angle float64) float64 {
	if angle == 0 {
		return 0.04
	}
	in := math.Asin(math.Sin(angle) / 1.5)
	s, p := math.Sin(angle-in)/math.Sin(angle+in), math.Tan(angle-in)/math.Tan(angle+in)
	return (s*s + p*p) / 2
}

// Light goes through a pane, there and back: 0.852 of it at normal incidence. A rough blended surface, such as leaves, lets through the share that it
// doesn't cover. Light passes two surfaces at most.
func TestLightPassesPanesAndLeaves(t *testing.T) {
	require.InDelta(t, 0.852, math.Pow((1-fresnel(0))/(1+fresnel(0)), 2), 5e-4)
	blended := func(alpha, roughness float32) func(*scene.Material) {
		return func(m *scene.Material) { m.AlphaMode, m.BaseColor[3], m.Roughness = scene.AlphaBlend, alpha, roughness }
	}
	wall := panel{distance: 20, left: 30, right: -30, top: 30, bottom: -30}
	sheet := func(distance float64, change func(*scene.Material)) panel {
		return panel{distance: distance, left: 10, right: -10, top: 10, bottom: -10, change: change}
	}
	for name, c := range map[string]struct {
		front []panel
		want  []float64 // apparent reflectance of the echoes by range
		angle float64
	}{
		"a pane":           {[]panel{sheet(10, blended(0.02, 0))}, []float64{0.01, 0.5 * 0.98 * 0.852}, 0},
		"a pane at 40 deg": {[]panel{sheet(10, blended(0.02, 0))}, []float64{0.01, 0.5 * 0.98}, mgl64.DegToRad(40)},
		"leaves":           {[]panel{sheet(10, blended(0.25, 1))}, []float64{0.125, 0.375}, 0},
		"two nets":         {[]panel{sheet(5, blended(0.02, 1)), sheet(10, blended(0.5, 1))}, []float64{0.01, 0.245, 0.245}, 0},
		"three nets":       {[]panel{sheet(4, blended(0.02, 1)), sheet(8, blended(0.5, 1)), sheet(12, blended(0.5, 1))}, []float64{0.01, 0.245, 0.1225}, 0},
	} {
		for _, pattern := range []string{"adaptive", "full"} {
			sin, cos := math.Sincos(c.angle)
			ray := lidar.Ray{Direction: mgl64.Vec3{cos, sin, 0}, MaxM: 200}
			points := ranged(t, panels(append(c.front, wall)...), []lidar.Ray{ray}, beamed(map[string]any{
				"beam_divergence": 0.1, "intensity_code": "hesai", "returns": "triple", "firing_period": 0.1, "merge_distance": 0.5, "beam_pattern": pattern,
			}))
			slices.SortFunc(points, func(a, b sample.Point) int { return cmp.Compare(a.Distance, b.Distance) })
			require.Len(t, points, len(c.want), name)
			for i, want := range c.want {
				if c.angle > 0 {
					want *= math.Cos(c.angle)
					if i > 0 {
						face := fresnel(c.angle)
						want *= math.Pow((1-face)/(1+face), 2)
					}
				}
				assert.InEpsilon(t, want, points[i].Intensity/100, 0.01, "%s, %s: echo %d", name, pattern, i)
			}
		}
	}
}

// Which points a firing has, and what they are, in front of none to three walls. A wall's strength is its share of the beam by
// the square of its range.
func TestReturnsOfNoneToThreeWalls(t *testing.T) {
	const (
		strongest, last, first, only, second = 1, 2, 4, 8, 16
		sigma                                = 20e-3 / 2.3548
	)
	// covers is a wall whose left edge is at so many deviations of the beam to the left.
	covers := func(distance, edge float64) panel {
		return panel{distance: distance, left: edge * sigma * distance, right: -9, top: 9, bottom: -9}
	}
	type echo struct {
		distance float64
		mask     uint8
	}
	for name, c := range map[string]struct {
		walls []panel
		modes map[string][]echo
	}{
		"none": {[]panel{{distance: 500, left: 1, right: -1, top: 1, bottom: -1}}, map[string][]echo{"strongest": nil, "dual": nil, "triple": nil}},
		"one": {[]panel{covers(10, 5)}, map[string][]echo{
			"strongest": {{10, strongest}}, "last": {{10, last}}, "first": {{10, first}},
			"dual": {{10, strongest | last | first | only}}, "triple": {{10, strongest | last | first | only}},
		}},
		"two, the nearer is stronger": {[]panel{covers(10, 0), covers(15, 5)}, map[string][]echo{
			"strongest": {{10, strongest}}, "last": {{15, last}}, "first": {{10, first}},
			"dual":   {{10, strongest | first}, {15, last | second}},
			"triple": {{10, strongest | first}, {15, last | second}},
		}},
		"two, the farther is stronger": {[]panel{covers(10, -1.4), covers(12, 5)}, map[string][]echo{
			"strongest": {{12, strongest}}, "last": {{12, last}}, "first": {{10, first}},
			"dual":   {{12, strongest | last}, {10, first | second}},
			"triple": {{12, strongest | last}, {10, first | second}},
		}},
		"three, the middle is strongest": {[]panel{covers(10, -1.3), covers(11, 0.4), covers(14, 5)}, map[string][]echo{
			"strongest": {{11, strongest}}, "last": {{14, last}}, "first": {{10, first}},
			"dual":   {{11, strongest}, {14, last | second}},
			"triple": {{11, strongest}, {14, last | second}, {10, first}},
		}},
		"three, each stronger than the one before": {[]panel{covers(10, -1.6), covers(10.8, -0.5), covers(12, 5)}, map[string][]echo{
			"strongest": {{12, strongest}}, "last": {{12, last}}, "first": {{10, first}},
			"dual":   {{12, strongest | last}, {10.8, second}},
			"triple": {{12, strongest | last}, {10, first}},
		}},
		"three, the last is strongest": {[]panel{covers(10, -1.4), covers(10.8, -1), covers(12, 5)}, map[string][]echo{
			"strongest": {{12, strongest}}, "last": {{12, last}}, "first": {{10, first}},
			"dual":   {{12, strongest | last}, {10, first | second}},
			"triple": {{12, strongest | last}, {10, first | second}},
		}},
	} {
		scene := panels(c.walls...)
		for mode, want := range c.modes {
			points := ranged(t, scene, fan(1, 0), beamed(map[string]any{"beam_divergence": 20, "beam_rays": 37, "returns": mode}))
			require.Len(t, points, len(want), "%s, %s", name, mode)
			number, err := lidar.NumbersOf("autoware", sample.ReturnMode(mode))
			require.NoError(t, err)
			for i, e := range want {
				assert.InDelta(t, e.distance, points[i].Distance, 0.02, "%s, %s: point %d", name, mode, i)
				wall := slices.IndexFunc(c.walls, func(p panel) bool { return p.distance == e.distance })
				assert.EqualValues(t, wall+1, points[i].Instance, "%s, %s: point %d", name, mode, i)
				assert.InDelta(t, 1, points[i].CosIncidence, 1e-3, "%s, %s: point %d", name, mode, i)
				assert.Equal(t, number(e.mask), points[i].Return, "%s, %s: point %d", name, mode, i)
				assert.Zero(t, points[i].Ray)
			}
		}
	}
}

// If a straight edge is beside the centre of a beam, some neighbour meets something else, or no neighbour can tell, and a ray at the
// rim does: an adaptive pattern has the points of a full one, except at corners. So it is whether firings are near to one another or not.
func TestAdaptiveBeamsSeeWhatFullOnesSee(t *testing.T) {
	// One wall goes on in another, so that only its instance tells where it ends.
	plate := panel{distance: 12, left: 1.01, right: -0.7, top: 0.52, bottom: -0.4}
	next := panel{distance: 12, left: -0.7, right: -0.9, top: 0.52, bottom: -0.4, change: reflecting(0.1)}
	behind := panel{distance: 25, left: 60, right: -60, top: 60, bottom: -60}
	corner := func(d mgl64.Vec3) bool {
		beside := func(x float64, edges ...float64) bool {
			return slices.ContainsFunc(edges, func(e float64) bool { return math.Abs(plate.distance*x/d[0]-e) < 3*plate.distance*3e-3/deviations })
		}
		return beside(d[1], plate.left, plate.right, next.right) && beside(d[2], plate.top, plate.bottom)
	}
	ledge := panel{distance: 12, left: 9, right: -9, top: 0.01, bottom: -9}
	for name, c := range map[string]struct {
		scene *scene.Scene
		rays  []lidar.Ray // of beams 3 mrad wide
		pairs int
	}{
		"near":     {panels(plate, next, behind), grid(4e-3, 3e-3), 100},
		"apart":    {panels(plate, next, behind), grid(12.3e-3, 11e-3), 10},
		"in rows":  {panels(plate, next, behind), grid(1e-3, 35e-3), 10},
		"sky":      {panels(plate, next), grid(4e-3, 3e-3), -1},
		"one row":  {panels(ledge, behind), fan(31, 4e-3), 30},
		"one wall": {stepped(12, 13), grid(4e-3, 3e-3), 20},
	} {
		t.Run(name, func(t *testing.T) { assert.Greater(t, seeAsFullOnes(t, c.scene, c.rays, corner), c.pairs) })
	}
}

// grid is rows of rays. A row isn't beside the row before, and its columns aren't above those of others.
func grid(across, up float64) (rays []lidar.Ray) {
	for i := range 41 {
		sin, cos := math.Sincos((float64(i*17%41) - 20) * up)
		for k := range 61 {
			y, x := math.Sincos((float64(k) - 30 + math.Mod(0.38*float64(i), 1)) * across)
			rays = append(rays, lidar.Ray{Direction: mgl64.Vec3{cos * x, cos * y, sin}, TimeNs: int64(61*i+k) * 1000, MaxM: 200})
		}
	}
	return rays
}

// seeAsFullOnes returns how many pairs of echoes there are.
func seeAsFullOnes(t *testing.T, s *scene.Scene, rays []lidar.Ray, left func(mgl64.Vec3) bool) (pairs int) {
	t.Helper()
	pairs = math.MaxInt
	for _, n := range []int{7, 19, 37} {
		var clouds [2][]sample.Point
		for i, pattern := range []string{"adaptive", "full"} {
			clouds[i] = ranged(t, s, rays, beamed(map[string]any{"beam_rays": n, "beam_pattern": pattern, "returns": "dual", "intensity_code": "hesai"}))
			clouds[i] = slices.DeleteFunc(clouds[i], func(p sample.Point) bool { return left(rays[p.Ray].Direction) })
		}
		require.Len(t, clouds[0], len(clouds[1]), "%d sub-rays", n)
		found := 0
		for i := range clouds[0] {
			a, f := &clouds[0][i], &clouds[1][i]
			require.Equal(t, f.Ray, a.Ray)
			require.Equal(t, f.Return, a.Return, "firing %d", a.Ray)
			require.Equal(t, f.Instance, a.Instance, "firing %d", a.Ray)
			require.InDelta(t, f.Distance, a.Distance, 1e-3)
			require.InDelta(t, f.Intensity, a.Intensity, 0.05)
			if a.Return&8 == 0 {
				found++
			}
		}
		pairs = min(pairs, found)
	}
	return pairs
}

// A pole between two firings, before a wall that both meet, is seen only by beams that are traced in full.
func TestAThinPoleBetweenTwoFirings(t *testing.T) {
	pole := panel{distance: 20, left: 0.01, right: -0.01, top: 5, bottom: -5}
	s := panels(pole, panel{distance: 25, left: 30, right: -30, top: 30, bottom: -30})
	for pattern, want := range map[string]int{"adaptive": 0, "full": 2} {
		pairs := 0
		for _, p := range ranged(t, s, fan(2, 4e-3), beamed(map[string]any{"beam_rays": 37, "beam_pattern": pattern, "returns": "dual"})) {
			if math.Abs(float64(p.Distance)-pole.distance) < 0.01 {
				pairs++
			}
		}
		assert.Equal(t, want, pairs, pattern)
	}
}

// A beam without any width to speak of measures what a ray without width does, of what moves, too.
func TestANarrowBeamIsARay(t *testing.T) {
	var rays []lidar.Ray
	for i := range 1500 {
		up, around := 0.4*math.Sin(0.7*float64(i)), 2.399963*float64(i)
		rays = append(rays, lidar.Ray{
			Direction: mgl64.Vec3{math.Cos(up) * math.Cos(around), math.Cos(up) * math.Sin(around), math.Sin(up)}, TimeNs: int64(i) * 60_000, MinM: float64(i % 5), MaxM: 50,
		})
	}
	s := scenetest.Soup(2, 3000, true)
	read := func(more map[string]any) map[uint32]sample.Point {
		a := sharp(map[string]any{"r10": 2000, "dropoff_general_rate": 0.2, "intensity_code": "hesai"})
		maps.Copy(a, more)
		found := map[uint32]sample.Point{}
		for _, p := range ranged(t, s, rays, a) {
			found[p.Ray] = p
		}
		return found
	}
	want := read(nil)
	require.Greater(t, len(want), 400)
	movers := 0
	for _, pattern := range []string{"adaptive", "full"} {
		got, off := read(map[string]any{"beam_divergence": 0.001, "beam_pattern": pattern}), 0
		for ray, w := range want {
			g := got[ray]
			if math.Abs(float64(w.Distance-g.Distance)) > 1e-3 || math.Abs(float64(w.CosIncidence-g.CosIncidence)) > 1e-3 || math.Abs(float64(w.Intensity-g.Intensity)) > 0.05 ||
				w.Instance != g.Instance || w.Tag != g.Tag || w.TimeNs != g.TimeNs {
				off++
			}
			if scene.Tag(w.Tag) == scene.TagCar || scene.Tag(w.Tag) == scene.TagPedestrian {
				movers++
			}
		}
		assert.Len(t, got, len(want), pattern)
		assert.LessOrEqual(t, off, 3, pattern)
	}
	assert.Greater(t, movers, 50)
}

// A level plane is one echo of a beam, however few sub-rays it has and however long it is on it: its end is that of a ray.
func TestALevelPlaneIsOneEcho(t *testing.T) {
	for _, height := range []float64{2, 0.3} {
		b := scenetest.NewBuilder("ground")
		b.Put("ground", scenetest.Plane(800, 8), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, -height, scene.TagRoads))
		end := math.Cbrt(0.277 * height * 200 * 200 / 0.1)
		var rays []lidar.Ray
		for i := range 180 {
			sin := height / (end * (0.7 + float64(i)/400))
			rays = append(rays, lidar.Ray{Direction: mgl64.Vec3{math.Sqrt(1 - sin*sin), 0, -sin}, TimeNs: int64(i) * 1000, MaxM: 500})
		}
		farthest := func(attributes map[string]any) (last float64) {
			for _, p := range ranged(t, b.Scene, rays, sharp(attributes)) {
				last = max(last, float64(p.Distance))
			}
			return last
		}
		want := farthest(map[string]any{"r10": 200})
		for _, n := range []int{7, 19, 37} {
			a := map[string]any{"r10": 200, "beam_divergence": 2.27, "beam_rays": n, "beam_pattern": "full"}
			assert.InEpsilon(t, want, farthest(a), 0.02, "%d sub-rays, %v m high", n, height)
			a["r10"], a["returns"] = 2000, "dual"
			assert.Len(t, ranged(t, b.Scene, rays, sharp(a)), len(rays), "%d sub-rays, %v m high: one echo each", n, height)
		}
	}
}

// A platform and the ground before which it ends are two planes of one instance, however long a grazing beam is on each.
func TestAPlatformOnTheGroundIsAnEchoOfItsOwn(t *testing.T) {
	const high, low, end = -1.5, -2.0, 30.0
	up := mgl32.Vec3{0, 0, 1}
	mesh := scene.Mesh{
		Name: "platform",
		Positions: []mgl32.Vec3{
			{0, -20, high}, {end, -20, high}, {end, 20, high}, {0, 20, high}, {end, -20, low}, {90, -20, low}, {90, 20, low}, {end, 20, low},
		},
		Normals: []mgl32.Vec3{up, up, up, up, up, up, up, up},
		Indices: []uint32{0, 1, 2, 0, 2, 3, 4, 5, 6, 4, 6, 7},
	}
	b := scenetest.NewBuilder("platform")
	b.Put("platform", mesh, scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagRoads))
	length := math.Hypot(end, high)
	edge := lidar.Ray{Direction: mgl64.Vec3{end / length, 0, high / length}, MaxM: 200}
	points := ranged(t, b.Scene, []lidar.Ray{edge}, beamed(map[string]any{"beam_divergence": 15, "returns": "dual"}))
	require.Len(t, points, 2)
	slices.SortFunc(points, func(a, b sample.Point) int { return cmp.Compare(a.Distance, b.Distance) })
	assert.Less(t, points[0].Distance, float32(length)+0.1)
	assert.Greater(t, float64(points[1].Distance), 0.99*length*low/high)
}

// stepped is two walls of one instance: the left one is near, and the right one far.
func stepped(near, far float32) *scene.Scene {
	corner := func(x, y, z float32) mgl32.Vec3 { return mgl32.Vec3{x, y, z} }
	facing := mgl32.Vec3{-1, 0, 0}
	mesh := scene.Mesh{
		Name: "steps",
		Positions: []mgl32.Vec3{
			corner(near, 10, -10), corner(near, 0, -10), corner(near, 0, 10), corner(near, 10, 10),
			corner(far, 0.5, -10), corner(far, -10, -10), corner(far, -10, 10), corner(far, 0.5, 10),
		},
		Normals: []mgl32.Vec3{facing, facing, facing, facing, facing, facing, facing, facing},
		Indices: []uint32{0, 1, 2, 0, 2, 3, 4, 5, 6, 4, 6, 7},
	}
	b := scenetest.NewBuilder("steps")
	b.Put("steps", mesh, scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagBuilding))
	return b.Scene
}

// Two walls of one instance, one behind the other and nearer than 2 % of the range, aren't one plane.
func TestStepsOfOneInstanceAreTwoEchoes(t *testing.T) {
	const near, far = 40.0, 40.7
	points := ranged(t, stepped(near, far), fan(1, 0), beamed(map[string]any{"returns": "dual"}))
	require.Len(t, points, 2)
	for i, p := range points {
		assert.Condition(t, func() bool {
			return math.Abs(float64(p.Distance)-near) < 0.01 || math.Abs(float64(p.Distance)-far) < 0.01
		}, "point %d: %v", i, p.Distance)
	}
}
