package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
)

// presenceInterval is how often a worker says what it does.
const presenceInterval = 2 * time.Second

// mostHandedOut is how often a case is handed out without its end, before it counts as one that ends its worker.
const mostHandedOut = 10

// Worker takes cases one at a time for each of its jobs, until the sweep is complete.
type Worker struct {
	Access Access
	Store  *sweep.Store
	// Prepare makes a worker for the plan that the store has now. It is called each time that the sweep is looked for.
	Prepare func() (*sweep.Worker, error)
	// Name tells the worker from others; "" makes one up.
	Name string
	Jobs int
	// Patience is how long it waits for a server and for a coordinator, at least for its lease once it has joined.
	Patience time.Duration
	Log      *slog.Logger
	// Try runs a case in place of its process. (optional)
	Try func(ctx context.Context, c *sweep.Case, tries int) sweep.End
	// Told is told of each end, by several goroutines. (optional)
	Told func(sweep.End)

	conn *connection
	js   jetstream.JetStream

	join  sync.Mutex // one goroutine at a time looks for the sweep
	mu    sync.Mutex
	sweep *joined
	state sweep.WorkerState
	runs  map[string]run // by offer
	// heard is when the coordinator was last heard, or a case was done here. Patience counts from then on.
	heard time.Time
	old   string // the stream of a plan that was complete when the worker began: sweep run may bring another plan
	leave context.CancelCauseFunc
}

// joined is a sweep that a worker works on.
type joined struct {
	names
	round    string
	worker   *sweep.Worker
	consumer jetstream.Consumer
	lease    time.Duration
	told     *nats.Subscription
	since    time.Time
}

// run is a case that runs.
type run struct {
	id  string
	end context.CancelFunc
}

// errDeadly: a case probably ends its worker.
var errDeadly = errors.New("no worker came back with it")

// errComplete: nothing is left to do.
var errComplete = errors.New("the sweep is complete")

// Run works until the sweep is complete, and then returns nil. Else the error says why the worker has left.
func (w *Worker) Run(ctx context.Context) (err error) {
	host, _ := os.Hostname() // containers may share it, and their processes' numbers
	w.Name = cmp.Or(w.Name, fmt.Sprintf("%s-%d-%.6s", cmp.Or(host, "worker"), os.Getpid(), rand.Text()))
	w.state, w.runs = sweep.WorkerState{Name: w.Name, Host: host, Jobs: w.Jobs}, map[string]run{}
	w.old = w.completed()
	if w.conn, err = w.Access.await(ctx, "raybridge sweep worker "+w.Name, w.Patience); err != nil {
		return err
	}
	defer w.conn.Close()
	if w.js, err = jetstream.New(w.conn.Conn); err != nil {
		return err
	}
	taking, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	w.leave = leave
	w.hear()
	if _, err = w.current(taking); err != nil {
		return notComplete(err)
	}
	var slots, present sync.WaitGroup
	telling, stop := context.WithCancel(context.Background())
	present.Go(func() { w.tellPresence(telling) })
	for range w.Jobs {
		slots.Go(func() { w.work(ctx, taking) })
	}
	slots.Wait()
	stop()
	present.Wait()
	cause := context.Cause(taking)
	w.tell(presence{Leaving: true, Why: whyOf(ctx, cause)})
	_ = w.conn.FlushTimeout(requestLimit) // the coordinator finds out by itself
	return notComplete(cause)
}

func notComplete(err error) error {
	if errors.Is(err, errComplete) {
		return nil
	}
	return err
}

// whyOf is why a worker leaves, "" where its machine is not at fault: a coordinator that comes just then doesn't end because a worker
// has waited in vain.
func whyOf(ctx context.Context, cause error) string {
	if ctx.Err() != nil || errors.Is(cause, errComplete) || errors.Is(cause, ErrNoSweep) || errors.Is(cause, ErrUnreachable) {
		return ""
	}
	return cause.Error()
}

// tellPresence says now and then what the worker does.
func (w *Worker) tellPresence(ctx context.Context) {
	ticker := time.NewTicker(presenceInterval)
	defer ticker.Stop()
	for {
		w.tell(presence{})
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// tell says what the worker does. What isn't heard is said again.
func (w *Worker) tell(p presence) {
	w.mu.Lock()
	p.WorkerState = w.state
	for _, r := range w.runs {
		p.Running = append(p.Running, r.id)
	}
	slices.Sort(p.Running)
	to := w.sweep.names.worker
	w.mu.Unlock()
	_ = w.conn.Publish(to, encode(p))
}

// starting is how long a server may take to have its JetStream.
const starting = 10 * time.Second

// find waits until a coordinator has put out the cases of the folder's plan, and checks that the folder is its own.
func (w *Worker) find(ctx context.Context) (*joined, error) {
	began, said := time.Now(), false
	for {
		j, err := w.look(ctx)
		if err != nil && passes(err) && !w.conn.IsConnected() {
			err = fmt.Errorf("%s: %w", w.Access.URL, ErrUnreachable)
		}
		switch {
		case err == nil:
			return j, nil
		case w.conn.IsClosed():
			return nil, w.Access.fault(cmp.Or(w.conn.LastError(), nats.ErrConnectionClosed))
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !isAwaited(err), w.waited() >= w.Patience:
			return nil, err
		case errors.Is(err, ErrNotShared) && time.Since(began) >= min(w.Patience, sharing), errors.Is(err, ErrJetStream) && time.Since(began) >= min(w.Patience, starting):
			return nil, err
		}
		if !said && !errors.Is(err, ErrNotShared) {
			said = true
			w.Log.Info(fmt.Sprintf("%v: waiting for %v", err, w.Patience))
		}
		if err := pause(ctx, min(untilNextLook(time.Since(began)), w.Patience/4+time.Millisecond)); err != nil {
			return nil, err
		}
	}
}

// untilNextLook is when a worker that has waited so long looks for the sweep again. Each look reads the plan and asks for the
// result of each case, by each worker, over the network.
func untilNextLook(waited time.Duration) time.Duration {
	return min(max(time.Second, waited/10), 30*time.Second)
}

// isAwaited reports whether what is wrong may be right once a coordinator or a server is there.
func isAwaited(err error) bool {
	for _, e := range []error{sweep.ErrNoPlan, ErrNoSweep, ErrNotShared, ErrUnreachable} {
		if errors.Is(err, e) {
			return true
		}
	}
	return passes(err)
}

// completed is the stream of the folder's plan, if that is complete.
func (w *Worker) completed() string {
	worker, err := w.Prepare()
	if err != nil { // find says so
		return ""
	}
	if complete, err := w.Store.Complete(worker.Plan); err != nil || !complete {
		return ""
	}
	return namesOf(worker.Plan).stream
}

// look looks once for the sweep of the folder's plan.
func (w *Worker) look(ctx context.Context) (*joined, error) {
	worker, err := w.Prepare()
	if err != nil {
		return nil, err
	}
	p := worker.Plan
	j := &joined{names: namesOf(p), worker: worker, since: time.Now()}
	limited, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	s, err := w.js.Stream(limited, j.stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		missing := fmt.Errorf("%s: %w on %s", w.Store.Dir(), ErrNoSweep, w.Access.URL)
		complete, err := w.Store.Complete(p)
		switch {
		case err != nil:
			return nil, err
		case !complete:
			return nil, missing
		case j.stream == w.old:
			return nil, fmt.Errorf("%w: %w", missing, errComplete)
		}
		return nil, errComplete
	}
	if err != nil {
		return nil, streamFault(err, j.stream)
	}
	round, err := w.Store.Round()
	if err != nil {
		return nil, err
	}
	if j.round = round.Name; j.round != s.CachedInfo().Config.Metadata[roundKey] {
		return nil, fmt.Errorf("%s %w: mount that one", w.Store.Dir(), ErrNotShared)
	}
	if j.consumer, err = s.Consumer(limited, consumer); errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, fmt.Errorf("%s: %w on %s", w.Store.Dir(), ErrNoSweep, w.Access.URL)
	} else if err != nil {
		return nil, streamFault(err, j.stream)
	}
	j.lease = j.consumer.CachedInfo().Config.AckWait
	j.told, err = w.conn.Subscribe(j.names.told, w.onTold)
	return j, err
}

// onTold takes what the coordinator says to all. The folder says who that is: another one may have taken the folder from it.
func (w *Worker) onTold(m *nats.Msg) {
	var t told
	if json.Unmarshal(m.Data, &t) != nil {
		return
	}
	w.mu.Lock()
	j := w.sweep
	w.mu.Unlock()
	if j == nil || t.Round != j.round {
		if round, err := w.Store.Round(); err != nil || round.Name != t.Round {
			return
		}
		w.lose(j, errors.New("the folder has another coordinator"))
	}
	w.hear()
	if t.Complete {
		w.leave(errComplete)
	}
	if t.End {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, r := range w.runs {
			r.end()
		}
	}
}

// work takes cases until taking ends. Those that run then continue to their end, unless ctx has ended.
func (w *Worker) work(ctx, taking context.Context) {
	for taking.Err() == nil {
		j, err := w.current(taking)
		if err != nil {
			w.leave(err)
			return
		}
		m, err := next(taking, j)
		switch {
		case err != nil && taking.Err() == nil:
			w.lose(j, err)
			_ = pause(taking, 250*time.Millisecond)
		case m != nil:
			w.deal(ctx, taking, j, m)
			w.idle(j) // cases that only fail are no reason to stay
		case taking.Err() == nil:
			w.idle(j)
		}
	}
}

// hear notes that there is still something to work for.
func (w *Worker) hear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = time.Now()
}

// waited is for how long the worker has heard of no coordinator, and has run nothing.
func (w *Worker) waited() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.runs) > 0 {
		return 0
	}
	return time.Since(w.heard)
}

// idle sees to a worker that runs no case while its coordinator is silent: it looks at the folder once a lease, which may have another
// plan, and leaves when its patience is over. The stream alone says nothing: it stays when its coordinator is dead.
func (w *Worker) idle(j *joined) {
	switch waited := w.waited(); {
	case waited < j.lease:
	case waited >= w.Patience:
		w.leave(w.alone())
	case time.Since(j.since) >= j.lease:
		w.lose(j, errors.New("the coordinator is silent"))
	}
}

// alone is why a worker leaves whose coordinator is silent.
func (w *Worker) alone() error {
	if !w.conn.IsConnected() {
		return fmt.Errorf("%s: %w", w.Access.URL, ErrUnreachable)
	}
	return fmt.Errorf("%s: %w on %s, or it is silent", w.Store.Dir(), ErrNoSweep, w.Access.URL)
}

// current is the sweep, which is looked for where it was lost.
func (w *Worker) current(ctx context.Context) (*joined, error) {
	w.join.Lock()
	defer w.join.Unlock()
	w.mu.Lock()
	j := w.sweep
	w.mu.Unlock()
	if j != nil && j.consumer != nil {
		return j, nil
	}
	j, err := w.find(ctx)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sweep != nil {
		_ = w.sweep.told.Unsubscribe()
	}
	w.sweep, w.old = j, ""
	return j, nil
}

// lose has the sweep looked for again.
func (w *Worker) lose(j *joined, err error) {
	w.Log.Debug("take a case: " + err.Error())
	w.mu.Lock()
	defer w.mu.Unlock()
	if j == nil || w.sweep != j {
		return
	}
	w.sweep = &joined{names: j.names, round: j.round, told: j.told} // its cases may still be told to end
}

// fetchWait is how long a request for a case waits for one.
const fetchWait = 5 * time.Second

// next takes one case, nil where there is none now. One at a time: who takes several keeps others from them.
func next(ctx context.Context, j *joined) (jetstream.Msg, error) {
	limited, cancel := context.WithTimeout(ctx, min(fetchWait, j.lease))
	defer cancel()
	batch, err := j.consumer.Fetch(1, jetstream.FetchContext(limited))
	if err != nil {
		return nil, err
	}
	for m := range batch.Messages() {
		return m, nil
	}
	if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, jetstream.ErrNoMessages) {
		return nil, err
	}
	return nil, nil
}

// deal runs a case that was handed out, reports its end, and has the server forget it.
func (w *Worker) deal(ctx, taking context.Context, j *joined, m jetstream.Msg) {
	var given job
	meta, err := m.Metadata()
	if err == nil {
		err = json.Unmarshal(m.Data(), &given)
	}
	p := j.worker.Plan
	if err != nil || given.Index < 0 || given.Index >= len(p.Cases) || p.Cases[given.Index].ID != given.Case {
		w.Log.Warn(fmt.Sprintf("a message in stream %s isn't a case of the plan: it is removed", j.stream))
		_ = m.Term() // it isn't a case, so that nothing is lost
		return
	}
	running, end := context.WithCancel(ctx)
	defer end()
	w.begin(&given, end)
	defer w.finished(&given)
	defer keepLease(m, j.lease)()
	before := int(meta.NumDelivered) - 1
	_ = w.conn.Publish(j.end, encode(w.report(&given, report{Kind: hasBegun, Again: before})))
	e := w.try(running, j, &given, before)
	if w.Told != nil {
		w.Told(e)
	}
	heard := w.send(ctx, j, w.report(&given, reportOf(&e)))
	if heard || e.Result == sweep.Done { // a failure that nobody hears is handed out again and again
		w.hear()
	}
	if e.Result == sweep.Returned && e.Err != nil {
		w.leave(e.Err)
	}
	if err := w.settle(taking, m, &ended{&e, before, heard}); err != nil {
		w.Log.Debug("settle a case: " + err.Error()) // it is handed out again, and the store has it or not
	}
}

// begin notes that a case runs.
func (w *Worker) begin(j *job, end context.CancelFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[j.Offer] = run{j.Case, end}
}

func (w *Worker) finished(j *job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.runs, j.Offer)
}

// keepLease keeps a case from being handed to another, until the function that it returns is called. Nobody confirms it:
// a worker that the server didn't hear for its lease finds its case run twice.
func keepLease(m jetstream.Msg, lease time.Duration) (end func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(lease / 3)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				_ = m.InProgress() // the next one may be heard
			}
		}
	}()
	return func() { close(ended); <-done }
}

// try runs a case, unless the store has its result: then another worker was faster.
func (w *Worker) try(ctx context.Context, j *joined, given *job, before int) sweep.End {
	c := &j.worker.Plan.Cases[given.Index]
	switch {
	case !given.Again && w.Store.Has(c.ID):
		return sweep.End{Case: c}
	case before >= mostHandedOut:
		return sweep.End{Case: c, Result: sweep.Failed, Err: fmt.Errorf("it was handed out %d times, and %w", before, errDeadly), Code: -1}
	}
	if w.Try != nil {
		return w.Try(ctx, c, given.Tries)
	}
	worker := *j.worker
	worker.Limit = given.Limit
	return worker.Try(ctx, c, given.Tries)
}

// report completes what is said of a case.
func (w *Worker) report(given *job, r report) report {
	r.Worker, r.Host, r.Case, r.Offer = w.Name, w.state.Host, given.Case, given.Offer
	return r
}

// reportOf is what is said of an end.
func reportOf(e *sweep.End) report {
	r := report{Code: e.Code, Log: e.Log, Wall: e.Wall, Alarm: e.Alarm}
	if e.Err != nil {
		r.Err = e.Err.Error()
	}
	switch {
	case e.Result == sweep.Done:
		r.Kind = isDone
	case errors.Is(e.Err, errDeadly):
		r.Kind = isDeadly
	case e.Result == sweep.Failed:
		r.Kind = isFailed
	case e.Result == sweep.Hopeless:
		r.Kind = isHopeless
	case errors.Is(e.Err, sweep.ErrDiskFull):
		r.Kind = isDiskFull
	default:
		r.Kind = isReturned
	}
	return r
}

// send asks the coordinator to take an end, and reports whether it has. After ctx's end it asks once.
func (w *Worker) send(ctx context.Context, j *joined, r report) (heard bool) {
	w.mu.Lock()
	switch r.Kind {
	case isDone:
		w.state.Done++
	case isFailed, isHopeless:
		w.state.Failed++
	}
	w.mu.Unlock()
	deadline := time.Now().Add(reportLimit)
	for {
		reply, err := w.conn.Request(j.end, encode(r), requestLimit)
		if err == nil {
			var a answer
			if json.Unmarshal(reply.Data, &a) == nil && a.Leave != "" {
				w.leave(&leaveError{a.Leave})
			}
			return true
		}
		if w.conn.IsClosed() || errors.Is(err, nats.ErrNoResponders) && w.conn.IsConnected() || ctx.Err() != nil || time.Now().After(deadline) {
			return false
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// reportLimit is how long a worker tries to report an end to a coordinator that may be cut off.
const reportLimit = 15 * time.Second

// leaveError is why the coordinator has sent a worker away.
type leaveError struct{ text string }

func (l *leaveError) Error() string { return l.text }

func (l *leaveError) Is(target error) bool { return target == ErrSickWorker }

// settle has the server forget a case, or hand it out again. A coordinator that has taken a failure decides itself whether the
// case is tried again. Without one, it is handed out again after a time that grows.
func (w *Worker) settle(taking context.Context, m jetstream.Msg, e *ended) error {
	const shortest, longest = time.Second, time.Minute
	switch {
	case e.Result == sweep.Returned && e.heard:
		return m.Ack() // the coordinator offers it again
	case e.Result == sweep.Returned:
		return m.Nak()
	case e.Result == sweep.Done || e.heard && e.Result == sweep.Failed:
		return acknowledge(taking, m)
	case e.heard:
		return m.TermWithReason("failed for good")
	}
	return m.NakWithDelay(min(longest, shortest<<min(2*e.before, 6)))
}

// ended is how a case ended that was handed out before times already. heard says that the coordinator knows it.
type ended struct {
	*sweep.End
	before int
	heard  bool
}

// acknowledge has the server confirm that it has forgotten a case. Without an answer it may hand the case out again, and the
// next worker finds its result. When the sweep is complete, nobody answers any longer.
func acknowledge(taking context.Context, m jetstream.Msg) (err error) {
	const times = 3
	for range times {
		if errors.Is(context.Cause(taking), errComplete) {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(taking), requestLimit)
		stop := context.AfterFunc(taking, func() {
			if errors.Is(context.Cause(taking), errComplete) {
				cancel()
			}
		})
		err = m.DoubleAck(ctx)
		stop()
		cancel()
		if err == nil || !errors.Is(err, context.DeadlineExceeded) {
			break
		}
	}
	return err
}
