package viewer

import (
	"fmt"
	"image"
	"image/color"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/internal/picture"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// coloring says what the colours of a cloud's points mean.
type coloring uint8

const (
	byHeight coloring = iota
	byIntensity
	byTag
	byReturn  // only where a firing has several
	colorings // how many there are
)

var coloringNames = [colorings]string{"height", "intensity", "label", "return"}

// Heights above the ground that the colours spread over, metres.
const (
	lowest  = -0.5
	highest = 8.0
)

// point is a return in base_link, metres, with its colour.
type point struct {
	x, y, z float32
	color   color.RGBA
}

// cloud holds the newest scan of one lidar, as its two views show it.
type cloud struct {
	mount    spatial.Pose // of the lidar in base_link
	scans    latest[sample.PointCloud]
	shown    *sample.PointCloud // nil before the first
	points   []point
	coloring coloring
}

// refresh takes what has arrived and reports whether there was anything.
func (c *cloud) refresh() bool {
	m := c.scans.take(c.shown)
	if m == nil {
		return false
	}
	c.shown = m
	c.place()
	return true
}

// colorBy changes the points' colours.
func (c *cloud) colorBy(by coloring) {
	c.coloring = by
	c.place()
}

// hasReturns reports whether the lidar reports several echoes of a firing.
func (c *cloud) hasReturns() bool { return c.shown != nil && c.shown.Returns.Points() > 1 }

// place moves the returns to base_link and colours them.
func (c *cloud) place() {
	c.points = c.points[:0]
	if c.shown == nil {
		return
	}
	turn := c.mount.Orientation.Mat4().Mat3()
	for i := range c.shown.Points {
		p := &c.shown.Points[i]
		if p.X != p.X {
			continue // a miss of an organized cloud
		}
		at := turn.Mul3x1(mgl64.Vec3{float64(p.X), float64(p.Y), float64(p.Z)}).Add(c.mount.Position)
		c.points = append(c.points, point{float32(at[0]), float32(at[1]), float32(at[2]), c.colorOf(p, at[2])})
	}
}

func (c *cloud) colorOf(p *sample.Point, height float64) color.RGBA {
	switch c.coloring {
	case byIntensity:
		intensity := float64(p.Intensity)
		if c.shown.UnitIntensity {
			return picture.IntensityRamp.At(intensity)
		}
		return picture.IntensityRamp.At(intensityScale(intensity))
	case byTag:
		return brighten(color.RGBA(scene.Tag(p.Tag).Color()))
	case byReturn:
		return picture.IDColor(uint32(p.Return))
	default:
		return picture.HeightRamp.At((height - lowest) / (highest - lowest))
	}
}

// intensityScale gives the diffuse surfaces (0 to 100) three quarters of the colours, most of
// them to the dull ones. The retroreflectors (101 to 255) have the rest.
func intensityScale(intensity float64) float64 {
	if intensity <= 100 {
		return math.Sqrt(max(0, intensity)/100) * 0.75
	}
	return 0.75 + (intensity-100)/155*0.25
}

// brighten lifts a label's colour off the dark background.
func brighten(c color.RGBA) color.RGBA {
	lift := func(x uint8) uint8 { return uint8(72 + int(x)*183/255) }
	return color.RGBA{lift(c.R), lift(c.G), lift(c.B), 255}
}

// The ego's outline in base_link, metres: a car with the default wheelbase of 2.8.
const (
	egoBack, egoFront = -0.95, 3.75
	egoSide           = 0.92
	egoWaist, egoTop  = 0.95, 1.5
	egoGround         = 0.25
	cabinBack         = 0.1
	cabinFront        = 2.5
	cabinSide         = 0.78
)

// legend draws the scale of the colours into a view's lower left corner; labels and returns
// have none.
func (c *cloud) legend(dst *image.RGBA, fonts *typefaces) {
	const width, height, inset = 140, 6, 10
	low, high, scale := fmt.Sprintf("%g m", lowest), fmt.Sprintf("%g m", highest), picture.HeightRamp
	switch c.coloring {
	case byIntensity:
		low, high, scale = "0", "255", picture.IntensityRamp
		if c.shown != nil && c.shown.UnitIntensity {
			high = "1"
		}
	case byTag, byReturn:
		return
	}
	if dst.Rect.Dx() < width*2 || dst.Rect.Dy() < width {
		return
	}
	face := fonts.regular
	name := coloringNames[c.coloring] + "  " + low + " "
	size := image.Pt(face.width(name)+width+face.width(" "+high), face.height)
	at := image.Pt(dst.Rect.Min.X+inset, dst.Rect.Max.Y-inset-size.Y)
	veil(dst, image.Rectangle{Min: at, Max: at.Add(size)}.Inset(-4), colorWell, 210)
	at = face.draw(dst, at, name, colorDim)
	bar := image.Rect(0, 0, width, height).Add(image.Pt(at.X, at.Y+(face.height-height)/2))
	for x := range width {
		fill(dst, image.Rect(bar.Min.X+x, bar.Min.Y, bar.Min.X+x+1, bar.Max.Y), scale.At(float64(x)/width))
	}
	face.draw(dst, image.Pt(bar.Max.X, at.Y), " "+high, colorDim)
}
