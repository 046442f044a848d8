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
	example  sensors.Sensor    // guarded by mu: one that never runs; nil for none
	made     *sensors.Settings // guarded by mu: what example was made of
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

// settingsLocked returns the values that the sensor was told last; tuning.mu must be held.
func (s *Sensor) settingsLocked() *sensors.Settings {
	if s.tuning.settings != nil {
		return s.tuning.settings
	}
	return s.spec.Settings
}

// FieldOfView returns what the sensor sees of its surroundings, false for one that doesn't look at them or doesn't tell. Any goroutine may call it.
func (s *Sensor) FieldOfView() (view sensors.FieldOfView, ok bool) {
	example, _ := s.example()
	viewer, ok := example.(sensors.Viewer)
	if !ok {
		return view, false
	}
	return viewer.FieldOfView(), true
}

// example returns a sensor with the present settings that never runs, since the one that does is the frame loop's, and
// these settings. It is nil where none can be made.
func (s *Sensor) example() (sensors.Sensor, *sensors.Settings) {
	t := &s.tuning
	t.mu.Lock()
	settings, example := s.settingsLocked(), t.example
	known := t.made == settings
	t.mu.Unlock()
	if known {
		return example, settings
	}
	spec := s.spec
	spec.Settings = settings
	example, err := spec.Definition.New(spec) // the frame loop waits for no lock meanwhile
	if err != nil {
		return nil, settings
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.settingsLocked() == settings {
		t.example, t.made = example, settings
	}
	return example, settings
}

// Values returns the values of all attributes by name, those that Tune may change as the sensor was told last. One that
// isn't set has the value that it follows from others (sensors.Deriver), else its default. Any goroutine may call it.
func (s *Sensor) Values() map[string]any {
	example, settings := s.example()
	values := map[string]any{}
	for i := range s.spec.Definition.Attributes {
		a := &s.spec.Definition.Attributes[i]
		values[a.Name] = s.spec.Config.Shown(a, settings.Value(a.Name))
	}
	if deriver, ok := example.(sensors.Deriver); ok {
		for name, value := range deriver.Derived() {
			if _, there := values[name]; there && !settings.IsSet(name) {
				values[name] = value
			}
		}
	}
	return values
}

// Live returns those of Values that Tune may change. Any goroutine may call it.
func (s *Sensor) Live() map[string]any {
	_, settings := s.example()
	values, live := s.Values(), map[string]any{}
	for _, name := range settings.Live() {
		live[name] = values[name]
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
