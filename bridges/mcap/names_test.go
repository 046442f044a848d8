package mcap_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/sensors/sample"
)

func TestTopicNamesAreTheProfiles(t *testing.T) {
	names := []string{"image", "/1st/image", "/a//b", "/a-b", "/a__b"}
	for profile, want := range map[string]struct {
		says   string
		refuse []string
	}{
		"":                  {"ROS 2 wants", names},
		"?profile=ros1":     {"profile=ros1 wants ROS 1's", names[:4]},
		"?profile=foxglove": {"", nil},
	} {
		for _, name := range names {
			early := open(t, mcap.Factory{}, "a.mcap"+profile, bridges.Env{OutDir: t.TempDir()})
			_, err := bridges.AddPublisher[*sample.Image](early, bridges.Topic{Name: name})
			require.NoError(t, err, "the profile isn't known yet")
			late := open(t, mcap.Factory{}, "a.mcap"+profile, bridges.Env{OutDir: t.TempDir()})
			require.NoError(t, late.Connect(t.Context()))
			_, err = bridges.AddPublisher[*sample.Image](late, bridges.Topic{Name: name})
			for _, err := range []error{early.Connect(t.Context()), err} {
				if !slices.Contains(want.refuse, name) {
					require.NoError(t, err, name)
					continue
				}
				require.ErrorIs(t, err, bridges.ErrTopicName, name)
				assert.ErrorContains(t, err, want.says)
			}
		}
	}
}
