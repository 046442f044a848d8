//go:build cgo

package pipeline_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	foxglove "github.com/foxglove/mcap/go/mcap"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	bridgesall "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/sensors"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/weather"
	"github.com/raybridge/raybridge/world"
)

// town is a small town with a vehicle that obeys commands, and one sensor of every type, which
// records into a file.
func town(t *testing.T, seed uint64, dir string, mode pipeline.Mode) *pipeline.Pipeline {
	t.Helper()
	s, err := city.Generate(city.Options{Triangles: city.MinTriangles, Slots: 8})
	require.NoError(t, err)
	s.AddBox()
	ego, err := scene.NewDriven(s.Ego, scene.Vehicle{})
	require.NoError(t, err)
	p := newPipelineIn(t, s, pipeline.Config{
		Sensors: sensorsall.Registry(), Bridges: bridgesall.Registry(), Seed: seed, OutDir: dir, Ego: ego, Capacity: 4, Mode: mode,
	})
	for i, d := range sensorsall.Definitions() {
		if !d.Acts {
			add(t, p, every(d, fmt.Sprintf("s%d", i)))
		}
	}
	misty := every(lidar.RayCastDefinition, "misty") // it sees fog, drops and flakes themselves
	misty.Attributes["intensity"], misty.Attributes["r10"] = "range_corrected", 60
	add(t, p, misty)
	require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "mcap:a.mcap?chunk=1"}))
	return p
}

// every is a sensor of a type, with little to compute.
func every(d *sensors.Definition, name string) sensors.Config {
	c := sensors.Config{ID: d.ID, Name: name, Pose: sensors.Pose{X: 1, Z: 1.6}, Attributes: map[string]any{}}
	if !d.EachFrame {
		c.Rate = simtime.Hz(20)
	}
	for _, a := range d.Attributes {
		switch a.Name {
		case "image_size_x", "image_size_y":
			c.Attributes[a.Name] = 48
		case "columns":
			c.Attributes[a.Name] = 60
		case "noise_stddev":
			c.Attributes[a.Name] = 0.05
		}
	}
	return c
}

// drive goes through half a second in which somebody comes and moves, and clear weather turns into a bad one.
func drive(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()
	vehicle, ok := p.Ego().(*scene.Driven)
	require.True(t, ok)
	require.NoError(t, vehicle.SetCommand(scene.Command{Acceleration: 2, Steering: 0.1}))
	ego := p.Geometry().Scene.Ego
	ahead := func(d float64) world.State {
		s := world.State{Pose: ego}
		s.Pose.Position = ego.Apply(mgl64.Vec3{d, 2, 0})
		return s
	}
	for k := range 5 {
		f := &world.Frame{Until: simtime.Stamp(k+1) * 100e6, Actors: []world.Actor{moved("a", ahead(10+float64(k)))}}
		if k == 0 {
			f.Spawn = []world.Spawn{{Name: "a", Model: "vehicle.sedan", State: ahead(9)}}
		}
		if k == 2 {
			f.Weather = &weather.State{Visibility: 60, Rain: 20, Snow: 1, Wetness: 0.6, Cloud: 1}
		}
		_, err := p.StepTo(t.Context(), f)
		require.NoError(t, err)
	}
}

// messages returns a line for each message of a recording, in the file's order. Its numbers in the
// file don't count.
func messages(t *testing.T, dir string) (lines []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "a.mcap"))
	require.NoError(t, err)
	reader, err := foxglove.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	defer reader.Close()
	all, err := reader.Messages(foxglove.UsingIndex(false))
	require.NoError(t, err)
	require.NoError(t, foxglove.Range(all, func(_ *foxglove.Schema, c *foxglove.Channel, m *foxglove.Message) error {
		lines = append(lines, fmt.Sprintf("%s %d %d %x", c.Topic, m.LogTime, m.PublishTime, sha256.Sum256(m.Data)))
		return nil
	}))
	return lines
}

// TestResetGivesTheBytesOfAFreshRun compares what every sensor publishes after a Reset with what it
// publishes in a fresh pipeline, down to the order in a file.
func TestResetGivesTheBytesOfAFreshRun(t *testing.T) {
	fresh := t.TempDir()
	p := town(t, 7, fresh, pipeline.Stepped)
	drive(t, p)
	require.NoError(t, p.Close(context.Background()))
	want := messages(t, fresh)
	require.Greater(t, len(want), 200)

	reset := t.TempDir()
	p = town(t, 1, reset, pipeline.Stepped)
	drive(t, p)
	change(t, p)
	result := resetTo(t, p, 7)
	assert.EqualValues(t, 7, p.Summary().Seed)
	assert.Zero(t, p.Clock().Now())
	assert.Zero(t, result.Stamp)
	assert.True(t, p.Geometry().Scene.Ego.Position.ApproxEqual(result.Ego.Pose.Position), "%v", result.Ego.Pose)
	drive(t, p)
	require.NoError(t, p.Close(context.Background()))
	got := messages(t, reset)
	begins := func(line string) bool { return strings.HasPrefix(line, "/clock 10000000 ") }
	got = got[1+slices.IndexFunc(got[1:], begins):]
	for i := range min(len(got), len(want)) {
		require.Equal(t, want[i], got[i], "message %d of %d", i, len(want))
	}
	assert.Len(t, got, len(want))
}

// TestResetGivesTheBytesOfAPausedRun is the same of a run that follows the host's clock. There the order
// in a file, and how often /clock comes, are the machine's.
func TestResetGivesTheBytesOfAPausedRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	recorded := func(seed uint64, resets bool) (lines []string) {
		dir := t.TempDir()
		p := town(t, seed, dir, pipeline.Realtime)
		p.Clock().Pause()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx, 0) }()
		require.Eventually(t, p.Running, 10*time.Second, time.Millisecond)
		drive(t, p)
		if resets {
			resetTo(t, p, 7)
			drive(t, p)
		}
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, p.Close(context.Background()))
		for _, line := range messages(t, dir) {
			if !strings.HasPrefix(line, "/clock ") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	want, got := recorded(7, false), recorded(1, true)
	require.Greater(t, len(want), 200)
	require.Len(t, got, 2*len(want))
	assert.ElementsMatch(t, want, got[len(want):])
}

// change does what a Reset is to undo.
func change(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()
	list := p.Sensors()
	require.NoError(t, list[0].Tune(pipeline.Tuning{Rate: simtime.Hz(5)}))
	destroy(t, list[1])
	imu := slices.IndexFunc(list, func(s *pipeline.Sensor) bool { return s.TypeID() == "sensor.other.imu" })
	destroy(t, list[imu])
	c := small("sensor.camera.depth", "late")
	c.Topic = "/late"
	add(t, p, c)
	_, err := p.SpawnActor("vehicle.*", nil)
	require.NoError(t, err)
	lights := p.Geometry().Scene.SignalNames()
	require.NotEmpty(t, lights)
	_, err = p.StepTo(t.Context(), &world.Frame{
		Until: p.Clock().Now() + 10e6, Signals: []world.Signal{{Ref: world.Ref{Name: lights[0]}, State: world.SignalOff}},
	})
	require.NoError(t, err)
	p.History().Switch(scene.EgoID, scene.Switches{Headlights: 2})
	for _, a := range p.Actors("walker.*")[:2] {
		require.NoError(t, a.Destroy())
	}
	require.NoError(t, p.Step(t.Context(), 7))
}

// TestResetOfAPausedRun: the one who runs it needn't know, and its duration begins again.
func TestResetOfAPausedRun(t *testing.T) {
	for _, mode := range []pipeline.Mode{pipeline.Stepped, pipeline.Realtime} {
		p := newPipeline(t, pipeline.Config{Mode: mode, Seed: 3})
		s := add(t, p, sensors.Config{ID: "sensor.other.imu", Name: "imu", Rate: simtime.Hz(100)})
		var stamps []simtime.Stamp
		listen(t, s, "imu", func(at sensors.Tick, _ *sample.Imu) { stamps = append(stamps, at.Due) })
		p.Clock().Pause()
		ended := make(chan error, 1)
		go func() { ended <- p.Run(t.Context(), 60*time.Millisecond) }()
		require.Eventually(t, p.Running, 10*time.Second, time.Millisecond)
		for range 2 {
			_, err := p.StepRunning(t.Context(), &world.Frame{Until: 30e6})
			require.NoError(t, err)
			resetTo(t, p, 5)
			assert.Zero(t, p.Clock().Now())
			assert.Equal(t, []simtime.Stamp{10e6, 20e6, 30e6}, stamps)
			stamps = nil
		}
		_, err := p.StepRunning(t.Context(), &world.Frame{Until: 50e6})
		require.NoError(t, err)
		p.Clock().Resume()
		require.NoError(t, <-ended)
		assert.Len(t, stamps, 6)
		assert.EqualValues(t, 2, p.Summary().Resets)
	}
}

func TestResetIsRefused(t *testing.T) {
	p := newPipeline(t, pipeline.Config{})
	resetTo(t, p, 9) // before the first run
	assert.EqualValues(t, 9, p.Seed())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, 0) }()
	require.Eventually(t, p.Running, 10*time.Second, time.Millisecond)
	refused := func(why string) {
		_, err := p.Reset(t.Context(), 1)
		assert.ErrorIs(t, err, world.ErrMode, why)
	}
	refused("time passes")
	cancel()
	require.NoError(t, <-ended)
	resetTo(t, p, 1)
	require.NoError(t, p.Follow(t.Context(), pipeline.Following{Kind: "test", Source: &frames{then: io.EOF}}))
	refused("a world's")
	require.NoError(t, p.Close(context.Background()))
}

// TestResetAmongOthers: sensors come and go, and others reset, while resets are under way. Each call
// ends, none ends the pipeline, and the sensors of the beginning are there in the end.
func TestResetAmongOthers(t *testing.T) {
	for _, mode := range []pipeline.Mode{pipeline.Stepped, pipeline.Realtime} {
		p := newPipeline(t, pipeline.Config{Mode: mode, Sensors: sensorsall.Registry(), Bridges: bridgesall.Registry(), OutDir: t.TempDir()})
		for _, name := range []string{"a", "b"} {
			c := small("sensor.camera.depth", name)
			c.Rate = simtime.Hz(100)
			add(t, p, c)
		}
		require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "mcap:a.mcap"}))
		p.Clock().Pause()
		runs, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(runs, 0) }()
		require.Eventually(t, p.Running, 10*time.Second, time.Millisecond)
		var others sync.WaitGroup
		for _, other := range []func() error{
			func() error {
				late := small("sensor.camera.depth", "late")
				s, err := p.AddSensor(late)
				if err != nil {
					return err
				}
				return errors.Join(s.Destroy(), s.Wait(t.Context()))
			},
			func() error {
				for _, s := range p.SensorsOf("b") { // it may be ending
					return errors.Join(s.Destroy(), s.Wait(t.Context()))
				}
				return nil
			},
			func() error {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Millisecond)
				defer cancel()
				_, _ = p.Reset(ctx, 2)
				return nil
			},
		} {
			others.Go(func() {
				for range 10 {
					assert.NoError(t, other())
				}
			})
		}
		for range 10 {
			_, err := p.StepRunning(t.Context(), &world.Frame{Until: p.Clock().Pace() + 20e6})
			if err == nil {
				_, err = p.Reset(t.Context(), 1)
			}
			for errors.Is(err, world.ErrBusy) || errors.Is(err, world.ErrTime) || errors.Is(err, world.ErrUnfinished) {
				_, err = p.Reset(t.Context(), 1)
			}
			assert.NoError(t, err)
		}
		others.Wait()
		for _, err := p.Reset(t.Context(), 1); err != nil; _, err = p.Reset(t.Context(), 1) {
			require.ErrorIs(t, err, world.ErrBusy)
		}
		assert.Len(t, p.Sensors(), 2)
		end()
		require.NoError(t, <-ended)
		require.NoError(t, p.Close(context.Background()))
	}
}

// TestResetOfMounted: a sensor may be listed ahead of the one that it is mounted on.
func TestResetOfMounted(t *testing.T) {
	p := newPipeline(t, pipeline.Config{})
	on := sensors.Config{ID: "sensor.other.imu", Name: "on", Parent: "under_link"}
	under := sensors.Config{ID: "sensor.other.imu", Name: "under", Frame: "under_link"}
	list, err := p.AddRig(&rig.Rig{Sensors: []sensors.Config{on, under}})
	require.NoError(t, err)
	require.NoError(t, p.Step(t.Context(), 1))
	for _, s := range list {
		destroy(t, s)
	}
	resetTo(t, p, 1)
	require.Len(t, p.Sensors(), 2)
	assert.Equal(t, "on", p.Sensors()[0].Name())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Reset(ended, 2)
	assert.ErrorIs(t, err, context.Canceled)
	assert.EqualValues(t, 1, p.Seed())
}
