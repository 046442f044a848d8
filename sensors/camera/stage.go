package camera

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// stage is where everything is at one instant.
type stage struct {
	stamp  simtime.Stamp
	frame  uint64       // the world's
	number uint64       // rises whenever the stage moves, from 1
	ego    spatial.Pose // in the world frame
	// cast has who is in each row of the scene, places lead from each frame to the world's.
	cast   []scene.Shown
	places []mgl64.Mat4
}

// place returns where a frame is. In a picture that takes some time, the copies of a part with a
// shape are seen one after the other, and all have the first one's frame.
func (s *stage) place(r *renderer, frame int, timed bool) mgl64.Mat4 {
	if frame == worldFrame || !timed {
		return s.places[frame]
	}
	if m := s.cast[frame-rowFrame(0)].Mover; m >= 0 {
		frame -= r.geometry.Movers[m].Copy
	}
	return s.places[frame]
}

// set moves the stage to an instant.
func (s *stage) set(r *renderer, t sensors.Tick) {
	s.stamp, s.frame = t.Due, t.Frame
	s.number++
	s.ego = r.pose(scene.EgoID, spatial.Identity(), t.Due)
	s.cast = r.packer.Cast(s.cast[:0], t.Due)
	s.places = r.packer.Places(append(s.places[:0], mgl64.Ident4()), s.cast, t.Due)
	for i := range r.geometry.Movers {
		if m := &r.geometry.Movers[i]; m.Changes() {
			r.drawing.movers[i].low, r.drawing.movers[i].high = m.Bounds(t.Due)
		}
	}
}
