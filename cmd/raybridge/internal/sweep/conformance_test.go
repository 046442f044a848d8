package sweep_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
)

// seat is an engine with the share of the cases that it runs.
type seat struct {
	sweep.Engine
	sweep.Shard
	end func() // after the run (optional)
}

// engines are the ways to run a plan's cases. Each takes a worker, and ends with the test, or with ctx.
var engines = map[string]func(ctx context.Context, t *testing.T, w *sweep.Worker) []seat{
	"local": func(ctx context.Context, t *testing.T, w *sweep.Worker) []seat {
		return []seat{{local(ctx, t, w, 3), sweep.Shard{}, nil}}
	},
	"shards": func(ctx context.Context, t *testing.T, w *sweep.Worker) (seats []seat) {
		for i := range 3 {
			seats = append(seats, seat{local(ctx, t, w, 1), sweep.Shard{Index: i, Count: 3}, nil})
		}
		return seats
	},
	// A system may run an index twice, at the same time.
	"shards twice": func(ctx context.Context, t *testing.T, w *sweep.Worker) (seats []seat) {
		for i := range 4 {
			seats = append(seats, seat{local(ctx, t, w, 1), sweep.Shard{Index: i / 2, Count: 2}, nil})
		}
		return seats
	},
	"nats": func(ctx context.Context, t *testing.T, w *sweep.Worker) []seat {
		e, end := onNATS(ctx, t, w, 3)
		return []seat{{e, sweep.Shard{}, end}}
	},
}

func local(ctx context.Context, t *testing.T, w *sweep.Worker, jobs int) *sweep.Local {
	l := sweep.NewLocal(ctx, w, jobs)
	t.Cleanup(l.Close)
	return l
}

// TestEngines is what every engine does alike.
func TestEngines(t *testing.T) {
	t.Parallel()
	for name, newEngine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for what, test := range map[string]func(*testing.T, newSeats){
				"all cases":    engineRunsAll,
				"failures":     engineFails,
				"ends":         engineEnds,
				"a full disk":  engineFindsNoRoom,
				"no device":    engineHasNoDevice,
				"only missing": engineRunsOnlyMissing,
			} {
				t.Run(what, func(t *testing.T) {
					t.Parallel()
					test(t, newEngine)
				})
			}
		})
	}
}

type newSeats = func(ctx context.Context, t *testing.T, w *sweep.Worker) []seat

// runAll runs a plan on all seats at once, and returns their reports.
func runAll(ctx context.Context, t *testing.T, engine newSeats, s *sweep.Store, p *sweep.Plan) []*sweep.Report {
	t.Helper()
	w, err := newWorker(s, p)
	require.NoError(t, err)
	seats := engine(ctx, t, w)
	reports := make([]*sweep.Report, len(seats))
	errs := make(chan error)
	for i, seat := range seats {
		go func() {
			var err error
			reports[i], err = (&sweep.Run{Store: s, Plan: p, Engine: seat.Engine, Shard: seat.Shard, Delay: time.Millisecond}).Run(ctx)
			errs <- err
		}()
	}
	for range seats {
		require.NoError(t, <-errs)
	}
	for _, seat := range seats {
		if seat.end != nil {
			seat.end()
		}
	}
	return reports
}

// stateOf is the store's own word.
func stateOf(t *testing.T, s *sweep.Store, p *sweep.Plan) *sweep.State {
	t.Helper()
	st, err := s.State(p)
	require.NoError(t, err)
	return st
}

func engineRunsAll(t *testing.T, engine newSeats) {
	s, p := storeOf(t, `matrix: {scene.seed: [1, 2, 3], ego.speed: [5, 10]}, repeat: {seed: 3}, collect: [ego.distance, min_ttc]`)
	total := 0
	for _, r := range runAll(t.Context(), t, engine, s, p) {
		require.NoError(t, r.Err())
		assert.Equal(t, r.Total, r.Done)
		assert.Zero(t, r.Left())
		total += r.Total
	}
	assert.GreaterOrEqual(t, total, 18)
	st := stateOf(t, s, p)
	assert.Equal(t, []int{18, 0, 0, 0}, []int{st.Done, st.Failed, st.Running, len(st.Alarms)})
	assert.Len(t, results(t, s), 18*3, "a manifest, a summary and a file each")
	for i := range p.Cases {
		m, err := s.Manifest(p.Cases[i].ID)
		require.NoError(t, err)
		assert.Equal(t, map[string]float64{"ego.distance": float64(p.Cases[i].Seed)}, m.Metrics)
		assert.Equal(t, map[string]string{"scene.seed": p.Cases[i].Values[0], "ego.speed": p.Cases[i].Values[1]}, m.Settings)
	}
	v, err := s.Verify(t.Context(), p)
	require.NoError(t, err)
	assert.Equal(t, []int{18, 0}, []int{v.Checked, len(v.Faults)})
	assert.Empty(t, entries(t, s, "attempts"))

	merged, err := sweep.Merge(p, []*sweep.Store{s}, s.Dir())
	require.NoError(t, err)
	assert.Equal(t, 18, merged.Done)
	table, err := os.ReadFile(filepath.Join(s.Dir(), sweep.ResultsFile))
	require.NoError(t, err)
	lines := strings.Split(string(table), "\n")
	assert.Equal(t, "case,scene.seed,ego.speed,run_seed,state,ego.distance,min_ttc", lines[0])
	assert.Equal(t, p.Cases[1].ID+",1,5,2,done,2,", lines[2])
}

// entries lists a folder of a store.
func entries(t *testing.T, s *sweep.Store, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(filepath.Join(s.Dir(), dir))
	require.NoError(t, err)
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func engineFails(t *testing.T, engine newSeats) {
	for name, c := range map[string]struct {
		what     string
		attempts int
		reason   string
		code     int
	}{
		"always":       {failsAlways, 3, "exit status 1: the engine is on fire", 1},
		"wrong use":    {isWrongUse, 1, "exit status 2: raybridge: no such rig", 2},
		"wrong, JSON":  {isWrongJSON, 1, `exit status 2: {"level":"ERROR","msg":"no such rig"}`, 2},
		"panic":        {panics, 3, "exit status 2: panic: index out of range", 2},
		"memory":       {lacksMemory, 3, "exit status 2: fatal error: out of memory", 2},
		"a bare 2":     {endsWith2, 3, "exit status 2", 2},
		"lost":         {losesData, 3, "the run lost messages: 3 by queue_full", 0},
		"link":         {writesLink, 1, "the case's outputs can't be kept: outputs/link is a link or a device: only files are kept", 0},
		"no summary":   {saysNothing, 3, "the process ended without its summary", 0},
		"told to end":  {wasTold, 3, "the run was told to end before its time", 0},
		"only at once": {failsOnce, 0, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := storeOf(t, `matrix: {scene.seed: [`+c.what+`, 1]}`)
			failed := 0
			for _, r := range runAll(t.Context(), t, engine, s, p) {
				failed = max(failed, r.Failed)
				require.NoError(t, r.Stopped)
			}
			st := stateOf(t, s, p)
			if c.attempts == 0 {
				assert.Equal(t, []int{0, 2}, []int{failed, st.Done})
				return
			}
			assert.Equal(t, []int{1, 1}, []int{failed, st.Done})
			require.Len(t, st.Failures, 1)
			f := st.Failures[0]
			assert.Equal(t, []any{c.attempts, c.code, c.reason}, []any{f.Attempts, f.Code, f.Reason})
		})
	}
}

func engineEnds(t *testing.T, engine newSeats) {
	s, p := storeOf(t, `matrix: {scene.seed: [`+neverEnds+`]}, repeat: {seed: 12}`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for stateOf(t, s, p).Running == 0 {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	for _, r := range runAll(ctx, t, engine, s, p) {
		require.ErrorIs(t, r.Stopped, context.Canceled)
		assert.Equal(t, []int{0, 0}, []int{r.Done, r.Failed})
	}
	assert.Empty(t, entries(t, s, "attempts"), "nothing half is left")
	assert.Empty(t, entries(t, s, "cases"))
}

func engineFindsNoRoom(t *testing.T, engine newSeats) {
	s, p := storeOf(t, `matrix: {scene.seed: [`+findsNoRoom+`]}, repeat: {seed: 12}`)
	for _, r := range runAll(t.Context(), t, engine, s, p) {
		require.ErrorIs(t, r.Stopped, sweep.ErrDiskFull)
		assert.Equal(t, []int{0, 0}, []int{r.Done, r.Failed}, "they are tried again when there is room")
	}
	assert.Empty(t, entries(t, s, "attempts"))
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir(), notes, "room"), nil, 0o600))
	for _, r := range runAll(t.Context(), t, engine, s, p) {
		require.NoError(t, r.Err())
	}
	assert.Equal(t, 12, stateOf(t, s, p).Done)
}

func engineHasNoDevice(t *testing.T, engine newSeats) {
	for what, want := range map[string]string{hasNoDevice: "no usable device here: no usable OpenGL", isElsewhere: "another class of device than the plan's"} {
		s, p := storeOf(t, `matrix: {scene.seed: [`+what+`]}, repeat: {seed: 12}`)
		for _, r := range runAll(t.Context(), t, engine, s, p) {
			require.ErrorContains(t, r.Stopped, want)
			assert.Equal(t, []int{0, 0}, []int{r.Done, r.Failed})
		}
	}
}

func engineRunsOnlyMissing(t *testing.T, engine newSeats) {
	s, p := storeOf(t, `matrix: {scene.seed: [1, 2]}, repeat: {seed: 4}`)
	runAll(t.Context(), t, engine, s, p)
	lost := p.Cases[3].ID
	before, err := s.Timing(p.Cases[0].ID)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(filepath.Join(s.Dir(), "cases", lost[:2], lost)))
	for _, r := range runAll(t.Context(), t, engine, s, p) {
		assert.LessOrEqual(t, r.Done-r.Before, 1)
		assert.NoError(t, r.Err())
	}
	after, err := s.Timing(p.Cases[0].ID)
	require.NoError(t, err)
	assert.Equal(t, before, after, "what was done wasn't run again")
	assert.Equal(t, 8, stateOf(t, s, p).Done)
}
