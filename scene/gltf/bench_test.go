package gltf_test

import (
	"testing"
	"testing/fstest"

	"github.com/raybridge/raybridge/scene/gltf"
)

// BenchmarkLoad loads a .glb of 200,000 triangles that share their vertices.
func BenchmarkLoad(b *testing.B) {
	const side = 317
	var positions, normals []float32
	var indices []uint32
	for y := range side {
		for x := range side {
			positions = append(positions, float32(x), 0, float32(y))
			normals = append(normals, 0, 1, 0)
			if i := uint32(y*side + x); x+1 < side && y+1 < side {
				indices = append(indices, i, i+side, i+1, i+1, i+side, i+side+1)
			}
		}
	}
	m := newModel()
	oneNode(m, m.mesh(object{"indices": m.accessor("SCALAR", indices), "attributes": object{
		"POSITION": m.accessor("VEC3", positions), "NORMAL": m.accessor("VEC3", normals)}}))
	files := fstest.MapFS{"m.glb": {Data: m.glb()}}
	b.SetBytes(int64(len(files["m.glb"].Data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := gltf.LoadFS(files, "m.glb", gltf.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(indices)/3)*float64(b.N)/b.Elapsed().Seconds(), "triangles/s")
}
