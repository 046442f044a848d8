package raybridge_test

import (
	"context"
	"fmt"
	"image"
	"image/png"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// opened opens a simulation of a run's file, without a GPU.
func opened(t *testing.T, text string, c raybridge.Config) *raybridge.Sim {
	t.Helper()
	c.Run, c.Open = read(t, text), gputest.NewFake().Open
	if c.Scene == nil && c.Run.Scene.File == "" {
		c.Scene = scenetest.MovingWall(20, 1)
	}
	s, err := raybridge.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	return s
}

func TestOpenMakesWhatTheRunSays(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	s := opened(t, `
seed: 7
time: {step: 20ms, clock_hz: 0}
scene: {file: house.gltf}
ego: {driver: external, commands: {velocity: /go}}
sensors: [{id: sensor.other.imu, name: imu, rate: 50}]
bridges: [{type: mcap, connection: drive.mcap}]`, raybridge.Config{OutDir: out})
	imu, err := s.Sensor("imu")
	require.NoError(t, err)
	var stamps []int64
	_, err = raybridge.Listen(imu, func(m *sample.Imu) { stamps = append(stamps, int64(m.Stamp)) })
	require.NoError(t, err)
	require.NoError(t, s.Step(t.Context(), 3))
	assert.Equal(t, []int64{20e6, 40e6, 60e6}, stamps)
	assert.Equal(t, "house.gltf", s.Geometry().Scene.Name)
	assert.NotEmpty(t, s.SensorsOf("sensor.other.transform"))
	summary := s.Summary()
	assert.EqualValues(t, 7, summary.Seed)
	for _, row := range summary.Sensors {
		assert.NotEqual(t, "/clock", row.Topic, "clock_hz is 0")
	}
	require.NoError(t, s.Close(t.Context()))
	assert.FileExists(t, filepath.Join(out, "drive.mcap"))
}

func TestConfigErrorsNameTheKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, key string
		is        error
	}{
		{"scene: {file: none.gltf}", "scene", os.ErrNotExist},
		{"scene: {file: house.gltf}\nego: {waypoints: [{}, {}, {}]}", "ego", nil},
		{"scene: {file: house.gltf}\nsensors: [{id: sensor.other.none, name: a}]", "sensors", sensors.ErrUnknownSensor},
		{"scene: {file: house.gltf}\nbridges: [{type: none}]", "bridges", bridges.ErrUnknownBridge},
	} {
		_, err := raybridge.Open(t.Context(), raybridge.Config{Run: read(t, c.text), Open: gputest.NewFake().Open})
		var fault *raybridge.ConfigError
		require.ErrorAs(t, err, &fault, c.text)
		assert.Equal(t, c.key, fault.Key, c.text)
		if c.is != nil {
			assert.ErrorIs(t, err, c.is, c.text)
		}
	}
	_, err := raybridge.Open(t.Context(), raybridge.Config{GPU: "sofware"})
	assert.ErrorContains(t, err, "did you mean software")
}

func TestAddTakesOptions(t *testing.T) {
	t.Parallel()
	s := opened(t, "", raybridge.Config{})
	front, err := s.Add(camera.RGB{Width: 64, Height: 48}, "front", raybridge.At(1.5, 0, 1.4))
	require.NoError(t, err)
	assert.Equal(t, "sensor.camera.rgb", front.TypeID())
	assert.Equal(t, mgl64.Vec3{1.5, 0, 1.4}, front.Mount().Position)
	_, err = s.Add(camera.RGB{Width: -1}, "wrong", raybridge.At(0, 0, 0))
	require.ErrorIs(t, err, sensors.ErrValue)
	_, err = s.Add(struct{ Width int }{1}, "unknown", raybridge.At(0, 0, 0))
	require.ErrorIs(t, err, sensors.ErrUnknownSensor)
}

// pair is a sensor with two outputs of one type.
type pair struct {
	out *sensors.Output[*sample.Speed]
}

func (p *pair) Begin(_ context.Context, env *sensors.Env) (err error) {
	p.out, err = sensors.OutputOf[*sample.Speed](env, "left")
	return err
}
func (p *pair) Tick(at sensors.Tick) error {
	p.out.TryQueue(at, &sample.Speed{Header: sample.Header{Stamp: at.Due}})
	return nil
}
func (p *pair) End() error { return nil }

func TestYourOwnTypes(t *testing.T) {
	t.Parallel()
	both := &sensors.Definition{
		ID: "sensor.other.pair", Number: 40007, Doc: "two speeds", Rate: simtime.Hz(10), New: func(sensors.Spec) (sensors.Sensor, error) { return &pair{}, nil },
		Outputs: []sensors.OutputSpec{
			sensors.Declare[sample.Speed](sensors.OutputSpec{Name: "left", Suffix: "/left"}),
			sensors.Declare[sample.Speed](sensors.OutputSpec{Name: "right", Suffix: "/right"}),
		},
	}
	s := opened(t, "sensors: [{id: sensor.other.pair, name: pair}, {id: sensor.other.imu, name: imu}]", raybridge.Config{Sensors: []*sensors.Definition{both}})
	p, err := s.Sensor("pair")
	require.NoError(t, err)
	_, err = raybridge.Listen(p, func(*sample.Speed) {})
	require.ErrorIs(t, err, pipeline.ErrOutput)
	require.ErrorContains(t, err, "left, right")
	_, err = raybridge.Listen(p, func(*sample.Image) {})
	require.ErrorIs(t, err, pipeline.ErrOutput)
	n := 0
	_, err = pipeline.Listen(p, "left", func(sensors.Tick, *sample.Speed) { n++ })
	require.NoError(t, err)
	require.NoError(t, s.Run(t.Context(), time.Second))
	assert.Equal(t, 10, n)
	_, err = raybridge.Open(t.Context(), raybridge.Config{Sensors: []*sensors.Definition{both, both}})
	assert.ErrorIs(t, err, sensors.ErrDuplicate)
}

func TestWritePNG(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.png")
	m := &sample.Image{Width: 2, Height: 1, Step: 6, Encoding: sample.EncodingBGR8, Data: []byte{1, 2, 3, 4, 5, 6}}
	require.NoError(t, raybridge.WritePNG(file, m))
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	got, err := png.Decode(f)
	require.NoError(t, err)
	assert.Equal(t, image.Pt(2, 1), got.Bounds().Size())
	r, g, b, _ := got.At(1, 0).RGBA()
	assert.Equal(t, [3]uint32{6, 5, 4}, [3]uint32{r >> 8, g >> 8, b >> 8})

	m.Encoding = "none"
	require.ErrorContains(t, raybridge.WritePNG(file, m), "a.png")
	m.Encoding = sample.EncodingMono8
	m.Step = 2
	require.ErrorIs(t, raybridge.WritePNG(filepath.Join(t.TempDir(), "none", "a.png"), m), os.ErrNotExist)
}

// A city whose world would need more than the budget is refused before any of it is made. Where the
// context has ended no file is read.
func TestWhatIsTooLargeIsNotMade(t *testing.T) {
	c := config.Default()
	c.Scene.City, c.Scene.Triangles = true, 3_000_000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	budget := memory.New(600e6)
	_, _, err := raybridge.SceneOf(t.Context(), c, budget)
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, memory.ErrExceeded)
	assert.ErrorContains(t, err, "a city of 3000000 triangles")
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(10<<20))
	assert.Zero(t, budget.Held())

	ended, end := context.WithCancel(t.Context())
	end()
	c = config.Default()
	c.Scene.File = "scene/gltf/testdata/car.gltf"
	_, _, err = raybridge.SceneOf(ended, c, nil)
	assert.ErrorIs(t, err, context.Canceled)
}

// lines is a log's output, line by line.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// await waits for a line that has a text.
func (l lines) await(ctx context.Context, text string) error {
	for {
		select {
		case line := <-l:
			if strings.Contains(line, text) {
				return nil
			}
		case <-time.After(20 * time.Second):
			return fmt.Errorf("nothing tells of %q", text)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// slow is a sensor that begins when the log says that it takes long.
type slow struct {
	pair
	told lines
}

func (s *slow) Begin(ctx context.Context, _ *sensors.Env) error {
	return s.told.await(ctx, "still preparing sensor slow ...")
}
func (s *slow) Tick(sensors.Tick) error { return nil }

// TestALongStartIsntSilent: what takes over a second says what is being done.
func TestALongStartIsntSilent(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two seconds; runs without -short")
	}
	t.Parallel()
	told, fake := make(lines, 16), gputest.NewFake()
	fake.StopLog()
	s, err := raybridge.Open(t.Context(), raybridge.Config{
		Run: read(t, "scene: {file: house.gltf}\nsensors: [{id: sensor.other.slow, name: slow}]"), Log: slog.New(slog.NewTextHandler(told, nil)),
		Sensors: []*sensors.Definition{{
			ID: "sensor.other.slow", Number: 40008, Doc: "slow", Rate: simtime.Hz(10),
			New: func(sensors.Spec) (sensors.Sensor, error) { return &slow{told: told}, nil },
		}},
		Open: func() (*gpu.Context, error) {
			if err := told.await(t.Context(), "still opening the device ..."); err != nil {
				return nil, err
			}
			return fake.Open()
		},
	})
	require.NoError(t, err)
	require.NoError(t, s.Step(t.Context(), 1))
	require.NoError(t, s.Close(context.Background()))
}
