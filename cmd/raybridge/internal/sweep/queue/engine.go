package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
	"github.com/raybridge/raybridge/internal/fault"
)

// Options are those of an engine.
type Options struct {
	Access Access
	Store  *sweep.Store
	Plan   *sweep.Plan
	// Lease is how long a worker may be silent before its cases go to others; 0 is the usual time.
	Lease time.Duration
	// Replicas is how many servers of a cluster keep the stream; 0 is three in a cluster, else one.
	Replicas int
	// Limit is how long a case may take; 0 is without limit.
	Limit time.Duration
	Log   *slog.Logger
}

// FewOffered and mostOffered bound how many cases are in the stream at a time, whatever the number of workers. A case that is tried
// again comes after all of them, so there are no more than workers need: a drive that always fails would be run once for each case
// before one fails for good. The second one bounds the server's memory and the coordinator's, too.
const (
	FewOffered  = 256
	mostOffered = 100_000
)

// offeredPerJob is how many cases are in the stream for each that workers can run at a time.
const offeredPerJob = 4

// Bounds of what workers say, bytes. Reports beyond mostPending are lost; workers repeat them.
const (
	mostPending  = 64 << 20
	longestName  = 256
	longestWords = 64 << 10
)

// Engine implements sweep.Engine by workers of other machines. It is the coordinator's; there is one of a plan at a time.
type Engine struct {
	Options
	names
	round string
	ctx   context.Context
	conn  *connection
	js    jetstream.JetStream
	subs  []*nats.Subscription

	indices  map[string]int       // of the plan's cases
	freed    chan struct{}        // has one where there may be room for another case
	offering chan context.Context // Offer's
	once     sync.Once
	end      context.CancelFunc
	working  sync.WaitGroup

	mu        sync.Mutex
	offered   map[string]*offer // by case
	under     int               // cases that have room in the stream
	ended     []sweep.End       // that nobody has taken yet
	more      chan struct{}     // has one where ended isn't empty
	workers   map[string]*member
	failed    map[string]string // the worker on which a case has failed, until it succeeds
	gone      error             // why the last worker has left, where no case was offered then; nil once another one is there
	withdrawn bool
	counts    Counts
	successes int // of all workers
}

// offer is a case that was offered, and hasn't ended.
type offer struct {
	*sweep.Case
	id     string
	worker string // that has begun it
	put    bool   // into the stream
	since  time.Time
	lost   bool // the stream hadn't it when it was last looked at
}

// member is a worker.
type member struct {
	sweep.WorkerState
	heard time.Time
	// failures are the cases that failed since its last success, when all workers had had so many successes.
	failures  map[string]bool
	successes int
}

// Counts are what an engine has counted since its start.
type Counts struct {
	Offered     int // cases put into the stream
	Redelivered int // cases that were handed out a second time, and further ones
	Lost        int // cases that the stream had lost, and that were put there again
	Silent      int // workers that were no longer heard
}

// NewEngine makes a new stream for the plan. Cases that run end when ctx does. Close ends the engine.
func NewEngine(ctx context.Context, o *Options) (*Engine, error) {
	e := &Engine{
		Options: *o, names: namesOf(o.Plan), ctx: ctx, freed: make(chan struct{}, 1), offering: make(chan context.Context, 1),
		indices: map[string]int{}, offered: map[string]*offer{}, more: make(chan struct{}, 1), workers: map[string]*member{}, failed: map[string]string{},
	}
	e.Lease = cmp.Or(o.Lease, Lease)
	e.Access.inbox = coordinatorInbox
	for i := range o.Plan.Cases {
		e.indices[o.Plan.Cases[i].ID] = i
	}
	var err error
	if e.conn, err = e.Access.await(ctx, "raybridge sweep run", settleLimit); err != nil {
		return nil, err
	}
	opening, stop := e.conn.during(ctx)
	defer stop()
	if err = e.open(opening); err != nil {
		err = cmp.Or(context.Cause(e.conn.broken), err)
		e.conn.Close()
		return nil, err
	}
	working, end := context.WithCancel(context.Background())
	e.end = end
	e.working.Go(func() { e.watch(working) })
	return e, nil
}

// open makes the stream and listens to workers.
func (e *Engine) open(ctx context.Context) (err error) {
	if e.js, err = jetstream.New(e.conn.Conn); err != nil {
		return err
	}
	if err := e.renew(ctx); err != nil {
		return err
	}
	for subject, take := range map[string]nats.MsgHandler{e.names.end: e.onReport, e.worker: e.onPresence} {
		s, err := e.conn.Subscribe(subject, take)
		if err != nil {
			return err
		}
		if err := s.SetPendingLimits(mostOffered, mostPending); err != nil {
			return err
		}
		e.subs = append(e.subs, s)
	}
	return e.conn.FlushTimeout(settleLimit)
}

// renew removes the streams that coordinators of this folder have left, also the one of another plan, and makes another one, with
// a round of its own.
func (e *Engine) renew(ctx context.Context) error {
	last, err := e.Store.Round()
	if err != nil {
		return err
	}
	if strings.HasPrefix(last.Stream, streamPrefix) && last.Stream != e.stream {
		if err := e.remove(ctx, last.Stream, last.Name); err != nil && !errors.Is(err, ErrForeignStream) {
			return err
		}
	}
	if err := e.remove(ctx, e.stream, last.Name); err != nil {
		return err
	}
	e.round = rand.Text()
	if err := e.Store.SetRound(sweep.Round{Name: e.round, Stream: e.stream}); err != nil {
		return err
	}
	return e.create(ctx)
}

// find returns the stream of a round. The error wraps ErrForeignStream where the stream of that name is another round's.
func (e *Engine) find(ctx context.Context, stream, round string) (jetstream.Stream, error) {
	s, err := ask(ctx, func(ctx context.Context) (jetstream.Stream, error) { return e.js.Stream(ctx, stream) })
	if err != nil {
		return nil, streamFault(err, stream)
	}
	if round == "" || s.CachedInfo().Config.Metadata[roundKey] != round {
		return nil, fmt.Errorf("stream %s %w: another folder has a sweep of the same plan there, or had: end that, or remove the stream with nats stream rm", stream, ErrForeignStream)
	}
	return s, nil
}

// remove removes the stream of a round, if it is there.
func (e *Engine) remove(ctx context.Context, stream, round string) error {
	_, err := e.find(ctx, stream, round)
	if err == nil {
		if _, err = ask(ctx, func(ctx context.Context) (any, error) { return nil, e.js.DeleteStream(ctx, stream) }); err != nil {
			err = streamFault(err, stream)
		}
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	return err
}

// create makes the stream and the workers' consumer.
func (e *Engine) create(ctx context.Context) error {
	config := jetstream.StreamConfig{
		Name: e.stream, Subjects: []string{e.jobs + ">"}, Description: "cases of a raybridge sweep", Metadata: map[string]string{roundKey: e.round},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew, Duplicates: 2 * time.Minute,
		Replicas: e.Replicas,
	}
	if config.Replicas == 0 {
		config.Replicas = 1
		if e.conn.ConnectedClusterName() != "" {
			config.Replicas = 3
		}
	}
	s, err := ask(ctx, func(ctx context.Context) (jetstream.Stream, error) { return e.js.CreateStream(ctx, config) })
	if err != nil {
		err = streamFault(err, e.stream)
		if config.Replicas > 1 {
			err = fmt.Errorf("%w (of %d replicas: --nats-replicas 1 is for a cluster with fewer servers)", err, config.Replicas)
		}
		return err
	}
	_, err = ask(ctx, func(ctx context.Context) (jetstream.Consumer, error) {
		return s.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: consumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: e.Lease,
			MaxDeliver: -1, // else a message that was handed out so often stays there, and nobody gets it
			// The defaults are fewer than the workers of a large sweep: the others would wait in silence.
			MaxAckPending: mostOffered, MaxWaiting: mostOffered,
		})
	})
	if err != nil {
		return streamFault(err, e.stream)
	}
	return nil
}

// Offer implements sweep.Engine. When ctx ends, cases that no worker has begun are taken back: they end as Returned.
func (e *Engine) Offer(ctx context.Context, c *sweep.Case, tries int) error {
	e.once.Do(func() { e.offering <- ctx })
	for !e.reserve() {
		select {
		case <-e.freed:
		case <-ctx.Done():
			return ctx.Err()
		case <-e.ctx.Done():
			return e.ctx.Err()
		}
	}
	o := &offer{Case: c, id: c.ID + "." + rand.Text()}
	e.mu.Lock()
	e.offered[c.ID] = o
	gone := e.gone
	if gone != nil {
		e.finish(o, sweep.End{Result: sweep.Returned, Err: gone})
	}
	e.mu.Unlock()
	if gone != nil {
		return nil
	}
	err := e.publish(ctx, o, tries)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil {
		e.counts.Offered++
		o.put, o.since = true, time.Now()
		return nil
	}
	err = cmp.Or(context.Cause(e.conn.broken), err)
	if e.offered[c.ID] != o { // it has ended meanwhile
		return nil
	}
	delete(e.offered, c.ID)
	e.release()
	return err
}

// reserve takes room in the stream for a case, if there is some.
func (e *Engine) reserve() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	jobs := 0
	for _, w := range e.workers {
		jobs += min(max(0, w.Jobs), mostOffered)
	}
	if e.under >= min(max(FewOffered, offeredPerJob*jobs), mostOffered) {
		return false
	}
	e.under++
	return true
}

// release gives back the room of a case. e.mu is held.
func (e *Engine) release() {
	e.under--
	e.wakeOffer()
}

// wakeOffer has Offer look again whether there is room.
func (e *Engine) wakeOffer() {
	select {
	case e.freed <- struct{}{}:
	default:
	}
}

// publish puts a case into the stream. A repeated request is taken for the same one by the offer's id, which no other offer
// has: the server swallows a message whose id it has seen within two minutes, also when the first one has been dealt with.
func (e *Engine) publish(ctx context.Context, o *offer, tries int) error {
	data := encode(job{Case: o.ID, Index: e.indices[o.ID], Tries: tries, Again: e.Store.Has(o.ID), Limit: e.Limit, Offer: o.id})
	ctx, stop := e.conn.during(ctx)
	defer stop()
	_, err := persist(ctx, func(ctx context.Context) (*jetstream.PubAck, error) {
		return e.js.Publish(ctx, e.jobs+o.ID, data, jetstream.WithMsgID(o.id), jetstream.WithExpectStream(e.stream), jetstream.WithRetryAttempts(0))
	}, func(err error) {
		e.Log.Warn(fmt.Sprintf("case %s can't be put into the queue now, and is tried until it can: %v", o.ID, e.fault(err)))
	})
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("put case %s into the queue: %w", o.ID, streamFault(err, e.stream))
	}
	return err
}

// fault names what a request for the stream failed by.
func (e *Engine) fault(err error) error {
	if !e.conn.IsConnected() {
		return fmt.Errorf("%s: %w: %w", e.Access.URL, ErrUnreachable, err)
	}
	return streamFault(err, e.stream)
}

// encode writes a message. Its types are ours, and can be written.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// End implements sweep.Engine.
func (e *Engine) End(ctx context.Context) (sweep.End, error) {
	for {
		select {
		case <-e.more:
		case <-ctx.Done():
			return sweep.End{}, ctx.Err()
		}
		if next, ok := e.taken(); ok {
			return next, nil
		}
	}
}

// taken is the next end, if there is one.
func (e *Engine) taken() (next sweep.End, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.ended) == 0 {
		return next, false
	}
	next, e.ended = e.ended[0], e.ended[1:]
	if len(e.ended) > 0 {
		e.signal()
	}
	return next, true
}

// signal wakes End.
func (e *Engine) signal() {
	select {
	case e.more <- struct{}{}:
	default:
	}
}

// finish ends an offer. e.mu is held.
func (e *Engine) finish(o *offer, end sweep.End) {
	delete(e.offered, o.ID)
	e.release()
	end.Case = o.Case
	e.ended = append(e.ended, end)
	e.signal()
}

// onReport takes what a worker says of a case.
func (e *Engine) onReport(m *nats.Msg) {
	var r report
	err := json.Unmarshal(m.Data, &r)
	_, known := e.indices[r.Case]
	if err != nil || !known || !isName(r.Worker) || len(r.Host) > longestName {
		e.Log.Warn("a message that isn't a worker's came on " + m.Subject)
		return
	}
	r.Err, r.Log = r.Err[:min(len(r.Err), longestWords)], r.Log[:min(len(r.Log), longestWords)]
	a := e.take(&r)
	if strings.HasPrefix(m.Reply, workerInbox) { // elsewhere, as at the server's own subjects, the answer would have the coordinator's rights
		_ = m.Respond(encode(a)) // the worker asks again
	}
}

// isName reports whether a worker may have a name.
func isName(name string) bool { return name != "" && len(name) <= longestName }

// take takes a report.
func (e *Engine) take(r *report) (a answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	w := e.memberOf(r.Worker)
	w.Host = r.Host
	o := e.offered[r.Case]
	mine := o != nil && o.id == r.Offer
	end := sweep.End{Code: r.Code, Log: r.Log, Wall: r.Wall, Host: r.Host}
	if r.Alarm != nil {
		end.Alarm = e.Store.AlarmHere(r.Case, r.Alarm)
	}
	if r.Err != "" {
		end.Err = &reported{r.Err, r.Kind}
	}
	switch r.Kind {
	case hasBegun:
		if r.Again > 0 {
			e.counts.Redelivered++
		}
		if mine {
			o.worker, o.lost = r.Worker, false
		}
	case isDone: // of whichever offer: the store has it
		e.successes++
		clear(w.failures)
		delete(e.failed, r.Case)
		if o != nil {
			e.confirm(o, end)
		}
	case isFailed, isHopeless, isDeadly:
		if r.Kind == isFailed { // a hopeless case fails alike on every machine, and a deadly one wasn't run here
			a.Leave = e.suspect(w, r)
		}
		if mine {
			end.Result = sweep.Failed
			if r.Kind == isHopeless {
				end.Result = sweep.Hopeless
			}
			e.finish(o, end)
		}
	case isDiskFull:
		if mine {
			end.Result = sweep.Returned
			e.finish(o, end)
		}
	case isReturned: // its worker came back, so that a new offer counts from 0. An error is the worker's, which leaves with it
		if mine {
			e.finish(o, sweep.End{Result: sweep.Returned})
		}
	}
	return a
}

// reported is an error of a worker.
type reported struct {
	text string
	kind kind
}

func (r *reported) Error() string { return r.text }

// Is tells what everybody has to know of.
func (r *reported) Is(target error) bool {
	return r.kind == isDiskFull && target == sweep.ErrDiskFull || target == sweep.ErrClass && strings.Contains(r.text, sweep.ErrClass.Error())
}

// sharing is how long a file may take to be seen by another machine that shares the folder. NFS shows a new file after a minute at
// the latest.
const sharing = 90 * time.Second

// confirm ends an offer whose result the store has, or is going to have: a network's file system may be late. e.mu is held.
func (e *Engine) confirm(o *offer, end sweep.End) {
	if e.Store.HasNow(o.ID) {
		e.finish(o, end)
		return
	}
	delete(e.offered, o.ID) // reports that come again are for nothing
	e.working.Go(func() {
		deadline := time.Now().Add(sharing)
		for !e.Store.HasNow(o.ID) && time.Now().Before(deadline) {
			if pause(e.ctx, 500*time.Millisecond) != nil {
				break
			}
		}
		switch {
		case e.Store.HasNow(o.ID):
		case e.ctx.Err() != nil:
			end = sweep.End{Result: sweep.Returned}
		default:
			end.Result, end.Err = sweep.Failed, fmt.Errorf("a worker on %s says that it is done, and the folder hasn't it: the worker's --out %w", fault.Printable(end.Host), ErrNotShared)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.finish(o, end)
	})
}

// fewFailures is how many different cases may fail in a row before a worker is doubted.
const fewFailures = 3

// suspect notes that a case failed, and says why the worker is to leave, if it is.
func (e *Engine) suspect(w *member, r *report) (leave string) {
	if first, ok := e.failed[r.Case]; ok && first != w.Name { // two machines agree that it is the case
		for _, other := range e.workers {
			delete(other.failures, r.Case)
		}
		return ""
	}
	e.failed[r.Case] = w.Name
	if len(w.failures) == 0 {
		w.failures, w.successes = map[string]bool{}, e.successes
	}
	w.failures[r.Case] = true
	if len(w.failures) >= fewFailures && e.successes > w.successes {
		return ErrSickWorker.Error() + ": the last one with " + r.Err
	}
	return ""
}

// memberOf is a worker that was just heard.
func (e *Engine) memberOf(name string) *member {
	w := e.workers[name]
	if w == nil {
		w = &member{WorkerState: sweep.WorkerState{Name: name}}
		e.workers[name] = w
	}
	w.heard = time.Now()
	return w
}

// onPresence takes what a worker says of itself.
func (e *Engine) onPresence(m *nats.Msg) {
	var p presence
	if len(m.Data) > longestWords || json.Unmarshal(m.Data, &p) != nil || !isName(p.Name) {
		e.Log.Warn("a message that isn't a worker's came on " + m.Subject)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, known := e.workers[p.Name]
	if p.Leaving {
		delete(e.workers, p.Name)
		e.left(&p)
		return
	}
	e.memberOf(p.Name).WorkerState = p.WorkerState
	e.gone = nil
	e.wakeOffer() // more workers make room for more cases
	if !known {
		e.Log.Info(fmt.Sprintf("worker %s joins, with %d at a time", fault.Printable(p.Name), p.Jobs))
	}
}

// left deals with a worker that has left. The last one's reason ends the sweep: nobody is there to run anything.
func (e *Engine) left(p *presence) {
	if p.Why == "" {
		e.Log.Info(fmt.Sprintf("worker %s leaves", fault.Printable(p.Name)))
		return
	}
	e.Log.Warn(fmt.Sprintf("worker %s leaves: %s", fault.Printable(p.Name), fault.Printable(p.Why)))
	if len(e.workers) > 0 || e.withdrawn {
		return
	}
	why := &reported{p.Why, isReturned}
	for _, o := range e.offered {
		e.finish(o, sweep.End{Result: sweep.Returned, Err: why})
		return
	}
	e.gone = why // for the next offer: the cases that it has given back are about to come
}

// endPatience is how long workers have to end the cases that they run.
const endPatience = 5 * time.Second

// watch sees to what comes by time, until ctx ends.
func (e *Engine) watch(ctx context.Context) {
	const often = 2 * time.Second
	ticker := time.NewTicker(min(often, e.Lease/3))
	defer ticker.Stop()
	ended, broken, offering := e.ctx.Done(), e.conn.broken.Done(), make(<-chan struct{})
	looked := time.Now()
	var force <-chan time.Time
	e.tell(told{}) // a worker may be about to leave
	for {
		select {
		case <-ctx.Done():
			return
		case o := <-e.offering:
			offering = o.Done()
		case <-offering:
			offering = nil
			e.withdraw(ctx)
		case <-ended:
			ended = nil
			if !e.deposed() {
				e.tell(told{End: true})
			}
			force = time.After(endPatience)
			e.withdraw(ctx)
		case <-broken:
			broken = nil
			e.breakOff()
		case <-force:
			e.takeBack(func(*offer) bool { return true })
		case <-ticker.C:
			e.tell(told{})
			e.forgetSilent()
			if time.Since(looked) >= e.Lease {
				looked = time.Now()
				e.findLost(ctx)
			}
			if err := e.Store.SetWorkers(e.Workers()); err != nil {
				e.Log.Warn("note the workers: " + err.Error())
			}
		}
	}
}

// breakOff takes back all, since the connection is broken. The first one's end says why, which ends the sweep.
func (e *Engine) breakOff() {
	e.mu.Lock()
	e.withdrawn = true
	for _, o := range e.offered {
		e.finish(o, sweep.End{Result: sweep.Returned, Err: context.Cause(e.conn.broken)})
		break
	}
	e.mu.Unlock()
	e.takeBack(func(*offer) bool { return true })
}

// deposed reports whether another coordinator has the folder: workers, their cases and the stream are that one's now.
func (e *Engine) deposed() bool { return errors.Is(context.Cause(e.ctx), sweep.ErrLockLost) }

// tell tells all workers. What isn't heard they find out by themselves.
func (e *Engine) tell(t told) {
	t.Round = e.round
	_ = e.conn.Publish(e.told, encode(t))
}

// withdraw takes back what no worker has begun, and all that another coordinator has now.
func (e *Engine) withdraw(ctx context.Context) {
	e.mu.Lock()
	e.withdrawn = true
	left := len(e.offered)
	e.mu.Unlock()
	if left == 0 {
		return
	}
	if e.deposed() {
		e.takeBack(func(*offer) bool { return true })
		return
	}
	limited, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	s, err := e.find(limited, e.stream, e.round)
	if err == nil {
		_, err = ask(limited, func(ctx context.Context) (any, error) { return nil, s.Purge(ctx) })
	}
	if err != nil && ctx.Err() == nil {
		e.Log.Warn("empty the queue: " + err.Error())
	}
	e.takeBack(func(o *offer) bool { return e.workers[o.worker] == nil })
}

// takeBack ends offers without a result.
func (e *Engine) takeBack(which func(*offer) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, o := range e.offered {
		if which(o) {
			e.finish(o, sweep.End{Result: sweep.Returned})
		}
	}
}

// forgetSilent forgets workers that weren't heard for their lease. Their cases go to others by themselves.
func (e *Engine) forgetSilent() {
	e.mu.Lock()
	for name, w := range e.workers {
		if silent := time.Since(w.heard); silent > max(e.Lease, 2*presenceInterval) {
			e.Log.Warn(fmt.Sprintf("worker %s is silent: its cases go to others", fault.Printable(name)))
			delete(e.workers, name)
			e.counts.Silent++
		}
	}
	withdrawn := e.withdrawn
	e.mu.Unlock()
	if withdrawn {
		e.takeBack(func(o *offer) bool { return e.workers[o.worker] == nil })
	}
}

// findLost gives back what the stream has lost, so that it is offered again: somebody has emptied it, or a server has lost its
// disk. A case counts as lost when it isn't there twice.
func (e *Engine) findLost(ctx context.Context) {
	e.mu.Lock()
	offered := len(e.offered)
	e.mu.Unlock()
	if offered == 0 {
		return
	}
	limited, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	s, err := e.find(limited, e.stream, e.round)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if err = e.create(ctx); err == nil {
			s, err = e.find(ctx, e.stream, e.round)
		}
	}
	if err != nil {
		e.Log.Warn("look at the queue: " + err.Error())
		return
	}
	if int(s.CachedInfo().State.Msgs) >= offered {
		return
	}
	info, err := s.Info(limited, jetstream.WithSubjectFilter(e.jobs+">"))
	if err != nil {
		e.Log.Warn("look at the queue: " + err.Error())
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, o := range e.offered {
		there := info.State.Subjects[e.jobs+id] > 0 || time.Since(o.since) < e.Lease
		switch {
		case !o.put: // Offer waits for room, or for the server
		case there || e.workers[o.worker] != nil && slices.Contains(e.workers[o.worker].Running, id):
			o.lost = false
		case !o.lost:
			o.lost = true
		case e.Store.Has(id):
			e.finish(o, sweep.End{Result: sweep.Done})
		default:
			e.counts.Lost++
			e.Log.Warn("the queue has lost case " + id + ": it is put there again")
			e.finish(o, sweep.End{Result: sweep.Returned})
		}
	}
}

// Workers are those that were heard of within their lease, by name.
func (e *Engine) Workers() []sweep.WorkerState {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := []sweep.WorkerState{}
	for _, w := range e.workers {
		s := w.WorkerState
		s.SilentS = time.Since(w.heard).Seconds()
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b sweep.WorkerState) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// Measures are an engine's counts, with what there is now.
type Measures struct {
	Counts
	// Workers were heard of within their lease. Waiting cases are in the stream, and no worker has begun them; Leased ones run.
	Workers, Waiting, Leased int
}

// Measures counts what there is.
func (e *Engine) Measures() Measures {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := Measures{Counts: e.counts, Workers: len(e.workers)}
	for _, o := range e.offered {
		if e.workers[o.worker] != nil {
			m.Leased++
		} else {
			m.Waiting++
		}
	}
	return m
}

// Close ends the engine and removes the stream. complete tells the workers that nothing is left to do; else they wait for the
// next coordinator. Nobody may call Offer or End any longer.
func (e *Engine) Close(complete bool) {
	if complete {
		e.tell(told{Complete: true}) // a worker that doesn't hear it looks at the store
	}
	e.end()
	for _, s := range e.subs {
		_ = s.Unsubscribe()
	}
	e.working.Wait()
	if !e.deposed() {
		ctx, cancel := context.WithTimeout(context.Background(), requestLimit)
		defer cancel()
		if err := e.remove(ctx, e.stream, e.round); err != nil {
			e.Log.Warn("remove the queue: " + err.Error()) // the next coordinator of the folder does
		}
		_ = e.Store.ForgetWorkers() // without a coordinator, status doesn't show them
	}
	_ = e.conn.FlushTimeout(requestLimit)
	e.conn.Close()
}
