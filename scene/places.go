package scene

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
)

// Places appends each mover's mesh-to-world matrix at an instant to dst, in
// float64. They are rigid, animated scales aside, and zero in all places for a mover that
// is not there then: its triangles are a point, and At(3, 3) tells. One goroutine at a
// time, as all of a Packer.
func (p *Packer) Places(dst []mgl64.Mat4, tNs int64) []mgl64.Mat4 {
	var actor *Actor
	var pose spatial.Pose
	there := false
	for i := range p.world.Movers {
		m := &p.world.Movers[i]
		if m.Actor != actor {
			actor = m.Actor
			pose, there = p.history.Pose(actor.ID, tNs)
			pose = p.world.FromMap(pose)
		}
		if !there {
			dst = append(dst, mgl64.Mat4{})
			continue
		}
		dst = append(dst, pose.Mat4().Mul4(m.place(tNs)))
	}
	return dst
}
