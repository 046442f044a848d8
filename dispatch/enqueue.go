package dispatch

// traits is what a message's own methods say of it.
type traits[T any] struct {
	cached ThreadCached[T] // the message itself, if it is one
	key    uint64
	bytes  int64
	stamp  int64
}

func (t *Topic[T]) describe(data T, into *traits[T]) (err error) {
	defer recoverTo(&err)
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
	return nil
}

// enqueue puts an admitted message into the lane, after a wait in line if it has
// no room yet. d.mu must be held; it is released while a ThreadCached message is
// copied and while waiting. On an error the reservation is undone.
func (t *Topic[T]) enqueue(data T, task Task, traits *traits[T], room bool) error {
	m, err := t.wrap(data, traits)
	m.stamp = traits.stamp
	m.done, m.token = task.Done, task.Token
	switch {
	case err != nil:
	case t.closed || t.d.closed: // during the copy
		err = ErrClosed
	case room:
		t.push(&m.task)
	default:
		err = t.standInLine(&m.task)
	}
	if err != nil {
		t.abandon(m, room)
	}
	return err
}

// wrap returns a message with the data, or its copy; on an error too. d.mu must
// be held; it is released while copying.
func (t *Topic[T]) wrap(data T, traits *traits[T]) (m *message[T], err error) {
	m = t.pool.get(traits.key)
	if t.fresh != nil {
		t.d.copying.Add(1)
		t.d.mu.Unlock()
		m, err = t.copyToCache(traits.cached, m)
		t.d.mu.Lock()
		t.d.copying.Add(-1)
	} else {
		if m == nil {
			m = t.newMessage()
		}
		m.data = data
	}
	m.key = traits.key
	t.pool.charge(m, traits.bytes)
	return m, err
}

func (t *Topic[T]) newMessage() *message[T] {
	m := &message[T]{owner: t}
	m.task.topic, m.task.payload = &t.topic, m
	return m
}

// copyToCache copies data into m's instance (law D3), making both first if m is
// nil. It returns the message to use, also with an error.
func (t *Topic[T]) copyToCache(data ThreadCached[T], m *message[T]) (used *message[T], err error) {
	defer recoverTo(&err)
	if used = m; used == nil {
		used = t.newMessage()
		used.data, used.made = t.fresh(), true
	}
	data.CopyToCache(used.data)
	return used, nil
}

// abandon gives back what an admitted message held that can't be queued; room
// says whether it had any.
func (t *Topic[T]) abandon(m *message[T], room bool) {
	if m.token != nil {
		t.d.freeToken(m.token)
	}
	bytes := m.bytes
	m.recycle()
	if room {
		t.reserved--
		t.bytes -= bytes
		t.d.outstanding--
		t.grantRoom()
		t.d.settle()
	}
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
