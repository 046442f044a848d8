package groundtruth

import (
	"context"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/weather"
)

// WeatherID is the type's id.
const WeatherID = "sensor.other.weather"

// Weather describes sensor.other.weather, the weather that the other sensors feel.
type Weather struct{}

// WeatherDefinition describes sensor.other.weather.
var WeatherDefinition = sensors.Define(sensors.Definition{
	ID:     WeatherID,
	Number: 68,
	Doc:    "weather: the one that all sensors feel, at the beginning and whenever it changes, once for each receiver",
	Tags:   []string{"world", "ground_truth", "weather"},
	Outputs: sensors.OneOutput[WeatherReport](sensors.OutputSpec{
		Name: "weather", Doc: "the weather from the message's stamp on",
		QoS: flow.StaticQoS,
	}),
	EachFrame: true,
	Weather:   sensors.Felt{Visibility: reported, Rain: reported, Snow: reported, Wetness: reported, Wind: reported, Cloud: reported},
}, func(sensors.Spec, Weather) (sensors.Sensor, error) { return &weatherStation{}, nil })

// reported is how it feels each part of the weather.
const reported = "reported"

// WeatherReport is the weather from its stamp on, until that of the next report.
type WeatherReport struct {
	sample.Header
	// Visibility is the meteorological optical range, metres; 0 if it is not limited. Rain or snow may let one see less.
	Visibility float64
	Rain, Snow float64    // mm/h, of water
	Wetness    float64    // of the ground, 0 to 1
	Wind       mgl64.Vec3 // where the air goes to, m/s in the map frame
	Cloud      float64    // share of the sky that clouds hide
}

type weatherStation struct {
	env    *sensors.Env
	out    *sensors.Output[*WeatherReport]
	report WeatherReport
	told   weather.State
}

// Begin opens the output.
func (s *weatherStation) Begin(_ context.Context, env *sensors.Env) (err error) {
	s.env = env
	s.out, err = sensors.OutputOf[*WeatherReport](env, "weather")
	return err
}

// Tick hands the weather to those who don't have it yet.
func (s *weatherStation) Tick(at sensors.Tick) error {
	now := s.env.Weather(at.Due)
	if now != s.told {
		s.told = now
		s.out.Unlatch()
	}
	s.report = WeatherReport{
		Header: at.Header(spatial.FrameMap, spatial.Identity()), Visibility: now.Visibility, Rain: now.Rain, Snow: now.Snow, Wetness: now.Wetness,
		Wind: mgl64.Vec3{now.Wind.X, now.Wind.Y, 0}, Cloud: now.Cloud,
	}
	s.out.Latch(at, &s.report)
	return nil
}

// End releases nothing: the sensor holds memory only.
func (s *weatherStation) End() error { return nil }
