package dispatch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/dispatch"
)

// logbook is a logger whose lines can be read.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logbook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logbook) lines(containing string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, containing) {
			found = append(found, line)
		}
	}
	return found
}

// D6: one warning with figures, however often senders wait.
func TestBlockingIsWarnedOfOnce(t *testing.T) {
	var log logbook
	d := newDispatcher(t, dispatch.Config{Logger: log.logger(), MaxWorkers: 1})
	topic := dispatch.NewTopic(d, "/slow", func(context.Context, int) error {
		runtime.Gosched()
		return nil
	}, dispatch.TopicConfig{Depth: 1})
	var senders sync.WaitGroup
	for range 4 {
		senders.Go(func() {
			for i := range 100 {
				topic.TryQueue(i)
			}
		})
	}
	senders.Wait()
	require.NoError(t, d.Drain(context.Background()))
	lines := log.lines("queue is full")
	require.Len(t, lines, 1)
	for _, figure := range []string{
		"topic=/slow", "waiting=1", "bytes=0", "depth=1", "max_bytes=67108864", "publish_time=", "running=", "workers=1", "max_workers=1",
	} {
		assert.Contains(t, lines[0], figure)
	}
}

// TestNoWaitWarning: waits of such a topic are counted, and not logged.
func TestNoWaitWarning(t *testing.T) {
	var log logbook
	d := newDispatcher(t, dispatch.Config{Logger: log.logger(), MaxWorkers: 1})
	release := make(chan struct{})
	topic := dispatch.NewTopic(d, "/slow", func(context.Context, int) error { <-release; return nil }, dispatch.TopicConfig{Depth: 1, NoWaitWarning: true})
	var senders sync.WaitGroup
	for range 3 { // one is sent, one waits in the queue, one for room
		senders.Go(func() { topic.TryQueue(1) })
	}
	for topic.Stats().Blocked == 0 {
		runtime.Gosched()
	}
	close(release)
	senders.Wait()
	require.NoError(t, d.Drain(context.Background()))
	assert.Empty(t, log.lines("queue is full"))
}

// failing sends n messages, 9 ms apart, to a publisher that fails.
func failing(t *testing.T, topic *dispatch.Topic[int], n int) {
	for i := range n {
		require.True(t, topic.TryQueueTask(i, dispatch.Task{Done: func(error) { panic("in callback") }}))
		time.Sleep(9 * time.Millisecond)
	}
}

// A publisher and callbacks that fail are logged at once, and then less and less often, with
// the count since. The remaining ones are logged at the end.
func TestFailuresFillNoLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logbook
		d := dispatch.New(dispatch.Config{Logger: log.logger()})
		topic := dispatch.NewTopic(d, "/a", func(context.Context, int) error { return errors.New("no peer") }, dispatch.TopicConfig{})
		failing(t, topic, 250) // 2.25 s
		time.Sleep(time.Hour)
		failing(t, topic, 10)
		require.NoError(t, d.Close(context.Background()))
		for _, what := range []string{"publish failed", "callback panicked"} {
			lines := log.lines(what)
			require.Len(t, lines, 4)
			for i, failures := range []int{1, 112, 138, 9} {
				assert.Contains(t, lines[i], "topic=/a failures="+strconv.Itoa(failures)+" ", what)
			}
			for i, second := range []string{"00:00:00.000", "00:00:01.008", "01:00:02.250", "01:00:02.340"} {
				assert.Contains(t, lines[i], second)
			}
		}
		assert.Contains(t, log.lines("callback panicked")[0], "log_test.go", "the stack")
	})
}

func TestFailuresAreLoggedByTheTopicsLogger(t *testing.T) {
	var log, other logbook
	d := newDispatcher(t, dispatch.Config{Logger: other.logger()})
	topic := dispatch.NewTopic(d, "/a", func(context.Context, int) error { return errors.New("no peer") },
		dispatch.TopicConfig{Logger: log.logger().With("bridge", "x:y")})
	done := make(chan struct{})
	require.True(t, topic.TryQueueTask(1, dispatch.Task{Done: func(error) { close(done) }}))
	<-done
	require.NoError(t, d.Close(context.Background()))
	require.Len(t, log.lines("publish failed"), 1)
	assert.Contains(t, log.lines("publish failed")[0], "bridge=x:y")
	assert.Empty(t, other.lines("publish failed"))
}

// What a topic expects is counted and told, but not logged.
func TestExpectedFailuresAreNotLogged(t *testing.T) {
	var log logbook
	d := newDispatcher(t, dispatch.Config{Logger: log.logger()})
	verdicts := []error{errVerdict, fmt.Errorf("send: %w", errVerdict), errors.New("another")}
	topic := dispatch.NewTopic(d, "/a", func(_ context.Context, i int) error { return verdicts[i] }, dispatch.TopicConfig{
		Ordered: true, Expected: func(err error) bool { return errors.Is(err, errVerdict) },
	})
	told := make(chan error, len(verdicts))
	for i := range verdicts {
		require.True(t, topic.TryQueueTask(i, dispatch.Task{Done: func(err error) { told <- err }}))
		assert.Equal(t, verdicts[i], <-told)
	}
	require.NoError(t, d.Close(context.Background()))
	require.Len(t, log.lines("publish failed"), 1)
	assert.Contains(t, log.lines("publish failed")[0], "err=another")
	assert.EqualValues(t, 3, topic.Stats().Failed)
}

// What fails after the end is not kept back.
func TestFailureAfterTopicCloseIsLogged(t *testing.T) {
	var log logbook
	d := newDispatcher(t, dispatch.Config{Logger: log.logger()})
	started, hold := make(chan struct{}, 1), make(chan struct{})
	topic := dispatch.NewTopic(d, "/a", func(context.Context, int) error {
		started <- struct{}{}
		<-hold
		return fmt.Errorf("send: %w", errVerdict)
	}, dispatch.TopicConfig{})
	require.True(t, topic.TryQueue(1))
	<-started
	topic.Close()
	close(hold)
	require.NoError(t, d.Drain(context.Background()))
	assert.Len(t, log.lines("publish failed"), 1)
}
