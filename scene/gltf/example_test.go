package gltf_test

import (
	"context"
	"fmt"

	"github.com/raybridge/raybridge/scene/gltf"
)

// A model of two nodes, loaded and listed.
func ExampleLoad() {
	a, err := gltf.Load(context.Background(), "testdata/car.gltf", gltf.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.Name, "has", len(a.Meshes), "meshes,", len(a.Materials), "material")
	for _, n := range a.Nodes {
		fmt.Println(n.Name, n.Tag, n.Actor, n.Local.Translation)
	}
	// Output:
	// car has 2 meshes, 1 material
	// car car true [0 0 0]
	// antenna pole false [-1.5 0.5 1.5]
}

// What is wrong with a file is named with its place.
func ExampleLoad_error() {
	_, err := gltf.Load(context.Background(), "testdata/short_buffer.gltf", gltf.Options{})
	fmt.Println(err)
	// Output:
	// testdata/short_buffer.gltf: meshes[0].primitives[0].attributes.POSITION: accessors[0]: bufferViews[0] ends at byte 36, buffers[0] has 24
}
