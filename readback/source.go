package readback

import (
	"fmt"

	"github.com/raybridge/raybridge/gpu"
)

// Source is what one capture reads: made by Buffer, BufferRange, Texture or
// TextureLevel, and checked by Start. The buffer or texture stays the caller's.
//
// They are the overloads of SVL Simulator's StartReadback, which take a buffer's offset and a
// texture's format, for sensors that are carried over from there. The sensors of this repository read
// buffers.
type Source struct {
	buffer       *gpu.Buffer
	texture      *gpu.Texture
	offset, size int // bytes, of a buffer
	whole        bool
	level        int
	format       gpu.Format
}

// Buffer reads a whole buffer.
func Buffer(b *gpu.Buffer) Source { return Source{buffer: b, whole: true} }

// BufferRange reads size bytes of b from offset.
func BufferRange(b *gpu.Buffer, offset, size int) Source {
	return Source{buffer: b, offset: offset, size: size}
}

// Texture reads level 0 of t, all layers of it, in t's own format.
func Texture(t *gpu.Texture) Source { return Source{texture: t} }

// TextureLevel reads one mipmap level of t, all layers of it, as tightly packed pixels of the
// given format, row 0 first. FormatNone is t's own. The format's components may differ in
// number and size from the texture's, but integer, depth and colour formats don't convert into
// each other.
func TextureLevel(t *gpu.Texture, level int, format gpu.Format) Source {
	return Source{texture: t, level: level, format: format}
}

// object returns what gpu.Ctx holds for a copy after the fence.
func (s *Source) object() gpu.Source {
	if s.texture != nil {
		return s.texture
	}
	return s.buffer
}

// bytes checks the source and returns how many bytes its copy has. It fills in
// what the caller left open: a whole buffer's size, a texture's own format.
func (s *Source) bytes() (int, error) {
	switch {
	case s.buffer != nil:
		return s.bufferBytes()
	case s.texture != nil:
		return s.textureBytes()
	default:
		return 0, fmt.Errorf("%w: it is nil", ErrSource)
	}
}

func (s *Source) bufferBytes() (int, error) {
	if s.whole {
		s.size = s.buffer.Size()
	}
	// Written so that no sum overflows.
	if s.offset < 0 || s.size <= 0 || s.offset > s.buffer.Size() || s.size > s.buffer.Size()-s.offset {
		return 0, fmt.Errorf("%w: %d bytes at %d of buffer %q, which has %d",
			ErrSize, s.size, s.offset, s.buffer.Label(), s.buffer.Size())
	}
	return s.size, nil
}

func (s *Source) textureBytes() (int, error) {
	desc := s.texture.Desc()
	if desc.Kind == gpu.TextureBuffer {
		return 0, fmt.Errorf("%w: texture %q is a view of a buffer: read that buffer", ErrSource, desc.Label)
	}
	if s.format == gpu.FormatNone {
		s.format = desc.Format
	}
	if classOf(desc.Format) != classOf(s.format) {
		return 0, fmt.Errorf("%w: texture %q has format %v, which doesn't convert to %v",
			ErrSource, desc.Label, desc.Format, s.format)
	}
	n := desc.LevelBytes(s.level, s.format)
	if n == 0 {
		return 0, fmt.Errorf("%w: level %d of texture %q, which has %d", ErrSize, s.level, desc.Label, max(desc.Levels, 1))
	}
	return n, nil
}

// copyTo issues the barrier and the copy into dst's beginning (GL 4.5 core,
// sections 7.13.2, 6.6 and 8.11.4).
func (s *Source) copyTo(c *gpu.Ctx, dst *gpu.Buffer) error {
	kind := gpu.SourceBuffer
	if s.texture != nil {
		kind = gpu.SourceTexture
	}
	err := c.Barrier(gpu.BarrierFor(kind))
	switch {
	case err != nil:
	case s.texture != nil:
		err = c.CopyTextureToBuffer(s.texture, s.level, s.format, dst, 0)
	default:
		err = c.CopyBuffer(dst, s.buffer, 0, s.offset, s.size)
	}
	if err != nil && c.Err() == nil {
		return fmt.Errorf("%w: %w", ErrSource, err)
	}
	return err
}

// formatClass groups the formats that convert into each other in a transfer
// (GL 4.5 core, section 8.4.4.1).
type formatClass uint8

const (
	classColor formatClass = iota
	classInteger
	classDepth
)

func classOf(f gpu.Format) formatClass {
	switch f {
	case gpu.FormatR32UI, gpu.FormatRG32UI, gpu.FormatRGBA32UI:
		return classInteger
	case gpu.FormatDepth32F:
		return classDepth
	default:
		return classColor
	}
}
