package gpu

import "fmt"

// ResetFence moves f to mark the commands issued so far, as a new fence would,
// and allocates nothing: what f marked before is forgotten. The caller
// flushes. It must not run at the same time as f.Close.
func (c *Ctx) ResetFence(f *Fence) error {
	if err := c.check(&f.object); err != nil {
		return err
	}
	h, err := c.gl.driver.CreateFence()
	if err != nil {
		return fmt.Errorf("reset fence: %w", err)
	}
	old := f.handle
	f.handle = h
	c.gl.objs.rename(objectID{ObjectFence, old}, objectID{ObjectFence, h})
	c.gl.driver.Delete(ObjectFence, old)
	return nil
}

// rename moves an object's entry to the handle that replaced its own.
func (r *registry) rename(from, to objectID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	object := r.live[from]
	delete(r.live, from)
	r.live[to] = object
}
