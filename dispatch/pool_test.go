package dispatch_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCacheKeysShareNothing(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	seen := map[*cloud]uint64{}
	topic := dispatch.NewTopic(d, "a", func(_ context.Context, c *cloud) error {
		if class, ok := seen[c]; ok && class != c.class {
			return fmt.Errorf("instance of class %d got class %d", class, c.class)
		}
		seen[c] = c.class
		return nil
	}, dispatch.TopicConfig{Ordered: true, Depth: 4})
	for i := range 100 {
		require.True(t, topic.TryQueue(&cloud{class: uint64(i % 3), points: make([]float32, 10)}))
	}
	require.NoError(t, d.Drain(context.Background()))
	s := topic.Stats()
	assert.Zero(t, s.Failed)
	assert.Equal(t, 3, s.Pool.Keys)
	assert.LessOrEqual(t, len(seen), 4+2+1+2)
	assert.EqualValues(t, 40*s.Pool.Idle, s.Pool.IdleBytes)
}

// However many keys there are, the pool holds no more than the topic can use.
func TestPoolIsBounded(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{MaxWorkers: 2})
	topic := dispatch.NewTopic(d, "a", nothing[*cloud], dispatch.TopicConfig{Depth: 3})
	for i := range 1000 {
		require.True(t, topic.TryQueue(&cloud{class: uint64(i)}))
	}
	require.NoError(t, d.Drain(context.Background()))
	pool := topic.Stats().Pool
	assert.LessOrEqual(t, pool.Idle, 3+2+1+2, "waiting, running, one in hand, and one more for each further key that may wait")
	assert.LessOrEqual(t, pool.Keys, pool.Idle+1)
}

func TestPoolIsTrimmedWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Config{Logger: quiet, TrimTimeout: 30 * time.Second})
		hold := make(chan struct{})
		topic := dispatch.NewTopic(d, "a", func(context.Context, *cloud) error { <-hold; return nil }, dispatch.TopicConfig{})
		for range 10 {
			require.True(t, topic.TryQueue(&cloud{}))
		}
		close(hold)
		require.NoError(t, d.Drain(context.Background()))
		require.Equal(t, 10, topic.Stats().Pool.Idle)
		for range 90 { // one at a time: the other nine are surplus
			time.Sleep(time.Second)
			require.True(t, topic.TryQueue(&cloud{}))
		}
		synctest.Wait()
		assert.Equal(t, 1, topic.Stats().Pool.Idle)
		time.Sleep(2 * time.Minute)
		assert.Equal(t, dispatch.PoolStats{}, topic.Stats().Pool)
		require.NoError(t, d.Close(context.Background()))
	})
}

// Bytes are counted where they are, and an instance counts with the largest
// message that it has held.
func TestPoolBytes(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{MaxWorkers: 1})
	started, hold := make(chan struct{}, 9), make(chan struct{})
	topic := dispatch.NewTopic(d, "a", func(context.Context, *cloud) error {
		started <- struct{}{}
		<-hold
		return nil
	}, dispatch.TopicConfig{})
	offer := func(points int) { require.True(t, topic.TryQueue(&cloud{points: make([]float32, points)})) }
	offer(100)
	<-started
	offer(10)
	assert.Equal(t, dispatch.PoolStats{Lent: 2, Keys: 1, LentBytes: 440}, topic.Stats().Pool)
	close(hold)
	require.NoError(t, d.Drain(context.Background()))
	assert.Equal(t, dispatch.PoolStats{Idle: 2, Keys: 1, IdleBytes: 440}, topic.Stats().Pool)
	for range 2 { // the same instances
		offer(1)
		require.NoError(t, d.Drain(context.Background()))
	}
	assert.Equal(t, dispatch.PoolStats{Idle: 2, Keys: 1, IdleBytes: 440}, topic.Stats().Pool)
}

// Instances that were filled by turns with large messages are not all kept.
func TestPoolBytesAreBounded(t *testing.T) {
	const large, bound = 1000, 3 * 4 * 1000
	d := newDispatcher(t, dispatch.Config{MaxWorkers: 1})
	hold := make(chan struct{})
	topic := dispatch.NewTopic(d, "a", func(context.Context, *cloud) error { <-hold; return nil },
		dispatch.TopicConfig{MaxBytes: bound, Depth: 40})
	for round := range 30 {
		for i := range 30 {
			points := 1
			if i == round {
				points = large
			}
			require.True(t, topic.TryQueue(&cloud{points: make([]float32, points)}))
		}
		for range 30 {
			hold <- struct{}{}
		}
		require.NoError(t, d.Drain(context.Background()))
		pool := topic.Stats().Pool
		assert.LessOrEqual(t, pool.IdleBytes, int64(bound))
		assert.Zero(t, pool.Lent)
		assert.Zero(t, pool.LentBytes)
	}
	assert.Greater(t, topic.Stats().Pool.Idle, 2)
}

// sizedPoints is a message with a size that is not cached.
type sizedPoints []float32

func (s sizedPoints) SizeBytes() int64 { return int64(4 * len(s)) }

// A pool of messages that are not cached instances holds no data.
func TestPlainMessagesAreNotHeld(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	topic := dispatch.NewTopic(d, "a", nothing[sizedPoints], dispatch.TopicConfig{})
	require.True(t, topic.TryQueue(make(sizedPoints, 100)))
	require.NoError(t, d.Drain(context.Background()))
	assert.Equal(t, dispatch.PoolStats{Idle: 1, Keys: 1}, topic.Stats().Pool)
}

// A closed topic, or one of a closed dispatcher, keeps its counts alone.
func TestClosedTopicsPoolIsEmpty(t *testing.T) {
	for _, all := range []bool{false, true} {
		d := newDispatcher(t, dispatch.Config{})
		started, hold := make(chan struct{}, 9), make(chan struct{})
		topic := dispatch.NewTopic(d, "a", func(_ context.Context, c *cloud) error {
			started <- struct{}{}
			if c.stamp > 0 {
				<-hold
			}
			return nil
		}, dispatch.TopicConfig{})
		require.True(t, topic.TryQueue(&cloud{}))
		require.NoError(t, d.Drain(context.Background()))
		<-started
		require.True(t, topic.TryQueue(&cloud{stamp: 1}))
		<-started
		if all {
			closing := make(chan error)
			go func() { closing <- d.Close(context.Background()) }()
			for topic.Publish(context.Background(), &cloud{}) == nil {
				<-started
				runtime.Gosched()
			}
			close(hold)
			require.NoError(t, <-closing)
		} else {
			topic.Close()
			close(hold)
			require.NoError(t, d.Drain(context.Background()))
		}
		assert.Equal(t, dispatch.PoolStats{}, topic.Stats().Pool)
	}
}

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

func (c *ballastCloud) CacheKey() uint64 { return 0 }

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
		}, dispatch.TopicConfig{Policy: flow.Block + flow.Policy(i), Depth: 4})
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
