package sweep_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep/queue"
)

// serve starts a server for a store.
func serve(t *testing.T, s *sweep.Store) *queue.Server {
	t.Helper()
	v, err := queue.Serve(s, "127.0.0.1", 0, quiet(t))
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() { // the test may not have come to its end
			_ = v.Close(false)
		}
	})
	return v
}

// quiet logs to the test.
func quiet(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}

// engineOn is an engine of a server, with a lease of a second.
func engineOn(t *testing.T, v *queue.Server, s *sweep.Store, p *sweep.Plan) *queue.Engine {
	t.Helper()
	return engineOf(t, &queue.Options{Access: v.Own, Store: s, Plan: p, Lease: time.Second, Log: quiet(t)})
}

func engineOf(t *testing.T, o *queue.Options) *queue.Engine {
	t.Helper()
	e, err := queue.NewEngine(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() { // the test may not have come to its end
			e.Close(false)
		}
	})
	return e
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
		Access: to, Store: w.Store, Jobs: 1, Patience: patience, Log: quiet(t),
		Prepare: func() (*sweep.Worker, error) { return w, nil },
	}
}

// queueProcess is a process that serves a folder, or works on it, until it is told to end.
func queueProcess(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := sweep.OpenStore(args[1])
	if err == nil {
		defer s.Close()
		if args[0] == "serve" {
			err = serveUntil(ctx, s)
		} else {
			err = workUntil(ctx, s, args[2], args[3])
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serveUntil(ctx context.Context, s *sweep.Store) error {
	v, err := queue.Serve(s, "127.0.0.1", 0, slog.Default())
	if err != nil {
		return err
	}
	fmt.Println("ready")
	<-ctx.Done()
	return v.Close(false)
}

func workUntil(ctx context.Context, s *sweep.Store, url, secret string) error {
	p, err := s.Plan()
	if err != nil {
		return err
	}
	key, err := os.ReadFile(secret)
	if err != nil {
		return err
	}
	w, err := newWorker(s, p)
	if err != nil {
		return err
	}
	access := queue.Access{URL: url, Log: slog.Default()}
	if len(key) > 0 {
		access.Credentials = key
	}
	return (&queue.Worker{
		Access: access, Store: s, Jobs: 1, Patience: 20 * time.Second, Log: slog.Default(),
		Prepare: func() (*sweep.Worker, error) { return w, nil },
	}).Run(ctx)
}

// workers starts processes that work on a folder. They end with the test.
func workers(t *testing.T, s *sweep.Store, url, secret string, n int) (list []*exec.Cmd) {
	t.Helper()
	for range n {
		list = append(list, startWorker(t, os.Args[0], s.Dir(), url, secret))
	}
	return list
}

// startWorker starts this test's program, or another build of it, as a worker, with the arguments of queueProcess.
func startWorker(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program, append([]string{"work"}, args...)...)
	cmd.Env = append(os.Environ(), napVariable+"=0.1")
	cmd.Stderr = t.Output()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// stopInCase stops a worker in the middle of a case.
func stopInCase(t *testing.T, worker *exec.Cmd) {
	t.Helper()
	pid := strconv.Itoa(worker.Process.Pid)
	require.Eventually(t, func() bool {
		require.NoError(t, worker.Process.Signal(syscall.SIGSTOP))
		tasks, err := filepath.Glob("/proc/" + pid + "/task/*/children")
		require.NoError(t, err)
		for _, file := range tasks {
			if children, _ := os.ReadFile(file); len(children) > 0 {
				return true
			}
		}
		require.NoError(t, worker.Process.Signal(syscall.SIGCONT))
		return false
	}, 10*time.Second, 7*time.Millisecond)
}

// caseOf is the case that a worker runs, which was stopped in it.
func caseOf(t *testing.T, s *sweep.Store, worker *exec.Cmd) string {
	t.Helper()
	for _, name := range entries(t, s, "attempts") {
		var timing sweep.Timing
		data, err := os.ReadFile(filepath.Join(s.Dir(), "attempts", name, "timing.json"))
		if err == nil && json.Unmarshal(data, &timing) == nil && timing.PID == worker.Process.Pid {
			return timing.ID
		}
	}
	t.Fatal("it runs no case")
	return ""
}

// TestWorkersDie: of three workers, one is killed, and one is stopped for longer than its lease and then continues. Each
// case has one result, with the bytes of a sweep that nobody disturbs.
func TestWorkersDie(t *testing.T) {
	t.Parallel()
	const keys = `matrix: {scene.seed: [1, 2, 3], ego.speed: [1, 2]}, repeat: {seed: 10}, collect: [ego.distance]`
	calm, p := storeOf(t, keys)
	require.NoError(t, runLocal(t, calm, p).Err())
	s, p := storeOf(t, keys)
	v := serve(t, s)
	e := engineOf(t, &queue.Options{Access: v.Own, Store: s, Plan: p, Lease: 3 * time.Second, Log: quiet(t)})
	list := workers(t, s, v.Own.URL, v.SecretFile, 3)
	ended := make(chan *sweep.Report)
	go func() {
		r, err := (&sweep.Run{Store: s, Plan: p, Engine: e, Delay: time.Millisecond}).Run(t.Context())
		assert.NoError(t, err)
		ended <- r
	}()
	stopInCase(t, list[0])
	killed := caseOf(t, s, list[0])
	require.NoError(t, list[0].Process.Kill())
	require.Error(t, list[0].Wait())
	stopInCase(t, list[1])
	stopped := caseOf(t, s, list[1])
	require.Eventually(t, func() bool { return s.Has(killed) && s.Has(stopped) }, 60*time.Second, 10*time.Millisecond, "another worker has their cases")
	require.NoError(t, list[1].Process.Signal(syscall.SIGCONT))
	r := <-ended
	require.NoError(t, r.Err())
	e.Close(true)
	for _, worker := range list[1:] {
		assert.NoError(t, worker.Wait(), "a worker ends well when the sweep is complete")
	}
	require.NoError(t, v.Close(true))
	require.NoError(t, s.SweepDead())
	st := stateOf(t, s, p)
	assert.Equal(t, []int{60, 0, 0, 0}, []int{st.Done, st.Failed, st.Running, len(st.Alarms)})
	assert.Equal(t, results(t, calm), results(t, s))
	assert.Empty(t, entries(t, s, "attempts"))
	assert.NoDirExists(t, filepath.Join(s.Dir(), "nats"), "a sweep that is complete keeps no secrets")
}

// TestOneServerOfAFolder: the server doesn't notice a second one of its files, so that a lock has to.
func TestOneServerOfAFolder(t *testing.T) {
	t.Parallel()
	s, _ := storeOf(t, `matrix: {scene.seed: [1]}`)
	first := exec.Command(os.Args[0], "serve", s.Dir())
	out, err := first.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, first.Start())
	_, err = out.Read(make([]byte, 1)) // it serves
	require.NoError(t, err)
	_, err = queue.Serve(s, "127.0.0.1", 0, quiet(t))
	require.ErrorIs(t, err, sweep.ErrInUse)
	require.NoError(t, first.Process.Kill())
	_ = first.Wait()
	require.NoError(t, serve(t, s).Close(true), "the lock of a process that was killed is free")
}

// TestServerCantStart: the error says why, whether that is the address or the server's files.
func TestServerCantStart(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { taken.Close() })
	s, _ := storeOf(t, `matrix: {scene.seed: [1]}`)
	_, err = queue.Serve(s, "127.0.0.1", taken.Addr().(*net.TCPAddr).Port, quiet(t))
	require.ErrorIs(t, err, queue.ErrListen)
	assert.Contains(t, err.Error(), taken.Addr().String())

	files := filepath.Join(s.Dir(), "nats", "jetstream")
	require.NoError(t, os.RemoveAll(files))
	require.NoError(t, os.WriteFile(files, []byte("damaged"), 0o600))
	_, err = queue.Serve(s, "127.0.0.1", 0, quiet(t))
	require.ErrorContains(t, err, files)
	assert.NotErrorIs(t, err, queue.ErrListen)
	assert.Contains(t, err.Error(), "remove them")

	require.NoError(t, os.Remove(files))
	require.NoError(t, serve(t, s).Close(true), "the lock is free again")
}

// TestOfferedAgain: NATS swallows a message that has the id of one of the last two minutes, also when that one was dealt with. A case that
// is offered again gets a worker in any case, also by the next coordinator.
func TestOfferedAgain(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1]}`)
	w, err := newWorker(s, p)
	require.NoError(t, err)
	v := serve(t, s)
	e := engineOn(t, v, s, p)
	one := workerOn(t, v, w)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { left <- one.Run(ctx) }()
	again := func(e *queue.Engine) {
		for range 2 {
			limited, stop := context.WithTimeout(t.Context(), 10*time.Second)
			require.NoError(t, e.Offer(t.Context(), &p.Cases[0], 1))
			end, err := e.End(limited)
			stop()
			require.NoError(t, err)
			require.Equal(t, sweep.Done, end.Result)
		}
	}
	again(e)
	next := engineOn(t, v, s, p) // the first one counts as killed
	again(next)
	cancel()
	require.ErrorIs(t, <-left, context.Canceled)
	e.Close(false)
	next.Close(true)
	require.NoError(t, v.Close(true))
}

// TestPlannedAgain: a folder that workers have run can be planned again without its plan, as the message about a damaged one says.
func TestPlannedAgain(t *testing.T) {
	t.Parallel()
	const keys = `matrix: {scene.seed: [1, 2]}`
	s, p := storeOf(t, keys)
	v := serve(t, s)
	require.NoError(t, s.SetWorkers([]sweep.WorkerState{{Name: "killed with its coordinator"}}))
	e := engineOn(t, v, s, p)
	require.NoError(t, os.Remove(filepath.Join(s.Dir(), "plan.json")))
	_, again, err := storeIn(t, s.Dir(), keys)
	require.NoError(t, err)
	assert.Equal(t, p.ID(), again.ID())
	e.Close(false)
	require.NoError(t, v.Close(false))
}

// TestReportsOfOthers: the names and words of a worker have bounds, and its alarms the paths of the coordinator. Anyone who has
// the workers' key can say anything.
func TestReportsOfOthers(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1]}`)
	v := serve(t, s)
	e := engineOn(t, v, s, p)
	to, err := v.ForWorkers()
	require.NoError(t, err)
	nc := connect(t, to.URL, to.Credentials)
	id := p.Cases[0].ID
	say := func(subject string, message map[string]any) {
		data, err := json.Marshal(message)
		require.NoError(t, err)
		require.NoError(t, nc.Publish("sweep."+p.ID()+"."+subject, data))
	}
	const escape = "\x1b[2J"
	long := strings.Repeat("x", 300<<10)
	require.NoError(t, e.Offer(t.Context(), &p.Cases[0], 1))
	manifest := filepath.Join(s.Dir(), "cases", id[:2], id, "manifest.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(manifest), 0o755))
	require.NoError(t, os.WriteFile(manifest, nil, 0o644))
	say("worker", map[string]any{"name": long})
	say("worker", map[string]any{"name": "busy", "running": []string{long}})
	for _, refused := range []map[string]any{{"worker": "a", "case": "none"}, {"worker": long, "case": id}, {"case": id}, {"worker": "a", "case": id, "host": long}} {
		refused["kind"] = "done"
		say("end", refused)
	}
	say("end", map[string]any{
		"worker": "a", "case": id, "kind": "done", "err": long, "log": long,
		"alarm": map[string]any{"ID": escape, "First": "/mnt/" + escape, "Second": "/mnt/alarms/" + id + "-host-1-ab", "Files": []string{escape}},
	})
	end, err := e.End(t.Context())
	require.NoError(t, err)
	assert.Equal(t, sweep.Done, end.Result)
	assert.Less(t, len(end.Log), len(long))
	assert.Less(t, len(end.Err.Error()), len(long))
	assert.Equal(t, filepath.Join(s.Dir(), "cases", id[:2], id), end.Alarm.First)
	assert.Equal(t, filepath.Join(s.Dir(), "alarms", id+"-host-1-ab"), end.Alarm.Second)
	assert.NotContains(t, end.Alarm.Error(), escape)
	require.Len(t, e.Workers(), 1, "the others have no names")
	foreign := s.AlarmHere(id, &sweep.Alarm{Second: "/etc/" + id + "-" + escape})
	assert.Equal(t, filepath.Join(s.Dir(), "alarms"), foreign.Second)
	e.Close(true)
	require.NoError(t, v.Close(true))
}

// TestGivenBack: a case that workers give back, as where they are told to end, goes to others however often. It hasn't failed.
func TestGivenBack(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1]}`)
	w, err := newWorker(s, p)
	require.NoError(t, err)
	v := serve(t, s)
	e := engineOn(t, v, s, p)
	one := workerOn(t, v, w)
	given := 0
	one.Try = func(ctx context.Context, c *sweep.Case, tries int) sweep.End {
		if given++; given <= 12 {
			return sweep.End{Case: c, Result: sweep.Returned}
		}
		return w.Try(ctx, c, tries)
	}
	left := make(chan error)
	go func() { left <- one.Run(t.Context()) }()
	r, err := (&sweep.Run{Store: s, Plan: p, Engine: e, Attempts: 1}).Run(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Err())
	e.Close(true)
	require.NoError(t, <-left)
	require.NoError(t, v.Close(true))
}

// errNoDevice is why a worker leaves.
var errNoDevice = errors.New("there is no usable device")

// leaver is a worker that gives its first case back with an error, and leaves with that.
func leaver(t *testing.T, v *queue.Server, w *sweep.Worker) *queue.Worker {
	t.Helper()
	one := workerOn(t, v, w)
	one.Try = func(_ context.Context, c *sweep.Case, _ int) sweep.End {
		return sweep.End{Case: c, Result: sweep.Returned, Err: errNoDevice}
	}
	return one
}

// TestWithoutDevice: ten workers give a case back, since they have no device, and leave. The case hasn't failed: the next one runs it.
func TestWithoutDevice(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1, 2]}`)
	w, err := newWorker(s, p)
	require.NoError(t, err)
	v := serve(t, s)
	e := engineOf(t, &queue.Options{Access: v.Own, Store: s, Plan: p, Log: quiet(t)})
	begun, release := make(chan struct{}, len(p.Cases)), make(chan struct{})
	well := workerOn(t, v, w)
	well.Try = func(ctx context.Context, c *sweep.Case, tries int) sweep.End {
		begun <- struct{}{}
		<-release
		return w.Try(ctx, c, tries)
	}
	works := make(chan error, 1)
	go func() { works <- well.Run(t.Context()) }()
	runs := make(chan error, 1)
	go func() {
		r, err := (&sweep.Run{Store: s, Plan: p, Engine: e, Attempts: 1}).Run(t.Context())
		runs <- errors.Join(err, r.Err())
	}()
	<-begun
	for range 10 {
		require.ErrorIs(t, leaver(t, v, w).Run(t.Context()), errNoDevice)
	}
	close(release)
	require.NoError(t, <-runs)
	e.Close(true)
	require.NoError(t, <-works)
	require.NoError(t, v.Close(true))
}

// TestLastWorkerLeaves: its reason ends the next offer where none is under way, since nobody else is there, until another worker is.
func TestLastWorkerLeaves(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1]}`)
	w, err := newWorker(s, p)
	require.NoError(t, err)
	v := serve(t, s)
	e := engineOf(t, &queue.Options{Access: v.Own, Store: s, Plan: p, Log: quiet(t)})
	limited, stop := context.WithTimeout(t.Context(), 2*patience)
	defer stop()
	offer := func() sweep.End {
		require.NoError(t, e.Offer(limited, &p.Cases[0], 1))
		end, err := e.End(limited)
		require.NoError(t, err)
		return end
	}
	leaves := make(chan error, 1)
	go func() { leaves <- leaver(t, v, w).Run(t.Context()) }()
	end := offer()
	assert.Equal(t, sweep.Returned, end.Result)
	require.NoError(t, end.Err, "others may be there")
	require.ErrorIs(t, <-leaves, errNoDevice)
	require.Eventually(t, func() bool { return e.Measures().Workers == 0 }, patience, time.Millisecond)
	end = offer()
	assert.Equal(t, sweep.Returned, end.Result)
	require.ErrorContains(t, end.Err, errNoDevice.Error())

	works := make(chan error, 1)
	go func() { works <- workerOn(t, v, w).Run(t.Context()) }()
	require.Eventually(t, func() bool { return e.Measures().Workers == 1 }, patience, time.Millisecond)
	assert.Equal(t, sweep.Done, offer().Result)
	e.Close(true)
	require.NoError(t, <-works)
	require.NoError(t, v.Close(true))
}

// TestBrokenDrive: where all cases fail, the sweep ends long before each was run once.
func TestBrokenDrive(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1, 2]}, repeat: {seed: 1000}`)
	w, err := newWorker(s, p)
	require.NoError(t, err)
	v := serve(t, s)
	e := engineOn(t, v, s, p)
	one := workerOn(t, v, w)
	var tries atomic.Int64
	one.Try = func(_ context.Context, c *sweep.Case, _ int) sweep.End {
		tries.Add(1)
		return sweep.End{Case: c, Result: sweep.Failed, Err: errors.New("the drive is broken"), Code: 1}
	}
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { left <- one.Run(ctx) }()
	r, err := (&sweep.Run{Store: s, Plan: p, Engine: e, Delay: time.Millisecond}).Run(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, r.Err(), sweep.ErrSick)
	assert.Less(t, tries.Load(), int64(len(p.Cases)))
	cancel()
	require.ErrorIs(t, <-left, context.Canceled)
	e.Close(false)
	require.NoError(t, v.Close(true))
}

// TestLeasesOfTheDead: a case whose worker has died waits, and doesn't run.
func TestLeasesOfTheDead(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1]}`)
	v := serve(t, s)
	e := engineOn(t, v, s, p)
	require.NoError(t, e.Offer(t.Context(), &p.Cases[0], 1))
	_, stream := streamOf(t, v, p)
	kept, err := stream.GetMsg(t.Context(), 1)
	require.NoError(t, err)
	var job struct{ Offer string }
	require.NoError(t, json.Unmarshal(kept.Data, &job))
	to, err := v.ForWorkers()
	require.NoError(t, err)
	begun, err := json.Marshal(map[string]string{"worker": "a", "case": p.Cases[0].ID, "offer": job.Offer, "kind": "begun"})
	require.NoError(t, err)
	require.NoError(t, connect(t, to.URL, to.Credentials).Publish("sweep."+p.ID()+".end", begun))
	counts := func(leased, waiting int) func() bool {
		return func() bool { m := e.Measures(); return m.Leased == leased && m.Waiting == waiting }
	}
	require.Eventually(t, func() bool { m := e.Measures(); return m.Leased == 1 || m.Silent == 1 }, 30*time.Second, time.Millisecond)
	require.Eventually(t, counts(0, 1), 30*time.Second, 10*time.Millisecond)
	e.Close(false)
	require.NoError(t, v.Close(true))
}

// TestAnswersToTheCoordinator: workers, who may listen below _INBOX, don't hear them.
func TestAnswersToTheCoordinator(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1]}`)
	v := serve(t, s)
	to, err := v.ForWorkers()
	require.NoError(t, err)
	nc := connect(t, to.URL, to.Credentials)
	heard, err := nc.SubscribeSync("_INBOX.>")
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	e, err := queue.NewEngine(t.Context(), &queue.Options{
		Access: queue.Access{URL: v.Own.URL, Credentials: v.Own.Credentials, Log: quiet(t)}, Store: s, Plan: p, Log: quiet(t),
	})
	require.NoError(t, err)
	require.NoError(t, e.Offer(t.Context(), &p.Cases[0], 1))
	require.NoError(t, nc.Flush())
	pending, _, err := heard.Pending()
	require.NoError(t, err)
	assert.Zero(t, pending)
	e.Close(false)
	require.NoError(t, v.Close(true))
}

// TestAnswersToWorkers go to workers alone: they can't have the coordinator say anything to the server, which would do it by its rights.
func TestAnswersToWorkers(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1]}`)
	v := serve(t, s)
	e := engineOn(t, v, s, p)
	js, _ := streamOf(t, v, p)
	orders, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "orders", Subjects: []string{"orders"}})
	require.NoError(t, err)
	to, err := v.ForWorkers()
	require.NoError(t, err)
	nc := connect(t, to.URL, to.Credentials)
	end := "sweep." + p.ID() + ".end"
	begun, err := json.Marshal(map[string]string{"worker": "a", "case": p.Cases[0].ID, "kind": "begun"})
	require.NoError(t, err)
	require.NoError(t, nc.PublishRequest(end, "$JS.API.STREAM.DELETE.orders", begun))
	_, err = nc.Request(end, begun, patience)
	require.NoError(t, err, "a worker is answered")
	_, err = orders.Info(t.Context())
	require.NoError(t, err, "the stream is there")
	e.Close(false)
	require.NoError(t, v.Close(true))
}

// connect is a connection with a user's key.
func connect(t *testing.T, url string, seed []byte) *nats.Conn {
	t.Helper()
	key, err := nkeys.FromSeed(seed)
	require.NoError(t, err)
	public, err := key.PublicKey()
	require.NoError(t, err)
	nc, err := nats.Connect(url, nats.Nkey(public, key.Sign))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// streamOf is the stream of a plan, by the coordinator's own rights.
func streamOf(t *testing.T, v *queue.Server, p *sweep.Plan) (jetstream.JetStream, jetstream.Stream) {
	t.Helper()
	js, err := jetstream.New(connect(t, v.Own.URL, v.Own.Credentials))
	require.NoError(t, err)
	s, err := js.Stream(t.Context(), "sweep_"+p.ID())
	require.NoError(t, err)
	return js, s
}

// TestQueueForgets: the stream is emptied, or has messages that nobody gets. The coordinator that runs repairs the first, the next one
// the second.
func TestQueueForgets(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*testing.T, jetstream.JetStream, jetstream.Stream) (restart bool){
		"emptied": func(t *testing.T, _ jetstream.JetStream, s jetstream.Stream) bool {
			require.NoError(t, s.Purge(t.Context()))
			return false
		},
		"removed": func(t *testing.T, js jetstream.JetStream, s jetstream.Stream) bool {
			require.NoError(t, js.DeleteStream(t.Context(), s.CachedInfo().Config.Name))
			return false
		},
		"orphans": func(t *testing.T, _ jetstream.JetStream, s jetstream.Stream) bool {
			c, err := s.Consumer(t.Context(), "workers")
			require.NoError(t, err)
			config := c.CachedInfo().Config
			config.MaxDeliver, config.AckWait = 1, 100*time.Millisecond
			c, err = s.UpdateConsumer(t.Context(), config)
			require.NoError(t, err)
			batch, err := c.Fetch(6, jetstream.FetchMaxWait(time.Second))
			require.NoError(t, err)
			for range batch.Messages() {
			}
			time.Sleep(2 * config.AckWait)
			again, err := c.Fetch(6, jetstream.FetchMaxWait(time.Second))
			require.NoError(t, err)
			for m := range again.Messages() {
				assert.Fail(t, "it is handed out again", m.Subject())
			}
			info, err := s.Info(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 6, info.State.Msgs, "they are there, and nobody gets them")
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := storeOf(t, `matrix: {scene.seed: [1, 2, 3]}, repeat: {seed: 2}`)
			w, err := newWorker(s, p)
			require.NoError(t, err)
			v := serve(t, s)
			e := engineOn(t, v, s, p)
			js, stream := streamOf(t, v, p)
			ended := make(chan error)
			run := func(ctx context.Context, e *queue.Engine) {
				r, err := (&sweep.Run{Store: s, Plan: p, Engine: e, Delay: time.Millisecond}).Run(ctx)
				ended <- errors.Join(err, r.Err())
			}
			ctx, cancel := context.WithCancel(t.Context())
			go run(ctx, e)
			require.Eventually(t, func() bool { return e.Measures().Waiting == 6 }, 10*time.Second, time.Millisecond)
			restart := spoil(t, js, stream)
			if restart {
				next := engineOn(t, v, s, p)
				cancel()
				require.Error(t, <-ended)
				e.Close(false)
				e = engineOn(t, v, s, p)
				next.Close(false)
				e.Close(false)
				e = engineOn(t, v, s, p)
				go run(t.Context(), e)
			}
			working := make(chan error)
			one := workerOn(t, v, w)
			go func() { working <- one.Run(t.Context()) }()
			require.NoError(t, <-ended)
			e.Close(true)
			require.NoError(t, <-working)
			require.NoError(t, v.Close(true))
			cancel()
		})
	}
}

// TestNoRoom: a case that waits until the stream has room isn't lost, however long it waits.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1, 2]}`)
	v := serve(t, s)
	e := engineOn(t, v, s, p)
	require.NoError(t, e.Offer(t.Context(), &p.Cases[0], 1))
	js, stream := streamOf(t, v, p)
	config := stream.CachedInfo().Config
	room := func(messages int64) {
		config.MaxMsgs = messages
		_, err := js.UpdateStream(t.Context(), config)
		require.NoError(t, err)
	}
	room(1)
	looks, err := connect(t, v.Own.URL, v.Own.Credentials).SubscribeSync("$JS.API.STREAM.INFO." + config.Name)
	require.NoError(t, err)
	offered := make(chan error, 1)
	go func() { offered <- e.Offer(t.Context(), &p.Cases[1], 1) }()
	for n := 0; n < 5 && e.Measures().Lost == 0; { // the coordinator looks for cases that were lost
		m, err := looks.NextMsg(patience)
		require.NoError(t, err)
		if strings.Contains(string(m.Data), "subjects_filter") {
			n++
		}
	}
	m := e.Measures()
	assert.Equal(t, []int{0, 1, 2}, []int{m.Lost, m.Offered, m.Waiting})
	room(-1)
	require.NoError(t, <-offered)
	m = e.Measures()
	assert.Equal(t, []int{0, 2, 2}, []int{m.Lost, m.Offered, m.Waiting})
	e.Close(false)
	require.NoError(t, v.Close(true))
}

// TestRefused are servers and folders that a worker or a coordinator can't use.
func TestRefused(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1]}`)
	w, err := newWorker(s, p)
	require.NoError(t, err)
	v := serve(t, s)
	e := engineOn(t, v, s, p)
	t.Cleanup(func() {
		e.Close(true)
		require.NoError(t, v.Close(true))
	})
	other, op := storeOf(t, `matrix: {scene.seed: [2]}`)
	secured, err := queue.Serve(other, "0.0.0.0", 0, quiet(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, secured.Close(true)) })
	plain := plainServer(t)

	key, err := nkeys.CreateUser()
	require.NoError(t, err)
	seed, err := key.Seed()
	require.NoError(t, err)
	copied := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(copied, os.DirFS(s.Dir())))
	require.NoError(t, os.Remove(filepath.Join(copied, "round")))
	foreign, err := sweep.OpenStore(copied)
	require.NoError(t, err)
	t.Cleanup(func() { foreign.Close() })
	_, port, err := net.SplitHostPort(strings.TrimPrefix(secured.Own.URL, "nats://"))
	require.NoError(t, err)
	safe := "tls://127.0.0.1:" + port

	for name, c := range map[string]struct {
		change func(*queue.Worker)
		want   error
	}{
		"unreachable":         {func(w *queue.Worker) { w.Access.URL = "nats://127.0.0.1:1" }, queue.ErrUnreachable},
		"wrong credentials":   {func(w *queue.Worker) { w.Access.Credentials = seed }, queue.ErrCredentials},
		"no credentials":      {func(w *queue.Worker) { w.Access.Credentials = nil }, queue.ErrCredentials},
		"not credentials":     {func(w *queue.Worker) { w.Access.Credentials = []byte("hunter2") }, queue.ErrCredentials},
		"another certificate": {func(w *queue.Worker) { w.Access.URL, w.Access.Fingerprint = safe, queue.FingerprintOf([]byte("ours")) }, queue.ErrCertificate},
		"no authority":        {func(w *queue.Worker) { w.Access.URL = safe }, queue.ErrUnreachable},
		"a secret in the URL": {func(w *queue.Worker) { w.Access.URL = "nats://user:hunter2@127.0.0.1:4222" }, queue.ErrURL},
		"another address":     {func(w *queue.Worker) { w.Access.URL = "http://127.0.0.1" }, queue.ErrURL},
		"not shared":          {func(w *queue.Worker) { w.Store = foreign }, queue.ErrNotShared},
		"no coordinator": {func(w *queue.Worker) {
			w.Prepare = func() (*sweep.Worker, error) { return newWorker(other, op) }
		}, queue.ErrNoSweep},
		"no JetStream": {func(w *queue.Worker) {
			w.Access.URL, w.Access.Credentials = plain, nil
		}, queue.ErrJetStream},
		"another version": {func(w *queue.Worker) {
			w.Prepare = func() (*sweep.Worker, error) {
				other := &sweep.Worker{Store: s, Plan: p, Read: readDrive}
				return other, other.Prepare("v2", class(), false)
			}
		}, sweep.ErrVersion},
		"another class": {func(w *queue.Worker) {
			w.Prepare = func() (*sweep.Worker, error) {
				other := &sweep.Worker{Store: s, Plan: p, Read: readDrive}
				return other, other.Prepare(version, "software", false)
			}
		}, sweep.ErrClass},
	} {
		t.Run(name, func(t *testing.T) {
			one := workerOn(t, v, w)
			one.Patience = 100 * time.Millisecond
			c.change(one)
			err := one.Run(t.Context())
			require.ErrorIs(t, err, c.want)
			assert.NotContains(t, err.Error(), "hunter2", "an error tells no secret")
		})
	}
	t.Run("a man in the middle", func(t *testing.T) {
		address, heard := relay(t, "127.0.0.1:"+port)
		one := workerOn(t, secured, w)
		one.Access.URL, one.Store = "tls://"+address, other
		require.ErrorIs(t, one.Run(t.Context()), queue.ErrCertificate)
		assert.Empty(t, heard(), "he hears nothing of a worker")
	})
	t.Run("a worker's key for a coordinator", func(t *testing.T) {
		to, err := v.ForWorkers()
		require.NoError(t, err)
		to.Log = quiet(t)
		_, err = queue.NewEngine(t.Context(), &queue.Options{Access: to, Store: other, Plan: op, Log: quiet(t)})
		require.ErrorIs(t, err, queue.ErrPermissions)
	})
	t.Run("more than a worker may", func(t *testing.T) {
		to, err := v.ForWorkers()
		require.NoError(t, err)
		key, err := nkeys.FromSeed(to.Credentials)
		require.NoError(t, err)
		public, err := key.PublicKey()
		require.NoError(t, err)
		refused := make(chan error, 8)
		nc, err := nats.Connect(to.URL, nats.Nkey(public, key.Sign), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
		require.NoError(t, err)
		defer nc.Close()
		for _, subject := range []string{"sweep." + p.ID() + ".job.x", "sweep." + p.ID() + ".told", "$JS.API.STREAM.DELETE.sweep_" + p.ID(), "$JS.API.STREAM.PURGE.sweep_" + p.ID()} {
			require.NoError(t, nc.Publish(subject, nil))
			require.ErrorContains(t, <-refused, "Permissions Violation for Publish")
		}
		_, err = nc.Subscribe("_INBOX_sweep_run.>", func(*nats.Msg) {})
		require.NoError(t, err)
		require.ErrorContains(t, <-refused, "Permissions Violation for Subscription")
	})
	t.Run("a certificate of the sweep", func(t *testing.T) {
		one := workerOn(t, secured, w)
		one.Access.URL, one.Store, one.Patience = safe, other, time.Millisecond
		require.ErrorIs(t, one.Run(t.Context()), queue.ErrNoSweep, "the server is the right one, though its certificate has other names")
	})
	t.Run("coordinator without JetStream", func(t *testing.T) {
		_, err := queue.NewEngine(t.Context(), &queue.Options{Access: queue.Access{URL: plain, Log: quiet(t)}, Store: other, Plan: op, Log: quiet(t)})
		require.ErrorIs(t, err, queue.ErrJetStream)
	})
	t.Run("another folder's stream", func(t *testing.T) {
		_, err := queue.NewEngine(t.Context(), &queue.Options{Access: v.Own, Store: foreign, Plan: p, Log: quiet(t)})
		require.ErrorIs(t, err, queue.ErrForeignStream)
	})
	t.Run("a stream of other subjects", func(t *testing.T) {
		js, _ := streamOf(t, v, p)
		_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "mine", Subjects: []string{"sweep." + op.ID() + ".>"}})
		require.NoError(t, err)
		_, err = queue.NewEngine(t.Context(), &queue.Options{Access: v.Own, Store: other, Plan: op, Log: quiet(t)})
		require.ErrorIs(t, err, queue.ErrForeignStream)
	})
}

// relay is a man in the middle: he has a certificate of his own, and passes on what a worker and its server say. heard ends
// him, and returns what he has heard of workers.
func relay(t *testing.T, server string) (address string, heard func() string) {
	t.Helper()
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS13})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	var words bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			worker, err := l.Accept()
			if err != nil {
				return
			}
			passOn(worker, server, &words)
		}
	}()
	return l.Addr().String(), func() string {
		_ = l.Close()
		<-done
		return words.String()
	}
}

// passOn passes on what a worker and its server say, until one of them ends the connection.
func passOn(worker net.Conn, server string, words io.Writer) {
	defer worker.Close()
	to, err := tls.Dial("tcp", server, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}) //nolint:gosec // he doesn't mind
	if err != nil {
		return
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(worker, to) // until the connection ends, however
		_ = worker.Close()
	}()
	_, _ = io.Copy(io.MultiWriter(to, words), worker)
	_ = to.Close()
	<-ended
}

// plainServer is a server without JetStream.
func plainServer(t *testing.T) (url string) {
	t.Helper()
	plain, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	require.NoError(t, err)
	plain.Start()
	require.True(t, plain.ReadyForConnections(10*time.Second))
	t.Cleanup(plain.Shutdown)
	return plain.ClientURL()
}

// TestSickWorker: a worker that fails whatever it is given leaves, and the others do all.
func TestSickWorker(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1, 2, 3]}, repeat: {seed: 20}`)
	w, err := newWorker(s, p)
	require.NoError(t, err)
	broken := *w
	broken.Program = "/bin/false"
	v := serve(t, s)
	e := engineOn(t, v, s, p)
	sick, well := workerOn(t, v, &broken), workerOn(t, v, w)
	sick.Name, well.Name = "sick", "well"
	leaves, ends := make(chan error), make(chan error)
	go func() { leaves <- sick.Run(t.Context()) }()
	go func() { ends <- well.Run(t.Context()) }()
	r, err := (&sweep.Run{Store: s, Plan: p, Engine: e, Attempts: 20, Delay: time.Millisecond}).Run(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Err())
	require.ErrorIs(t, <-leaves, queue.ErrSickWorker)
	e.Close(true)
	require.NoError(t, <-ends)
	require.NoError(t, v.Close(true))
	assert.Equal(t, 60, r.Done)
}
