package docs_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/sample"
)

// TestRVizsTableIsTrue: what a display of RViz shows is best effort where the page says that
// the display must be told so. It is reliable where the page says that nothing is needed.
func TestRVizsTableIsTrue(t *testing.T) {
	page, err := os.ReadFile("bridges/ros2dds.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(page), "### RViz")
	require.True(t, ok)
	table, rest, ok := strings.Cut(section, "DepthCloud chooses")
	require.True(t, ok)
	displays := map[reflect.Type]string{
		reflect.TypeFor[*sample.Image]():      "| Image |",
		reflect.TypeFor[*sample.CameraInfo](): "| CameraInfo |",
		reflect.TypeFor[*sample.PointCloud](): "| PointCloud2 |",
		reflect.TypeFor[*sample.Radar]():      "| PointCloud2 |",
		reflect.TypeFor[*sample.DvsEvents]():  "| PointCloud2 |",
		reflect.TypeFor[*sample.LaserScan]():  "| LaserScan |",
		reflect.TypeFor[*sample.Range]():      "| Range |",
		reflect.TypeFor[*sample.Transforms](): "TF",
		reflect.TypeFor[*sample.Odometry]():   "Odometry",
		reflect.TypeFor[*sample.Imu]():        "Imu",
		reflect.TypeFor[*sample.GnssFix]():    "GNSS",
	}
	seen := map[reflect.Type]bool{}
	for _, d := range all.Definitions() {
		for _, out := range d.Outputs {
			display, shown := displays[out.Type]
			if !shown {
				continue
			}
			seen[out.Type] = true
			if out.QoS.OrDefault().Reliability == flow.Reliable {
				assert.Contains(t, rest, display, "%s of %s", out.Name, d.ID)
			} else {
				assert.Contains(t, table, display, "%s of %s", out.Name, d.ID)
			}
		}
	}
	assert.Len(t, seen, len(displays))
}
