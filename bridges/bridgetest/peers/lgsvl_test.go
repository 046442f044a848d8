package peers_test

import (
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
)

// definitions for these tests alone.
var definitions = map[string]string{
	"test_msgs/Point": "float64 x  # metres\nfloat64 y",
	"test_msgs/All": `
		# every kind of field
		uint8 DEBUG=10
		string NAME = "a b"
		bool flag true
		int8 a
		int16 b
		uint32 c 7
		int64 d
		float32 e
		string text
		string<=5 short
		Point point
		uint8[] data
		uint8[3] three
		Point[<=4] points
		float64[2] pair
		std_msgs/Empty nothing`,
	"std_msgs/Empty":  "# nothing\n",
	"std_msgs/Int16":  "int16 data",
	"test_msgs/Bad":   "int16[",
	"test_msgs/Loop":  "Loop[] loops",
	"test_msgs/Wrong": "wstring text",
}

func definition(name string) (string, error) {
	if text, ok := definitions[name]; ok {
		return text, nil
	}
	return "", fmt.Errorf("no library for %s", name)
}

func load(t *testing.T, name string) *peers.Definition {
	t.Helper()
	d, err := peers.LoadDefinition(name, definition)
	require.NoError(t, err)
	return d
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	require.NoError(t, err)
	return b
}

var all = peers.Value{
	"flag": true, "a": int8(-2), "b": int16(-3), "c": uint32(4), "d": int64(-5), "e": float32(1.5),
	"text": "hé", "short": "", "point": peers.Value{"x": 1.0, "y": math.Inf(1)},
	"data": []byte{1, 2}, "three": []byte{7, 8, 9},
	"points": []any{peers.Value{"x": 0.0, "y": -2.0}}, "pair": []any{0.5, 0.25},
	"nothing": peers.Value{"structure_needs_at_least_one_member": uint8(0)},
}

// allWire was written down by hand.
const allWire = `01 fe fdff 04000000 fbffffffffffffff 0000c03f
	03000000 68c3a9 00000000 000000000000f03f 000000000000f07f
	02000000 0102 03000000 070809 01000000 0000000000000000 00000000000000c0
	02000000 000000000000e03f 000000000000d03f 00`

func TestDefinitionsTakeMessagesApart(t *testing.T) {
	d := load(t, "test_msgs/All")
	got, rest, err := d.Decode(append(unhex(t, allWire), 1, 2, 3))
	require.NoError(t, err)
	assert.Equal(t, []byte{1, 2, 3}, rest)
	assert.Equal(t, all, got)
	assert.Equal(t, unhex(t, allWire), d.Encode(all))
}

func TestCDR(t *testing.T) {
	d := load(t, "test_msgs/All")
	body := d.CDR(all)
	// Positions after the header: text at 20, its end at 28, short's length at 28 and byte at
	// 32, point at 40, data at 56. Then three at 62, points' length at 68, points at 72.
	want := unhex(t, `00010000
		01 fe fdff 04000000 fbffffffffffffff 0000c03f
		04000000 68c3a900 01000000 00 00000000000000 000000000000f03f 000000000000f07f
		02000000 0102 070809 000000 01000000 0000000000000000 00000000000000c0
		000000000000e03f 000000000000d03f 00`)
	assert.Equal(t, hex.EncodeToString(want), hex.EncodeToString(body))
}

func TestArraysOfFixedSize(t *testing.T) {
	d := load(t, "test_msgs/All")
	wire := unhex(t, allWire)
	tail := unhex(t, "02000000 000000000000e03f 000000000000d03f 00")
	none := append(append([]byte{}, wire[:len(wire)-len(tail)]...), 0, 0, 0, 0, 0)
	v, _, err := d.Decode(none)
	require.NoError(t, err)
	assert.Equal(t, []any{0.0, 0.0}, v["pair"], "filled with zeros")
	none[len(none)-5] = 1
	_, _, err = d.Decode(none)
	assert.ErrorIs(t, err, peers.ErrCount)
	for n := range wire {
		_, _, err := d.Decode(wire[:n])
		assert.ErrorIs(t, err, peers.ErrShort, "%d bytes", n)
	}
	assert.Equal(t, d.Encode(v), d.Encode(peers.Value{
		"flag": true, "a": int8(-2), "b": int16(-3), "c": uint32(4), "d": int64(-5), "e": float32(1.5), "text": "hé",
		"point": v["point"], "data": v["data"], "three": v["three"], "points": v["points"],
	}), "what is missing is zero")
}

func TestDefinitionsThatArent(t *testing.T) {
	for _, name := range []string{"test_msgs/Bad", "test_msgs/Loop", "test_msgs/msg/Point", "Point", ""} {
		_, err := peers.LoadDefinition(name, definition)
		assert.ErrorIs(t, err, peers.ErrDefinition, name)
	}
	_, err := peers.LoadDefinition("test_msgs/Wrong", definition)
	assert.ErrorContains(t, err, "no library for test_msgs/wstring", "unsupported types")
}

func TestServerHandsMessagesOn(t *testing.T) {
	var mu sync.Mutex
	var got []peers.LGSVLMessage
	s := start(t, peers.NewLGSVL(peers.LGSVLConfig{Definition: definition, Published: func(m peers.LGSVLMessage) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, m)
	}}))
	listener := dial(t, s)
	send(t, listener, op(1, "/n", "std_msgs/Int16"))
	eventually(t, func() bool { return s.Subscribed("/n") == "std_msgs/Int16" })
	talker := dial(t, s)
	send(t, talker, op(2, "/n", "std_msgs/Int16"), op(3, "/n", "\x05\x01"))
	want := op(3, "/n", "\x05\x01")
	read := make([]byte, len(want))
	_, err := io.ReadFull(listener, read)
	require.NoError(t, err)
	assert.Equal(t, want, read)
	eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(got) == 1 })
	assert.Equal(t, peers.Value{"data": int16(0x105)}, got[0].Value)
	assert.Equal(t, 1, s.Publish("/n", peers.Value{"data": int16(0x105)}))
	_, err = io.ReadFull(listener, read)
	require.NoError(t, err)
	assert.Equal(t, want, read)
	assert.Zero(t, s.Publish("/other", nil))

	require.NoError(t, talker.Close())
	eventually(t, func() bool { return s.Publishing("/n") == "" })
	assert.Equal(t, map[string]int{"/n": 1}, s.Received())
	assert.Empty(t, s.Log())
}

func TestServerLogsWhatItCantTake(t *testing.T) {
	s := start(t, peers.NewLGSVL(peers.LGSVLConfig{Definition: definition}))
	conn := dial(t, s)
	send(t, conn, op(2, "/unknown", "test_msgs/None"), op(3, "/unknown", "x"))
	eventually(t, logged(s, `can't load type "test_msgs/None"`))
	eventually(t, logged(s, `No publisher registered on topic "/unknown"`))
	send(t, conn, op(2, "/n", "std_msgs/Int16"), op(2, "/n", "test_msgs/All"), op(3, "/n", "abc"), op(3, "/n", "a"))
	eventually(t, logged(s, `1 bytes left over in a message on topic "/n"`))
	eventually(t, logged(s, `message too short`))
	assert.Equal(t, map[string]int{"/n": 1}, s.Received(), "the first type holds, what is left over is published")
	require.NoError(t, conn.Close())
	eventually(t, func() bool { return s.Publishing("/n") == "" })
}
