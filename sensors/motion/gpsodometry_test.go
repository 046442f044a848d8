package motion_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// aachen has its origin where the tests of the Python package utm have Aachen: zone 32,
// easting 294409, northing 5628898.
func aachen() *scene.Scene {
	return &scene.Scene{Ego: spatial.Identity(), Origin: scene.Origin{Latitude: 50.77535, Longitude: 6.08389, Altitude: 170}}
}

func TestGPSOdometryAtTheOrigin(t *testing.T) {
	h := sensortest.New(t, motion.GPSOdometryDefinition, sensortest.Options{Scene: aachen()})
	h.Fire(1e8)
	m := sensortest.Last[*sample.GpsOdometry](h, "gps_odometry")
	assert.InDelta(t, 50.77535, m.Latitude, 1e-9)
	assert.InDelta(t, 6.08389, m.Longitude, 1e-9)
	assert.InDelta(t, 170, m.Altitude, 1e-5)
	assert.InDelta(t, 294409, m.Easting, 1)
	assert.InDelta(t, 5628898, m.Northing, 1)
	assert.Equal(t, mgl64.QuatIdent(), m.Orientation, "it looks east")
	assert.Equal(t, "under_test", m.FrameID)
	assert.Equal(t, "base_link", m.ChildFrameID)
	assert.Zero(t, m.ForwardSpeed)
}

// A hundred metres north on the map are 99.96 m to 100.1 m in UTM, turned by the meridian's
// convergence. That is -2.26° at Aachen, (6.08389° - 9°) sin 50.775°.
func TestUTMFollowsTheMap(t *testing.T) {
	at := func(p mgl64.Vec3) *sample.GpsOdometry {
		h := sensortest.New(t, motion.GPSOdometryDefinition, sensortest.Options{Scene: aachen(), Mount: spatial.FromRPY(p, 0, 0, 0)})
		h.Fire(1e8)
		return sensortest.Last[*sample.GpsOdometry](h, "gps_odometry")
	}
	origin, north := at(mgl64.Vec3{}), at(mgl64.Vec3{0, 100, 0})
	way := mgl64.Vec2{north.Easting - origin.Easting, north.Northing - origin.Northing}
	assert.InDelta(t, 100, way.Len(), 0.1)
	convergence := mgl64.DegToRad(6.08389-9) * math.Sin(mgl64.DegToRad(50.77535))
	assert.InDelta(t, -convergence, math.Atan2(way[0], way[1]), 1e-4)
}

func TestGPSOdometryMovement(t *testing.T) {
	const radius, speed = 20.0, 8.0
	const omega = speed / radius
	h := sensortest.New(t, motion.GPSOdometryDefinition, sensortest.Options{
		Scene: aachen(), Ego: circle{radius, speed}, Mount: spatial.FromRPY(mgl64.Vec3{1, 2, 1.5}, 0, 0, 0),
	})
	// A quarter of the circle: it goes north.
	quarter := math.Round(math.Pi / 2 / omega * 1e9)
	h.Fire(simtime.Stamp(quarter))
	m := sensortest.Last[*sample.GpsOdometry](h, "gps_odometry")
	// The antenna is two metres further in, and one ahead.
	assert.InDelta(t, omega*(radius-2), m.ForwardSpeed, 1e-6)
	assert.InDeltaSlice(t, []float64{-omega * 1, omega * (radius - 2), 0}, m.Velocity[:], 1e-5)
	assert.InDeltaSlice(t, []float64{0, 0, omega}, m.AngularVelocity[:], 1e-6)
	_, _, yaw := spatial.Pose{Orientation: m.Orientation}.RPY()
	assert.InDelta(t, 90, yaw, 1e-5)
	// Wheels of a 2.8 m wheelbase on that circle.
	assert.InDelta(t, math.Atan(2.8/radius), m.WheelAngle, 1e-6)
	assert.Equal(t, "under_test", m.ChildFrameID)
}

func TestGPSOdometryIgnoreMapOrigin(t *testing.T) {
	h := sensortest.New(t, motion.GPSOdometryDefinition, sensortest.Options{
		Scene: aachen(), Mount: spatial.FromRPY(mgl64.Vec3{30, 40, 1}, 0, 0, 0),
		Attributes: map[string]any{"ignore_map_origin": true, "child_frame": "gnss"},
	})
	h.Fire(1e8)
	m := sensortest.Last[*sample.GpsOdometry](h, "gps_odometry")
	assert.InDelta(t, 30, m.Easting, 1e-9)
	assert.InDelta(t, 40, m.Northing, 1e-9)
	assert.Greater(t, m.Latitude, 50.7755)
	assert.Equal(t, "gnss", m.ChildFrameID)
}

func TestGPSOdometrySVLDefaults(t *testing.T) {
	settings := motion.GPSOdometryDefinition.NewSettings()
	assert.Equal(t, "", settings.Value("child_frame"))
	assert.Equal(t, false, settings.Value("ignore_map_origin"))
	assert.Equal(t, "12.5", motion.GPSOdometryDefinition.Rate.String())
}

func TestGPSOdometryRidesOnItsOwner(t *testing.T) {
	world := aachen()
	world.Actors = []*scene.Actor{{ID: 7, Name: "bus", TypeID: "vehicle.bus", Motion: circle{10, 5}}}
	h := sensortest.New(t, motion.GPSOdometryDefinition, sensortest.Options{Scene: world, Owner: 7})
	h.Fire(1e9)
	m := sensortest.Last[*sample.GpsOdometry](h, "gps_odometry")
	assert.InDelta(t, 5, m.ForwardSpeed, 1e-6)
}
