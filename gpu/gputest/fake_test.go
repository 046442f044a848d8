package gputest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
)

// do runs f on a fake's thread.
func do(t *testing.T, thread *gpu.Thread, f func(*gpu.Ctx) error) {
	t.Helper()
	require.NoError(t, thread.Do(t.Context(), f))
}

// rig is a source, a staging buffer and a compute program on a fake.
type rig struct {
	fake         *gputest.Fake
	thread       *gpu.Thread
	src, staging *gpu.Buffer
	program      *gpu.Program
}

// newRig's program adds 1 to each byte of the source.
func newRig(t *testing.T) *rig {
	r := &rig{fake: gputest.NewFake()}
	r.thread = r.fake.Start(t)
	r.fake.OnDispatch("increment", func(i gputest.Invocation) {
		for n := range i.Storage(0) {
			i.Storage(0)[n]++
		}
	})
	do(t, r.thread, func(c *gpu.Ctx) (err error) {
		if r.src, err = c.NewBuffer(gpu.BufferDesc{Label: "points", Size: 4, Data: []byte{1, 2, 3, 4}}); err != nil {
			return err
		}
		if r.staging, err = c.NewBuffer(gpu.BufferDesc{Label: "staging", Size: 4, Usage: gpu.UsageReadback}); err != nil {
			return err
		}
		r.program, err = c.NewProgram(gpu.ProgramDesc{Label: "increment", Compute: "void main() {}"})
		return err
	})
	t.Cleanup(func() { r.src.Close(); r.staging.Close(); r.program.Close() })
	return r
}

func (r *rig) dispatch(c *gpu.Ctx) error {
	return c.Dispatch(&gpu.Dispatch{
		Program: r.program, Groups: [3]int{1, 1, 1},
		Bind: []gpu.Binding{{Kind: gpu.BindStorage, Slot: 0, Buffer: r.src}},
	})
}

func TestFakeCopiesNoSoonerThanTheFenceSignals(t *testing.T) {
	r := newRig(t)
	r.fake.SetFences(gputest.FenceScript{Polls: 2})
	r.fake.ClearLog()
	unwritten := bytes.Repeat([]byte{0xA5}, 4)
	do(t, r.thread, func(c *gpu.Ctx) error {
		if err := r.dispatch(c); err != nil {
			return err
		}
		if err := c.Barrier(gpu.BarrierFor(gpu.SourceBuffer)); err != nil {
			return err
		}
		if err := c.CopyBuffer(r.staging, r.src, 0, 0, 4); err != nil {
			return err
		}
		fence, err := c.NewFence()
		if err != nil {
			return err
		}
		defer fence.Close()
		for range 2 {
			assert.Equal(t, gpu.FencePending, c.PollFence(fence))
			assert.Equal(t, unwritten, r.staging.Bytes())
		}
		assert.Equal(t, gpu.FenceSignaled, c.PollFence(fence))
		assert.Equal(t, []byte{2, 3, 4, 5}, r.staging.Bytes())
		return nil
	})
	assert.Equal(t, []string{
		`Dispatch "increment" [1 1 1] storage0="points"`,
		`Barrier buffer update`,
		`CopyBuffer "staging"[0:4] <- "points"[0:4]`,
		`CreateFence 0`,
		`Flush`,
		`PollFence 0 = pending`,
		`PollFence 0 = pending`,
		`PollFence 0 = signaled`,
	}, r.fake.Log())
}

func TestFakeFencesSignalInAnyOrder(t *testing.T) {
	r := newRig(t)
	r.fake.SetFences(gputest.FenceScript{Hold: true})
	do(t, r.thread, func(c *gpu.Ctx) error {
		var fences []*gpu.Fence
		for range 3 {
			f, err := c.NewFence()
			if err != nil {
				return err
			}
			defer f.Close()
			fences = append(fences, f)
		}
		r.fake.Signal(2)
		r.fake.FailFence(0)
		assert.Equal(t, gpu.FenceFailed, c.PollFence(fences[0]))
		assert.Equal(t, gpu.FencePending, c.PollFence(fences[1]))
		assert.Equal(t, gpu.FenceSignaled, c.PollFence(fences[2]))
		return nil
	})
	assert.Equal(t, 3, r.fake.Fences())
}

func TestFakeNotesMisuse(t *testing.T) {
	tests := map[string]struct {
		misuse func(*rig, *gpu.Ctx) error
		fault  string
	}{
		"host writes a held source": {func(r *rig, c *gpu.Ctx) error {
			c.Hold(r.src)
			defer c.Unhold(r.src)
			return c.WriteBuffer(r.src, 0, []byte{9})
		}, `WriteBuffer writes "points", which a later copy still needs`},
		"shader writes a held source": {func(r *rig, c *gpu.Ctx) error {
			c.Hold(r.src)
			defer c.Unhold(r.src)
			return r.dispatch(c)
		}, `dispatch "increment" writes "points", which a later copy still needs`},
		"copy of shader output without a barrier": {func(r *rig, c *gpu.Ctx) error {
			return errors.Join(r.dispatch(c), c.Barrier(gpu.BarrierStorage), c.CopyBuffer(r.staging, r.src, 0, 0, 4))
		}, `CopyBuffer reads "points" without the barrier "buffer update" after a shader wrote it`},
		"released more often than held": {func(r *rig, c *gpu.Ctx) error {
			c.Unhold(r.src)
			return nil
		}, `buffer "points" is released more often than held`},
		"a failure that never came": {func(r *rig, c *gpu.Ctx) error {
			r.fake.Fail("CreateQuery", errors.New("no memory"))
			return nil
		}, `script: no call of CreateQuery came to fail with "no memory"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			do(t, r.thread, func(c *gpu.Ctx) error { return tt.misuse(r, c) })
			assert.Equal(t, []string{tt.fault}, r.fake.Faults())
			r.fake.ClearFaults()
		})
	}
}

func TestFakeAllowsWhatIsRight(t *testing.T) {
	r := newRig(t)
	do(t, r.thread, func(c *gpu.Ctx) error {
		c.Hold(r.src)
		err := errors.Join(
			c.CopyBuffer(r.staging, r.src, 0, 0, 4), // reads only
			r.writeElsewhere(c),
		)
		c.Unhold(r.src)
		return errors.Join(err, r.dispatch(c), c.Barrier(gpu.BarrierBufferUpdate), c.CopyBuffer(r.staging, r.src, 0, 0, 4))
	})
	assert.Empty(t, r.fake.Faults())
}

func (r *rig) writeElsewhere(c *gpu.Ctx) error {
	b, err := c.NewBuffer(gpu.BufferDesc{Label: "other", Size: 1})
	if err != nil {
		return err
	}
	defer b.Close()
	return c.WriteBuffer(b, 0, []byte{1})
}

func TestFakeFailsAndLosesByScript(t *testing.T) {
	r := newRig(t)
	full := errors.New("out of memory")
	r.fake.Fail("CreateFence", full)
	err := r.thread.Do(t.Context(), func(c *gpu.Ctx) error {
		_, err := c.NewFence()
		return err
	})
	require.ErrorIs(t, err, full)
	var fence *gpu.Fence
	do(t, r.thread, func(c *gpu.Ctx) (err error) {
		fence, err = c.NewFence()
		return err
	})
	defer fence.Close()
	r.fake.Lose()
	err = r.thread.Do(t.Context(), func(c *gpu.Ctx) error {
		assert.Equal(t, gpu.FenceFailed, c.PollFence(fence))
		return nil
	})
	require.ErrorIs(t, err, gpu.ErrContextLost)
}

func TestFakeMemoryOfADeletedBufferIsPoisoned(t *testing.T) {
	fake := gputest.NewFake()
	thread := fake.Start(t)
	var mapped []byte
	do(t, thread, func(c *gpu.Ctx) error {
		b, err := c.NewBuffer(gpu.BufferDesc{Label: "staging", Size: 2, Usage: gpu.UsageReadback})
		if err != nil {
			return err
		}
		mapped = b.Bytes()
		b.Close()
		return nil
	})
	do(t, thread, func(*gpu.Ctx) error { return nil }) // its entry deletes the buffer
	assert.Equal(t, []byte{0xDD, 0xDD}, mapped)
}

func TestFakeTextures(t *testing.T) {
	fake := gputest.NewFake()
	thread := fake.Start(t)
	do(t, thread, func(c *gpu.Ctx) error {
		ids, err := c.NewTexture(gpu.TextureDesc{Label: "ids", Format: gpu.FormatR32UI, Width: 2, Height: 2})
		if err != nil {
			return err
		}
		defer ids.Close()
		fb, err := c.NewFramebuffer(gpu.FramebufferDesc{Label: "visibility", Color: []*gpu.Texture{ids}})
		if err != nil {
			return err
		}
		defer fb.Close()
		got := make([]byte, 16)
		err = errors.Join(
			c.Clear(fb, gpu.ClearColor{Uint: [4]uint32{7}}),
			c.WriteTexture(ids, gpu.TextureRegion{X: 1, Y: 1, Width: 1, Height: 1}, []byte{1, 0, 0, 0}),
			c.ReadTexture(ids, 0, got),
		)
		var want []byte
		for _, v := range []uint32{7, 7, 7, 1} {
			want = binary.LittleEndian.AppendUint32(want, v)
		}
		assert.Equal(t, want, got)
		return err
	})
	assert.True(t, strings.HasPrefix(fake.Log()[0], `CreateTexture "ids" R32UI 2x2`), fake.Log()[0])
}

func TestDelayHoldsFencesBack(t *testing.T) {
	fake := gputest.NewFake()
	thread, err := gpu.Start(gputest.Delay(fake.Open, 3))
	require.NoError(t, err)
	defer thread.Close()
	var answers []gpu.FenceStatus
	require.NoError(t, thread.Do(context.Background(), func(c *gpu.Ctx) error {
		fence, err := c.NewFence()
		if err != nil {
			return err
		}
		defer fence.Close()
		for range 5 {
			answers = append(answers, c.PollFence(fence))
		}
		return nil
	}))
	pending, signaled := gpu.FencePending, gpu.FenceSignaled
	assert.Equal(t, []gpu.FenceStatus{pending, pending, pending, signaled, signaled}, answers)
}

func ExampleFake() {
	fake := gputest.NewFake()
	fake.SetFences(gputest.FenceScript{Polls: 1})
	thread, err := gpu.Start(fake.Open)
	if err != nil {
		panic(err)
	}
	defer thread.Close()
	if err := thread.Do(context.Background(), func(c *gpu.Ctx) error {
		fence, err := c.NewFence()
		if err != nil {
			return err
		}
		defer fence.Close()
		for c.PollFence(fence) == gpu.FencePending {
		}
		return nil
	}); err != nil {
		panic(err)
	}
	for _, line := range fake.Log() {
		fmt.Println(line)
	}
	// Output:
	// CreateFence 0
	// Flush
	// PollFence 0 = pending
	// PollFence 0 = signaled
}
