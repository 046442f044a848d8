// Package flow has what happens to a message between a sensor and a receiver. That is the
// [Policy] of a full queue and the [QoS] that a topic is offered with. A [Cause] says why a
// message was not delivered. [Queue] holds what waits for one receiver, in a [Ring], and [Buffer] is the
// memory of a message. [Tally] counts what became of a topic's messages, and [Latency] how long they took.
// [PanicError] is what a function of somebody else panicked with, and [Journal] keeps
// repeated lines from filling a log. Every room that carries messages uses these. The package
// imports nothing of ours except internal/fault.
//
// # Buffers
//
// Buffers are blocks of bytes that are used again, frame after frame. A stream has a
// [Pool]. [Pool.Get] lends a [Buffer]; [Buffer.Reset] gives it a size,
// which allocates only when its block is too small; [Buffer.Release] gives the
// block back. A message for several receivers is shared: [Buffer.Share] makes one
// more reference to the same bytes, which its holder releases.
//
//	b := pool.Get(size)
//	b.Reset(size)
//	copy(b.Bytes(), frame)
//	for _, c := range clients {
//		c.send(b.Share()) // each client releases its own
//	}
//	b.Release()
//
// # Bounds
//
// A pool keeps a bounded number of unused blocks, of bounded size together. A block that was not
// used for a while is freed, also when the stream is silent, and so is a block that is far
// larger than everything asked for lately.
//
// # Leaks
//
// [Pool.Stats] counts the buffers that are lent: zero once all streams are closed and
// all messages written. A reference that is released twice changes nothing while no
// other holder has the block, and is counted as Misused.
//
// With the build tag raybridge_checks, and with the race detector, the bytes of a released
// block are overwritten (law R5). So code that still reads them is found.
package flow
