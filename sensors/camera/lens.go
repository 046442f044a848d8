package camera

import (
	"errors"
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors/sample"
)

// ErrLens is wrapped by the errors of NewLens.
var ErrLens = errors.New("lens is not usable")

// maxSize is the largest side of a picture in pixels: what every OpenGL 4.5
// driver can rasterise (GL 4.5 core, table 23.54).
const maxSize = 16384

// Lens is an ideal pinhole: it maps points of the camera's optical frame (z
// forward, x right, y down, metres) to pixels. Pixel centres lie at integers,
// the top-left pixel's at (0, 0). It is a plain value.
type Lens struct {
	Width, Height int     // pixels
	Fx, Fy        float64 // focal lengths, pixels
	Cx, Cy        float64 // principal point, pixels
}

// NewLens returns the lens with square pixels and a centred principal point
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
// optical frame. ok is false for a point that isn't in front of the camera; a
// point beside the picture has coordinates outside it.
func (l Lens) Project(p mgl64.Vec3) (u, v float64, ok bool) {
	if !(p[2] > 0) {
		return 0, 0, false
	}
	return l.Cx + l.Fx*p[0]/p[2], l.Cy + l.Fy*p[1]/p[2], true
}

// Unproject returns the point of the optical frame that appears at (u, v) at a
// planar depth (along z) in metres.
func (l Lens) Unproject(u, v, depth float64) mgl64.Vec3 {
	return l.Ray(u, v).Mul(depth)
}

// Ray returns the direction of the optical frame that is seen at (u, v), scaled
// to z = 1.
func (l Lens) Ray(u, v float64) mgl64.Vec3 {
	return mgl64.Vec3{(u - l.Cx) / l.Fx, (v - l.Cy) / l.Fy, 1}
}

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
		Cx: k*(l.Cx+0.5) - 0.5, Cy: k*(l.Cy+0.5) - 0.5,
	}
}

// FieldOfView returns the angles in degrees between the picture's left and
// right, and its top and bottom edges.
func (l Lens) FieldOfView() (horizontal, vertical float64) {
	across := func(c, f float64, n int) float64 {
		return (math.Atan((c+0.5)/f) + math.Atan((float64(n)-0.5-c)/f)) * 180 / math.Pi
	}
	return across(l.Cx, l.Fx, l.Width), across(l.Cy, l.Fy, l.Height)
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

// Info fills what CameraInfo says of the lens, with no distortion
// (plumb_bob, five zeros), and leaves the header alone.
func (l Lens) Info(origin PrincipalPoint, info *sample.CameraInfo) {
	cx, cy := l.Cx, l.Cy
	if origin == CornerOrigin {
		cx, cy = cx+0.5, cy+0.5
	}
	info.Width, info.Height = l.Width, l.Height
	info.DistortionModel = "plumb_bob"
	info.D = append(info.D[:0], 0, 0, 0, 0, 0)
	info.K = [9]float64{l.Fx, 0, cx, 0, l.Fy, cy, 0, 0, 1}
	info.R = [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}
	info.P = [12]float64{l.Fx, 0, cx, 0, 0, l.Fy, cy, 0, 0, 0, 1, 0}
}
