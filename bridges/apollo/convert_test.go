package apollo

import (
	"context"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/apollo/apollopb"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// messageOf returns the message that a sample becomes.
func messageOf[M proto.Message, T any](t *testing.T, at spatial.MapFrame, src T) (m M) {
	t.Helper()
	b := open(t, &probe{at: at, take: func(_ string, message protoMessage) { m = message.Proto().(M) }})
	publish, err := bridges.AddPublisher[T](b, bridges.Topic{Name: "/topic"})
	require.NoError(t, err)
	require.NoError(t, publish(context.Background(), src))
	return m
}

// received returns the sample that a message becomes, through its bytes.
func received[S any](t testing.TB, at spatial.MapFrame, data []byte) (got S, err error) {
	t.Helper()
	p := &probe{at: at}
	b := open(t, p)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/in"}, func(s S) { got = s }))
	in := p.boxes["/in"]
	m := in.New()
	if err := proto.Unmarshal(data, m); err != nil {
		return got, err
	}
	return got, in.Deliver(m)
}

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	data, err := proto.Marshal(m)
	require.NoError(t, err)
	return data
}

func TestCommandFromPython(t *testing.T) {
	got, err := received[*sample.VehicleControl](t, spatial.MapFrame{}, vector(t, "control_command"))
	require.NoError(t, err)
	assert.Equal(t, &sample.VehicleControl{
		Header:       sample.Header{Stamp: 12_500_000_000, Seq: 7},
		Acceleration: 0.25, Braking: 0.125, Steering: -0.4, Gear: sample.GearReverse, ParkingBrake: true,
	}, got, "Apollo's steering is positive to the left, a sample's to the right")
}

func TestCommands(t *testing.T) {
	gear := func(g apollopb.Chassis_GearPosition) *apollopb.ControlCommand {
		return &apollopb.ControlCommand{GearLocation: g.Enum()}
	}
	for name, c := range map[string]struct {
		command *apollopb.ControlCommand
		want    sample.VehicleControl
	}{
		"zero throttle":  {&apollopb.ControlCommand{Throttle: proto.Float64(0)}, sample.VehicleControl{Gear: sample.GearDrive}},
		"neutral":        {gear(apollopb.Chassis_GEAR_NEUTRAL), sample.VehicleControl{Gear: sample.GearNeutral}},
		"parking":        {gear(apollopb.Chassis_GEAR_PARKING), sample.VehicleControl{Gear: sample.GearParking}},
		"no gear at all": {gear(apollopb.Chassis_GEAR_NONE), sample.VehicleControl{Gear: sample.GearDrive}},
		"unheard of":     {gear(99), sample.VehicleControl{Gear: sample.GearDrive}},
		"too much": {
			&apollopb.ControlCommand{Throttle: proto.Float64(120), Brake: proto.Float64(-3), SteeringTarget: proto.Float64(-250)},
			sample.VehicleControl{Gear: sample.GearDrive, Acceleration: 1, Steering: 1},
		},
	} {
		got, err := received[*sample.VehicleControl](t, spatial.MapFrame{}, marshal(t, c.command))
		require.NoError(t, err, name)
		assert.Equal(t, &c.want, got, name)
	}
	for name, command := range map[string]*apollopb.ControlCommand{
		"no number": {Throttle: proto.Float64(math.NaN())},
		"infinite":  {SteeringTarget: proto.Float64(math.Inf(1))},
		"no time":   {Header: &apollopb.Header{TimestampSec: proto.Float64(math.NaN())}},
		"far time":  {Header: &apollopb.Header{TimestampSec: proto.Float64(1e12)}},
	} {
		_, err := received[*sample.VehicleControl](t, spatial.MapFrame{}, marshal(t, command))
		assert.ErrorIs(t, err, errNumber, name)
		assert.ErrorIs(t, err, bridges.ErrConvert, name)
	}
	_, err := received[*sample.VehicleControl](t, spatial.MapFrame{}, marshal(t, &apollopb.ControlCommand{}))
	assert.ErrorIs(t, err, errEmpty)
}

// What is sent comes back as it was, where the messages can say it.
func TestDetectionsThereAndBack(t *testing.T) {
	at := spatial.TangentMap(spatial.Geodetic{Latitude: 50.77535, Longitude: 6.08389, Altitude: 170})
	for _, s := range bridgetest.ApolloSamples() {
		switch src := s.Value.(type) {
		case *sample.Detections2D:
			got, err := received[*sample.Detections2D](t, spatial.MapFrame{}, vector(t, s.Name))
			require.NoError(t, err)
			box := src.Boxes[0]
			box.TypeID = "" // isn't in the message
			assert.Equal(t, []sample.Box2D{box}, got.Boxes)
			assert.Equal(t, "camera", got.FrameID)
			assert.InDelta(t, float64(src.Stamp), float64(got.Stamp), 250, "a double's precision")
		case *sample.Detections3D:
			got, err := received[*sample.Detections3D](t, at, marshal(t, messageOf[*apollopb.PerceptionObstacles](t, at, src)))
			require.NoError(t, err)
			assert.Equal(t, "map", got.FrameID)
			require.Len(t, got.Boxes, len(src.Boxes))
			for i, label := range []string{"Sedan", "Pedestrian", "SchoolBus"} {
				want, box := &src.Boxes[i], &got.Boxes[i]
				pose := src.Pose.Compose(want.Pose)
				assert.Equal(t, want.ID, box.ID)
				assert.Equal(t, label, box.Label)
				assert.Equal(t, want.Size, box.Size)
				assert.Equal(t, want.Score, box.Score)
				assert.InDeltaSlice(t, pose.Position[:], box.Pose.Position[:], 1e-6)
				assert.InDelta(t, 1, math.Abs(pose.Orientation.Dot(box.Pose.Orientation)), 1e-12)
				velocity := src.Pose.Rotate(want.Twist.Linear)
				assert.InDeltaSlice(t, velocity[:], box.Twist.Linear[:], 1e-12)
			}
		}
	}
	_, err := received[*sample.Detections3D](t, at, marshal(t, &apollopb.PerceptionObstacles{
		PerceptionObstacle: []*apollopb.PerceptionObstacle{{Position: &apollopb.Point3D{}}},
	}))
	assert.ErrorIs(t, err, errNumber, "Apollo's points are NaN until they are set")
	_, err = received[*sample.Detections2D](t, spatial.MapFrame{}, marshal(t, &apollopb.Detection2DArray{
		Detections: []*apollopb.Detection2D{{Score: proto.Float64(math.NaN())}},
	}))
	assert.ErrorIs(t, err, errNumber)
}

func TestLabels(t *testing.T) {
	for label, want := range map[string]struct {
		typ apollopb.PerceptionObstacle_Type
		sub apollopb.PerceptionObstacle_SubType
	}{
		"Sedan":      {apollopb.PerceptionObstacle_VEHICLE, apollopb.PerceptionObstacle_ST_CAR},
		"Jeep":       {apollopb.PerceptionObstacle_VEHICLE, apollopb.PerceptionObstacle_ST_CAR},
		"BoxTruck":   {apollopb.PerceptionObstacle_VEHICLE, apollopb.PerceptionObstacle_ST_TRUCK},
		"Bicycle":    {apollopb.PerceptionObstacle_BICYCLE, apollopb.PerceptionObstacle_ST_CYCLIST},
		"Motorcycle": {apollopb.PerceptionObstacle_BICYCLE, apollopb.PerceptionObstacle_ST_MOTORCYCLIST},
	} {
		m := messageOf[*apollopb.PerceptionObstacles](t, spatial.MapFrame{}, &sample.Detections3D{Boxes: []sample.Box3D{{Label: label}}})
		assert.Equal(t, want.typ, m.GetPerceptionObstacle()[0].GetType(), label)
		assert.Equal(t, want.sub, m.GetPerceptionObstacle()[0].GetSubType(), label)
	}
	for typ, label := range map[apollopb.PerceptionObstacle_Type]string{
		apollopb.PerceptionObstacle_PEDESTRIAN: "Pedestrian", apollopb.PerceptionObstacle_VEHICLE: "Sedan", apollopb.PerceptionObstacle_UNKNOWN: "",
	} {
		got, err := received[*sample.Detections3D](t, spatial.MapFrame{}, marshal(t, &apollopb.PerceptionObstacles{
			PerceptionObstacle: []*apollopb.PerceptionObstacle{{Type: typ.Enum()}},
		}))
		require.NoError(t, err)
		assert.Equal(t, label, got.Boxes[0].Label)
	}
}

// On a map that is a plane at Aachen, all that lies in the world is in UTM's axes. They are
// turned by the meridian's convergence: -2.26°, (6.08389° - 9°) sin 50.775°.
func TestUTMAxes(t *testing.T) {
	at := spatial.TangentMap(spatial.Geodetic{Latitude: 50.77535, Longitude: 6.08389, Altitude: 170})
	turn := mgl64.DegToRad(6.08389-9) * math.Sin(mgl64.DegToRad(50.77535))
	sin, cos := math.Sincos(turn)
	m := messageOf[*apollopb.LocalizationEstimate](t, at, &sample.Odometry{
		BodyPose: spatial.Identity(), Twist: spatial.Twist{Linear: mgl64.Vec3{10, 0, 0}, Angular: mgl64.Vec3{1, 0, 0}},
	}).GetPose()
	assert.InDelta(t, 294409, m.GetPosition().GetX(), 1) // as in the tests of the Python package utm
	assert.InDelta(t, 5628898, m.GetPosition().GetY(), 1)
	assert.InDelta(t, 170, m.GetPosition().GetZ(), 1e-6)
	assert.InDelta(t, turn, m.GetHeading(), 1e-4)
	assert.InDelta(t, 10*cos, m.GetLinearVelocity().GetX(), 1e-3)
	assert.InDelta(t, 10*sin, m.GetLinearVelocity().GetY(), 1e-3)
	assert.InDelta(t, sin, m.GetAngularVelocity().GetY(), 1e-4)

	box := messageOf[*apollopb.PerceptionObstacles](t, at, &sample.Detections3D{
		Header: sample.Header{Pose: spatial.Identity()},
		Boxes:  []sample.Box3D{{Size: mgl64.Vec3{4, 2, 1}, Pose: spatial.Identity(), Twist: spatial.Twist{Linear: mgl64.Vec3{5, 0, 0}}, Acceleration: mgl64.Vec3{0, 2, 0}}},
	}).GetPerceptionObstacle()[0]
	assert.InDelta(t, turn, box.GetTheta(), 1e-4)
	assert.InDelta(t, 5*sin, box.GetVelocity().GetY(), 1e-3)
	assert.InDelta(t, -2*sin, box.GetAcceleration().GetX(), 1e-3)
	front := box.GetPolygonPoint()[0] // the corners lie as theta says
	side := box.GetPolygonPoint()[1]
	assert.InDelta(t, turn, math.Atan2(front.GetY()-side.GetY(), front.GetX()-side.GetX()), 1e-4)
}

// A point that is far from a plane's origin has no place in UTM, and none is made up.
func TestBeyondTheMap(t *testing.T) {
	far := spatial.Pose{Position: mgl64.Vec3{450_000, 5_400_000, 100}, Orientation: mgl64.QuatIdent()}
	plane := spatial.TangentMap(spatial.Geodetic{Latitude: 48})
	assert.ErrorContains(t, localizationEstimate(&apollopb.LocalizationEstimate{}, &sample.Odometry{BodyPose: far}, plane), "scene.projection")
	assert.ErrorContains(t, perceptionObstacles(&apollopb.PerceptionObstacles{}, &sample.Detections3D{Header: sample.Header{Pose: far}}, plane), "scene.projection")
	for _, at := range []spatial.MapFrame{{}, spatial.GridMap(spatial.UTMZone{Number: 32})} {
		m := messageOf[*apollopb.LocalizationEstimate](t, at, &sample.Odometry{BodyPose: far})
		assert.Equal(t, 5_400_000.0, m.GetPose().GetPosition().GetY())
	}
}

func TestFixes(t *testing.T) {
	m := messageOf[*apollopb.GnssBestPose](t, spatial.MapFrame{}, &sample.GnssFix{Status: -1, PositionCovariance: [9]float64{0: 4, 4: 4, 8: 4}})
	assert.Equal(t, apollopb.SolutionStatus_INSUFFICIENT_OBS, m.GetSolStatus())
	assert.Equal(t, apollopb.SolutionType_NONE, m.GetSolType())
	assert.EqualValues(t, float32(0.01), m.GetLatitudeStdDev(), "of an unknown covariance")
	assert.Equal(t, -315_964_782.0, m.GetMeasurementTime(), "the stamp is 1970-01-01")
	m = messageOf[*apollopb.GnssBestPose](t, spatial.MapFrame{}, &sample.GnssFix{Header: sample.Header{Stamp: 315_964_800e9}})
	assert.Equal(t, 18.0, m.GetMeasurementTime(), "1980-01-06 with today's leap seconds")
}

func TestGears(t *testing.T) {
	for name, c := range map[string]struct {
		src  sample.CanBus
		want apollopb.Chassis_GearPosition
	}{
		"neutral":  {sample.CanBus{}, apollopb.Chassis_GEAR_NEUTRAL},
		"drive":    {sample.CanBus{Gear: sample.GearDrive}, apollopb.Chassis_GEAR_DRIVE},
		"backward": {sample.CanBus{Gear: sample.GearDrive, Reverse: true}, apollopb.Chassis_GEAR_REVERSE},
		"parking":  {sample.CanBus{Gear: sample.GearParking}, apollopb.Chassis_GEAR_PARKING},
		"sixth":    {sample.CanBus{Gear: 6}, apollopb.Chassis_GEAR_INVALID},
	} {
		c.src.Orientation = mgl64.QuatIdent()
		m := messageOf[*apollopb.Chassis](t, spatial.MapFrame{}, &c.src)
		assert.Equal(t, c.want, m.GetGearLocation(), name)
		assert.Equal(t, 90.0, m.GetChassisGps().GetCompassDirection(), "it looks east")
	}
	both := messageOf[*apollopb.Chassis](t, spatial.MapFrame{}, &sample.CanBus{LeftTurn: true, RightTurn: true})
	assert.Equal(t, apollopb.VehicleSignal_TURN_NONE, both.GetSignal().GetTurnSignal())
	left := messageOf[*apollopb.Chassis](t, spatial.MapFrame{}, &sample.CanBus{LeftTurn: true})
	assert.Equal(t, apollopb.VehicleSignal_TURN_LEFT, left.GetSignal().GetTurnSignal())
}

// At rest an inertial navigation system reports no acceleration, however it lies.
func TestCorrectedImuAtRest(t *testing.T) {
	q := spatial.FromRPY(mgl64.Vec3{}, 20, -30, 100).Orientation
	src := &sample.Imu{Orientation: q, LinearAcceleration: q.Conjugate().Rotate(mgl64.Vec3{0, 0, 9.80665})}
	var m *apollopb.CorrectedImu
	b := open(t, &probe{take: func(_ string, message protoMessage) { m = message.Proto().(*apollopb.CorrectedImu) }})
	publish, err := bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "/corrected_imu"})
	require.NoError(t, err)
	require.NoError(t, publish(context.Background(), src))
	a := m.GetImu().GetLinearAcceleration()
	assert.InDeltaSlice(t, []float64{0, 0, 0}, []float64{a.GetX(), a.GetY(), a.GetZ()}, 1e-12)
}

func TestStampsBeforeZero(t *testing.T) {
	b := open(t, &probe{take: func(string, protoMessage) { t.Error("sent") }})
	clock, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
	require.NoError(t, err)
	assert.ErrorIs(t, clock(context.Background(), &sample.Clock{Stamp: -1}), errStamp)
	image, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image"})
	require.NoError(t, err)
	assert.ErrorIs(t, image(context.Background(), &sample.Image{Height: 2, Step: 3}), errSize)
}

// FuzzControl gives bytes from outside to each of what reads messages: whatever becomes
// of them is finite and within its limits.
func FuzzControl(f *testing.F) {
	f.Add(vector(f, "control_command"))
	f.Add([]byte{})
	f.Add([]byte{0x19, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f, 0xa0, 0x01, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := received[*sample.VehicleControl](t, spatial.MapFrame{}, data)
		if err != nil {
			return
		}
		assert.True(t, got.Acceleration >= 0 && got.Acceleration <= 1)
		assert.True(t, got.Braking >= 0 && got.Braking <= 1)
		assert.True(t, math.Abs(got.Steering) <= 1)
		assert.True(t, got.Gear >= sample.GearNeutral && got.Gear <= sample.GearLow)
	})
}

// FuzzObstacles is FuzzControl for obstacles and detections.
func FuzzObstacles(f *testing.F) {
	f.Add(vector(f, "detections_3d"))
	f.Add(vector(f, "detections_2d"))
	at := spatial.TangentMap(spatial.Geodetic{Latitude: 37, Longitude: -122})
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, err := received[*sample.Detections3D](t, at, data); err == nil {
			for i := range got.Boxes {
				box := &got.Boxes[i]
				for _, v := range []mgl64.Vec3{box.Pose.Position, box.Pose.Orientation.V, box.Size, box.Twist.Linear, box.Acceleration} {
					assert.False(t, math.IsNaN(v[0]+v[1]+v[2]), "%+v", box)
				}
			}
		}
		if got, err := received[*sample.Detections2D](t, spatial.MapFrame{}, data); err == nil {
			for i := range got.Boxes {
				assert.False(t, math.IsNaN(float64(got.Boxes[i].CenterX)))
			}
		}
	})
}
