package foxglove

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/internal/guard"
)

// session is one client. The reading goroutine owns it, except what has other comments.
type session struct {
	instance *instance
	client   *transport.WebSocket

	channels map[uint32]*clientChannel

	notice dropNotice // owned by the writing goroutine

	mu     sync.Mutex
	wanted map[string]bool   // guarded by mu: parameters
	topics map[uint32]*topic // guarded by mu: by subscription
	ids    map[*topic]uint32 // guarded by mu: the subscriptions
	lost   map[uint32]bool   // guarded by mu: subscriptions whose channels have gone, which the client may end yet
}

var _ transport.WebSocketSession = (*session)(nil)

func newSession(i *instance, c *transport.WebSocket) *session {
	return &session{
		instance: i, client: c, topics: map[uint32]*topic{}, ids: map[*topic]uint32{}, lost: map[uint32]bool{},
		channels: map[uint32]*clientChannel{}, wanted: map[string]bool{},
	}
}

// Open sends what a client is sent upon connection ("Server Info", "Advertise").
func (s *session) Open() error { return s.instance.enter(s) }

// Closed forgets the client.
func (s *session) Closed() { s.instance.leave(s) }

// Message handles a message of the client.
func (s *session) Message(kind transport.Opcode, data []byte) error {
	if kind == transport.OpBinary {
		return s.binary(data)
	}
	r, err := parseRequest(data)
	if err != nil {
		return s.refuse(err)
	}
	handle, ok := handlers[r.Op]
	if !ok {
		return s.refuse(fmt.Errorf("unknown op %q: %w", r.Op, errMalformed))
	}
	return handle(s, &r)
}

// handlers are the operations of text messages.
var handlers = map[string]func(*session, *request) error{
	"subscribe":                   (*session).subscribe,
	"unsubscribe":                 (*session).unsubscribe,
	"advertise":                   (*session).advertise,
	"unadvertise":                 (*session).unadvertise,
	"getParameters":               (*session).getParameters,
	"setParameters":               (*session).setParameters,
	"subscribeParameterUpdates":   (*session).subscribeParameters,
	"unsubscribeParameterUpdates": (*session).unsubscribeParameters,
}

func (s *session) binary(data []byte) error {
	if len(data) == 0 {
		return s.refuse(fmt.Errorf("empty binary message: %w", errMalformed))
	}
	switch data[0] {
	case opClientMessageData:
		m, err := parseClientMessage(data)
		if err != nil {
			return s.refuse(err)
		}
		return s.publish(m)
	case opClientServiceRequest:
		r, err := parseServiceRequest(data)
		if err != nil {
			return s.refuse(err)
		}
		return s.instance.services.call(s, r)
	default:
		return s.refuse(fmt.Errorf("unknown opcode %d: %w", data[0], errMalformed))
	}
}

// refuse tells the client of an error of its own and returns it, to be counted; nil means no
// error.
func (s *session) refuse(err error) error {
	if err != nil {
		s.remark(levelError, "%v", err)
	}
	return err
}

// remark tells the client of something, unless it doesn't read.
func (s *session) remark(level int, format string, args ...any) {
	message := guard.Excerpt(fmt.Sprintf(format, args...), guard.ReasonBytes)
	if data, err := marshal(status{Op: "status", Level: level, Message: message}); err == nil { // it is made of texts
		s.client.Tell(transport.OpText, data)
	}
}

// say sends a message as JSON. A client that doesn't read is being disconnected then.
func (s *session) say(v any) {
	data, err := marshal(v)
	if err != nil {
		s.instance.env.Log.Warn("answer a Foxglove client", "client", s.client.Remote(), "error", err)
		return
	}
	s.post(data)
}

func (s *session) post(text []byte) {
	_ = s.client.Post(transport.OpText, text) // ErrControl ends the connection
}

// receiveTime has the client told the time of a clock.
func (s *session) receiveTime(t *topic) {
	if ticks := t.time.Load(); ticks != nil {
		s.client.Subscribe(ticks, transport.OpBinary, []byte{opTime}, transport.Receiver{})
	}
}

// subscribe begins to send topics ("Subscribe").
func (s *session) subscribe(r *request) error {
	return s.refuse(each(r.Subscriptions, func(sub subscription) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		t := s.instance.topic(sub.ChannelID) // under mu: lose comes before or after it
		other, subscribed := s.ids[t]
		switch taken := s.topics[sub.ID] != nil; {
		case t == nil:
			s.remark(levelWarning, "channel %d is not there: subscription %d is ignored", sub.ChannelID, sub.ID)
			return nil
		case taken:
			s.remark(levelError, "subscription %d is in use: subscription to channel %d is ignored", sub.ID, sub.ChannelID)
			return nil
		case subscribed:
			s.remark(levelWarning, "channel %d is subscribed to as %d already: subscription %d is ignored", sub.ChannelID, other, sub.ID)
			return nil
		}
		out, ok := t.Stream()
		if !ok {
			return nil // the server is going away
		}
		s.topics[sub.ID], s.ids[t] = t, sub.ID
		delete(s.lost, sub.ID)
		s.client.Subscribe(out, transport.OpBinary, messagePrefix(sub.ID), transport.Receiver{Strict: true})
		return nil
	}))
}

// unsubscribe ends subscriptions ("Unsubscribe").
func (s *session) unsubscribe(r *request) error {
	return s.refuse(each(r.SubscriptionIDs, func(id uint32) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		t, ok := s.topics[id]
		if !ok {
			if !s.lost[id] {
				s.remark(levelWarning, "subscription %d is not there", id)
			}
			delete(s.lost, id)
			return nil
		}
		delete(s.topics, id)
		delete(s.ids, t)
		if out, ok := t.Stream(); ok {
			s.client.Unsubscribe(out)
		}
		return nil
	}))
}

// lose ends the subscription to a topic that has gone, if there is one.
func (s *session) lose(t *topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.ids[t]
	if !ok {
		return
	}
	delete(s.topics, id)
	delete(s.ids, t)
	if len(s.lost) >= guard.ClientTopics { // of a client that ends none
		clear(s.lost)
	}
	s.lost[id] = true
}

// Beat tells the client what it loses.
func (s *session) Beat() {
	s.notice.counts = s.client.Counts(s.notice.counts)
	if message := s.notice.next(); message != nil {
		s.say(message)
	}
}

// dropNotice is what a client was told of its losses.
type dropNotice struct {
	counts []transport.StreamCounts
	seen   map[*transport.Stream]int64 // losses up to now
	shown  bool
	quiet  int // beats without a loss
}

const (
	dropNoticeID = "raybridge/dropped"
	// quietBeats is after how many beats without a loss the notice is taken back.
	quietBeats = 5
)

// next returns the message of this beat, nil for none.
func (n *dropNotice) next() any {
	if n.seen == nil {
		n.seen = map[*transport.Stream]int64{}
	}
	if len(n.seen) > len(n.counts) {
		maps.DeleteFunc(n.seen, func(stream *transport.Stream, _ int64) bool {
			return !slices.ContainsFunc(n.counts, func(d transport.StreamCounts) bool { return d.Stream == stream })
		})
	}
	var lost int64
	var worst *transport.StreamCounts
	var most int64
	for i := range n.counts {
		d := &n.counts[i]
		slow := d.Drops[flow.CausePeerSlow]
		now := slow - n.seen[d.Stream]
		n.seen[d.Stream] = slow
		if lost += max(now, 0); now > most {
			worst, most = d, now
		}
	}
	switch {
	case lost > 0:
		n.shown, n.quiet = true, 0
		return status{
			Op: "status", Level: levelWarning, ID: dropNoticeID,
			Message: fmt.Sprintf("this client reads too slowly: %s dropped since the last notice, most of them (%d) on %s",
				fault.Count(lost, "message"), most, worst.Stream.Name()),
		}
	case !n.shown:
		return nil
	}
	if n.quiet++; n.quiet < quietBeats {
		return nil
	}
	n.shown = false
	return removeStatus{Op: "removeStatus", StatusIDs: []string{dropNoticeID}}
}
