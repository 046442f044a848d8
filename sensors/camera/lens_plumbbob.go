package camera

import (
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors/sample"
)

// plumbBob is Brown and Conrady's distortion.
type plumbBob struct {
	radial radial // k1, k2, k3, 0
	p1, p2 float64
}

var _ distortion = plumbBob{}

// PlumbBob returns the lens with the distortion of OpenCV and of ROS's plumb_bob,
// whose numbers are in that order: with x = X/Z, y = Y/Z and r² = x² + y²,
//
//	x' = x (1 + k1 r² + k2 r⁴ + k3 r⁶) + 2 p1 x y + p2 (r² + 2 x²)
//	y' = y (1 + k1 r² + k2 r⁴ + k3 r⁶) + p1 (r² + 2 y²) + 2 p2 x y
//	u = fx x' + cx, v = fy y' + cy
//
// (OpenCV, Camera Calibration and 3D Reconstruction). The polynomial holds up to
// the radius at which it turns back: points beyond it appear nowhere, and pixels that
// it doesn't reach see nothing. Numbers that aren't finite are an ErrLens.
func (l Lens) PlumbBob(k1, k2, p1, p2, k3 float64) (Lens, error) {
	if err := finite(k1, k2, p1, p2, k3); err != nil {
		return Lens{}, err
	}
	l.distortion = plumbBob{newRadial([4]float64{k1, k2, k3}), p1, p2}
	return l, nil
}

// finite refuses numbers that no lens can have.
func finite(numbers ...float64) error {
	for _, n := range numbers {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return fmt.Errorf("%w: a distortion of %v, need finite numbers", ErrLens, numbers)
		}
	}
	return nil
}

// bend returns where an ideal point goes, and the derivatives there.
func (d *plumbBob) bend(p mgl64.Vec2) (mgl64.Vec2, mgl64.Mat2) {
	x, y := p[0], p[1]
	s := x*x + y*y
	g, c := d.radial.factor(s), 2*d.radial.change(s)
	across := c*x*y + 2*(d.p1*x+d.p2*y)
	return mgl64.Vec2{
			x*g + 2*d.p1*x*y + d.p2*(s+2*x*x),
			y*g + d.p1*(s+2*y*y) + 2*d.p2*x*y,
		}, mgl64.Mat2{
			g + c*x*x + 2*d.p1*y + 6*d.p2*x, across,
			across, g + c*y*y + 6*d.p1*y + 2*d.p2*x,
		}
}

func (d plumbBob) project(p mgl64.Vec3) (x, y float64, ok bool) {
	at := mgl64.Vec2{p[0] / p[2], p[1] / p[2]}
	if !(p[2] > 0) || !(at.Len() <= d.radial.limit) {
		return 0, 0, false
	}
	at, _ = d.bend(at)
	return at[0], at[1], true
}

// ray solves for the ideal point by Newton's method, from the solution without the
// tangential terms on.
func (d plumbBob) ray(x, y float64) mgl64.Vec3 {
	want := mgl64.Vec2{x, y}
	p := want
	if q := want.Len(); q > 0 {
		r, _ := d.radial.invert(q)
		p = want.Mul(r / q)
	}
	for range 50 {
		at, slope := d.bend(p)
		next := p.Add(slope.Inv().Mul2x1(want.Sub(at)))
		if r := next.Len(); r > d.radial.limit {
			next = next.Mul(d.radial.limit / r)
		}
		if next == p {
			break
		}
		p = next
	}
	at, slope := d.bend(p)
	if !(at.Sub(want).Len() <= 1e-11*(1+want.Len())) || slope.Det() <= 0 {
		return noRay()
	}
	return mgl64.Vec3{p[0], p[1], 1}
}

func (d plumbBob) info(_ Lens, info *sample.CameraInfo) {
	info.D = append(info.D[:0], d.radial.c[0], d.radial.c[1], d.p1, d.p2, d.radial.c[2])
}

func (d plumbBob) block(b *lensBlock) {
	d.radial.block(b)
	b.shape[0], b.shape[1] = float32(d.p1), float32(d.p2)
}

func (plumbBob) constant() int { return 1 }
