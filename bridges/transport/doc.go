// Package transport is what raybridge's protocols share below their messages. A [Server] accepts
// clients, holds a bounded queue for each, and brings one encoded message to many of them, over
// TCP or WebSocket (RFC 6455). A [Client] keeps one connection to a peer that it dials. [Keep]
// connects again and again, as a [Retry] says. [State], [Diagnosis] and [ConnectionLog] tell how a
// connection fares.
//
// # Servers
//
// A [Server] gives every connection to a [Session], which its protocol makes: the
// session reads what the client sends and subscribes it to [Stream]s. A publisher
// takes a [Message] from a stream, encodes into its buffer and sends it:
//
//	server := transport.New(transport.Config{Accept: newSession})
//	err := server.Listen("127.0.0.1:7740")
//	images := server.NewStream(transport.StreamConfig{Name: "/camera/image"})
//
//	// in a session, once it knows what the client wants:
//	if err := conn.Enter(); err != nil {
//		return err // the server has all its clients
//	}
//	images.Subscribe(conn, 0)
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
// A frame is written as it is, header and body in one buffer. A message may have several forms,
// such as plain and compressed. Each client is sent the form that it subscribed with, or form 0
// where the message doesn't have that one.
//
// # WebSocket
//
// With [Config.WebSocket] a client upgrades first, and its session is a [WebSocketSession]:
//
//	server := transport.New(transport.Config{WebSocket: &transport.WebSocketConfig{Subprotocols: names, Accept: newSession}})
//
//	// in a session, once the client has said what it wants:
//	socket.Subscribe(clouds, transport.OpBinary, header, transport.Receiver{})
//
// A message has one body for all clients. The WebSocket frame's header and the subscription's
// prefix may differ from client to client. They are written before the body in the same system
// call, so the body is never copied. Server frames aren't masked, and nothing is compressed.
// Every client is pinged at intervals of [WebSocketConfig].Idle, also while data flows, and
// disconnected when nothing has come from it for Patience. A session's methods are called by
// one goroutine of its client, except Beat, which the writing goroutine calls.
//
// # Concurrency
//
// Everything may be called from any goroutine, unless its comment says otherwise. Each client
// has two goroutines: one runs its session, one writes. A message is encoded once and the
// clients share it. Its buffers go back to the stream's pool when the last of them has written
// or dropped it.
//
// # Slow clients
//
// Each client's queue is bounded, and its [flow.Policy] says what goes when it is full. With
// drop_oldest and drop_newest no client has any influence on another. With block, full queues make
// the sender wait for their clients, once it has served the others. It waits for all of them
// together no longer than the limit. A client that used it up is not waited for again until it has
// taken something. A client that takes nothing at all for [Config.Stall] is disconnected. The time in
// which this process is stopped isn't counted, except with TLS.
//
// A client that subscribes with [Receiver].Credits is sent a message for each credit. While it has none, the newest message
// is held for it, and older ones count as dropped. While [Stream.Hungry] is false, nothing need be encoded, and while
// [Stream.Takers] is zero, nothing need be computed.
//
// # Ordering
//
// The messages of one stream have rising sequence numbers and reach each client in
// that order; dropped ones leave a gap. Control frames ([Conn.Post]) overtake
// messages and are never dropped.
//
// # Failure
//
// Every message has an outcome, told once to [StreamConfig.Settled]: how many
// clients it was written to, and why it was not to others. Each subscription counts
// too: offered = sent + dropped + waiting.
//
// # Memory
//
// [Config.MaxControl] bounds what a client makes the server keep. That is what is posted and not
// yet written, and what its session says that it holds ([Conn.Hold]). Remarks that the client
// may miss are told ([WebSocket.Tell]): of one that doesn't read they are dropped. Messages of a
// WebSocket are read into memory that is lent until the session's Message returns. Names and ids
// in them are bounded by package internal/guard's table.
//
// # Security
//
// Package internal/guard says which web pages may connect, under which names, and how many
// connections may shake hands at a time, for how long. A page that is let in may do what any
// client may.
//
// # Testing
//
// [Server.Close] returns when all goroutines have ended; [Server.Outstanding] is then
// zero unless a buffer leaked.
//
// # Clients
//
// A bridge's instance embeds a [Client], which keeps what was registered and published
// from one Connect to the next:
//
//	i.Register(frame)          // sent first on every connection, in this order
//	out := i.NewOutlet(&info.Tally, info.Policy) // info: the *bridges.PublishedTopic
//	i.Open(ctx, transport.ClientConfig{Dial: dial, Handle: handle, Retry: retry}) // in Connect
//
//	b := out.Buffer(size)      // in a publisher, on any goroutine
//	b.Adopt(encode(b.Bytes()[:0]))
//	err := out.Send(ctx, b)    // queues; never waits except under policy block, for a second
//
// [TCP] makes connections of protocols whose frames go over plain TCP. Others implement
// [FrameConn].
//
// States: Connecting until there is a connection for the first time, Connected once the
// registrations were written. From the loss of a connection to the next one it is
// UnexpectedlyDisconnected. Disconnect makes it Disconnecting, then Disconnected. After a failure
// the client dials again as its [Retry] says: every 3 s, without end, by default. A client that
// has given up is UnexpectedlyDisconnected until the next Open, and Err says why.
//
// Order: registrations are written in their order before anything else on every connection. One
// that is added later is written once, before the messages that wait. Answers ([Client.Post])
// overtake messages. Messages keep the order in which they were queued.
//
// Queue: what waits for the peer is bounded in messages and bytes for the whole connection.
// When it is full, the policy of the topic that has a message to send decides, so that
// drop_oldest may push out another topic's message. block waits for a second at most, and
// not again until the peer has taken something. Nothing is queued while there is no
// connection: Send returns [flow.ErrNotConnected].
//
// Counts: a message that was queued is counted once. It is sent when it was written, that is,
// when the system has taken it. A peer that is killed may not have read the last ones.
// Otherwise it is dropped:
//
//	peer_slow      pushed out of a full queue, or being written or waiting when the peer
//	               had taken nothing for WriteTimeout and was disconnected; the time in
//	               which this process is stopped isn't counted
//	write_failed   being written when the connection was lost
//	not_connected  waiting when the connection was lost
//	closed         not delivered when the time of Disconnect was over
//
// An open client has one goroutine that dials and writes, and one that reads while there
// is a connection. Both have ended when Disconnect returns. In steady state a message costs no
// memory except what its FrameConn takes.
package transport
