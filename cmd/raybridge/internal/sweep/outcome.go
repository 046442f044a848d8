package sweep

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/raybridge/raybridge/internal/doc"
)

// CaseOutcome is what a case came to, for programs.
type CaseOutcome struct {
	Case  string `json:"case"`  // id
	State string `json:"state"` // done or failed
	// Before: it was so when the run began.
	Before bool `json:"before,omitempty"`
	// Settings are the case's, as plain JSON. Seed is the run's.
	Settings map[string]any `json:"settings"`
	Seed     uint64         `json:"seed"`
	// Metrics are all that the run's summary has, by name; of a case that is done.
	Metrics map[string]float64 `json:"metrics,omitempty"`
	// Dir is the folder of a case that is done, absolute. The run's files are in outputs.
	Dir string `json:"dir,omitempty"`
	// Code, Attempts and Reason are those of a case that failed for good.
	Code     int    `json:"code,omitempty"`
	Attempts int    `json:"attempts,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// Outcome looks what a case came to: nil for one that is neither done nor failed for good.
func (s *Store) Outcome(p *Plan, c *Case) (*CaseOutcome, error) {
	o := &CaseOutcome{Case: c.ID, Settings: map[string]any{}, Seed: c.Seed}
	for key, text := range p.named(c) {
		o.Settings[key] = plainValue(text)
	}
	m, err := s.Manifest(c.ID)
	if err == nil {
		o.State, o.Metrics, o.Dir = stateDone, m.Metrics, filepath.Join(s.dir, filepath.FromSlash(caseDir(c.ID)))
		return o, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var f Failure
	if err := s.read(failureFile(c.ID), &f); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	o.State, o.Code, o.Attempts, o.Reason = stateFailed, f.Code, f.Attempts, f.Reason
	return o, nil
}

// plainValue is a value in YAML as JSON has it. One that JSON hasn't, such as .inf, stays text.
func plainValue(text string) any {
	n, err := doc.ParseYAML("", []byte(text))
	if err != nil {
		return text
	}
	v, err := n.Value()
	if err != nil {
		return text
	}
	if _, err := json.Marshal(v); err != nil {
		return text
	}
	return v
}
