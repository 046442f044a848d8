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

// Takers returns how many take what bridges bring of a topic.
func (p *Pipeline) Takers(topic string) (n int) {
	p.change.Lock()
	defer p.change.Unlock()
	for _, b := range p.bridges {
		if r := b.received[topic]; r != nil {
			n += len(r.takers)
		}
	}
	return n
}
