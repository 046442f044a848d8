package mcap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/raybridge/raybridge/memory"
)

// index is what is known of one file without its messages.
type index struct {
	profile string
	memory  *memory.Budget // of what is held while the file is read
	summary
	schemaByID  map[uint16]*mcap.Schema
	channelByID map[uint16]*mcap.Channel
	// segments are the parts of the file that have messages.
	segments []segment
	// complete says that the file was finished: the rest is from its summary. Of one
	// that wasn't, end is where its last complete record ends.
	complete bool
	end      int64
	// finished says that the file ends as it should, though its summary doesn't tell where
	// all messages are: it has none, or messages outside of chunks.
	finished bool
	// damaged are the parts of a file that wasn't finished that can't be read, chunks with
	// their message indexes mostly, and edits what a recovery does about them and about
	// message indexes that are missing, in the order of their offsets.
	damaged []Damage
	edits   []edit
}

// segment is a Chunk record, or a run of Message records outside of any, with the log
// times that it covers.
type segment struct {
	offset, length int64
	start, end     uint64
	// channels are those that have messages in it; nil where that isn't known.
	channels []uint16
	chunk    bool  // it is a Chunk record
	err      error // why it can't be read; nil where that isn't known
}

// readIndex reads the summary of a file of the given size, or, where there is none, the
// whole file up to its last complete record.
func readIndex(file io.ReaderAt, size int64, budget *memory.Budget) (*index, error) {
	x, err := readHeader(file, size)
	if err != nil {
		return nil, err
	}
	x.memory = budget
	summary := x.readSummary(file, size)
	if summary == nil {
		return x, nil
	}
	if errors.Is(summary, memory.ErrExceeded) {
		return nil, summary
	}
	*x = index{profile: x.profile, memory: budget}
	ended, err := x.scan(file, size)
	x.finished = ended && errors.Is(summary, errNoIndex)
	return x, err
}

// readHeader reads the file's first record.
func readHeader(file io.ReaderAt, size int64) (*index, error) {
	start := make([]byte, min(size, 4096))
	if _, err := file.ReadAt(start, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !bytes.HasPrefix(start, mcap.Magic) {
		return nil, ErrNotMCAP
	}
	x := &index{}
	done := errors.New("done")
	err := eachRecord(start[len(mcap.Magic):], func(op mcap.OpCode, _ int, content []byte) error {
		if op == mcap.OpHeader {
			header, err := parse("header", mcap.ParseHeader, content)
			if err != nil {
				return err
			}
			x.profile = header.Profile
		}
		return done
	})
	if errors.Is(err, ErrDamaged) {
		return nil, err
	}
	return x, nil
}

// A file ends in a Footer record, whose content has 20 bytes, and the magic bytes.
const footerLength = 20

// Why a summary can't be used.
var (
	errNoSummary = errors.New("the file doesn't end with a summary")
	errNoIndex   = errors.New("the summary doesn't tell where all messages are")
)

// readSummary reads the summary section at the end of a finished file. It returns an
// error where that isn't enough to find all messages.
func (x *index) readSummary(file io.ReaderAt, size int64) error {
	tail := make([]byte, recordHeader+footerLength+len(mcap.Magic))
	at := size - int64(len(tail))
	if at < 0 {
		return errNoSummary
	}
	if _, err := file.ReadAt(tail, at); err != nil {
		return err
	}
	if !bytes.HasSuffix(tail, mcap.Magic) || mcap.OpCode(tail[0]) != mcap.OpFooter {
		return errNoSummary
	}
	start := binary.LittleEndian.Uint64(tail[recordHeader:])
	if start == 0 {
		return errNoIndex
	}
	if start > uint64(at) {
		return errNoSummary
	}
	length := at - int64(start)
	if err := x.memory.Take("the summary", length); err != nil {
		return err
	}
	defer x.memory.Give(length)
	data := make([]byte, length)
	if _, err := file.ReadAt(data, int64(start)); err != nil {
		return err
	}
	if !summaryIsWhole(data, tail) {
		return fmt.Errorf("%w: the summary's checksum is wrong", ErrDamaged)
	}
	err := eachRecord(data, func(op mcap.OpCode, _ int, content []byte) error { return x.addSummary(op, content) })
	if err != nil {
		return err
	}
	if x.statistics == nil || len(x.chunks) == 0 && x.statistics.MessageCount > 0 || len(x.channels) < int(x.statistics.ChannelCount) {
		return errNoIndex
	}
	x.complete, x.end = true, size
	return x.addSegments(start)
}

// addSegments makes a segment of each chunk, which all lie before the summary.
func (x *index) addSegments(summary uint64) error {
	for _, c := range x.chunks {
		if c.ChunkStartOffset > summary || c.ChunkLength > summary-c.ChunkStartOffset {
			return fmt.Errorf("%w: chunk index", ErrDamaged)
		}
		s := segment{
			offset: int64(c.ChunkStartOffset), length: int64(c.ChunkLength), start: c.MessageStartTime, end: c.MessageEndTime, chunk: true,
		}
		for channel := range c.MessageIndexOffsets {
			s.channels = append(s.channels, channel)
		}
		x.segments = append(x.segments, s)
	}
	return nil
}

// summaryIsWhole compares the summary section, and the footer up to it, with the footer's
// checksum (MCAP specification, "Footer"). Files without one have 0 there.
func summaryIsWhole(data, tail []byte) bool {
	end := recordHeader + footerLength - 4
	sum := binary.LittleEndian.Uint32(tail[end:])
	return sum == 0 || sum == crc32.Update(crc32.ChecksumIEEE(data), crc32.IEEETable, tail[:end])
}

// addSummary adds a record of the summary section.
func (x *index) addSummary(op mcap.OpCode, content []byte) error {
	var err error
	switch op {
	case mcap.OpSchema, mcap.OpChannel:
		return x.define(op, content)
	case mcap.OpStatistics:
		x.statistics, err = parse("statistics", mcap.ParseStatistics, content)
	case mcap.OpChunkIndex:
		var c *mcap.ChunkIndex
		if c, err = parse("chunk index", mcap.ParseChunkIndex, content); err == nil {
			x.chunks = append(x.chunks, c)
		}
	case mcap.OpAttachmentIndex:
		var a *mcap.AttachmentIndex
		if a, err = parse("attachment index", mcap.ParseAttachmentIndex, content); err == nil {
			x.attachments = append(x.attachments, a)
		}
	case mcap.OpMetadataIndex:
		var m *mcap.MetadataIndex
		if m, err = parse("metadata index", mcap.ParseMetadataIndex, content); err == nil {
			x.metadata = append(x.metadata, m)
		}
	}
	return err
}

// define adds a schema or a channel that isn't known yet.
func (x *index) define(op mcap.OpCode, content []byte) error {
	if op == mcap.OpSchema {
		s, err := parse("schema", mcap.ParseSchema, content)
		if err != nil {
			return err
		}
		if s.ID != 0 && x.schema(s.ID) == nil {
			s.Data = bytes.Clone(s.Data)
			x.schemas = append(x.schemas, s)
			if x.schemaByID == nil {
				x.schemaByID = map[uint16]*mcap.Schema{}
			}
			x.schemaByID[s.ID] = s
		}
		return nil
	}
	c, err := parse("channel", mcap.ParseChannel, content)
	if err != nil {
		return err
	}
	if x.channel(c.ID) == nil {
		x.channels = append(x.channels, c)
		if x.channelByID == nil {
			x.channelByID = map[uint16]*mcap.Channel{}
		}
		x.channelByID[c.ID] = c
	}
	return nil
}

// schema returns the schema of the id, nil for none.
func (x *index) schema(id uint16) *mcap.Schema { return x.schemaByID[id] }

// channel returns the channel of the id, nil for none.
func (x *index) channel(id uint16) *mcap.Channel { return x.channelByID[id] }

// messages counts a channel's messages.
func (x *index) messages(channel uint16) uint64 { return x.statistics.ChannelMessageCounts[channel] }

// span returns the first and the last log time, and whether there are messages.
func (x *index) span() (start, end uint64, any bool) {
	return x.statistics.MessageStartTime, x.statistics.MessageEndTime, x.statistics.MessageCount > 0
}
