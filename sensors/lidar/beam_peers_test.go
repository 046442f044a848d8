//go:build peers && cgo

package lidar_test

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
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

// TestPeerEmbreeTracesTheSubRays: Embree finds the ranges of all sub-rays of beams among loose triangles, each an instance. As many
// echoes come back as groups of them lie apart, and each of its own group. On one triangle none are apart.
func TestPeerEmbreeTracesTheSubRays(t *testing.T) {
	const firings, subRays, divergence, apart = 400, 19, 20e-3, 0.64
	rng := rand.New(rand.NewPCG(7, 19))
	soup, triangles := looseTriangles(rng, 300)
	rays := make([]lidar.Ray, firings)
	for i := range rays {
		d := mgl64.Vec3{1, rng.Float64() - 0.5, rng.Float64() - 0.5}.Normalize()
		rays[i] = lidar.Ray{Direction: d, TimeNs: int64(i) * 1000, MaxM: 200}
	}
	subs := subRaysOf(rays, divergence/deviations)
	ranges := embreeRanges(t, triangles, subs)
	points := map[uint32][]sample.Point{}
	for _, p := range ranged(t, soup, rays, beamed(map[string]any{"beam_divergence": divergence * 1e3, "returns": "triple", "merge_distance": apart})) {
		points[p.Ray] = append(points[p.Ray], p)
	}
	several := 0
	for i := range rays {
		var parts []subEcho
		for k := i * subRays; k < (i+1)*subRays; k++ {
			parts = append(parts, subEcho{ranges[k], triangleAt(triangles, mgl32.Vec3(subs[6*k+3:6*k+6]).Mul(ranges[k]))})
		}
		groups, sure := echoesOf(parts, apart)
		if !sure {
			continue
		}
		list := points[uint32(i)]
		slices.SortFunc(list, func(a, b sample.Point) int { return int(math.Copysign(1, float64(a.Distance-b.Distance))) })
		require.LessOrEqual(t, len(list), len(groups), "firing %d: %v", i, groups)
		require.GreaterOrEqual(t, len(list), min(len(groups), 2), "firing %d: %v", i, groups)
		if len(groups) == 0 {
			continue
		}
		within(t, groups[0], list[0])
		within(t, groups[len(groups)-1], list[len(list)-1])
		if len(groups) > 1 {
			several++
		}
	}
	assert.Greater(t, several, firings/10)
}

// within tells whether a point is of an echo: it is the mean of what lies between its bounds.
func within(t *testing.T, echo [2]float64, p sample.Point) {
	t.Helper()
	require.GreaterOrEqual(t, float64(p.Distance), echo[0]-2e-3)
	require.LessOrEqual(t, float64(p.Distance), echo[1]+2e-3)
}

// echoesOf are the nearest and the farthest range of each echo of some sub-rays. It is sure unless ranges are nearly the distance apart
// at which echoes part.
func echoesOf(parts []subEcho, apart float64) (echoes [][2]float64, sure bool) {
	sure = true
	slices.SortFunc(parts, func(a, b subEcho) int { return cmp.Compare(a.t, b.t) })
	for i, p := range parts {
		r := float64(p.t)
		if n := len(echoes); math.IsInf(r, 1) {
			break
		} else if n == 0 || r-echoes[n-1][1] > apart && p.triangle != parts[i-1].triangle {
			echoes = append(echoes, [2]float64{r, r})
		} else {
			echoes[n-1][1] = r
		}
	}
	for i := 1; i < len(parts); i++ {
		for k := range i {
			sure = sure && math.Abs(math.Abs(float64(parts[i].t-parts[k].t))-apart) > 5e-3
		}
	}
	return echoes, sure
}

// subEcho is the range of a sub-ray, and what it meets.
type subEcho struct {
	t        float32
	triangle int
}

// triangleAt is the triangle, nine numbers each, that has a point, -1 for none.
func triangleAt(triangles []float32, p mgl32.Vec3) int {
	best, nearest := -1, 2e-3
	for i := range len(triangles) / 9 {
		a, b, c := mgl32.Vec3(triangles[9*i:9*i+3]), mgl32.Vec3(triangles[9*i+3:9*i+6]), mgl32.Vec3(triangles[9*i+6:9*i+9])
		n := b.Sub(a).Cross(c.Sub(a)).Normalize()
		inside := true
		for _, edge := range [][2]mgl32.Vec3{{a, b}, {b, c}, {c, a}} {
			inside = inside && edge[1].Sub(edge[0]).Cross(p.Sub(edge[0])).Dot(n) >= -1e-3
		}
		if off := math.Abs(float64(p.Sub(a).Dot(n))); inside && off < nearest {
			best, nearest = i, off
		}
	}
	return best
}

// subRaysOf are origin and direction of the 19 sub-rays of each firing, by docs/lidars.md.
func subRaysOf(rays []lidar.Ray, sigma float64) (list []float32) {
	for _, r := range rays {
		left := mgl64.Vec3{-r.Direction[1], r.Direction[0], 0}.Normalize()
		up := r.Direction.Cross(left)
		for k, ring := range []struct {
			rays   int
			radius float64
		}{{1, 0}, {6, 0.6876}, {12, 1.5183}} {
			for i := range ring.rays {
				sin, cos := math.Sincos(0.2*float64(k) + 2*math.Pi*float64(i)/float64(ring.rays))
				d := r.Direction.Add(left.Mul(math.Tan(ring.radius * cos * sigma))).Add(up.Mul(math.Tan(ring.radius * sin * sigma))).Normalize()
				list = append(list, 0, 0, 0, float32(d[0]), float32(d[1]), float32(d[2]))
			}
		}
	}
	return list
}

// looseTriangles is a scene of triangles of some metres, 5 to 40 m ahead, and their corners.
func looseTriangles(rng *rand.Rand, n int) (*scene.Scene, []float32) {
	b := scenetest.NewBuilder("loose")
	grey := scenetest.Matte("grey", 0.5, 0.5, 0.5)
	grey.Reflectance = 0.5
	var corners []float32
	for i := range n {
		distance := 5 + 35*rng.Float32()
		center := mgl32.Vec3{distance, distance * (rng.Float32() - 0.5), distance * (rng.Float32() - 0.5)}
		var c [3]mgl32.Vec3
		for k := range c {
			c[k] = center.Add(mgl32.Vec3{rng.Float32() - 0.5, 4 * (rng.Float32() - 0.5), 4 * (rng.Float32() - 0.5)})
			corners = append(corners, c[k][:]...)
		}
		normal := c[1].Sub(c[0]).Cross(c[2].Sub(c[0])).Normalize()
		name := fmt.Sprintf("triangle %d", i)
		mesh := scene.Mesh{Name: name, Positions: c[:], Normals: []mgl32.Vec3{normal, normal, normal}, Indices: []uint32{0, 1, 2}}
		b.Put(name, mesh, grey, scenetest.At(0, 0, 0, scene.TagBuilding))
	}
	return b.Scene, corners
}

// embreeRanges has Embree trace rays, six numbers each.
func embreeRanges(t *testing.T, triangles, rays []float32) []float32 {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "embree_check")
	source := filepath.Join("..", "..", "cmd", "raybridge", "internal", "bench", "testdata", "embree_check.c")
	out, err := exec.Command("gcc", "-O1", "-fopenmp", "-o", program, source, "-lembree3", "-lm").CombinedOutput()
	require.NoError(t, err, "%s", out)
	n := len(rays) / 6
	limits := make([]float32, 2*n)
	for i := range n {
		limits[2*i+1] = 200
	}
	for name, values := range map[string][]float32{"triangles": triangles, "rays": rays, "limits": limits, "ranges": make([]float32, n)} {
		data, err := binary.Append(nil, binary.LittleEndian, values)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".f32"), data, 0o600))
	}
	out, err = exec.Command(program, dir, "", "1", "0").CombinedOutput()
	require.NoError(t, err, "%s", out)
	data, err := os.ReadFile(filepath.Join(dir, "embree.f32"))
	require.NoError(t, err)
	found := make([]float32, n)
	_, err = binary.Decode(data, binary.LittleEndian, found)
	require.NoError(t, err)
	return found
}
