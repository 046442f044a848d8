package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// roster holds a pipeline's sensors: those that were added and have not ended. The loops work with a list that is
// replaced as a whole, never changed. Any goroutine may use a roster.
type roster struct {
	registry *sensors.Registry
	defaults []bridges.Default // see Config
	wants    []bridges.Want    // see Config
	env      sensors.Env       // of all sensors; join adds what is a sensor's own
	vehicle  *scene.Driven     // that sensors on the ego may steer, nil for another ego
	scenery  *scenery
	bridges  *carry.Bridges

	barrier atomic.Pointer[barrier] // of StepSensors or StepTo, nil otherwise
	seed    atomic.Uint64           // of the sensors' noise
	shared  sensors.Shared
	live    atomic.Pointer[[]*Sensor] // the members that the loops work with, see list
	frames  frameLists                // their fixed frames
	endings sync.WaitGroup            // of sensors that end before the pipeline
	coming  sync.RWMutex              // read by those who add sensors, written by a Reset

	mu      sync.Mutex // serialises what comes and goes
	started bool       // guarded by mu
	closed  bool       // guarded by mu
	rig     rig.Rig    // guarded by mu: of members, in their order
	// members are all that were added and have not ended. mu guards the slice, which is replaced, never changed.
	members []*Sensor
	former  carry.Former     // guarded by mu: rows of those that ended
	ended   []SensorMeasures // guarded by mu: of those that ended last
	serials uint64           // guarded by mu: sensors that ever joined
}

// Errors of sensors that come and go; callers test them with errors.Is.
var (
	// ErrNoSensor: no sensor of the pipeline has that name.
	ErrNoSensor = errors.New("no such sensor")
	// ErrMounted: other sensors are mounted in the sensor's frame.
	ErrMounted = errors.New("other sensors are mounted on it")
)

// list returns the sensors that the loops work with, in the order they were added.
// The slice is never changed.
func (r *roster) list() []*Sensor {
	if list := r.live.Load(); list != nil {
		return *list
	}
	return nil
}

// all returns the members, the rows of those that ended, and whether the pipeline is closed.
func (r *roster) all() (members []*Sensor, former carry.Former, closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.members, r.former, r.closed
}

// find returns the sensor with a name. The error wraps ErrNoSensor and names the
// closest.
func (r *roster) find(name string) (*Sensor, error) {
	var names []string
	for _, s := range r.list() {
		if s.spec.Name == name {
			return s, nil
		}
		names = append(names, s.spec.Name)
	}
	return nil, fmt.Errorf("%w: %q, %s", ErrNoSensor, name, fault.Hint(name, names))
}

// matching returns the sensors whose type id or name matches a wildcard pattern.
func (r *roster) matching(pattern string) []*Sensor {
	var found []*Sensor
	for _, s := range r.list() {
		for _, name := range []string{s.spec.Definition.ID, s.spec.Name} {
			if ok, err := path.Match(pattern, name); err == nil && ok {
				found = append(found, s)
				break
			}
		}
	}
	return found
}

// start says that a pipeline starts, once: fresh tells whether it had not. It returns the sensors that are to be begun.
func (r *roster) start() (list []*Sensor, fresh bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return nil, false, ErrClosed
	case r.started:
		return nil, false, nil
	}
	r.started = true
	r.bridges.Start()
	list = r.list()
	for _, s := range list { // before others can ask when it fires
		s.joined.Store(true)
	}
	return list, true, nil
}

func (r *roster) hasStarted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.started
}

func (r *roster) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// close lets nothing come any more, and reports whether it was closed before.
func (r *roster) close() (before bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, r.closed = r.closed, true
	return before
}

// awaitEndings waits for the sensors that were ending when the pipeline did.
func (r *roster) awaitEndings(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		r.endings.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("end sensors: %w", context.Cause(ctx))
	}
}

// endAll ends all sensors, for nobody works with them any more.
func (r *roster) endAll() error {
	var errs []error
	for _, s := range slices.Backward(r.list()) {
		errs = append(errs, s.endLife())
	}
	return errors.Join(append(errs, r.shared.Close())...)
}

// add makes sensors of a rig's entries, on an actor; begun and joined if the pipeline
// has started.
func (r *roster) add(entries []sensors.Config, attachTo uint32) ([]*Sensor, error) {
	added, started, err := r.addMembers(entries, attachTo)
	if err != nil || !started {
		return added, err
	}
	// Not under mu: what this takes must not hold up others that come and go.
	var begun error
	for _, s := range added {
		if begun = s.begin(context.Background()); begun != nil {
			break
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if begun == nil && r.closed {
		begun = ErrClosed
	}
	if begun != nil {
		return nil, errors.Join(begun, r.remove(added))
	}
	r.refresh(added)
	return added, nil
}

// addOnce adds a sensor of the run's own if it joins the others.
func (r *roster) addOnce(c sensors.Config) error {
	r.mu.Lock()
	members := r.members
	r.mu.Unlock()
	if !joins(&c, members, func(s *Sensor) (id, name string) { return s.spec.Definition.ID, s.spec.Name }) {
		return nil
	}
	r.coming.RLock()
	defer r.coming.RUnlock()
	_, err := r.add([]sensors.Config{c}, c.AttachTo)
	return err
}

// addMembers makes sensors members, and lets bridges carry them; those of a pipeline that
// has not started join the list at once.
func (r *roster) addMembers(entries []sensors.Config, attachTo uint32) (added []*Sensor, started bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, false, ErrClosed
	}
	before := len(r.rig.Sensors)
	entries = append(slices.Clip(entries), companions(entries, slices.Concat(entries, r.rig.Sensors), r.registry, r.wants)...)
	r.rig.Sensors = append(r.rig.Sensors, withDefaults(entries, r.registry, r.defaults)...)
	if added, err = r.resolve(before, attachTo); err != nil {
		r.rig.Sensors = r.rig.Sensors[:before]
		return nil, false, err
	}
	r.members = append(r.members[:len(r.members):len(r.members)], added...)
	if !r.started {
		r.refresh(added)
	}
	return added, r.started, nil
}

// resolve makes the sensors of the rig from the given entry on; mu must be held.
func (r *roster) resolve(from int, attachTo uint32) ([]*Sensor, error) {
	added, err := newSensors(&r.rig, r.registry, from)
	if err != nil {
		return nil, err
	}
	if err := checkTopics(slices.Concat(r.members, added)); err != nil {
		return nil, err
	}
	owners, err := r.owners(added, attachTo)
	if err != nil {
		return nil, err
	}
	for i, s := range added {
		if err := r.join(s, owners[i]); err != nil {
			return nil, err
		}
	}
	return added, r.bridges.Join(topicsOf(added))
}

// topicsOf are what bridges serve of sensors.
func topicsOf(list []*Sensor) (topics []*carry.Topics) {
	for _, s := range list {
		topics = append(topics, &s.topics)
	}
	return topics
}

// owners returns the actor that each added sensor rides on: the one that its parent
// rides on. mu must be held.
func (r *roster) owners(added []*Sensor, attachTo uint32) ([]uint32, error) {
	byFrame := map[string]uint32{spatial.FrameBaseLink: attachTo}
	for _, s := range r.members {
		if s.spec.BodyFrame() != spatial.FrameBaseLink {
			byFrame[s.spec.BodyFrame()] = s.owner
		}
	}
	parents := map[string]string{}
	for _, s := range added {
		if s.spec.BodyFrame() != spatial.FrameBaseLink {
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

// join makes a sensor the pipeline's, on an actor.
func (r *roster) join(s *Sensor, owner uint32) error {
	about, err := r.ownerOf(owner)
	if err == nil {
		err = s.life.Load().SetOwner(about)
	}
	if err != nil {
		return s.fault("", err)
	}
	if _, onGrid := r.env.Map.Grid(); !onGrid { // who stands outside of a grid may be told to come
		if err := s.spec.Config.Reaches(r.registry, r.env.Map, r.scenery.placeOf(owner)); err != nil {
			return err
		}
	}
	r.serials++
	s.serial, s.owner, s.barrier, s.destroy = r.serials, owner, &r.barrier, r.destroy
	s.source.Owner = owner
	env := r.env
	env.Owner, env.Seed, env.Shared = owner, seedOf(r.seed.Load(), s.spec.Name), &r.shared
	env.Frames = func() []sample.Transform { return r.frames.of(r.live.Load(), owner) }
	env.Dropped, env.Log = s.dropped, r.env.Log.With("sensor", s.spec.Name)
	env.Ports, env.Inlets = s.env.Ports, s.env.Inlets
	*s.env = env
	return nil
}

// ownerOf describes an actor to the sensors on it. The error wraps scene.ErrNoActor or
// scene.ErrAbsent.
func (r *roster) ownerOf(id uint32) (sensors.Owner, error) {
	about := sensors.Owner{ID: id, TypeID: scene.EgoTypeID}
	if id == scene.EgoID {
		about.Vehicle = r.vehicle
	} else {
		a, err := r.scenery.actor(id)
		if err != nil {
			return sensors.Owner{}, err
		}
		about.TypeID = a.TypeID
	}
	about.Box, _ = r.scenery.history.Box(id)
	return about, nil
}

// seedOf derives a sensor's seed from the run's and its name, so that adding a
// sensor doesn't change the others' noise.
func seedOf(seed uint64, name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return h.Sum64() ^ seed*0x9e3779b97f4a7c15
}

// refresh puts sensors that have become live into the list, in the members' order;
// mu must be held.
func (r *roster) refresh(added []*Sensor) {
	live := r.list()
	list := make([]*Sensor, 0, len(live)+len(added))
	for _, s := range r.members {
		if slices.Contains(live, s) || slices.Contains(added, s) {
			list = append(list, s)
		}
	}
	r.live.Store(&list)
}

// reorder has the members in the order of a list that has the names of all of them.
func (r *roster) reorder(order []*Sensor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	place := func(name string) int {
		return slices.IndexFunc(order, func(s *Sensor) bool { return s.spec.Name == name })
	}
	r.members = slices.SortedFunc(slices.Values(r.members), func(a, b *Sensor) int { return cmp.Compare(place(a.spec.Name), place(b.spec.Name)) })
	r.rig.Sensors = slices.SortedFunc(slices.Values(r.rig.Sensors), func(a, b sensors.Config) int { return cmp.Compare(place(a.Name), place(b.Name)) })
	r.refresh(nil)
}

// remove takes sensors out of the pipeline and ends them; mu must be held, and
// nobody works with them.
func (r *roster) remove(gone []*Sensor) error {
	r.members = slices.DeleteFunc(slices.Clone(r.members), func(s *Sensor) bool { return slices.Contains(gone, s) })
	live := slices.DeleteFunc(slices.Clone(r.list()), func(s *Sensor) bool { return slices.Contains(gone, s) })
	r.live.Store(&live)
	r.rig.Sensors = slices.DeleteFunc(slices.Clone(r.rig.Sensors), func(e sensors.Config) bool {
		return slices.ContainsFunc(gone, func(s *Sensor) bool { return s.spec.Name == e.Name })
	})
	var errs []error
	for _, s := range gone {
		errs = append(errs, s.endLife())
		for _, in := range s.env.Inlets {
			in.Close()
		}
	}
	r.bridges.Leave(topicsOf(gone))
	return errors.Join(errs...)
}

// destroy begins a sensor's end, if no other sensor is mounted on it.
func (r *roster) destroy(s *Sensor) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.users.Closing() || r.closed {
		return nil
	}
	if on := r.mountedOn(s); len(on) > 0 {
		return fmt.Errorf("destroy sensor %s: %w: %s", s.spec.Name, ErrMounted, strings.Join(on, ", "))
	}
	for _, other := range r.members {
		if other.spec.Config.Beside == s.spec.Name && !other.users.Closing() {
			r.endLater(other)
		}
	}
	r.endLater(s)
	return nil
}

// mountedOn names the sensors whose parent frame is a sensor's and no other's; mu
// must be held.
func (r *roster) mountedOn(s *Sensor) []string {
	frame := s.spec.BodyFrame()
	if frame == spatial.FrameBaseLink {
		return nil
	}
	var names []string
	for _, other := range r.members {
		switch {
		case other == s || other.users.Closing() || other.spec.Config.Beside == s.spec.Name:
		case other.spec.BodyFrame() == frame:
			return nil // the frame stays
		case other.spec.ParentFrame == frame:
			names = append(names, other.spec.Name)
		}
	}
	return names
}

// endLater ends a sensor on a goroutine of its own, for the caller may be one of those that it
// waits for. awaitEndings waits for the goroutine. mu must be held.
func (r *roster) endLater(s *Sensor) {
	s.ending.once.Do(func() {
		s.topics.NoteListening()
		s.heardBy.end()
		gone := s.users.Close()
		r.endings.Go(func() {
			defer close(s.ending.done)
			<-gone
			s.ending.err = r.end(s)
		})
	})
}

// end ends a sensor that nobody works with.
func (r *roster) end(s *Sensor) error {
	err := s.endLife()
	ctx, cancel := flow.WithPatience(context.Background(), deliveryLimit)
	defer cancel()
	s.topics.Disconnect(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.former = r.former.With(s.rows(0), s.topics.InputRows())
	_ = r.remove([]*Sensor{s}) // its life has ended
	r.keepMeasures(s)
	return err
}

// deliveryLimit is how long the end of a run, of a step or of a sensor waits for what is queued to be sent.
const deliveryLimit = 2 * time.Minute

// endOn ends the sensors on an actor that is there no more.
func (r *roster) endOn(actor uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.members {
		if s.owner == actor && !s.users.Closing() && !r.closed {
			s.env.Log.Info("the actor that the sensor rode on is gone, and the sensor with it", "actor", actor)
			r.endLater(s)
		}
	}
}

// on returns the sensors on an actor.
func (r *roster) on(actor uint32) []*Sensor {
	var list []*Sensor
	for _, s := range r.list() {
		if s.owner == actor {
			list = append(list, s)
		}
	}
	return list
}

// mostEnded is how many sensors that have ended are told of one by one, as in the Summary.
const mostEnded = 100

// keepMeasures keeps those of a sensor that has ended. mu must be held.
func (r *roster) keepMeasures(s *Sensor) {
	m := s.measures()
	m.Ended = time.Now()
	if read := m.Readback; read != nil {
		read.Slots, read.InFlight, read.Ready, read.Lent, read.Stuck = 0, 0, 0, 0, 0
	}
	r.ended = append(r.ended[max(len(r.ended)-mostEnded+1, 0):len(r.ended):len(r.ended)], m)
}

// measured returns the members, and the measures of those that ended last.
func (r *roster) measured() (members []*Sensor, ended []SensorMeasures) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.members, slices.Clone(r.ended)
}
