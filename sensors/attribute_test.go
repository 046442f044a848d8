package sensors_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors"
)

func TestAttributesParse(t *testing.T) {
	count := sensors.Attribute{Name: "channels", Type: sensors.Int, Min: 1, Max: 128}
	gain := sensors.Attribute{Name: "gain", Type: sensors.Float, Min: -1, Max: 2, Unit: "dB"}
	free := sensors.Attribute{Name: "offset", Type: sensors.Float}
	mode := sensors.Attribute{Name: "mode", Type: sensors.String, Recommended: []string{"manual", "histogram"}, Restricted: true}
	wavelength := sensors.Attribute{Name: "wavelength", Type: sensors.String, Recommended: []string{"905", "1550"}, Restricted: true}
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
		{name, "front", "front"}, {name, "roof", "roof"}, {name, 7, nil},
		{wavelength, "905", "905"}, {wavelength, uint64(1550), "1550"}, {wavelength, 905.0, "905"}, {wavelength, 1064, nil}, {wavelength, math.NaN(), nil},
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
	_, err = a.Parse(uint64(3))
	require.EqualError(t, err, "bad attribute value: mode is 3, want manual or histogram")
}

func TestSettings(t *testing.T) {
	s := define(
		sensors.Attribute{Name: "range", Type: sensors.Float, Min: 1, Max: 100, Unit: "m", Default: 10.0},
		sensors.Attribute{Name: "fov", Type: sensors.Float, Default: 360.0, Fixed: true},
		sensors.Attribute{Name: "blade_count", Type: sensors.Int, Default: int64(5), Inert: "the aperture is round"},
	).NewSettings()
	assert.Equal(t, []any{10.0, false}, []any{s.Value("range"), s.IsSet("range")})
	require.NoError(t, s.Set("range", "20"))
	assert.Equal(t, []any{20.0, true}, []any{s.Value("range"), s.IsSet("range")})
	require.ErrorIs(t, s.Set("range", 0), sensors.ErrValue)
	assert.Equal(t, 20.0, s.Value("range"), "an error changes nothing")
	require.NoError(t, s.Set("blade_count", 7))
	assert.Equal(t, int64(7), s.Value("blade_count"))

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

// A sensor that runs takes new values of some attributes, all or none of them.
func TestSettingsOfARunningSensor(t *testing.T) {
	s := define(
		sensors.Attribute{Name: "range", Type: sensors.Float, Min: 1, Max: 100, Default: 10.0},
		sensors.Attribute{Name: "gain", Type: sensors.Float, Min: 0, Max: 2, Default: 1.0, Live: true},
		sensors.Attribute{Name: "bias", Type: sensors.Float, Default: 0.0, Live: true},
	).NewSettings()
	next, err := s.With(map[string]any{"gain": "0.5", "bias": 3})
	require.NoError(t, err)
	assert.Equal(t, []any{0.5, 3.0, 10.0}, []any{next.Value("gain"), next.Value("bias"), next.Value("range")})
	assert.Equal(t, []any{1.0, 0.0}, []any{s.Value("gain"), s.Value("bias")}, "the copy alone is changed")

	_, err = s.With(map[string]any{"gain": 0.5, "range": 20})
	require.ErrorIs(t, err, sensors.ErrFixed)
	require.ErrorContains(t, err, "while a sensor.test.a runs: range; those that can: gain, bias")
	_, err = s.With(map[string]any{"gain": 3})
	require.ErrorIs(t, err, sensors.ErrValue)
	_, err = define(sensors.Attribute{Name: "range", Type: sensors.Float, Default: 10.0}).NewSettings().With(map[string]any{"range": 20})
	require.ErrorContains(t, err, "those that can: none")
}

// A choice that a type refuses beside its other settings isn't offered.
func TestWhatIsRefusedIsNotLive(t *testing.T) {
	d := define(
		sensors.Attribute{Name: "range", Type: sensors.Float, Default: 10.0},
		sensors.Attribute{Name: "gain", Type: sensors.Float, Default: 1.0, Live: true},
		sensors.Attribute{Name: "bias", Type: sensors.Float, Default: 0.0, Live: true},
	)
	d.Refuses = func(s *sensors.Settings) []string {
		if s.Differs("range") {
			return []string{"bias"}
		}
		return nil
	}
	s := d.NewSettings()
	require.NoError(t, s.Set("range", 10))
	assert.True(t, s.IsSet("range"))
	assert.Equal(t, []string{"gain", "bias"}, s.Live(), "the default spelt out is the default")
	require.NoError(t, s.Set("range", 20))
	assert.Equal(t, []string{"gain"}, s.Live())
	_, err := s.With(map[string]any{"range": 30})
	require.ErrorContains(t, err, "those that can: gain")
	require.NotContains(t, err.Error(), "bias")
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

type scale string

func (scale) Values() []string { return []string{"coarse", "fine"} }

// Common is what two kinds of rangers have in common.
type Common struct {
	Mode    string `attribute:"mode" default:"near" enum:"near,far"`
	Quality int    `attribute:"quality" default:"75" min:"1" max:"100"`
}

type curve struct {
	Lift *float64 `attribute:"lift" default:"0.5" max:"1"`
}

type ranger struct {
	Range  float64    `attribute:"range" unit:"m" default:"10" min:"1" max:"100" usual:"5 50" doc:"how far"`
	Loss   *float64   `attribute:"loss" default:"0.45" max:"1"`
	Spin   *bool      `attribute:"spin" default:"true"`
	Scale  scale      `attribute:"scale" default:"fine"`
	Ink    [3]uint8   `attribute:"ink" default:"#010203"`
	Angles []float64  `attribute:"angles" min:"-90" max:"90"`
	Bias   mgl64.Vec3 `attribute:"bias" min:"-1" max:"1"`
	Seed   uint64     `attribute:"seed" max:"99"`
	Hint   string     `attribute:"hint" default:"a" recommended:"a,b"`
	Shape  float64    `attribute:"shape" default:"360" fixed:"true" min:"1" max:"360"`
	curve  `inert:"nothing bends"`
	Common `defaults:"quality=100"`
	Own    struct {
		Last int `attribute:"last"`
	}
	note string
}

// defineRanger makes a type whose sensors tell the options that they were made of.
func defineRanger(got *ranger) *sensors.Definition {
	return sensors.Define(sensors.Definition{ID: "sensor.test.ranger"}, func(_ sensors.Spec, o ranger) (sensors.Sensor, error) {
		*got = o
		return &bare{}, nil
	})
}

// TestAttributesAreTheFieldsOfTheOptions: each tag has its place, and structs in the
// struct count as it.
func TestAttributesAreTheFieldsOfTheOptions(t *testing.T) {
	d := defineRanger(new(ranger))
	_, err := sensors.NewRegistry(d)
	require.NoError(t, err)
	assert.Equal(t, []sensors.Attribute{
		{Name: "range", Type: sensors.Float, Unit: "m", Default: 10.0, Min: 1, Max: 100, UsualMin: 5, UsualMax: 50, Doc: "how far"},
		{Name: "loss", Type: sensors.Float, Default: 0.45, Max: 1},
		{Name: "spin", Type: sensors.Bool, Default: true},
		{Name: "scale", Type: sensors.String, Default: "fine", Recommended: []string{"coarse", "fine"}, Restricted: true},
		{Name: "ink", Type: sensors.Color, Default: [3]uint8{1, 2, 3}},
		{Name: "angles", Type: sensors.Floats, Default: []float64{}, Min: -90, Max: 90},
		{Name: "bias_x", Type: sensors.Float, Default: 0.0, Min: -1, Max: 1},
		{Name: "bias_y", Type: sensors.Float, Default: 0.0, Min: -1, Max: 1},
		{Name: "bias_z", Type: sensors.Float, Default: 0.0, Min: -1, Max: 1},
		{Name: "seed", Type: sensors.Int, Default: int64(0), Max: 99},
		{Name: "hint", Type: sensors.String, Default: "a", Recommended: []string{"a", "b"}},
		{Name: "shape", Type: sensors.Float, Default: 360.0, Min: 1, Max: 360, Fixed: true},
		{Name: "lift", Type: sensors.Float, Default: 0.5, Max: 1, Inert: "nothing bends"},
		{Name: "mode", Type: sensors.String, Default: "near", Recommended: []string{"near", "far"}, Restricted: true},
		{Name: "quality", Type: sensors.Int, Default: int64(100), Min: 1, Max: 100},
		{Name: "last", Type: sensors.Int, Default: int64(0)},
	}, d.Attributes)
	assert.Equal(t, 75, sensors.DefaultsOf[Common]().Quality, "the default of the struct by itself")
}

// TestASensorIsMadeOfCompleteOptions: what isn't set has its default.
func TestASensorIsMadeOfCompleteOptions(t *testing.T) {
	var got ranger
	d := defineRanger(&got)
	want := ranger{
		Range: 10, Loss: new(0.45), Spin: new(true), Scale: "fine", Ink: [3]uint8{1, 2, 3}, Angles: []float64{}, Hint: "a", Shape: 360,
		curve: curve{Lift: new(0.5)}, Common: Common{Mode: "near", Quality: 100},
	}
	_, err := d.New(sensors.Spec{})
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, want, sensors.DefaultsOf[ranger]())

	s := d.NewSettings()
	for name, value := range map[string]any{"loss": 0, "spin": "false", "scale": "coarse", "bias_y": -0.5, "seed": 7, "mode": "far", "last": 3, "angles": "1,2"} {
		require.NoError(t, s.Set(name, value))
	}
	want.Loss, want.Spin, want.Scale, want.Bias, want.Seed, want.Angles = new(0.0), new(false), "coarse", mgl64.Vec3{0, -0.5, 0}, 7, []float64{1, 2}
	want.Mode, want.Own.Last = "far", 3
	_, err = d.New(sensors.Spec{Settings: s})
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// TestWhatOptionsGive is what isn't zero, of a struct or of what a pointer leads to.
func TestWhatOptionsGive(t *testing.T) {
	d := defineRanger(new(ranger))
	r, err := sensors.NewRegistry(define(), d)
	require.NoError(t, err)
	o := ranger{Loss: new(0.0), Scale: "coarse", Bias: mgl64.Vec3{0, 0, 1}, Seed: 7, Ink: [3]uint8{9}, Common: Common{Quality: 1}, note: "no attribute"}
	for _, options := range []any{o, &o} {
		of, err := r.Of(options)
		require.NoError(t, err)
		assert.Same(t, d, of)
		assert.Equal(t, map[string]any{
			"loss": 0.0, "scale": "coarse", "bias_z": 1.0, "seed": int64(7), "ink": [3]uint8{9}, "quality": int64(1),
		}, d.Given(options))
	}
	for _, options := range []any{nil, curve{}, 5} {
		_, err := r.Of(options)
		require.ErrorIs(t, err, sensors.ErrUnknownSensor)
	}
	other := defineRanger(new(ranger))
	other.ID = "sensor.test.other"
	_, err = sensors.NewRegistry(d, other)
	require.ErrorIs(t, err, sensors.ErrDuplicate, "one struct is one type's")
}

// refused makes a registry of a type with options of type O and returns the error.
func refused[O any]() error {
	_, err := sensors.NewRegistry(sensors.Define(sensors.Definition{ID: "sensor.test.a"}, func(sensors.Spec, O) (sensors.Sensor, error) { return nil, nil }))
	return err
}

func TestOptionsThatContradictThemselvesAreRefused(t *testing.T) {
	for want, err := range map[string]error{
		"field A: a chan int can't be an attribute": refused[struct {
			A chan int `attribute:"a"`
		}](),
		"field A: tag min: ": refused[struct {
			A int `attribute:"a" min:"low"`
		}](),
		"field A: bad attribute value: a is many": refused[struct {
			A int `attribute:"a" default:"many"`
		}](),
		"field A: 0 is a value of its own": refused[struct {
			A float64 `attribute:"a" default:"1" max:"9"`
		}](),
		"field A: false is a value of its own": refused[struct {
			A bool `attribute:"a" default:"true"`
		}](),
		`tag defaults: unknown attribute "qualty"`: refused[struct {
			Common `defaults:"qualty=1"`
		}](),
		"attribute quality: default: ": refused[struct {
			Common `defaults:"quality=0"`
		}](),
	} {
		require.ErrorIs(t, err, sensors.ErrDefinition, want)
		require.ErrorContains(t, err, want)
	}
}
