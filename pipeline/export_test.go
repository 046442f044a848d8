package pipeline

import (
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Port returns an output of a scripted sensor.
func (s *Sensor) Port(name string) *sensors.Output[*sample.Imu] {
	for _, port := range s.ports {
		if port.Spec().Name == name {
			return port.(*sensors.Output[*sample.Imu])
		}
	}
	return nil
}
