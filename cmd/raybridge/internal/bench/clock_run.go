package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/raybridge/raybridge/simtime"
)

// clockRun is one run of a publisher: a tick is one message published. What
// records is called on the publisher's goroutine and allocates nothing.
type clockRun struct {
	rate      simtime.Rate
	length    time.Duration
	stop      func()    // ends the publisher
	first     time.Time // the first deadline
	deadline  time.Time // the last one
	deadlines []int64   // each tick's, in ns from the first
	late      []int64   // how long after its deadline each was published, in ns
	sorted    []int64   // late, sorted
	missed    uint64    // deadlines up to the last tick's that were left out
	ended     int64     // when the publisher had ended, in ns from the first deadline
	thread    string    // what the system granted the publisher's thread
}

// errClockRecord says that what the publisher did and what was recorded of it
// differ.
var errClockRecord = errors.New("the clock's publisher and its record differ")

// runClock publishes a clock up to the first tick at length or beyond, which no
// timer that is late itself puts off. The publish function takes the lateness; the
// publisher's own statistics must agree with it.
func runClock(ctx context.Context, rate simtime.Rate, length time.Duration) (*clockRun, error) {
	clock, err := simtime.NewClock(simtime.Config{Source: simtime.System})
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	room := rate.IndexAt(int64(length)) + 2
	r := &clockRun{rate: rate, length: length, stop: stop, deadlines: make([]int64, 0, room), late: make([]int64, 0, room)}
	publisher, err := simtime.NewClockPublisher(clock, simtime.ClockPublisherConfig{
		Rate: rate, OwnThread: true, Publish: r.publish, Observe: r.observe, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	if err := publisher.Run(running); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	stats := publisher.Stats()
	r.ended, r.thread = int64(time.Since(r.first)), stats.Scheduling
	return r, r.check(&stats)
}

// observe is told of a tick's deadline right before publish.
func (r *clockRun) observe(deadline time.Time, _ time.Duration) {
	if r.first.IsZero() {
		r.first = deadline
	}
	r.deadline = deadline
}

// publish stands for the sending of a clock message.
func (r *clockRun) publish(context.Context, int64) error {
	late := time.Since(r.deadline)
	if len(r.late) == cap(r.late) {
		return errClockRecord // more ticks than there are deadlines in the time
	}
	at := r.deadline.Sub(r.first)
	r.late = append(r.late, int64(late))
	r.deadlines = append(r.deadlines, int64(at))
	if at >= r.length {
		r.stop()
	}
	return nil
}

// check proves that all deadlines were on one grid, that every one of it was
// either published or counted as missed, and that the publisher's histogram of
// lateness tells the same as the record. After a last tick that was late the
// publisher may have counted those that it kept from being published.
func (r *clockRun) check(stats *simtime.ClockPublisherStats) error {
	n := len(r.late)
	if n == 0 || stats.Failed > 0 || stats.Published != uint64(n) {
		return fmt.Errorf("%w: %d published, %d failed, %d recorded", errClockRecord, stats.Published, stats.Failed, n)
	}
	for i, at := range r.deadlines {
		if r.rate.At(r.rate.IndexAt(at)) != at || i > 0 && at <= r.deadlines[i-1] {
			return fmt.Errorf("%w: a deadline %d ns after the first is off the grid of %s Hz", errClockRecord, at, r.rate)
		}
	}
	due := r.due()
	r.missed = uint64(due) - stats.Published
	if after := uint64(max(0, r.rate.IndexAt(r.ended)+1-due)); stats.Missed < r.missed || stats.Missed > r.missed+after {
		return fmt.Errorf("%w: %d ticks due, %d published, %d missed", errClockRecord, due, stats.Published, stats.Missed)
	}
	r.sorted = slices.Sorted(slices.Values(r.late))
	for _, q := range []float64{0, 0.5, 0.99, 1} {
		// The publisher looks at the time first, and rounds up by a hundredth.
		least := float64(stats.Lateness.ValueAtQuantile(100 * q))
		if most := 1.01*float64(quantile(r.sorted, q)) + 1; least > most {
			return fmt.Errorf("%w: quantile %g of the lateness is %g ns, or %g", errClockRecord, q, least, most)
		}
	}
	return nil
}

// due returns how many deadlines there were up to the last tick.
func (r *clockRun) due() int64 { return r.rate.IndexAt(r.deadlines[len(r.deadlines)-1]) + 1 }

// lateness returns a quantile of the lateness in milliseconds.
func (r *clockRun) lateness(q float64) float64 {
	return milliseconds(time.Duration(quantile(r.sorted, q)))
}

// lateByPeriod counts the ticks that were late by more than a period.
func (r *clockRun) lateByPeriod() (n uint64) {
	for _, l := range r.late {
		if l > int64(r.rate.Period()) {
			n++
		}
	}
	return n
}

// periods returns a quantile of the time between messages, in milliseconds.
func (r *clockRun) periods(q float64) float64 {
	var between []int64
	for i := 1; i < len(r.late); i++ {
		between = append(between, r.deadlines[i]+r.late[i]-r.deadlines[i-1]-r.late[i-1])
	}
	slices.Sort(between)
	return milliseconds(time.Duration(quantile(between, q)))
}

// drift returns by how many microseconds the median lateness of the last tenth of
// the ticks exceeds that of the first.
func (r *clockRun) drift() float64 {
	tenth := max(1, len(r.late)/10)
	first := slices.Sorted(slices.Values(r.late[:tenth]))
	last := slices.Sorted(slices.Values(r.late[len(r.late)-tenth:]))
	return float64(quantile(last, 0.5)-quantile(first, 0.5)) / 1e3
}

// quantile returns the least of sorted values that a part q of them doesn't
// exceed; 0 of none.
func quantile(sorted []int64, q float64) int64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }
