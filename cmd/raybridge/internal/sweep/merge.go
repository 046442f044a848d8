package sweep

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// The tables of a sweep, and the page that shows them.
const (
	ResultsFile = "results.csv"
	TimingFile  = "timing.csv"
	ReportFile  = "report.html"
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
	// Idle are keys whose values changed nothing in what was kept, wherever two can be compared.
	Idle []string
}

// Merge writes the tables of a plan's cases into a folder, from stores that have some of them each: results.csv, with the
// same bytes whatever ran the cases, and timing.csv, with what depends on wall time. Rows are in the plan's order. Beside
// them it writes report.html, which shows both, with plots; equal stores give equal bytes of it.
func Merge(p *Plan, stores []*Store, folder string) (*Merged, error) {
	merged := &Merged{Total: len(p.Cases)}
	rows, err := merged.rows(p, stores)
	if err != nil {
		return nil, err
	}
	results := table(slices.Concat([]string{"case"}, p.Keys, []string{"run_seed", "state"}, p.Collect))
	timing := table([]string{"case", "state", "wall_s", "real_time_factor", "tries", "host", "device", "started"})
	for i := range rows {
		r := &rows[i]
		results.row(p.resultOf(r.Case, r.state, r.found)...)
		timing.row(r.timed()...)
	}
	merged.Idle = idleKeys(p, rows)
	return merged, errors.Join(results.save(folder, ResultsFile), timing.save(folder, TimingFile), newPage(p, merged, rows, folder).save(folder))
}

// rows looks for all cases, and counts them.
func (m *Merged) rows(p *Plan, stores []*Store) ([]row, error) {
	var failures []map[string]*Failure
	for _, s := range stores {
		failed, err := s.Failed()
		if err != nil {
			return nil, err
		}
		failures = append(failures, failed)
	}
	rows := make([]row, len(p.Cases))
	for i := range rows {
		r := &rows[i]
		r.Case, r.state = &p.Cases[i], stateMissing
		var err error
		if r.found, r.at, err = m.find(stores, r.ID); err != nil {
			return nil, err
		}
		if r.found != nil {
			r.state = stateDone
			m.Done++
			if r.timing, err = r.at.Timing(r.ID); err != nil {
				return nil, err
			}
		} else if k := slices.IndexFunc(failures, func(f map[string]*Failure) bool { return f[r.ID] != nil }); k >= 0 {
			r.state, r.failure, r.failedAt = stateFailed, failures[k][r.ID], stores[k]
			m.Failed++
		}
	}
	return rows, nil
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
		} else if next.Class == found.Class && !next.agrees(found) {
			m.Alarms = append(m.Alarms, &Alarm{
				ID: id, First: filepath.Join(at.dir, caseDir(id)), Second: filepath.Join(s.dir, caseDir(id)), Files: differing(found.written(), next.written()),
			})
		}
	}
	if found == nil {
		return nil, nil, nil
	}
	metrics, err := at.metrics(found)
	if err == nil && !maps.Equal(metrics, found.Metrics) {
		err = fmt.Errorf("%s %w: its metrics aren't the summary's", filepath.Join(at.dir, caseDir(id), manifestFile), ErrEdited)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: delete %s, and run the sweep again", err, filepath.Join(at.dir, caseDir(id)))
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

// timed is the case's row of timing.csv.
func (r *row) timed() []string {
	if r.failure != nil {
		return []string{r.ID, r.state, "", "", strconv.Itoa(r.failure.Attempts), r.failure.Host, "", ""}
	}
	if r.found == nil {
		return []string{r.ID, r.state, "", "", "", "", "", ""}
	}
	t := r.timing
	return []string{
		r.ID, r.state, strconv.FormatFloat(t.WallS, 'f', 3, 64), t.realTimeFactor(), strconv.Itoa(t.Tries), t.Host, r.found.Class, t.Started.UTC().Format(time.RFC3339),
	}
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
	return replace(folder, name, t.text.Bytes())
}
