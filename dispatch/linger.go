package dispatch

// lingerLooks is how often a lingering worker looks for a task: for some 10 µs. To
// be woken, while the goroutine that wakes it runs on, takes a worker several times
// as long. Messages that come more seldom would have it do nothing else but look.
const lingerLooks = 30_000

// copyLooks is how often it looks while a sender copies a message, which is then
// about to come: for some 40 µs, in which a large one is copied.
const copyLooks = 120_000

// quickLooks is what lingering takes at least to be worth it, some 0.2 µs: a
// sender that is quicker had better fill the queue while the worker sleeps than
// have both of them wait for each other's cache lines at every message.
const quickLooks = 600

// maxLingerSkips bounds how many times a worker that lingered in vain sleeps
// without.
const maxLingerSkips = 63

// linger has a worker without work look out for the next task before it sleeps,
// and reports whether it was handed one: to be woken for each message costs a
// sender that makes one every few microseconds more than the message. Only one
// worker lingers at a time. One that did so in vain sleeps at once the next
// times, twice as many each time, so that rare messages find it asleep; one that
// has let a blocked sender go on does, too, since that sender stands on its
// processor. d.mu must be held; it is released if a task came, and meanwhile.
func (w *worker) linger() bool {
	d := w.d
	switch {
	case d.lingerer != nil || w.yields || !d.parallel:
		w.yields = false
		return false
	case w.skips > 0:
		w.skips--
		return false
	}
	d.lingerer = w
	d.mu.Unlock()
	looks := 0
	for w.handed.Load() == nil && (looks < lingerLooks || looks < copyLooks && d.copying.Load() > 0) {
		looks++
	}
	if w.handed.Load() != nil {
		w.accept(looks < quickLooks)
		return true
	}
	d.mu.Lock()
	if d.lingerer == w {
		d.lingerer = nil
		w.lingeredInVain()
		return false
	}
	d.mu.Unlock()
	w.accept(false) // it came after the last look
	return true
}

// accept makes the task handed over the worker's own.
func (w *worker) accept(quick bool) {
	w.task = w.handed.Load()
	w.handed.Store(nil)
	if quick {
		w.lingeredInVain()
	} else {
		w.vain /= 2
	}
}

func (w *worker) lingeredInVain() {
	w.vain = min(2*w.vain+1, maxLingerSkips)
	w.skips = w.vain
}

// handOver gives the next task to the lingering worker, if there is one, and
// reports whether it did; d.mu must be held.
func (d *Dispatcher) handOver() bool {
	w := d.lingerer
	if w == nil {
		return false
	}
	d.lingerer = nil
	if k := d.take(); k != nil {
		w.handed.Store(k)
		return true
	}
	d.lingerer = w
	return false
}
