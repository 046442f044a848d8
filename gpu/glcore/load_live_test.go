//go:build cgo && linux

package glcore_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/glcore"
	"github.com/raybridge/raybridge/gpu/gputest"
)

// A program that embeds raybridge may draw by go-gl itself. Its gl.Init is linked to our
// forwarder, which finds the same functions.
func TestGoGLsOwnInitFindsItsFunctions(t *testing.T) {
	thread := gputest.Thread(t)
	gputest.Do(t, thread, func(*gpu.Ctx) error { return glcore.InitAlone() })
	gputest.Do(t, thread, func(c *gpu.Ctx) error {
		b, err := c.NewBuffer(gpu.BufferDesc{Label: "drawn by whom", Size: 4, Data: []byte{1, 2, 3, 4}})
		if err != nil {
			return err
		}
		defer b.Close()
		data := make([]byte, 4)
		require.NoError(t, c.ReadBuffer(b, 0, data))
		assert.Equal(t, []byte{1, 2, 3, 4}, data)
		return nil
	})
}
