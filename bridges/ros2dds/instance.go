//go:build cgo && ros2dds

package ros2dds

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/ros2dds/internal/cyclone"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
)

// instance is one node. Its methods may be called from any goroutine.
type instance struct {
	bridges.State
	log    *slog.Logger
	byName sync.Map // of *topic, for Listening

	// retrying is nil if Connect succeeded at once. Connect and Disconnect alone use it, which
	// bridges.Bridge calls one after the other.
	retrying *retrying

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

	_ bridges.Withdrawer = (*instance)(nil)
)

func newInstance(env bridges.Env) (bridges.Instance, error) { return &instance{log: env.Log}, nil }

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

// Withdraw takes a topic back, and ends its writer.
func (i *instance) Withdraw(info *bridges.PublishedTopic) {
	i.mu.Lock()
	found, ok := i.byName.LoadAndDelete(info.Name)
	if !ok {
		i.mu.Unlock()
		return
	}
	t := found.(*topic)
	i.topics = slices.DeleteFunc(slices.Clone(i.topics), func(other *topic) bool { return other == t })
	var err error
	if c := i.connection; c != nil {
		err = c.close(t)
	}
	i.mu.Unlock()
	if err != nil {
		i.failed(err)
	}
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
	i.disconnect(ctx)
	i.SetStatus(flow.Connecting)
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
		i.SetStatus(flow.UnexpectedlyDisconnected)
		return err
	}
	i.SetStatus(flow.Connected)
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
	i.disconnect(ctx)
	return nil
}

// disconnect leaves the domain, or tries no longer to take part in it.
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
		i.SetStatus(flow.Disconnecting)
		c.leave(ctx)
		i.tellMismatches() // those that came after the last look
	}
	i.SetStatus(flow.Disconnected)
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

// retrying is a goroutine that goes on trying to take part in a domain.
type retrying struct {
	stop context.CancelFunc
	done chan struct{} // closed when the goroutine has ended
}

// tryAgain starts it after a first attempt that failed with err; end ends it.
func (i *instance) tryAgain(s settings, err error) *retrying {
	ctx, stop := context.WithCancel(context.Background())
	r := &retrying{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		i.keepTrying(ctx, s, err)
	}()
	return r
}

// end tries no longer; an attempt that is under way ends first.
func (r *retrying) end() {
	r.stop()
	<-r.done
}

// words are the lines about the domain.
var words = transport.Words{
	Connected: "ros2dds: takes part in the domain",
	Failed:    "ros2dds: can't take part in the domain; will try again",
	GaveUp:    "ros2dds: gave up taking part in the domain",
}

// keepTrying connects as settings.retry says, after a first attempt that failed with err, until
// it is connected, gives up or ctx ends.
func (i *instance) keepTrying(ctx context.Context, s settings, err error) {
	first := err
	var journal transport.ConnectionLog // of lines alone: attempt counts
	journal.Begin(i.log, words)
	gaveUp := transport.Keep(ctx, s.retry, func() (bool, error) {
		if err := first; err != nil {
			first = nil
			return false, err
		}
		err := i.attempt(ctx, s)
		if err == nil {
			journal.Connected("domain", s.domain)
		}
		return false, err
	}, journal.Lost)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.gaveUp = gaveUp
}

// Err returns nil, or that the attempts to take part in the domain have come to their
// end.
func (i *instance) Err() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.gaveUp
}

// lookInterval is how often a connection looks for readers and writers that don't match.
// They are counted by the library's threads, so that nothing else has to ask.
const lookInterval = time.Second

// endpoint is what topics and subscriptions have in common: the writer or reader that
// each connection has of them.
type endpoint struct {
	name   string // ROS 2's, of the topic or service
	writes bool
	qos    cyclone.EndpointQoS
	events cyclone.Events
	told   map[cyclone.PolicyID]bool // guarded by the instance's mu: policies that were logged
}

// mismatch is a policy by which others' endpoints don't match one of this side.
type mismatch struct {
	at     *endpoint
	policy cyclone.PolicyID
	times  int
}

// mismatches lists those that there have been at an endpoint.
func (e *endpoint) mismatches(list []mismatch) []mismatch {
	for policy, times := range e.events.Incompatible() {
		list = append(list, mismatch{e, policy, times})
	}
	return list
}

// why says what the two sides want.
func (m mismatch) why() string {
	if m.at.writes {
		return m.readersAsk()
	}
	return m.writersOffer()
}

func (m mismatch) readersAsk() string {
	switch qos := m.at.qos; {
	case m.policy == cyclone.Reliability:
		return "readers ask for reliable, best_effort is offered"
	case m.policy == cyclone.Durability && !qos.TransientLocal:
		return "readers ask for transient_local, volatile is offered"
	case m.policy == cyclone.Deadline && qos.Deadline == 0:
		return "readers ask for a deadline, none is offered"
	case m.policy == cyclone.Deadline:
		return fmt.Sprintf("readers ask for a deadline shorter than %v, which is offered", qos.Deadline)
	}
	return fmt.Sprintf("readers ask for another %v than is offered", m.policy)
}

func (m mismatch) writersOffer() string {
	switch m.policy {
	case cyclone.Reliability:
		return "writers offer best_effort, reliable is asked for"
	case cyclone.Durability:
		return "writers offer volatile, transient_local is asked for"
	case cyclone.Deadline:
		return fmt.Sprintf("writers offer no deadline of %v or less, which is asked for", m.at.qos.Deadline)
	}
	return fmt.Sprintf("writers offer another %v than is asked for", m.policy)
}

// Error says it for the diagnosis.
func (m mismatch) Error() string {
	return fmt.Sprintf("%v: %s: policy %v: %s (%s)", ErrIncompatibleQoS, m.at.name, m.policy, m.why(), fault.Count(m.times, "time"))
}

// Unwrap returns ErrIncompatibleQoS.
func (m mismatch) Unwrap() error { return ErrIncompatibleQoS }

// faults are several errors in one line.
type faults []error

func (f faults) Error() string {
	texts := make([]string, len(f))
	for n, err := range f {
		texts[n] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns all of them.
func (f faults) Unwrap() []error { return f }

// mismatches lists those of all topics and subscriptions; mu must be held.
func (i *instance) mismatches() (list []mismatch) {
	for _, e := range i.endpoints() {
		list = e.mismatches(list)
	}
	return list
}

// tellMismatches logs each policy that keeps others away from a topic once.
func (i *instance) tellMismatches() {
	i.mu.Lock()
	var news []mismatch
	for _, m := range i.mismatches() {
		if m.at.told[m.policy] {
			continue
		}
		if m.at.told == nil {
			m.at.told = map[cyclone.PolicyID]bool{}
		}
		m.at.told[m.policy] = true
		news = append(news, m)
	}
	i.mu.Unlock()
	for _, m := range news {
		i.log.Warn("ros2dds: incompatible quality of service, nothing is exchanged; change this side's (qos in the configuration) or the other's",
			"topic", m.at.name, "policy", m.policy.String(), "why", m.why())
	}
}
