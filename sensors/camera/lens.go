package camera

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// ErrLens is wrapped by the errors of NewLens and of the methods that distort one.
var ErrLens = errors.New("lens is not usable")

// maxSize is the largest side of a picture in pixels: what every OpenGL 4.5
// driver can rasterise (GL 4.5 core, table 23.54).
const maxSize = 16384

// Lens maps points of the camera's optical frame (z forward, x right, y down,
// metres) to pixels. Pixel centres lie at integers, the top-left pixel's at (0, 0).
// It is an ideal pinhole, unless PlumbBob or another of the methods has given it a
// distortion. One that folds over itself within the picture, as calibrations often do in the
// corners, isn't an error: beyond the fold the lens sees nothing, and Span.End is the angle.
// It is a plain value: equal lenses are == and see the same.
type Lens struct {
	Width, Height int     // pixels
	Fx, Fy        float64 // focal lengths, pixels
	Cx, Cy        float64 // principal point, pixels
	Skew          float64 // pixels to the right for each focal length down; 0 for nearly all cameras

	distortion distortion // nil for a pinhole
}

// distortion is how a lens departs from a pinhole. Points of its picture plane
// are pixels less the principal point, over the focal lengths. Implementations
// are values that can be compared.
type distortion interface {
	// project returns where on the plane a point of the optical frame appears; ok is
	// false where it appears nowhere.
	project(p mgl64.Vec3) (x, y float64, ok bool)
	// ray returns the direction that is seen at a point of the plane, NaN where there
	// is none: as Lens.Ray scales it.
	ray(x, y float64) mgl64.Vec3
	// info makes a CameraInfo that describes a pinhole one of the lens, and returns by how
	// many pixels it is off at most: 0 where it has the lens's own numbers, or none.
	info(Lens, *sample.CameraInfo) float64
	// block adds the numbers to the shaders' uniform block; constant is LENS.
	block(*lensBlock)
	constant() int
}

// NewLens returns the pinhole with square pixels and a centred principal point
// whose picture spans fov degrees from its left to its right edge. Errors wrap
// ErrLens.
func NewLens(width, height int, fov float64) (Lens, error) {
	if width < 1 || height < 1 || width > maxSize || height > maxSize {
		return Lens{}, fmt.Errorf("%w: a picture of %dx%d pixels, each side is 1 to %d", ErrLens, width, height, maxSize)
	}
	if !(fov > 0 && fov < 180) {
		return Lens{}, fmt.Errorf("%w: a horizontal field of view of %v degrees, it is above 0 and below 180", ErrLens, fov)
	}
	f := float64(width) / (2 * math.Tan(fov*math.Pi/360))
	return Lens{
		Width: width, Height: height, Fx: f, Fy: f,
		Cx: float64(width-1) / 2, Cy: float64(height-1) / 2,
	}, nil
}

// Project returns the pixel coordinates (u right, v down) of a point in the
// optical frame. ok is false for a point that the lens shows nowhere: behind a
// pinhole, or where a distortion has no image of it. A point beside the picture has
// coordinates outside it.
func (l Lens) Project(p mgl64.Vec3) (u, v float64, ok bool) {
	x, y := p[0]/p[2], p[1]/p[2]
	if l.distortion != nil {
		x, y, ok = l.distortion.project(p)
	} else {
		ok = p[2] > 0
	}
	if !ok {
		return 0, 0, false
	}
	u, v = l.Cx+l.Fx*x, l.Cy+l.Fy*y
	if l.Skew != 0 {
		u += l.Skew * y
	}
	return u, v, true
}

// Ray returns the direction of the optical frame that is seen at (u, v), scaled to z = 1. That
// of a fisheye, which sees sideways and back as well, is a unit vector. Where the lens sees
// nothing it is NaN.
func (l Lens) Ray(u, v float64) mgl64.Vec3 {
	x, y := (u-l.Cx)/l.Fx, (v-l.Cy)/l.Fy
	if l.Skew != 0 {
		x -= l.Skew * y / l.Fx
	}
	if l.distortion != nil {
		return l.distortion.ray(x, y)
	}
	return mgl64.Vec3{x, y, 1}
}

// noRay is the direction of a pixel that sees nothing.
func noRay() mgl64.Vec3 { return mgl64.Vec3{math.NaN(), math.NaN(), math.NaN()} }

// Contains reports whether (u, v) lies on the picture: within half a pixel of a
// pixel's centre.
func (l Lens) Contains(u, v float64) bool {
	return u >= -0.5 && u < float64(l.Width)-0.5 && v >= -0.5 && v < float64(l.Height)-0.5
}

// divided returns the lens of the same view with n x n pixels for each.
func (l Lens) divided(n int) Lens {
	k := float64(n)
	return Lens{
		Width: n * l.Width, Height: n * l.Height, Fx: k * l.Fx, Fy: k * l.Fy,
		Cx: k*(l.Cx+0.5) - 0.5, Cy: k*(l.Cy+0.5) - 0.5, Skew: k * l.Skew, distortion: l.distortion,
	}
}

// pinholeFov returns the horizontal field of view in degrees of the pinhole with the lens's
// width and focal length. Consumers compute the focal length from it.
func (l Lens) pinholeFov() float64 { return l.FieldOfView().Horizontal }

// FieldOfView returns that of a pinhole with the same focal lengths.
func (l Lens) FieldOfView() sensors.FieldOfView {
	whole := func(pixels int, focal float64) float64 {
		return 2 * math.Atan(float64(pixels)/(2*focal)) * 180 / math.Pi
	}
	return sensors.FieldOfView{Horizontal: whole(l.Width, l.Fx), Vertical: whole(l.Height, l.Fy)}
}

// PrincipalPoint is where CameraInfo counts pixel coordinates from. The picture
// is the same.
type PrincipalPoint uint8

const (
	// CenterOrigin says that the top-left pixel's centre is (0, 0), as ROS's image
	// geometry has it.
	CenterOrigin PrincipalPoint = iota
	// CornerOrigin says that the top-left pixel's corner is (0, 0), its centre (0.5, 0.5), as
	// CARLA's and SVL's users compute it. A centred principal point is at (W/2, H/2).
	CornerOrigin
)

// Info fills what CameraInfo says of the lens, and leaves the header alone. Projected
// with K and D as OpenCV does, what the picture shows lies within half a pixel of where
// it is. A pinhole is plumb_bob with five zeros, PlumbBob its own numbers; SVL and
// SVLFisheye get the numbers of a model of OpenCV's that are nearest. P is for the
// picture with its distortion removed, at K's focal lengths. Where no model is that near,
// DistortionModel and D are empty and K, R and P zeros: sensor_msgs' uncalibrated camera.
// It returns by how many pixels a fitted model is off at most, 0 for one that is exact.
func (l Lens) Info(origin PrincipalPoint, info *sample.CameraInfo) float64 {
	cx, cy := l.Cx, l.Cy
	if origin == CornerOrigin {
		cx, cy = cx+0.5, cy+0.5
	}
	info.Width, info.Height = l.Width, l.Height
	info.DistortionModel = plumbBobModel.name
	info.D = append(info.D[:0], 0, 0, 0, 0, 0)
	info.K = [9]float64{l.Fx, l.Skew, cx, 0, l.Fy, cy, 0, 0, 1}
	info.R = [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}
	info.P = [12]float64{l.Fx, l.Skew, cx, 0, 0, l.Fy, cy, 0, 0, 0, 1, 0}
	if l.distortion == nil {
		return 0
	}
	return l.distortion.info(l, info)
}

// lensBlock is lib/lens.glsl's uniform block (std140).
type lensBlock struct{ lens, radial, shape [4]float32 }

// block returns what the shaders know of the lens.
func (l Lens) block() lensBlock {
	b := lensBlock{lens: [4]float32{float32(1 / l.Fx), float32(1 / l.Fy), float32(l.Cx), float32(l.Cy)}}
	if l.distortion != nil {
		l.distortion.block(&b)
	}
	return b
}

// constant returns the value of LENS for the shaders.
func (l Lens) constant() int {
	if l.Skew != 0 {
		return lensTable
	}
	if l.distortion == nil {
		return 0
	}
	return l.distortion.constant()
}

// block is the part of a radial polynomial.
func (p *radial) block(b *lensBlock) {
	for i, c := range p.c {
		b.radial[i] = float32(c)
	}
	b.shape[3] = float32(p.limit)
}

// plumbBob is Brown and Conrady's distortion.
type plumbBob struct {
	radial radial // k1, k2, k3, 0
	p1, p2 float64
}

var _ distortion = plumbBob{}

// PlumbBob returns the lens with the distortion of OpenCV and of ROS's plumb_bob, whose numbers
// are in that order. With x = X/Z, y = Y/Z and r² = x² + y²,
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
func (d plumbBob) bend(p mgl64.Vec2) (mgl64.Vec2, mgl64.Mat2) {
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

func (d plumbBob) end() float64 { return d.radial.limit }

// straight solves for the ideal point by Newton's method, from the solution without the
// tangential terms on.
func (d plumbBob) straight(x, y float64) (p mgl64.Vec2, ok bool) {
	want := mgl64.Vec2{x, y}
	start := want
	if q := want.Len(); q > 0 {
		r, _ := d.radial.invert(q)
		start = want.Mul(r / q)
	}
	return unbend(d, want, start)
}

func (d plumbBob) ray(x, y float64) mgl64.Vec3 {
	p, ok := d.straight(x, y)
	if !ok {
		return noRay()
	}
	return mgl64.Vec3{p[0], p[1], 1}
}

func (d plumbBob) info(_ Lens, info *sample.CameraInfo) float64 {
	info.D = append(info.D[:0], d.radial.c[0], d.radial.c[1], d.p1, d.p2, d.radial.c[2])
	return 0
}

func (d plumbBob) block(b *lensBlock) {
	d.radial.block(b)
	b.shape[0], b.shape[1] = float32(d.p1), float32(d.p2)
}

func (plumbBob) constant() int { return 1 }

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
// of its plane, with the b of the inverse series of r (1 + a1 r² + ... + a4 r⁸) (Drap and
// Lefèvre, An Exact Formula for Calculating Inverse Radial Lens Distortions, Sensors 2016). p
// is the pixel's place times 1 + a1 r² + ... + a4 r⁸ of the picture's corner, so that corner
// stays corner. That factor divides Fx and Fy, and is above zero, or the error wraps ErrLens.
// Here every pixel has its own ray, so that nothing is resampled.
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

// SVLFisheye returns the lens with the unified projection of SVL Simulator's cameras with
// Fisheye set. The plane's point becomes m by the polynomial of SVL, without the corner's
// factor, and
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

func (svl) info(l Lens, info *sample.CameraInfo) float64 {
	return l.describe([]*model{plumbBobModel, rationalModel}, info)
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
	if !ok {
		return noRay()
	}
	return onSphere(d.xi, mx, my)
}

func (svlFisheye) info(l Lens, info *sample.CameraInfo) float64 {
	return l.describe([]*model{equidistantModel, plumbBobModel, rationalModel}, info)
}

func (d svlFisheye) block(b *lensBlock) {
	d.svl.block(b)
	b.shape[2] = float32(d.xi)
}

func (svlFisheye) constant() int { return 3 }

// radial is a polynomial of the radius, `r (1 + c0 r² + c1 r⁴ + c2 r⁶ + c3 r⁸)`, over the range
// in which it grows, so that it can be turned round.
type radial struct {
	c [4]float64
	// limit ends the range: where the polynomial turns back, or maxRadius.
	limit float64
}

// maxRadius is beyond what any pixel sees: 0.006 degrees beside the image plane.
const maxRadius = 1e4

func newRadial(c [4]float64) radial {
	// The derivative by r, as a polynomial of r².
	turns := positiveRoots([]float64{1, 3 * c[0], 5 * c[1], 7 * c[2], 9 * c[3]})
	limit := maxRadius
	if len(turns) > 0 {
		limit = min(limit, math.Sqrt(turns[0]))
	}
	return radial{c, limit}
}

// factor returns what the polynomial multiplies a radius by, given its square.
func (p *radial) factor(s float64) float64 {
	return 1 + s*(p.c[0]+s*(p.c[1]+s*(p.c[2]+s*p.c[3])))
}

// change returns the derivative of factor.
func (p *radial) change(s float64) float64 {
	return p.c[0] + s*(2*p.c[1]+s*(3*p.c[2]+s*4*p.c[3]))
}

// invert returns the radius that the polynomial turns into q >= 0; ok is false where
// none of its range does.
func (p *radial) invert(q float64) (r float64, ok bool) {
	return rise(q, p.limit, func(r float64) (value, slope float64) {
		s := r * r
		factor := p.factor(s)
		return r * factor, factor + 2*s*p.change(s)
	})
}

// positiveRoots returns where the polynomial c[0] + c[1] s + ... changes its sign at
// s > 0, in rising order: between the roots of its derivative there is at most one.
func positiveRoots(c []float64) []float64 {
	for len(c) > 0 && c[len(c)-1] == 0 {
		c = c[:len(c)-1]
	}
	if len(c) < 2 {
		return nil
	}
	derivative := make([]float64, len(c)-1)
	bound := 0.0 // Cauchy's, of all roots
	for i := range derivative {
		derivative[i] = float64(i+1) * c[i+1]
		bound = max(bound, math.Abs(c[i]/c[len(c)-1]))
	}
	at := func(s float64) (v float64) {
		for _, k := range slices.Backward(c) {
			v = v*s + k
		}
		return v
	}
	var roots []float64
	low := 0.0
	for _, high := range append(positiveRoots(derivative), 1+bound) {
		if a, b := at(low), at(high); (a < 0) != (b < 0) {
			roots = append(roots, bisect(at, low, high))
		}
		low = high
	}
	return roots
}

// bisect returns where f changes its sign between low and high, which differ in it.
func bisect(f func(float64) float64, low, high float64) float64 {
	below := f(low) < 0
	for {
		mid := low + (high-low)/2
		if mid <= low || mid >= high {
			return low
		}
		if (f(mid) < 0) == below {
			low = mid
		} else {
			high = mid
		}
	}
}

// model is one of OpenCV's distortions, which readers of CameraInfo know. A point that
// is an angle from the axis appears, in units of K's focal length,
//
//	b (1 + k1 b² + k2 b⁴ + ...) / (1 + l1 b² + l2 b⁴ + ...), b = base(angle)
//
// from the principal point.
type model struct {
	name  string // in sensor_msgs/distortion_models
	base  func(angle float64) float64
	over  int   // how many k
	order []int // the place of each k, then each l, in D
}

var (
	plumbBobModel    = &model{"plumb_bob", math.Tan, 3, []int{0, 1, 4}}
	rationalModel    = &model{"rational_polynomial", math.Tan, 3, []int{0, 1, 4, 5, 6, 7}}
	equidistantModel = &model{"equidistant", func(angle float64) float64 { return angle }, 4, []int{0, 1, 2, 3}}
)

// describedWithin is how far, in pixels, a model may put a point from where the picture
// has it at the points of a profile. Between those there is room up to half a pixel,
// which docs/lenses.md promises.
const describedWithin = 0.4

// describe fills in the first of models that shows what the picture does, fitted by
// least squares. Where none does, it leaves the zeros by which sensor_msgs says that a
// camera is uncalibrated.
func (l Lens) describe(models []*model, info *sample.CameraInfo) float64 {
	p := l.profile()
	for _, m := range models {
		focal, d, off := m.fit(p)
		if off*max(l.Fx, l.Fy) <= describedWithin { // not NaN
			info.DistortionModel, info.D = m.name, append(info.D[:0], d...)
			for _, f := range []*float64{&info.K[0], &info.K[4], &info.P[0], &info.P[5]} {
				*f *= focal
			}
			return off * max(l.Fx, l.Fy)
		}
	}
	uncalibrated(info)
	return 0
}

// profile is what a radial lens shows from its principal point outwards. At each distance,
// in units of the lens's focal length, it has the angle from the axis that is seen there.
type profile struct{ radius, angle []float64 }

// profileSteps is how many points a profile has: far more than a model has numbers.
const profileSteps = 400

// profile follows the lens to the farthest corner of the picture, or to where it ends.
// Its points lie closer to one another towards the end, where polynomials err most.
func (l Lens) profile() (p profile) {
	x := max(l.Cx+0.5, float64(l.Width)-0.5-l.Cx) / l.Fx
	y := max(l.Cy+0.5, float64(l.Height)-0.5-l.Cy) / l.Fy
	sees := func(k float64) float64 {
		if math.IsNaN(l.distortion.ray(k*x, k*y)[0]) {
			return -1
		}
		return 1
	}
	end := 1.0
	if sees(end) < 0 {
		end = bisect(sees, 0, 1)
	}
	for i := 1; i <= profileSteps; i++ {
		k := end * math.Sin(math.Pi/2*float64(i)/profileSteps)
		ray := l.distortion.ray(k*x, k*y)
		p.radius = append(p.radius, k*math.Hypot(x, y))
		p.angle = append(p.angle, math.Atan2(math.Hypot(ray[0], ray[1]), ray[2]))
	}
	return p
}

// fit returns the focal length of K over the lens's, and the D, that are nearest to a
// profile. They are off by so much at most, NaN where the model can't show the profile.
func (m *model) fit(p profile) (focal float64, d []float64, off float64) {
	// radius (1 + l1 b² + ...) = focal (b + k1 b³ + ...) is linear in all numbers, if k
	// are taken times focal. Powers of b over its largest keep the columns apart.
	far := m.base(p.angle[len(p.angle)-1])
	columns := make([][]float64, 1+len(m.order))
	for i, angle := range p.angle {
		b := m.base(angle)
		if !(b > 0) { // a tangent from 90 degrees on
			return 0, nil, math.NaN()
		}
		s := b / far * b / far
		columns[0] = append(columns[0], b)
		for j := range m.order {
			from := b
			if j >= m.over {
				from = -p.radius[i]
			}
			columns[1+j] = append(columns[1+j], from*math.Pow(s, float64(m.power(j))))
		}
	}
	factors := leastSquares(columns, slices.Clone(p.radius))
	focal, d = factors[0], make([]float64, m.order[len(m.order)-1]+1)
	for j, at := range m.order {
		d[at] = factors[1+j] / math.Pow(far*far, float64(m.power(j)))
		if j < m.over {
			d[at] /= focal
		}
	}
	for i, angle := range p.angle {
		off = math.Max(off, math.Abs(focal*m.radiusOf(angle, d)-p.radius[i])) // keeps NaN
	}
	return focal, d, off
}

// power returns that of b² which the number j of the model's order belongs to.
func (m *model) power(j int) int { return 1 + j%m.over }

// radiusOf returns where a model with the numbers d shows an angle: NaN beyond a pole.
func (m *model) radiusOf(angle float64, d []float64) float64 {
	b := m.base(angle)
	over, under := 1.0, 1.0
	for j, at := range m.order {
		term := d[at] * math.Pow(b*b, float64(m.power(j)))
		if j < m.over {
			over += term
		} else {
			under += term
		}
	}
	if under <= 0 {
		return math.NaN()
	}
	return b * over / under
}

// leastSquares returns the factors of columns whose sum is nearest to right: Gram and
// Schmidt's orthogonalisation, which overwrites both. Columns that depend on one another
// give NaN, or factors as good as others.
func leastSquares(columns [][]float64, right []float64) []float64 {
	dot := func(a, b []float64) (sum float64) {
		for i := range a {
			sum += a[i] * b[i]
		}
		return sum
	}
	n := len(columns)
	all := append(columns[:n:n], right)
	upper := make([][]float64, n)
	for j, q := range columns {
		upper[j] = make([]float64, n+1)
		upper[j][j] = math.Sqrt(dot(q, q))
		for i := range q {
			q[i] /= upper[j][j]
		}
		for k := j + 1; k <= n; k++ {
			upper[j][k] = dot(q, all[k])
			for i := range q {
				all[k][i] -= upper[j][k] * q[i]
			}
		}
	}
	factors := make([]float64, n)
	for j := n - 1; j >= 0; j-- {
		factors[j] = upper[j][n]
		for k := j + 1; k < n; k++ {
			factors[j] -= upper[j][k] * factors[k]
		}
		factors[j] /= upper[j][j]
	}
	return factors
}
