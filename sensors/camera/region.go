package camera

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene"
)

// plane is the half space normal.p + offset >= 0; the normal's length is free.
type plane struct {
	normal mgl64.Vec3
	offset float64
}

// region is a convex part of space: the intersection of its half spaces.
type region []plane

// inFrame appends to dst the region in another frame; toRegion leads from there
// to the region's own.
func (r region) inFrame(dst region, toRegion *mgl64.Mat4) region {
	turn, at := toRegion.Mat3().Transpose(), toRegion.Col(3).Vec3()
	for _, p := range r {
		dst = append(dst, plane{turn.Mul3x1(p.normal), p.offset + p.normal.Dot(at)})
	}
	return dst
}

// excludes reports whether no point of the box is in the region. A box beside an
// edge may be taken for inside: it is drawn in vain, never left out.
func (r region) excludes(low, high mgl64.Vec3) bool {
	for i := range r {
		p := &r[i]
		reach := p.offset
		for axis, n := range p.normal {
			if n > 0 {
				reach += n * high[axis]
			} else {
				reach += n * low[axis]
			}
		}
		if reach < 0 {
			return true
		}
	}
	return false
}

// frustum returns what the lens sees between near and far, in the optical frame.
func (l Lens) frustum(near, far float64) region {
	topLeft := l.Ray(-0.5, -0.5)
	bottomRight := l.Ray(float64(l.Width)-0.5, float64(l.Height)-0.5)
	return region{
		{mgl64.Vec3{1, 0, -topLeft[0]}, 0},
		{mgl64.Vec3{-1, 0, bottomRight[0]}, 0},
		{mgl64.Vec3{0, 1, -topLeft[1]}, 0},
		{mgl64.Vec3{0, -1, bottomRight[1]}, 0},
		{mgl64.Vec3{0, 0, 1}, -near},
		{mgl64.Vec3{0, 0, -1}, far},
	}
}

// chunkTriangles is how many neighbouring triangles of the static world are
// drawn or left out together: 256 make the test cheap and leave few triangles
// beside the picture.
const chunkTriangles = 256

// chunk is a run of triangles in one frame, with its box there.
type chunk struct {
	first, count int
	low, high    mgl64.Vec3
	cut          bool // some material may be cut out by its alpha
}

// drawing is a scene's triangles in pieces that are drawn or left out.
type drawing struct {
	world  []chunk // of the static world
	movers []chunk // one a mover, in the mover's frame
}

func newDrawing(w *scene.World) *drawing {
	d := &drawing{}
	for first := 0; first < w.StaticCount; first += chunkTriangles {
		d.world = append(d.world, newChunk(w, first, min(chunkTriangles, w.StaticCount-first)))
	}
	for i := range w.Movers {
		m := &w.Movers[i]
		d.movers = append(d.movers, newChunk(w, m.First, m.Count))
	}
	return d
}

func newChunk(w *scene.World, first, count int) chunk {
	c := chunk{first: first, count: count}
	for i := 3 * first; i < 3*(first+count); i++ {
		v := w.Vertices[i]
		p := mgl64.Vec3{float64(v[0]), float64(v[1]), float64(v[2])}
		if i == 3*first {
			c.low, c.high = p, p
		}
		for axis, x := range p {
			c.low[axis], c.high[axis] = min(c.low[axis], x), max(c.high[axis], x)
		}
	}
	for t := first; t < first+count && !c.cut; t++ {
		c.cut = w.Scene.Materials[w.Attributes[3*t][3]].AlphaMode != scene.AlphaOpaque
	}
	return c
}

// drawList is what one pass draws; its memory is used again for the next.
type drawList struct {
	plain, cut []gpu.DrawCall
	planes     region // scratch
}

func (l *drawList) reset() { l.plain, l.cut = l.plain[:0], l.cut[:0] }

// addWorld appends the chunks of the static world that are in the region;
// toRegion leads from the world to the region's frame.
func (l *drawList) addWorld(d *drawing, r region, toRegion *mgl64.Mat4) {
	l.planes = r.inFrame(l.planes[:0], toRegion)
	for i := range d.world {
		if c := &d.world[i]; !l.planes.excludes(c.low, c.high) {
			l.add(c, worldFrame)
		}
	}
}

// addMovers appends the movers that are in the region; toRegion leads from each
// frame of the scene to the region's, and is zero for a mover that is not there.
func (l *drawList) addMovers(d *drawing, r region, toRegion []mgl64.Mat4) {
	for i := range d.movers {
		c := &d.movers[i]
		if toRegion[moverFrame(i)].At(3, 3) == 0 {
			continue
		}
		l.planes = r.inFrame(l.planes[:0], &toRegion[moverFrame(i)])
		if !l.planes.excludes(c.low, c.high) {
			l.add(c, moverFrame(i))
		}
	}
}

func (l *drawList) add(c *chunk, frame int) {
	calls := &l.plain
	if c.cut {
		calls = &l.cut
	}
	if n := len(*calls); n > 0 {
		last := &(*calls)[n-1]
		if last.Index == frame && last.First+last.Count == 3*c.first {
			last.Count += 3 * c.count
			return
		}
	}
	*calls = append(*calls, gpu.DrawCall{First: 3 * c.first, Count: 3 * c.count, Index: frame})
}
