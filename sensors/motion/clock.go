package motion

import (
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// Clock describes sensor.other.clock, the simulation time as a sensor. It is on a topic of its
// own and at its own rate, for rigs that list one. SVL's Clock sends at each of its steps, at
// 100 Hz. /clock itself is the pipeline's, which publishes it with or without this sensor.
type Clock struct{}

// ClockDefinition describes sensor.other.clock.
var ClockDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.clock",
	Number: 49,
	Doc:    "simulation time on a topic beside /clock",
	Tags:   []string{"time"},
	Outputs: sensors.OneOutput[sample.Clock](sensors.OutputSpec{
		Name: "clock", Doc: "rosgraph_msgs/Clock",
		QoS: flow.ClockQoS,
	}),
	Rate: simtime.Hz(100),
}, func(spec sensors.Spec, _ Clock) (sensors.Sensor, error) {
	return &clock{sensors.Reading[sample.Clock]{Spec: spec}}, nil
})

type clock struct {
	sensors.Reading[sample.Clock]
}

// Tick publishes the due instant.
func (s *clock) Tick(at sensors.Tick) error {
	s.Message.Stamp = at.Due
	s.Publish(at)
	return nil
}
