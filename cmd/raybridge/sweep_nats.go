package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/metrics"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep/queue"
	"github.com/raybridge/raybridge/internal/fault"
)

// credentialsVariable has the credentials for NATS where no file is named.
const credentialsVariable = "RAYBRIDGE_NATS_CREDS"

// natsFlags say how a NATS server is reached.
type natsFlags struct{ url, creds, authorities, fingerprint string }

func (f *natsFlags) add(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&f.url, "nats", "", "`URL` of "+what+": nats://HOST:PORT or tls://HOST:PORT, several separated by commas")
	cmd.Flags().StringVar(&f.creds, "nats-creds", "", "`FILE` with the user's credentials (.creds) or the seed of its nkey; without it those that "+credentialsVariable+" has")
	cmd.Flags().StringVar(&f.authorities, "nats-ca", "", "`FILE` with the certificates that the server's is checked with; without it the system's")
}

// access reads the credentials.
func (f *natsFlags) access(log *slog.Logger) (queue.Access, error) {
	a := queue.Access{URL: f.url, Authorities: f.authorities, Fingerprint: f.fingerprint, Log: log}
	if f.creds != "" {
		secret, err := os.ReadFile(f.creds)
		if err != nil {
			return a, usage(fmt.Errorf("--nats-creds: %w", fault.File(err)))
		}
		if readByOthers(f.creds, 0o004) { // its group may: so Kubernetes gives secrets to a pod's user
			log.Warn("others on this machine can read the credentials: chmod 600 " + f.creds)
		}
		a.Credentials = secret
	} else if text := os.Getenv(credentialsVariable); text != "" {
		a.Credentials = []byte(text)
	}
	if err := a.Check(); err != nil {
		return a, usage(fmt.Errorf("--nats: %w", err))
	}
	if a.Plain() {
		log.Warn("anyone on the network can read and change what is said to the NATS server: give it TLS")
	}
	return a, nil
}

// coordinatorFlags are those of the commands that have workers of other machines run cases.
type coordinatorFlags struct {
	natsFlags
	listen   string
	metrics  string
	lease    time.Duration
	replicas int
}

func (f *coordinatorFlags) add(cmd *cobra.Command) {
	listen := "have workers of other machines run the cases: start a NATS server at `[HOST:]PORT`, 0 for any free port;\n" +
		"beyond this machine it takes TLS alone, and it prints the command of workers"
	if !queue.HasServer {
		listen = "start a NATS server at `[HOST:]PORT`; this program has none, as raybridge-ros2dds has, and the package raybridge"
	}
	cmd.Flags().StringVar(&f.listen, "listen", "", listen)
	f.natsFlags.add(cmd, "a NATS server or cluster with JetStream that is there, in place of --listen")
	cmd.Flags().IntVar(&f.replicas, "nats-replicas", 0, "how many servers of a cluster keep the queue; 0 is three in a cluster, else one")
	cmd.Flags().DurationVar(&f.lease, "lease", queue.Lease, "`TIME` after which the cases of a worker that is silent go to others")
	cmd.Flags().StringVar(&f.metrics, "metrics", "", "serve /metrics for Prometheus at `[HOST:]PORT`; beyond this machine "+tokenVariable+" has the token")
}

// remote reports whether workers of other machines run the cases.
func (f *coordinatorFlags) remote() bool { return f.listen != "" || f.url != "" }

// check refuses flags that don't go together.
func (f *sweepFlags) checkRemote(cmd *cobra.Command) error {
	for _, name := range []string{"metrics", "lease", "nats-creds", "nats-ca", "nats-replicas"} {
		if cmd.Flags().Changed(name) && !f.remote() {
			return fmt.Errorf("--%s: it is for workers of other machines: give --listen or --nats, too", name)
		}
	}
	switch {
	case f.listen != "" && f.url != "":
		return errors.New("--listen starts a NATS server, and --nats names one that is there: give one of both")
	case f.remote() && f.jobs != 0:
		return errors.New("--jobs: with --listen or --nats workers run all cases: start raybridge sweep worker --jobs N beside it")
	case f.lease < time.Second && f.remote():
		return fmt.Errorf("--lease %v: want a second or more", f.lease)
	}
	return nil
}

// remoteEngine is an engine of workers of other machines, with what ends it.
func (f *sweepFlags) remoteEngine(cmd *cobra.Command, ctx context.Context, s *sweep.Store, p *sweep.Plan) (_ *queue.Engine, end func(complete bool) error, err error) {
	log := newLog(cmd.ErrOrStderr(), f.quiet)
	version, err := sweepVersion()
	if err != nil {
		return nil, nil, err
	}
	// Version and inputs alone: device and programs are the workers' matter.
	checked := &sweep.Worker{Store: s, Plan: p, Read: readSwept, WorldProgram: func() (string, error) { return p.Program, nil }}
	if err := checked.Prepare(version, "", true); err != nil {
		return nil, nil, folderFault(err)
	}
	var server *queue.Server
	var access queue.Access
	if f.listen != "" {
		if server, err = f.serve(cmd, s, log); err != nil {
			return nil, nil, err
		}
		access = server.Own
	} else if access, err = f.access(log); err != nil {
		return nil, nil, err
	}
	stop := func(complete bool) error {
		if server == nil {
			return nil
		}
		return server.Close(complete)
	}
	e, err := queue.NewEngine(ctx, &queue.Options{Access: access, Store: s, Plan: p, Lease: f.lease, Replicas: f.replicas, Limit: f.limit, Log: log})
	if err != nil {
		return nil, nil, errors.Join(natsFault(err), stop(false))
	}
	return e, func(complete bool) error {
		e.Close(complete)
		return stop(complete)
	}, nil
}

// serve starts a server, and prints the command of workers.
func (f *sweepFlags) serve(cmd *cobra.Command, s *sweep.Store, log *slog.Logger) (*queue.Server, error) {
	at, err := control.ParseAddress(f.listen)
	if err == nil && at.Path != "" {
		err = fmt.Errorf("%w %q: need [HOST:]PORT", control.ErrAddress, f.listen)
	}
	if err != nil {
		return nil, usage(fmt.Errorf("--listen: %w", err))
	}
	server, err := queue.Serve(s, at.Host, int(at.Port), log)
	if err != nil {
		return nil, serverFault(fmt.Errorf("--listen: %w", err))
	}
	fingerprint := ""
	if server.Workers.Fingerprint != "" {
		fingerprint = " --nats-fingerprint " + server.Workers.Fingerprint
	}
	fmt.Fprintf(f.text(cmd), "workers: raybridge sweep worker --nats %s%s --nats-creds %s --out %s\n",
		server.Workers.URL, fingerprint, shellWord(server.SecretFile), shellWord(s.Dir()))
	return server, nil
}

// serverFault gives an error of the own server its exit code.
func serverFault(err error) error {
	if errors.Is(err, context.DeadlineExceeded) { // the machine is busy
		return &exitError{exitIncomplete, err}
	}
	return folderFault(err)
}

// shellWord is a word as a shell reads it.
func shellWord(text string) string {
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") == "" && text != "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// natsFault gives an error of NATS its exit code: what no other try would find otherwise is wrong use.
func natsFault(err error) error {
	for _, wrong := range []error{
		queue.ErrURL, queue.ErrCredentials, queue.ErrPermissions, queue.ErrCertificate, queue.ErrJetStream, queue.ErrForeignStream, queue.ErrNotShared, queue.ErrNoServer,
		sweep.ErrVersion, sweep.ErrClass, sweep.ErrPrograms, sweep.ErrNoPlan, sweep.ErrForeign,
	} {
		if errors.Is(err, wrong) {
			return usage(err)
		}
	}
	var coded *exitError
	if errors.As(err, &coded) {
		return err
	}
	return &exitError{exitIncomplete, err}
}

// scraped is what --metrics serves.
type scraped struct {
	engine *queue.Engine

	mu sync.Mutex
	at sweep.Progress
}

// told takes how far the sweep is.
func (m *scraped) told(at sweep.Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = at
}

func (m *scraped) read() metrics.Sweep {
	m.mu.Lock()
	at := m.at
	m.mu.Unlock()
	e := m.engine.Measures()
	return metrics.Sweep{
		Done: at.Done, Failed: at.Failed, Running: e.Leased, Waiting: max(0, at.Left()-e.Leased), Workers: e.Workers,
		Offers: e.Offered, Redeliveries: e.Redelivered, Requeued: e.Lost, Silent: e.Silent,
	}
}

// serveMetrics serves /metrics until the function that it returns is called.
func (f *sweepFlags) serveMetrics(cmd *cobra.Command, m *scraped) (stop func() error, err error) {
	if f.metrics == "" {
		return func() error { return nil }, nil
	}
	at, err := control.ParseAddress(f.metrics)
	if err != nil {
		return nil, usage(fmt.Errorf("--metrics: %w", err))
	}
	token, err := readToken("")
	if err != nil {
		return nil, usage(err)
	}
	server, err := control.Listen(cmd.Context(), at, token)
	if errors.Is(err, control.ErrToken) {
		err = fmt.Errorf("%w: set %s", err, tokenVariable)
	}
	if err != nil {
		return nil, usage(fmt.Errorf("--metrics: %w", err))
	}
	server.ServeHandler(onlyMetrics(metrics.SweepHandler(m.read, metrics.BuildOf(raybridge.Version()))), newLog(cmd.ErrOrStderr(), f.quiet))
	if !f.quiet || at.Port == 0 {
		fmt.Fprintln(f.text(cmd), "metrics: "+urlOf(server.Addr())+"/metrics")
	}
	return server.Close, nil
}

// onlyMetrics answers GET /metrics, and /healthz.
func onlyMetrics(h http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", h)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	return mux
}

// progressOf is how far a plan is, by its store.
func progressOf(s *sweep.Store, p *sweep.Plan) (at sweep.Progress, err error) {
	failed, err := s.Failed()
	if err != nil {
		return at, err
	}
	at.Total = len(p.Cases)
	for i := range p.Cases {
		if id := p.Cases[i].ID; s.Has(id) {
			at.Done++
		} else if failed[id] != nil {
			at.Failed++
		}
	}
	return at, nil
}

// workerFlags are those of raybridge sweep worker.
type workerFlags struct {
	sweepFlags
	nats     natsFlags
	patience time.Duration
}

func newSweepWorker() *cobra.Command {
	var f workerFlags
	cmd := &cobra.Command{
		Use: "worker", Short: "Run cases that a sweep run on another machine puts out",
		Long: "Run cases that sweep run --listen or --nats puts out, until the sweep is complete.\n\n" +
			"DIR is where this machine has the sweep's folder, which all workers and the coordinator share. Start as many workers as\n" +
			"you like, at any time; one that dies costs its cases' time alone. docs/sweep.md tells what happens when a part dies.\n\n" +
			"The exit code is 0 if the sweep is complete, 2 for wrong use (a folder that isn't the coordinator's, credentials, another\n" +
			"version or class of device), 3 without a usable device, and 4 if the worker has left for another reason.",
		Example: "  raybridge sweep worker --nats tls://coordinator:4222 --nats-fingerprint sha256:... --nats-creds /shared/sweep/nats/worker.nk --out /shared/sweep",
		Args:    upToArgs(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.nats.add(cmd, "the server that sweep run listens at or uses")
	cmd.Flags().StringVar(&f.nats.fingerprint, "nats-fingerprint", "", "`FINGERPRINT` of the server's certificate, sha256:HEX, as sweep run --listen prints it")
	cmd.Flags().StringVar(&f.out, "out", filepath.Join("out", "sweep"), "`DIR` of the sweep")
	cmd.Flags().IntVar(&f.jobs, "jobs", 0, "`N` cases at a time; 0 is half as many as there are cores")
	cmd.Flags().DurationVar(&f.patience, "patience", 10*time.Minute, "`TIME` to wait for the server and for sweep run, at the beginning and when they are lost")
	cmd.Flags().BoolVar(&f.allowPrograms, "allow-programs", false, "let the cases' world start programs of this machine, as sumo: does")
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "print errors only")
	return cmd
}

func (f *workerFlags) run(cmd *cobra.Command) error {
	log := newLog(cmd.ErrOrStderr(), f.quiet)
	switch {
	case f.nats.url == "":
		return usage(errors.New("give --nats URL, as sweep run --listen prints it"))
	case f.jobs < 0 || f.patience < 0:
		return usage(errors.New("--jobs and --patience: want 0 or more"))
	}
	if os.Geteuid() == 0 {
		log.Warn("this worker is root, so that what its cases do is done with all rights: use an ordinary user")
	}
	s, access, err := f.open(cmd.Context(), log)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, done := s.UntilCancelled(cmd.Context())
	defer done()
	var last *sweep.Worker
	prepare := func() (*sweep.Worker, error) {
		p, err := s.Plan()
		if err != nil {
			return nil, folderFault(err)
		}
		if last != nil && last.Plan.ID() == p.ID() { // opening the device takes its time
			return last, nil
		}
		w, err := f.worker(ctx, s, p)
		if err == nil {
			last = w
		}
		return w, err
	}
	err = f.await(ctx, log, func() error { // before anybody is asked for work
		_, err := prepare()
		return err
	}, sweep.ErrNoPlan)
	if err != nil {
		return err
	}
	w := &queue.Worker{
		Access: access, Store: s, Prepare: prepare, Jobs: cmp.Or(f.jobs, max(1, runtime.NumCPU()/2)), Patience: f.patience, Log: log,
		Told: func(e sweep.End) {
			switch {
			case e.Err != nil:
				log.Warn(fmt.Sprintf("case %s: %s", e.Case.ID, fault.Printable(e.Err.Error())))
			case e.Result == sweep.Done:
				log.Info("case " + e.Case.ID + " is done")
			}
		},
	}
	err = w.Run(ctx)
	if errors.Is(err, context.Canceled) {
		err = errWorkerTold
	}
	if err != nil {
		return natsFault(err)
	}
	if !f.quiet {
		fmt.Fprintln(cmd.OutOrStdout(), "the sweep is complete")
	}
	return nil
}

// errWorkerTold says that a worker has ended before its sweep.
var errWorkerTold = errors.New("the worker was told to end: other workers run its cases")

// open opens the folder and reads the credentials. The first sweep run makes both.
func (f *workerFlags) open(ctx context.Context, log *slog.Logger) (s *sweep.Store, access queue.Access, err error) {
	err = f.await(ctx, log, func() error {
		s, err = sweep.OpenStore(f.out)
		return folderFault(err)
	}, fs.ErrNotExist)
	if err != nil {
		return nil, access, err
	}
	err = f.await(ctx, log, func() error {
		if s.Cancelled() {
			return usage(fmt.Errorf("%s: %w: sweep run continues it", s.Dir(), sweep.ErrCancelled))
		}
		access, err = f.nats.access(log)
		return err
	}, sweep.ErrCancelled, fs.ErrNotExist)
	if err != nil {
		return nil, access, errors.Join(err, s.Close())
	}
	return s, access, nil
}

// await repeats something while its error is one that a sweep run ends, which may start later than its workers.
func (f *workerFlags) await(ctx context.Context, log *slog.Logger, what func() error, awaited ...error) error {
	until, said := time.Now().Add(f.patience), false
	for {
		err := what()
		if !slices.ContainsFunc(awaited, func(e error) bool { return errors.Is(err, e) }) || !time.Now().Before(until) {
			return err
		}
		if !said {
			said = true
			log.Info(fmt.Sprintf("%v: waiting for sweep run for %v", err, f.patience))
		}
		select {
		case <-ctx.Done():
			return natsFault(errWorkerTold)
		case <-time.After(min(time.Second, f.patience)):
		}
	}
}
