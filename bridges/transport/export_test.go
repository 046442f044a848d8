package transport

import "github.com/raybridge/raybridge/flow"

// PoolOf returns the pool of a client's buffers, for checks that nothing leaks. The client is
// open.
func PoolOf(c *Client) *flow.Pool { return c.life.Load().pool }
