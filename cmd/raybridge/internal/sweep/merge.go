package sweep

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/raybridge/raybridge/internal/fault"
)

// The tables of a sweep.
const (
	ResultsFile = "results.csv"
	TimingFile  = "timing.csv"
)

// States of a case in a table.
const (
	stateDone    = "done"
	stateFailed  = "failed"
	stateMissing = "missing"
)

// Merged is what Merge has found.
type Merged struct {
	Total, Done, Failed int
	// Alarms are cases of which two stores have results that differ.
	Alarms []*Alarm
}

// Merge writes the tables of a plan's cases into a folder, from stores that have some of them each: results.csv, with the
// same bytes whatever ran the cases, and timing.csv, with what depends on wall time. Rows are in the plan's order.
func Merge(p *Plan, stores []*Store, folder string) (*Merged, error) {
	merged := &Merged{Total: len(p.Cases)}
	var failures []map[string]*Failure
	for _, s := range stores {
		failed, err := s.Failed()
		if err != nil {
			return nil, err
		}
		failures = append(failures, failed)
	}
	results := table(slices.Concat([]string{"case"}, p.Keys, []string{"run_seed", "state"}, p.Collect))
	timing := table([]string{"case", "state", "wall_s", "real_time_factor", "tries", "host", "device", "started"})
	for i := range p.Cases {
		c := &p.Cases[i]
		found, at, err := merged.find(stores, c.ID)
		if err != nil {
			return nil, err
		}
		state := stateMissing
		switch {
		case found != nil:
			state = stateDone
			merged.Done++
		case slices.ContainsFunc(failures, func(f map[string]*Failure) bool { return f[c.ID] != nil }):
			state = stateFailed
			merged.Failed++
		}
		results.row(p.resultOf(c, state, found)...)
		row, err := timingOf(c, state, found, at)
		if err != nil {
			return nil, err
		}
		timing.row(row...)
	}
	return merged, errors.Join(results.save(folder, ResultsFile), timing.save(folder, TimingFile))
}

// find returns a case's result and the store that has it, nil for none.
func (m *Merged) find(stores []*Store, id string) (found *Manifest, at *Store, err error) {
	for _, s := range stores {
		next, err := s.Manifest(id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if found == nil {
			found, at = next, s
		} else if next.Class == found.Class && !bytes.Equal(recordOf(next), recordOf(found)) {
			m.Alarms = append(m.Alarms, &Alarm{
				ID: id, First: filepath.Join(at.dir, caseDir(id)), Second: filepath.Join(s.dir, caseDir(id)), Files: differing(found.Files, next.Files),
			})
		}
	}
	return found, at, nil
}

// resultOf is a case's row of results.csv.
func (p *Plan) resultOf(c *Case, state string, found *Manifest) []string {
	row := append([]string{c.ID}, c.Values...)
	for len(row) <= len(p.Keys) {
		row = append(row, "")
	}
	row = append(row, strconv.FormatUint(c.Seed, 10), state)
	for _, name := range p.Collect {
		cell := ""
		if found != nil {
			if value, ok := found.Metrics[name]; ok {
				cell = strconv.FormatFloat(value, 'g', -1, 64)
			}
		}
		row = append(row, cell)
	}
	return row
}

// timingOf is a case's row of timing.csv.
func timingOf(c *Case, state string, found *Manifest, at *Store) ([]string, error) {
	if found == nil {
		return []string{c.ID, state, "", "", "", "", "", ""}, nil
	}
	t, err := at.Timing(c.ID)
	if err != nil {
		return nil, err
	}
	return []string{
		c.ID, state, strconv.FormatFloat(t.WallS, 'f', 3, 64), t.realTimeFactor(), strconv.Itoa(t.Tries), t.Host, found.Class, t.Started.UTC().Format(time.RFC3339),
	}, nil
}

// csvTable is a table in memory.
type csvTable struct {
	text bytes.Buffer
	*csv.Writer
}

func table(head []string) *csvTable {
	t := &csvTable{}
	t.Writer = csv.NewWriter(&t.text)
	t.row(head...)
	return t
}

func (t *csvTable) row(cells ...string) { _ = t.Write(cells) } // memory takes it

// save writes the table, whole or not at all.
func (t *csvTable) save(folder, name string) error {
	t.Flush()
	next := filepath.Join(folder, temporary+uniqueName())
	defer os.Remove(next)
	if err := os.WriteFile(next, t.text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write table: %w", fault.File(err))
	}
	if err := os.Rename(next, filepath.Join(folder, name)); err != nil {
		return fmt.Errorf("write table: %w", fault.File(err))
	}
	return nil
}
