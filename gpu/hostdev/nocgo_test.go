//go:build !cgo

package hostdev_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/hostdev"
)

// A build without cgo has no kernels, and says what to do.
func TestWithoutCgo(t *testing.T) {
	assert.Empty(t, hostdev.ISAs())
	_, err := gpu.Start(hostdev.Open(hostdev.Options{}))
	require.ErrorIs(t, err, gpu.ErrNotSupported)
	assert.ErrorContains(t, err, "CGO_ENABLED=1")
}
