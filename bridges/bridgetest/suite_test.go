package bridgetest_test

import (
	"context"
	"testing"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAwait(t *testing.T) {
	asked := 0
	require.NoError(t, bridgetest.Await(t.Context(), func() bool { asked++; return asked == 3 }))
	assert.Equal(t, 3, asked)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, bridgetest.Await(ended, func() bool { return true }), "what holds needs no waiting")
	require.ErrorIs(t, bridgetest.Await(ended, func() bool { return false }), context.Canceled)
}
