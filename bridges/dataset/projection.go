package dataset

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// view is how an object stands in the picture.
func (p *Picture) view(o *Object) (v View) {
	at, found := slices.BinarySearchFunc(p.Boxes, o.ID, func(b sample.Box2D, id uint32) int { return int(int64(b.ID) - int64(id)) })
	if found {
		b := &p.Boxes[at]
		v.Pixels, v.Occlusion, v.Truncation = int(b.Pixels), float64(b.Occlusion), float64(b.Truncation)
		x, y, w, h := float64(b.CenterX), float64(b.CenterY), float64(b.Width)/2, float64(b.Height)/2
		v.Tight = Rectangle{x - w, y - h, x + w, y + h}
	}
	if p.Pinhole() == nil {
		v.Amodal, v.Framed = p.bounds(spatial.OrientedBox{Pose: o.Pose, Half: o.Size.Mul(0.5)})
	}
	return v
}

// Pinhole returns an error that wraps ErrRig unless the picture is a pinhole's, as its CameraInfo has it. Of a camera that has its lens from
// a calibration file, nothing else tells it.
func (p *Picture) Pinhole() error {
	distorts := func(d float64) bool { return d != 0 }
	if p.Info.K[0] > 0 && !slices.ContainsFunc(p.Info.D, distorts) && slices.Contains([]string{"", "plumb_bob", "rational_polynomial"}, p.Info.DistortionModel) {
		return nil
	}
	return fmt.Errorf("%w: camera %s has a lens that distorts, and the format has no distortion: choose another camera by the option map, or a lens without", ErrRig, p.Sensor.Name)
}

// nearest is where the pyramid that a picture shows begins, metres: what is nearer is cut off a box.
const nearest = 0.05

// plane bounds the pyramid that a picture shows: what it has in it has a dot product with the normal of at least the offset.
type plane struct {
	normal mgl64.Vec3
	offset float64
}

// bounds returns the bounds of a box's projection, cut at the near plane alone, and of what the picture shows of it. A box that reaches
// past the camera has a projection far larger than its part in the picture, so that one isn't the other cut to the picture.
func (p *Picture) bounds(box spatial.OrientedBox) (whole, framed Rectangle) {
	box.Pose = p.Ego.Compose(p.Sensor.Mount).Compose(spatial.OpticalInBody()).Inverse().Compose(box.Pose)
	corners := box.Corners()
	w, h := float64(p.Image.Width), float64(p.Image.Height)
	near := []plane{{mgl64.Vec3{0, 0, 1}, nearest}}
	left, top := p.ray(0, 0), p.ray(w, h)
	// A pixel's column is fx x/z + skew y/z + cx, so that a picture's edge is a plane through the camera's centre.
	k := &p.Info.K
	skew := k[1] / k[0]
	pyramid := append(near,
		plane{mgl64.Vec3{1, skew, -(left[0] + skew*left[1])}, 0}, plane{mgl64.Vec3{-1, -skew, top[0] + skew*top[1]}, 0},
		plane{mgl64.Vec3{0, 1, -left[1]}, 0}, plane{mgl64.Vec3{0, -1, top[1]}, 0})
	whole, framed = p.edges(corners, near), p.edges(corners, pyramid)
	for _, c := range [][2]float64{{0, 0}, {w, 0}, {0, h}, {w, h}} {
		if meets(p.ray(c[0], c[1]), box) { // a face fills the picture's corner
			framed = framed.with(c[0], c[1])
		}
	}
	return whole.orNone(), framed.clip(p.Image.Width, p.Image.Height).orNone()
}

// edges bounds the projections of a box's edges, as far as they are within all planes.
func (p *Picture) edges(corners [8]mgl64.Vec3, planes []plane) Rectangle {
	bounds := Rectangle{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for i, a := range corners {
		for axis := 1; axis < 8; axis <<= 1 {
			if i&axis != 0 {
				continue
			}
			from, to, ok := clip(a, corners[i|axis], planes)
			if ok {
				bounds = bounds.with(p.pixel(from)).with(p.pixel(to))
			}
		}
	}
	return bounds
}

// clip returns the part of a line that is within all planes, and false if there is none.
func clip(a, b mgl64.Vec3, planes []plane) (from, to mgl64.Vec3, ok bool) {
	first, last := 0.0, 1.0
	for _, l := range planes {
		da, db := l.normal.Dot(a)-l.offset, l.normal.Dot(b)-l.offset
		switch t := da / (da - db); {
		case da < 0 && db < 0:
			return a, b, false
		case da < 0:
			first = max(first, t)
		case db < 0:
			last = min(last, t)
		}
	}
	along := b.Sub(a)
	return a.Add(along.Mul(first)), a.Add(along.Mul(last)), first <= last
}

// meets reports whether a ray from the camera's centre, beyond the near plane, meets a box of the optical frame.
func meets(ray mgl64.Vec3, box spatial.OrientedBox) bool {
	into := box.Pose.Inverse()
	origin := into.Apply(mgl64.Vec3{})
	direction := into.Apply(ray).Sub(origin)
	first, last := nearest, math.Inf(1) // ray's z is 1
	for axis := range 3 {
		a, b := (-box.Half[axis]-origin[axis])/direction[axis], (box.Half[axis]-origin[axis])/direction[axis]
		if direction[axis] == 0 {
			if math.Abs(origin[axis]) > box.Half[axis] {
				return false
			}
			continue
		}
		first, last = max(first, min(a, b)), min(last, max(a, b))
	}
	return first <= last
}

// pixel projects a point of the optical frame. (0, 0) is the corner of the first pixel, where CameraInfo has its centre.
func (p *Picture) pixel(c mgl64.Vec3) (u, v float64) {
	k, half := &p.Info.K, p.half()
	return (k[0]*c[0]+k[1]*c[1])/c[2] + k[2] + half, k[4]*c[1]/c[2] + k[5] + half
}

// ray is what pixel projects to a place in the picture, at z = 1.
func (p *Picture) ray(u, v float64) mgl64.Vec3 {
	k, half := &p.Info.K, p.half()
	y := (v - half - k[5]) / k[4]
	return mgl64.Vec3{(u - half - k[2] - k[1]*y) / k[0], y, 1}
}

// half is how far CameraInfo's zero is from the first pixel's corner.
func (p *Picture) half() float64 {
	if origin, _ := p.Sensor.Attribute("principal_point"); origin == "corner" {
		return 0
	}
	return 0.5
}

// with returns the bounds of a rectangle and a point.
func (r Rectangle) with(u, v float64) Rectangle {
	return Rectangle{min(r.Left, u), min(r.Top, v), max(r.Right, u), max(r.Bottom, v)}
}

// orNone returns the rectangle, or the zero one if it is empty.
func (r Rectangle) orNone() Rectangle {
	if r.Empty() {
		return Rectangle{}
	}
	return r
}
