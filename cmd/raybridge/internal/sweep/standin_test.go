package sweep_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
)

// What testdata/standin.sh does, by the value of scene.seed. Others sleep a little, and write.
const (
	failsAlways = "1001"
	isWrongUse  = "1002"
	losesData   = "1003"
	failsOnce   = "1004"
	neverEnds   = "1005"
	hasNoDevice = "1006"
	writesLink  = "1007"
	saysNothing = "1008"
	wasTold     = "1009"
	findsNoRoom = "1010"
	isRandom    = "1011" // other bytes each time
	isElsewhere = "1012" // on another device
	ignoresAll  = "1013" // what is set
	panics      = "1014"
	lacksMemory = "1015"
	endsWith2   = "1016"
	leavesChild = "1018" // which holds its standard error
	isWrongJSON = "1017" // wrong use, said in JSON
)

// napVariable is how long a stand-in sleeps, seconds.
const napVariable = "SWEEP_TEST_NAP"

// notes is a folder of the store where stand-ins note what they do, and find what the test tells them.
const notes = "notes"

// version is that of the tests' plans.
const version = "v1"

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "coordinate" {
		os.Exit(coordinator(os.Args[2], os.Args[3]))
	}
	if len(os.Args) > 2 && (os.Args[1] == "serve" || os.Args[1] == "work") {
		os.Exit(queueProcess(os.Args[1:]))
	}
	if len(os.Args) > 2 && os.Args[1] == "node" {
		os.Exit(nodeProcess(os.Args[2]))
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = flag.Set("test.parallel", "4") // tests wait for processes and leases for most of their time
	}
	os.Exit(m.Run())
}

// class is that of the stand-ins' device.
func class() string { return sweep.ClassOf("host", "", "") }

// newWorker makes a worker whose cases are stand-ins.
func newWorker(s *sweep.Store, p *sweep.Plan) (*sweep.Worker, error) {
	script, err := filepath.Abs("testdata/standin.sh")
	if err != nil {
		return nil, err
	}
	w := &sweep.Worker{Store: s, Plan: p, Program: "/bin/sh", Arguments: []string{script}, Read: readDrive}
	return w, w.Prepare(version, class(), false)
}

// coordinator is a process that runs a planned sweep of a folder, until it is told to end.
func coordinator(dir, jobs string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	report, err := coordinate(ctx, dir, jobs)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 2
	case report.Stopped != nil:
		return 4
	case report.Err() != nil:
		return 1
	}
	return 0
}

func coordinate(ctx context.Context, dir, jobs string) (report *sweep.Report, err error) {
	n, err := strconv.Atoi(jobs)
	if err != nil {
		return nil, err
	}
	s, err := sweep.OpenStore(dir)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ctx, lock, err := s.Lock(ctx, false, func(text string) { fmt.Fprintln(os.Stderr, text) })
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	p, err := s.Plan()
	if err != nil {
		return nil, err
	}
	w, err := newWorker(s, p)
	if err != nil {
		return nil, err
	}
	engine := sweep.NewLocal(ctx, w, n)
	defer engine.Close()
	return (&sweep.Run{Store: s, Plan: p, Engine: engine, Attempts: 20, Delay: time.Millisecond}).Run(ctx)
}

// storeOf makes a folder with the plan of a sweep: keys are those of the file below sweep, without base.
func storeOf(t *testing.T, keys string) (*sweep.Store, *sweep.Plan) {
	t.Helper()
	s, p, err := storeIn(t, filepath.Join(t.TempDir(), "out"), keys)
	require.NoError(t, err)
	return s, p
}

// storeIn plans a sweep and makes the plan a folder's.
func storeIn(t *testing.T, dir, keys string) (*sweep.Store, *sweep.Plan, error) {
	t.Helper()
	p, err := planned(t, "sweep: {base: drive.yaml, "+keys+"}")
	require.NoError(t, err)
	s, err := sweep.CreateStore(dir)
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() { s.Close() })
	_, err = s.Adopt(t.Context(), p, false)
	return s, p, err
}

// results reads all that is compared of a store's results, by name.
func results(t *testing.T, s *sweep.Store) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := filepath.Join(s.Dir(), "cases")
	require.NoError(t, filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "timing.json" {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		files[name] = string(data)
		return err
	}))
	return files
}
