package scene

import (
	"maps"
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Box is an axis-aligned box in some frame: its centre and half its extents, metres.
type Box struct{ Center, Half mgl64.Vec3 }

// DefaultEgoBox bounds a mid-size car in base_link: 4.9 m long, 1.9 m wide, 1.5 m
// high, the rear axle 1.1 m before its tail.
var DefaultEgoBox = Box{Center: mgl64.Vec3{1.35, 0, 0.75}, Half: mgl64.Vec3{2.45, 0.95, 0.75}}

// EgoTypeID is the type id of the ego.
const EgoTypeID = "vehicle.ego"

// BoxOf returns the box of an actor in its own frame; that of an actor without triangles is
// empty, at its origin. It is exact for parts that stand still in the actor, turned and scaled
// ones too. An animated part counts with the boxes that its mesh's box has at the times of
// gaitNs, and at the keys of its animations. They enclose walkers and wheels through their cycle, and
// are a little larger than what is seen. Animations of a part that are not equally long count as
// they meet in their first rounds. History.BoxAt has where values lead joints.
func (s *Scene) BoxOf(a *Actor) Box {
	b := newBoxer(s)
	return b.box(a)
}

// Animated parts are sampled so many times, gaitNs nanoseconds apart. The samples span the
// first three seconds, with an odd step so that no cycle is met at one phase alone.
const (
	gaitTimes = 48
	gaitNs    = 62_500_009
)

// ModelBox returns the box of one of the scene's models, as BoxOf does.
func (h *History) ModelBox(model *Actor) Box {
	return h.modelBoxes[slices.Index(h.scene.Models, model)]
}

// BoxAt is Box at a time. It holds the actor's parts also where values have led its joints beyond.
// Any goroutine may ask.
func (h *History) BoxAt(id uint32, stamp simtime.Stamp) (box Box, ok bool) {
	box, ok = h.Box(id)
	m, _ := h.Motion(id)
	if g, guided := m.(*Guided); !ok || !guided || !g.turned() {
		return box, ok
	}
	reach := noBounds()
	a := h.Actor(id)
	for i := range a.Parts {
		if p := &a.Parts[i]; p.Posed != nil {
			at := p.At(stamp)
			for _, v := range h.scene.Meshes[p.Mesh].Positions {
				reach.add(mgl64.TransformCoordinate(wide(v), at))
			}
		}
	}
	return box.holding(&reach), true
}

// within is how far what is moved may reach beyond a box that is left as it is, metres: wheels have corners.
const within = 0.02

// holding returns a box that holds bounds, too.
func (b Box) holding(other *bounds64) Box {
	all := bounds64{b.Center.Sub(b.Half), b.Center.Add(b.Half)}
	for k := range 3 {
		if other.low[k] < all.low[k]-within {
			all.low[k] = other.low[k]
		}
		if other.high[k] > all.high[k]+within {
			all.high[k] = other.high[k]
		}
	}
	if all.low == b.Center.Sub(b.Half) && all.high == b.Center.Add(b.Half) {
		return b
	}
	return Box{Center: all.low.Add(all.high).Mul(0.5), Half: all.high.Sub(all.low).Mul(0.5)}
}

// Between two keys of an animation are so many moments at most, nearNs apart or more. A part that turns
// by a right angle between them leaves the box by a thousandth of its radius at most. A part has mostMoments at most.
const (
	betweenKeys = 16
	nearNs      = 40_000_000
	mostMoments = 2048
	// mostKeys are looked at of an asset's animations.
	mostKeys = 1 << 20
)

// moments returns times at which what animates a node and a shape, which may be nil, is at a key or
// between two.
func (g *graph) moments(node int, shape *Shape) []simtime.Stamp {
	if g.keys > mostKeys {
		return nil
	}
	var clips []clip
	if shape != nil {
		clips = shape.clips()
	}
	for i := node; i >= 0; i = g.asset.Nodes[i].Parent {
		clips = append(clips, g.channels[i]...)
	}
	known, seen := map[int64]bool{}, map[*Channel]bool{}
	for _, c := range clips {
		if seen[c.channel] || g.keys > mostKeys {
			continue
		}
		seen[c.channel] = true
		g.keys += len(c.channel.TimesNs)
		for _, at := range c.channel.TimesNs {
			known[at] = true
		}
	}
	keys := slices.Sorted(maps.Keys(known))
	var times []simtime.Stamp
	for k, from := range keys {
		times = append(times, simtime.Stamp(from))
		if k+1 == len(keys) {
			break
		}
		gap := keys[k+1] - from
		n := min(gap/nearNs+1, betweenKeys)
		for i := int64(1); i < n; i++ {
			times = append(times, simtime.Stamp(from+gap*i/n))
		}
	}
	for len(times) > mostMoments { // every second one
		for i := range len(times) / 2 {
			times[i] = times[2*i]
		}
		times = times[:len(times)/2]
	}
	return times
}

// times returns when the box of a part that moves is taken.
func (b *boxer) times(p *Part) []simtime.Stamp {
	moments := p.moments
	if b.looks += len(moments); b.looks > mostLooks {
		moments = nil
	}
	times := make([]simtime.Stamp, 0, gaitTimes+len(moments))
	for k := range simtime.Stamp(gaitTimes) {
		times = append(times, k*gaitNs)
	}
	return append(times, moments...)
}

// boxer finds the boxes of many actors, each mesh once in each orientation.
type boxer struct {
	scene *Scene
	made  map[boxKey]bounds64
	// shapes has the boxes of shaped meshes, one a time of their part, and begun larger ones at time 0.
	shapes map[*Shape][]bounds64
	begun  map[*Shape]bounds64
	// looks and vertices are how often parts are looked at beyond gaitNs, and how many vertices are placed
	// for that.
	looks, vertices int
}

// Limits of looks and vertices for all actors together, so that a hostile file costs little.
const (
	mostLooks    = 1 << 18
	mostVertices = 4 << 20
)

func newBoxer(s *Scene) boxer {
	return boxer{scene: s, made: map[boxKey]bounds64{}, shapes: map[*Shape][]bounds64{}, begun: map[*Shape]bounds64{}}
}

// first returns a box that holds a part's vertices at time 0, in the part's frame.
func (b *boxer) first(p *Part) bounds64 {
	if p.Shape == nil {
		return b.mesh(p.Mesh, mgl64.Ident3())
	}
	box, ok := b.begun[p.Shape]
	if !ok {
		box = p.Shape.bounds(0)
		b.begun[p.Shape] = box
	}
	return box
}

// boxKey is a mesh under a linear map.
type boxKey struct {
	mesh   int
	linear mgl64.Mat3
}

// bounds64 is a box by its corners, empty where low > high.
type bounds64 struct{ low, high mgl64.Vec3 }

func noBounds() bounds64 {
	inf := math.Inf(1)
	return bounds64{mgl64.Vec3{inf, inf, inf}, mgl64.Vec3{-inf, -inf, -inf}}
}

func (b *bounds64) empty() bool { return b.low[0] > b.high[0] }

func (b *bounds64) add(p mgl64.Vec3) {
	for k, x := range p {
		b.low[k], b.high[k] = min(b.low[k], x), max(b.high[k], x)
	}
}

// addMapped grows the box over the image of another.
func (b *bounds64) addMapped(other *bounds64, at mgl64.Mat4) {
	if other.empty() {
		return
	}
	half := absolute(at.Mat3()).Mul3x1(other.high.Sub(other.low).Mul(0.5))
	center := at.Mul4x1(other.low.Add(other.high).Mul(0.5).Vec4(1)).Vec3()
	b.add(center.Sub(half))
	b.add(center.Add(half))
}

func (b *boxer) box(a *Actor) Box {
	all := noBounds()
	for i := range a.Parts {
		p := &a.Parts[i]
		if p.Mesh < 0 || p.Mesh >= len(b.scene.Meshes) {
			continue
		}
		if p.Shape == nil && p.Joints == nil {
			b.addFixed(&all, p)
			continue
		}
		times := b.times(p)
		if p.Shape != nil {
			for k, own := range b.shape(p.Shape, times) {
				if k == len(times) {
					break
				}
				all.addMapped(&own, p.At(times[k]))
			}
			continue
		}
		own := b.mesh(p.Mesh, mgl64.Ident3())
		for _, at := range times {
			all.addMapped(&own, p.Joints(at))
		}
	}
	if all.empty() {
		return Box{}
	}
	return Box{Center: all.low.Add(all.high).Mul(0.5), Half: all.high.Sub(all.low).Mul(0.5)}
}

// shape returns the boxes of a shape's vertices at its part's times, in the part's frame. Beyond mostVertices
// they are those of its limbs, which are a little larger.
func (b *boxer) shape(s *Shape, times []simtime.Stamp) []bounds64 {
	if boxes, ok := b.shapes[s]; ok {
		return boxes
	}
	boxes := make([]bounds64, len(times))
	p := poser{shape: s}
	for k, at := range times {
		boxes[k] = noBounds()
		if k > 0 && s.still {
			boxes[k] = boxes[0]
			continue
		}
		if k >= gaitTimes {
			if b.vertices += len(s.mesh.Positions); b.vertices > mostVertices {
				boxes[k] = s.bounds(at)
				continue
			}
		}
		p.pose(at)
		for _, v := range p.positions {
			boxes[k].add(v)
		}
	}
	b.shapes[s] = boxes
	return boxes
}

// addFixed grows a box over a part that stands still: the mesh's own box does for
// one that is not turned.
func (b *boxer) addFixed(all *bounds64, p *Part) {
	linear := p.Local.Mat3()
	if isDiagonal(linear) {
		own := b.mesh(p.Mesh, mgl64.Ident3())
		all.addMapped(&own, p.Local)
		return
	}
	if turned := b.mesh(p.Mesh, linear); !turned.empty() {
		at := p.Local.Col(3).Vec3()
		all.add(turned.low.Add(at))
		all.add(turned.high.Add(at))
	}
}

// mesh returns the box of a mesh under a linear map.
func (b *boxer) mesh(mesh int, linear mgl64.Mat3) bounds64 {
	key := boxKey{mesh, linear}
	if box, ok := b.made[key]; ok {
		return box
	}
	box := noBounds()
	if positions := b.scene.Meshes[mesh].Positions; linear == mgl64.Ident3() {
		box = ownBounds(positions)
	} else {
		for _, v := range positions {
			box.add(linear.Mul3x1(wide(v)))
		}
	}
	b.made[key] = box
	return box
}

// ownBounds bounds positions as they are.
func ownBounds(positions []mgl32.Vec3) bounds64 {
	if len(positions) == 0 {
		return noBounds()
	}
	low, high := positions[0], positions[0]
	for i := range positions {
		v := &positions[i]
		for k, x := range v {
			if x < low[k] {
				low[k] = x
			}
			if x > high[k] {
				high[k] = x
			}
		}
	}
	return bounds64{wide(low), wide(high)}
}

func isDiagonal(m mgl64.Mat3) bool {
	return m[1] == 0 && m[2] == 0 && m[3] == 0 && m[5] == 0 && m[6] == 0 && m[7] == 0
}

// At returns the box of a frame where the frame has a pose.
func (b Box) At(pose spatial.Pose) spatial.OrientedBox {
	pose.Position = pose.Apply(b.Center)
	return spatial.OrientedBox{Pose: pose, Half: b.Half}
}
