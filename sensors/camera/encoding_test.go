//go:build cgo

package camera_test

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEncodingsHoldTheSamePixels compares the forms of one picture; the width
// leaves rows that don't fill whole words.
func TestEncodingsHoldTheSamePixels(t *testing.T) {
	for _, width := range []int{33, 34, 35, 36} {
		const height = 27
		form := func(more ...any) map[string]any { return size(width, height, more...) }
		r := newRig(t, scenetest.Soup(4, 3000, false), nil,
			mounted{camera.RGBDefinition, forward(1), form()},
			mounted{camera.RGBDefinition, forward(1), form("encoding", "bgr8")},
			mounted{camera.SemanticDefinition, forward(1), form()},
			mounted{camera.SemanticDefinition, forward(1), form("output", "palette")},
			mounted{camera.InstanceDefinition, forward(1), form()},
			mounted{camera.InstanceDefinition, forward(1), form("encoding", "32SC1")},
			mounted{camera.SemanticDefinition, forward(1), form("output", "palette_bgra8")},
		)
		r.fire(0)
		rgb, bgr, tags, palette, ids, wide := r.picture(0), r.picture(1), r.picture(2), r.picture(3), r.picture(4), r.picture(5)
		for i, want := range []struct {
			encoding string
			bytes    int
		}{{"rgb8", 3}, {"bgr8", 3}, {"mono8", 1}, {"rgb8", 3}, {"16UC1", 2}, {"32SC1", 4}, {"bgra8", 4}} {
			m := r.picture(i)
			assert.Equal(t, want.encoding, m.Encoding)
			assert.Equal(t, (width*want.bytes+3)/4*4, m.Step)
			assert.Len(t, m.Data, m.Step*height)
		}
		kinds := map[scene.Tag]bool{}
		for v := range height {
			for u := range width {
				p, q := pixelAt(rgb, u, v), pixelAt(bgr, u, v)
				require.Equal(t, p, [3]int{q[2], q[1], q[0]}, "pixel %d, %d of %d columns", u, v, width)
				tag := scene.Tag(at(tags, u, v, 1)[0])
				kinds[tag] = true
				c := tag.Color()
				require.Equal(t, [3]int{int(c.R), int(c.G), int(c.B)}, pixelAt(palette, u, v), "%v", tag)
				require.Equal(t, []byte{c.B, c.G, c.R, 255}, at(r.picture(6), u, v, 4), "%v", tag)
				require.Equal(t, append(append([]byte{}, at(ids, u, v, 2)...), 0, 0), at(wide, u, v, 4))
			}
		}
		assert.Greater(t, len(kinds), 4, "several classes are in sight")
	}
}

func decode(t *testing.T, m *sample.CompressedImage) image.Image {
	t.Helper()
	read := png.Decode
	if m.Format == "jpeg" {
		read = jpeg.Decode
	}
	img, err := read(bytes.NewReader(m.Data))
	require.NoError(t, err)
	return img
}

func TestPNGIsLossless(t *testing.T) {
	for _, c := range []struct {
		definition *sensors.Definition
		attributes map[string]any
		bytes      int
	}{
		{camera.RGBDefinition, size(33, 20, "compressed", "png"), 3},
		{camera.RGBDefinition, size(33, 20, "compressed", "png", "encoding", "bgr8"), 3},
		{camera.SemanticDefinition, size(33, 20, "compressed", "png"), 1},
		{camera.SemanticDefinition, size(33, 20, "compressed", "png", "output", "palette"), 3},
		{camera.InstanceDefinition, size(33, 20, "compressed", "png"), 2},
	} {
		r := newRig(t, scenetest.Soup(4, 3000, false), nil, mounted{c.definition, forward(1), c.attributes})
		r.fire(0)
		r.fire(simtime.Stamp(second))
		raw, packed := r.picture(0), last[*sample.CompressedImage](r, 0, camera.OutputCompressed)
		assert.Equal(t, raw.Header, packed.Header)
		assert.Equal(t, "png", packed.Format)
		img := decode(t, packed)
		require.Equal(t, image.Rect(0, 0, 33, 20), img.Bounds())
		for v := range 20 {
			for u := range 33 {
				red, green, blue, _ := img.At(u, v).RGBA()
				p := at(raw, u, v, c.bytes)
				var want [3]uint32
				switch {
				case c.bytes == 2:
					want[0] = uint32(p[0]) | uint32(p[1])<<8
					want[1], want[2] = want[0], want[0]
				case c.bytes == 1:
					want = [3]uint32{uint32(p[0]) * 0x101, uint32(p[0]) * 0x101, uint32(p[0]) * 0x101}
				default:
					want = [3]uint32{uint32(p[0]) * 0x101, uint32(p[1]) * 0x101, uint32(p[2]) * 0x101}
					if raw.Encoding == sample.EncodingBGR8 {
						want[0], want[2] = want[2], want[0]
					}
				}
				require.Equal(t, want, [3]uint32{red, green, blue}, "%s, pixel %d, %d", raw.Encoding, u, v)
			}
		}
	}
}

func TestJPEGOfEveryPictureForTheEye(t *testing.T) {
	form := func(more ...any) map[string]any { return size(100, 75, append(more, "compressed", "jpeg")...) }
	r := newRig(t, scenetest.MovingWall(12, 0), nil,
		mounted{camera.RGBDefinition, forward(1), form("jpeg_quality", 95)},
		mounted{camera.RGBDefinition, forward(1), form("jpeg_quality", 95, "encoding", "bgr8")},
		mounted{camera.RGBDefinition, forward(1), form("jpeg_quality", 95, "encoding", "bgra8")},
		mounted{camera.DepthDefinition, forward(1), form("output", "svl", "jpeg_quality", 95)},
		mounted{camera.SemanticDefinition, forward(1), form("output", "svl")},
		mounted{camera.SemanticDefinition, forward(1), form("output", "palette")},
		mounted{camera.InstanceDefinition, forward(1), form("output", "svl")})
	r.fire(0)
	for i := range r.cameras {
		raw, packed := r.picture(i), last[*sample.CompressedImage](r, i, camera.OutputCompressed)
		assert.Equal(t, "jpeg", packed.Format)
		img := decode(t, packed)
		bytes := raw.Step / 100
		for _, p := range [][2]int{{8, 8}, {50, 37}, {50, 68}, {20, 60}} { // away from the wall's edges
			red, green, blue, _ := img.At(p[0], p[1]).RGBA()
			c := at(raw, p[0], p[1], bytes)
			want := [3]byte{c[0], c[0], c[0]}
			if bytes > 1 {
				want = [3]byte{c[0], c[1], c[2]}
			}
			if raw.Encoding == sample.EncodingBGR8 || raw.Encoding == sample.EncodingBGRA8 {
				want[0], want[2] = want[2], want[0]
			}
			for k, got := range []uint32{red, green, blue} {
				assert.InDelta(t, want[k], got>>8, 8, "camera %d, pixel %v, %s", i, p, raw.Encoding)
			}
		}
	}
}

func TestJPEGIsClose(t *testing.T) {
	error := func(quality int) (mean float64, bytes int) {
		r := newRig(t, scenetest.MovingWall(12, 0), nil,
			mounted{camera.RGBDefinition, forward(1), size(96, 64, "compressed", "jpeg", "jpeg_quality", quality)})
		r.fire(0)
		packed := last[*sample.CompressedImage](r, 0, camera.OutputCompressed)
		assert.Equal(t, "jpeg", packed.Format)
		img := decode(t, packed)
		for v := range 64 {
			for u := range 96 {
				c, want := img.At(u, v), pixelAt(r.picture(0), u, v)
				red, green, blue, _ := c.RGBA()
				for i, got := range []uint32{red, green, blue} {
					d := float64(got)/257 - float64(want[i])
					mean += d * d / (96 * 64 * 3)
				}
			}
		}
		return mean, len(packed.Data)
	}
	good, large := error(95)
	poor, small := error(10)
	assert.Less(t, good, 4.0, "mean square difference in levels")
	assert.Less(t, good, poor)
	assert.Less(t, small, large)
}

func TestOnlyTheCompressedPictureOnRequest(t *testing.T) {
	r := newRig(t, scenetest.MovingWall(12, 0), nil,
		mounted{camera.RGBDefinition, forward(1), size(32, 32, "compressed", "jpeg", "publish_raw", false)})
	for k := range int64(5) {
		r.fire(simtime.Stamp(k * second))
	}
	assert.Empty(t, r.messages[0][camera.OutputImage])
	require.Len(t, r.messages[0][camera.OutputCompressed], 5)
	for k, m := range r.messages[0][camera.OutputCompressed] {
		assert.Equal(t, simtime.Stamp(int64(k)*second), m.(*sample.CompressedImage).Stamp, "in the order of capture")
	}
	assert.Len(t, r.messages[0][camera.OutputInfo], 5)
	assert.Empty(t, r.drops)
}

// carlaMetres decodes a pixel of CARLA's depth camera as its client does.
func carlaMetres(bgra []byte) float64 {
	return 1000 * (float64(bgra[2]) + 256*float64(bgra[1]) + 65536*float64(bgra[0])) / (256*256*256 - 1)
}

func TestCARLAsDepthCodeIsFine(t *testing.T) {
	b := scenetest.NewBuilder("slope")
	// A floor that is seen from 0.5 m to 1 km, and a wall at 985 m.
	b.Put("floor", scenetest.Plane(4000, 1), scenetest.Matte("floor", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagRoads))
	b.Put("wall", scenetest.Box(1, 300, 80), scenetest.Matte("wall", 1, 1, 1), scenetest.At(985.5, 0, 0, scene.TagWall))
	r := newRig(t, b.Scene, nil,
		mounted{camera.DepthDefinition, forward(0.4), size(96, 241, "output", "carla")},
		mounted{camera.DepthDefinition, forward(0.4), size(96, 241)},
		mounted{camera.DepthDefinition, forward(0.4), size(96, 241, "output", "carla", "min_depth", 2, "max_depth", 50)})
	r.fire(0)
	code, metres, bounded := r.picture(0), r.picture(1), r.picture(2)
	require.Equal(t, sample.EncodingBGRA8, code.Encoding)
	worst, farthest := 0.0, 0.0
	for v := range 241 {
		for u := range 96 {
			p, want, q := at(code, u, v, 4), depthAt(metres, u, v), at(bounded, u, v, 4)
			require.EqualValues(t, 255, p[3])
			switch {
			case want > 1000:
				assert.Equal(t, []byte{255, 255, 255, 255}, p)
			default:
				worst, farthest = max(worst, math.Abs(carlaMetres(p)-want)), max(farthest, want)
			}
			switch {
			case want < 2:
				assert.Equal(t, []byte{0, 0, 0, 255}, q)
			case want > 50:
				assert.Equal(t, []byte{255, 255, 255, 255}, q)
			default:
				assert.InDelta(t, want, carlaMetres(q), 60e-6)
			}
		}
	}
	assert.Less(t, worst, 60e-6, "metres")
	assert.Greater(t, farthest, 980.0)
}

func TestSVLsDepthGreyIsOfTheDistance(t *testing.T) {
	r := newRig(t, scenetest.MovingWall(12, 0), nil,
		mounted{camera.DepthDefinition, forward(1.5), size(65, 48, "output", "svl", "far_clip", 300, "min_depth", 2.5)},
		mounted{camera.DepthDefinition, forward(1.5), size(65, 48, "far_clip", 300)})
	r.fire(0)
	grey, metres, l := r.picture(0), r.picture(1), lens(t, 65, 48, 90)
	require.Equal(t, sample.EncodingMono8, grey.Encoding)
	require.Equal(t, 68, grey.Step)
	for v := range 48 {
		for u := range 65 {
			want := 255.
			if d := depthAt(metres, u, v) * l.Ray(float64(u), float64(v)).Len(); d < 2.5 {
				want = 0
			} else if !math.IsInf(d, 1) {
				want = 255 * math.Pow(d/300, 0.1)
			}
			require.InDelta(t, want, float64(at(grey, u, v, 1)[0]), 0.51, "pixel %d, %d", u, v)
		}
	}
}

// svlPalette is what SVL Simulator's users know each of CARLA's tags as.
var svlPalette = map[scene.Tag]uint32{
	scene.TagUnlabeled: 0x000000, scene.TagRoads: 0x7a3f83, scene.TagSidewalks: 0xba8350, scene.TagBuilding: 0x238688,
	scene.TagWall: 0xffffff, scene.TagFence: 0xffffff, scene.TagPole: 0xffffff, scene.TagTrafficLight: 0xffff00,
	scene.TagTrafficSign: 0xc0c000, scene.TagVegetation: 0x71c02f, scene.TagTerrain: 0x71c02f, scene.TagSky: 0xb5c2d9,
	scene.TagPedestrian: 0xff0000, scene.TagRider: 0xff0000, scene.TagCar: 0x120e97, scene.TagTruck: 0x120e97,
	scene.TagBus: 0x120e97, scene.TagTrain: 0x120e97, scene.TagMotorcycle: 0x120e97, scene.TagBicycle: 0x120e97,
	scene.TagStatic: 0xffffff, scene.TagDynamic: 0xffffff, scene.TagOther: 0xffffff, scene.TagWater: 0xffffff,
	scene.TagRoadLine: 0x4e80ff, scene.TagGround: 0xff00ff, scene.TagBridge: 0x238688, scene.TagRailTrack: 0xff00ff,
	scene.TagGuardRail: 0xffffff,
}

// swatches is a wall of panels, one for each tag, and copies of some of them.
func swatches(copies int) *scene.Scene {
	b := scenetest.NewBuilder("swatches")
	for k := range copies {
		for tag := range scene.Tag(scene.TagCount) {
			b.Put("panel", scenetest.Box(0.1, 0.8, 0.8), scenetest.Matte("panel", 1, 1, 1),
				scenetest.At(float64(copies), float64(copies)/2-float64(k)-0.5, float64(tag)-14, tag))
		}
	}
	return b.Scene
}

// shade is what an instance of a class shows in SVL's instance picture, 0..255.
func shade(class uint32, id uint32) mgl64.Vec3 {
	c := mgl64.Vec3{float64(class >> 16), float64(class >> 8 & 255), float64(class & 255)}.Mul(1. / 255)
	if id == 0 {
		return c.Mul(255)
	}
	most, least := max(c[0], c[1], c[2]), min(c[0], c[1], c[2])
	hue := mgl64.Vec3{1, 0, 0} // as Unity has it for greys
	saturation := 0.0
	if most > least {
		hue = c.Sub(mgl64.Vec3{least, least, least}).Mul(1 / (most - least))
		saturation = 1 - least/most
	}
	place := id * 2531 % 4096
	own := func(x float64, step uint32) float64 {
		low, high := max(x-0.25, 0), min(x+0.25, 1)
		return low + (high-low)*(float64(step)+0.5)/64
	}
	s, v := own(saturation, place%64), own(most, place/64)
	white := mgl64.Vec3{1, 1, 1}
	return white.Sub(white.Sub(hue).Mul(s)).Mul(255 * v)
}

func TestPalettesAndCodesOfLabels(t *testing.T) {
	const width, height = 121, 241
	s := swatches(15)
	look := func(d string, more ...any) mounted {
		definition := camera.SemanticDefinition
		if d == "instance" {
			definition = camera.InstanceDefinition
		}
		return mounted{definition, spatial.Identity(), size(width, height, more...)}
	}
	r := newRig(t, s, nil,
		look("semantic"), look("instance"),
		look("semantic", "output", "carla"), look("semantic", "output", "svl"),
		look("instance", "output", "carla"), look("instance", "output", "svl"))
	r.fire(0)
	for i, encoding := range []string{"mono8", "16UC1", "bgra8", "rgb8", "bgra8", "rgb8"} {
		require.Equal(t, encoding, r.picture(i).Encoding)
	}
	seen := map[scene.Tag]bool{}
	colors := map[scene.Tag]map[[3]int]uint32{}
	for v := range height {
		for u := range width {
			tag, id := scene.Tag(at(r.picture(0), u, v, 1)[0]), idAt(r.picture(1), u, v)
			seen[tag] = true
			require.Equal(t, []byte{0, 0, byte(tag), 255}, at(r.picture(2), u, v, 4))
			class := svlPalette[tag]
			require.Equal(t, [3]int{int(class >> 16), int(class >> 8 & 255), int(class & 255)}, pixelAt(r.picture(3), u, v), "%v", tag)
			require.Equal(t, []byte{byte(id >> 8), byte(id), byte(tag), 255}, at(r.picture(4), u, v, 4))
			got, want := pixelAt(r.picture(5), u, v), shade(class, id)
			for i := range 3 {
				require.InDelta(t, want[i], float64(got[i]), 0.6, "%v %d", tag, id)
			}
			if colors[tag] == nil {
				colors[tag] = map[[3]int]uint32{}
			}
			if other, taken := colors[tag][got]; taken && tag != scene.TagUnlabeled {
				require.Equal(t, other, id, "two of %v have the colour %v", tag, got)
			}
			colors[tag][got] = id
		}
	}
	require.Len(t, seen, scene.TagCount, "every tag is in sight")
	assert.Len(t, colors[scene.TagCar], 15)
	assert.Len(t, svlPalette, scene.TagCount)
	assert.Greater(t, len(s.Actors), 256, "ids of two bytes")
}

func TestBGRAHoldsTheSameColors(t *testing.T) {
	r := newRig(t, scenetest.Soup(4, 3000, false), nil,
		mounted{camera.RGBDefinition, forward(1), size(33, 20)}, mounted{camera.RGBDefinition, forward(1), size(33, 20, "encoding", "bgra8", "compressed", "png")})
	r.fire(0)
	img := decode(t, last[*sample.CompressedImage](r, 1, camera.OutputCompressed))
	for v := range 20 {
		for u := range 33 {
			p, q := pixelAt(r.picture(0), u, v), at(r.picture(1), u, v, 4)
			require.Equal(t, fmt.Sprint(p[2], p[1], p[0], 255), fmt.Sprint(q[0], q[1], q[2], q[3]))
			red, green, blue, _ := img.At(u, v).RGBA()
			require.Equal(t, p, [3]int{int(red >> 8), int(green >> 8), int(blue >> 8)})
		}
	}
}
