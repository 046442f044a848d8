package rosapollo_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/rosapollo"
	"github.com/raybridge/raybridge/bridges/rosbridge/rosbridgetest"
	"github.com/raybridge/raybridge/sensors/sample"
)

// FuzzCommands has a server send any text as a command: what arrives of it is finite and
// within its limits, and the next command arrives all the same.
func FuzzCommands(f *testing.F) {
	for _, text := range []string{
		`{"throttle":25.0,"brake":12.5,"steering_target":40.0,"gear_location":2}`, `{"throttle":"1e400","gear_location":"GEAR_DRIVE"}`,
		`{"header":{"timestamp_sec":"NaN","sequence_num":-1}}`, `{"steering_target":"-Infinity"}`, `{"throttle":null,"of another":[{}]}`, "{}", "[]", `"`, "",
	} {
		f.Add(text)
	}
	s := rosbridgetest.New(rosbridgetest.Config{})
	require.NoError(f, s.Start())
	f.Cleanup(s.Kill)
	b, err := bridges.MustRegistry(rosapollo.Factory{}).Open("rosapollo:"+s.Addr(), bridges.Env{})
	require.NoError(f, err)
	f.Cleanup(func() { assert.NoError(f, b.Close(context.Background())) })
	got := make(chan *sample.VehicleControl, 10)
	require.NoError(f, bridges.AddSubscriber(b, bridges.Topic{Name: "/control"}, func(c *sample.VehicleControl) { got <- c }))
	require.NoError(f, b.Connect(f.Context()))
	require.Eventually(f, func() bool { return len(s.Subscribed()) == 1 }, patience, tick)
	f.Fuzz(func(t *testing.T, text string) {
		const last = `{"header":{"sequence_num":4711},"throttle":50}`
		for _, msg := range []string{text, last} {
			s.SendFrame(false, fmt.Appendf(nil, `{"op":"publish","topic":"/control","msg":%s}`, msg))
		}
		for {
			c := <-got
			assert.True(t, c.Acceleration >= 0 && c.Acceleration <= 1 && c.Braking >= 0 && c.Braking <= 1 && math.Abs(c.Steering) <= 1, "%+v", c)
			if c.Seq == 4711 {
				return
			}
		}
	})
}
