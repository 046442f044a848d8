package gnss_test

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/gnss"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/spatial"
)

func karlsruhe() *scene.Scene {
	return &scene.Scene{Ego: spatial.Identity(), Origin: scene.Origin{Latitude: 49.01, Longitude: 8.4, Altitude: 115}}
}

func TestFixAtTheOriginIsTheOrigin(t *testing.T) {
	h := sensortest.New(t, gnss.Definition, sensortest.Options{Scene: karlsruhe()})
	h.Fire(1e8)
	m := sensortest.Last[*sample.GnssFix](h, "fix")
	assert.InDelta(t, 49.01, m.Latitude, 1e-10)
	assert.InDelta(t, 8.4, m.Longitude, 1e-10)
	assert.InDelta(t, 115, m.Altitude, 1e-5)
}

func TestAntennaIsWhereItIsMounted(t *testing.T) {
	h := sensortest.New(t, gnss.Definition, sensortest.Options{
		Scene: karlsruhe(), Mount: spatial.FromRPY(mgl64.Vec3{0, 100, 2}, 0, 0, 0),
	})
	h.Fire(1e8)
	m := sensortest.Last[*sample.GnssFix](h, "fix")
	// REP-103 left of an ego that looks east is north.
	assert.Greater(t, m.Latitude, 49.0108)
	assert.InDelta(t, 8.4, m.Longitude, 1e-7)
	assert.InDelta(t, 117, m.Altitude, 1e-2)
}

func TestConformance(t *testing.T) {
	sensortest.Run(t, gnss.Definition, sensortest.Suite{
		Options: sensortest.Options{Scene: karlsruhe()},
		Changed: map[string]any{"noise_horizontal_stddev": 1.0, "noise_vertical_stddev": 1.0},
	})
}
