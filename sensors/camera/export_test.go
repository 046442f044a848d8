package camera

import (
	"errors"
	"io"

	"github.com/go-gl/mathgl/mgl32"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/weather"
)

// Stats is what the cameras of a pipeline did.
type Stats = stats

// StatsOf returns what the cameras that share s did so far; zero before the
// first camera began. Any goroutine may call it.
func StatsOf(s *sensors.Shared) Stats {
	got, err := s.Get(rendererKey{}, func() (io.Closer, error) { return nil, errNoRenderer })
	if err != nil {
		return Stats{}
	}
	r := got.(*renderer)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// InfoOf returns the CameraInfo of a camera.
func InfoOf(s sensors.Sensor) *sample.CameraInfo { return &s.(*camera).calibration }

// Daylight is the light of a scene that has none of its own.
var Daylight = daylight

// Outdoors is a scene's light in a weather.
type Outdoors struct {
	Light                         scene.Light
	Around, Beyond, Air, AirAbove mgl32.Vec3
	Depth                         float64
}

// OutdoorsOf returns a light in a weather, under a sun whose elevation has the sine height.
func OutdoorsOf(l *scene.Light, height float64, w weather.State) Outdoors {
	o := outdoorsOf(l, height, w)
	return Outdoors{o.light, o.around, o.beyond, o.air, o.airAbove, o.depth}
}

var errNoRenderer = errors.New("no camera has begun")
