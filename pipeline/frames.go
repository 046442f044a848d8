package pipeline

import (
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Frames that move or lie above the vehicle (REP-105): no sensor is their parent.
const (
	mapFrame  = "map"
	odomFrame = "odom"
)

// frames returns the rig's fixed frames, parents first and each once: sensors may
// share a frame, and one whose data is in no frame of its own may be named like
// one of REP-105's.
func (p *Pipeline) frames() []sample.Transform {
	var open, within []sample.Transform
	for _, s := range p.sensors {
		open = append(open, sample.Transform{
			Header: sample.Header{FrameID: s.spec.ParentFrame}, ChildFrameID: s.spec.BodyFrame(), Relative: s.relative,
		})
		if f, ok := s.sensor.(sensors.Framer); ok {
			within = append(within, f.Frames()...)
		}
	}
	open = append(open, within...) // a name that both have is the sensor's that is mounted as it
	var list []sample.Transform
	placed := map[string]bool{rig.BaseFrame: true, mapFrame: true, odomFrame: true}
	for grew := true; grew; {
		grew = false
		for i := range open {
			if f := &open[i]; !placed[f.ChildFrameID] && placed[f.FrameID] {
				placed[f.ChildFrameID], grew = true, true
				list = append(list, *f)
			}
		}
	}
	return list
}
