package bridges_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
)

// reading is a sample, line the message of it.
type reading struct{ at, value int64 }

func (r *reading) Captured() simtime.Stamp { return simtime.Stamp(r.at) }

type line struct{ value int64 }

var errOdd = errors.New("odd")

// row carries readings as lines with the factor; odd ones are refused.
func row(schema string, factor int64) bridges.Publication[*line, string] {
	return bridges.Publish("lines/"+schema, schema, func(bridges.Instance) func(*reading) (*line, error) {
		message := &line{}
		return func(src *reading) (*line, error) {
			if src.value%2 != 0 {
				return nil, errOdd
			}
			message.value = factor * src.value
			return message, nil
		}
	})
}

func TestPublication(t *testing.T) {
	refused := errors.New("refused")
	once := row("once", 1).ByTopic(func(topic string) bridges.Publication[*line, string] {
		if topic == "/twice" {
			return row("twice", 2)
		}
		return row("once", 1)
	})
	boxed := bridges.PublishAs(once, 7, func() func(*line) int64 { return func(m *line) int64 { return m.value } })
	message, err := boxed.Converter()(&reading{value: 4})
	require.NoError(t, err)
	assert.EqualValues(t, 4, message)
	_, err = boxed.Converter()(&reading{value: 3})
	assert.ErrorIs(t, err, errOdd)
	_, err = boxed.Converter()(other{})
	assert.ErrorIs(t, err, bridges.ErrConvert, "a sample of another type")

	type sent struct{ value, stamp simtime.Stamp }
	var last sent
	schemas := map[string]string{}
	open := func(_ bridges.Instance, topic *bridges.PublishedTopic, schema string) (bridges.Send[*line], error) {
		schemas[topic.Name] = schema
		return func(_ context.Context, m *line, stamp simtime.Stamp) error {
			last = sent{simtime.Stamp(m.value), stamp}
			return nil
		}, nil
	}
	f := &fakeFactory{name: "fake", instance: &fakeInstance{status: flow.Connected}, register: func(p *bridges.Plugin) error {
		declared := once
		declared.Declare = func() error { return refused }
		assert.ErrorIs(t, declared.Register(p, "line", open), refused)
		assert.Empty(t, p.Types())
		require.NoError(t, once.Register(p, "line", open))
		assert.ErrorIs(t, once.Register(p, "line", open), bridges.ErrDuplicate)
		return nil
	}}
	b, err := bridges.MustRegistry(f).Open("fake:", bridges.Env{})
	require.NoError(t, err)
	for topic, want := range map[string]int64{"/once": 10, "/twice": 20} {
		publish, err := bridges.AddPublisher[*reading](b, bridges.Topic{Name: topic})
		require.NoError(t, err)
		require.NoError(t, publish(t.Context(), &reading{at: 5, value: 10}))
		assert.Equal(t, sent{simtime.Stamp(want), 5}, last)
		err = publish(t.Context(), &reading{value: 1})
		assert.ErrorIs(t, err, bridges.ErrConvert)
		assert.ErrorIs(t, err, errOdd)
		msg := &reading{value: 2}
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = publish(context.Background(), msg) }))
	}
	assert.Equal(t, map[string]string{"/once": "once", "/twice": "twice"}, schemas)
}

// other is a sample that no row here carries.
type other struct{}

func (other) Captured() simtime.Stamp { return 0 }

func TestSubscription(t *testing.T) {
	var inbox bridges.Inbox[*line]
	listen := func(_ bridges.Instance, _ bridges.Topic, schema string, in bridges.Inbox[*line]) error {
		assert.Equal(t, "once", schema)
		inbox = in
		return nil
	}
	sub := bridges.Subscribe("lines/once", "once", func() *line { return &line{} }, func(bridges.Instance) func(*line) (*reading, error) {
		return func(m *line) (*reading, error) {
			if m.value%2 != 0 {
				return nil, errOdd
			}
			return &reading{value: m.value}, nil
		}
	})
	f := &fakeFactory{name: "fake", instance: &fakeInstance{status: flow.Connected}, register: func(p *bridges.Plugin) error {
		require.NoError(t, row("once", 1).Register(p, "published", func(bridges.Instance, *bridges.PublishedTopic, string) (bridges.Send[*line], error) {
			return nil, nil
		}))
		require.NoError(t, sub.Register(p, "subscribed", listen), "a type that is published is subscribed to under its first name")
		assert.ErrorIs(t, sub.Register(p, "subscribed", listen), bridges.ErrDuplicate)
		assert.Equal(t, "published", p.Types()[0].Wire)
		return nil
	}}
	b, err := bridges.MustRegistry(f).Open("fake:", bridges.Env{})
	require.NoError(t, err)
	var got []*reading
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/a"}, func(r *reading) { got = append(got, r) }))
	m := inbox.New()
	m.value = 6
	require.NoError(t, inbox.Deliver(m))
	err = inbox.Deliver(&line{value: 1})
	assert.ErrorIs(t, err, bridges.ErrConvert)
	assert.ErrorIs(t, err, errOdd)
	assert.Equal(t, []*reading{{value: 6}}, got)
}

// carrying is a bridge that takes what a Codec encodes.
type carrying struct {
	*fakeFactory
	open bridges.Open[bridges.Append, bridges.Schema]
}

func (carrying) CodecEncoding() string { return "json" }

func (c carrying) RegCodec(p *bridges.Plugin, pub bridges.Publication[bridges.Append, bridges.Schema]) error {
	return pub.Register(p, pub.Type, c.open)
}

// receiving is a bridge that brings such messages, too.
type receiving struct {
	carrying
	listen bridges.Listen[bridges.Encoded, bridges.Schema]
}

func (r receiving) RegReader(p *bridges.Plugin, sub bridges.Subscription[bridges.Encoded, bridges.Schema]) error {
	return sub.Register(p, sub.Type, r.listen)
}

// stampless is a command: nobody asks when it was true.
type stampless struct{ value int64 }

func TestCodec(t *testing.T) {
	var data []byte
	open := func(_ bridges.Instance, _ *bridges.PublishedTopic, schema bridges.Schema) (bridges.Send[bridges.Append], error) {
		assert.Equal(t, "json", schema.MessageEncoding)
		return func(_ context.Context, encode bridges.Append, _ simtime.Stamp) (err error) {
			data, err = encode(data[:0])
			return err
		}, nil
	}
	codec := bridges.Codec[*reading]{
		Schema: bridges.Schema{Name: "my/Reading", MessageEncoding: "json"},
		Append: func(dst []byte, m *reading) ([]byte, error) { return strconv.AppendInt(dst, m.value, 10), nil },
	}
	fake := func(name string) *fakeFactory {
		return &fakeFactory{name: name, instance: &fakeInstance{status: flow.Connected}}
	}
	registry := bridges.MustRegistry(fake("closed"), carrying{fake("open"), open})
	plugin, err := registry.Plugin("closed")
	require.NoError(t, err)
	assert.ErrorIs(t, codec.Register(plugin), bridges.ErrNoConverter)
	plugin, err = registry.Plugin("open")
	require.NoError(t, err)
	require.NoError(t, codec.Register(plugin))
	assert.ErrorIs(t, codec.Register(plugin), bridges.ErrDuplicate)

	b, err := registry.Open("open:", bridges.Env{})
	require.NoError(t, err)
	publish, err := bridges.AddPublisher[*reading](b, bridges.Topic{Name: "/a"})
	require.NoError(t, err)
	require.NoError(t, publish(t.Context(), &reading{value: 123}))
	assert.Equal(t, "123", string(data))
	msg := &reading{value: 456}
	assert.Zero(t, testing.AllocsPerRun(100, func() { _ = publish(context.Background(), msg) }))
}

func TestCodecReads(t *testing.T) {
	var inbox bridges.Inbox[bridges.Encoded]
	listen := func(_ bridges.Instance, topic bridges.Topic, schema bridges.Schema, in bridges.Inbox[bridges.Encoded]) error {
		assert.Equal(t, []string{"/a", "my/Command"}, []string{topic.Name, schema.Name})
		inbox = in
		return nil
	}
	fake := func(name string) carrying {
		return carrying{fakeFactory: &fakeFactory{name: name, instance: &fakeInstance{status: flow.Connected}}}
	}
	registry := bridges.MustRegistry(fake("sender"), receiving{fake("both"), listen})
	sender, err := registry.Plugin("sender")
	require.NoError(t, err)
	both, err := registry.Plugin("both")
	require.NoError(t, err)
	codec := bridges.Codec[stampless]{
		Schema: bridges.Schema{Name: "my/Command", MessageEncoding: "json"},
		Read: func(encoding string, data []byte) (stampless, error) {
			if encoding != "json" {
				return stampless{}, errOdd
			}
			value, err := strconv.ParseInt(string(data), 10, 64)
			return stampless{value}, err
		},
	}
	assert.ErrorContains(t, codec.Register(sender), "it brings no messages")
	empty := bridges.Codec[stampless]{Schema: codec.Schema}
	assert.ErrorContains(t, empty.Register(both), "neither Append nor Read")
	foreign := codec
	foreign.Schema.MessageEncoding = "cdr"
	assert.EqualError(t, foreign.Register(both), `bridge "both" carries messages encoded as "json", and my/Command as "cdr": no converter`)
	published := codec
	published.Append = func(dst []byte, m stampless) ([]byte, error) { return strconv.AppendInt(dst, m.value, 10), nil }
	assert.ErrorContains(t, published.Register(both), "add a method Captured() simtime.Stamp")
	assert.Len(t, both.Types(), 1, "nothing was added")
	require.NoError(t, codec.Register(both))
	assert.ErrorIs(t, codec.Register(both), bridges.ErrDuplicate)

	b, err := registry.Open("both:", bridges.Env{})
	require.NoError(t, err)
	var got []stampless
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/a"}, func(m stampless) { got = append(got, m) }))
	require.NoError(t, inbox.Deliver(bridges.Encoded{Encoding: "json", Data: []byte("7")}))
	assert.ErrorIs(t, inbox.Deliver(bridges.Encoded{Encoding: "json", Data: []byte("x")}), bridges.ErrConvert)
	assert.ErrorIs(t, inbox.Deliver(bridges.Encoded{Encoding: "cdr", Data: []byte("8")}), bridges.ErrConvert)
	assert.Equal(t, []stampless{{7}}, got)
}
