//go:build !cgo || !linux || nowindow

package window_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/window"
)

func TestBuildsWithoutWindowsSaySo(t *testing.T) {
	window.Main(func() {
		_, err := window.Open(window.Options{})
		require.ErrorIs(t, err, gpu.ErrNotSupported)
		assert.ErrorContains(t, err, "nowindow")
	})
}
