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

// Takeovers returns how many settings the sensor keeps that it hasn't taken over yet.
func (s *Sensor) Takeovers() int {
	s.tuning.mu.Lock()
	defer s.tuning.mu.Unlock()
	return len(s.tuning.queue)
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

// Accounted returns how many firings the present step keeps account of, one by one.
func (p *Pipeline) Accounted() int {
	b := p.barrier.Load()
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.open)
}
