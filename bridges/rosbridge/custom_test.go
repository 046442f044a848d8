package rosbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/bridges/rosbridge"
	"github.com/raybridge/raybridge/simtime"
)

// comfort is a type that the bridge has never heard of.
type comfort struct {
	Jerk   float64 `json:"jerk"`
	Levels []int   `json:"levels"`
	Name   string  `json:"name"`
	Rough  bool    `json:"rough"`
}

func (*comfort) Captured() simtime.Stamp { return 0 }

// withComfort returns a bridge that carries it both ways.
func withComfort(t testing.TB, connection string) *bridges.Bridge {
	t.Helper()
	registry := bridges.MustRegistry(rosbridge.Factory{})
	plugin, err := registry.Plugin("rosbridge")
	require.NoError(t, err)
	codec := bridges.Codec[*comfort]{
		Schema: bridges.Schema{Name: "my_msgs/Comfort", MessageEncoding: "json"},
		Append: func(dst []byte, c *comfort) ([]byte, error) {
			text, err := json.Marshal(c)
			return append(dst, text...), err
		},
		Read: func(_ string, object []byte) (*comfort, error) {
			c := new(comfort)
			return c, json.Unmarshal(object, c)
		},
	}
	require.NoError(t, codec.Register(plugin))
	require.ErrorIs(t, codec.Register(plugin), bridges.ErrDuplicate)
	b, err := registry.Open("rosbridge:"+connection, bridges.Env{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	return b
}

var rough = &comfort{Jerk: 0.5, Levels: []int{1, -2, 1 << 40}, Name: "a", Rough: true}

func TestTypesFromOutside(t *testing.T) {
	for _, options := range []string{"?", "?ros=2", "?bson=1"} {
		s := started(t, peers.RosbridgeConfig{BSONOnly: options == "?bson=1"})
		b := withComfort(t, s.Addr()+options)
		got := make(chan *comfort, 1)
		require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/in"}, func(c *comfort) { got <- c }))
		m := publish(t, s, b, rough)
		assert.Equal(t, map[string]string{"?ros=2": "my_msgs/msg/Comfort"}[options]+map[string]string{"?": "my_msgs/Comfort", "?bson=1": "my_msgs/Comfort"}[options], m.Type)
		assert.Equal(t, "[1 -2 1099511627776]", fmt.Sprint(m.Values["levels"]))
		assert.Equal(t, "0.5 a true", fmt.Sprint(m.Values["jerk"], " ", m.Values["name"], " ", m.Values["rough"]))
		s.Publish("/in", peers.Outgoing{Values: map[string]any{"jerk": 2.5, "name": "b"}})
		if options == "?bson=1" {
			eventually(t, "counted", func() bool { return b.Diagnosis().Malformed == 1 })
			continue
		}
		assert.Equal(t, comfort{Jerk: 2.5, Name: "b"}, *<-got)
	}
}

func TestTypesFromOutsideAreServed(t *testing.T) {
	b := withComfort(t, "listen=0")
	require.NoError(t, b.Connect(t.Context()))
	out, err := bridges.AddPublisher[*comfort](b, bridges.Topic{Name: "/comfort"})
	require.NoError(t, err)
	c, binary := visit(t, b), visit(t, b)
	c.refused(`{"op":"subscribe","topic":"/comfort","compression":"cbor-raw"}`, "no serialized form")
	c.send(`{"op":"subscribe","topic":"/comfort"}`)
	binary.send(`{"op":"subscribe","topic":"/comfort","compression":"cbor"}`)
	assert.Equal(t, []any{""}, c.values("topics_and_raw_types", "{}")["typedefs_full_text"])
	binary.values("nodes", "{}")
	require.NoError(t, out(t.Context(), rough))
	assert.Equal(t, "a", c.next()["msg"].(map[string]any)["name"])
	assert.Equal(t, 0.5, binary.next()["msg"].(map[any]any)["jerk"])
}
