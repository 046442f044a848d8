package scene_test

import (
	"context"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
)

func buildWorld(t testing.TB, s *scene.Scene) *scene.World {
	t.Helper()
	w, err := scene.Build(context.Background(), s, scene.BuildOptions{})
	require.NoError(t, err)
	return w
}

// recorded returns a history of ticks every 10 ms up to 200 ms.
func recorded(s *scene.Scene, ego scene.Motion) *scene.History {
	h := scene.NewHistory(s, ego, 0)
	for t := int64(0); t <= 200e6; t += 10e6 {
		h.Record(t)
	}
	return h
}

func wide(v [3]float32) mgl64.Vec3 { return mgl64.Vec3{float64(v[0]), float64(v[1]), float64(v[2])} }

// cpuHit is what searchTree finds.
type cpuHit struct {
	t        float32
	triangle int
}

// searchTree walks a world's tables in float32 as shaders/lib/trace.glsl does,
// without its order: what it needs of the tables is all that the shader needs.
func searchTree(w *scene.World, root scene.Ref, o, d [3]float32, tmin, tmax float32) cpuHit {
	best := cpuHit{t: tmax, triangle: -1}
	if root == 0 {
		return best
	}
	stack := []scene.Ref{root}
	for len(stack) > 0 {
		ref := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if first, count, leaf := ref.Leaf(); leaf {
			for i := first; i < first+count; i++ {
				best.test(w, i, o, d, tmin)
			}
			continue
		}
		n := &w.Nodes[ref.Node()]
		for k := range 4 {
			near, far := tmin, best.t
			for a := range 3 {
				inv := 1 / d[a]
				if d[a] == 0 {
					inv = 1e20
				}
				t0, t1 := (n[2*a][k]-o[a])*inv, (n[2*a+1][k]-o[a])*inv
				near, far = max(near, min(t0, t1)), min(far, max(t0, t1))
			}
			if n[0][k] <= n[1][k] && near <= far*1.0000005 {
				stack = append(stack, scene.Ref(math.Float32bits(n[6][k])))
			}
		}
	}
	return best
}

func (h *cpuHit) test(w *scene.World, i int, o, d [3]float32, tmin float32) {
	p, u, v := w.Planes[3*i], w.Planes[3*i+1], w.Planes[3*i+2]
	dot := func(r scene.Row, x [3]float32) float32 { return r[0]*x[0] + r[1]*x[1] + r[2]*x[2] }
	t := -(dot(p, o) + p[3]) / dot(p, d)
	at := [3]float32{o[0] + t*d[0], o[1] + t*d[1], o[2] + t*d[2]}
	a, b := dot(u, at)+u[3], dot(v, at)+v[3]
	if t >= tmin && t < h.t && a >= 0 && b >= 0 && a+b <= 1 {
		h.t, h.triangle = t, i
	}
}
