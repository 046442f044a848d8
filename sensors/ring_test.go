package sensors_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// counter is a sensor whose captures are a number each: the firing's.
type counter struct {
	sensors.Ring[string, uint64]
	t     *testing.T
	gl    *gpu.Thread
	drops map[flow.Cause]int
	got   []sensors.Capture[string]
	read  []uint64
}

func newCounter(t *testing.T, fake *gputest.Fake) *counter {
	s := &counter{t: t, gl: fake.Start(t), drops: map[flow.Cause]int{}}
	env := &sensors.Env{
		GL: s.gl, Log: slog.New(slog.DiscardHandler), Completed: func() {},
		Dropped: func(_ sensors.Tick, cause flow.Cause) { s.drops[cause]++ },
	}
	require.NoError(t, s.Open(&sensors.Spec{Name: "counter"}, env, func(k *sensors.Capture[string], numbers readback.Lease[uint64]) {
		s.got, s.read = append(s.got, *k), numbers.AppendTo(s.read)
	}))
	s.do(func(c *gpu.Ctx) error { return s.Make(c, 1) })
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func (s *counter) do(f func(*gpu.Ctx) error) { require.NoError(s.t, s.gl.Do(s.t.Context(), f)) }

// capture makes the capture of a firing, if there is room, and polls.
func (s *counter) capture(seq uint64) (issued bool, err error) {
	s.do(func(c *gpu.Ctx) error {
		var target *gpu.Buffer
		at := sensors.Tick{Due: simtime.Stamp(int64(seq) * 10), Seq: seq}
		if target, err = s.Take(c, at); target != nil {
			require.NoError(s.t, c.WriteBuffer(target, 0, gpu.BytesOf(slices.Repeat([]uint64{seq}, target.Size()/8))))
			issued, err = s.Start(c, sensors.Capture[string]{At: at, Header: at.Header("counter", spatial.Identity()), Data: "own"})
		}
		s.Poll(c)
		return nil
	})
	return issued, err
}

// finish lets all fences signal and publishes what was under way.
func (s *counter) finish(fake *gputest.Fake) {
	fake.SetFences(gputest.FenceScript{})
	for s.Pending() > 0 {
		for n := range fake.Fences() {
			fake.Signal(n)
		}
		s.do(func(c *gpu.Ctx) error {
			s.Poll(c)
			return nil
		})
		s.Process(1000)
	}
}

// TestASlowGPUDropsWhatFindsNoRoom has no fence signal until later captures have filled the
// ring. Those are counted, and the others come in order with what they were given. Where copies
// go after the fence, there is room for as many as there are targets. No target is written while
// it waits to be copied: the fake would fault.
func TestASlowGPUDropsWhatFindsNoRoom(t *testing.T) {
	fake := gputest.NewFake()
	slowGPU(t, fake, []uint64{0, 1, 2, 3})
	software := gputest.NewFake()
	info := software.Info()
	info.Software = true
	software.SetInfo(info)
	software.Fail("CreateProgram", errors.New("the probe measures nothing"))
	slowGPU(t, software, []uint64{0, 1})
}

func slowGPU(t *testing.T, fake *gputest.Fake, want []uint64) {
	t.Helper()
	s := newCounter(t, fake)
	fake.SetFences(gputest.FenceScript{Hold: true})
	for seq := range uint64(10) {
		issued, err := s.capture(seq)
		require.NoError(t, err)
		assert.Equal(t, slices.Contains(want, seq), issued, "capture %d", seq)
	}
	assert.Equal(t, map[flow.Cause]int{flow.CauseReadbackFull: 10 - len(want)}, s.drops)
	assert.Equal(t, len(want), s.Pending())
	assert.Zero(t, s.Process(1000), "nothing is published before its fence")
	s.finish(fake)
	require.Equal(t, want, s.read)
	for i, k := range s.got {
		assert.Equal(t, []any{want[i], simtime.Stamp(want[i]) * 10, "own"}, []any{k.At.Seq, k.Header.Stamp, k.Data})
	}
}

// hostMemory is a GPU whose memory is the host's.
func hostMemory() *gputest.Fake {
	fake := gputest.NewFake()
	info := fake.Info()
	info.HostMemory = true
	fake.SetInfo(info)
	return fake
}

// TestHostMemoryIsWrittenInPlace: captures need neither targets nor copies, and what is lent is not
// written until it is given back.
func TestHostMemoryIsWrittenInPlace(t *testing.T) {
	fake := hostMemory()
	slowGPU(t, fake, []uint64{0, 1, 2, 3})
	log := strings.Join(fake.Log(), "\n")
	assert.NotContains(t, log, "CopyBuffer")
	assert.NotContains(t, log, "counter records")
	assert.Equal(t, sensors.RingSlots, strings.Count(log, `CreateBuffer "counter"`))
}

// TestResizeCountsFromTheNextCapture: those under way keep their size, also where their copies
// are still to come.
func TestResizeCountsFromTheNextCapture(t *testing.T) {
	for name, fake := range map[string]*gputest.Fake{"hardware": gputest.NewFake(), "software": gputest.NewFake(), "host": hostMemory()} {
		info := fake.Info()
		info.Software = name == "software"
		fake.SetInfo(info)
		fake.Fail("CreateProgram", errors.New("the probe measures nothing"))
		s := newCounter(t, fake)
		fake.SetFences(gputest.FenceScript{Hold: true})
		for seq, records := range []int{1, 3} {
			require.NoError(t, s.Resize(records))
			_, err := s.capture(uint64(seq))
			require.NoError(t, err)
		}
		s.finish(fake)
		require.NoError(t, s.Resize(2))
		_, err := s.capture(2)
		require.NoError(t, err)
		s.finish(fake)
		assert.Equal(t, []uint64{0, 1, 1, 1, 2, 2}, s.read, name)
		assert.Empty(t, s.drops)
	}
}

// TestProcessGoesUpToAnInstant: the pool has the tick's stamp.
func TestProcessGoesUpToAnInstant(t *testing.T) {
	s := newCounter(t, gputest.NewFake())
	for seq := range uint64(2) {
		_, err := s.capture(seq)
		require.NoError(t, err)
	}
	_, err := s.capture(2)
	require.NoError(t, err)
	assert.Equal(t, 1, s.Process(0))
	assert.Equal(t, []uint64{0}, s.read)
}

// TestWhatBecomesOfLostCaptures: one that doesn't come back has its cause, and one that
// the end finds has another.
func TestWhatBecomesOfLostCaptures(t *testing.T) {
	fake := gputest.NewFake()
	s := newCounter(t, fake)
	fake.Fail("PollFence", errors.New("scripted"))
	for seq := range uint64(3) {
		_, err := s.capture(seq)
		require.NoError(t, err)
		s.Process(1000)
	}
	assert.Equal(t, map[flow.Cause]int{flow.CauseReadbackFailed: 1}, s.drops)
	fake.SetFences(gputest.FenceScript{Hold: true})
	_, err := s.capture(3)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	assert.Equal(t, map[flow.Cause]int{flow.CauseReadbackFailed: 1, flow.CauseClosed: 1}, s.drops)
	require.NoError(t, s.Close())
}

// TestOnlyAFullRingDrops: every other error is the caller's, and counts nothing.
func TestOnlyAFullRingDrops(t *testing.T) {
	fake := gputest.NewFake()
	s := newCounter(t, fake)
	require.NoError(t, s.Close())
	issued, err := s.capture(0)
	require.ErrorIs(t, err, readback.ErrClosed)
	assert.False(t, issued)
	assert.Empty(t, s.drops)
}

func TestARingNeedsAGLThread(t *testing.T) {
	var s counter
	var unsupported *gpu.UnsupportedError
	require.ErrorAs(t, s.Open(&sensors.Spec{Name: "deaf"}, &sensors.Env{}, nil), &unsupported)
	assert.Zero(t, s.Pending())
	require.NoError(t, s.Close())
}

// TestACaptureThatNoShaderCanWriteIsRefused: a storage block has a size, and a sensor that needs more is named.
func TestACaptureThatNoShaderCanWriteIsRefused(t *testing.T) {
	fake := gputest.NewFake()
	s := newCounter(t, fake)
	most := fake.Info().Limits.MaxStorageBlockBytes
	require.Equal(t, 1<<27, most)
	require.NoError(t, s.Resize(most/8))
	err := s.Resize(most/8 + 1)
	require.ErrorIs(t, err, gpu.ErrLimit)
	require.ErrorContains(t, err, "counter: more than this device can do: 134217736 bytes a capture, its storage blocks have at most 134217728")
	fake.ClearLog()
	var fresh sensors.Ring[string, uint64]
	require.NoError(t, fresh.Open(&sensors.Spec{Name: "fresh"}, &sensors.Env{GL: s.gl}, nil))
	require.ErrorIs(t, s.gl.Do(t.Context(), func(c *gpu.Ctx) error { return fresh.Make(c, most/8+1) }), gpu.ErrLimit)
	assert.NotContains(t, strings.Join(fake.Log(), "\n"), "Create")
}
