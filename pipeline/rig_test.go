package pipeline_test

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

func check(text string) ([]string, error) {
	r, err := rig.Parse("r.yaml", []byte("sensors:\n"+text))
	if err != nil {
		return nil, err
	}
	registry := sensors.Must(sensors.NewRegistry(motion.IMUDefinition, motion.OdometryDefinition, lidar.RayCastDefinition))
	return pipeline.CheckRig(r, registry)
}

func TestCheckRigListsTopics(t *testing.T) {
	topics, err := check("- {id: sensor.lidar.ray_cast, name: top}\n- {id: sensor.other.imu, name: imu, topic: /a}")
	require.NoError(t, err)
	assert.Equal(t, []string{"/top/points", "/a/data"}, topics)
}

// TestCheckRigNamesThePlace covers what only a pipeline knows: rates, the
// constructors' own checks, and topics.
func TestCheckRigNamesThePlace(t *testing.T) {
	for _, c := range []struct {
		text, message string
		is            error
	}{
		{"- {id: sensor.other.imu, name: a, rate: fast}", `r.yaml:2:41: sensors[0].rate: invalid rate: "fast" is not a decimal number of at most 9 decimals`, simtime.ErrRate},
		{"- {id: sensor.other.imu, name: a, rate: 0}", "r.yaml:2:41: sensors[0].rate: invalid rate: 0 Hz is outside (0, 1000000000]", simtime.ErrRate},
		{"- {id: sensor.lidar.ray_cast, name: a, range: 1, range_min: 2}", "r.yaml:2:3: sensors[0]: bad attribute value: range_min 2 is not below range 1", sensors.ErrValue},
		{"- {id: sensor.other.imu, name: a, topic: /t}\n- {id: sensor.other.imu, name: b, topic: /t}", "r.yaml:3:42: sensors[1].topic: topic is used twice: /t/data of sensor a, and of this one as *sample.Imu", pipeline.ErrTopic},
	} {
		_, err := check(c.text)
		require.ErrorIs(t, err, c.is, c.text)
		assert.EqualError(t, err, c.message)
	}
}

// TestPlacesOnTheEarthNeedAMap: a sensor that tells of them isn't added to an actor beyond the
// map's reach.
func TestPlacesOnTheEarthNeedAMap(t *testing.T) {
	at := mgl64.Vec3{450_000, 5_400_000, 100}
	for name, c := range map[string]struct {
		place  spatial.MapFrame
		id     string
		refuse bool
	}{
		"flat":                 {spatial.TangentMap(spatial.Geodetic{Latitude: 48}), "sensor.other.gnss", true},
		"nowhere":              {spatial.MapFrame{}, "sensor.other.gps_odometry", true},
		"on a grid":            {spatial.GridMap(spatial.UTMZone{Number: 32}), "sensor.other.gnss", false},
		"of no place on earth": {spatial.MapFrame{}, "sensor.other.imu", false},
	} {
		t.Run(name, func(t *testing.T) {
			world := scenetest.MovingWall(30, 5)
			world.Ego.Position, world.Map = at, c.place
			p, err := pipeline.New(t.Context(), pipeline.Config{
				Scene: world, Open: gputest.NewFake().Open,
				Sensors: sensors.Must(sensors.NewRegistry(motion.GNSSDefinition, motion.GPSOdometryDefinition, motion.IMUDefinition)),
			})
			require.NoError(t, err)
			_, err = p.AddSensor(sensors.Config{ID: c.id, Name: "receiver"})
			if c.refuse {
				require.ErrorIs(t, err, spatial.ErrBeyondMap)
				assert.ErrorContains(t, err, "sensor receiver: "+c.id+": no place on the earth: (450000, 5400000) is 5419 km")
				assert.Empty(t, p.Sensors())
			} else {
				require.NoError(t, err)
			}
			require.NoError(t, p.Close(t.Context()))
		})
	}
}
