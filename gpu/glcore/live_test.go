//go:build cgo

package glcore_test

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/eglctx"
	"github.com/raybridge/raybridge/gpu/glcore"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { gputest.Main(m) }

// bench makes GPU objects that live as long as the test; its functions are for
// the GL thread and panic on errors, which Thread.Do returns.
type bench struct{ c *gpu.Ctx }

// onGPU runs f on the shared live context.
func onGPU(t *testing.T, f func(b bench)) {
	t.Helper()
	var made []interface{ Close() }
	thread := gputest.Thread(t)
	defer func() {
		for _, o := range made {
			o.Close()
		}
	}()
	gputest.Do(t, thread, func(c *gpu.Ctx) error {
		track = func(o interface{ Close() }) { made = append(made, o) }
		f(bench{c})
		return nil
	})
}

// track notes an object for its Close; set for each onGPU, used on the GL thread.
var track func(interface{ Close() })

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func keep[T interface{ Close() }](o T, err error) T {
	must(err)
	track(o)
	return o
}

func (b bench) buffer(label string, size int, data []byte) *gpu.Buffer {
	return keep(b.c.NewBuffer(gpu.BufferDesc{Label: label, Size: size, Data: data}))
}

func (b bench) staging(size int) *gpu.Buffer {
	return keep(b.c.NewBuffer(gpu.BufferDesc{Label: "staging", Size: size, Usage: gpu.UsageReadback}))
}

func (b bench) texture(desc gpu.TextureDesc) *gpu.Texture { return keep(b.c.NewTexture(desc)) }

func (b bench) compute(source string) *gpu.Program {
	return keep(b.c.NewProgram(gpu.ProgramDesc{Label: "compute", Compute: "#version 450 core\n" + source}))
}

func (b bench) framebuffer(depth *gpu.Texture, color ...*gpu.Texture) *gpu.Framebuffer {
	return keep(b.c.NewFramebuffer(gpu.FramebufferDesc{Label: "target", Color: color, Depth: depth}))
}

// run dispatches one work group and makes all its writes visible.
func (b bench) run(p *gpu.Program, bind ...gpu.Binding) {
	must(b.c.Dispatch(&gpu.Dispatch{Program: p, Bind: bind, Groups: [3]int{1, 1, 1}}))
	must(b.c.Barrier(gpu.BarrierStorage | gpu.BarrierBufferUpdate | gpu.BarrierTextureUpdate))
}

func (b bench) read(buf *gpu.Buffer) []byte {
	got := make([]byte, buf.Size())
	must(b.c.ReadBuffer(buf, 0, got))
	return got
}

func (b bench) readTexture(t *gpu.Texture, level int) []byte {
	desc := t.Desc()
	got := make([]byte, desc.LevelBytes(level, desc.Format))
	must(b.c.ReadTexture(t, level, got))
	return got
}

func floats(b []byte) []float32 {
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return out
}

func uints(b []byte) []uint32 {
	out := make([]uint32, len(b)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return out
}

func bytesOf(values any) []byte {
	out, err := binary.Append(nil, binary.LittleEndian, values)
	must(err)
	return out
}

// ramp is n bytes 0, 1, 2 ...
func ramp(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(i)
	}
	return out
}

func TestInfoDescribesTheContext(t *testing.T) {
	info := gputest.Thread(t).Info()
	assert.NotEmpty(t, info.Vendor)
	assert.NotEmpty(t, info.Renderer)
	assert.NotEmpty(t, info.Version)
	assert.NotEmpty(t, info.GLSL)
	assert.Contains(t, info.Device, "EGL")
	least := gpu.Guaranteed()
	least.MaxTextureBufferTexels = 65536 // what OpenGL 4.5 itself guarantees
	assert.Empty(t, info.Limits.Below(&least))
	assert.NotContains(t, strings.Join(info.Missing, "\n"), "limits that OpenGL 4.5 guarantees")
}

// TestAFenceComesAfterWhatWasFlushed: what follows a flush waits for the flushed commands, too.
func TestAFenceComesAfterWhatWasFlushed(t *testing.T) {
	onGPU(t, func(b bench) {
		program := b.compute(`
			layout(local_size_x = 64) in;
			layout(std430, binding = 0) writeonly buffer Out { uint words[]; };
			void main() {
				uint x = gl_GlobalInvocationID.x;
				for (int i = 0; i < 4000; i++) x = x * 1664525u + 1013904223u;
				words[gl_GlobalInvocationID.x] = x;
			}`)
		out := b.buffer("out", 4*4096, nil)
		work := func() *gpu.Fence {
			must(b.c.Dispatch(&gpu.Dispatch{Program: program, Bind: []gpu.Binding{{Kind: gpu.BindStorage, Buffer: out}}, Groups: [3]int{64, 1, 1}}))
			first := keep(b.c.NewFence())
			must(b.c.Flush())
			return first
		}
		for range 10 {
			first, second := work(), keep(b.c.NewFence())
			for b.c.PollFence(second) == gpu.FencePending {
			}
			assert.Equal(t, gpu.FenceSignaled, b.c.PollFence(first), "a later fence has signalled")
			first = work()
			must(b.c.Finish())
			assert.Equal(t, gpu.FenceSignaled, b.c.PollFence(first), "glFinish has returned")
		}
	})
}

// TestAWriteComesAfterWhatReads: a dispatch reads what a buffer had when it was issued.
func TestAWriteComesAfterWhatReads(t *testing.T) {
	onGPU(t, func(b bench) {
		program := b.compute(`
			layout(local_size_x = 64) in;
			layout(binding = 0) uniform usamplerBuffer number;
			layout(std430, binding = 0) writeonly buffer Out { uint words[]; };
			void main() {
				uint x = gl_GlobalInvocationID.x;
				for (int i = 0; i < 4000; i++) x = x * 1664525u + 1013904223u;
				words[gl_GlobalInvocationID.x] = texelFetch(number, int(x >> 31)).x;
			}`)
		number := b.buffer("number", 16384, nil)
		view := b.texture(gpu.TextureDesc{Label: "number", Kind: gpu.TextureBuffer, Format: gpu.FormatR32UI, Buffer: number})
		out := []*gpu.Buffer{b.buffer("first", 4*4096, nil), b.buffer("second", 4*4096, nil)}
		for _, flush := range []bool{false, true} {
			for n := range uint32(20) {
				for i, o := range out {
					must(b.c.WriteBuffer(number, 0, bytesOf([]uint32{2*n + uint32(i), 2*n + uint32(i)})))
					must(b.c.Dispatch(&gpu.Dispatch{Program: program, Groups: [3]int{64, 1, 1}, Bind: []gpu.Binding{
						{Kind: gpu.BindSampler, Texture: view}, {Kind: gpu.BindStorage, Buffer: o},
					}}))
					if flush {
						must(b.c.Flush())
					}
				}
				for i, o := range out {
					got := uints(b.read(o))
					assert.Equal(t, [2]uint32{2*n + uint32(i), 2*n + uint32(i)}, [2]uint32{got[0], got[4095]}, "flush %v", flush)
				}
			}
		}
	})
}

// TestEachBlockNeedsItsBuffer: a block without a buffer makes the whole command undefined, though the
// shader doesn't use it.
func TestEachBlockNeedsItsBuffer(t *testing.T) {
	onGPU(t, func(b bench) {
		program := b.compute(`
			layout(local_size_x = 4) in;
			layout(std140, binding = 2) uniform Scale { vec4 scale[2]; };
			layout(std430, binding = 0) buffer Out { uint values[]; };
			layout(std430, binding = 1) buffer Unused { uint more[]; };
			void main() { values[gl_LocalInvocationIndex] = uint(scale[1].x); }`)
		out, scale := b.buffer("out", 16, nil), b.buffer("scale", 32, bytesOf([8]float32{4: 7}))
		bind := []gpu.Binding{
			{Kind: gpu.BindStorage, Slot: 0, Buffer: out}, {Kind: gpu.BindUniform, Slot: 2, Buffer: scale, Size: 16},
		}
		dispatch := gpu.Dispatch{Program: program, Bind: bind, Groups: [3]int{1, 1, 1}}
		assert.ErrorContains(t, b.c.Dispatch(&dispatch), `the uniform block "Scale" needs 32 bytes, and the buffer at binding 2 has 16`)
		bind[1].Size = 32
		assert.ErrorContains(t, b.c.Dispatch(&dispatch), `the storage block "Unused" has no buffer: bind one at 1`)
		b.run(program, append(bind, gpu.Binding{Kind: gpu.BindStorage, Slot: 1, Buffer: b.buffer("unused", 16, nil)})...)
		assert.Equal(t, []uint32{7, 7, 7, 7}, uints(b.read(out)))
	})
}

func TestReadbackBufferHoldsTheCopyOnceTheFenceSignalled(t *testing.T) {
	want := ramp(1000)
	onGPU(t, func(b bench) {
		src, dst := b.buffer("source", len(want), want), b.staging(len(want)+24)
		must(b.c.CopyBuffer(dst, src, 24, 0, len(want)))
		fence := keep(b.c.NewFence())
		status := b.c.PollFence(fence)
		for status == gpu.FencePending {
			status = b.c.PollFence(fence)
		}
		require.Equal(t, gpu.FenceSignaled, status)
		assert.Equal(t, want, dst.Bytes()[24:])
	})
}

func TestDelayedFencesOnALiveContext(t *testing.T) {
	gputest.Thread(t) // skips where there is none
	thread, err := gpu.Start(gputest.Delay(openHeadless, 4))
	require.NoError(t, err)
	defer thread.Close()
	gputest.Do(t, thread, func(c *gpu.Ctx) error {
		fence, err := c.NewFence()
		must(err)
		defer fence.Close()
		must(c.Finish())
		for range 4 {
			assert.Equal(t, gpu.FencePending, c.PollFence(fence))
		}
		assert.Equal(t, gpu.FenceSignaled, c.PollFence(fence))
		return nil
	})
}

func TestBufferContents(t *testing.T) {
	onGPU(t, func(b bench) {
		part := b.buffer("partly filled", 16, []byte{1, 2, 3})
		must(b.c.WriteBuffer(part, 3, ramp(13)))
		must(b.c.WriteBuffer(part, 16, nil))
		assert.Equal(t, append([]byte{1, 2, 3}, ramp(13)...), b.read(part))
		other := b.buffer("other", 8, nil)
		must(b.c.CopyBuffer(other, part, 4, 1, 4))
		must(b.c.CopyBuffer(other, part, 0, 0, 4))
		assert.Equal(t, []byte{1, 2, 3, 0, 2, 3, 0, 1}, b.read(other))
	})
}

func TestDispatchReadsUniformsAndWritesStorage(t *testing.T) {
	onGPU(t, func(b bench) {
		program := b.compute(`
			layout(local_size_x = 8) in;
			layout(std140, binding = 2) uniform Scale { float factor; } scale;
			layout(std430, binding = 5) buffer Data { float values[]; };
			void main() { values[gl_GlobalInvocationID.x] *= scale.factor; }`)
		factors := b.buffer("factors", 512, nil)
		must(b.c.WriteBuffer(factors, 256, bytesOf(float32(3))))
		data := b.buffer("data", 32, bytesOf([]float32{0, 1, 2, 3, 4, 5, 6, 7}))
		b.run(program,
			gpu.Binding{Kind: gpu.BindUniform, Slot: 2, Buffer: factors, Offset: 256},
			gpu.Binding{Kind: gpu.BindStorage, Slot: 5, Buffer: data})
		assert.Equal(t, []float32{0, 3, 6, 9, 12, 15, 18, 21}, floats(b.read(data)))
	})
}

func TestTextureBufferIsFetched(t *testing.T) {
	onGPU(t, func(b bench) {
		program := b.compute(`
			layout(local_size_x = 4) in;
			layout(binding = 0) uniform samplerBuffer boxes;
			layout(binding = 1) uniform usamplerBuffer ids;
			layout(std430, binding = 0) buffer Out { vec4 found[]; };
			void main() {
				int i = int(gl_GlobalInvocationID.x);
				found[i] = texelFetch(boxes, 3 - i) + float(texelFetch(ids, i).x);
			}`)
		texels := make([]float32, 16)
		for i := range texels {
			texels[i] = float32(i)
		}
		view := b.texture(gpu.TextureDesc{
			Label: "boxes", Kind: gpu.TextureBuffer, Format: gpu.FormatRGBA32F, Buffer: b.buffer("boxes", 64, bytesOf(texels)),
		})
		ids := b.texture(gpu.TextureDesc{
			Label: "ids", Kind: gpu.TextureBuffer, Format: gpu.FormatR32UI, Buffer: b.buffer("ids", 16, bytesOf([]uint32{100, 200, 300, 400})),
		})
		out := b.buffer("out", 64, nil)
		b.run(program,
			gpu.Binding{Kind: gpu.BindSampler, Slot: 0, Texture: view},
			gpu.Binding{Kind: gpu.BindSampler, Slot: 1, Texture: ids},
			gpu.Binding{Kind: gpu.BindStorage, Slot: 0, Buffer: out})
		assert.Equal(t, []float32{112, 113, 114, 115, 208, 209, 210, 211, 304, 305, 306, 307, 400, 401, 402, 403},
			floats(b.read(out)))
	})
}

func TestTimestampsAreOrderedAndOnTheHostsLine(t *testing.T) {
	if gputest.Thread(t).Info().TimestampBits == 0 {
		t.Skip("the driver has no timestamps (QUERY_COUNTER_BITS is 0)")
	}
	onGPU(t, func(b bench) {
		first, second := keep(b.c.NewQuery()), keep(b.c.NewQuery())
		before, _, err := b.c.Clock()
		must(err)
		must(b.c.Timestamp(first))
		must(b.c.Timestamp(second))
		must(b.c.Finish())
		after, _, err := b.c.Clock()
		must(err)
		t1, ready1, err := b.c.QueryResult(first)
		must(err)
		t2, ready2, err := b.c.QueryResult(second)
		must(err)
		require.True(t, ready1 && ready2, "finished work has its times")
		assert.LessOrEqual(t, before, t1)
		assert.LessOrEqual(t, t1, t2)
		assert.LessOrEqual(t, t2, after)
	})
}

// openHeadless opens a context without debug output.
func openHeadless() (*gpu.Context, error) { return eglctx.Open(eglctx.Options{})() }

const version = "#version 450 core\n"

func TestErrorsNameTheirCause(t *testing.T) {
	tests := map[string]struct {
		f    func(c *gpu.Ctx) error
		want []string
	}{
		"compile": {func(c *gpu.Ctx) error {
			_, err := c.NewProgram(gpu.ProgramDesc{Label: "lidar", Compute: version + "void main() { nonsense(); }"})
			return err
		}, []string{`create program "lidar"`, "compile compute shader", "nonsense"}},
		"link": {func(c *gpu.Ctx) error {
			_, err := c.NewProgram(gpu.ProgramDesc{
				Label:    "visibility",
				Vertex:   version + "out vec4 tint; void main() { tint = vec4(1); gl_Position = vec4(0); }",
				Fragment: version + "in vec2 tint; out vec4 c; void main() { c = tint.xyxy; }",
			})
			return err
		}, []string{`create program "visibility"`, "link", "tint"}},
		"texture too large": {func(c *gpu.Ctx) error {
			_, err := c.NewTexture(gpu.TextureDesc{Label: "huge", Format: gpu.FormatR8, Width: 1 << 20, Height: 1})
			return err
		}, []string{`create texture "huge"`, gpu.ErrLimit.Error(), "1048576x1"}},
		"framebuffer that can't be drawn to": {func(c *gpu.Ctx) error {
			tex, err := c.NewTexture(gpu.TextureDesc{Label: "not a depth format", Format: gpu.FormatR8, Width: 4, Height: 4})
			must(err)
			defer tex.Close()
			_, err = c.NewFramebuffer(gpu.FramebufferDesc{Label: "target", Depth: tex})
			return err
		}, []string{`create framebuffer "target"`}},
		"too many work groups": {func(c *gpu.Ctx) error {
			p, err := c.NewProgram(gpu.ProgramDesc{Label: "wide", Compute: version + "layout(local_size_x = 1) in; void main() {}"})
			must(err)
			defer p.Close()
			return c.Dispatch(&gpu.Dispatch{Program: p, Groups: [3]int{1 << 40, 1, 1}})
		}, []string{`dispatch "wide"`, gpu.ErrLimit.Error()}},
		"buffer larger than memory": {func(c *gpu.Ctx) error {
			_, err := c.NewBuffer(gpu.BufferDesc{Label: "everything", Size: 1 << 50})
			return err
		}, []string{`create buffer "everything"`, "GL_OUT_OF_MEMORY"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			thread := gputest.Thread(t)
			err := thread.Do(t.Context(), tt.f)
			require.Error(t, err)
			for _, want := range tt.want {
				assert.Contains(t, err.Error(), want)
			}
			thread.DebugErrors() // provoked
		})
	}
}

// misuse provokes an error that only OpenGL itself notices: a level that no
// texture has.
func misuse(c *gpu.Ctx) error {
	p, err := c.NewProgram(gpu.ProgramDesc{Label: "empty", Compute: version + "layout(local_size_x = 1) in; void main() {}"})
	must(err)
	defer p.Close()
	picture, err := c.NewTexture(gpu.TextureDesc{Label: "picture", Format: gpu.FormatR32UI, Width: 1, Height: 1})
	must(err)
	defer picture.Close()
	bind := []gpu.Binding{{Kind: gpu.BindImage, Texture: picture, Level: -1}}
	return c.Dispatch(&gpu.Dispatch{Program: p, Bind: bind, Groups: [3]int{1, 1, 1}})
}

func TestErrorsOfOpenGLItselfAreNotSilent(t *testing.T) {
	shared := gputest.Thread(t)
	plain, err := gpu.Start(openHeadless)
	require.NoError(t, err)
	defer plain.Close()
	for name, thread := range map[string]*gpu.Thread{"debug context": shared, "plain context": plain} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, thread.Do(t.Context(), misuse), "GL_INVALID_VALUE")
			assert.NotEmpty(t, thread.DebugErrors())
			require.NoError(t, thread.Do(t.Context(), func(*gpu.Ctx) error { return nil }), "reported once")
		})
	}
}

func TestDeleteFreesTheObject(t *testing.T) {
	thread := gputest.Thread(t)
	baseline := names(t, thread)
	gputest.Do(t, thread, func(c *gpu.Ctx) error {
		b, err1 := c.NewBuffer(gpu.BufferDesc{Label: "b", Size: 4})
		s, err2 := c.NewBuffer(gpu.BufferDesc{Label: "s", Size: 4, Usage: gpu.UsageReadback})
		x, err3 := c.NewTexture(gpu.TextureDesc{Label: "x", Format: gpu.FormatR8, Width: 1, Height: 1})
		f, err4 := c.NewFramebuffer(gpu.FramebufferDesc{Label: "f", Color: []*gpu.Texture{x}})
		p, err5 := c.NewProgram(gpu.ProgramDesc{Label: "p", Compute: version + "layout(local_size_x = 1) in; void main() {}"})
		q, err6 := c.NewQuery()
		e, err7 := c.NewFence()
		must(errors.Join(err1, err2, err3, err4, err5, err6, err7))
		must(c.Dispatch(&gpu.Dispatch{Program: p, Groups: [3]int{1, 1, 1}})) // a program in use
		for _, o := range []interface{ Close() }{b, s, x, f, p, q, e} {
			o.Close()
		}
		return nil
	})
	assert.Equal(t, baseline, names(t, thread))
}

// names counts OpenGL's own objects.
func names(t *testing.T, thread *gpu.Thread) (n int) {
	gputest.Do(t, thread, func(*gpu.Ctx) error {
		n = glcore.Names()
		return nil
	})
	return n
}
