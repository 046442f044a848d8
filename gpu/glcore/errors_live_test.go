//go:build cgo

package glcore_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/eglctx"
	"github.com/raybridge/raybridge/gpu/glcore/internal/gl"
	"github.com/raybridge/raybridge/gpu/gputest"
)

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
		}, []string{`create texture "huge"`, "1048576x1", "limits"}},
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
		}, []string{`dispatch "wide"`, "limit"}},
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

// misuse provokes an error that only OpenGL itself notices: an offset of a
// uniform block that is not aligned.
func misuse(c *gpu.Ctx) error {
	p, err := c.NewProgram(gpu.ProgramDesc{Label: "empty", Compute: version + "layout(local_size_x = 1) in; void main() {}"})
	must(err)
	defer p.Close()
	b, err := c.NewBuffer(gpu.BufferDesc{Label: "uniforms", Size: 256})
	must(err)
	defer b.Close()
	bind := []gpu.Binding{{Kind: gpu.BindUniform, Buffer: b, Offset: 1}}
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
		for i := range uint32(1000) {
			for _, there := range []bool{gl.IsBuffer(i), gl.IsTexture(i), gl.IsFramebuffer(i), gl.IsProgram(i), gl.IsQuery(i)} {
				if there {
					n++
				}
			}
		}
		return nil
	})
	return n
}
