//go:build cgo

package scene_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl32"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/spatial"
)

// village is 100,000 triangles: hilly ground and boxes cut into small faces.
func village() *scene.Scene {
	b := scenetest.NewBuilder("village")
	ground := scenetest.Plane(256, 64)
	for i, p := range ground.Positions {
		ground.Positions[i][2] = 0.5 * float32(math.Sin(float64(p[0])*0.15)*math.Cos(float64(p[1])*0.11))
	}
	grey := scenetest.Matte("grey", 0.5, 0.5, 0.5)
	b.Put("ground", ground, grey, scenetest.At(0, 0, 0, scene.TagTerrain))
	rng := rand.New(rand.NewPCG(5, 6))
	n := 0
	for n < 92000 {
		side := 4 + rng.IntN(8)
		box := scene.Mesh{}
		h := 2 + rng.Float32()*10
		for face := range 6 {
			plane := scenetest.Plane(1, side)
			at := uint32(len(box.Positions))
			for k, p := range plane.Positions {
				q := mgl32.Vec3{p[0], p[1], 0.5}
				nn := mgl32.Vec3{0, 0, 1}
				for range face % 3 {
					q, nn = mgl32.Vec3{q[2], q[0], q[1]}, mgl32.Vec3{nn[2], nn[0], nn[1]}
				}
				if face >= 3 {
					q, nn = q.Mul(-1), nn.Mul(-1)
				}
				box.Positions = append(box.Positions, mgl32.Vec3{q[0] * 4, q[1] * 5, q[2] * h})
				box.Normals = append(box.Normals, nn)
				box.UVs = append(box.UVs, plane.UVs[k])
			}
			for _, i := range plane.Indices {
				box.Indices = append(box.Indices, at+i)
			}
		}
		r, phi := 8+112*rng.Float64(), rng.Float64()*2*math.Pi
		p := scenetest.At(r*math.Cos(phi), r*math.Sin(phi), float64(h)/2-0.5, scene.TagBuilding)
		p.Pose.Orientation = spatial.FromRPY(p.Pose.Position, 0, 0, rng.Float64()*360).Orientation
		b.Put("box", box, grey, p)
		n += len(box.Indices) / 3
	}
	return b.Scene
}

// lidarRays are a device's rays, ring-major groups of columns as the benchmark
// orders them.
func lidarRays(rings, columns int, low, high float64, rolling bool, order func(ring, column int) int) []listedRay {
	rays := make([]listedRay, rings*columns)
	for r := range rings {
		for c := range columns {
			el := (low + (high-low)*float64(r)/float64(rings-1)) * math.Pi / 180
			az := 2 * math.Pi * float64(c) / float64(columns)
			ray := listedRay{origin: [3]float32{0, 0, 2}, tmin: 0.1, tmax: 100}
			ray.direction = [3]float32{float32(math.Cos(el) * math.Cos(az)), float32(math.Cos(el) * math.Sin(az)), float32(math.Sin(el))}
			if rolling {
				ray.seconds = float32(0.1 * float64(c) / float64(columns))
			}
			rays[order(r, c)] = ray
		}
	}
	return rays
}

func BenchmarkTrace(b *testing.B) {
	s := village()
	w := buildWorld(b, s)
	c := newCaster(b, w, recorded(s, nil))
	b.Logf("%d triangles, %d nodes", w.Triangles(), len(w.Nodes))
	for _, bench := range []struct {
		name           string
		rings, columns int
		low, high      float64
		order          func(ring, column int) int
	}{
		{"VLP16/ring", 16, 1800, -15, 15, func(r, c int) int { return r*1800 + c }},
		{"VLP16/column", 16, 1800, -15, 15, func(r, c int) int { return c*16 + r }},
		{"VLP16/4x2", 16, 1800, -15, 15, func(r, c int) int { return (c/4*8+r/2)*8 + (r%2)*4 + c%4 }},
		{"VLP16/8x1", 16, 1800, -15, 15, func(r, c int) int { return (c/8*16+r)*8 + c%8 }},
		{"uniform/8x1", 64, 1800, -20, 20, func(r, c int) int { return (c/8*64+r)*8 + c%8 }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			rays := lidarRays(bench.rings, bench.columns, bench.low, bench.high, false, bench.order)
			c.cast(rays, scene.Window{Mount: spatial.Identity()}, 1)
			hits := c.cast(rays, scene.Window{Mount: spatial.Identity()}, b.N)
			n := 0
			for _, h := range hits {
				if h.triangle >= 0 {
					n++
				}
			}
			b.ReportMetric(float64(len(rays)*b.N)/b.Elapsed().Seconds()/1e6, "Mrays/s")
			b.ReportMetric(float64(n)/float64(len(rays)), "hits")
		})
	}
}
