package stream_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/weather"
	"github.com/raybridge/raybridge/world"
)

// snowyStep are the bytes of a step to 1.5 s with a weather: in 500 m visibility 2 mm/h of snow, half a film of water, a wind
// of (3, -1) m/s, and clouds.
const snowyStep = "\x09\x00\x2f\x68\x59\x00\x00\x00\x00" + "\x5a\x3f" +
	"\x11\x00\x00\x00\x00\x00\x40\x7f\x40" + // 500
	"\x19\x00\x00\x00\x00\x00\x00\x00\x00" + // 0
	"\x21\x00\x00\x00\x00\x00\x00\x00\x40" + // 2
	"\x29\x00\x00\x00\x00\x00\x00\xe0\x3f" + // 0.5
	"\x31\x00\x00\x00\x00\x00\x00\xf0\x3f" + // 1
	"\x39\x00\x00\x00\x00\x00\x00\x08\x40" + // 3
	"\x41\x00\x00\x00\x00\x00\x00\xf0\xbf" // -1

// TestStepsWeatherIsProtobuf: what is written is what others' protobuf makes of step.proto, and keys left out follow from the preset.
func TestStepsWeatherIsProtobuf(t *testing.T) {
	snowy := weather.State{Visibility: 500, Snow: 2, Wetness: 0.5, Cloud: 1, Wind: weather.Wind{X: 3, Y: -1}}
	assert.Equal(t, []byte(snowyStep), stream.AppendStep(nil, &world.Frame{Until: 1_500_000_000, Weather: &snowy}))
	var reader stream.StepReader
	for text, want := range map[string]*weather.State{
		"": nil,
		"weather {visibility: 500 rain: 0 snow: 2 wetness: 0.5 cloud: 1 wind_x: 3 wind_y: -1}": &snowy,
		`weather {preset: "clear"}`:           {},
		`weather {preset: "snow" cloud: 0.5}`: {Snow: 1, Cloud: 0.5},
		"weather {rain: 6.25}":                {Rain: 6.25, Wetness: 0.5, Cloud: 1},
		"weather {wind_y: 2}":                 {Wind: weather.Wind{Y: 2}},
		`weather {preset: "rain" wetness: 0}`: {Rain: 5, Cloud: 1},
	} {
		step := schema(t, "Step", "until: 1500000000 "+text)
		b, err := proto.Marshal(step)
		require.NoError(t, err)
		f, _, err := reader.Read(b)
		require.NoError(t, err, text)
		assert.Equal(t, want, f.Weather, text)
		if want == &snowy {
			written := schema(t, "Step", "")
			require.NoError(t, proto.Unmarshal(stream.AppendStep(nil, f), written))
			assert.True(t, proto.Equal(step, written), "%v", written)
		}
	}
}

// TestBadWeatherOfAStep: the error is the frame's, and says which number it is.
func TestBadWeatherOfAStep(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "weather is not usable: neither preset nor another key is given",
		"visibility: 0":        "weather is not usable: visibility is 0, the range is 1 to 1e9 m",
		"rain: -1":             "weather is not usable: rain is -1, the range is 0 to 300 mm/h",
		"snow: nan":            "weather is not usable: snow is NaN, the range is 0 to 20 mm/h",
		"wetness: 2":           "weather is not usable: wetness is 2, the range is 0 to 1",
		"wind_x: inf":          "weather is not usable: wind.x is +Inf, the range is -100 to 100 m/s",
		`preset: "heavy rain"`: `did you mean heavy_rain?`,
	} {
		b, err := proto.Marshal(schema(t, "Step", "until: 1 weather {"+text+"}"))
		require.NoError(t, err)
		_, _, err = new(stream.StepReader).Read(b)
		require.ErrorIs(t, err, world.ErrValue, text)
		require.ErrorContains(t, err, want)
		_, arrived := stream.ReadStepResult(stream.AppendStepResult(nil, nil, err))
		var at *world.ActorError
		require.ErrorAs(t, arrived, &at)
		assert.Equal(t, world.ListWeather, at.List)
		require.ErrorIs(t, arrived, world.ErrValue)
		assert.EqualError(t, arrived, err.Error())
	}
	b, err := proto.Marshal(schema(t, "Step", "until: 1 weather {rain: 5}"))
	require.NoError(t, err)
	_, _, err = new(stream.StepReader).Read(b[:len(b)-1])
	assert.ErrorIs(t, err, stream.ErrMalformed)
	_, _, err = new(stream.StepReader).Read([]byte("\x5a\x02\x18\x05")) // rain as a whole number
	assert.ErrorIs(t, err, stream.ErrMalformed)
}
