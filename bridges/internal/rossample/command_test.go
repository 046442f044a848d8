package rossample_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

var rosHeader = ros.Header{Seq: 7, Stamp: ros.Time{Sec: -2, Nanosec: 999_999_999}, FrameID: "/base_link"}

var sampleHeader = sample.Header{Seq: 7, Stamp: -1_000_000_001, FrameID: "base_link"}

// converted returns what convert makes of a message.
func converted[S, M any](t *testing.T, convert func(*S, *M) error, m M) S {
	var s S
	require.NoError(t, convert(&s, &m))
	return s
}

func TestCommandsInSamplesUnits(t *testing.T) {
	assert.Equal(t, sample.VehicleControl{
		Header: sampleHeader, Acceleration: 0.25, Braking: 1, SteeringAngle: -0.5, HasAngle: true, SteeringRate: 0.125, Gear: sample.GearReverse,
	}, converted(t, rossample.FromVehicleControlData, ros.VehicleControlData{
		Header: rosHeader, AccelerationPct: 0.25, BrakingPct: 1.5, TargetWheelAngle: 0.5, TargetWheelAngularRate: -0.125, TargetGear: 2,
	}))
	assert.Equal(t, sample.VehicleState{
		Header: sampleHeader, Blinker: sample.BlinkerHazard, Headlights: sample.HeadlightsLow, Wipers: 2, Gear: sample.GearLow, Mode: 3,
		HandBrake: true, Autonomous: true,
	}, converted(t, rossample.FromVehicleStateData, ros.VehicleStateData{
		Header: rosHeader, BlinkerState: 3, HeadlightState: 1, WiperState: 2, CurrentGear: 4, VehicleMode: 3, HandBrakeActive: true, AutonomousModeActive: true,
	}))
	assert.Equal(t, sample.AckermannDrive{
		Header: sampleHeader, SteeringAngle: 0.5, SteeringRate: 0.25, Speed: -3, Acceleration: 2, Jerk: 1,
	}, converted(t, rossample.FromAckermannDriveStamped, ros.AckermannDriveStamped{
		Header: rosHeader,
		Drive:  ros.AckermannDrive{SteeringAngle: 0.5, SteeringAngleVelocity: -0.25, Speed: -3, Acceleration: 2, Jerk: 1},
	}))
	assert.Equal(t, sample.VelocityCommand{Twist: boxTwist}, converted(t, rossample.FromTwist, ros.Twist{
		Linear: ros.Vector3{X: 5, Y: -1}, Angular: ros.Vector3{Z: 0.5},
	}))
	assert.Equal(t, sample.Clock{Stamp: -1}, converted(t, rossample.FromClock, ros.Clock{Clock: ros.Time{Sec: -1, Nanosec: 999_999_999}}))
}

func TestCommandsWithoutSense(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, m := range []ros.VehicleControlData{
		{AccelerationPct: nan}, {BrakingPct: inf}, {TargetWheelAngle: nan}, {TargetWheelAngularRate: -inf}, {TargetGear: 5},
	} {
		assert.ErrorIs(t, rossample.FromVehicleControlData(new(sample.VehicleControl), &m), rossample.ErrCommand, "%+v", m)
	}
	for _, m := range []ros.VehicleStateData{{BlinkerState: 4}, {HeadlightState: 3}, {WiperState: 4}, {CurrentGear: 5}, {VehicleMode: 5}} {
		assert.ErrorIs(t, rossample.FromVehicleStateData(new(sample.VehicleState), &m), rossample.ErrCommand, "%+v", m)
	}
	for _, m := range []ros.AckermannDrive{
		{SteeringAngle: nan}, {SteeringAngleVelocity: inf}, {Speed: inf}, {Acceleration: nan}, {Jerk: -inf},
	} {
		stamped := ros.AckermannDriveStamped{Drive: m}
		assert.ErrorIs(t, rossample.FromAckermannDriveStamped(new(sample.AckermannDrive), &stamped), rossample.ErrCommand, "%+v", m)
	}
	for i := range 6 {
		var m ros.Twist
		*[]*float64{&m.Linear.X, &m.Linear.Y, &m.Linear.Z, &m.Angular.X, &m.Angular.Y, &m.Angular.Z}[i] = math.NaN()
		assert.ErrorIs(t, rossample.FromTwist(new(sample.VelocityCommand), &m), rossample.ErrCommand)
	}
}

// TestBoxesComeBack: what was written as a message is read from it, except what the message has
// no place for.
func TestBoxesComeBack(t *testing.T) {
	flat, solid := detections2D(), detections3D()
	flat.Width, flat.Height = 0, 0
	for i := range flat.Boxes {
		b := &flat.Boxes[i]
		b.TypeID, b.Tag = "", 0
	}
	solid.Boxes[0].TypeID = ""

	var lgsvl2 ros.LgsvlDetection2DArray
	require.NoError(t, rossample.LgsvlDetection2DArray(&lgsvl2, detections2D()))
	assert.Equal(t, *flat, converted(t, rossample.FromLgsvlDetection2DArray, lgsvl2))
	var lgsvl3 ros.LgsvlDetection3DArray
	require.NoError(t, rossample.LgsvlDetection3DArray(&lgsvl3, detections3D()))
	assert.Equal(t, *solid, converted(t, rossample.FromLgsvlDetection3DArray, lgsvl3))

	flat.Boxes[0].Twist, solid.Boxes[0].Twist = spatial.Twist{}, spatial.Twist{}
	flat.Boxes[1].Label = "walker.adult" // the class is the type where there is no label
	var vision2 ros.Detection2DArray
	require.NoError(t, rossample.Detection2DArray(&vision2, detections2D()))
	assert.Equal(t, *flat, converted(t, rossample.FromDetection2DArray, vision2))
	var vision3 ros.Detection3DArray
	require.NoError(t, rossample.Detection3DArray(&vision3, detections3D()))
	assert.Equal(t, *solid, converted(t, rossample.FromDetection3DArray, vision3))
}

func TestBoxesOfTrackers(t *testing.T) {
	class := func(id string, score float64) ros.ObjectHypothesisWithPose {
		return ros.ObjectHypothesisWithPose{Hypothesis: ros.ObjectHypothesis{ClassID: id, Score: score}}
	}
	boxes := converted(t, rossample.FromDetection2DArray, ros.Detection2DArray{Detections: []ros.Detection2D{
		{ID: "track-7", Results: []ros.ObjectHypothesisWithPose{class("car", 0.25), class("truck", 0.75), class("bus", 0.75)}},
		{ID: "4294967295"}, {ID: "4294967296"}, {},
	}}).Boxes
	assert.Equal(t, []sample.Box2D{{Label: "truck", Score: 0.75}, {ID: math.MaxUint32}, {}, {}}, boxes)
}

func TestUltrasonicAndSeq(t *testing.T) {
	var m ros.Ultrasonic
	require.NoError(t, rossample.Ultrasonic(&m, &sample.Range{Header: header("sonar"), Range: 1.25}))
	assert.Equal(t, ros.Ultrasonic{
		Header:          ros.Header{Seq: 7, Stamp: ros.Time{Sec: 1700000000, Nanosec: 123456789}, FrameID: "sonar"},
		MinimumDistance: 1.25,
	}, m)
	require.NoError(t, rossample.Ultrasonic(&m, &sample.Range{Header: sample.Header{Seq: math.MaxUint32 + 3}}))
	assert.Equal(t, uint32(2), m.Header.Seq)
}

// idle is a bridge of nothing, to register on.
type idle struct{ register func(*bridges.Plugin) error }

func (f idle) Info() bridges.Info                                { return bridges.Info{Name: "none"} }
func (f idle) Register(p *bridges.Plugin) error                  { return f.register(p) }
func (f idle) NewInstance(bridges.Env) (bridges.Instance, error) { return f, nil }
func (f idle) Status() flow.Status                               { return flow.Connected }
func (f idle) Connect(context.Context, string) error             { return nil }
func (f idle) Disconnect(context.Context) error                  { return nil }

// registered returns a registry with a bridge that registered what register does.
func registered(t *testing.T, register func(*bridges.Plugin) error) *bridges.Registry {
	registry, err := bridges.NewRegistry(idle{register})
	require.NoError(t, err)
	return registry
}

func TestTablesRegister(t *testing.T) {
	for name, tables := range map[string]struct {
		publications  []ros.Publication
		subscriptions []ros.Subscription
		wire          map[string]string
	}{
		"standard": {rossample.Standard(), rossample.StandardSubscriptions(), map[string]string{
			"*sample.Range": "sensor_msgs/msg/Range", "*sample.Detections2D": "vision_msgs/msg/Detection2DArray",
		}},
		"svl": {rossample.SVL(), rossample.SVLSubscriptions(), map[string]string{
			"*sample.Range": "lgsvl_msgs/msg/Ultrasonic", "*sample.Detections2D": "lgsvl_msgs/msg/Detection2DArray",
			"*sample.VehicleControl": "lgsvl_msgs/msg/VehicleControlData", "*sample.VehicleState": "lgsvl_msgs/msg/VehicleStateData",
			"*sample.AckermannDrive": "ackermann_msgs/msg/AckermannDriveStamped", "*sample.VelocityCommand": "geometry_msgs/msg/Twist",
		}},
	} {
		registry := registered(t, func(p *bridges.Plugin) error {
			for _, pub := range tables.publications {
				if err := pub.Register(p, pub.Type, nil); err != nil {
					return err
				}
			}
			for _, sub := range tables.subscriptions {
				if err := sub.Register(p, sub.Type, nil); err != nil {
					return err
				}
			}
			return nil
		})
		p, err := registry.Plugin("none")
		require.NoError(t, err)
		both, subscribed := 0, 0
		for _, info := range p.Types() {
			if wire, ok := tables.wire[info.Go]; ok {
				assert.Equal(t, wire, info.Wire, name)
			}
			if info.Subscribes {
				subscribed++
				if info.Publishes {
					both++
				}
			}
		}
		assert.Equal(t, len(tables.subscriptions), subscribed, name)
		assert.Equal(t, 3, both, "%s: the clock and the boxes go both ways", name)
	}
}

func TestSubscriptionsDeliverSamples(t *testing.T) {
	inboxes := map[string]ros.Inbox{}
	registry := registered(t, func(p *bridges.Plugin) error {
		for _, sub := range rossample.SVLSubscriptions() {
			err := sub.Register(p, sub.Type, func(_ bridges.Instance, topic bridges.Topic, typeName string, in ros.Inbox) error {
				assert.Equal(t, "geometry_msgs/msg/Twist", typeName)
				inboxes[topic.Name] = in
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	bridge, err := registry.Open("none:", bridges.Env{})
	require.NoError(t, err)
	var got []*sample.VelocityCommand
	require.NoError(t, bridges.AddSubscriber(bridge, bridges.Topic{Name: "/cmd_vel"}, func(c *sample.VelocityCommand) { got = append(got, c) }))
	in := inboxes["/cmd_vel"]
	m := in.New().(*ros.Twist)
	m.Linear.X = 3
	require.NoError(t, in.Deliver(m))
	assert.Equal(t, []*sample.VelocityCommand{{Twist: spatial.Twist{Linear: mgl64.Vec3{3, 0, 0}}}}, got)
	m.Linear.X = math.NaN()
	err = in.Deliver(m)
	assert.ErrorIs(t, err, bridges.ErrConvert)
	assert.ErrorIs(t, err, rossample.ErrCommand)
	assert.Len(t, got, 1)
}

func TestServicesAnswer(t *testing.T) {
	answerers := map[string]rossample.Answerer{}
	registry := registered(t, func(p *bridges.Plugin) error {
		for _, s := range rossample.Services() {
			err := s.Register(p, s.Type, func(_ bridges.Instance, name string, a rossample.Answerer) error {
				assert.Equal(t, s.Type, a.Type.Type)
				answerers[name] = a
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	bridge, err := registry.Open("none:", bridges.Env{})
	require.NoError(t, err)
	refused := errors.New("lights are broken")
	require.NoError(t, bridges.AddService(bridge, "/lights", func(_ context.Context, r sample.SetBoolRequest) (sample.SetBoolResponse, error) {
		if !r.Data {
			return sample.SetBoolResponse{}, refused
		}
		return sample.SetBoolResponse{Success: r.Data, Message: "on"}, nil
	}))
	require.NoError(t, bridges.AddService(bridge, "/start", func(context.Context, sample.TriggerRequest) (sample.TriggerResponse, error) {
		return sample.TriggerResponse{Success: true, Message: "started"}, nil
	}))
	require.NoError(t, bridges.AddService(bridge, "/reset", func(context.Context, sample.EmptyRequest) (sample.EmptyResponse, error) {
		return sample.EmptyResponse{}, nil
	}))
	for name, want := range map[string]ros.Message{
		"/lights": &ros.SetBoolResponse{Success: true, Message: "on"},
		"/start":  &ros.TriggerResponse{Success: true, Message: "started"},
		"/reset":  &ros.EmptyResponse{},
	} {
		a := answerers[name]
		request := a.Type.NewRequest()
		if m, ok := request.(*ros.SetBoolRequest); ok {
			m.Data = true
		}
		got, err := a.Answer(t.Context(), request)
		require.NoError(t, err, name)
		assert.Equal(t, want, got, name)
		assert.IsType(t, a.Type.NewResponse(), got, name)
	}
	_, err = answerers["/lights"].Answer(t.Context(), &ros.SetBoolRequest{})
	assert.ErrorIs(t, err, refused)
	_, err = answerers["/lights"].Answer(t.Context(), &ros.TriggerRequest{})
	assert.ErrorIs(t, err, bridges.ErrConvert)
}
