package groundtruth_test

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/weather"
)

// TestWeatherIsReportedAsItChanges: at the beginning, and with the first tick that has another.
func TestWeatherIsReportedAsItChanges(t *testing.T) {
	h := sensortest.New(t, groundtruth.WeatherDefinition, sensortest.Options{Scene: road()})
	h.Fire(1e8)
	h.Fire(2e8)
	require.Len(t, h.Messages["weather"], 1)
	first := sensortest.Last[*groundtruth.WeatherReport](h, "weather")
	assert.EqualValues(t, 1e8, first.Stamp)
	assert.Equal(t, groundtruth.WeatherReport{Header: first.Header}, *first)

	require.NoError(t, h.Env.History.Weather().Set(weather.State{Visibility: 300, Rain: 1, Snow: 2, Wetness: 0.5, Wind: weather.Wind{X: 3, Y: -1}, Cloud: 0.75}))
	h.Fire(3e8)
	h.Fire(4e8)
	require.Len(t, h.Messages["weather"], 2)
	m := sensortest.Last[*groundtruth.WeatherReport](h, "weather")
	assert.EqualValues(t, 3e8, m.Stamp)
	assert.Equal(t, "map", m.FrameID)
	assert.Equal(t, groundtruth.WeatherReport{Header: m.Header, Visibility: 300, Rain: 1, Snow: 2, Wetness: 0.5, Wind: mgl64.Vec3{3, -1, 0}, Cloud: 0.75}, *m)
}
