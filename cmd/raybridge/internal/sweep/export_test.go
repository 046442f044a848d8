package sweep

import (
	"context"
	"io"
	"time"
)

// Poison gives a plan another configuration, which is what its hash says.
func Poison(p *Plan, name, text string) {
	g := newGatherer()
	in := g.text(name, []byte(text))
	p.Inputs, p.sources, p.Config = g.inputs, g.sources, in.path()
}

// Renewal is how often a lock is renewed.
const Renewal = renewal

// SetAside makes room for a case's result.
func SetAside(s *Store, id string) error { return s.setAside(caseDir(id)) }

// ThisProcess is what records say of ours: its space of numbers, and when it began.
func ThisProcess() (space, born string) { p := thisProcess(); return p.Space, p.Born }

// ReadPlan reads a plan.
func ReadPlan(r io.Reader) (*Plan, error) { return readPlan(r) }

// Freeze gives a configuration other paths.
func Freeze(file string, text []byte, moved func(key, path string) (string, error)) ([]byte, error) {
	return freeze(file, text, moved)
}

// HashOf hashes what a reader gives.
var HashOf = hashOf

// Guard keeps others from the lock until release.
func Guard(ctx context.Context, s *Store) (release func(), err error) { return s.guard(ctx) }

// SignEvery is how often an attempt gives a sign of life.
const SignEvery = signEvery

// Begin begins an attempt.
func Begin(s *Store, id string) (drop func(), err error) {
	a, err := s.begin(id, time.Now())
	if err != nil {
		return nil, err
	}
	return a.drop, nil
}
