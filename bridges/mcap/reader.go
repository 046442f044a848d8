package mcap

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
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
	QoS bridges.QoS
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
	QoS      bridges.QoS
}

// Skipped is a topic, or a part of one, that couldn't be read.
type Skipped struct {
	Topic, Type string
	// Messages were left out because of Err.
	Messages int64
	Err      error
}

// ErrUnknownType: there is no sample for the message's type.
var ErrUnknownType = errors.New("no sample for messages of this type")

// Selection is a part of a recording.
type Selection struct {
	// Topics says which topics are read; nil is all.
	Topics func(name string) bool
	// FromNs and ToNs are log times: messages from the one on and before the other are
	// read. ToNs 0 is to the end. What latched topics had published last before FromNs
	// comes first, with its own times.
	FromNs, ToNs int64
}

// Reader reads the messages of a recording as samples, in the order of their log times;
// messages of one time are in the files' order. One goroutine uses it at a time.
type Reader struct {
	paths    []string
	files    []*file
	channels []*channel // in the order of their first mention
	unpacker unpacker

	selection Selection
	waiting   []part // by their start
	loaded    loads
	before    []queued // what latched topics had before the selection
	handles   map[int]*os.File
}

// file is one file of a recording.
type file struct {
	path string
	*index
	channels map[uint16]*channel
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

// part is a segment of a file.
type part struct {
	file  int
	order int // among all parts
	segment
}

// queued is a message that is read but not decoded.
type queued struct {
	rawMessage
	channel *channel
}

// load is a part in memory.
type load struct {
	order    int
	messages []queued // those that are left
}

// loads is a heap of parts by their next message.
type loads []*load

func (l loads) Len() int { return len(l) }
func (l loads) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(l[i].messages[0].logTime, l[j].messages[0].logTime), cmp.Compare(l[i].order, l[j].order)) < 0
}
func (l loads) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *loads) Push(x any)   { *l = append(*l, x.(*load)) }
func (l *loads) Pop() any {
	last := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return last
}

// Open opens a recording: an MCAP file, a rosbag2 folder, or NAME.mcap for the files
// NAME_0.mcap, NAME_1.mcap and so on. A file that was not finished, because the
// process that wrote it was killed, is read up to its last complete record; Unfinished
// names it. Errors wrap fs.ErrNotExist, ErrNotMCAP or ErrDamaged.
func Open(path string) (*Reader, error) {
	paths, err := findFiles(path)
	if err != nil {
		return nil, fmt.Errorf("open recording: %w", err)
	}
	r := &Reader{paths: paths, handles: map[int]*os.File{}}
	byTopic := map[string]*channel{}
	for _, path := range paths {
		x, err := openIndex(path)
		if err != nil {
			return nil, fmt.Errorf("open recording: %s: %w", path, err)
		}
		f := &file{path: path, index: x, channels: map[uint16]*channel{}}
		r.files = append(r.files, f)
		for _, c := range x.summary.channels {
			r.addChannel(f, c, byTopic)
		}
	}
	for _, c := range r.channels {
		if c.unstated {
			if err := r.ask(c); err != nil {
				return nil, errors.Join(fmt.Errorf("open recording: %w", err), r.Close())
			}
		}
	}
	r.Select(Selection{})
	return r, nil
}

func openIndex(path string) (*index, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return readIndex(f, info.Size())
}

// addChannel adds a channel of a file, which may be a topic that another file has.
func (r *Reader) addChannel(f *file, c *mcap.Channel, byTopic map[string]*channel) {
	schema := f.schema(c.SchemaID)
	if schema == nil {
		schema = &mcap.Schema{}
	}
	key := c.Topic + "\x00" + schema.Name + "\x00" + c.MessageEncoding
	known := byTopic[key]
	if known == nil {
		known = &channel{topic: Topic{Name: c.Topic, Type: schema.Name, Encoding: c.MessageEncoding, QoS: offeredQoS(c)}}
		d, err := decoderOf(schema, c)
		known.decode, known.topic.Sample, known.unstated = d.decode, d.sample, d.unstated
		known.skipped = Skipped{Topic: c.Topic, Type: schema.Name, Err: err}
		byTopic[key] = known
		r.channels = append(r.channels, known)
	}
	known.topic.Messages += f.messages(c.ID)
	f.channels[c.ID] = known
}

// ask reads a channel's first message, to know what its samples are.
func (r *Reader) ask(c *channel) error {
	for number, f := range r.files {
		for _, s := range f.segments {
			if !slices.ContainsFunc(f.summary.channels, func(x *mcap.Channel) bool { return f.channels[x.ID] == c && s.has(x.ID) }) {
				continue
			}
			messages, err := r.read(part{file: number, segment: s})
			if err != nil {
				return err
			}
			for _, m := range messages {
				if m.channel != c {
					continue
				}
				if found, err := c.decode(m.data); err == nil {
					c.topic.Sample = reflect.TypeOf(found)
				}
				return nil
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

// Unfinished returns the paths of the files that were not finished.
func (r *Reader) Unfinished() []string {
	var list []string
	for _, f := range r.files {
		if !f.complete {
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
	r.selection, r.loaded, r.before, r.waiting = s, nil, nil, nil
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
	r.unpacker.close()
	r.unpacker = unpacker{}
	return errors.Join(errs...)
}

// Next returns the next message, io.EOF behind the last. Messages without a sample are
// left out; Skipped tells of them. An error that wraps ErrDamaged says that a part of a
// file can't be read; the call after it goes on behind.
func (r *Reader) Next() (Message, error) {
	for {
		m, err := r.next()
		if err != nil {
			return Message{}, err
		}
		c := m.channel
		if c.decode == nil {
			c.skipped.Messages++
			continue
		}
		s, err := c.decode(m.data)
		if err != nil {
			c.skipped.Messages++
			c.skipped.Err = err
			continue
		}
		out := Message{
			Topic: c.topic.Name, Sample: s, LogNs: nanoseconds(m.logTime), PublishNs: nanoseconds(m.publishTime), QoS: c.topic.QoS,
		}
		complete(&out, m)
		return out, nil
	}
}

// complete adds to a sample what the recording knows of it beside the message.
func complete(out *Message, m queued) {
	switch s := out.Sample.(type) {
	case *sample.Transforms:
		s.Static = out.QoS.Durability == bridges.TransientLocal
		if len(s.Transforms) == 0 {
			s.StampNs = out.PublishNs
		}
	case *sample.Speed: // std_msgs/Float32 has no stamp
		s.StampNs = out.PublishNs
	}
	if h, ok := out.Sample.(interface{ SampleHeader() *sample.Header }); ok && m.sequence > 0 && m.channel.topic.Encoding != "ros1" {
		h.SampleHeader().Seq = uint64(m.sequence) - 1
	}
}

// next returns the next message of the selection.
func (r *Reader) next() (queued, error) {
	for {
		if r.selection.FromNs > 0 && r.before == nil {
			if err := r.begin(); err != nil {
				return queued{}, err
			}
		}
		if len(r.before) > 0 {
			m := r.before[0]
			r.before = r.before[1:]
			return m, nil
		}
		if err := r.load(); err != nil {
			return queued{}, err
		}
		if len(r.loaded) == 0 {
			return queued{}, io.EOF
		}
		l := r.loaded[0]
		m := l.messages[0]
		if l.messages = l.messages[1:]; len(l.messages) == 0 {
			heap.Pop(&r.loaded)
		} else {
			heap.Fix(&r.loaded, 0)
		}
		if to := r.selection.ToNs; to > 0 && nanoseconds(m.logTime) >= to {
			return queued{}, io.EOF
		}
		if !m.repeated() {
			return m, nil
		}
	}
}

// repeated reports whether a message is the one that its topic had last, written again
// at the start of a later file, and remembers it.
func (m *queued) repeated() bool {
	c := m.channel
	if c.topic.QoS.Durability != bridges.TransientLocal {
		return false
	}
	if c.seen && m.sequence > 0 && m.sequence <= c.last.sequence && m.publishTime <= c.last.publishTime {
		return true
	}
	c.last, c.seen = rawMessage{sequence: m.sequence, publishTime: m.publishTime}, true
	return false
}

// load brings all parts into memory that may have the next message.
func (r *Reader) load() error {
	for len(r.waiting) > 0 && (len(r.loaded) == 0 || r.waiting[0].start <= r.loaded[0].messages[0].logTime) {
		p := r.waiting[0]
		r.waiting = r.waiting[1:]
		from := r.selection.FromNs
		if from > 0 && p.end < uint64(from) {
			continue
		}
		if to := r.selection.ToNs; to > 0 && p.start >= uint64(to) {
			continue
		}
		messages, err := r.read(p)
		if err != nil {
			return err
		}
		messages = slices.DeleteFunc(messages, func(m queued) bool {
			return from > 0 && m.logTime < uint64(from) || r.selection.Topics != nil && !r.selection.Topics(m.channel.topic.Name)
		})
		if len(messages) > 0 {
			heap.Push(&r.loaded, &load{order: p.order, messages: messages})
		}
	}
	return nil
}

// read reads a part's messages in the order of their log times.
func (r *Reader) read(p part) ([]queued, error) {
	f := r.files[p.file]
	handle, err := r.handle(p.file)
	if err != nil {
		return nil, err
	}
	data := make([]byte, p.length)
	if _, err := handle.ReadAt(data, p.offset); err != nil {
		return nil, fmt.Errorf("read %s: %w", f.path, err)
	}
	var messages []queued
	var visit func(op mcap.OpCode, at int, content []byte) error
	visit = func(op mcap.OpCode, _ int, content []byte) error {
		switch op {
		case mcap.OpChunk:
			_, records, err := r.unpacker.unpack(content)
			if err != nil {
				return err
			}
			return eachRecord(records, visit)
		case mcap.OpMessage:
			m, err := parseMessage(content)
			if err != nil {
				return err
			}
			c := f.channels[m.channel]
			if c == nil {
				return fmt.Errorf("%w: message of channel %d, which there is not", ErrDamaged, m.channel)
			}
			messages = append(messages, queued{m, c})
		}
		return nil
	}
	if err := eachRecord(data, visit); err != nil {
		return nil, fmt.Errorf("read %s from byte %d on: %w: %w", f.path, p.offset, ErrDamaged, err)
	}
	slices.SortStableFunc(messages, func(a, b queued) int { return cmp.Compare(a.logTime, b.logTime) })
	return messages, nil
}

// handle returns the open file of a number, and closes those before it that nothing is
// left of.
func (r *Reader) handle(number int) (*os.File, error) {
	if f := r.handles[number]; f != nil {
		return f, nil
	}
	for other, f := range r.handles {
		if !slices.ContainsFunc(r.waiting, func(p part) bool { return p.file == other }) {
			delete(r.handles, other)
			if err := f.Close(); err != nil {
				return nil, err
			}
		}
	}
	f, err := os.Open(r.files[number].path)
	if err != nil {
		return nil, fmt.Errorf("open recording: %w", err)
	}
	r.handles[number] = f
	return f, nil
}

// begin finds what latched topics had published last before the selection.
func (r *Reader) begin() error {
	r.before = []queued{}
	from := uint64(r.selection.FromNs)
	latest := map[*channel][]queued{}
	for _, p := range r.waiting {
		if p.start >= from || !r.mayBeLatched(p) {
			continue
		}
		messages, err := r.read(p)
		if err != nil {
			return err
		}
		for _, m := range messages {
			if m.logTime >= from || !r.latched(m.channel) || m.repeated() {
				continue
			}
			depth := min(max(m.channel.topic.QoS.Depth, 1), mostLatched)
			kept := append(latest[m.channel], m)
			latest[m.channel] = kept[max(len(kept)-depth, 0):]
		}
	}
	for _, c := range r.channels {
		r.before = append(r.before, latest[c]...)
	}
	slices.SortStableFunc(r.before, func(a, b queued) int { return cmp.Compare(a.logTime, b.logTime) })
	return nil
}

func (r *Reader) latched(c *channel) bool {
	return c.topic.QoS.Durability == bridges.TransientLocal && (r.selection.Topics == nil || r.selection.Topics(c.topic.Name))
}

func (r *Reader) mayBeLatched(p part) bool {
	f := r.files[p.file]
	return slices.ContainsFunc(f.summary.channels, func(c *mcap.Channel) bool { return p.has(c.ID) && r.latched(f.channels[c.ID]) })
}
