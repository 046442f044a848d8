package camera

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// viewKey is what cameras must have in common to share a visibility pass.
type viewKey struct {
	owner     uint32 // the actor that the mount is on
	mount     spatial.Pose
	lens      Lens
	grid      int // points seen across a pixel, and down it
	near, far float64
}

// seen returns the lens with a pixel for each point that is seen.
func (k *viewKey) seen() Lens { return k.lens.divided(k.grid) }

// maxAnnounced bounds the announcements that a view keeps of captures that were
// announced and then not made, as when the GL thread was busy.
const maxAnnounced = 64

// view is one place and lens that cameras look from. Except for the announcements it belongs to
// the GL thread.
type view struct {
	key    viewKey
	groups [3]int       // work groups of its shading
	ids    *gpu.Texture // what each pixel sees
	lens   *gpu.Buffer  // lib/lens.glsl's block
	frames *frameTable
	// A pinhole is rasterised, other lenses are traced.
	depth       *gpu.Texture
	framebuffer *gpu.Framebuffer
	projection  *gpu.Buffer
	frustum     region
	list        drawList
	tracing     *tracing // nil for a pinhole
	sunlit      *sunlit  // nil until a camera asks for traced shadows

	shown     uint64        // number of the stage that the ids show, 0 for none
	toOptical []mgl64.Mat4  // from each frame of the scene, at the instant that is seen
	previous  []mgl64.Mat4  // scratch: as a stage's places, a firing ago
	uniforms  []*gpu.Buffer // one a dispatch of an instant
	batches   []batch       // scratch
	cameras   int           // that look from here; guarded by the renderer's mu

	mu        sync.Mutex
	announced []announcement // guarded by mu
}

// announcement is a capture that is about to be made.
type announcement struct {
	at sensors.Tick
	by *camera
}

// view returns the renderer's view for a key and makes it for its first camera; each
// camera gives it back with leave.
func (r *renderer) view(c *gpu.Ctx, key viewKey) (*view, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v := r.views[key]; v != nil {
		v.cameras++
		return v, nil
	}
	v := &view{key: key, groups: shaders.CameraShade.Groups(key.lens.Width, key.lens.Height, 1)}
	if err := v.open(c, r); err != nil {
		v.close()
		return nil, err
	}
	r.views[key], v.cameras = v, 1
	return v, nil
}

// leave gives a camera's view back; the objects of one that nobody looks from are
// deleted. Any goroutine.
func (r *renderer) leave(v *view) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v.cameras--; v.cameras == 0 && r.views[v.key] == v {
		delete(r.views, v.key)
		v.close()
	}
}

func (v *view) open(c *gpu.Ctx, r *renderer) (err error) {
	l := v.key.seen()
	if v.ids, err = c.NewTexture(l.target("camera ids", gpu.FormatRG32UI)); err != nil {
		return err
	}
	block := gpu.BytesOf([]lensBlock{l.block()})
	if v.lens, err = c.NewBuffer(gpu.BufferDesc{Label: "camera lens", Size: len(block), Data: block}); err != nil {
		return err
	}
	v.frames, err = newFrameTable(c, "camera frames", r.frameCount(), shaders.FrameTexels+shaders.PreviousTexels)
	if err != nil {
		return err
	}
	if l.constant() == 0 {
		return v.openRaster(c)
	}
	pass := passBlock{[2]int32{int32(l.Width), int32(l.Height)}, float32(v.key.near), float32(v.key.far)}
	v.tracing, err = newTracing(c, r, rayProgram{&shaders.CameraTrace, l.constant()}, gpu.BytesOf([]passBlock{pass}), imageBinding(v.ids))
	return err
}

// target describes a texture of the lens's size.
func (l Lens) target(label string, format gpu.Format) gpu.TextureDesc {
	return gpu.TextureDesc{Label: label, Kind: gpu.Texture2D, Format: format, Width: l.Width, Height: l.Height}
}

// lensBinding binds lib/lens.glsl's block.
func (v *view) lensBinding() gpu.Binding {
	return gpu.Binding{Kind: gpu.BindUniform, Slot: shaders.SlotLens, Buffer: v.lens}
}

// imageBinding binds a texture that tracing writes.
func imageBinding(t *gpu.Texture) gpu.Binding {
	return gpu.Binding{Kind: gpu.BindImage, Slot: 0, Texture: t, Access: gpu.WriteOnly}
}

// visibleBinding binds what each pixel sees.
func (v *view) visibleBinding() gpu.Binding {
	return gpu.Binding{Kind: gpu.BindSampler, Slot: shaders.SlotVisible, Texture: v.ids}
}

// openRaster makes what rasterising a pinhole's view needs.
func (v *view) openRaster(c *gpu.Ctx) (err error) {
	l := v.key.seen()
	v.frustum = v.key.lens.frustum(v.key.near, v.key.far)
	if v.depth, err = c.NewTexture(l.target("camera depth", gpu.FormatDepth32F)); err != nil {
		return err
	}
	v.framebuffer, err = c.NewFramebuffer(gpu.FramebufferDesc{
		Label: "camera visibility", Color: []*gpu.Texture{v.ids}, Depth: v.depth, ReversedDepth: true,
	})
	if err != nil {
		return err
	}
	projection := gpu.BytesOf([]projectionBlock{l.projection(v.key.near, v.key.far)})
	v.projection, err = c.NewBuffer(gpu.BufferDesc{Label: "camera projection", Size: len(projection), Data: projection})
	return err
}

func (v *view) close() {
	if v.frames != nil {
		v.frames.Close()
	}
	for _, b := range v.uniforms {
		b.Close()
	}
	if v.tracing != nil {
		v.tracing.close()
	}
	if v.sunlit != nil {
		v.sunlit.close()
	}
	if v.lens != nil {
		v.lens.Close()
	}
	if v.projection != nil {
		v.projection.Close()
	}
	if v.framebuffer != nil {
		v.framebuffer.Close()
	}
	for _, t := range []*gpu.Texture{v.ids, v.depth} {
		if t != nil {
			t.Close()
		}
	}
}

// projectionBlock is camera_ids.vert's uniform block.
type projectionBlock struct{ scale, depth [4]float32 }

// projection maps the optical frame to clip space, x right and y down, so that row 0 of the
// target is the picture's top. z is 1 at near and 0 at far.
func (l Lens) projection(near, far float64) projectionBlock {
	w, h := float64(l.Width), float64(l.Height)
	n := near / (far - near)
	return projectionBlock{
		scale: [4]float32{float32(2 * l.Fx / w), float32(2 * l.Fy / h), float32((2*l.Cx+1)/w - 1), float32((2*l.Cy+1)/h - 1)},
		depth: [4]float32{float32(n * far), float32(-n), 0, 0},
	}
}

// announce says that the camera is about to capture at an instant. Any goroutine.
func (v *view) announce(by *camera, at sensors.Tick) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.announced) == maxAnnounced {
		v.announced = slices.Delete(v.announced, 0, 1)
	}
	v.announced = append(v.announced, announcement{at, by})
}

// take appends the cameras announced for an instant to dst; earlier
// announcements are forgotten, for nobody will make those captures any more. A camera
// is there once: what it announced before time went back may still be known. GL thread.
func (v *view) take(dst []*camera, stamp simtime.Stamp) []*camera {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.announced = slices.DeleteFunc(v.announced, func(a announcement) bool {
		if a.at.Due == stamp && !slices.Contains(dst, a.by) {
			a.by.drawn = a.at
			dst = append(dst, a.by)
		}
		return a.at.Due <= stamp
	})
	return dst
}

// forget drops a camera's announcements.
func (v *view) forget(by *camera) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.announced = slices.DeleteFunc(v.announced, func(a announcement) bool { return a.by == by })
}

// batch is what one dispatch makes: at most one picture of each kind.
type batch [kinds]*camera

// light returns the camera of the batch whose picture needs light and shadows, if there is one.
func (b *batch) light() *camera {
	if b[kindRGB] != nil {
		return b[kindRGB]
	}
	return b[kindDVS]
}

// takes reports whether there is room for a camera of a kind. A batch has one exposure.
func (b *batch) takes(k kind) bool {
	light := k == kindRGB || k == kindDVS
	return b[k] == nil && !(light && b.light() != nil)
}

// capture makes the pictures of all cameras that were announced for an instant,
// if none of them has done so already. If it fails, all of those are lost: each
// returns the error from its Capture. GL thread.
func (v *view) capture(c *gpu.Ctx, r *renderer, at sensors.Tick) {
	v.batches = v.batches[:0]
	var due [8]*camera
	for _, member := range v.take(due[:0], at.Due) {
		if member.acquire(c) {
			v.batches = place(v.batches, member)
		}
	}
	if len(v.batches) == 0 {
		return
	}
	err := v.draw(c, r, at)
	if err == nil {
		return
	}
	for i := range v.batches {
		for _, member := range v.batches[i] {
			if member != nil {
				member.target, member.failed = nil, err
			}
		}
	}
}

// draw makes the batches' pictures.
func (v *view) draw(c *gpu.Ctx, r *renderer, at sensors.Tick) error {
	if err := r.resident.Show(c, r.packer, at.Due); err != nil {
		return err
	}
	before := r.sun.drawnStatic
	mapped, traced := v.shadows()
	if mapped {
		if err := r.sun.update(c, r, r.at(at)); err != nil {
			return fmt.Errorf("draw shadow maps: %w", err)
		}
	}
	fromOptical, err := v.look(c, r, at)
	if err != nil {
		return fmt.Errorf("draw what the camera sees: %w", err)
	}
	if traced {
		if err := v.trace(c, r, v.sunlit.tracing, at.Due); err != nil {
			return fmt.Errorf("trace shadows: %w", err)
		}
	}
	for i := range v.batches {
		if flow := v.batches[i][kindFlow]; flow != nil {
			if err := v.writePrevious(c, r, fromOptical, flow.previousNs(r, at.Due)); err != nil {
				return fmt.Errorf("make the camera's flow: %w", err)
			}
		}
		if err := v.shade(c, r, i, fromOptical); err != nil {
			return fmt.Errorf("make the camera's pictures: %w", err)
		}
	}
	r.count(stats{Shades: int64(len(v.batches)), StaticShadows: r.sun.drawnStatic - before})
	return nil
}

// shadows tells which kinds of shadows the batches need.
func (v *view) shadows() (mapped, traced bool) {
	for i := range v.batches {
		if light := v.batches[i].light(); light != nil {
			mapped, traced = mapped || !light.options.traced, traced || light.options.traced
		}
	}
	return mapped, traced
}

// place puts a camera into the first batch that has room for its kind.
func place(batches []batch, member *camera) []batch {
	k := member.options.kind
	for i := range batches {
		if batches[i].takes(k) {
			batches[i][k] = member
			return batches
		}
	}
	var b batch
	b[k] = member
	return append(batches, b)
}

// look has the view show an instant, unless it does so already, and returns where
// its optical frame is in the world. GL thread.
func (v *view) look(c *gpu.Ctx, r *renderer, due sensors.Tick) (fromOptical mgl64.Mat4, err error) {
	at := r.at(due)
	fromOptical = r.pose(v.key.owner, v.key.mount, due.Due).Compose(spatial.OpticalInBody()).Mat4()
	if v.shown == at.number {
		return fromOptical, nil
	}
	v.shown = 0
	if err := v.see(c, r, at, fromOptical); err != nil {
		return fromOptical, err
	}
	v.shown = at.number
	r.count(stats{Visibility: 1})
	return fromOptical, nil
}

// see writes the ids of what the view sees.
func (v *view) see(c *gpu.Ctx, r *renderer, at *stage, fromOptical mgl64.Mat4) error {
	toOptical := fromOptical.Inv()
	v.toOptical = v.toOptical[:0]
	for i := range at.places {
		back := toOptical.Mul4(at.places[i])
		there := fromOptical
		if i != worldFrame {
			there = at.places[i].Inv().Mul4(fromOptical)
		}
		v.toOptical = append(v.toOptical, back)
		v.frames.add(&there)
		v.frames.add(&back)
	}
	if err := v.frames.write(c); err != nil {
		return err
	}
	if v.tracing != nil {
		return v.trace(c, r, v.tracing, at.stamp)
	}
	return v.rasterise(c, r)
}

// rasterise draws the ids of what a pinhole sees.
func (v *view) rasterise(c *gpu.Ctx, r *renderer) error {
	v.list.reset()
	v.list.addWorld(r.drawing, v.frustum, &v.toOptical[worldFrame])
	v.list.addMovers(r, v.frustum, v.toOptical)
	if err := c.Clear(v.framebuffer, gpu.ClearColor{}); err != nil {
		return err
	}
	bind := append(r.scratch[:0], r.tables...)
	bind = append(bind, v.frames.binding(), gpu.Binding{Kind: gpu.BindUniform, Slot: 0, Buffer: v.projection})
	r.scratch = bind
	return drawParts(c, &v.list, gpu.Draw{Framebuffer: v.framebuffer, Bind: bind}, r.programs.ids, r.programs.idsCut)
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
	world  []chunk // of the static world
	movers []chunk // one for each of the world's movers, in its frame
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

// The frames of a scene are numbered as the shaders number them: the world's,
// then those of the rows of scene.World.
const worldFrame = 0

func rowFrame(row int) int { return 1 + row }

// stage is where everything is at one instant.
type stage struct {
	stamp  simtime.Stamp
	frame  uint64       // the world's
	number uint64       // rises whenever the stage moves, from 1
	ego    spatial.Pose // in the world frame
	// cast has who is in each row of the scene, places lead from each frame to the world's.
	cast   []scene.Shown
	places []mgl64.Mat4
}

// set moves the stage to an instant.
func (s *stage) set(r *renderer, t sensors.Tick) {
	s.stamp, s.frame = t.Due, t.Frame
	s.number++
	s.ego = r.pose(scene.EgoID, spatial.Identity(), t.Due)
	s.cast = r.packer.Cast(s.cast[:0], t.Due)
	s.places = r.packer.Places(append(s.places[:0], mgl64.Ident4()), s.cast, t.Due)
	for i := range r.world.Movers {
		if m := &r.world.Movers[i]; m.Changes() {
			r.drawing.movers[i].low, r.drawing.movers[i].high = m.Bounds(t.Due)
		}
	}
}

// frameTable is a texture buffer of one record a frame of the scene.
type frameTable struct {
	texels  int // a record
	rows    []scene.Row
	buffer  *gpu.Buffer
	texture *gpu.Texture
}

func newFrameTable(c *gpu.Ctx, label string, frames, texels int) (*frameTable, error) {
	t := &frameTable{texels: texels, rows: make([]scene.Row, 0, frames*texels)}
	var err error
	if t.buffer, err = c.NewBuffer(gpu.BufferDesc{Label: label, Size: frames * texels * rowBytes}); err != nil {
		return nil, err
	}
	t.texture, err = c.NewTexture(gpu.TextureDesc{Label: label, Kind: gpu.TextureBuffer, Format: gpu.FormatRGBA32F, Buffer: t.buffer})
	if err != nil {
		t.buffer.Close()
		return nil, err
	}
	return t, nil
}

const rowBytes = int(unsafe.Sizeof(scene.Row{}))

// add appends the three rows of an affine map.
func (t *frameTable) add(m *mgl64.Mat4) {
	for i := range 3 {
		r := m.Row(i)
		t.rows = append(t.rows, scene.Row{float32(r[0]), float32(r[1]), float32(r[2]), float32(r[3])})
	}
}

// write replaces the table by what was added since the last write. Commands
// issued before it still see what was there.
func (t *frameTable) write(c *gpu.Ctx) error { return t.writeFrom(c, 0) }

// writeFrom replaces the part of the table that begins at a texel.
func (t *frameTable) writeFrom(c *gpu.Ctx, texel int) error {
	err := c.WriteBuffer(t.buffer, texel*rowBytes, gpu.BytesOf(t.rows))
	t.rows = t.rows[:0]
	return err
}

func (t *frameTable) binding() gpu.Binding {
	return gpu.Binding{Kind: gpu.BindSampler, Slot: shaders.SlotFrames, Texture: t.texture}
}

func (t *frameTable) Close() {
	t.texture.Close()
	t.buffer.Close()
}

// Visibility is what a lens sees, pixel by pixel, as numbers of triangles: for
// sensors that make something else of it than pictures. It shares its pass with the
// cameras that see the same.
type Visibility struct {
	renderer *renderer
	view     *view
}

// Sight says from where a Visibility looks, and how.
type Sight struct {
	// Mount is the body frame in the owner's, as a camera's.
	Mount     spatial.Pose
	Lens      Lens
	Near, Far float64 // metres along the optical axis
}

// NewVisibility makes the GPU objects, or finds those that others use already. Close
// gives them back.
func NewVisibility(ctx context.Context, env *sensors.Env, s Sight) (*Visibility, error) {
	r, err := rendererOf(ctx, env)
	if err != nil {
		return nil, err
	}
	v := &Visibility{renderer: r}
	err = env.GL.Do(ctx, func(c *gpu.Ctx) (err error) {
		v.view, err = r.view(c, viewKey{env.Owner, s.Mount, s.Lens, 1, s.Near, s.Far})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("make a view: %w", err)
	}
	return v, nil
}

// Close gives back the GPU objects, which are deleted when nobody else uses them. It is
// called once, from any goroutine, when nothing uses v any more.
func (v *Visibility) Close() { v.renderer.leave(v.view) }

// See draws what is seen at an instant, unless a camera has done so. GL thread.
func (v *Visibility) See(c *gpu.Ctx, at sensors.Tick) error {
	if err := v.renderer.resident.Show(c, v.renderer.packer, at.Due); err != nil {
		return err
	}
	if _, err := v.view.look(c, v.renderer, at); err != nil {
		return fmt.Errorf("draw what the lens sees: %w", err)
	}
	return nil
}

// Bindings appends what shaders read of it, for commands that follow See. These are the scene's
// tables, and shaders.SlotVisible. The latter has for each pixel the number of the triangle
// plus one, 0 for none. It also has that of its frame, 0 for the world and one more than a
// mover's number.
func (v *Visibility) Bindings(dst []gpu.Binding) []gpu.Binding {
	dst = append(dst, v.renderer.tables...)
	return append(dst, v.view.visibleBinding())
}
