//go:build cgo && ros2dds

package ros2dds

import (
	"fmt"
	"strings"
	"time"

	"github.com/raybridge/raybridge/bridges/ros2dds/internal/cyclone"
)

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
	return fmt.Sprintf("%v: %s: policy %v: %s (%d times)", ErrIncompatibleQoS, m.at.name, m.policy, m.why(), m.times)
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
