package pipeline

import (
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline/carry"
)

// SensorMeasures are the counts of one sensor.
type SensorMeasures struct {
	// Serial is the sensor's number: another one of the same name has another.
	Serial     uint64
	Name, Type string
	// Ended is when the sensor ended, zero for one that hasn't.
	Ended time.Time
	// Readback is nil for a sensor without captures.
	Readback *ReadbackMeasures
	Topics   []carry.TopicMeasures
}

// ReadbackMeasures are the counts of a sensor's captures.
type ReadbackMeasures struct {
	// Completed captures came back with data.
	Completed uint64
	// Of Slots, InFlight wait for the device, Ready for their completion, and Lent are read. Stuck are out of use after a timeout. The
	// others are free.
	Slots, InFlight, Ready, Lent, Stuck int
	// GPU, Fence, Copy and Wait are the parts of those names, see PartLatency.
	GPU, Fence, Copy, Wait flow.Histogram
}

// measures are the sensor's.
func (s *Sensor) measures() SensorMeasures {
	m := SensorMeasures{Serial: s.serial, Name: s.spec.Name, Type: s.spec.Definition.ID}
	if read, ok := s.reads.total(s.life.Load()); ok {
		m.Readback = &ReadbackMeasures{
			Completed: read.Completed, Slots: read.Slots, InFlight: read.InFlight, Ready: read.Ready, Stuck: read.Stuck,
			Lent: max(read.Held-read.InFlight-read.Ready, 0), // they are counted one after the other
			GPU:  read.GPU.Histogram(), Fence: read.Fence.Histogram(), Copy: read.Copy.Histogram(), Wait: read.Queue.Histogram(),
		}
	}
	for _, o := range s.topics.Outlets {
		m.Topics = append(m.Topics, o.Measures())
	}
	return m
}
