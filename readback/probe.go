package readback

import (
	"fmt"
	"time"

	"github.com/raybridge/raybridge/gpu"
)

// CopyMode says when the copy of a capture is issued. Which one is right depends on the driver.
// With CopyAfterFence the source must stay unchanged until the copy was issued, which Pool.Holds
// tells. So take sources from a ring of two or more.
type CopyMode uint8

const (
	// CopyAuto takes what Probe finds on the GL thread of the first capture.
	CopyAuto CopyMode = iota
	// CopyBeforeFence issues the copy in Start: one fence, and the source may be written again
	// at once. The way of GPUs, which copy in their own time.
	CopyBeforeFence
	// CopyAfterFence issues the copy in Poll, once the source's fence has signalled, and puts a
	// second fence behind it. It is for drivers that would wait for the source inside the copy
	// call, such as software OpenGL. They make the copy within the call, so that the same Poll
	// finds the capture ready.
	CopyAfterFence
)

func (m CopyMode) String() string {
	switch m {
	case CopyAuto:
		return "auto"
	case CopyBeforeFence:
		return "before fence"
	case CopyAfterFence:
		return "after fence"
	default:
		return fmt.Sprintf("CopyMode(%d)", uint8(m))
	}
}

// Probing is what Probe found out about a GL thread's driver.
type Probing struct {
	// Mode is CopyBeforeFence or CopyAfterFence.
	Mode CopyMode
	// Measured is false where the measurement could not tell; Mode then follows
	// from whether the driver is a software one.
	Measured bool
	// CopyCall is how long the last measured copy call took.
	CopyCall time.Duration
	// Err is why no measurement could be made. (optional)
	Err error
}

type probeKey struct{}

// Probe finds out, once per GL thread, whether a copy that is issued behind unfinished drawing
// makes its caller wait for that drawing. Such drivers copy after the fence. It draws for a few
// milliseconds, in the command stream, and waits for nothing but such a driver's copy. GL
// thread.
func Probe(c *gpu.Ctx) Probing {
	if known, ok := c.Value(probeKey{}).(Probing); ok {
		return known
	}
	found, err := measure(c)
	if !found.Measured {
		found.Mode, found.Err = CopyBeforeFence, err
		if c.Err() == nil && c.Info().Software {
			found.Mode = CopyAfterFence
		}
	}
	c.SetValue(probeKey{}, found)
	return found
}

const (
	probeSize = 512
	// blockedCall is longer than any copy call that only queues, shorter than
	// the drawing that a blocking one is seen to wait for.
	blockedCall = time.Millisecond
)

// probeLoops are the lengths of drawing that are tried. The drawing must not be done when the
// copy call of a fast GPU returns. The lengths take from about ten milliseconds of software to
// a few of a fast GPU.
var probeLoops = []int{1 << 6, 1 << 10, 1 << 14, 1 << 17}

const (
	probeVertex = `#version 450 core
layout(location = 0) uniform int drawIndex;
layout(location = 0) flat out int loops;
void main() {
	loops = drawIndex;
	vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 4.0 - 1.0;
	gl_Position = vec4(corner, 0.0, 1.0);
}
`
	probeFragment = `#version 450 core
layout(location = 0) flat in int loops;
layout(location = 0) out vec4 color;
void main() {
	uint x = uint(gl_FragCoord.x) * 1973u + uint(gl_FragCoord.y) * 9277u;
	for (int i = 0; i < loops; i++) {
		x = x * 1664525u + 1013904223u;
		x ^= x >> 13;
	}
	color = vec4(float(x & 255u) / 255.0);
}
`
)

// probe holds the GPU objects of a measurement.
type probe struct {
	target  *gpu.Texture
	frame   *gpu.Framebuffer
	program *gpu.Program
	staging *gpu.Buffer
	fence   *gpu.Fence
}

// measure lengthens the drawing until two copy calls agree.
func measure(c *gpu.Ctx) (Probing, error) {
	var p probe
	defer p.close()
	if err := p.make(c); err != nil {
		return Probing{}, err
	}
	// The first calls compile and allocate.
	if _, _, err := p.try(c, 1); err != nil {
		return Probing{}, err
	}
	for _, loops := range probeLoops {
		var votes [CopyAfterFence + 1]int
		for range 3 {
			mode, call, err := p.try(c, loops)
			if err != nil {
				return Probing{}, err
			}
			if votes[mode]++; mode == CopyAuto {
				break
			}
			if votes[mode] == 2 {
				return Probing{Mode: mode, Measured: true, CopyCall: call}, nil
			}
		}
	}
	return Probing{}, nil
}

// try draws and copies once. The fence between them says what the copy did. If it signalled
// during a long call, the call waited; if it hasn't signalled after the call, it didn't.
// CopyAuto means that neither can be said.
func (p *probe) try(c *gpu.Ctx, loops int) (mode CopyMode, call time.Duration, err error) {
	draw := gpu.Draw{Program: p.program, Framebuffer: p.frame, Calls: []gpu.DrawCall{{Count: 3, Index: loops}}}
	if err := c.Clear(p.frame, gpu.ClearColor{}); err != nil {
		return 0, 0, err
	}
	if err := c.Draw(&draw); err != nil {
		return 0, 0, err
	}
	if err := c.ResetFence(p.fence); err != nil {
		return 0, 0, err
	}
	if err := c.Flush(); err != nil {
		return 0, 0, err
	}
	if c.PollFence(p.fence) != gpu.FencePending {
		return CopyAuto, 0, nil
	}
	start := time.Now()
	if err := c.CopyTextureToBuffer(p.target, 0, gpu.FormatRGBA8, p.staging, 0); err != nil {
		return 0, 0, err
	}
	call = time.Since(start)
	switch {
	case c.PollFence(p.fence) == gpu.FencePending:
		return CopyBeforeFence, call, nil
	case call >= blockedCall:
		return CopyAfterFence, call, nil
	default:
		return CopyAuto, call, nil
	}
}

func (p *probe) make(c *gpu.Ctx) (err error) {
	p.target, err = c.NewTexture(gpu.TextureDesc{
		Label: "readback probe", Format: gpu.FormatRGBA8, Width: probeSize, Height: probeSize,
	})
	if err == nil {
		p.frame, err = c.NewFramebuffer(gpu.FramebufferDesc{Label: "readback probe", Color: []*gpu.Texture{p.target}})
	}
	if err == nil {
		p.program, err = c.NewProgram(gpu.ProgramDesc{Label: "readback probe", Vertex: probeVertex, Fragment: probeFragment})
	}
	if err == nil {
		p.staging, err = c.NewBuffer(gpu.BufferDesc{Label: "readback probe", Size: probeSize * probeSize * 4, Usage: gpu.UsageReadback})
	}
	if err == nil {
		p.fence, err = c.NewFence()
	}
	if err != nil {
		return fmt.Errorf("probe copy mode: %w", err)
	}
	return nil
}

// close closes what make has made.
func (p *probe) close() {
	p.fence.Close()
	p.staging.Close()
	p.program.Close()
	p.frame.Close()
	p.target.Close()
}
