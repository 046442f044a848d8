package camera

import (
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors/sample"
)

// byTable is part of the distortions that shaders and kernels have no formula for: they read the
// ray of each pixel from a table (rays.go).
type byTable struct{}

func (byTable) block(*lensBlock) {}

func (byTable) constant() int { return lensTable }

var (
	_ distortion = rational{}
	_ distortion = equidistant{}
	_ distortion = mei{}
	_ distortion = fTheta{}
	_ distortion = doubleSphere{}
)

// bends is a map of the picture plane with its derivatives, up to a radius.
type bends interface {
	bend(mgl64.Vec2) (mgl64.Vec2, mgl64.Mat2)
	end() float64
}

// unbend finds the point that goes to want, by Newton's method from a start on; ok is false where
// there is none, or the map has folded over.
func unbend(b bends, want, start mgl64.Vec2) (p mgl64.Vec2, ok bool) {
	p = start
	limit := b.end()
	for range 50 {
		at, slope := b.bend(p)
		next := p.Add(slope.Inv().Mul2x1(want.Sub(at)))
		if r := next.Len(); r > limit {
			next = next.Mul(limit / r)
		}
		if next == p {
			break
		}
		p = next
	}
	at, slope := b.bend(p)
	return p, at.Sub(want).Len() <= 1e-11*(1+want.Len()) && slope.Det() > 0
}

// rational is OpenCV's distortion with a quotient of polynomials and a thin prism.
type rational struct {
	byTable
	over, under [3]float64 // k1, k2, k3 and k4, k5, k6
	p, s        [4]float64 // p1, p2, 0, 0 and s1 to s4
	limit       float64
	numbers     int // of D: 8, or 12
}

// Rational returns the lens with OpenCV's distortion of 8 or 12 numbers: k1, k2, p1, p2, k3, k4,
// k5, k6 and, of a thin prism, s1, s2, s3, s4. With x = X/Z, y = Y/Z and r² = x² + y²,
//
//	g = (1 + k1 r² + k2 r⁴ + k3 r⁶) / (1 + k4 r² + k5 r⁴ + k6 r⁶)
//	x' = x g + 2 p1 x y + p2 (r² + 2 x²) + s1 r² + s2 r⁴
//	y' = y g + p1 (r² + 2 y²) + 2 p2 x y + s3 r² + s4 r⁴
//
// (OpenCV, Camera Calibration and 3D Reconstruction). It holds up to the radius at which r g turns
// back, or its denominator is 0: points beyond it appear nowhere. Errors wrap ErrLens.
func (l Lens) Rational(d []float64) (Lens, error) {
	if len(d) != 8 && len(d) != 12 {
		return Lens{}, fmt.Errorf("%w: a rational distortion of %d numbers, it has 8, or 12 with a thin prism", ErrLens, len(d))
	}
	if err := finite(d...); err != nil {
		return Lens{}, err
	}
	r := rational{
		over: [3]float64{d[0], d[1], d[4]}, under: [3]float64(d[5:8]), p: [4]float64{d[2], d[3]},
		limit: maxRadius, numbers: len(d),
	}
	copy(r.s[:], d[8:])
	for _, turn := range append(positiveRoots(r.slopeOver()), positiveRoots([]float64{1, r.under[0], r.under[1], r.under[2]})...) {
		r.limit = min(r.limit, math.Sqrt(turn))
	}
	l.distortion = r
	return l, nil
}

// slopeOver returns the numerator of the derivative of r g(r²) by r, as a polynomial of r²: with g
// = N/D it is (N + 2 s N') D - 2 s N D'.
func (d *rational) slopeOver() []float64 {
	n, m := [4]float64{1, d.over[0], d.over[1], d.over[2]}, [4]float64{1, d.under[0], d.under[1], d.under[2]}
	sum := make([]float64, 7)
	for i := range n {
		for j := range m {
			sum[i+j] += n[i] * m[j] * float64(1+2*i-2*j)
		}
	}
	return sum
}

// radial returns g of r², and its derivative.
func (d *rational) radial(s float64) (g, change float64) {
	n, m := radial{c: [4]float64(append(d.over[:], 0))}, radial{c: [4]float64(append(d.under[:], 0))}
	over, under := n.factor(s), m.factor(s)
	g = over / under
	return g, (n.change(s) - g*m.change(s)) / under
}

func (d rational) end() float64 { return d.limit }

func (d rational) bend(p mgl64.Vec2) (mgl64.Vec2, mgl64.Mat2) {
	x, y := p[0], p[1]
	s := x*x + y*y
	g, c := d.radial(s)
	c *= 2
	p1, p2 := d.p[0], d.p[1]
	across := c*x*y + 2*(p1*x+p2*y)
	prism := mgl64.Vec2{2 * (d.s[0] + 2*d.s[1]*s), 2 * (d.s[2] + 2*d.s[3]*s)} // its derivatives by s, twice
	return mgl64.Vec2{
			x*g + 2*p1*x*y + p2*(s+2*x*x) + s*(d.s[0]+s*d.s[1]),
			y*g + p1*(s+2*y*y) + 2*p2*x*y + s*(d.s[2]+s*d.s[3]),
		}, mgl64.Mat2{
			g + c*x*x + 2*p1*y + 6*p2*x + prism[0]*x, across + prism[1]*x,
			across + prism[0]*y, g + c*y*y + 6*p1*y + 2*p2*x + prism[1]*y,
		}
}

func (d rational) project(p mgl64.Vec3) (x, y float64, ok bool) {
	at := mgl64.Vec2{p[0] / p[2], p[1] / p[2]}
	if !(p[2] > 0) || !(at.Len() <= d.limit) {
		return 0, 0, false
	}
	at, slope := d.bend(at)
	return at[0], at[1], slope.Det() > 0
}

func (d rational) ray(x, y float64) mgl64.Vec3 {
	want := mgl64.Vec2{x, y}
	start := want
	if q := want.Len(); q > 0 {
		r, _ := rise(q, d.limit, func(r float64) (value, slope float64) {
			g, change := d.radial(r * r)
			return r * g, g + 2*r*r*change
		})
		start = want.Mul(r / q)
	}
	p, ok := unbend(d, want, start)
	if !ok {
		return noRay()
	}
	return mgl64.Vec3{p[0], p[1], 1}
}

func (d rational) info(_ Lens, info *sample.CameraInfo) float64 {
	info.DistortionModel = rationalModel.name
	info.D = append(info.D[:0], d.over[0], d.over[1], d.p[0], d.p[1], d.over[2], d.under[0], d.under[1], d.under[2])
	if d.numbers > len(info.D) {
		info.D = append(info.D, d.s[:]...)
	}
	return 0
}

// rise finds where a function of r that rises from 0 to limit is q >= 0; ok is false where it
// doesn't get there, and r is then limit. Newton's steps are kept within what holds the root.
func rise(q, limit float64, at func(r float64) (value, slope float64)) (r float64, ok bool) {
	low, high := 0.0, limit
	if most, _ := at(high); !(q <= most) {
		return high, false
	}
	r = min(q, high)
	for range 200 {
		value, slope := at(r)
		miss := value - q
		if miss > 0 {
			high = r
		} else {
			low = r
		}
		next := r - miss/slope
		if !(next >= low && next <= high) {
			next = low + (high-low)/2
		}
		if next == r {
			break
		}
		r = next
	}
	return r, true
}

// outwards returns the point of the picture plane that is r from the principal point, in the
// direction in which a point lies beside the axis.
func outwards(p mgl64.Vec3, r float64) (x, y float64) {
	side := math.Hypot(p[0], p[1])
	if side == 0 {
		return 0, 0
	}
	return r * p[0] / side, r * p[1] / side
}

// angleOf returns the angle of a direction from the axis, 0 to pi.
func angleOf(p mgl64.Vec3) float64 { return math.Atan2(math.Hypot(p[0], p[1]), p[2]) }

// rayAt returns the unit vector at an angle from the axis, towards (x, y).
func rayAt(angle, x, y float64) mgl64.Vec3 {
	r := math.Hypot(x, y)
	if r == 0 {
		return mgl64.Vec3{0, 0, 1}
	}
	sin, cos := math.Sincos(angle)
	return mgl64.Vec3{sin * x / r, sin * y / r, cos}
}

// equidistant is Kannala and Brandt's fisheye.
type equidistant struct {
	byTable
	radial radial // of the angle
}

// Equidistant returns the fisheye of OpenCV and of ROS's equidistant. A point at the angle a from the
// axis appears at the distance
//
//	a (1 + k1 a² + k2 a⁴ + k3 a⁶ + k4 a⁸)
//
// from the principal point, in focal lengths (J. Kannala and S. Brandt, 2006; OpenCV, Fisheye camera
// model). It holds up to the angle at which that turns back, at most half a turn. Errors wrap ErrLens.
func (l Lens) Equidistant(k [4]float64) (Lens, error) {
	if err := finite(k[:]...); err != nil {
		return Lens{}, err
	}
	r := newRadial(k)
	r.limit = min(r.limit, math.Pi)
	l.distortion = equidistant{radial: r}
	return l, nil
}

func (d equidistant) project(p mgl64.Vec3) (x, y float64, ok bool) {
	angle := angleOf(p)
	x, y = outwards(p, angle*d.radial.factor(angle*angle))
	return x, y, angle <= d.radial.limit && p != mgl64.Vec3{}
}

func (d equidistant) ray(x, y float64) mgl64.Vec3 {
	angle, ok := d.radial.invert(math.Hypot(x, y))
	if !ok {
		return noRay()
	}
	return rayAt(angle, x, y)
}

func (d equidistant) info(_ Lens, info *sample.CameraInfo) float64 {
	info.DistortionModel = equidistantModel.name
	info.D = append(info.D[:0], d.radial.c[:]...)
	return 0
}

// mei is the unified projection with Brown and Conrady's distortion.
type mei struct {
	byTable
	bent plumbBob
	xi   float64
}

// Mei returns the lens of C. Mei and P. Rives (2007), which OpenCV's module omnidir and Kalibr's omni
// have: a point on the unit sphere, seen from xi behind the sphere's centre, is distorted as
// PlumbBob has it without k3. Errors wrap ErrLens.
func (l Lens) Mei(xi, k1, k2, p1, p2 float64) (Lens, error) {
	if err := finite(xi, k1, k2, p1, p2); err != nil {
		return Lens{}, err
	}
	if xi < 0 {
		return Lens{}, fmt.Errorf("%w: a xi of %v, need 0 or more", ErrLens, xi)
	}
	l.distortion = mei{bent: plumbBob{newRadial([4]float64{k1, k2}), p1, p2}, xi: xi}
	return l, nil
}

func (d mei) project(p mgl64.Vec3) (x, y float64, ok bool) {
	r := p.Len()
	k := p[2] + d.xi*r
	if !(k > 0) || (d.xi > 1 && d.xi*p[2] <= -r) {
		return 0, 0, false
	}
	at := mgl64.Vec2{p[0] / k, p[1] / k}
	if !(at.Len() <= d.bent.radial.limit) {
		return 0, 0, false
	}
	at, slope := d.bent.bend(at)
	return at[0], at[1], slope.Det() > 0
}

func (d mei) ray(x, y float64) mgl64.Vec3 {
	m, ok := d.bent.straight(x, y)
	if !ok {
		return noRay()
	}
	return onSphere(d.xi, m[0], m[1])
}

func (mei) info(l Lens, info *sample.CameraInfo) float64 { return l.approximate(info) }

// onSphere returns the unit vector that the unified projection shows at a point of its plane.
func onSphere(xi, mx, my float64) mgl64.Vec3 {
	s := mx*mx + my*my
	under := 1 + (1-xi*xi)*s
	if under < 0 {
		return noRay()
	}
	lambda := (xi + math.Sqrt(under)) / (1 + s)
	return mgl64.Vec3{lambda * mx, lambda * my, lambda - xi}
}

// FTheta is NVIDIA's fisheye: a polynomial between the angle from the axis in radians and the
// distance from the principal point in pixels. Coefficients come in rising order of their powers.
// The first is 0, for the axis is seen at the principal point.
type FTheta struct {
	Polynomial []float64
	ToAngle    bool // it leads from pixels to the angle, else from the angle to pixels
	// Linear is c, d, e of the matrix [c d; e 1], by which what is seen is turned and stretched
	// about the principal point. Zeros are the identity.
	Linear   [3]float64
	MaxAngle float64 // radians from the axis; beyond it the lens sees nothing. 0 is half a turn
}

// maxFTheta is how many coefficients of a polynomial there is room for. NVIDIA's records have six.
const maxFTheta = 8

// fTheta is a FTheta in units of the focal length at the axis.
type fTheta struct {
	byTable
	c       [maxFTheta]float64
	toAngle bool
	linear  mgl64.Mat2
	focal   float64 // pixels
	limit   float64 // of the polynomial's variable
}

// FTheta returns the lens with the focal length and the distortion of an f-theta record (NVIDIA
// DriveWorks, camera model ftheta). It holds up to where the polynomial turns back. The lens's
// width, height and principal point stay. Errors wrap ErrLens.
func (l Lens) FTheta(f FTheta) (Lens, error) {
	c, most := f.Polynomial, f.MaxAngle
	if err := finite(append(append([]float64{most}, f.Linear[:]...), c...)...); err != nil {
		return Lens{}, err
	}
	if len(c) < 2 || len(c) > maxFTheta {
		return Lens{}, fmt.Errorf("%w: an f-theta polynomial of %d numbers, it has 2 to %d", ErrLens, len(c), maxFTheta)
	}
	if c[0] != 0 || !(c[1] > 0) {
		return Lens{}, fmt.Errorf("%w: an f-theta polynomial that begins with %v, %v: the first has to be 0, so that the axis is at the principal point, and the second above 0", ErrLens, c[0], c[1])
	}
	if most < 0 || most > math.Pi {
		return Lens{}, fmt.Errorf("%w: an f-theta lens that ends at %v radians, need 0 to pi", ErrLens, most)
	}
	if most == 0 {
		most = math.Pi
	}
	d := fTheta{toAngle: f.ToAngle, focal: c[1], linear: mgl64.Ident2()}
	copy(d.c[:], c)
	if f.Linear != [3]float64{} {
		d.linear = mgl64.Mat2{f.Linear[0], f.Linear[2], f.Linear[1], 1}
	}
	if !(d.linear.Det() > 0) {
		return Lens{}, fmt.Errorf("%w: an f-theta matrix [%v %v; %v 1], its determinant has to be above 0", ErrLens, f.Linear[0], f.Linear[1], f.Linear[2])
	}
	slope := make([]float64, len(c)-1)
	for i := range slope {
		slope[i] = float64(i+1) * c[i+1]
	}
	d.limit = most
	if f.ToAngle {
		d.focal, d.limit = 1/c[1], maxRadius*float64(max(l.Width, l.Height))
	}
	if turns := positiveRoots(slope); len(turns) > 0 {
		d.limit = min(d.limit, turns[0])
	}
	if f.ToAngle {
		d.limit, _ = rise(most, d.limit, d.at) // where it reaches the angle, or turns
	}
	if !(d.focal <= maxRadius*maxSize && d.focal >= 1/float64(maxRadius)) {
		return Lens{}, fmt.Errorf("%w: an f-theta lens with a focal length of %v pixels", ErrLens, d.focal)
	}
	l.Fx, l.Fy, l.distortion = d.focal, d.focal, d
	return l, nil
}

// at returns the polynomial and its derivative.
func (d fTheta) at(v float64) (value, slope float64) {
	for i := maxFTheta - 1; i >= 0; i-- {
		slope = slope*v + value
		value = value*v + d.c[i]
	}
	return value, slope
}

func (d fTheta) project(p mgl64.Vec3) (x, y float64, ok bool) {
	angle := angleOf(p)
	var r float64
	if d.toAngle {
		r, ok = rise(angle, d.limit, d.at)
	} else {
		r, _ = d.at(angle)
		ok = angle <= d.limit
	}
	x, y = outwards(p, r/d.focal)
	at := d.linear.Mul2x1(mgl64.Vec2{x, y})
	return at[0], at[1], ok && p != mgl64.Vec3{}
}

func (d fTheta) ray(x, y float64) mgl64.Vec3 {
	at := d.linear.Inv().Mul2x1(mgl64.Vec2{x, y})
	r := at.Len() * d.focal
	see := func(angle float64, ok bool) mgl64.Vec3 {
		if !ok {
			return noRay()
		}
		return rayAt(angle, at[0], at[1])
	}
	if d.toAngle {
		angle, _ := d.at(r)
		return see(angle, r <= d.limit)
	}
	return see(rise(r, d.limit, d.at))
}

func (fTheta) info(l Lens, info *sample.CameraInfo) float64 { return l.approximate(info) }

// doubleSphere is the fisheye of V. Usenko, N. Demmel and D. Cremers.
type doubleSphere struct {
	byTable
	xi, alpha float64
}

// DoubleSphere returns the lens of V. Usenko, N. Demmel and D. Cremers (The Double Sphere Camera
// Model, 2018): a point goes through two unit spheres whose centres are xi apart, and then a
// pinhole shifted by alpha / (1 - alpha). Errors wrap ErrLens.
func (l Lens) DoubleSphere(xi, alpha float64) (Lens, error) {
	if err := finite(xi, alpha); err != nil {
		return Lens{}, err
	}
	if !(xi > -1 && xi <= 1) || !(alpha >= 0 && alpha <= 1) {
		return Lens{}, fmt.Errorf("%w: double_sphere with a xi of %v and an alpha of %v: xi is above -1 and at most 1, alpha 0 to 1", ErrLens, xi, alpha)
	}
	l.distortion = doubleSphere{xi: xi, alpha: alpha}
	return l, nil
}

func (d doubleSphere) project(p mgl64.Vec3) (x, y float64, ok bool) {
	w1 := d.alpha / (1 - d.alpha)
	if d.alpha > 0.5 {
		w1 = (1 - d.alpha) / d.alpha
	}
	w2 := (w1 + d.xi) / math.Sqrt(2*w1*d.xi+d.xi*d.xi+1)
	d1 := p.Len()
	k := d.xi*d1 + p[2]
	under := d.alpha*math.Sqrt(p[0]*p[0]+p[1]*p[1]+k*k) + (1-d.alpha)*k
	if !(p[2] > -w2*d1) || !(under > 0) {
		return 0, 0, false
	}
	return p[0] / under, p[1] / under, true
}

func (d doubleSphere) ray(x, y float64) mgl64.Vec3 {
	s := x*x + y*y
	under := 1 - (2*d.alpha-1)*s
	if under < 0 {
		return noRay()
	}
	mz := (1 - d.alpha*d.alpha*s) / (d.alpha*math.Sqrt(under) + 1 - d.alpha)
	root := mz*mz + (1-d.xi*d.xi)*s
	if root < 0 {
		return noRay()
	}
	k := (mz*d.xi + math.Sqrt(root)) / (mz*mz + s)
	ray := mgl64.Vec3{k * x, k * y, k*mz - d.xi}
	if u, v, ok := d.project(ray); !ok || math.Hypot(u-x, v-y) > 1e-9*(1+math.Hypot(x, y)) {
		return noRay() // beyond where the formula holds
	}
	return ray
}

func (doubleSphere) info(l Lens, info *sample.CameraInfo) float64 { return l.approximate(info) }
