package camera

import (
	"errors"
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors/sample"
)

// ErrLens is wrapped by the errors of NewLens and of the methods that distort one.
var ErrLens = errors.New("lens is not usable")

// maxSize is the largest side of a picture in pixels: what every OpenGL 4.5
// driver can rasterise (GL 4.5 core, table 23.54).
const maxSize = 16384

// Lens maps points of the camera's optical frame (z forward, x right, y down,
// metres) to pixels. Pixel centres lie at integers, the top-left pixel's at (0, 0).
// It is an ideal pinhole, unless PlumbBob, SVL or SVLFisheye has given it a
// distortion. It is a plain value: equal lenses are == and see the same.
type Lens struct {
	Width, Height int     // pixels
	Fx, Fy        float64 // focal lengths, pixels
	Cx, Cy        float64 // principal point, pixels

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
	// info makes a CameraInfo that describes a pinhole one of the lens.
	info(Lens, *sample.CameraInfo)
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
	return l.Cx + l.Fx*x, l.Cy + l.Fy*y, true
}

// Unproject returns the point of the optical frame that appears at (u, v) at a
// planar depth (along z) in metres.
func (l Lens) Unproject(u, v, depth float64) mgl64.Vec3 {
	ray := l.Ray(u, v)
	return ray.Mul(depth / ray[2])
}

// Ray returns the direction of the optical frame that is seen at (u, v), scaled
// to z = 1; that of a fisheye, which sees sideways and back as well, is a unit vector.
// Where the lens sees nothing it is NaN.
func (l Lens) Ray(u, v float64) mgl64.Vec3 {
	x, y := (u-l.Cx)/l.Fx, (v-l.Cy)/l.Fy
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

// supersampled returns the lens of the same view with n x n pixels for each.
func (l Lens) supersampled(n int) Lens {
	k := float64(n)
	return Lens{
		Width: n * l.Width, Height: n * l.Height, Fx: k * l.Fx, Fy: k * l.Fy,
		Cx: k*(l.Cx+0.5) - 0.5, Cy: k*(l.Cy+0.5) - 0.5, distortion: l.distortion,
	}
}

// FieldOfView returns the angles in degrees between the picture's left and
// right, and its top and bottom edges, through the principal point; NaN where the
// lens sees nothing at an edge.
func (l Lens) FieldOfView() (horizontal, vertical float64) {
	off := func(u, v float64) float64 {
		ray := l.Ray(u, v)
		return math.Atan2(math.Hypot(ray[0], ray[1]), ray[2]) * 180 / math.Pi
	}
	right, bottom := float64(l.Width)-0.5, float64(l.Height)-0.5
	return off(-0.5, l.Cy) + off(right, l.Cy), off(l.Cx, -0.5) + off(l.Cx, bottom)
}

// pinholeFov returns the horizontal field of view in degrees of the pinhole with
// the lens's width and focal length: what consumers compute the focal length from.
func (l Lens) pinholeFov() float64 {
	return 2 * math.Atan(float64(l.Width)/(2*l.Fx)) * 180 / math.Pi
}

// PrincipalPoint is where CameraInfo counts pixel coordinates from. The picture
// is the same.
type PrincipalPoint uint8

const (
	// CenterOrigin says that the top-left pixel's centre is (0, 0), as ROS's image
	// geometry has it.
	CenterOrigin PrincipalPoint = iota
	// CornerOrigin says that the top-left pixel's corner is (0, 0), its centre
	// (0.5, 0.5), as CARLA's and SVL's users compute it: a centred principal
	// point is at (W/2, H/2).
	CornerOrigin
)

// Info fills what CameraInfo says of the lens, and leaves the header alone. Projected
// with K and D as OpenCV does, what the picture shows lies within half a pixel of where
// it is. A pinhole is plumb_bob with five zeros, PlumbBob its own numbers; SVL and
// SVLFisheye get the numbers of a model of OpenCV's that are nearest. P is for the
// picture with its distortion removed, at K's focal lengths. Where no model is that near,
// DistortionModel and D are empty and K, R and P zeros: sensor_msgs' uncalibrated camera.
func (l Lens) Info(origin PrincipalPoint, info *sample.CameraInfo) {
	cx, cy := l.Cx, l.Cy
	if origin == CornerOrigin {
		cx, cy = cx+0.5, cy+0.5
	}
	info.Width, info.Height = l.Width, l.Height
	info.DistortionModel = plumbBobModel.name
	info.D = append(info.D[:0], 0, 0, 0, 0, 0)
	info.K = [9]float64{l.Fx, 0, cx, 0, l.Fy, cy, 0, 0, 1}
	info.R = [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}
	info.P = [12]float64{l.Fx, 0, cx, 0, 0, l.Fy, cy, 0, 0, 0, 1, 0}
	if l.distortion != nil {
		l.distortion.info(l, info)
	}
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
