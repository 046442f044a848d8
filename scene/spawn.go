package scene

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Errors of Spawn, SpawnActor and Remove; they come wrapped with what was asked for.
var (
	// ErrNoActor: no actor has the id, or no model the name.
	ErrNoActor = errors.New("no such actor")
	// ErrReserveEmpty: all slots are taken.
	ErrReserveEmpty = errors.New("no slot is left for an actor")
	// ErrAbsent: the actor is not there.
	ErrAbsent = errors.New("actor is not there")
	// ErrPermanent: the actor can't go. It is static, and so part of the world's one set of
	// triangles, or it is the ego.
	ErrPermanent = errors.New("actor is permanent")
)

// Standing is the motion of what stands still at a pose.
type Standing spatial.Pose

// PoseAt implements Motion.
func (s Standing) PoseAt(simtime.Stamp) spatial.Pose { return spatial.Pose(s) }

// StateAt implements Kinematic.
func (s Standing) StateAt(simtime.Stamp) State { return State{Pose: spatial.Pose(s)} }

var _ Kinematic = Standing{}

// Reserve makes room for n actors more to come during a run, and adds a model unless there is
// one of its name. Any model may take the room. The model's parts name the scene's meshes; it
// may be one of the scene's actors, and is not changed.
func (s *Scene) Reserve(model *Actor, n int) {
	if s.Model(model.TypeID) == nil {
		s.Models = append(s.Models, &Actor{Name: model.Name, TypeID: model.TypeID, Parts: model.Parts, Joints: model.Joints, Pose: model.Pose})
	}
	s.Slots += max(n, 0)
}

// Model returns the model of a name, nil if there is none.
func (s *Scene) Model(name string) *Actor {
	for _, m := range s.Models {
		if m.TypeID == name {
			return m
		}
	}
	return nil
}

// HasPaint reports whether a model shows an actor's Paint.
func (s *Scene) HasPaint(model *Actor) bool {
	return slices.ContainsFunc(model.Parts, func(p Part) bool {
		return slices.ContainsFunc(s.Meshes[p.Mesh].Groups, func(g Group) bool { return s.Materials[g.Material].Paint })
	})
}

// BoxModel is the name of the model that AddBox makes.
const BoxModel = "box"

// AddBox adds a model that stands for any other: a grey box of a metre's sides whose underside's
// middle is its origin. History.SpawnActor takes it with parts that are scaled.
func (s *Scene) AddBox() {
	if s.Model(BoxModel) != nil {
		return
	}
	mesh := Mesh{Name: BoxModel, Groups: []Group{{Count: 36, Material: len(s.Materials)}}}
	for axis := range 3 {
		for _, side := range []float32{-1, 1} {
			u, v := (axis+1)%3, (axis+2)%3
			first := uint32(len(mesh.Positions))
			for _, corner := range [4][2]float32{{-side, -1}, {side, -1}, {side, 1}, {-side, 1}} {
				var p, n mgl32.Vec3
				n[axis] = side
				p[axis], p[u], p[v] = side/2, corner[0]/2, corner[1]/2
				p[2] += 0.5
				mesh.Positions, mesh.Normals = append(mesh.Positions, p), append(mesh.Normals, n)
			}
			mesh.Indices = append(mesh.Indices, first, first+1, first+2, first, first+2, first+3)
		}
	}
	s.Materials = append(s.Materials, Material{
		Name: BoxModel, BaseColor: mgl32.Vec4{0.5, 0.5, 0.5, 1}, Roughness: 0.8, Reflectance: -1, Paint: true,
		BaseColorTexture: NoTexture, MetalRoughTexture: NoTexture, EmissiveTexture: NoTexture,
	})
	s.Reserve(&Actor{Name: BoxModel, TypeID: BoxModel, Pose: spatial.Identity(), Parts: []Part{{Name: BoxModel, Mesh: len(s.Meshes), Local: mgl64.Ident4(), Tag: TagDynamic}}}, 0)
	s.Meshes = append(s.Meshes, mesh)
}

// visit is an actor's presence from its coming to its going. One that jumps begins another.
type visit struct {
	actor *Actor
	model int           // into the scene's Models; -1 for the scene's own actors and the ego
	until simtime.Stamp // it goes at the first tick at or after; 0 for one that stays
}

// member is an actor that moves, or may: the ego, one of the scene's own, or one that was spawned.
type member struct {
	actor *Actor
	track int
	box   Box
	last  int // the number of the last tick that has one who has left, 0 for none
}

// Spawn makes an actor present from the next tick on and returns it. It has the first model
// whose name matches a wildcard pattern, such as "vehicle.sedan" or "walker.*" (see path.Match).
// It follows the motion, which is asked with the simulation's time; nil stands at the model's
// Pose. Frame loop only. Errors: ErrNoActor, ErrReserveEmpty.
func (h *History) Spawn(pattern string, m Motion) (*Actor, error) {
	known := make([]string, len(h.scene.Models))
	for i, model := range h.scene.Models {
		known[i] = model.TypeID
		ok, err := path.Match(pattern, model.TypeID)
		if err != nil {
			return nil, fmt.Errorf("spawn %q: %w: %w", pattern, ErrNoActor, err)
		}
		if ok {
			return h.SpawnActor(model, Actor{Pose: model.Pose}, m)
		}
	}
	return nil, fmt.Errorf("spawn %q: %w: the scene has no such model, %s", pattern, ErrNoActor, fault.Hint(pattern, known))
}

// SpawnActor is Spawn with a model of the scene, for an actor with a name, a type id and parts of its own. It
// may have a Paint and a Since, too. Empty ones are the model's. Parts of its own are the model's in other places: each has
// the mesh and the Shape of the model's, and no joints. The actor that it returns has an id that no other actor
// of the run has had. The caller doesn't change it. Errors: ErrNoActor, ErrReserveEmpty, and ErrIndex
// for another number of parts.
func (h *History) SpawnActor(model *Actor, as Actor, m Motion) (*Actor, error) {
	at := slices.Index(h.scene.Models, model)
	if at < 0 {
		return nil, fmt.Errorf("spawn %q: %w: it is not a model of the scene", model.TypeID, ErrNoActor)
	}
	if as.Parts != nil && len(as.Parts) != len(model.Parts) {
		return nil, fmt.Errorf("spawn %q: %w: it has %d parts of its own, its model has %d", model.TypeID, ErrIndex, len(as.Parts), len(model.Parts))
	}
	track, err := h.freeTrack()
	if err != nil {
		return nil, fmt.Errorf("spawn %q: %w", model.TypeID, err)
	}
	box := h.modelBoxes[at]
	if as.Parts != nil {
		box = h.scene.BoxOf(&as)
	} else {
		as.Parts = model.Parts
		h.joint(&as, model, track)
		if as.Stretch != 0 {
			as.stretch()
			box.Center[0] *= as.Stretch
			box.Half[0] *= as.Stretch
		}
	}
	h.lastID = h.nextID()
	as.ID, as.Motion = h.lastID, m
	if m == nil {
		as.Motion = Standing(as.Pose) // it isn't Static: it can go
	}
	as.TypeID = cmp.Or(as.TypeID, model.TypeID)
	as.Name = cmp.Or(as.Name, fmt.Sprintf("%s_%d", as.TypeID, as.ID))
	h.here[track] = &visit{actor: &as, model: at}
	h.mu.Lock()
	defer h.mu.Unlock()
	if left := h.occupants[track]; left != 0 && h.members[left].last <= h.recorded-h.length { // no tick has him
		delete(h.members, left)
	}
	h.occupants[track] = as.ID
	h.members[as.ID] = &member{actor: &as, track: track, box: box}
	h.motions[track] = m
	return &as, nil
}

// stretch makes the parts longer that stand still in the actor, and moves the others.
func (a *Actor) stretch() {
	parts := slices.Clone(a.Parts)
	shift := func(at mgl64.Mat4) mgl64.Mat4 {
		at[12] *= a.Stretch
		return at
	}
	for i := range parts {
		p := &parts[i]
		if p.Joints == nil && p.Posed == nil {
			p.Local = mgl64.Scale3D(a.Stretch, 1, 1).Mul4(p.Local)
			continue
		}
		p.Local = shift(p.Local)
		if moves := p.Joints; moves != nil {
			p.Joints = func(stamp simtime.Stamp) mgl64.Mat4 { return shift(moves(stamp)) }
		}
		if posed := p.Posed; posed != nil {
			p.Posed = func(values JointValues, stamp simtime.Stamp) mgl64.Mat4 { return shift(posed(values, stamp)) }
		}
	}
	a.Parts = parts
}

// nextID returns the next id whose label isn't that of nothing, of one of the scene's own, or of
// one who is there.
func (h *History) nextID() uint32 {
	id := h.lastID
	for range labelMask {
		if id++; LabelOf(id) > h.ownIDs && !(id > labelMask && h.isLabelInUse(LabelOf(id))) {
			break
		}
	}
	return id
}

// isLabelInUse reports whether somebody in a slot has a label. Frame loop only.
func (h *History) isLabelInUse(label uint32) bool {
	for track := h.firstSlot; track < len(h.here); track++ {
		if v := cmp.Or(h.here[track], h.was[track]); v != nil && LabelOf(v.actor.ID) == label {
			return true
		}
	}
	return false
}

// Labelled returns the id of the actor of a label that was there at a time. It is the label itself
// where nobody of another id was. Any goroutine may ask.
func (h *History) Labelled(label uint32, stamp simtime.Stamp) uint32 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if label <= h.ownIDs || h.length == 0 {
		return label
	}
	tick := h.placeLocked(stamp).tick
	if m, ok := h.members[label]; ok && h.thereLocked(m, tick) {
		return label
	}
	for track := h.firstSlot; track < h.tracks; track++ {
		if v := h.visitLocked(track, tick); v != nil && LabelOf(v.actor.ID) == label {
			return v.actor.ID
		}
	}
	return label
}

// freeTrack returns the track of the first slot where nobody is to be at the next tick, and nobody
// was at the latest. What an actor did then is still joined to the next tick. The first slot keeps
// the tables short.
func (h *History) freeTrack() (int, error) {
	for track := h.firstSlot; track < len(h.here); track++ {
		if h.here[track] == nil && h.was[track] == nil {
			return track, nil
		}
	}
	if slots := len(h.here) - h.firstSlot; slots < h.scene.Slots {
		h.grow(min(max(2*slots, 16), h.scene.Slots))
		return h.firstSlot + slots, nil
	}
	if h.scene.Slots == 0 {
		return 0, fmt.Errorf("%w: the scene has none: Scene.Reserve makes them before the run", ErrReserveEmpty)
	}
	return 0, fmt.Errorf("%w: all %d are taken", ErrReserveEmpty, h.scene.Slots)
}

// Room returns how many actors Spawn has room for up to the next tick. Frame loop only.
func (h *History) Room() int {
	room := h.scene.Slots
	for track := h.firstSlot; track < len(h.here); track++ {
		if h.here[track] != nil || h.was[track] != nil {
			room--
		}
	}
	return room
}

// grow gives the history tracks for more slots. Few runs use them all.
func (h *History) grow(slots int) {
	tracks := h.firstSlot + slots
	states, here, was := make([]State, tracks), make([]*visit, tracks), make([]*visit, tracks)
	copy(here, h.here)
	copy(was, h.was)
	for track := copy(states, h.states); track < tracks; track++ {
		states[track].Pose = spatial.Identity()
	}
	h.states, h.here, h.was = states, here, was
	h.values = append(h.values, make([]float64, slots*h.stride-len(h.values))...)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.motions = append(h.motions, make([]Motion, tracks-len(h.motions))...)
	h.occupants = append(h.occupants, make([]uint32, tracks-len(h.occupants))...)
	h.resizeLocked(len(h.times), tracks)
}

// Remove takes an actor away at the next tick; any that isn't static may go. One that was spawned
// since the latest tick never appears. Frame loop only. Errors: ErrNoActor, ErrAbsent,
// ErrPermanent.
func (h *History) Remove(id uint32) error {
	member, _, err := h.removableNow(id)
	if err != nil {
		return fmt.Errorf("remove actor %d: %w", id, err)
	}
	if v := h.was[member.track]; v != nil && v.actor.ID == id {
		member.last = h.recorded
	}
	h.here[member.track] = nil
	return nil
}

// RemoveAt takes an actor away at the first tick at or after a time, as Remove does at the next one. Frame loop
// only. Errors: as Remove.
func (h *History) RemoveAt(id uint32, stamp simtime.Stamp) error {
	_, v, err := h.removableNow(id)
	if err != nil {
		return fmt.Errorf("remove actor %d: %w", id, err)
	}
	v.until = stamp
	return nil
}

// Jumped says that the actor doesn't move from where it was at the latest tick to where it is at the
// next. Nothing sees it between the two. Frame loop only. Errors: as Remove.
func (h *History) Jumped(id uint32) error {
	member, v, err := h.removableNow(id)
	if err != nil {
		return fmt.Errorf("move actor %d: %w", id, err)
	}
	h.here[member.track] = &visit{v.actor, v.model, v.until}
	return nil
}

// SetMotion has an actor, or the ego, follow another motion from the next tick on. Frame loop
// only. Errors: ErrNoActor, ErrPermanent for a static actor.
func (h *History) SetMotion(id uint32, m Motion) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	member, known := h.members[id]
	if !known || !h.ownsLocked(member) {
		_, err := h.removable(id)
		return fmt.Errorf("move actor %d: %w", id, cmp.Or(err, ErrNoActor))
	}
	h.motions[member.track] = m
	return nil
}

// removableNow returns an actor that can come and go and is there, and its presence at the next tick. Frame loop only.
func (h *History) removableNow(id uint32) (*member, *visit, error) {
	member, err := h.removable(id)
	if err != nil {
		return nil, nil, err
	}
	v := h.here[member.track]
	if v == nil || v.actor.ID != id {
		return nil, nil, ErrAbsent
	}
	return member, v, nil
}

// removable returns an actor that can come and go. Frame loop, which alone changes members.
func (h *History) removable(id uint32) (*member, error) {
	if id == EgoID {
		return nil, fmt.Errorf("%w: it is the ego", ErrPermanent)
	}
	if member, ok := h.members[id]; ok {
		return member, nil
	}
	if _, static := h.fixed[id]; static {
		return nil, fmt.Errorf("%w: it is static, and so part of the world that is built once", ErrPermanent)
	}
	return nil, ErrNoActor
}

// Motion returns what an actor, or the ego, follows now, nil for one that stands
// still; ok is false for an unknown id. Any goroutine may ask.
func (h *History) Motion(id uint32) (m Motion, ok bool) {
	if _, still := h.fixed[id]; still {
		return nil, true
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	member, ok := h.members[id]
	if !ok || !h.ownsLocked(member) {
		return nil, false
	}
	return h.motions[member.track], true
}

// ownsLocked reports whether no other has taken the member's slot since. Mu must be held.
func (h *History) ownsLocked(m *member) bool {
	return m.track < h.firstSlot || h.occupants[m.track] == m.actor.ID
}

// dropLocked drops the oldest tick, and those who were there last then and whose slots others have
// taken. Mu must be held.
func (h *History) dropLocked() {
	for track := h.firstSlot; track < h.tracks; track++ {
		v := h.visitLocked(track, 0)
		if v == nil || v.actor.ID == h.occupants[track] {
			continue
		}
		if h.length > 1 {
			if next := h.visitLocked(track, 1); next != nil && next.actor == v.actor {
				continue
			}
		}
		delete(h.members, v.actor.ID)
	}
	h.first = (h.first + 1) % len(h.times)
	h.length--
}

// Actor returns an actor of the scene, or one that was spawned, nil if the id is unknown. One
// that has left is known as long as a tick has it, or nobody else its slot. Any goroutine may ask.
func (h *History) Actor(id uint32) *Actor {
	if a := h.scene.Actor(id); a != nil {
		return a
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	if member, ok := h.members[id]; ok && id != EgoID {
		return member.actor
	}
	return nil
}

// Spawned appends the actors that were spawned and were there at a time to dst, by rising id.
// Any goroutine may ask.
func (h *History) Spawned(dst []*Actor, stamp simtime.Stamp) []*Actor {
	h.mu.RLock()
	defer h.mu.RUnlock()
	from := len(dst)
	if h.length > 0 {
		tick := h.placeLocked(stamp).tick
		for track := h.firstSlot; track < h.tracks; track++ {
			if v := h.visitLocked(track, tick); v != nil {
				dst = append(dst, v.actor)
			}
		}
	}
	slices.SortFunc(dst[from:], func(a, b *Actor) int { return cmp.Compare(a.ID, b.ID) })
	return dst
}

// Moving is somebody who may move: where they were at a time, and how fast, in the map frame.
type Moving struct {
	ID                 uint32
	Position, Velocity mgl64.Vec3
	// Reach bounds the box: no point of it is further from the position, metres.
	Reach float64
}

// Moving appends the ego and all actors that aren't static, spawned ones too, who were there at the tick at or before a
// time, to dst: in no order, but always the same. It is for looking at all of them at once. Any goroutine may ask.
func (h *History) Moving(dst []Moving, stamp simtime.Stamp) []Moving {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.length == 0 {
		return dst
	}
	tick := h.placeLocked(stamp).tick
	for track := range h.tracks {
		v := h.visitLocked(track, tick)
		if v == nil {
			continue
		}
		m, s := h.members[v.actor.ID], h.stateLocked(track, tick)
		dst = append(dst, Moving{v.actor.ID, s.Pose.Position, s.Twist.Linear, m.box.Center.Len() + m.box.Half.Len()})
	}
	return dst
}

// Coming appends the actors that were spawned and will be there at the next tick to dst, by rising
// id. Frame loop only.
func (h *History) Coming(dst []*Actor) []*Actor {
	from := len(dst)
	for _, v := range h.here[h.firstSlot:] {
		if v != nil {
			dst = append(dst, v.actor)
		}
	}
	slices.SortFunc(dst[from:], func(a, b *Actor) int { return cmp.Compare(a.ID, b.ID) })
	return dst
}

// IsComing reports whether an actor that isn't static, or the ego, will be there at the next
// tick. Frame loop only.
func (h *History) IsComing(id uint32) bool {
	member, known := h.members[id]
	return known && h.here[member.track] != nil && h.here[member.track].actor.ID == id
}

// Present reports whether an actor, or the ego, was there at a time.
func (h *History) Present(id uint32, stamp simtime.Stamp) bool {
	if _, still := h.fixed[id]; still {
		return true
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	member, known := h.members[id]
	return known && h.length > 0 && h.thereLocked(member, h.placeLocked(stamp).tick)
}

// slotsInUse returns how many slots from the first on may have somebody, now or earlier.
func (h *History) slotsInUse() int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.tracks - h.firstSlot
}

// visitAt returns who was on a track at a time, nil for nobody, and where.
func (h *History) visitAt(track int, stamp simtime.Stamp) (*visit, spatial.Pose) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.length == 0 || track >= h.tracks {
		return nil, spatial.Identity()
	}
	at := h.placeLocked(stamp)
	return h.visitLocked(track, at.tick), h.poseLocked(track, at)
}

// lastOccupant returns the last actor on a track in a window, with the lamps that were on in the end. Its visit is
// nil if there was none.
func (h *History) lastOccupant(track int, w Window) occupant {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.length == 0 || track >= h.tracks {
		return occupant{}
	}
	v, s := h.stayLocked(track, w.StartNs, w.EndNs)
	if v == nil {
		return occupant{}
	}
	return occupant{v, h.stateLocked(track, h.placeLocked(min(w.EndNs, s.until-1)).tick).Lights}
}

// stay is when an actor was there: from <= t < until.
type stay struct{ from, until simtime.Stamp }

// within returns what two stays share; its end isn't after its beginning where they share nothing.
func (s stay) within(o stay) stay { return stay{max(s.from, o.from), min(s.until, o.until)} }

// always is a stay without a beginning or an end in sight.
var always = stay{math.MinInt64, math.MaxInt64}

// keys are times, which may reach a tick beyond a window, and room for poses at these.
type keys struct {
	times []simtime.Stamp
	poses []spatial.Pose
}

// stays writes where the last on a track in a window was at the keys' times, as Pose does.
// It returns the visit and when that was. Before it came it is where it came, after it went where
// it went. So what interpolates between the times goes only the way that it went. The visit is nil
// where nobody was there at all.
func (h *History) stays(track int, w Window, out keys) (v *visit, s stay) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.length == 0 || track >= h.tracks {
		return nil, stay{}
	}
	if v, s = h.stayLocked(track, w.StartNs, w.EndNs); v == nil {
		return nil, s
	}
	for k, t := range out.times {
		at := h.placeLocked(max(s.from, min(t, s.until)))
		if next := h.visitLocked(track, at.tick); next != nil && next != v { // it jumps away then
			at = tickPlace{tick: at.tick - 1, next: at.tick - 1}
		}
		out.poses[k] = h.poseLocked(track, at)
	}
	return v, s
}

// stayLocked returns a track's last visit in a window; mu must be held.
func (h *History) stayLocked(track int, startNs, endNs simtime.Stamp) (v *visit, s stay) {
	first, last := h.placeLocked(startNs).tick, h.placeLocked(endNs).tick
	for last >= first && h.visitLocked(track, last) == nil {
		last--
	}
	if last < first {
		return nil, stay{}
	}
	v, s = h.visitLocked(track, last), always
	if last+1 < h.length && h.visitLocked(track, last+1) != v {
		s.until = h.timeLocked(last + 1)
	}
	for last > first && h.visitLocked(track, last-1) == v {
		last--
	}
	if last > first {
		s.from = h.timeLocked(last)
	}
	return v, s
}
