package scene

import (
	"sync"
	"sync/atomic"
)

// each calls f for every i below n, on the builder's workers, and waits.
func (b *builder) each(n int, f func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(b.workers, n) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	group.Wait()
}

// parallel calls f for chunks of [0, n) on the builder's workers and waits.
func (b *builder) parallel(n int, f func(lo, hi int)) {
	const chunk = 4096
	workers := min(b.workers, (n+chunk-1)/chunk)
	if workers <= 1 {
		f(0, n)
		return
	}
	var group sync.WaitGroup
	for k := range workers {
		group.Go(func() { f(n*k/workers, n*(k+1)/workers) })
	}
	group.Wait()
}
