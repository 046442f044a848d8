// Package fanout is the core of a stream server, whatever its protocol: it accepts
// clients, holds a bounded queue for each, and brings one encoded message to many of
// them.
//
// # Usage
//
// A [Server] gives every connection to a [Session], which its protocol makes: the
// session reads what the client sends and subscribes it to [Stream]s. A publisher
// takes a [Message] from a stream, encodes into its buffer and sends it:
//
//	server := fanout.New(fanout.Config{Accept: newSession})
//	err := server.Listen("127.0.0.1:7740")
//	images := server.NewStream(fanout.StreamConfig{Name: "/camera/image"})
//
//	// in a session, once it knows what the client wants:
//	if err := client.Enter(); err != nil {
//		return err // the server has all its clients
//	}
//	images.Subscribe(client, 0)
//
//	// in a publisher:
//	if images.Subscribers() > 0 { // else nothing need be computed
//		m := images.NewMessage()
//		b := m.Frame(0, size)
//		b.Reset(size)
//		encode(b.Bytes()) // everything that goes over the wire, frame header first
//		err := images.Send(ctx, m)
//	}
//
// A frame is written as it is, header and body in one buffer. A message may have
// several forms, such as plain and compressed: each client is sent the form that it
// subscribed with, or form 0 where the message doesn't have that one.
//
// # Concurrency
//
// Everything may be called from any goroutine, unless its comment says otherwise.
// Each client has two goroutines: one runs its session, one writes. A message is
// encoded once; the clients share it, and its buffers go back to the stream's pool
// when the last of them has written or dropped it.
//
// # Slow clients
//
// Each client's queue is bounded, and its [flow.Policy] says what goes when it is
// full. With drop_oldest and drop_newest no client has any influence on another. With
// block, full queues make the sender wait for their clients, once it has served the
// others, and for all of them together no longer than the limit; a client that used it
// up is not waited for again until it has taken something. A client that takes nothing at all for [Config.Stall] is
// disconnected.
//
// # Ordering
//
// The messages of one stream have rising sequence numbers and reach each client in
// that order; dropped ones leave a gap. Control frames ([Client.Post]) overtake
// messages and are never dropped.
//
// # Failure
//
// Every message has an outcome, told once to [StreamConfig.Settled]: how many
// clients it was written to, and why it was not to others. Each subscription counts
// too: offered = sent + dropped + waiting.
//
// # Testing
//
// [Server.Close] returns when all goroutines have ended; [Server.Outstanding] is then
// zero unless a buffer leaked.
package fanout
