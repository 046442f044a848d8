package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
)

// Verified is what a look at results has found.
type Verified struct {
	// Checked of Done results were looked at.
	Checked, Done int
	// Faults are results that aren't what they were, or aren't given again.
	Faults []error
}

// Verify compares the files of all results with the hashes of their manifests.
func (s *Store) Verify(ctx context.Context, p *Plan) (*Verified, error) {
	v := &Verified{}
	for i := range p.Cases {
		if err := ctx.Err(); err != nil {
			return v, err
		}
		id := p.Cases[i].ID
		if !s.has(id) {
			continue
		}
		v.Done++
		v.Checked++
		if err := s.verify(p, &p.Cases[i]); err != nil {
			v.Faults = append(v.Faults, fmt.Errorf("%w: delete %s, and run the sweep again", err, filepath.Join(s.dir, caseDir(id))))
		}
	}
	return v, nil
}

// ErrEdited says that a manifest doesn't say what the case has given.
var ErrEdited = errors.New("was edited")

// verify compares a result's files with their hashes, and what the manifest says with the plan, the summary and the
// folder.
func (s *Store) verify(p *Plan, c *Case) error {
	m, err := s.Manifest(c.ID)
	if err != nil {
		return err
	}
	listed := map[string]bool{}
	for _, f := range m.Files {
		if err := checkName(f.Name); err != nil {
			return err
		}
		if err := s.checkFile(path.Join(caseDir(c.ID), f.Name), f); err != nil {
			return err
		}
		listed[path.Join(caseDir(c.ID), f.Name)] = true
	}
	metrics, err := s.metrics(m)
	name := filepath.Join(s.dir, caseDir(c.ID), manifestFile)
	switch {
	case err != nil:
		return err
	case !maps.Equal(metrics, m.Metrics):
		return fmt.Errorf("%s %w: its metrics aren't the summary's", name, ErrEdited)
	case m.Seed != c.Seed || m.Version != p.Version || p.Class != AnyDevice && m.Class != p.Class:
		return fmt.Errorf("%s %w: its seed, version or class of device isn't the plan's", name, ErrEdited)
	}
	return fs.WalkDir(s.root.FS(), path.Join(caseDir(c.ID), outputsDir), func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !listed[name] {
			err = fmt.Errorf("%s isn't in the manifest: somebody has added it", filepath.Join(s.dir, name))
		}
		return s.fault(err)
	})
}

// metrics reads those of a result from its summary, if that is what its hash says.
func (s *Store) metrics(m *Manifest) (map[string]float64, error) {
	at := slices.IndexFunc(m.Files, func(f InputFile) bool { return f.Name == summaryFile })
	name := path.Join(caseDir(m.ID), summaryFile)
	if at < 0 {
		return nil, fmt.Errorf("%s %w: it has no summary", filepath.Join(s.dir, caseDir(m.ID), manifestFile), ErrEdited)
	}
	if err := s.checkFile(name, m.Files[at]); err != nil {
		return nil, err
	}
	text, err := s.root.ReadFile(name)
	if err != nil {
		return nil, s.fault(err)
	}
	var tree map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", filepath.Join(s.dir, name), err)
	}
	return newSummary(tree).metrics(), nil
}

// Sample runs a share of the cases that are done again, and compares what they give with their results. Which ones is
// decided by their ids, at least one is taken.
func (w *Worker) Sample(ctx context.Context, share float64, told func(*Case)) (*Verified, error) {
	v := &Verified{}
	var done, chosen []*Case
	for i := range w.Plan.Cases {
		c := &w.Plan.Cases[i]
		if !w.Store.has(c.ID) {
			continue
		}
		done = append(done, c)
		if drawn, err := strconv.ParseUint(c.ID[16:28], 16, 64); err == nil && float64(drawn) < share*(1<<48) {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 && len(done) > 0 {
		chosen = done[:1]
	}
	v.Done = len(done)
	for _, c := range chosen {
		told(c)
		e := w.Try(ctx, c, 1)
		switch {
		case ctx.Err() != nil:
			return v, ctx.Err()
		case e.Alarm != nil:
			v.Faults = append(v.Faults, e.Alarm)
		case e.Result != Done:
			v.Faults = append(v.Faults, fmt.Errorf("case %s: %w", c.ID, e.Err))
		}
		v.Checked++
	}
	return v, nil
}

// Probe runs the plan's first case.
func (w *Worker) Probe(ctx context.Context) error {
	e := w.Try(ctx, &w.Plan.Cases[0], 1)
	if e.Result != Done && e.Err == nil {
		return context.Cause(ctx)
	}
	return e.Err
}

// ParseShare reads a share such as 1%, or 0.01.
func ParseShare(text string) (float64, error) {
	number, percent := text, 1.0
	if n := len(text); n > 0 && text[n-1] == '%' {
		number, percent = text[:n-1], 100
	}
	f, err := strconv.ParseFloat(number, 64)
	if f /= percent; err != nil || !(f > 0 && f <= 1) {
		return 0, fmt.Errorf("%q is not a share: want 1%%, up to 100%%", text)
	}
	return f, nil
}
