package mcap_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	foxglove "github.com/foxglove/mcap/go/mcap"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// killed records in a process of its own, kills it with SIGKILL in mid-recording, and
// returns how many scans it had recorded at least.
func killed(t *testing.T, connection string) int {
	t.Helper()
	recorder := bridgetest.StartProcess(t, bridgetest.Program(os.Args[0]).With(envRecorder+"="+connection))
	recorder.Expect(t, "recorded 300")
	recorder.Kill()
	var last int
	for line := range bytes.Lines([]byte(recorder.Output())) {
		var n int
		if _, err := fmt.Sscanf(string(line), "recorded %d\n", &n); err == nil {
			last = n
		}
	}
	require.GreaterOrEqual(t, last, 300)
	return last
}

// wholeMessages are those that the official lexer reads from front to back, until the
// file breaks off.
func wholeMessages(t *testing.T, path string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	lexer, err := foxglove.NewLexer(bytes.NewReader(data), &foxglove.LexerOptions{ValidateChunkCRCs: true})
	require.NoError(t, err)
	defer lexer.Close()
	messages := 0
	for {
		token, _, err := lexer.Next(nil)
		if err != nil {
			return messages
		}
		require.NotEqual(t, foxglove.TokenFooter, token, "the file isn't finished")
		if token == foxglove.TokenMessage {
			messages++
		}
	}
}

func TestAKilledProcessLeavesAllButTheOpenChunk(t *testing.T) {
	for _, options := range []string{"?chunk=20000", "?chunk=20000&compression=none", "?chunk=20000&compression=lz4"} {
		path := filepath.Join(t.TempDir(), "a.mcap")
		recorded := killed(t, path+options)
		whole := wholeMessages(t, path)
		// A chunk closes each second of the scans' time at the latest: ten scans.
		assert.Greater(t, whole, recorded-30, "ten scans a chunk, and one or two of them open")

		r, err := mcap.Open(path)
		require.NoError(t, err)
		assert.Equal(t, []string{path}, r.Unfinished())
		checkScans(t, r, whole)

		done, err := mcap.Recover(path, "")
		require.NoError(t, err)
		to := filepath.Join(filepath.Dir(path), "a_recovered.mcap")
		require.Len(t, done, 1)
		assert.Equal(t, mcap.Recovery{From: path, To: to, Messages: uint64(whole), LostBytes: done[0].LostBytes}, done[0])
		assert.Len(t, readFile(t, to).messages, whole, "by its index and from front to back")
		r, err = mcap.Open(to)
		require.NoError(t, err)
		assert.Empty(t, r.Unfinished())
		checkScans(t, r, whole)
	}
}

// checkScans reads a recording of recordForEver with so many messages.
func checkScans(t *testing.T, r *mcap.Reader, messages int) {
	t.Helper()
	defer r.Close()
	scans, static := 0, 0
	for _, m := range all(t, r) {
		if m.Topic == "/tf_static" {
			assert.EqualValues(t, simtime.Stamp(5), m.Logged)
			static++
			continue
		}
		require.Equal(t, "/points", m.Topic)
		require.EqualValues(t, simtime.Stamp(scans*bridgetest.Period), m.Logged)
		scans++
	}
	assert.Equal(t, []int{1, messages - 1}, []int{static, scans})
}

func TestAKilledProcessLeavesAFolderThatRecovers(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "bag")
	recorded := killed(t, folder+"?chunk=20000&split_time=10s")
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	files = slices.DeleteFunc(files, func(path string) bool { // the next one, just made
		info, err := os.Stat(path)
		return err == nil && info.Size() == 0
	})
	assert.GreaterOrEqual(t, len(files), 3, "at 10 Hz 300 scans are 30 s")
	assert.NoFileExists(t, filepath.Join(folder, "metadata.yaml"))

	to := filepath.Join(t.TempDir(), "whole")
	done, err := mcap.Recover(folder, to)
	require.NoError(t, err)
	require.Len(t, done, len(files))
	assert.True(t, done[0].Complete, "all files but the last were finished")
	text, err := os.ReadFile(filepath.Join(to, "metadata.yaml"))
	require.NoError(t, err)
	b := parseBag(t, text)
	assert.Len(t, b.RelativeFilePaths, len(files))
	var messages uint64
	repeated := -1 // each file but the first repeats the frames, with its first chunk
	for i, f := range done {
		assert.Equal(t, f.Messages, b.Files[i].MessageCount)
		messages += f.Messages
		if f.Messages > 0 {
			repeated++
		}
	}
	assert.Equal(t, messages, b.MessageCount)
	assert.Greater(t, messages, uint64(recorded-30))
	for _, path := range []string{folder, to} {
		r, err := mcap.Open(path)
		require.NoError(t, err)
		checkScans(t, r, int(messages)-repeated)
	}
}

// TestEveryPrefixOfARecordingIsRead cuts a recording everywhere: in each kind of record.
func TestEveryPrefixOfARecordingIsRead(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	dir := t.TempDir()
	path := record(t, dir, "a.mcap?chunk=700&compression=none", 6)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	cut, to := filepath.Join(dir, "cut.mcap"), filepath.Join(dir, "to.mcap")
	headerEnd := 8 + 9 + int(whole[9]) // magic bytes and the first record
	before := 0
	for size := 0; size < len(whole); size += 13 {
		require.NoError(t, os.WriteFile(cut, whole[:size], 0o666))
		r, err := mcap.Open(cut)
		if size < 8 {
			require.ErrorIs(t, err, mcap.ErrNotMCAP, "%d bytes", size)
			continue
		}
		require.NoError(t, err, "%d bytes", size)
		n := 0
		for {
			_, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, "%d bytes", size)
			n++
		}
		require.NoError(t, r.Close())
		require.GreaterOrEqual(t, n, before, "%d bytes", size)
		before = n
		if size%3 != 0 {
			continue
		}
		_ = os.Remove(to)
		done, err := mcap.Recover(cut, to)
		if size < headerEnd {
			require.ErrorIs(t, err, mcap.ErrDamaged)
			continue
		}
		require.NoError(t, err, "%d bytes", size)
		require.EqualValues(t, n, done[0].Messages)
		require.Len(t, readFile(t, to).messages, n, "%d bytes", size)
	}
	assert.Equal(t, 12, before, "all but the summary")
}

// TestAFolderRecoversWithoutWhatIsUnreadable: a file that the disk has lost takes nothing
// with it.
func TestAFolderRecoversWithoutWhatIsUnreadable(t *testing.T) {
	dir := t.TempDir()
	split(t, dir, "bag?split_time=4s")
	lost := filepath.Join(dir, "bag", "bag_1.mcap")
	require.NoError(t, os.WriteFile(lost, make([]byte, 100), 0o666))
	to := filepath.Join(dir, "whole")
	done, err := mcap.Recover(filepath.Join(dir, "bag"), to)
	require.NoError(t, err)
	require.Len(t, done, 3)
	assert.Equal(t, []uint64{41, 0, 21}, []uint64{done[0].Messages, done[1].Messages, done[2].Messages})
	assert.ErrorIs(t, done[1].Err, mcap.ErrNotMCAP)
	assert.Equal(t, mcap.Recovery{From: lost, LostBytes: 100, Err: done[1].Err}, done[1])
	r, err := mcap.Open(to)
	require.NoError(t, err)
	assert.Len(t, r.Files(), 2)
	assert.Len(t, all(t, r), 61, "the frames once")
	require.NoError(t, r.Close())

	for _, name := range []string{"bag_0.mcap", "bag_2.mcap"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "bag", name), make([]byte, 100), 0o666))
	}
	_, err = mcap.Recover(filepath.Join(dir, "bag"), filepath.Join(dir, "nothing"))
	assert.ErrorIs(t, err, mcap.ErrNotMCAP)
	assert.NoDirExists(t, filepath.Join(dir, "nothing"))
}

func TestRecoverOverwritesNothing(t *testing.T) {
	dir := t.TempDir()
	path := record(t, dir, "a.mcap", 1)
	_, err := mcap.Recover(path, path)
	assert.ErrorIs(t, err, os.ErrExist)
	_, err = mcap.Recover(filepath.Join(dir, "no.mcap"), "")
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = mcap.Recover(dir, dir)
	assert.ErrorIs(t, err, os.ErrExist)
}

// TestRecoverOfASplitRecordingNamesItsLastFile: each is recovered by its own name.
func TestRecoverOfASplitRecordingNamesItsLastFile(t *testing.T) {
	dir := t.TempDir()
	split(t, dir, "a.mcap?split_time=3s")
	_, err := mcap.Recover(filepath.Join(dir, "a.mcap"), "")
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, filepath.Join(dir, "a_3.mcap"))
}

// record records n scans and n pictures and returns the path of the file.
func record(t *testing.T, dir, connection string, n int) string {
	t.Helper()
	b := open(t, mcap.Factory{}, connection, bridges.Env{OutDir: dir})
	points, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: "/points", QoS: flow.SensorDataQoS})
	require.NoError(t, err)
	image, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image"})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	for seq := range n {
		require.NoError(t, points(t.Context(), bridgetest.PointCloud(seq)))
		require.NoError(t, image(t.Context(), bridgetest.Image(seq)))
	}
	require.NoError(t, b.Close(t.Context()))
	return filepath.Join(dir, "a.mcap")
}

func TestDamageIsTold(t *testing.T) {
	path := record(t, t.TempDir(), "a.mcap?chunk=3000", 10)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	chunks := read(t, data).info.ChunkIndexes
	c := chunks[len(chunks)/2]
	wrong := int64(c.ChunkStartOffset + c.ChunkLength - 10)
	data[wrong] ^= 0xff
	require.NoError(t, os.WriteFile(path, data, 0o666))
	r, err := mcap.Open(path)
	require.NoError(t, err)
	defer r.Close()
	r.Select(mcap.Selection{Strict: true})
	damage, messages := 0, 0
	for {
		_, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			require.ErrorIs(t, err, mcap.ErrDamaged)
			damage++
			continue
		}
		messages++
	}
	assert.Equal(t, 1, damage)
	assert.Greater(t, messages, 10, "the rest is read")
	assert.Less(t, messages, 20)
	assert.Empty(t, r.Damaged())

	for range 2 { // and told once, however often it is read
		r.Select(mcap.Selection{})
		require.Len(t, all(t, r), messages)
		require.Len(t, r.Damaged(), 1)
	}
	d := r.Damaged()[0]
	assert.Equal(t, path, d.Path)
	assert.ErrorIs(t, d.Err, mcap.ErrDamaged)
	assert.EqualValues(t, 20-messages, d.Lost)
	assert.Less(t, d.FromNs, d.ToNs)
	assert.True(t, d.Offset < wrong && d.Offset+d.Bytes > wrong)
}

// TestDamageEverywhere: a recording, finished or not, has one wrong byte within a chunk's data.
// The other chunks are read and recovered, and the official reader agrees.
func TestDamageEverywhere(t *testing.T) {
	for _, compression := range []string{"zstd", "lz4", "none"} {
		dir := t.TempDir()
		path := record(t, dir, "a.mcap?chunk=3000&compression="+compression, 10)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		chunks := read(t, data).info.ChunkIndexes
		require.Greater(t, len(chunks), 3)
		last := chunks[len(chunks)-1]
		unfinished := data[:last.ChunkStartOffset+last.ChunkLength+last.MessageIndexLength]
		for number, c := range chunks {
			// The chunk's records begin behind 9 bytes of the record's head and 40 + n of the
			// chunk's (MCAP specification, "Chunk").
			first := int(c.ChunkStartOffset) + 49 + len(compression)
			if compression == "none" {
				first -= len(compression)
			}
			end := int(c.ChunkStartOffset + c.ChunkLength)
			for at := first; at < end; at += max((end-first)/7, 1) {
				lost := flipped(t, dir, data, at)
				require.Equal(t, int64(0), lost.rest, "%s: byte %d of chunk %d", compression, at-first, number)
				require.Equal(t, lost, flipped(t, dir, unfinished, at), "%s: byte %d of chunk %d", compression, at-first, number)
			}
		}
	}
}

// TestEachChunkStandsAlone: a chunk needs no other one, also for a topic that came late and
// for a type that the file has already.
func TestEachChunkStandsAlone(t *testing.T) {
	dir := t.TempDir()
	b := open(t, mcap.Factory{}, "a.mcap?chunk=500", bridges.Env{OutDir: dir})
	require.NoError(t, b.Connect(t.Context()))
	for topic := range 4 {
		image, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: fmt.Sprintf("/image%d", topic)})
		require.NoError(t, err)
		for seq := range 9 {
			require.NoError(t, image(t.Context(), bridgetest.Image(9*topic+seq)))
		}
	}
	require.NoError(t, b.Close(t.Context()))
	path := filepath.Join(dir, "a.mcap")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	chunks := read(t, data).info.ChunkIndexes
	require.Greater(t, len(chunks), 4)
	sum := 0
	for kept := range chunks {
		var alone []byte
		from := uint64(0)
		for k, c := range chunks {
			alone = append(alone, data[from:c.ChunkStartOffset]...) // what lies between the chunks
			if from = c.ChunkStartOffset; k != kept {
				from += c.ChunkLength + c.MessageIndexLength
			}
		}
		last := chunks[len(chunks)-1]
		alone = append(alone, data[from:last.ChunkStartOffset+last.ChunkLength+last.MessageIndexLength]...)
		require.NoError(t, os.WriteFile(path, alone, 0o666))
		r, err := mcap.Open(path)
		require.NoError(t, err)
		n := len(all(t, r))
		assert.Positive(t, n, "chunk %d of %d: %v %v", kept, len(chunks), r.Skipped(), r.Damaged())
		assert.Empty(t, r.Damaged())
		assert.Equal(t, n, wholeMessages(t, path), "the official lexer agrees")
		sum += n
		require.NoError(t, r.Close())
	}
	assert.Equal(t, 4*9, sum)
}

// TestDamagedDefinitions: a file of software that writes its schemas once has nothing that
// can be read without them, and all of it is told.
func TestDamagedDefinitions(t *testing.T) {
	t.Run("and channels once", func(t *testing.T) { damagedDefinitions(t, false) })
	t.Run("and channels in each chunk", func(t *testing.T) { damagedDefinitions(t, true) })
}

func damagedDefinitions(t *testing.T, repeat bool) {
	path := filepath.Join(t.TempDir(), "a.mcap")
	var file bytes.Buffer
	w, err := foxglove.NewWriter(&file, &foxglove.WriterOptions{Chunked: true, ChunkSize: 1, IncludeCRC: true})
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(&foxglove.Header{}))
	require.NoError(t, w.WriteSchema(&foxglove.Schema{ID: 1, Name: "a", Encoding: "jsonschema"}))
	for i := range 4 {
		if i == 0 || repeat {
			require.NoError(t, w.WriteChannel(&foxglove.Channel{ID: 1, SchemaID: 1, Topic: "/a", MessageEncoding: "json"}))
		}
		require.NoError(t, w.WriteMessage(&foxglove.Message{ChannelID: 1, Data: []byte("{}")}))
	}
	require.Len(t, w.ChunkIndexes, 4)
	data := file.Bytes() // no summary
	data[w.ChunkIndexes[0].ChunkStartOffset+60] ^= 1
	require.NoError(t, os.WriteFile(path, data, 0o666))
	r, err := mcap.Open(path)
	require.NoError(t, err)
	defer r.Close()
	assert.Empty(t, all(t, r))
	assert.Len(t, r.Damaged(), 4)
	done, err := mcap.Recover(path, "")
	require.NoError(t, err)
	assert.Zero(t, done[0].Messages)
	assert.Len(t, done[0].Damaged, 4)
}

// TestMessagesOfNoChannel: messages outside of chunks whose channel was lost are told, and
// those of others are read and recovered.
func TestMessagesOfNoChannel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mcap")
	var file bytes.Buffer
	w, err := foxglove.NewWriter(&file, &foxglove.WriterOptions{})
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(&foxglove.Header{}))
	for id, topic := range map[uint16]string{1: "/a", 2: "/b"} {
		require.NoError(t, w.WriteChannel(&foxglove.Channel{ID: id, Topic: topic, MessageEncoding: "json"}))
	}
	for i, channel := range []uint16{1, 2, 2, 1} {
		require.NoError(t, w.WriteMessage(&foxglove.Message{ChannelID: channel, LogTime: uint64(i), Data: []byte("{}")}))
	}
	lost := bytes.Replace(file.Bytes(), []byte("\x02\x00\x00\x00\x02\x00\x00\x00/b"), []byte("\x03\x00\x00\x00\x02\x00\x00\x00/b"), 1)
	require.NoError(t, os.WriteFile(path, lost, 0o666)) // no summary
	r, err := mcap.Open(path)
	require.NoError(t, err)
	defer r.Close()
	assert.Empty(t, all(t, r))
	assert.EqualValues(t, 2, r.Skipped()[0].Messages, "raybridge has no sample for JSON")
	require.Len(t, r.Damaged(), 1)
	require.ErrorIs(t, r.Damaged()[0].Err, mcap.ErrDamaged)

	done, err := mcap.Recover(path, "")
	require.NoError(t, err)
	assert.EqualValues(t, 2, done[0].Messages)
	require.Len(t, done[0].Damaged, 1)
	assert.EqualValues(t, simtime.Stamp(2), done[0].Damaged[0].ToNs)
	whole, err := mcap.Open(done[0].To)
	require.NoError(t, err)
	defer whole.Close()
	assert.Empty(t, whole.Unfinished())
	assert.Empty(t, all(t, whole))
	assert.EqualValues(t, 2, whole.Skipped()[0].Messages)
	assert.Empty(t, whole.Damaged())
}

// loss is what a damaged recording lacks: rest are messages that it should have besides.
type loss struct{ messages, rest int64 }

// flipped writes a recording of 20 messages with one byte wrong, reads it, and recovers it if
// it isn't finished.
func flipped(t *testing.T, dir string, data []byte, at int) loss {
	t.Helper()
	path, to := filepath.Join(dir, "flipped.mcap"), filepath.Join(dir, "to.mcap")
	data[at] ^= 0x20
	err := os.WriteFile(path, data, 0o666)
	data[at] ^= 0x20
	require.NoError(t, err)
	r, err := mcap.Open(path)
	require.NoError(t, err)
	defer r.Close()
	messages := int64(len(all(t, r)))
	require.Len(t, r.Damaged(), 1)
	d := r.Damaged()[0]
	if len(r.Unfinished()) > 0 {
		_ = os.Remove(to)
		done, err := mcap.Recover(path, to)
		require.NoError(t, err)
		require.Len(t, done[0].Damaged, 1)
		require.Equal(t, d.Lost, done[0].Damaged[0].Lost)
		require.EqualValues(t, messages, done[0].Messages)
		require.Len(t, readFile(t, to).messages, int(messages), "by its index and from front to back")
	}
	return loss{d.Lost, 20 - messages - d.Lost}
}

// TestDamageBetweenChunks: a wrong byte in the head of a chunk, or in its message indexes,
// takes no message from other chunks, and none without telling.
func TestDamageBetweenChunks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	dir := t.TempDir()
	path := record(t, dir, "a.mcap?chunk=3000", 10)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	chunks := read(t, data).info.ChunkIndexes
	require.Greater(t, len(chunks), 3)
	r, err := mcap.Open(path)
	require.NoError(t, err)
	want := all(t, r)
	require.NoError(t, r.Close())
	last := chunks[len(chunks)-1]
	unfinished := data[:last.ChunkStartOffset+last.ChunkLength+last.MessageIndexLength]
	for _, whole := range [][]byte{data, unfinished} {
		for number, c := range chunks {
			records := c.ChunkStartOffset + 49 + uint64(len(c.Compression))
			indexes := c.ChunkStartOffset + c.ChunkLength
			if number > 1 && c != last {
				continue
			}
			end := indexes + c.MessageIndexLength
			for at := c.ChunkStartOffset; at < end; at++ {
				// What the indexes have of each message is alike.
				if at >= records && at < indexes || at > indexes+20 && at < end-60 && at%7 > 0 {
					continue
				}
				whole[at] ^= 1 << (at % 8)
				require.NoError(t, os.WriteFile(path, whole, 0o666))
				whole[at] ^= 1 << (at % 8)
				checkDamaged(t, path, want, fmt.Sprintf("%d bytes, byte %d of chunk %d", len(whole), at-c.ChunkStartOffset, number))
			}
		}
	}
}

// checkDamaged reads a recording that should have the messages of want, but those of one
// chunk, and recovers it.
func checkDamaged(t *testing.T, path string, want []mcap.Message, where string) {
	t.Helper()
	r, err := mcap.Open(path)
	require.NoError(t, err, where)
	defer r.Close()
	got := all(t, r)
	told := len(r.Damaged()) > 0
	rest := want
	for _, m := range got {
		i := slices.IndexFunc(rest, func(w mcap.Message) bool { return w.Topic == m.Topic && w.Logged == m.Logged })
		require.GreaterOrEqual(t, i, 0, where)
		require.Equal(t, rest[i], m, where)
		rest = slices.Delete(slices.Clone(rest), i, i+1)
	}
	require.LessOrEqual(t, len(rest), 4, where)
	if len(r.Unfinished()) > 0 {
		to := filepath.Join(filepath.Dir(path), "to.mcap")
		_ = os.Remove(to)
		done, err := mcap.Recover(path, to)
		require.NoError(t, err, where)
		require.EqualValues(t, len(got), done[0].Messages, where)
		require.Len(t, readFile(t, to).messages, len(got), "%s: by its index and from front to back", where)
		require.Equal(t, told, len(done[0].Damaged) > 0, where)
		told = told || done[0].LostBytes > 0
	}
	require.True(t, told || len(rest) == 0, where)
}

// TestADamagedSummaryIsNotBelieved: wherever a byte of it is wrong, all messages are read,
// from the rest of the file where need be.
func TestADamagedSummaryIsNotBelieved(t *testing.T) {
	path := record(t, t.TempDir(), "a.mcap?chunk=3000", 10)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	footer := len(data) - len(foxglove.Magic) - 20
	start := binary.LittleEndian.Uint64(data[footer:])
	r, err := mcap.Open(path)
	require.NoError(t, err)
	want := all(t, r)
	require.NoError(t, r.Close())
	for at := int(start); at < len(data); at += 13 {
		data[at] ^= 0x10
		require.NoError(t, os.WriteFile(path, data, 0o666))
		data[at] ^= 0x10
		r, err := mcap.Open(path)
		require.NoError(t, err, "byte %d", at)
		require.Equal(t, want, all(t, r), "byte %d", at)
		require.Equal(t, []string{path}, r.Unfinished(), "byte %d", at)
		require.NoError(t, r.Close())
	}
}
