package sweep

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
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
		if err := s.verify(id); err != nil {
			v.Faults = append(v.Faults, fmt.Errorf("%w: delete %s, and run the sweep again", err, filepath.Join(s.dir, caseDir(id))))
		}
	}
	return v, nil
}

// verify compares a result's files with their hashes.
func (s *Store) verify(id string) error {
	m, err := s.Manifest(id)
	if err != nil {
		return err
	}
	for _, f := range m.Files {
		if err := checkName(f.Name); err != nil {
			return err
		}
		if err := s.checkFile(path.Join(caseDir(id), f.Name), f); err != nil {
			return err
		}
	}
	return nil
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
		e := w.alone(ctx, c)
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
	e := w.alone(ctx, &w.Plan.Cases[0])
	if e.Result != Done && e.Err == nil {
		return context.Cause(ctx)
	}
	return e.Err
}

// alone runs a case once.
func (w *Worker) alone(ctx context.Context, c *Case) End {
	if err := w.check(c); err != nil {
		return End{Case: c, Result: Hopeless, Err: err, Code: codeUsage}
	}
	return w.run(ctx, c, 1).file()
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
