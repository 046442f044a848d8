// Package foxglovebench measures the bridge "foxglove" beside a bare WebSocket writer: the
// library github.com/coder/websocket, given the same number of bytes that are ready to be sent.
//
//	result, err := foxglovebench.Run(ctx, foxglovebench.Config{})
//
// Both send to one client in this process, over the loopback device, which throws away what
// it reads without looking at it. Four things are measured, one after another:
//
//	bare     how many messages a second the library writes, as fast as it goes
//	tuned    the same with the small send buffer that the bridge gives clients of this
//	         machine: what the framing, the queues and the conversion cost shows beside it
//	bridge   how many the bridge brings, as fast as it goes: topics by turns, each published
//	         as a sample, converted, queued and written; full queues make the publisher wait
//	paced    what of the messages arrives that are published at the rate of Config
package foxglovebench

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/foxglove"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/stream/fanout"
	"github.com/raybridge/raybridge/sensors/stream/queue"
)

// Config says what is measured. The zero value of a field stands for its default.
type Config struct {
	// Topics is how many topics there are, 4; every other one is of pictures, those between
	// of clouds. Bytes is the size of each message's data, 8 MB (8,000,000).
	Topics, Bytes int
	// RateHz is the rate of each topic in the paced measurement, 15.
	RateHz float64
	// Duration is how long each measurement takes, 3 s.
	Duration time.Duration
}

func (c Config) orDefaults() Config {
	if c.Topics <= 0 {
		c.Topics = 4
	}
	if c.Bytes <= 0 {
		c.Bytes = 8_000_000
	}
	if c.RateHz <= 0 {
		c.RateHz = 15
	}
	if c.Duration <= 0 {
		c.Duration = 3 * time.Second
	}
	return c
}

// Result is what was measured.
type Result struct {
	// BareHz, TunedHz and BridgeHz are messages a second, of all topics together.
	BareHz, TunedHz, BridgeHz float64
	// Offered messages were published at Config's rate, Sent of them written, Dropped not.
	Offered, Sent, Dropped int64
}

// Ratio is the bridge's rate as a part of the bare writer's.
func (r Result) Ratio() float64 { return r.BridgeHz / r.BareHz }

// Run measures once.
func Run(ctx context.Context, c Config) (Result, error) {
	c = c.orDefaults()
	var r Result
	var err error
	for _, m := range []struct {
		hz    *float64
		tuned bool
	}{{&r.BareHz, false}, {&r.TunedHz, true}} {
		if *m.hz, err = bare(ctx, c, m.tuned); err != nil {
			return r, fmt.Errorf("measure bare writer: %w", err)
		}
	}
	if err := r.bridge(ctx, c); err != nil {
		return r, fmt.Errorf("measure bridge: %w", err)
	}
	return r, nil
}

// sink connects to a WebSocket server, says what it has to and throws away what it is sent,
// until the connection ends. Nothing is masked, unframed or looked at.
func sink(address, say string) (read *atomic.Int64, done <-chan struct{}, err error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, nil, err
	}
	request := "GET / HTTP/1.1\r\nHost: " + address + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: foxglove.sdk.v1\r\n\r\n"
	if say != "" { // a frame whose mask is zero
		request += string([]byte{0x81, 0x80 | 126, byte(len(say) >> 8), byte(len(say)), 0, 0, 0, 0}) + say
	}
	if _, err := io.WriteString(conn, request); err != nil {
		return nil, nil, err
	}
	read = new(atomic.Int64)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _ = conn.Close() }()
		buf := make([]byte, 1<<20)
		for {
			n, err := conn.Read(buf)
			read.Add(int64(n))
			if err != nil {
				return
			}
		}
	}()
	return read, ended, nil
}

// bare measures the library alone, with the bridge's send buffer or the system's own.
func bare(ctx context.Context, c Config, tuned bool) (hz float64, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	result := make(chan error, 1)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		result <- func() error {
			conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled, Subprotocols: []string{"foxglove.sdk.v1"}})
			if err != nil {
				return err
			}
			defer func() { _ = conn.CloseNow() }()
			message := make([]byte, c.Bytes)
			begun := time.Now()
			n := 0
			for time.Since(begun) < c.Duration && ctx.Err() == nil {
				if err := conn.Write(ctx, websocket.MessageBinary, message); err != nil {
					return err
				}
				n++
			}
			hz = float64(n) / time.Since(begun).Seconds()
			return ctx.Err()
		}()
	})}
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if tuned {
			_ = conn.(*net.TCPConn).SetWriteBuffer(fanout.LoopbackBuffer) // else it is slower, no more
		}
		return ctx
	}
	go func() { _ = server.Serve(listener) }() // until Close
	defer func() { _ = server.Close() }()
	_, done, err := sink(listener.Addr().String(), "")
	if err != nil {
		return 0, err
	}
	err = <-result
	<-done
	return hz, err
}

// publishers makes the topics, by turns of pictures and of clouds.
func publishers(b *bridges.Bridge, c Config, policy queue.Policy) ([]func(context.Context) error, error) {
	const pointBytes = 32 // of the default layout
	image := &sample.Image{Width: c.Bytes, Height: 1, Step: c.Bytes, Encoding: sample.EncodingMono8, Data: make([]byte, c.Bytes)}
	cloud := &sample.PointCloud{Points: make([]sample.Point, c.Bytes/pointBytes), Rings: 1, Columns: c.Bytes / pointBytes}
	var list []func(context.Context) error
	for i := range c.Topics {
		topic := bridges.Topic{Name: fmt.Sprintf("/topic%d", i), QoS: bridges.SensorDataQoS, Policy: policy}
		if i%2 == 0 {
			publish, err := bridges.AddPublisher[*sample.Image](b, topic)
			if err != nil {
				return nil, err
			}
			list = append(list, func(ctx context.Context) error { return publish(ctx, image) })
			continue
		}
		publish, err := bridges.AddPublisher[*sample.PointCloud](b, topic)
		if err != nil {
			return nil, err
		}
		list = append(list, func(ctx context.Context) error { return publish(ctx, cloud) })
	}
	return list, nil
}

// run has use publish to one client and returns when that has everything.
func run(ctx context.Context, c Config, policy queue.Policy, use func(publish []func(context.Context) error) error) (bridges.Statistics, time.Duration, error) {
	var none bridges.Statistics
	registry, err := bridges.NewRegistry(foxglove.Factory{})
	if err != nil {
		return none, 0, err
	}
	b, err := registry.Open("foxglove:127.0.0.1:0", bridges.Env{})
	if err != nil {
		return none, 0, err
	}
	publish, err := publishers(b, c, policy)
	if err != nil {
		return none, 0, err
	}
	if err := b.Connect(ctx); err != nil {
		return none, 0, err
	}
	subscribe := `{"op":"subscribe","subscriptions":[`
	for i := range c.Topics {
		if i > 0 {
			subscribe += ","
		}
		subscribe += fmt.Sprintf(`{"id":%d,"channelId":%d}`, i, i+1)
	}
	_, done, err := sink(b.Endpoints()[0].Address, subscribe+"]}")
	if err != nil {
		return none, 0, err
	}
	for !b.Listening(fmt.Sprintf("/topic%d", c.Topics-1)) {
		select {
		case <-ctx.Done():
			return none, 0, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	begun := time.Now()
	err = use(publish)
	closed := b.Close(ctx)
	took := time.Since(begun)
	<-done
	if err == nil {
		err = closed
	}
	return b.Statistics(), took, err
}

// bridge measures the bridge, as fast as it goes and at the rate of c.
func (r *Result) bridge(ctx context.Context, c Config) error {
	statistics, took, err := run(ctx, c, queue.Block, func(publish []func(context.Context) error) error {
		begun := time.Now()
		for i := 0; time.Since(begun) < c.Duration; i++ {
			if err := publish[i%len(publish)](ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.BridgeHz = float64(statistics.Messages) / took.Seconds()
	statistics, _, err = run(ctx, c, queue.DropOldest, func(publish []func(context.Context) error) error {
		ticks := time.NewTicker(time.Duration(float64(time.Second) / c.RateHz))
		defer ticks.Stop()
		for n := range int(c.RateHz * c.Duration.Seconds()) {
			for _, send := range publish {
				if err := send(ctx); err != nil {
					return fmt.Errorf("message %d: %w", n, err)
				}
				r.Offered++
			}
			select {
			case <-ticks.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	r.Sent, r.Dropped = statistics.Messages, statistics.Drops.Total()
	return err
}
