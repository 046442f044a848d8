package groundtruth

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
)

// TestTheRoomForSightsEndsAtAStorageBlock: it doubles up to that, and more is refused with both numbers.
func TestTheRoomForSightsEndsAtAStorageBlock(t *testing.T) {
	fake := gputest.NewFake()
	info := fake.Info()
	info.Limits.MaxStorageBlockBytes = 32 * 100
	fake.SetInfo(info)
	require.NoError(t, fake.Start(t).Do(t.Context(), func(c *gpu.Ctx) error {
		var k caster
		defer k.close()
		require.NoError(t, k.reserve(c, "boxes", 60))
		require.NoError(t, k.reserve(c, "boxes", 61))
		assert.Equal(t, 100, k.capacity)
		require.NoError(t, k.reserve(c, "boxes", 100))
		assert.Equal(t, 32*100, k.sights.Size())
		err := k.reserve(c, "boxes", 101)
		require.ErrorIs(t, err, gpu.ErrLimit)
		require.ErrorContains(t, err, "101 points of actors to look at, its storage blocks have room for 100")
		return nil
	}))
}
