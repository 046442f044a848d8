package bridges_test

import (
	"context"
	"errors"
	"sync"

	"github.com/raybridge/raybridge/bridges"
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
		bridges.AddType[*note](p, "fake/Note"),
		bridges.AddPublisherCreator(p, func(i bridges.Instance, topic *bridges.PublishedTopic) (bridges.Publisher[*note], error) {
			return i.(*fakeInstance).publisher(topic)
		}),
		bridges.AddSubscriberCreator(p, func(i bridges.Instance, topic bridges.Topic, deliver func(*note)) error {
			return i.(*fakeInstance).subscribe(topic, deliver)
		}),
	)
}

func (f *fakeFactory) NewInstance(env bridges.Env) (bridges.Instance, error) {
	f.env = &env
	return f.instance, f.newErr
}

// fakeInstance is a scripted bridges.Instance and bridges.Failer.
type fakeInstance struct {
	mu         sync.Mutex
	status     bridges.Status
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

func (f *fakeInstance) Status() bridges.Status {
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
		f.status = bridges.Connected
	}
	return f.connectErr
}

func (f *fakeInstance) Disconnect(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
	f.status = bridges.Disconnected
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
