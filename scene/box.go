package scene

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
)

// Box is an axis-aligned box in some frame: its centre and half its extents, metres.
type Box struct{ Center, Half mgl64.Vec3 }

// DefaultEgoBox bounds a mid-size car in base_link: 4.9 m long, 1.9 m wide, 1.5 m
// high, the rear axle 1.1 m before its tail.
var DefaultEgoBox = Box{Center: mgl64.Vec3{1.35, 0, 0.75}, Half: mgl64.Vec3{2.45, 0.95, 0.75}}

// EgoTypeID is the type id of the ego.
const EgoTypeID = "vehicle.ego"

// BoxOf returns the box of an actor in its own frame, as its meshes lie at time 0;
// that of an actor without triangles is empty, at its origin.
func (s *Scene) BoxOf(a *Actor) Box {
	low := mgl64.Vec3{math.Inf(1), math.Inf(1), math.Inf(1)}
	high := low.Mul(-1)
	for i := range a.Parts {
		part := &a.Parts[i]
		at := part.At(0)
		for _, v := range s.Meshes[part.Mesh].Positions {
			p := at.Mul4x1(mgl64.Vec4{float64(v[0]), float64(v[1]), float64(v[2]), 1})
			for k := range 3 {
				low[k], high[k] = min(low[k], p[k]), max(high[k], p[k])
			}
		}
	}
	if low[0] > high[0] {
		return Box{}
	}
	return Box{Center: low.Add(high).Mul(0.5), Half: high.Sub(low).Mul(0.5)}
}

// At returns the box of a frame where the frame has a pose.
func (b Box) At(pose spatial.Pose) spatial.OrientedBox {
	pose.Position = pose.Apply(b.Center)
	return spatial.OrientedBox{Pose: pose, Half: b.Half}
}
