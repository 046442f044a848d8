package camera

import (
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors/sample"
)

// svl is SVL Simulator's radial distortion.
type svl struct {
	undo radial // from the picture plane to the ideal point
}

// svlFisheye is SVL Simulator's unified projection.
type svlFisheye struct {
	svl
	xi float64
}

var (
	_ distortion = svl{}
	_ distortion = svlFisheye{}
)

// SVL returns the lens with the distortion that SVL Simulator's cameras draw for
// DistortionParameters a1 to a4. Theirs is a picture of the field of view, which is
// looked up for each distorted pixel at
//
//	p (1 + b1 r² + b2 r⁴ + b3 r⁶ + b4 r⁸), r = |p|
//
// of its plane, with the b of the inverse series of r (1 + a1 r² + ... + a4 r⁸) (Drap
// and Lefèvre, An Exact Formula for Calculating Inverse Radial Lens Distortions,
// Sensors 2016). p is the pixel's place times 1 + a1 r² + ... + a4 r⁸ of the
// picture's corner, so that corner stays corner: that factor divides Fx and Fy, and
// is above zero, or the error wraps ErrLens. Here every pixel has its own ray, so
// that nothing is resampled.
//
// The b polynomial holds up to the radius at which it turns back; pixels beyond see
// nothing. CameraInfo's numbers are fitted (Info), since a1 to a4 aren't plumb_bob's: SVL
// applies the first terms of a series of them alone. K's focal lengths have the factor,
// which SVL's leave out.
func (l Lens) SVL(a [4]float64) (Lens, error) {
	if err := finite(a[:]...); err != nil {
		return Lens{}, err
	}
	x, y := float64(l.Width)/(2*l.Fx), float64(l.Height)/(2*l.Fy)
	corner := radial{c: a}
	factor := corner.factor(x*x + y*y)
	if !(factor > 0) || factor > float64(min(l.Width, l.Height)) {
		return Lens{}, fmt.Errorf("%w: a distortion of %v leaves no picture: its factor at the corner is %.4g, it must be above 0 and leave a pixel", ErrLens, a, factor)
	}
	l.Fx, l.Fy = l.Fx/factor, l.Fy/factor
	l.distortion = newSVL(a)
	return l, nil
}

// SVLFisheye returns the lens with the unified projection of SVL Simulator's cameras
// with Fisheye set: the plane's point becomes m by the polynomial of SVL, without the
// corner's factor, and
//
//	λ = (ξ + sqrt(1 + (1 - ξ²) m²)) / (1 + m²), direction (λ mx, λ my, λ - ξ),
//
// a unit vector (C. Mei and P. Rives, Single View Point Omnidirectional Camera
// Calibration from Planar Grids, ICRA 2007). With xi above 1 the root holds for m² up
// to 1 / (ξ² - 1), and pixels beyond see nothing. CameraInfo says equidistant where that
// describes the lens (Info), with a focal length of about Fx / (1 + ξ), the slope at the
// axis. An xi below 0 is an ErrLens.
func (l Lens) SVLFisheye(a [4]float64, xi float64) (Lens, error) {
	if err := finite(append(a[:], xi)...); err != nil {
		return Lens{}, err
	}
	if xi < 0 {
		return Lens{}, fmt.Errorf("%w: a xi of %v, it is 0 or above", ErrLens, xi)
	}
	l.distortion = svlFisheye{newSVL(a), xi}
	return l, nil
}

func newSVL(a [4]float64) svl {
	a1, a2, a3, a4 := a[0], a[1], a[2], a[3]
	return svl{newRadial([4]float64{
		-a1,
		3*a1*a1 - a2,
		8*a1*a2 - 12*a1*a1*a1 - a3,
		55*a1*a1*a1*a1 + 10*a1*a3 - 55*a1*a1*a2 + 5*a2*a2 - a4,
	})}
}

// ideal returns the ideal point of one of the plane; ok is false beyond the range.
func (d *svl) ideal(x, y float64) (mx, my float64, ok bool) {
	s := x*x + y*y
	g := d.undo.factor(s)
	return x * g, y * g, s <= d.undo.limit*d.undo.limit
}

// plane returns the point of the plane of an ideal one.
func (d *svl) plane(mx, my float64) (x, y float64, ok bool) {
	m := math.Hypot(mx, my)
	if m == 0 {
		return 0, 0, true
	}
	r, ok := d.undo.invert(m)
	return mx * r / m, my * r / m, ok
}

func (d svl) project(p mgl64.Vec3) (x, y float64, ok bool) {
	if !(p[2] > 0) {
		return 0, 0, false
	}
	return d.plane(p[0]/p[2], p[1]/p[2])
}

func (d svl) ray(x, y float64) mgl64.Vec3 {
	mx, my, ok := d.ideal(x, y)
	if !ok {
		return noRay()
	}
	return mgl64.Vec3{mx, my, 1}
}

func (svl) info(l Lens, info *sample.CameraInfo) {
	l.describe([]*model{plumbBobModel, rationalModel}, info)
}

func (d svl) block(b *lensBlock) { d.undo.block(b) }

func (svl) constant() int { return 2 }

func (d svlFisheye) project(p mgl64.Vec3) (x, y float64, ok bool) {
	r := p.Len()
	k := p[2] + d.xi*r
	if !(k > 0) || (d.xi > 1 && d.xi*p[2] <= -r) {
		return 0, 0, false
	}
	return d.plane(p[0]/k, p[1]/k)
}

func (d svlFisheye) ray(x, y float64) mgl64.Vec3 {
	mx, my, ok := d.ideal(x, y)
	s := mx*mx + my*my
	under := 1 + (1-d.xi*d.xi)*s
	if !ok || under < 0 {
		return noRay()
	}
	lambda := (d.xi + math.Sqrt(under)) / (1 + s)
	return mgl64.Vec3{lambda * mx, lambda * my, lambda - d.xi}
}

func (svlFisheye) info(l Lens, info *sample.CameraInfo) {
	l.describe([]*model{equidistantModel, plumbBobModel, rationalModel}, info)
}

func (d svlFisheye) block(b *lensBlock) {
	d.svl.block(b)
	b.shape[2] = float32(d.xi)
}

func (svlFisheye) constant() int { return 3 }
