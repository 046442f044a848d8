package camera

import (
	"fmt"
	"slices"
	"sync"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/gpu"
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
	shutter   exposure // the zero value where all is of one instant
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
	table  *sharedTable // the renderer's, of a lens that has one
	tables *rayTables   // that has it
	frames *frameTable
	// A pinhole is rasterised. Other lenses are traced, and so are pixels with times of their own.
	depth       *gpu.Texture
	framebuffer *gpu.Framebuffer
	projection  *gpu.Buffer
	frustum     region
	list        drawList
	tracing     *tracing    // nil for what is rasterised
	sunlit      *sunlit     // nil until a camera asks for traced shadows
	shutter     *gpu.Buffer // lib/shutter.glsl's block; nil where all is of one instant

	shown     uint64        // number of the stage that the ids show, 0 for none
	toOptical []mgl64.Mat4  // from each frame of the scene, at the instant that is seen
	previous  []mgl64.Mat4  // scratch: as a stage's places, a firing ago
	uniforms  []*gpu.Buffer // one a dispatch of an instant
	shots     []shot        // of the instant drawn last, until their cameras take them
	batches   []batch       // scratch
	cameras   int           // that look from here; guarded by the renderer's mu

	mu        sync.Mutex
	announced []shot // guarded by mu
}

// shot is one camera's picture of an instant: announced first, then drawn.
type shot struct {
	by *camera
	at sensors.Tick
	// target has the picture, once drawn. It is nil where the camera has no room for one, or for err.
	target *gpu.Buffer
	err    error
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
	v.tables, v.table = &r.rays, r.rays.table(v.key.lens)
	lens := l.block()
	if v.table != nil {
		lens = v.table.rays.block(v.key.grid)
		if err = v.table.upload(c); err != nil {
			return err
		}
	}
	block := gpu.BytesOf([]lensBlock{lens})
	if v.lens, err = c.NewBuffer(gpu.BufferDesc{Label: "camera lens", Size: len(block), Data: block}); err != nil {
		return err
	}
	v.frames, err = newFrameTable(c, "camera frames", r.frameCount(), shaders.FrameTexels+shaders.PreviousTexels)
	if err != nil {
		return err
	}
	if err = v.openShutter(c); err != nil {
		return err
	}
	if l.constant() == 0 && !v.key.shutter.timed() {
		return v.openRaster(c)
	}
	pass := passBlock{[2]int32{int32(l.Width), int32(l.Height)}, float32(v.key.near), float32(v.key.far)}
	v.tracing, err = newTracing(c, r, v.rays(&shaders.CameraTrace), gpu.BytesOf([]passBlock{pass}), imageBinding(v.ids))
	return err
}

// target describes a texture of the lens's size.
func (l Lens) target(label string, format gpu.Format) gpu.TextureDesc {
	return gpu.TextureDesc{Label: label, Kind: gpu.Texture2D, Format: format, Width: l.Width, Height: l.Height}
}

// bindLens appends what binds lib/lens.glsl's block and table.
func (v *view) bindLens(bind []gpu.Binding) []gpu.Binding {
	if v.table != nil {
		bind = append(bind, gpu.Binding{Kind: gpu.BindSampler, Slot: shaders.SlotLensTable, Texture: v.table.texture})
	}
	return append(bind, gpu.Binding{Kind: gpu.BindUniform, Slot: shaders.SlotLens, Buffer: v.lens})
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
	v.frames.Close()
	for _, b := range v.uniforms {
		b.Close()
	}
	if v.tracing != nil {
		v.tracing.close()
	}
	if v.sunlit != nil {
		v.sunlit.close()
	}
	v.lens.Close()
	v.shutter.Close()
	if v.table != nil {
		v.tables.release(v.key.lens, v.table)
	}
	v.projection.Close()
	v.framebuffer.Close()
	v.ids.Close()
	v.depth.Close()
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
	v.announced = append(v.announced, shot{by: by, at: at})
}

// take moves what was announced for an instant to the view's shots, and reports whether there is any. Earlier
// announcements are forgotten, for nobody will make those captures any more. A camera is there once: what it
// announced before time went back may still be known. GL thread.
func (v *view) take(stamp simtime.Stamp) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	taken := false
	v.announced = slices.DeleteFunc(v.announced, func(a shot) bool {
		if a.at.Due == stamp {
			if !taken {
				v.shots, taken = v.shots[:0], true
			}
			if !slices.ContainsFunc(v.shots, func(s shot) bool { return s.by == a.by }) {
				v.shots = append(v.shots, a)
			}
		}
		return a.at.Due <= stamp
	})
	return taken
}

// forget drops a camera's announcements.
func (v *view) forget(by *camera) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.announced = slices.DeleteFunc(v.announced, func(a shot) bool { return a.by == by })
}

// batch is what one dispatch makes: at most one picture of each kind.
type batch [kinds]*shot

// light returns the picture of the batch that needs light and shadows, if there is one.
func (b *batch) light() *shot {
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

// capture returns the target with a camera's picture of an instant, nil where there is none. It makes the pictures
// of all cameras that were announced for the instant, unless another of them has had that done. If it fails, all
// of those are lost, and each camera gets the error. GL thread.
func (v *view) capture(c *gpu.Ctx, r *renderer, by *camera, at sensors.Tick) (*gpu.Buffer, error) {
	if v.take(at.Due) {
		v.makeShots(c, r, at)
	}
	for i := range v.shots {
		if s := v.shots[i]; s.by == by && s.at.Due == at.Due {
			v.shots = slices.Delete(v.shots, i, i+1)
			return s.target, s.err
		}
	}
	return nil, nil
}

// makeShots draws the view's shots.
func (v *view) makeShots(c *gpu.Ctx, r *renderer, at sensors.Tick) {
	v.batches = v.batches[:0]
	for i := range v.shots {
		s := &v.shots[i]
		if s.target, s.err = s.by.Take(c, s.at); s.target != nil {
			v.batches = place(v.batches, s, r.apart)
		}
	}
	if len(v.batches) == 0 {
		return
	}
	err := v.draw(c, r, at)
	if err == nil {
		return
	}
	for i := range v.shots {
		if s := &v.shots[i]; s.target != nil {
			s.target, s.err = nil, err
		}
	}
}

// draw makes the batches' pictures.
func (v *view) draw(c *gpu.Ctx, r *renderer, at sensors.Tick) error {
	middle := v.middle(at)
	if err := r.resident.Show(c, r.packer, middle.Due); err != nil {
		return err
	}
	before := r.sun.drawnStatic
	mapped, traced := v.shadows()
	if mapped {
		if err := r.sun.update(c, r, r.at(middle)); err != nil {
			return fmt.Errorf("draw shadow maps: %w", err)
		}
	}
	if err := v.show(c, at); err != nil {
		return err
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
			if err := v.writePrevious(c, r, fromOptical, flow.previousNs(r)); err != nil {
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
			mapped, traced = mapped || !light.by.options.traced, traced || light.by.options.traced
		}
	}
	return mapped, traced
}

// place puts a shot into the first batch that has room for its kind. Apart, each shot has a batch of its
// own. The compilers of GPUs contract a * b + c to one rounding where they like, and the programs of two
// batches may differ in it. So the program of a picture must not depend on what else is due, or its bytes
// would. Software OpenGL and the host device round each step, and gain by sharing the hits.
func place(batches []batch, s *shot, apart bool) []batch {
	k := s.by.options.kind
	for i := range batches {
		if !apart && batches[i].takes(k) {
			batches[i][k] = s
			return batches
		}
	}
	var b batch
	b[k] = s
	return append(batches, b)
}

// look has the view show an instant, unless it does so already, and returns where
// its optical frame is in the world, of a picture that takes some time in its middle. GL thread.
func (v *view) look(c *gpu.Ctx, r *renderer, due sensors.Tick) (fromOptical mgl64.Mat4, err error) {
	at := r.at(v.middle(due))
	fromOptical = r.pose(v.key.owner, v.key.mount, at.stamp).Compose(spatial.OpticalInBody()).Mat4()
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
		place := at.place(r, i, v.key.shutter.timed())
		back := toOptical.Mul4(place)
		there := fromOptical
		if i != worldFrame {
			there = place.Inv().Mul4(fromOptical)
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
	v.list.addStatic(r.drawing, v.frustum, &v.toOptical[worldFrame])
	v.list.addMovers(r, v.frustum, v.toOptical)
	if err := c.Clear(v.framebuffer, gpu.ClearColor{}); err != nil {
		return err
	}
	bind := append(r.scratch[:0], r.tables...)
	bind = append(bind, v.frames.binding(), gpu.Binding{Kind: gpu.BindUniform, Slot: 0, Buffer: v.projection})
	r.scratch = bind
	return drawParts(c, &v.list, gpu.Draw{Framebuffer: v.framebuffer, Bind: bind}, r.programs.ids, r.programs.idsCut)
}
