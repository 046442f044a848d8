package sensors_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors"
)

func TestAttributesParse(t *testing.T) {
	count := sensors.Attribute{Name: "channels", Type: sensors.Int, Min: 1, Max: 128}
	gain := sensors.Attribute{Name: "gain", Type: sensors.Float, Min: -1, Max: 2, Unit: "dB"}
	free := sensors.Attribute{Name: "offset", Type: sensors.Float}
	mode := sensors.Attribute{Name: "mode", Type: sensors.String, Recommended: []string{"manual", "histogram"}, Restricted: true}
	name := sensors.Attribute{Name: "role_name", Type: sensors.String, Recommended: []string{"front"}}
	bins := sensors.Attribute{Name: "bins", Type: sensors.Int, Recommended: []string{"8", "16"}, Restricted: true}
	ink := sensors.Attribute{Name: "ink", Type: sensors.Color}
	flag := sensors.Attribute{Name: "flag", Type: sensors.Bool}
	angles := sensors.Attribute{Name: "angles", Type: sensors.Floats, Min: -90, Max: 90, Unit: "deg"}
	for _, c := range []struct {
		attribute sensors.Attribute
		value     any
		want      any // nil: refused
	}{
		{flag, true, true}, {flag, "false", false}, {flag, "1", true}, {flag, "yes", nil}, {flag, 1, nil},
		{count, 1, int64(1)}, {count, "128", int64(128)}, {count, 64.0, int64(64)}, {count, uint64(7), int64(7)},
		{count, 0, nil}, {count, 129, nil}, {count, 1.5, nil}, {count, "many", nil}, {count, math.NaN(), nil}, {count, []any{1}, nil},
		{gain, -1, -1.0}, {gain, "2", 2.0}, {gain, " 0.5 ", 0.5}, {gain, 2.001, nil}, {gain, math.Inf(1), nil}, {gain, true, nil},
		{free, -1e300, -1e300}, {free, math.NaN(), nil}, {free, math.Inf(-1), nil},
		{mode, "manual", "manual"}, {mode, "Manual", nil}, {mode, "", nil}, {mode, 3, nil},
		{name, "front", "front"}, {name, "roof", "roof"},
		{bins, 8, int64(8)}, {bins, "16", int64(16)}, {bins, 9, nil},
		{ink, "1, 2,255", [3]uint8{1, 2, 255}}, {ink, []any{0, 128, 7}, [3]uint8{0, 128, 7}}, {ink, [3]uint8{1, 2, 3}, [3]uint8{1, 2, 3}},
		{ink, "#0a80FF", [3]uint8{10, 128, 255}}, {ink, "#fff", nil}, {ink, "#00112233", nil}, {ink, "#gg0000", nil}, {ink, "red", nil},
		{ink, "1,2", nil}, {ink, "1,2,256", nil}, {ink, "1,2,-1", nil}, {ink, "1,2,0.5", nil},
		{angles, "-90,0, 90", []float64{-90, 0, 90}}, {angles, []any{1, "2"}, []float64{1, 2}}, {angles, []any{}, []float64{}},
		{angles, "1,91", nil}, {angles, []any{"x"}, nil}, {angles, 4, nil},
	} {
		got, err := c.attribute.Parse(c.value)
		if c.want == nil {
			require.ErrorIs(t, err, sensors.ErrValue, "%s = %v gives %v", c.attribute.Name, c.value, got)
			assert.ErrorContains(t, err, c.attribute.Name)
			continue
		}
		require.NoError(t, err, "%s = %v", c.attribute.Name, c.value)
		assert.Equal(t, c.want, got, "%s = %v", c.attribute.Name, c.value)
	}
}

func TestNumbersAreFinite(t *testing.T) {
	a := sensors.Attribute{Name: "gain", Type: sensors.Float}
	_, err := a.Parse(math.NaN())
	require.EqualError(t, err, "bad attribute value: gain is NaN, need a finite number")
	a.Min, a.Max, a.Unit = 0, 2, "dB"
	_, err = a.Parse(math.Inf(1))
	require.EqualError(t, err, "bad attribute value: gain is +Inf, the range is 0 to 2 dB")
}

func TestRestrictionsAreNamed(t *testing.T) {
	a := sensors.Attribute{Name: "mode", Type: sensors.String, Recommended: []string{"manual", "histogram"}, Restricted: true}
	_, err := a.Parse("auto")
	require.EqualError(t, err, "bad attribute value: mode is auto, want manual or histogram")
}

func TestSettings(t *testing.T) {
	s := define(
		sensors.Attribute{Name: "range", Type: sensors.Float, Min: 1, Max: 100, Unit: "m", Default: 10.0},
		sensors.Attribute{Name: "fov", Type: sensors.Float, Default: 360.0, Fixed: true},
		sensors.Attribute{Name: "blade_count", Type: sensors.Int, Default: int64(5), Inert: "the aperture is round"},
	).NewSettings()
	assert.Equal(t, []any{10.0, false}, []any{s.Float("range"), s.IsSet("range")})
	require.NoError(t, s.Set("range", "20"))
	assert.Equal(t, []any{20.0, true}, []any{s.Float("range"), s.IsSet("range")})
	require.ErrorIs(t, s.Set("range", 0), sensors.ErrValue)
	assert.Equal(t, 20.0, s.Float("range"), "an error changes nothing")
	require.NoError(t, s.Set("blade_count", 7))
	assert.Equal(t, 7, s.Int("blade_count"))

	require.NoError(t, s.Set("fov", "360"), "what it always is may be written")
	err := s.Set("fov", 90)
	require.ErrorIs(t, err, sensors.ErrFixed)
	require.EqualError(t, err, "attribute can't be changed: fov of sensor.test.a is always 360: leave it out")
	require.ErrorIs(t, s.Set("fov", "wide"), sensors.ErrValue)

	err = s.Set("rang", 1)
	require.ErrorIs(t, err, sensors.ErrUnknownAttribute)
	require.EqualError(t, err, `unknown attribute "rang" of sensor.test.a, did you mean range?`)
	assert.Panics(t, func() { s.Value("rang") }, "a sensor that reads what it doesn't define")
}

// TestUnusual: what is allowed and outside of what is usual is told, and the usual range
// agrees with the others.
func TestUnusual(t *testing.T) {
	a := sensors.Attribute{Name: "fov", Type: sensors.Float, Unit: "deg", Default: 90.0, Min: 0.1, Max: 175, UsualMin: 5, UsualMax: 170}
	for _, v := range []any{5, 170.0, "90", 0.01, "wide"} {
		assert.NoError(t, a.Unusual(v), "%v", v)
	}
	assert.EqualError(t, a.Unusual("0.5"), "fov is 0.5 deg, which is unusual: 5 to 170 deg are usual")
	a.UsualMin, a.UsualMax = 0, 0
	assert.NoError(t, a.Unusual(0.5), "where nothing is usual nothing is told")
	list := sensors.Attribute{Name: "angles", Type: sensors.Floats, Default: []float64{}, UsualMin: -10, UsualMax: 10}
	assert.EqualError(t, list.Unusual("1,20,30"), "angles is 20, which is unusual: -10 to 10 are usual")
}
