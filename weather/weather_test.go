package weather_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/weather"
)

func given(x float64) *float64 { return &x }

// TestSettings: keys count over the preset, and wetness and cloud follow from what falls unless they are given.
func TestSettings(t *testing.T) {
	for name, c := range map[string]struct {
		setting weather.Setting
		want    weather.State
	}{
		"nothing":                {weather.Setting{}, weather.State{}},
		"clear":                  {weather.Setting{Preset: "clear"}, weather.State{}},
		"haze":                   {weather.Setting{Preset: "haze"}, weather.State{Visibility: 2000}},
		"fog":                    {weather.Setting{Preset: "fog"}, weather.State{Visibility: 100, Cloud: 1}},
		"drizzle":                {weather.Setting{Preset: "drizzle"}, weather.State{Rain: 0.5, Wetness: math.Sqrt(0.02), Cloud: 1}},
		"rain":                   {weather.Setting{Preset: "rain"}, weather.State{Rain: 5, Wetness: math.Sqrt(0.2), Cloud: 1}},
		"heavy rain":             {weather.Setting{Preset: "heavy_rain"}, weather.State{Rain: 25, Wetness: 1, Cloud: 1}},
		"snow":                   {weather.Setting{Preset: "snow"}, weather.State{Snow: 1, Cloud: 1}},
		"more rain":              {weather.Setting{Preset: "rain", Rain: given(100)}, weather.State{Rain: 100, Wetness: 1, Cloud: 1}},
		"rain that is over":      {weather.Setting{Preset: "rain", Rain: given(0)}, weather.State{Cloud: 1}},
		"rain that has begun":    {weather.Setting{Preset: "rain", Wetness: given(0)}, weather.State{Rain: 5, Cloud: 1}},
		"rain with the sun":      {weather.Setting{Rain: given(5), Cloud: given(0.25)}, weather.State{Rain: 5, Wetness: math.Sqrt(0.2), Cloud: 0.25}},
		"rain that has ended":    {weather.Setting{Wetness: given(0.5)}, weather.State{Wetness: 0.5}},
		"a wind":                 {weather.Setting{Wind: &weather.Wind{X: 3, Y: -4}}, weather.State{Wind: weather.Wind{X: 3, Y: -4}}},
		"fog without its clouds": {weather.Setting{Preset: "fog", Cloud: given(0)}, weather.State{Visibility: 100}},
		"the ends of the ranges": {weather.Setting{Visibility: given(1), Rain: given(300), Snow: given(20)}, weather.State{Visibility: 1, Rain: 300, Snow: 20, Wetness: 1, Cloud: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.setting.State()
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
	for _, name := range weather.Presets() {
		_, err := (&weather.Setting{Preset: name}).State()
		assert.NoError(t, err, name)
	}
}

// TestStateReads as users say it: what is as in clear weather has no word.
func TestStateReads(t *testing.T) {
	for want, s := range map[string]weather.State{
		"clear":                                      {},
		"visibility 100 m, cloud 1":                  {Visibility: 100, Cloud: 1},
		"rain 5 mm/h, wetness 0.447, cloud 1":        {Rain: 5, Wetness: math.Sqrt(0.2), Cloud: 1},
		"snow 0.5 mm/h, wind.x 3 m/s, wind.y -1 m/s": {Snow: 0.5, Wind: weather.Wind{X: 3, Y: -1}},
	} {
		assert.Equal(t, want, s.String())
	}
}

// TestBadSettings: the error names the key and its range.
func TestBadSettings(t *testing.T) {
	for want, setting := range map[string]weather.Setting{
		"visibility is 0, the range is 1 to 1e9 m":    {Visibility: given(0)},
		"visibility is 0.5, the range is 1 to 1e9 m":  {Visibility: given(0.5)},
		"visibility is NaN":                           {Visibility: given(math.NaN())},
		"visibility is +Inf":                          {Visibility: given(math.Inf(1))},
		"rain is -1, the range is 0 to 300 mm/h":      {Rain: given(-1)},
		"snow is NaN, the range is 0 to 20 mm/h":      {Snow: given(math.NaN())},
		"wetness is 2, the range is 0 to 1":           {Wetness: given(2)},
		"cloud is -0.1, the range is 0 to 1":          {Cloud: given(-0.1)},
		"wind.x is NaN, the range is -100 to 100 m/s": {Wind: &weather.Wind{X: math.NaN()}},
		"wind.y is 101, the range is -100 to 100 m/s": {Wind: &weather.Wind{Y: 101}},
		"heavy_rain or snow; did you mean rain?":      {Preset: "rian"},
	} {
		_, err := setting.State()
		require.ErrorIs(t, err, weather.ErrValue, want)
		assert.ErrorContains(t, err, want)
	}
}

// TestExtinctionIsMeasuredBy5Percent: of light 5 % are left after the visibility, whatever falls.
func TestExtinctionIsMeasuredBy5Percent(t *testing.T) {
	for _, s := range []weather.State{{Visibility: 30}, {Visibility: 100}, {Visibility: 2000}, {Visibility: 500, Rain: 25}, {Visibility: 100, Snow: 1}} {
		assert.InEpsilon(t, 0.05, math.Exp(-s.Extinction()*s.Visibility), 1e-12, "%+v", s)
		assert.InEpsilon(t, s.Visibility, s.OpticalRange(), 1e-12)
	}
	assert.InDelta(t, 0.224, math.Exp(-weather.State{Visibility: 100}.Extinction()*50), 0.0005, "the contrast at 50 m")
	assert.True(t, math.IsInf(weather.State{}.OpticalRange(), 1))
	assert.Zero(t, weather.State{Cloud: 1, Wetness: 1}.Extinction())
}

// TestTheLowerVisibilityWins: rain and snow that take more than the visibility says leave nothing to fog.
func TestTheLowerVisibilityWins(t *testing.T) {
	thick, thin := weather.State{Visibility: 2000, Rain: 100}, weather.State{Visibility: 200, Rain: 100}
	assert.Zero(t, thick.FogExtinction())
	assert.Equal(t, thick.RainExtinction(), thick.Extinction())
	assert.InDelta(t, 451, thick.OpticalRange(), 0.5)
	assert.Positive(t, thin.FogExtinction())
	assert.Equal(t, thick.RainExtinction(), thin.RainExtinction())
	assert.InEpsilon(t, 200, thin.OpticalRange(), 1e-12)
}

// TestFog holds extinction and backscatter to a table of MOR, extinction per metre and the soft target's reflectance
// for a pulse of 5 ns: π beta c tau/2.
func TestFog(t *testing.T) {
	for mor, want := range map[float64]struct{ alpha, rho float64 }{
		30: {0.09986, 0.012506}, 50: {0.05991, 0.0075038}, 100: {0.02996, 0.0037519}, 200: {0.01498, 0.0018759}, 500: {0.005991, 0.00075038},
	} {
		s := weather.State{Visibility: mor}
		assert.InEpsilon(t, want.alpha, s.FogExtinction(), 5e-4)
		assert.InEpsilon(t, want.rho, math.Pi*s.FogBackscatter()*299792458*5e-9/2, 1e-3)
		assert.Equal(t, s.Extinction(), s.FogExtinction())
	}
}

// TestRain holds drops and extinction to a table of published sizes.
func TestRain(t *testing.T) {
	for _, row := range []struct{ rain, lambda, half, one, alpha, mor float64 }{
		{1, 4.10, 251, 32, 0.365, 8216},
		{5, 2.92, 634, 147, 1.005, 2981},
		{10, 2.53, 894, 253, 1.556, 1926},
		{25, 2.09, 1352, 477, 2.77, 1081},
		{50, 1.80, 1801, 731, 4.29, 699},
		{100, 1.56, 2354, 1080, 6.64, 451},
	} {
		s := weather.State{Rain: row.rain}
		drops := s.RainDrops()
		assert.InDelta(t, row.lambda, drops.Lambda, 0.0051)
		assert.InDelta(t, row.half, drops.Above(0.5), 0.7)
		assert.InDelta(t, row.one, drops.Above(1), 0.7)
		assert.InEpsilon(t, row.alpha, 1e3*s.Extinction(), 0.003)
		assert.InEpsilon(t, row.mor, s.OpticalRange(), 0.003)
	}
	assert.InDelta(t, 0.575, math.Exp(-2*weather.State{Rain: 25}.Extinction()*100), 0.001, "both ways over 100 m in 25 mm/h")
}

// integral of a function of the diameter, mm, over all sizes, by the midpoint rule.
func integral(f func(d float64) float64) (sum float64) {
	const step = 1e-3
	for d := step / 2; d < 100; d += step {
		sum += f(d) * step
	}
	return sum
}

// TestSizesMakeExtinctionAndWater integrates published sizes: twice the cross-sections are the extinction, and the volumes the
// water in the air. Snow is Sekhon's and Srivastava's by melted diameters, whose flakes are the cube root of 10 wider.
func TestSizesMakeExtinctionAndWater(t *testing.T) {
	wide := math.Pow(10, 1./3)
	for _, rate := range []float64{0.5, 2.5, 10} {
		marshall := func(d float64) float64 { return 8000 * math.Exp(-4.1*math.Pow(rate, -0.21)*d) }
		sekhon := func(d float64) float64 { return 2500 * math.Pow(rate, -0.94) * math.Exp(-2.29*math.Pow(rate, -0.45)*d) }
		area := func(d float64) float64 { return math.Pi / 4 * d * d * 1e-6 }
		assert.InEpsilon(t, integral(func(d float64) float64 { return 2 * area(d) * marshall(d) }), weather.State{Rain: rate}.Extinction(), 1e-5)
		assert.InEpsilon(t, integral(func(d float64) float64 { return 2 * area(wide*d) * sekhon(d) }), weather.State{Snow: rate}.Extinction(), 1e-5)
		assert.InEpsilon(t, integral(func(d float64) float64 {
			if wide*d < 3 {
				return 0
			}
			return sekhon(d)
		}), weather.State{Snow: rate}.SnowFlakes().Above(3), 2e-3)
	}
	drops := weather.State{Rain: 10}.RainDrops()
	water := integral(func(d float64) float64 { // g/m³; what is larger than d, by parts
		return math.Pi / 2 * d * d * drops.Above(d) * 1e-3
	})
	assert.InEpsilon(t, 0.62, water, 0.02)
	assert.InDelta(t, 2500/wide, weather.State{Snow: 1}.SnowFlakes().N0, 1e-9)
	assert.InDelta(t, 2.29/wide, weather.State{Snow: 1}.SnowFlakes().Lambda, 1e-9)
	assert.Zero(t, weather.State{}.RainDrops().Above(0))
	assert.Zero(t, weather.State{}.SnowFlakes().Above(0))
}

// TestRadarHoldsP838 to a table of coefficients, and of losses in dB/km.
func TestRadarHoldsP838(t *testing.T) {
	rates := [...]float64{1, 5, 10, 25, 50, 100}
	for _, row := range []struct {
		frequency, k, alpha float64
		loss                [len(rates)]float64
	}{
		{24.125, 0.1443, 1.0087, [...]float64{0.14, 0.73, 1.47, 3.71, 7.46, 15.0}},
		{60, 0.8606, 0.7656, [...]float64{0.86, 2.95, 5.02, 10.1, 17.2, 29.2}},
		{76.5, 1.1253, 0.7188, [...]float64{1.13, 3.58, 5.89, 11.4, 18.7, 30.8}},
		{79, 1.1579, 0.7135, [...]float64{1.16, 3.65, 5.99, 11.5, 18.9, 30.9}},
	} {
		k, alpha := weather.SpecificAttenuation(row.frequency)
		assert.InDelta(t, row.k, k, 6e-5)
		assert.InDelta(t, row.alpha, alpha, 6e-5)
		for i, rain := range rates {
			loss := -10 * math.Log10(math.Exp(-1000*weather.State{Rain: rain}.RadarExtinction(row.frequency)))
			assert.InDelta(t, row.loss[i], loss, max(0.006, 0.006*row.loss[i]), "%v GHz, %v mm/h", row.frequency, rain)
		}
	}
	assert.Zero(t, weather.State{Visibility: 50, Snow: 1}.RadarExtinction(77))
}

// TestP838Publishes holds coefficients of horizontal waves to the table of them in the recommendation (ITU-R P.838-3, table 5).
func TestP838Publishes(t *testing.T) {
	for frequency, want := range map[float64][2]float64{10: {0.01217, 1.2571}, 20: {0.09164, 1.0568}, 30: {0.2403, 0.9485}, 40: {0.4431, 0.8673}, 80: {1.1704, 0.7115}, 100: {1.3671, 0.6815}} {
		k, alpha := weather.SpecificAttenuation(frequency)
		assert.InEpsilon(t, want[0], k, 5e-4, "%v GHz", frequency)
		assert.InDelta(t, want[1], alpha, 5.1e-5, "%v GHz", frequency)
	}
}

// TestGround: films grow with the root of the rain up to 1.2 mm, snow covers in proportion up to all.
func TestGround(t *testing.T) {
	assert.InDelta(t, 1.2, weather.State{Wetness: 1}.WaterDepth(), 1e-12)
	assert.InDelta(t, 0.3, weather.State{Wetness: 0.25}.WaterDepth(), 1e-12)
	assert.InDelta(t, 0.3, weather.State{Snow: 0.3}.SnowCover(), 1e-12)
	assert.InDelta(t, 1, weather.State{Snow: 5}.SnowCover(), 0)
}

// TestWhatDoesNotMatterIsNothing: fog, rain and snow that let one see as far as pure air take nothing, cover nothing and bring no
// clouds, and from there on they do.
func TestWhatDoesNotMatterIsNothing(t *testing.T) {
	for _, visibility := range []float64{300e3, 1e9} {
		assert.Zero(t, weather.State{Visibility: visibility}.Extinction())
	}
	assert.Positive(t, weather.State{Visibility: 299e3}.Extinction())
	for fall := 1e-300; fall < 1; fall *= 1.5 {
		for _, s := range []weather.State{{Rain: fall}, {Snow: fall}} {
			took := s.Extinction()
			if took > 0 {
				assert.Less(t, s.OpticalRange(), 300e3, "%+v", s)
			}
			matters := 0.365e-3*math.Pow(s.Rain, 0.63)+3.04e-3*math.Pow(s.Snow, 0.41) > math.Log(20)/300e3
			assert.Equal(t, matters, took > 0, "%+v", s)
			assert.Equal(t, matters, s.RainDrops().Above(0)+s.SnowFlakes().Above(0) > 0, "%+v", s)
			assert.Equal(t, matters && s.Snow > 0, s.SnowCover() > 0, "%+v", s)
			set, err := (&weather.Setting{Rain: &s.Rain, Snow: &s.Snow}).State()
			require.NoError(t, err)
			assert.Equal(t, matters, set.Cloud > 0, "%+v", s)
		}
	}
	assert.Zero(t, weather.State{}.RainDrops())
	assert.Zero(t, weather.State{}.SnowFlakes())
}
