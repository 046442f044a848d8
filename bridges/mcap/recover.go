package mcap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/simtime"
)

// Recovery says what Recover kept of one file.
type Recovery struct {
	// From and To are the paths of the two files.
	From, To string
	// Complete says that the file had been finished. To is its copy, or has a summary that tells
	// where all messages are.
	Complete bool
	// Damaged are the parts that couldn't be read, chunks mostly, and aren't in To. Those of
	// a file that was finished and is copied are copied with it.
	Damaged []Damage
	// Messages are in the new file; LostBytes were behind the last complete record.
	Messages, LostBytes uint64
	// Err says why nothing of a folder's file could be kept: it is ErrNotMCAP or
	// ErrDamaged, and To is empty.
	Err error
}

// Recover writes a recording that was not finished, a file or a rosbag2 folder, again. The new
// one has all that is complete in it and the summary that readers look for; a folder gets its
// metadata.yaml. The first one stays as it is. An empty to is the same name with "_recovered".
// What to names must not be there yet. Of a folder, files of which nothing can be kept are left
// out, with Recovery.Err, as long as there are others.
func Recover(from, to string) ([]Recovery, error) { return Reading{}.Recover(from, to) }

// Recover is the function Recover.
func (o Reading) Recover(from, to string) ([]Recovery, error) {
	info, err := os.Stat(from)
	if err != nil {
		err = fault.File(err)
		if split := numbered(strings.TrimSuffix(from, suffix)); len(split) > 0 && strings.HasSuffix(from, suffix) {
			err = fmt.Errorf("%w; it is split: each file is recovered by its own name, and the last, %s, is the one that a killed process left", err, split[len(split)-1])
		}
		return nil, fmt.Errorf("recover: %w", err)
	}
	if !info.IsDir() {
		if to == "" {
			to = strings.TrimSuffix(from, suffix) + "_recovered" + suffix
		}
		done, _, err := o.recoverFile(from, to)
		if err != nil {
			return nil, fmt.Errorf("recover %s: %w", from, err)
		}
		return []Recovery{done}, nil
	}
	if to == "" {
		to = filepath.Clean(from) + "_recovered"
	}
	done, err := o.recoverFolder(from, to)
	if err != nil {
		return nil, fmt.Errorf("recover %s: %w", from, err)
	}
	return done, nil
}

// recoverFolder recovers the files of a folder.
func (o Reading) recoverFolder(from, to string) ([]Recovery, error) {
	paths, err := filesBelow(from)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(to, 0o777); err != nil {
		return nil, err
	}
	var list []Recovery
	bag, rows := &bagMetadata{version: metadataHumble}, rowTable{rows: map[string]int{}, topics: topicTable{qos: map[string]flow.QoS{}}}
	for _, path := range paths {
		name := filepath.Base(path)
		done, x, err := o.recoverFile(path, filepath.Join(to, name))
		switch {
		case errors.Is(err, ErrNotMCAP), errors.Is(err, ErrDamaged): // the others are still worth it
			list = append(list, Recovery{From: path, LostBytes: done.LostBytes, Err: err})
			continue
		case err != nil:
			return list, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, done)
		bag.addIndex(name, x, rows)
	}
	if len(bag.files) == 0 {
		return list, fmt.Errorf("none of its files has a complete record: %w", errors.Join(list[0].Err, os.Remove(to)))
	}
	if err := os.WriteFile(filepath.Join(to, metadataFile), []byte(bag.yaml()), 0o666); err != nil {
		return list, fmt.Errorf("write metadata: %w", err)
	}
	return list, nil
}

// rowTable finds the rows that a folder's description has already.
type rowTable struct {
	rows   map[string]int // by topic and type
	topics topicTable
}

// addIndex adds a file that was read.
func (m *bagMetadata) addIndex(name string, x *index, known rowTable) {
	start, end, any := x.span()
	if !any {
		start, end = 0, 0
	}
	m.files = append(m.files, bagFile{name: name, start: start, end: end, messages: x.statistics.MessageCount})
	for _, c := range x.summary.channels {
		row := bagTopic{name: c.Topic, encoding: c.MessageEncoding, qos: known.topics.qosOf(c), messages: x.statistics.ChannelMessageCounts[c.ID]}
		if s := x.schemaByID[c.SchemaID]; s != nil {
			row.wireType, row.hash = s.Name, typeHash(s.Name, s.Encoding, s.Data)
		}
		key := row.name + "\x00" + row.wireType
		if i, there := known.rows[key]; there {
			m.topics[i].messages += row.messages
			continue
		}
		known.rows[key] = len(m.topics)
		m.topics = append(m.topics, row)
	}
}

// recoverFile recovers one file and returns what it found in it.
func (o Reading) recoverFile(from, to string) (Recovery, *index, error) {
	in, err := os.Open(from)
	if err != nil {
		return Recovery{}, nil, fault.File(err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return Recovery{}, nil, err
	}
	lost := Recovery{LostBytes: uint64(info.Size())}
	x, err := readIndex(in, info.Size(), o.Memory)
	if err != nil {
		return lost, nil, err
	}
	if x.end == int64(len(mcap.Magic)) {
		return lost, nil, fmt.Errorf("%w: the file has no complete record", ErrDamaged)
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return Recovery{}, nil, fault.File(err)
	}
	if err := errors.Join(x.copyTo(out, in), out.Close()); err != nil {
		return Recovery{}, nil, errors.Join(err, os.Remove(to))
	}
	for i := range x.damaged {
		x.damaged[i].Path = from
	}
	done := Recovery{From: from, Damaged: x.damaged, To: to, Complete: x.complete || x.finished, Messages: x.statistics.MessageCount}
	if !x.finished { // else a summary is behind the records
		done.LostBytes = uint64(info.Size() - x.end)
	}
	return done, x, nil
}

// copyTo writes what is complete of a file, and ends it.
func (x *index) copyTo(out io.Writer, in io.Reader) error {
	x.move()
	at, written := int64(0), int64(0)
	for _, e := range x.edits {
		if _, err := io.CopyN(out, in, e.offset-at); err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, in, e.drop); err != nil {
			return err
		}
		written += e.offset - at
		if err := e.write(out, uint64(written)); err != nil {
			return err
		}
		written += e.length()
		at = e.offset + e.drop
	}
	if _, err := io.CopyN(out, in, x.end-at); err != nil {
		return err
	}
	if x.complete {
		return nil
	}
	return writeTail(out, uint64(written+x.end-at), x.summary)
}

// write writes the message indexes of an edit, at an offset of the new file, and notes them
// in the Chunk Index record.
func (e *edit) write(out io.Writer, base uint64) error {
	if e.chunk == nil {
		return nil
	}
	w, err := mcap.NewWriter(out, &mcap.WriterOptions{SkipMagic: true})
	if err != nil {
		return err
	}
	for _, i := range e.indexes {
		e.chunk.MessageIndexOffsets[i.ChannelID] = base + w.Offset()
		if err := w.WriteMessageIndex(i); err != nil {
			return fmt.Errorf("write message index: %w", err)
		}
	}
	e.chunk.MessageIndexLength = w.Offset()
	return nil
}

// move sets all offsets to those of the recovered file.
func (x *index) move() {
	shifts := make([]int64, len(x.edits)+1) // of what lies behind so many edits
	for i := range x.edits {
		shifts[i+1] = shifts[i] + x.edits[i].length() - x.edits[i].drop
	}
	moved := func(offset uint64) uint64 {
		behind := sort.Search(len(x.edits), func(i int) bool { return uint64(x.edits[i].offset) > offset })
		return offset + uint64(shifts[behind])
	}
	for _, c := range x.chunks {
		c.ChunkStartOffset = moved(c.ChunkStartOffset)
		for channel, offset := range c.MessageIndexOffsets {
			c.MessageIndexOffsets[channel] = moved(offset)
		}
	}
	for _, a := range x.attachments {
		a.Offset = moved(a.Offset)
	}
	for _, m := range x.metadata {
		m.Offset = moved(m.Offset)
	}
}

// Damage is a part of a file that can't be read.
type Damage struct {
	Path string
	// Offset is where in the file it begins, Bytes its length.
	Offset, Bytes int64
	// FromNs and ToNs are the log times that it covers, nanoseconds.
	FromNs, ToNs simtime.Stamp
	// Lost is how many messages were in it, of all topics; -1 if that isn't known.
	Lost int64
	// Err says what is wrong; it wraps ErrDamaged.
	Err error
}

// damagedAt is where damage begins.
type damagedAt struct {
	file   int
	offset int64
}

// Damaged returns the parts of the files that Next has left out up to now, each once.
func (r *Reader) Damaged() []Damage { return append([]Damage(nil), r.damaged...) }

// readOn is read for selections that aren't strict, too: damage is noted, not returned.
func (r *Reader) readOn(p part) (messages []queued, held int64, err error) {
	messages, held, err = r.read(p)
	if err == nil {
		return messages, held, nil
	}
	if r.selection.Strict || !errors.Is(err, ErrDamaged) {
		r.memory.Give(held)
		return nil, 0, err
	}
	path := r.files[p.file].path
	place := damagedAt{p.file, p.offset}
	if r.known[place] {
		return messages, held, nil
	}
	r.known[place] = true
	handle, openErr := r.handle(p.file)
	if openErr != nil {
		r.memory.Give(held)
		return nil, 0, openErr
	}
	r.damaged = append(r.damaged, Damage{
		Path: path, Offset: p.offset, Bytes: p.length, FromNs: nanoseconds(p.start), ToNs: nanoseconds(p.end),
		Lost: indexed(handle, p.offset+p.length), Err: err,
	})
	return messages, held, nil
}

// indexed counts the messages that the Message Index records from an offset on, which follow
// their chunk, list. It is -1 if there are none (MCAP specification, "Message Index").
func indexed(file *os.File, offset int64) int64 {
	const fields, entry = 6, 16 // channel and size of the list; time and offset
	lost := int64(-1)
	for {
		var head [recordHeader + fields]byte
		if n, err := file.ReadAt(head[:], offset); n < len(head) || err != nil && !errors.Is(err, io.EOF) {
			return lost
		}
		length, list := binary.LittleEndian.Uint64(head[1:]), binary.LittleEndian.Uint32(head[recordHeader+2:])
		if mcap.OpCode(head[0]) != mcap.OpMessageIndex || length != fields+uint64(list) || list%entry != 0 {
			return lost
		}
		lost = max(lost, 0) + int64(list/entry)
		offset += recordHeader + int64(length)
	}
}

// A Chunk record's content before its records: two times, size, checksum, and the lengths
// and the text of its compression (MCAP specification, "Chunk").
const (
	chunkCompression = 8 + 8 + 8 + 4
	chunkFields      = chunkCompression + 4 + 8
	longestName      = len(mcap.CompressionZSTD)
)

// compressionOf returns the name of the compression of a chunk, by the start of a record's
// content and its length. It also returns whether the lengths in it agree.
func compressionOf(start []byte, length uint64) (name string, ok bool) {
	if len(start) < chunkFields || length < chunkFields {
		return "", false
	}
	n := uint64(binary.LittleEndian.Uint32(start[chunkCompression:]))
	if n > uint64(len(start)-chunkFields) {
		return "", false
	}
	text, rest := start[chunkCompression+4:][:n], start[chunkCompression+4+n:]
	return string(text), binary.LittleEndian.Uint64(rest) == length-chunkFields-n
}

// isChunk reports whether the content of a record is that of a chunk: its lengths agree, and
// its compression is known.
func isChunk(start []byte, length uint64) bool {
	name, ok := compressionOf(start, length)
	switch mcap.CompressionFormat(name) {
	case mcap.CompressionNone, mcap.CompressionLZ4, mcap.CompressionZSTD:
		return ok
	}
	return false
}

// findChunk looks for a Chunk record that is complete in the file, from an offset on. It
// returns where it is and its first log time; -1 for none.
func (w *window) findChunk(from int64) (at int64, start uint64, err error) {
	const head = int64(recordHeader + chunkFields + longestName)
	for ; from < w.size; from++ {
		data, err := w.loaded(from, head)
		if err != nil {
			return -1, 0, fmt.Errorf("look for a chunk: %w", err)
		}
		next := bytes.IndexByte(data, byte(mcap.OpChunk))
		if next < 0 {
			from += int64(len(data)) - 1
			continue
		}
		if from += int64(next); int64(len(data)-next) < head {
			if data, err = w.bytes(from, head); err != nil {
				return -1, 0, fmt.Errorf("look for a chunk: %w", err)
			}
			next = 0
		}
		if data = data[next:]; len(data) < recordHeader {
			break
		}
		length := binary.LittleEndian.Uint64(data[1:])
		if length <= uint64(w.size-from-recordHeader) && isChunk(data[recordHeader:], length) {
			return from, binary.LittleEndian.Uint64(data[recordHeader:]), nil
		}
	}
	return -1, 0, nil
}

// edit is a change that a recovery makes. From an offset of the file on, it drops bytes, and
// writes the message indexes of the chunk before them instead.
type edit struct {
	offset, drop int64
	chunk        *mcap.ChunkIndex // nil where nothing is written
	indexes      []*mcap.MessageIndex
}

// length is how many bytes are written.
func (e *edit) length() int64 {
	n := int64(0)
	for _, i := range e.indexes {
		n += recordHeader + 6 + 16*int64(len(i.Entries()))
	}
	return n
}

// mostWasted is how many bytes a scan reads, beside as many as the file has, of records that
// turn out to be none. From then on it looks for chunks behind such records, not within them.
const mostWasted = 16 << 20

// resync continues with the first chunk behind damage, and reports whether there is one.
func (s *scanner) resync(cause error) (found bool, err error) {
	behind := s.at + 1
	if s.wasted > s.size+mostWasted {
		behind = min(s.at+recordHeader+s.failed, s.size)
	}
	next, start, err := s.findChunk(behind)
	if next < 0 || err != nil {
		return false, err
	}
	e := edit{offset: s.at, drop: next - s.at}
	if s.open != nil {
		e = edit{offset: s.openEnd, drop: next - s.openEnd, chunk: s.open, indexes: s.indexes}
		s.forgetIndexes()
	}
	if e.chunk == nil || e.drop != e.length() { // not just its message indexes
		s.damage(e.offset, next, start, fmt.Errorf("%w: no record can be read: %w", ErrDamaged, cause))
	}
	s.edit(e)
	s.forgetChunk()
	s.inDamage, s.ended = false, false
	s.at, s.end = next, next
	return true, nil
}

// damage notes that a part of the file can't be read, and the log time of what ends it. That is
// the next chunk, or the message that can't be used.
func (s *scanner) damage(from, to int64, start uint64, err error) {
	if n := len(s.damaged); n > 0 && s.damaged[n-1].Offset+s.damaged[n-1].Bytes == from {
		d := &s.damaged[n-1]
		d.Bytes += to - from
		d.ToNs = max(d.ToNs, nanoseconds(start))
		return
	}
	part := segment{offset: from, length: to - from, start: start, end: start, err: err}
	if n := len(s.segments); n > 0 {
		part.start = min(s.segments[n-1].end, start)
	}
	s.segments = append(s.segments, part)
	s.damaged = append(s.damaged, Damage{
		Offset: from, Bytes: part.length, FromNs: nanoseconds(part.start), ToNs: nanoseconds(part.end), Lost: -1, Err: err,
	})
}

// edit adds an edit behind the others; what is dropped behind what is dropped is one.
func (s *scanner) edit(e edit) {
	if n := len(s.edits); n > 0 && e.chunk == nil && s.edits[n-1].offset+s.edits[n-1].drop == e.offset {
		s.edits[n-1].drop += e.drop
		return
	}
	s.edits = append(s.edits, e)
}

// isIndex reports whether the content of a record is the message index of a channel of the
// open chunk.
func (s *scanner) isIndex(content []byte) bool {
	if s.open == nil || len(content) < 6 {
		return false
	}
	i, known := s.indexOf[binary.LittleEndian.Uint16(content)]
	if !known {
		return false
	}
	want := s.indexes[i].Entries()
	if int(binary.LittleEndian.Uint32(content[2:])) != len(content)-6 || len(content)-6 != 16*len(want) {
		return false
	}
	return slices.IndexFunc(want, func(x mcap.MessageIndexEntry) bool {
		at := content[6:]
		content = content[16:]
		return binary.LittleEndian.Uint64(at) != x.Timestamp || binary.LittleEndian.Uint64(at[8:]) != x.Offset
	}) < 0
}

// forgetIndexes takes the open chunk's message indexes out of its Chunk Index record.
func (s *scanner) forgetIndexes() {
	clear(s.open.MessageIndexOffsets)
	s.open.MessageIndexLength = 0
}

// summary is what the summary section of a file lists.
type summary struct {
	schemas     []*mcap.Schema
	channels    []*mcap.Channel
	statistics  *mcap.Statistics
	chunks      []*mcap.ChunkIndex
	attachments []*mcap.AttachmentIndex
	metadata    []*mcap.MetadataIndex
}

// writeTail finishes a file whose complete records end at base. It writes a Data End record
// without checksum, the summary section and the footer (MCAP specification, "Summary Section").
// The library's own Close can't do it, for it can't be taken back to an earlier chunk.
func writeTail(dst io.Writer, base uint64, s summary) error {
	data, err := mcap.NewWriter(dst, &mcap.WriterOptions{SkipMagic: true})
	if err != nil {
		return err
	}
	if err := data.WriteDataEnd(&mcap.DataEnd{}); err != nil {
		return fmt.Errorf("write data end: %w", err)
	}
	start := base + data.Offset()
	w, err := mcap.NewWriter(dst, &mcap.WriterOptions{SkipMagic: true, IncludeCRC: true})
	if err != nil {
		return err
	}
	groups, err := writeGroups(w, start, s)
	if err != nil {
		return err
	}
	footer := mcap.Footer{SummaryStart: start, SummaryOffsetStart: start + w.Offset()}
	for _, g := range groups {
		if err := w.WriteSummaryOffset(g); err != nil {
			return fmt.Errorf("write summary offset: %w", err)
		}
	}
	if err := w.WriteFooter(&footer); err != nil {
		return fmt.Errorf("write footer: %w", err)
	}
	_, err = dst.Write(mcap.Magic)
	return err
}

// writeGroups writes the records of the summary, grouped by opcode, and returns
// where in the file each group lies.
func writeGroups(w *mcap.Writer, start uint64, s summary) ([]*mcap.SummaryOffset, error) {
	var groups []*mcap.SummaryOffset
	for _, g := range []struct {
		op    mcap.OpCode
		n     int
		write func(i int) error
	}{
		{mcap.OpSchema, len(s.schemas), func(i int) error { return w.WriteSchema(s.schemas[i]) }},
		{mcap.OpChannel, len(s.channels), func(i int) error { return w.WriteChannel(s.channels[i]) }},
		{mcap.OpStatistics, 1, func(int) error { return w.WriteStatistics(s.statistics) }},
		{mcap.OpChunkIndex, len(s.chunks), func(i int) error { return w.WriteChunkIndex(s.chunks[i]) }},
		{mcap.OpAttachmentIndex, len(s.attachments), func(i int) error { return w.WriteAttachmentIndex(s.attachments[i]) }},
		{mcap.OpMetadataIndex, len(s.metadata), func(i int) error { return w.WriteMetadataIndex(s.metadata[i]) }},
	} {
		from := w.Offset()
		for i := range g.n {
			if err := g.write(i); err != nil {
				return nil, fmt.Errorf("write %v of the summary: %w", g.op, err)
			}
		}
		if g.n > 0 {
			groups = append(groups, &mcap.SummaryOffset{GroupOpcode: g.op, GroupStart: start + from, GroupLength: w.Offset() - from})
		}
	}
	return groups, nil
}
