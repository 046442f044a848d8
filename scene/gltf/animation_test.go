package gltf_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/gltf"
)

// animated is one node with one animation; the channel's keys are given.
func animated(path, interpolation string, times []float32, typ string, values any, more object) *model {
	m := arrow()
	sampler := object{"input": m.accessor("SCALAR", times), "output": m.accessorWith(typ, values, more)}
	if interpolation != "" {
		sampler["interpolation"] = interpolation
	}
	m.add("animations", object{
		"channels": list{object{"sampler": 0, "target": object{"node": 0, "path": path}}},
		"samplers": list{sampler},
	})
	return m
}

var animationCases = map[string]struct {
	m    *model
	o    gltf.Options
	want scene.Channel
}{
	"translation": {
		animated("translation", "", []float32{0, 0.5, 2}, "VEC3", []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}, nil),
		gltf.Options{Scale: 10},
		scene.Channel{TimesNs: []int64{0, 5e8, 2e9}, Values: []float64{30, 10, 20, 60, 40, 50, 90, 70, 80}},
	},
	"scale by steps": {
		animated("scale", "STEP", []float32{1, 2}, "VEC3", []float32{1, 2, 3, 4, 5, 6}, nil),
		gltf.Options{Scale: 10},
		scene.Channel{Path: scene.PathScale, Interpolation: scene.InterpolationStep, TimesNs: []int64{1e9, 2e9}, Values: []float64{3, 1, 2, 6, 4, 5}},
	},
	"rotation, brought to unit length": {
		animated("rotation", "LINEAR", []float32{0, 1}, "VEC4", []float32{2, 0, 0, 0, 0, math.Sqrt2, 0, math.Sqrt2}, nil),
		gltf.Options{},
		scene.Channel{Path: scene.PathRotation, TimesNs: []int64{0, 1e9}, Values: []float64{0, 1, 0, 0, 0, 0, math.Sqrt2 / 2, math.Sqrt2 / 2}},
	},
	"normalized rotation": {
		animated("rotation", "LINEAR", []float32{0}, "VEC4", []int16{0, 0, 32767, 0}, object{"normalized": true}),
		gltf.Options{},
		scene.Channel{Path: scene.PathRotation, TimesNs: []int64{0}, Values: []float64{1, 0, 0, 0}},
	},
	"cubic rotation: tangents as they are": {
		animated("rotation", "CUBICSPLINE", []float32{0}, "VEC4", []float32{1, 2, 3, 4, 0, 0, 0, 1, 0, 0, 0, 0}, nil),
		gltf.Options{},
		scene.Channel{Path: scene.PathRotation, Interpolation: scene.InterpolationCubicSpline, TimesNs: []int64{0}, Values: []float64{3, 1, 2, 4, 0, 0, 0, 1, 0, 0, 0, 0}},
	},
	"cubic translation": {
		animated("translation", "CUBICSPLINE", []float32{0}, "VEC3", []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}, nil),
		gltf.Options{},
		scene.Channel{Interpolation: scene.InterpolationCubicSpline, TimesNs: []int64{0}, Values: []float64{3, 1, 2, 6, 4, 5, 9, 7, 8}},
	},
}

func TestAnimationChannels(t *testing.T) {
	for name, c := range animationCases {
		a := c.m.load(t, c.o)
		checkAsset(t, a)
		require.Len(t, a.Animations, 1, name)
		got := a.Animations[0]
		assert.Equal(t, "animation_0", got.Name)
		assert.Equal(t, c.want.TimesNs[len(c.want.TimesNs)-1], got.DurationNs, name)
		require.Len(t, got.Channels, 1)
		assert.InDeltaSlice(t, c.want.Values, got.Channels[0].Values, 1e-7, name)
		c.want.Values, got.Channels[0].Values = nil, nil
		assert.Equal(t, c.want, got.Channels[0], name)
	}
}

// A mirrored parent and child, both animated with random keys. The world triangles at a key are
// those of a file that has the key as its transform.
func TestAnimationsInMirroredNodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 50 {
		m := arrow()
		var samplers, channels list
		static := make(list, 2)
		nodes := make(list, 2)
		for n := range 2 {
			negative := []float32{1, -1}[rng.IntN(2)]
			nodes[n] = object{"mesh": 0, "scale": list{negative, 1, 1}}
			key := object{"mesh": 0}
			for path, typ := range map[string]string{"translation": "VEC3", "rotation": "VEC4", "scale": "VEC3"} {
				values := make([]float32, componentCounts[typ])
				for i := range values {
					values[i] = 0.1 + rng.Float32()
				}
				if path == "scale" {
					values[0] *= negative
				}
				if path == "rotation" {
					q := mgl64.Quat{W: float64(values[3]), V: wide([3]float32(values))}.Normalize()
					values = []float32{float32(q.V[0]), float32(q.V[1]), float32(q.V[2]), float32(q.W)}
				}
				key[path] = values
				samplers = append(samplers, object{"input": m.accessor("SCALAR", []float32{0}), "output": m.accessor(typ, values)})
				channels = append(channels, object{"sampler": len(samplers) - 1, "target": object{"node": n, "path": path}})
			}
			static[n] = key
		}
		nodes[0].(object)["children"], static[0].(object)["children"] = list{1}, list{1}
		m.doc["nodes"] = static
		want := worldTriangles(m.load(t, gltf.Options{}))

		m.doc["nodes"] = nodes
		m.doc["animations"] = list{object{"channels": channels, "samplers": samplers}}
		a := m.load(t, gltf.Options{})
		checkAsset(t, a)
		for _, c := range a.Animations[0].Channels {
			local := &a.Nodes[c.Node].Local
			switch v := c.Values; c.Path {
			case scene.PathTranslation:
				local.Translation = mgl64.Vec3(v)
			case scene.PathScale:
				local.Scale = mgl64.Vec3(v)
			case scene.PathRotation:
				local.Rotation = mgl64.Quat{W: v[3], V: mgl64.Vec3(v[:3])}
			}
		}
		got := worldTriangles(a)
		require.Len(t, got, len(want))
		for i := range want {
			for c := range want[i] {
				assert.InDeltaSlice(t, want[i][c].position[:], got[i][c].position[:], 1e-5)
				assert.InDeltaSlice(t, want[i][c].normal[:], got[i][c].normal[:], 1e-5)
			}
		}
	}
}

func TestChannelsThatMoveNothingAreLeftOut(t *testing.T) {
	m := animated("weights", "", []float32{0}, "SCALAR", []float32{1}, nil)
	a := m.load(t, gltf.Options{})
	assert.Empty(t, a.Animations)
	assert.Equal(t, []string{"animations[0].channels[0]: has weights for a node without morph targets and is left out"}, a.Warnings)

	m = animated("translation", "", []float32{0}, "VEC3", []float32{1, 2, 3}, nil)
	delete(m.doc["animations"].(list)[0].(object)["channels"].(list)[0].(object)["target"].(object), "node")
	a = m.load(t, gltf.Options{})
	assert.Empty(t, a.Animations)
	assert.Equal(t, []string{"animations[0].channels[0]: does not move a node and is left out"}, a.Warnings)

	m = animated("translation", "", []float32{0}, "VEC3", []float32{1, 2, 3}, nil)
	m.add("nodes", object{})
	m.doc["animations"].(list)[0].(object)["channels"].(list)[0].(object)["target"].(object)["node"] = 1
	a = m.load(t, gltf.Options{})
	assert.Empty(t, a.Animations)
	assert.Equal(t, []string{"left out: 1 node that the scene that is loaded doesn't have"}, a.Warnings)
}

func TestBadKeys(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		m    *model
		want string
	}{
		{animated("translation", "", []float32{-1}, "VEC3", make([]float32, 3), nil), "samplers[0].input: accessors[1]: time -1 s is out of range: want 0 to 1e+09"},
		{animated("translation", "", []float32{2e9}, "VEC3", make([]float32, 3), nil), "samplers[0].input: accessors[1]: time 2e+09 s is out of range"},
		{animated("translation", "", []float32{0, 1, 1}, "VEC3", make([]float32, 9), nil), "samplers[0].input: accessors[1]: time 1 s does not come after 1 s"},
		{animated("translation", "", []float32{nan}, "VEC3", make([]float32, 3), nil), "samplers[0].input: accessors[1]: element 0 is not finite"},
		{animated("rotation", "", []float32{0, 1}, "VEC4", []float32{0, 0, 0, 1, 0, 0, 0, 0}, nil), "samplers[0].output: element 1: [0 0 0 0] is not a unit quaternion"},
		{animated("rotation", "", []float32{0}, "VEC4", []int16{0, 0, 0, 1}, nil), "samplers[0].output: accessors[2]: componentType is SHORT, which must be normalized here"},
		{animated("scale", "", []float32{0, 1}, "VEC3", make([]float32, 9), nil), "samplers[0].output: accessors[2] has 3 elements, 2 keys need 2"},
		{animated("scale", "", []float32{0}, "VEC3", make([]int16, 3), nil), "samplers[0].output: accessors[2]: componentType is SHORT, which isn't allowed here"},
	} {
		a := c.m.load(t, gltf.Options{})
		assert.Empty(t, a.Animations)
		if assert.Len(t, a.Warnings, 1) {
			assert.Contains(t, a.Warnings[0], "animations[0]."+c.want)
		}
	}
}
