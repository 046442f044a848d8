package foxglove_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/bridges"
)

// Whichever call comes last, the status says whether the server listens.
func TestConnectingAndDisconnectingAtOnce(t *testing.T) {
	b := connected(t, "")
	for range 200 {
		var both sync.WaitGroup
		both.Go(func() { assert.NoError(t, b.Connect(t.Context())) })
		both.Go(func() { assert.NoError(t, b.Disconnect(t.Context())) })
		both.Wait()
		if !assert.Equal(t, b.Endpoints() != nil, b.Status() == bridges.Connected) {
			return
		}
	}
}
