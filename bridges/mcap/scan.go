package mcap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/simtime"
)

// scan reads a file that has no summary, up to its last complete record, and makes the summary
// that it would have. A chunk that can't be read is stepped over; behind other damage it
// continues with the next chunk. It reports whether the data section was ended.
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

	// open is the chunk whose message indexes are being read, nil for none. The others are its
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
	if id := s.channels[known].SchemaID; id != 0 && s.schemaByID[id] == nil {
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
	if s.channelByID[m.channel] == nil {
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
			if err == nil && s.channelByID[m.channel] == nil { // its definition may have been in a damaged chunk
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

// Errors of reading a recording; test them with errors.Is.
var (
	// ErrNotMCAP: the file doesn't begin as an MCAP file does.
	ErrNotMCAP = errors.New("not an MCAP file")
	// ErrDamaged: a record contradicts itself, or its checksum.
	ErrDamaged = errors.New("recording is damaged")
	// ErrUnknownType: there is no sample for the message's type.
	ErrUnknownType = errors.New("no sample for messages of this type")
)

// A record is its opcode, the length of its content in 8 bytes, and the content (MCAP
// specification, "Records").
const recordHeader = 1 + 8

// messageHeader is the size of a Message record's content before its data.
const messageHeader = 2 + 4 + 8 + 8

// eachRecord calls visit for each record in data, with the place where it begins.
func eachRecord(data []byte, visit func(op mcap.OpCode, at int, content []byte) error) error {
	for at := 0; at < len(data); {
		if len(data)-at < recordHeader {
			return fmt.Errorf("record at byte %d: %w", at, io.ErrUnexpectedEOF)
		}
		length := binary.LittleEndian.Uint64(data[at+1:])
		if length > uint64(len(data)-at-recordHeader) {
			return fmt.Errorf("record at byte %d: %w", at, io.ErrUnexpectedEOF)
		}
		end := at + recordHeader + int(length)
		if err := visit(mcap.OpCode(data[at]), at, data[at+recordHeader:end]); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// parse reads a record's content with the library's function for it. Those of some
// records panic where a length is longer than the content.
func parse[T any](name string, read func([]byte) (*T, error), content []byte) (record *T, err error) {
	defer func() {
		if p := recover(); p != nil {
			record, err = nil, fmt.Errorf("%w: %s: %v", ErrDamaged, name, p)
		}
	}()
	if record, err = read(content); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
	}
	return record, nil
}

// mostUncompressed is the largest chunk that is read, bytes.
const mostUncompressed = 1 << 30

// usualDensity is how many bytes one byte of a chunk mostly stands for at most. Memory for
// more is taken only as the chunk turns out to have it.
const usualDensity = 20

// longestWindow is the window that zstd's encoders use at most, bytes.
const longestWindow = 128 << 20

// unpacker uncompresses chunks. One goroutine uses it at a time.
type unpacker struct {
	zstd   *zstd.Decoder
	memory *memory.Budget
}

func (u *unpacker) close() {
	if u.zstd != nil {
		u.zstd.Close()
	}
}

// unpack returns the records of a Chunk record, in memory of their own, as many bytes as the
// chunk's UncompressedSize says. They are taken from the budget, and the caller's to give back.
func (u *unpacker) unpack(content []byte) (*mcap.Chunk, []byte, error) {
	chunk, err := parse("chunk", mcap.ParseChunk, content)
	if err != nil {
		return nil, nil, err
	}
	size := chunk.UncompressedSize
	if size > mostUncompressed {
		return nil, nil, fmt.Errorf("%w: chunk of %d bytes is to have %d", ErrDamaged, len(chunk.Records), size)
	}
	if err := u.memory.Take("a chunk", int64(size)); err != nil {
		return nil, nil, err
	}
	records, err := u.checked(chunk)
	if err != nil {
		u.memory.Give(int64(size))
		return nil, nil, err
	}
	return chunk, records, nil
}

// checked uncompresses a chunk and holds the result against what the chunk says of it.
func (u *unpacker) checked(chunk *mcap.Chunk) ([]byte, error) {
	size := chunk.UncompressedSize
	records, err := u.uncompress(chunk, int64(size))
	if err != nil {
		return nil, fmt.Errorf("%w: chunk: %w", ErrDamaged, err)
	}
	if uint64(len(records)) != size {
		return nil, fmt.Errorf("%w: chunk has %d bytes, not %d", ErrDamaged, len(records), size)
	}
	if sum := chunk.UncompressedCRC; sum != 0 && sum != crc32.ChecksumIEEE(records) {
		return nil, fmt.Errorf("%w: chunk's checksum is wrong", ErrDamaged)
	}
	return records, nil
}

// uncompress stops where a chunk has more than the size that it says.
func (u *unpacker) uncompress(chunk *mcap.Chunk, size int64) ([]byte, error) {
	room := min(size, usualDensity*int64(len(chunk.Records))) + bytes.MinRead // for the end to be found without growing
	records := bytes.NewBuffer(make([]byte, 0, room))
	var data io.Reader = bytes.NewReader(chunk.Records)
	switch format := mcap.CompressionFormat(chunk.Compression); format {
	case mcap.CompressionNone:
	case mcap.CompressionZSTD:
		if err := u.resetZstd(data); err != nil {
			return nil, err
		}
		data = u.zstd
	case mcap.CompressionLZ4:
		data = lz4.NewReader(data)
	default:
		return nil, fmt.Errorf("unknown compression %q", format)
	}
	_, err := records.ReadFrom(io.LimitReader(data, size+1))
	return records.Bytes(), err
}

// resetZstd has the decoder read a chunk.
func (u *unpacker) resetZstd(data io.Reader) error {
	if u.zstd != nil {
		return u.zstd.Reset(data)
	}
	var err error
	u.zstd, err = zstd.NewReader(data, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(longestWindow))
	return err
}

// rawMessage is a message as a file has it.
type rawMessage struct {
	channel              uint16
	sequence             uint32
	logTime, publishTime uint64
	data                 []byte
}

// parseMessage reads the content of a Message record, which the message shares.
func parseMessage(content []byte) (rawMessage, error) {
	if len(content) < messageHeader {
		return rawMessage{}, fmt.Errorf("%w: message of %d bytes", ErrDamaged, len(content))
	}
	return rawMessage{
		channel: binary.LittleEndian.Uint16(content), sequence: binary.LittleEndian.Uint32(content[2:]),
		logTime: binary.LittleEndian.Uint64(content[6:]), publishTime: binary.LittleEndian.Uint64(content[14:]),
		data: content[messageHeader:],
	}, nil
}

// nanoseconds is a time of a file; later ones than fit are the latest.
func nanoseconds(t uint64) simtime.Stamp { return simtime.Stamp(min(t, math.MaxInt64)) }

// leastWindow is how many bytes are read at once at least.
const leastWindow = 64 << 10

// window gives the bytes of a file at offsets that mostly grow, each byte read a few times at
// most. One goroutine uses it at a time.
type window struct {
	file   io.ReaderAt
	size   int64 // of the file
	at     int64 // where data lies in it
	data   []byte
	memory *memory.Budget // data's capacity is taken from it
}

// free gives back what the window took.
func (w *window) free() {
	w.memory.Give(int64(cap(w.data)))
	w.data = nil
}

// loaded returns what is in memory from an offset on: at least so many bytes, fewer only at the
// file's end. They hold until the next call.
func (w *window) loaded(from, least int64) ([]byte, error) {
	least = min(least, w.size-from)
	if from < w.at || from+least > w.at+int64(len(w.data)) {
		length := min(max(least+least/4, leastWindow), w.size-from)
		if int64(cap(w.data)) < length {
			w.free()
			if err := w.memory.Take("a record", length); err != nil {
				return nil, err
			}
			w.data = make([]byte, length)
		}
		w.at, w.data = from, w.data[:length]
		if n, err := w.file.ReadAt(w.data, from); int64(n) < length {
			w.data = w.data[:0]
			return nil, fmt.Errorf("read recording: %w", err)
		}
	}
	return w.data[from-w.at:], nil
}

// bytes returns so many bytes from an offset on, as loaded does.
func (w *window) bytes(from, length int64) ([]byte, error) {
	data, err := w.loaded(from, length)
	return data[:min(length, int64(len(data)))], err
}
