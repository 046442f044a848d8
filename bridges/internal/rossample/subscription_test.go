package rossample_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
)

// subscribed returns the inbox of each of the commands, and calls deliver with what comes
// out of them.
func subscribed(f *testing.F, deliver func(command any)) []ros.Inbox {
	f.Helper()
	var inboxes []ros.Inbox
	registry, err := bridges.NewRegistry(idle{func(p *bridges.Plugin) error {
		for _, sub := range rossample.SVLSubscriptions() {
			if err := sub.Register(p, sub.Type, func(_ bridges.Instance, _ bridges.Topic, _ string, in ros.Inbox) error {
				inboxes = append(inboxes, in)
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	}})
	require.NoError(f, err)
	b, err := registry.Open("none:", bridges.Env{})
	require.NoError(f, err)
	require.NoError(f, bridges.AddSubscriber(b, bridges.Topic{Name: "/a"}, func(c *sample.VelocityCommand) { deliver(c) }))
	require.NoError(f, bridges.AddSubscriber(b, bridges.Topic{Name: "/b"}, func(c *sample.AckermannDrive) { deliver(c) }))
	require.NoError(f, bridges.AddSubscriber(b, bridges.Topic{Name: "/c"}, func(c *sample.VehicleControl) { deliver(c) }))
	require.NoError(f, bridges.AddSubscriber(b, bridges.Topic{Name: "/d"}, func(c *sample.VehicleState) { deliver(c) }))
	return inboxes
}

// finite reports whether all numbers of a value are.
func finite(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		return !math.IsNaN(v.Float()) && !math.IsInf(v.Float(), 0)
	case reflect.Pointer:
		return v.IsNil() || finite(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if !finite(v.Field(i)) {
				return false
			}
		}
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			if !finite(v.Index(i)) {
				return false
			}
		}
	}
	return true
}

// FuzzCommands: whatever comes in, a vehicle is told numbers or nothing.
func FuzzCommands(f *testing.F) {
	var delivered []any
	inboxes := subscribed(f, func(command any) { delivered = append(delivered, command) })
	for i, in := range inboxes {
		f.Add(uint8(i), encode.CDR.Encoder().Append(nil, in.New()))
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		in := inboxes[int(which)%len(inboxes)]
		m := in.New()
		if encode.CDR.Decoder().Decode(data, m) != nil {
			return
		}
		delivered = nil
		err := in.Deliver(m)
		if (err == nil) != (len(delivered) == 1) {
			t.Errorf("%d commands and the error %v", len(delivered), err)
		}
		for _, command := range delivered {
			if !finite(reflect.ValueOf(command)) {
				t.Errorf("delivered %+v", command)
			}
		}
	})
}
