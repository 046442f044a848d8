// Package link keeps a bridge connected to a peer that it dials: the part that all
// clients of network protocols have in common.
//
// # Usage
//
// A bridge's instance embeds a [Client], which keeps what was registered and published
// from one Connect to the next, and gives each Connect a [Link] of its own:
//
//	i.Register(frame)          // sent first on every connection, in this order
//	out := i.NewWay(info)      // info: the *bridges.PublishedTopic
//	err := i.Open(ctx, link.Config{Dial: dial, Handle: handle, Retry: retry}) // in Connect
//
//	b := out.Buffer(size)      // in a publisher, on any goroutine
//	b.Adopt(encode(b.Bytes()[:0]))
//	err := out.Send(ctx, b)    // queues; never waits but for policy block, for a second
//
// [TCP] makes connections of protocols whose frames go over plain TCP. Others implement
// [Conn].
//
// # States
//
// Connecting until there is a connection for the first time, Connected once the
// registrations were written, UnexpectedlyDisconnected from the loss of a connection to
// the next one. Close makes it Disconnecting, then Disconnected. After a failure it dials
// again as bridges.Retry says: every 3 s, without end, by default. A link that has given up
// is UnexpectedlyDisconnected for good, and Err says why.
//
// # Order
//
// Registrations are written in their order before anything else on every connection;
// one that is added later is written once, before the messages that wait. Answers (Post)
// overtake messages. Messages keep the order in which they were queued.
//
// # Queues
//
// What waits for the peer is bounded in messages and bytes for the whole connection;
// when it is full the policy of the topic that has a message to send decides, so that
// drop_oldest may push out another topic's message. block waits for a second at most, and
// not again until the peer has taken something. Nothing is queued while there is no
// connection: Send returns bridges.ErrNotConnected.
//
// # Counts
//
// A message that was queued is counted once. As sent (PublishedTopic.Sent) when it was
// written, that is, when the system has taken it: a peer that is killed may not have read
// the last ones. As dropped (PublishedTopic.Dropped) otherwise:
//
//	peer_slow      pushed out of a full queue, or being written or waiting when the peer
//	               had taken nothing for WriteTimeout and was disconnected
//	write_failed   being written when the connection was lost
//	not_connected  waiting when the connection was lost
//	closed         not delivered when the time of Close was over
//
// # Goroutines
//
// A started link has one goroutine that dials and writes, and one that reads while there
// is a connection. Both have ended when Close returns. In steady state a message costs no
// memory but what its Conn takes.
package link
