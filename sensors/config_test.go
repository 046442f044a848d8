package sensors_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
)

func TestAQualityChangesWhatItGives(t *testing.T) {
	own := flow.QoS{Reliability: flow.Reliable, Durability: flow.TransientLocal, History: flow.KeepAll, Depth: 5}
	for name, c := range map[string]struct {
		quality    sensors.Quality
		from, want flow.QoS
	}{
		"nothing":           {sensors.Quality{}, own, own},
		"nothing over none": {sensors.Quality{}, flow.QoS{}, flow.QoS{}},
		"weaker": {
			sensors.Quality{Reliability: "best_effort", Durability: "volatile"}, own,
			flow.QoS{Reliability: flow.BestEffort, Durability: flow.Volatile, History: flow.KeepAll, Depth: 5},
		},
		"stronger": {
			sensors.Quality{Reliability: "reliable", Durability: "transient_local"}, flow.QoS{Reliability: flow.BestEffort, Durability: flow.Volatile, History: flow.KeepLast, Depth: 1},
			flow.QoS{Reliability: flow.Reliable, Durability: flow.TransientLocal, History: flow.KeepLast, Depth: 1},
		},
		"a depth keeps the last": {
			sensors.Quality{Depth: 9}, own,
			flow.QoS{Reliability: flow.Reliable, Durability: flow.TransientLocal, History: flow.KeepLast, Depth: 9},
		},
	} {
		assert.Equal(t, c.want, c.quality.Over(c.from), name)
	}
	over := flow.DefaultQoS
	over.Reliability = flow.Reliable
	assert.Equal(t, over, sensors.Quality{Reliability: "reliable"}.Over(flow.QoS{}), "the default has the rest")
}

func TestRatesHaveAnUpperEnd(t *testing.T) {
	require.NoError(t, sensors.CheckRate(simtime.Hz(sensors.MaxRate)))
	err := sensors.CheckRate(simtime.Hz(sensors.MaxRate + 1))
	assert.ErrorIs(t, err, simtime.ErrRate)
	assert.ErrorContains(t, err, "10001 Hz, a sensor fires 10000 times a second at most")
}

// line is a place in a file.
type line int

func (l line) Errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: "+format, append([]any{int(l)}, args...)...)
}

// TestFaultsHaveTheirPlace: that of the key, else that of the sensor, else the sensor's name.
func TestFaultsHaveTheirPlace(t *testing.T) {
	bad := errors.New("bad")
	program := &sensors.Config{Name: "front", Attributes: map[string]any{"fov": 200}}
	file := &sensors.Config{Name: "front"}
	file.PlaceAt("", line(3))
	file.PlaceAt("topic", line(4))
	file.PlaceAt("topics.image", line(5))
	file.Set("fov", 200, line(6))
	for _, c := range []struct {
		config    *sensors.Config
		key, want string
	}{
		{program, "", "sensor front: bad"}, {program, "rate", "sensor front: rate: bad"}, {program, "fov", "sensor front: bad"},
		{file, "", "line 3: bad"}, {file, "rate", "line 3: rate: bad"}, {file, "fov", "line 6: bad"},
		{file, "topics.image", "line 5: bad"}, {file, "topics.camera_info", "line 4: bad"},
	} {
		err := c.config.Fault(c.key, bad)
		assert.EqualError(t, err, c.want)
		assert.ErrorIs(t, err, bad)
	}
}

func TestAttributesKeepTheOrderInWhichTheyAreSet(t *testing.T) {
	var c sensors.Config
	for i, name := range []string{"width", "fov", "height", "fov"} {
		c.Set(name, i, line(i))
	}
	c.Attributes["blur"], c.Attributes["aperture"] = 1, 2
	delete(c.Attributes, "height")
	assert.Equal(t, []string{"width", "fov", "aperture", "blur"}, c.Names())
	assert.Equal(t, 3, c.Attributes["fov"], "the last value holds")
}

// beside is a place in a file of the folder rigs.
type beside struct{ line }

func (beside) Beside(path string) string { return "rigs/" + path }

// TestPathsAreRelativeToTheirFile: of an attribute that names a file. One that a program gives is as it is.
func TestPathsAreRelativeToTheirFile(t *testing.T) {
	type options struct {
		Table string `attribute:"table" path:"true"`
		Word  string `attribute:"word"`
	}
	d := sensors.Define(sensors.Definition{ID: "sensor.test.table", Doc: "reads a table", Rate: simtime.Hz(1)},
		func(sensors.Spec, options) (sensors.Sensor, error) { return nil, nil })
	registry, err := sensors.NewRegistry(d)
	require.NoError(t, err)
	c := sensors.Config{ID: d.ID, Name: "a", Attributes: map[string]any{"table": "x.csv"}}
	s, err := c.Resolve(registry)
	require.NoError(t, err)
	assert.Equal(t, "x.csv", s.Settings.Value("table"))
	c.Set("table", "y.csv", beside{3})
	c.Set("word", "y.csv", beside{4})
	s, err = c.Resolve(registry)
	require.NoError(t, err)
	assert.Equal(t, "rigs/y.csv", s.Settings.Value("table"))
	assert.Equal(t, "y.csv", s.Settings.Value("word"))
}
