package scene

import (
	"errors"
	"fmt"
	"path"
	"sort"

	"github.com/go-gl/mathgl/mgl64"

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
	// TypeID is the actors' kind in CARLA's manner; empty means "static.prop".
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
	// Reserved holds the actor back until History.Spawn: it is there to be
	// spawned, and to be a template for Scene.Reserve.
	Reserved bool
}

// New returns an empty scene.
func New(name string) *Scene {
	return &Scene{Name: name, Ego: spatial.Identity()}
}

// assetBase is where an asset's lists stand in the scene's.
type assetBase struct{ texture, material, mesh int }

// Add puts an asset into the scene and returns the actors it became: one for
// each node with Actor set, and one for each root node that has meshes outside
// those; the children count as roots below a single root without a mesh. An
// asset that is added again shares its meshes with the first time. The scene keeps
// references into the asset, which must not change afterwards.
// Errors: ErrIndex for indices that point to nothing, ErrTooManyActors.
func (s *Scene) Add(asset *Asset, p Placement) ([]*Actor, error) {
	if p.Pose.Orientation == (mgl64.Quat{}) {
		p.Pose.Orientation = mgl64.QuatIdent()
	}
	if p.Name == "" {
		p.Name = asset.Name
	}
	if p.TypeID == "" {
		p.TypeID = "static.prop"
	}
	if err := asset.check(); err != nil {
		return nil, fmt.Errorf("add asset %q: %w", asset.Name, err)
	}
	g := newGraph(asset, p.Tag)
	roots := g.actorRoots(p.Whole || p.Reserved || p.Motion != nil)
	base := s.takeIn(asset)
	actors := make([]*Actor, 0, len(roots))
	for _, root := range roots {
		a := g.actor(root, p.Pose, base.mesh)
		if len(a.Parts) == 0 {
			continue
		}
		a.TypeID, a.Motion, a.Reserved = p.TypeID, p.Motion, p.Reserved
		if a.Name = p.Name; root >= 0 && len(roots) > 1 {
			a.Name += "/" + asset.Nodes[root].Name
		}
		if err := s.AddActor(a); err != nil {
			return actors, fmt.Errorf("add asset %q: %w", asset.Name, err)
		}
		actors = append(actors, a)
	}
	return actors, nil
}

// AddActor puts an actor into the scene whose parts name the scene's meshes: it
// gives it an instance id, and a number after its name if that is taken.
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
// ("vehicle.*", as path.Match has it), reserved ones too, sorted by id.
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

// Actor returns the actor with an instance id, nil if there is none.
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

// takeIn appends an asset's textures, materials and meshes, once.
func (s *Scene) takeIn(asset *Asset) assetBase {
	if base, ok := s.taken[asset]; ok {
		return base
	}
	base := assetBase{len(s.Textures), len(s.Materials), len(s.Meshes)}
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
