package gpu

import (
	"errors"
	"fmt"
	"time"
)

// Errors of GPU work; callers test them with errors.Is.
var (
	// ErrContextLost: the driver reset or the device went away. Every later
	// call fails with it; objects and pending readbacks are lost.
	ErrContextLost = errors.New("opengl context lost")
	// ErrDeadCtx: a *Ctx was kept and used after its function returned.
	ErrDeadCtx = errors.New("gpu.Ctx used outside the function it was given to")
	// ErrClosed: the thread was closed before the work could run.
	ErrClosed = errors.New("gpu thread is closed")
	// ErrBusy: Thread.Go's queue is full.
	ErrBusy = errors.New("gpu thread's queue is full")
	// ErrOnThread: Thread.Do was called on the GL thread itself, where it would wait for ever.
	ErrOnThread = errors.New("gpu.Thread.Do called on the gl thread")
	// ErrNotSupported: this machine or driver lacks what was asked for; see UnsupportedError.
	ErrNotSupported = errors.New("not supported here")
)

// UnsupportedError says what the machine lacks and how to get it. It is
// ErrNotSupported to errors.Is: the program exits with status 3 and live
// tests skip on it.
type UnsupportedError struct {
	Feature string // what is missing: "OpenGL 4.5 core"
	Need    string // what to install or change
	Err     error  // (optional) the cause
}

func (e *UnsupportedError) Error() string {
	s := fmt.Sprintf("no %s: %s", e.Feature, e.Need)
	if e.Err != nil {
		s += " (" + e.Err.Error() + ")"
	}
	return s
}

// Is makes every UnsupportedError an ErrNotSupported.
func (e *UnsupportedError) Is(target error) bool { return target == ErrNotSupported }

// Unwrap returns the cause.
func (e *UnsupportedError) Unwrap() error { return e.Err }

// Ctx is the token of being on the GL thread (law G1): it is given to a
// function by Thread.Do or Thread.Go and is dead when that function returns.
// It must not leave the goroutine it was given on, and nothing that has one
// may wait (law G4).
type Ctx struct {
	driver Driver
	grave  *graveyard
	dead   bool
	bound  []BoundResource // scratch of resolve
}

func (c *Ctx) alive() error {
	if c == nil || c.dead {
		return ErrDeadCtx
	}
	return nil
}

// Info returns the context's description.
func (c *Ctx) Info() Info { return c.driver.Info() }

// NewBuffer makes a buffer; UsageReadback buffers come mapped.
func (c *Ctx) NewBuffer(desc BufferDesc) (*Buffer, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	if desc.Size <= 0 || len(desc.Data) > desc.Size {
		return nil, fmt.Errorf("create buffer %q: size %d with %d bytes of data is out of range", desc.Label, desc.Size, len(desc.Data))
	}
	h, err := c.driver.CreateBuffer(desc)
	if err != nil {
		return nil, fmt.Errorf("create buffer %q of %d bytes: %w", desc.Label, desc.Size, err)
	}
	b := &Buffer{object: c.object(ObjectBuffer, h, desc.Label), size: desc.Size, usage: desc.Usage}
	if desc.Usage == UsageReadback {
		if b.mapped, err = c.driver.MapBuffer(h, desc.Size); err != nil {
			b.Close()
			return nil, fmt.Errorf("map buffer %q: %w", desc.Label, err)
		}
	}
	return b, nil
}

func (c *Ctx) object(kind ObjectKind, h Handle, label string) object {
	return object{kind: kind, handle: h, label: label, grave: c.grave}
}

// WriteBuffer replaces len(data) bytes at offset. The data is copied before
// the call returns.
func (c *Ctx) WriteBuffer(b *Buffer, offset int, data []byte) error {
	if err := c.alive(); err != nil {
		return err
	}
	if offset < 0 || offset+len(data) > b.size {
		return fmt.Errorf("write %d bytes at %d of buffer %q: beyond its %d bytes", len(data), offset, b.label, b.size)
	}
	if len(data) == 0 {
		return nil
	}
	return c.driver.WriteBuffer(b.handle, offset, data)
}

// ReadBuffer copies len(dst) bytes at offset to the host. It waits for the GPU:
// tests and benchmarks only.
func (c *Ctx) ReadBuffer(b *Buffer, offset int, dst []byte) error {
	if err := c.alive(); err != nil {
		return err
	}
	if offset < 0 || offset+len(dst) > b.size {
		return fmt.Errorf("read %d bytes at %d of buffer %q: beyond its %d bytes", len(dst), offset, b.label, b.size)
	}
	return c.driver.ReadBuffer(b.handle, offset, dst)
}

// CopyBuffer copies size bytes from src to dst in the command stream.
func (c *Ctx) CopyBuffer(dst, src *Buffer, dstOffset, srcOffset, size int) error {
	if err := c.alive(); err != nil {
		return err
	}
	if dstOffset < 0 || srcOffset < 0 || size < 0 || dstOffset+size > dst.size || srcOffset+size > src.size {
		return fmt.Errorf("copy %d bytes from %q at %d to %q at %d: out of range", size, src.label, srcOffset, dst.label, dstOffset)
	}
	return c.driver.CopyBuffer(dst.handle, src.handle, dstOffset, srcOffset, size)
}

// NewTexture makes a texture; a TextureBuffer views desc.Buffer.
func (c *Ctx) NewTexture(desc TextureDesc) (*Texture, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	desc.Levels = max(desc.Levels, 1)
	var buffer Handle
	if desc.Kind == TextureBuffer {
		if desc.Buffer == nil {
			return nil, fmt.Errorf("create texture %q: a texture buffer needs a buffer", desc.Label)
		}
		buffer = desc.Buffer.handle
	} else if desc.Width <= 0 || desc.Height <= 0 {
		return nil, fmt.Errorf("create texture %q: size %dx%d is out of range", desc.Label, desc.Width, desc.Height)
	}
	h, err := c.driver.CreateTexture(desc, buffer)
	if err != nil {
		return nil, fmt.Errorf("create texture %q: %w", desc.Label, err)
	}
	return &Texture{object: c.object(ObjectTexture, h, desc.Label), desc: desc}, nil
}

// WriteTexture replaces a region; data is tightly packed rows in the texture's
// own format, row 0 first.
func (c *Ctx) WriteTexture(t *Texture, region TextureRegion, data []byte) error {
	if err := c.alive(); err != nil {
		return err
	}
	return c.driver.WriteTexture(t.handle, &t.desc, region, data)
}

// GenerateMipmaps fills the levels above 0.
func (c *Ctx) GenerateMipmaps(t *Texture) error {
	if err := c.alive(); err != nil {
		return err
	}
	return c.driver.GenerateMipmaps(t.handle)
}

// ReadTexture copies one level to the host. It waits for the GPU: tests and
// benchmarks only.
func (c *Ctx) ReadTexture(t *Texture, level int, dst []byte) error {
	if err := c.alive(); err != nil {
		return err
	}
	return c.driver.ReadTexture(t.handle, level, t.desc.Format, dst)
}

// CopyTextureToBuffer copies one level, as pixels of the given format, tightly
// packed, into dst at offset, in the command stream.
func (c *Ctx) CopyTextureToBuffer(t *Texture, level int, format Format, dst *Buffer, offset int) error {
	if err := c.alive(); err != nil {
		return err
	}
	return c.driver.CopyTextureToBuffer(t.handle, level, format, dst.handle, offset, dst.size-offset)
}

// NewProgram compiles and links a program; the error holds the driver's log.
func (c *Ctx) NewProgram(desc ProgramDesc) (*Program, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	h, err := c.driver.CreateProgram(desc)
	if err != nil {
		return nil, fmt.Errorf("create program %q: %w", desc.Label, err)
	}
	return &Program{c.object(ObjectProgram, h, desc.Label)}, nil
}

// NewFramebuffer makes a framebuffer of textures of one size.
func (c *Ctx) NewFramebuffer(desc FramebufferDesc) (*Framebuffer, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	var colors []Handle
	var first *Texture
	for _, t := range desc.Color {
		colors = append(colors, t.handle)
		first = t
	}
	var depth Handle
	if desc.Depth != nil {
		depth, first = desc.Depth.handle, desc.Depth
	}
	if first == nil {
		return nil, fmt.Errorf("create framebuffer %q: it has no attachment", desc.Label)
	}
	h, err := c.driver.CreateFramebuffer(desc, colors, depth)
	if err != nil {
		return nil, fmt.Errorf("create framebuffer %q: %w", desc.Label, err)
	}
	return &Framebuffer{
		object: c.object(ObjectFramebuffer, h, desc.Label),
		width:  first.desc.Width, height: first.desc.Height,
		colors: len(colors), depth: depth != 0,
	}, nil
}

// Clear fills the colour attachments, one value each, and sets depth to 1.
func (c *Ctx) Clear(f *Framebuffer, colors ...ClearColor) error {
	if err := c.alive(); err != nil {
		return err
	}
	if len(colors) != f.colors {
		return fmt.Errorf("clear framebuffer %q: %d values for %d colour attachments", f.label, len(colors), f.colors)
	}
	return c.driver.ClearFramebuffer(f.handle, f.colors, colors, f.depth)
}

// Dispatch runs a compute program.
func (c *Ctx) Dispatch(d *Dispatch) error {
	if err := c.alive(); err != nil {
		return err
	}
	if d.Groups[0] < 1 || d.Groups[1] < 1 || d.Groups[2] < 1 {
		return fmt.Errorf("dispatch %q: %v work groups, need at least 1 on each axis", d.Program.label, d.Groups)
	}
	if err := c.driver.Dispatch(d.Program.handle, c.resolve(d.Bind), d.Groups); err != nil {
		return fmt.Errorf("dispatch %q: %w", d.Program.label, err)
	}
	return nil
}

// Draw runs a vertex and fragment program.
func (c *Ctx) Draw(d *Draw) error {
	if err := c.alive(); err != nil {
		return err
	}
	if err := c.driver.Draw(d.Program.handle, d.Framebuffer.handle, c.resolve(d.Bind), d); err != nil {
		return fmt.Errorf("draw %q: %w", d.Program.label, err)
	}
	return nil
}

// resolve turns bindings into the driver's handles, in the Ctx's scratch.
func (c *Ctx) resolve(bind []Binding) []BoundResource {
	c.bound = c.bound[:0]
	for i := range bind {
		b := &bind[i]
		r := BoundResource{Kind: b.Kind, Slot: b.Slot, Offset: b.Offset, Size: b.Size, Level: b.Level, Access: b.Access}
		if b.Texture != nil {
			r.Handle, r.Texture, r.Format = b.Texture.handle, b.Texture.desc.Kind, b.Texture.desc.Format
		} else {
			r.Handle = b.Buffer.handle
			if r.Size == 0 {
				r.Size = b.Buffer.size - b.Offset
			}
		}
		c.bound = append(c.bound, r)
	}
	return c.bound
}

// Barrier orders shader writes issued before it with later uses.
func (c *Ctx) Barrier(bits BarrierBits) error {
	if err := c.alive(); err != nil {
		return err
	}
	return c.driver.Barrier(bits)
}

// NewFence marks the commands issued so far. The caller flushes.
func (c *Ctx) NewFence() (*Fence, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	h, err := c.driver.CreateFence()
	if err != nil {
		return nil, fmt.Errorf("create fence: %w", err)
	}
	return &Fence{c.object(ObjectFence, h, "fence")}, nil
}

// PollFence asks without waiting whether the fence has signalled.
func (c *Ctx) PollFence(f *Fence) FenceStatus {
	if c.alive() != nil {
		return FenceFailed
	}
	return c.driver.PollFence(f.handle)
}

// Flush starts all commands issued so far; it doesn't wait.
func (c *Ctx) Flush() error {
	if err := c.alive(); err != nil {
		return err
	}
	return c.driver.Flush()
}

// Finish waits until the GPU has done everything: tests and benchmarks only.
func (c *Ctx) Finish() error {
	if err := c.alive(); err != nil {
		return err
	}
	return c.driver.Finish()
}

// NewQuery makes a timestamp query; on a driver without timestamps
// (Info.TimestampBits is 0) it fails with ErrNotSupported.
func (c *Ctx) NewQuery() (*Query, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	if c.driver.Info().TimestampBits == 0 {
		return nil, &UnsupportedError{Feature: "GPU timestamps", Need: "a driver whose QUERY_COUNTER_BITS is not 0"}
	}
	h, err := c.driver.CreateQuery()
	if err != nil {
		return nil, fmt.Errorf("create query: %w", err)
	}
	return &Query{c.object(ObjectQuery, h, "timestamp")}, nil
}

// Timestamp records the GPU's time when it has done all before.
func (c *Ctx) Timestamp(q *Query) error {
	if err := c.alive(); err != nil {
		return err
	}
	return c.driver.Timestamp(q.handle)
}

// QueryResult returns the recorded GPU time in nanoseconds once it is ready.
func (c *Ctx) QueryResult(q *Query) (ns int64, ready bool, err error) {
	if err := c.alive(); err != nil {
		return 0, false, err
	}
	return c.driver.QueryResult(q.handle)
}

// Clock samples the GPU's and the host's monotonic clock together, to place
// query results on the host's time line.
func (c *Ctx) Clock() (gpuNs int64, host time.Time, err error) {
	if err := c.alive(); err != nil {
		return 0, time.Time{}, err
	}
	return c.driver.Clock()
}
