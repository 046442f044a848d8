package camera

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene"
)

// chunkTriangles is how many neighbouring triangles of the static world are drawn or left out
// together. 256 make the test cheap and leave few triangles beside the picture.
const chunkTriangles = 256

// chunk is a run of triangles in one frame, with its box there.
type chunk struct {
	first, count int
	low, high    mgl64.Vec3
	cut          bool // some material may be cut out by its alpha
}

// drawing is a scene's triangles in pieces that are drawn or left out.
type drawing struct {
	static []chunk // of the static world
	movers []chunk // one for each of the world's movers, in its frame
}

func newDrawing(g *scene.Geometry) *drawing {
	d := &drawing{}
	for first := 0; first < g.StaticCount; first += chunkTriangles {
		d.static = append(d.static, newChunk(g, first, min(chunkTriangles, g.StaticCount-first)))
	}
	for i := range g.Movers {
		m := &g.Movers[i]
		d.movers = append(d.movers, newChunk(g, m.First, m.Count))
	}
	return d
}

func newChunk(g *scene.Geometry, first, count int) chunk {
	c := chunk{first: first, count: count}
	for i := 3 * first; i < 3*(first+count); i++ {
		v := g.Vertices[i]
		p := mgl64.Vec3{float64(v[0]), float64(v[1]), float64(v[2])}
		if i == 3*first {
			c.low, c.high = p, p
		}
		for axis, x := range p {
			c.low[axis], c.high[axis] = min(c.low[axis], x), max(c.high[axis], x)
		}
	}
	for t := first; t < first+count && !c.cut; t++ {
		c.cut = g.Scene.Materials[g.Attributes[3*t][3]].AlphaMode != scene.AlphaOpaque
	}
	return c
}

// drawList is what one pass draws; its memory is used again for the next.
type drawList struct {
	plain, cut []gpu.DrawCall
	planes     region // scratch
}

func (l *drawList) reset() { l.plain, l.cut = l.plain[:0], l.cut[:0] }

// addStatic appends the chunks of the static world that are in the region;
// toRegion leads from the world to the region's frame.
func (l *drawList) addStatic(d *drawing, r region, toRegion *mgl64.Mat4) {
	l.planes = r.inFrame(l.planes[:0], toRegion)
	for i := range d.static {
		if c := &d.static[i]; !l.planes.excludes(c.low, c.high) {
			l.add(c, worldFrame)
		}
	}
}

// addMovers appends the movers of the renderer's stage that are in the region. toRegion leads from
// each frame of the scene to the region's, and is zero for a mover that is not there.
func (l *drawList) addMovers(of *renderer, r region, toRegion []mgl64.Mat4) {
	for row := range of.stage.cast {
		to := &toRegion[rowFrame(row)]
		if to.At(3, 3) == 0 {
			continue
		}
		c := &of.drawing.movers[of.stage.cast[row].Mover]
		l.planes = r.inFrame(l.planes[:0], to)
		if !l.planes.excludes(c.low, c.high) {
			l.add(c, rowFrame(row))
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

// drawParts draws a list's two parts, each with its program.
func drawParts(c *gpu.Ctx, list *drawList, d gpu.Draw, plain, cut *gpu.Program) error {
	for _, part := range [...]struct {
		program *gpu.Program
		calls   []gpu.DrawCall
	}{{plain, list.plain}, {cut, list.cut}} {
		if len(part.calls) == 0 {
			continue
		}
		d.Program, d.Calls = part.program, part.calls
		if err := c.Draw(&d); err != nil {
			return err
		}
	}
	return nil
}
