package stream

import (
	"context"
	"fmt"
	"sync"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// form is how samples of one topic are shown to pages: a picture as JPEG, a cloud in few bytes.
type form interface {
	// fresh returns an empty sample, and copy makes one of those a deep copy of a sample. They are called by one
	// goroutine at a time, which needn't be that of show.
	fresh() simtime.Stamped
	copy(dst, src simtime.Stamped)
	// show makes what is encoded. It is good until the next call of show, and keeps no hold of m. points is how many
	// points there are of which a page may ask for one, 0 for a picture. whole asks for all of them, and only where there
	// are more than are shown otherwise.
	show(m simtime.Stamped, whole bool) (shown simtime.Stamped, points uint32, err error)
}

// recent is how many samples that were sent are kept, for pages to ask for a point of them: two may be on their way to a
// page, and one is what it shows.
const recent = 3

// latest keeps the newest sample of a stream, and encodes it on a goroutine of its own as soon as a page has a credit for
// it: once for all of them. A sample that a newer one overtakes is never encoded. So publishing takes no longer than a
// copy, whatever the pages do, and pages that take nothing cost no more.
type latest struct {
	form    form
	dropped func(flow.Cause) // counts a sample that isn't encoded
	budget  *memory.Budget
	stream  *Stream
	sending *kept         // owned by run: it has no number yet
	wake    chan struct{} // has a token when there may be something to do
	quit    chan struct{}
	ending  sync.Once
	ended   chan struct{} // closed when run has ended

	handing sync.Mutex // held while a message is handed to the pages, and by forget; before mu

	mu     sync.Mutex
	age    int          // guarded by mu: how often time went back
	newest *kept        // guarded by mu: nil where it was taken
	passed int          // guarded by mu: how many were overtaken that run hasn't passed over yet
	spare  []*kept      // guarded by mu: memory for the next
	sent   []sentSample // guarded by mu: the last few, the oldest first
	closed bool         // guarded by mu: nothing is kept any more
}

// kept is a copy of a sample.
type kept struct {
	m         simtime.Stamped
	publishNs int64
	bytes     int64  // that were taken from the budget for it
	points    uint32 // as form.show has them
	age       int    // latest's when it came
	again     bool   // it was sent, and is to be once more

	readers int  // guarded by latest.mu: how many search it; it isn't written meanwhile
	retired bool // guarded by latest.mu: the last of them keeps its memory for the next
}

// thinned reports whether points are left out of what pages are sent that don't want all of them.
func (k *kept) thinned() bool { return stepOf(k.points, false) > 1 }

// sentSample is a sample with the number of its message.
type sentSample struct {
	*kept
	number uint32
}

func newLatest(f form, dropped func(flow.Cause), budget *memory.Budget) *latest {
	return &latest{
		form: f, dropped: dropped, budget: budget,
		wake: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{}),
	}
}

// begin begins to encode for a stream. end ends it.
func (l *latest) begin(s *Stream) {
	l.stream = s
	go l.run()
}

// seal writes a message's number, and keeps its sample under that: a page may ask for a point as soon as it has the message.
func (l *latest) seal(b []byte, number uint64) {
	sealPage(b, number)
	if l.sending != nil && l.sending.points > 0 { // it is the first form
		l.remember(l.sending, uint32(number))
		l.sending = nil
	}
}

// hasPoints reports whether pages may ask for a point of a sample.
func (l *latest) hasPoints() bool {
	_, is := l.form.(*cloudForm)
	return is
}

// poke has the goroutine look: a page has come, gone or has a credit.
func (l *latest) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// end lets the goroutine send what a page has a credit for, and waits for its end.
func (l *latest) end() {
	l.ending.Do(func() { close(l.quit) })
	<-l.ended
}

// offer copies a sample, in place of the one before. An error says that it isn't shown.
func (l *latest) offer(publishNs int64, msg simtime.Stamped) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return flow.ErrClosed
	}
	old := l.newest
	overtaken := old != nil && !old.again
	k := old
	if k == nil || k.readers > 0 {
		k = l.vacantLocked()
	}
	err := l.hold(k, msg)
	switch {
	case err == nil:
		l.form.copy(k.m, msg)
		k.publishNs, k.age, k.again = publishNs, l.age, false
		l.newest = k
		if overtaken {
			l.passed++
		}
		if old != nil && old != k {
			l.retireLocked(old)
		}
	case k != old:
		l.spare = append(l.spare, k)
	}
	l.mu.Unlock()
	if err != nil {
		return err
	}
	if overtaken {
		l.dropped(flow.CausePeerSlow)
	}
	l.poke()
	return nil
}

// vacantLocked returns memory for a sample; mu must be held.
func (l *latest) vacantLocked() *kept {
	if n := len(l.spare); n > 0 {
		k := l.spare[n-1]
		l.spare = l.spare[:n-1]
		return k
	}
	return &kept{m: l.form.fresh()}
}

// retireLocked keeps the memory of a sample that isn't wanted any more for the next, as soon as nobody reads it; mu must
// be held.
func (l *latest) retireLocked(k *kept) {
	switch {
	case k.readers > 0:
		k.retired = true
	case l.closed:
		l.budget.Give(k.bytes)
	default:
		k.retired = false
		l.spare = append(l.spare, k)
	}
}

// hold takes the memory for a copy of a sample from the budget.
func (l *latest) hold(k *kept, msg simtime.Stamped) error {
	sized, ok := msg.(interface{ SizeBytes() int64 })
	if !ok || sized.SizeBytes() <= k.bytes {
		return nil
	}
	more := sized.SizeBytes() - k.bytes
	if err := l.budget.Take("what pages are shown", more); err != nil {
		return fmt.Errorf("%w: %w", flow.ErrTooLarge, err)
	}
	k.bytes += more
	return nil
}

// run encodes until end.
func (l *latest) run() {
	defer close(l.ended)
	for {
		select {
		case <-l.wake:
			l.sendAll()
		case <-l.quit:
			l.sendAll()
			l.release(true)
			return
		}
	}
}

// sendAll sends the newest sample while a page has a credit for it. Samples that were overtaken before it get their
// numbers first. It gives the memory back once no page is left.
func (l *latest) sendAll() {
	core := l.stream.core
	for {
		k, passed := l.take(core.Subscribers() > 0 && core.Hungry())
		core.Pass(passed)
		if k == nil {
			break
		}
		if err := l.send(k); err != nil {
			l.dropped(flow.CauseOf(err))
		}
		l.putBack()
	}
	if l.newerWaits() {
		core.Outdate()
	}
	if core.Subscribers() == 0 {
		l.release(false)
	}
}

// take takes the newest sample if it is wanted, nil for none, and returns how many came before it that nobody is sent.
func (l *latest) take(wanted bool) (k *kept, passed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	passed, l.passed = l.passed, 0
	if wanted {
		k, l.newest = l.newest, nil
	}
	return k, passed
}

// newerWaits reports whether a sample waits that is newer than what was sent.
func (l *latest) newerWaits() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.newest != nil && !l.newest.again
}

// send encodes a sample and queues it for the pages with a credit, unless time went back meanwhile.
func (l *latest) send(k *kept) error {
	l.sending = k
	m := l.stream.core.NewMessage()
	err := l.encode(m, k, false)
	if err == nil && k.thinned() && l.stream.core.Wants(formWhole) {
		err = l.encode(m, k, true)
	}
	if err != nil {
		m.Discard()
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	l.handing.Lock()
	defer l.handing.Unlock()
	if l.outlived(k) {
		m.Discard()
		return flow.ErrNotConnected
	}
	return l.stream.core.Send(context.Background(), m) // no page's queue waits
}

// outlived reports whether time went back since a sample came.
func (l *latest) outlived(k *kept) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return k.age != l.age
}

// encode makes one form of a message.
func (l *latest) encode(m *transport.Message, k *kept, whole bool) error {
	shown, points, err := l.form.show(k.m, whole)
	if err != nil {
		return err
	}
	if k.points != points { // else a page may be searching it
		k.points = points
	}
	f := formPlain
	if whole {
		f = formWhole
	}
	_, err = l.stream.encode(m, f, k.publishNs, shown)
	return err
}

// putBack keeps the memory of a sample that wasn't sent, or of which nobody can ask for a point.
func (l *latest) putBack() {
	if l.sending == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spare = append(l.spare, l.sending)
	l.sending = nil
}

// remember keeps a sample that is being sent, in place of the oldest.
func (l *latest) remember(k *kept, number uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, sentSample{k, number})
	if len(l.sent) > recent {
		l.retireLocked(l.sent[0].kept)
		l.sent = append(l.sent[:0], l.sent[1:]...)
	}
}

// again has the last sample sent once more, if something of it was left out: a page wants all of it, and time may stand.
func (l *latest) again() {
	l.mu.Lock()
	if n := len(l.sent); n > 0 && l.newest == nil && l.sent[n-1].thinned() {
		l.newest, l.sent = l.sent[n-1].kept, l.sent[:n-1]
		l.newest.again = true
	}
	l.mu.Unlock()
	l.poke()
}

// forget lets go of all samples: time went back, and they are of later. One that is being encoded isn't sent.
func (l *latest) forget() {
	l.handing.Lock()
	defer l.handing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.age++
	l.forgetLocked()
}

// forgetLocked is forget; mu must be held. A sample that no page has had wasn't connected.
func (l *latest) forgetLocked() {
	if l.newest != nil {
		if !l.newest.again {
			l.dropped(flow.CauseNotConnected)
		}
		l.retireLocked(l.newest)
		l.newest = nil
	}
	l.retireAllLocked(l.sent)
	l.sent = nil
}

// release gives up all memory, for ever or until the next sample. Unless it is for ever, it keeps a sample that pages have
// not been sent, or only in part, because another page may come while time stands.
func (l *latest) release(forever bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = l.closed || forever
	if n := len(l.sent); l.closed {
		l.forgetLocked()
	} else if n > 0 && l.newest == nil && l.sent[n-1].thinned() {
		l.retireAllLocked(l.sent[:n-1])
		l.sent = l.sent[n-1:]
	} else {
		l.retireAllLocked(l.sent)
		l.sent = nil
	}
	for _, k := range l.spare {
		l.budget.Give(k.bytes)
	}
	l.spare = nil
}

// retireAllLocked is retireLocked for each of several.
func (l *latest) retireAllLocked(sent []sentSample) {
	for _, s := range sent {
		l.retireLocked(s.kept)
	}
}

// point returns a point of a cloud that was sent, by its place among all those that hit something. Publishing doesn't wait
// for it.
func (l *latest) point(number uint32, index int) (*sample.Point, error) {
	k := l.borrow(number)
	if k == nil {
		return nil, fmt.Errorf("message %d of %s is gone: choose in a newer one", number, l.stream.info.Name)
	}
	defer l.giveBack(k)
	if index >= int(k.points) {
		return nil, fmt.Errorf("%w: point %d of a cloud that has fewer", ErrMalformed, index)
	}
	return hitAt(k.m.(*sample.PointCloud), index), nil
}

// borrow returns a sample that was sent, to be given back; nil for one that is gone.
func (l *latest) borrow(number uint32) *kept {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.sent {
		if s.number == number {
			s.readers++
			return s.kept
		}
	}
	return nil
}

// giveBack ends what borrow began.
func (l *latest) giveBack(k *kept) {
	l.mu.Lock()
	if k.readers--; k.readers == 0 && k.retired {
		l.retireLocked(k)
	}
	l.mu.Unlock()
	l.poke() // where there are no pages any more, the memory isn't kept
}
