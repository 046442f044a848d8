package foxglove_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/foxglove"
	"github.com/raybridge/raybridge/simtime"
)

// comfort is a message type that raybridge doesn't know.
type comfort struct {
	StampNs int64
	Jerk    float64
}

func (c *comfort) Captured() simtime.Stamp { return simtime.Stamp(c.StampNs) }

// A type from outside goes both ways, in an encoding of its own.
func TestTypesFromOutside(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	registry := bridges.MustRegistry(foxglove.Factory{})
	plugin, err := registry.Plugin("foxglove")
	require.NoError(t, err)
	codec := bridges.Codec[*comfort]{
		Schema: bridges.Schema{Name: "my.Comfort", Encoding: "jsonschema", Data: []byte(`{"type":"object"}`), MessageEncoding: "json"},
		Append: func(dst []byte, m *comfort) ([]byte, error) { return fmt.Appendf(dst, `{"Jerk":%g}`, m.Jerk), nil },
		Read: func(encoding string, data []byte) (*comfort, error) {
			if encoding != "mine" {
				return nil, errors.New("want the encoding mine")
			}
			m := new(comfort)
			return m, json.Unmarshal(data, m)
		},
	}
	require.NoError(t, codec.Register(plugin))
	assert.ErrorIs(t, codec.Register(plugin), bridges.ErrDuplicate)
	b, err := registry.Open("foxglove:127.0.0.1:0", bridges.Env{})
	require.NoError(t, err)
	defer func() { assert.NoError(t, b.Close(context.Background())) }()
	require.NoError(t, b.Connect(t.Context()))
	publish := publisher[*comfort](t, b, bridges.Topic{Name: "/comfort"})
	arrived := subscribed[*comfort](t, b, "/wish")
	c, _, advertised := dial(t, b)
	channel := channels(advertised)["/comfort"]
	assert.Equal(t, []any{"json", "my.Comfort", "jsonschema", `{"type":"object"}`},
		[]any{channel["encoding"], channel["schemaName"], channel["schemaEncoding"], channel["schema"]})
	c.say(`{"op":"subscribe","subscriptions":[{"id":1,"channelId":1}]}`)
	c.synced()
	require.NoError(t, publish(t.Context(), &comfort{StampNs: 9, Jerk: 0.5}))
	data, at := c.message(1)
	assert.JSONEq(t, `{"Jerk":0.5}`, string(data))
	assert.EqualValues(t, simtime.Stamp(9), at)

	c.say(`{"op":"advertise","channels":[{"id":1,"topic":"/wish","encoding":"mine","schemaName":"my.Comfort"},{"id":2,"topic":"/wish","encoding":"json","schemaName":"my.Comfort"}]}`)
	c.publish(1, []byte(`{"Jerk":0.25}`))
	assert.Equal(t, 0.25, next(t, arrived).Jerk)
	c.publish(2, []byte(`{}`))
	assert.Contains(t, c.text("status")["message"], "want the encoding mine")
}
