package mcap

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"unsafe"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/raybridge/raybridge/simtime"
)

// TopicDiff is a topic of two recordings, A and B, of one type and encoding.
type TopicDiff struct {
	// A and B are the topic in either recording, nil where it hasn't got it.
	A, B *Topic
	// MessagesA and MessagesB were read. What a latched topic has again in a later file of a split recording counts once.
	MessagesA, MessagesB int64
	// First is the first message that differs, of those that both recordings have; nil for none.
	First *MessageDiff
}

// MessageDiff is a message that differs in two recordings. Messages are compared by their order in the topic.
type MessageDiff struct {
	// Number counts the topic's messages from 0.
	Number int64
	// StampA and StampB say when it was captured.
	StampA, StampB simtime.Stamp
	// FieldDiff is where its data begin to differ. If only the times beside them differ, the name is "publish time" or
	// "log time".
	FieldDiff
}

// Equal reports whether both recordings have the topic with the same messages.
func (d *TopicDiff) Equal() bool {
	return d.A != nil && d.B != nil && d.MessagesA == d.MessagesB && d.First == nil
}

// Diff compares two recordings, each as Open takes it, topic by topic and message by message: data, log time and publish
// time. Quality of service, metadata and how files are made up aren't compared. It reads each recording once, and once
// more up to the messages that it names. It holds 16 bytes for each message of a. Topics come by their names. Unfinished
// files are compared as far as they go; unfinished lists them. Errors are Open's, and of files that can't be read to
// their end, which wrap ErrDamaged.
func (o Reading) Diff(ctx context.Context, a, b string) (list []TopicDiff, unfinished []string, err error) {
	var d difference
	for i, path := range []string{a, b} {
		r, err := o.Open(path)
		if err != nil {
			return nil, nil, err
		}
		defer r.Close()
		d.readers[i], unfinished = r, append(unfinished, r.Unfinished()...)
	}
	defer func() { o.Memory.Give(d.held) }()
	if err := d.compare(ctx); err != nil {
		return nil, nil, err
	}
	for _, t := range d.topics {
		list = append(list, t.TopicDiff)
	}
	slices.SortStableFunc(list, func(x, y TopicDiff) int {
		return cmp.Compare(cmp.Or(x.A, x.B).Name, cmp.Or(y.A, y.B).Name)
	})
	return list, unfinished, nil
}

// difference is one call of Diff.
type difference struct {
	readers [2]*Reader
	topics  []*comparedTopic // in the order of their first mention
	seed    maphash.Seed
	held    int64 // bytes of the budget
}

// comparedTopic is a topic that is being compared.
type comparedTopic struct {
	TopicDiff
	channels [2]*channel
	prints   []fingerprint // of a's messages
	// data and times are the first messages that differ by either, -1 for none.
	data, times int64
	found       [2]*queued // the message that First is about
}

// fingerprint stands for a message: two that differ have the same one time in 2^64.
type fingerprint struct{ data, times uint64 }

func (d *difference) print(m *queued) fingerprint {
	times := maphash.Comparable(d.seed, [2]uint64{m.logTime, m.publishTime})
	return fingerprint{maphash.Bytes(d.seed, m.data), times}
}

// compare fills the topics.
func (d *difference) compare(ctx context.Context) error {
	d.seed = maphash.MakeSeed()
	of := d.pair()
	err := d.each(ctx, 0, func(m *queued) (bool, error) {
		t := of[m.channel]
		t.MessagesA++
		return true, d.remember(t, m)
	})
	if err != nil {
		return err
	}
	err = d.each(ctx, 1, func(m *queued) (bool, error) {
		t := of[m.channel]
		t.MessagesB++
		if number := t.MessagesB - 1; number < t.MessagesA {
			other, own := t.prints[number], d.print(m)
			if t.data < 0 && own.data != other.data {
				t.data = number
			}
			if t.times < 0 && own.times != other.times {
				t.times = number
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	return d.name(ctx, of)
}

// remember adds a message of a's to a topic.
func (d *difference) remember(t *comparedTopic, m *queued) error {
	before := cap(t.prints)
	t.prints = append(t.prints, d.print(m))
	grown := int64(cap(t.prints)-before) * int64(unsafe.Sizeof(fingerprint{}))
	if err := d.readers[0].memory.Take("what is remembered of messages", grown); err != nil {
		return err
	}
	d.held += grown
	return nil
}

// pair finds the topics that both recordings have.
func (d *difference) pair() map[*channel]*comparedTopic {
	type key struct{ name, typ, encoding string }
	known, of := map[key]*comparedTopic{}, map[*channel]*comparedTopic{}
	for i, r := range d.readers {
		for _, c := range r.channels {
			k := key{c.topic.Name, c.topic.Type, c.topic.Encoding}
			t := known[k]
			if t == nil {
				t = &comparedTopic{data: -1, times: -1}
				known[k], d.topics = t, append(d.topics, t)
			}
			topic := c.topic
			if t.channels[i] = c; i == 0 {
				t.A = &topic
			} else {
				t.B = &topic
			}
			of[c] = t
		}
	}
	return of
}

// each reads a recording until visit says that it is enough.
func (d *difference) each(ctx context.Context, which int, visit func(m *queued) (more bool, err error)) error {
	r := d.readers[which]
	selection := r.selection
	selection.Strict = true
	r.Select(selection)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		m, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if more, err := visit(&m); err != nil || !more {
			return err
		}
	}
}

// name reads the first messages that differ again, and says by which field. A message whose data differ goes before one
// whose times do.
func (d *difference) name(ctx context.Context, of map[*channel]*comparedTopic) error {
	wanted := map[string]bool{}
	for _, t := range d.topics {
		if t.data < 0 {
			t.data = t.times
		}
		if t.data >= 0 {
			wanted[t.A.Name] = true
		}
	}
	for i, r := range d.readers {
		missing := 0
		for _, t := range d.topics {
			if t.data >= 0 {
				missing++
			}
		}
		if missing == 0 {
			return nil
		}
		numbers := map[*comparedTopic]int64{}
		r.selection.Topics = func(name string) bool { return wanted[name] }
		err := d.each(ctx, i, func(m *queued) (bool, error) {
			t := of[m.channel]
			if numbers[t] == t.data && t.data >= 0 {
				kept := *m
				kept.data = bytes.Clone(m.data) // its chunk isn't kept
				t.found[i] = &kept
				missing--
			}
			numbers[t]++
			return missing > 0, nil
		})
		if err != nil {
			return err
		}
	}
	for _, t := range d.topics {
		if t.data >= 0 {
			t.First = t.first()
		}
	}
	return nil
}

// first names what differs of the message that was found.
func (t *comparedTopic) first() *MessageDiff {
	a, b := t.found[0], t.found[1]
	diff := &MessageDiff{Number: t.data, StampA: nanoseconds(a.publishTime), StampB: nanoseconds(b.publishTime)}
	seconds := func(ns uint64) string { return fmt.Sprintf("%d.%09d s", ns/1e9, ns%1e9) }
	schemaA, schemaB := t.channels[0].schema, t.channels[1].schema
	switch {
	case bytes.Equal(a.data, b.data) && a.publishTime != b.publishTime:
		diff.FieldDiff = FieldDiff{"publish time", seconds(a.publishTime), seconds(b.publishTime)}
	case bytes.Equal(a.data, b.data):
		diff.FieldDiff = FieldDiff{"log time", seconds(a.logTime), seconds(b.logTime)}
	case sameSchema(schemaA, schemaB):
		diff.FieldDiff = fieldDiff(schemaA, t.A.Encoding, a.data, b.data)
	default:
		diff.FieldDiff = byteDiff(a.data, b.data)
	}
	return diff
}

// sameSchema reports whether two recordings define a message alike.
func sameSchema(a, b *mcap.Schema) bool {
	return a.Encoding == b.Encoding && bytes.Equal(a.Data, b.Data)
}
