package gltf_test

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
)

// corner is a triangle's corner in the world: position and unit normal.
type corner struct{ position, normal mgl64.Vec3 }

// worldTriangles places all of an asset's meshes in the world.
func worldTriangles(a *scene.Asset) [][3]corner {
	global := make([]mgl64.Mat4, len(a.Nodes))
	var out [][3]corner
	for i, n := range a.Nodes {
		global[i] = n.Local.Mat4()
		if n.Parent >= 0 {
			global[i] = global[n.Parent].Mul4(global[i])
		}
		if n.Mesh < 0 {
			continue
		}
		normals := global[i].Mat3().Inv().Transpose()
		m := a.Meshes[n.Mesh]
		for t := 0; t < len(m.Indices); t += 3 {
			var tri [3]corner
			for c, v := range m.Indices[t : t+3] {
				tri[c] = corner{
					global[i].Mul4x1(wide(m.Positions[v]).Vec4(1)).Vec3(),
					normals.Mul3x1(wide(m.Normals[v])).Normalize(),
				}
			}
			out = append(out, tri)
		}
	}
	return out
}

func wide(v [3]float32) mgl64.Vec3 {
	return mgl64.Vec3{float64(v[0]), float64(v[1]), float64(v[2])}
}

func bounds(a *scene.Asset) (lo, hi mgl64.Vec3) {
	for i, tri := range worldTriangles(a) {
		for j, c := range tri {
			for k := range 3 {
				if i == 0 && j == 0 {
					lo[k], hi[k] = c.position[k], c.position[k]
				}
				lo[k], hi[k] = min(lo[k], c.position[k]), max(hi[k], c.position[k])
			}
		}
	}
	return lo, hi
}

func triangleCount(a *scene.Asset) int {
	n := 0
	for _, node := range a.Nodes {
		if node.Mesh >= 0 {
			n += len(a.Meshes[node.Mesh].Indices) / 3
		}
	}
	return n
}
