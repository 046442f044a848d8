package gputest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/raybridge/raybridge/gpu"
)

// Invocation is what a scripted shader works on. The slices are the GPU's
// memory; they must not be kept.
type Invocation struct {
	Groups [3]int // of a dispatch
	memory map[slot][]byte
}

type slot struct {
	kind   gpu.BindingKind
	number int
}

// Storage returns the bytes of the buffer block bound at a slot, nil if none.
func (i Invocation) Storage(number int) []byte { return i.memory[slot{gpu.BindStorage, number}] }

// Uniform returns the bytes of the uniform block bound at a slot, nil if none.
func (i Invocation) Uniform(number int) []byte { return i.memory[slot{gpu.BindUniform, number}] }

// Image returns the pixels of the image level bound at a slot, nil if none.
func (i Invocation) Image(number int) []byte { return i.memory[slot{gpu.BindImage, number}] }

// Sampler returns level 0 of the texture, or the buffer of the texture buffer,
// bound at a slot, nil if none.
func (i Invocation) Sampler(number int) []byte { return i.memory[slot{gpu.BindSampler, number}] }

// OnDispatch gives the program of a label its effect: shader runs, in the
// order of commands, when the GPU would get there. It runs on the GL thread
// and must not call the Fake.
func (f *Fake) OnDispatch(label string, shader func(Invocation)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shaders[label] = shader
}

// Dispatch implements gpu.Driver.
func (f *Fake) Dispatch(program gpu.Handle, bind []gpu.BoundResource, groups [3]int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.find(gpu.ObjectProgram, program)
	if err := f.begin("Dispatch", " %q %v%s", p.name, groups, f.bindings(bind)); err != nil {
		return err
	}
	call := Invocation{Groups: groups, memory: f.bound(bind, fmt.Sprintf("dispatch %q", p.name))}
	if shader := f.shaders[p.name]; shader != nil {
		f.defers(func() { shader(call) })
	}
	return nil
}

// Draw implements gpu.Driver; a draw has no effect on memory.
func (f *Fake) Draw(program, fb gpu.Handle, bind []gpu.BoundResource, draw *gpu.Draw) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, target := f.find(gpu.ObjectProgram, program), f.find(gpu.ObjectFramebuffer, fb)
	if err := f.begin("Draw", " %q %d calls to %s%s", p.name, len(draw.Calls), target.name, f.bindings(bind)); err != nil {
		return err
	}
	by := fmt.Sprintf("draw %q", p.name)
	f.bound(bind, by)
	for _, t := range target.targets {
		f.writes(t, by)
	}
	return nil
}

// bound resolves bindings to memory and notes what the shader may write:
// storage blocks, and images that are not ReadOnly.
func (f *Fake) bound(bind []gpu.BoundResource, by string) map[slot][]byte {
	memory := make(map[slot][]byte, len(bind))
	for _, b := range bind {
		o, bytes := f.resource(b)
		memory[slot{b.Kind, b.Slot}] = bytes
		if b.Kind == gpu.BindStorage || b.Kind == gpu.BindImage && b.Access != gpu.ReadOnly {
			f.writes(o, by)
			o.written = f.issued
		}
	}
	return memory
}

func (f *Fake) resource(b gpu.BoundResource) (*object, []byte) {
	switch b.Kind {
	case gpu.BindUniform, gpu.BindStorage:
		o := f.find(gpu.ObjectBuffer, b.Handle)
		return o, o.bytes[b.Offset : b.Offset+b.Size]
	}
	o := f.find(gpu.ObjectTexture, b.Handle)
	if b.Level < len(o.levels) {
		return o, o.levels[b.Level]
	}
	return o, o.bytes // of a texture buffer
}

func (f *Fake) bindings(bind []gpu.BoundResource) string {
	if f.quiet {
		return ""
	}
	var s string
	for _, b := range bind {
		o, _ := f.resource(b)
		s += fmt.Sprintf(" %v%d=%s", b.Kind, b.Slot, o.name)
	}
	return s
}

// Barrier implements gpu.Driver.
func (f *Fake) Barrier(bits gpu.BarrierBits) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.begin("Barrier", " %v", bits); err != nil {
		return err
	}
	for i := range f.ordered {
		if bits&(1<<i) != 0 {
			f.ordered[i] = f.issued
		}
	}
	return nil
}

// reads checks that a barrier with all the bits stands between a shader's
// write of o and its use here (GL 4.5 core, section 7.13.2).
func (f *Fake) reads(o *object, need gpu.BarrierBits, by string) {
	if o.written == 0 {
		return
	}
	for i, at := range f.ordered {
		if bit := gpu.BarrierBits(1 << i); need&bit != 0 && at < o.written {
			f.fault("%s reads %s without the barrier %q after a shader wrote it", by, o.name, bit)
		}
	}
}

// WriteBuffer implements gpu.Driver.
func (f *Fake) WriteBuffer(h gpu.Handle, offset int, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.find(gpu.ObjectBuffer, h)
	if err := f.begin("WriteBuffer", " %s[%d:%d]", b.name, offset, offset+len(data)); err != nil {
		return err
	}
	f.writes(b, "WriteBuffer")
	kept := bytes.Clone(data)
	f.defers(func() { copy(b.bytes[offset:], kept) })
	return nil
}

// ReadBuffer implements gpu.Driver.
func (f *Fake) ReadBuffer(h gpu.Handle, offset int, dst []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.find(gpu.ObjectBuffer, h)
	if err := f.begin("ReadBuffer", " %s[%d:%d]", b.name, offset, offset+len(dst)); err != nil {
		return err
	}
	f.executeAll()
	copy(dst, b.bytes[offset:])
	return nil
}

// CopyBuffer implements gpu.Driver.
func (f *Fake) CopyBuffer(dst, src gpu.Handle, dstOffset, srcOffset, size int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	to, from := f.find(gpu.ObjectBuffer, dst), f.find(gpu.ObjectBuffer, src)
	if err := f.begin("CopyBuffer", " %s[%d:%d] <- %s[%d:%d]",
		to.name, dstOffset, dstOffset+size, from.name, srcOffset, srcOffset+size); err != nil {
		return err
	}
	f.reads(from, gpu.BarrierFor(gpu.SourceBuffer), "CopyBuffer")
	f.writes(to, "CopyBuffer")
	f.defers(func() { copy(to.bytes[dstOffset:], from.bytes[srcOffset:srcOffset+size]) })
	return nil
}

// WriteTexture implements gpu.Driver.
func (f *Fake) WriteTexture(h gpu.Handle, desc *gpu.TextureDesc, r gpu.TextureRegion, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.find(gpu.ObjectTexture, h)
	if err := f.begin("WriteTexture", " %s level %d layer %d %dx%d", t.name, r.Level, r.Layer, r.Width, r.Height); err != nil {
		return err
	}
	f.writes(t, "WriteTexture")
	kept, pixel := bytes.Clone(data), desc.Format.PixelBytes()
	width, height := desc.LevelSize(r.Level)
	f.defers(func() {
		for y := range r.Height {
			at := ((r.Layer*height+r.Y+y)*width + r.X) * pixel
			copy(t.levels[r.Level][at:], kept[y*r.Width*pixel:(y+1)*r.Width*pixel])
		}
	})
	return nil
}

// GenerateMipmaps implements gpu.Driver; it is recorded only.
func (f *Fake) GenerateMipmaps(h gpu.Handle) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.find(gpu.ObjectTexture, h)
	f.writes(t, "GenerateMipmaps")
	return f.begin("GenerateMipmaps", " %s", t.name)
}

// ReadTexture implements gpu.Driver.
func (f *Fake) ReadTexture(h gpu.Handle, level int, format gpu.Format, dst []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.find(gpu.ObjectTexture, h)
	if err := f.begin("ReadTexture", " %s level %d %v", t.name, level, format); err != nil {
		return err
	}
	f.executeAll()
	copy(dst, t.levels[level])
	return nil
}

// CopyTextureToBuffer implements gpu.Driver for formats of the texture's own
// pixel size.
func (f *Fake) CopyTextureToBuffer(src gpu.Handle, level int, format gpu.Format, dst gpu.Handle, offset, size int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, b := f.find(gpu.ObjectTexture, src), f.find(gpu.ObjectBuffer, dst)
	if err := f.begin("CopyTextureToBuffer", " %s[%d:%d] <- %s level %d %v",
		b.name, offset, offset+size, t.name, level, format); err != nil {
		return err
	}
	if format.PixelBytes() != t.desc.Format.PixelBytes() {
		return errNoConversion
	}
	f.reads(t, gpu.BarrierFor(gpu.SourceTexture), "CopyTextureToBuffer")
	f.writes(b, "CopyTextureToBuffer")
	f.defers(func() { copy(b.bytes[offset:offset+size], t.levels[level]) })
	return nil
}

// ClearFramebuffer implements gpu.Driver.
func (f *Fake) ClearFramebuffer(h gpu.Handle, attachments int, colors []gpu.ClearColor, depth bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	fb := f.find(gpu.ObjectFramebuffer, h)
	if err := f.begin("ClearFramebuffer", " %s", fb.name); err != nil {
		return err
	}
	for i, t := range fb.targets {
		f.writes(t, "ClearFramebuffer")
		color := gpu.ClearColor{Float: [4]float32{1}} // depth's
		if i < attachments {
			color = colors[i]
		}
		pixel := encode(t.desc.Format, color)
		if pixel == nil {
			return errNoConversion
		}
		f.defers(func() {
			for part := range slices.Chunk(t.levels[0], len(pixel)) {
				copy(part, pixel)
			}
		})
	}
	return nil
}

// encode is a clear colour as a pixel of a format, nil where the fake can't.
func encode(format gpu.Format, c gpu.ClearColor) []byte {
	out := make([]byte, 0, 16)
	switch format {
	case gpu.FormatR8, gpu.FormatRGBA8:
		for _, v := range c.Float[:format.PixelBytes()] {
			out = append(out, byte(math.Round(float64(min(max(v, 0), 1))*255)))
		}
	case gpu.FormatR32F, gpu.FormatRG32F, gpu.FormatRGBA32F, gpu.FormatDepth32F:
		for _, v := range c.Float[:format.PixelBytes()/4] {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
		}
	case gpu.FormatR32UI, gpu.FormatRG32UI, gpu.FormatRGBA32UI:
		for _, v := range c.Uint[:format.PixelBytes()/4] {
			out = binary.LittleEndian.AppendUint32(out, v)
		}
	default:
		return nil
	}
	return out
}

// Flush implements gpu.Driver.
func (f *Fake) Flush() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.begin("Flush", "")
}

// Finish implements gpu.Driver.
func (f *Fake) Finish() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.begin("Finish", ""); err != nil {
		return err
	}
	f.executeAll()
	return nil
}
