package gpu

import "fmt"

// newObject registers what the driver made. The result is embedded in the
// object that the caller returns.
func (c *Ctx) newObject(kind ObjectKind, h Handle, label string) object {
	return c.newSized(kind, h, label, 0)
}

// newSized registers an object that took so many bytes.
func (c *Ctx) newSized(kind ObjectKind, h Handle, label string, bytes int64) object {
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
	b := &Buffer{object: c.newSized(ObjectBuffer, h, desc.Label, bytes), size: desc.Size, usage: desc.Usage}
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
	bytes := desc.bytes()
	if err := c.gl.objs.take(fmt.Sprintf("texture %q of %dx%d pixels", desc.Label, desc.Width, desc.Height), bytes); err != nil {
		return nil, fmt.Errorf("create texture: %w", err)
	}
	h, err := c.gl.driver.CreateTexture(desc, buffer)
	if err != nil {
		c.gl.objs.give(bytes)
		return nil, fmt.Errorf("create texture %q: %w", desc.Label, err)
	}
	return &Texture{object: c.newSized(ObjectTexture, h, desc.Label, bytes), desc: desc}, nil
}

// NewProgram compiles and links a program; the error holds the driver's log.
func (c *Ctx) NewProgram(desc ProgramDesc) (*Program, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if (desc.Compute == "") == (desc.Vertex == "" || desc.Fragment == "") {
		return nil, fmt.Errorf("create program %q: it needs a compute shader alone, or a vertex and a fragment shader", desc.Label)
	}
	h, err := c.gl.driver.CreateProgram(desc)
	if err != nil {
		return nil, fmt.Errorf("create program %q: %w", desc.Label, err)
	}
	return &Program{c.newObject(ObjectProgram, h, desc.Label)}, nil
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
		object: c.newObject(ObjectFramebuffer, h, desc.Label),
		width:  size[0], height: size[1], colors: len(colors), depth: depth != 0,
	}, nil
}

// NewFence marks the commands issued so far. The caller flushes.
func (c *Ctx) NewFence() (*Fence, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	h, err := c.gl.driver.CreateFence()
	if err != nil {
		return nil, fmt.Errorf("create fence: %w", err)
	}
	return &Fence{c.newObject(ObjectFence, h, "fence")}, nil
}

// PollFence asks without waiting whether the fence has signalled. It is
// FenceFailed once the context is lost.
func (c *Ctx) PollFence(f *Fence) FenceStatus {
	if c.check(&f.object) != nil {
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
	return &Query{c.newObject(ObjectQuery, h, "timestamp")}, nil
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
