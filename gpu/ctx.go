package gpu

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/flow"
)

// Ctx is the token of being on the GL thread (law G1). Thread.Do or Thread.Go gives it to a
// function, and it is dead when that function returns. It must not leave the goroutine it was
// given on, and nothing that has one may wait (law G4). Every method fails with ErrDeadCtx
// after that, and with ErrContextLost once the context is lost.
type Ctx struct {
	gl   *current
	dead atomic.Bool
}

// current is what the tokens of one thread share; owned by the GL goroutine.
type current struct {
	driver   Driver
	limits   Limits // the driver's
	objs     *registry
	lost     error           // non-nil once the context is lost
	lossTold bool            // lost has been reported
	bound    []BoundResource // scratch of resolve
	fresh    []Ctx           // tokens not yet given out
	values   map[any]any     // see Value
	log      *slog.Logger    // Config.Log
	programs int             // that were asked for

	submission uint64 // number of the one to come
	fenced     bool   // it has a fence
}

// newCtx returns a token that was never used before, since one that came back
// to life would defeat the check. Tokens are made in batches: an entry of the
// frame loop allocates 16 bytes on average.
func (g *current) newCtx() *Ctx {
	if len(g.fresh) == 0 {
		g.fresh = make([]Ctx, 64)
	}
	c := &g.fresh[0]
	g.fresh = g.fresh[1:]
	c.gl = g
	return c
}

// Err returns nil while the token works, else the error that its other methods
// return: ErrDeadCtx, or one that wraps ErrContextLost.
func (c *Ctx) Err() error {
	if c == nil || c.dead.Load() {
		return ErrDeadCtx
	}
	return c.gl.lost
}

// check is Err, or that one of the objects is closed.
func (c *Ctx) check(objects ...*object) error {
	if err := c.Err(); err != nil {
		return err
	}
	for _, o := range objects {
		if err := o.usable(); err != nil {
			return err
		}
	}
	return nil
}

// Info returns the context's description.
func (c *Ctx) Info() Info { return c.gl.driver.Info() }

// Flush starts all commands issued so far; it doesn't wait. Few need it: where a function has placed a
// fence, the thread flushes when it returns, so that all it has issued is one submission to the GPU.
func (c *Ctx) Flush() error {
	if err := c.check(); err != nil {
		return err
	}
	return c.gl.submit()
}

// submit starts all commands issued so far.
func (g *current) submit() error {
	if err := g.driver.Flush(); err != nil {
		return err
	}
	g.submission++
	g.fenced = false
	return nil
}

// placed notes that a fence was placed.
func (g *current) placed(f *Fence) {
	f.submission, g.fenced = g.submission, true
}

// Finish waits until the GPU has done everything: tests and benchmarks only.
func (c *Ctx) Finish() error {
	if err := c.check(); err != nil {
		return err
	}
	return c.gl.driver.Finish()
}

// Clock samples the GPU's and the host's monotonic clock together, to place
// query results on the host's time line.
func (c *Ctx) Clock() (gpuNs int64, host time.Time, err error) {
	if err := c.check(); err != nil {
		return 0, time.Time{}, err
	}
	return c.gl.driver.Clock()
}

// DebugNotes returns what the driver's debug output said besides errors since
// the start, each text once with its count; empty without a debug context.
func (c *Ctx) DebugNotes() []string {
	if d, ok := c.gl.driver.(interface{ DebugNotes() []string }); ok && c.check() == nil {
		return d.DebugNotes()
	}
	return nil
}

// newObject registers what the driver made, which took so many bytes. The result is embedded
// in the object that the caller returns.
func (c *Ctx) newObject(kind ObjectKind, h Handle, label string, bytes int64) object {
	c.gl.objs.add(objectID{kind, h}, label, bytes)
	return object{kind: kind, handle: h, label: label, objs: c.gl.objs}
}

// NewBuffer makes a buffer; UsageReadback buffers come mapped.
func (c *Ctx) NewBuffer(desc BufferDesc) (*Buffer, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if desc.Size <= 0 || len(desc.Data) > desc.Size {
		return nil, fmt.Errorf("create buffer %q: size %d with %d bytes of data is out of range", desc.Label, desc.Size, len(desc.Data))
	}
	bytes := int64(desc.Size)
	if err := c.gl.objs.take(fmt.Sprintf("buffer %q", desc.Label), bytes); err != nil {
		return nil, fmt.Errorf("create buffer: %w", err)
	}
	h, err := c.gl.driver.CreateBuffer(desc)
	if err != nil {
		c.gl.objs.give(bytes)
		return nil, fmt.Errorf("create buffer %q of %d bytes: %w", desc.Label, desc.Size, err)
	}
	b := &Buffer{object: c.newObject(ObjectBuffer, h, desc.Label, bytes), size: desc.Size, usage: desc.Usage}
	if desc.Usage == UsageReadback {
		if b.mapped, err = c.gl.driver.MapBuffer(h, desc.Size); err != nil {
			b.Close()
			return nil, fmt.Errorf("map buffer %q of %d bytes: %w", desc.Label, desc.Size, err)
		}
	}
	return b, nil
}

// NewTexture makes a texture; a TextureBuffer views desc.Buffer.
func (c *Ctx) NewTexture(desc TextureDesc) (*Texture, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	desc.Levels = max(desc.Levels, 1)
	if err := desc.check(); err != nil {
		return nil, fmt.Errorf("create texture %q: %w", desc.Label, err)
	}
	var buffer Handle
	if desc.Kind == TextureBuffer {
		if err := desc.Buffer.usable(); err != nil {
			return nil, fmt.Errorf("create texture %q: %w", desc.Label, err)
		}
		buffer = desc.Buffer.handle
	}
	if err := c.gl.limits.checkTexture(&desc); err != nil {
		return nil, fmt.Errorf("create texture %q: %w", desc.Label, err)
	}
	bytes := desc.bytes()
	if err := c.gl.objs.take(fmt.Sprintf("texture %q of %dx%d pixels", desc.Label, desc.Width, desc.Height), bytes); err != nil {
		return nil, fmt.Errorf("create texture: %w", err)
	}
	h, err := c.gl.driver.CreateTexture(desc, buffer)
	if err != nil {
		c.gl.objs.give(bytes)
		return nil, fmt.Errorf("create texture %q: %w", desc.Label, err)
	}
	return &Texture{object: c.newObject(ObjectTexture, h, desc.Label, bytes), desc: desc}, nil
}

// NewProgram compiles and links a program; the error holds the driver's log.
func (c *Ctx) NewProgram(desc ProgramDesc) (*Program, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if (desc.Compute == "") == (desc.Vertex == "" || desc.Fragment == "") {
		return nil, fmt.Errorf("create program %q: it needs a compute shader alone, or a vertex and a fragment shader", desc.Label)
	}
	c.gl.programs++
	if c.gl.log != nil {
		defer flow.TellLong(c.gl.log, fmt.Sprintf("compiling shader %s, number %d of this run", desc.Label, c.gl.programs))()
	}
	h, err := c.gl.driver.CreateProgram(desc)
	if err != nil {
		return nil, fmt.Errorf("create program %q: %w", desc.Label, err)
	}
	return &Program{c.newObject(ObjectProgram, h, desc.Label, 0)}, nil
}

// NewFramebuffer makes a framebuffer of textures of one size. The textures stay
// the caller's and must outlive it.
func (c *Ctx) NewFramebuffer(desc FramebufferDesc) (*Framebuffer, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	all := desc.Color
	if desc.Depth != nil {
		all = append(all[:len(all):len(all)], desc.Depth)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("create framebuffer %q: it has no attachment", desc.Label)
	}
	handles := make([]Handle, len(all))
	size := [2]int{all[0].desc.Width, all[0].desc.Height}
	for i, t := range all {
		if err := t.usable(); err != nil {
			return nil, fmt.Errorf("create framebuffer %q: %w", desc.Label, err)
		}
		if t.desc.Width != size[0] || t.desc.Height != size[1] {
			return nil, fmt.Errorf("create framebuffer %q: texture %q is %dx%d, the first is %dx%d",
				desc.Label, t.label, t.desc.Width, t.desc.Height, size[0], size[1])
		}
		handles[i] = t.handle
	}
	colors, depth := handles[:len(desc.Color)], Handle(0)
	if desc.Depth != nil {
		depth = handles[len(handles)-1]
	}
	h, err := c.gl.driver.CreateFramebuffer(desc, colors, depth)
	if err != nil {
		return nil, fmt.Errorf("create framebuffer %q: %w", desc.Label, err)
	}
	return &Framebuffer{
		object: c.newObject(ObjectFramebuffer, h, desc.Label, 0),
		width:  size[0], height: size[1], colors: len(colors), depth: depth != 0,
	}, nil
}

// NewFence marks the commands issued so far.
func (c *Ctx) NewFence() (*Fence, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	h, err := c.gl.driver.CreateFence()
	if err != nil {
		return nil, fmt.Errorf("create fence: %w", err)
	}
	f := &Fence{object: c.newObject(ObjectFence, h, "fence", 0)}
	c.gl.placed(f)
	return f, nil
}

// PollFence asks without waiting whether the fence has signalled. It is
// FenceFailed once the context is lost.
func (c *Ctx) PollFence(f *Fence) FenceStatus {
	if c.check(&f.object) != nil {
		return FenceFailed
	}
	// A fence that stayed in the client's queue would never signal (GL 4.5 core, section 4.1.2).
	if f.submission == c.gl.submission && c.gl.submit() != nil {
		return FenceFailed
	}
	return c.gl.driver.PollFence(f.handle)
}

// NewQuery makes a timestamp query; on a driver without timestamps
// (Info.TimestampBits is 0) it fails with ErrNotSupported.
func (c *Ctx) NewQuery() (*Query, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.gl.driver.Info().TimestampBits == 0 {
		return nil, &UnsupportedError{Feature: "GPU timestamps", Need: "a driver whose QUERY_COUNTER_BITS is not 0"}
	}
	h, err := c.gl.driver.CreateQuery()
	if err != nil {
		return nil, fmt.Errorf("create query: %w", err)
	}
	return &Query{c.newObject(ObjectQuery, h, "timestamp", 0)}, nil
}

// Timestamp records the GPU's time when it has done all before.
func (c *Ctx) Timestamp(q *Query) error {
	if err := c.check(&q.object); err != nil {
		return err
	}
	return c.gl.driver.Timestamp(q.handle)
}

// QueryResult returns the recorded GPU time in nanoseconds once it is ready.
func (c *Ctx) QueryResult(q *Query) (ns int64, ready bool, err error) {
	if err := c.check(&q.object); err != nil {
		return 0, false, err
	}
	return c.gl.driver.QueryResult(q.handle)
}

// within reports whether [offset, offset+size) lies in [0, room), in bytes or in
// pixels, without a sum that could overflow.
func within(offset, size, room int) bool {
	return offset >= 0 && size >= 0 && size <= room && offset <= room-size
}

// WriteBuffer replaces len(data) bytes at offset. The data is copied before
// the call returns.
func (c *Ctx) WriteBuffer(b *Buffer, offset int, data []byte) error {
	if err := c.check(&b.object); err != nil {
		return err
	}
	if !within(offset, len(data), b.size) {
		return fmt.Errorf("write %d bytes at %d of buffer %q: beyond its %d bytes", len(data), offset, b.label, b.size)
	}
	if b.usage == UsageReadback && !c.Info().HostMemory {
		return fmt.Errorf("write buffer %q: a readback buffer is written by copies only", b.label)
	}
	if len(data) == 0 {
		return nil
	}
	return c.gl.driver.WriteBuffer(b.handle, offset, data)
}

// ReadBuffer copies len(dst) bytes at offset to the host. It waits for the GPU:
// tests and benchmarks only.
func (c *Ctx) ReadBuffer(b *Buffer, offset int, dst []byte) error {
	if err := c.check(&b.object); err != nil {
		return err
	}
	if !within(offset, len(dst), b.size) {
		return fmt.Errorf("read %d bytes at %d of buffer %q: beyond its %d bytes", len(dst), offset, b.label, b.size)
	}
	if len(dst) == 0 {
		return nil
	}
	return c.gl.driver.ReadBuffer(b.handle, offset, dst)
}

// CopyBuffer copies size bytes from src to dst in the command stream.
func (c *Ctx) CopyBuffer(dst, src *Buffer, dstOffset, srcOffset, size int) error {
	if err := c.check(&dst.object, &src.object); err != nil {
		return err
	}
	if !within(dstOffset, size, dst.size) || !within(srcOffset, size, src.size) {
		return fmt.Errorf("copy %d bytes from %q at %d to %q at %d: out of range", size, src.label, srcOffset, dst.label, dstOffset)
	}
	if size == 0 {
		return nil
	}
	return c.gl.driver.CopyBuffer(dst.handle, src.handle, dstOffset, srcOffset, size)
}

// WriteTexture replaces a region; data is tightly packed rows in the texture's
// own format, row 0 first.
func (c *Ctx) WriteTexture(t *Texture, region TextureRegion, data []byte) error {
	if err := c.check(&t.object); err != nil {
		return err
	}
	if err := t.desc.checkRegion(&region, len(data)); err != nil {
		return fmt.Errorf("write texture %q: %w", t.label, err)
	}
	return c.gl.driver.WriteTexture(t.handle, &t.desc, region, data)
}

// ReadTexture copies one level, all layers of it, to the host; dst has
// LevelBytes bytes. It waits for the GPU: tests and benchmarks only.
func (c *Ctx) ReadTexture(t *Texture, level int, dst []byte) error {
	if err := c.check(&t.object); err != nil {
		return err
	}
	if want := t.desc.LevelBytes(level, t.desc.Format); want == 0 || len(dst) != want {
		return fmt.Errorf("read level %d of texture %q into %d bytes: it has %d", level, t.label, len(dst), want)
	}
	return c.gl.driver.ReadTexture(t.handle, level, t.desc.Format, dst)
}

// CopyTextureToBuffer copies one level, all layers of it, into dst at offset, in the command
// stream. The pixels have the given format, tightly packed, row 0 first. The offset is a
// multiple of the pixel's size.
func (c *Ctx) CopyTextureToBuffer(t *Texture, level int, format Format, dst *Buffer, offset int) error {
	if err := c.check(&t.object, &dst.object); err != nil {
		return err
	}
	want := t.desc.LevelBytes(level, format)
	if want == 0 || !within(offset, want, dst.size) {
		return fmt.Errorf("copy level %d of texture %q (%d bytes) to buffer %q at %d: beyond its %d bytes",
			level, t.label, want, dst.label, offset, dst.size)
	}
	if offset%format.PixelBytes() != 0 {
		return fmt.Errorf("copy texture %q to buffer %q: offset %d is not a multiple of a %v pixel's %d bytes",
			t.label, dst.label, offset, format, format.PixelBytes())
	}
	return c.gl.driver.CopyTextureToBuffer(t.handle, level, format, dst.handle, offset, want)
}

// Clear fills the colour attachments, one value each, and sets depth to the far
// end: 1, or 0 where depth is reversed.
func (c *Ctx) Clear(f *Framebuffer, colors ...ClearColor) error {
	if err := c.check(&f.object); err != nil {
		return err
	}
	if len(colors) != f.colors {
		return fmt.Errorf("clear framebuffer %q: %d values for %d colour attachments", f.label, len(colors), f.colors)
	}
	return c.gl.driver.ClearFramebuffer(f.handle, f.colors, colors, f.depth)
}

// Dispatch runs a compute program.
func (c *Ctx) Dispatch(d *Dispatch) error {
	if err := c.check(&d.Program.object); err != nil {
		return err
	}
	if d.Groups[0] < 1 || d.Groups[1] < 1 || d.Groups[2] < 1 {
		return fmt.Errorf("dispatch %q: %v work groups, need at least 1 on each axis", d.Program.label, d.Groups)
	}
	bound, err := c.resolve(d.Bind)
	if err == nil {
		err = c.gl.limits.checkGroups(d.Groups)
	}
	if err == nil {
		err = c.gl.driver.Dispatch(d.Program.handle, bound, d.Groups)
	}
	if err != nil {
		return fmt.Errorf("dispatch %q: %w", d.Program.label, err)
	}
	return nil
}

// Draw runs a vertex and fragment program.
func (c *Ctx) Draw(d *Draw) error {
	if err := c.check(&d.Program.object, &d.Framebuffer.object); err != nil {
		return err
	}
	bound, err := c.resolve(d.Bind)
	if err == nil {
		err = c.gl.driver.Draw(d.Program.handle, d.Framebuffer.handle, bound, d)
	}
	if err != nil {
		return fmt.Errorf("draw %q: %w", d.Program.label, err)
	}
	return nil
}

// resolve turns bindings into the driver's handles, in the Ctx's scratch.
func (c *Ctx) resolve(bind []Binding) ([]BoundResource, error) {
	out := c.gl.bound[:0]
	for i := range bind {
		b := &bind[i]
		r := BoundResource{Kind: b.Kind, Slot: b.Slot, Offset: b.Offset, Size: b.Size, Level: b.Level, Access: b.Access}
		var label string
		var err error
		switch {
		case b.Texture != nil && b.Buffer == nil && (b.Kind == BindSampler || b.Kind == BindImage):
			label, err = b.Texture.label, b.Texture.usable()
			r.Handle, r.Texture, r.Format = b.Texture.handle, b.Texture.desc.Kind, b.Texture.desc.Format
		case b.Buffer != nil && b.Texture == nil && (b.Kind == BindUniform || b.Kind == BindStorage):
			label, err = b.Buffer.label, b.Buffer.usable()
			r.Handle = b.Buffer.handle
			if r.Size == 0 {
				r.Size = b.Buffer.size - b.Offset
			}
			if r.Size <= 0 || !within(r.Offset, r.Size, b.Buffer.size) {
				err = fmt.Errorf("slot %d: %d bytes at %d of buffer %q: beyond its %d bytes",
					b.Slot, r.Size, r.Offset, b.Buffer.label, b.Buffer.size)
			}
		default:
			err = fmt.Errorf("%v binding of slot %d: it needs one buffer or one texture, as its kind says", b.Kind, b.Slot)
		}
		if err == nil {
			err = c.gl.limits.checkBinding(&r, label)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	c.gl.bound = out
	return out, nil
}

// Barrier orders shader writes issued before it with later uses.
func (c *Ctx) Barrier(bits BarrierBits) error {
	if err := c.check(); err != nil {
		return err
	}
	return c.gl.driver.Barrier(bits)
}

// Hold says that s must not be written until Unhold: a copy that is issued
// after a fence reads it later. Drivers that check (gputest.Fake) report a
// write meanwhile; real ones do nothing.
func (c *Ctx) Hold(s Source) {
	if h, ok := c.gl.driver.(SourceHolder); ok && c.Err() == nil {
		h.HoldSource(s.source().kind, s.source().handle)
	}
}

// Unhold ends one Hold of s.
func (c *Ctx) Unhold(s Source) {
	if h, ok := c.gl.driver.(SourceHolder); ok && c.Err() == nil {
		h.UnholdSource(s.source().kind, s.source().handle)
	}
}

// ResetFence moves f to mark the commands issued so far, as a new fence would,
// and allocates nothing: what f marked before is forgotten. It must not run at the
// same time as f.Close.
func (c *Ctx) ResetFence(f *Fence) error {
	if err := c.check(&f.object); err != nil {
		return err
	}
	h, err := c.gl.driver.CreateFence()
	if err != nil {
		return fmt.Errorf("reset fence: %w", err)
	}
	old := f.handle
	f.handle = h
	c.gl.objs.rename(objectID{ObjectFence, old}, objectID{ObjectFence, h})
	c.gl.driver.Delete(ObjectFence, old)
	c.gl.placed(f)
	return nil
}

// rename moves an object's entry to the handle that replaced its own.
func (r *registry) rename(from, to objectID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	object := r.live[from]
	delete(r.live, from)
	r.live[to] = object
}

// Value returns what SetValue stored under key on this GL thread, nil if nothing was. It is for
// facts about the context that are costly to find out and equal for all who use it.
func (c *Ctx) Value(key any) any {
	if c.Err() != nil {
		return nil
	}
	return c.gl.values[key]
}

// SetValue stores a value under key for as long as the thread lives. Keys are
// comparable values of a type that the storing package doesn't export, so that
// packages don't meet.
func (c *Ctx) SetValue(key, value any) {
	if c.Err() != nil {
		return
	}
	if c.gl.values == nil {
		c.gl.values = map[any]any{}
	}
	c.gl.values[key] = value
}
