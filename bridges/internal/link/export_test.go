package link

import "github.com/raybridge/raybridge/flow"

// Pool returns what the pool did, for checks that nothing leaks.
func (l *Link) Pool() flow.PoolStats { return l.pool.Stats() }
