package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	foxglove "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// damagedRecording makes a recording with one wrong byte in the data of its second chunk. It
// returns that chunk, and how many messages the file had and has lost.
func damagedRecording(t *testing.T, finished bool) (path string, chunk *foxglove.ChunkIndex, all, lost int) {
	t.Helper()
	path = replayable(t, "a.mcap?chunk=500", true)
	all = len(content(t, path))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	r, err := foxglove.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	defer r.Close()
	info, err := r.Info()
	require.NoError(t, err)
	require.Greater(t, len(info.ChunkIndexes), 3)
	chunk = info.ChunkIndexes[1]
	lost = messagesIn(t, data, chunk)
	require.Positive(t, lost)
	data[chunk.ChunkStartOffset+chunk.ChunkLength-20] ^= 0xff
	if !finished {
		last := info.ChunkIndexes[len(info.ChunkIndexes)-1]
		data = data[:last.ChunkStartOffset+last.ChunkLength+last.MessageIndexLength]
	}
	require.NoError(t, os.WriteFile(path, data, 0o666))
	return path, chunk, all, lost
}

// messagesIn counts a chunk's messages by its message indexes, with the official lexer.
func messagesIn(t *testing.T, data []byte, chunk *foxglove.ChunkIndex) (n int) {
	t.Helper()
	begin := chunk.ChunkStartOffset + chunk.ChunkLength
	lexer, err := foxglove.NewLexer(bytes.NewReader(data[begin:begin+chunk.MessageIndexLength]), &foxglove.LexerOptions{SkipMagic: true})
	require.NoError(t, err)
	defer lexer.Close()
	for {
		kind, record, err := lexer.Next(nil)
		if err != nil {
			return n // the end
		}
		require.Equal(t, foxglove.TokenMessageIndex, kind)
		index, err := foxglove.ParseMessageIndex(record)
		require.NoError(t, err)
		n += len(index.Records)
	}
}

// damageRow returns the cells of the only row under the head of damaged parts.
func damageRow(t *testing.T, out string) []string {
	t.Helper()
	_, table, found := strings.Cut(out, "\ndamaged")
	require.True(t, found, out)
	lines := strings.Split(table, "\n")
	assert.Equal(t, []string{"from", "byte", "bytes", "from", "to", "messages", "lost"}, strings.Fields(lines[0]))
	if len(lines) > 2 {
		assert.Empty(t, strings.TrimSpace(lines[2]), "one row")
	}
	return strings.Fields(lines[1])
}

func TestReplayLeavesDamageOut(t *testing.T) {
	t.Parallel()
	path, chunk, all, lost := damagedRecording(t, true)
	out := t.TempDir()
	summary := filepath.Join(out, "summary.json")
	o := call(t, "replay", path, "--bridge", "mcap:b.mcap", "--out", out, "--fast", "--summary", summary)
	assert.Equal(t, exitIncomplete, o.code)
	assert.Contains(t, o.err, "raybridge: finished without 1 damaged part of the recording")
	assert.Len(t, content(t, filepath.Join(out, "b.mcap")), all-lost)
	row := damageRow(t, o.out)
	require.Len(t, row, 8)
	assert.Equal(t, path, row[0])
	assert.Equal(t, strconv.FormatUint(chunk.ChunkStartOffset, 10), row[1])
	assert.Equal(t, strconv.Itoa(lost), row[7])

	text, err := os.ReadFile(summary)
	require.NoError(t, err)
	var sum replaySummary
	require.NoError(t, json.Unmarshal(text, &sum))
	require.Len(t, sum.Damaged, 1)
	d := sum.Damaged[0]
	assert.NotEmpty(t, d.Cause)
	d.Cause, d.Bytes = "", 0
	assert.Equal(t, damagedRow{
		File: path, Offset: int64(chunk.ChunkStartOffset), FromNs: int64(chunk.MessageStartTime), ToNs: int64(chunk.MessageEndTime), Messages: int64(lost),
	}, d)
}

func TestReplayStrictEndsAtDamage(t *testing.T) {
	t.Parallel()
	path, _, all, lost := damagedRecording(t, true)
	out := t.TempDir()
	o := call(t, "replay", path, "--strict", "--bridge", "mcap:b.mcap", "--out", out, "--fast")
	assert.Equal(t, exitFailed, o.code)
	assert.Contains(t, o.err, "raybridge: ")
	assert.Contains(t, o.err, "a.mcap")
	assert.NotContains(t, o.out, "\ndamaged", "nothing was left out")
	assert.Less(t, len(content(t, filepath.Join(out, "b.mcap"))), all-lost, "what comes behind is not sent")
}

func TestRecoverLeavesDamageOut(t *testing.T) {
	t.Parallel()
	path, chunk, all, lost := damagedRecording(t, false)
	o := call(t, "mcap", "recover", path)
	assert.Equal(t, exitIncomplete, o.code)
	assert.Contains(t, o.err, "raybridge: 1 damaged part was left out")
	row := damageRow(t, o.out)
	assert.Equal(t, strconv.FormatUint(chunk.ChunkStartOffset, 10), row[1])
	assert.Len(t, content(t, strings.TrimSuffix(path, ".mcap")+"_recovered.mcap"), all-lost)
}

// TestRecoverCopiesWhatWasFinished: with its damage, which readers leave out.
func TestRecoverCopiesWhatWasFinished(t *testing.T) {
	t.Parallel()
	path, _, _, _ := damagedRecording(t, true)
	o := call(t, "mcap", "recover", path)
	require.Equal(t, exitDone, o.code, o.err)
	assert.Contains(t, o.out, "complete")
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	after, err := os.ReadFile(strings.TrimSuffix(path, ".mcap") + "_recovered.mcap")
	require.NoError(t, err)
	assert.True(t, bytes.Equal(before, after))
}
