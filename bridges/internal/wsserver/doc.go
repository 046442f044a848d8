// Package wsserver is a WebSocket server (RFC 6455) that brings streams of messages to
// many clients: what the bridges to Foxglove and of rosbridge's server mode have in
// common. It is package sensors/stream/fanout with WebSocket's handshake and frames.
//
// # Usage
//
//	server, err := wsserver.Listen(address, wsserver.Config{Subprotocols: names, Accept: newSession})
//	clouds := server.NewStream(fanout.StreamConfig{Name: "/points", Written: topic.Sent, Settled: settled})
//
//	// in a session, once the client has said what it wants:
//	client.Subscribe(clouds, wsserver.Receiver{Kind: wsserver.Binary, Prefix: header})
//
//	// in a publisher:
//	if clouds.Subscribers() > 0 {
//		m := clouds.NewMessage()
//		b := m.Frame(0, size)
//		b.Adopt(encode(b.Bytes()[:0]))
//		err := clouds.Send(ctx, m)
//	}
//
// A message has one body for all clients. The WebSocket frame's header and the
// receiver's prefix, which may differ from client to client, are written before it in the
// same system call: the body is never copied. Server frames aren't masked, and nothing is
// compressed.
//
// # Concurrency
//
// A [Session] is called by one goroutine of its client, but for Beat, which the client's
// writing goroutine calls. All methods of [Server] and [Client] may be called from any
// goroutine; none of them waits for a client, but for Close, and for fanout's Send under
// policy block.
//
// # Slow and dead clients
//
// What waits for a client is bounded and dropped as fanout has it. A client that takes
// nothing for Config.Stall while there is something to write is disconnected. Every client is
// pinged at intervals of Config.Idle, also while data flows, and disconnected when nothing has
// come from it for Config.Patience. A client that goes, in whatever way, leaves nothing behind.
// What the server answers to a client that doesn't read is bounded by Config.MaxControl.
//
// # Memory
//
// What a client makes the server keep is bounded by Config.MaxControl: what is posted and not
// yet written, and what its session says that it holds ([Client.Hold]). Remarks that the client
// may miss are told ([Client.Tell]): of one that doesn't read they are dropped. Messages are
// read into memory that the session lends until Message returns; names and ids in them are
// bounded by package internal/guard's table.
//
// # Security
//
// Package internal/guard says which web pages may connect, under which names, and how many
// connections may shake hands at a time, for how long. A page that is let in may do what any
// client may.
package wsserver
