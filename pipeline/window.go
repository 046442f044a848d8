package pipeline

import (
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene"
)

// GL returns the GL thread, for what shares the pipeline's context, such as a
// window. It is closed by Close.
func (p *Pipeline) GL() *gpu.Thread { return p.gl }

// Ego returns the motion that the vehicle follows; nil for one that stands.
func (p *Pipeline) Ego() scene.Motion { return p.config.Ego }

// Drops counts the sensor's lost messages by cause, over its outputs: of those
// that share a capture, the one that lost most.
func (s *Sensor) Drops() flow.Drops {
	most := flow.Drops{}
	for _, stats := range s.stats {
		_, _, _, drops := stats.snapshot()
		for cause, n := range drops {
			most[cause] = max(most[cause], n)
		}
	}
	return most
}
