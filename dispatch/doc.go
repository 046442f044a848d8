// Package dispatch hands messages from the goroutines that make them to the publishers that
// convert and send them. The number of workers follows the load, and every sender is told what
// became of each message. It knows neither sensors nor bridges.
//
// # Usage
//
// A [Dispatcher] owns the workers. A [Topic] joins one message type to one publisher and has a
// queue with a [flow.Policy] for when it is full. [Topic.TryQueueTask] offers a message, with an
// optional callback and an optional exclusive token:
//
//	d := dispatch.New(dispatch.Config{})
//	defer d.Close(context.Background())
//	clouds := dispatch.NewTopic(d, "/points", bridge.Publish, dispatch.TopicConfig{})
//	clouds.TryQueueTask(cloud, dispatch.Task{Token: sensor, Done: func(err error) { ... }})
//
// Messages whose type implements [ThreadCached] are copied into a pooled instance before the
// call returns, so that the sender may overwrite its buffers. The pool keeps no more messages
// and bytes than the queue and the workers may hold, or than were under way at once. It frees
// what is unused, and [PoolStats] tells what there is. Small data can be sent at once by
// [Topic.Publish]. A [Subscriber] is the same for messages that come in, handled at once or
// through a queue.
//
// The callback's error says what happened; in SVL Simulator's terms, nil is its
// true and every other value its false:
//
//	nil               the publisher returned without error: "published"
//	ErrPaused         "time is paused"
//	ErrTokenBusy      "exclusive token is already in use"
//	*flow.PanicError  "exception was thrown by publisher delegate"
//	any other error of the publisher: likewise
//	flow.ErrFull      the queue was full (SVL only blocks)
//	flow.ErrPeerSlow  the queue was full for too long, where a wait has a limit
//	flow.ErrClosed    the dispatcher or topic was closed (SVL calls nothing back)
//
// # Concurrency
//
// Everything may be called from any goroutine. Publishers and callbacks run on workers, so
// several may run at once, those of one topic too unless it is ordered. The callback of a
// message that is refused runs on the goroutine that offered it, before the call returns. That
// of a message that DropOldest pushes out runs on the goroutine that pushes. That of a message
// discarded by Close runs on Close's.
//
// There is one worker at first. More are woken or started while the queue would not be emptied
// in one cycle (10 ms), up to GOMAXPROCS. Workers that were idle for a second end, except one.
// Slow callbacks don't add workers. If all workers are in callbacks, some may wait in TryQueue
// for room or a token. Each of these is replaced by a worker beyond the limit, at most as many
// again as the limit. If all of them waited, none would ever end. So once a millisecond the one
// in front gets its room beyond the queue's depth, or else a wait for a token ends with
// ErrTokenBusy. To tell a callback from other senders, the dispatcher needs [Task].FromCallback.
//
// If messages come every few microseconds, waking a worker for each costs more than watching. So
// a worker that runs out of messages watches for the next one for some 10 µs before it sleeps,
// and for 40 µs while a sender copies one. Rare messages find it asleep.
//
// Publishers and callbacks may queue further messages, callbacks with FromCallback. They must
// not wait for Close, Drain, or room in a lane that only they can empty.
//
// # Ordering
//
// Messages start in the order in which they were queued. An unordered topic may finish them in
// another. Three things keep the order: Ordered, for one topic; a [Lane], for several; and
// exclusive tokens, which drop a message while the one before it is under way. In an ordered
// lane, callbacks run in order too.
//
// A gated topic holds messages with a stamp later than the last
// [Dispatcher.Release], so that none is sent before its clock tick. It holds
// what is queued behind them in the lane, too.
//
// # Failure
//
// Each message taken is resolved exactly once: sent, failed, pushed out or discarded. A
// publisher's error or panic reaches the callback, is counted under a flow.Cause, and is logged.
// The first is logged at once, and later ones as a [flow.Journal] says, with their number. A
// panic in a callback is logged in the same way. Neither costs a worker, a token or a pooled
// message; runtime.Goexit doesn't either. A logger's panic goes no further; slog's default
// logger tells of it.
//
// When the queue is full and all workers are busy, policy Block lets the senders wait, first come,
// first served. There is one warning for each topic without NoWaitWarning. It says how full the topic
// is, how long publishing takes and how many workers there are. The wait ends with the dispatcher's context. Pause refuses
// messages but sends those taken before; topics with IgnorePause continue. Drain waits for all that
// is queued, Close discards it.
//
// # Testing
//
// The package uses the time package alone, so tests can run a dispatcher in a
// testing/synctest bubble. Stats shows all counters, and Drain is the way to
// wait for a result without sleeping.
//
// # Laws
//
// The code cites the laws D1 to D8 and T4, of docs/laws.md, by these labels.
package dispatch
