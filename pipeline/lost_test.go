package pipeline_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
)

// TestALostConnectionIsToldOnce: by the bridge. That its topics fail for it is counted, and
// other failures are logged.
func TestALostConnectionIsToldOnce(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		cause  flow.Cause
		logged bool
	}{
		"not connected": {bridges.ErrNotConnected, "not_connected", false},
		"too large":     {bridges.ErrTooLarge, "too_large", true},
	} {
		t.Run(name, func(t *testing.T) {
			var log lockedText
			to := &peer{kind: bridges.KindNetwork}
			to.publish = func(_ context.Context, topic string, _ int64) error {
				if topic == "/probe" {
					to.set(bridges.UnexpectedlyDisconnected)
					return errors.Join(errors.New("peer"), c.err)
				}
				return nil
			}
			p := newScripted(t, &script{}, pipeline.Config{Bridges: to.registry(), Log: slog.New(slog.NewTextHandler(&log, nil))})
			addScripted(t, p, plainID, "probe", "10")
			require.NoError(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: "test:x"}))
			require.NoError(t, p.Step(t.Context(), 20))
			require.NoError(t, p.Close(t.Context()))
			if c.logged {
				assert.Contains(t, log.String(), "publish failed")
			} else {
				assert.NotContains(t, log.String(), "publish failed")
			}
			assert.Positive(t, p.Summary().Sensors[1].Drops[c.cause])
		})
	}
}
