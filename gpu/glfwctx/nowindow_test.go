//go:build !cgo || nowindow

package glfwctx_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/glfwctx"
)

func TestBuildsWithoutWindowsSaySo(t *testing.T) {
	err := glfwctx.Main(glfwctx.Options{}, func(*glfwctx.Window) error { panic("called") })
	require.ErrorIs(t, err, gpu.ErrNotSupported)
	assert.ErrorContains(t, err, "nowindow")
}
