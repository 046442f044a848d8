package logging

import "github.com/raybridge/raybridge/bridges"

// FactoryOn is the factory of logs that write to targets of one's own.
type FactoryOn struct {
	Factory
	Target bridges.Target
}

// NewInstance returns a log that writes to the factory's target.
func (f FactoryOn) NewInstance(env bridges.Env) (bridges.Instance, error) {
	i := newInstance(env)
	i.Open = func(string) (bridges.Target, error) { return f.Target, nil }
	return i, nil
}

// SetLimit makes a reader take lines of so many bytes at most.
func (r *Reader) SetLimit(bytes int) { r.limit = bytes }
