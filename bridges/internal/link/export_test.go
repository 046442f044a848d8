package link

import "github.com/raybridge/raybridge/sensors/stream/buffer"

// Pool returns what the pool did, for checks that nothing leaks.
func (l *Link) Pool() buffer.Stats { return l.pool.Stats() }
