//go:build peers

package logging_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"math"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/logging"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPythonReadsTheLog: gzip and a JSON parser of another language read every line, with
// the values that were logged.
func TestPythonReadsTheLog(t *testing.T) {
	dir := t.TempDir()
	registry := bridges.MustRegistry(logging.Factory{})
	b, err := registry.Open("logging:drive", bridges.Env{OutDir: dir})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	image := adder(t, b, "/image", bridgetest.Image)
	points := adder(t, b, "/points", bridgetest.PointCloud)
	imu := adder(t, b, "/imu", func(seq int) *sample.Imu {
		return &sample.Imu{
			Header:             sample.Header{Stamp: simtime.Stamp(int64(seq) * bridgetest.Period), FrameID: "ümlaut \"quoted\"\\\n\u2028"},
			AngularVelocity:    mgl64.Vec3{math.NaN(), math.Inf(1), math.Inf(-1)},
			LinearAcceleration: mgl64.Vec3{0.1, float64(seq), math.SmallestNonzeroFloat64},
		}
	})
	const messages = 200 // more than one gzip member
	for seq := range messages {
		image(seq)
		points(seq)
		imu(seq)
	}
	require.NoError(t, b.Close(t.Context()))
	out := bridgetest.StartProcess(t, bridgetest.Python("testdata/peers/read.py", filepath.Join(dir, "drive.txt.gz"))).Wait(t)
	require.True(t, strings.HasSuffix(out, fmt.Sprintf("read %d\n", 3*messages)), "read to the end")
	counts := map[string]int{}
	for line := range strings.Lines(out) {
		var entry []any
		if json.Unmarshal([]byte(line), &entry) != nil {
			continue
		}
		kind, topic, message := entry[0].(string), entry[1].(string), entry[2].(map[string]any)
		seq := counts[topic]
		counts[topic]++
		assert.EqualValues(t, seq*bridgetest.Period, message["StampNs"])
		assert.InDelta(t, float64(seq)*bridgetest.Period/1e9, message["Time"], 1e-9)
		switch topic {
		case "/image":
			assert.Equal(t, "UncompressedImageData", kind)
			assert.Equal(t, base64.StdEncoding.EncodeToString(bridgetest.Image(seq).Data), message["Bytes"])
		case "/imu":
			assert.Equal(t, "ümlaut \"quoted\"\\\n\u2028", message["Frame"])
			assert.Equal(t, map[string]any{"x": "NaN", "y": "Infinity", "z": "-Infinity"}, message["AngularVelocity"])
			assert.Equal(t, map[string]any{"x": 0.1, "y": float64(seq), "z": math.SmallestNonzeroFloat64}, message["Acceleration"])
		}
	}
	assert.Equal(t, map[string]int{"/image": messages, "/points": messages, "/imu": messages}, counts)
}

// adder returns what publishes the seq-th message of a topic.
func adder[T any](t *testing.T, b *bridges.Bridge, topic string, make func(seq int) T) func(seq int) {
	t.Helper()
	publish, err := bridges.AddPublisher[T](b, bridges.Topic{Name: topic})
	require.NoError(t, err)
	return func(seq int) { require.NoError(t, publish(context.Background(), make(seq))) }
}

type object = map[string]any

// written says what is logged of a type. For each key it has the key's field, by its path where
// that isn't the key's own name.
type written struct {
	kind, keys string
	// list is the key and the field of a list of objects, and each the keys of one.
	list, each string
	// more has what is not a field.
	more func(s any) object
}

const heading = "Frame=FrameID StampNs=Stamp Sequence=Seq "

// layouts are written of SVL's data types and of package logging's documentation.
var layouts = map[reflect.Type]written{
	reflect.TypeFor[*sample.Clock]():           {kind: "ClockData", keys: "StampNs=Stamp"},
	reflect.TypeFor[*sample.CompressedImage](): {kind: "ImageData", keys: heading + "Bytes=Data Format", more: pictureSize},
	reflect.TypeFor[*sample.Image](): {kind: "UncompressedImageData", keys: heading + "Width Height Encoding Bytes=Data Step",
		more: func(s any) object {
			return object{"Length": float64(len(s.(*sample.Image).Data)), "IsBigEndian": false}
		}},
	reflect.TypeFor[*sample.CameraInfo](): {kind: "CameraInfoData", keys: heading + "Width Height FocalLengthX=K.0 FocalLengthY=K.4 " +
		"PrincipalPointX=K.2 PrincipalPointY=K.5 DistortionModel D K R P", more: func(s any) object {
		d := s.(*sample.CameraInfo).D
		return object{"DistortionParameters": []any{d[0], d[1], d[4], 0.0}}
	}},
	reflect.TypeFor[*sample.PointCloud](): {kind: "PointCloudData", keys: heading + "LaserCount=Rings Organized Columns", more: pointLists},
	reflect.TypeFor[*sample.Imu](): {kind: "ImuData", keys: heading + "Position=Pose.Position Orientation Acceleration=LinearAcceleration AngularVelocity " +
		"OrientationCovariance AngularVelocityCovariance AccelerationCovariance=LinearAccelerationCovariance"},
	reflect.TypeFor[*sample.GnssFix](): {kind: "GpsData", keys: heading + "Latitude Longitude Altitude PositionCovariance Orientation=Pose.Orientation " +
		"Status Service PositionCovarianceType"},
	reflect.TypeFor[*sample.Odometry](): {kind: "GpsOdometryData", keys: heading + "ChildFrame=ChildFrameID Orientation=BodyPose.Orientation " +
		"ForwardSpeed=Twist.Linear.0 Velocity=Twist.Linear AngularVelocity=Twist.Angular Position=BodyPose.Position PoseCovariance TwistCovariance"},
	reflect.TypeFor[*sample.Transforms](): {kind: "TransformsData", keys: "StampNs=Stamp Static", list: "Data=Transforms",
		each: "Frame=FrameID ChildFrame=ChildFrameID StampNs=Stamp Position=Relative.Position Orientation=Relative.Orientation"},
	reflect.TypeFor[*sample.LaserScan](): {kind: "LaserScanData", keys: heading + "MinAngle=AngleMin MaxAngle=AngleMax AngleStep=AngleIncrement " +
		"RangeMin RangeMax TimeIncrement ScanTime Ranges Intensities", more: func(any) object { return object{"Transform": turnedMatrix} }},
	reflect.TypeFor[*sample.Range](): {kind: "UltrasonicData", keys: heading + "MinimumDistance=Range Radiation=RadiationType FieldOfView RangeMin=MinRange RangeMax=MaxRange"},
	reflect.TypeFor[*sample.Radar](): {kind: "RadarData", keys: heading, list: "Data=Detections", each: "Velocity Azimuth Altitude Depth Instance Tag"},
	reflect.TypeFor[*sample.RadarObjects](): {kind: "DetectedRadarObjectData", keys: heading, list: "Data=Objects",
		each: "Id=ID RelativePosition=Position RelativeVelocity=Velocity ColliderSize=Size State=Moving NewDetection=New"},
	reflect.TypeFor[*sample.DvsEvents](): {kind: "DvsEventsData", keys: heading + "Width Height FieldOfView=FovDeg", more: events},
	reflect.TypeFor[*sample.Speed]():     {kind: "SpeedData", keys: heading + "Speed=MetresPerSecond"},
	reflect.TypeFor[*sample.CanBus](): {kind: "CanBusData", keys: heading + "Speed Throttle Braking Steering ParkingBrake HighBeamSignal=HighBeam " +
		"LowBeamSignal=LowBeam HazardLights FogLights LeftTurnSignal=LeftTurn RightTurnSignal=RightTurn Wipers InReverse=Reverse Gear EngineOn EngineRPM " +
		"Latitude Longitude Altitude Orientation Velocity"},
	reflect.TypeFor[*sample.VehicleOdometry](): {kind: "VehicleOdometryData", keys: heading + "Speed=Velocity SteeringAngleFront=FrontWheelAngle SteeringAngleBack=RearWheelAngle"},
	reflect.TypeFor[*sample.GpsOdometry](): {kind: "GpsOdometryData", keys: heading + "ChildFrame=ChildFrameID Latitude Longitude Altitude Northing Easting " +
		"Orientation ForwardSpeed Velocity AngularVelocity WheelAngle"},
	reflect.TypeFor[*sample.InsStatus](): {kind: "GpsInsData", keys: heading + "Status PositionType"},
	reflect.TypeFor[*sample.Detections2D](): {kind: "Detected2DObjectData", keys: heading + "Width Height", list: "Data=Boxes",
		each: "Id=ID Label Score Position.x=CenterX Position.y=CenterY Scale.x=Width Scale.y=Height LinearVelocity=Twist.Linear AngularVelocity=Twist.Angular " +
			"TypeId=TypeID Tag Pixels Occlusion Truncation"},
	reflect.TypeFor[*sample.Detections3D](): {kind: "Detected3DObjectData", keys: heading, list: "Data=Boxes",
		each: "Id=ID Label Score Position=Pose.Position Rotation=Pose.Orientation Scale=Size LinearVelocity=Twist.Linear AngularVelocity=Twist.Angular " +
			"Acceleration TypeId=TypeID Tag Occlusion"},
	reflect.TypeFor[*sample.Signals](): {kind: "SignalDataArray", keys: heading, list: "Data=Signals",
		each: "Id=ID Label Score Position=Pose.Position Rotation=Pose.Orientation Scale=Size"},
	reflect.TypeFor[*sample.Collision]():    {kind: "CollisionData", keys: heading + "Actor ActorType Other OtherType NormalImpulse"},
	reflect.TypeFor[*sample.Obstacle]():     {kind: "ObstacleData", keys: heading + "Actor ActorType Other OtherType Distance"},
	reflect.TypeFor[*sample.LaneInvasion](): {kind: "LaneInvasionData", keys: heading + "Actor", list: "Marks=Marks", each: "Id=ID Type Color"},
	reflect.TypeFor[*sample.LaneMarks]():    {kind: "LaneMarksData", keys: heading, list: "Marks=Marks", each: "Id=ID Type Color Points"},
	reflect.TypeFor[*sample.LaneLines](): {kind: "LaneLinesData", keys: heading, list: "Lines=Lines",
		each: "LineWidth=Width Type PositionType=Place Curve.MinX=MinX Curve.MaxX=MaxX Curve.C0=C.0 Curve.C1=C.1 Curve.C2=C.2 Curve.C3=C.3"},
	reflect.TypeFor[*sample.Snapshot](): {kind: "SnapshotData", keys: heading + "FrameNumber=Frame DeltaNs", list: "Actors=Actors", each: actorKeys},
}

const actorKeys = "Id=ID TypeId=TypeID Position=Pose.Position Orientation=Pose.Orientation LinearVelocity=Twist.Linear AngularVelocity=Twist.Angular " +
	"Acceleration BoxCenter BoxHalf"

// actorMore is what the actors of filled's snapshot have besides: a vehicle, a walker and a
// traffic light.
var actorMore = []string{" Throttle Braking Steering Gear InReverse=Reverse", "", " Signal SignalElapsed Red Yellow Green"}

// turned makes x of y, y of z and z of x; turnedMatrix is it at (1, 2, 3), column by column.
var (
	turned       = spatial.Pose{Position: mgl64.Vec3{1, 2, 3}, Orientation: mgl64.Quat{W: 0.5, V: mgl64.Vec3{0.5, 0.5, 0.5}}}
	turnedMatrix = []any{0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 1.0}
)

// filled returns a sample with a value of its own in every field.
func filled(t *testing.T, typ reflect.Type) simtime.Stamped {
	t.Helper()
	s := bridgetest.Filled(typ)
	v := reflect.ValueOf(s).Elem()
	v.FieldByName("Stamp").SetInt(1_700_000_000_123_456_789)
	if pose := v.FieldByName("Pose"); pose.IsValid() {
		pose.Set(reflect.ValueOf(turned))
	}
	switch s := s.(type) {
	case *sample.CompressedImage:
		var data bytes.Buffer
		require.NoError(t, png.Encode(&data, image.NewGray(image.Rect(0, 0, 3, 2))))
		s.Data = data.Bytes()
	case *sample.CameraInfo:
		s.DistortionModel, s.D = "plumb_bob", []float64{0.1, 0.2, 0.3, 0.4, 0.5}
	case *sample.PointCloud:
		for i := range s.Points {
			s.Points[i].Return = uint8(i % 3)
		}
	case *sample.RadarObjects:
		s.Objects[1].Moving, s.Objects[2].New = false, false
	case *sample.DvsEvents:
		s.Events[1].Polarity = false
	case *sample.CanBus:
		s.HighBeam, s.HazardLights, s.LeftTurn, s.Wipers, s.EngineOn = false, false, false, false, false
	case *sample.Snapshot:
		s.Actors[0].Kind, s.Actors[1].Kind, s.Actors[2].Kind = sample.KindVehicle, sample.KindWalker, sample.KindTrafficLight
	}
	return s
}

func pictureSize(s any) object {
	return object{"Width": 3.0, "Height": 2.0, "Length": float64(len(s.(*sample.CompressedImage).Data))}
}

func pointLists(s any) object {
	var points, rings, returns, times []any
	for _, p := range s.(*sample.PointCloud).Points {
		points = append(points, []any{shown(p.X), shown(p.Y), shown(p.Z), shown(p.Intensity)})
		rings, returns, times = append(rings, shown(p.Ring)), append(returns, shown(p.Return)), append(times, shown(p.TimeNs))
	}
	return object{"Transform": turnedMatrix, "Points": points, "PointCount": float64(len(points)), "Rings": rings, "Returns": returns, "TimesNs": times}
}

func events(s any) object {
	var list []any
	for _, e := range s.(*sample.DvsEvents).Events {
		polarity := 0.0
		if e.Polarity {
			polarity = 1
		}
		list = append(list, []any{shown(e.X), shown(e.Y), shown(e.TimeNs), polarity})
	}
	return object{"Events": list}
}

// shown is a field as read.py prints it and seen makes it: a float32 is the shortest
// decimal that reads back as it.
func shown(v any) any {
	switch v := v.(type) {
	case string, bool:
		return v
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case mgl64.Vec3:
		return object{"x": v[0], "y": v[1], "z": v[2]}
	case mgl64.Quat:
		return object{"x": v.V[0], "y": v.V[1], "z": v.V[2], "w": v.W}
	}
	r := reflect.ValueOf(v)
	switch {
	case r.Kind() == reflect.Float32:
		f, _ := strconv.ParseFloat(strconv.FormatFloat(r.Float(), 'g', -1, 32), 64)
		return f
	case r.Kind() == reflect.Slice || r.Kind() == reflect.Array:
		list := make([]any, r.Len())
		for i := range list {
			list[i] = shown(r.Index(i).Interface())
		}
		return list
	}
	if r.CanInt() || r.CanUint() { // some have a String
		return seen(json.Number(fmt.Sprintf("%d", v)))
	}
	return seen(json.Number(fmt.Sprint(v)))
}

// seen makes numbers of json.Number, but of integers that a float64 has not.
func seen(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, _ := v.Float64()
		if i, err := v.Int64(); err == nil && int64(f) != i {
			return v.String()
		}
		return f
	case object:
		for key, e := range v {
			v[key] = seen(e)
		}
	case []any:
		for i, e := range v {
			v[i] = seen(e)
		}
	}
	return v
}

// field follows a path of fields and indexes.
func field(v reflect.Value, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		if i, err := strconv.Atoi(name); err == nil {
			v = v.Index(i)
		} else {
			v = v.FieldByName(name)
		}
	}
	return v.Interface()
}

// put sets the keys of an object.
func put(into object, v reflect.Value, keys string) {
	for _, entry := range strings.Fields(keys) {
		key, path, renamed := strings.Cut(entry, "=")
		if !renamed {
			path = key
		}
		value := shown(field(v, path))
		if entry == "State=Moving" { // 0 is moving, as in SVL
			value = map[any]any{true: 0.0, false: 1.0}[value]
		}
		if outer, inner, nested := strings.Cut(key, "."); nested {
			if into[outer] == nil {
				into[outer] = object{}
			}
			into[outer].(object)[inner] = value
			continue
		}
		into[key] = value
		if key == "StampNs" {
			ns := field(v, path).(simtime.Stamp)
			into["Time"] = seen(json.Number(fmt.Sprintf("%d.%09d", ns/1e9, ns%1e9)))
		}
	}
}

// wantOf is what a sample's object must be.
func wantOf(s simtime.Stamped, w written) object {
	v, want := reflect.ValueOf(s).Elem(), object{"Name": "Front"}
	put(want, v, w.keys)
	if key, path, ok := strings.Cut(w.list, "="); ok {
		list, of := []any{}, v.FieldByName(path)
		for i := range of.Len() {
			keys, one := w.each, object{}
			if keys == actorKeys {
				keys += actorMore[i]
			}
			put(one, of.Index(i), keys)
			list = append(list, one)
		}
		want[key] = list
	}
	if w.more != nil {
		for key, value := range w.more(s) {
			want[key] = value
		}
	}
	if w.kind == "ClockData" { // which has its time under another name
		want["Clock"] = want["Time"]
		delete(want, "Time")
		delete(want, "Name")
	}
	return want
}

// TestPythonReadsEveryField: a message of each type, with something in every field, has
// all the values that were logged and no other key.
func TestPythonReadsEveryField(t *testing.T) {
	dir := t.TempDir()
	registry := bridges.MustRegistry(logging.Factory{})
	b, err := registry.Open("logging:drive", bridges.Env{OutDir: dir})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	plugin, err := registry.Plugin("logging")
	require.NoError(t, err)
	want := map[string]object{}
	for typ, w := range layouts {
		topic, s := "/"+typ.Elem().Name(), filled(t, typ)
		publish, err := bridges.AddPublisherOf(b, typ, bridges.Topic{Name: topic, Sensor: "Front"})
		require.NoError(t, err)
		require.NoError(t, publish(t.Context(), s))
		want[topic] = wantOf(s, w)
	}
	assert.Len(t, want, len(plugin.Types()), "a sample of each type")
	require.NoError(t, b.Close(t.Context()))
	out := bridgetest.StartProcess(t, bridgetest.Python("testdata/peers/read.py", filepath.Join(dir, "drive.txt.gz"))).Wait(t)
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "read ") {
			continue
		}
		var got []any
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&got), line)
		topic := got[1].(string)
		assert.Equal(t, want[topic], seen(got[2]), topic)
		for typ, w := range layouts {
			if topic == "/"+typ.Elem().Name() {
				assert.Equal(t, w.kind, got[0])
				delete(want, topic)
			}
		}
	}
	assert.Empty(t, want, "all were read")
}
