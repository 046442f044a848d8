package mcap_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	foxglove "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"
)

// recorded is one message as the official reader gives it.
type recorded struct {
	topic, schema, schemaText, encoding string
	metadata                            map[string]string
	foxglove.Message
}

// recording is a whole file.
type recording struct {
	info     *foxglove.Info
	messages []recorded
	metadata []map[string]string
}

// read reads a file with the official reader, once through the index and once
// from front to back with all checksums, and fails if the two disagree.
func read(t *testing.T, data []byte) recording {
	t.Helper()
	reader, err := foxglove.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	defer reader.Close()
	var r recording
	r.info, err = reader.Info()
	require.NoError(t, err)
	for _, index := range r.info.MetadataIndexes {
		m, err := reader.GetMetadata(index.Offset)
		require.NoError(t, err)
		r.metadata = append(r.metadata, m.Metadata)
	}
	messages, err := reader.Messages(foxglove.UsingIndex(true), foxglove.InOrder(foxglove.FileOrder))
	require.NoError(t, err)
	require.NoError(t, foxglove.Range(messages, func(s *foxglove.Schema, c *foxglove.Channel, m *foxglove.Message) error {
		got := recorded{
			topic: c.Topic, encoding: c.MessageEncoding, metadata: c.Metadata,
			schema: s.Name, schemaText: s.Encoding + "\n" + string(s.Data), Message: *m,
		}
		got.Data = bytes.Clone(m.Data)
		r.messages = append(r.messages, got)
		return nil
	}))
	require.Equal(t, linear(t, data), r.plain(), "index and file order agree")
	require.EqualValues(t, len(r.messages), r.info.Statistics.MessageCount)
	return r
}

func (r recording) plain() []foxglove.Message {
	var list []foxglove.Message
	for _, m := range r.messages {
		list = append(list, m.Message)
	}
	return list
}

// linear reads all messages in the file's order.
func linear(t *testing.T, data []byte) []foxglove.Message {
	t.Helper()
	lexer, err := foxglove.NewLexer(bytes.NewReader(data), &foxglove.LexerOptions{ValidateChunkCRCs: true})
	require.NoError(t, err)
	defer lexer.Close()
	var list []foxglove.Message
	for {
		token, record, err := lexer.Next(nil)
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		if token == foxglove.TokenMessage {
			m, err := foxglove.ParseMessage(record)
			require.NoError(t, err)
			list = append(list, *m)
		}
	}
}

func readFile(t *testing.T, path string) recording {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return read(t, data)
}

// countBelow counts the messages of all recordings below a folder.
func countBelow(t *testing.T, dir string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".mcap" {
			for _, m := range readFile(t, path).messages {
				counts[m.topic]++
			}
		}
		return err
	}))
	return counts
}
