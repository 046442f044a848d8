package peers_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
)

type client struct {
	t    *testing.T
	conn *websocket.Conn
}

func join(t *testing.T, s *peers.Rosbridge) *client {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), "ws://"+s.Addr(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &client{t, conn}
}

func (c *client) send(frame string) {
	c.t.Helper()
	require.NoError(c.t, c.conn.Write(c.t.Context(), websocket.MessageText, []byte(frame)))
}

func (c *client) next() (m map[string]any) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer cancel()
	_, frame, err := c.conn.Read(ctx)
	require.NoError(c.t, err)
	require.NoError(c.t, json.Unmarshal(frame, &m))
	return m
}

// settled waits until all that was sent has been worked off.
func (c *client) settled() {
	c.t.Helper()
	c.send(`{"op":"settle"}`)
	for c.next()["msg"] != `not of the protocol: unknown operation "settle"` {
	}
}

// What the specification calls an error is told so.
func TestRosbridgeErrors(t *testing.T) {
	s := start(t, peers.NewRosbridge(peers.RosbridgeConfig{NoTypes: []string{"no/Type"}}))
	c, other := join(t, s), join(t, s)
	other.send(`{"op":"advertise","topic":"/taken","type":"a/B"}`)
	other.settled()
	for _, frame := range []string{
		"}", "[]", `{"op":7}`, `{"op":"png"}`, `{"op":"auth"}`, `{"op":"advertise","topic":"/x"}`,
		`{"op":"advertise","topic":"/x","type":"no/Type"}`, `{"op":"advertise","topic":"/taken","type":"a/C"}`,
		`{"op":"unadvertise","topic":"/taken"}`, `{"op":"publish","topic":"/taken","msg":{}}`, `{"op":"subscribe"}`,
		`{"op":"subscribe","topic":"/none"}`, `{"op":"subscribe","topic":"/taken","type":"a/C"}`,
		`{"op":"subscribe","topic":"/taken","compression":"png"}`, `{"op":"advertise_service","service":"/s"}`,
		`{"op":"service_response","id":"1","service":"/s","result":true}`, `{"op":"service_response"}`,
		`{"op":"fragment","id":"a","num":2,"total":2,"data":"x"}`,
	} {
		c.send(frame)
		m := c.next()
		assert.Equal(t, "status", m["op"], frame)
		assert.Equal(t, "error", m["level"], frame)
	}
	assert.Len(t, s.Statuses(), 19, "and the one of settled")
}

func TestRosbridgeTopics(t *testing.T) {
	s := start(t, peers.NewRosbridge(peers.RosbridgeConfig{Keep: 1}))
	c := join(t, s)
	c.send(`{"op":"subscribe","topic":"/x","type":"a/B","id":"1"}`)
	c.send(`{"op":"advertise","topic":"/x","type":"a/B"}`)
	c.send(`{"op":"publish","topic":"/x","msg":{"n":1}}`)
	assert.Equal(t, map[string]any{"op": "publish", "topic": "/x", "msg": map[string]any{"n": 1.0}}, c.next())
	c.send(`{"op":"fragment","id":"f","num":1,"total":2,"data":"\"/x\",\"msg\":{\"n\":2}}"}`)
	c.send(`{"op":"fragment","id":"f","num":0,"total":2,"data":"{\"op\":\"publish\",\"topic\":"}`)
	assert.Equal(t, 2.0, c.next()["msg"].(map[string]any)["n"])
	assert.Equal(t, map[string]string{"/x": "a/B"}, s.Advertised())
	assert.Equal(t, map[string]string{"/x": "a/B none"}, s.Subscribed())
	assert.Equal(t, map[string]int{"/x": 2}, s.Received())
	assert.Len(t, s.Messages("/x"), 1, "no more are kept")
	c.send(`{"op":"unsubscribe","topic":"/x","id":"1"}`)
	c.send(`{"op":"unadvertise","topic":"/x"}`)
	c.settled()
	assert.Empty(t, s.Advertised())
	assert.Empty(t, s.Subscribed())
	assert.Equal(t, []string{"/x"}, s.Topics())
}

func TestRosbridgeServices(t *testing.T) {
	s := start(t, peers.NewRosbridge(peers.RosbridgeConfig{}))
	offers, calls := join(t, s), join(t, s)
	offers.send(`{"op":"advertise_service","service":"/s","type":"a/B"}`)
	offers.settled()
	calls.send(`{"op":"call_service","service":"/s","id":"mine","args":{"n":1}}`)
	call := offers.next()
	assert.Equal(t, "call_service", call["op"])
	assert.Equal(t, map[string]any{"n": 1.0}, call["args"])
	answer, err := json.Marshal(map[string]any{"op": "service_response", "service": "/s", "id": call["id"], "values": map[string]any{"m": 2}, "result": true})
	require.NoError(t, err)
	offers.send(string(answer))
	assert.Equal(t, map[string]any{"op": "service_response", "service": "/s", "id": "mine", "values": map[string]any{"m": 2.0}, "result": true}, calls.next())
	calls.send(`{"op":"call_service","service":"/none"}`)
	assert.Equal(t, false, calls.next()["result"])
	// Who offers a service and goes fails those that wait.
	calls.send(`{"op":"call_service","service":"/s"}`)
	offers.next()
	require.NoError(t, offers.conn.CloseNow())
	assert.Equal(t, false, calls.next()["result"])
	_, err = s.Call(t.Context(), "/s", nil)
	assert.Error(t, err)
}

func TestRosbridgeMisbehaviour(t *testing.T) {
	s := start(t, peers.NewRosbridge(peers.RosbridgeConfig{}))
	c := join(t, s)
	c.send(`{"op":"advertise","topic":"/x","type":"a/B"}`)
	c.settled()
	s.Stall()
	c.send(`{"op":"publish","topic":"/x","msg":{}}`)
	assert.Never(t, func() bool { return s.Received()["/x"] > 0 }, 50*time.Millisecond, 5*time.Millisecond)
	s.Resume()
	assert.Eventually(t, func() bool { return s.Received()["/x"] == 1 }, 30*time.Second, time.Millisecond)
	address := s.Addr()
	s.Kill()
	_, _, err := c.conn.Read(t.Context())
	assert.Equal(t, websocket.StatusCode(-1), websocket.CloseStatus(err), "no goodbye")
	require.NoError(t, s.Start())
	assert.Equal(t, address, s.Addr())
	s.Refuse(503)
	_, response, err := websocket.Dial(t.Context(), "ws://"+address, nil)
	require.Error(t, err)
	assert.Equal(t, 503, response.StatusCode)
	s.Refuse(0)
	join(t, s).settled()
}
