package camera

import (
	"crypto/sha256"
	"fmt"
	"math"
	"runtime"
	"sync"
	"weak"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/sensors/sample"
)

// ownRays are the directions that a user's table has for the pixels of a picture.
type ownRays struct {
	width, height int
	directions    []mgl64.Vec3 // unit vectors, NaN where it sees nothing
	starts        []int        // of them, spread over the picture: from where points are looked for
}

// tabled is a lens with a user's own rays.
type tabled struct {
	byTable
	rays          *ownRays // one for equal contents
	focal, cx, cy float64  // of the picture plane, pixels
}

var _ distortion = tabled{}

// interned keeps the rays that lenses have by the hash of their content, so that equal tables are ==.
var interned struct {
	sync.Mutex
	rays map[[sha256.Size]byte]weak.Pointer[ownRays]
}

// Table returns the lens of a picture whose pixels see along given directions: row by row from the
// top, in the optical frame, of any length. NaN is where it sees nothing. Between the pixels' centres
// directions are interpolated. The principal point is where the axis is seen, else the picture's
// middle, and the focal length what neighbouring pixels have there. Errors wrap ErrLens.
func (l Lens) Table(directions []mgl64.Vec3) (Lens, error) {
	if len(directions) != l.Width*l.Height || l.Width < least || l.Height < least {
		return Lens{}, fmt.Errorf("%w: a table of %d rays for a picture of %dx%d pixels, it has one for each of %dx%d or more", ErrLens, len(directions), l.Width, l.Height, least, least)
	}
	own := &ownRays{width: l.Width, height: l.Height, directions: make([]mgl64.Vec3, len(directions))}
	for i, d := range directions {
		length := d.Len()
		if length == 0 || math.IsInf(length, 0) {
			return Lens{}, fmt.Errorf("%w: a table whose ray of pixel %d, %d is %v, need a direction, or NaN where the lens sees nothing", ErrLens, i%l.Width, i/l.Width, d)
		}
		if own.directions[i] = d.Mul(1 / length); math.IsNaN(length) {
			own.directions[i] = noRay()
		}
	}
	own.spread()
	if len(own.starts) == 0 {
		return Lens{}, fmt.Errorf("%w: a table that sees nothing", ErrLens)
	}
	own = intern(own)
	d := tabled{rays: own, cx: float64(l.Width-1) / 2, cy: float64(l.Height-1) / 2}
	if u, v, ok := own.find(mgl64.Vec3{0, 0, 1}); ok {
		d.cx, d.cy = u, v
	}
	_, right, down := own.near(d.cx, d.cy)
	d.focal = 1 / math.Sqrt(right.Len()*down.Len())
	if !(d.focal > 0 && !math.IsInf(d.focal, 0)) {
		d.focal = float64(l.Width) / 2
	}
	l.Fx, l.Fy, l.Cx, l.Cy, l.Skew, l.distortion = d.focal, d.focal, d.cx, d.cy, 0, d
	return l, nil
}

// intern returns the rays of equal content that a lens has already, or else these.
func intern(own *ownRays) *ownRays {
	sum := sha256.New()
	fmt.Fprintln(sum, own.width, own.height)
	sum.Write(gpu.BytesOf(own.directions))
	key := [sha256.Size]byte(sum.Sum(nil))
	interned.Lock()
	defer interned.Unlock()
	if kept := interned.rays[key].Value(); kept != nil {
		return kept
	}
	if interned.rays == nil {
		interned.rays = map[[sha256.Size]byte]weak.Pointer[ownRays]{}
	}
	interned.rays[key] = weak.Make(own)
	runtime.AddCleanup(own, func(key [sha256.Size]byte) {
		interned.Lock()
		defer interned.Unlock()
		if interned.rays[key].Value() == nil {
			delete(interned.rays, key)
		}
	}, key)
	return own
}

// spread chooses the pixels from which points are looked for.
func (r *ownRays) spread() {
	stride := max(1, min(r.width, r.height)/16)
	for y := stride / 2; y < r.height; y += stride {
		for x := stride / 2; x < r.width; x += stride {
			if i := y*r.width + x; !math.IsNaN(r.directions[i][0]) {
				r.starts = append(r.starts, i)
			}
		}
	}
}

// cubic returns the first of four neighbouring pixels of a row, and the weights by which they make up
// the value at x: Lagrange's polynomial.
func cubic(x float64, size int) (first int, w [4]float64) {
	first = min(max(int(math.Floor(x))-1, 0), size-4)
	t := x - float64(first)
	return first, [4]float64{
		-(t - 1) * (t - 2) * (t - 3) / 6, t * (t - 2) * (t - 3) / 2, -t * (t - 1) * (t - 3) / 2, t * (t - 1) * (t - 2) / 6,
	}
}

// near returns the direction at a point of the picture, and how it changes to the next pixels.
func (r *ownRays) near(u, v float64) (ray, right, down mgl64.Vec3) {
	x := min(max(int(math.Round(u)), 0), r.width-1)
	y := min(max(int(math.Round(v)), 0), r.height-1)
	here := r.directions[y*r.width+x]
	change := func(before, after mgl64.Vec3, n int) mgl64.Vec3 {
		if math.IsNaN(before[0]) {
			before, n = here, n-1
		}
		if math.IsNaN(after[0]) {
			after, n = here, n-1
		}
		return after.Sub(before).Mul(1 / float64(max(n, 1)))
	}
	x0, x1, y0, y1 := max(x-1, 0), min(x+1, r.width-1), max(y-1, 0), min(y+1, r.height-1)
	right = change(r.directions[y*r.width+x0], r.directions[y*r.width+x1], x1-x0)
	down = change(r.directions[y0*r.width+x], r.directions[y1*r.width+x], y1-y0)
	i, a := cubic(u, r.width)
	j, b := cubic(v, r.height)
	for k := range 4 {
		for m := range 4 {
			ray = ray.Add(r.directions[(j+k)*r.width+i+m].Mul(b[k] * a[m]))
		}
	}
	if math.IsNaN(ray[0]) { // at the lens's end
		ray = here.Add(right.Mul(u - float64(x))).Add(down.Mul(v - float64(y)))
	}
	return ray.Normalize(), right, down
}

// slope returns the direction at a point, and its derivatives.
func (r *ownRays) slope(u, v float64) (ray, right, down mgl64.Vec3) {
	const step = 1e-3
	at := func(u, v float64) mgl64.Vec3 {
		ray, _, _ := r.near(u, v)
		return ray
	}
	return at(u, v), at(u+step, v).Sub(at(u-step, v)).Mul(1 / (2 * step)), at(u, v+step).Sub(at(u, v-step)).Mul(1 / (2 * step))
}

// find looks for the point of the picture that sees along a unit vector: from the nearest of the starts by
// Gauss and Newton's method. ok is false where none does.
func (r *ownRays) find(want mgl64.Vec3) (u, v float64, ok bool) {
	best := math.Inf(-1)
	for _, i := range r.starts {
		if dot := r.directions[i].Dot(want); dot > best {
			best, u, v = dot, float64(i%r.width), float64(i/r.width)
		}
	}
	for range 30 {
		ray, right, down := r.slope(u, v)
		miss := want.Sub(ray)
		rr, rd, dd := right.Dot(right), right.Dot(down), down.Dot(down)
		re, de := right.Dot(miss), down.Dot(miss)
		det := rr*dd - rd*rd
		du, dv := (dd*re-rd*de)/det, (rr*de-rd*re)/det
		u, v = u+du, v+dv
		if !(u > -2 && v > -2 && u < float64(r.width)+1 && v < float64(r.height)+1) {
			return 0, 0, false
		}
		if math.Abs(du)+math.Abs(dv) < 1e-9 {
			return u, v, ray.Dot(want) > 0
		}
	}
	return 0, 0, false
}

func (d tabled) project(p mgl64.Vec3) (x, y float64, ok bool) {
	u, v, ok := d.rays.find(p.Normalize())
	return (u - d.cx) / d.focal, (v - d.cy) / d.focal, ok
}

func (d tabled) ray(x, y float64) mgl64.Vec3 {
	u, v := d.cx+x*d.focal, d.cy+y*d.focal
	if !(u >= -0.6 && v >= -0.6 && u <= float64(d.rays.width)-0.4 && v <= float64(d.rays.height)-0.4) {
		return noRay()
	}
	ray, _, _ := d.rays.near(u, v)
	return ray
}

func (tabled) info(l Lens, info *sample.CameraInfo) float64 { return l.approximate(info) }
