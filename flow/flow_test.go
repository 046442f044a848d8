package flow_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
)

func TestPolicyNames(t *testing.T) {
	for _, name := range flow.Policies() {
		var p flow.Policy
		require.NoError(t, p.UnmarshalText([]byte(name)))
		text, err := p.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, name, string(text))
		assert.Equal(t, name, p.String())
		assert.Equal(t, p, p.Or(flow.Block))
	}
	assert.Len(t, flow.Policies(), 4)
	_, err := flow.ParsePolicy("keep_all")
	assert.ErrorIs(t, err, flow.ErrPolicy)
	assert.ErrorContains(t, err, "block, drop_newest, drop_oldest or exclusive")
	_, err = flow.ParsePolicy("")
	assert.ErrorIs(t, err, flow.ErrPolicy)
	_, err = flow.Policy(7).MarshalText()
	assert.ErrorIs(t, err, flow.ErrPolicy)
	assert.Equal(t, "Policy(7)", flow.Policy(7).String())
}

func TestUnsetPolicy(t *testing.T) {
	p := flow.DropNewest
	require.NoError(t, p.UnmarshalText(nil))
	assert.Equal(t, flow.Unset, p)
	text, err := p.MarshalText()
	require.NoError(t, err)
	assert.Empty(t, text)
	assert.True(t, p.Valid())
	assert.Equal(t, flow.Block, p.Or(flow.Block))
	require.Error(t, p.UnmarshalText([]byte("unset")), "it isn't a name")
	assert.Equal(t, flow.Unset, p)
}

func TestCauseOf(t *testing.T) {
	full := flow.NewError(flow.CauseQueueFull, "full")
	write, closed := flow.NewError(flow.CauseWriteFailed, "no space"), flow.NewError(flow.CauseClosed, "closed")
	for _, tt := range []struct {
		err  error
		want flow.Cause
	}{
		{nil, ""},
		{full, flow.CauseQueueFull},
		{fmt.Errorf("send: %w", full), flow.CauseQueueFull},
		{fmt.Errorf("send: %w", context.Canceled), flow.CauseClosed},
		{context.DeadlineExceeded, flow.CausePeerSlow},
		{errors.New("any"), flow.CauseConvertFailed},
		{fmt.Errorf("send: %w", disconnected{}), flow.CauseNotConnected},
		{errors.Join(closed, write), flow.CauseWriteFailed},
		{errors.Join(write, closed), flow.CauseWriteFailed},
		{fmt.Errorf("%w: %w", disconnected{}, context.Canceled), flow.CauseClosed},
		{fmt.Errorf("%w: %w", full, disconnected{}), flow.CauseNotConnected},
		{errors.Join(flow.NewError(flow.CauseTooLarge, "large"), full), flow.CauseTooLarge},
	} {
		assert.Equal(t, tt.want, flow.CauseOf(tt.err), "%v", tt.err)
	}
}

// disconnected is an error from outside that names its cause.
type disconnected struct{}

func (disconnected) Error() string     { return "peer is gone" }
func (disconnected) DropCause() string { return "not_connected" }

func TestDropsTotal(t *testing.T) {
	assert.EqualValues(t, 5, flow.Drops{flow.CauseClosed: 2, flow.CauseSkipped: 3}.Total())
	assert.Zero(t, flow.Drops(nil).Total())
}

// Policies are named in configurations.
func ExampleParsePolicy() {
	policy, err := flow.ParsePolicy("drop_oldest")
	fmt.Println(policy == flow.DropOldest, err)
	_, err = flow.ParsePolicy("newest")
	fmt.Println(err)
	// Output:
	// true <nil>
	// unknown policy "newest": want block, drop_newest, drop_oldest or exclusive
}

// brokenPipe is an error of a bridge that names its cause.
type brokenPipe struct{}

func (brokenPipe) Error() string     { return "broken pipe" }
func (brokenPipe) DropCause() string { return string(flow.CauseNotConnected) }

// Losses are counted by the cause that the error says.
func ExampleCauseOf() {
	full := flow.NewError(flow.CauseQueueFull, "queue is full")
	for _, err := range []error{full, fmt.Errorf("send image: %w", brokenPipe{}), errors.New("no such encoding")} {
		fmt.Printf("%v: %s\n", err, flow.CauseOf(err))
	}
	// Output:
	// queue is full: queue_full
	// send image: broken pipe: not_connected
	// no such encoding: convert_failed
}

// TestTellLong: what takes a second or less is silent, and what takes longer is told of once.
func TestTellLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(&log, nil))
		done := flow.TellLong(logger, "knitting")
		time.Sleep(time.Second - 1)
		done()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Empty(t, log.String())
		done = flow.TellLong(logger, "knitting")
		time.Sleep(time.Minute)
		synctest.Wait()
		done()
		assert.Equal(t, 1, strings.Count(log.String(), `level=INFO msg="still knitting ..."`))
	})
}

// TestJournal: something happens four times a second, for ten minutes, then rests.
func TestJournal(t *testing.T) {
	var r flow.Journal
	begin := time.Unix(1000, 0)
	var told []int     // in seconds
	var untold []int64 // before each
	for k := range 4 * 600 {
		if n, ok := r.Tell(begin.Add(time.Duration(k) * time.Second / 4)); ok {
			told, untold = append(told, k/4), append(untold, n)
		}
	}
	assert.Equal(t, []int{0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 303, 363, 423, 483, 543}, told)
	assert.Equal(t, []int64{0, 3, 7, 15, 31, 63, 127, 239}, untold[:8])
	_, ok := r.Tell(begin.Add(12 * time.Minute))
	assert.True(t, ok)
	_, ok = r.Tell(begin.Add(12*time.Minute + time.Second))
	assert.True(t, ok, "it was quiet for two minutes")
}

func TestTally(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tally flow.Tally
		assert.Equal(t, flow.Counts{}, tally.Counts())
		for range 20 { // 10 Hz
			tally.Sent(100)
			time.Sleep(100 * time.Millisecond)
		}
		tally.Lost(2, 200, flow.CauseWriteFailed)
		tally.Dropped(flow.CausePeerSlow)
		got := tally.Counts()
		assert.InDelta(t, 10, got.RateHz, 1)
		want := flow.Counts{
			Messages: 18, Bytes: 1800, RateHz: got.RateHz,
			Drops: flow.Drops{flow.CauseWriteFailed: 2, flow.CausePeerSlow: 1},
		}
		assert.Equal(t, want, got)

		got.Drops.Merge(got.Drops)
		assert.EqualValues(t, 6, got.Drops.Total())
		assert.EqualValues(t, 3, tally.Counts().Drops.Total(), "counts are the caller's")

		time.Sleep(2 * time.Second)
		assert.Zero(t, tally.Counts().RateHz, "silent for two seconds")
	})
}

// TestCausesAreDocumented: the tables for users have a row for each cause.
func TestCausesAreDocumented(t *testing.T) {
	source, err := os.ReadFile("cause.go")
	require.NoError(t, err)
	page, err := os.ReadFile("../docs/bridges/README.md")
	require.NoError(t, err)
	causes := regexp.MustCompile(`\tCause\w+ +Cause += "(\w+)"`).FindAllSubmatch(source, -1)
	require.NotEmpty(t, causes)
	for _, cause := range causes {
		row := fmt.Sprintf("\n| `%s` | ", cause[1])
		assert.True(t, strings.Contains(string(page), row), "docs/bridges/README.md has no row for %s: add one", cause[1])
	}
	known := append(flow.Losses(), flow.CauseNoReturn, flow.CauseIdle)
	assert.Len(t, known, len(causes))
	for _, cause := range causes {
		assert.Contains(t, known, flow.Cause(cause[1]), "a cause is a loss, or one of the two that aren't")
	}
}
