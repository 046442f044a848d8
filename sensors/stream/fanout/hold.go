package fanout

import "errors"

// ErrHeld says that the server keeps as much for the client as it may.
var ErrHeld = errors.New("the server keeps as much for this client as it may")

// spare says that one part in so many of MaxControl is left for control frames: a client
// whose session keeps all that it may can be told so.
const spare = 16

// Hold notes that the session keeps n bytes more for the client, such as a registration or
// a message that isn't complete. Together with the control frames that the client leaves
// unread they are bounded by Config.MaxControl; ErrHeld says that they would be more, and
// nothing is noted. What is held ends with Release, or with the client.
func (c *Client) Hold(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := c.server.config.MaxControl
	if c.kept()+n > most-most/spare {
		return ErrHeld
	}
	c.held += n
	return nil
}

// Release notes that n bytes aren't kept any more.
func (c *Client) Release(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held -= n
}

// kept is what the client makes the server keep, bytes; mu must be held.
func (c *Client) kept() int { return c.held + c.writing + len(c.control) }

// maxIdleControl is how much memory for control frames a client keeps that isn't in use.
const maxIdleControl = 64 << 10

// takeControl takes the control frames that are to be written next; mu must be held.
func (c *Client) takeControl() {
	free := c.scratch[:0]
	if cap(free) > maxIdleControl {
		free = nil
	}
	c.scratch, c.control = c.control, free
	c.writing = len(c.scratch)
}
