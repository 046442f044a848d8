package mcap

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/klauspost/compress/zstd"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/recordfile"
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

	headerEnd int64 // size of the file before its first chunk
	schemas   []recordedSchema
	channels  []recordedChannel // channel id = index + 1
	chunks    []recordedChunk   // those that are complete in the file
	pending   []tally           // of the open chunk, by channel
	opened    uint64            // log time of the open chunk's first message
	empty     bool              // the open chunk has no message
}

type recordedSchema struct {
	*mcap.Schema
	chunk int // the chunk that it is written in
}

type recordedChannel struct {
	*mcap.Channel
	topic    *bridges.PublishedTopic
	sequence uint32
	chunk    int // the chunk that it is written in
}

type recordedChunk struct {
	index *mcap.ChunkIndex
	end   int64 // size of the file after the chunk and its message indexes
	tally []tally
}

// tally counts messages of a channel.
type tally struct {
	messages int
	bytes    int64
}

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
	r := &recorder{file: file, opts: opts, chunkSize: o.chunkSize, w: w, empty: true}
	library := "raybridge"
	if run.Version != "" {
		library += " " + run.Version
	}
	if err := w.WriteHeader(&mcap.Header{Profile: "ros2", Library: library}); err != nil {
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
	r.headerEnd = file.Committed()
	return r, nil
}

// addChannel records a topic and returns the index to write its messages with.
func (r *recorder) addChannel(topic *bridges.PublishedTopic, schema Schema, qos string) (int, error) {
	id, err := r.schemaID(topic.Wire, schema)
	if err != nil {
		return 0, err
	}
	channel := &mcap.Channel{
		ID: uint16(len(r.channels) + 1), SchemaID: id, Topic: topic.Name, MessageEncoding: schema.MessageEncoding,
		Metadata: map[string]string{"offered_qos_profiles": qos},
	}
	if err := r.w.WriteChannel(channel); err != nil {
		return 0, fmt.Errorf("write channel of %q: %w", topic.Name, err)
	}
	r.channels = append(r.channels, recordedChannel{Channel: channel, topic: topic, chunk: len(r.chunks)})
	r.pending = append(r.pending, tally{})
	return len(r.channels) - 1, nil
}

// schemaID returns the id of the schema in the file, writing it the first time.
func (r *recorder) schemaID(name string, s Schema) (uint16, error) {
	for _, known := range r.schemas {
		if known.Name == name && known.Encoding == s.Encoding && string(known.Data) == string(s.Data) {
			return known.ID, nil
		}
	}
	schema := &mcap.Schema{ID: uint16(len(r.schemas) + 1), Name: name, Encoding: s.Encoding, Data: s.Data}
	if err := r.w.WriteSchema(schema); err != nil {
		return 0, fmt.Errorf("write schema of %s: %w", name, err)
	}
	r.schemas = append(r.schemas, recordedSchema{Schema: schema, chunk: len(r.chunks)})
	return schema.ID, nil
}

// write records one message; times are nanoseconds.
func (r *recorder) write(channel int, logTime, publishTime uint64, data []byte) error {
	c := &r.channels[channel]
	if r.empty {
		r.opened, r.empty = logTime, false
	}
	r.opts.ChunkSize = r.chunkSize
	if logTime >= r.opened+chunkTimeLimit {
		r.opts.ChunkSize = 0 // this message is the chunk's last
	}
	c.sequence++
	r.message = mcap.Message{
		ChannelID: c.ID, Sequence: c.sequence, LogTime: logTime, PublishTime: publishTime, Data: data,
	}
	chunksBefore := r.w.Statistics.ChunkCount
	err := r.w.WriteMessage(&r.message)
	r.message.Data = nil
	if err != nil {
		return err
	}
	r.pending[channel].messages++
	r.pending[channel].bytes += int64(len(data))
	c.topic.Sent(len(data))
	if r.w.Statistics.ChunkCount != chunksBefore {
		return r.endChunk()
	}
	return nil
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
// leaves no room even for the summary, it gives up further chunks for it. The
// messages that are not in the file are counted as lost.
func (r *recorder) salvage() error {
	r.lose(r.pending)
	for {
		end := r.headerEnd
		if n := len(r.chunks); n > 0 {
			end = r.chunks[n-1].end
		}
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
		if n == 0 {
			return fmt.Errorf("finish recording: %w", err)
		}
		r.lose(r.chunks[n-1].tally)
		r.chunks = r.chunks[:n-1]
	}
}

func (r *recorder) lose(lost []tally) {
	for i, t := range lost {
		if t.messages > 0 {
			r.channels[i].topic.Lost(t.messages, t.bytes, bridges.CauseWriteFailed)
		}
	}
	clear(lost)
}

// summary describes the complete chunks.
func (r *recorder) summary() summary {
	s := summary{
		metadata: r.w.MetadataIndexes,
		statistics: &mcap.Statistics{
			MetadataCount: uint32(len(r.w.MetadataIndexes)), ChunkCount: uint32(len(r.chunks)),
			ChannelMessageCounts: map[uint16]uint64{},
		},
	}
	for _, schema := range r.schemas {
		if schema.chunk < len(r.chunks) {
			s.schemas = append(s.schemas, schema.Schema)
			s.statistics.SchemaCount++
		}
	}
	for i, channel := range r.channels {
		if channel.chunk < len(r.chunks) {
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
			n += uint64(chunk.tally[channel].messages)
		}
	}
	return n
}

// span returns the first and the last log time in complete chunks, 0 without
// messages.
func (r *recorder) span() (start, end uint64) {
	first := true
	for _, chunk := range r.chunks {
		if !slices.ContainsFunc(chunk.tally, func(t tally) bool { return t.messages > 0 }) {
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

// metadata describes the complete chunks for metadata.yaml.
func (r *recorder) metadata(version int, file string) *bagMetadata {
	m := &bagMetadata{version: version, file: file}
	m.start, m.end = r.span()
	for i, channel := range r.channels {
		t := bagTopic{
			name: channel.Topic, wireType: channel.topic.Wire, encoding: channel.MessageEncoding,
			qos: channel.topic.QoS, messages: r.messages(i),
		}
		m.messages += t.messages
		m.topics = append(m.topics, t)
	}
	return m
}
