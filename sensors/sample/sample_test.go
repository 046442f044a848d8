package sample_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors/sample"
)

type leaf struct {
	Name  string
	Veins []float32
}

// tree has everything that Copy copies.
type tree struct {
	sample.Header
	Height float64
	Rings  []uint8
	Leaves []leaf
	Roots  [2][]int32
	Young  []tree
}

func oak(rings uint8) *tree {
	return &tree{
		Header: sample.Header{Stamp: 5, FrameID: "wood"}, Height: 12, Rings: []uint8{rings, rings}, Roots: [2][]int32{{1, 2}, nil},
		Leaves: []leaf{{"a", []float32{1}}, {"b", []float32{2, 3}}}, Young: []tree{{Height: 1, Rings: []uint8{rings}}},
	}
}

func TestCopySharesNoMemory(t *testing.T) {
	var dst tree
	src := oak(7)
	sample.Copy(&dst, src)
	require.Equal(t, oak(7), &dst)
	src.Rings[0], src.Leaves[0].Name, src.Leaves[1].Veins[0] = 0, "", 0
	src.Roots[0][1], src.Young[0].Height, src.Young[0].Rings[0] = 0, 0, 0
	assert.Equal(t, oak(7), &dst)
}

func TestCopyReusesMemory(t *testing.T) {
	var dst tree
	sample.Copy(&dst, oak(7))
	rings, small := &dst.Rings[0], oak(9)
	small.Rings, small.Leaves = small.Rings[:1], small.Leaves[:1]
	sample.Copy(&dst, small)
	assert.Equal(t, small, &dst)
	assert.Same(t, rings, &dst.Rings[0])
	assert.Zero(t, testing.AllocsPerRun(20, func() { sample.Copy(&dst, small) }))
	sample.Copy(&dst, &tree{})
	assert.Empty(t, dst.Leaves)
	assert.Empty(t, dst.FrameID)
}

func TestWhatCantBeCopied(t *testing.T) {
	type shy struct {
		Open   []int
		hidden int
	}
	type closed struct{ hidden int }
	for name, c := range map[string]struct{ of, want any }{
		"a pointer":            {struct{ At *int }{}, "field At"},
		"a map below":          {struct{ Parts []struct{ By map[int]int } }{}, "field By"},
		"an interface":         {struct{ V [2]any }{}, "field V"},
		"a function":           {struct{ F func() }{}, "field F"},
		"hidden beside slices": {shy{hidden: 1}, "field hidden"},
		"a tree":               {tree{}, nil},
		"hidden alone":         {closed{hidden: 1}, nil},
	} {
		err := sample.Copyable(reflect.TypeOf(c.of))
		if c.want == nil {
			assert.NoError(t, err, name)
		} else {
			assert.ErrorContains(t, err, c.want.(string), name)
		}
	}
}

// BenchmarkCopy copies samples without slices and with one.
func BenchmarkCopy(b *testing.B) {
	var imu, imuCopy sample.Imu
	info, infoCopy := sample.CameraInfo{D: make([]float64, 5)}, sample.CameraInfo{}
	for name, copyOne := range map[string]func(){
		"imu": func() { sample.Copy(&imuCopy, &imu) }, "camera info": func() { sample.Copy(&infoCopy, &info) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				copyOne()
			}
		})
	}
}
