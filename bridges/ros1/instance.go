package ros1

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges"
)

// instance is one node. Its methods may be called from any goroutine.
type instance struct {
	env     bridges.Env
	limit   int64         // of a message that is published, bytes
	status  atomic.Uint32 // a bridges.Status
	byName  sync.Map      // of *topic by the bridge's name, for Listening
	journal journal

	// connecting is held by Connect and Disconnect.
	connecting sync.Mutex

	mu            sync.Mutex
	node          *node                    // guarded by mu: nil while disconnected
	topics        map[string]*topic        // guarded by mu: by the master's name, as the others
	subscriptions map[string]*subscription // guarded by mu
	services      map[string]*service      // guarded by mu
}

var (
	_ bridges.Checker   = (*instance)(nil)
	_ bridges.Instance  = (*instance)(nil)
	_ bridges.Audience  = (*instance)(nil)
	_ bridges.Diagnoser = (*instance)(nil)
)

func newInstance(env bridges.Env, limit int64) *instance {
	if env.Log == nil {
		env.Log = slog.New(slog.DiscardHandler)
	}
	return &instance{
		env: env, limit: limit, journal: journal{log: env.Log},
		topics: map[string]*topic{}, subscriptions: map[string]*subscription{}, services: map[string]*service{},
	}
}

// Status is Connected while the node is registered at a master.
func (i *instance) Status() bridges.Status { return bridges.Status(i.status.Load()) }

func (i *instance) setStatus(s bridges.Status) { i.status.Store(uint32(s)) }

// Diagnosis counts the registrations at a master as connections.
func (i *instance) Diagnosis() bridges.Diagnosis { return i.journal.diagnosis() }

// Listening reports whether somebody has subscribed to the topic; a latched topic is
// kept for those to come. It takes no lock.
func (i *instance) Listening(name string) bool {
	t, ok := i.byName.Load(name)
	return ok && t.(*topic).listening()
}

// Receivers counts those who have subscribed to the topic.
func (i *instance) Receivers(name string) int {
	t, ok := i.byName.Load(name)
	if !ok {
		return 0
	}
	return t.(*topic).receivers()
}

// Check reads a connection string as Connect does.
func (i *instance) Check(connection string) error {
	_, err := parseConnection(connection, os.Getenv)
	return err
}

// Connect starts the node, which looks for the master from then on.
func (i *instance) Connect(ctx context.Context, connection string) error {
	config, err := parseConnection(connection, os.Getenv)
	if err != nil {
		return err
	}
	i.connecting.Lock()
	defer i.connecting.Unlock()
	if err := i.disconnect(ctx); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.setStatus(bridges.Connecting)
	i.node = newNode(i, config)
	for _, t := range i.topics { // before the first subscriber comes
		t.open(i.node.server)
	}
	go i.node.run()
	return nil
}

// Disconnect delivers what is queued, for as long as ctx allows, takes the registrations
// back and ends all connections.
func (i *instance) Disconnect(ctx context.Context) error {
	i.connecting.Lock()
	defer i.connecting.Unlock()
	return i.disconnect(ctx)
}

// disconnect ends the node there is; connecting must be held.
func (i *instance) disconnect(ctx context.Context) error {
	i.mu.Lock()
	n := i.node
	i.node = nil
	for _, t := range i.topics {
		t.out.Store(nil)
	}
	i.mu.Unlock()
	if n == nil {
		return nil
	}
	err := n.stop(ctx)
	i.setStatus(bridges.Disconnected)
	return err
}

// addTopic makes the node a publisher of a topic, at once if it is connected.
func (i *instance) addTopic(t *topic) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if other, ok := i.topics[t.name]; ok {
		return fmt.Errorf("%w: %q is the same as %q", bridges.ErrTopicName, t.info.Name, other.info.Name)
	}
	i.topics[t.name] = t
	i.byName.Store(t.info.Name, t)
	if i.node != nil {
		t.open(i.node.server)
		i.node.wake()
	}
	return nil
}

func (i *instance) addSubscription(s *subscription) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, ok := i.subscriptions[s.name]; ok {
		return fmt.Errorf("%w: %q is subscribed to under another name", bridges.ErrTopicName, s.name)
	}
	i.subscriptions[s.name] = s
	if i.node != nil {
		i.node.wake()
	}
	return nil
}

func (i *instance) addService(s *service) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, ok := i.services[s.name]; ok {
		return fmt.Errorf("%w: %s is offered already", bridges.ErrService, s.name)
	}
	i.services[s.name] = s
	if i.node != nil {
		i.node.wake()
	}
	return nil
}

func (i *instance) topic(name string) *topic {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.topics[name]
}

func (i *instance) subscription(name string) *subscription {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.subscriptions[name]
}

func (i *instance) service(name string) *service {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.services[name]
}

// graph is all that the node has with the master.
type graph struct {
	topics        []*topic
	subscriptions []*subscription
	services      []*service
}

func (i *instance) graph() graph {
	i.mu.Lock()
	defer i.mu.Unlock()
	var g graph
	for _, t := range i.topics {
		g.topics = append(g.topics, t)
	}
	for _, s := range i.subscriptions {
		g.subscriptions = append(g.subscriptions, s)
	}
	for _, s := range i.services {
		g.services = append(g.services, s)
	}
	return g
}
