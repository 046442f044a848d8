//go:build cgo && peers && ros2dds

package ros2dds_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest/process"
)

// peerSettings are the Cyclone peers' besides: what the bridge sets in its code, and
// room for bursts of small messages.
const peerSettings = loopback + `,<CycloneDDS><Domain id="any"><General><MaxMessageSize>65500B</MaxMessageSize><FragmentSize>65000B</FragmentSize></General>` +
	`<Internal><SocketReceiveBufferSize max="8MiB"/><SocketSendBufferSize max="8MiB"/><DeliveryQueueMaxSamples>100000</DeliveryQueueMaxSamples></Internal></Domain></CycloneDDS>`

// event is a line that a peer prints.
type event struct {
	Event          string          `json:"event"`
	Topic          string          `json:"topic"`
	Type           string          `json:"type"`
	GUID           string          `json:"guid"`
	UserData       string          `json:"user_data"`
	Reliable       bool            `json:"reliable"`
	TransientLocal bool            `json:"transient_local"`
	DeadlineNs     int64           `json:"deadline_ns"`
	AtNs           int64           `json:"at_ns"`
	Policy         int             `json:"policy"`
	N              int             `json:"n"`
	Value          json.RawMessage `json:"value"`
}

// subscriber is a peer that reads every topic there is, or writes as it is told.
type subscriber struct {
	t       *testing.T
	process *process.Process

	mu            sync.Mutex
	read          int             // guarded by mu: how much of the output was parsed
	events        []event         // guarded by mu
	matched       map[string]bool // guarded by mu: by DDS topic
	received      map[string]int  // guarded by mu
	subscriptions map[string]int  // guarded by mu: how many read what it writes
}

// cycloneSubscriber starts the Cyclone peer; mode is "subscribe" or "count", or "obey" and a
// port.
func cycloneSubscriber(t *testing.T, domain int, mode ...string) *subscriber {
	t.Helper()
	return start(t, process.Program(cyclonePeer(t), append([]string{strconv.Itoa(domain)}, mode...)...).With("CYCLONEDDS_URI="+peerSettings))
}

// fastSubscriber starts the Fast DDS peer.
func fastSubscriber(t *testing.T, domain int, mode ...string) *subscriber {
	t.Helper()
	return start(t, process.Program(fastPeer(t), append([]string{strconv.Itoa(domain)}, mode...)...))
}

func start(t *testing.T, c process.Command) *subscriber {
	t.Helper()
	s := &subscriber{t: t, process: process.Start(t, c), matched: map[string]bool{}, received: map[string]int{}, subscriptions: map[string]int{}}
	s.process.Expect(t, `"ready"`)
	return s
}

// poll parses what was printed since.
func (s *subscriber) poll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	output := s.process.Output()
	rest := output[s.read:]
	end := strings.LastIndexByte(rest, '\n') + 1
	s.read += end
	for line := range strings.Lines(rest[:end]) {
		var e event
		if !strings.HasPrefix(line, "{") {
			continue
		}
		if !assert.NoError(s.t, json.Unmarshal([]byte(line), &e), line) {
			continue
		}
		s.events = append(s.events, e)
		switch e.Event {
		case "matched":
			s.matched[e.Topic] = true
		case "unmatched":
			s.matched[e.Topic] = false
		case "message":
			s.received[e.Topic]++
		case "subscriptions":
			s.subscriptions[e.Topic] = e.N
		}
	}
}

// ready reports whether the peer has found the writer of a ROS topic.
func (s *subscriber) ready(topic string) bool {
	s.poll()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.matched["rt"+topic]
}

// count returns how many messages of a ROS topic have arrived.
func (s *subscriber) count(topic string) int {
	s.poll()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received["rt"+topic]
}

// find returns the events that accept takes.
func (s *subscriber) find(accept func(event) bool) []event {
	s.poll()
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []event
	for _, e := range s.events {
		if accept(e) {
			list = append(list, e)
		}
	}
	return list
}

// await waits for an event and returns the last one.
func (s *subscriber) await(what string, accept func(event) bool) event {
	s.t.Helper()
	var found []event
	require.Eventually(s.t, func() bool {
		found = s.find(accept)
		return len(found) > 0
	}, patience, 5*time.Millisecond, "%s", what)
	return found[len(found)-1]
}
