//go:build peers

package foxglove_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/foxglove"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// address is where the bridge's clients connect.
func address(b *bridges.Bridge) string { return "ws://" + b.Endpoints()[0].Address }

// line reads a line of JSON.
func line(t *testing.T, text string) object {
	t.Helper()
	var m object
	require.NoError(t, json.Unmarshal([]byte(text), &m), "%s", text)
	return m
}

// contains checks that got has what want has, and perhaps more.
func contains(t *testing.T, where string, want, got any) {
	t.Helper()
	switch want := want.(type) {
	case object:
		fields, ok := got.(map[string]any)
		require.True(t, ok, "%s: %v", where, got)
		for key, value := range want {
			contains(t, where+"."+key, value, fields[key])
		}
	case []any:
		list, ok := got.([]any)
		require.True(t, ok, "%s: %v", where, got)
		require.Len(t, list, len(want), where)
		for i, value := range want {
			contains(t, where+"[]", value, list[i])
		}
	case float64:
		number, ok := got.(float64)
		require.True(t, ok, "%s: want %v, got %v", where, want, got)
		assert.InDelta(t, want, number, 1e-9, where)
	default:
		assert.Equal(t, want, got, where)
	}
}

const stampNs = 1_234_567_890_123

var (
	header  = sample.Header{Stamp: stampNs, FrameID: "front", Pose: spatial.Identity()}
	protoAt = object{"seconds": "1234", "nanos": 567_890_123.0}
	rosAt   = object{"sec": 1234.0, "nanosec": 567_890_123.0}
	turned  = spatial.Pose{Position: mgl64.Vec3{1, 2, 3}, Orientation: mgl64.Quat{W: 0.5, V: mgl64.Vec3{0.5, 0.5, 0.5}}}
)

// vector is a vector's JSON.
func vector(x, y, z float64) object { return object{"x": x, "y": y, "z": z} }

var turnedJSON = object{"position": vector(1, 2, 3), "orientation": object{"x": 0.5, "y": 0.5, "z": 0.5, "w": 0.5}}

// publication is one message and what a foreign reader must make of it.
type publication struct {
	topic, schema string
	publish       func(t *testing.T, b *bridges.Bridge) func() error
	want          object
}

func of[T simtime.Stamped](topic, schema string, m T, want object) publication {
	return publication{topic, schema, func(t *testing.T, b *bridges.Bridge) func() error {
		publish := publisher[T](t, b, bridges.Topic{Name: topic})
		return func() error { return publish(context.Background(), m) }
	}, want}
}

func stamped(fields object) object {
	fields["timestamp"] = protoAt
	return fields
}

func headed(fields object) object {
	fields["header"] = object{"stamp": rosAt, "frame_id": "front"}
	return fields
}

// publications has every type that the bridge carries.
func publications() []publication {
	picture := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	points := []sample.Point{{X: 1, Y: -2, Z: 0.5, Intensity: 7, Distance: 2.5, Ring: 3, TimeNs: 1000, Return: 1}}
	odometry := &sample.Odometry{Header: header, ChildFrameID: "base_link", BodyPose: turned, Twist: spatial.Twist{Linear: mgl64.Vec3{4, 5, 6}, Angular: mgl64.Vec3{7, 8, 9}}}
	fix := &sample.GnssFix{Header: header, Latitude: 49.01, Longitude: 8.43, Altitude: 116.5, PositionCovarianceType: 2}
	fix.PositionCovariance[0] = 0.25
	return []publication{
		of("/image", "foxglove.RawImage", &sample.Image{Header: header, Width: 2, Height: 2, Step: 6, Encoding: "rgb8", Data: picture}, stamped(object{
			"frame_id": "front", "width": 2.0, "height": 2.0, "encoding": "rgb8", "step": 6.0, "data": base64.StdEncoding.EncodeToString(picture)})),
		of("/jpeg", "foxglove.CompressedImage", &sample.CompressedImage{Header: header, Format: "jpeg", Data: picture}, stamped(object{
			"frame_id": "front", "format": "jpeg", "data": base64.StdEncoding.EncodeToString(picture)})),
		of("/info", "foxglove.CameraCalibration", &sample.CameraInfo{Header: header, Width: 640, Height: 480, DistortionModel: "plumb_bob", D: []float64{0.5, 0, 0, 0, 0},
			K: [9]float64{500, 0, 320, 0, 500, 240, 0, 0, 1}}, stamped(object{"frame_id": "front", "width": 640.0, "height": 480.0, "distortion_model": "plumb_bob",
			"D": []any{0.5, 0.0, 0.0, 0.0, 0.0}, "K": []any{500.0, 0.0, 320.0, 0.0, 500.0, 240.0, 0.0, 0.0, 1.0}})),
		of("/points", "foxglove.PointCloud", &sample.PointCloud{Header: header, Points: points, Rings: 4, Columns: 1, Layout: sample.LayoutXYZI}, stamped(object{
			"frame_id": "front", "point_stride": 16.0, "pose": object{"position": vector(0, 0, 0), "orientation": object{"w": 1.0}},
			"fields": []any{
				object{"name": "x", "offset": 0.0, "type": "FLOAT32"}, object{"name": "y", "offset": 4.0, "type": "FLOAT32"},
				object{"name": "z", "offset": 8.0, "type": "FLOAT32"}, object{"name": "intensity", "offset": 12.0, "type": "FLOAT32"},
			}, "data": base64.StdEncoding.EncodeToString([]byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0, 0x3f, 0, 0, 0xe0, 0x40})})),
		of("/tf", "foxglove.FrameTransforms", &sample.Transforms{Stamp: stampNs, Transforms: []sample.Transform{{Header: header, ChildFrameID: "lidar", Relative: turned}}},
			object{"transforms": []any{stamped(object{"parent_frame_id": "front", "child_frame_id": "lidar", "translation": vector(1, 2, 3), "rotation": turnedJSON["orientation"]})}}),
		of("/scan", "foxglove.LaserScan", &sample.LaserScan{Header: header, AngleMin: -1, AngleMax: 1, AngleIncrement: 1, Ranges: []float32{1, 2.5, 3}}, stamped(object{
			"frame_id": "front", "start_angle": -1.0, "end_angle": 1.0, "ranges": []any{1.0, 2.5, 3.0}, "intensities": []any{}})),
		of("/fix", "foxglove.LocationFix", fix, stamped(object{"frame_id": "front", "latitude": 49.01, "longitude": 8.43, "altitude": 116.5,
			"position_covariance_type": "DIAGONAL_KNOWN", "position_covariance": []any{0.25, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}})),
		of("/gps", "foxglove.LocationFix", &sample.GpsOdometry{Header: header, Latitude: 49, Longitude: 8, Orientation: mgl64.QuatIdent(), Velocity: mgl64.Vec3{3, 4, 0}}, stamped(object{
			"latitude": 49.0, "heading": 1.5707963267948966, "velocity": vector(3, 4, 0)})),
		of("/odom", "foxglove.Odometry", odometry, stamped(object{"frame_id": "front", "body_frame_id": "base_link", "pose": turnedJSON,
			"linear_velocity": vector(4, 5, 6), "angular_velocity": vector(7, 8, 9)})),
		of("/boxes", "foxglove.SceneUpdate", &sample.Detections3D{Header: header, Boxes: []sample.Box3D{{ID: 7, TypeID: "vehicle.sedan", Label: "Sedan", Tag: 14, Pose: turned, Size: mgl64.Vec3{4, 2, 1.5}, Occlusion: 0.25}}}, object{
			"deletions": []any{stamped(object{"type": "ALL"})},
			"entities": []any{stamped(object{"id": "7", "frame_id": "front", "cubes": []any{object{"pose": turnedJSON, "size": vector(4, 2, 1.5)}},
				"texts": []any{object{"text": "Sedan", "billboard": true}}, "metadata": []any{object{"key": "type", "value": "vehicle.sedan"}, object{"key": "occlusion", "value": "0.25"}}})}}),
		of("/lights", "foxglove.SceneUpdate", &sample.Signals{Header: header, Signals: []sample.Signal{{ID: 3, Label: "green", State: world.SignalGreen, Pose: turned}}}, object{
			"entities": []any{stamped(object{"id": "3", "texts": []any{object{"text": "green"}}})}}),
		of("/rectangles", "foxglove.ImageAnnotations", &sample.Detections2D{Header: header, Boxes: []sample.Box2D{{ID: 9, Label: "Pedestrian", CenterX: 10, CenterY: 20, Width: 4, Height: 8, Truncation: 0.5}}}, stamped(object{
			"points": []any{stamped(object{"type": "LINE_LOOP", "metadata": []any{object{"key": "id", "value": "9"}, object{"key": "occlusion", "value": "0"}, object{"key": "truncation", "value": "0.5"}}, "points": []any{object{"x": 8.0, "y": 16.0}, object{"x": 12.0, "y": 16.0}, object{"x": 12.0, "y": 24.0}, object{"x": 8.0, "y": 24.0}}})},
			"texts":  []any{stamped(object{"text": "Pedestrian", "position": object{"x": 8.0, "y": 16.0}})}})),
		of("/log", "foxglove.Log", &sample.Log{Stamp: stampNs, Level: slog.LevelWarn, Message: "slow", Name: "raybridge", File: "a.go", Line: 7}, stamped(object{
			"level": "WARNING", "message": "slow", "name": "raybridge", "file": "a.go", "line": 7.0})),

		of("/clock", "rosgraph_msgs/msg/Clock", &sample.Clock{Stamp: stampNs}, object{"clock": rosAt}),
		of("/imu", "sensor_msgs/msg/Imu", &sample.Imu{Header: header, Orientation: turned.Orientation, LinearAcceleration: mgl64.Vec3{0, 0, 9.80665}}, headed(object{
			"orientation": turnedJSON["orientation"], "linear_acceleration": vector(0, 0, 9.80665)})),
		of("/range", "sensor_msgs/msg/Range", &sample.Range{Header: header, FieldOfView: 0.5, MinRange: 0.25, MaxRange: 2, Range: 1.5}, headed(object{
			"field_of_view": 0.5, "min_range": 0.25, "max_range": 2.0, "range": 1.5})),
		of("/radar", "sensor_msgs/msg/PointCloud2", &sample.Radar{Header: header, Detections: []sample.RadarDetection{{Velocity: -3, Depth: 10}}}, headed(object{"width": 1.0, "point_step": 28.0})),
		of("/dvs", "sensor_msgs/msg/PointCloud2", &sample.DvsEvents{Header: header, Width: 4, Height: 2, Events: []sample.DvsEvent{{X: 3, Y: 1, Polarity: true}}}, headed(object{"width": 1.0, "point_step": 13.0})),
		of("/radar_objects", "lgsvl_msgs/msg/DetectedRadarObjectArray", &sample.RadarObjects{Header: header, Objects: []sample.RadarObject{{ID: 5, Position: mgl64.Vec3{10, 0, 0}}}}, headed(object{
			"objects": []any{object{"id": 5.0, "object_relative_position": vector(10, 0, 0)}}})),
		of("/speed", "std_msgs/msg/Float32", &sample.Speed{Header: header, MetresPerSecond: 12.5}, object{"data": 12.5}),
		of("/can", "lgsvl_msgs/msg/CanBusData", &sample.CanBus{Header: header, Speed: 3.5, Gear: sample.GearReverse, EngineOn: true, Orientation: mgl64.QuatIdent()}, headed(object{
			"speed_mps": 3.5, "selected_gear": 2.0, "engine_active": true})),
		of("/vehicle_odometry", "lgsvl_msgs/msg/VehicleOdometry", &sample.VehicleOdometry{Header: header, Velocity: 2.5, FrontWheelAngle: -0.25}, headed(object{
			"velocity": 2.5, "front_wheel_angle": 0.25})),
		of("/collision", "carla_msgs/msg/CarlaCollisionEvent", &sample.Collision{Header: header, Other: 7, NormalImpulse: mgl64.Vec3{-100, 0, 0}}, headed(object{
			"other_actor_id": 7.0, "normal_impulse": vector(-100, 0, 0)})),
		of("/comfort", "lgsvl_msgs/msg/ComfortData", &sample.Comfort{Header: header, Velocity: mgl64.Vec3{3, 4, 0}, Jerk: mgl64.Vec3{0, 0, 0.5}}, object{
			"velocity": 5.0, "jerk": 0.5}),
		of("/destination", "geometry_msgs/msg/PoseStamped", &sample.Destination{Header: header, Goal: turned}, headed(object{"pose": turnedJSON})),
		of("/lane", "carla_msgs/msg/CarlaLaneInvasionEvent", &sample.LaneInvasion{Header: header, Marks: []sample.CrossedMark{{Type: sample.LaneMarkSolid}}}, headed(object{
			"crossed_lane_markings": []any{2.0}})),
	}
}

// Foxglove's own client, with Foxglove's own schemas, reads every type that the bridge
// carries, value for value.
func TestFoxglovesClientReadsEveryType(t *testing.T) {
	b := connected(t, "")
	list := publications()
	var send []func() error
	known := map[string]bool{}
	for _, p := range list {
		send = append(send, p.publish(t, b))
		known[p.schema] = true
	}
	plugin, err := bridges.MustRegistry(foxglove.Factory{}).Plugin("foxglove")
	require.NoError(t, err)
	for _, typ := range plugin.Types() {
		if typ.Publishes {
			assert.True(t, known[typ.Wire], "%s as %s is not tested", typ.Go, typ.Wire)
		}
	}
	viewer := bridgetest.StartProcess(t, bridgetest.Node("testdata/peers/viewer.mjs", address(b)))
	contains(t, "serverInfo", object{"name": "raybridge 1.2.3", "metadata": object{"scene": "city"}}, line(t, viewer.Expect(t, "serverInfo"))["serverInfo"])
	viewer.Expect(t, "subscribed")
	for _, p := range list {
		require.Eventually(t, func() bool { return b.Listening(p.topic) }, bridgetest.Patience, tick)
	}
	for i, p := range list {
		if p.topic == "/clock" { // the time is told even before the channel is subscribed to
			continue
		}
		require.NoError(t, send[i](), p.topic)
		got := line(t, viewer.Expect(t, `"topic":"`+p.topic+`"`))
		assert.Equal(t, p.schema, got["type"], p.topic)
		assert.Equal(t, "1234567890123", got["time"], p.topic)
		contains(t, p.topic, p.want, got["message"])
	}
	for i, p := range list {
		if p.topic == "/clock" {
			require.NoError(t, send[i]())
			contains(t, p.topic, p.want, line(t, viewer.Expect(t, `"topic":"/clock"`))["message"])
		}
	}
	assert.Equal(t, "1234567890123", line(t, viewer.Expect(t, `"time":"1234567890123"`))["time"])
	require.NoError(t, b.Close(t.Context()))
	viewer.Expect(t, "closed 1001")
	viewer.Wait(t)
}

// Foxglove's client with TLS. Those that mistake a server with TLS for one without, or the
// other way round, are told by the server and counted. Node trusts the certificates of the file
// NODE_EXTRA_CA_CERTS beside the system's (nodejs.org/api/cli.html).
func TestFoxglovesClientSpeaksTLS(t *testing.T) {
	cert, key, _ := certificate(t)
	encrypted := connected(t, "?cert="+url.QueryEscape(cert)+"&key="+url.QueryEscape(key))
	plain := connected(t, "")
	viewer := func(b *bridges.Bridge, scheme string, env ...string) *bridgetest.Process {
		address := strings.Replace(address(b), "ws://", scheme, 1)
		return bridgetest.StartProcess(t, bridgetest.Node("testdata/peers/viewer.mjs", address, "count").With(env...))
	}
	trusting := "NODE_EXTRA_CA_CERTS=" + cert

	publish := publisher[*sample.Image](t, encrypted, bridges.Topic{Name: "/image"})
	reads := viewer(encrypted, "wss://", trusting)
	reads.Expect(t, "subscribed")
	require.Eventually(t, func() bool { return encrypted.Listening("/image") }, bridgetest.Patience, tick)
	require.NoError(t, publish(t.Context(), bridgetest.Image(7)))
	assert.Equal(t, 1, counted(t, reads, "/image"))
	assert.Zero(t, encrypted.Diagnosis().Failures)

	failed := func(b *bridges.Bridge, times int64, says string) {
		t.Helper()
		require.Eventually(t, func() bool { return b.Diagnosis().Failures == times }, bridgetest.Patience, tick)
		require.ErrorIs(t, b.Diagnosis().LastError, transport.ErrTLS)
		assert.ErrorContains(t, b.Diagnosis().LastError, says)
	}
	viewer(encrypted, "wss://").Expect(t, "self-signed certificate")
	failed(encrypted, 1, "does it trust the certificate?")
	viewer(encrypted, "ws://").Expect(t, "Unexpected server response: 400")
	failed(encrypted, 2, "connect with wss://")
	viewer(plain, "wss://", trusting).Expect(t, "wrong version number")
	failed(plain, 1, "connect with ws://")

	require.NoError(t, publish(t.Context(), bridgetest.Image(8)), "nothing is lost elsewhere")
	assert.Equal(t, 2, counted(t, reads, "/image"))
}
