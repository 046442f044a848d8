//go:build peers

package apollo_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
)

// TestProtobufReadsTheMessages has Python's protobuf read each message of Apollo's, by
// definitions that aren't ours, and hold it against what is written down there.
func TestProtobufReadsTheMessages(t *testing.T) {
	var lines bytes.Buffer
	want := 0
	for name, m := range recorded(t) {
		if strings.HasPrefix(m.Type, "pb_msgs/") {
			require.NoError(t, json.NewEncoder(&lines).Encode(map[string]string{"name": name, "frame": string(m.Frame)}))
			want++
		}
	}
	require.Equal(t, 8, want)
	file := filepath.Join(t.TempDir(), "frames")
	require.NoError(t, os.WriteFile(file, lines.Bytes(), 0o600))
	output := bridgetest.StartProcess(t, bridgetest.Python("testdata/peers/protobuf.py", file, "../../testdata/wire/cyber/generate")).Wait(t)
	assert.Equal(t, want, strings.Count(output, "same "), output)
	assert.NotContains(t, output, "differs")
}
