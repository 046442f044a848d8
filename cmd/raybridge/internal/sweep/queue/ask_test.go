//go:build !nonatsserver

package queue_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep/queue"
)

// TestServerIsAway: a case waits for a server that is away for long, or whose store is full, and says so once. An error that waiting can't mend ends it.
func TestServerIsAway(t *testing.T) {
	t.Parallel()
	full := &jetstream.APIError{Code: 503, ErrorCode: 10023, Description: "insufficient resources"}
	for name, passing := range map[string]error{
		"no answer": context.DeadlineExceeded, "no stream": jetstream.ErrNoStreamResponse, "no responders": nats.ErrNoResponders, "much is unsent": nats.ErrReconnectBufExceeded, "full": full,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				back := time.Now().Add(20 * time.Minute)
				warned := 0
				err := queue.Persist(t.Context(), func(context.Context) error {
					if time.Now().Before(back) {
						return passing
					}
					return nil
				}, func(err error) {
					warned++
					assert.ErrorIs(t, err, passing)
				})
				require.NoError(t, err)
				assert.Equal(t, 1, warned)

				ctx, end := context.WithTimeout(t.Context(), 10*time.Minute)
				defer end()
				require.ErrorIs(t, queue.Persist(ctx, func(context.Context) error { return passing }, func(error) {}), passing, "it was told to end")
			})
		})
	}
	for _, lasting := range []error{nats.ErrConnectionClosed, jetstream.ErrJetStreamNotEnabled, errors.New("another")} {
		require.ErrorIs(t, queue.Persist(t.Context(), func(context.Context) error { return lasting }, func(error) {}), lasting)
	}
	assert.ErrorContains(t, queue.StreamFault(full, "sweep_1"), "the NATS server has no room")
}
