package control_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/weather"
)

// TestTheWeatherChanges with the instant that follows, and a reset brings the first one back.
func TestTheWeatherChanges(t *testing.T) {
	fog := weather.State{Visibility: 100, Cloud: 1}
	p := newRun(t, pipeline.Config{Weather: fog})
	begin(t, p)
	h := control.NewHandler(runOf(p))
	told := func(method, path, body string) object {
		t.Helper()
		status, answer := ask(t, h, method, path, body)
		require.Equal(t, http.StatusOK, status, "%v", answer)
		return answer
	}
	calm, dry := object{"x": 0.0, "y": 0.0}, object{"rain": 0.0, "snow": 0.0, "wetness": 0.0, "cloud": 0.0, "wind": object{"x": 0.0, "y": 0.0}}
	foggy := object{"visibility": 100.0, "rain": 0.0, "snow": 0.0, "wetness": 0.0, "cloud": 1.0, "wind": calm}
	assert.Equal(t, foggy, told("GET", "/v1/weather", ""))
	told("POST", "/v1/step", `{"steps": 1}`)
	wet := object{"rain": 6.25, "snow": 0.0, "wetness": 0.5, "cloud": 1.0, "wind": object{"x": 3.0, "y": -1.0}}
	assert.Equal(t, wet, told("PUT", "/v1/weather", `{"preset": "rain", "rain": 6.25, "wind": {"x": 3, "y": -1}}`))
	assert.Equal(t, wet, told("GET", "/v1/weather", ""), "though time stands")
	assert.Equal(t, fog, p.History().Weather().At(1e9))
	told("POST", "/v1/step", `{"steps": 1}`)
	assert.Equal(t, weather.State{Rain: 6.25, Wetness: 0.5, Cloud: 1, Wind: weather.Wind{X: 3, Y: -1}}, p.History().Weather().At(20e6))
	assert.Equal(t, fog, p.History().Weather().At(19e6))
	told("POST", "/v1/step", `{"weather": {"preset": "clear"}}`)
	assert.Equal(t, dry, told("GET", "/v1/weather", ""))
	assert.Equal(t, weather.State{}, p.History().Weather().At(30e6))
	s := p.Summary().Weather
	require.NotNil(t, s)
	assert.Equal(t, pipeline.WeatherSummary{Begin: fog, Changes: 2}, *s)
	told("POST", "/v1/reset", "")
	assert.Equal(t, foggy, told("GET", "/v1/weather", ""))
	assert.Equal(t, pipeline.WeatherSummary{Begin: fog, End: fog, Changes: 2}, *p.Summary().Weather, "the summary goes on")
}

// TestBadWeatherIsRefused, by name, and changes nothing: neither the weather nor the world.
func TestBadWeatherIsRefused(t *testing.T) {
	p, h := paused(t, 1)
	for body, want := range map[string]string{
		`{"visibility": 0}`:     "weather is not usable: visibility is 0, the range is 1 to 1e9 m",
		`{"rain": -1}`:          "weather is not usable: rain is -1, the range is 0 to 300 mm/h",
		`{"wetness": 2}`:        "weather is not usable: wetness is 2, the range is 0 to 1",
		`{"snow": 21}`:          "weather is not usable: snow is 21, the range is 0 to 20 mm/h",
		`{"wind": {"x": -101}}`: "weather is not usable: wind.x is -101, the range is -100 to 100 m/s",
		`{"preset": "rainy"}`:   "did you mean rain?",
		`{"wind": 3}`:           "wind has to be an object, not number",
		`{"rain": "5"}`:         "rain has to be a number, not string",
		`{"rain": NaN}`:         "invalid character 'N'",
		`{"hail": 1}`:           `unknown field "hail"`,
		`"fog"`:                 "has to be an object, not string",
		`{}`:                    "weather is not usable: neither preset nor another key is given",
	} {
		status, answer := ask(t, h, "PUT", "/v1/weather", body)
		assert.Equal(t, http.StatusBadRequest, status, body)
		assert.Contains(t, answer["error"], want)
		status, answer = ask(t, h, "POST", "/v1/step", `{"spawn": [{"name": "a", "model": "vehicle.sedan", "position": [1, 2, 0], "yaw": 0}], "weather": `+body+`}`)
		assert.Equal(t, http.StatusBadRequest, status, body)
		assert.Contains(t, answer["error"], want)
	}
	status, answer := ask(t, h, "PUT", "/v1/weather", "")
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, answer["error"], "neither preset nor another key is given")
	_, answer = ask(t, h, "GET", "/v1/actors", "")
	assert.Empty(t, answer["actors"])
	assert.Zero(t, p.Clock().Now())
	assert.Equal(t, weather.State{}, p.History().Weather().Coming())
	assert.Nil(t, p.Summary().Weather)
}
