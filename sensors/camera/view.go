package camera

import (
	"fmt"
	"slices"
	"sync"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/spatial"
)

// viewKey is what cameras must have in common to share a visibility pass.
type viewKey struct {
	owner     uint32 // the actor that the mount is on
	mount     spatial.Pose
	lens      Lens
	samples   int // points seen across a pixel, and down it
	near, far float64
}

// seen returns the lens with a pixel for each point that is seen.
func (k *viewKey) seen() Lens { return k.lens.supersampled(k.samples) }

// maxAnnounced bounds the announcements that a view keeps of captures that were
// announced and then not made, as when the GL thread was busy.
const maxAnnounced = 64

// view is one place and lens that cameras look from. But for the announcements
// it belongs to the GL thread.
type view struct {
	key    viewKey
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
	timeNs, periodNs int64
	by               *camera
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
	v := &view{key: key}
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
	block := rawBytes([]lensBlock{l.block()})
	if v.lens, err = c.NewBuffer(gpu.BufferDesc{Label: "camera lens", Size: len(block), Data: block}); err != nil {
		return err
	}
	v.frames, err = newFrameTable(c, "camera frames", r.frameCount(), shaders.FrameTexels+shaders.PreviousTexels)
	if err != nil {
		return err
	}
	if l.constant() != 0 {
		v.tracing, err = newTracing(c, r, &v.key)
		return err
	}
	return v.openRaster(c)
}

// target describes a texture of the lens's size.
func (l Lens) target(label string, format gpu.Format) gpu.TextureDesc {
	return gpu.TextureDesc{Label: label, Kind: gpu.Texture2D, Format: format, Width: l.Width, Height: l.Height}
}

// lensBinding binds lib/lens.glsl's block.
func (v *view) lensBinding() gpu.Binding {
	return gpu.Binding{Kind: gpu.BindUniform, Slot: shaders.SlotLens, Buffer: v.lens}
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
	projection := rawBytes([]projectionBlock{l.projection(v.key.near, v.key.far)})
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

// projection maps the optical frame to clip space, x right and y down, so that
// row 0 of the target is the picture's top; z is 1 at near and 0 at far.
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
	v.announced = append(v.announced, announcement{at.TimeNs, at.PeriodNs, by})
}

// take appends the cameras announced for an instant to dst; earlier
// announcements are forgotten, for nobody will make those captures any more. A camera
// is there once: what it announced before time went back may still be known. GL thread.
func (v *view) take(dst []*camera, timeNs int64) []*camera {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.announced = slices.DeleteFunc(v.announced, func(a announcement) bool {
		if a.timeNs == timeNs && !slices.Contains(dst, a.by) {
			a.by.periodNs = a.periodNs
			dst = append(dst, a.by)
		}
		return a.timeNs <= timeNs
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

// showsLight reports whether a picture of the batch needs light and shadows.
func (b *batch) showsLight() bool { return b[kindRGB] != nil || b[kindDVS] != nil }

// takes reports whether there is room for a camera of a kind. A batch has one exposure.
func (b *batch) takes(k kind) bool {
	light := k == kindRGB || k == kindDVS
	return b[k] == nil && !(light && b.showsLight())
}

// capture makes the pictures of all cameras that were announced for an instant,
// if none of them has done so already. If it fails, all of those are lost: the
// one that asked returns the error, the others are counted. GL thread.
func (v *view) capture(c *gpu.Ctx, r *renderer, asking *camera, at sensors.Tick) error {
	v.batches = v.batches[:0]
	var due [8]*camera
	for _, member := range v.take(due[:0], at.TimeNs) {
		if member.acquire(c) {
			v.batches = place(v.batches, member)
		}
	}
	if len(v.batches) == 0 {
		return nil
	}
	err := v.draw(c, r, at)
	if err == nil {
		return nil
	}
	for i := range v.batches {
		for _, member := range v.batches[i] {
			if member == nil {
				continue
			}
			member.target = nil
			if member != asking {
				member.env.Dropped(flow.CauseReadbackFailed, 1)
			}
		}
	}
	return err
}

// draw makes the batches' pictures.
func (v *view) draw(c *gpu.Ctx, r *renderer, at sensors.Tick) error {
	before := r.sun.drawnStatic
	for i := range v.batches {
		if !v.batches[i].showsLight() {
			continue
		}
		if err := r.sun.update(c, r, r.at(at)); err != nil {
			return fmt.Errorf("draw shadow maps: %w", err)
		}
		break
	}
	fromOptical, err := v.look(c, r, at)
	if err != nil {
		return fmt.Errorf("draw what the camera sees: %w", err)
	}
	for i := range v.batches {
		if flow := v.batches[i][kindFlow]; flow != nil {
			if err := v.writePrevious(c, r, fromOptical, flow.previousNs(r, at.TimeNs)); err != nil {
				return fmt.Errorf("make the camera's flow: %w", err)
			}
		}
		if err := v.shade(c, r, i, fromOptical); err != nil {
			return fmt.Errorf("make the camera's pictures: %w", err)
		}
	}
	r.count(Stats{Shades: int64(len(v.batches)), StaticShadows: r.sun.drawnStatic - before})
	return nil
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
	fromOptical = r.pose(v.key.owner, v.key.mount, due.TimeNs).Compose(spatial.OpticalInBody()).Mat4()
	if v.shown == at.number {
		return fromOptical, nil
	}
	v.shown = 0
	if err := v.see(c, r, at, fromOptical); err != nil {
		return fromOptical, err
	}
	v.shown = at.number
	r.count(Stats{Visibility: 1})
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
		return v.trace(c, r, at.timeNs)
	}
	return v.rasterise(c, r)
}

// rasterise draws the ids of what a pinhole sees.
func (v *view) rasterise(c *gpu.Ctx, r *renderer) error {
	v.list.reset()
	v.list.addWorld(r.drawing, v.frustum, &v.toOptical[worldFrame])
	v.list.addMovers(r.drawing, v.frustum, v.toOptical)
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
