//go:build !nonatsserver

package queue_test

import (
	"os"
	"testing"

	"github.com/nats-io/nats-server/v2/conf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep/queue"
)

// TestPermissionsOfDeploy: the servers' configurations in deploy/ give workers what the server of --listen gives them.
func TestPermissionsOfDeploy(t *testing.T) {
	const folder = "../../../../../deploy/"
	for _, variable := range []string{"POD_NAME", "NATS_COORDINATOR", "NATS_WORKER"} {
		t.Setenv(variable, variable)
	}
	compose, err := os.ReadFile(folder + "compose/nats.conf")
	require.NoError(t, err)
	manifest, err := os.ReadFile(folder + "kubernetes/nats.yaml")
	require.NoError(t, err)
	var first struct{ Data map[string]string }
	require.NoError(t, yaml.Unmarshal(manifest, &first))

	want := queue.WorkerPermissions()
	for name, text := range map[string]string{"compose": string(compose), "kubernetes": first.Data["nats.conf"]} {
		config, err := conf.Parse(text)
		require.NoError(t, err, name)
		users := config["authorization"].(map[string]any)["users"].([]any)
		require.Len(t, users, 2, name)
		assert.Equal(t, map[string]any{"nkey": "NATS_COORDINATOR"}, users[0], name)
		worker := users[1].(map[string]any)
		assert.Equal(t, "NATS_WORKER", worker["nkey"], name)
		given := worker["permissions"].(map[string]any)
		assert.ElementsMatch(t, want.Publish.Allow, given["publish"], name)
		assert.ElementsMatch(t, want.Subscribe.Allow, given["subscribe"], name)
	}
}
