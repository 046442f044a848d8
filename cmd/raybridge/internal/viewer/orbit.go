package viewer

import (
	"fmt"
	"image"
	"image/color"
	"math"

	"github.com/go-gl/mathgl/mgl64"
)

// orbit shows a cloud in three dimensions, seen by an eye that the mouse moves
// around the vehicle.
type orbit struct {
	cloud      *cloud
	yaw, pitch float64    // of the eye seen from the target, radians
	distance   float64    // of the eye from the target, metres
	target     mgl64.Vec3 // base_link
	raster     raster
}

func newOrbit(c *cloud) *orbit {
	o := &orbit{cloud: c}
	o.reset()
	return o
}

// reset looks over the vehicle's shoulder.
func (o *orbit) reset() {
	o.yaw, o.pitch, o.distance = math.Pi+0.35, 0.42, 27
	o.target = mgl64.Vec3{6, 0, 0.5}
}

// Limits of the eye.
const (
	minPitch, maxPitch       = 0.02, math.Pi/2 - 0.01
	minDistance, maxDistance = 3, 400
	turnPerPixel             = 0.007 // radians
	zoomPerStep              = 0.88
)

// drag turns the eye with the cursor, or moves the target over the ground.
func (o *orbit) drag(dx, dy float64, move bool) {
	if !move {
		o.yaw = math.Remainder(o.yaw-dx*turnPerPixel, 2*math.Pi)
		o.pitch = max(minPitch, min(maxPitch, o.pitch+dy*turnPerPixel))
		return
	}
	sin, cos := math.Sincos(o.yaw)
	perPixel := o.distance / 600
	right, ahead := mgl64.Vec3{-sin, cos, 0}, mgl64.Vec3{-cos, -sin, 0}
	o.target = o.target.Sub(right.Mul(dx * perPixel)).Add(ahead.Mul(dy * perPixel))
}

// zoom brings the eye nearer by steps of the wheel.
func (o *orbit) zoom(steps float64) {
	o.distance = max(minDistance, min(maxDistance, o.distance*math.Pow(zoomPerStep, steps)))
}

func (o *orbit) natural() image.Point { return image.Point{} }

func (o *orbit) caption(image.Point) string {
	if o.cloud.shown == nil {
		return ""
	}
	return fmt.Sprintf("%d points, by %s", len(o.cloud.points), coloringNames[o.cloud.coloring])
}

// eye is a perspective: it maps base_link to pixels.
type eye struct {
	at, right, up, ahead mgl64.Vec3
	focal, cx, cy        float64
}

// near is how close to the eye things may be drawn, metres.
const near = 0.2

// eye returns the perspective of a picture of that size.
func (o *orbit) eye(size image.Point) eye {
	sinYaw, cosYaw := math.Sincos(o.yaw)
	sinPitch, cosPitch := math.Sincos(o.pitch)
	back := mgl64.Vec3{cosPitch * cosYaw, cosPitch * sinYaw, sinPitch}
	e := eye{at: o.target.Add(back.Mul(o.distance)), ahead: back.Mul(-1)}
	e.right = mgl64.Vec3{-sinYaw, cosYaw, 0}
	e.up = e.right.Cross(e.ahead)
	e.focal = float64(min(size.Y*4/3, size.X)) * 0.9
	e.cx, e.cy = float64(size.X)/2, float64(size.Y)/2
	return e
}

// look returns a point's coordinates seen from the eye: right, up, ahead.
func (e *eye) look(p mgl64.Vec3) mgl64.Vec3 {
	d := p.Sub(e.at)
	return mgl64.Vec3{d.Dot(e.right), d.Dot(e.up), d.Dot(e.ahead)}
}

// picture projects what look returned; ahead must be at least near.
func (e *eye) picture(seen mgl64.Vec3) vertex {
	s := 1 / seen[2]
	return vertex{e.cx + e.focal*seen[0]*s, e.cy - e.focal*seen[1]*s, s}
}

// draw paints the scan, the vehicle and the range rings.
func (o *orbit) draw(dst *image.RGBA, fonts *typefaces) {
	o.raster.begin(dst, colorWell)
	view := o.eye(dst.Rect.Size())
	o.drawEgo(&view)
	for i := range o.cloud.points {
		p := &o.cloud.points[i]
		seen := view.look(mgl64.Vec3{float64(p.x), float64(p.y), float64(p.z)})
		if seen[2] < near {
			continue
		}
		// Nearer points are larger, as if each were a plate of 7 cm.
		size := max(2, min(6, int(view.focal*0.07/seen[2]+0.5)))
		o.raster.splat(view.picture(seen), size, p.color)
	}
	o.drawRings(&view)
	if o.cloud.shown == nil {
		notice(dst, fonts, "waiting for the first scan")
		return
	}
	o.cloud.legend(dst, fonts)
	o.drawAxes(dst, fonts, &view)
}

// line draws a line of base_link, cut off at the eye.
func (o *orbit) line(view *eye, a, b mgl64.Vec3, c color.RGBA, alpha uint32) {
	from, to := view.look(a), view.look(b)
	if from[2] > to[2] {
		from, to = to, from
	}
	if to[2] < near {
		return
	}
	if from[2] < near {
		from = from.Add(to.Sub(from).Mul((near - from[2]) / (to[2] - from[2])))
		from[2] = near
	}
	o.raster.line(view.picture(from), view.picture(to), c, alpha)
}

// Range rings on the ground, metres.
const (
	ringStep    = 10
	ringCount   = 5
	ringCorners = 96
)

func (o *orbit) drawRings(view *eye) {
	for k := 1; k <= ringCount; k++ {
		radius := float64(k * ringStep)
		at := func(corner int) mgl64.Vec3 {
			sin, cos := math.Sincos(2 * math.Pi * float64(corner) / ringCorners)
			return mgl64.Vec3{radius * cos, radius * sin, 0}
		}
		for corner := range ringCorners {
			o.line(view, at(corner), at(corner+1), colorDim, 90)
		}
	}
	const reach = ringStep * ringCount
	o.line(view, mgl64.Vec3{-reach, 0, 0}, mgl64.Vec3{reach, 0, 0}, colorDim, 50)
	o.line(view, mgl64.Vec3{0, -reach, 0}, mgl64.Vec3{0, reach, 0}, colorDim, 50)
}

// block is a box that may be narrower at its top.
type block struct{ bottom, top [4]mgl64.Vec3 }

func rectangle(back, front, side, z float64) [4]mgl64.Vec3 {
	return [4]mgl64.Vec3{{back, -side, z}, {front, -side, z}, {front, side, z}, {back, side, z}}
}

// drawEgo draws the vehicle as two blocks, lit from the front left.
func (o *orbit) drawEgo(view *eye) {
	for _, b := range []block{
		{rectangle(egoBack, egoFront, egoSide, egoGround), rectangle(egoBack, egoFront, egoSide, egoWaist)},
		{rectangle(cabinBack-0.4, cabinFront+0.5, egoSide-0.05, egoWaist), rectangle(cabinBack, cabinFront, cabinSide, egoTop)},
	} {
		o.face(view, b.top)
		for k := range 4 {
			next := (k + 1) % 4
			o.face(view, [4]mgl64.Vec3{b.bottom[k], b.bottom[next], b.top[next], b.top[k]})
		}
	}
}

// egoColor is the vehicle's paint in full light.
var egoColor = color.RGBA{0x9c, 0xb4, 0xce, 255}

func (o *orbit) face(view *eye, corners [4]mgl64.Vec3) {
	normal := corners[1].Sub(corners[0]).Cross(corners[3].Sub(corners[0])).Normalize()
	light := 0.45 + 0.55*max(0, normal.Dot(mgl64.Vec3{0.3, 0.4, 0.87}))
	shade := color.RGBA{uint8(float64(egoColor.R) * light), uint8(float64(egoColor.G) * light), uint8(float64(egoColor.B) * light), 255}
	var on [4]vertex
	for k, c := range corners {
		seen := view.look(c)
		if seen[2] < near {
			return
		}
		on[k] = view.picture(seen)
	}
	o.raster.triangle(on[0], on[1], on[2], shade)
	o.raster.triangle(on[0], on[2], on[3], shade)
}

// drawAxes draws base_link's axes, in the usual red, green and blue, in the
// lower right corner.
func (o *orbit) drawAxes(dst *image.RGBA, fonts *typefaces, view *eye) {
	const length, inset = 26, 46
	if dst.Rect.Dx() < 240 || dst.Rect.Dy() < 160 {
		return
	}
	origin := vertex{float64(dst.Rect.Dx() - inset), float64(dst.Rect.Dy() - inset), math.MaxFloat32}
	for k, name := range []string{"x", "y", "z"} {
		var axis mgl64.Vec3
		axis[k] = length
		end := vertex{origin.x + axis.Dot(view.right), origin.y - axis.Dot(view.up), origin.depth}
		c := [3]color.RGBA{colorBad, colorGood, colorAccent}[k]
		o.raster.line(origin, end, c, 255)
		at := image.Pt(int(origin.x+(end.x-origin.x)*1.3)-3, int(origin.y+(end.y-origin.y)*1.3)-fonts.mono.height/2)
		fonts.mono.draw(dst, at.Add(dst.Rect.Min), name, c)
	}
}

// raster draws points, lines and triangles with a depth buffer. Depths are
// given so that larger is nearer: 1/z in a perspective, the height from above.
type raster struct {
	img           *image.RGBA
	width, height int
	depth         []float32
}

// vertex is a place on the picture, in pixels from its top-left corner.
type vertex struct{ x, y, depth float64 }

// begin starts a new picture on img, filled with a colour.
func (r *raster) begin(img *image.RGBA, background color.RGBA) {
	r.img, r.width, r.height = img, img.Rect.Dx(), img.Rect.Dy()
	if n := r.width * r.height; cap(r.depth) < n {
		r.depth = make([]float32, n)
	} else {
		r.depth = r.depth[:n]
	}
	for i := range r.depth {
		r.depth[i] = -math.MaxFloat32
	}
	fill(img, img.Rect, background)
}

// splat draws a square of size pixels.
func (r *raster) splat(v vertex, size int, c color.RGBA) {
	x0, y0 := int(math.Floor(v.x))-size/2, int(math.Floor(v.y))-size/2
	x1, y1 := min(x0+size, r.width), min(y0+size, r.height)
	x0, y0 = max(x0, 0), max(y0, 0)
	d := float32(v.depth)
	for y := y0; y < y1; y++ {
		for x := x0; x < x1; x++ {
			if i := y*r.width + x; d > r.depth[i] {
				r.depth[i] = d
				pix := r.img.Pix[y*r.img.Stride+4*x:]
				pix[0], pix[1], pix[2], pix[3] = c.R, c.G, c.B, 255
			}
		}
	}
}

// line mixes a line into what lies behind it; alpha is of 255. It leaves the
// depth as it is.
func (r *raster) line(a, b vertex, c color.RGBA, alpha uint32) {
	a, b, visible := r.clip(a, b)
	if !visible {
		return
	}
	steps := int(math.Max(math.Abs(b.x-a.x), math.Abs(b.y-a.y))) + 1
	for k := 0; k <= steps; k++ {
		t := float64(k) / float64(steps)
		x, y := int(a.x+(b.x-a.x)*t), int(a.y+(b.y-a.y)*t)
		if x < 0 || y < 0 || x >= r.width || y >= r.height {
			continue
		}
		if float32(a.depth+(b.depth-a.depth)*t) >= r.depth[y*r.width+x] {
			blend(r.img.Pix[y*r.img.Stride+4*x:][:4], c, alpha)
		}
	}
}

// clip cuts a line to the picture (Liang and Barsky, 1984).
func (r *raster) clip(a, b vertex) (from, to vertex, visible bool) {
	t0, t1 := 0.0, 1.0
	dx, dy := b.x-a.x, b.y-a.y
	for _, edge := range [4][2]float64{
		{-dx, a.x}, {dx, float64(r.width) - 1 - a.x}, {-dy, a.y}, {dy, float64(r.height) - 1 - a.y},
	} {
		p, q := edge[0], edge[1]
		switch {
		case p == 0 && q < 0:
			return a, b, false
		case p < 0:
			t0 = max(t0, q/p)
		case p > 0:
			t1 = min(t1, q/p)
		}
	}
	if !(t0 <= t1) {
		return a, b, false
	}
	at := func(t float64) vertex { return vertex{a.x + dx*t, a.y + dy*t, a.depth + (b.depth-a.depth)*t} }
	return at(t0), at(t1), true
}

// triangle fills a triangle, whichever way round its corners are.
func (r *raster) triangle(a, b, c vertex, fill color.RGBA) {
	area := (b.x-a.x)*(c.y-a.y) - (b.y-a.y)*(c.x-a.x)
	if area == 0 {
		return
	}
	x0, x1 := span(a.x, b.x, c.x, r.width)
	y0, y1 := span(a.y, b.y, c.y, r.height)
	for y := y0; y < y1; y++ {
		for x := x0; x < x1; x++ {
			px, py := float64(x)+0.5, float64(y)+0.5
			u := ((b.x-px)*(c.y-py) - (b.y-py)*(c.x-px)) / area
			v := ((c.x-px)*(a.y-py) - (c.y-py)*(a.x-px)) / area
			w := 1 - u - v
			if u < 0 || v < 0 || w < 0 {
				continue
			}
			r.splat(vertex{float64(x), float64(y), u*a.depth + v*b.depth + w*c.depth}, 1, fill)
		}
	}
}

// span is the range of pixels that three coordinates reach, cut to the picture.
func span(a, b, c float64, size int) (from, to int) {
	low, high := min(a, b, c), max(a, b, c)
	limit := float64(size)
	return int(max(0, min(limit, math.Floor(low)))), int(max(0, min(limit, math.Ceil(high))))
}
