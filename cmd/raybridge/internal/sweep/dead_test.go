package sweep_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep/queue"
)

// proxied returns a server's access over a network that cut takes away for good, as when a machine dies.
func proxied(t *testing.T, v *queue.Server, a queue.Access) (_ queue.Access, cut func()) {
	t.Helper()
	at := strings.TrimPrefix(v.Own.URL, "nats://")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, end := context.WithCancel(context.Background())
	var lines sync.WaitGroup
	lines.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", at)
			if err != nil {
				in.Close()
				continue
			}
			context.AfterFunc(ctx, func() { in.Close(); out.Close() })
			for from, to := range map[net.Conn]net.Conn{in: out, out: in} {
				lines.Go(func() {
					_, _ = io.Copy(to, from) // until cut
					to.Close()
				})
			}
		}
	})
	cut = func() {
		end()
		l.Close()
		lines.Wait()
	}
	t.Cleanup(cut)
	return queue.Access{URL: "nats://" + l.Addr().String(), Credentials: a.Credentials, Log: quiet(t)}, cut
}

// killable is an engine that kill takes the network from, so that it neither says anything nor removes anything.
func killable(t *testing.T, v *queue.Server, s *sweep.Store, p *sweep.Plan) (e *queue.Engine, kill func()) {
	t.Helper()
	access, cut := proxied(t, v, v.Own)
	e, err := queue.NewEngine(t.Context(), &queue.Options{Access: access, Store: s, Plan: p, Lease: time.Second, Log: quiet(t)})
	require.NoError(t, err)
	t.Cleanup(func() { e.Close(false) })
	return e, cut
}

// TestNextPlan: the coordinator dies, and the next one has a larger plan. Workers of the first plan continue with the second, and nothing is
// left of the first one's stream, unless the folder has forgotten it.
func TestNextPlan(t *testing.T) {
	t.Parallel()
	for name, forgotten := range map[string]bool{"known stream": false, "forgotten stream": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := storeOf(t, `matrix: {scene.seed: [1, 2]}`)
			v := serve(t, s)
			t.Cleanup(func() { assert.NoError(t, v.Close(true)) })
			first, kill := killable(t, v, s, p)
			one := workerOn(t, v, &sweep.Worker{Store: s})
			one.Patience = 10 * patience
			one.Prepare = func() (*sweep.Worker, error) {
				p, err := s.Plan()
				if err != nil {
					return nil, err
				}
				return newWorker(s, p)
			}
			works := make(chan error, 1)
			go func() { works <- one.Run(t.Context()) }()
			r, err := (&sweep.Run{Store: s, Plan: p, Engine: first}).Run(t.Context())
			require.NoError(t, err)
			require.NoError(t, r.Err())
			js, _ := streamOf(t, v, p)
			kill()
			if forgotten {
				require.NoError(t, os.Remove(filepath.Join(s.Dir(), "round")))
			}

			grown := extended(t, s, p)
			second := engineOn(t, v, s, grown)
			_, err = js.Stream(t.Context(), "sweep_"+p.ID())
			if !forgotten {
				require.ErrorIs(t, err, jetstream.ErrStreamNotFound)
			}
			limited, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			r, err = (&sweep.Run{Store: s, Plan: grown, Engine: second}).Run(limited)
			require.NoError(t, err)
			assert.NoError(t, r.Err())
			second.Close(true)
			require.NoError(t, <-works)
		})
	}
}

// TestWorkerBeforePlan: a worker that finds a folder complete when it begins waits for a sweep run, which may have a larger plan, and
// ends well when none comes.
func TestWorkerBeforePlan(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1, 2]}`)
	require.NoError(t, runLocal(t, s, p).Err())
	v := serve(t, s)
	t.Cleanup(func() { assert.NoError(t, v.Close(true)) })
	looked := make(chan struct{}, 1000)
	one := workerOn(t, v, &sweep.Worker{Store: s})
	one.Prepare = func() (*sweep.Worker, error) {
		looked <- struct{}{}
		p, err := s.Plan()
		if err != nil {
			return nil, err
		}
		return newWorker(s, p)
	}
	one.Patience = time.Millisecond
	require.NoError(t, one.Run(t.Context()))
	for len(looked) > 0 {
		<-looked
	}
	one.Patience = 10 * patience
	works := make(chan error, 1)
	go func() { works <- one.Run(t.Context()) }()
	for range 3 { // it has found out that nobody is there
		select {
		case <-looked:
		case err := <-works:
			t.Fatal("it has ended", err)
		}
	}
	grown := extended(t, s, p)
	e := engineOn(t, v, s, grown)
	r, err := (&sweep.Run{Store: s, Plan: grown, Engine: e}).Run(t.Context())
	require.NoError(t, err)
	assert.NoError(t, r.Err())
	e.Close(true)
	require.NoError(t, <-works)
}

// extended makes a plan with a third seed the folder's.
func extended(t *testing.T, s *sweep.Store, p *sweep.Plan) *sweep.Plan {
	t.Helper()
	put(t, p.Place, `sweep: {base: drive.yaml, matrix: {scene.seed: [1, 2, 3]}}`)
	grown, err := planOf(t, filepath.Dir(p.Place), "sweep.yaml")
	require.NoError(t, err)
	_, lock, err := s.Lock(t.Context(), false, func(string) {})
	require.NoError(t, err)
	_, err = s.Adopt(t.Context(), grown, true)
	require.NoError(t, err)
	require.NoError(t, lock.Release())
	return grown
}

// TestUserIsRemoved: the server doesn't take a coordinator's credentials any longer, in the middle of a sweep, which ends then and says so.
func TestUserIsRemoved(t *testing.T) {
	t.Parallel()
	var seeds, publics [2]string
	for i := range seeds {
		key, err := nkeys.CreateUser()
		require.NoError(t, err)
		publics[i], err = key.PublicKey()
		require.NoError(t, err)
		seed, err := key.Seed()
		require.NoError(t, err)
		seeds[i] = string(seed)
	}
	o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(), Nkeys: []*server.NkeyUser{{Nkey: publics[0]}}}
	v, err := server.NewServer(o.Clone())
	require.NoError(t, err)
	v.Start()
	t.Cleanup(v.Shutdown)
	require.True(t, v.ReadyForConnections(patience))
	s, p := storeOf(t, `matrix: {scene.seed: [1, 2, 3]}`)
	access := queue.Access{URL: v.ClientURL(), Credentials: []byte(seeds[0]), Log: quiet(t)}
	e, err := queue.NewEngine(t.Context(), &queue.Options{Access: access, Store: s, Plan: p, Log: quiet(t)})
	require.NoError(t, err)
	limited, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	runs := make(chan *sweep.Report, 1)
	go func() {
		r, err := (&sweep.Run{Store: s, Plan: p, Engine: e}).Run(limited)
		assert.NoError(t, err)
		runs <- r
	}()
	require.Eventually(t, func() bool { return e.Measures().Waiting == 3 }, patience, time.Millisecond)
	o.Port, o.Nkeys = v.Addr().(*net.TCPAddr).Port, []*server.NkeyUser{{Nkey: publics[1]}}
	require.NoError(t, v.ReloadOptions(o))
	r := <-runs
	require.ErrorIs(t, r.Stopped, queue.ErrCredentials)
	assert.Equal(t, 3, r.Left())
	e.Close(false)
}

// TestPatience: a worker that has joined leaves when its server or its coordinator is gone for longer than its patience, and says which.
func TestPatience(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server bool
		want   error
	}{
		"server":      {true, queue.ErrUnreachable},
		"coordinator": {false, queue.ErrNoSweep},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := storeOf(t, `matrix: {scene.seed: [1, 2]}`)
			w, err := newWorker(s, p)
			require.NoError(t, err)
			v := serve(t, s)
			t.Cleanup(func() { assert.NoError(t, v.Close(true)) })
			e, cut := killable(t, v, s, p)
			one := workerOn(t, v, w)
			if c.server {
				one.Access, cut = proxied(t, v, one.Access)
			}
			one.Patience = 4 * time.Second
			limited, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			works := make(chan error, 1)
			go func() { works <- one.Run(limited) }()
			require.Eventually(t, func() bool { return e.Measures().Workers == 1 }, patience, time.Millisecond)
			nc := connect(t, v.Own.URL, v.Own.Credentials)
			presence, err := nc.SubscribeSync("sweep." + p.ID() + ".worker")
			require.NoError(t, err)
			require.NoError(t, nc.Flush())
			cut()
			require.ErrorIs(t, <-works, c.want)
			if c.server {
				return
			}
			for said := map[string]any{}; said["leaving"] != true; {
				m, err := presence.NextMsg(patience)
				require.NoError(t, err)
				require.NoError(t, json.Unmarshal(m.Data, &said))
				assert.NotContains(t, said, "why", "the next coordinator has no reason to end")
			}
		})
	}
}

// TestCoordinatorIsThere: workers hear of a coordinator as soon as it begins, since their patience may be nearly over.
func TestCoordinatorIsThere(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1]}`)
	v := serve(t, s)
	t.Cleanup(func() { assert.NoError(t, v.Close(true)) })
	nc := connect(t, v.Own.URL, v.Own.Credentials)
	told, err := nc.SubscribeSync("sweep." + p.ID() + ".told")
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	engineOn(t, v, s, p).Close(false)
	require.NoError(t, nc.Flush())
	heard, _, err := told.Pending()
	require.NoError(t, err)
	assert.Positive(t, heard)
}

// TestPatienceWithFailures: a case that fails without a coordinator is handed out again and again. That keeps no worker.
func TestPatienceWithFailures(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]sweep.Result{"failed": sweep.Failed, "hopeless": sweep.Hopeless} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := storeOf(t, `matrix: {scene.seed: [1]}`)
			w, err := newWorker(s, p)
			require.NoError(t, err)
			v := serve(t, s)
			t.Cleanup(func() { assert.NoError(t, v.Close(true)) })
			e, kill := killable(t, v, s, p)
			require.NoError(t, e.Offer(t.Context(), &p.Cases[0], 1))
			one := workerOn(t, v, w)
			one.Patience = 2 * time.Second
			tries := 0
			one.Try = func(_ context.Context, c *sweep.Case, _ int) sweep.End {
				if tries++; tries == 1 {
					kill()
				}
				time.Sleep(3 * one.Patience)
				return sweep.End{Case: c, Result: result, Err: errors.New("the drive is broken"), Code: 1}
			}
			limited, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			require.ErrorIs(t, one.Run(limited), queue.ErrNoSweep)
			assert.Equal(t, 1, tries, "its patience was over when the case had failed")
		})
	}
}
