package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
)

// readbackSizes are the buffers that are read back.
var readbackSizes = []int{64 << 10, 1 << 20, 8 << 20, 32 << 20} // bytes

// bufferSlots is how many captures of a buffer are under way, or lent.
const bufferSlots = 4

// bareReadback measures buffers and textures without sensors, and CUDA's copies of the same
// sizes where there are any.
func bareReadback(ctx context.Context, cfg *Config) ([]Result, error) {
	results, err := measureBytes(ctx, cfg)
	if err != nil {
		return nil, err
	}
	pinned, err := cudaResults(ctx, cfg, readbackSizes)
	return slices.Concat(results, pinned, shareOfPinned(results, pinned)), err
}

// shareOfPinned returns the pool's rates in percent of those of pinned copies.
func shareOfPinned(results, pinned []Result) (rows []Result) {
	for i := range pinned {
		at := slices.IndexFunc(results, func(r Result) bool { return r.Name == "readback.bytes_per_s" && r.Case == pinned[i].Case })
		if at >= 0 {
			shares := times(100, ratios(results[at].Runs, pinned[i].Runs))
			rows = append(rows, Result{"readback.percent_of_pinned", pinned[i].Case, "%", shares, "of cuda.pinned_bytes_per_s, run by run"})
		}
	}
	return rows
}

// sourceCase is what is read back: a storage buffer, a texture, or a level of one.
type sourceCase struct {
	named
	row   string // begins the rows' names
	what  string
	bytes int // of one capture
	// open makes what is read, which holds want. GL thread.
	open func(c *gpu.Ctx, want []byte) (source readback.Source, made closer, err error)
}

// closer is an object of the GPU.
type closer interface{ Close() }

// The texture that is read, as a physical camera has its developed picture: whole for the
// sensor, and a level for a preview. Pixels have 4 bytes.
const textureWidth, textureHeight, previewLevel = 1280, 720, 2

func sourceCases() (list []sourceCase) {
	for _, size := range readbackSizes {
		list = append(list, sourceCase{named{byteSize(size)}, "readback", "a storage buffer", size,
			func(c *gpu.Ctx, want []byte) (readback.Source, closer, error) {
				b, err := c.NewBuffer(gpu.BufferDesc{Label: "bench source", Size: len(want), Data: want})
				if err != nil {
					return readback.Source{}, nil, err
				}
				return readback.Buffer(b), b, nil
			}})
	}
	for _, level := range []int{0, previewLevel} {
		width, height := textureWidth>>level, textureHeight>>level
		k := sourceCase{named{fmt.Sprintf("%dx%d", width, height)}, "readback.texture", "a texture of 4 bytes a pixel", 4 * width * height, nil}
		if level > 0 {
			k.row, k.what = "readback.texture_level", fmt.Sprintf("level %d of a texture of %dx%d", level, textureWidth, textureHeight)
		}
		k.open = func(c *gpu.Ctx, want []byte) (readback.Source, closer, error) {
			t, err := c.NewTexture(gpu.TextureDesc{
				Label: "bench source", Kind: gpu.Texture2D, Format: gpu.FormatRGBA8, Width: textureWidth, Height: textureHeight, Levels: previewLevel + 1,
			})
			if err != nil {
				return readback.Source{}, nil, err
			}
			err = c.WriteTexture(t, gpu.TextureRegion{Level: level, Width: width, Height: height}, want)
			if level == 0 {
				return readback.Texture(t), t, err
			}
			return readback.TextureLevel(t, level, gpu.FormatNone), t, err
		}
		list = append(list, k)
	}
	return list
}

// measureBytes measures how fast the pool reads buffers and textures back beside memcpy,
// and what a poll costs. One pool reads all of them.
func measureBytes(ctx context.Context, cfg *Config) (results []Result, err error) {
	b := &bufferReader{gl: cfg.GL}
	if b.pool, err = readback.New(readback.Config{Label: "bench", Slots: bufferSlots, MaxElements: 1}, b.complete); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.pool.Close()) }()
	for _, k := range sourceCases() {
		list, err := b.measure(ctx, cfg, &k)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", k.row, k.name, err)
		}
		results = append(results, list...)
	}
	poll, err := measurePoll(ctx, cfg)
	return append(results, poll...), err
}

// measure measures one source: leases only, leases that are copied, and memcpy, in turn.
func (b *bufferReader) measure(ctx context.Context, cfg *Config, k *sourceCase) (results []Result, err error) {
	if err := b.pool.Resize(k.bytes / 4); err != nil {
		return nil, err
	}
	b.want, b.copied = newBlob(k.bytes).data, make([]uint32, 0, k.bytes/4)
	var made closer
	err = b.gl.Do(ctx, func(c *gpu.Ctx) (err error) {
		if b.source, made, err = k.open(c, b.want); err != nil {
			return err
		}
		return b.pool.Prepare(c)
	})
	if made != nil {
		defer made.Close()
	}
	if err == nil {
		err = b.verify(ctx)
	}
	if err != nil {
		return nil, err
	}
	leased := fmt.Sprintf("leases of %s, %d captures under way, copies %v", k.what, bufferSlots, b.pool.CopyMode())
	results = []Result{
		{k.row + ".bytes_per_s", k.name, "bytes/s", nil, leased},
		{k.row + ".copied_bytes_per_s", k.name, "bytes/s", nil, "each lease copied"},
		{"memcpy.bytes_per_s", k.name, "bytes/s", nil, "between two warm buffers"},
	}
	for range cfg.Runs {
		for i, run := range []func(context.Context, time.Duration) (float64, error){b.lease, b.copy, b.memcpy} {
			rate, err := run(ctx, cfg.RunTime/10)
			if err != nil {
				return nil, err
			}
			results[i].Runs = append(results[i].Runs, rate)
		}
	}
	return results, nil
}

// bufferReader reads one source after the other back, each again and again.
type bufferReader struct {
	gl     *gpu.Thread
	source readback.Source
	pool   *wordPool
	want   []byte // what the source holds
	copied []uint32

	copying bool  // copy each lease
	done    int   // captures completed
	err     error // of a capture
}

func (b *bufferReader) complete(_ *readback.Capture[struct{}, uint32], lease readback.Lease[uint32], err error) {
	if b.copying && err == nil {
		b.copied = lease.AppendTo(b.copied[:0])
	}
	lease.Release()
	b.done++
	b.err = errors.Join(b.err, err)
}

// feed polls, and starts captures as long as there is room. GL thread.
func (b *bufferReader) feed(c *gpu.Ctx) error {
	b.pool.Poll(c)
	for range bufferSlots {
		_, err := b.pool.Start(c, b.source, 0)
		if errors.Is(err, readback.ErrFull) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// read keeps all slots busy for so long, and returns bytes per second.
func (b *bufferReader) read(ctx context.Context, runTime time.Duration) (float64, error) {
	b.done = 0
	begun := time.Now()
	for b.done == 0 || time.Since(begun) < runTime {
		if err := errors.Join(b.gl.Do(ctx, b.feed), b.err); err != nil {
			return 0, err
		}
		b.pool.Process()
	}
	rate := float64(b.done) * float64(len(b.want)) / time.Since(begun).Seconds()
	return rate, errors.Join(drain(ctx, b.gl, b.pool), b.err)
}

// wordPool reads words back.
type wordPool = readback.Pool[struct{}, uint32]

// drain completes what a pool has under way, while the GL thread looks at its fences.
func drain(ctx context.Context, gl *gpu.Thread, pool *wordPool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var polling sync.WaitGroup
	polling.Go(func() {
		for ctx.Err() == nil {
			err := gl.Do(ctx, func(c *gpu.Ctx) error {
				pool.Poll(c)
				return nil
			})
			if err != nil {
				cancel(err)
			}
		}
	})
	err := pool.Drain(ctx)
	if err != nil {
		err = errors.Join(err, context.Cause(ctx))
	}
	cancel(nil)
	polling.Wait()
	return err
}

// lease only borrows the bytes.
func (b *bufferReader) lease(ctx context.Context, runTime time.Duration) (float64, error) {
	b.copying = false
	return b.read(ctx, runTime)
}

// copy keeps the bytes of each lease.
func (b *bufferReader) copy(ctx context.Context, runTime time.Duration) (float64, error) {
	b.copying = true
	return b.read(ctx, runTime)
}

// memcpy copies between two buffers of the host.
func (b *bufferReader) memcpy(ctx context.Context, runTime time.Duration) (float64, error) {
	to := newBlob(len(b.want)).data
	copies := 0
	begun := time.Now()
	for copies == 0 || time.Since(begun) < runTime && ctx.Err() == nil {
		copies += copy(to, b.want) / len(b.want)
	}
	return float64(copies) * float64(len(b.want)) / time.Since(begun).Seconds(), ctx.Err()
}

// verify reads the buffer back once and compares it; that also warms up.
func (b *bufferReader) verify(ctx context.Context) error {
	if _, err := b.copy(ctx, 0); err != nil {
		return err
	}
	if !bytes.Equal(gpu.BytesOf(b.copied), b.want) {
		return errors.New("what came back isn't what was put there")
	}
	return nil
}

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
layout(location = 0) flat out int rounds;
void main() {
	rounds = drawIndex;
	gl_Position = vec4(vec2(gl_VertexID & 1, gl_VertexID >> 1) * 4.0 - 1.0, 0.0, 1.0);
}
`
	busyFragment = `#version 450 core
layout(location = 0) flat in int rounds;
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
	pool    *wordPool
	err     error // of a capture

	polls []time.Duration // those that found all captures pending
}

// measurePoll measures what a poll costs while many captures are pending. Some devices have no
// figure: they can't run the bench's shader, or finish every capture too soon. Then it writes why to
// cfg.Progress.
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
	err = cfg.GL.Do(ctx, b.make)
	if _, missing := errors.AsType[*gpu.UnsupportedError](err); missing {
		fmt.Fprintf(cfg.Progress, "readback: a poll isn't measured: %v\n", err)
		return nil, nil
	}
	if err != nil {
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
	if err == nil {
		err = drain(ctx, gl, b.pool)
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
	b.source.Close()
	b.program.Close()
	b.frame.Close()
	b.target.Close()
	return err
}
