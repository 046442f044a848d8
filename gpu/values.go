package gpu

// Value returns what SetValue stored under key on this GL thread, nil if
// nothing was: facts about the context that are costly to find out and equal
// for all who use it.
func (c *Ctx) Value(key any) any {
	if c.Err() != nil {
		return nil
	}
	return c.gl.values[key]
}

// SetValue stores a value under key for as long as the thread lives. Keys are
// comparable values of a type that the storing package doesn't export, so that
// packages don't meet.
func (c *Ctx) SetValue(key, value any) {
	if c.Err() != nil {
		return
	}
	if c.gl.values == nil {
		c.gl.values = map[any]any{}
	}
	c.gl.values[key] = value
}
