package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/eglctx"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

const scannerRig = "sensors: [{id: sensor.lidar.ray_cast, name: lidar, rate: 20, columns: 90}]"

// deviceRun is a run of a second, in steps, on a device that a test makes.
type deviceRun struct {
	cmd         *cobra.Command
	plan        *plan
	out, errOut *transcript
}

func newDeviceRun(t *testing.T) *deviceRun {
	t.Helper()
	dir := t.TempDir()
	var f runFlags
	r := &deviceRun{cmd: &cobra.Command{Use: "run"}, out: newTranscript(), errOut: newTranscript()}
	f.register(r.cmd)
	r.cmd.SetOut(r.out)
	r.cmd.SetErr(r.errOut)
	require.NoError(t, r.cmd.ParseFlags([]string{
		"--scene", sceneFile(t, dir), "--rig", write(t, dir, "rig.yaml", scannerRig), "--step", "--duration", "1s", "--out", dir, "--bridge", "mcap:a.mcap",
	}))
	var err error
	r.plan, err = newPlan(r.cmd, &f)
	require.NoError(t, err)
	return r
}

// on runs it to its end and calls each, unless that is nil, for each scan.
func (r *deviceRun) on(t *testing.T, open gpu.Opener, each func()) outcome {
	t.Helper()
	err := refused(r.plan.execute(t.Context(), r.cmd, open, scans(each)))
	if err != nil {
		fmt.Fprintln(r.errOut, err)
	}
	return outcome{exitCode(err), r.out.String(), r.errOut.String()}
}

// scans is a view that is called for each scan.
type scans func()

func (s scans) attach(p *pipeline.Pipeline) error {
	lidar, err := p.Sensor("lidar")
	if err != nil {
		return err
	}
	_, err = pipeline.Listen(lidar, "points", func(sensors.Tick, *sample.PointCloud) {
		if s != nil {
			s()
		}
	})
	return err
}

func (s scans) finish(*pipeline.Pipeline) error { return nil }

// TestAGPUThatIsLost ends the run: the message has the driver's reason, and what may be done.
func TestAGPUThatIsLost(t *testing.T) {
	t.Parallel()
	fake := gputest.NewFake()
	var n atomic.Int32
	o := newDeviceRun(t).on(t, fake.Open, func() {
		if n.Add(1) == 5 {
			fake.Lose()
		}
	})
	assert.Equal(t, exitFailed, o.code, o.err)
	for _, want := range []string{"opengl context lost: the fake's script says so", "dmesg may say why", "start again, with another --gpu"} {
		assert.Contains(t, lastLine(o.err), want)
	}
	assert.Contains(t, o.out, "/lidar/points", "the table is printed")
}

// TestAGPUWithoutTimers does everything but time its captures: raybridge gpu says what that costs.
func TestAGPUWithoutTimers(t *testing.T) {
	t.Parallel()
	fake := gputest.NewFake()
	info := fake.Info()
	info.TimestampBits, info.Missing = 0, []string{"GPU timestamps: captures carry no GPU times"}
	fake.SetInfo(info)
	var n atomic.Int32
	o := newDeviceRun(t).on(t, fake.Open, func() { n.Add(1) })
	assert.Equal(t, exitDone, o.code, o.err)
	assert.EqualValues(t, 20, n.Load())
	assert.NotContains(t, strings.Join(fake.Log(), "\n"), "CreateQuery")
	assert.Empty(t, fake.Faults())
	var out bytes.Buffer
	require.NoError(t, showGPU(&out, fake.Open))
	assert.Regexp(t, `(?m)^timer queries +none$`, out.String())
	assert.Regexp(t, `(?m)^missing +GPU timestamps: captures carry no GPU times$`, out.String())
	assert.Regexp(t, `(?m)^a stage has +16 samplers, 14 uniform blocks, 8 storage blocks, 8 images$`, out.String())
}

// TestAGPUWhoseLimitsAreTooLow refuses the sensor by its name, and says what may be done.
func TestAGPUWhoseLimitsAreTooLow(t *testing.T) {
	t.Parallel()
	fake := gputest.NewFake()
	info := fake.Info()
	info.Limits.MaxStorageBlockBytes = 1 << 16
	fake.SetInfo(info)
	o := newDeviceRun(t).on(t, fake.Open, nil)
	assert.Equal(t, exitUsage, o.code, o.err)
	assert.Regexp(t, `lidar: more than this device can do: \d+ bytes a capture, its storage blocks have at most 65536: ask for less, or take --gpu host, whose limit is the memory$`, lastLine(o.err))
}

// patient is a driver that compiles each shader until the log has told of it.
type patient struct {
	*gputest.Fake
	log func() string
}

func (d *patient) CreateProgram(desc gpu.ProgramDesc) (gpu.Handle, error) {
	if desc.Label == "lidar.scan" {
		for wait := time.Now(); !strings.Contains(d.log(), "still compiling shader lidar.scan, number 1 of this run ..."); time.Sleep(10 * time.Millisecond) {
			if time.Since(wait) > 20*time.Second {
				return 0, errors.New("nothing tells that it takes long")
			}
		}
	}
	return d.Fake.CreateProgram(desc)
}

// TestADriverThatCompilesLong says which shader it is at, on the standard error.
func TestADriverThatCompilesLong(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second; runs without -short")
	}
	t.Parallel()
	r := newDeviceRun(t)
	driver := &patient{gputest.NewFake(), r.errOut.String}
	o := r.on(t, func() (*gpu.Context, error) { return &gpu.Context{Driver: driver}, nil }, nil)
	assert.Equal(t, exitDone, o.code, o.err)
	assert.Contains(t, o.err, "still compiling shader lidar.scan, number 1 of this run ...")
}

// TestTwoGPUs: auto takes the first that works, and the run names those that would do as well.
func TestTwoGPUs(t *testing.T) {
	devices := []eglctx.Device{
		{Number: 0, Renderer: "GeForce", File: "/dev/dri/card0"}, {Number: 1, Renderer: "Radeon"}, {Number: 2, Renderer: "Arc"}, {Number: -1, Software: true},
	}
	assert.Equal(t, "--gpu 1 takes EGL device 1, Radeon; --gpu 2 takes EGL device 2, Arc", otherGPUs(devices, devices[0].String()))
	assert.Equal(t, "--gpu 2 takes EGL device 2, Arc", otherGPUs(devices, devices[1].String()), "the first was tried, and can't be used")
	assert.Empty(t, otherGPUs(devices, devices[2].String()))
	assert.Empty(t, otherGPUs(devices, gpu.HostDevice))
}

// TestAGPUThatIsPassedOver is named with the reason, where another device computes.
func TestAGPUThatIsPassedOver(t *testing.T) {
	t.Parallel()
	fake := gputest.NewFake()
	info := fake.Info()
	info.PassedOver = []string{"EGL device 0, Radeon: initialise display: EGL_NOT_INITIALIZED"}
	fake.SetInfo(info)
	const want = "a GPU can't be used: EGL device 0, Radeon: initialise display: EGL_NOT_INITIALIZED\n"
	assert.Contains(t, newDeviceRun(t).on(t, fake.Open, nil).err, want)
	var out bytes.Buffer
	require.NoError(t, showGPU(&out, fake.Open))
	assert.Contains(t, out.String(), want)
}
