package dispatch

import (
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
)

// TryQueue queues a message without callback or token; see TryQueueTask.
func (t *Topic[T]) TryQueue(data T) bool { return t.TryQueueTask(data, Task{}) }

// TryQueueTask offers a message and says at once whether it was taken (law D1); only policy
// Block and WaitForToken may wait. If it returns true, the message will be published unless it
// is pushed out or the dispatcher closes. If it returns false, Done has already been called, on
// this goroutine. Its error is ErrPaused, ErrTokenBusy, flow.ErrFull, flow.ErrPeerSlow, flow.ErrClosed, ErrToken, a
// configuration error, or the *flow.PanicError of the message's own methods. If those end the
// goroutine by runtime.Goexit, Done is called on the way out.
func (t *Topic[T]) TryQueueTask(data T, task Task) bool {
	task.Token = t.tokenOr(task.Token)
	var traits traits[T]
	if t.describes {
		if err := t.describe(data, task.Done, &traits); err != nil {
			return t.refuse(task.Done, err)
		}
	}
	var evicted taskList
	d := t.d
	d.mu.Lock()
	room, err := t.admit(task, traits.bytes, &evicted)
	if err == nil {
		err = t.enqueue(data, task, &traits, admission{room, &evicted})
	}
	if err != nil {
		t.drops.Add(flow.CauseOf(err), 1)
	}
	d.mu.Unlock()
	if evicted.head != nil || err != nil {
		t.tell(task.Done, err, &evicted)
	}
	return err == nil
}

// tell calls back those whose fate an offer has settled: the evicted, and the offered
// message itself unless err is nil.
func (t *topic) tell(done func(error), err error, evicted *taskList) {
	if err != nil {
		defer t.callBack(done, err) // also if a callback of the evicted ends the goroutine
	}
	t.d.fail(evicted, flow.ErrFull)
}

// refuse counts a message that was never admitted and calls its callback.
func (t *topic) refuse(done func(error), err error) bool {
	t.d.mu.Lock()
	t.drops.Add(flow.CauseOf(err), 1)
	t.d.mu.Unlock()
	t.callBack(done, err)
	return false
}

// admit decides by the topic's policy whether a message of the given size may be queued (laws
// D1, D6). It reserves the message's token and room. Under Block room may be false, and then
// the message has to stand in line for it. Messages that were pushed out are added to evicted.
// d.mu must be held; it is released while waiting for a token. On an error nothing is reserved.
func (t *topic) admit(task Task, bytes int64, evicted *taskList) (room bool, err error) {
	if err := t.refusal(); err != nil {
		return false, err
	}
	if task.Token != nil {
		if err := t.acquireToken(task); err != nil {
			return false, err
		}
	}
	room, err = t.acquireRoom(bytes, evicted)
	if err != nil && task.Token != nil {
		t.d.freeToken(task.Token)
	}
	return room, err
}

// refusal returns why the topic takes no messages at all now, or nil.
func (t *topic) refusal() error {
	switch {
	case t.err != nil:
		return t.err
	case t.closed || t.d.closed:
		return flow.ErrClosed
	case t.d.paused && !t.cfg.IgnorePause:
		return ErrPaused
	}
	return nil
}

// admission is what admit has decided.
type admission struct {
	room    bool // reserved for the message
	evicted *taskList
}

// hasRoom reports whether a message of the given size fits into the queue. A
// message larger than the whole queue fits into an empty one.
func (t *topic) hasRoom(bytes int64) bool {
	n := t.queued + t.reserved
	return n < t.cfg.Depth && (n == 0 || t.cfg.MaxBytes < 0 || t.bytes+bytes <= t.cfg.MaxBytes)
}

// acquireRoom reserves room in the queue by the topic's policy (law D6).
func (t *topic) acquireRoom(bytes int64, evicted *taskList) (bool, error) {
	if t.waiters.head != nil || !t.hasRoom(bytes) {
		if t.lane.runnable() {
			t.d.reinforce()
		}
		switch t.cfg.Policy.Or(flow.Block) {
		case flow.Block:
			return false, nil
		case flow.DropNewest, flow.Exclusive:
			return false, flow.ErrFull
		case flow.DropOldest:
			for !t.hasRoom(bytes) {
				if !t.evict(evicted) {
					return false, flow.ErrFull
				}
			}
		}
	}
	t.reserve(bytes)
	return true, nil
}

// reserve counts a message as outstanding that is admitted but not yet queued,
// so that Drain waits for it.
func (t *topic) reserve(bytes int64) {
	t.reserved++
	t.bytes += bytes
	t.d.outstanding++
}

// evict moves the topic's oldest queued task to evicted and reports whether
// there was one.
func (t *topic) evict(evicted *taskList) bool {
	for k := t.lane.tasks.head; k != nil; k = k.next {
		if k.topic == t {
			t.unqueue(k)
			t.drops.Add(flow.CauseOf(flow.ErrFull), 1)
			if k.token != nil {
				t.d.freeToken(k.token)
			}
			evicted.push(k)
			t.d.queueLane(t.lane)
			t.d.staff()
			return true
		}
	}
	return false
}

// traits is what a message's own methods say of it.
type traits[T any] struct {
	cached ThreadCached[T] // the message itself, if it is one
	key    uint64
	bytes  int64
	stamp  simtime.Stamp
}

// describe asks the message's own methods; if one of them ends the goroutine, the
// message is refused on the way out.
func (t *Topic[T]) describe(data T, done func(error), into *traits[T]) (err error) {
	returned := false
	defer func() {
		if !returned {
			err = t.failDescribing(recover(), done)
		}
	}()
	if t.fresh != nil {
		into.cached = any(data).(ThreadCached[T])
		into.key = into.cached.CacheKey()
	}
	if t.sized {
		into.bytes = max(0, any(data).(Sized).SizeBytes())
	}
	if t.gated {
		into.stamp = any(data).(simtime.Stamped).Captured()
	}
	returned = true
	return nil
}

// failDescribing returns a message's panic as an error; with none, it refuses the
// message whose method ends the goroutine.
func (t *topic) failDescribing(panicked any, done func(error)) error {
	if panicked == nil {
		t.refuse(done, errGoexit)
		return errGoexit
	}
	return flow.Panicked(panicked)
}

// enqueue puts an admitted message into the lane, after a wait in line if it has
// no room yet. d.mu must be held; it is released while a ThreadCached message is
// copied, while logging and while waiting. On an error the reservation is undone.
func (t *Topic[T]) enqueue(data T, task Task, traits *traits[T], admitted admission) (err error) {
	m := t.pool.get(traits.key)
	if m == nil {
		m = &message[T]{owner: t}
		m.task.topic, m.task.payload = &t.topic, m
	}
	m.key, m.stamp = traits.key, traits.stamp
	m.done, m.token, m.fromCallback = task.Done, task.Token, task.FromCallback
	t.pool.charge(m, traits.bytes)
	if t.fresh == nil {
		m.data = data
	} else {
		err = t.copyToCache(traits.cached, m, admitted)
	}
	switch {
	case err != nil:
	case t.closed || t.d.closed: // during the copy
		err = flow.ErrClosed
	case admitted.room:
		t.push(&m.task)
	default:
		err = t.standInLine(&m.task)
	}
	if err != nil {
		t.abandon(&m.task, admitted.room)
	}
	return err
}

// copyToCache copies data into m's instance (law D3), and makes the instance first if m has
// none. d.mu must be held; it is released meanwhile.
func (t *Topic[T]) copyToCache(data ThreadCached[T], m *message[T], admitted admission) (err error) {
	d := t.d
	d.copying.Add(1)
	d.mu.Unlock()
	returned := false
	defer func() {
		var panicked any
		if !returned {
			panicked = recover()
		}
		d.mu.Lock()
		d.copying.Add(-1)
		if !returned {
			err = t.failCopying(&m.task, admitted, panicked)
		}
	}()
	if !m.made {
		m.data, m.made = t.fresh(), true
	}
	data.CopyToCache(m.data)
	returned = true
	return nil
}

// failCopying returns a message's panic as an error; with none, it resolves the message
// whose copy ends the goroutine.
func (t *topic) failCopying(k *task, admitted admission, panicked any) error {
	if panicked == nil {
		t.abort(k, admitted)
		return errGoexit
	}
	return flow.Panicked(panicked)
}

// abandon gives back what an admitted message held that can't be queued; room
// says whether it had any.
func (t *topic) abandon(k *task, room bool) {
	if k.token != nil {
		t.d.freeToken(k.token)
	}
	bytes := k.bytes
	k.payload.recycle()
	if room {
		t.reserved--
		t.bytes -= bytes
		t.d.outstanding--
		t.grantRoom()
		t.d.settle()
	}
}

// abort resolves an admitted message that isn't queued yet when its copy, or the
// logger, ends the goroutine. d.mu must be held; it is released.
func (t *topic) abort(k *task, admitted admission) {
	done := k.done
	t.abandon(k, admitted.room)
	t.drops.Add(flow.CauseOf(errGoexit), 1)
	t.d.mu.Unlock()
	t.tell(done, errGoexit, admitted.evicted)
}

// push appends an admitted task to the lane; d.mu must be held.
func (t *topic) push(k *task) {
	d := t.d
	t.reserved--
	t.queued++
	t.accepted++
	k.cost = t.cost
	if k.timed = t.times.sample(t.accepted); k.timed {
		k.queuedAt = d.now()
	}
	t.lane.tasks.push(k)
	d.queued++
	d.backlog += k.cost
	d.queueLane(t.lane)
	d.staff()
}

// unqueue takes a task out of its lane; d.mu must be held.
func (t *topic) unqueue(k *task) {
	t.lane.tasks.remove(k)
	t.queued--
	t.bytes -= k.bytes
	t.d.queued--
	t.d.backlog -= k.cost
}
