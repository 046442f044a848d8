package ros2lgsvl_test

import (
	"context"
	"fmt"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/bridges/ros2lgsvl"
	"github.com/raybridge/raybridge/sensors/sample"
)

// A message goes to the server, and a command comes back. The server here is the one of
// the tests.
func Example() {
	arrived := make(chan peers.LGSVLMessage, 1)
	server := peers.NewLGSVL(peers.LGSVLConfig{Published: func(m peers.LGSVLMessage) { arrived <- m }})
	if err := server.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer server.Kill()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	bridge, err := bridges.MustRegistry(ros2lgsvl.Factory{}).Open("ros2lgsvl:"+server.Addr(), bridges.Env{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bridge.Close(ctx)
	publish, err := bridges.AddPublisher[*sample.Range](bridge, bridges.Topic{Name: "/park/distance"})
	if err != nil {
		fmt.Println(err)
		return
	}
	commands := make(chan *sample.VelocityCommand, 1)
	if err := bridges.AddSubscriber(bridge, bridges.Topic{Name: "/cmd_vel"}, func(c *sample.VelocityCommand) { commands <- c }); err != nil {
		fmt.Println(err)
		return
	}
	if err := bridge.Connect(ctx); err != nil { // a bad connection string; it doesn't wait for the server
		fmt.Println(err)
		return
	}
	if err := bridge.Await(ctx); err != nil {
		fmt.Println(err)
		return
	}
	subscribed := func() bool { return server.Subscribed("/cmd_vel") != "" } // once the server has read it
	if err := bridgetest.Await(ctx, subscribed); err != nil {
		fmt.Println(err)
		return
	}

	if err := publish(ctx, &sample.Range{Header: sample.Header{Stamp: 1_500_000_000, FrameID: "park"}, Range: 0.75}); err != nil {
		fmt.Println(err)
		return
	}
	m := <-arrived
	fmt.Println(m.Topic, m.Type.Name, m.Value["minimum_distance"])
	server.Publish("/cmd_vel", peers.Value{"linear": peers.Value{"x": 2.5, "y": 0.0, "z": 0.0}})
	fmt.Println("forward", (<-commands).Twist.Linear[0])
	// Output:
	// /park/distance lgsvl_msgs/Ultrasonic 0.75
	// forward 2.5
}
