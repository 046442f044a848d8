package mcap

import (
	"bytes"
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/sensors/sample"
)

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
	held     int64    // bytes of memory that they are in
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

// Next returns the next message, io.EOF behind the last. Messages without a sample are left
// out; Skipped tells of them. So are parts of a file that can't be read, of which Damaged
// tells, unless the selection is strict. Then they are errors that wrap ErrDamaged, and the
// call after one continues behind.
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
			Topic: c.topic.Name, Sample: s, Logged: nanoseconds(m.logTime), Stamp: nanoseconds(m.publishTime), QoS: c.topic.QoS,
		}
		complete(&out, m)
		return out, nil
	}
}

// complete adds to a sample what the recording knows of it beside the message.
func complete(out *Message, m queued) {
	switch s := out.Sample.(type) {
	case *sample.Transforms:
		s.Static = out.QoS.Durability == flow.TransientLocal
		if len(s.Transforms) == 0 {
			s.Stamp = out.Stamp
		}
	case *sample.Speed: // std_msgs/Float32 has no stamp
		s.Stamp = out.Stamp
	}
	if h, ok := out.Sample.(interface{ SampleHeader() *sample.Header }); ok && m.sequence > 0 && m.channel.topic.Encoding != "ros1" {
		h.SampleHeader().Seq = uint64(m.sequence) - 1
	}
}

// next returns the next message of the selection.
func (r *Reader) next() (queued, error) {
	for {
		r.memory.Give(r.given)
		r.given = 0
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
			r.given = l.held // the message is in it
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
	if c.topic.QoS.Durability != flow.TransientLocal {
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
		messages, held, err := r.readOn(p)
		if err != nil {
			return err
		}
		messages = slices.DeleteFunc(messages, func(m queued) bool {
			return from > 0 && m.logTime < uint64(from) || r.selection.Topics != nil && !r.selection.Topics(m.channel.topic.Name)
		})
		if len(messages) == 0 {
			r.memory.Give(held)
			continue
		}
		heap.Push(&r.loaded, &load{order: p.order, messages: messages, held: held})
	}
	return nil
}

// unload lets go of the parts in memory.
func (r *Reader) unload() {
	for _, l := range r.loaded {
		r.memory.Give(l.held)
	}
	r.memory.Give(r.given)
	r.loaded, r.given = nil, 0
}

// read reads a part's messages in the order of their log times. Behind damage there are none,
// but those before it. They lie in held bytes, which were taken from the budget and are the
// caller's to give back.
func (r *Reader) read(p part) (messages []queued, held int64, err error) {
	f := r.files[p.file]
	handle, err := r.handle(p.file)
	if err != nil {
		return nil, 0, err
	}
	if p.err != nil {
		return nil, 0, fmt.Errorf("read %s from byte %d on: %w", f.path, p.offset, p.err)
	}
	if err := r.memory.Take("a part of "+f.path, p.length); err != nil {
		return nil, 0, err
	}
	held = p.length
	data := make([]byte, p.length)
	if _, err := handle.ReadAt(data, p.offset); err != nil {
		r.memory.Give(held)
		return nil, 0, fmt.Errorf("read %s: %w", f.path, err)
	}
	var visit func(op mcap.OpCode, at int, content []byte) error
	visit = func(op mcap.OpCode, _ int, content []byte) error {
		switch op {
		case mcap.OpChunk:
			chunk, records, err := r.unpacker.unpack(content)
			if err != nil {
				return err
			}
			held += int64(chunk.UncompressedSize)
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
	if p.chunk && (len(data) == 0 || mcap.OpCode(data[0]) != mcap.OpChunk) {
		err = errors.New("another record is where a chunk was")
	} else {
		err = eachRecord(data, visit)
	}
	switch {
	case errors.Is(err, memory.ErrExceeded):
		r.memory.Give(held)
		return nil, 0, fmt.Errorf("read %s: %w", f.path, err)
	case err != nil:
		err = fmt.Errorf("read %s from byte %d on: %w: %w", f.path, p.offset, ErrDamaged, err)
	}
	slices.SortStableFunc(messages, func(a, b queued) int { return cmp.Compare(a.logTime, b.logTime) })
	if p.chunk { // whose records were unpacked
		r.memory.Give(p.length)
		held -= p.length
	}
	return messages, held, err
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
		messages, held, err := r.readOn(p)
		if err != nil {
			return err
		}
		r.memory.Give(held)
		for _, m := range messages {
			if m.logTime >= from || !r.latched(m.channel) || m.repeated() {
				continue
			}
			depth := min(max(m.channel.topic.QoS.Depth, 1), mostLatched)
			m.data = bytes.Clone(m.data) // its chunk isn't kept
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
	return c.topic.QoS.Durability == flow.TransientLocal && (r.selection.Topics == nil || r.selection.Topics(c.topic.Name))
}

// mayBeLatched reports whether a part may have messages of a latched topic.
func (r *Reader) mayBeLatched(p part) bool {
	f := r.files[p.file]
	if p.channels == nil {
		return slices.ContainsFunc(r.channels, r.latched)
	}
	return slices.ContainsFunc(p.channels, func(id uint16) bool { return f.channels[id] != nil && r.latched(f.channels[id]) })
}
