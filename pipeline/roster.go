package pipeline

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/raybridge/raybridge/internal/closest"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
)

// Errors of sensors that come and go; callers test them with errors.Is.
var (
	// ErrNoSensor: no sensor of the pipeline has that name.
	ErrNoSensor = errors.New("no such sensor")
	// ErrMounted: other sensors are mounted in the sensor's frame.
	ErrMounted = errors.New("other sensors are mounted on it")
)

// live returns the sensors that the loops work with, in the order they were added.
// The slice is never changed.
func (p *Pipeline) live() []*Sensor {
	if list := p.roster.Load(); list != nil {
		return *list
	}
	return nil
}

// Sensors returns the sensors in the order they were added, without those that have
// ended. Any goroutine may call it, as Sensor and SensorsOf.
func (p *Pipeline) Sensors() []*Sensor { return slices.Clone(p.live()) }

// Sensor returns the sensor with a name. The error wraps ErrNoSensor and names the
// closest.
func (p *Pipeline) Sensor(name string) (*Sensor, error) {
	var names []string
	for _, s := range p.live() {
		if s.spec.Name == name {
			return s, nil
		}
		names = append(names, s.spec.Name)
	}
	return nil, fmt.Errorf("%w: %q, %s", ErrNoSensor, name, closest.Hint(name, names))
}

// SensorsOf returns the sensors whose type id or name matches a wildcard pattern
// ("sensor.camera.*", "front_*"; see path.Match), in the order they were added.
func (p *Pipeline) SensorsOf(pattern string) []*Sensor {
	var found []*Sensor
	for _, s := range p.live() {
		for _, name := range []string{s.spec.Definition.ID, s.spec.Name} {
			if ok, err := path.Match(pattern, name); err == nil && ok {
				found = append(found, s)
				break
			}
		}
	}
	return found
}

// add makes sensors of a rig's entries, on an actor; begun and joined if the pipeline
// has started.
func (p *Pipeline) add(entries []rig.Entry, attachTo uint32) ([]*Sensor, error) {
	added, started, err := p.enlist(entries, attachTo)
	if err != nil || !started {
		return added, err
	}
	// Not under change: what this takes must not hold up others that come and go.
	var begun error
	for _, s := range added {
		if begun = s.begin(context.Background()); begun != nil {
			break
		}
	}
	p.change.Lock()
	defer p.change.Unlock()
	if begun == nil && p.closed {
		begun = ErrClosed
	}
	if begun != nil {
		return nil, errors.Join(begun, p.strike(added))
	}
	p.refresh(added)
	return added, nil
}

// enlist makes sensors members, and lets bridges carry them; those of a pipeline that
// has not started join the roster at once.
func (p *Pipeline) enlist(entries []rig.Entry, attachTo uint32) (added []*Sensor, started bool, err error) {
	p.change.Lock()
	defer p.change.Unlock()
	if p.closed {
		return nil, false, ErrClosed
	}
	before := len(p.rig.Sensors)
	p.rig.Sensors = append(p.rig.Sensors, entries...)
	if added, err = p.resolve(before, attachTo); err != nil {
		p.rig.Sensors = p.rig.Sensors[:before]
		return nil, false, err
	}
	p.members = append(p.members[:len(p.members):len(p.members)], added...)
	if !p.started {
		p.refresh(added)
	}
	return added, p.started, nil
}

// resolve makes the sensors of the rig from the given entry on; change must be held.
func (p *Pipeline) resolve(from int, attachTo uint32) ([]*Sensor, error) {
	added, err := newSensors(&p.rig, p.config.Sensors, from)
	if err != nil {
		return nil, err
	}
	if err := checkTopics(slices.Concat(p.members, added)); err != nil {
		return nil, err
	}
	owners, err := p.owners(added, attachTo)
	if err != nil {
		return nil, err
	}
	var made carriage
	for _, b := range p.bridges {
		b.unknown = nil // of what failed before
	}
	for i, s := range added {
		err := s.join(p, owners[i])
		if err == nil {
			err = p.joinBridges(s, &made)
		}
		if err != nil {
			made.close()
			p.closeInlets(added)
			return nil, err
		}
	}
	made.connect()
	for _, b := range p.bridges {
		b.tellUnknown(b.bridge.Info().Name)
	}
	if p.started {
		for _, s := range added {
			p.tellWanted(s.takers)
		}
	}
	return added, nil
}

// joinBridges lets the bridges serve a sensor; change must be held.
func (p *Pipeline) joinBridges(s *Sensor, made *carriage) error {
	for _, b := range p.bridges {
		if err := b.serve(s, made); err != nil {
			return err
		}
	}
	return nil
}

// owners returns the actor that each added sensor rides on: the one that its parent
// rides on. change must be held.
func (p *Pipeline) owners(added []*Sensor, attachTo uint32) ([]uint32, error) {
	byFrame := map[string]uint32{rig.BaseFrame: attachTo}
	for _, s := range p.members {
		if s.spec.BodyFrame() != rig.BaseFrame {
			byFrame[s.spec.BodyFrame()] = s.owner
		}
	}
	parents := map[string]string{}
	for _, s := range added {
		if s.spec.BodyFrame() != rig.BaseFrame {
			parents[s.spec.BodyFrame()] = s.spec.ParentFrame
		}
	}
	list := make([]uint32, len(added))
	for i, s := range added {
		parent := s.spec.ParentFrame
		for parents[parent] != "" { // the rig has no circles
			parent = parents[parent]
		}
		list[i] = byFrame[parent]
		if attachTo != scene.EgoID && list[i] != attachTo {
			return nil, s.fault("parent", fmt.Errorf("%w: %s is on actor %d, not on %d", rig.ErrParent, parent, list[i], attachTo))
		}
	}
	return list, nil
}

// refresh puts sensors that have become live into the roster, in the members' order;
// change must be held.
func (p *Pipeline) refresh(added []*Sensor) {
	live := p.live()
	list := make([]*Sensor, 0, len(live)+len(added))
	for _, s := range p.members {
		if slices.Contains(live, s) || slices.Contains(added, s) {
			list = append(list, s)
		}
	}
	p.roster.Store(&list)
}

// strike takes sensors out of the pipeline and ends them; change must be held, and
// nobody works with them.
func (p *Pipeline) strike(gone []*Sensor) error {
	p.members = slices.DeleteFunc(slices.Clone(p.members), func(s *Sensor) bool { return slices.Contains(gone, s) })
	live := slices.DeleteFunc(slices.Clone(p.live()), func(s *Sensor) bool { return slices.Contains(gone, s) })
	p.roster.Store(&live)
	p.rig.Sensors = slices.DeleteFunc(slices.Clone(p.rig.Sensors), func(e rig.Entry) bool {
		return slices.ContainsFunc(gone, func(s *Sensor) bool { return s.spec.Name == e.Name })
	})
	var errs []error
	for _, s := range gone {
		errs = append(errs, wrap("end sensor "+s.spec.Name, s.life.End()))
		s.carried.close()
	}
	p.closeInlets(gone)
	return errors.Join(errs...)
}

// ownerOf describes an actor to the sensors on it. The error wraps scene.ErrNoActor or
// scene.ErrAbsent.
func (p *Pipeline) ownerOf(id uint32) (sensors.Owner, error) {
	a, err := p.Actor(id)
	if err != nil {
		return sensors.Owner{}, err
	}
	box, _ := p.history.Box(id)
	return sensors.Owner{ID: id, TypeID: a.TypeID(), Box: box}, nil
}
