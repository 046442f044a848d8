package scene

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"
)

// enlargement bounds by how much planeRows enlarges a triangle whose coordinates
// reach up to extent, in metres: some steps of float32 there, and not less than a
// ray from 100 m away needs. More would be seen: rays that pass a silhouette hit it.
func enlargement(extent float64) float64 { return max(2e-5, 2.5e-7*extent) }

// maxEnlargement keeps slivers from growing long tips.
const maxEnlargement = 0.02

// planeRows returns a triangle's plane and barycentric rows (Baldwin and Weber,
// Fast Ray-Triangle Intersections by Coordinate Transformation, JCGT 2016), of
// the triangle enlarged about its incentre by margin on every side: float32
// rounding then leaves no gap between neighbours.
func planeRows(a, b, c Row, margin float64) (plane, u, v Row, corners [3]mgl64.Vec3) {
	p0, p1, p2 := vec64(a), vec64(b), vec64(c)
	n := p1.Sub(p0).Cross(p2.Sub(p0))
	twice := n.Len()
	n = n.Mul(1 / twice)

	l0, l1, l2 := p2.Sub(p1).Len(), p0.Sub(p2).Len(), p1.Sub(p0).Len()
	perimeter := l0 + l1 + l2
	centre := p0.Mul(l0).Add(p1.Mul(l1)).Add(p2.Mul(l2)).Mul(1 / perimeter)
	radius := twice / perimeter
	grow := 1 + min(margin/radius, maxEnlargement)
	for i, p := range [3]mgl64.Vec3{p0, p1, p2} {
		corners[i] = centre.Add(p.Sub(centre).Mul(grow))
	}

	p0 = corners[0]
	e1, e2 := corners[1].Sub(p0), corners[2].Sub(p0)
	area := grow * grow * twice
	ru := e2.Cross(n).Mul(1 / area)
	rv := n.Cross(e1).Mul(1 / area)
	return row(n, centre), row(ru, p0), row(rv, p0), corners
}

// row rounds a row to float32 and then takes its offset so that the rounded
// row is zero at p.
func row(r, p mgl64.Vec3) Row {
	x := Row{float32(r[0]), float32(r[1]), float32(r[2])}
	x[3] = float32(-vec64(x).Dot(p))
	return x
}

// boxOf returns the box of the enlarged corners and the margin, rounded outwards.
func boxOf(corners *[3]mgl64.Vec3, margin float64) (lo, hi [3]float32) {
	for a := range 3 {
		l := min(corners[0][a], corners[1][a], corners[2][a]) - margin
		h := max(corners[0][a], corners[1][a], corners[2][a]) + margin
		lo[a] = math.Nextafter32(float32(l), -math.MaxFloat32)
		hi[a] = math.Nextafter32(float32(h), math.MaxFloat32)
	}
	return lo, hi
}
