// Package link keeps a bridge connected to a peer that it dials: the part that all
// clients of network protocols have in common.
//
// # Usage
//
// A bridge makes a [Link] for each Connect, says how to dial and what to do with what
// the peer sends, registers its topics, and starts it:
//
//	l := link.New(link.Config{Dial: dial, Handle: handle, Retry: retry})
//	l.Register(frame)          // sent first on every connection, in this order
//	out := l.NewTopic(info)    // info: the *bridges.PublishedTopic
//	l.Start()
//
//	b := out.Buffer(size)      // in a publisher, on any goroutine
//	b.Adopt(encode(b.Bytes()[:0]))
//	err := out.Send(ctx, b)    // queues; never waits but for policy block, for a second
//
// # States
//
// Connecting while it dials and while it waits to dial again for the first time,
// Connected once the registrations were written, UnexpectedlyDisconnected from the loss
// of a connection to the next one. Close makes it Disconnecting, then Disconnected.
// After a failure it dials again as [Retry] says: every 3 s, without end, by default.
//
// # Queues
//
// What waits for the peer is bounded in messages and bytes for the whole connection;
// when it is full the policy of the topic that has a message to send decides. A message is
// counted as sent (PublishedTopic.Sent) when it was written, and as dropped
// (PublishedTopic.Dropped) when it wasn't, once. Nothing is queued while there
// is no connection: Send returns bridges.ErrNotConnected.
//
// # Goroutines
//
// A started link has one goroutine that dials and writes, and one that reads while there
// is a connection. Both have ended when Close returns.
package link
