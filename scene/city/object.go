package city

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/spatial"
)

// model is the shape of an object at one level of detail. Objects may share it.
type model struct {
	parts []modelPart
	used  bool // its meshes are in the scene
}

// modelPart is one part of a model. Parts with the same geometry pointer share
// a mesh; joint, where not nil, moves the part.
type modelPart struct {
	name  string
	shape *shape
	tag   scene.Tag
	joint func(tNs int64) mgl64.Mat4
	mesh  int // once used
}

func single(name string, s *shape, tag scene.Tag) *model {
	return &model{parts: []modelPart{{name: name, shape: s, tag: tag}}}
}

func (m *model) triangles() int {
	if m == nil {
		return 0
	}
	n := 0
	for i := range m.parts {
		n += m.parts[i].shape.triangles()
	}
	return n
}

// object is one thing of the town: an actor, once its detail is chosen.
type object struct {
	typeID string
	pose   spatial.Pose
	size   float64 // scales the model
	motion scene.Motion
	near   float64 // metres to the ego's route
	// details are the levels that can be bought, coarsest first; the first
	// with weight 0 comes free.
	details []detail
	model   *model // the level bought; nil while absent
	id      uint32 // the actor's, once it was emitted
}

// detail is one level of an object. It is bought once distance times weight
// is within reach.
type detail struct {
	weight float64
	make   func() *model
}

// always is the only level of an object that is there as it is.
func always(m *model) []detail {
	return []detail{{make: func() *model { return m }}}
}

// add places an object. near is where its distance to the route counts from.
func (t *town) add(o object, near vec2) *object {
	if o.size == 0 {
		o.size = 1
	}
	// The start is where the first picture is taken, so it counts a little more.
	d := distanceToPath(t.route, near) + 0.15*near.Sub(t.start).Len()
	o.near = math.Round(d*1000) / 1000
	t.objects = append(t.objects, &o)
	return &o
}

// purchase is one level that may be bought.
type purchase struct {
	price  float64
	object int
	level  int
}

// spend buys levels of detail, cheapest first, until there are at least budget
// triangles. It returns how many there are.
func (t *town) spend(budget int) int {
	total := 0
	var wishes []purchase
	for i, o := range t.objects {
		for k, d := range o.details {
			if d.weight == 0 {
				o.model = d.make()
				total += o.model.triangles()
				continue
			}
			wishes = append(wishes, purchase{price: (o.near + 4) * d.weight, object: i, level: k})
		}
	}
	slices.SortFunc(wishes, func(a, b purchase) int {
		return cmp.Or(cmp.Compare(a.price, b.price), cmp.Compare(a.object, b.object), cmp.Compare(a.level, b.level))
	})
	for _, w := range wishes {
		if total >= budget {
			break
		}
		o := t.objects[w.object]
		m := o.details[w.level].make()
		total += m.triangles() - o.model.triangles()
		o.model = m
	}
	return total
}

// emit writes the objects that are there, and those in reserve, into the scene, with
// the lane marks and signals. Errors are
// scene.AddActor's.
func (t *town) emit(s *scene.Scene) error {
	counts := make(map[string]int)
	for i, o := range slices.Concat(t.objects, t.reserved) {
		if o.model == nil {
			continue
		}
		t.useModel(s, o)
		counts[o.typeID]++
		actor := &scene.Actor{
			Name:   fmt.Sprintf("%s_%04d", o.typeID, counts[o.typeID]),
			TypeID: o.typeID, Parts: o.actorParts(), Pose: o.pose, Motion: o.motion,
			Reserved: i >= len(t.objects),
		}
		if err := s.AddActor(actor); err != nil {
			return fmt.Errorf("place %s: %w", actor.Name, err)
		}
		o.id = actor.ID
	}
	s.LaneMarks, s.Signals = t.marks, t.signals()
	return nil
}

// useModel appends the meshes of an object's model to the scene once.
func (t *town) useModel(s *scene.Scene, o *object) {
	if o.model.used {
		return
	}
	o.model.used = true
	for i := range o.model.parts {
		p := &o.model.parts[i]
		p.mesh = len(s.Meshes)
		s.Meshes = append(s.Meshes, p.shape.mesh(fmt.Sprintf("%s_%s_%d", o.typeID, p.name, p.mesh)))
	}
}

func (o *object) actorParts() []scene.Part {
	parts := make([]scene.Part, len(o.model.parts))
	scale := mgl64.Scale3D(o.size, o.size, o.size)
	for i, p := range o.model.parts {
		parts[i] = scene.Part{Name: p.name, Mesh: p.mesh, Local: scale, Tag: p.tag}
		if p.joint != nil {
			joint := p.joint
			parts[i].Joints = func(tNs int64) mgl64.Mat4 { return scale.Mul4(joint(tNs)) }
			parts[i].Local = parts[i].Joints(0)
		}
	}
	return parts
}
