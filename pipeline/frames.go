package pipeline

import (
	"sync"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// frameLists are the fixed frames of the sensors on each actor. Any goroutine may use them.
type frameLists struct {
	mu      sync.Mutex
	sensors *[]*Sensor                    // guarded by mu
	byOwner map[uint32][]sample.Transform // guarded by mu
}

// of returns the fixed frames of those of a list on an actor, the same slice until the list is
// replaced.
func (f *frameLists) of(list *[]*Sensor, owner uint32) []sample.Transform {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sensors != list {
		f.sensors, f.byOwner = list, map[uint32][]sample.Transform{}
	}
	frames, known := f.byOwner[owner]
	if !known && list != nil {
		frames = framesOf(*list, owner)
		f.byOwner[owner] = frames
	}
	return frames
}

// framesOf returns the fixed frames of the sensors on an actor, parents first and each once.
// Sensors may share a frame, and one whose data is in no frame of its own may be named like one
// of REP-105's.
func framesOf(list []*Sensor, owner uint32) []sample.Transform {
	var open, within []sample.Transform
	for _, s := range list {
		if s.owner != owner {
			continue
		}
		open = append(open, sample.Transform{
			Header: sample.Header{FrameID: s.spec.ParentFrame}, ChildFrameID: s.spec.BodyFrame(), Relative: s.spec.Relative,
		})
		if f, ok := s.life.Load().Sensor().(sensors.Framer); ok {
			within = append(within, f.Frames()...)
		}
	}
	open = append(open, within...) // a name that both have is the sensor's that is mounted as it
	var frames []sample.Transform
	// These move or lie above the vehicle: no sensor is their parent.
	placed := map[string]bool{spatial.FrameBaseLink: true, spatial.FrameMap: true, spatial.FrameOdom: true}
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
