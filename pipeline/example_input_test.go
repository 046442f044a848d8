package pipeline_test

import (
	"context"
	"fmt"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/rosbridge"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// Lane says where a lane's middle is: Offset metres to the left, at Angle radians to the
// left of where the vehicle heads.
type Lane struct{ Offset, Angle float64 }

// LaneMessage is the ROS message lane_msgs/Lane, which something else sends.
type LaneMessage struct{ Offset, Angle float64 }

func (m *LaneMessage) TypeName() string { return "lane_msgs/msg/Lane" }

func (m *LaneMessage) Fields(v ros.Visitor) {
	v.Value("offset", ros.Of(&m.Offset))
	v.Value("angle", ros.Of(&m.Angle))
}

// Follow is how to turn, in rad/s, so as to follow the lane.
type Follow struct {
	sample.Header
	Turn float64
}

// LaneFollowing is a sensor with an input.
var LaneFollowing = &sensors.Definition{
	ID: "sensor.other.lane_following", Number: 40001, Doc: "lane following: how to turn", Rate: simtime.Hz(10),
	Inputs:  []sensors.InputSpec{sensors.DeclareInput[*Lane](sensors.InputSpec{Name: "lane", Suffix: "/lane"})},
	Outputs: sensors.OneOutput[Follow](sensors.OutputSpec{Name: "follow", Suffix: "/follow"}),
	New:     func(sensors.Spec) (sensors.Sensor, error) { return &laneFollower{}, nil },
}

type laneFollower struct {
	lanes *sensors.Input[*Lane]
	out   *sensors.Output[*Follow]
}

func (s *laneFollower) Begin(_ context.Context, env *sensors.Env) (err error) {
	if s.lanes, err = sensors.InputOf[*Lane](env, "lane"); err != nil {
		return err
	}
	s.out, err = sensors.OutputOf[*Follow](env, "follow")
	return err
}

// Tick answers the lanes that have come since the tick before.
func (s *laneFollower) Tick(at sensors.Tick) error {
	for lane := range s.lanes.Take() {
		s.out.TryQueue(at, &Follow{
			Header: sample.Header{Stamp: at.Due, Seq: at.Seq, Frame: at.Frame, FrameID: "base_link"},
			Turn:   0.5*lane.Offset + lane.Angle,
		})
	}
	return nil
}

func (s *laneFollower) End() error { return nil }

// A sensor subscribes to a type of its own, and publishes what it makes of it, here as
// one of ROS's messages.
func Example_input() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server := peers.NewRosbridge(peers.RosbridgeConfig{})
	must(server.Start())
	defer server.Kill()

	registry := bridges.MustRegistry(rosbridge.Factory{})
	must(ros.Register(registry, ros.Subscribe(func(dst *Lane, src *LaneMessage) error {
		*dst = Lane(*src)
		return nil
	}), "rosbridge"))
	must(ros.Register(registry, ros.Publish(func(dst *ros.Twist, src *Follow) error {
		*dst = ros.Twist{Linear: ros.Vector3{X: 5}, Angular: ros.Vector3{Z: src.Turn}}
		return nil
	}), "rosbridge"))

	world, err := pipeline.New(ctx, pipeline.Config{
		Scene: scenetest.MovingWall(30, 5), Open: gputest.NewFake().Open, // no sensor here needs a GPU
		Sensors: sensors.Must(sensors.NewRegistry(LaneFollowing)), Bridges: registry,
	})
	must(err)
	_, err = world.AddSensor(sensors.Config{ID: LaneFollowing.ID, Name: "follower"})
	must(err)
	must(world.AddBridge(ctx, carry.BridgeConfig{Spec: "rosbridge:" + server.Addr()}))
	must(bridgetest.Await(ctx, func() bool { return server.Subscribed()["/follower/lane"] != "" })) // it has read it
	server.Publish("/follower/lane", peers.Outgoing{Values: map[string]any{"offset": 0.5, "angle": -0.125}})
	for server.Received()["/follower/follow"] == 0 {
		must(world.Run(ctx, 100*time.Millisecond))
	}
	must(world.Close(ctx))
	m := server.Messages("/follower/follow")[0]
	fmt.Println(m.Type, m.Values["angular"])
	// Output: geometry_msgs/Twist map[x:0 y:0 z:0.125]
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
