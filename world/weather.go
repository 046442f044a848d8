package world

import (
	"fmt"

	"github.com/raybridge/raybridge/weather"
)

// ListWeather is the List of an *ActorError that is about a frame's weather.
const ListWeather = "weather"

// WeatherOf returns the weather of a setting that comes during a run. One that says nothing is an error: who sends it
// may think that it changes nothing. The error is an *ActorError, and wraps ErrValue and weather.ErrValue.
func WeatherOf(setting *weather.Setting) (*weather.State, error) {
	if *setting == (weather.Setting{}) {
		return nil, weatherError(fmt.Errorf("%w: neither preset nor another key is given", weather.ErrValue))
	}
	state, err := setting.State()
	if err != nil {
		return nil, weatherError(err)
	}
	return &state, nil
}

// CheckWeather returns WeatherOf's error if the frame has a weather that isn't usable.
func (f *Frame) CheckWeather() error {
	if f.Weather == nil {
		return nil
	}
	if err := f.Weather.Validate(); err != nil {
		return weatherError(err)
	}
	return nil
}

func weatherError(err error) error {
	return &ActorError{List: ListWeather, Err: unusableWeather{err}}
}

// unusableWeather is an ErrValue that says of itself what isn't usable.
type unusableWeather struct{ error }

func (unusableWeather) Is(target error) bool { return target == ErrValue }

func (e unusableWeather) Unwrap() error { return e.error }
