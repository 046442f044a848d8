package rig_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors"
)

// parse reads a rig's text.
func parse(t *testing.T, text string) *rig.Rig {
	t.Helper()
	r, err := rig.Parse("r.json", []byte(text))
	require.NoError(t, err, text)
	return r
}

// entry returns a rig's entry of that name.
func entry(t *testing.T, r *rig.Rig, name string) *sensors.Config {
	t.Helper()
	for i := range r.Sensors {
		if r.Sensors[i].Name == name {
			return &r.Sensors[i]
		}
	}
	require.Fail(t, "no sensor "+name)
	return nil
}

// unityMatrix is a rotation in Unity's axes (x right, y up, z forward), written out for each
// axis. Yaw turns z towards x, pitch turns z towards -y, roll turns x towards y.
func unityMatrix(pitch, yaw, roll float64) mgl64.Mat3 {
	sin, cos := func(deg float64) float64 { return math.Sin(deg * math.Pi / 180) }, func(deg float64) float64 { return math.Cos(deg * math.Pi / 180) }
	// Columns are where the axes go.
	turnY := mgl64.Mat3FromCols(mgl64.Vec3{cos(yaw), 0, -sin(yaw)}, mgl64.Vec3{0, 1, 0}, mgl64.Vec3{sin(yaw), 0, cos(yaw)})
	turnX := mgl64.Mat3FromCols(mgl64.Vec3{1, 0, 0}, mgl64.Vec3{0, cos(pitch), sin(pitch)}, mgl64.Vec3{0, -sin(pitch), cos(pitch)})
	turnZ := mgl64.Mat3FromCols(mgl64.Vec3{cos(roll), sin(roll), 0}, mgl64.Vec3{-sin(roll), cos(roll), 0}, mgl64.Vec3{0, 0, 1})
	return turnY.Mul3(turnX).Mul3(turnZ)
}

// unrealMatrix is a rotation in CARLA's axes (x forward, y right, z up): its columns
// are the turned axes as Unreal Engine's FRotationMatrix gives them.
func unrealMatrix(roll, pitch, yaw float64) mgl64.Mat3 {
	sr, cr := math.Sincos(roll * math.Pi / 180)
	sp, cp := math.Sincos(pitch * math.Pi / 180)
	sy, cy := math.Sincos(yaw * math.Pi / 180)
	return mgl64.Mat3FromCols(
		mgl64.Vec3{cp * cy, cp * sy, sp},
		mgl64.Vec3{sr*sp*cy - cr*sy, sr*sp*sy + cr*cy, -sr * cp},
		mgl64.Vec3{-(cr*sp*cy + sr*sy), cy*sr - cr*sp*sy, cr * cp},
	)
}

// angles that no symmetry hides.
var angles = [][3]float64{{0, 0, 0}, {10, 0, 0}, {0, 20, 0}, {0, 0, 30}, {10, -20, 130}, {-75, 60, -170}, {89, 5, 45}}

// sameRotation compares a pose of ours with a rotation in other axes, point by point:
// toROS takes a point from those axes into ours.
func sameRotation(t *testing.T, p sensors.Pose, other mgl64.Mat3, toROS func(mgl64.Vec3) mgl64.Vec3) {
	t.Helper()
	for _, v := range []mgl64.Vec3{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, -2, 3}} {
		want, got := toROS(other.Mul3x1(v)), p.Spatial().Orientation.Rotate(toROS(v))
		assert.InDeltaSlice(t, want[:], got[:], 1e-12, "%v of %+v", v, p)
	}
}

func TestSVLPosesAreUnitys(t *testing.T) {
	toROS := func(v mgl64.Vec3) mgl64.Vec3 { return mgl64.Vec3{v[2], -v[0], v[1]} }
	for _, a := range angles {
		r := parse(t, jsonf(`{"type": "Radar", "name": "r", "transform": {"x": 1, "y": 2, "z": 3, "pitch": %v, "yaw": %v, "roll": %v}}`, a[0], a[1], a[2]))
		p := r.Sensors[0].Pose
		assert.Equal(t, [3]float64{3, -1, 2}, [3]float64{p.X, p.Y, p.Z})
		sameRotation(t, p, unityMatrix(a[0], a[1], a[2]), toROS)
	}
}

// TestSVLParents: transforms are relative to the parent, also through one that becomes
// nothing. Both chains of matrices are Unity's.
func TestSVLParents(t *testing.T) {
	r := parse(t, `[
		{"type": "Radar", "name": "leaf", "parent": "anchor", "transform": {"x": 1, "y": 2, "z": 3, "pitch": 10, "yaw": 20, "roll": 30}, "params": {"Frame": "f"}},
		{"type": "Transform", "name": "anchor", "parent": "top", "transform": {"x": -1, "z": 0.5, "yaw": 90, "pitch": 90}},
		{"type": "IMU", "name": "top", "transform": {"y": 1.5, "roll": -40}, "params": {"Frame": "t"}}
	]`)
	list, err := r.Resolve(svlLike())
	require.NoError(t, err)
	leaf := list[0]
	assert.Equal(t, "t", leaf.ParentFrame)
	assert.Equal(t, "f", leaf.Frame)

	toROS := func(v mgl64.Vec3) mgl64.Vec3 { return mgl64.Vec3{v[2], -v[0], v[1]} }
	for _, v := range []mgl64.Vec3{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}} {
		inAnchor := unityMatrix(10, 20, 30).Mul3x1(v).Add(mgl64.Vec3{1, 2, 3})
		inTop := unityMatrix(90, 90, 0).Mul3x1(inAnchor).Add(mgl64.Vec3{-1, 0, 0.5})
		inVehicle := unityMatrix(0, 0, -40).Mul3x1(inTop).Add(mgl64.Vec3{0, 1.5, 0})
		want, got := toROS(inVehicle), leaf.Mount.Apply(toROS(v))
		assert.InDeltaSlice(t, want[:], got[:], 1e-9)
		want, got = toROS(inTop), leaf.Relative.Apply(toROS(v))
		assert.InDeltaSlice(t, want[:], got[:], 1e-9)
	}
}

// TestSVLElevations holds the lasers against the latitudes that SVL computes: from the
// zenith, 90 at the horizon, in steps of FieldOfView / LaserCount upwards.
func TestSVLElevations(t *testing.T) {
	for _, c := range []struct {
		lasers        int
		field, center float64
	}{{16, 30, 0}, {16, 20, 0}, {32, 41.33, 10}, {64, 26.9, 11.45}, {128, 40, 5}, {32, 40, -7}, {1, 40, 12}} {
		r := parse(t, jsonf(`{"type": "Lidar", "name": "l", "params": {"LaserCount": %v, "FieldOfView": %v, "CenterAngle": %v}}`, c.lasers, c.field, c.center))
		got := r.Sensors[0].Attributes["elevations"].([]float64)
		require.Len(t, got, c.lasers)
		half := math.Abs(c.center) + c.field/2
		first := 90 + half
		if c.center < 0 {
			first -= 2*half - c.field
		}
		if c.lasers == 1 {
			first = 90 + c.center
		}
		for i, e := range got {
			assert.InDelta(t, 90-(first-float64(i)*c.field/float64(c.lasers)), e, 1e-12, "laser %d of %+v", i, c)
		}
	}
}

// TestSVLFieldOfView: the pixels stay square, so that both focal lengths are one.
func TestSVLFieldOfView(t *testing.T) {
	for _, c := range []struct{ w, h, fov float64 }{{1920, 1080, 60}, {640, 480, 50}, {480, 640, 90}, {1, 1, 1}} {
		r := parse(t, jsonf(`{"type": "Color Camera", "name": "c", "params": {"Width": %v, "Height": %v, "FieldOfView": %v}}`, c.w, c.h, c.fov))
		fov := r.Sensors[0].Attributes["fov"].(float64)
		fy := c.h / (2 * math.Tan(c.fov*math.Pi/360))
		assert.InEpsilon(t, fy, c.w/(2*math.Tan(fov*math.Pi/360)), 1e-12)
	}
}

func TestSVLSensors(t *testing.T) {
	data, err := os.ReadFile("testdata/svl_vehicle.json")
	require.NoError(t, err)
	r, err := rig.Parse("v.json", data)
	require.NoError(t, err)
	assert.Equal(t, []string{"external", "keys"}, r.Drivers)

	lidar := entry(t, r, "Roof_Lidar")
	assert.Equal(t, "velodyne", lidar.Frame)
	assert.Equal(t, map[string]string{"points": "/points_raw"}, lidar.Topics)
	assert.Equal(t, "10", lidar.Rate.String())
	for name, want := range map[string]any{
		"columns": int64(60), "horizontal_fov": 180.0, "forward_angle": 30.0, "compensated": true, "rolling": false,
		"layout": "svl", "intensity": "svl", "range_min": 0.5, "range": 100.0, "dropoff_general_rate": 0.0, "preset": "uniform",
	} {
		assert.Equal(t, want, lidar.Attributes[name], name)
	}
	assert.NotContains(t, lidar.Attributes, "channels")

	camera := entry(t, r, "Front_Camera")
	assert.Equal(t, "sensor.camera.rgb", camera.ID)
	assert.Equal(t, map[string]string{"compressed": "/camera/compressed", "camera_info": "/camera/info"}, camera.Topics)
	assert.Equal(t, "camera", camera.FrameID)
	assert.Empty(t, camera.Frame)
	for name, want := range map[string]any{
		"lens": "svl", "distortion": []float64{-0.02, 0.001, 0, 0}, "principal_point": "corner", "compressed": "jpeg",
		"jpeg_quality": int64(75), "publish_raw": false, "near_clip": 0.1, "far_clip": 1000.0,
	} {
		assert.Equal(t, want, camera.Attributes[name], name)
	}
	assert.Equal(t, "sensor.camera.instance_segmentation", entry(t, r, "Instances").ID)
	assert.Equal(t, int64(100), entry(t, r, "Segmentation").Attributes["jpeg_quality"])
	assert.Equal(t, "/imu_corrected", entry(t, r, "IMU_corrected").Topics["imu"])
	assert.Equal(t, "base_link", entry(t, r, "Front_Lidar").FrameID)
	assert.Equal(t, "100", entry(t, r, "IMU").Rate.String())
	assert.Equal(t, "12.5", entry(t, r, "GPS_Odometry").Rate.String(), "SVL's default")
	assert.Equal(t, "gps", entry(t, r, "GPS_Odometry").Frame, "shared with the GPS, at one place")

	var notices []string
	for _, n := range r.Notices {
		notices = append(notices, n.String())
	}
	assert.Equal(t, []string{
		`v.json:14:119: [2].params.Frame: frame "base_link" is the vehicle's: the messages name it, as in SVL, though "Front Lidar" is mounted elsewhere; /tf has it as Front_Lidar`,
		`v.json:26:138: [5].params.Frame: frame "camera" is also that of "Front Camera", which is mounted elsewhere: /tf has one of them`,
		`v.json:36:3: [15]: every run publishes /clock: the clock is left out`,
	}, notices)
}

// TestSVLDriversAreSensors: what drives becomes a sensor, and the vehicle obeys it.
func TestSVLDriversAreSensors(t *testing.T) {
	r := parse(t, `[
		{"type": "Cruise Control", "name": "cruise", "params": {"CruiseSpeed": 12}},
		{"type": "Control Calibration", "name": "calibration", "params": {"states": [
			{"min_velocity": 0.2, "max_velocity": 10, "throttle": 23, "brakes": 0, "steering": 0, "gear": "forward", "duration": 4},
			{"min_velocity": 0.2, "max_velocity": 5, "throttle": 0, "brakes": 40, "steering": -10, "gear": "reverse", "duration": 1}]}},
		{"type": "LaneFollowingSensor", "name": "lane", "params": {"CruiseSpeed": 5, "Topic": "/lane/control"}},
		{"type": "VehicleStateSensor", "name": "state", "params": {"Topic": "/state"}}
	]`)
	assert.Equal(t, []string{"external"}, r.Drivers)
	assert.Empty(t, r.Notices)
	assert.Equal(t, 12.0, entry(t, r, "cruise").Attributes["cruise_speed"])
	assert.Equal(t, map[string]any{
		"min_speed": []float64{0.2, 0.2}, "max_speed": []float64{10, 5}, "throttle": []float64{23, 0}, "brake": []float64{0, 40},
		"steering": []float64{0, -10}, "reverse": []float64{0, 1}, "duration": []float64{4, 1},
	}, entry(t, r, "calibration").Attributes)
	assert.Equal(t, map[string]string{"steering": "/lane/control"}, entry(t, r, "lane").Topics)
	assert.Equal(t, map[string]string{"state": "/state"}, entry(t, r, "state").Topics)
	for state, message := range map[string]string{
		`{"gear": "park"}`:         `r.json:1:77: params.states[0].gear: unknown value: "park", known are forward, reverse`,
		`{"throtle": 1}`:           `r.json:1:69: params.states[0].throtle: unknown key, did you mean throttle?`,
		`{"duration": "for ever"}`: `r.json:1:81: params.states[0].duration: wrong kind of value: "for ever", need a number`,
	} {
		_, err := rig.Parse("r.json", []byte(`{"type": "Control Calibration", "name": "a", "params": {"states": [`+state+`]}}`))
		assert.EqualError(t, err, message)
	}
}

func TestSVLLenses(t *testing.T) {
	for _, c := range []struct {
		params string
		want   map[string]any
	}{
		{`"Distorted": false, "DistortionParameters": [1, 2, 3, 4], "Xi": 1`, map[string]any{}},
		{`"Distorted": true`, map[string]any{"lens": "svl"}},
		{`"Distorted": true, "Fisheye": true, "Xi": 0.9, "DistortionParameters": [0.1, 0, 0, 0]`, map[string]any{"lens": "svl_fisheye", "xi": 0.9, "distortion": []float64{0.1, 0, 0, 0}}},
		{`"Fisheye": true`, map[string]any{}},
	} {
		r := parse(t, `{"type": "Color Camera", "name": "c", "params": {`+c.params+`}}`)
		got := r.Sensors[0].Attributes
		for _, name := range []string{"lens", "xi", "distortion"} {
			assert.Equal(t, c.want[name], got[name], "%s of %s", name, c.params)
		}
	}
}

func TestSVLLidarsThatAreOthers(t *testing.T) {
	r := parse(t, `[
		{"type": "Lidar", "name": "flat", "params": {"MessageType": "LaserScan", "LaserCount": 1, "CenterAngle": 3, "Topic": "/scan"}},
		{"type": "Lidar", "name": "deep", "params": {"MessageType": "LaserScan", "LaserCount": 2}},
		{"type": "Lidar2D", "name": "planar"},
		{"type": "Velodyne Lidar", "name": "v", "params": {"VelodyneLidarType": "VLS_128", "MaxDistance": 50, "LaserCount": 128}},
		{"type": "LidarSensor", "name": "class", "pluginId": "x", "sortKey": 3, "plugin": {"a": 1}, "params": null, "parent": null}
	]`)
	flat := entry(t, r, "flat")
	assert.Equal(t, "sensor.lidar.laser_scan", flat.ID)
	assert.Equal(t, map[string]string{"scan": "/scan"}, flat.Topics)
	assert.Equal(t, 3.0, flat.Attributes["center_angle"])
	assert.Equal(t, int64(1500), flat.Attributes["measurements_per_rotation"])
	assert.NotContains(t, flat.Attributes, "elevations")
	assert.Equal(t, false, flat.Attributes["rolling"], "all at one instant, as there")
	assert.Equal(t, false, entry(t, r, "planar").Attributes["rolling"])
	assert.Equal(t, "sensor.lidar.ray_cast", entry(t, r, "deep").ID)
	velodyne := entry(t, r, "v").Attributes
	assert.Equal(t, "VelodyneVLS128", velodyne["preset"])
	assert.Equal(t, false, velodyne["rolling"])
	assert.Equal(t, 50.0, velodyne["range"])
	assert.NotContains(t, velodyne, "range_min")
	assert.NotContains(t, velodyne, "elevations")
	assert.Equal(t, "5", entry(t, r, "class").Rate.String())
	require.Len(t, r.Notices, 1)
	assert.Contains(t, r.Notices[0].Text, "a LaserScan needs one laser, not 2")
}

// A Velodyne lidar that sends its packets has the columns of the device, and a bridge.
func TestSVLPackets(t *testing.T) {
	r := parse(t, `[
		{"type": "Velodyne Lidar", "name": "roof", "params": {"HostName": "192.168.1.77", "UDPPortData": 2400, "RotationFrequency": 20}},
		{"type": "Velodyne Lidar", "name": "front & left", "params": {"HostName": " ::1 ", "UDPPortPosition": 0, "RotationFrequency": 10}},
		{"type": "Velodyne Lidar", "name": "rear", "params": {"HostName": "", "RotationFrequency": 20}}
	]`)
	assert.Equal(t, int64(900), entry(t, r, "roof").Attributes["columns"])
	assert.NotContains(t, entry(t, r, "front_&_left").Attributes, "columns", "the preset's")
	assert.NotContains(t, entry(t, r, "rear").Attributes, "columns")
	assert.Empty(t, r.Notices)
	bridges := func(r *rig.Rig) (list []string) {
		for _, b := range r.Bridges {
			list = append(list, b.String())
		}
		return list
	}
	want := []string{"velodyne:192.168.1.77:2400?position=8308&sensor=roof", "velodyne:[::1]:2368?position=0&sensor=front_%26_left"}
	assert.Equal(t, want, bridges(r))
	assert.EqualError(t, r.Bridges[0].Fault(rig.ErrFormat), "r.json:2:69: [0].params.HostName: unknown kind of rig")
	var text bytes.Buffer
	require.NoError(t, r.WriteYAML(&text))
	again, err := rig.Parse("again.yaml", text.Bytes())
	require.NoError(t, err)
	assert.Equal(t, want, bridges(again), "our YAML has them, too")
	assert.ErrorContains(t, again.Bridges[1].Fault(rig.ErrFormat), "again.yaml:6:")
	_, err = rig.Parse("own.yaml", []byte("bridges: [{type: velodyne, address: robot}]\nsensors: []\n"))
	assert.ErrorContains(t, err, "address")
}

// At a rate that no Velodyne turns at, the preset's columns stay, and the notice says why nothing can be sent.
func TestSVLPacketsAtOtherRates(t *testing.T) {
	for _, rate := range []string{"1", "4.9", "20.5", "30"} {
		r := parse(t, `[{"type": "Velodyne Lidar", "name": "roof", "params": {"HostName": "192.168.1.77", "RotationFrequency": `+rate+`}}]`)
		assert.NotContains(t, entry(t, r, "roof").Attributes, "columns", rate)
		require.Len(t, r.Notices, 1, rate)
		assert.Contains(t, r.Notices[0].Text, "5 to 20 Hz, and RotationFrequency is "+rate)
		assert.Empty(t, r.Bridges)
	}
	r, err := rig.Reader{Lenient: true}.Parse("r.json", []byte(`{"type": "Velodyne Lidar", "params": {"HostName": "robot", "VelodyneLidarType": "HDL_32E"}}`))
	require.NoError(t, err)
	assert.Contains(t, r.Notices[0].Text, "VelodyneLidarType is HDL_32E")
	assert.Empty(t, r.Bridges)
	for rate, columns := range map[string]int64{"5": 3600, "12.5": 1440} {
		r := parse(t, `[{"type": "Velodyne Lidar", "name": "roof", "params": {"HostName": "192.168.1.77", "RotationFrequency": `+rate+`}}]`)
		assert.Equal(t, columns, entry(t, r, "roof").Attributes["columns"])
	}
}

func TestSVLNames(t *testing.T) {
	r := parse(t, `[{"type": "IMU", "name": "a b/c"}, {"type": "IMU", "name": "a b/c"}, {"type": "IMU", "params": {"Frame": "/imu link"}}, {"type": "GPS Device", "name": "imu_link"}]`)
	var names, frames []string
	for _, e := range r.Sensors {
		names, frames = append(names, e.Name), append(frames, e.Frame)
	}
	assert.Equal(t, []string{"a_b_c", "a_b_c_2", "IMU", "imu_link"}, names)
	assert.Equal(t, []string{"", "", "imu_link", "imu_link_frame"}, frames)
	require.Len(t, r.Notices, 2)
	assert.Equal(t, `r.json:1:36: [1]: two sensors are named "a b/c": this one becomes a_b_c_2`, r.Notices[0].String())
	assert.Contains(t, r.Notices[1].Text, `"/imu link" becomes "imu_link"`)
}

func TestSVLFaults(t *testing.T) {
	for _, c := range []struct {
		text, message string
		is            error
	}{
		{`{"type": "Lidra", "name": "a"}`, `r.json:1:10: type: unknown value: SVL has no sensor "Lidra", did you mean Lidar?`, doc.ErrValue},
		{`{"type": 3}`, `r.json:1:10: type: wrong kind of value: 3, need a text in quotes`, doc.ErrType},
		{`{"name": "a", "params": {}, "type": null}`, `r.json:1:1: unknown kind of rig: want our list of sensors, SVL's sensors, each with a type, or CARLA's objects or vehicle`, rig.ErrFormat},
		{`[{"name": "a"}]`, `r.json:1:2: [0]: wrong kind of value: it needs the key type`, doc.ErrType},
		{"[{\"type\": \"Lidar\",\n \"nam\": \"a\"}]", `r.json:2:2: [0].nam: unknown key, did you mean name?`, doc.ErrUnknownKey},
		{`{"type": "Lidar", "params": {"LaserCont": 3}}`, `r.json:1:30: params.LaserCont: unknown key, did you mean LaserCount?`, doc.ErrUnknownKey},
		{`{"type": "Velodyne Lidar", "params": {"UDPPortData": 70000}}`, `r.json:1:54: params.UDPPortData: out of range: 70000, the range is 1 to 65535`, doc.ErrRange},
		{`{"type": "Velodyne Lidar", "params": {"UDPPortPosition": 70000}}`, `r.json:1:58: params.UDPPortPosition: out of range: 70000, the range is 0 to 65535`, doc.ErrRange},
		{`{"type": "Lidar", "params": {"LaserCount": 129}}`, `r.json:1:44: params.LaserCount: out of range: 129, the range is 1 to 128`, doc.ErrRange},
		{`{"type": "Lidar", "params": {"LaserCount": 1.5}}`, `r.json:1:44: params.LaserCount: wrong kind of value: 1.5, need a whole number`, doc.ErrType},
		{`{"type": "Lidar", "params": {"LaserCount": "many"}}`, `r.json:1:44: params.LaserCount: wrong kind of value: "many", need a number`, doc.ErrType},
		{`{"type": "Lidar", "params": {"Compensated": 1}}`, `r.json:1:45: params.Compensated: wrong kind of value: 1, need true or false`, doc.ErrType},
		{`{"type": "Lidar", "params": {"VerticalRayAngles": 1}}`, `r.json:1:51: params.VerticalRayAngles: wrong kind of value: need an array, [ ... ]`, doc.ErrType},
		{`{"type": "Lidar", "params": {"VerticalRayAngles": [1, 91]}}`, `r.json:1:51: params.VerticalRayAngles: out of range: 91, the range is -90 to 90`, doc.ErrRange},
		{`{"type": "Lidar", "params": {"HorizontalAngle": 0}}`, `r.json:1:49: params.HorizontalAngle: out of range: 0 deg leave no measurement of 1500 a rotation`, doc.ErrRange},
		{`{"type": "Lidar", "params": {"MessageType": "Cloud"}}`, `r.json:1:45: params.MessageType: unknown value: "Cloud", known are PointCloud2, LaserScan`, doc.ErrValue},
		{`{"type": "Segmentation Camera", "params": {"InstanceSegmentationTags": ["Car", "Tree"]}}`, `r.json:1:72: params.InstanceSegmentationTags: unknown value: "Tree", known are Car, Road, Sidewalk, Vegetation, Obstacle, TrafficLight, Building, Sign, Shoulder, Pedestrian, Curb`, doc.ErrValue},
		{`{"type": "Lidar", "params": []}`, `r.json:1:29: params: wrong kind of value: need an object, { ... }`, doc.ErrType},
		{`{"type": "Color Camera", "params": {"DistortionParameters": [1, 2]}}`, `r.json:1:61: params.DistortionParameters: unknown value: 2 numbers, need none or 4`, doc.ErrValue},
		{`{"type": "IMU", "transform": {"yaww": 1}}`, `r.json:1:31: transform.yaww: unknown key, did you mean yaw?`, doc.ErrUnknownKey},
		{`{"type": "IMU", "transform": {"x": 1e9}}`, `r.json:1:36: transform.x: out of range: 1e+09, the range is -1e+06 to 1e+06`, doc.ErrRange},
		{`[{"type": "IMU", "name": "top"}, {"type": "IMU", "name": "b", "parent": "to"}]`, `r.json:1:73: [1].parent: bad parent frame: no sensor is named "to", did you mean top?`, rig.ErrParent},
		{`[{"type": "IMU", "name": "a", "parent": "b"}, {"type": "IMU", "name": "b", "parent": "a"}]`, `r.json:1:41: [0].parent: bad parent frame: the parents of "a" form a circle`, rig.ErrParent},
		{`[{"type": "IMU", "name": "a", "parent": "a"}]`, `r.json:1:41: [0].parent: bad parent frame: the parents of "a" form a circle`, rig.ErrParent},
		{`[{"type": "IMU", "name": "a"}, {"type": "IMU", "name": "a"}, {"type": "IMU", "name": "b", "parent": "a"}]`, `r.json:1:101: [2].parent: bad parent frame: 2 sensors are named "a"`, rig.ErrParent},
		{`[3]`, `r.json:1:2: [0]: wrong kind of value: need an object, { ... }`, doc.ErrType},
		{`{}`, `r.json:1:1: unknown kind of rig: want our list of sensors, SVL's sensors, each with a type, or CARLA's objects or vehicle`, rig.ErrFormat},
		{`[{"type": "sensor.camera.rgb", "id": "a"}]`, `r.json:1:2: [0]: unknown kind of rig: "sensor.camera.rgb" is CARLA's, whose rigs have a list of objects, or one vehicle's in a list of sensors`, rig.ErrFormat},
	} {
		_, err := rig.Parse("r.json", []byte(c.text))
		require.ErrorIs(t, err, c.is, c.text)
		assert.Equal(t, c.message, err.Error(), c.text)
	}
}

// TestLenientReaders: what is beyond the tables is told and left out, or kept where it is out
// of range. What can't be understood stays an error.
func TestLenientReaders(t *testing.T) {
	lenient := rig.Reader{Lenient: true}
	r, err := lenient.Parse("r.json", []byte(`[
		{"type": "Color Camera", "name": "a", "colour": 1, "params": {"Width": 3840, "Zoom": 2}, "transform": {"w": 1}},
		{"type": "Teapot", "name": "b", "params": {"Spout": 1}, "transform": {"z": 2}},
		{"type": "IMU", "name": "c", "parent": "b", "transform": {"z": 1}}
	]`))
	require.NoError(t, err)
	require.Len(t, r.Sensors, 2)
	assert.Equal(t, sensors.Pose{X: 3}, entry(t, r, "c").Pose, "on the unknown one")
	assert.Equal(t, int64(3840), r.Sensors[0].Attributes["image_size_x"])
	var texts []string
	for _, n := range r.Notices {
		texts = append(texts, n.Text)
	}
	assert.Equal(t, 5, len(texts), "%v", texts)
	assert.Contains(t, strings.Join(texts, "\n"), "out of range: 3840, the range is 1 to 1920")

	_, err = lenient.Parse("r.json", []byte(`{"type": "Lidar", "params": {"LaserCount": "many"}}`))
	require.ErrorIs(t, err, doc.ErrType)
	_, err = lenient.Parse("r.json", []byte(`{"type": "Lidar", "parent": "nobody"}`))
	require.ErrorIs(t, err, rig.ErrParent)
}

func TestTooLarge(t *testing.T) {
	_, err := rig.Parse("r.json", make([]byte, 5<<20))
	require.ErrorIs(t, err, rig.ErrTooLarge)
	path := t.TempDir() + "/r.json"
	require.NoError(t, os.WriteFile(path, make([]byte, 5<<20), 0o644))
	_, err = rig.Reader{}.Read(path)
	require.ErrorIs(t, err, rig.ErrTooLarge)
}

// TestForms tells JSON from YAML, and whose JSON it is.
func TestForms(t *testing.T) {
	for text, sensors := range map[string]int{
		"": 0, "sensors: []": 0, "{sensors: [{id: sensor.test, name: a}]}": 1,
		`{"sensors": [{"id": "sensor.test", "name": "a"}]}`: 1,
		"\ufeff [{\"type\": \"IMU\"}]":                      1,
		"// ours\n/* was */ [{\"type\": \"IMU\"}]":          1,
		"\ufeffsensors:\r\n- id: sensor.test\r\n":           1,
		`{"sensors": [{"type": "IMU"}, {"type": "Radar"}]}`: 2,
		`{"type": "IMU"}`:                                   1, `[]`: 0, `{"objects": []}`: 0,
	} {
		assert.Len(t, parse(t, text).Sensors, sensors, text)
	}
	_, err := rig.Parse("r.json", []byte("[1, 2"))
	var placed *doc.Error
	require.True(t, errors.As(err, &placed))
	assert.Equal(t, 1, placed.Line)
}

func FuzzSVL(f *testing.F) {
	seed(f, "testdata/svl_vehicle.json", "testdata/svl_lidar.json")
	f.Add([]byte(`[{"type": "Transform", "name": "a"}, {"type": "IMU", "parent": "a", "transform": {"pitch": 90}}]`))
	fuzz(f)
}

// TestACameraMayHaveItsNameForItsFrame: messages name what the user wrote, which is the optical frame.
func TestACameraMayHaveItsNameForItsFrame(t *testing.T) {
	r := parse(t, `[{"type": "ColorCameraSensor", "name": "front", "params": {"Frame": "front"}}]`)
	camera := entry(t, r, "front")
	assert.Equal(t, "front_frame", camera.Frame)
	assert.Equal(t, "front", camera.FrameID)
}
