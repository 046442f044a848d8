//go:build cgo && ros2dds

package ros2dds

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros"
)

// instance is one node. Its methods may be called from any goroutine.
type instance struct {
	log    *slog.Logger
	status atomic.Uint32 // a bridges.Status
	byName sync.Map      // of *topic, for Listening

	// change is held while it connects or disconnects.
	change   sync.Mutex
	retrying *retrying // guarded by change: nil if Connect succeeded at once

	mu            sync.Mutex
	topics        []*topic          // guarded by mu: in the order of addition
	subscriptions []*subscription   // guarded by mu: in the order of addition
	services      []*service        // guarded by mu: in the order of addition
	connection    *connection       // guarded by mu: nil while disconnected
	diagnosis     bridges.Diagnosis // guarded by mu
	gaveUp        error             // guarded by mu
}

var (
	_ bridges.Checker   = (*instance)(nil)
	_ bridges.Instance  = (*instance)(nil)
	_ bridges.Audience  = (*instance)(nil)
	_ bridges.Diagnoser = (*instance)(nil)
	_ bridges.Failer    = (*instance)(nil)
	_ topics            = (*instance)(nil)
)

func newInstance(env bridges.Env) (bridges.Instance, error) {
	if env.Log == nil {
		env.Log = slog.New(slog.DiscardHandler)
	}
	return &instance{log: env.Log}, nil
}

// publish adds a topic, with a writer at once if there is a connection.
func (i *instance) publish(info *bridges.PublishedTopic, typeName string) (ros.Send, error) {
	if err := checkTopic(info.Name); err != nil {
		return nil, err
	}
	qos, err := endpointQoS(info.QoS, typeName)
	if err != nil {
		return nil, err
	}
	t := &topic{endpoint: endpoint{name: info.Name, writes: true, qos: qos}, instance: i, info: info, typeName: typeName}
	i.mu.Lock()
	defer i.mu.Unlock()
	if c := i.connection; c != nil {
		if err := errors.Join(c.open(t), c.announce()); err != nil {
			return nil, err
		}
	}
	i.topics = append(i.topics, t)
	i.byName.Store(info.Name, t)
	return t.send, nil
}

// subscribe adds a subscription, with a reader at once if there is a connection.
func (i *instance) subscribe(topic bridges.Topic, typeName string, in ros.Inbox) error {
	if err := checkTopic(topic.Name); err != nil {
		return err
	}
	qos, err := endpointQoS(topic.QoS, typeName)
	if err != nil {
		return err
	}
	s := &subscription{endpoint: endpoint{name: topic.Name, qos: qos}, instance: i, typeName: typeName, inbox: in}
	i.mu.Lock()
	defer i.mu.Unlock()
	if c := i.connection; c != nil {
		if err := errors.Join(c.listen(s), c.announce()); err != nil {
			return err
		}
	}
	i.subscriptions = append(i.subscriptions, s)
	return nil
}

func checkTopic(name string) error {
	if !ros.ValidTopic(name) {
		return fmt.Errorf("%w %q: ROS 2 wants names such as /lidar/points: letters, digits and single underscores after each slash", bridges.ErrTopicName, name)
	}
	return nil
}

// Status is Connected while the node takes part in the domain.
func (i *instance) Status() bridges.Status { return bridges.Status(i.status.Load()) }

// Listening reports whether the topic has a reader, or keeps messages for those to come.
// It takes no lock.
func (i *instance) Listening(name string) bool {
	t, ok := i.byName.Load(name)
	return ok && t.(*topic).heard()
}

// Receivers counts the topic's matched readers.
func (i *instance) Receivers(name string) int {
	t, ok := i.byName.Load(name)
	if !ok {
		return 0
	}
	return t.(*topic).events.Matched()
}

// Check reads a connection string as Connect does.
func (i *instance) Check(connection string) error {
	_, err := parseConnection(connection, os.Getenv)
	return err
}

// Connect takes part in the domain, with a writer or reader for each topic that is known.
// If the library can't, it is tried again as the connection string says.
func (i *instance) Connect(ctx context.Context, connection string) error {
	s, err := parseConnection(connection, os.Getenv)
	if err != nil {
		return err
	}
	i.change.Lock()
	defer i.change.Unlock()
	i.disconnect(ctx)
	i.status.Store(uint32(bridges.Connecting))
	if err := i.attempt(ctx, s); err != nil {
		i.retrying = i.tryAgain(s, err)
	}
	return nil
}

// attempt connects once.
func (i *instance) attempt(ctx context.Context, s settings) error {
	c, err := i.connect(s)
	if err != nil {
		if c != nil {
			c.leave(ctx)
		}
		i.failed(err)
		i.status.Store(uint32(bridges.UnexpectedlyDisconnected))
		return err
	}
	i.status.Store(uint32(bridges.Connected))
	return nil
}

// connect returns what it has made, also on an error.
func (i *instance) connect(s settings) (*connection, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	c, err := join(s)
	if err != nil {
		return nil, err
	}
	for _, t := range i.topics {
		err = errors.Join(err, c.open(t))
	}
	for _, sub := range i.subscriptions {
		err = errors.Join(err, c.listen(sub))
	}
	for _, s := range i.services {
		err = errors.Join(err, c.serve(i, s))
	}
	if err = errors.Join(err, c.announce()); err != nil {
		return c, err
	}
	i.connection = c
	c.look(i.tellMismatches)
	i.diagnosis.Connections++
	return c, nil
}

// Disconnect delivers what waits, for as long as ctx allows, and leaves the domain.
func (i *instance) Disconnect(ctx context.Context) error {
	i.change.Lock()
	defer i.change.Unlock()
	i.disconnect(ctx)
	return nil
}

// disconnect leaves the domain, or tries no longer to take part in it; change must be
// held.
func (i *instance) disconnect(ctx context.Context) {
	if i.retrying != nil {
		i.retrying.end()
		i.retrying = nil
	}
	i.mu.Lock()
	c := i.connection
	i.connection, i.gaveUp = nil, nil
	i.mu.Unlock()
	if c != nil {
		i.status.Store(uint32(bridges.Disconnecting))
		c.leave(ctx)
		i.tellMismatches() // those that came after the last look
	}
	i.status.Store(uint32(bridges.Disconnected))
}

// failed keeps an error of the library for the diagnosis.
func (i *instance) failed(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.diagnosis.Failures++
	i.diagnosis.LastError = err
}

// malformed counts a message that couldn't be read, and tells of the first.
func (i *instance) malformed(err error) {
	i.mu.Lock()
	i.diagnosis.Malformed++
	i.diagnosis.LastError = err
	first := i.diagnosis.Malformed == 1
	i.mu.Unlock()
	if first {
		i.log.Warn("ros2dds: a message can't be read; more are only counted", "error", err)
	}
}

// Diagnosis counts participations, failures to take part, errors of the library and
// malformed messages. Its LastError tells too of all quality of service by which readers
// or writers didn't match.
func (i *instance) Diagnosis() bridges.Diagnosis {
	i.mu.Lock()
	defer i.mu.Unlock()
	d := i.diagnosis
	mismatches := i.mismatches()
	if len(mismatches) == 0 {
		return d
	}
	var all faults
	if d.LastError != nil {
		all = append(all, d.LastError)
	}
	for _, m := range mismatches {
		all = append(all, m)
	}
	d.LastError = all
	return d
}

// endpoints lists those of all topics, subscriptions and services; mu must be held.
func (i *instance) endpoints() []*endpoint {
	list := make([]*endpoint, 0, len(i.topics)+len(i.subscriptions)+2*len(i.services))
	for _, t := range i.topics {
		list = append(list, &t.endpoint)
	}
	for _, s := range i.subscriptions {
		list = append(list, &s.endpoint)
	}
	for _, s := range i.services {
		list = append(list, &s.requests, &s.replies)
	}
	return list
}
