package pipeline

import (
	"sync"

	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Frames that move or lie above the vehicle (REP-105): no sensor is their parent.
const (
	mapFrame  = "map"
	odomFrame = "odom"
)

// frames returns the fixed frames of the sensors on an actor, the same slice until
// sensors come or go. Any goroutine.
func (p *Pipeline) frames(owner uint32) []sample.Transform {
	f, roster := &p.fixed, p.roster.Load()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.roster != roster {
		f.roster, f.byOwner = roster, map[uint32][]sample.Transform{}
	}
	list, known := f.byOwner[owner]
	if !known {
		list = framesOf(p.live(), owner)
		f.byOwner[owner] = list
	}
	return list
}

// frameLists are the fixed frames of a roster.
type frameLists struct {
	mu      sync.Mutex
	roster  *[]*Sensor                    // guarded by mu
	byOwner map[uint32][]sample.Transform // guarded by mu
}

// framesOf returns the fixed frames of the sensors on an actor, parents first and each
// once: sensors may share a frame, and one whose data is in no frame of its own may be
// named like one of REP-105's.
func framesOf(list []*Sensor, owner uint32) []sample.Transform {
	var open, within []sample.Transform
	for _, s := range list {
		if s.owner != owner {
			continue
		}
		open = append(open, sample.Transform{
			Header: sample.Header{FrameID: s.spec.ParentFrame}, ChildFrameID: s.spec.BodyFrame(), Relative: s.relative,
		})
		if f, ok := s.life.Sensor().(sensors.Framer); ok {
			within = append(within, f.Frames()...)
		}
	}
	open = append(open, within...) // a name that both have is the sensor's that is mounted as it
	var frames []sample.Transform
	placed := map[string]bool{rig.BaseFrame: true, mapFrame: true, odomFrame: true}
	for grew := true; grew; {
		grew = false
		for i := range open {
			if f := &open[i]; !placed[f.ChildFrameID] && placed[f.FrameID] {
				placed[f.ChildFrameID], grew = true, true
				frames = append(frames, *f)
			}
		}
	}
	return frames
}
