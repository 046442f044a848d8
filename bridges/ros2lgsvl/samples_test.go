package ros2lgsvl_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"sync"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stamp isn't to be had in a float64.
const stamp = 1_700_000_000_123_456_789

// published is a sample with the name of its file in testdata/wire/ros2lgsvl.
type published struct {
	name   string
	sample simtime.Stamped
	// publish adds the sample's topic and publishes it.
	publish func(ctx context.Context, b *bridges.Bridge, topic string) error
}

func of[T simtime.Stamped](name string, msg T) published {
	return published{name, msg, func(ctx context.Context, b *bridges.Bridge, topic string) error {
		publish, err := bridges.AddPublisher[T](b, bridges.Topic{Name: topic})
		if err != nil {
			return err
		}
		return publish(ctx, msg)
	}}
}

// ramp sets v to first, first + 1, ...
func ramp(v []float64, first float64) {
	for i := range v {
		v[i] = first + float64(i)
	}
}

var (
	header      = sample.Header{Stamp: stamp, Seq: 4, FrameID: "probe", Pose: spatial.Identity()}
	orientation = mgl64.Quat{W: 0.8, V: mgl64.Vec3{0, 0, 0.6}}
	pose        = spatial.Pose{Position: mgl64.Vec3{12.5, -3, 0.75}, Orientation: orientation}
	twist       = spatial.Twist{Linear: mgl64.Vec3{5, -1, 0}, Angular: mgl64.Vec3{0, 0, 0.5}}
)

// samples are those whose bytes frames.py packs.
func samples() []published {
	image := &sample.Image{Header: header, Width: 3, Height: 2, Step: 9, Encoding: sample.EncodingRGB8}
	for i := range 18 {
		image.Data = append(image.Data, byte(7*i+1))
	}
	info := &sample.CameraInfo{Header: header, Width: 640, Height: 480, DistortionModel: "plumb_bob", D: make([]float64, 5)}
	ramp(info.D, 0.25)
	ramp(info.K[:], 500)
	ramp(info.R[:], 10)
	ramp(info.P[:], 600)
	imu := &sample.Imu{
		Header: header, Orientation: orientation,
		AngularVelocity: mgl64.Vec3{0.01, -0.02, 0.03}, LinearAcceleration: mgl64.Vec3{0.5, -0.25, 9.80665},
	}
	ramp(imu.OrientationCovariance[:], 1)
	ramp(imu.AngularVelocityCovariance[:], 2)
	ramp(imu.LinearAccelerationCovariance[:], 4)
	fix := &sample.GnssFix{
		Header: header, Status: -1, Service: 9, Latitude: 48.137154, Longitude: -11.576124, Altitude: 519.25, PositionCovarianceType: 2,
	}
	ramp(fix.PositionCovariance[:], 0)
	odometry := &sample.Odometry{Header: header, ChildFrameID: "base_link", BodyPose: pose, Twist: twist}
	ramp(odometry.PoseCovariance[:], 100)
	ramp(odometry.TwistCovariance[:], 200)
	return append(vehicle(), []published{
		of("clock", &sample.Clock{Stamp: stamp}),
		of("image", image),
		of("compressed_image", &sample.CompressedImage{Header: header, Format: "jpeg", Data: []byte{0xff, 0xd8, 0xd9}}),
		of("camera_info", info),
		of("point_cloud", &sample.PointCloud{Header: header, Layout: sample.LayoutSVL, Points: []sample.Point{
			{X: 1, Y: -2, Z: 0.5, Intensity: 200}, {X: 1.5, Y: -2.5, Z: 1, TimeNs: 50_000, Ring: 3},
		}}),
		of("imu", imu),
		of("nav_sat_fix", fix),
		of("odometry", odometry),
		of("transforms", &sample.Transforms{Stamp: stamp, Transforms: []sample.Transform{
			{Header: header, ChildFrameID: "lidar", Relative: pose},
		}}),
		of("laser_scan", &sample.LaserScan{
			Header: header, AngleMin: -1.5, AngleMax: 1.5, AngleIncrement: 1, TimeIncrement: 0.001, ScanTime: 0.1, RangeMin: 0.25, RangeMax: 30,
			Ranges: []float32{1.5, float32(math.Inf(1)), float32(math.Inf(-1))}, Intensities: []float32{1, 0, 255},
		}),
		of("ultrasonic", &sample.Range{Header: header, FieldOfView: 0.7, MinRange: 0.3, MaxRange: 2, Range: 1.25}),
		of("detections_2d", &sample.Detections2D{Header: header, Width: 640, Height: 480, Boxes: []sample.Box2D{
			{ID: 7, TypeID: "vehicle.sedan", Label: "Sedan", Score: 1, CenterX: 320.5, CenterY: 240.25, Width: 100, Height: 60.5, Twist: twist},
		}}),
		of("detections_3d", &sample.Detections3D{Header: header, Boxes: []sample.Box3D{
			{ID: 7, TypeID: "vehicle.tram", Label: "Straße", Score: 0.5, Pose: pose, Size: mgl64.Vec3{4.5, 1.8, 1.5}, Twist: twist},
		}}),
		of("signals", &sample.Signals{Header: header, Signals: []sample.Signal{
			{ID: 3, Label: "green", State: world.SignalGreen, Score: 1, Pose: pose, Size: mgl64.Vec3{0.25, 0.5, 1}},
		}}),
		of("radar", &sample.Radar{Header: header, Detections: []sample.RadarDetection{{Velocity: -3.25, Depth: 12.5}}}),
		of("dvs_events", &sample.DvsEvents{Header: header, Width: 640, Height: 480, Events: []sample.DvsEvent{
			{X: 3, Y: 1, TimeNs: 7, Polarity: true}, {X: 300, Y: 2, TimeNs: 8},
		}}),
		of("radar_objects", &sample.RadarObjects{Header: header, Objects: []sample.RadarObject{{
			ID: 7, Position: mgl64.Vec3{4, 3, -0.5}, Velocity: mgl64.Vec3{-4, 0.5, 0}, Size: mgl64.Vec3{4.5, 1.8, 1.5}, Moving: true, New: true,
		}}}),
	}...)
}

// vehicle are the samples that a vehicle reports of itself.
func vehicle() []published {
	return []published{
		of("can_bus", &sample.CanBus{
			Header: header, Speed: 8.5, Throttle: 0.25, Braking: 0.5, Steering: -0.75,
			ParkingBrake: true, LowBeam: true, FogLights: true, RightTurn: true, Reverse: true,
			Gear: sample.GearReverse, EngineOn: true, EngineRPM: 900, Latitude: 49.01, Longitude: -8.4, Altitude: 115.5,
			Orientation: orientation, Velocity: mgl64.Vec3{8, -2, 0.5},
		}),
		of("vehicle_odometry", &sample.VehicleOdometry{Header: header, Velocity: 8.5, FrontWheelAngle: -0.25, RearWheelAngle: 0.125}),
		of("collision", &sample.Collision{Header: header, Actor: 1, Other: 7, NormalImpulse: mgl64.Vec3{-100, 25.5, 0}}),
		of("lane_invasion", &sample.LaneInvasion{Header: header, Marks: []sample.CrossedMark{{Type: 2}, {Type: 10}}}),
		of("speed", &sample.Speed{Header: header, MetresPerSecond: 8.5}),
		of("comfort", &sample.Comfort{
			Header: header, Velocity: mgl64.Vec3{3, 4, 0}, Acceleration: mgl64.Vec3{0, -2, 0}, Jerk: mgl64.Vec3{0, 0, 0.5},
			AngularVelocity: math.Pi / 2, AngularAcceleration: math.Pi, Roll: -math.Pi / 4, Slip: math.Pi / 3,
		}),
		of("destination", &sample.Destination{Header: header, Goal: pose, Distance: 20}),
		of("gps_odometry", &sample.GpsOdometry{
			Header: header, ChildFrameID: "base_link", Latitude: 49.01, Longitude: -8.4, Altitude: 116.5, Easting: 456_000.5, Northing: 5_428_000.25,
			Orientation: orientation, ForwardSpeed: 8.5, AngularVelocity: mgl64.Vec3{1, 2, 0.25},
		}),
	}
}

// treeOf is a message as the server takes it apart.
func treeOf(m ros.Message) peers.Value {
	t := tree{}
	m.Fields(t)
	return peers.Value(t)
}

type tree map[string]any

func (t tree) Value(name string, v ros.Ref) {
	switch v.Kind() {
	case ros.KindBool:
		t[name] = v.Bool()
	case ros.KindInt8:
		t[name] = int8(v.Int())
	case ros.KindUint8:
		t[name] = uint8(v.Uint())
	case ros.KindUint16:
		t[name] = uint16(v.Uint())
	case ros.KindInt32:
		t[name] = int32(v.Int())
	case ros.KindUint32:
		t[name] = uint32(v.Uint())
	case ros.KindFloat32:
		t[name] = float32(v.Float())
	case ros.KindFloat64:
		t[name] = v.Float()
	default:
		panic("no type of the bridge has a " + v.Kind().String())
	}
}

func (t tree) String(name string, v *string) { t[name] = *v }

func (t tree) Message(name string, v ros.Message) { t[name] = treeOf(v) }

func (t tree) Array(name string, v ros.Array) {
	switch v.Kind() {
	case ros.KindInt32:
		t[name] = elements(ros.Elements[int32](v))
	case ros.KindFloat32:
		t[name] = elements(ros.Elements[float32](v))
	case ros.KindFloat64:
		t[name] = elements(ros.Elements[float64](v))
	default:
		panic("no type of the bridge has an array of " + v.Kind().String())
	}
}

func (t tree) Bytes(name string, v *ros.Bytes) {
	data := make([]byte, v.Len())
	v.Put(data)
	t[name] = data
}

func (t tree) Messages(name string, v ros.Messages) {
	list := make([]any, v.Len())
	for i := range list {
		list[i] = treeOf(v.At(i))
	}
	t[name] = list
}

func elements[T any](v []T) []any {
	list := make([]any, len(v))
	for i := range v {
		list[i] = v[i]
	}
	return list
}

// message converts a sample as the bridge's table says.
func message(t *testing.T, sample simtime.Stamped) ros.Message {
	t.Helper()
	for _, pub := range rossample.SVL() {
		if pub.Sample == reflect.TypeOf(sample) {
			m, err := pub.Converter()(sample)
			require.NoError(t, err)
			return m
		}
	}
	require.Fail(t, "no message", "%T", sample)
	return nil
}

// received is what the server was sent.
type received struct {
	mu       sync.Mutex
	messages map[string]peers.LGSVLMessage // guarded by mu: the last one by topic
}

func (r *received) add(m peers.LGSVLMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages[m.Topic] = m
}

func (r *received) find(topic string) (peers.LGSVLMessage, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.messages[topic]
	return m, ok
}

// The server takes a message of every type apart to the values that went in, by the
// message's definition.
func TestEveryTypeIsTakenApart(t *testing.T) {
	r := &received{messages: map[string]peers.LGSVLMessage{}}
	s := peers.NewLGSVL(peers.LGSVLConfig{Published: r.add})
	require.NoError(t, s.Start())
	t.Cleanup(s.Kill)
	b := open(t, s.Addr())
	connect(t, b)
	known := map[reflect.Type]bool{}
	for i, p := range samples() {
		topic := fmt.Sprintf("/topic_%d/%s", i, p.name)
		require.NoError(t, p.publish(t.Context(), b, topic))
		eventually(t, func() bool { _, ok := r.find(topic); return ok }, topic)
		got, _ := r.find(topic)
		assert.Equal(t, treeOf(message(t, p.sample)), got.Value, p.name)
		assert.Equal(t, b.Statistics().Topics[i].Type, got.Type.Name)
		known[reflect.TypeOf(p.sample)] = true
	}
	assert.Empty(t, s.Log())
	for _, pub := range rossample.SVL() {
		assert.True(t, known[pub.Sample], "%v is among the samples", pub.Sample)
	}
}
