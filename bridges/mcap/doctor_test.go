package mcap_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	foxglove "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/sensors/sample"
)

// definitions counts the Schema and Channel records of a file, by kind and id: those of the
// data section and those of the summary.
func definitions(t *testing.T, path string) (data, summary map[string]int) {
	t.Helper()
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	lexer, err := foxglove.NewLexer(bytes.NewReader(file), &foxglove.LexerOptions{ValidateChunkCRCs: true})
	require.NoError(t, err)
	defer lexer.Close()
	data, summary = map[string]int{}, map[string]int{}
	section := data
	for {
		token, record, err := lexer.Next(nil)
		if errors.Is(err, io.EOF) {
			return data, summary
		}
		require.NoError(t, err)
		switch token {
		case foxglove.TokenSchema:
			s, err := foxglove.ParseSchema(record)
			require.NoError(t, err)
			section[fmt.Sprint("schema ", s.ID, s.Name)]++
		case foxglove.TokenChannel:
			c, err := foxglove.ParseChannel(record)
			require.NoError(t, err)
			section[fmt.Sprint("channel ", c.ID, c.Topic)]++
		case foxglove.TokenDataEnd:
			section = summary
		}
	}
}

// TestDefinitionsAreWrittenOnce: what mcap's doctor complains of, schemas and channels that
// the data section has twice, is in no file: of many chunks, split, cut back, of late topics.
// Topics of one type share its schema.
func TestDefinitionsAreWrittenOnce(t *testing.T) {
	for _, connection := range []string{"a.mcap?chunk=500", "a.mcap?chunk=500&split=20KB", "bag?chunk=500", "a.mcap?profile=ros1&chunk=500", "a.mcap?profile=foxglove&chunk=500"} {
		t.Run(connection, func(t *testing.T) {
			dir := t.TempDir()
			b := open(t, mcap.Factory{}, connection, bridges.Env{OutDir: dir})
			require.NoError(t, b.Connect(t.Context()))
			for topic := range 3 {
				image, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: fmt.Sprintf("/image%d", topic)})
				require.NoError(t, err)
				for seq := range 20 {
					require.NoError(t, image(t.Context(), bridgetest.Image(20*topic+seq)))
				}
			}
			require.NoError(t, b.Close(t.Context()))
			var files []string
			for _, pattern := range []string{"*.mcap", "bag/*.mcap"} {
				found, err := filepath.Glob(filepath.Join(dir, pattern))
				require.NoError(t, err)
				files = append(files, found...)
			}
			require.NotEmpty(t, files)
			for _, path := range files {
				data, summary := definitions(t, path)
				assert.Equal(t, summary, data)
				schemas := 0
				for what, n := range data {
					assert.Equal(t, 1, n, "%s of %s", what, path)
					if strings.HasPrefix(what, "schema ") {
						schemas++
					}
				}
				assert.Equal(t, 1, schemas, "schemas of %s: %v", path, data)
			}
		})
	}
}
