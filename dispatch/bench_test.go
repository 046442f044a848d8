package dispatch_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/raybridge/raybridge/dispatch"
)

// block is a ThreadCached message of a fixed size.
type block struct{ data []byte }

func (b *block) CopyToCache(dst *block) { dst.data = append(dst.data[:0], b.data...) }
func (b *block) CacheKey() uint64       { return 0 }

var benchSizes = []struct {
	name string
	size int
}{{"64B", 64}, {"64KiB", 64 << 10}, {"8MiB", 8 << 20}}

const benchDepth = 64

// checksum stands for a publisher's work: it touches one byte in 4096.
func checksum(data []byte) (sum byte) {
	for i := 0; i < len(data); i += 4096 {
		sum += data[i]
	}
	return sum
}

// filledBlock's pages are all its own: reading fresh memory would read one page
// of zeros again and again.
func filledBlock(size int) *block {
	b := &block{data: make([]byte, size)}
	for i := range b.data {
		b.data[i] = byte(i)
	}
	return b
}

func depthFor(size int) int {
	if size > 1<<20 {
		return 4
	}
	return benchDepth
}

func BenchmarkDispatch(b *testing.B) {
	for _, size := range benchSizes {
		for _, workers := range []int{1, runtime.GOMAXPROCS(0)} {
			b.Run(fmt.Sprintf("%s/%dworkers", size.name, workers), func(b *testing.B) {
				benchDispatcher(b, size.size, workers)
			})
		}
	}
}

func benchDispatcher(b *testing.B, size, workers int) {
	d := newDispatcher(b, dispatch.Config{MaxWorkers: workers})
	var sum, resolved atomic.Int64
	topic := dispatch.NewTopic(d, "bench", func(_ context.Context, m *block) error {
		sum.Add(int64(checksum(m.data)))
		return nil
	}, dispatch.TopicConfig{Depth: depthFor(size), MaxBytes: -1})
	message := filledBlock(size)
	done := func(error) { resolved.Add(1) }
	for range 300 {
		topic.TryQueueTask(message, dispatch.Task{Done: done})
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		topic.TryQueueTask(message, dispatch.Task{Done: done})
	}
	if err := d.Drain(context.Background()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkChannel is the baseline: the same number of workers on a channel,
// recycled buffers, the same copy, a callback and counters.
func BenchmarkChannel(b *testing.B) {
	for _, size := range benchSizes {
		for _, workers := range []int{1, runtime.GOMAXPROCS(0)} {
			b.Run(fmt.Sprintf("%s/%dworkers", size.name, workers), func(b *testing.B) {
				benchChannel(b, size.size, workers)
			})
		}
	}
}

type channelTask struct {
	data *block
	done func(error)
}

func benchChannel(b *testing.B, size, workers int) {
	depth := depthFor(size)
	queue := make(chan channelTask, depth)
	free := make(chan *block, depth+workers+1)
	for range cap(free) {
		free <- filledBlock(size)
	}
	var sum, resolved, queued, sent atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for task := range queue {
				sum.Add(int64(checksum(task.data.data)))
				free <- task.data
				sent.Add(1)
				task.done(nil)
			}
		})
	}
	message := filledBlock(size)
	done := func(error) { resolved.Add(1) }
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		copied := <-free
		message.CopyToCache(copied)
		queue <- channelTask{copied, done}
		queued.Add(1)
	}
	close(queue)
	group.Wait()
}
