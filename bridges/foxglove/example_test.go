package foxglove_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/coder/websocket"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/foxglove"
	"github.com/raybridge/raybridge/sensors/sample"
)

// A program of your own serves a topic to Foxglove; here another part of it is the viewer.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	registry := bridges.MustRegistry(foxglove.Factory{})
	bridge, err := registry.Open("foxglove:127.0.0.1:0", bridges.Env{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = bridge.Close(ctx) }()
	publish, err := bridges.AddPublisher[*sample.GnssFix](bridge, bridges.Topic{Name: "/fix"})
	if err != nil {
		panic(err)
	}
	if err := bridge.Connect(ctx); err != nil {
		panic(err)
	}
	address := bridge.Endpoints()[0].Address // Foxglove: Open connection, ws://ADDRESS

	viewer, _, err := websocket.Dial(ctx, "ws://"+address, &websocket.DialOptions{Subprotocols: []string{"foxglove.sdk.v1"}}) //nolint:bodyclose // it is the connection
	if err != nil {
		panic(err)
	}
	defer func() { _ = viewer.CloseNow() }()
	for range 2 {
		_, text, err := viewer.Read(ctx)
		if err != nil {
			panic(err)
		}
		var message struct {
			Op       string
			Channels []struct{ Topic, Encoding, SchemaName string }
		}
		if err := json.Unmarshal(text, &message); err != nil {
			panic(err)
		}
		fmt.Println(message.Op, message.Channels)
	}
	if err := viewer.Write(ctx, websocket.MessageText, []byte(`{"op":"subscribe","subscriptions":[{"id":7,"channelId":1}]}`)); err != nil {
		panic(err)
	}
	if err := bridgetest.Await(ctx, func() bool { return bridge.Listening("/fix") }); err != nil {
		panic(err)
	}
	if err := publish(ctx, &sample.GnssFix{Latitude: 49.01, Longitude: 8.43}); err != nil {
		panic(err)
	}
	_, data, err := viewer.Read(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println("message of subscription", data[1])
	// Output:
	// serverInfo []
	// advertise [{/fix protobuf foxglove.LocationFix}]
	// message of subscription 7
}
