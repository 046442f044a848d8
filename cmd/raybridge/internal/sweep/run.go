package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/raybridge/raybridge/internal/fault"
)

// Run has an engine run the cases of a plan that the store hasn't, and decides which are tried again.
type Run struct {
	Store  *Store
	Plan   *Plan
	Engine Engine
	// Shard is the share of the cases that is run.
	Shard Shard
	// Attempts is how often a case is tried at most; 0 is three times. Earlier runs don't count: who starts another one has
	// mended something, or has another machine.
	Attempts int
	// Delay is how long a case waits after its first failure; after each further one it waits four times as long. 0 is a
	// second.
	Delay time.Duration
	// Told is told of each end, by one goroutine. (optional)
	Told func(End, Progress)
}

// Progress is how far a run is.
type Progress struct {
	// Total cases are the share's. Done of them have their result, and Failed have failed for good.
	Total, Done, Failed int
	// Before is how many of Done were done when the run began.
	Before int
}

// Left is how many cases are neither done nor failed.
func (p Progress) Left() int { return p.Total - p.Done - p.Failed }

// Report is what a run came to.
type Report struct {
	Progress
	// Wall is how long the run took, and Cases the sum of its processes' times.
	Wall, Cases time.Duration
	// Alarms are results that differ from the first of their case, of this run. Unsettled are the cases that have one,
	// whichever run found it.
	Alarms    []*Alarm
	Unsettled []string
	// Stopped is why the run ended before all cases were tried; nil where it didn't.
	Stopped error
}

// usualAttempts is how often a case is tried.
const usualAttempts = 3

// Run removes the attempts of the dead, and runs cases until each has its result or has failed for good, or ctx ends, or
// nothing can be run any longer. An error
// is one of the store.
func (r *Run) Run(ctx context.Context) (*Report, error) {
	began := time.Now()
	l := &loop{Run: r, tries: map[*Case]int{}, again: make(chan *Case), ends: make(chan End), offers: make(chan offer), offered: make(chan error)}
	if err := errors.Join(r.Store.SweepDead(), l.find()); err != nil {
		return nil, err
	}
	err := errors.Join(l.run(ctx), l.findAlarms())
	l.report.Wall = time.Since(began)
	if l.report.Left() == 0 { // it was told to end when all had just ended
		l.report.Stopped = nil
	}
	return &l.report, err
}

// findAlarms lists the share's cases that have a second result.
func (l *loop) findAlarms() error {
	folders, err := l.Store.Alarms()
	if len(folders) == 0 {
		return err
	}
	for _, c := range l.Shard.Of(l.Plan) {
		if slices.ContainsFunc(folders, func(f string) bool { return strings.HasPrefix(path.Base(f), c.ID) }) {
			l.report.Unsettled = append(l.report.Unsettled, c.ID)
		}
	}
	return err
}

// loop is one run under way.
type loop struct {
	*Run
	report Report
	ready  []*Case
	// tries counts the attempts of this run, and before those of earlier ones in vain, by id.
	tries  map[*Case]int
	before map[string]int
	// delayed cases wait for their next attempt; under are offered and haven't ended.
	delayed, under int
	// suspects are failures for good since the last success: they become so once this machine is known to be well. control is
	// a case that is done, and that is run again to see that.
	suspects []*Failure
	control  *Case
	again    chan *Case
	ends     chan End
	offers   chan offer
	offered  chan error
}

// offer is a case on its way to the engine.
type offer struct {
	c *Case
	// tries counts the attempts of this run, with this one, and before those of earlier ones.
	tries, before int
}

// find lists the cases that are missing.
func (l *loop) find() error {
	done, err := l.Store.Done()
	if err != nil {
		return err
	}
	failed, err := l.Store.Failed()
	if err != nil {
		return err
	}
	if l.before, err = l.Store.tries(); err != nil {
		return err
	}
	cases := l.Shard.Of(l.Plan)
	l.report.Total = len(cases)
	for _, c := range cases {
		if _, ok := done[c.ID]; ok {
			l.report.Done++
		} else if failed[c.ID] != nil {
			l.report.Failed++
		} else {
			l.ready = append(l.ready, c)
		}
	}
	l.report.Before = l.report.Done
	slices.Reverse(l.ready) // the next one is the last
	return nil
}

// run offers cases and takes their ends until nothing is left. One goroutine offers and one takes ends, since both wait.
func (l *loop) run(ctx context.Context) (err error) {
	offering, stop := context.WithCancel(ctx)
	defer stop()
	taking, done := context.WithCancel(context.Background())
	go func() {
		for o := range l.offers {
			l.offered <- l.Engine.Offer(offering, o.c, o.before+o.tries)
		}
		close(l.offered)
	}()
	go func() {
		defer close(l.ends)
		for {
			e, err := l.Engine.End(taking)
			if err != nil {
				return
			}
			l.ends <- e
		}
	}()
	defer func() {
		close(l.offers)
		for range l.offered {
		}
		done()
		for range l.ends {
		}
	}()
	offered := false // a case is being offered
	for l.under > 0 || offered || !l.stopped() && (len(l.ready) > 0 || l.delayed > 0) {
		next, offers := l.next(offered)
		ended := ctx.Done()
		if l.stopped() {
			ended = nil
		}
		select {
		case offers <- next:
			offered = true
			l.ready = l.ready[:len(l.ready)-1]
			l.tries[next.c] = next.tries
		case err := <-l.offered:
			offered = false
			if err != nil {
				l.stop(context.Cause(ctx), err, stop)
			} else {
				l.under++
			}
		case e := <-l.ends:
			l.under--
			if fault := l.take(offering, e); fault != nil {
				err = errors.Join(err, fault)
				l.stop(fault, fault, stop)
			}
			if l.stopped() {
				stop()
			}
		case c := <-l.again:
			l.delayed--
			l.ready = append(l.ready, c)
		case <-ended:
			l.stop(context.Cause(ctx), ctx.Err(), stop)
		}
	}
	if errors.Is(l.report.Stopped, ErrSick) || len(l.suspects) >= fewSuspects {
		return err
	}
	return errors.Join(err, l.convict())
}

// next returns the case that is offered next, and where; nowhere if none is.
func (l *loop) next(offered bool) (offer, chan offer) {
	if offered || len(l.ready) == 0 || l.stopped() {
		return offer{}, nil
	}
	c := l.ready[len(l.ready)-1]
	return offer{c, l.tries[c] + 1, l.before[c.ID]}, l.offers
}

// stop lets no further case begin.
func (l *loop) stop(cause, err error, stop func()) {
	if !l.stopped() {
		if cause == nil {
			cause = err
		}
		l.report.Stopped = cause
	}
	stop()
}

// take takes the end of an attempt.
func (l *loop) take(ctx context.Context, e End) error {
	l.report.Cases += e.Wall
	if e.Alarm != nil {
		l.report.Alarms = append(l.report.Alarms, e.Alarm)
	}
	var err error
	switch tries := l.tries[e.Case]; {
	case e.Case == l.control:
		err = l.controlled(e)
	case e.Result == Done:
		l.report.Done++
		err = errors.Join(l.Store.Forgive(e.Case.ID), l.convict())
		delete(l.tries, e.Case)
	case e.Result == Hopeless:
		l.report.Failed++
		err = errors.Join(l.tried(e.Case.ID, tries), l.Store.fail(l.failureOf(e, tries)))
		delete(l.tries, e.Case)
	case e.Result == Failed && tries >= l.attempts():
		delete(l.tries, e.Case)
		err = errors.Join(l.tried(e.Case.ID, tries), l.suspect(l.failureOf(e, tries)))
	case e.Result == Failed:
		err = l.tried(e.Case.ID, tries)
		l.wait(ctx, e.Case, tries)
	default:
		l.tries[e.Case]-- // it doesn't count
		l.ready = append(l.ready, e.Case)
		if e.Err != nil && !l.stopped() {
			l.report.Stopped = e.Err
		}
	}
	if l.Told != nil {
		l.Told(e, l.report.Progress)
	}
	return err
}

// tried notes an attempt in vain, so many in this run.
func (l *loop) tried(id string, tries int) error { return l.Store.tried(id, l.before[id]+tries) }

func (l *loop) failureOf(e End, tries int) *Failure {
	return &Failure{ID: e.Case.ID, Attempts: l.before[e.Case.ID] + tries, Code: e.Code, Reason: e.Err.Error(), Host: cmp.Or(e.Host, hostName()), Time: time.Now(), Log: e.Log}
}

// ErrSick says that cases fail because of the machine that runs them.
var ErrSick = errors.New("this machine fails whatever it runs")

// fewSuspects is how many cases may fail for good in a row before the machine is doubted.
const fewSuspects = 3

// stopped reports whether nothing more is begun.
func (l *loop) stopped() bool { return l.report.Stopped != nil }

// suspect notes a case that has failed for good, or would have on a machine that is well. If too many did in a row, a case
// that is done is run again. If none is, the machine can't be told from the cases, and nothing more is run.
func (l *loop) suspect(f *Failure) error {
	l.suspects = append(l.suspects, f)
	if len(l.suspects) < fewSuspects || l.control != nil || l.stopped() {
		return nil
	}
	done, err := l.Store.Done()
	if err != nil {
		return err
	}
	for i := range l.Plan.Cases {
		if _, ok := done[l.Plan.Cases[i].ID]; ok {
			l.control = &l.Plan.Cases[i]
			l.ready = append(l.ready, l.control)
			return nil
		}
	}
	l.report.Stopped = fmt.Errorf("%w, or the drive has a fault: the first %d cases failed, the last one with %s", ErrSick, len(l.suspects), f.Reason)
	return nil
}

// controlled takes the end of the case that was run again to see how the machine is.
func (l *loop) controlled(e End) error {
	delete(l.tries, e.Case)
	l.control = nil
	switch {
	case e.Result == Done:
		return l.convict()
	case l.stopped():
	case e.Result == Returned && e.Err == nil: // its worker was told to end
		l.control = e.Case
		l.ready = append(l.ready, e.Case)
	case e.Result == Returned:
		l.report.Stopped = e.Err
	default:
		l.report.Stopped = fmt.Errorf("%w: %d cases failed in a row, and so did one that is done: %w", ErrSick, len(l.suspects), e.Err)
	}
	return nil
}

// convict makes suspects cases that failed for good.
func (l *loop) convict() (err error) {
	for _, f := range l.suspects {
		l.report.Failed++
		err = errors.Join(err, l.Store.fail(f))
	}
	l.suspects = nil
	return err
}

// wait offers a case again after a time that grows.
func (l *loop) wait(ctx context.Context, c *Case, tries int) {
	delay := l.Delay
	if delay == 0 {
		delay = time.Second
	}
	for range tries - 1 {
		delay *= 4
	}
	l.delayed++
	go func() {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		select {
		case l.again <- c:
		case <-ctx.Done():
		}
	}()
}

func (l *loop) attempts() int {
	if l.Attempts == 0 {
		return usualAttempts
	}
	return l.Attempts
}

// unsettled says how to settle an alarm.
const unsettled = "gave two results that differ: find out why, and delete the folders in " + alarmsDir + " (and in " + casesDir + " to run a case again)"

// Err says what of the report isn't as it should be, nil for nothing.
func (o *Report) Err() error {
	switch {
	case o.Stopped != nil:
		return fmt.Errorf("%d of %d cases are left: %w", o.Left(), o.Total, o.Stopped)
	case o.Failed > 0 && len(o.Unsettled) > 0:
		return fmt.Errorf("%d of %s failed, and %d %s", o.Failed, fault.Count(o.Total, "case"), len(o.Unsettled), unsettled)
	case o.Failed > 0:
		return fmt.Errorf("%d of %s failed", o.Failed, fault.Count(o.Total, "case"))
	case len(o.Unsettled) > 0:
		return fmt.Errorf("%d of %s %s", len(o.Unsettled), fault.Count(o.Total, "case"), unsettled)
	}
	return nil
}
