//go:build peers

package encode_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/ros"
)

// TestPythonReadsAndWritesEveryMessage: Python's json, bson and cbor2 read filled messages
// of every type, and what they write reads back as it was.
func TestPythonReadsAndWritesEveryMessage(t *testing.T) {
	type sent struct {
		form string
		m    ros.Message
		data []byte
	}
	var all []sent
	var input strings.Builder
	for name, f := range trees {
		for _, m := range bridgetest.EveryMessage() {
			for seed := range uint64(10) {
				m := bridgetest.NewMessage(m)
				bridgetest.FillMessage(m, seed)
				s := sent{name, m, treeBytes(t, f, ros.ROS2, m)}
				all = append(all, s)
				input.WriteString(name + " " + hex.EncodeToString(s.data) + "\n")
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "testdata/peers/echo.py")
	cmd.Stdin = strings.NewReader(input.String())
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	require.NoError(t, err, "%s%s", errors.String(), bridgetest.SetupHint(fmt.Sprint(err, errors.String())))
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, lines, len(all))
	for i, s := range all {
		data, err := hex.DecodeString(lines[i])
		require.NoError(t, err)
		if s.form == "bson" {
			require.Equal(t, s.data, data, s.m.TypeName())
		}
		again := bridgetest.NewMessage(s.m)
		require.NoError(t, readTree(trees[s.form], ros.ROS2, data, again), "%s: %s", s.form, s.m.TypeName())
		assert.Equal(t, s.data, treeBytes(t, trees[s.form], ros.ROS2, again), "%s: %s", s.form, s.m.TypeName())
	}
}
