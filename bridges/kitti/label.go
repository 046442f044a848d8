package kitti

import (
	"math"
	"strconv"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
)

// occluded returns the level of a hidden share, 0 to 1, or of -1 for unknown: 0 visible, 1 partly, 2 largely hidden, 3
// unknown. KITTI publishes no thresholds; ours are a tenth and a half.
func occluded(hidden float64) int {
	switch {
	case hidden < 0:
		return 3
	case hidden <= 0.1:
		return 0
	case hidden <= 0.5:
		return 1
	default:
		return 2
	}
}

// A label is an object's line of a label file.
type label struct {
	category string
	// truncated is the share outside the picture, 0 to 1, or -1 for unknown.
	truncated float64
	occluded  int
	box       rectangle
	place     place
}

// A rectangle is the first and the last column and row of an object, counted from 0.
type rectangle struct{ left, top, right, bottom float64 }

// A place is a box in the reference camera's optical frame: x right, y down, z forward.
type place struct {
	height, width, length float64
	bottom                mgl64.Vec3 // centre of the bottom face, metres
	// heading is the angle about y from the camera's x axis to the box's, radians: KITTI's rotation_y. 0 looks to the
	// right, and -pi/2 ahead.
	heading float64
}

// placeOf returns the place of a box of a size (length, width, height), of which the pose is that of its centre in the
// camera's optical frame.
func placeOf(pose spatial.Pose, size mgl64.Vec3) place {
	ahead := pose.Rotate(mgl64.Vec3{1, 0, 0})
	return place{
		height: size[2], width: size[1], length: size[0],
		bottom:  pose.Apply(mgl64.Vec3{0, 0, -size[2] / 2}),
		heading: math.Atan2(-ahead[2], ahead[0]),
	}
}

// alpha returns the heading less the direction in which the camera sees the box, -pi to pi.
func (p *place) alpha() float64 {
	return math.Remainder(p.heading-math.Atan2(p.bottom[0], p.bottom[2]), 2*math.Pi)
}

// append writes the line.
func (l *label) append(dst []byte) []byte {
	dst = appendHundredths(append(dst, l.category...), l.truncated)
	dst = strconv.AppendInt(append(dst, ' '), int64(l.occluded), 10) // readers take no fraction
	p := &l.place
	dst = l.box.append(appendHundredths(dst, p.alpha()))
	return append(appendHundredths(dst, p.height, p.width, p.length, p.bottom[0], p.bottom[1], p.bottom[2], p.heading), '\n')
}

// empty reports whether the rectangle has no extent.
func (r *rectangle) empty() bool { return r.right <= r.left || r.bottom <= r.top }

func (r *rectangle) append(dst []byte) []byte {
	return appendHundredths(dst, r.left, r.top, r.right, r.bottom)
}

// appendDontCare writes the line of a region that evaluations leave out.
func (r *rectangle) appendDontCare(dst []byte) []byte {
	return append(r.append(append(dst, "DontCare -1 -1 -10"...)), " -1 -1 -1 -1000 -1000 -1000 -10\n"...)
}

// appendHundredths writes numbers with two decimals, a blank ahead of each.
func appendHundredths(dst []byte, numbers ...float64) []byte {
	for _, v := range numbers {
		dst = strconv.AppendFloat(append(dst, ' '), math.Round(v*100)/100+0, 'f', 2, 64) // + 0: no -0.00
	}
	return dst
}
