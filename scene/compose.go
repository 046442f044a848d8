package scene

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"sort"
	"strings"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// MaxActors is how many actors a scene can have: instance ids are 1..65535.
const MaxActors = 65535

// ErrTooManyActors is returned by Add and AddActor beyond MaxActors.
var ErrTooManyActors = errors.New("scene has no instance id left")

// Placement says how an asset is put into a scene. The zero value puts it at
// the map's origin under its own name.
type Placement struct {
	// Name is the actor's name; empty means the asset's. An asset that becomes
	// several actors gives each Name/node. A name that is taken gets a number: car_2.
	Name string
	// TypeID is the actors' kind in CARLA's manner; empty means "static.prop", and TypeTrafficLight of
	// what has such lamps.
	TypeID string
	// Pose places the asset's frame in the map frame, unless Motion does.
	// A zero Orientation stands for none.
	Pose   spatial.Pose
	Motion Motion
	// Tag labels the nodes that neither have a tag nor inherit one.
	Tag Tag
	// Whole makes one actor of the asset whatever its nodes say; so do Motion and
	// Reserved.
	Whole bool
	// Reserved makes a model of the asset, with a slot, and no actor: History.Spawn brings it.
	Reserved bool
}

// New returns an empty scene.
func New(name string) *Scene {
	return &Scene{Name: name, Ego: spatial.Identity()}
}

// assetBase is where an asset's lists stand in the scene's.
type assetBase struct {
	texture, material, mesh int
	shapes                  map[int]*Shape // by node: nil for those that keep their shape
}

// Add puts an asset into the scene and returns the actors it became, or its model. They are one for each node
// with Actor set, and one for each root node that has meshes outside those. The children count
// as roots below a single root without a mesh. A node without a mesh whose name begins with spawn_point
// is one of the SpawnPoints. An actor that stands and has lamps of a traffic light
// is one of the scene's Signals, by the name of its node. An asset that is added again shares its meshes
// with the first time. The scene keeps references into the asset, which must not change
// afterwards. Errors: ErrIndex for indices that point to nothing, ErrTooManyActors.
func (s *Scene) Add(asset *Asset, p Placement) ([]*Actor, error) {
	if p.Pose.Orientation == (mgl64.Quat{}) {
		p.Pose.Orientation = mgl64.QuatIdent()
	}
	if p.Name == "" {
		p.Name = asset.Name
	}
	if err := asset.check(); err != nil {
		return nil, fmt.Errorf("add asset %q: %w", asset.Name, err)
	}
	g := newGraph(asset, p.Tag)
	if !p.Reserved && p.Motion == nil {
		s.addSpawnPoints(g, p.Pose)
	}
	roots := g.actorRoots(p.Whole || p.Reserved || p.Motion != nil)
	base := s.appendAsset(asset)
	actors := make([]*Actor, 0, len(roots))
	for _, root := range roots {
		a := g.actor(root, p.Pose, base)
		if len(a.Parts) == 0 {
			continue
		}
		a.TypeID, a.Motion = cmp.Or(p.TypeID, "static.prop"), p.Motion
		name := p.Name
		if a.Name = p.Name; root >= 0 && len(roots) > 1 {
			name = asset.Nodes[root].Name
			a.Name += "/" + name
		}
		if p.Reserved {
			s.Reserve(a, 1)
			a = s.Model(a.TypeID)
		} else if err := s.AddActor(a); err != nil {
			return actors, fmt.Errorf("add asset %q: %w", asset.Name, err)
		} else if a.Motion == nil && s.addLight(a, name) && p.TypeID == "" {
			a.TypeID = TypeTrafficLight
		}
		actors = append(actors, a)
	}
	return actors, nil
}

// addSpawnPoints notes the places to spawn at of a placed asset: nodes without a mesh whose names say so,
// headed along their x axes.
func (s *Scene) addSpawnPoints(g *graph, placed spatial.Pose) {
	for i := range g.asset.Nodes {
		n := &g.asset.Nodes[i]
		if n.Mesh >= 0 || !strings.HasPrefix(strings.ToLower(n.Name), "spawn_point") {
			continue
		}
		at := placed.Mat4().Mul4(g.global[i])
		s.SpawnPoints = append(s.SpawnPoints, spatial.FromRPY(at.Col(3).Vec3(), 0, 0, mgl64.RadToDeg(math.Atan2(at.At(1, 0), at.At(0, 0)))))
	}
}

// AddActor puts an actor into the scene whose parts name the scene's meshes. It gives it an
// instance id, and a number after its name if that is taken.
func (s *Scene) AddActor(a *Actor) error {
	if len(s.Actors) >= MaxActors {
		return fmt.Errorf("%w: actor %q would be number %d of at most %d: join meshes into fewer actors", ErrTooManyActors, a.Name, len(s.Actors)+1, MaxActors)
	}
	if s.names == nil {
		s.names = map[string]int{}
		for _, other := range s.Actors {
			s.names[other.Name] = 1
			s.lastID = max(s.lastID, other.ID)
		}
	}
	name := a.Name
	for s.names[a.Name] > 0 {
		s.names[name]++
		a.Name = fmt.Sprintf("%s_%d", name, s.names[name])
	}
	s.names[a.Name] = 1
	s.lastID++
	a.ID = s.lastID
	s.Actors = append(s.Actors, a)
	return nil
}

// ActorsOf returns the actors whose TypeID matches a wildcard pattern
// ("vehicle.*", as path.Match has it), sorted by id.
func (s *Scene) ActorsOf(pattern string) []*Actor {
	var found []*Actor
	for _, a := range s.Actors {
		if ok, err := path.Match(pattern, a.TypeID); err == nil && ok {
			found = append(found, a)
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].ID < found[j].ID })
	return found
}

// Actor returns the actor with an instance id, or nil if no actor has it.
func (s *Scene) Actor(id uint32) *Actor {
	if i := int(id) - 1; i >= 0 && i < len(s.Actors) && s.Actors[i].ID == id {
		return s.Actors[i]
	}
	for _, a := range s.Actors {
		if a.ID == id {
			return a
		}
	}
	return nil
}

// appendAsset appends an asset's textures, materials and meshes, once.
func (s *Scene) appendAsset(asset *Asset) assetBase {
	if base, ok := s.taken[asset]; ok {
		return base
	}
	base := assetBase{len(s.Textures), len(s.Materials), len(s.Meshes), map[int]*Shape{}}
	s.Textures = append(s.Textures, asset.Textures...)
	for _, m := range asset.Materials {
		for _, t := range []*int{&m.BaseColorTexture, &m.MetalRoughTexture, &m.EmissiveTexture} {
			if *t != NoTexture {
				*t += base.texture
			}
		}
		s.Materials = append(s.Materials, m)
	}
	for _, m := range asset.Meshes {
		groups := make([]Group, len(m.Groups))
		for i, g := range m.Groups {
			g.Material += base.material
			groups[i] = g
		}
		m.Groups = groups
		s.Meshes = append(s.Meshes, m)
	}
	if s.taken == nil {
		s.taken = map[*Asset]assetBase{}
	}
	s.taken[asset] = base
	return base
}

// check returns an error for indices that point outside the asset.
func (a *Asset) check() error {
	for i := range a.Nodes {
		n := &a.Nodes[i]
		if n.Parent < -1 || n.Parent >= i {
			return fmt.Errorf("%w: node %d %q has parent %d, which must come before it", ErrIndex, i, n.Name, n.Parent)
		}
		if n.Mesh < -1 || n.Mesh >= len(a.Meshes) {
			return fmt.Errorf("%w: node %d %q names mesh %d of %d", ErrIndex, i, n.Name, n.Mesh, len(a.Meshes))
		}
		if n.Skin == nil {
			continue
		}
		if err := n.Skin.check(a, n.Mesh); err != nil {
			return fmt.Errorf("node %d %q: %w", i, n.Name, err)
		}
	}
	for i := range a.Materials {
		m := &a.Materials[i]
		for _, t := range []int{m.BaseColorTexture, m.MetalRoughTexture, m.EmissiveTexture} {
			if t < NoTexture || t >= len(a.Textures) {
				return fmt.Errorf("%w: material %d %q names texture %d of %d", ErrIndex, i, m.Name, t, len(a.Textures))
			}
		}
	}
	for i := range a.Meshes {
		if err := a.Meshes[i].checkShape(); err != nil {
			return err
		}
		for _, g := range a.Meshes[i].Groups {
			if g.Material < 0 || g.Material >= len(a.Materials) {
				return fmt.Errorf("%w: mesh %d %q names material %d of %d", ErrIndex, i, a.Meshes[i].Name, g.Material, len(a.Materials))
			}
		}
	}
	for i := range a.Animations {
		if err := a.Animations[i].check(len(a.Nodes)); err != nil {
			return fmt.Errorf("animation %d %q: %w", i, a.Animations[i].Name, err)
		}
	}
	return nil
}

// graph is an asset's node hierarchy with what is known of each node.
type graph struct {
	asset    *Asset
	tags     []Tag
	children [][]int
	global   []mgl64.Mat4 // in the asset's frame, as the nodes stand
	channels [][]clip     // that animate the node itself
	weights  [][]clip     // that animate the weights of its mesh's targets
	moving   []bool       // the node or one above it is animated
	places   map[int]int  // of the nodes that are joints, among those of the actor that is made
	measured map[measureKey]*Shape
	keys     int // of animations that were looked at for boxes
}

func newGraph(asset *Asset, tag Tag) *graph {
	n := len(asset.Nodes)
	g := &graph{
		asset: asset, tags: make([]Tag, n), children: make([][]int, n),
		global: make([]mgl64.Mat4, n), channels: make([][]clip, n), weights: make([][]clip, n), moving: make([]bool, n),
		measured: map[measureKey]*Shape{},
	}
	for i := range asset.Animations {
		a := &asset.Animations[i]
		for k := range a.Channels {
			c := &a.Channels[k]
			of := g.channels
			if c.Path == PathWeight {
				of = g.weights
			}
			of[c.Node] = append(of[c.Node], clip{c, a.DurationNs})
		}
	}
	for i := range asset.Nodes {
		node := &asset.Nodes[i]
		g.tags[i], g.global[i] = node.Tag, node.Local.Mat4()
		g.moving[i] = len(g.channels[i]) > 0
		inherited := tag
		if p := node.Parent; p >= 0 {
			inherited = g.tags[p]
			g.children[p] = append(g.children[p], i)
			g.global[i] = g.global[p].Mul4(g.global[i])
			g.moving[i] = g.moving[i] || g.moving[p]
		}
		if node.Tag == TagUnlabeled {
			g.tags[i] = inherited
		}
	}
	return g
}

// wholeAsset stands for all nodes that belong to no other actor.
const wholeAsset = -1

// actorRoots returns the nodes that are actors with all below them that isn't
// another actor's.
func (g *graph) actorRoots(whole bool) []int {
	if whole {
		return []int{wholeAsset}
	}
	roots := g.roots()
	isRoot := map[int]bool{}
	for _, r := range roots {
		isRoot[r] = true
	}
	var actors []int
	for i := range g.asset.Nodes {
		if g.asset.Nodes[i].Actor || isRoot[i] {
			actors = append(actors, i)
		}
	}
	return actors
}

// roots returns the nodes without a parent, or the children of a single one
// that has no mesh.
func (g *graph) roots() []int {
	var roots []int
	for i := range g.asset.Nodes {
		if g.asset.Nodes[i].Parent < 0 {
			roots = append(roots, i)
		}
	}
	if len(roots) == 1 {
		if r := roots[0]; g.asset.Nodes[r].Mesh < 0 && !g.asset.Nodes[r].Actor && len(g.children[r]) > 0 {
			return g.children[r]
		}
	}
	return roots
}

// actor makes the actor of a root node, or of the whole asset. Its frame is the
// root's, without scale, unless the root is animated: then the asset's.
func (g *graph) actor(root int, pose spatial.Pose, base assetBase) *Actor {
	a := &Actor{Pose: pose}
	g.places = map[int]int{}
	into := mgl64.Ident4()
	if root != wholeAsset && !g.moving[root] {
		if frame, _, ok := rigidPart(g.global[root]); ok {
			a.Pose = pose.Compose(frame)
			into = frame.Inverse().Mat4()
		}
	}
	if root != wholeAsset {
		g.collect(a, root, root, into, base)
		return a
	}
	for i := range g.asset.Nodes {
		if g.asset.Nodes[i].Parent < 0 {
			g.collect(a, i, wholeAsset, into, base)
		}
	}
	return a
}

// collect appends the parts of a node and those below it, but not those of
// other actors below root.
func (g *graph) collect(a *Actor, node, root int, into mgl64.Mat4, base assetBase) {
	n := &g.asset.Nodes[node]
	if n.Actor && node != root && root != wholeAsset {
		return
	}
	if n.Mesh >= 0 {
		p := Part{Name: n.Name, Mesh: base.mesh + n.Mesh, Local: into.Mul4(g.global[node]), Tag: g.tags[node]}
		shape, known := base.shapes[node]
		if !known {
			shape = newShape(g, node)
			base.shapes[node] = shape
		}
		p.Shape = shape
		switch {
		case shape != nil && len(shape.joints) > 0:
			p.Local = into // joints place the mesh, not its node
		case g.moving[node]:
			g.move(a, &p, node, into)
		}
		p.moments = g.moments(node, shape)
		a.Parts = append(a.Parts, p)
	}
	for _, c := range g.children[node] {
		g.collect(a, c, root, into, base)
	}
}

// move gives a part its node's place in the actor's frame, by time and by the actor's joints.
func (g *graph) move(a *Actor, p *Part, node int, into mgl64.Mat4) {
	var chain []joint // from the node up
	jointed := false
	for i := node; i >= 0; i = g.asset.Nodes[i].Parent {
		j := joint{local: g.asset.Nodes[i].Local, clips: g.channels[i]}
		if axis, ok := g.axis(i); ok {
			j.axis, j.index, jointed = axis, g.index(a, i, axis), true
		}
		chain = append(chain, j)
	}
	p.Joints = func(stamp simtime.Stamp) mgl64.Mat4 {
		m := into
		for i := len(chain) - 1; i >= 0; i-- {
			m = m.Mul4(chain[i].at(stamp))
		}
		return m
	}
	if !jointed {
		return
	}
	p.Posed = func(values JointValues, stamp simtime.Stamp) mgl64.Mat4 {
		m := into
		for i := len(chain) - 1; i >= 0; i-- {
			m = m.Mul4(chain[i].posed(values, stamp))
		}
		return m
	}
}

// poseAt returns where the actor stands at a time.
func (a *Actor) poseAt(stamp simtime.Stamp) spatial.Pose {
	if a.Motion != nil {
		return a.Motion.PoseAt(stamp)
	}
	return a.Pose
}

// At returns the part's place in the actor's frame at a time.
func (p *Part) At(stamp simtime.Stamp) mgl64.Mat4 {
	if p.Joints != nil {
		return p.Joints(stamp)
	}
	return p.Local
}

// polar splits a linear map into a rotation after a symmetric stretch: m = r s
// (Higham, Computing the Polar Decomposition, 1986). ok is false where m is
// singular: what it maps has no volume.
func polar(m mgl64.Mat3) (r, s mgl64.Mat3, ok bool) {
	size := 0.0
	for _, x := range m {
		size = max(size, math.Abs(x))
	}
	if !(size > 0) || math.IsInf(size, 0) || math.Abs(m.Det()) < 1e-12*size*size*size {
		return mgl64.Ident3(), mgl64.Mat3{}, false
	}
	r = m
	for range 64 {
		next := r.Add(r.Inv().Transpose()).Mul(0.5)
		change := 0.0
		for i := range next {
			change = max(change, math.Abs(next[i]-r[i]))
		}
		r = next
		if change < 1e-14 {
			break
		}
	}
	if r.Det() < 0 { // a mirror: the stretch takes it
		r = r.Mul(-1)
	}
	s = r.Transpose().Mul3(m)
	return r, s.Add(s.Transpose()).Mul(0.5), true
}

// fixedStretch returns the stretch that is applied to a moving part's mesh and
// its inverse: the part's scale at time 0. A part without volume then is not
// stretched beforehand. Rounding lets equal scales compare equal.
func fixedStretch(m mgl64.Mat3) (stretch, inverse mgl64.Mat3) {
	_, s, ok := polar(m)
	if !ok {
		return mgl64.Ident3(), mgl64.Ident3()
	}
	for i := range s {
		s[i] = float64(float32(s[i])) + 0
		if math.Abs(s[i]) < 1e-9 {
			s[i] = 0
		}
	}
	return s, s.Inv()
}
