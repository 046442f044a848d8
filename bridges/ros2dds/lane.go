//go:build cgo && ros2dds

package ros2dds

import (
	"context"
	"errors"
	"sync"

	"github.com/raybridge/raybridge/bridges/ros2dds/internal/cyclone"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/stream/queue"
)

// lane is what waits to be given to the library, and the goroutine that does it.
type lane struct {
	queue *queue.Queue[parcel]
	done  chan struct{} // closed when the goroutine has ended

	// writing is held from before a message is taken from the queue until it is written,
	// so that who finds it free and the queue empty is next in order.
	writing sync.Mutex
}

// inlineSize is up to which size a message is written on its publisher's goroutine where
// nothing waits before it: it is in that processor's cache, and handing it to another
// takes longer than it gains.
const inlineSize = 2 << 20

// parcel is one message on its way to a topic's readers.
type parcel struct {
	out    *output
	sample cyclone.Sample
}

// newLane starts a lane, which wait ends.
func newLane(config queue.Config) *lane {
	l := &lane{done: make(chan struct{})}
	l.queue = queue.New(config, func(p parcel, reason queue.Reason) {
		p.sample.Release()
		cause := flow.CausePeerSlow
		if reason == queue.Closed {
			cause = flow.CauseClosed
		}
		p.out.topic.info.Dropped(cause)
	})
	go l.run()
	return l
}

// run writes until the queue is finished and empty.
func (l *lane) run() {
	defer close(l.done)
	for {
		finished := l.queue.Finished() // asked before, so that nothing comes after the last look
		for l.writeNext() {
		}
		if finished {
			return
		}
		<-l.queue.Ready()
	}
}

// writeNext writes the oldest message, if there is one.
func (l *lane) writeNext() bool {
	l.writing.Lock()
	defer l.writing.Unlock()
	p, ok := l.queue.Pop()
	if ok {
		p.write()
	}
	return ok
}

// tryWrite writes a message on the caller's goroutine, unless others are before it.
func (l *lane) tryWrite(p parcel) bool {
	if !l.writing.TryLock() {
		return false
	}
	defer l.writing.Unlock()
	if n, _ := l.queue.Len(); n > 0 || l.queue.Finished() {
		return false
	}
	p.write()
	return true
}

// wait lets nothing more in and ends the goroutine once everything is written; when ctx
// ends, at once.
func (l *lane) wait(ctx context.Context) {
	l.queue.Finish()
	select {
	case <-l.done:
	case <-ctx.Done():
		l.queue.Close()
		<-l.done
	}
}

// write gives the message to the library, and counts what became of it.
func (p parcel) write() {
	info, size := p.out.topic.info, p.sample.Len()
	switch err := p.out.writer.Write(p.sample); {
	case err == nil:
		info.Sent(size)
	case errors.Is(err, cyclone.ErrTimeout):
		info.Dropped(flow.CausePeerSlow)
	default:
		info.Dropped(flow.CauseWriteFailed)
		p.out.topic.instance.failed(err)
	}
}
