//go:build peers

package rosbridge_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// header is the n-th sample's.
func header(n int64) sample.Header {
	return sample.Header{Stamp: simtime.Stamp(1_700_000_000_123_456_789 + n), Seq: uint64(n), FrameID: "probe é", Pose: spatial.Identity()}
}

// nan is the one that Python's float("nan") is.
var nan = math.Float64frombits(0x7ff8 << 48)

var (
	pose = spatial.FromRPY(mgl64.Vec3{1, -2, 3.5}, 0.1, -0.2, 0.3)
	move = spatial.Twist{Linear: mgl64.Vec3{5, 0.25, -1}, Angular: mgl64.Vec3{0, 0.125, -0.5}}
)

// samples has one of each type that the bridge publishes.
var samples = []simtime.Stamped{
	&sample.Clock{Stamp: 1_700_000_000_123_456_789}, bridgetest.Image(1),
	&sample.CompressedImage{Header: header(2), Format: "jpeg", Data: []byte{0xff, 0xd8, 0, 1, 0xff, 0xd9}},
	&sample.CameraInfo{
		Header: header(3), Width: 640, Height: 480, DistortionModel: "plumb_bob", D: []float64{-0.1, 0.01, 0, 0, 1e-9},
		K: [9]float64{500, 0, 319.5, 0, 501, 239.5, 0, 0, 1},
	},
	bridgetest.PointCloud(4),
	&sample.Imu{Header: header(5), Orientation: pose.Orientation, AngularVelocity: mgl64.Vec3{math.Inf(1), math.Inf(-1), nan}, LinearAcceleration: mgl64.Vec3{0, 0, 9.80665}},
	&sample.GnssFix{Header: header(6), Latitude: 49.01, Longitude: -8.43, Altitude: 116.5, PositionCovariance: [9]float64{0: 1e-4}, PositionCovarianceType: 2, Service: 1},
	&sample.Odometry{Header: header(7), ChildFrameID: "base_link", BodyPose: pose, Twist: move},
	&sample.Transforms{Stamp: 8, Transforms: []sample.Transform{{Header: header(8), ChildFrameID: "lidar", Relative: pose}, {Header: header(9), ChildFrameID: "camera", Relative: pose}}},
	&sample.LaserScan{
		Header: header(10), AngleMin: -1, AngleMax: 1, AngleIncrement: 0.5, RangeMax: 30,
		Ranges:      []float32{1.1, 2, 3.3333333, float32(math.Inf(1)), float32(math.Inf(-1)), float32(nan), math.MaxFloat32, math.SmallestNonzeroFloat32},
		Intensities: []float32{0.1, 0, 255, 0, 0, 0, 0, 0},
	},
	&sample.Range{Header: header(11), FieldOfView: 0.7, MinRange: 0.3, MaxRange: 2, Range: 1.1},
	&sample.Radar{Header: header(12), Detections: []sample.RadarDetection{{Velocity: -3.1, Depth: 10}}},
	&sample.RadarObjects{Header: header(13), Objects: []sample.RadarObject{{ID: 7, Position: mgl64.Vec3{10, 1, 0}, Moving: true}}},
	&sample.DvsEvents{Header: header(14), Width: 4, Height: 2, Events: []sample.DvsEvent{{X: 3, Y: 1, TimeNs: 5, Polarity: true}}},
	&sample.Speed{Header: header(15), MetresPerSecond: 13.9},
	&sample.CanBus{Header: header(16), Speed: 13.9, Throttle: 0.3, Steering: -0.1, Gear: sample.GearReverse, EngineOn: true, LeftTurn: true, EngineRPM: 2500, Orientation: pose.Orientation},
	&sample.VehicleOdometry{Header: header(17), Velocity: 3.3, FrontWheelAngle: 0.1},
	&sample.GpsOdometry{Header: header(18), ChildFrameID: "base_link", Easting: 456_000.125, Northing: 5_428_000.5, Orientation: pose.Orientation, ForwardSpeed: 3},
	&sample.Detections2D{Header: header(19), Width: 640, Height: 480, Boxes: []sample.Box2D{{ID: 7, TypeID: "vehicle.sedan", Label: "Sedan", Score: 0.9, CenterX: 10.5, CenterY: 20.25, Width: 2, Height: 1}}},
	&sample.Detections3D{Header: header(20), Boxes: []sample.Box3D{{ID: 7, TypeID: "vehicle.sedan", Label: "Sedan", Score: 0.9, Pose: pose, Size: mgl64.Vec3{4, 2, 1.5}}}},
	&sample.Signals{Header: header(21), Signals: []sample.Signal{{ID: 1, Label: "red", State: world.SignalRed, Score: 1, Pose: pose}}},
	&sample.Collision{Header: header(22), Other: 7, NormalImpulse: mgl64.Vec3{-100, 0, 2}},
	&sample.Comfort{Header: header(24), Velocity: mgl64.Vec3{3, 4, 0}, Jerk: mgl64.Vec3{0, 0, 0.1}, Roll: 0.1},
	&sample.Destination{Header: header(25), Goal: pose, Distance: 20},
	&sample.LaneInvasion{Header: header(23), Marks: []sample.CrossedMark{{ID: 3, Type: sample.LaneMarkSolid}}},
}

// topicOf is where a sample is published.
func topicOf(s simtime.Stamped) string { return "/probe/" + reflect.TypeOf(s).Elem().Name() }

// publications returns the message of each sample, by topic.
func publications(t *testing.T) map[string]ros.Publication {
	t.Helper()
	byTopic := map[string]ros.Publication{}
	for _, pub := range rossample.SVL() {
		byTopic["/probe/"+pub.Sample.Elem().Name()] = pub
	}
	require.Len(t, samples, len(byTopic), "a sample of each type")
	return byTopic
}

// publishers adds a publisher of each sample.
func publishers(t *testing.T, b *bridges.Bridge) []func() error {
	t.Helper()
	var list []func() error
	for _, s := range samples {
		publish, err := bridges.AddPublisherOf(b, reflect.TypeOf(s), bridges.Topic{Name: topicOf(s)})
		require.NoError(t, err)
		list = append(list, func() error { return publish(t.Context(), s) })
	}
	return list
}

// raw returns a sample's message as ROS 1 serializes it.
func raw(t *testing.T, pub ros.Publication, s simtime.Stamped) []byte {
	t.Helper()
	m, err := pub.Converter()(s)
	require.NoError(t, err)
	return encode.ROS1.Encoder().Append(nil, m)
}

// TestMessageClassesOfROS1 has Debian's ROS 1 take what the bridge sends to a server, read by each
// of the modules that rosbridge_suite may use. NaN and infinities arrive.
func TestMessageClassesOfROS1(t *testing.T) {
	for _, module := range []string{"ujson", "simplejson", "json", "bson"} {
		t.Run(module, func(t *testing.T) {
			byTopic := publications(t)
			options := ""
			if module == "bson" {
				options = "?bson=1"
			}
			s := started(t, peers.RosbridgeConfig{BSONOnly: module == "bson"})
			b := opened(t, s.Addr()+options)
			list := publishers(t, b)
			connected(t, b)
			for _, publish := range list {
				require.NoError(t, publish())
			}
			require.NoError(t, b.Close(t.Context()))
			eventually(t, "all messages", func() bool { return len(s.Received()) == len(samples) })

			dir := t.TempDir()
			var lines bytes.Buffer
			for topic, pub := range byTopic {
				m := s.Messages(topic)[0]
				definition, err := ros.ROS1.Definition(pub.Type)
				require.NoError(t, err)
				require.NoError(t, json.NewEncoder(&lines).Encode(map[string]string{
					"topic": topic, "type": m.Type, "definition": definition,
					"module": module, "frame": base64.StdEncoding.EncodeToString(m.Frame),
				}))
			}
			file := filepath.Join(dir, "frames")
			require.NoError(t, os.WriteFile(file, lines.Bytes(), 0o600))
			output := bridgetest.StartProcess(t, bridgetest.Python("testdata/peers/bag.py", file, filepath.Join(dir, "out.bag"))).Wait(t)
			rebuilt, debians := 0, 0
			for line := range strings.Lines(output) {
				var r struct {
					Topic, MD5 string
					Raw        []byte
					Ours       bool
				}
				require.NoError(t, json.Unmarshal([]byte(line), &r), line)
				for _, s := range samples {
					if topicOf(s) == r.Topic {
						assert.Equal(t, raw(t, byTopic[r.Topic], s), r.Raw, r.Topic)
						rebuilt++
					}
				}
				if r.Ours {
					debians++
				}
			}
			assert.Equal(t, len(samples), rebuilt)
			assert.GreaterOrEqual(t, debians, 13, "types that Debian has classes of")
		})
	}
}

// serving returns a bridge that listens on a port of its own, with all samples.
func serving(t *testing.T, options string) (*bridges.Bridge, []func() error) {
	t.Helper()
	b := opened(t, fmt.Sprintf("listen=127.0.0.1:%d%s", bridgetest.FreePort(t), options))
	list := publishers(t, b)
	require.NoError(t, b.Connect(t.Context()))
	return b, list
}

func roslib(t *testing.T, mode string, b *bridges.Bridge, args ...string) *bridgetest.Process {
	t.Helper()
	return bridgetest.StartProcess(t, bridgetest.Node("testdata/peers/roslib.mjs", append([]string{mode, "ws://" + address(b)}, args...)...))
}

// keepPublishing publishes all samples again and again until the test ends.
func keepPublishing(t *testing.T, list []func() error) {
	t.Helper()
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			for _, publish := range list {
				_ = publish() // nobody may listen
			}
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() { close(done); <-stopped })
}

func TestRoslibCommands(t *testing.T) {
	b := opened(t, fmt.Sprintf("listen=127.0.0.1:%d", bridgetest.FreePort(t)))
	offerAll(t, b)
	velocity, control := make(chan sample.VelocityCommand, 1), make(chan sample.VehicleControl, 1)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(c *sample.VelocityCommand) { velocity <- *c }))
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/control"}, func(c *sample.VehicleControl) { control <- *c }))
	require.NoError(t, b.Connect(t.Context()))
	output := roslib(t, "command", b).Wait(t)
	assert.Equal(t, spatial.Twist{Linear: mgl64.Vec3{1.5, 0, 0}, Angular: mgl64.Vec3{0, 0, -0.25}}, receive(t, velocity).Twist)
	assert.Equal(t, sample.VehicleControl{Acceleration: 0.5, SteeringAngle: -0.25, HasAngle: true, Gear: sample.GearDrive}, receive(t, control))
	for _, want := range []string{
		`light {"success":true,"message":"the \"light\""}`, `reset {}`, `shoot {"reason":"no camera"}`,
		`topics {"topics":["/cmd_vel","/control"],"types":["geometry_msgs/Twist","lgsvl_msgs/VehicleControlData"]}`,
		`services ["/light","/reset","/shoot"]`, `nodes ["/raybridge"]`, `type "geometry_msgs/Twist"`, `for type ["/cmd_vel"]`,
		`service type "std_srvs/SetBool"`, "done",
	} {
		assert.Contains(t, output, want+"\n")
	}
	assert.Zero(t, b.Diagnosis().Malformed)
}

// TestRosapiByRoslib: each service of rosapi that the documentation names answers roslib.
func TestRosapiByRoslib(t *testing.T) {
	b := opened(t, fmt.Sprintf("listen=127.0.0.1:%d", bridgetest.FreePort(t)))
	offerAll(t, b)
	clock, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock", QoS: flow.StaticQoS})
	require.NoError(t, err)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(*sample.VelocityCommand) {}))
	require.NoError(t, b.Connect(t.Context()))
	require.NoError(t, clock(t.Context(), &sample.Clock{Stamp: 5_000_000_007}))
	answers := map[string]string{}
	for line := range strings.Lines(roslib(t, "rosapi", b).Wait(t)) {
		service, answer, _ := strings.Cut(strings.TrimSpace(line), " ")
		answers[service] = answer
	}
	twist, err := ros.ROS1.Definition("geometry_msgs/msg/Twist")
	require.NoError(t, err)
	definition, err := ros.ROS1.Definition("rosgraph_msgs/msg/Clock")
	require.NoError(t, err)
	texts, err := json.Marshal([]string{definition, twist})
	require.NoError(t, err)
	want := map[string]string{
		"topics":            `{"topics":["/clock","/cmd_vel"],"types":["rosgraph_msgs/Clock","geometry_msgs/Twist"]}`,
		"topic_type":        `"rosgraph_msgs/Clock"`,
		"topics_for_type":   `["/cmd_vel"]`,
		"services":          `["/light","/reset","/shoot"]`,
		"service_type":      `"std_srvs/SetBool"`,
		"services_for_type": `["/reset"]`,
		"nodes":             `["/raybridge"]`,
		"node_details":      `{"publishing":["/clock"],"services":["/light","/reset","/shoot"],"subscribing":["/cmd_vel"]}`,
		"publishers":        `{"publishers":["/raybridge"]}`,
		"subscribers":       `{"subscribers":["/raybridge"]}`,
		"get_time":          `{"time":{"nsecs":7,"secs":5}}`,
		"topics_and_raw_types": `{"topics":["/clock","/cmd_vel"],"typedefs_full_text":` + string(texts) +
			`,"types":["rosgraph_msgs/Clock","geometry_msgs/Twist"]}`,
	}
	page, err := os.ReadFile("../../docs/bridges/rosbridge.md")
	require.NoError(t, err)
	_, list, ok := strings.Cut(string(page), "those offered, and rosapi's")
	require.True(t, ok)
	list, _, _ = strings.Cut(list, ". There is one node")
	named := strings.Split(strings.Trim(strings.Join(strings.Fields(list), " "), "`"), "`, `")
	require.Len(t, named, len(want), "%v", named)
	for _, service := range named {
		require.Contains(t, want, service)
		assert.JSONEq(t, want[service], answers[service], service)
	}
}

// receive waits for the next value.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(bridgetest.Patience):
		require.Fail(t, "nothing arrived")
	}
	panic("unreachable")
}

// TestRoslibComesAndGoes kills and stalls one client while another continues, and ends the
// server in mid-stream: roslib comes back to it.
func TestRoslibComesAndGoes(t *testing.T) {
	b, list := serving(t, "?messages=8&bytes=1000000")
	keepPublishing(t, list)
	steady := roslib(t, "watch", b, "/probe/PointCloud", "sensor_msgs/PointCloud2")
	steady.Expect(t, "message")
	killed := roslib(t, "watch", b, "/probe/Image", "sensor_msgs/Image")
	killed.Expect(t, "message")
	killed.Kill()
	eventually(t, "nobody listens to pictures", func() bool { return !b.Listening("/probe/Image") })
	steady.Expect(t, "message")
	stalled := roslib(t, "watch", b, "/probe/Image", "sensor_msgs/Image")
	stalled.Expect(t, "message")
	stalled.Stall()
	for range 20 {
		steady.Expect(t, "message")
	}
	stalled.Resume()
	stalled.Expect(t, "message")

	require.NoError(t, b.Disconnect(context.Background()))
	steady.Expect(t, "closed")
	require.NoError(t, b.Connect(t.Context()))
	steady.Expect(t, "message")
	stalled.Expect(t, "message")
}

// TestRoslibSendsRubbish: it is told so, and served on.
func TestRoslibSendsRubbish(t *testing.T) {
	b := opened(t, fmt.Sprintf("listen=127.0.0.1:%d", bridgetest.FreePort(t)))
	velocity := make(chan sample.VelocityCommand, 10)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(c *sample.VelocityCommand) { velocity <- *c }))
	require.NoError(t, b.Connect(t.Context()))
	output := roslib(t, "rubbish", b).Wait(t)
	assert.Contains(t, output, `topics {"topics":["/cmd_vel"],"types":["geometry_msgs/Twist"]}`+"\n")
	assert.Equal(t, 1.5, (<-velocity).Twist.Linear[0])
	for _, want := range []string{"it has no op", "operation refused: dance", "value is of another type than the field", "there is no such topic"} {
		assert.Contains(t, output, want)
	}
	assert.GreaterOrEqual(t, b.Diagnosis().Malformed, int64(10))
}

// TestRoslibTalksToTheTestServer holds the test server, which is of the specification alone,
// against a client that nobody here wrote.
func TestRoslibTalksToTheTestServer(t *testing.T) {
	s := started(t, peers.RosbridgeConfig{})
	output := bridgetest.StartProcess(t, bridgetest.Node("testdata/peers/roslib.mjs", "talk", "ws://"+s.Addr())).Wait(t)
	for _, want := range []string{`none {"data":1.5}`, `cbor {"data":1.5}`, `light {"message":"from roslib","success":true}`, "done"} {
		assert.Contains(t, output, want+"\n")
	}
	assert.Empty(t, s.Statuses())
	assert.Equal(t, "std_msgs/Float32", s.Messages("/chatter")[0].Type)
}

// roslib reads from a server with TLS. Clients that don't trust its certificate, or speak no
// TLS, and one that speaks it to a server without, are counted. Node trusts the certificates
// of the file NODE_EXTRA_CA_CERTS beside the system's (nodejs.org/api/cli.html).
func TestRoslibSpeaksTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	selfSigned(t, cert, key)
	encrypted, plain := listening(t, "?cert="+cert+"&key="+key), listening(t, "")
	watch := func(url string, env ...string) *bridgetest.Process {
		return bridgetest.StartProcess(t, bridgetest.Node("testdata/peers/roslib.mjs", "watch", url, "/imu", "sensor_msgs/Imu").With(env...))
	}
	trusting := "NODE_EXTRA_CA_CERTS=" + cert

	publish, err := bridges.AddPublisher[*sample.Imu](encrypted, bridges.Topic{Name: "/imu"})
	require.NoError(t, err)
	reads := watch("wss://"+address(encrypted), trusting)
	reads.Expect(t, "watching")
	eventually(t, "a subscription", func() bool { return encrypted.Listening("/imu") })
	require.NoError(t, publish(t.Context(), &sample.Imu{Header: header(1)}))
	reads.Expect(t, "message")
	assert.Zero(t, encrypted.Diagnosis().Failures)

	for _, c := range []struct {
		server *bridges.Bridge
		url    string
		env    string
		says   string
	}{
		{encrypted, "wss://" + address(encrypted), "NODE_EXTRA_CA_CERTS=", "does it trust the certificate?"},
		{encrypted, "ws://" + address(encrypted), trusting, "connect with wss://"},
		{plain, "wss://" + address(plain), trusting, "connect with ws://"},
	} {
		before := c.server.Diagnosis().Failures
		client := watch(c.url, c.env) // it tries again and again
		eventually(t, c.says, func() bool { return c.server.Diagnosis().Failures > before })
		client.Kill()
		require.ErrorIs(t, c.server.Diagnosis().LastError, transport.ErrTLS)
		assert.ErrorContains(t, c.server.Diagnosis().LastError, c.says)
	}
	require.NoError(t, publish(t.Context(), &sample.Imu{Header: header(2)}))
	reads.Expect(t, "message")
}
