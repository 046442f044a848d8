package dataset

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// camera is a picture of a camera that looks along x from the origin.
func camera(info sample.CameraInfo) *Picture {
	s := &Sensor{Name: "front", Mount: spatial.Identity(), Attribute: func(string) (any, bool) { return nil, false }}
	return &Picture{Capture: Capture{Sensor: s, Ego: spatial.Identity()}, Image: &sample.Image{Width: 320, Height: 240}, Info: &info}
}

// TestFramed compares the bounds of what a picture shows of boxes with those of many points on their faces. Many of the boxes reach past
// the camera, or out of the picture.
func TestFramed(t *testing.T) {
	t.Parallel()
	p := camera(sample.CameraInfo{DistortionModel: "plumb_bob", D: make([]float64, 5), K: [9]float64{190, 7, 159.5, 0, 200, 119.5, 0, 0, 1}})
	random := rand.New(rand.NewPCG(1, 2))
	shown, wide := 0, 0
	for range 150 {
		o := Object{
			Pose: spatial.FromRPY(mgl64.Vec3{random.Float64()*16 - 4, random.Float64()*12 - 6, random.Float64()*4 - 2}, 0, 0, 360*random.Float64()),
			Size: mgl64.Vec3{1 + 4*random.Float64(), 1 + random.Float64(), 1 + random.Float64()},
		}
		want, any := pointsShown(p, &o)
		got := p.view(&o).Framed
		if !any {
			assert.LessOrEqual(t, got.Right-got.Left, 20.0, "%+v", o)
			continue
		}
		shown++
		const step = 20 // pixels, of points on faces right before the camera
		assert.InDelta(t, want.Left, got.Left, step, "%+v", o)
		assert.InDelta(t, want.Right, got.Right, step, "%+v", o)
		assert.InDelta(t, want.Top, got.Top, step, "%+v", o)
		assert.InDelta(t, want.Bottom, got.Bottom, step, "%+v", o)
		if whole := p.view(&o).Amodal.clip(320, 240); whole.Bottom-whole.Top > got.Bottom-got.Top+50 {
			wide++
		}
	}
	assert.Greater(t, shown, 50)
	assert.Positive(t, wide, "boxes whose projection, cut to the picture, is larger than what the picture shows")
}

// pointsShown bounds the points of an object's faces that a picture shows.
func pointsShown(p *Picture, o *Object) (bounds Rectangle, any bool) {
	const n = 80
	bounds = Rectangle{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for face := range 6 {
		for i := range n + 1 {
			for k := range n + 1 {
				at := mgl64.Vec3{}
				at[face/2] = float64(face%2) - 0.5
				at[(face/2+1)%3], at[(face/2+2)%3] = float64(i)/n-0.5, float64(k)/n-0.5
				c := o.Pose.Apply(mgl64.Vec3{at[0] * o.Size[0], at[1] * o.Size[1], at[2] * o.Size[2]})
				optical := mgl64.Vec3{-c[1], -c[2], c[0]}
				if optical[2] < nearest {
					continue
				}
				u := (p.Info.K[0]*optical[0]+p.Info.K[1]*optical[1])/optical[2] + p.Info.K[2] + 0.5
				v := p.Info.K[4]*optical[1]/optical[2] + p.Info.K[5] + 0.5
				if u >= 0 && u <= 320 && v >= 0 && v <= 240 {
					bounds, any = bounds.with(u, v), true
				}
			}
		}
	}
	return bounds, any
}

// TestPinhole: pictures of lenses that distort have no projected boxes.
func TestPinhole(t *testing.T) {
	t.Parallel()
	k := [9]float64{190, 0, 159.5, 0, 190, 119.5, 0, 0, 1}
	ahead := Object{Pose: spatial.FromRPY(mgl64.Vec3{10, 0, 0}, 0, 0, 0), Size: mgl64.Vec3{4, 2, 2}}
	for _, c := range []struct {
		info    sample.CameraInfo
		pinhole bool
	}{
		{sample.CameraInfo{DistortionModel: "plumb_bob", D: make([]float64, 5), K: k}, true},
		{sample.CameraInfo{DistortionModel: "rational_polynomial", D: make([]float64, 8), K: k}, true},
		{sample.CameraInfo{DistortionModel: "plumb_bob", D: []float64{0.1, 0, 0, 0, 0}, K: k}, false},
		{sample.CameraInfo{DistortionModel: "equidistant", D: make([]float64, 4), K: k}, false},
		{sample.CameraInfo{}, false}, // no model fits
	} {
		p := camera(c.info)
		assert.Equal(t, c.pinhole, !p.view(&ahead).Framed.Empty(), "%+v", c.info)
		if c.pinhole {
			assert.NoError(t, p.Pinhole())
		} else {
			assert.ErrorIs(t, p.Pinhole(), ErrRig)
		}
	}
}
