package mcap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/foxglove/mcap/go/mcap"
)

// A Chunk record's content before its records: two times, size, checksum, and the lengths
// and the text of its compression (MCAP specification, "Chunk").
const (
	chunkCompression = 8 + 8 + 8 + 4
	chunkFields      = chunkCompression + 4 + 8
	longestName      = len(mcap.CompressionZSTD)
)

// compressionOf returns the name of the compression of a chunk, by the start of a record's
// content and its length, and whether the lengths in it agree.
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

// findChunk looks for a Chunk record that is complete in the file, from an offset on, and
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

// edit is a change that a recovery makes: from an offset of the file on, it drops bytes, and
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

// resync goes on with the first chunk behind damage, and reports whether there is one.
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

// damage notes that a part of the file can't be read, and the log time of what ends it: of
// the next chunk, or of the message that can't be used.
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
