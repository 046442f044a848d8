package scene_test

import (
	"context"
	"errors"
	"image"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/shaders"
)

// uploaded uploads a world to a fake device and closes it at the test's end.
func uploaded(t *testing.T, fake *gputest.Fake, g *scene.Geometry) (*scene.Resident, error) {
	t.Helper()
	var r *scene.Resident
	err := fake.Start(t).Do(context.Background(), func(c *gpu.Ctx) (err error) {
		r, err = g.Upload(c)
		return err
	})
	if r != nil {
		t.Cleanup(r.Close)
	}
	return r, err
}

func fakeWithLimits(texels, layers int) *gputest.Fake {
	fake := gputest.NewFake()
	info := fake.Info()
	info.Limits.MaxTextureBufferTexels, info.Limits.MaxTextureLayers = texels, layers
	fake.SetInfo(info)
	return fake
}

func TestUploadBindsEveryTableAtItsSlot(t *testing.T) {
	g := build(t, scenetest.Soup(1, 600, true))
	fake := fakeWithLimits(1<<20, 16)
	r, err := uploaded(t, fake, g)
	require.NoError(t, err)
	perCapture := map[int]bool{shaders.SlotMotion: true}
	slots := map[int]bool{}
	for _, b := range r.Bindings(nil) {
		assert.Equal(t, gpu.BindSampler, b.Kind)
		assert.False(t, slots[b.Slot], "slot %d is bound twice", b.Slot)
		slots[b.Slot] = true
	}
	for _, b := range shaders.SceneTables() {
		assert.Equal(t, !perCapture[b.Slot], slots[b.Slot], b.Name)
	}
	vertices := texels(fake.Bytes("scene vertices"))
	require.Len(t, vertices, 3*g.Triangles())
	for a := range 4 {
		assert.InDelta(t, float64(g.Vertices[7][a]), vertices[7][a], 0)
	}
}

func TestUploadNamesWhatIsTooLarge(t *testing.T) {
	g := build(t, scenetest.Soup(1, 600, false))
	_, err := uploaded(t, fakeWithLimits(100, 16), g)
	require.ErrorIs(t, err, scene.ErrTooLarge)
	assert.ErrorContains(t, err, "texture buffers hold 100")

	s := scenetest.Soup(1, 60, false)
	s.Textures = []scene.Texture{{Image: image.NewNRGBA(image.Rect(0, 0, 2, 2))}, {Image: image.NewNRGBA(image.Rect(0, 0, 2, 2))}}
	s.Materials[0].BaseColorTexture, s.Materials[1].BaseColorTexture = 0, 1
	_, err = uploaded(t, fakeWithLimits(1<<20, 1), build(t, s))
	require.ErrorIs(t, err, scene.ErrTooLarge)
	assert.ErrorContains(t, err, "2 textures")
}

// A failed upload leaves nothing on the device; the fake fails the test if it does.
func TestFailedUploadLeavesNothing(t *testing.T) {
	boom := errors.New("out of memory")
	fake := fakeWithLimits(1<<20, 16)
	fake.Fail("CreateTexture", boom)
	_, err := uploaded(t, fake, build(t, scenetest.Soup(1, 60, false)))
	require.ErrorIs(t, err, boom)
}

func TestMaterialTable(t *testing.T) {
	s := scenetest.Soup(1, 60, false)
	s.Textures = []scene.Texture{
		{Image: image.NewNRGBA(image.Rect(0, 0, 4, 2)), Sampler: scene.Sampler{WrapS: scene.WrapMirror, WrapT: scene.WrapClamp}},
		{}, // without a picture: as if it were not there
		{Image: image.NewNRGBA(image.Rect(0, 0, 3, 3)), Sampler: scene.Sampler{Magnify: scene.FilterNearest, Minify: scene.FilterLinearMipmapNearest}},
	}
	s.Materials[0] = scene.Material{
		BaseColor: mgl32.Vec4{0.1, 0.2, 0.3, 0.4}, Metallic: 0.5, Roughness: 0.6, Emissive: mgl32.Vec3{7, 8, 9},
		BaseColorTexture: 2, MetalRoughTexture: 0, EmissiveTexture: 0,
		AlphaMode: scene.AlphaBlend, DoubleSided: true, Retro: true, Unlit: true, Reflectance: 0.25,
	}
	s.Meshes[0].Colors = make([]mgl32.Vec4, len(s.Meshes[0].Positions))
	s.Materials[1].BaseColorTexture = 1
	s.Materials[2].AlphaMode, s.Materials[2].AlphaCutoff = scene.AlphaMask, 0.3
	fake := fakeWithLimits(1<<20, 16)
	_, err := uploaded(t, fake, build(t, s))
	require.NoError(t, err)
	rows := texels(fake.Bytes("scene materials"))
	want := [][4]float64{{0.1, 0.2, 0.3, 0.4}, {7, 8, 9, -0.5}, {0.5, 0.6, 0.25, 1 + 2 + 4 + 8}, {0, 0, 0, 0}}
	pictures := len(rows) - 3 // their records: two of colours, one of data
	want[3] = [4]float64{float64(pictures), float64(pictures + 2), float64(pictures + 1), 0}
	for i := range want {
		assert.InDeltaSlice(t, want[i][:], rows[i][:], 1e-6)
	}
	const beam = 256 // times the level that a lidar's beam covers: 16 texels are more than these pictures have
	assert.Equal(t, [][4]float64{
		{0, 3, 3, 16 + 32*2 + beam*1}, {1, 4, 2, 2 + 4*1 + beam*2}, {0, 4, 2, 2 + 4*1 + beam*2},
	}, rows[pictures:])
	assert.Equal(t, [4]float64{-1, -1, -1, 0}, rows[7])
	s.Materials[1].EmissiveUV = scene.UVTransform{{4, 0, 1}, {0, -2, 3}}
	fake = fakeWithLimits(1<<20, 16)
	_, err = uploaded(t, fake, build(t, s))
	require.NoError(t, err)
	moved, n := texels(fake.Bytes("scene materials")), len(rows)
	assert.Equal(t, [4]float64{-1, -1, -1, float64(n)}, moved[7])
	assert.Equal(t, [][4]float64{{1, 0, 0, 0}, {0, 1, 0, 0}, {4, 0, 1, 0}, {0, -2, 3, 0}}, moved[n:])
	assert.InDelta(t, 0.3, rows[9][3], 1e-7)
	assert.Equal(t, 0.0, math.Abs(rows[13][3]), "an opaque material is never cut out")
}
