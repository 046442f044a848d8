package link_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/internal/link"
	"github.com/raybridge/raybridge/flow"
)

// Where nobody says otherwise 64 messages wait for a peer that reads nothing, or 64 MiB.
func TestDefaultQueue(t *testing.T) {
	for name, c := range map[string]struct {
		messages, frame int // that fill the queue; bytes of each
	}{
		"messages": {64, 2},
		"bytes":    {4, 16 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p peer
				l, b := open(t, link.Config{Dial: p.dial})
				publish := publisher(t, b, "/a", flow.DropOldest)
				text := strings.Repeat("x", c.frame-1) // a frame is one byte longer
				l.Start()
				synctest.Wait()
				require.NoError(t, publish(text))
				synctest.Wait() // it is being written
				for range c.messages {
					require.NoError(t, publish(text))
				}
				assert.Empty(t, b.Statistics().Drops, "all wait")
				require.NoError(t, publish(text))
				assert.Equal(t, flow.Drops{flow.CausePeerSlow: 1}, b.Statistics().Drops)
			})
		})
	}
}
