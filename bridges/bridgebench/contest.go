package bridgebench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Config says how much is measured. The zero value stands for five runs of some 256 MB.
type Config struct {
	Runs int
	// Bytes is about how much one run sends, at least 8 messages.
	Bytes int64
}

// Contest is a bridge and what it is compared with.
type Contest struct {
	// Name identifies the contest: "foxglove_4x8mb".
	Name string
	// Plain says what the bridge is compared with.
	Plain string
	// Want is the ratio that is aimed at, 0 for none.
	Want float64

	bridge, plain func(ctx context.Context) (way, error)
	// perMessage compares messages a second where the two send different bytes.
	perMessage bool
}

// Result is what a contest came to.
type Result struct {
	// Size is one message's, in the bridge's encoding, bytes.
	Size int64
	// Bridge and Plain are bytes a second, run by run, and Messages the bridge's messages
	// a second; Allocs the allocations of the whole process for one message of the bridge.
	Bridge, Plain, Messages, Allocs []float64
	// Ratios are the bridge's rate over the plain writer's run right after it.
	Ratios []float64
}

// way is one way of sending messages. One goroutine uses it.
type way interface {
	// size is that of one message in bytes.
	size() int64
	// send sends so many messages and returns when the last byte of them has arrived.
	send(ctx context.Context, messages int) error
	close() error
}

// Contests returns all that this program can measure, in the order of their names.
func Contests() []Contest {
	list := []Contest{foxgloveContest(), mcapContest()}
	list = append(append(list, rosbridgeContests()...), tcpContests()...)
	slices.SortFunc(list, func(a, b Contest) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Run measures. ctx ends it. It needs the machine for itself.
func (c *Contest) Run(ctx context.Context, config Config) (result Result, err error) {
	config.Runs, config.Bytes = cmp.Or(config.Runs, 5), cmp.Or(config.Bytes, 256<<20)
	bridge, err := c.bridge(ctx)
	if err != nil {
		return result, fmt.Errorf("measure %s: %w", c.Name, err)
	}
	defer func() { err = errors.Join(err, bridge.close()) }()
	plain, err := c.plain(ctx)
	if err != nil {
		return result, fmt.Errorf("measure %s beside %s: %w", c.Name, c.Plain, err)
	}
	defer func() { err = errors.Join(err, plain.close()) }()
	messages := int(max(8, config.Bytes/bridge.size()))
	result.Size = bridge.size()
	for run := range config.Runs + 1 {
		ours, allocs, err := timed(ctx, bridge, messages)
		if err != nil {
			return result, fmt.Errorf("measure %s: %w", c.Name, err)
		}
		theirs, _, err := timed(ctx, plain, messages)
		if err != nil {
			return result, fmt.Errorf("measure %s beside %s: %w", c.Name, c.Plain, err)
		}
		if run > 0 { // in the first, buffers and congestion windows grow
			result.add(pair{bridge, plain, ours, theirs, c.perMessage})
			result.Allocs = append(result.Allocs, allocs)
		}
	}
	return result, nil
}

// pair is one run of each way, in messages a second.
type pair struct {
	bridge, plain way
	ours, theirs  float64
	perMessage    bool // how they are compared
}

// add notes a run's rates.
func (r *Result) add(p pair) {
	r.Messages = append(r.Messages, p.ours)
	r.Bridge = append(r.Bridge, p.ours*float64(p.bridge.size()))
	r.Plain = append(r.Plain, p.theirs*float64(p.plain.size()))
	ratio := p.ours / p.theirs
	if !p.perMessage {
		ratio *= float64(p.bridge.size()) / float64(p.plain.size())
	}
	r.Ratios = append(r.Ratios, ratio)
}

// timed returns messages a second, and allocations a message.
func timed(ctx context.Context, w way, messages int) (rate, allocs float64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun := time.Now()
	err = w.send(ctx, messages)
	took := time.Since(begun)
	runtime.ReadMemStats(&after)
	return float64(messages) / took.Seconds(), float64(after.Mallocs-before.Mallocs) / float64(messages), err
}
