package viewer

import (
	"image"
	"image/color"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/internal/picture"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

func fonts(t *testing.T) *typefaces {
	t.Helper()
	f, err := newTypefaces(13)
	require.NoError(t, err)
	return &f
}

// cloudOf is a cloud with points in base_link.
func cloudOf(mount spatial.Pose, points ...sample.Point) *cloud {
	c := &cloud{mount: mount}
	c.scans.put(&sample.PointCloud{Points: points})
	c.refresh()
	return c
}

func TestCloudsStandInBaseLink(t *testing.T) {
	// A lidar on the roof, turned to the left: its x is the vehicle's y.
	mount := spatial.FromRPY(mgl64.Vec3{1, 2, 3}, 0, 0, 90)
	c := cloudOf(mount, sample.Point{X: 10, Y: 1, Z: -2}, sample.Point{X: float32(math.NaN())})
	require.Len(t, c.points, 1, "misses are left out")
	p := c.points[0]
	assert.InDeltaSlice(t, []float64{0, 12, 1}, []float64{float64(p.x), float64(p.y), float64(p.z)}, 1e-5)
	assert.False(t, c.refresh(), "there is nothing new")
}

func TestCloudColours(t *testing.T) {
	c := cloudOf(spatial.Identity(), sample.Point{Z: highest + 5, Intensity: 255, Tag: uint8(scene.TagCar)})
	assert.Equal(t, picture.HeightRamp[255], c.points[0].color)
	c.colorBy(byIntensity)
	assert.Equal(t, picture.IntensityRamp[255], c.points[0].color)
	c.shown.UnitIntensity, c.shown.Points[0].Intensity = true, 0.5
	c.colorBy(byIntensity)
	assert.Equal(t, picture.IntensityRamp.At(0.5), c.points[0].color, "SVL's and CARLA's scale")
	c.colorBy(byTag)
	assert.Equal(t, brighten(color.RGBA{0, 0, 142, 255}), c.points[0].color)
	c.shown.Points[0].Return = sample.ReturnWeakFirst
	c.colorBy(byReturn)
	assert.Equal(t, picture.IDColor(5), c.points[0].color)
	assert.InDelta(t, 0.75, intensityScale(100), 1e-9)
	assert.Greater(t, intensityScale(101), intensityScale(100))
	assert.InDelta(t, 1, intensityScale(255), 1e-9)
}

// Returns have colours of their own only if a firing has several.
func TestReturnsAreAColouringWhereThereAreSeveral(t *testing.T) {
	one := cloudOf(spatial.Identity(), sample.Point{})
	v := &Viewer{sources: []source{one}}
	cycle := func(back bool) (names []string) {
		for range int(colorings) {
			v.recolor(back)
			names = append(names, coloringNames[one.coloring])
		}
		return names
	}
	assert.Equal(t, []string{"intensity", "label", "height", "intensity"}, cycle(false))
	one.shown.Returns = sample.DualReturns
	assert.Equal(t, []string{"label", "return", "height", "intensity"}, cycle(false))
	assert.Equal(t, []string{"height", "return", "label", "intensity"}, cycle(true))
}

// spots returns the middle of the pixels that are exactly of a colour.
func spots(img *image.RGBA, c color.RGBA) (x, y float64, n int) {
	for py := img.Rect.Min.Y; py < img.Rect.Max.Y; py++ {
		for px := img.Rect.Min.X; px < img.Rect.Max.X; px++ {
			if img.RGBAAt(px, py) == c {
				x, y, n = x+float64(px)+0.5, y+float64(py)+0.5, n+1
			}
		}
	}
	return x / float64(n), y / float64(n), n
}

func TestTopViewHasItsFrontUpwards(t *testing.T) {
	c := cloudOf(spatial.Identity(), sample.Point{X: 12, Y: 5, Z: 20})
	view := newTop(c)
	img := image.NewRGBA(image.Rect(100, 50, 500, 350))
	view.draw(img, fonts(t))
	x, y, n := spots(img, picture.HeightRamp[255])
	require.Positive(t, n)
	// 32 m reach over 150 pixels, the centre 2 m ahead of base_link.
	scale := 150.0 / 32
	assert.InDelta(t, 300-5*scale, x, 1.5, "the left is left")
	assert.InDelta(t, 200-(12-2)*scale, y, 1.5, "ahead is up")

	assert.Equal(t, "x 12.0 m  y 10.0 m", view.caption(image.Pt(300-47, 200-47)))
	before := view.scale
	view.zoom(3)
	view.drag(40, -20, false)
	view.draw(img, fonts(t))
	assert.Greater(t, view.scale, before)
	x, y, _ = spots(img, picture.HeightRamp[255])
	assert.InDelta(t, 300-5*view.scale+40*view.scale/before, x, 2.5)
	assert.InDelta(t, 200-10*view.scale-20*view.scale/before, y, 2.5)
}

func TestTopViewShowsTheHighest(t *testing.T) {
	low, high := sample.Point{X: 8, Z: lowest}, sample.Point{X: 8, Z: highest}
	for _, points := range [][]sample.Point{{low, high}, {high, low}} {
		img := image.NewRGBA(image.Rect(0, 0, 300, 300))
		newTop(cloudOf(spatial.Identity(), points...)).draw(img, fonts(t))
		_, _, below := spots(img, picture.HeightRamp[0])
		_, _, above := spots(img, picture.HeightRamp[255])
		assert.Zero(t, below)
		assert.Positive(t, above)
	}
}

func TestOrbitLooksAtItsTarget(t *testing.T) {
	o := newOrbit(&cloud{})
	for _, drag := range [][2]float64{{0, 0}, {120, 40}, {-3000, -500}, {10, 5000}} {
		o.drag(drag[0], drag[1], false)
		e := o.eye(image.Pt(400, 300))
		seen := e.look(o.target)
		assert.InDelta(t, o.distance, seen[2], 1e-9)
		v := e.picture(seen)
		assert.InDelta(t, 200, v.x, 1e-6)
		assert.InDelta(t, 150, v.y, 1e-6)
		for k, axis := range []mgl64.Vec3{e.right, e.up, e.ahead} {
			assert.InDelta(t, 1, axis.Len(), 1e-9, "axis %d", k)
		}
		assert.InDelta(t, 0, e.right.Dot(e.up), 1e-9)
		assert.Positive(t, e.up[2], "the sky is up")
		above := e.picture(e.look(o.target.Add(mgl64.Vec3{0, 0, 1})))
		assert.Less(t, above.y, v.y)
		assert.GreaterOrEqual(t, o.pitch, minPitch)
		assert.LessOrEqual(t, o.pitch, maxPitch)
	}
}

// TestOrbitDragsTheScene: what lies under the cursor goes its way.
func TestOrbitDragsTheScene(t *testing.T) {
	size := image.Pt(800, 600)
	front := mgl64.Vec3{9, 0, 0.5} // between the target and the far side
	at := func(o *orbit, p mgl64.Vec3) vertex {
		e := o.eye(size)
		return e.picture(e.look(p))
	}
	o := newOrbit(&cloud{})
	nearSide := mgl64.Vec3{2, -1, 0.5}
	before := at(o, nearSide)
	o.drag(60, 0, false)
	assert.Greater(t, at(o, nearSide).x, before.x, "turned to the right")
	o.reset()
	before = at(o, front)
	o.drag(50, 30, true)
	after := at(o, front)
	assert.Greater(t, after.x, before.x, "moved to the right")
	assert.Greater(t, after.y, before.y, "and down")
	o.reset()
	before = at(o, front)
	o.zoom(4)
	after = at(o, front)
	assert.Greater(t, math.Hypot(after.x-400, after.y-300), math.Hypot(before.x-400, before.y-300), "grown")
	o.zoom(1000)
	assert.InDelta(t, minDistance, o.distance, 0)
	o.zoom(-1000)
	assert.InDelta(t, maxDistance, o.distance, 0)
}

func TestOrbitDrawsWhatIsBeforeTheEye(t *testing.T) {
	o := newOrbit(nil)
	e := o.eye(image.Pt(400, 300))
	visible := o.target.Add(mgl64.Vec3{2, 2, 6})
	behind := e.at.Sub(e.ahead.Mul(3))
	point := func(p mgl64.Vec3, tag scene.Tag) sample.Point {
		return sample.Point{X: float32(p[0]), Y: float32(p[1]), Z: float32(p[2]), Tag: uint8(tag)}
	}
	o.cloud = cloudOf(spatial.Identity(), point(visible, scene.TagRider), point(behind, scene.TagBus))
	o.cloud.colorBy(byTag)
	img := image.NewRGBA(image.Rect(30, 40, 430, 340))
	o.draw(img, fonts(t))
	want := e.picture(e.look(visible))
	x, y, n := spots(img, o.cloud.points[0].color)
	require.Positive(t, n)
	assert.InDelta(t, 30+want.x, x, 2)
	assert.InDelta(t, 40+want.y, y, 2)
	_, _, n = spots(img, o.cloud.points[1].color)
	assert.Zero(t, n, "behind the eye")
}

func TestRasterKeepsTheNearest(t *testing.T) {
	red, blue := color.RGBA{255, 0, 0, 255}, color.RGBA{0, 0, 255, 255}
	var r raster
	img := image.NewRGBA(image.Rect(0, 0, 20, 20))
	r.begin(img, color.RGBA{A: 255})
	r.triangle(vertex{2, 2, 1}, vertex{18, 2, 1}, vertex{2, 18, 1}, red)
	r.splat(vertex{5, 5, 2}, 2, blue)
	r.splat(vertex{8, 4, 0.5}, 2, blue)
	assert.Equal(t, blue, img.RGBAAt(4, 4))
	assert.Equal(t, red, img.RGBAAt(8, 4), "behind the triangle")
	_, _, n := spots(img, red)
	assert.InDelta(t, 16*16/2, n+4, 16, "the triangle's area")

	r.line(vertex{-50, 10, 9}, vertex{70, 10, 9}, blue, 255)
	for x := range 20 {
		assert.Equal(t, blue, img.RGBAAt(x, 10), "%d", x)
	}
	r.line(vertex{3, 3, 0.1}, vertex{12, 3, 0.1}, blue, 255)
	assert.Equal(t, red, img.RGBAAt(6, 3), "a line behind the triangle")
	r.line(vertex{math.NaN(), 3, 0.1}, vertex{12, 3, 0.1}, blue, 255)
	r.line(vertex{0, -5, 1}, vertex{12, -3, 1}, blue, 255)
	r.splat(vertex{-5, 40, 1}, 3, blue)
	r.triangle(vertex{-9, -9, 1}, vertex{-2, -9, 1}, vertex{-9, -1, 1}, red)
	r.triangle(vertex{1, 1, 1}, vertex{1, 1, 1}, vertex{5, 5, 1}, red)
}
