package pipeline

import (
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Frames that move or lie above the vehicle (REP-105): no sensor is their parent.
const (
	mapFrame  = "map"
	odomFrame = "odom"
)

// frameList is the fixed frames of a roster.
type frameList struct {
	roster *[]*Sensor
	frames []sample.Transform
}

// frames returns the ego's fixed frames, the same slice until sensors come or go.
func (p *Pipeline) frames() []sample.Transform {
	roster := p.roster.Load()
	if known := p.fixed.Load(); known != nil && known.roster == roster {
		return known.frames
	}
	list := &frameList{roster: roster, frames: framesOf(p.live())}
	p.fixed.Store(list)
	return list.frames
}

// framesOf returns the fixed frames of the sensors on the ego, parents first and each
// once: sensors may share a frame, and one whose data is in no frame of its own may be
// named like one of REP-105's. Those on other actors are in no tree: their messages'
// headers say where they are.
func framesOf(list []*Sensor) []sample.Transform {
	var open, within []sample.Transform
	for _, s := range list {
		if s.owner != scene.EgoID {
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
