package gltf_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/gltf"
)

// Pieces of streets: our own, and those of KayKit, which lie beside the checkout or don't.
const (
	street = "../../testdata/street"
	kaykit = "../../../shared/assets/kaykit_city"
)

// summary is what a plain reading of a piece's JSON says: its nodes have translations
// alone, its primitives indices.
type summary struct {
	Nodes []struct {
		Name        string
		Mesh        *int
		Translation [3]float64
	}
	Meshes []struct {
		Primitives []struct {
			Attributes map[string]int
			Indices    int
		}
	}
	Accessors []struct {
		Count    int
		Min, Max []float64
	}
}

// expect returns the triangles and the bounds, in our axes.
func (s *summary) expect() (triangles int, lo, hi mgl64.Vec3) {
	inf := math.Inf(1)
	lo, hi = mgl64.Vec3{inf, inf, inf}, mgl64.Vec3{-inf, -inf, -inf}
	for _, n := range s.Nodes {
		for _, p := range s.Meshes[*n.Mesh].Primitives {
			triangles += s.Accessors[p.Indices].Count / 3
			a := s.Accessors[p.Attributes["POSITION"]]
			for ours, theirs := range [3]int{2, 0, 1} {
				lo[ours] = min(lo[ours], a.Min[theirs]+n.Translation[theirs])
				hi[ours] = max(hi[ours], a.Max[theirs]+n.Translation[theirs])
			}
		}
	}
	return triangles, lo, hi
}

func TestStreetPieces(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(street, "*.gltf"))
	require.NoError(t, err)
	require.Len(t, files, 14)
	loadPieces(t, files, 16)
}

func TestKayKitCity(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(kaykit, "*.gltf"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("the KayKit city pieces are not in ../shared/assets/kaykit_city; TestStreetPieces has our own")
	}
	loadPieces(t, files, 1024)
}

// loadPieces loads each file and holds it beside its JSON; all have one texture, so
// many pixels wide.
func loadPieces(t *testing.T, files []string, texture int) {
	tags := map[string]scene.Tag{
		"base": scene.TagGround, "bench": scene.TagStatic, "box": scene.TagDynamic, "building": scene.TagBuilding,
		"bush": scene.TagVegetation, "car": scene.TagCar, "dumpster": scene.TagDynamic, "firehydrant": scene.TagStatic,
		"road": scene.TagRoads, "streetlight": scene.TagPole, "trafficlight": scene.TagTrafficLight,
		"trash": scene.TagDynamic, "watertower": scene.TagBuilding,
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".gltf")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var s summary
			require.NoError(t, json.Unmarshal(text, &s))
			triangles, lo, hi := s.expect()

			a, err := gltf.Load(file, gltf.Options{})
			require.NoError(t, err)
			assert.Empty(t, a.Warnings)
			assert.Equal(t, name, a.Name)
			assert.Equal(t, triangles, triangleCount(a))
			gotLo, gotHi := bounds(a)
			assert.InDeltaSlice(t, lo[:], gotLo[:], 1e-5)
			assert.InDeltaSlice(t, hi[:], gotHi[:], 1e-5)
			require.Len(t, a.Nodes, len(s.Nodes))

			require.Len(t, a.Textures, 1)
			assert.Equal(t, texture, a.Textures[0].Image.Rect.Dx())
			kind, _, _ := strings.Cut(name, "_")
			assert.Equal(t, tags[kind].String(), a.Nodes[0].Tag.String())
			for i, n := range a.Nodes {
				assert.Equal(t, i == 0 && kind != "road" && kind != "base", n.Actor, "node %d", i)
			}
			checkAsset(t, a)

			actors, err := new(scene.Scene).Add(a, scene.Placement{})
			require.NoError(t, err)
			require.Len(t, actors, 1, "a piece is one actor")
			assert.Len(t, actors[0].Parts, len(a.Nodes))
			for _, part := range actors[0].Parts {
				assert.Equal(t, tags[kind].String(), part.Tag.String())
			}
		})
	}
}

// A car's front wheels are ahead of its rear wheels, its left ones to the left.
func TestCarsFaceForward(t *testing.T) {
	for file, wheelbase := range map[string]float64{
		filepath.Join(street, "car_small.gltf"): 1.3 + 1.25,
		filepath.Join(kaykit, "car_taxi.gltf"):  0.2454192042350769 + 0.25616389513015747,
	} {
		if _, err := os.Stat(file); err != nil && strings.HasPrefix(file, kaykit) {
			t.Log("no KayKit city pieces are in ../shared/assets/kaykit_city: our own car alone is looked at")
			continue
		}
		a, err := gltf.Load(file, gltf.Options{Scale: 8})
		require.NoError(t, err)
		at := map[string]mgl64.Vec3{}
		for _, n := range a.Nodes {
			_, wheel, _ := strings.Cut(n.Name, "_wheel_")
			at[wheel] = n.Local.Translation
		}
		assert.InDelta(t, 8*wheelbase, at["front_left"][0]-at["rear_left"][0], 1e-6)
		assert.Greater(t, at["front_left"][1], at["front_right"][1])
	}
}
