//go:build peers

package page

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/stretchr/testify/require"
)

// TestModules: Node reads each of the page's modules, and ESLint finds nothing wrong in them.
func TestModules(t *testing.T) {
	modules, err := filepath.Glob("assets/*.js")
	require.NoError(t, err)
	require.NotEmpty(t, modules)

	// Node takes a file as a module where a package says so.
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module"}`), 0o644))
	for _, module := range modules {
		text, err := os.ReadFile(module)
		require.NoError(t, err)
		path := filepath.Join(dir, filepath.Base(module))
		require.NoError(t, os.WriteFile(path, text, 0o644))
		bridgetest.StartProcess(t, bridgetest.Program("node", "--check", path)).Wait(t)
	}

	peers := bridgetest.PeerPackages()
	config, err := filepath.Abs("../../../../scripts/peers/eslint.config.mjs")
	require.NoError(t, err)
	eslint := filepath.Join(peers, "node_modules/eslint/bin/eslint.js")
	bridgetest.StartProcess(t, bridgetest.Node(eslint, "--config", config, "--max-warnings", "0", "assets")).Wait(t)
}
