// Package stream is the bridge "stream", which serves every topic over TCP with raybridge's
// own protocol, and the client of that protocol. docs/stream-protocol.md states the protocol
// byte by byte: messages are ROS messages as CDR, each behind an envelope.
//
// # Receiving
//
// A program that receives dials and listens. The data is read where it was received, and is
// valid until the callback returns, unless it is kept:
//
//	c, err := stream.Dial(ctx, "127.0.0.1:7740", stream.Options{})
//	err = c.Listen(ctx, "/camera/image_raw", func(d *stream.Data) {
//		image, err := stream.Read[sample.Image](d)
//		...
//	})
//	defer c.Close()
//
// # Connection
//
//	stream:[[HOST:]PORT][?policy=P][&messages=N][&bytes=N][&clients=N][&zstd=on|off]
//
// The bridge listens on 127.0.0.1:7740 unless an address is given; port 0 lets the system
// choose, and Endpoints of the bridge tells which. It is connected as soon as it listens. A
// topic without clients isn't encoded, and its sensor computes nothing ([bridges.Audience]).
//
// # Types
//
// All samples are carried, as the ROS message that loses least; if ROS has none, as a mirror of
// the sample (ros.Mirror). Any structure from outside that has exported fields and a method
// Captured is carried as a mirror, too, without being registered. Types may be registered as ROS
// messages or with a codec of any encoding. Each stream's description has its schema.
//
// A message above 256 MiB, the protocol's limit, is flow.ErrTooLarge.
//
// # Queues
//
// Two queues stand between a sensor and a client, with a policy each. The dispatcher's, before
// the bridge, belongs to a topic and is the one that the run's configuration sets. It fills
// only when encoding is slower than the sensor, or when this bridge makes its caller wait. The
// client's own, behind the bridge, is bounded by messages (64) and bytes (64 MiB), and policy
// says what happens when that client is slow:
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
// A message counts as sent when it was queued for its clients. It is moved to the drops, under
// the cause, if in the end none of them has it. It is counted there too if some of them misses
// it: with several clients it can be both. A message that nobody has subscribed to is
// not_connected. Clients see their own losses as gaps, and are told of them each second.
//
// # Pages
//
// A [PagePort] serves the same streams to pages in browsers, over WebSockets that an HTTP server was asked for.
// docs/live-page.md has what they say. Pictures and clouds are made smaller for them, once for all pages and on a goroutine
// of each stream. A page is sent the newest message for each that it has drawn. One that a newer one overtakes counts as
// peer_slow, and publishing never waits.
//
// # Concurrency
//
// Servers, streams and clients may be used from any goroutine. A client's callbacks of
// one stream never overlap, those of different streams do; they may call all of the
// client's methods except Wait, and must not wait for Done. Stop and Close wait for no callback.
//
// # Ordering
//
// A stream's messages arrive in the order in which they were published. Missing messages show as
// [Data.Missed] and as an [Event].
//
// # Failure
//
// A connection that breaks is made again, with growing pauses; events tell of it. A peer
// that goes without a word, a half-open connection, is noticed: each side sends
// something each second and gives the other five. A message that is malformed or too
// long ends the connection.
//
// # Testing
//
// When [Client.Done] is closed and [Server.Close] has returned, all their goroutines have ended, and
// their Outstanding is zero unless data was kept.
package stream
