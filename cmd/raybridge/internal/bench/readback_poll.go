package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
)

// pollPending is how many captures wait behind one drawing while polls are timed;
// polledBytes is the size of each.
const (
	pollPending = 64
	polledBytes = 4 << 10
)

// pollTries bounds the polls of one drawing that are timed, pollDraws how often
// the drawing is made longer so that it outlasts some.
const (
	pollTries = 200
	pollDraws = 12
)

const (
	busyVertex = `#version 450 core
layout(location = 0) uniform int drawIndex;
flat out int rounds;
void main() {
	rounds = drawIndex;
	gl_Position = vec4(vec2(gl_VertexID & 1, gl_VertexID >> 1) * 4.0 - 1.0, 0.0, 1.0);
}
`
	busyFragment = `#version 450 core
flat in int rounds;
layout(location = 0) out vec4 color;
void main() {
	uint x = uint(gl_FragCoord.x) * 7919u + uint(gl_FragCoord.y);
	for (int i = 0; i < rounds; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
	}
	color = vec4(float(x & 255u) / 255.0);
}
`
	busySize = 256 // pixels to a side
)

// busyGPU has the GPU draw for a while, with captures behind.
type busyGPU struct {
	target  *gpu.Texture
	frame   *gpu.Framebuffer
	program *gpu.Program
	source  *gpu.Buffer
	pool    *readback.Pool[struct{}, uint32]
	err     error // of a capture

	polls []time.Duration // those that found all captures pending
}

// measurePoll measures what a poll costs while many captures are pending. Where
// the driver leaves none pending for long enough there is no figure, and
// cfg.Progress is told.
func measurePoll(ctx context.Context, cfg *Config) (results []Result, err error) {
	b := &busyGPU{}
	b.pool, err = readback.New(readback.Config{Label: "bench poll", Slots: pollPending, MaxElements: polledBytes / 4, NoTimers: true},
		func(_ *readback.Capture[struct{}, uint32], lease readback.Lease[uint32], err error) {
			lease.Release()
			b.err = errors.Join(b.err, err)
		})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := cfg.GL.Do(ctx, b.make); err != nil {
		return nil, err
	}
	row := Result{Name: "readback.poll_us", Case: fmt.Sprintf("%d_pending", pollPending), Unit: "µs"}
	polls := 0
	for rounds, draws := 1<<8, 0; len(row.Runs) < cfg.Runs && draws < pollDraws; draws++ {
		if err := b.run(ctx, cfg.GL, rounds); err != nil {
			return nil, err
		}
		if len(b.polls) < pollTries/2 {
			rounds *= 2
			continue
		}
		polls += len(b.polls)
		slices.Sort(b.polls)
		row.Runs = append(row.Runs, float64(b.polls[len(b.polls)/2])/float64(time.Microsecond))
	}
	if len(row.Runs) == 0 {
		fmt.Fprintf(cfg.Progress, "readback: a poll isn't measured: the driver leaves no %d captures pending for long enough\n", pollPending)
		return nil, nil
	}
	row.Note = fmt.Sprintf("median of a run's polls, %d in all, each with %d captures behind a drawing that wasn't finished", polls, pollPending)
	return []Result{row}, nil
}

// run draws, starts the captures, times polls, and waits for the captures.
func (b *busyGPU) run(ctx context.Context, gl *gpu.Thread, rounds int) error {
	err := gl.Do(ctx, func(c *gpu.Ctx) error { return b.poll(c, rounds) })
	for err == nil && b.pool.Pending() > 0 {
		err = gl.Do(ctx, func(c *gpu.Ctx) error {
			b.pool.Poll(c)
			return nil
		})
		b.pool.Process()
	}
	return errors.Join(err, b.err)
}

// poll times polls as long as all captures are pending. GL thread.
func (b *busyGPU) poll(c *gpu.Ctx, rounds int) error {
	b.polls = b.polls[:0]
	draw := gpu.Draw{Program: b.program, Framebuffer: b.frame, Calls: []gpu.DrawCall{{Count: 3, Index: rounds}}}
	if err := c.Draw(&draw); err != nil {
		return err
	}
	for range pollPending {
		if _, err := b.pool.Start(c, readback.Buffer(b.source), 0); err != nil {
			return err
		}
	}
	for range pollTries {
		begun := time.Now()
		b.pool.Poll(c)
		took := time.Since(begun)
		if b.pool.Stats().InFlight < pollPending {
			break
		}
		b.polls = append(b.polls, took)
	}
	return nil
}

// make makes what is drawn and read. GL thread.
func (b *busyGPU) make(c *gpu.Ctx) (err error) {
	b.target, err = c.NewTexture(gpu.TextureDesc{Label: "bench", Kind: gpu.Texture2D, Format: gpu.FormatRGBA8, Width: busySize, Height: busySize})
	if err != nil {
		return err
	}
	if b.frame, err = c.NewFramebuffer(gpu.FramebufferDesc{Label: "bench", Color: []*gpu.Texture{b.target}}); err != nil {
		return err
	}
	if b.program, err = c.NewProgram(gpu.ProgramDesc{Label: "bench", Vertex: busyVertex, Fragment: busyFragment}); err != nil {
		return err
	}
	if b.source, err = c.NewBuffer(gpu.BufferDesc{Label: "bench", Size: polledBytes}); err != nil {
		return err
	}
	return b.pool.Prepare(c)
}

func (b *busyGPU) close() error {
	err := b.pool.Close()
	if b.source != nil {
		b.source.Close()
	}
	if b.program != nil {
		b.program.Close()
	}
	if b.frame != nil {
		b.frame.Close()
	}
	if b.target != nil {
		b.target.Close()
	}
	return err
}
