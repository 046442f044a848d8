//go:build cgo

package scene_test

import (
	"math"
	"math/rand/v2"

	"syscall"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
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

// lidarRays are a device's rays from a mount on the ego, neighbouring columns
// of one laser side by side.
func lidarRays(s *scene.Scene, w *scene.World, mount spatial.Pose, rings, columns int, low, high float64) []listedRay {
	rays := make([]listedRay, rings*columns)
	pose := w.FromMap(s.Ego.Compose(mount))
	for i := range rays {
		el := (low + (high-low)*float64(i/columns)/float64(rings-1)) * math.Pi / 180
		az := 2 * math.Pi * float64(i%columns) / float64(columns)
		d := pose.Rotate(mgl64.Vec3{math.Cos(el) * math.Cos(az), math.Cos(el) * math.Sin(az), math.Sin(el)})
		rays[i] = listedRay{tmin: 0.1, tmax: 100, seconds: float32(0.1 * float64(i%columns) / float64(columns))}
		for a := range 3 {
			rays[i].origin[a], rays[i].direction[a] = float32(pose.Position[a]), float32(d[a])
		}
	}
	return rays
}

func BenchmarkTrace(b *testing.B) {
	town, err := city.Generate(city.Options{})
	require.NoError(b, err)
	instant, scan := scene.Window{}, scene.Window{EndNs: 100e6}
	for _, bench := range []struct {
		name           string
		scene          *scene.Scene
		rings, columns int
		low, high      float64
		window         scene.Window
	}{
		{"village/VLP16", village(), 16, 1800, -15, 15, instant},
		{"city/VLP16", town, 16, 1800, -15, 15, instant},
		{"city/VLP16_rolling", town, 16, 1800, -15, 15, scan},
		{"city/uniform_1800x64", town, 64, 1800, -20, 20, instant},
	} {
		b.Run(bench.name, func(b *testing.B) {
			w := buildWorld(b, bench.scene)
			c := newCaster(b, w, recorded(bench.scene, nil))
			bench.window.Mount = spatial.FromRPY(mgl64.Vec3{1, 0, 1.9}, 0, 0, 0)
			rays := lidarRays(bench.scene, w, bench.window.Mount, bench.rings, bench.columns, bench.low, bench.high)
			c.cast(rays, bench.window, 1)
			b.ResetTimer()
			cpu := cpuTime()
			hits := c.cast(rays, bench.window, b.N)
			n := 0
			for _, h := range hits {
				if h.triangle >= 0 {
					n++
				}
			}
			traced := float64(len(rays) * b.N)
			b.ReportMetric(traced/b.Elapsed().Seconds()/1e6, "Mrays/s")
			b.ReportMetric(float64(cpuTime()-cpu)/traced, "cpu-ns/ray")
			b.ReportMetric(float64(n)/float64(len(rays)), "hits")
		})
	}
}

// cpuTime is what the process has used of all cores, which other programs on
// the machine disturb less than the wall clock.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
