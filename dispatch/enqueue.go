package dispatch

// traits is what a message's own methods say of it.
type traits[T any] struct {
	cached ThreadCached[T] // the message itself, if it is one
	key    uint64
	bytes  int64
	stamp  int64
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
		into.stamp = any(data).(Stamped).Stamp()
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
	return panicError(panicked)
}

// admission is what admit has decided.
type admission struct {
	room    bool // reserved for the message
	evicted *taskList
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
	m.done, m.token = task.Done, task.Token
	t.pool.charge(m, traits.bytes)
	if t.fresh == nil {
		m.data = data
	} else {
		err = t.copyToCache(traits.cached, m, admitted)
	}
	switch {
	case err != nil:
	case t.closed || t.d.closed: // during the copy
		err = ErrClosed
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

// copyToCache copies data into m's instance (law D3), making that first if there is
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
	return panicError(panicked)
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
	t.drops.count(errGoexit)
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
