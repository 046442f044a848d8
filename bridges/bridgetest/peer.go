package bridgetest

import "testing"

// Peer is the other side of a network bridge in the conformance suite: the server that
// the bridge dials, or a client of the server that the bridge is. It counts what arrives
// by means of its own, never by the bridge's code. The suite uses it from one goroutine;
// what it counts it may count on others.
type Peer interface {
	// Connection is the connection string that leads the bridge to the peer, or makes it
	// listen where the peer comes to. What waits for the peer is bounded by 4096
	// messages and 8 MiB, and the bridge tries again after 50 ms
	// ("messages=4096&bytes=8388608&retry=50ms" where the bridge has these options).
	// It is the same for the peer's life.
	Connection() string
	// Start lets the peer run, or run again after Kill, at the same address. It wants
	// every topic, now and as they come, doesn't wait for the bridge, and comes again
	// when the bridge ended the connection.
	Start(t *testing.T)
	// Kill ends the peer without a goodbye.
	Kill(t *testing.T)
	// Stall lets the peer read nothing more until Resume, with its connection open.
	Stall(t *testing.T)
	Resume(t *testing.T)
	// Rubbish sends the bridge what isn't of the protocol.
	Rubbish(t *testing.T)
	// Ready reports whether the peer would be sent messages on a topic now.
	Ready(topic string) bool
	// Received returns how many messages of each topic have arrived since the peer was
	// made.
	Received() map[string]int
}

// Sender is the Peer of a bridge that subscribes: it sends messages of the type that the
// protocol has for *sample.VehicleControl, encoded by means of its own.
type Sender interface {
	Peer
	// Subscriptions returns how often the bridge that is connected now has subscribed to a
	// topic, 0 while there is none. A client of a server isn't told: it returns 1 while
	// it is connected and could send.
	Subscriptions(topic string) int
	// Send sends one message whose Acceleration is a fraction of 1 that a float32 has
	// exactly. Without a subscription the message is lost.
	Send(t *testing.T, topic string, acceleration float64)
	// SendUnreadable sends one message on a topic whose content isn't of the topic's type,
	// or makes no sense, in the right frame.
	SendUnreadable(t *testing.T, topic string)
}

// EmptySender is a Sender whose protocol has messages without a byte, in the right frame.
// Where the type has fields, such a message can't be read either.
type EmptySender interface {
	Sender
	SendEmpty(t *testing.T, topic string)
}
