//go:build cgo

package readback_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/readback"
)

const coverVertex = `#version 450 core
void main() {
	vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 4.0 - 1.0;
	gl_Position = vec4(corner, 0.0, 1.0);
}
`

// busyFragment keeps any GPU busy for some milliseconds.
const busyFragment = `#version 450 core
layout(location = 0) out vec4 color;
void main() {
	uint x = uint(gl_FragCoord.x) * 1973u + uint(gl_FragCoord.y) * 9277u;
	for (int i = 0; i < 300; i++) {
		x = x * 1664525u + 1013904223u;
		x ^= x >> 13;
	}
	color = vec4(float(x & 255u) / 255.0);
}
`

// busy is drawing that a GPU works on for a while, beside what is read back.
type busy struct {
	target  *gpu.Texture
	frame   *gpu.Framebuffer
	program *gpu.Program
}

func newBusy(tb testing.TB, thread *gpu.Thread) *busy {
	tb.Helper()
	b := &busy{}
	gputest.Do(tb, thread, func(c *gpu.Ctx) (err error) {
		b.program, err = c.NewProgram(gpu.ProgramDesc{Label: "busy", Vertex: coverVertex, Fragment: busyFragment})
		if err == nil {
			tb.Cleanup(b.program.Close)
			b.target, err = c.NewTexture(gpu.TextureDesc{Label: "busy", Format: gpu.FormatRGBA8, Width: 512, Height: 512})
		}
		if err == nil {
			tb.Cleanup(b.target.Close)
			b.frame, err = c.NewFramebuffer(gpu.FramebufferDesc{Label: "busy", Color: []*gpu.Texture{b.target}})
		}
		if err == nil {
			tb.Cleanup(b.frame.Close)
		}
		return err
	})
	return b
}

// draw puts the drawing into the command stream.
func (b *busy) draw(c *gpu.Ctx) error {
	if err := c.Clear(b.frame, gpu.ClearColor{}); err != nil {
		return err
	}
	return c.Draw(&gpu.Draw{Program: b.program, Framebuffer: b.frame, Calls: []gpu.DrawCall{{Count: 3}}})
}

// awaitMark polls a fence that the test has put behind all commands so far.
func awaitMark(c *gpu.Ctx) error {
	mark, err := c.NewFence()
	if err != nil {
		return err
	}
	defer mark.Close()
	for deadline := time.Now().Add(30 * time.Second); ; {
		switch c.PollFence(mark) {
		case gpu.FenceSignaled:
			return nil
		case gpu.FenceFailed:
			return fmt.Errorf("the test's own fence failed: %w", c.Err())
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the GPU did not come to the test's fence")
		}
	}
}

// A fence of the test's own behind the capture's says when the capture's has
// signalled: the next poll must find it.
func TestLiveReadyWithinOnePollOfItsFence(t *testing.T) {
	thread := gputest.Thread(t)
	for _, mode := range []readback.CopyMode{readback.CopyBeforeFence, readback.CopyAfterFence} {
		t.Run(mode.String(), func(t *testing.T) {
			work := newBusy(t, thread)
			pool, err := readback.New(readback.Config{Label: "ready", MaxElements: 512 * 512, CopyMode: mode},
				func(_ *readback.Capture[meta, [4]uint8], l readback.Lease[[4]uint8], err error) {
					defer l.Release()
					require.NoError(t, err)
				})
			require.NoError(t, err)
			defer func() { require.NoError(t, pool.Close()) }()
			for range 5 {
				var ready int
				gputest.Do(t, thread, func(c *gpu.Ctx) error {
					if err := work.draw(c); err != nil {
						return err
					}
					if _, err := pool.Start(c, readback.Texture(work.target), 0); err != nil {
						return err
					}
					if err := awaitMark(c); err != nil {
						return err
					}
					ready = pool.Poll(c)
					if mode == readback.CopyBeforeFence || ready > 0 {
						return nil
					}
					// This poll issued the copy, whose own fence is the last now.
					if err := awaitMark(c); err != nil {
						return err
					}
					ready = pool.Poll(c)
					return nil
				})
				require.Equal(t, 1, ready)
				require.Equal(t, 1, pool.Process())
			}
		})
	}
}

// BenchmarkLivePollPending is what a poll costs while the driver's GPU works on
// what 64 captures wait for.
func BenchmarkLivePollPending(b *testing.B) {
	const pending = 64
	thread := gputest.Thread(b)
	for _, mode := range []readback.CopyMode{readback.CopyBeforeFence, readback.CopyAfterFence} {
		b.Run(mode.String(), func(b *testing.B) {
			if mode == readback.CopyBeforeFence && thread.Info().Software {
				b.Skip("software OpenGL waits in the copy: nothing is pending after Start")
			}
			work := newBusy(b, thread)
			// A software driver bounds the timestamps under way; Start would wait.
			pool, err := readback.New(readback.Config{Label: "pending", Slots: pending, MaxElements: 16, CopyMode: mode, NoTimers: true},
				func(_ *readback.Capture[meta, uint32], l readback.Lease[uint32], _ error) { l.Release() })
			require.NoError(b, err)
			defer func() { require.NoError(b, pool.Close()) }()
			var polls int
			var took time.Duration
			gputest.Do(b, thread, func(c *gpu.Ctx) error {
				source, err := c.NewBuffer(gpu.BufferDesc{Label: "pending", Size: 64})
				if err != nil {
					return err
				}
				defer source.Close()
				for b.Loop() {
					b.StopTimer()
					// Long enough to outlast the calls of Start, each of which flushes.
					for range 8 {
						if err := work.draw(c); err != nil {
							return err
						}
					}
					for range pending {
						if _, err := pool.Start(c, readback.Buffer(source), 0); err != nil {
							return err
						}
					}
					b.StartTimer()
					for pool.Pending() > 0 {
						begun := time.Now()
						n := pool.Poll(c)
						if n == 0 {
							took += time.Since(begun)
							polls++
						}
						pool.Process()
					}
				}
				return nil
			})
			b.ReportMetric(float64(took.Nanoseconds())/float64(max(polls, 1)), "ns/poll")
			b.ReportMetric(float64(polls)/float64(b.N), "polls/op")
		})
	}
}
