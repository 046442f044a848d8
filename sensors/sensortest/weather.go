package sensortest

import (
	"reflect"
	"testing"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/weather"
)

// strengthen makes a part of the weather, by its key, as strong as it may be.
var strengthen = map[string]func(*weather.State){
	"visibility": func(w *weather.State) { w.Visibility = 1 },
	"rain":       func(w *weather.State) { w.Rain = 300 },
	"snow":       func(w *weather.State) { w.Snow = 20 },
	"wetness":    func(w *weather.State) { w.Wetness = 1 },
	"wind":       func(w *weather.State) { w.Wind = weather.Wind{X: 100, Y: -100} },
	"cloud":      func(w *weather.State) { w.Cloud = 1 },
}

// checkWeather holds a definition to what it says of the weather: each part that is felt changes the data, and all others
// together don't.
func checkWeather(t *testing.T, d *sensors.Definition, s Suite, base map[string][]any) {
	rest := s.Options
	for _, part := range d.Weather.Parts() {
		if part.How == "" {
			strengthen[part.Key](&rest.Weather)
			continue
		}
		o := s.Options
		strengthen[part.Key](&o.Weather)
		if s.Unfelt[part.Key] == "" && reflect.DeepEqual(base, record(t, d, o)) {
			t.Errorf("%s of the weather changes nothing, and its definition says that it is felt: %s", part.Key, part.How)
		}
	}
	if !reflect.DeepEqual(base, record(t, d, rest)) {
		t.Errorf("%+v changes the data, and its definition says that only %v of the weather are felt", rest.Weather, d.Weather.Keys())
	}
}
