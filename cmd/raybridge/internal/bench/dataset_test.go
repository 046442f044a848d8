package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDataset: a program that writes down a summary and takes longer over a set than over a recording stands for raybridge.
func TestDataset(t *testing.T) {
	program := script(t, `
all="$*"
while [ "$1" != --rig ]; do [ "$1" = --summary ] && summary="$2"; shift; done
case "$all" in
*nuscenes:set*) grep -q compressed "$2" && exit 2; sleep 0.15;;
*mcap:drive.mcap*) grep -q "compressed: jpeg, publish_raw: false" "$2" || exit 2; sleep 0.1;;
*) exit 2;;
esac
echo "{\"startup_s\": 0.05, \"gpu\": {\"renderer\": \"beads\"}}" > "$summary"`)
	c := Config{Program: program, Runs: 2, Quick: true}
	var r Report
	require.NoError(t, Dataset(t.Context(), c, &r))
	got := map[string]Result{}
	for _, f := range r.Results {
		got[f.Name] = f
	}
	require.Len(t, got, 5)
	require.Len(t, got["dataset.wall_s"].Runs, 2)
	assert.GreaterOrEqual(t, got["dataset.wall_s"].Runs[0], 0.1, "without the start-up")
	assert.GreaterOrEqual(t, got["dataset.mcap_wall_s"].Runs[0], 0.05)
	assert.InDelta(t, got["dataset.mcap_wall_s"].Runs[1]/got["dataset.wall_s"].Runs[1], got["dataset.speed"].Runs[1], 1e-9)
	assert.Greater(t, got["dataset.rss_bytes"].Runs[0], 1e5)
	assert.Len(t, got["dataset.growth_bytes"].Runs, 1)
	assert.Contains(t, r.Machine.Device, "beads")

	c.Program = script(t, "echo no room; exit 3")
	assert.ErrorContains(t, Dataset(t.Context(), c, &r), "no room")
	c.Cases = []string{"kitti"}
	assert.ErrorIs(t, Dataset(t.Context(), c, &r), ErrConfig)
}
