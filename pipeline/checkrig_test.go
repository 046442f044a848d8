package pipeline_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/imu"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/odometry"
	"github.com/raybridge/raybridge/simtime"
)

func check(text string) ([]string, error) {
	r, err := rig.Parse("r.yaml", []byte("sensors:\n"+text))
	if err != nil {
		return nil, err
	}
	registry := sensors.Must(sensors.NewRegistry(imu.Definition, odometry.Definition, lidar.RayCast))
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

// TestManySensorsTakeLittle: a rig of a few kilobytes doesn't hold much memory before anything
// is published.
func TestManySensorsTakeLittle(t *testing.T) {
	const sensors = 200
	text := ""
	for i := range sensors {
		text += fmt.Sprintf("- {id: sensor.other.imu, name: s%d}\n", i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	topics, err := check(text)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	assert.Len(t, topics, sensors)
	assert.Less(t, (after.TotalAlloc-before.TotalAlloc)/sensors, uint64(50_000))
}
