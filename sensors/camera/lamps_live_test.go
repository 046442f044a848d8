//go:build cgo

package camera_test

import (
	"image"
	"image/color"
	"image/png"
	"os"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// brighter counts the pixels of both halves of a picture, left and right, that show a lamp.
func brighter(off, on *sample.Image) (halves [2]int) {
	for v := range on.Height {
		for u := range on.Width {
			a, b := pixelAt(off, u, v), pixelAt(on, u, v)
			if b[0] > a[0]+25 || b[1] > a[1]+25 || b[2] > a[2]+25 {
				halves[2*u/on.Width]++
			}
		}
	}
	return halves
}

// sheet keeps pictures as rows of a PNG, for people: LAMPS names the file.
type sheet [][]*sample.Image

func (s sheet) write(t *testing.T) {
	name := os.Getenv("LAMPS")
	if name == "" {
		return
	}
	w, h := s[0][0].Width, s[0][0].Height
	out := image.NewNRGBA(image.Rect(0, 0, w*len(s[0]), h*len(s)))
	for y, row := range s {
		for x, m := range row {
			for i := range w * h {
				p := pixelAt(m, i%w, i/w)
				out.SetNRGBA(x*w+i%w, y*h+i/w, color.NRGBA{uint8(p[0]), uint8(p[1]), uint8(p[2]), 255})
			}
		}
	}
	f, err := os.Create(name)
	require.NoError(t, err)
	require.NoError(t, png.Encode(f, out))
	require.NoError(t, f.Close())
}

// TestEveryLampOfTheCitysVehicles looks at each vehicle of the city from before and from behind,
// with each kind of lamp that docs/world.md promises. A lamp shows where it is, and nowhere else.
func TestEveryLampOfTheCitysVehicles(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	const width, height = 160, 120
	// Whether a lamp shows in the left and right half before the vehicle, and behind it.
	kinds := []struct {
		name   string
		lamps  world.Lights
		before [2]bool
		behind [2]bool
	}{
		{"head", world.LightHead, [2]bool{true, true}, [2]bool{}},
		{"brake", world.LightBrake, [2]bool{}, [2]bool{true, true}},
		{"left", world.LightLeft, [2]bool{false, true}, [2]bool{true, false}},
		{"right", world.LightRight, [2]bool{true, false}, [2]bool{false, true}},
		{"reverse", world.LightReverse, [2]bool{}, [2]bool{true, true}},
	}
	b := scenetest.NewBuilder("lamps")
	b.Put("floor", scenetest.Plane(100, 4), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagRoads))
	city.Furnish(b.Scene, 1)
	b.Scene.Slots = 2
	var all sheet
	for i := range b.Scene.Models {
		model := b.Scene.Models[i].TypeID
		if !strings.HasPrefix(model, "vehicle.") || model == "vehicle.bicycle" {
			continue
		}
		reach := map[bool]float64{true: 3.5, false: 7.9}[model == "vehicle.motorcycle"] // metres
		look := func(x, yaw float64) spatial.Pose { return spatial.FromRPY(mgl64.Vec3{x, 0, 1.3}, 0, 0, yaw) }
		r := newRig(t, b.Scene, nil,
			mounted{camera.RGBDefinition, look(reach, 180), size(width, height, "fov", 60)}, mounted{camera.RGBDefinition, look(-reach, 0), size(width, height, "fov", 60)})
		way, stamp := &scene.Guided{}, simtime.Stamp(0)
		_, err := r.history.SpawnActor(b.Scene.Model(model), scene.Actor{}, way)
		require.NoError(t, err)
		show := func(lamps world.Lights) [2]*sample.Image {
			here := scene.Waypoint{Stamp: stamp, Pose: spatial.Identity(), Lights: lamps}
			way.Lead(here, here)
			r.fire(stamp)
			stamp += 100e6
			return [2]*sample.Image{r.picture(0), r.picture(1)}
		}
		off := show(0)
		row := off[:]
		for _, k := range kinds {
			on := show(k.lamps)
			row = append(row, on[0], on[1])
			for side, want := range [2][2]bool{k.before, k.behind} {
				if k.name == "reverse" && model == "vehicle.motorcycle" {
					want = [2]bool{} // it has none
				}
				got := brighter(off[side], on[side])
				for half := range want {
					if want[half] {
						assert.GreaterOrEqual(t, got[half], 3, "%s, %s: side %d, half %d", model, k.name, side, half)
					} else {
						assert.Zero(t, got[half], "%s, %s: side %d, half %d", model, k.name, side, half)
					}
				}
			}
		}
		all = append(all, row)
		r.end()
	}
	require.GreaterOrEqual(t, len(all), 9)
	all.write(t)
}
