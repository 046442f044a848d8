package bridges_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
)

// dialler is an instance that finds its peer when the test says so.
type dialler struct {
	*fakeInstance
	bridges.State
	last error
}

func (d *dialler) Status() bridges.Status { return d.State.Status() }

func (d *dialler) Connect(ctx context.Context, connection string) error {
	if err := d.fakeInstance.Connect(ctx, connection); err != nil {
		return err
	}
	d.SetStatus(bridges.Connecting)
	return nil
}

func (d *dialler) Disconnect(ctx context.Context) error {
	d.SetStatus(bridges.Disconnected)
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
			for _, status := range []bridges.Status{bridges.UnexpectedlyDisconnected, bridges.Connecting, bridges.Connected} {
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
		"not asked":    {func(context.Context, *dialler, *bridges.Bridge) {}, []error{bridges.ErrNotConnected}},
		"disconnected": {connectThen(func(b *bridges.Bridge) error { return b.Disconnect(context.Background()) }), []error{bridges.ErrNotConnected}},
		"closed":       {connectThen(func(b *bridges.Bridge) error { return b.Close(context.Background()) }), []error{bridges.ErrClosed}},
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
		}, []error{bridges.ErrNotConnected, context.DeadlineExceeded, refused}},
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
		d.SetStatus(bridges.Connected)
		require.NoError(t, <-done)
	})
}

func TestCheckOpensWithoutConnecting(t *testing.T) {
	registry := bridges.MustRegistry(Factory{}, &fakeFactory{name: "fake", instance: &fakeInstance{}})
	assert.NoError(t, registry.Check("tsv:drive.tsv", bridges.Env{}))
	assert.NoError(t, registry.Check("fake:anything", bridges.Env{}), "it is no Checker")
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
