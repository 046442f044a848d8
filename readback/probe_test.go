package readback_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/readback"
)

func TestProbe(t *testing.T) {
	broken := errors.New("broken")
	tests := map[string]struct {
		software bool
		script   gputest.FenceScript
		fail     string
		want     readback.Probing
	}{
		// The fence is still pending after the copy call: it didn't wait.
		"gpu": {script: hold, want: readback.Probing{Mode: readback.CopyBeforeFence, Measured: true}},
		// A software driver that doesn't block is taken at its word.
		"software without blocking": {software: true, script: hold, want: readback.Probing{Mode: readback.CopyBeforeFence, Measured: true}},
		// All drawing is done before the copy, or during a copy that is too
		// short to have waited: nothing can be said.
		"instant gpu":        {want: readback.Probing{Mode: readback.CopyBeforeFence}},
		"instant software":   {software: true, want: readback.Probing{Mode: readback.CopyAfterFence}},
		"done in the copy":   {script: gputest.FenceScript{Polls: 1}, want: readback.Probing{Mode: readback.CopyBeforeFence}},
		"unable to measure":  {fail: "CreateProgram", want: readback.Probing{Mode: readback.CopyBeforeFence, Err: broken}},
		"software, unable":   {software: true, fail: "Draw", want: readback.Probing{Mode: readback.CopyAfterFence, Err: broken}},
		"copy fails":         {script: hold, fail: "CopyTextureToBuffer", want: readback.Probing{Mode: readback.CopyBeforeFence, Err: broken}},
		"no fence":           {fail: "CreateFence", want: readback.Probing{Mode: readback.CopyBeforeFence, Err: broken}},
		"no framebuffer":     {fail: "CreateFramebuffer", want: readback.Probing{Mode: readback.CopyBeforeFence, Err: broken}},
		"no texture":         {fail: "CreateTexture", want: readback.Probing{Mode: readback.CopyBeforeFence, Err: broken}},
		"clearing fails":     {fail: "ClearFramebuffer", want: readback.Probing{Mode: readback.CopyBeforeFence, Err: broken}},
		"flushing fails":     {fail: "Flush", want: readback.Probing{Mode: readback.CopyBeforeFence, Err: broken}},
		"no staging buffer":  {fail: "CreateBuffer", want: readback.Probing{Mode: readback.CopyBeforeFence, Err: broken}},
		"mapping impossible": {fail: "MapBuffer", want: readback.Probing{Mode: readback.CopyBeforeFence, Err: broken}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRigWith(t, readback.Config{}, func(info *gpu.Info) { info.Software = test.software })
			r.fake.SetFences(test.script)
			if test.fail != "" {
				r.fake.Fail(test.fail, broken)
			}
			found := r.probe()
			require.Equal(t, test.want.Mode, found.Mode)
			require.Equal(t, test.want.Measured, found.Measured)
			require.ErrorIs(t, found.Err, test.want.Err)
			r.fake.ClearLog()
			require.Equal(t, found, r.probe())
			for _, line := range r.fake.Log() {
				require.True(t, strings.HasPrefix(line, "Delete "), "a second probe does %s", line)
			}
		})
	}
}

func (r *rig) probe() (found readback.Probing) {
	r.t.Helper()
	r.do(func(c *gpu.Ctx) error {
		found = readback.Probe(c)
		return nil
	})
	return found
}

// CopyAuto follows Probe.
func TestCopyAuto(t *testing.T) {
	for _, software := range []bool{false, true} {
		fake := gputest.NewFake()
		info := fake.Info()
		info.Software = software
		fake.SetInfo(info)
		thread := fake.Start(t)
		pool, err := readback.New(readback.Config{MaxElements: 1}, func(*readback.Capture[meta, uint32], readback.Lease[uint32], error) {})
		require.NoError(t, err)
		require.Equal(t, readback.CopyAuto, pool.CopyMode())
		require.NoError(t, thread.Do(t.Context(), pool.Prepare))
		want := readback.CopyBeforeFence
		if software {
			want = readback.CopyAfterFence
		}
		require.Equal(t, want, pool.CopyMode())
		require.NoError(t, pool.Close())
	}
}
