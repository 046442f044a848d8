package mcap

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/klauspost/compress/zstd"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/recordfile"
	"github.com/raybridge/raybridge/flow"
)

// chunkTimeLimit is the log time, in nanoseconds, that a chunk covers at most.
const chunkTimeLimit = 1e9

// recorder writes one MCAP file. One goroutine uses it at a time; after an error
// of write or close it is of no more use but to salvage.
type recorder struct {
	file *recordfile.File
	// opts is shared with w, which reads ChunkSize at each message.
	opts      *mcap.WriterOptions
	chunkSize int64
	w         *mcap.Writer
	message   mcap.Message // reused

	bareEnd   int64             // size of the file before its definitions
	headerEnd int64             // size of the file before its first chunk, with the definitions there
	schemas   []recordedSchema  // schema id = index + 1
	channels  []recordedChannel // channel id = index + 1
	chunks    []recordedChunk   // those that are complete in the file
	pending   []tally           // of the open chunk, by channel
	opened    uint64            // log time of the open chunk's first message
	empty     bool              // the open chunk has no message
	first     uint64            // log time of the first message; MaxUint64 before it

	// now is the wall clock in nanoseconds; it is read where flush, the wall time that
	// a chunk stays open at most, isn't 0.
	now        func() int64
	flush      int64
	openedWall int64 // when the open chunk's first message came
}

// messageTimes are a message's number on its topic, from 1 on, and its times in
// nanoseconds.
type messageTimes struct {
	sequence             uint32
	logTime, publishTime uint64
}

type recordedChunk struct {
	index *mcap.ChunkIndex
	end   int64 // size of the file after the chunk and its message indexes
	tally []tally
}

// tally counts messages of a channel. Those that an earlier file has already are
// repeated, and no loss.
type tally struct {
	messages, repeated int
	bytes              int64
}

func (t tally) all() uint64 { return uint64(t.messages + t.repeated) }

// writerOptions sets the library up.
func writerOptions(o options) (*mcap.WriterOptions, error) {
	opts := &mcap.WriterOptions{
		IncludeCRC: true, Chunked: true, ChunkSize: o.chunkSize,
		Compression: o.compression, CompressionLevel: mcap.CompressionLevelFastest, OverrideLibrary: true,
	}
	if o.compression == mcap.CompressionZSTD {
		// Two goroutines, which end with the chunk; it has a checksum already.
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithEncoderConcurrency(2), zstd.WithEncoderCRC(false))
		if err != nil {
			return nil, fmt.Errorf("make compressor: %w", err)
		}
		opts.Compressor = mcap.NewCustomCompressor(mcap.CompressionZSTD, enc)
	}
	return opts, nil
}

// newRecorder begins a file with its header.
func newRecorder(file *recordfile.File, o options, run bridges.Run) (*recorder, error) {
	opts, err := writerOptions(o)
	if err != nil {
		return nil, err
	}
	w, err := mcap.NewWriter(file, opts)
	if err != nil {
		return nil, fmt.Errorf("begin file: %w", err)
	}
	r := &recorder{file: file, opts: opts, chunkSize: o.chunkSize, w: w, empty: true, first: math.MaxUint64, flush: int64(o.flush)}
	library := "raybridge"
	if run.Version != "" {
		library += " " + run.Version
	}
	if err := w.WriteHeader(&mcap.Header{Profile: o.profile.header(), Library: library}); err != nil {
		return nil, fmt.Errorf("write header: %w", err)
	}
	if run != (bridges.Run{}) {
		err := w.WriteMetadata(&mcap.Metadata{Name: "raybridge", Metadata: map[string]string{
			"version": run.Version, "scene": run.Scene, "rig": run.Rig, "seed": strconv.FormatUint(run.Seed, 10),
		}})
		if err != nil {
			return nil, fmt.Errorf("write metadata: %w", err)
		}
	}
	if err := file.Commit(); err != nil {
		return nil, fmt.Errorf("write header: %w", err)
	}
	r.bareEnd, r.headerEnd = file.Committed(), file.Committed()
	return r, nil
}

// begun returns the log time of the file's first message, and whether there is any.
func (r *recorder) begun() (start uint64, any bool) { return r.first, r.first != math.MaxUint64 }

// write records one message.
func (r *recorder) write(channel int, at messageTimes, data []byte) error {
	r.pending[channel].messages++
	r.pending[channel].bytes += int64(len(data))
	chunkEnded, err := r.put(channel, at, data)
	if err != nil {
		r.pending[channel].messages--
		r.pending[channel].bytes -= int64(len(data))
		return err
	}
	r.channels[channel].topic.Sent(len(data))
	if chunkEnded {
		return r.endChunk()
	}
	return nil
}

// repeat records a message that an earlier file has.
func (r *recorder) repeat(channel int, at messageTimes, data []byte) error {
	r.pending[channel].repeated++
	if chunkEnded, err := r.put(channel, at, data); err != nil || !chunkEnded {
		return err
	}
	return r.endChunk()
}

// put gives a message to the library and reports whether that ended a chunk.
func (r *recorder) put(channel int, at messageTimes, data []byte) (chunkEnded bool, err error) {
	r.opts.ChunkSize = r.chunkSize
	if r.empty {
		r.opened, r.empty = at.logTime, false
		if r.flush > 0 {
			r.openedWall = r.now()
		}
	} else if at.logTime >= r.opened+chunkTimeLimit || r.flush > 0 && r.now() >= r.openedWall+r.flush {
		r.opts.ChunkSize = 0 // this message is the chunk's last
	}
	if r.first == math.MaxUint64 {
		r.first = at.logTime
	}
	r.message = mcap.Message{
		ChannelID: r.channels[channel].ID, Sequence: at.sequence, LogTime: at.logTime, PublishTime: at.publishTime, Data: data,
	}
	chunksBefore := r.w.Statistics.ChunkCount
	err = r.w.WriteMessage(&r.message)
	r.message.Data = nil
	return err == nil && r.w.Statistics.ChunkCount != chunksBefore, err
}

// endChunk commits the chunk that the library has just written.
func (r *recorder) endChunk() error {
	if err := r.file.Commit(); err != nil {
		return err
	}
	r.chunks = append(r.chunks, recordedChunk{
		index: r.w.ChunkIndexes[len(r.w.ChunkIndexes)-1], end: r.file.Committed(), tally: slices.Clone(r.pending),
	})
	clear(r.pending)
	r.empty = true
	return nil
}

// close finishes the file.
func (r *recorder) close() error {
	chunksBefore := r.w.Statistics.ChunkCount
	if err := r.w.Close(); err != nil {
		return err
	}
	if r.w.Statistics.ChunkCount != chunksBefore {
		return r.endChunk()
	}
	return r.file.Commit()
}

// salvage finishes the file after its last complete chunk. Where the disk
// leaves no room even for the summary, it gives up further chunks for it, and the
// definitions at last. The messages that are not in the file are counted as lost.
func (r *recorder) salvage() error {
	r.lose(r.pending)
	if errors.Is(r.file.Linked(), recordfile.ErrRemoved) {
		return nil // nothing can be saved, which missing tells
	}
	for {
		end := r.end()
		if err := r.file.Rewind(end); err != nil {
			return err
		}
		err := writeTail(r.file, uint64(end), r.summary())
		if err == nil {
			err = r.file.Commit()
		}
		if err == nil {
			return nil
		}
		n := len(r.chunks)
		if n == 0 && r.headerEnd > r.bareEnd {
			r.headerEnd = r.bareEnd
			continue
		}
		if n == 0 {
			return fmt.Errorf("finish recording: %w", err)
		}
		r.lose(r.chunks[n-1].tally)
		r.chunks = r.chunks[:n-1]
	}
}

// end is where the last complete chunk ends, with the message indexes behind it.
func (r *recorder) end() int64 {
	if n := len(r.chunks); n > 0 {
		return r.chunks[n-1].end
	}
	return r.headerEnd
}

func (r *recorder) lose(lost []tally) {
	for i, t := range lost {
		if t.messages > 0 {
			r.channels[i].topic.Lost(t.messages, t.bytes, flow.CauseWriteFailed)
		}
	}
	clear(lost)
}

// summary describes the complete chunks, and the definitions that lie before their end.
func (r *recorder) summary() summary {
	s := summary{
		metadata: r.w.MetadataIndexes,
		statistics: &mcap.Statistics{
			MetadataCount: uint32(len(r.w.MetadataIndexes)), ChunkCount: uint32(len(r.chunks)),
			ChannelMessageCounts: map[uint16]uint64{},
		},
	}
	for _, schema := range r.schemas {
		if schema.end <= r.end() {
			s.schemas = append(s.schemas, schema.Schema)
			s.statistics.SchemaCount++
		}
	}
	for i, channel := range r.channels {
		if channel.end <= r.end() {
			s.channels = append(s.channels, channel.Channel)
			s.statistics.ChannelCount++
			if n := r.messages(i); n > 0 {
				s.statistics.ChannelMessageCounts[channel.ID] = n
				s.statistics.MessageCount += n
			}
		}
	}
	for _, chunk := range r.chunks {
		s.chunks = append(s.chunks, chunk.index)
	}
	s.statistics.MessageStartTime, s.statistics.MessageEndTime = r.span()
	return s
}

// messages counts a channel's messages in complete chunks.
func (r *recorder) messages(channel int) uint64 {
	var n uint64
	for _, chunk := range r.chunks {
		if channel < len(chunk.tally) {
			n += chunk.tally[channel].all()
		}
	}
	return n
}

// total counts all messages in complete chunks, by channel.
func (r *recorder) total() []tally {
	sum := make([]tally, len(r.channels))
	for _, chunk := range r.chunks {
		for i, t := range chunk.tally {
			sum[i].messages += t.messages
			sum[i].repeated += t.repeated
			sum[i].bytes += t.bytes
		}
	}
	return sum
}

// span returns the first and the last log time in complete chunks, 0 without
// messages.
func (r *recorder) span() (start, end uint64) {
	first := true
	for _, chunk := range r.chunks {
		if !slices.ContainsFunc(chunk.tally, func(t tally) bool { return t.messages+t.repeated > 0 }) {
			continue
		}
		if first || chunk.index.MessageStartTime < start {
			start = chunk.index.MessageStartTime
		}
		end = max(end, chunk.index.MessageEndTime)
		first = false
	}
	return start, end
}

// bagFile describes the complete chunks for metadata.yaml.
func (r *recorder) bagFile(name string) bagFile {
	f := bagFile{name: name}
	f.start, f.end = r.span()
	for i := range r.channels {
		f.messages += r.messages(i)
	}
	return f
}
