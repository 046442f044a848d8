package gpu

import (
	"sync/atomic"
	"time"
)

// Ctx is the token of being on the GL thread (law G1): it is given to a
// function by Thread.Do or Thread.Go and is dead when that function returns.
// It must not leave the goroutine it was given on, and nothing that has one
// may wait (law G4). Every method fails with ErrDeadCtx after that, and with
// ErrContextLost once the context is lost.
type Ctx struct {
	gl   *current
	dead atomic.Bool
}

// current is what the tokens of one thread share; owned by the GL goroutine.
type current struct {
	driver   Driver
	objs     *registry
	lost     error           // non-nil once the context is lost
	lossTold bool            // lost has been reported
	bound    []BoundResource // scratch of resolve
	fresh    []Ctx           // tokens not yet given out
	values   map[any]any     // see Value
}

// newCtx returns a token that was never used before, since one that came back
// to life would defeat the check. Tokens are made in batches: an entry of the
// frame loop allocates 16 bytes on average.
func (g *current) newCtx() *Ctx {
	if len(g.fresh) == 0 {
		g.fresh = make([]Ctx, 64)
	}
	c := &g.fresh[0]
	g.fresh = g.fresh[1:]
	c.gl = g
	return c
}

// Err returns nil while the token works, else the error that its other methods
// return: ErrDeadCtx, or one that wraps ErrContextLost.
func (c *Ctx) Err() error {
	if c == nil || c.dead.Load() {
		return ErrDeadCtx
	}
	return c.gl.lost
}

// check is Err, or that one of the objects is closed.
func (c *Ctx) check(objects ...*object) error {
	if err := c.Err(); err != nil {
		return err
	}
	for _, o := range objects {
		if err := o.usable(); err != nil {
			return err
		}
	}
	return nil
}

// Info returns the context's description.
func (c *Ctx) Info() Info { return c.gl.driver.Info() }

// Flush starts all commands issued so far; it doesn't wait.
func (c *Ctx) Flush() error {
	if err := c.check(); err != nil {
		return err
	}
	return c.gl.driver.Flush()
}

// Finish waits until the GPU has done everything: tests and benchmarks only.
func (c *Ctx) Finish() error {
	if err := c.check(); err != nil {
		return err
	}
	return c.gl.driver.Finish()
}

// Clock samples the GPU's and the host's monotonic clock together, to place
// query results on the host's time line.
func (c *Ctx) Clock() (gpuNs int64, host time.Time, err error) {
	if err := c.check(); err != nil {
		return 0, time.Time{}, err
	}
	return c.gl.driver.Clock()
}

// DebugNotes returns what the driver's debug output said besides errors since
// the start, each text once with its count; empty without a debug context.
func (c *Ctx) DebugNotes() []string {
	if d, ok := c.gl.driver.(interface{ DebugNotes() []string }); ok && c.check() == nil {
		return d.DebugNotes()
	}
	return nil
}
