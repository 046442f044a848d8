package stream

import "github.com/raybridge/raybridge/bridges"

// OnConnected has f called with the address whenever an instance of this package has
// begun to listen, before Connect returns.
func OnConnected(i bridges.Instance, f func(address string)) { i.(*instance).connected = f }
