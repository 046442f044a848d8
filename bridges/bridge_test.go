package bridges_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// note is the message of the fake bridge.
type note struct{ Text string }

// fakeFactory makes instances that do what the test says.
type fakeFactory struct {
	name     string
	register func(*bridges.Plugin) error
	instance *fakeInstance
	newErr   error
	env      *bridges.Env // set by NewInstance
}

func (f *fakeFactory) Info() bridges.Info {
	return bridges.Info{Name: f.name, Type: "fake", Kind: bridges.KindNetwork, Summary: "a fake", Connection: "ANY"}
}

func (f *fakeFactory) Register(p *bridges.Plugin) error {
	if f.register != nil {
		return f.register(p)
	}
	return errors.Join(
		bridges.RegPublisher(p, "fake/Note", (*fakeInstance).publisher),
		bridges.RegSubscriber(p, "fake/Note", (*fakeInstance).subscribe),
	)
}

func (f *fakeFactory) NewInstance(env bridges.Env) (bridges.Instance, error) {
	f.env = &env
	return f.instance, f.newErr
}

// fakeInstance is a scripted bridges.Instance and bridges.Failer.
type fakeInstance struct {
	mu         sync.Mutex
	status     flow.Status
	err        error
	connectErr error
	closeErr   error
	publishErr error
	createErr  error
	connection string
	topics     []*bridges.PublishedTopic
	deliver    map[string]func(*note)
	closed     int
}

func (f *fakeInstance) Status() flow.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

func (f *fakeInstance) Err() error { return f.err }

func (f *fakeInstance) Connect(_ context.Context, connection string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.connection = connection
	if f.connectErr == nil {
		f.status = flow.Connected
	}
	return f.connectErr
}

func (f *fakeInstance) Disconnect(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
	f.status = flow.Disconnected
	return f.closeErr
}

func (f *fakeInstance) publisher(topic *bridges.PublishedTopic) (bridges.Publisher[*note], error) {
	f.topics = append(f.topics, topic)
	return func(_ context.Context, m *note) error {
		if f.publishErr == nil {
			topic.Sent(len(m.Text))
		}
		return f.publishErr
	}, f.createErr
}

func (f *fakeInstance) subscribe(topic bridges.Topic, deliver func(*note)) error {
	if f.createErr != nil {
		return f.createErr
	}
	if f.deliver == nil {
		f.deliver = map[string]func(*note){}
	}
	f.deliver[topic.Name] = deliver
	return nil
}

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
	plugins := registry.Plugins()
	require.Len(t, plugins, 2)
	assert.Same(t, b, plugins[0].Factory(), "in the order of their names")
	assert.Same(t, plugin, plugins[1])
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
			[]bridges.Factory{&fakeFactory{name: "tsv"}, tsv},
			`bridge "tsv" of *bridges_test.fakeFactory and of *bridges.recordFactory: already registered`, bridges.ErrDuplicate,
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
	registry, err := bridges.NewRegistry(&fakeFactory{name: "fake", instance: &fakeInstance{status: flow.Connected}, register: func(p *bridges.Plugin) error {
		require.NoError(t, bridges.RegPublisher(p, "first", create))
		assert.ErrorIs(t, bridges.RegPublisher(p, "first", other), bridges.ErrDuplicate)
		assert.ErrorIs(t, bridges.RegSubscriber(p, "second", subscribe), bridges.ErrDuplicate, "the type has a name")
		assert.Equal(t, []bridges.TypeInfo{{Go: "*bridges_test.note", Wire: "first", Publishes: true}}, p.Types(),
			"a publisher doesn't stand in a subscriber's way")
		require.NoError(t, bridges.RegSubscriber(p, "first", subscribe))
		assert.ErrorIs(t, bridges.RegSubscriber(p, "first", subscribe), bridges.ErrDuplicate)
		serve := func(bridges.Instance, string, bridges.ServiceHandler[*note, *note]) error { return nil }
		require.NoError(t, bridges.RegService(p, "first/Echo", serve))
		assert.ErrorIs(t, bridges.RegService(p, "second/Echo", serve), bridges.ErrDuplicate)
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
		return errors.Join(
			bridges.RegSubscriber(p, "note", func(bridges.Instance, bridges.Topic, func(*note)) error { return nil }),
			bridges.RegPublisher(p, "memo", func(bridges.Instance, *bridges.PublishedTopic) (bridges.Publisher[*memo], error) { return nil, nil }))
	}})
	require.NoError(t, err)
	b, err := registry.Open("fake:x", bridges.Env{})
	require.NoError(t, err)
	_, err = bridges.AddPublisher[*note](b, bridges.Topic{Name: "/a"})
	assert.ErrorIs(t, err, bridges.ErrNoConverter)
	assert.ErrorIs(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/a"}, func(*memo) {}), bridges.ErrNoConverter)
}

// The reason of a gap is told to users who ask for the message.
func TestPublishes(t *testing.T) {
	factory := &described{
		fakeFactory: fakeFactory{name: "fake", register: func(p *bridges.Plugin) error {
			return errors.Join(
				bridges.RegPublisher(p, "fake/Note", (*fakeInstance).publisher),
				bridges.RegSubscriber(p, "fake/Memo", func(bridges.Instance, bridges.Topic, func(*memo)) error { return nil }))
		}},
		info: bridges.Info{Gaps: []bridges.Gap{bridges.Lacks[int]("numbers have no place")}, OtherGap: "only notes have a place"},
	}
	plugin, err := bridges.MustRegistry(factory).Plugin("fake")
	require.NoError(t, err)
	wire, err := plugin.Publishes(reflect.TypeFor[*note]())
	require.NoError(t, err)
	assert.Equal(t, "fake/Note", wire)
	for of, want := range map[reflect.Type]string{
		reflect.TypeFor[*memo]():  `bridge "fake" doesn't publish *bridges_test.memo: no converter`,
		reflect.TypeFor[int]():    `bridge "fake": unknown type int: no converter: numbers have no place`,
		reflect.TypeFor[string](): `bridge "fake": unknown type string: no converter: only notes have a place`,
	} {
		_, err := plugin.Publishes(of)
		assert.EqualError(t, err, want)
		assert.ErrorIs(t, err, bridges.ErrNoConverter)
	}
}

// described is a fake bridge whose Info says more, and whose instances are others than fakeInstance.
type described struct {
	fakeFactory
	info  bridges.Info
	other bridges.Instance
}

func (f *described) Info() bridges.Info {
	info := f.info
	info.Name, info.Type = f.name, "fake"
	return info
}

func (f *described) NewInstance(bridges.Env) (bridges.Instance, error) { return f.other, nil }

func TestErrorsAreCountedByCause(t *testing.T) {
	instance := &fakeInstance{status: flow.Connected}
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
		{flow.ErrNotConnected, flow.CauseNotConnected},
		{flow.ErrPeerSlow, flow.CausePeerSlow},
		{context.DeadlineExceeded, flow.CausePeerSlow},
		{flow.ErrWriteFailed, flow.CauseWriteFailed},
		{flow.ErrClosed, flow.CauseClosed},
		{context.Canceled, flow.CauseClosed},
		{errors.Join(flow.ErrClosed, flow.ErrWriteFailed), flow.CauseWriteFailed},
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
	instance := &fakeInstance{status: flow.Connected}
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
		Status: flow.Connected, Messages: 8, Bytes: 32,
		Drops: flow.Drops{flow.CauseWriteFailed: 2, flow.CausePeerSlow: 1},
		Topics: []bridges.TopicStatistics{
			{Topic: "/a", Type: "fake/Note", Counts: flow.Counts{Messages: 3, Bytes: 12, Drops: flow.Drops{flow.CauseWriteFailed: 2, flow.CausePeerSlow: 1}}},
			{Topic: "/b", Type: "fake/Note", Counts: flow.Counts{Messages: 5, Bytes: 20}},
		},
	}, s)
	s.Drops[flow.CauseClosed] = 9
	assert.NotContains(t, b.Statistics().Drops, flow.CauseClosed, "statistics are the caller's")
}

func TestRateFollowsTheTopicAndFallsToZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openFake(t, &fakeInstance{status: flow.Connected})
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
	instance := &fakeInstance{status: flow.UnexpectedlyDisconnected}
	b := openFake(t, instance)
	publish, err := bridges.AddPublisher[*note](b, bridges.Topic{Name: "/a"})
	require.NoError(t, err)
	assert.ErrorIs(t, publish(t.Context(), &note{}), flow.ErrNotConnected)
	assert.NoError(t, b.Err())
	instance.err = fmt.Errorf("disk: %w", flow.ErrWriteFailed)
	assert.ErrorIs(t, b.Err(), flow.ErrWriteFailed)
	assert.ErrorContains(t, b.Err(), `bridge "fake" (anywhere)`)
	assert.ErrorIs(t, publish(t.Context(), &note{}), flow.ErrWriteFailed)
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
	require.NoError(t, bridges.RegSubscriber(plugin, "fake/Memo", func(bridges.Instance, bridges.Topic, func(*memo)) error { return nil }))
	b, err := registry.Open("fake:x", bridges.Env{})
	require.NoError(t, err)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/in"}, func(*note) {}))
	assert.ErrorIs(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/in"}, func(*memo) {}), bridges.ErrTopicType)
}

func TestPublisherByReflectType(t *testing.T) {
	instance := &fakeInstance{status: flow.Connected}
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

func TestSubscriberByReflectType(t *testing.T) {
	factory := &fakeFactory{name: "fake", instance: &fakeInstance{}, register: func(p *bridges.Plugin) error {
		return errors.Join(
			bridges.RegSubscriber(p, "fake/Note", (*fakeInstance).subscribe),
			bridges.RegPublisher(p, "fake/Memo", func(bridges.Instance, *bridges.PublishedTopic) (bridges.Publisher[*memo], error) { return nil, nil }))
	}}
	b, err := bridges.MustRegistry(factory).Open("fake:", bridges.Env{})
	require.NoError(t, err)
	var got []any
	subscribe := func(of reflect.Type) error {
		return bridges.AddSubscriberOf(b, of, bridges.Topic{Name: "/in"}, func(msg any) { got = append(got, msg) })
	}
	require.NoError(t, subscribe(reflect.TypeFor[*note]()))
	factory.instance.deliver["/in"](&note{"x"})
	assert.Equal(t, []any{&note{"x"}}, got)
	assert.ErrorIs(t, subscribe(reflect.TypeFor[*memo]()), bridges.ErrNoConverter, "it is published only")
	assert.ErrorIs(t, subscribe(reflect.TypeFor[int]()), bridges.ErrNoConverter)
}

// withdrawer is an instance that takes topics back.
type withdrawer struct {
	*fakeInstance
	withdrawn []string
}

func (w *withdrawer) Withdraw(topic *bridges.PublishedTopic) {
	w.withdrawn = append(w.withdrawn, topic.Name)
}

// openForWithdrawal returns a connected bridge over an instance, which publishes notes and memos.
func openForWithdrawal(t *testing.T, instance bridges.Instance) *bridges.Bridge {
	t.Helper()
	b, err := bridges.MustRegistry(&described{other: instance, fakeFactory: fakeFactory{name: "fake", register: func(p *bridges.Plugin) error {
		return errors.Join(
			bridges.RegPublisher(p, "fake/Note", func(_ bridges.Instance, topic *bridges.PublishedTopic) (bridges.Publisher[*note], error) {
				return func(_ context.Context, m *note) error { topic.Sent(len(m.Text)); return nil }, nil
			}),
			bridges.RegPublisher(p, "fake/Memo", func(_ bridges.Instance, topic *bridges.PublishedTopic) (bridges.Publisher[*memo], error) {
				return func(_ context.Context, m *memo) error { topic.Sent(len(m.Text)); return nil }, nil
			}))
	}}}).Open("fake:", bridges.Env{})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	return b
}

func TestWithdrawnTopics(t *testing.T) {
	plain, taker := &fakeInstance{}, &withdrawer{fakeInstance: &fakeInstance{}}
	for name, c := range map[string]struct {
		instance bridges.Instance
		kept     bool // the bridge keeps a withdrawn topic in its list
	}{"an instance that keeps topics": {plain, true}, "one that takes them back": {taker, false}} {
		t.Run(name, func(t *testing.T) {
			b := openForWithdrawal(t, c.instance)
			topic := bridges.Topic{Name: "/a"}
			first, err := bridges.AddPublisher[*note](b, topic)
			require.NoError(t, err)
			require.NoError(t, first(t.Context(), &note{"1234"}))
			_, err = bridges.AddPublisher[*memo](b, topic)
			assert.ErrorIs(t, err, bridges.ErrTopicType, "the name is taken")

			b.Withdraw("/nobody's")
			b.Withdraw("/a")
			b.Withdraw("/a")
			assert.ErrorIs(t, first(t.Context(), &note{"1234"}), flow.ErrClosed)
			s := b.Statistics()
			assert.Equal(t, bridges.Statistics{Status: flow.Connected, Messages: 1, Bytes: 4, Drops: flow.Drops{flow.CauseClosed: 1}},
				bridges.Statistics{Status: s.Status, Messages: s.Messages, Bytes: s.Bytes, Drops: s.Drops}, "the sums keep what was sent and lost")
			assert.Equal(t, c.kept, len(s.Topics) == 1)

			again, err := bridges.AddPublisher[*note](b, topic)
			require.NoError(t, err)
			require.NoError(t, again(t.Context(), &note{"56"}))
			assert.Equal(t, c.kept, first(t.Context(), &note{"78"}) == nil, "a kept topic comes back with its publisher")

			b.Withdraw("/a")
			other, err := bridges.AddPublisher[*memo](b, topic)
			require.NoError(t, err, "the name is free for another type")
			require.NoError(t, other(t.Context(), &memo{note{"9"}}))
			assert.ErrorIs(t, again(t.Context(), &note{}), flow.ErrClosed)
			require.Len(t, b.Statistics().Topics, 1)
			assert.Equal(t, "fake/Memo", b.Statistics().Topics[0].Type)
			sum, additions := flow.Counts{Drops: flow.Drops{}}, map[uint64]bool{}
			for _, tally := range b.Tallies() {
				assert.Equal(t, "/a", tally.Topic)
				assert.False(t, additions[tally.Addition], "each addition has a number of its own")
				additions[tally.Addition] = true
				sum.Messages += tally.Messages
				sum.Drops.Merge(tally.Drops)
			}
			s = b.Statistics()
			assert.Equal(t, flow.Counts{Messages: s.Messages, Drops: s.Drops}, sum, "what was withdrawn is told of, too")
		})
	}
	assert.Equal(t, []string{"/a", "/a"}, taker.withdrawn, "once for each topic")
}

// A bridge forgets old topics one by one, and none of their counts.
func TestSumsOutliveManyWithdrawnTopics(t *testing.T) {
	b := openForWithdrawal(t, &withdrawer{fakeInstance: &fakeInstance{}})
	for range 300 {
		publish, err := bridges.AddPublisher[*note](b, bridges.Topic{Name: "/a"})
		require.NoError(t, err)
		require.NoError(t, publish(t.Context(), &note{"1234"}))
		b.Withdraw("/a")
		require.ErrorIs(t, publish(t.Context(), &note{"1234"}), flow.ErrClosed)
	}
	s := b.Statistics()
	assert.EqualValues(t, 300, s.Messages)
	assert.EqualValues(t, 1200, s.Bytes)
	assert.Equal(t, flow.Drops{flow.CauseClosed: 300}, s.Drops)
}

// audience is an instance that knows its receivers one by one: seven for /a.
type audience struct{ *fakeInstance }

func (audience) Listening(topic string) bool { return topic == "/a" }

func (audience) Receivers(topic string) int { return map[string]int{"/a": 7}[topic] }

func TestReceivers(t *testing.T) {
	for name, c := range map[string]struct {
		kind      bridges.Kind
		status    flow.Status
		audience  bool
		topic     string
		listening bool
		receivers int
	}{
		"a peer that says nothing":      {bridges.KindNetwork, flow.Connected, false, "/b", true, 1},
		"nobody is there":               {bridges.KindNetwork, flow.Connecting, false, "/b", false, 0},
		"a file":                        {bridges.KindFile, flow.Connected, false, "/b", true, 0},
		"receivers of the topic":        {bridges.KindNetwork, flow.Connected, true, "/a", true, 7},
		"receivers of another topic":    {bridges.KindNetwork, flow.Connected, true, "/b", false, 0},
		"receivers that are gone again": {bridges.KindNetwork, flow.UnexpectedlyDisconnected, true, "/a", false, 0},
	} {
		fake := &fakeInstance{status: c.status}
		factory := &described{fakeFactory: fakeFactory{name: "fake"}, info: bridges.Info{Kind: c.kind}, other: fake}
		if c.audience {
			factory.other = audience{fake}
		}
		b, err := bridges.MustRegistry(factory).Open("fake:", bridges.Env{})
		require.NoError(t, err)
		assert.Equal(t, c.listening, b.Listening(c.topic), name)
		assert.Equal(t, c.receivers, b.Receivers(c.topic), name)
	}
}

func TestPublishingThroughTheBridgeAllocatesNothing(t *testing.T) {
	b := openFake(t, &fakeInstance{status: flow.Connected})
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
	assert.EqualValues(t, simtime.Stamp(5), (&bridges.Env{}).HandedOver(5))
	assert.EqualValues(t, simtime.Stamp(7), (&bridges.Env{Now: func() simtime.Stamp { return 7 }}).HandedOver(5))
}

func TestNames(t *testing.T) {
	for want, got := range map[string]fmt.Stringer{
		"disconnected": flow.Disconnected, "unexpectedly_disconnected": flow.UnexpectedlyDisconnected,
		"connecting": flow.Connecting, "connected": flow.Connected, "disconnecting": flow.Disconnecting,
		"status(9)": flow.Status(9), "file": bridges.KindFile, "network": bridges.KindNetwork,
		"reliable": flow.Reliable, "best_effort": flow.BestEffort,
		"transient_local": flow.TransientLocal, "volatile": flow.Volatile,
		"keep_last": flow.KeepLast, "keep_all": flow.KeepAll,
	} {
		assert.Equal(t, want, got.String())
	}
	for _, q := range []fmt.Stringer{flow.ReliabilityDefault, flow.DurabilityDefault, flow.HistoryDefault} {
		assert.Equal(t, "system_default", q.String())
	}
	text, err := flow.Connecting.MarshalText()
	require.NoError(t, err)
	assert.Equal(t, "connecting", string(text))
}

// variant is a bridge of another's type under a name of its own.
type variant struct{ bridges.Factory }

func (v variant) Info() bridges.Info {
	info := v.Factory.Info()
	info.Name = "tsv_variant"
	return info
}

func TestTwoBridgesMayShareAType(t *testing.T) {
	registry, err := bridges.NewRegistry(tsv, variant{tsv})
	require.NoError(t, err)
	assert.Equal(t, []string{"tsv", "tsv_variant"}, registry.Names())
	b, err := registry.Open("tsv_variant:x", bridges.Env{OutDir: t.TempDir()})
	require.NoError(t, err)
	assert.Equal(t, "tsv", b.Info().Type)
	require.NoError(t, b.Connect(t.Context()))
	require.NoError(t, b.Close(t.Context()))
}

// slow is an instance whose Connect takes its time: until it is disconnected, or for a
// while.
type slow struct {
	begun, ended chan struct{}
	connected    atomic.Bool
}

func (s *slow) Info() bridges.Info {
	return bridges.Info{Name: "slow", Type: "slow", Kind: bridges.KindNetwork, Summary: "slow", Connection: "ANY"}
}

func (s *slow) Register(*bridges.Plugin) error { return nil }

func (s *slow) NewInstance(bridges.Env) (bridges.Instance, error) { return s, nil }

func (s *slow) Status() flow.Status {
	if s.connected.Load() {
		return flow.Connected
	}
	return flow.Disconnected
}

func (s *slow) Connect(context.Context, string) error {
	close(s.begun)
	select {
	case <-s.ended:
	case <-time.After(200 * time.Millisecond):
	}
	s.connected.Store(true)
	return nil
}

func (s *slow) Disconnect(context.Context) error {
	s.connected.Store(false)
	close(s.ended)
	return nil
}

// A bridge that is closed while it connects isn't connected afterwards.
func TestCloseWhileConnecting(t *testing.T) {
	s := &slow{begun: make(chan struct{}), ended: make(chan struct{})}
	b, err := bridges.MustRegistry(s).Open("slow:", bridges.Env{})
	require.NoError(t, err)
	connected := make(chan error, 1)
	go func() { connected <- b.Connect(context.Background()) }()
	<-s.begun
	require.NoError(t, b.Close(context.Background()))
	require.NoError(t, <-connected)
	assert.Equal(t, flow.Disconnected, b.Status())
	assert.ErrorIs(t, b.Connect(t.Context()), flow.ErrClosed)
}

// Nor is one that is disconnected meanwhile.
func TestDisconnectWhileConnecting(t *testing.T) {
	s := &slow{begun: make(chan struct{}), ended: make(chan struct{})}
	b, err := bridges.MustRegistry(s).Open("slow:", bridges.Env{})
	require.NoError(t, err)
	connected := make(chan error, 1)
	go func() { connected <- b.Connect(context.Background()) }()
	<-s.begun
	require.NoError(t, b.Disconnect(t.Context()))
	require.NoError(t, <-connected)
	assert.Equal(t, flow.Disconnected, b.Status())
}

// What the status was at the end outlives the end.
func TestStatusAtEnd(t *testing.T) {
	for _, status := range []flow.Status{flow.Connected, flow.UnexpectedlyDisconnected, flow.Connecting} {
		instance := &fakeInstance{}
		b := openFake(t, instance)
		assert.Equal(t, flow.Disconnected, b.StatusAtEnd())
		require.NoError(t, b.Connect(t.Context()))
		assert.Equal(t, flow.Connected, b.StatusAtEnd())
		instance.status = status
		assert.Equal(t, status, b.StatusAtEnd())
		require.NoError(t, b.Close(t.Context()))
		assert.Equal(t, flow.Disconnected, b.Status())
		assert.Equal(t, status, b.StatusAtEnd())
		require.NoError(t, b.Close(t.Context()))
		assert.Equal(t, status, b.StatusAtEnd(), "of the first Close")
	}
}

// reacher is an instance that judges its peer by itself.
type reacher struct {
	*fakeInstance
	reached bool
}

func (r *reacher) Reached() bool { return r.reached }

// Having been Connected is not proof of a peer where the instance knows better.
func TestEverConnectedIsWhatTheInstanceKnows(t *testing.T) {
	r := &reacher{fakeInstance: &fakeInstance{}}
	b, err := bridges.MustRegistry(reachers{r}).Open("fake:", bridges.Env{})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	assert.Equal(t, flow.Connected, b.Status())
	assert.False(t, b.EverConnected())
	r.reached = true
	assert.True(t, b.EverConnected())
}

type reachers struct{ *reacher }

func (reachers) Info() bridges.Info { return (&fakeFactory{name: "fake"}).Info() }

func (reachers) Register(*bridges.Plugin) error { return nil }

func (f reachers) NewInstance(bridges.Env) (bridges.Instance, error) { return f.reacher, nil }

// counted is an instance whose connections come and go faster than anybody looks.
type counted struct{ *fakeInstance }

func (counted) Info() bridges.Info { return (&fakeFactory{name: "fake"}).Info() }

func (counted) Register(*bridges.Plugin) error { return nil }

func (f counted) NewInstance(bridges.Env) (bridges.Instance, error) { return f, nil }

func (counted) Diagnosis() bridges.Diagnosis { return bridges.Diagnosis{Connections: 1, Failures: 1} }

func TestEverConnectedThoughNobodyLooked(t *testing.T) {
	b, err := bridges.MustRegistry(counted{&fakeInstance{}}).Open("fake:", bridges.Env{})
	require.NoError(t, err)
	assert.Equal(t, flow.Disconnected, b.Status())
	assert.True(t, b.EverConnected())
}

// dialler is an instance that finds its peer when the test says so.
type dialler struct {
	*fakeInstance
	bridges.State
	last error
}

func (d *dialler) Status() flow.Status { return d.State.Status() }

func (d *dialler) Connect(ctx context.Context, connection string) error {
	if err := d.fakeInstance.Connect(ctx, connection); err != nil {
		return err
	}
	d.SetStatus(flow.Connecting)
	return nil
}

func (d *dialler) Disconnect(ctx context.Context) error {
	d.SetStatus(flow.Disconnected)
	return d.fakeInstance.Disconnect(ctx)
}

func (d *dialler) Diagnosis() bridges.Diagnosis { return bridges.Diagnosis{LastError: d.last} }

type diallerFactory struct {
	fakeFactory
	dialler *dialler
}

func (f *diallerFactory) NewInstance(bridges.Env) (bridges.Instance, error) { return f.dialler, nil }

func openDialler(t *testing.T) (*dialler, *bridges.Bridge) {
	t.Helper()
	d := &dialler{fakeInstance: &fakeInstance{}}
	registry, err := bridges.NewRegistry(&diallerFactory{fakeFactory{name: "fake", instance: d.fakeInstance}, d})
	require.NoError(t, err)
	b, err := registry.Open("fake:robot", bridges.Env{})
	require.NoError(t, err)
	return d, b
}

func TestAwaitEndsWhenThePeerIsThere(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	synctest.Test(t, func(t *testing.T) {
		d, b := openDialler(t)
		require.NoError(t, b.Connect(t.Context()))
		go func() {
			for _, status := range []flow.Status{flow.UnexpectedlyDisconnected, flow.Connecting, flow.Connected} {
				time.Sleep(time.Hour)
				d.SetStatus(status)
			}
		}()
		begun := time.Now()
		require.NoError(t, b.Await(t.Context()))
		assert.InDelta(t, 3*time.Hour, time.Since(begun), float64(time.Second), "a lost peer doesn't end it")
		assert.True(t, b.EverConnected())
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		assert.NoError(t, b.Await(ended), "there is nothing to wait for")
	})
}

func TestAwaitSaysWhyNot(t *testing.T) {
	refused := errors.New("robot refused")
	for name, c := range map[string]struct {
		prepare func(context.Context, *dialler, *bridges.Bridge)
		want    []error
	}{
		"not asked":    {func(context.Context, *dialler, *bridges.Bridge) {}, []error{flow.ErrNotConnected}},
		"disconnected": {connectThen(func(b *bridges.Bridge) error { return b.Disconnect(context.Background()) }), []error{flow.ErrNotConnected}},
		"closed":       {connectThen(func(b *bridges.Bridge) error { return b.Close(context.Background()) }), []error{flow.ErrClosed}},
		"refused": {func(ctx context.Context, d *dialler, b *bridges.Bridge) {
			d.connectErr = refused
			_ = b.Connect(ctx) // Await tells it again
		}, []error{refused}},
		"given up": {func(ctx context.Context, d *dialler, b *bridges.Bridge) {
			_ = b.Connect(ctx)
			d.err = refused
		}, []error{refused}},
		"outwaited": {func(ctx context.Context, d *dialler, b *bridges.Bridge) {
			_ = b.Connect(ctx)
			d.last = refused
		}, []error{flow.ErrNotConnected, context.DeadlineExceeded, refused}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, b := openDialler(t)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				c.prepare(ctx, d, b)
				err := b.Await(ctx)
				for _, want := range c.want {
					assert.ErrorIs(t, err, want)
				}
				assert.ErrorContains(t, err, `await bridge "fake" (robot): `)
			})
		})
	}
}

func connectThen(end func(*bridges.Bridge) error) func(context.Context, *dialler, *bridges.Bridge) {
	return func(ctx context.Context, _ *dialler, b *bridges.Bridge) { _ = errors.Join(b.Connect(ctx), end(b)) }
}

func TestAwaitOutlastsAReconnect(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	synctest.Test(t, func(t *testing.T) {
		d, b := openDialler(t)
		require.NoError(t, b.Connect(t.Context()))
		done := make(chan error, 1)
		go func() { done <- b.Await(t.Context()) }()
		time.Sleep(time.Hour)
		require.NoError(t, b.Connect(t.Context()), "connecting again first disconnects")
		time.Sleep(time.Hour)
		d.SetStatus(flow.Connected)
		require.NoError(t, <-done)
	})
}

func TestCheckOpensWithoutConnecting(t *testing.T) {
	registry := bridges.MustRegistry(tsv, &fakeFactory{name: "fake", instance: &fakeInstance{}})
	assert.NoError(t, registry.Check("tsv:drive.tsv", bridges.Env{}))
	assert.NoError(t, registry.Check("fake:anything", bridges.Env{}), "it is not a Checker")
	err := registry.Check("tsv:", bridges.Env{})
	assert.ErrorIs(t, err, bridges.ErrConnectionString)
	b, open := registry.Open("tsv:", bridges.Env{})
	require.NoError(t, open)
	assert.EqualError(t, b.Connect(t.Context()), err.Error())
	assert.ErrorIs(t, registry.Check("tvs:drive.tsv", bridges.Env{}), bridges.ErrUnknownBridge)
	assert.ErrorIs(t, registry.Check("drive.tsv", bridges.Env{}), bridges.ErrConnectionString)
}

func TestRegisteringBothDirections(t *testing.T) {
	publisher := func(i *fakeInstance, topic *bridges.PublishedTopic) (bridges.Publisher[*note], error) {
		return i.publisher(topic)
	}
	subscriber := func(i *fakeInstance, topic bridges.Topic, deliver func(*note)) error {
		return i.subscribe(topic, deliver)
	}
	instance := &fakeInstance{}
	factory := &fakeFactory{name: "fake", instance: instance, register: func(p *bridges.Plugin) error {
		return errors.Join(bridges.RegPublisher(p, "fake/Note", publisher), bridges.RegSubscriber(p, "fake/Note", subscriber))
	}}
	registry, err := bridges.NewRegistry(factory)
	require.NoError(t, err)
	plugin, err := registry.Plugin("fake")
	require.NoError(t, err)
	assert.Equal(t, []bridges.TypeInfo{{Go: "*bridges_test.note", Wire: "fake/Note", Publishes: true, Subscribes: true}}, plugin.Types())
	assert.ErrorIs(t, bridges.RegPublisher(plugin, "fake/Note", publisher), bridges.ErrDuplicate)
	assert.ErrorIs(t, bridges.RegSubscriber(plugin, "fake/Note", subscriber), bridges.ErrDuplicate)
	assert.ErrorIs(t, bridges.RegSubscriber(plugin, "fake/Other", subscriber), bridges.ErrDuplicate, "the first name stays")

	b, err := registry.Open("fake:", bridges.Env{})
	require.NoError(t, err)
	_, err = bridges.AddPublisher[*note](b, bridges.Topic{Name: "/out"})
	require.NoError(t, err)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/in"}, func(*note) {}))
	assert.Len(t, instance.topics, 1)
	assert.Contains(t, instance.deliver, "/in")
}

func TestInstancesOfAnotherTypeAreRefused(t *testing.T) {
	factory := &diallerFactory{fakeFactory: fakeFactory{name: "fake"}, dialler: &dialler{fakeInstance: &fakeInstance{}}}
	factory.register = func(p *bridges.Plugin) error {
		return bridges.RegPublisher(p, "fake/Note", func(i *fakeInstance, topic *bridges.PublishedTopic) (bridges.Publisher[*note], error) {
			return i.publisher(topic)
		})
	}
	b, err := bridges.MustRegistry(factory).Open("fake:", bridges.Env{})
	require.NoError(t, err)
	_, err = bridges.AddPublisher[*note](b, bridges.Topic{Name: "/out"})
	assert.ErrorContains(t, err, "an instance is a *bridges_test.dialler, its messages are for *bridges_test.fakeInstance")
}
