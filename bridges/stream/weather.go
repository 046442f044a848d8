package stream

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/raybridge/raybridge/weather"
	"github.com/raybridge/raybridge/world"
)

// readWeather reads a Weather. Errors wrap ErrMalformed, or are those of world.WeatherOf.
func readWeather(b []byte) (*weather.State, error) {
	var setting weather.Setting
	var wind weather.Wind
	w := over(b)
	for w.Next() {
		switch w.Field {
		case 1:
			setting.Preset = w.name("")
		case 2:
			setting.Visibility = w.given()
		case 3:
			setting.Rain = w.given()
		case 4:
			setting.Snow = w.given()
		case 5:
			setting.Wetness = w.given()
		case 6:
			setting.Cloud = w.given()
		case 7:
			wind.X, setting.Wind = w.Double(), &wind
		case 8:
			wind.Y, setting.Wind = w.Double(), &wind
		}
	}
	if w.Err != nil {
		return nil, w.Err
	}
	return world.WeatherOf(&setting)
}

// given returns the number of a field that is there.
func (w *walk) given() *float64 {
	number := w.Double()
	return &number
}

// appendWeather appends the fields of a Weather, of which none is left to a preset.
func appendWeather(b []byte, s *weather.State) []byte {
	for i, number := range [...]float64{s.Visibility, s.Rain, s.Snow, s.Wetness, s.Cloud, s.Wind.X, s.Wind.Y} {
		if i == 0 && number == 0 { // there is no limit
			continue
		}
		b = protowire.AppendFixed64(protowire.AppendTag(b, protowire.Number(2+i), protowire.Fixed64Type), math.Float64bits(number))
	}
	return b
}
