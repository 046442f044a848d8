package pipeline

import (
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/simtime"
)

// Measures are the counts of a run for programs that watch over it: those that the Summary shows, by topic and by bridge. A
// Reset takes none of them back.
type Measures struct {
	// Frames are the instants that were begun.
	Frames int64
	// SimulatedS and WallS are the Summary's SimS and WallS.
	SimulatedS, WallS float64
	Now               simtime.Stamp
	Paused            bool
	// DeviceBytes are those of the buffers and textures on the device.
	DeviceBytes int64
	// Own are the topics of the run itself: /clock, and its log.
	Own []carry.TopicMeasures
	// Ended are the sensors that ended last, at most 100, the oldest first: what others counted is known to those who asked
	// before. Sensors are those that haven't.
	Ended, Sensors []SensorMeasures
	Bridges        []carry.BridgeMeasures
}

// Measures returns the counts up to now. Any goroutine may call it at any time, after Close too.
func (p *Pipeline) Measures() *Measures {
	_, wall, simulated := p.loop.elapsed.seconds()
	m := &Measures{
		Frames: p.loop.instants.Load(), SimulatedS: simulated, WallS: wall, Now: p.loop.clock.Now(), Paused: p.loop.clock.Paused(),
		DeviceBytes: p.gl.MemoryBytes(), Own: p.bridges.OwnMeasures(),
	}
	var members []*Sensor
	members, m.Ended = p.roster.measured()
	for _, s := range members {
		m.Sensors = append(m.Sensors, s.measures())
	}
	m.Bridges = p.bridges.Measures() // last: what a sensor's route has lost, its bridge may have counted
	return m
}
