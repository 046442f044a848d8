package dispatch_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
)

// collected reports whether the garbage collector takes what p points to, within
// a time that only a leak exceeds.
func collected[T any](p weak.Pointer[T]) bool {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); runtime.Gosched() {
		runtime.GC()
		if p.Value() == nil {
			return true
		}
	}
	return false
}

// ballast is what a message, a callback or a token refers to.
type ballast struct{ bytes [1 << 16]byte }

// A resolved message is not held, whatever its fate was: neither its data nor its
// callback nor its token.
func TestResolvedMessagesAreNotHeld(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{MaxWorkers: 1})
	hold := make(chan struct{})
	topic := dispatch.NewTopic(d, "a", func(_ context.Context, b *ballast) error {
		<-hold
		if b.bytes[0] == 1 {
			panic(errVerdict)
		}
		return nil
	}, dispatch.TopicConfig{Policy: flow.DropOldest, Depth: 4})
	data, callbacks, tokens := offerBallast(topic, 20)
	close(hold)
	require.NoError(t, d.Drain(context.Background()))
	for i := range data {
		assert.True(t, collected(data[i]), "data %d", i)
		assert.True(t, collected(callbacks[i]), "callback %d", i)
		assert.True(t, collected(tokens[i]), "token %d", i)
	}
	s := topic.Stats()
	assert.NotZero(t, s.Sent)
	assert.NotZero(t, s.Failed)
	assert.NotZero(t, s.Dropped[flow.CauseQueueFull])
	assert.NotZero(t, s.Dropped[flow.CauseTokenBusy])
}

func offerBallast(topic *dispatch.Topic[*ballast], n int) (data, callbacks, tokens []weak.Pointer[ballast]) {
	for i := range n {
		b, callback, token := new(ballast), new(ballast), new(ballast)
		b.bytes[0] = byte(i % 2)
		task := dispatch.Task{Token: token, Done: func(error) { callback.bytes[0]++ }}
		topic.TryQueueTask(b, task)
		if i%3 == 0 {
			topic.TryQueueTask(b, task) // the token is in use
		}
		data = append(data, weak.Make(b))
		callbacks = append(callbacks, weak.Make(callback))
		tokens = append(tokens, weak.Make(token))
	}
	return data, callbacks, tokens
}

// A closed dispatcher is garbage although its context lives on, and with it its
// workers, topics and pools.
func TestClosedDispatcherIsCollected(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	d, topic, instance := func() (weak.Pointer[dispatch.Dispatcher], weak.Pointer[dispatch.Topic[*ballastCloud]], weak.Pointer[ballastCloud]) {
		d := dispatch.New(dispatch.Config{Context: ctx, Logger: quiet})
		var instance weak.Pointer[ballastCloud]
		topic := dispatch.NewTopic(d, "a", func(_ context.Context, c *ballastCloud) error {
			instance = weak.Make(c)
			return errVerdict // arms a timer of the log, too
		}, dispatch.TopicConfig{})
		for range 3 {
			topic.TryQueue(new(ballastCloud))
		}
		require.NoError(t, d.Drain(ctx))
		require.NoError(t, d.Close(ctx))
		return weak.Make(d), weak.Make(topic), instance
	}()
	assert.True(t, collected(instance), "pooled message")
	assert.True(t, collected(topic), "topic")
	assert.True(t, collected(d), "dispatcher")
}

// ballastCloud is a cached message.
type ballastCloud struct{ bytes [1 << 16]byte }

func (c *ballastCloud) CopyToCache(dst *ballastCloud) { dst.bytes = c.bytes }
func (c *ballastCloud) CacheKey() uint64              { return 0 }

// A closed topic is garbage although its dispatcher and its lane live on.
func TestClosedTopicIsCollected(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	lane := dispatch.NewLane(d)
	for i := range 3 {
		topic := func() weak.Pointer[dispatch.Topic[*ballastCloud]] {
			topic := dispatch.NewTopic(d, fmt.Sprint(i), nothing[*ballastCloud], dispatch.TopicConfig{Lane: lane})
			topic.TryQueue(new(ballastCloud))
			require.NoError(t, d.Drain(context.Background()))
			topic.Close()
			return weak.Make(topic)
		}()
		assert.True(t, collected(topic))
	}
	assert.Empty(t, d.Stats().Topics)
	runtime.KeepAlive(lane)
}

// Load of all kinds leaves the heap as it was.
func TestLoadLeavesNoMemory(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	topics := make([]*dispatch.Topic[*parcel], 3)
	for i := range topics {
		topics[i] = dispatch.NewTopic(d, fmt.Sprint(i), func(_ context.Context, p *parcel) error {
			switch p.id % 7 {
			case 1:
				return errVerdict
			case 2:
				panic(errVerdict)
			}
			return nil
		}, dispatch.TopicConfig{Policy: flow.Policy(i), Depth: 4})
	}
	round := func() uint64 {
		p := &parcel{body: make([]byte, 1000)}
		for i := range 3000 {
			p.id = i
			topics[i%3].TryQueueTask(p, dispatch.Task{Token: i % 5, Done: func(error) {}})
		}
		require.NoError(t, d.Drain(context.Background()))
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	round()
	before := round()
	for range 5 {
		round()
	}
	assert.Less(t, int64(round()-before), int64(200_000), "6 rounds of 3 MB")
}
