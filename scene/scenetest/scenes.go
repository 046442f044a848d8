package scenetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Matte returns a material of one linear colour: rough, not metallic, with the
// colour's luminance as lidar reflectance.
func Matte(name string, r, g, b float32) scene.Material {
	return scene.Material{
		Name: name, BaseColor: mgl32.Vec4{r, g, b, 1}, Roughness: 1,
		BaseColorTexture: scene.NoTexture, MetalRoughTexture: scene.NoTexture, EmissiveTexture: scene.NoTexture,
		Reflectance: -1,
	}
}

// Builder makes small scenes, an actor at a time. It panics on what the scene
// refuses: a mistake of the test.
type Builder struct {
	Scene *scene.Scene
}

// NewBuilder returns a builder of an empty scene under a white sun from above.
func NewBuilder(name string) *Builder {
	s := scene.New(name)
	s.Light = scene.Light{
		SunDirection: mgl32.Vec3{0.3, 0.2, 0.933}.Normalize(), SunColor: mgl32.Vec3{3, 3, 3},
		SkyZenith: mgl32.Vec3{0.3, 0.5, 0.9}, SkyHorizon: mgl32.Vec3{0.7, 0.8, 0.9}, Ground: mgl32.Vec3{0.2, 0.2, 0.2},
		Exposure: 1,
	}
	return &Builder{Scene: s}
}

// Put adds a mesh of one material as an actor.
func (b *Builder) Put(name string, m scene.Mesh, material scene.Material, p scene.Placement) *scene.Actor {
	if len(m.Groups) == 0 {
		m.Groups = []scene.Group{{Count: len(m.Indices)}}
	}
	asset := &scene.Asset{
		Name: name, Materials: []scene.Material{material}, Meshes: []scene.Mesh{m},
		Nodes: []scene.Node{{Name: name, Parent: -1, Local: scene.IdentityTRS()}},
	}
	actors, err := b.Scene.Add(asset, p)
	if err != nil || len(actors) != 1 {
		panic(fmt.Sprintf("scenetest: put %q: %d actors, %v", name, len(actors), err))
	}
	return actors[0]
}

// Hold takes the actors whose type id matches out of a scene and makes models of them, each with a
// slot. What it returns spawns them, as they were except for their ids. It panics where the
// history refuses: a mistake of the test.
func Hold(s *scene.Scene, pattern string) func(h *scene.History) []*scene.Actor {
	held := s.ActorsOf(pattern)
	s.Actors = slices.DeleteFunc(s.Actors, func(a *scene.Actor) bool { return slices.Contains(held, a) })
	for _, a := range held {
		s.Reserve(&scene.Actor{TypeID: fmt.Sprintf("%s, once %d", a.TypeID, a.ID), Parts: a.Parts}, 1)
	}
	first := len(s.Models) - len(held)
	return func(h *scene.History) (came []*scene.Actor) {
		for i, a := range held {
			motion := a.Motion
			if motion == nil {
				motion = scene.Standing(a.Pose)
			}
			spawned, err := h.SpawnActor(s.Models[first+i], scene.Actor{Name: a.Name, TypeID: a.TypeID, Pose: a.Pose}, motion)
			if err != nil {
				panic(fmt.Sprintf("scenetest: %v", err))
			}
			came = append(came, spawned)
		}
		return came
	}
}

// At returns a placement at (x, y, z) metres with a tag.
func At(x, y, z float64, tag scene.Tag) scene.Placement {
	p := spatial.Identity()
	p.Position = mgl64.Vec3{x, y, z}
	return scene.Placement{Pose: p, Tag: tag}
}

// Plane returns a square of cells x cells cells in the plane z = 0, centred,
// size metres wide, facing up, with texture coordinates 0..1.
func Plane(size float64, cells int) scene.Mesh {
	m := scene.Mesh{Name: "plane"}
	for j := range cells + 1 {
		for i := range cells + 1 {
			u, v := float64(i)/float64(cells), float64(j)/float64(cells)
			m.Positions = append(m.Positions, mgl32.Vec3{float32((u - 0.5) * size), float32((v - 0.5) * size), 0})
			m.Normals = append(m.Normals, mgl32.Vec3{0, 0, 1})
			m.UVs = append(m.UVs, mgl32.Vec2{float32(u), float32(v)})
		}
	}
	for j := range cells {
		for i := range cells {
			a := uint32(j*(cells+1) + i)
			b := a + uint32(cells) + 1
			m.Indices = append(m.Indices, a, a+1, b, b, a+1, b+1)
		}
	}
	return m
}

// Corner returns a floor as Plane makes it, and a wall of the same size and cells. The wall stands
// on the floor's edge at +x and looks to -x.
func Corner(size float64, cells int) scene.Mesh {
	m, wall := Plane(size, cells), Plane(size, cells)
	first, half := uint32(len(m.Positions)), float32(size/2)
	for i, p := range wall.Positions {
		m.Positions = append(m.Positions, mgl32.Vec3{half, p[1], p[0] + half})
		m.Normals, m.UVs = append(m.Normals, mgl32.Vec3{-1, 0, 0}), append(m.UVs, wall.UVs[i])
	}
	for _, i := range wall.Indices {
		m.Indices = append(m.Indices, first+i)
	}
	return m
}

// Box returns a box of the given edge lengths about the origin.
func Box(x, y, z float64) scene.Mesh {
	m := scene.Mesh{Name: "box"}
	half := mgl64.Vec3{x / 2, y / 2, z / 2}
	for axis := range 3 {
		for _, side := range []float64{-1, 1} {
			n, u := mgl64.Vec3{}, mgl64.Vec3{}
			n[axis] = side
			u[(axis+1)%3] = 1
			v := n.Cross(u)
			at := uint32(len(m.Positions))
			for _, c := range [][2]float64{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}} {
				p := n.Add(u.Mul(c[0])).Add(v.Mul(c[1]))
				m.Positions = append(m.Positions, mgl32.Vec3{float32(p[0] * half[0]), float32(p[1] * half[1]), float32(p[2] * half[2])})
				m.Normals = append(m.Normals, mgl32.Vec3{float32(n[0]), float32(n[1]), float32(n[2])})
				m.UVs = append(m.UVs, mgl32.Vec2{float32(c[0]+1) / 2, float32(c[1]+1) / 2})
			}
			m.Indices = append(m.Indices, at, at+1, at+2, at, at+2, at+3)
		}
	}
	return m
}

// Sphere returns a sphere about the origin of rings x 2 rings facets, its vertices on the
// radius. A facet's middle lies inside by about radius (pi / rings)² / 4.
func Sphere(radius float64, rings int) scene.Mesh {
	m := scene.Mesh{Name: "sphere"}
	for j := range rings + 1 {
		for i := range 2*rings + 1 {
			polar, around := math.Pi*float64(j)/float64(rings), math.Pi*float64(i)/float64(rings)
			n := mgl64.Vec3{math.Sin(polar) * math.Cos(around), math.Sin(polar) * math.Sin(around), math.Cos(polar)}
			n32 := mgl32.Vec3{float32(n[0]), float32(n[1]), float32(n[2])}
			m.Normals = append(m.Normals, n32)
			m.Positions = append(m.Positions, mgl32.Vec3{float32(radius * n[0]), float32(radius * n[1]), float32(radius * n[2])})
			m.UVs = append(m.UVs, mgl32.Vec2{float32(i) / float32(2*rings), float32(j) / float32(rings)})
		}
	}
	row := uint32(2*rings + 1)
	for j := range uint32(rings) {
		for i := range row - 1 {
			a := j*row + i
			m.Indices = append(m.Indices, a, a+row, a+1, a+1, a+row, a+row+1)
		}
	}
	return m
}

// Linear is a Motion at constant velocity (m/s, map frame) and yaw rate (rad/s)
// from a pose at time 0.
type Linear struct {
	Start    spatial.Pose
	Velocity mgl64.Vec3
	YawRate  float64
}

// PoseAt implements scene.Motion.
func (l Linear) PoseAt(stamp simtime.Stamp) spatial.Pose {
	t := float64(stamp) * 1e-9
	return spatial.Pose{
		Position:    l.Start.Position.Add(l.Velocity.Mul(t)),
		Orientation: mgl64.QuatRotate(l.YawRate*t, mgl64.Vec3{0, 0, 1}).Mul(l.Start.Orientation),
	}
}

// Plaza returns a floor at z = 0 with slots for so many actors that come in a run. They look like a car, 4 m
// long, whose origin is its middle, or like the box. Two traffic lights turn by themselves, and one is off.
func Plaza(capacity int) *scene.Scene {
	b := NewBuilder("plaza")
	b.Put("floor", Plane(100, 10), Matte("grey", 0.5, 0.5, 0.5), At(0, 0, 0, scene.TagRoads))
	b.Put("car", Box(4, 2, 1.5), Matte("red", 1, 0, 0), scene.Placement{TypeID: "vehicle.sedan", Reserved: true, Tag: scene.TagCar})
	b.Scene.AddBox()
	b.Scene.Slots = 2 * capacity
	b.Scene.Signals = []scene.TrafficLight{
		{ID: 4, Actor: 1, Name: "J7", Green: 15e6, Red: 1e9}, {ID: 5, Actor: 1, Name: "J7", Green: 15e6, Red: 1e9}, {ID: 6, Name: "J8"},
	}
	return b.Scene
}

// MovingWall returns a scene with a floor at z = 0 and a wall, 20 m wide and 10 m high. The
// wall's front stands at x = distance at time 0 and comes nearer at speed m/s along -x.
func MovingWall(distance, speed float64) *scene.Scene {
	b := NewBuilder("moving wall")
	b.Put("floor", Plane(200, 20), Matte("floor", 0.5, 0.5, 0.5), At(0, 0, 0, scene.TagRoads))
	start := spatial.Identity()
	start.Position = mgl64.Vec3{distance + 0.5, 0, 5}
	b.Put("wall", Box(1, 20, 10), Matte("wall", 0.8, 0.1, 0.1), scene.Placement{
		Tag: scene.TagWall, TypeID: "vehicle.wall", Motion: Linear{Start: start, Velocity: mgl64.Vec3{-speed, 0, 0}},
	})
	return b.Scene
}

// Soup returns a scene of n random triangles, 0.1 to 8 m wide, within 60 m of the origin, in
// six actors of different tags. If moving, two of them lie within 8 m of their frames' origins.
// One of these drives and turns while the other has an animated, scaled part.
func Soup(seed uint64, n int, moving bool) *scene.Scene {
	rng := rand.New(rand.NewPCG(seed, 0x50a9))
	b := NewBuilder(fmt.Sprintf("soup %d", seed))
	tags := []scene.Tag{scene.TagRoads, scene.TagBuilding, scene.TagVegetation, scene.TagPole, scene.TagCar, scene.TagPedestrian}
	for k, tag := range tags {
		p := scene.Placement{Tag: tag, Pose: spatial.FromRPY(mgl64.Vec3{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()},
			rng.Float64()*20-10, rng.Float64()*20-10, rng.Float64()*360)}
		reach := 60.0
		if moving && k >= 4 {
			reach = 8
		}
		mesh := soupMesh(rng, n/len(tags), reach)
		material := Matte(tag.String(), rng.Float32(), rng.Float32(), rng.Float32())
		if moving && k == 4 {
			p.Motion = Linear{Start: p.Pose, Velocity: mgl64.Vec3{12, -5, 0.5}, YawRate: 1.5}
		}
		a := b.Put(tag.String(), mesh, material, p)
		if moving && k == 5 {
			a.Parts[0].Joints = func(stamp simtime.Stamp) mgl64.Mat4 {
				t := float64(stamp) * 1e-9
				return mgl64.HomogRotate3DX(4 * t).Mul4(mgl64.Translate3D(0, 0, math.Sin(t))).Mul4(mgl64.Scale3D(0.5, 0.8, 0.5))
			}
		}
	}
	return b.Scene
}

func soupMesh(rng *rand.Rand, n int, reach float64) scene.Mesh {
	m := scene.Mesh{Name: "soup"}
	for range n {
		at := mgl64.Vec3{rng.Float64()*2 - 1, rng.Float64()*2 - 1, rng.Float64()*0.5 - 0.2}.Mul(reach)
		size := 0.1 * math.Pow(80, rng.Float64()*rng.Float64())
		var p [3]mgl64.Vec3
		for k := range p {
			p[k] = at.Add(mgl64.Vec3{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}.Mul(size / 2))
		}
		normal := p[1].Sub(p[0]).Cross(p[2].Sub(p[0])).Normalize()
		for k := range p {
			m.Indices = append(m.Indices, uint32(len(m.Positions)))
			m.Positions = append(m.Positions, mgl32.Vec3{float32(p[k][0]), float32(p[k][1]), float32(p[k][2])})
			m.Normals = append(m.Normals, mgl32.Vec3{float32(normal[0]), float32(normal[1]), float32(normal[2])})
		}
	}
	return m
}
