package rosbridgev2_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/bridges/internal/rosbridgev2"
)

// TestFragmentsEndWithTheirConnection: a server that comes back counts them again.
func TestFragmentsEndWithTheirConnection(t *testing.T) {
	s := server(t, peers.RosbridgeConfig{})
	c := connect(t, s, map[string]string{"subscribe": "json"})
	got := make(chan string, 10)
	require.NoError(t, c.Subscribe(&rosbridgev2.Subscription{
		Topic: "/in", Type: "a/msg/C",
		Receive: func(_ *rosbridgev2.Config, _ rosbridgev2.Form, message []byte) error {
			got <- string(message)
			return nil
		},
	}))
	subscribed := func() bool { return len(s.Subscribed()) == 1 }
	fragment := func(num int, data string) {
		quoted, err := json.Marshal(data)
		require.NoError(t, err)
		s.SendFrame(false, fmt.Appendf(nil, `{"op":"fragment","id":"0","num":%d,"total":2,"data":%s}`, num, quoted))
	}
	require.Eventually(t, subscribed, patience, tick)
	fragment(0, `{"op":"publish","topic":"/in",`)
	s.SendFrame(false, []byte(`{"op":"publish","topic":"/in","msg":{"whole":1}}`))
	assert.Equal(t, `{"whole":1}`, <-got)

	s.Kill()
	require.Eventually(t, func() bool { return c.Status() == bridges.UnexpectedlyDisconnected }, patience, tick)
	require.NoError(t, s.Start())
	require.Eventually(t, subscribed, patience, tick)
	fragment(0, `{"op":"publish","topic":"/in",`)
	fragment(1, `"msg":{"parts":2}}`)
	assert.Equal(t, `{"parts":2}`, <-got)
	assert.Zero(t, c.Diagnosis().Malformed)
}
