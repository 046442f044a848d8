package mcap

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/simtime"
)

// Message is one message of a recording.
type Message struct {
	Topic string
	// Sample is a pointer to one of package sample's types, the caller's own. Its stamp and its
	// frame are the message's, and so is its Seq in ROS 1; else that counts the topic's
	// recorded messages from 0. What the message doesn't carry is zero, poses the identity.
	Sample simtime.Stamped
	// Logged is when the message was recorded, Stamp when it was captured,
	// nanoseconds of the recording's clock.
	Logged, Stamp simtime.Stamp
	// QoS is what the topic was offered with.
	QoS flow.QoS
}

// Topic is a topic of a recording.
type Topic struct {
	Name string
	// Type is the message type's name in the recording, Encoding how its messages are
	// encoded: "cdr", "ros1", "protobuf", ...
	Type, Encoding string
	// Sample is the type of the samples that are read from it, nil where there is none.
	Sample   reflect.Type
	Messages uint64
	QoS      flow.QoS
}

// Skipped is a topic, or a part of one, that couldn't be read.
type Skipped struct {
	Topic, Type string
	// Messages were left out because of Err.
	Messages int64
	Err      error
}

// Selection is a part of a recording.
type Selection struct {
	// Topics says which topics are read; nil is all.
	Topics func(name string) bool
	// FromNs and ToNs are log times: messages from the one on and before the other are
	// read. ToNs 0 is to the end. What latched topics had published last before FromNs
	// comes first, with its own times.
	FromNs, ToNs simtime.Stamp
	// Strict has Next return an error where a part of a file can't be read.
	Strict bool
}

// Reader reads the messages of a recording as samples, in the order of their log times;
// messages of one time are in the files' order. One goroutine uses it at a time.
type Reader struct {
	paths    []string
	files    []*file
	channels []*channel // in the order of their first mention
	memory   *memory.Budget
	unpacker unpacker

	selection Selection
	waiting   []part // by their start
	loaded    loads
	given     int64    // memory of the last message's part, which has no other message left
	before    []queued // what latched topics had before the selection
	damaged   []Damage
	known     map[damagedAt]bool // what damaged has
	handles   map[int]*os.File
}

// file is one file of a recording.
type file struct {
	path string
	*index
	channels map[uint16]*channel
	has      map[*channel]bool // those that have messages in it
}

// channel is a topic of one type, in all files.
type channel struct {
	topic    Topic
	schema   *mcap.Schema // of the first file that has it; never nil
	decode   decoder
	unstated bool // what its samples are depends on the message
	last     rawMessage
	seen     bool // last is valid
	skipped  Skipped
}

// Open opens a recording: an MCAP file, a rosbag2 folder, or NAME.mcap for the files
// NAME_0.mcap, NAME_1.mcap and so on. Of several paths it makes one recording, whose messages
// come by their log times, whichever file they are in. A file that several paths lead to is
// read once. A file that was not finished, because the process that wrote it was killed, is
// read up to its last complete record; Unfinished names it. Errors wrap fs.ErrNotExist,
// ErrNotMCAP or ErrDamaged.
func Open(path string, more ...string) (*Reader, error) { return Reading{}.Open(path, more...) }

// Reading is how recordings are read.
type Reading struct {
	// Memory is what the chunks and records that are held are taken from. What doesn't fit is
	// an error that wraps memory.ErrExceeded. (optional; nil for no limit)
	Memory *memory.Budget
}

// Open is the function Open.
func (o Reading) Open(path string, more ...string) (*Reader, error) {
	paths, err := findAll(append([]string{path}, more...))
	if err != nil {
		return nil, fmt.Errorf("open recording: %w", err)
	}
	r := &Reader{paths: paths, memory: o.Memory, unpacker: unpacker{memory: o.Memory}, handles: map[int]*os.File{}, known: map[damagedAt]bool{}}
	topics := topicTable{byKey: map[string]*channel{}, qos: map[string]flow.QoS{}}
	for _, path := range paths {
		x, err := openIndex(path, o.Memory)
		if err != nil {
			return nil, fmt.Errorf("open recording: %s: %w", path, err)
		}
		f := &file{path: path, index: x, channels: map[uint16]*channel{}, has: map[*channel]bool{}}
		r.files = append(r.files, f)
		for _, c := range x.summary.channels {
			r.addChannel(f, c, topics)
		}
	}
	if err := r.ask(); err != nil {
		return nil, errors.Join(fmt.Errorf("open recording: %w", err), r.Close())
	}
	r.Select(Selection{})
	return r, nil
}

func openIndex(path string, budget *memory.Budget) (*index, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.File(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return readIndex(f, info.Size(), budget)
}

// topicTable finds what was seen before of the many channels that a recording may have.
type topicTable struct {
	byKey map[string]*channel
	qos   map[string]flow.QoS // by what says it
}

// qosOf is offeredQoS, which reads equal texts once.
func (t topicTable) qosOf(c *mcap.Channel) flow.QoS {
	key := c.Metadata["latching"] + "\x00" + c.Metadata["offered_qos_profiles"]
	if c.Topic == staticTopic {
		key += "\x00" + staticTopic
	}
	q, known := t.qos[key]
	if !known {
		q = offeredQoS(c)
		t.qos[key] = q
	}
	return q
}

// addChannel adds a channel of a file, which may be a topic that another file has.
func (r *Reader) addChannel(f *file, c *mcap.Channel, topics topicTable) {
	schema := f.schemaByID[c.SchemaID]
	if schema == nil {
		schema = &mcap.Schema{}
	}
	key := c.Topic + "\x00" + schema.Name + "\x00" + c.MessageEncoding
	known := topics.byKey[key]
	if known == nil {
		known = &channel{schema: schema, topic: Topic{Name: c.Topic, Type: schema.Name, Encoding: c.MessageEncoding, QoS: topics.qosOf(c)}}
		d, err := decoderOf(schema, c)
		known.decode, known.topic.Sample, known.unstated = d.decode, d.sample, d.unstated
		known.skipped = Skipped{Topic: c.Topic, Type: schema.Name, Err: err}
		topics.byKey[key] = known
		r.channels = append(r.channels, known)
	}
	if n := f.statistics.ChannelMessageCounts[c.ID]; n > 0 {
		known.topic.Messages += n
		f.has[known] = true
	}
	f.channels[c.ID] = known
}

// ask reads the first message of each channel whose samples no type tells of, to know what
// they are.
func (r *Reader) ask() error {
	open := map[*channel]bool{} // that are to be asked yet
	for _, c := range r.channels {
		if c.unstated && c.topic.Messages > 0 {
			open[c] = true
		}
	}
	for number, f := range r.files {
		for _, s := range f.segments {
			if len(open) == 0 {
				return nil
			}
			if s.channels != nil && !slices.ContainsFunc(s.channels, func(id uint16) bool { return open[f.channels[id]] }) {
				continue
			}
			messages, held, err := r.read(part{file: number, segment: s})
			r.memory.Give(held)
			if err != nil && !errors.Is(err, ErrDamaged) {
				return err
			}
			for _, m := range messages {
				if !open[m.channel] {
					continue
				}
				delete(open, m.channel)
				if found, err := m.channel.decode(m.data); err == nil {
					m.channel.topic.Sample = reflect.TypeOf(found)
				}
			}
		}
	}
	return nil
}

// Topics returns the recording's topics.
func (r *Reader) Topics() []Topic {
	list := make([]Topic, len(r.channels))
	for i, c := range r.channels {
		list[i] = c.topic
	}
	return list
}

// Span returns the first and the last log time, nanoseconds; 0 and 0 without messages.
func (r *Reader) Span() (startNs, endNs simtime.Stamp) {
	begun := false
	for _, f := range r.files {
		start, end, any := f.span()
		if !any {
			continue
		}
		if !begun || nanoseconds(start) < startNs {
			startNs = nanoseconds(start)
		}
		endNs, begun = max(endNs, nanoseconds(end)), true
	}
	return startNs, endNs
}

// Overlap returns two files that have messages of one topic in the same half second, empty
// where there are none. The parts of a split recording have none: such files are
// recordings of different runs, or copies, and their messages come mixed by their times.
func (r *Reader) Overlap() (first, second string) {
	for i, a := range r.files {
		for _, b := range r.files[:i] {
			from, to := max(a.statistics.MessageStartTime, b.statistics.MessageStartTime), min(a.statistics.MessageEndTime, b.statistics.MessageEndTime)
			if to > from && to-from >= overlap && slices.ContainsFunc(r.channels, func(c *channel) bool { return a.has[c] && b.has[c] }) {
				return b.path, a.path
			}
		}
	}
	return "", ""
}

// overlap is for how long two files cover the same time, nanoseconds, before Overlap tells. At
// a split it is the time between two messages that were handed over at once.
const overlap = 500_000_000

// Files returns the paths of the recording's files.
func (r *Reader) Files() []string { return slices.Clone(r.paths) }

// Unfinished returns the paths of the files that were not finished.
func (r *Reader) Unfinished() []string {
	var list []string
	for _, f := range r.files {
		if !f.complete && !f.finished {
			list = append(list, f.path)
		}
	}
	return list
}

// Skipped returns what Next has left out up to now, and why.
func (r *Reader) Skipped() []Skipped {
	var list []Skipped
	for _, c := range r.channels {
		if c.skipped.Messages > 0 {
			list = append(list, c.skipped)
		}
	}
	return list
}

// Select begins again, with a part of the recording.
func (r *Reader) Select(s Selection) {
	r.unload()
	r.selection, r.before, r.waiting = s, nil, nil
	for number, f := range r.files {
		for _, x := range f.segments {
			r.waiting = append(r.waiting, part{file: number, segment: x})
		}
	}
	slices.SortStableFunc(r.waiting, func(a, b part) int { return cmp.Compare(a.start, b.start) })
	for i := range r.waiting {
		r.waiting[i].order = i
	}
	for _, c := range r.channels {
		c.seen = false
	}
}

// Close closes the files.
func (r *Reader) Close() error {
	var errs []error
	for _, f := range r.handles {
		errs = append(errs, f.Close())
	}
	clear(r.handles)
	r.unload()
	r.unpacker.close()
	r.unpacker = unpacker{memory: r.memory}
	return errors.Join(errs...)
}

// findAll returns the MCAP files of several recordings, each file once.
func findAll(paths []string) ([]string, error) {
	var list []string
	var known []os.FileInfo
	for _, path := range paths {
		found, err := findFiles(path)
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			info, err := os.Stat(file)
			switch {
			case err != nil:
				return nil, err
			case slices.ContainsFunc(known, func(k os.FileInfo) bool { return os.SameFile(k, info) }):
				continue
			case len(paths) > 1 && !begun(file):
				continue // as in a folder
			}
			list, known = append(list, file), append(known, info)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: the files are empty", ErrNotMCAP)
	}
	return list, nil
}

// findFiles returns the MCAP files of a recording, in their order.
func findFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(path, suffix) {
		if split := numbered(strings.TrimSuffix(path, suffix)); len(split) > 0 {
			return split, nil
		}
	}
	if err != nil {
		return nil, fault.File(err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	text, err := fault.ReadUpTo(filepath.Join(path, metadataFile), mostMetadata)
	if errors.Is(err, fs.ErrNotExist) {
		return filesBelow(path)
	}
	if err != nil {
		return nil, err
	}
	return listedFiles(path, text)
}

// numbered returns the files STEM_0.mcap, STEM_1.mcap and so on, as many as there are.
func numbered(stem string) []string {
	var list []string
	for number := 0; ; number++ {
		path := stem + "_" + strconv.Itoa(number) + suffix
		if !begun(path) {
			return list
		}
		list = append(list, path)
	}
}

// begun reports whether a file is there and has more than nothing: a process that is
// killed as it begins one leaves it empty.
func begun(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() >= int64(len(mcap.Magic))
}

// filesBelow returns the MCAP files of a folder that nothing describes, those that end in
// numbers in the numbers' order.
func filesBelow(folder string) ([]string, error) {
	list, err := filepath.Glob(filepath.Join(globEscape(folder), "*"+suffix))
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(path string) bool { return !begun(path) })
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: %w: it has neither a %s that lists files nor a file that ends in %s", folder, ErrNotMCAP, metadataFile, suffix)
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	return list, nil
}

// globEscape makes a path one that filepath.Glob takes for itself.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// listedFiles returns the files that a rosbag2 folder's metadata.yaml lists.
func listedFiles(folder string, text []byte) ([]string, error) {
	if len(text) > mostMetadata {
		return nil, fmt.Errorf("%w: %s has more than %d bytes", ErrDamaged, metadataFile, mostMetadata)
	}
	var metadata struct {
		Bag struct {
			Storage     string   `yaml:"storage_identifier"`
			Compression string   `yaml:"compression_format"`
			Files       []string `yaml:"relative_file_paths"`
		} `yaml:"rosbag2_bagfile_information"`
	}
	if err := readYAML(filepath.Join(folder, metadataFile), text, &metadata); err != nil {
		return nil, err
	}
	switch storage := metadata.Bag.Storage; {
	case storage != "" && storage != "mcap": // ros2 bag reindex leaves it empty
		return nil, fmt.Errorf("%w: its files are of rosbag2's %s storage: %s", ErrNotMCAP, storage, convertBag)
	case metadata.Bag.Compression != "":
		return nil, fmt.Errorf("%w: its files are compressed by rosbag2 (%q): %s", ErrNotMCAP, metadata.Bag.Compression, convertBag)
	case len(metadata.Bag.Files) == 0:
		return filesBelow(folder)
	}
	var list []string
	for _, name := range metadata.Bag.Files {
		list = append(list, filepath.Join(folder, filepath.Base(name)))
	}
	return list, nil
}

// convertBag is what makes files of rosbag2 such that can be read.
const convertBag = "convert it with ros2 bag convert, storage_id: mcap"

// mostMetadata is the longest metadata.yaml that is read, bytes.
const mostMetadata = 16 << 20

// readYAML sets target by a description, which may be of anybody's making; file names it in
// errors. What target has no field for is left out.
func readYAML(file string, text []byte, target any) error {
	n, err := doc.ParseYAML(file, text)
	if err == nil {
		err = n.SkipUnknown().Decode(target)
	}
	if err != nil {
		return fmt.Errorf("%w: description: %w", ErrDamaged, err)
	}
	return nil
}

// staticTopic always is what its name says.
const staticTopic = "/tf_static"

// offeredQoS reads what a channel's metadata say of its quality of service. Without a word of
// it that is ROS's default, and for /tf_static what it always is.
func offeredQoS(c *mcap.Channel) flow.QoS {
	if latching := c.Metadata["latching"]; latching == "true" || latching == "1" {
		return flow.StaticQoS
	}
	var list []struct {
		History     any         `yaml:"history"`
		Reliability any         `yaml:"reliability"`
		Durability  any         `yaml:"durability"`
		Depth       int         `yaml:"depth"`
		Deadline    bagDuration `yaml:"deadline"`
	}
	// One profile for each publisher there was: the first says enough.
	text, _, _ := strings.Cut(c.Metadata["offered_qos_profiles"], "\n- ")
	if err := readYAML("offered_qos_profiles", []byte(text), &list); err == nil && len(list) > 0 {
		q := list[0]
		return flow.QoS{
			Reliability: policy(q.Reliability, flow.Reliable, flow.BestEffort),
			Durability:  policy(q.Durability, flow.TransientLocal, flow.Volatile),
			History:     policy(q.History, flow.KeepLast, flow.KeepAll),
			Depth:       max(q.Depth, 0),
			Deadline:    q.Deadline.nanoseconds(),
		}
	}
	if c.Topic == staticTopic {
		return flow.StaticQoS
	}
	return flow.DefaultQoS
}

// bagDuration is a duration as rosbag2 writes it.
type bagDuration struct {
	Sec  uint64 `yaml:"sec"`
	Nsec uint64 `yaml:"nsec"`
}

// mostSeconds is more than any deadline: versions of rosbag2 differ in the time that
// stands for none, but this is the least.
const mostSeconds = math.MaxInt32

// nanoseconds returns 0 for a duration that isn't set.
func (d bagDuration) nanoseconds() int64 {
	if d.Sec >= mostSeconds || d.Nsec >= 1e9 {
		return 0
	}
	return int64(d.Sec*1e9 + d.Nsec)
}

// policy reads a policy by its number or its name; what is neither is the system's
// default.
func policy[P interface {
	~uint8
	fmt.Stringer
}](v any, known ...P) P {
	for _, p := range known {
		if text := fmt.Sprint(v); text == p.String() || text == strconv.Itoa(int(p)) {
			return p
		}
	}
	return 0
}

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
	// finished says that the file ends as it should, though its summary doesn't tell where all
	// messages are. It has no summary, or messages outside of chunks.
	finished bool
	// damaged are the parts of a file that wasn't finished that can't be read, mostly chunks
	// with their message indexes. edits is what a recovery does about them and about message
	// indexes that are missing, in the order of their offsets.
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

// notMCAP says what a file is instead, by how it begins.
func notMCAP(start []byte) error {
	switch {
	case bytes.HasPrefix(start, []byte("SQLite format 3\x00")):
		return fmt.Errorf("%w, but one of rosbag2's sqlite3 storage: %s", ErrNotMCAP, convertBag)
	case bytes.HasPrefix(start, []byte("#ROSBAG V")):
		return fmt.Errorf("%w, but a bag of ROS 1: convert it with mcap convert", ErrNotMCAP)
	}
	return ErrNotMCAP
}

// readHeader reads the file's first record.
func readHeader(file io.ReaderAt, size int64) (*index, error) {
	start := make([]byte, min(size, 4096))
	if _, err := file.ReadAt(start, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !bytes.HasPrefix(start, mcap.Magic) {
		return nil, notMCAP(start)
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
	if err := x.addSegments(start); err != nil {
		return err
	}
	whole, err := x.listsAll(file, int64(start))
	if err == nil && !whole {
		err = errNoIndex
	}
	x.complete, x.end = err == nil, size
	return err
}

// listsAll reports whether no record before the summary, and outside of the chunks that it lists,
// is a message or another chunk. Only the head of each such record is read.
func (x *index) listsAll(file io.ReaderAt, summary int64) (bool, error) {
	chunks := slices.SortedFunc(slices.Values(x.chunks), func(a, b *mcap.ChunkIndex) int { return cmp.Compare(a.ChunkStartOffset, b.ChunkStartOffset) })
	w := window{file: file, size: summary, memory: x.memory}
	defer w.free()
	at := int64(len(mcap.Magic))
	for _, c := range append(chunks, &mcap.ChunkIndex{ChunkStartOffset: uint64(summary)}) {
		for next := int64(c.ChunkStartOffset); at < next; {
			head, err := w.bytes(at, recordHeader)
			if err != nil || len(head) < recordHeader {
				return false, err
			}
			op, length := mcap.OpCode(head[0]), binary.LittleEndian.Uint64(head[1:])
			if op == mcap.OpMessage || op == mcap.OpChunk || length > uint64(next-at-recordHeader) {
				return false, nil
			}
			at += recordHeader + int64(length)
		}
		// The message indexes of a chunk follow it.
		if behind := int64(c.ChunkStartOffset + c.ChunkLength); behind > at {
			at = behind + int64(min(c.MessageIndexLength, uint64(summary-behind)))
		}
	}
	return true, nil
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
		if s.ID != 0 && x.schemaByID[s.ID] == nil {
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
	if x.channelByID[c.ID] == nil {
		x.channels = append(x.channels, c)
		if x.channelByID == nil {
			x.channelByID = map[uint16]*mcap.Channel{}
		}
		x.channelByID[c.ID] = c
	}
	return nil
}

// span returns the first and the last log time, and whether there are messages.
func (x *index) span() (start, end uint64, any bool) {
	return x.statistics.MessageStartTime, x.statistics.MessageEndTime, x.statistics.MessageCount > 0
}
