//go:build cgo

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
)

// losing is a driver whose context is lost after some polls of fences.
type losing struct {
	gpu.Driver
	left atomic.Int32
}

func (d *losing) Reset() error {
	if d.left.Load() <= 0 {
		return gpu.ErrContextLost
	}
	return d.Driver.Reset()
}

func (d *losing) PollFence(h gpu.Handle) gpu.FenceStatus {
	if d.left.Add(-1) <= 0 {
		return gpu.FenceFailed
	}
	return d.Driver.PollFence(h)
}

// TestALostContextEndsTheProgram: exit code 1, and the recording is complete up to
// the loss.
func TestALostContextEndsTheProgram(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	dir := t.TempDir()
	var f runFlags
	var out, errOut bytes.Buffer
	cmd := &cobra.Command{Use: "run"}
	f.register(cmd)
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SetContext(t.Context())
	require.NoError(t, cmd.ParseFlags([]string{
		"--scene", sceneFile(t, dir), "--rig", write(t, dir, "small.yaml", smallRig),
		"--bridge", "mcap:a.mcap", "--out", dir, "--report", "--summary", filepath.Join(dir, "summary.json"),
	}))
	pl, err := newPlan(cmd, &f)
	require.NoError(t, err)
	open, err := deviceOpener("auto")
	require.NoError(t, err)
	err = pl.execute(t.Context(), cmd, func() (*gpu.Context, error) {
		c, err := open()
		if err != nil {
			return nil, err
		}
		d := &losing{Driver: c.Driver}
		d.left.Store(60)
		return &gpu.Context{Driver: d, Close: c.Close}, nil
	}, nil)
	require.ErrorIs(t, err, gpu.ErrContextLost)
	assert.Equal(t, exitFailed, exitCode(err))
	counts := byTopic(readRecording(t, filepath.Join(dir, "a.mcap")))
	assert.NotEmpty(t, counts["/roof/points"])
	assert.NotEmpty(t, counts["/eye/image_raw"])
	assert.Contains(t, out.String(), "/roof/points", "the table is printed")
	for _, name := range []string{"report.html", "summary.json"} {
		_, err := os.Stat(filepath.Join(dir, name))
		assert.NoError(t, err)
	}
}

// TestCtrlCBeforeTheStart: nothing has begun, so nothing is wrong.
func TestCtrlCBeforeTheStart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	var out, errOut bytes.Buffer
	code := program(ctx, []string{"run", "--headless", "--scene", sceneFile(t, dir), "--bridge", "mcap:a.mcap", "--out", dir}, &out, &errOut)
	assert.Equal(t, exitDone, code, errOut.String())
	assert.Empty(t, out.String()+errOut.String())
	assert.NoFileExists(t, filepath.Join(dir, "a.mcap"))
}
