// Package stream brings sensor data to other programs over TCP: a server, a client, and
// the protocol between them, which docs/stream-protocol.md states byte by byte.
//
// # Usage
//
// A program that receives dials and listens. The data is read where it was received,
// and is valid until the callback returns, unless it is kept:
//
//	c, err := stream.Dial(ctx, "127.0.0.1:7740", stream.Options{})
//	err = c.Listen(ctx, "/camera/image_raw", func(d *stream.Data) {
//		image, err := wire.AsImage(d.Message)
//		...
//	})
//	defer c.Close()
//
// A program that sends makes a server and adds a [Stream] for each output:
//
//	s := stream.NewServer(stream.ServerConfig{})
//	out, err := s.AddStream(stream.Info{Name: "/speed", Type: id}, nil, nil)
//	err = s.Listen(stream.DefaultAddress)
//	if out.Subscribers() > 0 {
//		err = out.Publish(ctx, now, message)
//	}
//
// Below it, package wire has the messages' layouts, package bridges/transport the core of servers
// for any protocol, package flow the bounded queues and the memory.
//
// # Concurrency
//
// Servers, streams and clients may be used from any goroutine. A client's callbacks of
// one stream never overlap, those of different streams do; they may call all of the
// client's methods, Stop and Close too.
//
// # Ordering
//
// A stream's messages arrive in the order in which they were published. What is missing
// shows as [Data.Missed] and as an [Event].
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
// When [Client.Close] and [Server.Close] have returned all their goroutines have ended, and their
// Outstanding is zero unless data was kept.
package stream
