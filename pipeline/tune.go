package pipeline

import (
	"fmt"
	"sync"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
)

// Tuning is what is to change in a sensor that runs.
type Tuning struct {
	// Rate is the new one; zero leaves it as it is.
	Rate simtime.Rate
	// Attributes are new values by name, as in a rig; only sensors.Attribute.Live ones.
	Attributes map[string]any
}

// tuning is what a sensor has been told and not yet taken over.
type tuning struct {
	mu       sync.Mutex
	settings *sensors.Settings // guarded by mu: with all that it was told; nil until then
	rate     simtime.Rate      // guarded by mu: for the schedule at the next firing; zero for none
	after    sensors.Sensor    // guarded by mu: to be taken over once rate counts; nil for none
	from     uint64            // guarded by mu: the first firing on the schedule's present rate
	queue    []takeover        // guarded by mu: in the order of their firings
	viewer   sensors.Viewer    // guarded by mu: one that never runs, with the settings viewed; nil where there is none
	viewed   *sensors.Settings // guarded by mu
}

// takeover is what a sensor takes over ahead of a firing, or of a later one where that came to
// nothing.
type takeover struct {
	fresh sensors.Sensor
	from  uint64
}

// Tune changes the sensor while it runs. Attributes count from its next firing on. A new rate
// counts after that: the firing after it is the first one on the new rate's grid. Nothing
// changes where one of the values is refused. The errors are those of a rig: they wrap sensors.ErrValue,
// sensors.ErrUnknownAttribute, sensors.ErrFixed or simtime.ErrRate. In a stepped run a call
// between two steps counts from the same firing every time. Any goroutine may call it.
func (s *Sensor) Tune(t Tuning) error {
	if err := s.retune(t); err != nil {
		return fmt.Errorf("tune sensor %s: %w", s.spec.Name, err)
	}
	return nil
}

// Settings returns the values of all attributes, those that Tune may change as the sensor was told last. They are not to be
// changed. Any goroutine may call it.
func (s *Sensor) Settings() *sensors.Settings {
	s.tuning.mu.Lock()
	defer s.tuning.mu.Unlock()
	return s.settingsLocked()
}

// settingsLocked is Settings; tuning.mu must be held.
func (s *Sensor) settingsLocked() *sensors.Settings {
	if s.tuning.settings != nil {
		return s.tuning.settings
	}
	return s.spec.Settings
}

// FieldOfView returns what the sensor sees of its surroundings, false for one that doesn't look at them or doesn't tell. Any goroutine may call it.
func (s *Sensor) FieldOfView() (view sensors.FieldOfView, ok bool) {
	t := &s.tuning
	t.mu.Lock()
	settings, viewer := s.settingsLocked(), t.viewer
	known := t.viewed == settings
	t.mu.Unlock()
	if !known {
		viewer = s.viewerOf(settings)
	}
	if viewer == nil {
		return view, false
	}
	return viewer.FieldOfView(), true
}

// viewerOf makes a sensor with the settings that never runs: the one that does is the frame loop's. That waits for no lock
// meanwhile.
func (s *Sensor) viewerOf(settings *sensors.Settings) sensors.Viewer {
	spec := s.spec
	spec.Settings = settings
	var viewer sensors.Viewer
	if fresh, err := spec.Definition.New(spec); err == nil {
		viewer, _ = fresh.(sensors.Viewer)
	}
	t := &s.tuning
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.settingsLocked() == settings {
		t.viewer, t.viewed = viewer, settings
	}
	return viewer
}

// Live returns the attributes that Tune may change, with the values that the sensor was told
// last. Any goroutine may call it.
func (s *Sensor) Live() map[string]any {
	settings := s.Settings()
	live := map[string]any{}
	for _, a := range s.spec.Definition.Attributes {
		if a.Live {
			live[a.Name] = settings.Value(a.Name)
		}
	}
	return live
}

func (s *Sensor) retune(t Tuning) error {
	d := s.spec.Definition
	switch {
	case t.Rate.IsZero():
	case d.EachFrame:
		return fmt.Errorf("%w: a %s fires each frame", simtime.ErrRate, d.ID)
	}
	if err := sensors.CheckRate(t.Rate); err != nil {
		return err
	}
	s.tuning.mu.Lock()
	defer s.tuning.mu.Unlock()
	spec := s.spec
	if s.tuning.settings != nil {
		spec.Settings = s.tuning.settings
	}
	settings, err := spec.Settings.With(t.Attributes)
	if err != nil {
		return err
	}
	spec.Settings, spec.Rate = settings, s.Rate()
	fresh, err := d.New(spec)
	if err != nil {
		return err
	}
	rate, after := s.tuning.rate, s.tuning.after
	if !t.Rate.IsZero() {
		rate = t.Rate
	}
	if !rate.IsZero() {
		spec.Rate = rate
		if after, err = d.New(spec); err != nil {
			return err
		}
	}
	s.tuning.settings, s.tuning.rate, s.tuning.after = settings, rate, after
	if len(t.Attributes) > 0 {
		s.tuning.add(fresh)
	}
	return nil
}

// add queues what counts from the next firing on, in place of what was to count from there.
// mu is held.
func (t *tuning) add(fresh sensors.Sensor) {
	if n := len(t.queue); n > 0 && t.queue[n-1].from == t.from {
		t.queue = t.queue[:n-1]
	}
	t.queue = append(t.queue, takeover{fresh, t.from})
}

// changeRate lets a new rate count after a firing, also after one that comes to nothing
// since nobody is listening, and reports whether there is one. Frame loop.
func (s *Sensor) changeRate(at sensors.Tick, listening bool) (changed bool, err error) {
	t := &s.tuning
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rate.IsZero() {
		return false, nil
	}
	if err := s.schedule.SetRate(t.rate, at.Due); err != nil {
		return false, err
	}
	t.from = at.Seq + 1
	if !listening && s.users.Idle() {
		t.queue = nil // no firing is left that would take it over
	}
	t.add(t.after)
	t.rate, t.after = simtime.Rate{}, nil
	return true, nil
}

// tune lets the sensor take over what it was told, ahead of a firing.
func (s *Sensor) tune(at sensors.Tick) error {
	t := &s.tuning
	t.mu.Lock()
	var fresh sensors.Sensor
	for len(t.queue) > 0 && t.queue[0].from <= at.Seq {
		fresh, t.queue = t.queue[0].fresh, t.queue[1:]
	}
	t.mu.Unlock()
	if fresh == nil {
		return nil
	}
	return s.life.Load().Tune(fresh)
}
