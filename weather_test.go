package raybridge_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/weather"
	"github.com/raybridge/raybridge/world"
)

// TestARunsWeather is the configuration's, and again after a reset. A topic and a recording say what it was, unless
// the key is left out.
func TestARunsWeather(t *testing.T) {
	t.Parallel()
	without := opened(t, "", raybridge.Config{})
	require.NoError(t, without.Step(t.Context(), 2))
	assert.Equal(t, weather.State{}, without.History().Weather().At(0))
	assert.Empty(t, without.SensorsOf(groundtruth.WeatherID))

	out := t.TempDir()
	s := opened(t, `
weather: {preset: fog, wind: {x: 2}}
bridges: [{type: mcap, connection: "drive.mcap?compression=none"}]`, raybridge.Config{OutDir: out})
	fog := weather.State{Visibility: 100, Cloud: 1, Wind: weather.Wind{X: 2}}
	station, err := s.Sensor("weather")
	require.NoError(t, err)
	var told []groundtruth.WeatherReport
	_, err = raybridge.Listen(station, func(m *groundtruth.WeatherReport) { told = append(told, *m) })
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, s.Step(t.Context(), 2))
		assert.Equal(t, fog, s.History().Weather().At(20e6))
		_, err = s.StepTo(t.Context(), &world.Frame{Until: 40e6, Weather: &weather.State{Snow: 1}})
		require.NoError(t, err)
		require.Len(t, told, 2)
		assert.Equal(t, []float64{100, 0}, []float64{told[0].Visibility, told[0].Snow})
		assert.Equal(t, []float64{0, 1}, []float64{told[1].Visibility, told[1].Snow})
		assert.EqualValues(t, 30e6, told[1].Stamp, "the first instant of the step")
		assert.Equal(t, fog, s.History().Weather().At(29e6))
		assert.Equal(t, weather.State{Snow: 1}, s.History().Weather().At(30e6))
		_, err = s.Reset(t.Context(), 1)
		require.NoError(t, err)
		told = nil
	}
	require.NoError(t, s.Close(t.Context()))
	recorded, err := os.ReadFile(filepath.Join(out, "drive.mcap"))
	require.NoError(t, err)
	assert.Contains(t, string(recorded), `{"visibility":100,"rain":0,"snow":0,"wetness":0,"wind":{"x":2,"y":0},"cloud":1}`)
	assert.Contains(t, string(recorded), "/weather")
}

// TestAWeatherThatComesLater brings the sensor that reports it, from the first instant that has it on, and after a reset again.
func TestAWeatherThatComesLater(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	s := opened(t, `bridges: [{type: mcap, connection: "drive.mcap?compression=none"}]`, raybridge.Config{OutDir: out})
	for range 2 {
		require.NoError(t, s.Step(t.Context(), 2))
		assert.Empty(t, s.SensorsOf(groundtruth.WeatherID))
		require.NoError(t, s.History().Weather().Set(weather.State{Visibility: 100}))
		require.NoError(t, s.Step(t.Context(), 1))
		require.Len(t, s.SensorsOf(groundtruth.WeatherID), 1)
		of := slices.IndexFunc(s.Summary().Sensors, func(s carry.SensorSummary) bool { return s.Topic == "/weather" && !s.Ended })
		require.GreaterOrEqual(t, of, 0)
		assert.EqualValues(t, 1, s.Summary().Sensors[of].Messages, "of the first instant with fog")
		_, err := s.StepTo(t.Context(), &world.Frame{Until: 50e6, Weather: &weather.State{}})
		require.NoError(t, err)
		_, err = s.Reset(t.Context(), 1)
		require.NoError(t, err)
	}
	require.NoError(t, s.Close(t.Context()))
	recording, err := mcap.Open(filepath.Join(out, "drive.mcap"))
	require.NoError(t, err)
	defer recording.Close()
	i := slices.IndexFunc(recording.Topics(), func(t mcap.Topic) bool { return t.Name == "/weather" })
	require.GreaterOrEqual(t, i, 0)
	assert.EqualValues(t, 4, recording.Topics()[i].Messages)
}

// TestAWeathersTopicMayBeTaken: the error says whose the other is, and what to do.
func TestAWeathersTopicMayBeTaken(t *testing.T) {
	t.Parallel()
	run := read(t, "weather: {preset: fog}\nsensors: [{id: sensor.lidar.ray_cast, name: top, topics: {points: /weather}}]")
	_, err := raybridge.Open(t.Context(), raybridge.Config{Run: run, Open: gputest.NewFake().Open, Scene: scenetest.MovingWall(20, 1)})
	assert.ErrorContains(t, err, "mount sensor.other.weather in the rig to choose its topic")
}

// TestBadWeatherIsAConfigError, also from a program.
func TestBadWeatherIsAConfigError(t *testing.T) {
	t.Parallel()
	run, nan := config.Default(), math.NaN()
	run.Weather = &weather.Setting{Rain: &nan}
	run.Sensors = []sensors.Config{}
	_, err := raybridge.Open(t.Context(), raybridge.Config{Run: run, Open: gputest.NewFake().Open, Scene: scenetest.MovingWall(20, 1)})
	var at *raybridge.ConfigError
	require.ErrorAs(t, err, &at)
	assert.Equal(t, "weather", at.Key)
	assert.ErrorIs(t, err, weather.ErrValue)
}
