package control_test

import (
	"bytes"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
)

// added adds a sensor to a run.
func added(t *testing.T, p *pipeline.Pipeline, id, name string, attributes map[string]any) *pipeline.Sensor {
	t.Helper()
	s, err := p.AddSensor(sensors.Config{ID: id, Name: name, Rate: simtime.Hz(100), Attributes: attributes})
	require.NoError(t, err)
	return s
}

// get asks for a picture.
func get(t *testing.T, h http.Handler, sensor string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/sensors/"+sensor+"/image.png", nil))
	return w
}

// TestTheNewestPicture is that of the last step, at its size. A camera that nobody listened to takes pictures from
// the first question on.
func TestTheNewestPicture(t *testing.T) {
	p := newRun(t, pipeline.Config{Capacity: 1})
	size := map[string]any{"image_size_x": 12, "image_size_y": 8}
	added(t, p, "sensor.camera.rgb", "front", size)
	added(t, p, "sensor.camera.semantic_segmentation", "tags", size)
	added(t, p, "sensor.camera.depth", "depth", size)
	added(t, p, "sensor.camera.rgb", "small", map[string]any{"image_size_x": 12, "image_size_y": 8, "publish_raw": false, "compressed": "png"})
	begin(t, p)
	h := control.NewHandler(runOf(p))
	cameras := []string{"front", "tags", "depth", "small"}
	for _, name := range cameras {
		w := get(t, h, name)
		assert.Equal(t, http.StatusNotFound, w.Code)
		assert.Contains(t, w.Body.String(), name+` has no picture yet; from now on it takes some. Time stands: move it on by POST /v1/step or /v1/resume, then ask again"}`)
	}
	for range 2 {
		status, answer := ask(t, h, "POST", "/v1/step", `{"steps": 3}`)
		require.Equal(t, http.StatusOK, status, answer)
	}
	for _, name := range cameras {
		w := get(t, h, name)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		assert.Equal(t, "image/png", w.Header().Get("Content-Type"))
		assert.Equal(t, "0.060000000", w.Header().Get("Raybridge-Stamp"), name)
		picture, err := png.Decode(bytes.NewReader(w.Body.Bytes()))
		require.NoError(t, err)
		assert.Equal(t, 12, picture.Bounds().Dx())
		assert.Equal(t, 8, picture.Bounds().Dy())
		if name == "tags" { // the fake's pictures are all 0
			assert.Equal(t, color.RGBAModel.Convert(color.RGBA(scene.TagUnlabeled.Color())), color.RGBAModel.Convert(picture.At(5, 5)))
		}
	}
}

// TestAResetTakesThePictureBack: one of the time before isn't the newest of the new beginning.
func TestAResetTakesThePictureBack(t *testing.T) {
	p := newRun(t, pipeline.Config{Capacity: 1})
	added(t, p, "sensor.camera.rgb", "front", map[string]any{"image_size_x": 12, "image_size_y": 8})
	begin(t, p)
	h := control.NewHandler(runOf(p))
	assert.Equal(t, http.StatusNotFound, get(t, h, "front").Code)
	for _, k := range []struct {
		path, body, stamp string
	}{{"/v1/step", `{"steps": 6}`, "0.060000000"}, {"/v1/reset", `{"seed": 7}`, ""}, {"/v1/step", `{"steps": 2}`, "0.020000000"}} {
		status, answer := ask(t, h, "POST", k.path, k.body)
		require.Equal(t, http.StatusOK, status, answer)
		w := get(t, h, "front")
		if k.stamp == "" {
			assert.Equal(t, http.StatusNotFound, w.Code, "it is of a time to come")
			continue
		}
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		assert.Equal(t, k.stamp, w.Header().Get("Raybridge-Stamp"))
	}
}

// TestACameraRests when nobody has asked for its picture for a while, also where a paused run is stepped. Where time
// stands, or stands again after a step, the picture stays.
func TestACameraRests(t *testing.T) {
	p := newRun(t, pipeline.Config{Capacity: 1})
	s := added(t, p, "sensor.camera.rgb", "front", map[string]any{"image_size_x": 12, "image_size_y": 8})
	begin(t, p)
	run := runOf(p)
	run.Memory = memory.New(1 << 20)
	h := control.NewHandler(run)
	assert.Equal(t, http.StatusNotFound, get(t, h, "front").Code)
	step := func() {
		status, answer := ask(t, h, "POST", "/v1/step", `{"steps": 2}`)
		require.Equal(t, http.StatusOK, status, answer)
	}
	step()
	for range 3 {
		control.RestPictures(h)
		assert.True(t, s.IsListening(), "time stands again")
	}
	step()
	control.RestPictures(h)
	assert.Equal(t, http.StatusOK, get(t, h, "front").Code)
	step()
	control.RestPictures(h)
	assert.False(t, s.IsListening())
	assert.Zero(t, run.Memory.Held())
}

// TestNoPicture: the error says where to ask instead.
func TestNoPicture(t *testing.T) {
	p := newRun(t, pipeline.Config{Capacity: 1})
	added(t, p, "sensor.other.imu", "imu", nil)
	begin(t, p)
	h := control.NewHandler(runOf(p))
	w := get(t, h, "imu")
	assert.Equal(t, http.StatusNotFound, w.Code)
	assert.Contains(t, w.Body.String(), "imu (sensor.other.imu) takes no pictures, the run has no camera; bridges and /v1/stream have its data")
	added(t, p, "sensor.camera.rgb", "front", nil)
	added(t, p, "sensor.camera.dvs", "events", nil)
	assert.Contains(t, get(t, h, "imu").Body.String(), "takes no pictures, cameras are front;")
	assert.Contains(t, get(t, h, "events").Body.String(), "takes no pictures, cameras are front;")
	w = get(t, h, "fornt")
	assert.Equal(t, http.StatusNotFound, w.Code)
	assert.Contains(t, w.Body.String(), `no such sensor: \"fornt\", did you mean front?`)
}

// TestPicturesAreTakenFromTheBudget: what is kept and what is shown.
func TestPicturesAreTakenFromTheBudget(t *testing.T) {
	for budget, want := range map[int64]string{4000: "the newest picture of a camera needs", 2 * 3 * 1600: "a picture that is shown needs", 1 << 20: ""} {
		p := newRun(t, pipeline.Config{Capacity: 1})
		added(t, p, "sensor.camera.rgb", "front", map[string]any{"image_size_x": 80, "image_size_y": 20})
		begin(t, p)
		run := runOf(p)
		run.Memory = memory.New(budget)
		h := control.NewHandler(run)
		get(t, h, "front")
		status, answer := ask(t, h, "POST", "/v1/step", `{"steps": 3}`)
		require.Equal(t, http.StatusOK, status, answer)
		w := get(t, h, "front")
		if want == "" {
			assert.Equal(t, http.StatusOK, w.Code)
			assert.Equal(t, int64(80*20*3), run.Memory.Held())
			continue
		}
		assert.Equal(t, http.StatusConflict, w.Code)
		assert.Contains(t, w.Body.String(), want)
	}
}
