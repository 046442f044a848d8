package bridges_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
)

// openFake returns an open bridge over a fake instance.
func openFake(t testing.TB, instance *fakeInstance) *bridges.Bridge {
	t.Helper()
	registry, err := bridges.NewRegistry(&fakeFactory{name: "fake", instance: instance})
	require.NoError(t, err)
	b, err := registry.Open("fake:anywhere", bridges.Env{})
	require.NoError(t, err)
	return b
}

func TestRegistry(t *testing.T) {
	a, b := &fakeFactory{name: "b_2", instance: &fakeInstance{}}, &fakeFactory{name: "a", instance: &fakeInstance{}}
	registry, err := bridges.NewRegistry(a, b)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b_2"}, registry.Names())
	plugin, err := registry.Plugin("b_2")
	require.NoError(t, err)
	assert.Same(t, a, plugin.Factory())
	assert.Equal(t, "fake", plugin.Info().Type)
	assert.Equal(t, []bridges.TypeInfo{{Go: "*bridges_test.note", Wire: "fake/Note", Publishes: true, Subscribes: true}}, plugin.Types())

	_, err = registry.Plugin("c")
	assert.ErrorIs(t, err, bridges.ErrUnknownBridge)
	var unknown *bridges.UnknownBridgeError
	require.ErrorAs(t, err, &unknown)
	assert.Equal(t, &bridges.UnknownBridgeError{Name: "c", Known: []string{"a", "b_2"}}, unknown)
	assert.EqualError(t, err, `unknown bridge "c"; known are a, b_2`)
	assert.EqualError(t, &bridges.UnknownBridgeError{Name: "b2", Known: []string{"a", "b_2"}}, `unknown bridge "b2"; did you mean b_2?`)
}

func TestRegistryRefuses(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		factories []bridges.Factory
		want      string
		is        error
	}{
		"one name twice": {
			[]bridges.Factory{&fakeFactory{name: "tsv"}, Factory{}},
			`bridge "tsv" of *bridges_test.fakeFactory and of bridges_test.Factory: already registered`, bridges.ErrDuplicate,
		},
		"no name":      {[]bridges.Factory{&fakeFactory{}}, `name "" is not lower case`, nil},
		"a colon":      {[]bridges.Factory{&fakeFactory{name: "a:b"}}, `name "a:b" is not lower case`, nil},
		"upper case":   {[]bridges.Factory{&fakeFactory{name: "Ros"}}, `name "Ros" is not lower case`, nil},
		"own mistakes": {[]bridges.Factory{&fakeFactory{name: "x", register: func(*bridges.Plugin) error { return broken }}}, `register bridge "x": broken`, broken},
	} {
		_, err := bridges.NewRegistry(c.factories...)
		require.ErrorContains(t, err, c.want, name)
		if c.is != nil {
			assert.ErrorIs(t, err, c.is, name)
		}
		assert.Panics(t, func() { bridges.MustRegistry(c.factories...) }, name)
	}
}

func TestOpenSplitsAtTheFirstColon(t *testing.T) {
	for spec, connection := range map[string]string{
		"fake:":                          "",
		"fake:host:9090":                 "host:9090",
		"fake:ws://[::1]:9090/x?bson=1 ": "ws://[::1]:9090/x?bson=1 ",
	} {
		instance := &fakeInstance{}
		registry, err := bridges.NewRegistry(&fakeFactory{name: "fake", instance: instance})
		require.NoError(t, err)
		b, err := registry.Open(spec, bridges.Env{})
		require.NoError(t, err)
		assert.Equal(t, connection, b.Connection())
		assert.Equal(t, "fake", b.Info().Name)
		require.NoError(t, b.Connect(t.Context()))
		assert.Equal(t, connection, instance.connection, "unmodified")
	}
	factory := &fakeFactory{name: "fake"}
	registry, err := bridges.NewRegistry(factory)
	require.NoError(t, err)
	_, err = registry.Open("fake", bridges.Env{})
	assert.ErrorIs(t, err, bridges.ErrConnectionString)
	_, err = registry.Open("fax:x", bridges.Env{})
	assert.ErrorIs(t, err, bridges.ErrUnknownBridge)
	factory.newErr = errors.New("out of order")
	_, err = registry.Open("fake:x", bridges.Env{OutDir: "out"})
	assert.ErrorIs(t, err, factory.newErr)
	assert.Equal(t, "out", factory.env.OutDir)
	assert.NotNil(t, factory.env.Log, "there is always somewhere to log to")
}

func TestFirstRegistrationWins(t *testing.T) {
	create := func(bridges.Instance, *bridges.PublishedTopic) (bridges.Publisher[*note], error) { return nil, nil }
	other := func(bridges.Instance, *bridges.PublishedTopic) (bridges.Publisher[*note], error) {
		return nil, errors.New("the second")
	}
	subscribe := func(bridges.Instance, bridges.Topic, func(*note)) error { return nil }
	registry, err := bridges.NewRegistry(&fakeFactory{name: "fake", instance: &fakeInstance{status: bridges.Connected}, register: func(p *bridges.Plugin) error {
		assert.ErrorIs(t, bridges.AddPublisherCreator(p, create), bridges.ErrNoConverter, "the type comes first")
		assert.ErrorIs(t, bridges.AddSubscriberCreator(p, subscribe), bridges.ErrNoConverter)
		require.NoError(t, bridges.AddType[*note](p, "first"))
		assert.ErrorIs(t, bridges.AddType[*note](p, "second"), bridges.ErrDuplicate)
		require.NoError(t, bridges.AddPublisherCreator(p, create))
		assert.ErrorIs(t, bridges.AddPublisherCreator(p, other), bridges.ErrDuplicate)
		assert.Equal(t, []bridges.TypeInfo{{Go: "*bridges_test.note", Wire: "first", Publishes: true}}, p.Types(),
			"a publisher doesn't stand in a subscriber's way")
		require.NoError(t, bridges.AddSubscriberCreator(p, subscribe))
		assert.ErrorIs(t, bridges.AddSubscriberCreator(p, subscribe), bridges.ErrDuplicate)
		serve := func(bridges.Instance, string, bridges.ServiceHandler[*note, *note]) error { return nil }
		require.NoError(t, bridges.AddServiceCreator(p, "first/Echo", serve))
		assert.ErrorIs(t, bridges.AddServiceCreator(p, "second/Echo", serve), bridges.ErrDuplicate)
		assert.Equal(t, []bridges.ServiceInfo{{Request: "*bridges_test.note", Response: "*bridges_test.note", Wire: "first/Echo"}}, p.Services())
		return nil
	}})
	require.NoError(t, err)
	b, err := registry.Open("fake:x", bridges.Env{})
	require.NoError(t, err)
	_, err = bridges.AddPublisher[*note](b, bridges.Topic{Name: "/a"})
	assert.NoError(t, err, "the first creator is in use")
}

func TestOneDirectionOnly(t *testing.T) {
	registry, err := bridges.NewRegistry(&fakeFactory{name: "fake", register: func(p *bridges.Plugin) error {
		return bridges.AddType[*note](p, "declared")
	}})
	require.NoError(t, err)
	b, err := registry.Open("fake:x", bridges.Env{})
	require.NoError(t, err)
	_, err = bridges.AddPublisher[*note](b, bridges.Topic{Name: "/a"})
	assert.ErrorIs(t, err, bridges.ErrNoConverter)
	assert.ErrorIs(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/a"}, func(*note) {}), bridges.ErrNoConverter)
}

func TestErrorsAreCountedByCause(t *testing.T) {
	instance := &fakeInstance{status: bridges.Connected}
	b := openFake(t, instance)
	publish, err := bridges.AddPublisher[*note](b, bridges.Topic{Name: "/a"})
	require.NoError(t, err)
	want := flow.Drops{}
	for i, c := range []struct {
		err   error
		cause flow.Cause
	}{
		{bridges.ErrConvert, flow.CauseConvertFailed},
		{errors.New("anything else"), flow.CauseConvertFailed},
		{bridges.ErrNotConnected, flow.CauseNotConnected},
		{bridges.ErrPeerSlow, flow.CausePeerSlow},
		{context.DeadlineExceeded, flow.CausePeerSlow},
		{bridges.ErrWriteFailed, flow.CauseWriteFailed},
		{bridges.ErrClosed, flow.CauseClosed},
		{context.Canceled, flow.CauseClosed},
		{errors.Join(bridges.ErrClosed, bridges.ErrWriteFailed), flow.CauseWriteFailed},
	} {
		instance.publishErr = fmt.Errorf("case %d: %w", i, c.err)
		assert.Same(t, instance.publishErr, publish(t.Context(), &note{}))
		want[c.cause]++
		assert.Equal(t, want, b.Statistics().Topics[0].Drops)
	}
	assert.EqualValues(t, 9, b.Statistics().Drops.Total())
	assert.Zero(t, b.Statistics().Messages)
}

func TestStatisticsOfWhatHappensLater(t *testing.T) {
	instance := &fakeInstance{status: bridges.Connected}
	b := openFake(t, instance)
	for _, name := range []string{"/a", "/b"} {
		publish, err := bridges.AddPublisher[*note](b, bridges.Topic{Name: name})
		require.NoError(t, err)
		for range 5 {
			require.NoError(t, publish(t.Context(), &note{"1234"}))
		}
	}
	instance.topics[0].Lost(2, 8, flow.CauseWriteFailed)
	instance.topics[0].Dropped(flow.CausePeerSlow)
	s := b.Statistics()
	s.Topics[0].RateHz, s.Topics[1].RateHz = 0, 0
	assert.Equal(t, bridges.Statistics{
		Status: bridges.Connected, Messages: 8, Bytes: 32,
		Drops: flow.Drops{flow.CauseWriteFailed: 2, flow.CausePeerSlow: 1},
		Topics: []bridges.TopicStatistics{
			{Topic: "/a", Type: "fake/Note", Messages: 3, Bytes: 12, Drops: flow.Drops{flow.CauseWriteFailed: 2, flow.CausePeerSlow: 1}},
			{Topic: "/b", Type: "fake/Note", Messages: 5, Bytes: 20},
		},
	}, s)
	s.Drops[flow.CauseClosed] = 9
	assert.NotContains(t, b.Statistics().Drops, flow.CauseClosed, "statistics are the caller's")
}

func TestRateFollowsTheTopicAndFallsToZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openFake(t, &fakeInstance{status: bridges.Connected})
		publish, err := bridges.AddPublisher[*note](b, bridges.Topic{Name: "/a"})
		require.NoError(t, err)
		rate := func() float64 { return b.Statistics().Topics[0].RateHz }
		assert.Zero(t, rate())
		time.Sleep(time.Hour) // in the bubble's time
		run := func(hz int, d time.Duration) {
			for range int(d.Seconds() * float64(hz)) {
				require.NoError(t, publish(t.Context(), &note{}))
				time.Sleep(time.Second / time.Duration(hz))
			}
		}
		run(100, 500*time.Millisecond)
		assert.InDelta(t, 100, rate(), 1, "after half a second")
		run(100, 10*time.Second)
		assert.InDelta(t, 100, rate(), 1)
		run(20, 3*time.Second)
		assert.InDelta(t, 20, rate(), 1, "a new rate shows after the window")
		time.Sleep(time.Second)
		assert.InDelta(t, 10, rate(), 2, "half the window is silent")
		time.Sleep(time.Second + 1)
		assert.Zero(t, rate())
		time.Sleep(time.Hour)
		run(10, 4*time.Second)
		assert.InDelta(t, 10, rate(), 1, "it comes back")
	})
}

func TestFailureIsWhatPublishersReturn(t *testing.T) {
	instance := &fakeInstance{status: bridges.UnexpectedlyDisconnected}
	b := openFake(t, instance)
	publish, err := bridges.AddPublisher[*note](b, bridges.Topic{Name: "/a"})
	require.NoError(t, err)
	assert.ErrorIs(t, publish(t.Context(), &note{}), bridges.ErrNotConnected)
	assert.NoError(t, b.Err())
	instance.err = fmt.Errorf("disk: %w", bridges.ErrWriteFailed)
	assert.ErrorIs(t, b.Err(), bridges.ErrWriteFailed)
	assert.ErrorContains(t, b.Err(), `bridge "fake" (anywhere)`)
	assert.ErrorIs(t, publish(t.Context(), &note{}), bridges.ErrWriteFailed)
	assert.Equal(t, flow.Drops{flow.CauseNotConnected: 1, flow.CauseWriteFailed: 1}, b.Statistics().Drops)
}

func TestErrorsOfTheInstanceComeThrough(t *testing.T) {
	instance := &fakeInstance{connectErr: errors.New("no route"), closeErr: errors.New("half written"), createErr: errors.New("no such topic")}
	b := openFake(t, instance)
	err := b.Connect(t.Context())
	assert.ErrorIs(t, err, instance.connectErr)
	assert.ErrorContains(t, err, `connect bridge "fake" (anywhere)`)
	assert.False(t, b.EverConnected())
	_, err = bridges.AddPublisher[*note](b, bridges.Topic{Name: "/a"})
	assert.ErrorIs(t, err, instance.createErr)
	assert.ErrorIs(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/a"}, func(*note) {}), instance.createErr)
	assert.Empty(t, b.Statistics().Topics)
	assert.ErrorIs(t, b.Close(t.Context()), instance.closeErr)
	assert.ErrorIs(t, b.Close(t.Context()), instance.closeErr, "the first call's error again")
	assert.Equal(t, 1, instance.closed)
}

func TestSubscribersShareOneSubscription(t *testing.T) {
	instance := &fakeInstance{}
	b := openFake(t, instance)
	var got []string
	for _, name := range []string{"first", "second"} {
		require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/in"}, func(m *note) { got = append(got, name+" "+m.Text) }))
	}
	require.Len(t, instance.deliver, 1)
	instance.deliver["/in"](&note{"x"})
	instance.deliver["/in"](&note{"y"})
	assert.Equal(t, []string{"first x", "second x", "first y", "second y"}, got)
	assert.ErrorIs(t, bridges.AddSubscriber(b, bridges.Topic{}, func(*note) {}), bridges.ErrTopicName)
}

// memo is a second type for the fake bridge.
type memo struct{ note }

func TestSubscribersOfOneTopicHaveOneType(t *testing.T) {
	factory := &fakeFactory{name: "fake", instance: &fakeInstance{}}
	registry, err := bridges.NewRegistry(factory)
	require.NoError(t, err)
	plugin, err := registry.Plugin("fake")
	require.NoError(t, err)
	require.NoError(t, bridges.AddType[*memo](plugin, "fake/Memo"))
	require.NoError(t, bridges.AddSubscriberCreator(plugin, func(bridges.Instance, bridges.Topic, func(*memo)) error { return nil }))
	b, err := registry.Open("fake:x", bridges.Env{})
	require.NoError(t, err)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/in"}, func(*note) {}))
	assert.ErrorIs(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/in"}, func(*memo) {}), bridges.ErrTopicType)
}

func TestPublisherByReflectType(t *testing.T) {
	instance := &fakeInstance{status: bridges.Connected}
	b := openFake(t, instance)
	publish, err := bridges.AddPublisherOf(b, reflect.TypeFor[*note](), bridges.Topic{Name: "/a"})
	require.NoError(t, err)
	require.NoError(t, publish(t.Context(), &note{"abc"}))
	assert.ErrorIs(t, publish(t.Context(), &memo{}), bridges.ErrConvert)
	assert.ErrorIs(t, publish(t.Context(), nil), bridges.ErrConvert)
	assert.EqualValues(t, 3, b.Statistics().Bytes)
	assert.Equal(t, flow.Drops{flow.CauseConvertFailed: 2}, b.Statistics().Drops)
	_, err = bridges.AddPublisherOf(b, reflect.TypeFor[*memo](), bridges.Topic{Name: "/b"})
	assert.ErrorIs(t, err, bridges.ErrNoConverter)
	_, err = bridges.AddPublisherOf(b, reflect.TypeFor[*note](), bridges.Topic{})
	assert.ErrorIs(t, err, bridges.ErrTopicName)
}

func TestPublishingThroughTheBridgeAllocatesNothing(t *testing.T) {
	b := openFake(t, &fakeInstance{status: bridges.Connected})
	publish, err := bridges.AddPublisherOf(b, reflect.TypeFor[*note](), bridges.Topic{Name: "/a"})
	require.NoError(t, err)
	m, ctx := &note{"abc"}, context.Background()
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if err := publish(ctx, m); err != nil {
			t.Error(err)
		}
	}))
}

func TestTopicsGetDefaultQoS(t *testing.T) {
	instance := &fakeInstance{}
	b := openFake(t, instance)
	for _, topic := range []bridges.Topic{{Name: "/a"}, {Name: "/b", QoS: flow.ClockQoS}} {
		_, err := bridges.AddPublisher[*note](b, topic)
		require.NoError(t, err)
	}
	assert.Equal(t, flow.DefaultQoS, instance.topics[0].QoS)
	assert.Equal(t, flow.ClockQoS, instance.topics[1].QoS)
}

func TestHandedOver(t *testing.T) {
	assert.EqualValues(t, 5, (&bridges.Env{}).HandedOver(5))
	assert.EqualValues(t, 7, (&bridges.Env{Now: func() int64 { return 7 }}).HandedOver(5))
}

func TestNames(t *testing.T) {
	for want, got := range map[string]fmt.Stringer{
		"disconnected": bridges.Disconnected, "unexpectedly_disconnected": bridges.UnexpectedlyDisconnected,
		"connecting": bridges.Connecting, "connected": bridges.Connected, "disconnecting": bridges.Disconnecting,
		"status(9)": bridges.Status(9), "file": bridges.KindFile, "network": bridges.KindNetwork,
		"reliable": flow.Reliable, "best_effort": flow.BestEffort,
		"transient_local": flow.TransientLocal, "volatile": flow.Volatile,
		"keep_last": flow.KeepLast, "keep_all": flow.KeepAll,
	} {
		assert.Equal(t, want, got.String())
	}
	for _, q := range []fmt.Stringer{flow.ReliabilityDefault, flow.DurabilityDefault, flow.HistoryDefault} {
		assert.Equal(t, "system_default", q.String())
	}
	text, err := bridges.Connecting.MarshalText()
	require.NoError(t, err)
	assert.Equal(t, "connecting", string(text))
}

// variant is a bridge of another's type under a name of its own.
type variant struct{ Factory }

func (v variant) Info() bridges.Info {
	info := v.Factory.Info()
	info.Name = "tsv_variant"
	return info
}

func TestTwoBridgesMayShareAType(t *testing.T) {
	registry, err := bridges.NewRegistry(Factory{}, variant{})
	require.NoError(t, err)
	assert.Equal(t, []string{"tsv", "tsv_variant"}, registry.Names())
	b, err := registry.Open("tsv_variant:x", bridges.Env{OutDir: t.TempDir()})
	require.NoError(t, err)
	assert.Equal(t, "tsv", b.Info().Type)
	require.NoError(t, b.Connect(t.Context()))
	require.NoError(t, b.Close(t.Context()))
}
