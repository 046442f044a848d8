package sweep_test

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep/queue"
)

// serve starts a server for a store.
func serve(t *testing.T, s *sweep.Store) *queue.Server {
	t.Helper()
	v, err := queue.Serve(s, "127.0.0.1", 0, quiet(t))
	require.NoError(t, err)
	return v
}

// quiet logs to the test.
func quiet(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}

// onNATS is the engine of a server of its own, with workers of one case at a time.
func onNATS(ctx context.Context, t *testing.T, w *sweep.Worker, workers int) (_ *queue.Engine, end func()) {
	t.Helper()
	v := serve(t, w.Store)
	e, err := queue.NewEngine(ctx, &queue.Options{Access: v.Own, Store: w.Store, Plan: w.Plan, Log: quiet(t)})
	require.NoError(t, err)
	var running sync.WaitGroup
	for i := range workers {
		one := workerOn(t, v, w)
		one.Name = "worker " + strconv.Itoa(i)
		running.Go(func() { _ = one.Run(ctx) }) // the engine says why it ended
	}
	return e, func() {
		e.Close(true)
		running.Wait()
		require.NoError(t, v.Close(true))
	}
}

// workerOn is a worker of a server.
func workerOn(t *testing.T, v *queue.Server, w *sweep.Worker) *queue.Worker {
	t.Helper()
	to, err := v.ForWorkers()
	require.NoError(t, err)
	to.Log = quiet(t)
	return &queue.Worker{
		Access: to, Store: w.Store, Jobs: 1, Patience: 5 * time.Second, Log: quiet(t),
		Prepare: func() (*sweep.Worker, error) { return w, nil },
	}
}
