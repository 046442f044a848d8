//go:build peers

package encode_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/internal/encode"
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

// genpy gives the lines to genpy_echo.py and returns what it prints for each.
func genpy(t *testing.T, lines []string) []string {
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "testdata/peers/genpy_echo.py")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	require.NoError(t, err, "%s%s", errors.String(), bridgetest.SetupHint(fmt.Sprint(err, errors.String())))
	got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	require.Len(t, got, len(lines))
	return got
}

// debian has the packages whose classes Debian has.
var debian = []string{"std_msgs/", "geometry_msgs/", "nav_msgs/", "rosgraph_msgs/", "sensor_msgs/", "tf2_msgs/", "std_srvs/"}

// TestGenpyReadsAndWritesOurBytes: genpy's classes come to the same bytes for filled
// messages of every type that Debian has.
func TestGenpyReadsAndWritesOurBytes(t *testing.T) {
	var lines, want []string
	for _, m := range bridgetest.EveryMessage() {
		name := ros.ROS1.TypeName(m.TypeName())
		known := false
		for _, prefix := range debian {
			known = known || strings.HasPrefix(name, prefix)
		}
		if !known {
			continue
		}
		for seed := range uint64(20) {
			bridgetest.FillMessage(m, seed)
			e := encode.ROS1.Encoder()
			data := hex.EncodeToString(e.Append(nil, m))
			lines, want = append(lines, name+" "+data), append(want, data)
		}
	}
	require.Greater(t, len(lines), 25*20)
	for i, got := range genpy(t, lines) {
		assert.Equal(t, want[i], got, lines[i])
	}
}

// TestGenmsgComesToOurSums: genmsg computes the same sums and writes the same text for
// the definitions of all types, also of those that Debian hasn't got.
func TestGenmsgComesToOurSums(t *testing.T) {
	separator := "\n" + strings.Repeat("=", 80) + "\nMSG: "
	var lines []string
	var want [][2]string
	for _, m := range bridgetest.EveryMessage() {
		name := ros.ROS1.TypeName(m.TypeName())
		if _, ok := m.(*ros.Time); ok || strings.HasPrefix(name, "std_srvs/") {
			continue // a primitive, and parts of services
		}
		definition, err := ros.ROS1.Definition(m.TypeName())
		require.NoError(t, err)
		sum, err := ros.MD5(m.TypeName())
		require.NoError(t, err)
		texts := map[string]string{}
		for i, part := range strings.Split(definition, separator) {
			if i == 0 {
				texts[name] = part
				continue
			}
			nested, text, _ := strings.Cut(part, "\n")
			texts[nested] = text
		}
		parts, err := json.Marshal(texts)
		require.NoError(t, err)
		lines = append(lines, "GENMSG "+name+" "+string(parts))
		want = append(want, [2]string{sum, definition})
	}
	for i, line := range genpy(t, lines) {
		var got [2]string
		require.NoError(t, json.Unmarshal([]byte(line), &got))
		assert.Equal(t, want[i], got, lines[i])
	}
}
