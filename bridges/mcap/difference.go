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
	// MessagesA and MessagesB were read. A message that a latched topic repeats in a later file of a
	// split recording counts once.
	MessagesA, MessagesB int64
	// First is the first message that differs, nil for none.
	First *MessageDiff
}

// MessageDiff is a message that differs in two recordings, or that one hasn't got. Messages of a topic are paired by their
// stamps, those of one stamp by their order.
type MessageDiff struct {
	// Number counts the topic's messages from 0. The messages before it are the same in both.
	Number int64
	// InA and InB say which recordings have it, one at least.
	InA, InB bool
	// Stamp says when it was captured: the publish time.
	Stamp simtime.Stamp
	// FieldDiff is where its data begin to differ. If only the time beside them differs, the name is "log time". It is
	// empty where one recording hasn't got the message.
	FieldDiff
}

// Equal reports whether both recordings have the topic with the same messages.
func (d *TopicDiff) Equal() bool {
	return d.A != nil && d.B != nil && d.First == nil
}

// Diff compares two recordings, each as Open takes it, topic by topic and message by message: data, log time and publish
// time, which pairs messages. If a topic's stamps fall, as after a reset, a new series begins, and messages are paired
// within the first series of both, within the second, and so on. Quality of service, metadata and how files are made up aren't compared. It reads each recording once, and once
// more up to the messages that it names. It holds 24 bytes for each message of a. Topics come by their names. Unfinished
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

// comparedTopic is a topic that is being compared, until it differs.
type comparedTopic struct {
	TopicDiff
	channels [2]*channel
	prints   []fingerprint // of a's messages
	at       [2]place      // in either recording
	found    [2]*queued    // the message that First is about
}

// fingerprint stands for a message: two whose data differ have the same one time in 2^64.
type fingerprint struct{ data, logTime, stamp uint64 }

func (d *difference) print(m *queued) fingerprint {
	return fingerprint{maphash.Bytes(d.seed, m.data), m.logTime, m.publishTime}
}

// place is where a message stands in its topic.
type place struct {
	series int // how often stamps fell before it
	stamp  uint64
}

// move takes the place of the next message.
func (p *place) move(stamp uint64) {
	if stamp < p.stamp {
		p.series++
	}
	p.stamp = stamp
}

// hold holds a message of b's against the one of a's that follows those that were the same.
func (t *comparedTopic) hold(number int64, own fingerprint) {
	a, b := &t.at[0], &t.at[1]
	b.move(own.stamp)
	order, other := 1, fingerprint{} // of a's message to it: there is none
	if number < t.MessagesA {
		other = t.prints[number]
		a.move(other.stamp)
		order = cmp.Or(cmp.Compare(a.series, b.series), cmp.Compare(a.stamp, b.stamp))
	}
	switch {
	case order < 0:
		t.First = &MessageDiff{Number: number, InA: true, Stamp: nanoseconds(other.stamp)}
	case order > 0:
		t.First = &MessageDiff{Number: number, InB: true, Stamp: nanoseconds(own.stamp)}
	case own != other:
		t.First = &MessageDiff{Number: number, InA: true, InB: true, Stamp: nanoseconds(own.stamp)}
	}
}

// end says that b has no further message.
func (t *comparedTopic) end() {
	if n := t.MessagesB; t.A != nil && t.B != nil && t.First == nil && n < t.MessagesA {
		t.First = &MessageDiff{Number: n, InA: true, Stamp: nanoseconds(t.prints[n].stamp)}
	}
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
		if t.A != nil && t.First == nil {
			t.hold(t.MessagesB-1, d.print(m))
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, t := range d.topics {
		t.end()
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
				t = &comparedTopic{}
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

// name reads the pairs that differ again, and says by which field.
func (d *difference) name(ctx context.Context, of map[*channel]*comparedTopic) error {
	var pairs []*comparedTopic
	wanted := map[string]bool{}
	for _, t := range d.topics {
		if m := t.First; m != nil && m.InA && m.InB {
			pairs, wanted[t.A.Name] = append(pairs, t), true
		}
	}
	if pairs == nil {
		return nil
	}
	for i, r := range d.readers {
		missing := map[*comparedTopic]int64{} // how many messages come before the one of the pair
		for _, t := range pairs {
			missing[t] = t.First.Number
		}
		r.selection.Topics = func(name string) bool { return wanted[name] }
		err := d.each(ctx, i, func(m *queued) (bool, error) {
			t := of[m.channel]
			before, looked := missing[t]
			switch {
			case looked && before == 0:
				kept := *m
				kept.data = bytes.Clone(m.data) // its chunk isn't kept
				t.found[i] = &kept
				delete(missing, t)
			case looked:
				missing[t]--
			}
			return len(missing) > 0, nil
		})
		if err != nil {
			return err
		}
	}
	for _, t := range pairs {
		t.First.FieldDiff = t.field()
	}
	return nil
}

// field names what differs of the messages that were found.
func (t *comparedTopic) field() FieldDiff {
	a, b := t.found[0], t.found[1]
	seconds := func(ns uint64) string { return fmt.Sprintf("%d.%09d s", ns/1e9, ns%1e9) }
	schemaA, schemaB := t.channels[0].schema, t.channels[1].schema
	switch {
	case bytes.Equal(a.data, b.data):
		return FieldDiff{"log time", seconds(a.logTime), seconds(b.logTime)}
	case sameSchema(schemaA, schemaB):
		return fieldDiff(schemaA, t.A.Encoding, a.data, b.data)
	default:
		return byteDiff(a.data, b.data)
	}
}

// sameSchema reports whether two recordings define a message alike.
func sameSchema(a, b *mcap.Schema) bool {
	return a.Encoding == b.Encoding && bytes.Equal(a.Data, b.Data)
}
