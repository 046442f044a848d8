package rosbridgev2_test

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rosbridgev2"
)

// pinging is a WebSocket server that hands on what it reads, and pings all the while.
func pinging(t *testing.T, got chan<- string, start func(*httptest.Server)) (address string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		conn.SetReadLimit(1 << 30)
		running.Go(func() {
			for conn.Ping(ctx) == nil { // each waits for its answer
			}
		})
		running.Go(func() {
			for {
				kind, data, err := conn.Read(ctx)
				if err != nil || kind != websocket.MessageText {
					return
				}
				select {
				case got <- string(data):
				case <-ctx.Done():
					return
				}
			}
		})
	}))
	start(s)
	t.Cleanup(func() {
		cancel()
		running.Wait()
		s.Close()
	})
	return s.Listener.Addr().String()
}

// Messages of all lengths of a frame's header, and around the pieces in which they are written,
// arrive whatever is answered between. The server is one that somebody else wrote.
func TestMaskedFrames(t *testing.T) {
	file, pair := certificate(t)
	for scheme, start := range map[string]func(*httptest.Server){
		"ws://": (*httptest.Server).Start,
		"wss://": func(s *httptest.Server) {
			s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
			s.StartTLS()
		},
	} {
		got := make(chan string)
		address := pinging(t, got, start)
		options := map[string]string{}
		if scheme == "wss://" {
			options["ca"] = file
		}
		c := new(rosbridgev2.Client)
		topic := bridges.Topic{Name: "/x"}
		p := c.Advertise(&bridges.PublishedTopic{Topic: topic}, "a/msg/B")
		dial(t, c, scheme+address, options)
		require.Contains(t, <-got, `"advertise"`)
		const around = len(`{"op":"publish","topic":"/x","msg":{"text":""}}`)
		random := rand.New(rand.NewPCG(1, 2))
		for _, size := range []int{50, 125, 126, 127, 4095, 4096, 65535, 65536, 131_057, 131_058, 131_060, 131_061, 262_130, 3_000_001} {
			text := make([]byte, size-around)
			for i := range text {
				text[i] = 'a' + byte(random.IntN(26))
			}
			require.NoError(t, p.Send(t.Context(), &block{text}), size)
			arrived := <-got
			assert.Len(t, arrived, size)
			want := `{"op":"publish","topic":"/x","msg":{"text":"` + string(text) + `"}}`
			assert.True(t, want == arrived, "%d bytes on %s", size, scheme)
		}
		require.NoError(t, c.Disconnect(context.Background()))
	}
}
