package mcap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/foxglove/mcap/go/mcap"
)

// scan reads a file that has no summary, up to its last complete record, and makes the
// summary that it would have. A chunk that can't be read is stepped over; behind other
// damage it goes on with the next chunk. It reports whether the data section was ended.
func (x *index) scan(file io.ReaderAt, size int64) (ended bool, err error) {
	s := scanner{
		index: x, window: window{file: file, size: size, memory: x.memory}, unpacker: unpacker{memory: x.memory},
		at: int64(len(mcap.Magic)), indexOf: map[uint16]int{},
	}
	defer s.free()
	defer s.unpacker.close()
	x.statistics = &mcap.Statistics{ChannelMessageCounts: map[uint16]uint64{}}
	for {
		err := s.record()
		if err == nil {
			x.end = s.at
			continue
		}
		if !errors.Is(err, errEnd) && !errors.Is(err, ErrDamaged) {
			return false, err
		}
		found, err := s.resync(err)
		if err != nil {
			return false, err
		}
		if !found {
			s.finish()
			return s.ended, nil
		}
	}
}

// errEnd: no complete record follows.
var errEnd = errors.New("end of the recording")

// mostRun is the size of a run of messages outside of chunks that makes a segment, bytes.
const mostRun = 4 << 20

// scanner is the state of a scan.
type scanner struct {
	*index
	window
	at       int64 // of the next record
	unpacker unpacker
	// failed is the length of the last record that turned out to be none, wasted of all.
	failed, wasted int64

	// open is the chunk whose message indexes are being read, nil for none, its
	// messages by channel, at which place in indexes each channel is, and where it ends.
	open    *mcap.ChunkIndex
	indexes []*mcap.MessageIndex
	indexOf map[uint16]int
	openEnd int64
	// wrong says that a message index of the open chunk isn't what the chunk says.
	wrong bool
	// inDamage says that message indexes are those of a chunk that couldn't be read.
	inDamage bool
	// ended says that a Data End record, or what comes after it, is next.
	ended bool
}

// record reads the next record.
func (s *scanner) record() error {
	s.failed = 0
	if s.size-s.at < recordHeader {
		return errEnd
	}
	head, err := s.bytes(s.at, recordHeader)
	if err != nil {
		return err
	}
	op, length := mcap.OpCode(head[0]), binary.LittleEndian.Uint64(head[1:])
	if length > uint64(s.size-s.at-recordHeader) {
		return errEnd
	}
	if op == mcap.OpDataEnd || op == mcap.OpFooter || op == mcap.OpReserved {
		s.ended = op != mcap.OpReserved
		return errEnd
	}
	if op == mcap.OpAttachment {
		return s.attachment(int64(length))
	}
	record, err := s.bytes(s.at, recordHeader+int64(length))
	if err != nil {
		return err
	}
	content := record[recordHeader:]
	err = s.take(op, content)
	if op == mcap.OpChunk && errors.Is(err, ErrDamaged) {
		if _, ok := compressionOf(content, length); ok { // and so is the record's end
			err = s.damagedChunk(content, err)
		}
	}
	if err != nil {
		s.failed = int64(length)
		s.wasted += s.failed
		return err
	}
	s.at += recordHeader + int64(length)
	return nil
}

// take adds a record.
func (s *scanner) take(op mcap.OpCode, content []byte) error {
	switch {
	case op != mcap.OpChunk && isChunk(content, uint64(len(content))):
		s.closeChunk()
		return s.damagedChunk(content, fmt.Errorf("%w: chunk is marked as a record of kind %d", ErrDamaged, op))
	case op == mcap.OpMessageIndex:
		return s.messageIndex(content)
	case s.isIndex(content):
		s.wrong = true
		return nil
	}
	s.closeChunk()
	s.inDamage = false
	switch op {
	case mcap.OpSchema, mcap.OpChannel:
		return s.define(op, content)
	case mcap.OpMessage:
		return s.message(content)
	case mcap.OpChunk:
		return s.chunk(content)
	case mcap.OpMetadata:
		m, err := parse("metadata", mcap.ParseMetadata, content)
		if err != nil {
			return err
		}
		s.metadata = append(s.metadata, &mcap.MetadataIndex{
			Offset: uint64(s.at), Length: uint64(recordHeader + len(content)), Name: m.Name,
		})
		s.statistics.MetadataCount++
	}
	return nil
}

// define adds a schema or a channel. The schema of a channel comes before it; it may have
// been in a damaged chunk.
func (s *scanner) define(op mcap.OpCode, content []byte) error {
	known := len(s.channels)
	if err := s.index.define(op, content); err != nil || len(s.channels) == known {
		return err
	}
	if id := s.channels[known].SchemaID; id != 0 && s.schema(id) == nil {
		delete(s.channelByID, s.channels[known].ID)
		s.channels = s.channels[:known]
		return fmt.Errorf("%w: channel of schema %d, which there is not", ErrDamaged, id)
	}
	return nil
}

// attachment adds an Attachment record, of whose content only the start is read.
func (s *scanner) attachment(length int64) error {
	s.closeChunk()
	s.inDamage = false
	start, err := s.bytes(s.at+recordHeader, min(length, 4096))
	if err != nil {
		return err
	}
	a, err := parseAttachment(start)
	if err != nil {
		return err
	}
	a.Offset, a.Length = uint64(s.at), uint64(recordHeader+length)
	s.attachments = append(s.attachments, a)
	s.statistics.AttachmentCount++
	s.at += recordHeader + length
	return nil
}

// parseAttachment reads the fields of an Attachment record that its index repeats.
func parseAttachment(content []byte) (*mcap.AttachmentIndex, error) {
	damaged := fmt.Errorf("%w: attachment", ErrDamaged)
	if len(content) < 16 {
		return nil, damaged
	}
	a := &mcap.AttachmentIndex{
		LogTime: binary.LittleEndian.Uint64(content), CreateTime: binary.LittleEndian.Uint64(content[8:]),
	}
	rest := content[16:]
	for _, text := range []*string{&a.Name, &a.MediaType} {
		if len(rest) < 4 || uint64(binary.LittleEndian.Uint32(rest)) > uint64(len(rest)-4) {
			return nil, damaged
		}
		n := int(binary.LittleEndian.Uint32(rest))
		*text, rest = string(rest[4:4+n]), rest[4+n:]
	}
	if len(rest) < 8 {
		return nil, damaged
	}
	a.DataSize = binary.LittleEndian.Uint64(rest)
	return a, nil
}

// message adds a message outside of chunks. One whose channel was lost is left out.
func (s *scanner) message(content []byte) error {
	m, err := parseMessage(content)
	if err != nil {
		return err
	}
	length := int64(recordHeader + len(content))
	if s.channel(m.channel) == nil {
		s.damage(s.at, s.at+length, m.logTime, fmt.Errorf("%w: message of channel %d, which there is not", ErrDamaged, m.channel))
		s.edit(edit{offset: s.at, drop: length})
		return nil
	}
	s.count(m)
	n := len(s.segments)
	if n > 0 && s.segments[n-1].offset+s.segments[n-1].length == s.at && s.segments[n-1].length < mostRun && s.segments[n-1].channels == nil {
		last := &s.segments[n-1]
		last.length += length
		last.start, last.end = min(last.start, m.logTime), max(last.end, m.logTime)
		return nil
	}
	s.segments = append(s.segments, segment{offset: s.at, length: length, start: m.logTime, end: m.logTime})
	return nil
}

// count adds a message to the statistics.
func (s *scanner) count(m rawMessage) {
	t := s.statistics
	if t.MessageCount == 0 {
		t.MessageStartTime = m.logTime
	}
	t.MessageStartTime, t.MessageEndTime = min(t.MessageStartTime, m.logTime), max(t.MessageEndTime, m.logTime)
	t.MessageCount++
	t.ChannelMessageCounts[m.channel]++
}

// chunk adds a Chunk record with all that is in it.
func (s *scanner) chunk(content []byte) error {
	if _, ok := compressionOf(content, uint64(len(content))); !ok {
		return fmt.Errorf("%w: the lengths in a chunk disagree", ErrDamaged)
	}
	chunk, records, err := s.unpacker.unpack(content)
	if err != nil {
		return err
	}
	defer s.unpacker.memory.Give(int64(chunk.UncompressedSize))
	part := segment{offset: s.at, length: int64(recordHeader + len(content)), start: math.MaxUint64, channels: []uint16{}, chunk: true}
	messages, offsets, err := s.chunkMessages(records)
	if err != nil {
		return err // none of its messages counts
	}
	s.forgetChunk()
	for i, m := range messages {
		s.chunkMessage(&part, offsets[i], m)
	}
	if len(s.indexes) == 0 {
		part.start = 0
	}
	s.open = &mcap.ChunkIndex{
		MessageStartTime: part.start, MessageEndTime: part.end,
		ChunkStartOffset: uint64(s.at), ChunkLength: uint64(part.length),
		MessageIndexOffsets: map[uint16]uint64{}, Compression: mcap.CompressionFormat(chunk.Compression),
		CompressedSize: uint64(len(chunk.Records)), UncompressedSize: chunk.UncompressedSize,
	}
	s.openEnd = s.at + part.length
	s.segments, s.chunks = append(s.segments, part), append(s.chunks, s.open)
	s.statistics.ChunkCount++
	return nil
}

// chunkMessages takes a chunk's definitions, and returns its messages and where among its
// records they are.
func (s *scanner) chunkMessages(records []byte) (messages []rawMessage, offsets []uint64, err error) {
	err = eachRecord(records, func(op mcap.OpCode, at int, content []byte) error {
		switch op {
		case mcap.OpSchema, mcap.OpChannel:
			return s.define(op, content)
		case mcap.OpMessage:
			m, err := parseMessage(content)
			messages, offsets = append(messages, m), append(offsets, uint64(at))
			if err == nil && s.channel(m.channel) == nil { // its definition may have been in a damaged chunk
				err = fmt.Errorf("%w: message of channel %d, which there is not", ErrDamaged, m.channel)
			}
			return err
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%w: chunk: %w", ErrDamaged, err)
	}
	return messages, offsets, nil
}

// chunkMessage adds a message at an offset within a chunk.
func (s *scanner) chunkMessage(part *segment, offset uint64, m rawMessage) {
	s.count(m)
	part.start, part.end = min(part.start, m.logTime), max(part.end, m.logTime)
	i, known := s.indexOf[m.channel]
	if !known {
		i = len(s.indexes)
		s.indexOf[m.channel] = i
		s.indexes = append(s.indexes, &mcap.MessageIndex{ChannelID: m.channel})
		part.channels = append(part.channels, m.channel)
	}
	s.indexes[i].Add(m.logTime, offset)
}

// damagedChunk makes a segment of a chunk that can't be read, for readers to come upon, and
// notes that it isn't to be copied.
func (s *scanner) damagedChunk(content []byte, err error) error {
	if len(content) < 16 {
		return err
	}
	part := segment{
		offset: s.at, length: int64(recordHeader + len(content)),
		start: binary.LittleEndian.Uint64(content), end: binary.LittleEndian.Uint64(content[8:]), err: err,
	}
	s.segments = append(s.segments, part)
	s.edit(edit{offset: part.offset, drop: part.length})
	s.damaged = append(s.damaged, Damage{
		Offset: part.offset, Bytes: part.length, FromNs: nanoseconds(part.start), ToNs: nanoseconds(part.end), Lost: -1, Err: err,
	})
	s.inDamage = true
	return nil
}

// messageIndex adds a Message Index record to the chunk that it follows.
func (s *scanner) messageIndex(content []byte) error {
	if len(content) < 6 || uint64(binary.LittleEndian.Uint32(content[2:])) != uint64(len(content)-6) {
		return fmt.Errorf("%w: the lengths in a message index disagree", ErrDamaged)
	}
	length := int64(recordHeader + len(content))
	switch {
	case s.inDamage:
		d := &s.damaged[len(s.damaged)-1]
		d.Lost = max(d.Lost, 0) + int64(len(content)-6)/16
		d.Bytes += length
		s.edit(edit{offset: s.at, drop: length})
	case s.open == nil: // of no chunk, and of no use
	case s.isIndex(content):
		s.open.MessageIndexOffsets[binary.LittleEndian.Uint16(content)] = uint64(s.at)
		s.open.MessageIndexLength += uint64(length)
	default:
		s.wrong = true
	}
	return nil
}

// closeChunk ends the indexes of the last chunk. Those that aren't what the chunk says are to
// be written again; a chunk without any stays so.
func (s *scanner) closeChunk() {
	if s.open != nil && (s.wrong || len(s.open.MessageIndexOffsets) > 0 && len(s.open.MessageIndexOffsets) < len(s.indexes)) {
		s.edit(edit{offset: s.openEnd, drop: s.at - s.openEnd, chunk: s.open, indexes: s.indexes})
		s.forgetIndexes()
	}
	s.forgetChunk()
}

// forgetChunk lets go of the open chunk.
func (s *scanner) forgetChunk() {
	s.open, s.indexes, s.wrong = nil, nil, false
	clear(s.indexOf)
}

// finish ends the scan. The indexes of a chunk behind which the file breaks off are all
// to be written again.
func (s *scanner) finish() {
	s.statistics.SchemaCount, s.statistics.ChannelCount = uint16(len(s.schemas)), uint32(len(s.channels))
	if s.end == 0 {
		s.end = int64(len(mcap.Magic))
	}
	if s.open != nil && (s.wrong || len(s.open.MessageIndexOffsets) < len(s.indexes)) {
		s.end = s.openEnd
		s.edit(edit{offset: s.openEnd, chunk: s.open, indexes: s.indexes})
		s.forgetIndexes()
	}
}
