package control

import (
	"net/http"

	"github.com/raybridge/raybridge/weather"
	"github.com/raybridge/raybridge/world"
)

// weatherExample is a weather as it is sent.
const weatherExample = `{"preset": "rain", "rain": 8, "wind": {"x": 3, "y": -1}}`

// weather tells which weather it is from the next instant on.
func (h *handler) weather(http.ResponseWriter, *http.Request) (any, error) {
	return h.run.Pipeline.History().Weather().Coming(), nil
}

// setWeather has the weather be another one from the next instant on, and answers with it.
func (h *handler) setWeather(_ http.ResponseWriter, _ *http.Request, setting weather.Setting) (any, error) {
	state, err := world.WeatherOf(&setting)
	if err != nil {
		return nil, err
	}
	return state, h.run.Pipeline.History().Weather().Set(*state)
}
