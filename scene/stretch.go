package scene

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
)

// poseAt returns where the actor stands at a time.
func (a *Actor) poseAt(tNs int64) spatial.Pose {
	if a.Motion != nil {
		return a.Motion.PoseAt(tNs)
	}
	return a.Pose
}

// At returns the part's place in the actor's frame at a time.
func (p *Part) At(tNs int64) mgl64.Mat4 {
	if p.Joints != nil {
		return p.Joints(tNs)
	}
	return p.Local
}

// polar splits a linear map into a rotation after a symmetric stretch: m = r s
// (Higham, Computing the Polar Decomposition, 1986). ok is false where m is
// singular: what it maps has no volume.
func polar(m mgl64.Mat3) (r, s mgl64.Mat3, ok bool) {
	size := 0.0
	for _, x := range m {
		size = max(size, math.Abs(x))
	}
	if !(size > 0) || math.IsInf(size, 0) || math.Abs(m.Det()) < 1e-12*size*size*size {
		return mgl64.Ident3(), mgl64.Mat3{}, false
	}
	r = m
	for range 64 {
		next := r.Add(r.Inv().Transpose()).Mul(0.5)
		change := 0.0
		for i := range next {
			change = max(change, math.Abs(next[i]-r[i]))
		}
		r = next
		if change < 1e-14 {
			break
		}
	}
	if r.Det() < 0 { // a mirror: the stretch takes it
		r = r.Mul(-1)
	}
	s = r.Transpose().Mul3(m)
	return r, s.Add(s.Transpose()).Mul(0.5), true
}

// fixedStretch returns the stretch that is applied to a moving part's mesh and
// its inverse: the part's scale at time 0. A part without volume then is not
// stretched beforehand. Rounding lets equal scales compare equal.
func fixedStretch(m mgl64.Mat3) (stretch, inverse mgl64.Mat3) {
	_, s, ok := polar(m)
	if !ok {
		return mgl64.Ident3(), mgl64.Ident3()
	}
	for i := range s {
		s[i] = float64(float32(s[i])) + 0
		if math.Abs(s[i]) < 1e-9 {
			s[i] = 0
		}
	}
	return s, s.Inv()
}
