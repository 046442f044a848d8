package stream_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/sensors/sample"
)

// A bridge with one topic, and a client that listens to it until it has a message.
func Example() {
	registry := bridges.MustRegistry(stream.Factory{})
	bridge, err := registry.Open("stream:127.0.0.1:0", bridges.Env{})
	check(err)
	defer bridge.Close(context.Background())
	publish, err := bridges.AddPublisher[*sample.Speed](bridge, bridges.Topic{Name: "/speed", Sensor: "speedometer"})
	check(err)
	check(bridge.Connect(context.Background()))

	c, err := stream.Dial(context.Background(), bridge.Endpoints()[0].Address, stream.Options{})
	check(err)
	defer c.Close()
	done := make(chan struct{})
	check(c.Listen(context.Background(), "/speed", func(d *stream.Data) {
		speed, err := stream.Read[sample.Speed](d)
		check(err)
		fmt.Printf("%s at %v: %g m/s\n", d.Stream.Sensor, time.Duration(speed.Stamp), speed.MetresPerSecond)
		check(c.Stop("/speed"))
		close(done)
	}))
	check(publish(context.Background(), &sample.Speed{Header: sample.Header{Stamp: 1.5e9}, MetresPerSecond: 13}))
	<-done
	fmt.Println("listening:", c.IsListening("/speed"))
	// Output:
	// speedometer at 1.5s: 13 m/s
	// listening: false
}

func check(err error) {
	if err != nil {
		panic(strings.TrimSpace(err.Error()))
	}
}
