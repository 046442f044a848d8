package groundtruth

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// tally is shaders/lib/tally.glsl's.
type tally struct{ Left, Top, Right, Bottom, Pixels, Hidden uint32 }

// noPixel is the tally of an actor that isn't seen.
var noPixel = tally{Left: ^uint32(0), Top: ^uint32(0)}

// sight is shaders/groundtruth_sights.comp's: the way to a point.
type sight struct {
	way   [4]float32
	whose [4]uint32
}

// Of the way to a point, this much is left out: what lies so close before it is the
// surface itself.
const (
	shortBy      = 1e-3 // metres
	shortByShare = 1e-4
)

// object is a target within reach at one instant.
type object struct {
	// place is that of its tally: those of targets.list come first, then those of slots.
	place int
	of    target
	state scene.State
	box   spatial.OrientedBox // in the map frame
	// facing counts the points whose surface faces the sensor, asked those of them that
	// are in the picture and are asked for: a sight each.
	facing, asked int
}

// survey finds what may be seen from somewhere. It belongs to the GL thread.
type survey struct {
	env       *sensors.Env
	targets   *targets
	packer    *scene.Packer
	cast      []scene.Shown
	places    []mgl64.Mat4
	sights    []sight
	slots     int        // that may have somebody
	occupants []occupant // by their slots
}

// look lists the objects within reach of the sensor in the order of their tallies, and the sights
// to their points. With a picture only those points count that are in it.
func (s *survey) look(objects []object, pose spatial.Pose, stamp simtime.Stamp, d *detector) []object {
	s.sights = s.sights[:0]
	s.cast = s.packer.Cast(s.cast[:0], stamp)
	s.places = s.packer.Places(append(s.places[:0], mgl64.Ident4()), s.cast, stamp)
	from := s.env.Geometry.FromMap(pose)
	add := func(o object, places []mgl64.Mat4) {
		id := o.of.actor.ID
		if id == s.env.Owner || !s.env.History.Present(id, stamp) {
			return
		}
		o.state, _ = s.env.History.State(id, stamp)
		box, _ := s.env.History.BoxAt(id, stamp)
		o.box = box.At(o.state.Pose)
		if o.box.Pose.Position.Sub(pose.Position).Len() <= d.reach {
			s.ask(&o, places, from, d.picture)
			objects = append(objects, o)
		}
	}
	for i := range s.targets.list {
		add(object{place: i, of: s.targets.list[i]}, s.places)
	}
	s.slots = 0
	for row := range s.cast {
		who := &s.cast[row]
		if who.Slot < s.slots { // not the first row of a slot
			continue
		}
		s.slots++
		if who.Actor == nil {
			continue
		}
		if t, ok := s.occupant(who); ok {
			add(object{place: len(s.targets.list) + who.Slot, of: t}, s.places[1+row:])
		}
	}
	return objects
}

// occupant returns the target that the actor in a slot is; ok is false if it doesn't count.
func (s *survey) occupant(who *scene.Shown) (t target, ok bool) {
	for len(s.occupants) <= who.Slot {
		s.occupants = append(s.occupants, occupant{})
	}
	g := &s.occupants[who.Slot]
	if g.actor != who.Actor {
		*g = occupantOf(s.env.Geometry, who.Model, who.Actor)
	}
	t = s.targets.models[who.Model]
	if g.points != nil {
		t.points = g.points
	}
	return t.as(who.Actor)
}

// ask adds the sights to an object's points, whose frames lie at places.
func (s *survey) ask(o *object, places []mgl64.Mat4, from spatial.Pose, p *picture) {
	toOptical := from.Compose(spatial.OpticalInBody()).Inverse()
	frame, eye := -1, mgl64.Vec3{} // the sensor's place in that frame, where sizes don't turn normals
	for i := range o.of.points {
		point := &o.of.points[i]
		place := &places[point.frame]
		if frame != point.frame {
			frame, eye = point.frame, mgl64.TransformCoordinate(from.Position, place.Inv())
		}
		if !point.bothSides && !(point.normal.Dot(point.at.Sub(eye)) < 0) {
			continue
		}
		at := place.Mul4x1(point.at.Vec4(1)).Vec3()
		way := at.Sub(from.Position)
		o.facing++
		if p != nil && !p.shows(toOptical.Apply(at)) {
			continue
		}
		o.asked++
		distance := way.Len()
		way = way.Mul(1 / max(distance, 1e-9))
		s.sights = append(s.sights, sight{
			way:   [4]float32{float32(way[0]), float32(way[1]), float32(way[2]), float32(distance*(1-shortByShare) - shortBy)},
			whose: [4]uint32{uint32(o.place), scene.LabelOf(o.of.actor.ID)},
		})
	}
}

// picture is the view of a sensor of boxes in a picture.
type picture struct {
	sight      camera.Sight
	fisheye    bool // near and far are distances
	bent       bool // its lens isn't a plain pinhole
	measured   bool // a calibration file says what it is
	visibility *camera.Visibility
	bounds     *gpu.Program
	places     *gpu.Buffer // of the tallies by labels: targets.places, and those of slots
	seated     []uint32    // the labels of those in the slots
	bind       []gpu.Binding
}

// shows reports whether a point of the optical frame is in the picture, if nothing is
// before it.
func (p *picture) shows(at mgl64.Vec3) bool {
	u, v, ok := p.sight.Lens.Project(at)
	depth := at[2]
	if p.fisheye {
		depth = at.Len()
	}
	return ok && p.sight.Lens.Contains(u, v) && depth >= p.sight.Near && depth <= p.sight.Far
}

// open makes the GPU objects of the picture. GL thread.
func (p *picture) open(c *gpu.Ctx, name string, t *targets) (err error) {
	if p.bounds, err = sensors.Compile(c, &shaders.GroundTruthBounds); err != nil {
		return err
	}
	list := t.places
	if len(p.seated) > 0 {
		list = append(slices.Clone(list), make([]uint32, scene.LabelOf(math.MaxUint32)+1-uint32(len(list)))...)
	}
	places := gpu.BytesOf(list)
	p.places, err = c.NewBuffer(gpu.BufferDesc{Label: name + " places", Size: len(places), Data: places})
	return err
}

// seat brings the tallies of those who are in slots to their labels. GL thread.
func (p *picture) seat(c *gpu.Ctx, s *survey) error {
	put := func(label, tally uint32) error {
		return c.WriteBuffer(p.places, 4*int(label), gpu.BytesOf([]uint32{tally}))
	}
	next := 0
	for row := range s.cast {
		who := &s.cast[row]
		if who.Slot < next {
			continue
		}
		next++
		label := uint32(0)
		if who.Actor != nil {
			label = scene.LabelOf(who.Actor.ID)
		}
		before := p.seated[who.Slot]
		if label == before {
			continue
		}
		if before != 0 {
			if err := put(before, 0); err != nil {
				return err
			}
		}
		if p.seated[who.Slot] = label; label == 0 {
			continue
		}
		if err := put(label, uint32(len(s.targets.list)+who.Slot+1)); err != nil {
			return err
		}
	}
	return nil
}

// tally draws what is seen at an instant and takes its pixels into the tallies. GL
// thread.
func (p *picture) tally(c *gpu.Ctx, at sensors.Tick, tallies *gpu.Buffer) error {
	if err := p.visibility.See(c, at); err != nil {
		return err
	}
	p.bind = append(p.visibility.Bindings(p.bind[:0]),
		gpu.Binding{Kind: gpu.BindStorage, Slot: 0, Buffer: tallies},
		gpu.Binding{Kind: gpu.BindStorage, Slot: 1, Buffer: p.places},
	)
	l := p.sight.Lens
	return c.Dispatch(&gpu.Dispatch{Program: p.bounds, Bind: p.bind, Groups: shaders.GroundTruthBounds.Groups(l.Width, l.Height, 1)})
}

func (p *picture) close() {
	if p.visibility != nil {
		p.visibility.Close() // once
		p.visibility = nil
	}
	p.bounds.Close()
	p.places.Close()
}

// caster finds on the GPU which sights something stands in. It belongs to the GL
// thread.
type caster struct {
	program  *gpu.Program
	motion   *scene.MotionTable
	settings *gpu.Buffer
	sights   *gpu.Buffer
	capacity int // of sights
	bind     []gpu.Binding
}

// settingsBlock is the shader's uniform block (std140).
type settingsBlock struct {
	count, transparent, clear uint32
	_                         uint32
	near                      float32
	_                         [3]float32
}

// firstCapacity is room for the sights of a few actors; it grows as they come.
const firstCapacity = 16 * samplePoints

func (k *caster) open(c *gpu.Ctx, name string, packer *scene.Packer, resident *scene.Resident) (err error) {
	if k.program, err = sensors.Compile(c, &shaders.GroundTruthSights); err != nil {
		return err
	}
	if k.motion, err = packer.NewMotionTable(c, resident); err != nil {
		return err
	}
	size := int(unsafe.Sizeof(settingsBlock{}))
	if k.settings, err = c.NewBuffer(gpu.BufferDesc{Label: name + " settings", Size: size}); err != nil {
		return err
	}
	return k.reserve(c, name, firstCapacity)
}

// reserve makes room for a number of sights. It fails with gpu.ErrLimit if no shader can read as many.
func (k *caster) reserve(c *gpu.Ctx, name string, sights int) error {
	if sights <= k.capacity {
		return nil
	}
	size := int(unsafe.Sizeof(sight{}))
	most := c.Info().Limits.MaxStorageBlockBytes / size
	if sights > most {
		return fmt.Errorf("%w: %d points of actors to look at, its storage blocks have room for %d", gpu.ErrLimit, sights, most)
	}
	n := min(max(sights, 2*k.capacity), most)
	buffer, err := c.NewBuffer(gpu.BufferDesc{Label: name + " sights", Size: n * size})
	if err != nil {
		return err
	}
	k.sights.Close()
	k.sights, k.capacity = buffer, n
	return nil
}

// groundTags has a bit for each tag of ground.
var groundTags = func() (mask uint32) {
	for tag := range scene.Tag(scene.TagCount) {
		if tag.Ground() {
			mask |= 1 << tag
		}
	}
	return mask
}()

// cast counts the sights that are hidden at an instant into the tallies. What
// transparent is the instance id of hides nothing, nor what is nearer than near, nor what has a tag in clear.
func (k *caster) cast(c *gpu.Ctx, d *detector, at sensors.Tick, tallies *gpu.Buffer) error {
	list := d.survey.sights
	if len(list) == 0 {
		return nil
	}
	instant := d.shutter().Middle(at.Due)
	err := k.motion.Write(c, scene.Window{Parent: d.env.Owner, Mount: d.spec.Mount, StartNs: instant, EndNs: instant})
	if err != nil {
		return err
	}
	if err := k.reserve(c, d.spec.Name, len(list)); err != nil {
		return err
	}
	if err := c.WriteBuffer(k.sights, 0, gpu.BytesOf(list)); err != nil {
		return err
	}
	block := settingsBlock{count: uint32(len(list)), near: float32(d.near)}
	if d.grounded {
		block.clear = groundTags
	}
	if d.picture == nil {
		block.transparent = scene.LabelOf(d.env.Owner) // the ego's is 0, as that of nothing
	}
	if err := c.WriteBuffer(k.settings, 0, gpu.BytesOf([]settingsBlock{block})); err != nil {
		return err
	}
	k.bind = append(d.env.Resident.Bindings(k.bind[:0]),
		k.motion.Binding(),
		gpu.Binding{Kind: gpu.BindUniform, Slot: 0, Buffer: k.settings},
		gpu.Binding{Kind: gpu.BindStorage, Slot: 0, Buffer: tallies},
		gpu.Binding{Kind: gpu.BindStorage, Slot: 1, Buffer: k.sights},
	)
	invocations := (len(list) + shaders.TracedRays - 1) / shaders.TracedRays
	return c.Dispatch(&gpu.Dispatch{Program: k.program, Bind: k.bind, Groups: shaders.GroundTruthSights.Groups(invocations, 1, 1)})
}

func (k *caster) close() {
	k.program.Close()
	k.motion.Close()
	k.settings.Close()
	k.sights.Close()
}
