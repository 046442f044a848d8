package motion_test

import (
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// aachen has its origin where the tests of the Python package utm have Aachen: zone 32,
// easting 294409, northing 5628898.
func aachen() *scene.Scene {
	return &scene.Scene{Ego: spatial.Identity(), Map: spatial.TangentMap(spatial.Geodetic{Latitude: 50.77535, Longitude: 6.08389, Altitude: 170})}
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
	assert.InDelta(t, -2.26, yawOf(m.Orientation), 0.005, "it looks east, and the grid is turned")
	assert.InDelta(t, mgl64.DegToRad(-2.26), m.Convergence, 1e-4)
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
	// They are in the grid's axes, as the yaw.
	velocity := mgl64.QuatRotate(-m.Convergence, mgl64.Vec3{0, 0, 1}).Rotate(m.Velocity)
	assert.InDeltaSlice(t, []float64{-omega * 1, omega * (radius - 2), 0}, velocity[:], 1e-5)
	assert.InDeltaSlice(t, []float64{0, 0, omega}, m.AngularVelocity[:], 1e-6)
	assert.InDelta(t, 90+mgl64.RadToDeg(m.Convergence), yawOf(m.Orientation), 1e-5)
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
	assert.Equal(t, mgl64.QuatIdent(), m.Orientation, "the map's axes")
	assert.Zero(t, m.Convergence)
}

// standing is an ego at a point of a map, which looks along the map's x axis.
func standing(at spatial.MapFrame, p mgl64.Vec3) *scene.Scene {
	return &scene.Scene{Ego: spatial.Pose{Position: p, Orientation: mgl64.QuatIdent()}, Map: at}
}

// utm is a map in the coordinates of a zone.
func utm(zone int, south bool) spatial.MapFrame {
	return spatial.GridMap(spatial.UTMZone{Number: zone, South: south})
}

// yawOf is an orientation's, degrees.
func yawOf(q mgl64.Quat) float64 { return mgl64.RadToDeg(spatial.Yaw(q)) }

// places are as PROJ 9.1.1 projects them (+proj=utm +ellps=WGS84): easting, northing, and the
// degrees from true north to the grid's.
var places = []struct {
	name                           string
	latitude, longitude            float64
	zone                           int
	south                          bool
	easting, northing, convergence float64
}{
	{"Gaggenau", 48.7522, 8.3198, 32, false, 450002.2658608, 5400132.7693613, -0.511429193551},
	{"a zone's edge", 48, 12, 32, false, 723775.9153968, 5320655.7891916, 2.230355125152},
	{"Bergen", 60.3913, 5.3221, 32, false, 297353.9327292, 6700648.3452317, -3.198716691879},
	{"Longyearbyen", 78.2232, 15.6267, 33, false, 514278.7151133, 8683355.4694705, 0.613509055418},
	{"Sydney", -33.8568, 151.2153, 56, true, 334900.5696523, 6252288.7528883, 0.994515432286},
	{"Ushuaia", -54.8019, -68.3030, 19, true, 544805.0974509, 3927029.8846990, -0.569572714583},
}

// A vehicle on a map in UTM stands where the map says. Its yaw in the grid is the map's, its yaw
// from true east less by the convergence: the IMU's and the satellite receiver's heading.
func TestSensorsOnAGrid(t *testing.T) {
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			world := standing(utm(p.zone, p.south), mgl64.Vec3{p.easting, p.northing, 100})
			h := sensortest.New(t, motion.GPSOdometryDefinition, sensortest.Options{Scene: world})
			h.Fire(1e8)
			m := sensortest.Last[*sample.GpsOdometry](h, "gps_odometry")
			assert.InDelta(t, p.latitude, m.Latitude, 1e-10)
			assert.InDelta(t, p.longitude, m.Longitude, 1e-10)
			assert.Equal(t, []float64{p.easting, p.northing, 100}, []float64{m.Easting, m.Northing, m.Altitude})
			assert.Equal(t, mgl64.QuatIdent(), m.Orientation)
			assert.InDelta(t, p.convergence, mgl64.RadToDeg(m.Convergence), 1e-8)

			h = sensortest.New(t, motion.GNSSDefinition, sensortest.Options{Scene: world})
			h.Fire(1e8)
			fix := sensortest.Last[*sample.GnssFix](h, "fix")
			assert.Equal(t, []float64{m.Latitude, m.Longitude, m.Altitude}, []float64{fix.Latitude, fix.Longitude, fix.Altitude})
			assert.Zero(t, fix.Status)

			h = sensortest.New(t, motion.IMUDefinition, sensortest.Options{Scene: world})
			h.Fire(1e8)
			imu := sensortest.Last[*sample.Imu](h, "imu")
			assert.InDelta(t, -p.convergence, yawOf(imu.Orientation), 1e-8)
			assert.Equal(t, mgl64.QuatIdent(), imu.Pose.Orientation, "the map's")
		})
	}
}

// The same places on planes that touch the earth there: easting and northing are UTM's. A vehicle
// that looks to true east has the convergence as its yaw.
func TestUTMOfAPlane(t *testing.T) {
	for _, p := range places {
		plane := spatial.TangentMap(spatial.Geodetic{Latitude: p.latitude, Longitude: p.longitude, Altitude: 100})
		h := sensortest.New(t, motion.GPSOdometryDefinition, sensortest.Options{Scene: standing(plane, mgl64.Vec3{})})
		h.Fire(1e8)
		m := sensortest.Last[*sample.GpsOdometry](h, "gps_odometry")
		if p.name == "a zone's edge" {
			assert.Less(t, m.Easting, 300_000.0, "the edge belongs to the next zone")
			continue
		}
		assert.InDeltaSlice(t, []float64{p.easting, p.northing, 100}, []float64{m.Easting, m.Northing, m.Altitude}, 1e-4, p.name)
		assert.InDelta(t, p.convergence, yawOf(m.Orientation), 1e-7, p.name)
	}
}

// A vehicle that drives over the edge of its zone stays in the zone: easting grows steadily, and
// its derivative is the velocity.
func TestOverAZonesEdge(t *testing.T) {
	const speed = 30.0
	world := standing(spatial.TangentMap(spatial.Geodetic{Latitude: 48, Longitude: 11.9999}), mgl64.Vec3{})
	h := sensortest.New(t, motion.GPSOdometryDefinition, sensortest.Options{Scene: world, Ego: straight{speed: speed}, StepNs: 100_000_000})
	var before *sample.GpsOdometry
	for k := int64(1); k <= 10; k++ {
		h.Fire(simtime.Stamp(k * 100_000_000))
		m := *sensortest.Last[*sample.GpsOdometry](h, "gps_odometry")
		if before != nil {
			assert.InDelta(t, m.Velocity[0]*0.1, m.Easting-before.Easting, 1e-3)
			assert.InDelta(t, m.Velocity[1]*0.1, m.Northing-before.Northing, 1e-3)
		}
		before = &m
	}
	assert.Greater(t, before.Longitude, 12.0)
	assert.InDelta(t, speed, before.ForwardSpeed, 1e-9)
}

// Beyond the map's reach there is no position, rather than one of a wrong place.
func TestNoFixBeyondTheMap(t *testing.T) {
	for name, c := range map[string]struct {
		at   spatial.MapFrame
		p    mgl64.Vec3
		want string
	}{
		"a plane at UTM's coordinates": {aachen().Map, mgl64.Vec3{450_000, 5_400_000, 100}, "scene.projection"},
		"nowhere":                      {spatial.MapFrame{}, mgl64.Vec3{450_000, 5_400_000, 100}, "scene.projection"},
		"a grid's own zero":            {utm(32, false), mgl64.Vec3{}, "scene.offset"},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			options := sensortest.Options{Scene: standing(c.at, c.p)}
			h := sensortest.New(t, motion.GNSSDefinition, options)
			gnss := sensortest.New(t, motion.GPSOdometryDefinition, options)
			can := sensortest.New(t, motion.CANBusDefinition, options)
			for _, h := range []*sensortest.Harness{h, gnss, can} {
				*h.Env.Log = *slog.New(slog.NewTextHandler(&log, nil))
				h.Fire(1e8)
				h.Fire(2e8)
			}
			fix := sensortest.Last[*sample.GnssFix](h, "fix")
			assert.Equal(t, int8(-1), fix.Status)
			m := sensortest.Last[*sample.GpsOdometry](gnss, "gps_odometry")
			bus := sensortest.Last[*sample.CanBus](can, "can_bus")
			for _, v := range []float64{fix.Latitude, fix.Longitude, fix.Altitude, m.Latitude, m.Easting, m.Northing, bus.Latitude} {
				assert.True(t, math.IsNaN(v), "%v", v)
			}
			assert.Contains(t, log.String(), c.want)
			assert.Equal(t, 3, strings.Count(log.String(), "there is no fix"), "each says it once")
		})
	}
}

// A scene that lies nowhere has fixes by 0° N 0° E, and says so.
func TestFixesOfASceneWithoutAPlace(t *testing.T) {
	var log strings.Builder
	h := sensortest.New(t, motion.GNSSDefinition, sensortest.Options{Scene: standing(spatial.MapFrame{}, mgl64.Vec3{0, 0, 5})})
	*h.Env.Log = *slog.New(slog.NewTextHandler(&log, nil))
	h.Fire(1e8)
	fix := sensortest.Last[*sample.GnssFix](h, "fix")
	assert.InDeltaSlice(t, []float64{0, 0, 5}, []float64{fix.Latitude, fix.Longitude, fix.Altitude}, 1e-6)
	assert.Contains(t, log.String(), "scene.origin")
}

// A receiver says that its map lies nowhere, and later that it has left the map.
func TestAReceiverLeavesAMapWithoutAPlace(t *testing.T) {
	var log strings.Builder
	away := scenetest.Linear{Start: spatial.Identity(), Velocity: mgl64.Vec3{500_000, 0, 0}} // 100 km in 0.2 s
	h := sensortest.New(t, motion.GNSSDefinition, sensortest.Options{Scene: standing(spatial.MapFrame{}, mgl64.Vec3{}), Ego: away})
	*h.Env.Log = *slog.New(slog.NewTextHandler(&log, nil))
	for stamp := simtime.Stamp(1e8); stamp <= 4e8; stamp += 1e8 {
		h.Fire(stamp)
	}
	assert.Equal(t, int8(-1), sensortest.Last[*sample.GnssFix](h, "fix").Status)
	for _, line := range []string{"the scene has no place on the earth", "there is no fix"} {
		assert.Equal(t, 1, strings.Count(log.String(), line), line)
	}
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
