package stream

import (
	"context"
	"net"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/stream/wire"
)

// Options says how a client behaves. The zero value of a field stands for its default.
type Options struct {
	// Zstd asks the server to compress what gets shorter by it.
	Zstd bool
	// MaxFrame is the length of the longest message that is taken, 256 MiB by default.
	MaxFrame int
	// Queue holds what waits for a callback, for each stream: by default 4 messages,
	// 64 MiB, the oldest dropped. With policy block a callback that is too slow makes
	// the client stop reading, which holds up its other streams too; the server then
	// drops by its own policy.
	Queue flow.QueueConfig
	// MinBackoff and MaxBackoff bound the time between attempts to connect again, 100 ms
	// and 10 s by default: it doubles with each, and half of it is random.
	MinBackoff, MaxBackoff time.Duration
	// Wait has Dial return a client where the first attempt to connect fails too, without
	// waiting for a second one: the client goes on trying until its context ends, tells
	// Events when it has connected, and asks then for what Listen was called for
	// meanwhile.
	Wait bool
	// Events is told what happens to the connection, one event after the other on a
	// goroutine of its own; it may call the client. Nil for nobody.
	Events func(Event)
	// Dial opens the connection; by default a TCP one.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

func (o Options) orDefaults() Options {
	if o.MaxFrame <= 0 || o.MaxFrame > wire.MaxSize {
		o.MaxFrame = wire.MaxSize
	}
	if o.Queue.Messages <= 0 {
		o.Queue.Messages = 4
	}
	if o.Queue.Policy == flow.Block && o.Queue.BlockLimit <= 0 {
		o.Queue.BlockLimit = 1<<63 - 1
	}
	if o.MinBackoff <= 0 {
		o.MinBackoff = 100 * time.Millisecond
	}
	if o.MaxBackoff < o.MinBackoff {
		o.MaxBackoff = max(10*time.Second, o.MinBackoff)
	}
	if o.Dial == nil {
		dialer := net.Dialer{Timeout: 5 * time.Second}
		o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", address)
		}
	}
	return o
}

// EventKind says what an Event tells.
type EventKind uint8

// Kinds of events.
const (
	// EventConnected: a connection stands. Restarted tells that it isn't the server
	// of the connection before.
	EventConnected EventKind = iota
	// EventDisconnected: the connection ended, Err says why; the client tries again.
	EventDisconnected
	// EventRetry: an attempt failed for Err; the next follows after Delay.
	EventRetry
	// EventGap: messages of Stream are missing before the one that came now: Missed of
	// them if Known. What was missed over a restart of the server nobody knows. LastNs
	// and NextNs are the capture times around the gap.
	EventGap
	// EventLosses: the server has dropped messages of Stream for this client, Missed
	// since it subscribed; Reason says mostly why: peer_slow, not_connected or closed.
	EventLosses
	// EventStream: the server has the new stream Stream.
	EventStream
	// EventRefused: the server doesn't serve Stream, for Err; it was asked for anew
	// after the client had connected again.
	EventRefused
)

var eventNames = [...]string{"connected", "disconnected", "retry", "gap", "losses", "stream", "refused"}

// String returns the kind's name.
func (k EventKind) String() string { return eventNames[k] }

// Event is something that happened to a client's connection or streams.
type Event struct {
	Kind      EventKind
	Stream    string
	Err       error
	Delay     time.Duration
	Restarted bool
	// Missed counts messages, if Known.
	Missed         uint64
	Known          bool
	LastNs, NextNs int64
	Reason         string
}
