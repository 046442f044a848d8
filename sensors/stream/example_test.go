package stream_test

import (
	"context"
	"fmt"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/stream"
	"github.com/raybridge/raybridge/sensors/stream/wire"
)

// A server with one stream, and a client that listens to it.
func Example() {
	ctx := context.Background()
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	server := stream.NewServer(stream.ServerConfig{})
	check(server.Listen("127.0.0.1:0"))
	out, err := server.AddStream(stream.Info{Name: "/speed", Type: wire.NewTypeID(48, 0), Kind: wire.KindSpeed, SchemaVersion: 1}, nil, nil)
	check(err)

	client, err := stream.Dial(ctx, server.Addr().String(), stream.Options{})
	check(err)
	done := make(chan struct{})
	check(client.Listen(ctx, "/speed", func(d *stream.Data) {
		speed, err := wire.AsSpeed(d.Message)
		check(err)
		fmt.Println(d.Stream.Name, speed.MetresPerSecond(), "m/s")
		check(client.Stop("/speed"))
		close(done)
	}))
	fmt.Println("subscribers:", out.Subscribers())
	check(out.Publish(ctx, 0, &sample.Speed{MetresPerSecond: 13.5}))
	<-done
	fmt.Println("listening:", client.IsListening("/speed"))

	client.Close()
	check(server.Close(ctx))
	fmt.Println("buffers lent:", client.Outstanding())
	// Output:
	// subscribers: 1
	// /speed 13.5 m/s
	// listening: false
	// buffers lent: 0
}
