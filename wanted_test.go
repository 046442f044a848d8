package raybridge_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge"
	bridgesall "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/sensors"
)

func TestStreamsGetTheSnapshot(t *testing.T) {
	t.Parallel()
	with := opened(t, `bridges: [{type: stream, connection: "127.0.0.1:0"}]`, raybridge.Config{})
	assert.NotEmpty(t, with.SensorsOf("sensor.other.snapshot"))
	without := opened(t, "", raybridge.Config{})
	assert.Empty(t, without.SensorsOf("sensor.other.snapshot"))
}

// TestWanted: a sensor that several bridges want is added once, and none that the rig has.
func TestWanted(t *testing.T) {
	run := config.Default()
	run.Bridges = []config.Bridge{{Type: "mcap"}, {Type: "no such bridge"}}
	assert.Empty(t, raybridge.Wanted(run, bridgesall.Registry()))
	run.Bridges = append(run.Bridges, config.Bridge{Type: "carla"}, config.Bridge{Type: "stream"})
	wanted := raybridge.Wanted(run, bridgesall.Registry())
	assert.Equal(t, []sensors.Config{{ID: "sensor.other.snapshot", Name: "snapshot", Frame: "base_link", Topic: "/snapshot"}}, wanted)
	run.Sensors = wanted
	assert.Empty(t, raybridge.Wanted(run, bridgesall.Registry()))
}

// TestOthersGetTheSnapshotThatTheRigNames: a recording beside a stream has what it would have
// without the stream.
func TestOthersGetTheSnapshotThatTheRigNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": false, "sensors: [{id: sensor.other.snapshot, name: all, topic: /snapshot}]": true} {
		out := t.TempDir()
		s := opened(t, text+"\nbridges: [{type: mcap, connection: a.mcap}, {type: stream, connection: \"127.0.0.1:0\"}]", raybridge.Config{OutDir: out})
		require.NoError(t, s.Step(t.Context(), 1))
		require.NoError(t, s.Close(t.Context()))
		r, err := mcap.Open(filepath.Join(out, "a.mcap"))
		require.NoError(t, err)
		defer r.Close()
		assert.Equal(t, want, slices.ContainsFunc(r.Topics(), func(t mcap.Topic) bool { return t.Name == "/snapshot" }), text)
	}
}
