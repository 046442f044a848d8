package mcap_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// TestARemovedRecordingIsALoss: a recording that is removed while it is written, or a part of
// it, fails, at the next chunk or at the end; what is missing is counted as lost.
func TestARemovedRecordingIsALoss(t *testing.T) {
	rename := func(from, to string) func(dir string) error {
		return func(dir string) error { return os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)) }
	}
	remove := func(path string) func(dir string) error {
		return func(dir string) error { return os.RemoveAll(filepath.Join(dir, path)) }
	}
	for name, c := range map[string]struct {
		connection string
		lose       func(dir string) error
		kept       string // where what isn't lost is
	}{
		"file":                   {"out/a.mcap?chunk=3000", remove("out/a.mcap"), ""},
		"file in one chunk":      {"out/a.mcap", remove("out/a.mcap"), ""},
		"file's folder":          {"out/a.mcap?chunk=3000", remove("out"), ""},
		"renamed file":           {"out/a.mcap?chunk=3000", rename("out/a.mcap", "out/b.mcap"), ""},
		"renamed folder of file": {"out/a.mcap?chunk=3000", rename("out", "other"), ""},
		"replaced file": {"out/a.mcap?chunk=3000", func(dir string) error {
			path := filepath.Join(dir, "out/a.mcap")
			if err := os.Rename(path, path+".old"); err != nil {
				return err
			}
			return os.WriteFile(path, nil, 0o600)
		}, ""},
		"bag":              {"bag?chunk=3000", remove("bag"), ""},
		"file of a bag":    {"bag?chunk=3000", remove("bag/bag_0.mcap"), ""},
		"first of several": {"out/a.mcap?chunk=200&split=600&compression=none", remove("out/a_0.mcap"), "out/*.mcap"},
		"last of several":  {"out/a.mcap?split_time=1000s", remove("out/a_0.mcap"), ""},
		"first of a bag":   {"bag?chunk=200&split=600&compression=none", remove("bag/bag_0.mcap"), "bag"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := open(t, mcap.Factory{}, c.connection, bridges.Env{OutDir: dir})
			require.NoError(t, b.Connect(t.Context()))
			image, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image"})
			require.NoError(t, err)
			const messages = 40
			for seq := range messages {
				if seq == messages/2 {
					require.NoError(t, c.lose(dir))
				}
				if err := image(t.Context(), bridgetest.Image(seq)); err != nil {
					require.ErrorIs(t, err, bridges.ErrWriteFailed)
				}
			}
			err = b.Close(t.Context())
			require.ErrorIs(t, err, bridges.ErrWriteFailed)
			assert.ErrorContains(t, err, "removed, renamed or replaced")
			assert.ErrorIs(t, b.Err(), bridges.ErrWriteFailed)
			assert.Equal(t, bridges.UnexpectedlyDisconnected, b.Status())
			kept := 0
			if c.kept != "" {
				files, err := filepath.Glob(filepath.Join(dir, c.kept))
				require.NoError(t, err)
				require.NotEmpty(t, files)
				r, err := mcap.Open(files[0], files[1:]...)
				require.NoError(t, err)
				defer r.Close()
				kept = len(all(t, r))
				assert.Positive(t, kept)
			}
			assert.EqualValues(t, kept, b.Statistics().Messages)
			assert.Positive(t, b.Statistics().Drops[flow.CauseWriteFailed])
		})
	}
}
