package rosbridgev2_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/bridges/internal/rosbridgev2"
	"github.com/raybridge/raybridge/flow"
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
	require.Eventually(t, func() bool { return c.Status() == flow.UnexpectedlyDisconnected }, patience, tick)
	require.NoError(t, s.Start())
	require.Eventually(t, subscribed, patience, tick)
	fragment(0, `{"op":"publish","topic":"/in",`)
	fragment(1, `"msg":{"parts":2}}`)
	assert.Equal(t, `{"parts":2}`, <-got)
	assert.Zero(t, c.Diagnosis().Malformed)
}

// text is a message {"text": ...} that is JSON already.
type text string

func (s text) AppendAs(dst []byte, _ *rosbridgev2.Config) (out []byte, altered bool, err error) {
	return append(append(append(dst, `{"text":`...), s...), '}'), false, nil
}

// recorder returns the address of a server that hands on each frame after the advertisement.
func recorder(t *testing.T, frames chan<- []byte) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		conn.SetReadLimit(-1)
		for first := true; ; first = false {
			_, frame, err := conn.Read(context.Background())
			if err != nil {
				return
			}
			if !first {
				frames <- frame
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// TestFragmentsOnTheWire: of any text and limit, each is within the limit and a whole JSON text
// with valid characters. Joined in the order in which they come they are the message.
func TestFragmentsOnTheWire(t *testing.T) {
	texts := map[string]string{
		"plain": strings.Repeat("abcdef", 2000), "quotes": strings.Repeat(`\"`, 5000), "backslashes": strings.Repeat(`\\`, 5000),
		"letters": strings.Repeat("é🚗\u2028x", 2000), "longer": strings.Repeat("x", 4100),
	}
	for _, limit := range []int{1000, 1001, 1013, 4096} {
		frames := make(chan []byte, 1000)
		c := new(rosbridgev2.Client)
		p := c.Advertise(&bridges.PublishedTopic{Topic: bridges.Topic{Name: "/x"}}, "a/msg/B")
		dial(t, c, recorder(t, frames), map[string]string{"max_message_size": fmt.Sprint(limit)})
		require.Eventually(t, func() bool { return c.Status() == flow.Connected }, patience, tick)
		ids := map[string]bool{}
		for name, content := range texts {
			require.NoError(t, p.Send(t.Context(), text(`"`+content+`"`)))
			want := `{"op":"publish","topic":"/x","msg":{"text":"` + content + `"}}`
			var joined strings.Builder
			total, id := 1, ""
			for num := 0; num < total; num++ {
				frame := <-frames
				require.LessOrEqual(t, len(frame), limit, name)
				require.True(t, utf8.Valid(frame), name)
				var f struct {
					Op, ID, Data string
					Num, Total   int
				}
				require.NoError(t, json.Unmarshal(frame, &f))
				require.Equal(t, []any{"fragment", num}, []any{f.Op, f.Num}, name)
				if num == 0 {
					total, id = f.Total, f.ID
					require.Greater(t, total, 1)
				}
				require.Equal(t, []any{id, total}, []any{f.ID, f.Total})
				joined.WriteString(f.Data)
			}
			assert.Equal(t, want, joined.String(), "%s in %d", name, limit)
			assert.False(t, ids[id], "an id of its own")
			ids[id] = true
		}
		require.NoError(t, p.Send(t.Context(), text(`"`+strings.Repeat("x", limit-len(`{"op":"publish","topic":"/x","msg":{"text":""}}`))+`"`)))
		assert.Len(t, <-frames, limit, "as large as may be, and whole")
	}
}
