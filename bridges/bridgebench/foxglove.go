package bridgebench

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/coder/websocket"

	"github.com/raybridge/raybridge/bridges/foxglove"
	"github.com/raybridge/raybridge/sensors/sample"
)

// foxgloveContest sends pictures of 8.3 MB on four topics to one client.
func foxgloveContest() Contest {
	return Contest{
		Name: "foxglove_4x8mb", Plain: "a WebSocket server that writes one buffer again and again", Want: 0.9,
		bridge: openFoxglove,
		plain: func(ctx context.Context) (way, error) {
			return plainServer(ctx, make([]byte, 4*1920*1080))
		},
	}
}

func openFoxglove(ctx context.Context) (way, error) {
	w, err := openBridge[*sample.Image](ctx, connected{foxglove.Factory{}, "0?messages=8", 4}, image())
	if err != nil {
		return nil, err
	}
	conn, err := dialWS(ctx, "ws://"+w.bridge.Endpoints()[0].Address, "foxglove.sdk.v1")
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	viewer := &viewer{conn: conn, arrived: newCounter()}
	var running sync.WaitGroup
	ctxReading, cancel := context.WithCancel(ctx)
	running.Go(func() { viewer.serve(ctxReading) })
	w.ended = func() error {
		cancel()
		running.Wait()
		return ignoreClosed(conn.CloseNow())
	}
	w.arrived = viewer.arrived.await
	return w.begin(ctx)
}

// viewer is a client that subscribes to all that is advertised, and throws it away.
type viewer struct {
	conn    *websocket.Conn
	arrived counter
}

// serve answers advertisements until the connection ends; what can't be read ends it.
func (v *viewer) serve(ctx context.Context) {
	for {
		typ, r, err := v.conn.Reader(ctx)
		if err != nil {
			return
		}
		if typ != websocket.MessageText {
			if err := discard(r); err != nil {
				return
			}
			v.arrived.add(1)
			continue
		}
		var m struct {
			Op       string `json:"op"`
			Channels []struct {
				ID    int    `json:"id"`
				Topic string `json:"topic"`
			} `json:"channels"`
		}
		if json.NewDecoder(r).Decode(&m) != nil || m.Op == "advertise" && v.subscribe(ctx, len(m.Channels), func(i int) int { return m.Channels[i].ID }) != nil {
			return
		}
	}
}

// subscribe asks for channels, each by a subscription with the channel's own number.
func (v *viewer) subscribe(ctx context.Context, n int, id func(i int) int) error {
	type subscription struct {
		ID      int `json:"id"`
		Channel int `json:"channelId"`
	}
	var list []subscription
	for i := range n {
		list = append(list, subscription{id(i), id(i)})
	}
	text, err := json.Marshal(map[string]any{"op": "subscribe", "subscriptions": list})
	if err != nil {
		return err
	}
	return v.conn.Write(ctx, websocket.MessageText, text)
}
