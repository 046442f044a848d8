package groundtruth

import (
	"cmp"
	"io"
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
)

// samplePoints is how many points of an actor's surface tell how much of it is
// hidden.
const samplePoints = 256

// target is an actor that ground truth is about, or a model of such.
type target struct {
	actor  *scene.Actor
	label  string
	tag    scene.Tag
	points []surfacePoint
}

// surfacePoint is a point of a surface and the way out of it, in one frame of the scene. 0 is
// the world's, 1 + m that of row m. Of a model it is counted from the slot's first.
type surfacePoint struct {
	frame      int
	at, normal mgl64.Vec3
	bothSides  bool // there is no inside
}

// targets are all of a scene's own, by rising actor id, and those of its models. It never changes.
type targets struct {
	list   []target
	models []target // no points: actors of that model don't count
	// places has, for each instance id, the place in list plus one, or 0.
	places []uint32
}

// Close implements io.Closer, for sensors.Shared: there is nothing to close.
func (*targets) Close() error { return nil }

type targetsKey struct{}

// targetsOf returns the targets of a pipeline's scene, found once for all sensors.
func targetsOf(env *sensors.Env) (*targets, error) {
	shared, err := env.Shared.Get(targetsKey{}, func() (io.Closer, error) {
		return findTargets(env.Geometry), nil
	})
	if err != nil {
		return nil, err
	}
	return shared.(*targets), nil
}

// face is a triangle of an actor, in one frame of the scene.
type face struct {
	frame, triangle int
	area            float64
	tag             scene.Tag
}

func findTargets(g *scene.Geometry) *targets {
	t := &targets{places: make([]uint32, 1)}
	for _, a := range g.Scene.Actors {
		for len(t.places) <= int(a.ID) {
			t.places = append(t.places, 0)
		}
		if possible(a) {
			t.places[a.ID] = 1
		}
	}
	faces := facesOf(g, t.places)
	for _, a := range g.Scene.Actors {
		t.places[a.ID] = 0
		own := faces[a.ID]
		tag := largestTag(own)
		label, ok := Label(a.TypeID, tag)
		if !ok || len(own) == 0 {
			continue
		}
		t.list = append(t.list, target{actor: a, label: label, tag: tag, points: pointsOn(g, own)})
	}
	slices.SortFunc(t.list, func(a, b target) int { return cmp.Compare(a.actor.ID, b.actor.ID) })
	for i := range t.list {
		t.places[t.list[i].actor.ID] = uint32(i + 1)
	}
	for i := range g.Scene.Models {
		t.models = append(t.models, modelTarget(g, i))
	}
	return t
}

// modelTarget returns what the actors of a model have in common.
func modelTarget(g *scene.Geometry, model int) target {
	t := target{actor: g.Scene.Models[model]}
	if faces := modelFaces(g, model); len(faces) > 0 {
		t.tag, t.points = largestTag(faces), pointsOn(g, faces)
	}
	return t
}

// modelFaces returns the triangles that have an area of a model.
func modelFaces(g *scene.Geometry, model int) (faces []face) {
	first, count := g.ModelMovers(model)
	for k := range count {
		faces = appendFaces(faces, g, &g.Movers[first+k], k)
	}
	return faces
}

// occupant is the actor in a slot, with the points of its own size.
type occupant struct {
	actor  *scene.Actor
	points []surfacePoint // nil: those of its model
}

// occupantOf returns the occupant that an actor of a model is. One whose parts are of another size than
// the model's has points of its own, spread over its surface as it is at time 0.
func occupantOf(geometry *scene.Geometry, model int, a *scene.Actor) occupant {
	first, count := geometry.ModelMovers(model)
	sizes := make([]mgl64.Mat3, count)
	sized := false
	for k := range count {
		sizes[k] = geometry.Movers[first+k].In(a, 0).Mat3()
		sized = sized || !sizes[k].Transpose().Mul3(sizes[k]).ApproxEqualThreshold(mgl64.Ident3(), 1e-6)
	}
	g := occupant{actor: a}
	if !sized {
		return g
	}
	faces := modelFaces(geometry, model)
	for i := range faces {
		c := corners(geometry, faces[i].triangle)
		of := &sizes[faces[i].frame]
		faces[i].area = of.Mul3x1(c[1].Sub(c[0])).Cross(of.Mul3x1(c[2].Sub(c[0]))).Len() / 2
	}
	g.points = pointsOn(geometry, faces)
	return g
}

// as returns the target that an actor of the model is; ok is false if it doesn't count.
func (t target) as(a *scene.Actor) (of target, ok bool) {
	for i := range t.actor.Parts { // those of the actor may have other tags
		if t.actor.Parts[i].Tag == t.tag {
			t.tag = a.Parts[i].Tag
			break
		}
	}
	t.actor = a
	t.label, ok = Label(a.TypeID, t.tag)
	return t, ok && len(t.points) > 0
}

// possible reports whether an actor may count, whatever tag most of it has.
func possible(a *scene.Actor) bool {
	return slices.ContainsFunc(a.Parts, func(p scene.Part) bool {
		_, ok := Label(a.TypeID, p.Tag)
		return ok
	})
}

// facesOf returns the triangles that have an area of the actors that are marked, by
// their ids. Those of a part with a Shape are as they are at time 0.
func facesOf(g *scene.Geometry, marked []uint32) map[uint32][]face {
	faces := map[uint32][]face{}
	add := func(id uint32, f face) {
		if f.area > 0 {
			faces[id] = append(faces[id], f)
		}
	}
	for t := range g.StaticCount {
		label := g.Attributes[3*t+1][3]
		if id := label & 0xffff; marked[id] != 0 {
			add(id, face{0, t, areaOf(g, t), scene.Tag(label >> 16)})
		}
	}
	for i := range g.Movers {
		if m := &g.Movers[i]; m.Actor.ID != 0 && marked[m.Actor.ID] != 0 { // a model has no id
			faces[m.Actor.ID] = appendFaces(faces[m.Actor.ID], g, m, 1+i)
		}
	}
	return faces
}

// appendFaces appends the faces of a mover in a frame of the scene.
func appendFaces(faces []face, g *scene.Geometry, m *scene.Mover, frame int) []face {
	for t := m.First; t < m.First+m.Count && m.Copy == 0; t++ {
		if area := areaOf(g, t); area > 0 {
			faces = append(faces, face{frame, t, area, m.Actor.Parts[m.Part].Tag})
		}
	}
	return faces
}

// corners returns a triangle's vertices in its frame.
func corners(g *scene.Geometry, triangle int) (c [3]mgl64.Vec3) {
	for i := range c {
		v := g.Vertices[3*triangle+i]
		c[i] = mgl64.Vec3{float64(v[0]), float64(v[1]), float64(v[2])}
	}
	return c
}

func areaOf(g *scene.Geometry, triangle int) float64 {
	c := corners(g, triangle)
	return c[1].Sub(c[0]).Cross(c[2].Sub(c[0])).Len() / 2
}

// largestTag returns the tag that most of a surface has.
func largestTag(faces []face) scene.Tag {
	var areas [256]float64
	for _, f := range faces {
		areas[f.tag] += f.area
	}
	best := 0
	for tag, area := range areas {
		if area > areas[best] {
			best = tag
		}
	}
	return scene.Tag(best)
}

// pointsOn spreads points over a surface: each stands for the same area.
func pointsOn(g *scene.Geometry, faces []face) []surfacePoint {
	total := 0.0
	for _, f := range faces {
		total += f.area
	}
	points := make([]surfacePoint, 0, samplePoints)
	below := 0.0
	for i, f := range faces {
		below += f.area
		end := int(math.Round(below / total * samplePoints))
		if i == len(faces)-1 {
			end = samplePoints
		}
		first := len(points)
		for k := first; k < end; k++ {
			points = append(points, pointAt(g, f, (float64(k-first)+0.5)/float64(end-first), k))
		}
	}
	return points
}

// pointAt returns a point of a triangle. It is part of the area away from its first corner, and
// beside that by number k of the golden ratio's sequence. That is a Fibonacci lattice, which
// spreads any number of points evenly.
func pointAt(g *scene.Geometry, f face, part float64, k int) surfacePoint {
	c := corners(g, f.triangle)
	e1, e2 := c[1].Sub(c[0]), c[2].Sub(c[0])
	_, aside := math.Modf((float64(k) + 0.5) / math.Phi)
	down := math.Sqrt(part)
	material := g.Attributes[3*f.triangle][3]
	return surfacePoint{
		frame: f.frame, at: c[0].Add(e1.Mul(down * (1 - aside))).Add(e2.Mul(down * aside)),
		normal:    e1.Cross(e2).Normalize(),
		bothSides: g.Scene.Materials[material].DoubleSided,
	}
}
