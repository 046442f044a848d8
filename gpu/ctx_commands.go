package gpu

import "fmt"

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
	if b.usage == UsageReadback {
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

// GenerateMipmaps fills the levels above 0.
func (c *Ctx) GenerateMipmaps(t *Texture) error {
	if err := c.check(&t.object); err != nil {
		return err
	}
	return c.gl.driver.GenerateMipmaps(t.handle)
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

// CopyTextureToBuffer copies one level, all layers of it, as pixels of the
// given format, tightly packed, row 0 first, into dst at offset, in the
// command stream. The offset is a multiple of the pixel's size.
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
		return fmt.Errorf("copy texture %q to buffer %q: offset %d is no multiple of a %v pixel's %d bytes",
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
		var err error
		switch {
		case b.Texture != nil && b.Buffer == nil && (b.Kind == BindSampler || b.Kind == BindImage):
			err = b.Texture.usable()
			r.Handle, r.Texture, r.Format = b.Texture.handle, b.Texture.desc.Kind, b.Texture.desc.Format
		case b.Buffer != nil && b.Texture == nil && (b.Kind == BindUniform || b.Kind == BindStorage):
			err = b.Buffer.usable()
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
