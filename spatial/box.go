package spatial

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"
)

// OrientedBox is a solid box: Pose is its centre and orientation in some frame, Half
// half its extents along its own axes, metres.
type OrientedBox struct {
	Pose Pose
	Half mgl64.Vec3
}

// Corners returns the box's eight corners in the frame of its pose. Bit k of the index is set
// for the corners at the positive end of axis k.
func (b OrientedBox) Corners() (corners [8]mgl64.Vec3) {
	for i := range corners {
		local := b.Half
		for axis := range 3 {
			if i>>axis&1 == 0 {
				local[axis] = -local[axis]
			}
		}
		corners[i] = b.Pose.Apply(local)
	}
	return corners
}

// Radius returns the radius of the sphere around the box's centre that bounds it.
func (b OrientedBox) Radius() float64 { return b.Half.Len() }

// Overlaps reports whether two boxes have a point in common; touching counts. It
// is the separating axis test of Gottschalk, Lin and Manocha (OBBTree, SIGGRAPH
// 1996, section 5).
func (b OrientedBox) Overlaps(c OrientedBox) bool {
	relative := b.Pose.Inverse().Compose(c.Pose)
	rotation := relative.Mat4().Mat3()
	var size mgl64.Mat3 // magnitudes, a little larger so that parallel edges give no axis of length 0
	for i := range rotation {
		size[i] = math.Abs(rotation[i]) + 1e-12
	}
	t := relative.Position
	for i := range 3 {
		if math.Abs(t[i]) > b.Half[i]+size.Row(i).Dot(c.Half) {
			return false
		}
		if math.Abs(rotation.Col(i).Dot(t)) > c.Half[i]+size.Col(i).Dot(b.Half) {
			return false
		}
	}
	for i := range 3 {
		for j := range 3 {
			i1, i2, j1, j2 := (i+1)%3, (i+2)%3, (j+1)%3, (j+2)%3
			reach := b.Half[i1]*size.At(i2, j) + b.Half[i2]*size.At(i1, j) +
				c.Half[j1]*size.At(i, j2) + c.Half[j2]*size.At(i, j1)
			if math.Abs(t[i2]*rotation.At(i1, j)-t[i1]*rotation.At(i2, j)) > reach {
				return false
			}
		}
	}
	return true
}

// OverlapsTriangle reports whether the box and a triangle have a point in common; touching
// counts. The triangle is in the box's own frame (its centre is the origin). It is the test of
// Akenine-Möller, "Fast 3D Triangle-Box Overlap Testing", JGT 6(1), 2001.
func (b OrientedBox) OverlapsTriangle(triangle [3]mgl64.Vec3) bool {
	for axis := range 3 {
		low := min(triangle[0][axis], triangle[1][axis], triangle[2][axis])
		high := max(triangle[0][axis], triangle[1][axis], triangle[2][axis])
		if low > b.Half[axis] || high < -b.Half[axis] {
			return false
		}
	}
	edges := [3]mgl64.Vec3{triangle[1].Sub(triangle[0]), triangle[2].Sub(triangle[1]), triangle[0].Sub(triangle[2])}
	apart := func(axis mgl64.Vec3) bool {
		p0, p1, p2 := axis.Dot(triangle[0]), axis.Dot(triangle[1]), axis.Dot(triangle[2])
		reach := b.Half[0]*math.Abs(axis[0]) + b.Half[1]*math.Abs(axis[1]) + b.Half[2]*math.Abs(axis[2])
		return min(p0, p1, p2) > reach || max(p0, p1, p2) < -reach
	}
	for _, e := range edges {
		if apart(mgl64.Vec3{0, -e[2], e[1]}) || apart(mgl64.Vec3{e[2], 0, -e[0]}) || apart(mgl64.Vec3{-e[1], e[0], 0}) {
			return false
		}
	}
	return !apart(edges[0].Cross(edges[1]))
}
