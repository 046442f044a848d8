// Package stream is the bridge "stream": it serves every topic with raybridge's own
// stream protocol, for the client of package sensors/stream and for whoever reads
// docs/stream-protocol.md.
//
// # Connection
//
//	stream:[[HOST:]PORT][?policy=P][&messages=N][&bytes=N][&clients=N][&zstd=on|off]
//
// The bridge listens on 127.0.0.1:7740 unless an address is given; port 0 lets the system
// choose, and Endpoints of the bridge tells which. It is connected as soon as it
// listens. Without clients for a topic nothing is serialized, and the topic's sensor
// computes nothing ([bridges.Audience]).
//
// # Types
//
// All samples are carried, and any type from outside that implements
// sensors/stream/wire.Foreign: nothing is registered for it.
//
// A message above 256 MiB, the protocol's limit, is bridges.ErrTooLarge.
//
// # Queues
//
// Two queues stand between a sensor and a client, with a policy each. The dispatcher's,
// before the bridge, belongs to a topic and is the one that the run's configuration
// sets: it fills only when serializing is slower than the sensor, or when this bridge
// makes its caller wait. The client's own, behind the bridge, is bounded by messages
// (64) and bytes (64 MiB), and policy says what happens when that client is slow:
//
//	drop_oldest  the default: its longest waiting messages go; nobody waits
//	drop_newest  the message that is being sent is refused; nobody waits
//	block        the publisher waits, for a second at the most, so that the dispatcher's
//	             queue fills and its policy decides. A client that has used up the second
//	             is not waited for again until it takes something.
//
// In a stepped run, which goes as fast as it can, block is what slows it down to what
// the clients take.
//
// # Counts
//
// A message counts as sent when it was queued for its clients. It is moved to the
// drops, under the cause, if in the end none of them has it, and counted there too if
// some of them misses it: with several clients it can be both. A message that
// nobody has subscribed to is not_connected. Clients see their own losses as gaps, and
// are told of them each second.
package stream
