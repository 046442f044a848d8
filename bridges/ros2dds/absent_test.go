//go:build !cgo || !ros2dds

package ros2dds_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros2dds"
)

// A program without the library lists the bridge and its types, and says how to get one
// that has it.
func TestNotBuilt(t *testing.T) {
	registry, err := bridges.NewRegistry(ros2dds.Factory{})
	require.NoError(t, err)
	plugin, err := registry.Plugin("ros2dds")
	require.NoError(t, err)
	assert.Greater(t, len(plugin.Types()), 20)
	_, err = registry.Open("ros2dds:0", bridges.Env{})
	assert.ErrorIs(t, err, bridges.ErrNotBuilt)
	assert.ErrorContains(t, err, "make build-ros2dds")
}

func ExampleFactory() {
	_, err := bridges.MustRegistry(ros2dds.Factory{}).Open("ros2dds:0?node=simulator", bridges.Env{})
	fmt.Println(err)
	// Output:
	// open bridge "ros2dds": bridge not built in: this program has no DDS library; "make build-ros2dds" builds bin/raybridge-ros2dds, which has (it needs Debian's cyclonedds-dev)
}
