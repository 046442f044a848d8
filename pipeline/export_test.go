package pipeline

import (
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Port returns an output of a scripted sensor.
func (s *Sensor) Port(name string) *sensors.Output[*sample.Imu] {
	for _, o := range s.topics.Outlets {
		if o.Spec().Name == name {
			return o.Port.(*sensors.Output[*sample.Imu])
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

// Accounted returns how many firings the present step keeps account of, one by one.
func (p *Pipeline) Accounted() int {
	b := p.roster.barrier.Load()
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.open)
}

// WatchNew has a function called each time another sensor of the type is made for this one.
func (s *Sensor) WatchNew(watch func()) {
	watched, make := *s.spec.Definition, s.spec.Definition.New
	watched.New = func(spec sensors.Spec) (sensors.Sensor, error) {
		watch()
		return make(spec)
	}
	s.spec.Definition = &watched
}

// TuningLocked reports whether somebody changes the sensor, or asks how it was changed, for which its firings wait.
func (s *Sensor) TuningLocked() bool {
	free := s.tuning.mu.TryLock()
	if free {
		s.tuning.mu.Unlock()
	}
	return !free
}
