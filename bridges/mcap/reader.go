package mcap

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/filefault"
	"github.com/raybridge/raybridge/memory"
)

// Message is one message of a recording.
type Message struct {
	Topic string
	// Sample is a pointer to one of package sample's types, the caller's own; its stamp
	// and its frame are the message's, and so is its Seq in ROS 1; else that counts the
	// topic's recorded messages from 0. What the message doesn't carry is zero, poses
	// the identity.
	Sample bridges.Stamped
	// LogNs is when the message was recorded, PublishNs when it was captured,
	// nanoseconds of the recording's clock.
	LogNs, PublishNs int64
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
	FromNs, ToNs int64
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
	decode   decoder
	unstated bool // what its samples are depends on the message
	last     rawMessage
	seen     bool // last is valid
	skipped  Skipped
}

// Open opens a recording: an MCAP file, a rosbag2 folder, or NAME.mcap for the files
// NAME_0.mcap, NAME_1.mcap and so on. Of several paths it makes one recording, whose
// messages come by their log times, whichever file they are in; a file that several paths
// lead to is read once. A file that was not finished, because the
// process that wrote it was killed, is read up to its last complete record; Unfinished
// names it. Errors wrap fs.ErrNotExist, ErrNotMCAP or ErrDamaged.
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
		return nil, filefault.Explain(err)
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
	schema := f.schema(c.SchemaID)
	if schema == nil {
		schema = &mcap.Schema{}
	}
	key := c.Topic + "\x00" + schema.Name + "\x00" + c.MessageEncoding
	known := topics.byKey[key]
	if known == nil {
		known = &channel{topic: Topic{Name: c.Topic, Type: schema.Name, Encoding: c.MessageEncoding, QoS: topics.qosOf(c)}}
		d, err := decoderOf(schema, c)
		known.decode, known.topic.Sample, known.unstated = d.decode, d.sample, d.unstated
		known.skipped = Skipped{Topic: c.Topic, Type: schema.Name, Err: err}
		topics.byKey[key] = known
		r.channels = append(r.channels, known)
	}
	if n := f.messages(c.ID); n > 0 {
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
func (r *Reader) Span() (startNs, endNs int64) {
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

// overlap is for how long two files cover the same time, nanoseconds, before Overlap
// tells; at a split it is the time between two messages that were handed over at once.
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

// Select begins anew, with a part of the recording.
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
