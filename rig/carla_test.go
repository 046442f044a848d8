package rig_test

import (
	"os"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// vehicle is a document with sensors on one vehicle.
func vehicle(sensors string) string {
	return `{"objects": [{"type": "vehicle.a.b", "id": "ego_vehicle", "sensors": [
` + sensors + `]}]}`
}

// TestCARLAPoses: a spawn_point is in ROS's axes, the older form in CARLA's own.
func TestCARLAPoses(t *testing.T) {
	toROS := func(v mgl64.Vec3) mgl64.Vec3 { return mgl64.Vec3{v[0], -v[1], v[2]} }
	for _, a := range angles {
		r := parse(t, vehicle(jsonf(`
			{"type": "sensor.other.imu", "id": "new", "spawn_point": {"x": 1, "y": 2, "z": 3, "roll": %v, "pitch": %v, "yaw": %v}},
			{"type": "sensor.other.imu", "id": "old", "x": 1, "y": 2, "z": 3, "roll": %v, "pitch": %v, "yaw": %v}`,
			a[0], a[1], a[2], a[0], a[1], a[2])))
		assert.Equal(t, sensors.Pose{X: 1, Y: 2, Z: 3, Roll: a[0], Pitch: a[1], Yaw: a[2]}, entry(t, r, "new").Pose)
		old := entry(t, r, "old").Pose
		assert.Equal(t, [3]float64{1, -2, 3}, [3]float64{old.X, old.Y, old.Z})
		sameRotation(t, old, unrealMatrix(a[0], a[1], a[2]), toROS)
	}
}

func TestCARLASensors(t *testing.T) {
	data, err := os.ReadFile("testdata/carla_objects.json")
	require.NoError(t, err)
	r, err := rig.Parse("o.json", data)
	require.NoError(t, err)
	assert.Empty(t, r.Drivers)

	front := entry(t, r, "front")
	assert.Equal(t, "ego_vehicle/front", front.FrameID)
	assert.Equal(t, map[string]string{"image": "/carla/ego_vehicle/front/image", "camera_info": "/carla/ego_vehicle/front/camera_info"}, front.Topics)
	assert.Equal(t, "20", front.Rate.String())
	assert.Equal(t, sensors.Pose{X: 2, Y: 0.5, Z: 2, Roll: 1, Pitch: 20, Yaw: 30}, front.Pose)
	assert.Equal(t, map[string]any{"image_size_x": int64(96), "image_size_y": int64(64), "fov": 90.0, "principal_point": "corner", "encoding": "bgra8"}, front.Attributes)

	imu := entry(t, r, "imu")
	assert.Equal(t, "front", imu.Parent, "attached to the camera")
	assert.Equal(t, "ego_vehicle/front/imu", imu.Frame)
	assert.Equal(t, map[string]string{"imu": "/carla/ego_vehicle/front/imu"}, imu.Topics)

	lidar := entry(t, r, "lidar")
	assert.Equal(t, "10", lidar.Rate.String(), "a scan is a turn")
	for name, want := range map[string]any{
		"channels": int64(8), "range": 50.0, "upper_fov": 2.0, "rotation_frequency": 10.0, "dropoff_general_rate": 0.45,
		"preset": "uniform", "rolling": false, "layout": "carla", "intensity": "carla", "horizontal_fov": 360.0,
	} {
		assert.Equal(t, want, lidar.Attributes[name], name)
	}
	assert.Equal(t, "carla_semantic", entry(t, r, "semantic_lidar").Attributes["layout"])
	assert.Equal(t, -30.0, entry(t, r, "semantic_lidar").Attributes["lower_fov"], "CARLA's default")
	assert.Equal(t, false, entry(t, r, "semantic_lidar").Attributes["rolling"])
	assert.Equal(t, "10", entry(t, r, "depth").Rate.String())
	assert.Equal(t, int64(96), entry(t, r, "normals").Attributes["image_size_x"])
	assert.Equal(t, "palette_bgra8", entry(t, r, "semantic").Attributes["output"])
	assert.Equal(t, map[string]string{"events": "/carla/ego_vehicle/events/events"}, entry(t, r, "events").Topics)
	assert.Zero(t, entry(t, r, "collision").Rate)
	assert.Equal(t, "sensor.other.signals", entry(t, r, "traffic_lights").ID)

	tf, odom := entry(t, r, "tf"), entry(t, r, "odometry")
	assert.Equal(t, map[string]any{"base_frame": "ego_vehicle"}, tf.Attributes)
	assert.Equal(t, map[string]any{"child_frame": "ego_vehicle"}, odom.Attributes)
	assert.Equal(t, "/carla/objects", entry(t, r, "objects").Topics["boxes"])
	assert.Equal(t, "/carla/ego_vehicle/objects", entry(t, r, "ego_vehicle_objects").Topics["boxes"])
	assert.Equal(t, "ego_vehicle", entry(t, r, "objects").FrameID)

	var lost []string
	for _, n := range r.Notices {
		assert.True(t, n.Lost)
		lost = append(lost, n.String())
	}
	assert.Equal(t, []string{
		`o.json:4:5: objects[1]: no counterpart: sensor.pseudo.opendrive_map "map": raybridge's scenes have no OpenDRIVE map`,
		`o.json:5:5: objects[2]: no counterpart: vehicle.audi.tt: a rig has one vehicle, ego_vehicle; others are actors of the scene`,
		`o.json:14:13: objects[3].sensors[0].attached_objects[1]: no counterpart: actor.pseudo.control "control": no topic carries poses for actors: move them by --world, the API or Python`,
		`o.json:41:9: objects[3].sensors[19]: no counterpart: actor.pseudo.control "control": no topic carries poses for actors: move them by --world, the API or Python`,
	}, lost)
}

// TestCARLAOlderFiles: before objects.json a file had the sensors of one vehicle. Poses are in CARLA's
// own axes, and pictures have width and height.
func TestCARLAOlderFiles(t *testing.T) {
	r := parse(t, `{"sensors": [
		{"type": "sensor.camera.rgb", "id": "front", "x": 2.0, "y": 0.5, "z": 2.0, "roll": 1, "pitch": -20, "yaw": 30,
			"width": 96, "height": 64, "fov": 100, "sensor_tick": 0.05, "gamma": 2.2},
		{"type": "sensor.lidar.ray_cast", "id": "lidar1", "x": 0, "y": 0, "z": 2.4, "roll": 0, "pitch": 0, "yaw": 0, "range": 50,
			"channels": 8, "points_per_second": 320000, "upper_fov": 2.0, "lower_fov": -26.8, "rotation_frequency": 20, "sensor_tick": 0.05},
		{"type": "sensor.other.gnss", "id": "gnss1", "x": 1, "y": 0, "z": 2}
	]}`)
	assert.Empty(t, r.Notices)
	front := entry(t, r, "front")
	assert.Equal(t, sensors.Pose{X: 2, Y: -0.5, Z: 2, Roll: 1, Pitch: 20, Yaw: -30}, front.Pose)
	assert.Equal(t, int64(96), front.Attributes["image_size_x"])
	assert.Equal(t, int64(64), front.Attributes["image_size_y"])
	assert.Equal(t, "ego_vehicle/front", front.FrameID)
	assert.Equal(t, "/carla/ego_vehicle/front/image", front.Topics["image"])
	assert.Equal(t, "20", entry(t, r, "lidar1").Rate.String())
	assert.Equal(t, 50.0, entry(t, r, "lidar1").Attributes["range"])
	assert.Equal(t, map[string]any{"base_frame": "ego_vehicle"}, entry(t, r, "tf").Attributes)
	_, err := pipeline.CheckRig(r, all.Registry())
	require.NoError(t, err)
}

// TestCARLAOlderFilesBeginWithAnything that is CARLA's, and name what isn't.
func TestCARLAOlderFilesBeginWithAnything(t *testing.T) {
	r := parse(t, `{"sensors": [{"type": "actor.pseudo.control", "id": "control"}, {"type": "sensor.other.imu", "id": "imu", "y": 1}]}`)
	assert.Equal(t, -1.0, entry(t, r, "imu").Pose.Y)
	require.Len(t, r.Notices, 1)
	_, err := rig.Parse("r.json", []byte(`{"sensors": [{"type": "Lidar", "name": "l"}, {"type": "sensor.other.imu", "id": "imu"}]}`))
	assert.ErrorContains(t, err, `sensors[0].type: unknown value: CARLA has no sensor "Lidar"`)
}

// TestCARLAStack: the file of CARLA's own ROS 2 has the vehicle at the top. Ids are the names of topics and
// frames there.
func TestCARLAStack(t *testing.T) {
	r, err := rig.Reader{}.Read("testdata/carla_stack.json")
	require.NoError(t, err)
	assert.Empty(t, r.Notices)
	require.Len(t, r.Sensors, 5)
	rgb, lidar := entry(t, r, "rgb"), entry(t, r, "lidar")
	assert.Equal(t, sensors.Pose{X: -4.5, Y: 0.5, Z: 2.8, Pitch: 20, Yaw: 30}, rgb.Pose)
	assert.Equal(t, int64(96), rgb.Attributes["image_size_x"])
	assert.Equal(t, map[string]string{"image": "/carla/hero/rgb/image", "camera_info": "/carla/hero/rgb/camera_info"}, rgb.Topics)
	assert.Equal(t, [2]string{"rgb_frame", "rgb"}, [2]string{rgb.Frame, rgb.FrameID}, "messages name the optical one")
	assert.Equal(t, map[string]string{"points": "/carla/hero/lidar"}, lidar.Topics)
	assert.Equal(t, "lidar", lidar.Frame)
	assert.Equal(t, int64(8), lidar.Attributes["channels"])
	assert.Equal(t, "100", entry(t, r, "imu").Rate.String())
	assert.Equal(t, map[string]any{"base_frame": "hero"}, entry(t, r, "tf").Attributes)
	_, err = pipeline.CheckRig(r, all.Registry())
	require.NoError(t, err)

	r = parse(t, `{"type": "vehicle.a", "id": "hero", "sensors": []}`)
	assert.Len(t, r.Sensors, 1, "the frames")
	r = parse(t, `{"type": "vehicle.a", "id": "hero", "sensors": [{"type": "actor.pseudo.control", "id": "control"}]}`)
	assert.Len(t, r.Notices, 1)
	_, err = rig.Parse("r.json", []byte(`{"type": "vehicle.a", "id": "hero", "sensor": []}`))
	assert.EqualError(t, err, "r.json:1:37: sensor: unknown key, did you mean sensors?")
	_, err = rig.Parse("r.json", []byte(`{"type": "vehicle.a", "sensors": []}`))
	assert.EqualError(t, err, "r.json:1:1: wrong kind of value: it needs the key id")
}

// TestCARLAFrameIDs: a sensor may name its frame itself. One that lies elsewhere keeps its own place on /tf.
func TestCARLAFrameIDs(t *testing.T) {
	r := parse(t, vehicle(`{"type": "sensor.lidar.ray_cast", "id": "top", "frame_id": "velodyne", "spawn_point": {"z": 2}, "attached_objects": [
			{"type": "sensor.other.imu", "id": "imu", "frame_id": "imu_link"}]},
		{"type": "sensor.lidar.ray_cast", "id": "left", "frame_id": "velodyne", "spawn_point": {"y": 1}},
		{"type": "sensor.camera.rgb", "id": "front", "frame_id": "camera_optical"},
		{"type": "sensor.other.gnss", "id": "gnss", "frame_id": ""},
		{"type": "sensor.pseudo.speedometer", "id": "speed", "frame_id": "axle"},
		{"type": "sensor.pseudo.odom", "id": "odometry", "frame_id": "odom_link"}`))
	assert.Equal(t, "velodyne", entry(t, r, "top").Frame)
	imu := entry(t, r, "imu")
	assert.Equal(t, [2]string{"velodyne", "imu_link"}, [2]string{imu.Parent, imu.Frame})
	assert.Equal(t, "/carla/ego_vehicle/top/imu", imu.Topics["imu"], "topics stay")
	left := entry(t, r, "left")
	assert.Equal(t, [2]string{"", "velodyne"}, [2]string{left.Frame, left.FrameID})
	assert.Equal(t, "camera_optical", entry(t, r, "front").FrameID)
	assert.Equal(t, "ego_vehicle/gnss", entry(t, r, "gnss").Frame)
	assert.Equal(t, "axle", entry(t, r, "speed").FrameID)
	assert.Equal(t, "base_link", entry(t, r, "odometry").Frame)
	require.Len(t, r.Notices, 2)
	assert.Contains(t, r.Notices[0].String(), `sensors[1].frame_id: frame "velodyne" lies elsewhere: the messages name it, as in CARLA, and /tf has "left" by its own name`)
	assert.Contains(t, r.Notices[1].String(), "sensors[5].frame_id: no counterpart: its frames are the vehicle's")
	_, err := pipeline.CheckRig(r, all.Registry())
	require.NoError(t, err)
	_, err = rig.Parse("r.json", []byte(vehicle(`{"type": "sensor.other.imu", "id": "a", "frame_id": 1}`)))
	assert.ErrorContains(t, err, "sensors[0].frame_id: wrong kind of value")
}

// TestCARLAVehicleAttributes: those of the blueprint are the vehicle's looks. Its role tells which is the ego.
func TestCARLAVehicleAttributes(t *testing.T) {
	r := parse(t, `{"objects": [
		{"type": "vehicle.a", "id": "first", "attributes": {"color": "1,2,3"}, "sensors": [{"type": "sensor.other.imu", "id": "a"}]},
		{"type": "vehicle.b", "id": "x", "attributes": {"role_name": "hero", "sticky_control": true}, "sensors": [{"type": "sensor.other.imu", "id": "b"}]}
	]}`)
	assert.Equal(t, "x/b", r.Sensors[0].Frame)
	assert.Len(t, r.Notices, 1, "of the other vehicle")
}

// TestCARLAFrames: every run publishes frames, under the vehicle's name, once.
func TestCARLAFrames(t *testing.T) {
	r := parse(t, vehicle(`{"type": "sensor.other.gnss", "id": "a"}`))
	assert.Equal(t, map[string]any{"base_frame": "ego_vehicle"}, entry(t, r, "tf").Attributes)
	r = parse(t, vehicle(`{"type": "sensor.pseudo.tf", "id": "a"}, {"type": "sensor.pseudo.tf", "id": "b"}`))
	require.Len(t, r.Sensors, 1)
	require.Len(t, r.Notices, 1)
	assert.Contains(t, r.Notices[0].Text, "another one publishes the frames already")

	r = parse(t, vehicle(`{"type": "sensor.other.gnss", "id": "a"}, {"type": "sensor.other.imu", "id": "a", "spawn_point": {"x": 1}}`))
	assert.Equal(t, "ego_vehicle/a", entry(t, r, "a").Frame)
	second := entry(t, r, "ego_vehicle_a")
	assert.Equal(t, "", second.Frame, "its own, as the other one's lies elsewhere")
	assert.Equal(t, "ego_vehicle/a", second.FrameID)
}

func TestCARLAChoosesTheVehicle(t *testing.T) {
	r := parse(t, `{"objects": [
		{"type": "vehicle.a", "id": "first", "sensors": [{"type": "sensor.other.imu", "id": "a"}]},
		{"type": "vehicle.b", "id": "x", "role_name": "hero", "sensors": [{"type": "sensor.other.imu", "id": "b"}]},
		{"type": "sensor.camera.rgb", "id": "pole", "spawn_point": {"x": 1, "y": 2, "z": 3}},
		{"type": "walker.pedestrian.0001", "id": "w"}
	]}`)
	require.Len(t, r.Sensors, 2)
	assert.Equal(t, "x/b", r.Sensors[0].Frame)
	assert.Len(t, r.Notices, 3)
}

// TestCARLAGyroBiases: CARLA's axes are left-handed, so that an angular rate (x, y, z) is
// (-x, y, -z) in ours, and a bias of it too. Deviations have no sign.
func TestCARLAGyroBiases(t *testing.T) {
	r := parse(t, vehicle(`{"type": "sensor.other.imu", "id": "a", "sensor_tick": 0.01,
		"noise_gyro_bias_x": 0.1, "noise_gyro_bias_y": 0.2, "noise_gyro_bias_z": -0.3,
		"noise_gyro_stddev_x": 1, "noise_gyro_stddev_y": 2, "noise_gyro_stddev_z": 3,
		"noise_accel_stddev_x": 4, "noise_accel_stddev_y": 5, "noise_accel_stddev_z": 6}`))
	assert.Equal(t, map[string]any{
		"noise_gyro_bias_x": -0.1, "noise_gyro_bias_y": 0.2, "noise_gyro_bias_z": 0.3,
		"noise_gyro_stddev_x": 1.0, "noise_gyro_stddev_y": 2.0, "noise_gyro_stddev_z": 3.0,
		"noise_accel_stddev_x": 4.0, "noise_accel_stddev_y": 5.0, "noise_accel_stddev_z": 6.0,
	}, entry(t, r, "a").Attributes)
	assert.Equal(t, "100", entry(t, r, "a").Rate.String())
	r = parse(t, vehicle(`{"type": "sensor.other.imu", "id": "a"}`))
	assert.Empty(t, entry(t, r, "a").Attributes, "0 is ours too")
}

// TestCARLAObjectsAreAll: the pseudo sensor knows what can't be seen too.
func TestCARLAObjectsAreAll(t *testing.T) {
	r := parse(t, vehicle(`{"type": "sensor.pseudo.objects", "id": "objects"}`))
	assert.Equal(t, map[string]any{"hidden": true, "max_distance": 1000.0}, entry(t, r, "objects").Attributes)
}

// TestCARLAAttachedToNothing: what is attached to something that becomes nothing, or that
// is in the vehicle's frame, stands where it would on that.
func TestCARLAAttachedToNothing(t *testing.T) {
	for _, c := range []struct {
		on      string
		lenient bool
	}{
		{`"actor.pseudo.control"`, false}, {`"sensor.other.rss"`, false}, {`"sensor.pseudo.speedometer"`, false}, {`"sensor.camera.rbg"`, true},
	} {
		r, err := rig.Reader{Lenient: c.lenient}.Parse("r.json", []byte(vehicle(`{"type": "sensor.other.gnss", "id": "top", "spawn_point": {"x": 1}, "attached_objects": [
			{"type": `+c.on+`, "id": "lost", "spawn_point": {"x": 2, "yaw": 90}, "attached_objects": [
				{"type": "sensor.other.imu", "id": "imu", "spawn_point": {"x": 3}}]}]}`)))
		require.NoError(t, err, c.on)
		imu := entry(t, r, "imu")
		assert.Equal(t, "ego_vehicle/top", imu.Parent, c.on)
		assert.Equal(t, "ego_vehicle/top/lost/imu", imu.Frame, c.on)
		want := spatial.FromRPY(mgl64.Vec3{2, 3, 0}, 0, 0, 90)
		got := imu.Pose.Spatial()
		assert.InDeltaSlice(t, want.Position[:], got.Position[:], 1e-12, c.on)
		assert.InDelta(t, 90, imu.Pose.Yaw, 1e-9, c.on)
	}
}

// TestCARLANewerSensors: sensors that came after 0.9.15 are known by name, whatever
// their attributes.
func TestCARLANewerSensors(t *testing.T) {
	r := parse(t, vehicle(`{"type": "sensor.camera.rgb.wide_angle_lens", "id": "a", "camera_model": "stereographic"}`))
	require.Len(t, r.Notices, 1)
	assert.Contains(t, r.Notices[0].Text, `sensor.camera.rgb.wide_angle_lens "a": it is newer than CARLA 0.9.15`)
}

// TestCARLASolidStateLidar: a scan is the whole field of view, a column for each step of it.
func TestCARLASolidStateLidar(t *testing.T) {
	r := parse(t, vehicle(`{"type": "sensor.lidar.hss_lidar", "id": "a"}, {"type": "sensor.lidar.hss_lidar", "id": "b",
		"channels": 16, "horizontal_fov": 90, "horizontal_resolution": 0.5, "sensor_tick": 0.1}`))
	assert.Empty(t, r.Notices)
	a, b := entry(t, r, "a"), entry(t, r, "b")
	for name, want := range map[string]any{"channels": int64(128), "columns": int64(1200), "horizontal_fov": 120.0, "range": 200.0, "upper_fov": 12.9, "lower_fov": -12.5} {
		assert.Equal(t, want, a.Attributes[name], name)
	}
	assert.Equal(t, "20", a.Rate.String())
	assert.Equal(t, int64(180), b.Attributes["columns"])
	assert.Equal(t, "10", b.Rate.String())
	assert.Equal(t, map[string]string{"points": "/carla/ego_vehicle/b"}, b.Topics)
	_, err := pipeline.CheckRig(r, all.Registry())
	require.NoError(t, err)
	_, err = rig.Parse("r.json", []byte(vehicle(`{"type": "sensor.lidar.hss_lidar", "id": "a", "horizontal_resolution": 0}`)))
	require.ErrorIs(t, err, doc.ErrRange)
	assert.ErrorContains(t, err, "sensors[0].horizontal_resolution: out of range: 0 deg, need more than 0")
}

func TestCARLALidarRates(t *testing.T) {
	for tick, want := range map[string]string{"0": "10", "0.05": "10", "0.2": "5", "0.3": "10/3"} {
		r := parse(t, vehicle(`{"type": "sensor.lidar.ray_cast", "id": "a", "sensor_tick": `+tick+`}`))
		assert.Equal(t, want, r.Sensors[0].Rate.String(), tick)
	}
	_, err := rig.Parse("r.json", []byte(vehicle(`{"type": "sensor.lidar.ray_cast", "id": "a", "rotation_frequency": 0}`)))
	require.ErrorIs(t, err, doc.ErrRange)
}

// TestCARLATicksAreExact: the k-th firing is at k ticks, to the nanosecond, however long
// a run is.
func TestCARLATicksAreExact(t *testing.T) {
	for _, c := range []struct {
		tick, rate string
		periodNs   int64
	}{
		{"0.05", "20", 50_000_000}, {`"0.05"`, "20", 50_000_000}, {"0.3", "10/3", 300_000_000}, {"0.03", "100/3", 30_000_000},
		{"0.0333333333333", "1000000000/33333333", 33_333_333}, {"1000", "0.001", 1_000_000_000_000}, {"7", "1/7", 7_000_000_000},
		{"1e-9", "1000000000", 1}, {"1e-12", "20", 50_000_000}, {"0", "20", 50_000_000},
	} {
		r := parse(t, vehicle(`{"type": "sensor.camera.rgb", "id": "a", "sensor_tick": `+c.tick+`}`))
		assert.Equal(t, c.rate, r.Sensors[0].Rate.String(), c.tick)
		for _, k := range []int64{1, 2, 3, 1_000_003} {
			assert.Equal(t, simtime.Stamp(k*c.periodNs), r.Sensors[0].Rate.At(k), c.tick)
		}
	}
}

// TestCARLAHugeTicks: what a lenient reader keeps may be no rate, and is told as such.
func TestCARLAHugeTicks(t *testing.T) {
	for _, tick := range []string{"1e30", "1e300", "-1e300"} {
		r, err := rig.Reader{Lenient: true}.Parse("r.json", []byte(vehicle(`{"type": "sensor.other.gnss", "id": "a", "sensor_tick": `+tick+`}`)))
		if tick[0] == '-' {
			require.NoError(t, err, "each frame")
			_, err = pipeline.CheckRig(r, all.Registry())
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, simtime.ErrRate)
		assert.Contains(t, err.Error(), "objects[0].sensors[0].sensor_tick: ")
	}
}

func TestCARLAFaults(t *testing.T) {
	for _, c := range []struct {
		text, message string
		is            error
	}{
		{`{"objects": [{"id": "a"}]}`, `r.json:1:14: objects[0]: wrong kind of value: it needs the key type`, doc.ErrType},
		{`{"objects": [1]}`, `r.json:1:14: objects[0]: wrong kind of value: need an object with a type and an id`, doc.ErrType},
		{`{"objects": {"a": 1}}`, `r.json:1:13: objects: wrong kind of value: need an array, [ ... ]`, doc.ErrType},
		{`{"objects": [], "object": 1}`, `r.json:1:17: object: unknown key, did you mean objects?`, doc.ErrUnknownKey},
		{`{"objects": [{"type": "vehicle.a"}]}`, `r.json:1:14: objects[0]: wrong kind of value: it needs the key id`, doc.ErrType},
		{`{"objects": [{"type": "vehicle.a", "id": "a", "sensor": []}]}`, `r.json:1:47: objects[0].sensor: unknown key, did you mean sensors?`, doc.ErrUnknownKey},
		{vehicle(`{"type": "sensor.camera.rbg", "id": "a"}`), `r.json:2:10: objects[0].sensors[0].type: unknown value: CARLA has no sensor "sensor.camera.rbg", did you mean sensor.camera.rgb?`, doc.ErrValue},
		{vehicle(`{"type": "sensor.camera.rgb"}`), `r.json:2:1: objects[0].sensors[0]: wrong kind of value: it needs the key id`, doc.ErrType},
		{vehicle(`{"type": "sensor.camera.rgb", "id": ""}`), `r.json:2:37: objects[0].sensors[0].id: unknown value: "", need a name`, doc.ErrValue},
		{vehicle(`{"type": "sensor.camera.rgb", "id": "a", "fow": 90}`), `r.json:2:42: objects[0].sensors[0].fow: unknown key, did you mean fov?`, doc.ErrUnknownKey},
		{vehicle(`{"type": "sensor.camera.rgb", "id": "a", "attributes": {"fow": 90}}`), `r.json:2:57: objects[0].sensors[0].attributes.fow: unknown key, did you mean fov?`, doc.ErrUnknownKey},
		{vehicle(`{"type": "sensor.camera.rgb", "id": "a", "lens_x_size": 2}`), `r.json:2:57: objects[0].sensors[0].lens_x_size: out of range: 2, the range is 0 to 1`, doc.ErrRange},
		{vehicle(`{"type": "sensor.camera.rgb", "id": "a", "exposure_mode": "auto"}`), `r.json:2:59: objects[0].sensors[0].exposure_mode: unknown value: "auto", known are histogram, manual`, doc.ErrValue},
		{vehicle(`{"type": "sensor.other.imu", "id": "a", "x": 1, "spawn_point": {"x": 1}}`), `r.json:2:64: objects[0].sensors[0].spawn_point: unknown value: the sensor has a pose beside spawn_point too: leave one out`, doc.ErrValue},
		{vehicle(`{"type": "sensor.other.imu", "id": "a"}, {"type": "sensor.other.imu", "id": "a"}`), `r.json:2:77: objects[0].sensors[1].id: bad sensor name: two sensors of type sensor.other.imu are named "a"`, rig.ErrName},
		{`{"sensors": [{"type": "sensor.other.imu"}]}`, `r.json:1:14: sensors[0]: wrong kind of value: it needs the key id`, doc.ErrType},
		{`{"sensors": [{"type": "sensor.other.imu", "id": "a"}], "vehicle": 1}`, `r.json:1:56: vehicle: unknown key, known are sensors`, doc.ErrUnknownKey},
		{`{"sensors": [{"type": "sensor.other.imu", "id": "a", "x": "far"}]}`, `r.json:1:59: sensors[0].x: wrong kind of value: "far", need a number`, doc.ErrType},
		{vehicle(`{"type": "sensor.other.imu", "id": "a", "attached_objects": 1}`), `r.json:2:61: objects[0].sensors[0].attached_objects: wrong kind of value: need an array, [ ... ]`, doc.ErrType},
	} {
		_, err := rig.Parse("r.json", []byte(c.text))
		require.ErrorIs(t, err, c.is, c.text)
		assert.Equal(t, c.message, err.Error(), c.text)
	}
}

func FuzzCARLA(f *testing.F) {
	seed(f, "testdata/carla_objects.json", "testdata/carla_stack.json")
	f.Add([]byte(`{"sensors": [{"type": "sensor.camera.rgb", "id": "a", "x": 1, "width": 96}]}`))
	f.Add([]byte(vehicle(`{"type": "sensor.camera.rgb", "id": "a", "attached_objects": [{"type": "sensor.other.imu", "id": "a"}]}`)))
	fuzz(f)
}
