package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep/queue"
	"github.com/raybridge/raybridge/internal/fault"
)

// Sizes of the sweeps on NATS.
const (
	handedOutCases      = 5000
	quickHandedOutCases = 500
	queueConnections    = 10  // of the workers
	queueWorkers        = 100 // of each
)

// measureHandOuts has workers take cases that take no time from a server in this process.
func (k *sweepCase) measureHandOuts(ctx context.Context, cfg *Config) ([]Result, error) {
	n := ifQuick(cfg.Quick, quickHandedOutCases, handedOutCases)
	row := Result{Name: "sweep.handouts_per_s", Case: k.name, Unit: "cases/s", Note: fmt.Sprintf("%s, %d workers", fault.Count(n, "case"), queueConnections*queueWorkers)}
	for range cfg.Runs {
		took, err := handOut(ctx, n)
		if err != nil {
			return nil, err
		}
		row.Runs = append(row.Runs, float64(n)/took.Seconds())
	}
	return []Result{row}, nil
}

// handOut has so many cases handed out, each one once, and returns the time from the first offer to the last end.
func handOut(ctx context.Context, n int) (took time.Duration, err error) {
	dir, err := os.MkdirTemp("", "raybridge-bench-")
	if err != nil {
		return 0, fmt.Errorf("make a folder for the sweep: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := sweep.CreateStore(dir)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	p := &sweep.Plan{}
	for i := range n {
		p.Cases = append(p.Cases, sweep.Case{ID: fmt.Sprintf("%032x", i)})
	}
	log := slog.New(slog.DiscardHandler)
	v, err := queue.Serve(s, "127.0.0.1", 0, log)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, v.Close(true)) }()
	e, err := queue.NewEngine(ctx, &queue.Options{Access: v.Own, Store: s, Plan: p, Log: log})
	if err != nil {
		return 0, err
	}
	var running sync.WaitGroup
	defer running.Wait()
	defer e.Close(true)
	for i := range queueConnections {
		w, err := idleWorker(v, s, p, log)
		if err != nil {
			return 0, err
		}
		w.Name = fmt.Sprintf("worker %d", i)
		running.Go(func() { _ = w.Run(ctx) }) // the engine tells of a worker that leaves
	}
	for len(e.Workers()) < queueConnections {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		time.Sleep(time.Millisecond)
	}
	began := time.Now()
	report, err := (&sweep.Run{Store: s, Plan: p, Engine: e}).Run(ctx)
	if err == nil {
		err = report.Err()
	}
	return time.Since(began), err
}

// idleWorker is a worker whose cases take no time.
func idleWorker(v *queue.Server, s *sweep.Store, p *sweep.Plan, log *slog.Logger) (*queue.Worker, error) {
	access, err := v.ForWorkers()
	if err != nil {
		return nil, err
	}
	access.Log = log
	return &queue.Worker{
		Access: access, Store: s, Jobs: queueWorkers, Patience: time.Minute, Log: log,
		Prepare: func() (*sweep.Worker, error) { return &sweep.Worker{Store: s, Plan: p}, nil },
		Try: func(_ context.Context, c *sweep.Case, _ int) sweep.End {
			dir := filepath.Join(s.Dir(), "cases", c.ID[:2], c.ID)
			if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "manifest.json"), nil, 0o644)); err != nil {
				return sweep.End{Case: c, Result: sweep.Returned, Err: err}
			}
			return sweep.End{Case: c}
		},
	}, nil
}

// measureQueued has a coordinator begin a large plan, and returns the memory of its process.
func (k *sweepCase) measureQueued(ctx context.Context, cfg *Config) (rows []Result, err error) {
	dir, err := largePlan(cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	out := filepath.Join(dir, "out")
	if _, err := sweepCommand(ctx, cfg, "plan", filepath.Join(dir, "sweep.yaml"), "--out", out); err != nil {
		return nil, err
	}
	row := Result{Name: "sweep.queue_rss_bytes", Case: k.name, Unit: "bytes", Note: "most resident memory of the process"}
	memory, err := queuePlan(ctx, cfg, out)
	row.Runs = []float64{memory}
	return []Result{row}, err
}

// queuePlan starts a coordinator of a planned sweep without workers, and ends it when its queue is full. It returns the
// most resident memory, bytes.
func queuePlan(ctx context.Context, cfg *Config, dir string) (memory float64, err error) {
	cmd := exec.CommandContext(ctx, cfg.Program, "sweep", "run", "--out", dir, "--listen", "0", "--metrics", "0", "--quiet")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	said, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return 0, fmt.Errorf("start a coordinator: %w", err)
	}
	url := ""
	for lines := bufio.NewScanner(said); url == "" && lines.Scan(); {
		url, _ = strings.CutPrefix(lines.Text(), "metrics: ")
		if !strings.HasPrefix(url, "http") {
			url = ""
		}
	}
	go func() { _, _ = io.Copy(io.Discard, said) }() // it ends with the process
	err = errors.New("the coordinator has ended before its queue was full")
	if url != "" {
		err = untilQueued(ctx, url)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	_ = cmd.Wait()                          // cases are left: it ends with 4
	return residentMost(cmd.ProcessState), err
}

// untilQueued waits until a coordinator's metrics say that as many cases are in its queue as without workers.
func untilQueued(ctx context.Context, url string) error {
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return fmt.Errorf("ask the coordinator: %w", err)
		}
		text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
		_ = answer.Body.Close() // it was read
		if err != nil {
			return fmt.Errorf("ask the coordinator: %w", err)
		}
		if strings.Contains(string(text), fmt.Sprintf("\nraybridge_sweep_offers_total %d\n", queue.FewOffered)) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}
