package bridgetest

import (
	"context"
	"fmt"
	"time"
)

// Await waits until done returns true, which it asks for every millisecond: for what a peer
// or a bridge tells nobody of, such as a subscription. It returns an error that wraps
// ctx.Err() if ctx ends before. Tests wait with require.Eventually; examples, and programs
// that try a bridge out, with this.
func Await(ctx context.Context, done func() bool) error {
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("await: %w", ctx.Err())
		case <-again.C:
		}
	}
	return nil
}
