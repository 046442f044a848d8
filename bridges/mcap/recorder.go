package mcap

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/klauspost/compress/zstd"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
)

// chunkTimeLimit is the log time, in nanoseconds, that a chunk covers at most.
const chunkTimeLimit = 1e9

// recorder writes one MCAP file. One goroutine uses it at a time; after an error
// of write or close it is of no more use but to salvage.
type recorder struct {
	file *bridges.File
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
		IncludeCRC: true, Chunked: true, ChunkSize: o.Chunk,
		Compression: compressions[o.Compression], CompressionLevel: mcap.CompressionLevelFastest, OverrideLibrary: true,
	}
	if opts.Compression == mcap.CompressionZSTD {
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
func newRecorder(file *bridges.File, o options, run bridges.Run) (*recorder, error) {
	opts, err := writerOptions(o)
	if err != nil {
		return nil, err
	}
	w, err := mcap.NewWriter(file, opts)
	if err != nil {
		return nil, fmt.Errorf("begin file: %w", err)
	}
	r := &recorder{file: file, opts: opts, chunkSize: o.Chunk, w: w, empty: true, first: math.MaxUint64, flush: int64(o.Flush)}
	library := "raybridge"
	if run.Version != "" {
		library += " " + run.Version
	}
	if err := w.WriteHeader(&mcap.Header{Profile: header(o.Profile), Library: library}); err != nil {
		return nil, fmt.Errorf("write header: %w", err)
	}
	if run.ID = ""; run != (bridges.Run{}) {
		about := map[string]string{
			"version": run.Version, "scene": run.Scene, "rig": run.Rig, "device": run.Device, "seed": strconv.FormatUint(run.Seed, 10),
		}
		if run.Weather != "" {
			about["weather"] = run.Weather
		}
		if err := w.WriteMetadata(&mcap.Metadata{Name: "raybridge", Metadata: about}); err != nil {
			return nil, fmt.Errorf("write metadata: %w", err)
		}
	}
	if err := file.Commit(); err != nil {
		return nil, fmt.Errorf("write header: %w", err)
	}
	r.bareEnd, r.headerEnd = file.Committed(), file.Committed()
	return r, nil
}

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
	if errors.Is(r.file.Intact(), bridges.ErrRemoved) {
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
	total := r.total()
	for i, channel := range r.channels {
		if channel.end <= r.end() {
			s.channels = append(s.channels, channel.Channel)
			s.statistics.ChannelCount++
			if n := total[i].all(); n > 0 {
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

// total counts all messages in complete chunks, by channel. A chunk has counts of the channels that
// existed when it was written.
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
	for _, t := range r.total() {
		f.messages += t.all()
	}
	return f
}

// series writes a recording, as one file or as several, one after another. Each is
// complete in itself: it has all schemas and channels, and begins with what latched
// topics had published last. One goroutine uses a series at a time.
type series struct {
	opts   options
	create func(path string) (*bridges.File, error)
	run    bridges.Run
	now    func() int64

	topics []*topic
	number int          // of the current file
	file   *recorder    // the current file; nil where the next one couldn't be made
	former []formerFile // those before it
}

// formerFile is a finished file of a series.
type formerFile struct {
	bagFile
	place bridges.Place
	tally []tally // of each topic's messages in it
}

// latched is a message that a topic's receivers get even if they come later.
type latched struct {
	sequence    uint32
	publishTime uint64
	data        []byte
}

// mostLatched bounds what is kept of one topic.
const mostLatched = 100

// begin makes the file of the series' number with all its topics.
func (s *series) begin() error {
	file, err := s.create(s.Path())
	if err != nil {
		return err
	}
	rec, err := newRecorder(file, s.opts, s.run)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	rec.now = s.now
	for _, t := range s.topics {
		if err := s.addChannel(rec, t); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	s.file = rec
	return nil
}

// add adds a topic to the recording.
func (s *series) add(t *topic) error {
	if err := s.addChannel(s.file, t); err != nil {
		return err
	}
	s.topics = append(s.topics, t)
	return nil
}

func (s *series) addChannel(rec *recorder, t *topic) error {
	row := t.carrier.Load().row
	channel, err := rec.addChannel(t.info, row.Schema, s.opts.channelMetadata(t.info, row))
	t.channel = channel
	return err
}

// write records one message; times are nanoseconds.
func (s *series) write(t *topic, logTime, publishTime uint64, data []byte) error {
	if s.full(logTime) {
		if err := s.next(logTime); err != nil {
			return err
		}
	}
	t.sequence++
	if s.splits() && t.info.QoS.Durability == flow.TransientLocal {
		t.keep(publishTime, data)
	}
	return s.file.write(t.channel, messageTimes{t.sequence, logTime, publishTime}, data)
}

// keep remembers a message for the files that come.
func (t *topic) keep(publishTime uint64, data []byte) {
	depth := min(max(t.info.QoS.Depth, 1), mostLatched)
	if extra := len(t.latest) - depth + 1; extra > 0 {
		t.latest = slices.Delete(t.latest, 0, extra)
	}
	t.latest = append(t.latest, latched{t.sequence, publishTime, slices.Clone(data)})
}

// splits reports whether the recording may have several files.
func (s *series) splits() bool { return s.opts.Split > 0 || s.opts.SplitTime > 0 }

// full reports whether a message of the log time belongs to the next file. The first
// message of a file always has its place.
func (s *series) full(logTime uint64) bool {
	first := s.file.first
	if first == math.MaxUint64 {
		return false
	}
	return s.opts.Split > 0 && s.file.file.Committed() >= s.opts.Split ||
		s.opts.SplitTime > 0 && logTime >= first+uint64(s.opts.SplitTime)
}

// next finishes the current file and begins the next one, at a log time.
func (s *series) next(logTime uint64) error {
	if err := s.End(); err != nil {
		return err
	}
	s.retire()
	s.number++
	if err := s.begin(); err != nil {
		return err
	}
	for _, t := range s.topics {
		for _, m := range t.latest {
			if err := s.file.repeat(t.channel, messageTimes{m.sequence, logTime, m.publishTime}, m.data); err != nil {
				return err
			}
		}
	}
	return nil
}

// Path returns the current file's path.
func (s *series) Path() string { return s.opts.path(s.number) }

// End finishes the current file.
func (s *series) End() error {
	if err := s.file.close(); err != nil {
		return err
	}
	return s.file.file.Close()
}

// Salvage finishes the current file after a failed write, keeping its complete chunks.
func (s *series) Salvage() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.salvage(), s.file.file.Close())
}

// retire keeps the current file's counts and lets go of the rest.
func (s *series) retire() {
	s.former = append(s.former, s.finished())
	s.file = nil
}

// finished describes the current file, which is complete.
func (s *series) finished() formerFile {
	return formerFile{s.file.bagFile(filepath.Base(s.Path())), s.file.file.Place(), s.file.total()}
}

// missing looks for all files, the current one complete too, counts the messages of those that
// aren't there as lost, and forgets them.
func (s *series) missing() error {
	if s.file != nil {
		s.retire()
	}
	var errs []error
	s.former = slices.DeleteFunc(s.former, func(f formerFile) bool {
		err := f.place.Check()
		if err == nil {
			return false
		}
		errs = append(errs, err)
		for i, t := range f.tally {
			if t.messages > 0 {
				s.topics[i].info.Lost(t.messages, t.bytes, flow.CauseWriteFailed)
			}
		}
		return true
	})
	return errors.Join(errs...)
}

// Settle looks for all files, and writes the rosbag2 folder's metadata.yaml.
func (s *series) Settle() error { return errors.Join(s.missing(), s.writeMetadata()) }

func (s *series) writeMetadata() error {
	if s.opts.folder == "" || len(s.former) == 0 {
		return nil
	}
	path := filepath.Join(s.opts.folder, metadataFile)
	if err := os.WriteFile(path, []byte(s.metadata().yaml()), 0o666); err != nil {
		return fmt.Errorf("write metadata: %w", err)
	}
	return nil
}

// metadata describes what is complete in the files that retire and missing have left, for
// metadata.yaml.
func (s *series) metadata() *bagMetadata {
	m := &bagMetadata{version: s.opts.Metadata}
	for i, t := range s.topics {
		schema := t.carrier.Load().Schema
		row := bagTopic{
			name: t.info.Name, wireType: schema.Name, encoding: schema.MessageEncoding, qos: t.info.QoS,
			hash: typeHash(schema.Name, schema.Encoding, schema.Data),
		}
		for _, file := range s.former {
			if i < len(file.tally) {
				row.messages += file.tally[i].all()
			}
		}
		m.topics = append(m.topics, row)
	}
	for _, file := range s.former {
		m.files = append(m.files, file.bagFile)
	}
	return m
}

// Schemas and channels are written once, as they are added, outside of chunks. So each chunk
// can be understood without the others, where these are damaged and the summary is missing.

// recordedSchema is a schema of the file.
type recordedSchema struct {
	*mcap.Schema
	end int64 // where its record ends in the file; 0 if it isn't there yet
}

// recordedChannel is a channel of the file.
type recordedChannel struct {
	*mcap.Channel
	end   int64 // as recordedSchema's
	topic *bridges.PublishedTopic
}

// addChannel records a topic and returns the index to write its messages with.
func (r *recorder) addChannel(topic *bridges.PublishedTopic, s bridges.Schema, metadata map[string]string) (int, error) {
	schema, err := r.addSchema(s)
	if err != nil {
		return 0, err
	}
	c := &mcap.Channel{
		ID: uint16(len(r.channels) + 1), SchemaID: schema, Topic: topic.Name, MessageEncoding: s.MessageEncoding, Metadata: metadata,
	}
	end, err := r.define(func() error { return r.w.WriteChannel(c) })
	if err != nil {
		return 0, fmt.Errorf("write channel of %q: %w", c.Topic, err)
	}
	r.channels = append(r.channels, recordedChannel{c, end, topic})
	r.pending = append(r.pending, tally{})
	return len(r.channels) - 1, nil
}

// addSchema returns the id of a schema of the file, which it writes if it isn't there.
func (r *recorder) addSchema(s bridges.Schema) (uint16, error) {
	for _, known := range r.schemas {
		if known.Name == s.Name && known.Encoding == s.Encoding && string(known.Data) == string(s.Data) {
			return known.ID, nil
		}
	}
	schema := &mcap.Schema{ID: uint16(len(r.schemas) + 1), Name: s.Name, Encoding: s.Encoding, Data: s.Data}
	end, err := r.define(func() error { return r.w.WriteSchema(schema) })
	if err != nil {
		return 0, fmt.Errorf("write schema of %s: %w", s.Name, err)
	}
	r.schemas = append(r.schemas, recordedSchema{schema, end})
	return schema.ID, nil
}

// define writes a definition ahead of the open chunk and returns where it ends. The library
// writes to the file itself while its options, which are ours too, say Chunked false.
func (r *recorder) define(write func() error) (end int64, err error) {
	r.opts.Chunked = false
	err = write()
	r.opts.Chunked = true
	if err == nil {
		err = r.file.Commit()
	}
	if err == nil && len(r.chunks) == 0 {
		r.headerEnd = r.file.Committed()
	}
	return r.file.Committed(), err
}
