package sweep_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
)

// What a stand-in for a case does, by the value of scene.seed. Others sleep a little, and write.
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
)

// napVariable is how long a stand-in sleeps.
const napVariable = "SWEEP_TEST_NAP"

// notes is a folder of the store where stand-ins note what they do, and find what the test tells them.
const notes = "notes"

// version is that of the tests' plans.
const version = "v1"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "run":
			os.Exit(standIn(os.Args[2:]))
		case "coordinate":
			os.Exit(coordinator(os.Args[2], os.Args[3]))
		}
	}
	os.Exit(m.Run())
}

// standIn is a case that takes no time to compute.
func standIn(args []string) int {
	var settings []string
	given := map[string]string{}
	for i, arg := range args {
		switch {
		case arg == "--set":
			settings = append(settings, args[i+1])
		case strings.HasPrefix(arg, "--") && i+1 < len(args):
			given[arg] = args[i+1]
		}
	}
	what := ""
	for _, s := range settings {
		if value, ok := strings.CutPrefix(s, "scene.seed="); ok {
			what = value
		}
	}
	_ = os.Mkdir(notes, 0o755) // another may have made it
	note := func(name string) bool {
		f, err := os.OpenFile(filepath.Join(notes, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return false
		}
		return f.Close() == nil
	}
	note("pid-" + strconv.Itoa(os.Getpid()))
	defer os.Remove(filepath.Join(notes, "pid-"+strconv.Itoa(os.Getpid())))
	nap, _ := time.ParseDuration(os.Getenv(napVariable))
	time.Sleep(nap)
	data := strings.Repeat(strings.Join(settings, " ")+" "+given["--seed"]+"\n", 1000)
	lost, class, extra := "{}", "host", ""
	switch what {
	case failsAlways:
		fmt.Fprintln(os.Stderr, "the engine is on fire")
		return 1
	case isWrongUse:
		fmt.Fprintln(os.Stderr, "no such rig")
		return 2
	case losesData:
		lost = `{"queue_full": 3}`
	case failsOnce:
		if note("tried-" + given["--seed"]) {
			return 1
		}
	case neverEnds:
		time.Sleep(time.Hour)
	case hasNoDevice:
		fmt.Fprintln(os.Stderr, "no usable OpenGL")
		return 3
	case writesLink:
		if os.Symlink("/etc/passwd", filepath.Join(given["--out"], "link")) != nil {
			return 1
		}
	case saysNothing:
		return 0
	case wasTold:
		extra = `"interrupted": true,`
	case findsNoRoom:
		if _, err := os.Stat(filepath.Join(notes, "room")); err != nil {
			fmt.Fprintln(os.Stderr, "write recording:", syscall.ENOSPC)
			return 1
		}
	case isRandom:
		data = strconv.FormatInt(time.Now().UnixNano(), 10)
	case isElsewhere:
		class = "software"
	}
	if err := os.WriteFile(filepath.Join(given["--out"], "data.txt"), []byte(data), 0o644); err != nil {
		return 1
	}
	summary := fmt.Sprintf(`{"schema": 1, %s "sim_s": 0.1, "wall_s": %d, "lost": %s, "gpu": {"class": %q}, "sensors": [{"name": "a", "latency_p50_ms": %d}],
		"metrics": {"ego.distance": %s, "min_ttc": null}}`, extra, time.Now().UnixNano(), lost, class, time.Now().UnixNano(), given["--seed"])
	if !json.Valid([]byte(summary)) || os.WriteFile(given["--summary"], []byte(summary), 0o644) != nil {
		return 1
	}
	return 0
}

// class is that of the stand-ins' device.
func class() string { return sweep.ClassOf("host", "", "") }

// newWorker makes a worker whose cases are stand-ins.
func newWorker(s *sweep.Store, p *sweep.Plan) (*sweep.Worker, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &sweep.Worker{Store: s, Plan: p, Program: program, Read: readDrive}
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

func coordinate(ctx context.Context, dir, jobs string) (*sweep.Report, error) {
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
	defer lock.Release()
	if err := s.SweepDead(); err != nil {
		return nil, err
	}
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
