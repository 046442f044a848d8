package mcap

import (
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/recordfile"
)

// FactoryOn is the factory of recorders that write to targets of one's own.
type FactoryOn struct {
	Factory
	Target func(path string) (recordfile.Target, error)
}

// NewInstance returns a recorder that writes to the factory's target.
func (f FactoryOn) NewInstance(env bridges.Env) (bridges.Instance, error) {
	i := newInstance(env)
	i.create = func(path string) (*recordfile.File, error) {
		target, err := f.Target(path)
		if err != nil {
			return nil, err
		}
		return recordfile.New(target), nil
	}
	return i, nil
}
