package scene

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/spatial"
)

// Errors of Build and Upload; they come wrapped with the place and the figures.
var (
	// ErrEmptyScene: no actor has a triangle with an area.
	ErrEmptyScene = errors.New("scene has no triangles")
	// ErrVertex: a vertex position is NaN or infinite, or too far away for
	// float32 coordinates.
	ErrVertex = errors.New("vertex is not usable")
	// ErrIndex: a mesh, material or vertex index points to nothing.
	ErrIndex = errors.New("index is out of range")
	// ErrTooLarge: more triangles, nodes or movers than the tables can number
	// or the driver can hold.
	ErrTooLarge = errors.New("scene is too large")
)

// BVHNode is one node of a bounding volume hierarchy with four children, as the
// GPU reads it: rows 0..5 are min x, max x, min y, max y, min z, max z of the
// children in metres, row 6 the bits of their Refs. An absent child has min > max.
type BVHNode [7][4]float32

// Ref is a child of a BVHNode, shaped so that its bits are a normal float32: bit 30
// is 1, bit 31 is set for a leaf. An inner reference has the node's number in
// bits 0..28; a leaf its first triangle in bits 0..25, the count less one in
// bits 26 and 27, and bit 28 set where a material may be cut out by its alpha.
// In the hierarchy over the movers a leaf is one mover instead.
type Ref uint32

const (
	refValid     = Ref(1) << 30
	refLeaf      = Ref(1) << 31
	refCut       = Ref(1) << 28
	refCountBit  = 26
	refFirstMask = Ref(1)<<refCountBit - 1
	refNodeMask  = Ref(1)<<29 - 1

	// MaxTriangles is how many triangles a World can number.
	MaxTriangles = 1 << refCountBit
	// maxLeaf is the most triangles of a leaf.
	maxLeaf = 4
)

func innerRef(node int) Ref { return refValid | Ref(node) }

func leafRef(first, count int, cut bool) Ref {
	r := refValid | refLeaf | Ref(count-1)<<refCountBit | Ref(first)
	if cut {
		r |= refCut
	}
	return r
}

// Leaf reports whether r holds triangles, and which.
func (r Ref) Leaf() (first, count int, leaf bool) {
	return int(r & refFirstMask), int(r>>refCountBit&3) + 1, r&refLeaf != 0
}

// Node returns the number of an inner reference's node.
func (r Ref) Node() int { return int(r & refNodeMask) }

// Cut reports whether a leaf's triangles may be cut out by their alpha.
func (r Ref) Cut() bool { return r&refCut != 0 }

// Row is four float32 of a table: one texel on the GPU.
type Row = [4]float32

// Mover is one moving part of an actor: a range of triangles in a frame of its
// own, with its own hierarchy. Movers that show one mesh at one scale share both.
//
// The mover's frame is the part's frame with the part's scale applied to the
// triangles, so that it moves as a rigid body.
type Mover struct {
	Actor *Actor
	Part  int // into Actor.Parts
	// First and Count are its triangles, Root its hierarchy.
	First, Count int
	Root         Ref
	// Min and Max bound the triangles in the mover's frame, metres.
	Min, Max mgl64.Vec3
	// stretch is what was applied to the mesh, unstretch its inverse; rest is
	// the mover's frame in the actor's frame where no joints move it.
	stretch, unstretch mgl64.Mat3
	rest               spatial.Pose
}

// World is a Scene made ready for finding ray hits: flat tables in the layout
// that the GPU reads (shaders/lib/scene.glsl), and the movers. The static actors
// are one set of triangles in the world frame: the map frame moved by Anchor.
// Every surface is seen from both sides.
//
// A World is never changed: any goroutine may read it. Its slices belong to it.
type World struct {
	Scene *Scene
	// Anchor is the world frame's origin in the map frame, metres.
	Anchor mgl64.Vec3
	// Nodes are all hierarchies' nodes, Static the root of the static actors',
	// 0 where there are none.
	Nodes  []BVHNode
	Static Ref
	// Planes has 3 rows a triangle: the plane (unit normal, offset) and the two
	// rows of barycentric coordinates of the slightly enlarged triangle.
	Planes []Row
	// Vertices has 3 rows a triangle: positions in metres, 1.
	Vertices []Row
	// Attributes has 3 words of four a triangle: see shaders/lib/scene.glsl.
	Attributes [][4]uint32
	// StaticCount is how many triangles, from 0, are static actors'.
	StaticCount int
	Movers      []Mover
	// FromCache is true where the tables were read from the on-disk cache.
	FromCache bool
	// CacheErr says why the cache could not be read or written, for a log line;
	// the world is complete all the same.
	CacheErr error
}

// Triangles returns the number of triangles in the tables; a mesh that several
// movers share counts once.
func (w *World) Triangles() int { return len(w.Planes) / 3 }

// FromMap returns a pose of the map frame in the world frame.
func (w *World) FromMap(p spatial.Pose) spatial.Pose {
	p.Position = p.Position.Sub(w.Anchor)
	return p
}

// BuildOptions says how a World is built; the zero value is usable.
type BuildOptions struct {
	// Workers is how many goroutines build; 0 means GOMAXPROCS.
	Workers int
	// CacheDir is the folder of the on-disk cache (see CacheDir), empty for none.
	CacheDir string
	// Memory is what the world's tables are taken from; they are never given back. (optional;
	// nil for no limit)
	Memory *memory.Budget
}

// A triangle of the static world takes buildBytes while the tables are made and keptBytes
// from then on. They were measured as the heap's growth with cities of 500,000 and 2,000,000
// triangles, and rounded up.
const (
	buildBytes = 560
	keptBytes  = 210
)

// Build makes a scene's World: it flattens the static actors, builds the
// hierarchies, or reads all that from the cache. It ends early with ctx's error.
// Errors: ErrEmptyScene, ErrVertex, ErrIndex, ErrTooLarge, memory.ErrExceeded. A cache that cannot
// be read or written costs time, never the build.
func Build(ctx context.Context, s *Scene, opts BuildOptions) (*World, error) {
	n := s.staticTriangles()
	if err := opts.Memory.Take(fmt.Sprintf("a world of %d triangles", n), buildBytes*n); err != nil {
		return nil, fmt.Errorf("build world of scene %q: %w", s.Name, err)
	}
	w, err := build(ctx, s, opts)
	if err != nil {
		opts.Memory.Give(buildBytes * n)
		return nil, fmt.Errorf("build world of scene %q: %w", s.Name, err)
	}
	opts.Memory.Give((buildBytes - keptBytes) * n)
	return w, nil
}

// staticTriangles counts what never moves, as often as it is placed.
func (s *Scene) staticTriangles() int64 {
	sum := int64(0)
	for _, a := range s.Actors {
		if !a.Static() {
			continue
		}
		for i := range a.Parts {
			if mesh := a.Parts[i].Mesh; mesh >= 0 && mesh < len(s.Meshes) {
				sum += int64(s.Meshes[mesh].Triangles())
			}
		}
	}
	return sum
}
