package rig_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/raybridge/raybridge/rig"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTopicName(t *testing.T) {
	for topic, want := range map[string]string{
		"/lidar/points": "/lidar/points", "/_hidden/a_1": "/_hidden/a_1", "imu": "imu", "/": "/",
		"/3d": "/n3d", "/lidar-top/points": "/lidar_top/points", "/a__b": "/a_b", "/-front-": "/front",
		"/a.b/2.5m": "/a_b/n2_5m", "/kamera.größe": "/kamera_gr_e", "/~/x": "/n/x", "/Front Left": "/Front_Left", "/___": "/n",
	} {
		assert.Equal(t, want, rig.TopicName(topic), topic)
	}
}

// FuzzTopicName: whatever is written, ROS allows what comes of it, and it stays.
func FuzzTopicName(f *testing.F) {
	for _, seed := range []string{"/lidar-top/3d", "/a__b", "/~", "/ä/1", "/_"} {
		f.Add(seed)
	}
	allowed := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	f.Fuzz(func(t *testing.T, topic string) {
		got := rig.TopicName(topic)
		assert.Equal(t, got, rig.TopicName(got))
		require.Equal(t, strings.Count(topic, "/"), strings.Count(got, "/"))
		for part := range strings.SplitSeq(got, "/") {
			if part != "" {
				assert.True(t, allowed.MatchString(part) && !strings.Contains(part, "__"), "%q of %q", part, topic)
			}
		}
	})
}

// TestForbiddenTopicsAreTold, once each, where they are written.
func TestForbiddenTopicsAreTold(t *testing.T) {
	r, err := rig.Parse("r.yaml", []byte("sensors:\n  - {id: sensor.test, name: top-1}\n  - {id: sensor.test, name: b, topic: /3d, topics: {data: /x-y}}\n  - {id: sensor.test, name: c, topic: good/}\n"))
	require.NoError(t, err)
	r.Note(registry())
	var told []string
	for _, n := range r.Notices {
		told = append(told, n.String())
		assert.False(t, n.Lost)
	}
	assert.Equal(t, []string{
		"r.yaml:2:29: sensors[0].name: ROS forbids the topic /top-1, /top_1 takes its place",
		"r.yaml:3:39: sensors[1].topic: ROS forbids the topic /3d, /n3d takes its place",
		"r.yaml:3:59: sensors[1].topics.data: ROS forbids the topic /x-y, /x_y takes its place",
	}, told)
	list, err := r.Resolve(registry())
	require.NoError(t, err)
	assert.Equal(t, []string{"/top_1", "/n3d", "/good"}, []string{list[0].Topic, list[1].Topic, list[2].Topic})
	assert.Equal(t, "/x_y", list[1].Topics["data"])
}

func TestWhatIsUnusualIsTold(t *testing.T) {
	for entry, want := range map[string]string{
		"{id: sensor.lidar.ray_cast, name: a, pose: {z: -50}}":                       "r.yaml:2:48: sensors[0].pose: sensor a is mounted 50 m under the ground: 0 to 30 m above it are usual",
		"{id: sensor.lidar.ray_cast, name: a, pose: {z: 80}}":                        "r.yaml:2:48: sensors[0].pose: sensor a is mounted 80 m above the ground: 0 to 30 m are usual",
		"{id: sensor.other.gnss, name: a, pose: {x: 1.5, y: -1000}}":                 "r.yaml:2:44: sensors[0].pose: sensor a is mounted x 1.5 m, y -1000 m from base_link: up to 30 m are usual",
		"{id: sensor.other.gnss, name: a, pose: {x: -40}}":                           "r.yaml:2:44: sensors[0].pose: sensor a is mounted x -40 m, y 0 m from base_link: up to 30 m are usual",
		"{id: sensor.camera.rgb, name: a, fov: 0.5, pose: {z: 1}}":                   "r.yaml:2:43: sensors[0].fov: fov is 0.5 deg, which is unusual: 5 to 170 deg are usual",
		"{id: sensor.camera.rgb, name: a, fov: 0.5e1, pose: {z: 1}}":                 "",
		"{id: sensor.lidar.ray_cast, name: a, range: 1500, pose: {z: 2}}":            "r.yaml:2:49: sensors[0].range: range is 1500 m, which is unusual: 1 to 500 m are usual",
		"{id: sensor.lidar.ray_cast, name: a, horizontal_fov: 1, pose: {z: 2}}":      "r.yaml:2:58: sensors[0].horizontal_fov: horizontal_fov is 1 deg, which is unusual: 5 to 360 deg are usual",
		"{id: sensor.other.imu, name: a, noise_gyro_stddev_x: 9}":                    "r.yaml:2:58: sensors[0].noise_gyro_stddev_x: noise_gyro_stddev_x is 9 rad/s, which is unusual: 0 to 1 rad/s are usual",
		"{id: sensor.other.obstacle, name: a, distance: 300}":                        "r.yaml:2:52: sensors[0].distance: distance is 300 m, which is unusual: 0.5 to 200 m are usual",
		"{id: sensor.other.obstacle, name: a, hit_radius: 6}":                        "r.yaml:2:54: sensors[0].hit_radius: hit_radius is 6 m, which is unusual: 0.05 to 5 m are usual",
		"{id: sensor.other.odometry, name: a, frame: base_link}":                     "",
		"{id: sensor.camera.rgb, name: a, pose: {x: -4.5, z: 2.8}}":                  "",
		"{id: sensor.lidar.ray_cast, name: a, range: 1e9}":                           "", // an error, which Resolve tells
		"{id: sensor.lidar.ray_cast, name: a, preset: VelodyneVLS128, pose: {z: 2}}": "",
		"{id: sensor.camera.rgb, name: a}":                                           "r.yaml:2:5: sensors[0]: sensor a has no pose, and looks from the ground at the origin of base_link: mount it higher, such as with pose: {z: 1.6}",
		"{id: sensor.camera.rgb, name: a, pose: {x: 2}}":                             "r.yaml:2:44: sensors[0].pose: sensor a is mounted 0 m above the ground, which is most of what it sees: mount it higher",
		"{id: sensor.lidar.laser_scan, name: a, pose: {z: 0.05}}":                    "",
		"{id: sensor.other.ultrasonic, name: a, pose: {z: 0.3, x: 3.9}}":             "",
	} {
		r, err := rig.Parse("r.yaml", []byte("sensors:\n  - "+entry+"\n"))
		require.NoError(t, err)
		r.Note(sensorsall.Registry())
		if want == "" {
			assert.Empty(t, r.Notices, entry)
			continue
		}
		require.Len(t, r.Notices, 1, entry)
		assert.Equal(t, want, r.Notices[0].String())
	}
}

// TestARigOfIDsAndNamesIsTold which of its sensors look from the ground. The others have what they need
// at a vehicle's origin.
func TestARigOfIDsAndNamesIsTold(t *testing.T) {
	var told []string
	for _, id := range sensorsall.Registry().IDs() {
		r, err := rig.Parse("r.yaml", []byte("sensors: [{id: "+id+", name: a}]"))
		require.NoError(t, err)
		r.Note(sensorsall.Registry())
		if len(r.Notices) > 0 {
			require.Len(t, r.Notices, 1)
			assert.Contains(t, r.Notices[0].Text, "has no pose")
			told = append(told, id)
		}
	}
	assert.Equal(t, []string{
		"sensor.camera.depth", "sensor.camera.dvs", "sensor.camera.instance_segmentation", "sensor.camera.normals", "sensor.camera.optical_flow", "sensor.camera.rgb",
		"sensor.camera.semantic_segmentation", "sensor.ground_truth.boxes_2d", "sensor.lidar.laser_scan", "sensor.lidar.ray_cast", "sensor.lidar.ray_cast_semantic",
		"sensor.other.radar", "sensor.other.ultrasonic",
	}, told)
}

// TestTheGroundIsBelowTheVehicle: what counts is where a sensor is on the vehicle, not in
// the frame that it is mounted in.
func TestTheGroundIsBelowTheVehicle(t *testing.T) {
	r, err := rig.Parse("r.yaml", []byte("sensors:\n  - {id: sensor.lidar.ray_cast, name: a, pose: {z: 2}}\n  - {id: sensor.camera.rgb, name: b, parent: a, pose: {z: -1.5}}\n  - {id: sensor.other.imu, name: c, parent: b, pose: {z: -1.5}}\n"))
	require.NoError(t, err)
	r.Note(sensorsall.Registry())
	require.Len(t, r.Notices, 1)
	assert.Contains(t, r.Notices[0].Text, "sensor c is mounted 1 m under the ground")
}
