package pipeline_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/pipeline"
)

// renamed is a scripted bridge under another name.
type renamed struct{ *peer }

func (r renamed) Info() bridges.Info {
	info := r.peer.Info()
	info.Name = "test_custom"
	return info
}

// TestTwoBridgesOfOneType run together, and the summary has both by their names.
func TestTwoBridgesOfOneType(t *testing.T) {
	original, variant := &peer{kind: bridges.KindFile}, &peer{kind: bridges.KindFile}
	registry := bridges.MustRegistry(original, renamed{variant})
	p := newScripted(t, &script{}, pipeline.Config{Bridges: registry})
	addScripted(t, p, plainID, "probe", "10")
	for _, spec := range []string{"test_custom:b", "test:a"} {
		require.NoError(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: spec}))
	}
	require.NoError(t, p.Run(t.Context(), time.Second))
	require.NoError(t, p.Close(t.Context()))
	assert.NotEmpty(t, original.deliveries())
	assert.Equal(t, original.deliveries(), variant.deliveries())
	summary := p.Summary()
	for i, want := range [][3]string{{"test_custom", "test", "b"}, {"test", "test", "a"}} {
		row := summary.Bridges[i]
		assert.Equal(t, want, [3]string{row.Name, row.Type, row.Connection})
		assert.EqualValues(t, len(original.deliveries()), row.Sent)
	}
	assert.True(t, summary.Complete(registry))
}
