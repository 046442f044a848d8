package scene

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// maxKeys is the most keyframes of a window; a long window's ticks are thinned out.
const maxKeys = 128

// Window is the time of one capture and the sensor that makes it.
type Window struct {
	// Parent is the actor that carries the sensor, EgoID for the ego; Mount is
	// the sensor's pose in the parent's frame.
	Parent uint32
	Mount  spatial.Pose
	// StartNs and EndNs are simulation times; equal for a capture at an instant.
	StartNs, EndNs simtime.Stamp
}

// Packer says where the movers and a sensor are. Motion writes it in the layout of
// shaders/lib/motion.glsl, into bytes that the caller owns. A Packer has scratch memory of its own and allocates nothing while
// packing: one goroutine at a time may use it.
type Packer struct {
	geometry *Geometry
	history  *History
	tracks   []int         // in the history, of the scene's own movers
	startNs  simtime.Stamp // of the current window
	endNs    simtime.Stamp
	times    []simtime.Stamp
	actor    []spatial.Pose // of the current actor at each key
	halfway  []spatial.Pose // of the current actor between each key and the next; empty until a part needs it
	joints   []float64      // values of the current actor's at each key, NaN for none; empty where nobody gives any
	rigid    []spatial.Pose // of the current part at each key
	middle   []spatial.Pose // of the current animated part between each key and the next
	bends    []bend         // of the current part between each key and the next
	tree     moverTree
	records  []moverRow // scratch of Resident.writeOccupants
}

// NewPacker returns a packer for a world whose actors a history follows.
func NewPacker(g *Geometry, h *History) *Packer {
	p := &Packer{
		geometry: g, history: h,
		times:   make([]simtime.Stamp, 0, maxKeys),
		actor:   make([]spatial.Pose, maxKeys),
		halfway: make([]spatial.Pose, 0, maxKeys),
		joints:  make([]float64, 0, maxKeys*g.Scene.mostJoints()),
		rigid:   make([]spatial.Pose, maxKeys),
		middle:  make([]spatial.Pose, maxKeys),
		bends:   make([]bend, maxKeys),
	}
	p.tree.reserve(g.own)
	h.mu.RLock()
	defer h.mu.RUnlock()
	for i := range g.Movers[:g.own] {
		p.tracks = append(p.tracks, h.members[g.Movers[i].Actor.ID].track)
	}
	return p
}

// motionBytes returns the most that Motion writes for so many rows and keys.
func motionBytes(rows, keys int) int {
	return 16 * (motionHead + keyTexels*keys + rows*(moverHead+keyTexels*keys) + shaders.NodeTexels*max(rows, 1))
}

// mostBytes bounds what the keys of a capture take. Where many move a long window has fewer keys.
const mostBytes = 64 << 20

// keysFor returns the most keys of a window with so many rows.
func keysFor(rows int) int { return max(2, min(maxKeys, mostBytes/(16*keyTexels*max(rows, 1)))) }

const (
	motionHead = 2 // texels before the sensor's keys
	moverHead  = 3 // texels before a mover's keys
	keyTexels  = 4
)

// place returns the mover's frame in an actor's frame, as a matrix, given its part's there. It is
// rigid except for animated scales.
func (m *Mover) place(at mgl64.Mat4) mgl64.Mat4 {
	if m.unstretch == mgl64.Ident3() {
		return at
	}
	out := at.Mat3().Mul3(m.unstretch).Mat4()
	out.SetCol(3, at.Col(3))
	return out
}

// In returns the mover's frame in the frame of an actor that has its parts, at a time. It is rigid
// unless the part's scale isn't that of the mover's own actor at time 0.
func (m *Mover) In(a *Actor, stamp simtime.Stamp) mgl64.Mat4 {
	return m.place(a.Parts[m.Part].At(stamp))
}

// restsIn reports whether the mover's frame stands at rest in the frame of an actor that has its
// parts. One that was spawned may have the part elsewhere.
func (m *Mover) restsIn(a *Actor) bool {
	part, own := &a.Parts[m.Part], &m.Actor.Parts[m.Part]
	return part.Joints == nil && (part == own || own.Joints == nil && part.Local == own.Local)
}

// evenly reports whether only joints move the mover's part in its actor. They are at ticks what they
// are told, and change evenly in between.
func (m *Mover) evenly() bool {
	own := &m.Actor.Parts[m.Part]
	return own.Posed != nil && own.Joints == nil
}

// Motion writes the sensor's and the movers' keyframes over the window, and the hierarchy over
// the boxes that the movers sweep. It appends them to dst[:0] and returns that. Keys stand at the
// recorded ticks where those are evenly spaced, as they are in fixed steps. A mover that is not
// there in the window has no box, and its record is of no meaning: no ray gets there. One that
// comes or goes in it is there for the rays of its time, of its last stay if it comes more than
// once. A sensor on an actor that is gone stays where the actor was last.
func (p *Packer) Motion(dst []byte, w Window) ([]byte, error) {
	if w.EndNs < w.StartNs {
		return dst, fmt.Errorf("pack motion: the window ends at %d ns, before its start at %d ns", w.EndNs, w.StartNs)
	}
	p.startNs, p.endNs = w.StartNs, w.EndNs
	slots := p.history.slotsInUse()
	rows := p.geometry.slotRow(slots)
	p.times = p.history.keyTimes(p.times[:0], w.StartNs, w.EndNs, keysFor(rows))
	n := len(p.times)
	dst = slices.Grow(dst[:0], motionBytes(rows, n))[:motionBytes(rows, n)]
	if !p.history.poses(w.Parent, p.times, p.actor) {
		return dst, fmt.Errorf("pack motion: the history has no actor %d at %d ns", w.Parent, w.StartNs)
	}
	for k := range n {
		p.actor[k] = p.geometry.FromMap(p.actor[k])
	}
	p.carry(w.Mount, n)
	p.putKeys(dst, motionHead, n)

	movers := motionHead + keyTexels*n
	stride := moverHead + keyTexels*n
	nodes := movers + stride*rows
	p.putMovers(dst[16*movers:], stride, slots)
	root := p.tree.build()
	for i := range p.tree.nodes {
		for r, row := range &p.tree.nodes[i] {
			at := 16 * (nodes + shaders.NodeTexels*i + r)
			for c, x := range row {
				binary.LittleEndian.PutUint32(dst[at+4*c:], math.Float32bits(x))
			}
		}
	}
	first, rate := 0.0, 0.0
	if n > 1 {
		first = float64(p.times[0]-w.StartNs) * 1e-9
		rate = float64(n-1) / (float64(p.times[n-1]-p.times[0]) * 1e-9)
	}
	putRow(dst, 0, float64(n), first, rate, float64(math.Float32frombits(uint32(root))))
	putRow(dst, 1, float64(movers), float64(nodes), float64(stride), float64(math.Float32frombits(uint32(p.geometry.Static))))
	return dst[:16*(nodes+shaders.NodeTexels*len(p.tree.nodes))], nil
}

// farSeconds stands for a time outside every window.
const farSeconds = 1e30

// seconds returns a time of a stay after the window's start.
func (p *Packer) seconds(stamp simtime.Stamp) float64 {
	switch stamp {
	case always.from:
		return -farSeconds
	case always.until:
		return farSeconds
	}
	return float64(stamp-p.startNs) * 1e-9
}

// putMovers writes the movers' records and gives the hierarchy their boxes.
func (p *Packer) putMovers(dst []byte, stride, slots int) {
	p.tree.reset()
	var v *visit
	var here stay
	for i := range p.geometry.own {
		if i == 0 || p.tracks[i] != p.tracks[i-1] {
			v, here = p.follow(p.tracks[i])
		}
		if v != nil {
			p.putMover(dst[16*stride*i:], i, subject{&p.geometry.Movers[i], v.actor, here})
		}
	}
	for slot := range slots {
		if v, here = p.follow(p.history.firstSlot + slot); v == nil {
			continue
		}
		row := p.geometry.slotRow(slot)
		for k := range p.geometry.models[v.model].count {
			m := &p.geometry.Movers[p.geometry.models[v.model].first+k]
			p.putMover(dst[16*stride*(row+k):], row+k, subject{m, v.actor, here})
		}
	}
}

// subject is a mover of somebody who is there for some time.
type subject struct {
	mover *Mover
	actor *Actor
	here  stay
}

// follow sets p.actor to the way of the actor on a track, nil for nobody.
func (p *Packer) follow(track int) (v *visit, here stay) {
	p.halfway, p.joints = p.halfway[:0], p.joints[:0]
	v, here = p.history.stays(track, Window{StartNs: p.startNs, EndNs: p.endNs}, keys{p.times, p.actor})
	if v == nil {
		return nil, here
	}
	for k := range p.times {
		p.actor[k] = p.geometry.FromMap(p.actor[k])
	}
	if track >= p.history.firstSlot && len(v.actor.Joints) > 0 {
		p.joints = p.history.jointsAt(p.joints, v.actor, track, p.times)
	}
	return v, here
}

// partAt returns a part's place in the current actor's frame at a key.
func (p *Packer) partAt(part *Part, k int) mgl64.Mat4 {
	if n := len(p.joints) / len(p.times); n > 0 && part.Posed != nil {
		row := p.joints[k*n : (k+1)*n]
		return part.Posed(JointValues{from: row, to: row}, p.times[k])
	}
	return part.At(p.times[k])
}

// putMover writes the record of a row's mover, and its box.
func (p *Packer) putMover(record []byte, row int, s subject) {
	n, m, here, shapedAt := len(p.times), s.mover, s.here, p.startNs
	if m.shape != nil {
		share, at, ok := during(m.Copy, p.startNs, p.endNs)
		if here = here.within(share); !ok || here.from >= here.until {
			return
		}
		shapedAt = at
	}
	stretch, present := p.partKeys(m, s.actor, n)
	undo := mgl64.Ident3()
	if present {
		undo = stretch.Inv()
	}
	times := [3]float64{p.seconds(here.from), p.seconds(here.until)}
	for r := range 3 {
		putRow(record, r, undo[r], undo[3+r], undo[6+r], times[r])
	}
	p.putKeys(record, moverHead, n)
	if present {
		p.tree.add(row, m.sweep(p.rigid[:n], p.middle, sweeping{stretch, !m.restsIn(s.actor), shapedAt}))
	}
}

// partKeys sets p.rigid and p.middle to the mover's frame in the world. It returns the stretch
// that its scale animation adds in the middle of the window; present is false where that leaves
// no volume.
func (p *Packer) partKeys(m *Mover, a *Actor, n int) (stretch mgl64.Mat3, present bool) {
	if m.restsIn(a) {
		p.carry(m.rest, n)
		return mgl64.Ident3(), true
	}
	for k := len(p.halfway); k < n-1; k++ {
		p.halfway = append(p.halfway, between(&p.actor[k], &p.actor[k+1]))
	}
	stretch, present = mgl64.Ident3(), true
	evenly, part := m.evenly(), &a.Parts[m.Part]
	var before spatial.Pose
	for k := range n {
		var rigid spatial.Pose
		if at := m.place(p.partAt(part, k)); isRotation(&at) {
			rigid = turned(&at)
		} else if k != n/2 {
			rigid, _, _ = rigidPart(at)
		} else {
			rigid, stretch, present = rigidPart(at)
		}
		p.rigid[k] = p.actor[k].Compose(rigid)
		if k > 0 {
			halfway := between(&before, &rigid)
			if !evenly {
				halfway, _, _ = rigidPart(m.place(part.At((p.times[k-1] + p.times[k]) / 2)))
			}
			p.middle[k-1] = p.halfway[k-1].Compose(halfway)
		}
		before = rigid
	}
	for k := range n - 1 {
		p.bends[k] = bendOf(&p.rigid[k], &p.middle[k], &p.rigid[k+1])
	}
	return stretch, present
}

// carry sets p.rigid and p.bends to a pose fixed in the current actor's frame. Where the actor
// turns, what is fixed away from its origin swings.
func (p *Packer) carry(fixed spatial.Pose, n int) {
	for k := range n {
		p.rigid[k] = p.actor[k].Compose(fixed)
	}
	for k := range n - 1 {
		p.bends[k] = bend{}
		a, b := &p.actor[k], &p.actor[k+1]
		if fixed.Position == (mgl64.Vec3{}) || a.Orientation == b.Orientation {
			continue
		}
		mid := between(a, b)
		ends := p.rigid[k].Position.Sub(a.Position).Add(p.rigid[k+1].Position.Sub(b.Position))
		p.bends[k].position = mid.Rotate(fixed.Position).Mul(4).Sub(ends.Mul(2))
	}
}

// between returns the pose half-way: linear and slerp.
func between(a, b *spatial.Pose) spatial.Pose {
	q := b.Orientation
	if a.Orientation.Dot(q) < 0 {
		q = q.Scale(-1)
	}
	q = a.Orientation.Add(q)
	return spatial.Pose{
		Position:    a.Position.Add(b.Position).Mul(0.5),
		Orientation: q.Scale(1 / q.Len()), // two units less than a quarter turn apart: not 0
	}
}

// bend is what a parabola adds to the chord between two keys, times f (1 - f).
type bend struct {
	position mgl64.Vec3
	rotation mgl64.Quat
}

// bendOf returns the bend that leads through the middle.
func bendOf(a, middle, b *spatial.Pose) (c bend) {
	for i, x := range middle.Position {
		c.position[i] = 4*x - 2*(a.Position[i]+b.Position[i])
	}
	q := b.Orientation
	if a.Orientation.Dot(q) < 0 {
		q = q.Scale(-1)
	}
	chord := a.Orientation.Add(q) // its direction is the slerp's middle
	length := 2 * chord.Len()
	if middle.Orientation.Dot(chord) < 0 {
		length = -length
	}
	c.rotation = middle.Orientation.Scale(length).Sub(chord.Scale(2))
	return c
}

// rigidPart splits an affine map into a pose after a stretch.
func rigidPart(m mgl64.Mat4) (pose spatial.Pose, stretch mgl64.Mat3, ok bool) {
	if isRotation(&m) {
		return turned(&m), mgl64.Ident3(), true
	}
	r, stretch, ok := polar(m.Mat3())
	turn := r.Mat4()
	pose = turned(&turn)
	pose.Position = mgl64.Vec3{m[12], m[13], m[14]}
	return pose, stretch, ok
}

// turned returns what turns and moves only as a pose.
func turned(m *mgl64.Mat4) spatial.Pose {
	q := mgl64.Mat4ToQuat(*m)
	return spatial.Pose{Position: mgl64.Vec3{m[12], m[13], m[14]}, Orientation: q.Scale(1 / q.Len())}
}

// isRotation reports whether a map turns and moves only.
func isRotation(m *mgl64.Mat4) bool {
	x, y, z := mgl64.Vec3(m[:3]), mgl64.Vec3(m[4:7]), mgl64.Vec3(m[8:11])
	const tolerance = 1e-6
	return math.Abs(x.LenSqr()-1) < tolerance && math.Abs(y.LenSqr()-1) < tolerance &&
		x.Cross(y).Sub(z).LenSqr() < tolerance*tolerance
}

// putKeys writes p.rigid and p.bends as n keys from a texel on. A key's
// quaternion has the sign of the one before, and so does its bend.
func (p *Packer) putKeys(dst []byte, at, n int) {
	sign := 1.0
	for k := range n {
		row := at + keyTexels*k
		a, c := &p.rigid[k], bend{}
		correction, next := 0.0, sign
		if k+1 < n {
			c = p.bends[k]
			dot := a.Orientation.Dot(p.rigid[k+1].Orientation)
			correction = slerpCorrection(dot)
			if dot < 0 {
				next = -sign
			}
		}
		x, q := &a.Position, &a.Orientation
		putRow(dst, row, x[0], x[1], x[2], correction)
		putRow(dst, row+1, sign*q.V[0], sign*q.V[1], sign*q.V[2], sign*q.W)
		putRow(dst, row+2, c.position[0], c.position[1], c.position[2], 0)
		r := &c.rotation
		putRow(dst, row+3, sign*r.V[0], sign*r.V[1], sign*r.V[2], sign*r.W)
		sign = next
	}
}

// slerpCorrection returns c such that normalised linear interpolation of two unit quaternions
// at `f + c f (f - 1/2) (f - 1)` follows slerp at f. It is exact at 0, 1/4, 1/2, 3/4 and 1, and
// within 2e-4 rad for turns below 1 rad. dot is the quaternions' product.
func slerpCorrection(dot float64) float64 {
	cos := min(math.Abs(dot), 1)
	if cos > 1-1e-5 {
		return 0
	}
	sin := math.Sqrt(1 - cos*cos)
	tan := math.Sqrt((1-cos)/2) / (1 + math.Sqrt((1+cos)/2)) // of a quarter of the angle
	s := tan / (sin + tan*(1-cos))
	const f = 0.25
	return (s - f) / (f * (f - 0.5) * (f - 1))
}

// putRow writes one texel.
func putRow(dst []byte, texel int, x, y, z, w float64) {
	b := dst[16*texel : 16*texel+16]
	binary.LittleEndian.PutUint32(b, math.Float32bits(float32(x)))
	binary.LittleEndian.PutUint32(b[4:], math.Float32bits(float32(y)))
	binary.LittleEndian.PutUint32(b[8:], math.Float32bits(float32(z)))
	binary.LittleEndian.PutUint32(b[12:], math.Float32bits(float32(w)))
}

// keyTimes appends the times of a window's keyframes, evenly spaced. They are the ticks that
// enclose the window if they are even, else times of the ticks' least spacing, and one time for
// an instant. There are at most limit.
func (h *History) keyTimes(times []simtime.Stamp, startNs, endNs simtime.Stamp, limit int) []simtime.Stamp {
	if startNs == endNs {
		return append(times, startNs)
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	step := endNs - startNs
	if h.length > 0 {
		first, last := h.placeLocked(startNs).tick, h.placeLocked(endNs).next
		even := h.timeLocked(first) <= startNs && h.timeLocked(last) >= endNs && last-first < limit
		for k := first; k < last; k++ {
			d := h.timeLocked(k+1) - h.timeLocked(k)
			even = even && d == h.timeLocked(first+1)-h.timeLocked(first)
			step = min(step, d)
		}
		if even && last > first {
			for k := first; k <= last; k++ {
				times = append(times, h.timeLocked(k))
			}
			return times
		}
	}
	n := max(2, min((endNs-startNs+step-1)/step+1, simtime.Stamp(limit)))
	for k := range n {
		times = append(times, startNs+(endNs-startNs)*k/(n-1))
	}
	return times
}

// Shown is who has a row of the tables at an instant.
type Shown struct {
	// Mover is the row's, into the world's Movers; -1 in the row of a slot that has none.
	Mover int
	// Slot is the slot whose row it is, -1 for one of the scene's own actors'. Model is that of the
	// actor in the slot, into the scene's Models.
	Slot, Model int
	// Actor is whose mover it is, nil while he isn't there.
	Actor *Actor
	track int
	visit *visit // nil while he isn't there
}

// now sets who is there.
func (s *Shown) now(v *visit) {
	s.visit, s.Actor, s.Model = v, nil, -1
	if v != nil {
		s.Actor, s.Model = v.actor, v.model
	}
}

// Cast appends who has each row at an instant to dst. Rows behind the last slot that was ever in
// use are left out. One goroutine at a time.
func (p *Packer) Cast(dst []Shown, stamp simtime.Stamp) []Shown {
	who := Shown{track: -1, Slot: -1}
	for i := range p.geometry.own {
		if who.Mover = i; who.track != p.tracks[i] {
			who.track = p.tracks[i]
			v, _ := p.history.visitAt(who.track, stamp)
			who.now(v)
		}
		dst = append(dst, who)
	}
	for slot := range p.history.slotsInUse() {
		who.Slot, who.track = slot, p.history.firstSlot+slot
		v, _ := p.history.visitAt(who.track, stamp)
		who.now(v)
		for k := range p.geometry.slotRows {
			who.Mover = -1
			if v != nil && k < p.geometry.models[v.model].count {
				who.Mover = p.geometry.models[v.model].first + k
			}
			dst = append(dst, who)
		}
	}
	return dst
}

// Places appends the mesh-to-world matrix at an instant of each row of a cast to dst, in float64.
// They are rigid, animated scales aside. For a mover that is not there then they are zero in all
// places: its triangles are a point, and At(3, 3) tells. So they are for an actor that was not
// there then, or has jumped since. They also are for all copies of a part with a Shape, except
// the first. One goroutine at a time, as all of a Packer.
func (p *Packer) Places(dst []mgl64.Mat4, cast []Shown, stamp simtime.Stamp) []mgl64.Mat4 {
	track := -1
	var then *visit
	var pose spatial.Pose
	for i := range cast {
		who := &cast[i]
		if track != who.track {
			track = who.track
			then, pose = p.history.visitAt(track, stamp)
			pose = p.geometry.FromMap(pose)
		}
		if then == nil || then != who.visit || who.Mover < 0 || p.geometry.Movers[who.Mover].Copy > 0 {
			dst = append(dst, mgl64.Mat4{})
			continue
		}
		m := &p.geometry.Movers[who.Mover]
		dst = append(dst, pose.Mat4().Mul4(m.In(then.actor, stamp)))
	}
	return dst
}

// MotionTable is GPU memory for what a Packer's Motion writes, bound at its slot. Each
// sensor has its own: commands issued before a Write still see what was there.
type MotionTable struct {
	packer   *Packer
	resident *Resident
	packed   []byte
	size     int // of the buffer
	buffer   *gpu.Buffer
	texture  *gpu.Texture
}

// NewMotionTable makes the memory for Packer.Motion. The Resident is of the Packer's world; its
// shapes, and whom its slots show, are those of a window from Write on. GL thread only.
func (p *Packer) NewMotionTable(c *gpu.Ctx, r *Resident) (*MotionTable, error) {
	t := &MotionTable{packer: p, resident: r}
	if err := t.reserve(c, motionBytes(p.geometry.own, keysFor(p.geometry.own))); err != nil {
		return nil, err
	}
	return t, nil
}

// reserve makes the table hold so many bytes. Its former memory is deleted when the commands that
// read it have ended.
func (t *MotionTable) reserve(c *gpu.Ctx, size int) error {
	b, err := c.NewBuffer(gpu.BufferDesc{Label: "motion", Size: size})
	if err != nil {
		return err
	}
	view, err := c.NewTexture(gpu.TextureDesc{Label: "motion view", Kind: gpu.TextureBuffer, Format: gpu.FormatRGBA32F, Buffer: b})
	if err != nil {
		b.Close()
		return err
	}
	t.Close()
	t.buffer, t.texture, t.size = b, view, size
	return nil
}

// Write replaces the table with the motion in a window. The table's Binding may be another
// afterwards. GL thread only.
func (t *MotionTable) Write(c *gpu.Ctx, w Window) (err error) {
	if t.packed, err = t.packer.Motion(t.packed, w); err != nil {
		return err
	}
	if err := t.resident.show(c, t.packer, w); err != nil {
		return err
	}
	if len(t.packed) > t.size {
		if err := t.reserve(c, len(t.packed)+len(t.packed)/2); err != nil {
			return err
		}
	}
	return c.WriteBuffer(t.buffer, 0, t.packed)
}

// Binding returns the table's binding.
func (t *MotionTable) Binding() gpu.Binding {
	return gpu.Binding{Kind: gpu.BindSampler, Slot: shaders.SlotMotion, Texture: t.texture}
}

// Close queues the deletion (law G3). Any goroutine may call it, more than once, and on a nil
// table.
func (t *MotionTable) Close() {
	if t != nil {
		t.texture.Close()
		t.buffer.Close()
	}
}
