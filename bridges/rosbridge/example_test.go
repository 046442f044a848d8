package rosbridge_test

import (
	"context"
	"fmt"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/bridges/rosbridge"
	"github.com/raybridge/raybridge/sensors/sample"
)

// A bridge publishes to a rosbridge server, here one for tests, and offers it a service.
func Example() {
	server := peers.NewRosbridge(peers.RosbridgeConfig{})
	if err := server.Start(); err != nil {
		panic(err)
	}
	defer server.Kill()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	bridge, err := bridges.MustRegistry(rosbridge.Factory{}).Open("rosbridge:"+server.Addr(), bridges.Env{})
	if err != nil {
		panic(err)
	}
	publish, err := bridges.AddPublisher[*sample.Speed](bridge, bridges.Topic{Name: "/speed"})
	if err != nil {
		panic(err)
	}
	err = bridges.AddService(bridge, "/light", func(_ context.Context, r sample.SetBoolRequest) (sample.SetBoolResponse, error) {
		return sample.SetBoolResponse{Success: r.Data, Message: "the light is on"}, nil
	})
	if err != nil {
		panic(err)
	}
	if err := bridge.Connect(ctx); err != nil {
		panic(err)
	}
	if err := bridge.Await(ctx); err != nil {
		panic(err)
	}
	offered := func() bool { return len(server.Services()) > 0 } // once the server has read it
	if err := bridgetest.Await(ctx, offered); err != nil {
		panic(err)
	}
	if err := publish(ctx, &sample.Speed{MetresPerSecond: 13.5}); err != nil {
		panic(err)
	}
	response, err := server.Call(ctx, "/light", map[string]any{"data": true})
	if err != nil {
		panic(err)
	}
	if err := bridge.Close(ctx); err != nil { // delivers what was queued
		panic(err)
	}
	if err := bridgetest.Await(ctx, func() bool { return server.Received()["/speed"] > 0 }); err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", server.Messages("/speed")[0].Frame)
	fmt.Println(response.Values["message"])
	// Output:
	// {"op":"publish","topic":"/speed","msg":{"data":13.5}}
	// the light is on
}

// The server mode needs no ROS: roslib in a browser connects to it.
func Example_server() {
	ctx := context.Background()
	bridge, err := bridges.MustRegistry(rosbridge.Factory{}).Open("rosbridge:listen=0?ros=2", bridges.Env{})
	if err != nil {
		panic(err)
	}
	if _, err := bridges.AddPublisher[*sample.Image](bridge, bridges.Topic{Name: "/camera/image"}); err != nil {
		panic(err)
	}
	if err := bridge.Connect(ctx); err != nil {
		panic(err)
	}
	fmt.Println(bridge.Status(), bridge.Endpoints()[0].Topic, bridge.Listening("/camera/image"))
	if err := bridge.Close(ctx); err != nil {
		panic(err)
	}
	// Output: connected /camera/image false
}
