package bridges_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
)

func TestCheckSize(t *testing.T) {
	require.NoError(t, bridges.CheckSize(10, 10))
	err := bridges.CheckSize(11, 10)
	require.ErrorIs(t, err, bridges.ErrTooLarge)
	assert.ErrorContains(t, err, "11 bytes, the most are 10")
	assert.Equal(t, flow.CauseTooLarge, flow.CauseOf(err))
}
