package control_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
)

// toldSensor is what GET /v1/sensors tells of one.
type toldSensor struct {
	Name, Parent, Frame string
	Pose                struct{ X, Z, Yaw float64 }
	FOV                 *toldView
	Attributes          []toldAttribute
	Live                map[string]any
}

type toldView struct {
	Horizontal, Vertical float64
	Lower, Upper         *float64
	Range                float64
}

type toldAttribute struct {
	Name, Type, Unit, Doc, Inert string
	Value                        any
	Min, Max                     *float64
	Choices                      []string
	Live                         bool
}

func toldSensors(t *testing.T, h http.Handler) map[string]toldSensor {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/sensors", nil))
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	var list struct{ Sensors []toldSensor }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &list))
	byName := map[string]toldSensor{}
	for _, s := range list.Sensors {
		byName[s.Name] = s
	}
	return byName
}

// A page draws a rig from what the API tells of it: where each sensor is, what it sees, and what may be changed.
func TestWhatTheSensorsSee(t *testing.T) {
	p := newRun(t, pipeline.Config{Capacity: 1})
	for _, c := range []sensors.Config{
		{ID: "sensor.camera.rgb", Name: "front", Pose: sensors.Pose{X: 1.5, Z: 1.4}, Attributes: map[string]any{"image_size_x": 40, "image_size_y": 30, "fov": 90}},
		{ID: "sensor.lidar.ray_cast", Name: "puck", Pose: sensors.Pose{Z: 2, Yaw: 90}, Attributes: map[string]any{"preset": "VelodyneVLP16"}},
		{ID: "sensor.lidar.ray_cast", Name: "front_lidar", Parent: "puck", Attributes: map[string]any{"preset": "HesaiAT128E2X"}},
		{ID: "sensor.lidar.ray_cast", Name: "even", Attributes: map[string]any{"horizontal_fov": 120, "range": 30}},
		{ID: "sensor.lidar.laser_scan", Name: "plane", Attributes: map[string]any{"horizontal_fov": 180}},
		{ID: "sensor.other.radar", Name: "radar"},
		{ID: "sensor.other.ultrasonic", Name: "near", Attributes: map[string]any{"image_size_x": 40, "image_size_y": 40, "vertical_fov": 60}},
		{ID: "sensor.ground_truth.boxes_2d", Name: "boxes"},
		{ID: "sensor.other.imu", Name: "imu", Frame: "imu_link"},
	} {
		_, err := p.AddSensor(c)
		require.NoError(t, err, c.Name)
	}
	h := control.NewHandler(runOf(p))
	told := toldSensors(t, h)
	for name, want := range map[string]struct{ horizontal, vertical, lower, upper, reach float64 }{
		"front": {90, 73.74, 0, 0, 0}, "puck": {360, 0, -15, 15, 100}, "front_lidar": {120, 0, -12.47, 12.93, 200}, "even": {120, 0, -30, 10, 30},
		"plane": {180, 0, 0, 0, 100}, "radar": {30, 30, 0, 0, 100}, "near": {60, 60, 0, 0, 2},
		"boxes": {91.49, 60, 0, 0, 100},
	} {
		view := told[name].FOV
		require.NotNil(t, view, name)
		assert.InDelta(t, want.horizontal, view.Horizontal, 0.5, name)
		assert.InDelta(t, want.vertical, view.Vertical, 0.01, name)
		assert.InDelta(t, want.reach, view.Range, 1e-9, name)
		if want.vertical != 0 {
			assert.Nil(t, view.Lower, name)
			continue
		}
		assert.InDelta(t, want.lower, *view.Lower, 0.2, name)
		assert.InDelta(t, want.upper, *view.Upper, 0.2, name)
	}
	assert.Nil(t, told["imu"].FOV)
	assert.Equal(t, []string{"base_link", "imu_link"}, []string{told["imu"].Parent, told["imu"].Frame})
	assert.Equal(t, []string{"puck", "front_lidar"}, []string{told["front_lidar"].Parent, told["front_lidar"].Frame})
	assert.Equal(t, struct{ X, Z, Yaw float64 }{0, 2, 90}, told["puck"].Pose)
	s, err := p.Sensor("even")
	require.NoError(t, err)
	require.NoError(t, s.Tune(pipeline.Tuning{Attributes: map[string]any{"range": 12.5}}))
	even := toldSensors(t, h)["even"]
	assert.InDelta(t, 12.5, even.FOV.Range, 1e-9, "as it was told last")
	for _, a := range even.Attributes {
		switch a.Name {
		case "range":
			assert.Equal(t, "float", a.Type)
			assert.Equal(t, "m", a.Unit)
			assert.InDelta(t, 12.5, a.Value, 0)
			assert.Equal(t, []float64{0.01, 2000}, []float64{*a.Min, *a.Max})
			assert.True(t, a.Live)
			assert.Contains(t, a.Doc, "longest range")
		case "intensity":
			assert.Equal(t, []string{"surface", "carla", "svl", "range_corrected"}, a.Choices)
			assert.Nil(t, a.Min)
			assert.False(t, a.Live)
		}
	}
}

// What isn't set and follows from a preset has the preset's value, until it is set.
func TestValuesOfAPreset(t *testing.T) {
	p := newRun(t, pipeline.Config{Capacity: 4})
	for name, preset := range map[string]string{"puck": "VelodyneVLP16", "plain": "uniform"} {
		_, err := p.AddSensor(sensors.Config{ID: "sensor.lidar.ray_cast", Name: name, Attributes: map[string]any{"preset": preset}})
		require.NoError(t, err)
	}
	h := control.NewHandler(runOf(p))
	values := func(sensor string) map[string]any {
		told := map[string]any{}
		for _, a := range toldSensors(t, h)[sensor].Attributes {
			told[a.Name] = a.Value
		}
		return told
	}
	is := func(sensor string, lost, longest float64) {
		t.Helper()
		assert.InDelta(t, lost, values(sensor)["dropoff_general_rate"], 0, sensor)
		assert.InDelta(t, longest, values(sensor)["range"], 0, sensor)
	}
	is("puck", 0, 100)
	is("plain", 0.45, 10)
	s, err := p.Sensor("puck")
	require.NoError(t, err)
	require.NoError(t, s.Tune(pipeline.Tuning{Attributes: map[string]any{"dropoff_general_rate": 0.25, "range": 40}}))
	is("puck", 0.25, 40)
}

// The API tells the values that a device's receiver decides, and offers no attribute that it refuses.
func TestValuesOfAReceiver(t *testing.T) {
	p := newRun(t, pipeline.Config{Capacity: 1})
	_, err := p.AddSensor(sensors.Config{ID: "sensor.lidar.ray_cast", Name: "ouster", Attributes: map[string]any{"preset": "OusterOS1_64_real"}})
	require.NoError(t, err)
	told := toldSensors(t, control.NewHandler(runOf(p)))["ouster"]
	want := map[string]any{"intensity": "range_corrected", "r10": 40.0, "range_noise": 0.42, "beam_divergence": 2.27}
	for _, a := range told.Attributes {
		if value, ok := want[a.Name]; ok {
			assert.Equal(t, value, a.Value, a.Name)
		}
		assert.False(t, a.Live && a.Name == "dropoff_zero_intensity")
	}
	assert.Contains(t, told.Live, "range")
	assert.NotContains(t, told.Live, "dropoff_zero_intensity")
}

// Every type's attributes can be told, and a sensor that looks around says what it sees.
func TestEveryTypeIsTold(t *testing.T) {
	for _, d := range sensorsall.Definitions() {
		if d.OpenGL {
			continue
		}
		p := newRun(t, pipeline.Config{Capacity: 1})
		_, err := p.AddSensor(sensors.Config{ID: d.ID, Name: "one"})
		require.NoError(t, err, d.ID)
		one := toldSensors(t, control.NewHandler(runOf(p)))["one"]
		assert.Len(t, one.Attributes, len(d.Attributes), d.ID)
		for _, a := range one.Attributes {
			assert.NotEmpty(t, a.Doc, "%s %s", d.ID, a.Name)
		}
		if d.Looks {
			assert.NotNil(t, one.FOV, d.ID)
		}
	}
}
