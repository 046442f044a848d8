//go:build cgo

package readback_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { gputest.Main(m) }

// point mirrors the GLSL struct of pointShader.
type point struct {
	Position readback.Vec4
	ID       uint32
	Range    float32
	Cell     readback.UVec2
}

const pointShader = `#version 450 core
layout(local_size_x = 64) in;
struct Point { vec4 position; uint id; float range; uvec2 cell; };
layout(std430, binding = 0) buffer Points { Point points[]; };
void main() {
	uint i = gl_GlobalInvocationID.x;
	if (i >= uint(points.length())) return;
	points[i] = Point(vec4(i, float(i) * 0.5, -float(i), 1.0), i * 2654435761u, float(i) * 0.25, uvec2(i, ~i));
}
`

func pointAt(i int) point {
	f := float32(i)
	return point{readback.Vec4{f, f * 0.5, -f, 1}, uint32(i) * 2654435761, f * 0.25, readback.UVec2{uint32(i), ^uint32(i)}}
}

const imageShader = `#version 450 core
layout(local_size_x = 8, local_size_y = 8) in;
layout(rgba8, binding = 0) writeonly uniform image2D picture;
void main() {
	ivec2 p = ivec2(gl_GlobalInvocationID.xy);
	ivec2 size = imageSize(picture);
	if (p.x >= size.x || p.y >= size.y) return;
	imageStore(picture, p, vec4(p.x % 256, p.y % 256, (p.x * 7 + p.y * 13) % 256, 255) / 255.0);
}
`

// liveModes are those that every driver can do.
var liveModes = []readback.CopyMode{readback.CopyAuto, readback.CopyBeforeFence, readback.CopyAfterFence}

// pollUntilReady polls as a frame loop does, one hop at a time.
func pollUntilReady[D, E any](t *testing.T, thread *gpu.Thread, pool *readback.Pool[D, E], want int) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for n := 0; n < want; {
		require.True(t, time.Now().Before(deadline), "the GPU did not finish %d captures", want)
		gputest.Do(t, thread, func(c *gpu.Ctx) error {
			n += pool.Poll(c)
			return nil
		})
	}
}

func TestLiveBufferComesBackBitEqual(t *testing.T) {
	thread := gputest.Thread(t)
	const points, rounds = 10_007, 5
	for _, mode := range liveModes {
		t.Run(mode.String(), func(t *testing.T) {
			var got [][]point
			pool, err := readback.New(readback.Config{Label: "points", MaxElements: points, CopyMode: mode},
				func(_ *readback.Capture[struct{}, point], l readback.Lease[point], err error) {
					defer l.Release()
					require.NoError(t, err)
					got = append(got, l.AppendTo(nil))
				})
			require.NoError(t, err)
			defer func() { require.NoError(t, pool.Close()) }()

			var program *gpu.Program
			var buffer *gpu.Buffer
			gputest.Do(t, thread, func(c *gpu.Ctx) (err error) {
				if program, err = c.NewProgram(gpu.ProgramDesc{Label: "points", Compute: pointShader}); err != nil {
					return err
				}
				buffer, err = c.NewBuffer(gpu.BufferDesc{Label: "points", Size: points * 32})
				return err
			})
			defer program.Close()
			defer buffer.Close()

			for round := range rounds {
				gputest.Do(t, thread, func(c *gpu.Ctx) error {
					if err := pool.Begin(c); err != nil {
						return err
					}
					dispatch := gpu.Dispatch{
						Program: program,
						Bind:    []gpu.Binding{{Kind: gpu.BindStorage, Buffer: buffer}},
						Groups:  [3]int{(points + 63) / 64, 1, 1},
					}
					if err := c.Dispatch(&dispatch); err != nil {
						return err
					}
					_, err := pool.Start(c, readback.Buffer(buffer), simtime.Stamp(round))
					return err
				})
				pollUntilReady(t, thread, pool, 1)
				require.Equal(t, 1, pool.Process())
			}
			require.Len(t, got, rounds)
			for _, round := range got {
				require.Len(t, round, points)
				for i, p := range round {
					if want := pointAt(i); p != want {
						t.Fatalf("point %d: got %+v, want %+v", i, p, want)
					}
				}
			}
			stats := pool.Stats()
			t.Logf("copy %v; total %v median, %v max; gpu %v", pool.CopyMode(), stats.Total.Quantile(0.5), stats.Total.Max, stats.GPU.Quantile(0.5))
		})
	}
}

func TestLiveTextureComesBackBitEqual(t *testing.T) {
	thread := gputest.Thread(t)
	const width, height = 333, 57 // rows of no multiple of 4 or 8 pixels
	for _, mode := range liveModes {
		t.Run(mode.String(), func(t *testing.T) {
			var got [][4]uint8
			pool, err := readback.New(readback.Config{Label: "picture", MaxElements: width * height, CopyMode: mode},
				func(_ *readback.Capture[struct{}, [4]uint8], l readback.Lease[[4]uint8], err error) {
					defer l.Release()
					require.NoError(t, err)
					got = l.AppendTo(nil)
				})
			require.NoError(t, err)
			defer func() { require.NoError(t, pool.Close()) }()

			var program *gpu.Program
			var picture *gpu.Texture
			gputest.Do(t, thread, func(c *gpu.Ctx) (err error) {
				if program, err = c.NewProgram(gpu.ProgramDesc{Label: "picture", Compute: imageShader}); err != nil {
					return err
				}
				picture, err = c.NewTexture(gpu.TextureDesc{Label: "picture", Format: gpu.FormatRGBA8, Width: width, Height: height})
				return err
			})
			defer program.Close()
			defer picture.Close()

			gputest.Do(t, thread, func(c *gpu.Ctx) error {
				dispatch := gpu.Dispatch{
					Program: program,
					Bind:    []gpu.Binding{{Kind: gpu.BindImage, Texture: picture, Access: gpu.WriteOnly}},
					Groups:  [3]int{(width + 7) / 8, (height + 7) / 8, 1},
				}
				if err := c.Dispatch(&dispatch); err != nil {
					return err
				}
				_, err := pool.Start(c, readback.Texture(picture), 0)
				return err
			})
			pollUntilReady(t, thread, pool, 1)
			require.Equal(t, 1, pool.Process())
			require.Len(t, got, width*height)
			for i, p := range got {
				x, y := i%width, i/width
				if want := [4]uint8{uint8(x), uint8(y), uint8(x*7 + y*13), 255}; p != want {
					t.Fatalf("pixel %d, %d: got %v, want %v", x, y, p, want)
				}
			}
		})
	}
}

// A level and a format of its own: floats of the R channel of level 1.
func TestLiveTextureLevelConverts(t *testing.T) {
	thread := gputest.Thread(t)
	var got []float32
	pool, err := readback.New(readback.Config{Label: "level", MaxElements: 8 * 4},
		func(_ *readback.Capture[struct{}, float32], l readback.Lease[float32], err error) {
			defer l.Release()
			require.NoError(t, err)
			got = l.AppendTo(nil)
		})
	require.NoError(t, err)
	defer func() { require.NoError(t, pool.Close()) }()
	var texture *gpu.Texture
	gputest.Do(t, thread, func(c *gpu.Ctx) (err error) {
		texture, err = c.NewTexture(gpu.TextureDesc{Label: "level", Format: gpu.FormatRGBA8, Width: 16, Height: 8, Levels: 2})
		if err != nil {
			return err
		}
		pixels := make([]byte, 8*4*4)
		for i := range 8 * 4 {
			pixels[4*i], pixels[4*i+1] = uint8(i*5), 99
		}
		if err := c.WriteTexture(texture, gpu.TextureRegion{Level: 1}, pixels); err != nil {
			return err
		}
		_, err = pool.Start(c, readback.TextureLevel(texture, 1, gpu.FormatR32F), 0)
		return err
	})
	defer texture.Close()
	pollUntilReady(t, thread, pool, 1)
	require.Equal(t, 1, pool.Process())
	require.Len(t, got, 8*4)
	for i, v := range got {
		require.InDelta(t, float64(i*5)/255, v, 1e-6, "pixel %d", i)
	}
}

// A range of a buffer, and a delayed device. The bytes are those of the moment of Start
// although the source is written again before the fence is seen.
func TestLiveBufferRangeKeepsTheMomentOfStart(t *testing.T) {
	thread := gputest.Thread(t)
	var got []uint32
	pool, err := readback.New(readback.Config{Label: "range", MaxElements: 4, CopyMode: readback.CopyBeforeFence},
		func(_ *readback.Capture[struct{}, uint32], l readback.Lease[uint32], err error) {
			defer l.Release()
			require.NoError(t, err)
			got = l.AppendTo(nil)
		})
	require.NoError(t, err)
	defer func() { require.NoError(t, pool.Close()) }()
	var buffer *gpu.Buffer
	gputest.Do(t, thread, func(c *gpu.Ctx) (err error) {
		data := []byte{0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}
		if buffer, err = c.NewBuffer(gpu.BufferDesc{Label: "range", Size: len(data), Data: data}); err != nil {
			return err
		}
		if _, err = pool.Start(c, readback.BufferRange(buffer, 4, 8), 0); err != nil {
			return err
		}
		return c.WriteBuffer(buffer, 0, make([]byte, len(data)))
	})
	defer buffer.Close()
	pollUntilReady(t, thread, pool, 1)
	require.Equal(t, 1, pool.Process())
	require.Equal(t, []uint32{1, 2}, got)
}

func TestLiveProbeTellsAndRemembers(t *testing.T) {
	thread := gputest.Thread(t)
	var found, again readback.Probing
	gputest.Do(t, thread, func(c *gpu.Ctx) error {
		found, again = readback.Probe(c), readback.Probe(c)
		return nil
	})
	info := thread.Info()
	t.Logf("%s: copy %v, measured %v, copy call %v, err %v", info.Renderer, found.Mode, found.Measured, found.CopyCall, found.Err)
	require.NoError(t, found.Err)
	require.Contains(t, []readback.CopyMode{readback.CopyBeforeFence, readback.CopyAfterFence}, found.Mode)
	if !found.Measured || strings.HasPrefix(info.Renderer, "llvmpipe") { // whose copies wait for what is drawn
		require.Equal(t, info.Software, found.Mode == readback.CopyAfterFence)
	}
	require.Equal(t, found, again)
}

// GPU times lie on the host's time line between the capture's other stages.
func TestLiveGPUTimesLieOnTheHostsClock(t *testing.T) {
	thread := gputest.Thread(t)
	if thread.Info().TimestampBits == 0 {
		t.Skip("the driver has no timestamps")
	}
	var times readback.Times
	pool, err := readback.New(readback.Config{Label: "times", MaxElements: 1 << 20},
		func(k *readback.Capture[struct{}, uint32], l readback.Lease[uint32], err error) {
			defer l.Release()
			require.NoError(t, err)
			times = k.Times()
		})
	require.NoError(t, err)
	defer func() { require.NoError(t, pool.Close()) }()
	var buffer *gpu.Buffer
	gputest.Do(t, thread, func(c *gpu.Ctx) (err error) {
		if buffer, err = c.NewBuffer(gpu.BufferDesc{Label: "times", Size: 4 << 20}); err != nil {
			return err
		}
		if err := pool.Begin(c); err != nil {
			return err
		}
		_, err = pool.Start(c, readback.Buffer(buffer), math.MinInt64)
		return err
	})
	defer buffer.Close()
	pollUntilReady(t, thread, pool, 1)
	require.NoError(t, pool.Drain(context.Background()))
	const slack = 5 * time.Millisecond // of comparing two clocks on a busy machine
	require.False(t, times.GPUBegin.IsZero())
	require.WithinRange(t, times.GPUBegin, times.Started.Add(-slack), times.FenceSeen.Add(slack))
	require.WithinRange(t, times.GPUEnd, times.GPUBegin, times.FenceSeen.Add(slack))
	require.False(t, times.Ready.Before(times.FenceSeen))
	require.False(t, times.Completed.Before(times.Ready))
	t.Logf("started 0, gpu %v to %v, fence %v, ready %v, completed %v", times.GPUBegin.Sub(times.Started),
		times.GPUEnd.Sub(times.Started), times.FenceSeen.Sub(times.Started), times.Ready.Sub(times.Started), times.Completed.Sub(times.Started))
}

// The real driver's fences and copies allocate nothing either.
func TestLiveSteadyStateAllocatesNothing(t *testing.T) {
	if readback.Checking {
		t.Skip("checking builds lend copies")
	}
	thread := gputest.Thread(t)
	pool, err := readback.New(readback.Config{Label: "steady", MaxElements: 16},
		func(_ *readback.Capture[meta, uint32], l readback.Lease[uint32], _ error) { l.Release() })
	require.NoError(t, err)
	defer func() { require.NoError(t, pool.Close()) }()
	var allocs float64
	gputest.Do(t, thread, func(c *gpu.Ctx) error {
		buffer, err := c.NewBuffer(gpu.BufferDesc{Label: "steady", Size: 64})
		if err != nil {
			return err
		}
		defer buffer.Close()
		allocs = testing.AllocsPerRun(200, func() {
			if err = pool.Begin(c); err == nil {
				_, err = pool.Start(c, readback.Buffer(buffer), 0)
			}
			for range 1000 {
				if pool.Poll(c) > 0 {
					break
				}
				runtime.Gosched() // to the host device
			}
			pool.Process()
		})
		return err
	})
	require.Zero(t, allocs)
}

// BenchmarkLiveCapture reads 4 MiB back and waits for it.
func BenchmarkLiveCapture(b *testing.B) {
	thread := gputest.Thread(b)
	pool, err := readback.New(readback.Config{Label: "bench", MaxElements: 1 << 20},
		func(_ *readback.Capture[meta, uint32], l readback.Lease[uint32], _ error) { l.Release() })
	require.NoError(b, err)
	defer func() { require.NoError(b, pool.Close()) }()
	gputest.Do(b, thread, func(c *gpu.Ctx) error {
		buffer, err := c.NewBuffer(gpu.BufferDesc{Label: "bench", Size: 4 << 20})
		if err != nil {
			return err
		}
		defer buffer.Close()
		if err := pool.Prepare(c); err != nil {
			return err
		}
		b.ReportAllocs()
		b.SetBytes(4 << 20)
		for b.Loop() {
			if _, err := pool.Start(c, readback.Buffer(buffer), 0); err != nil {
				return err
			}
			for pool.Poll(c) == 0 {
			}
			pool.Process()
		}
		return nil
	})
}

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
					// Long enough to outlast the first polls.
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
					if err := c.Flush(); err != nil {
						return err
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
