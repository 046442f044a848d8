package viewer

import (
	"fmt"
	"image"
	"math"
)

// top shows a cloud from above, the vehicle's front upwards.
type top struct {
	cloud  *cloud
	reach  float64    // metres from the vehicle to the nearer edge
	centre [2]float64 // base_link, metres
	raster raster
	// scale and middle are of the last picture: pixels a metre, and where the
	// centre lies in the window.
	scale  float64
	middle image.Point
}

func newTop(c *cloud) *top {
	t := &top{cloud: c}
	t.reset()
	return t
}

func (t *top) reset() { t.reach, t.centre = 32, [2]float64{2, 0} }

// Limits of the reach, metres.
const minReach, maxReach = 4, 500

func (t *top) zoom(steps float64) {
	t.reach = max(minReach, min(maxReach, t.reach*math.Pow(zoomPerStep, steps)))
}

// drag moves the picture with the cursor.
func (t *top) drag(dx, dy float64, _ bool) {
	if t.scale > 0 {
		t.centre[0] += dy / t.scale
		t.centre[1] += dx / t.scale
	}
}

func (t *top) natural() image.Point { return image.Point{} }

// caption tells the place under the cursor.
func (t *top) caption(cursor image.Point) string {
	if t.scale == 0 || cursor == outside {
		return "from above"
	}
	at := cursor.Sub(t.middle)
	return fmt.Sprintf("x %.1f m  y %.1f m", t.centre[0]-float64(at.Y)/t.scale, t.centre[1]-float64(at.X)/t.scale)
}

// draw paints the scan, the vehicle's outline and the range rings.
func (t *top) draw(dst *image.RGBA, fonts *typefaces) {
	t.raster.begin(dst, colorWell)
	size := dst.Rect.Size()
	t.scale = float64(min(size.X, size.Y)) / 2 / t.reach
	t.middle = centred(image.Point{}, dst.Rect).Min
	rings := t.drawRings()
	dot := max(1, min(4, int(t.scale*0.18+0.5)))
	for i := range t.cloud.points {
		p := &t.cloud.points[i]
		t.raster.splat(t.at(float64(p.x), float64(p.y), float64(p.z)), dot, p.color)
	}
	t.drawEgo()
	t.label(dst, fonts, rings)
	if t.cloud.shown == nil {
		notice(dst, fonts, "waiting for the first scan")
	}
}

// at maps a place in base_link to the picture.
func (t *top) at(x, y, height float64) vertex {
	return vertex{
		float64(t.raster.width)/2 - (y-t.centre[1])*t.scale,
		float64(t.raster.height)/2 - (x-t.centre[0])*t.scale, height,
	}
}

// above is a height that nothing lies over.
const above = math.MaxFloat32

// drawRings draws the range rings and returns their radii, metres.
func (t *top) drawRings() []float64 {
	step := t.ringStep()
	farthest := math.Hypot(float64(t.raster.width), float64(t.raster.height)) / 2 / t.scale
	farthest += math.Hypot(t.centre[0], t.centre[1])
	var radii []float64
	for radius := step; radius < farthest && len(radii) < mostRings; radius += step {
		radii = append(radii, radius)
		for corner := range ringCorners {
			s0, c0 := math.Sincos(2 * math.Pi * float64(corner) / ringCorners)
			s1, c1 := math.Sincos(2 * math.Pi * float64(corner+1) / ringCorners)
			t.raster.line(t.at(radius*c0, radius*s0, above), t.at(radius*c1, radius*s1, above), colorDim, 80)
		}
	}
	return radii
}

// Rings stand at least ringSpacing pixels apart, at most mostRings of them.
const (
	ringSpacing = 34
	mostRings   = 12
)

// ringStep is the distance between rings, metres.
func (t *top) ringStep() float64 {
	for _, step := range []float64{1, 2, 5, 10, 20, 50, 100, 200} {
		if step*t.scale >= ringSpacing {
			return step
		}
	}
	return 500
}

// label writes the rings' radii where the vehicle's right rear is, over the points.
func (t *top) label(dst *image.RGBA, fonts *typefaces, radii []float64) {
	face := fonts.regular
	for _, radius := range radii {
		at := t.at(-radius*math.Sqrt2/2, -radius*math.Sqrt2/2, above)
		text := fmt.Sprintf("%g m", radius)
		size := image.Pt(face.width(text), face.height)
		box := centred(size, image.Rectangle{}.Add(image.Pt(int(at.x), int(at.y)).Add(dst.Rect.Min)))
		if ground := box.Inset(-2); ground.In(dst.Rect) {
			veil(dst, ground, colorWell, 200)
			face.draw(dst, box.Min, text, colorDim)
		}
	}
}

// drawEgo outlines the vehicle, with an arrow for its front.
func (t *top) drawEgo() {
	corners := rectangle(egoBack, egoFront, egoSide, 0)
	for k := range corners {
		a, b := corners[k], corners[(k+1)%4]
		t.raster.line(t.at(a[0], a[1], above), t.at(b[0], b[1], above), colorAccent, 255)
	}
	tip := t.at(egoFront-0.4, 0, above)
	t.raster.triangle(tip, t.at(egoFront-1.6, 0.6, above), t.at(egoFront-1.6, -0.6, above), colorAccent)
}
