package stream

import (
	"fmt"
	"slices"

	"github.com/raybridge/raybridge/flow"
)

// control reads what the server says.
func (l *link) control(h frame) error {
	if h.length > maxTable {
		return fmt.Errorf("%w: a control frame of %d bytes, the most are %d", ErrTooLarge, h.length, maxTable)
	}
	payload, err := readControl(l.r, h.length)
	if err != nil {
		return err
	}
	f := fields{b: payload}
	switch h.control {
	case controlAlive:
	case controlStream:
		id, info := f.info()
		if err := f.end("description of a stream"); err != nil {
			return err
		}
		if err := l.add(id, &info); err != nil {
			return err
		}
		l.client.event(Event{Kind: EventStream, Stream: info.Name})
	case controlAnswer:
		l.answered(&f)
	case controlLosses:
		l.losses(&f)
	case controlBye:
		status := Status(f.u16())
		return status.err(f.string())
	}
	return f.end("control frame")
}

// answered hands an answer to who asked, or tells of a refusal that nobody waits for.
func (l *link) answered(f *fields) {
	request := control(f.take(1)[0])
	status := Status(f.u16())
	stream := f.string()
	err := status.err(f.string())
	if answer := l.asker(request, stream); answer != nil {
		answer <- err
		return
	}
	if err != nil && request == controlSubscribe {
		l.client.event(Event{Kind: EventRefused, Stream: stream, Err: err})
	}
}

// asker takes the oldest question of its kind out and returns where its answer goes, nil
// for nowhere.
func (l *link) asker(request control, stream string) chan<- error {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.asked, func(q *question) bool { return q.request == request && q.stream == stream })
	if i < 0 {
		return nil
	}
	q := l.asked[i]
	l.asked = slices.Delete(l.asked, i, i+1)
	return q.answer
}

// losses tells of messages that the server has dropped.
func (l *link) losses(f *fields) {
	for range f.u16() {
		stream := f.string()
		missed := f.u64()
		cause := int(f.take(1)[0])
		if f.bad {
			return
		}
		reason := fmt.Sprintf("cause(%d)", cause)
		if cause < len(lossCauses) {
			reason = string(lossCauses[cause])
		}
		l.client.event(Event{Kind: EventLosses, Stream: stream, Missed: missed, Known: true, Reason: reason})
	}
}

// lossCauses are the causes of losses by their numbers in the protocol.
var lossCauses = [...]flow.Cause{flow.CausePeerSlow, flow.CauseNotConnected, flow.CauseClosed}
