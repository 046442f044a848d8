package rosbridge

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/bridges/internal/rosbridgev2"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/internal/guard"
)

// level is how much a client wants to be told (protocol, section 3.2).
type level int

// Levels: each has those before it.
const (
	levelNone level = iota
	levelError
	levelWarning
	levelInfo
)

// levels are the names of the levels.
var levels = []string{levelNone: "none", levelError: "error", levelWarning: "warning", levelInfo: "info"}

// session is one client of the server. Its methods run on the client's reading goroutine,
// except appeared.
type session struct {
	server     *server
	client     *transport.WebSocket
	fragments  rosbridgev2.Fragments
	advertised map[string]bool // topics that it said to publish
	level      atomic.Int32    // a level: what it wants to be told

	mu     sync.Mutex
	wanted map[string]*interest // guarded by mu: subscriptions by topic
}

// interest is what a client wants of one topic, by the ids of its subscriptions.
type interest struct {
	typ    string // short name, "" for whatever it is
	byID   map[string]wish
	active *wish // as the stream has it, nil while it has none
	held   int   // bytes that the client is charged for it
}

// wish is how a client wants a topic's messages.
type wish struct {
	form  int
	every time.Duration
	queue int // how many wait for their time
}

func newSession(s *server, c *transport.WebSocket) *session {
	session := &session{server: s, client: c, advertised: map[string]bool{}, wanted: map[string]*interest{}}
	session.fragments.Holder = c
	session.level.Store(int32(levelError)) // the protocol's default
	return session
}

// Open notes that the client is there.
func (s *session) Open() error {
	s.server.enter(s)
	return nil
}

// Closed notes that the client has gone.
func (s *session) Closed() { s.server.leave(s) }

// Beat has nothing to do: the WebSocket pings.
func (s *session) Beat() {}

// Message does what a frame says. What can't be done is told to the client; what isn't of
// the protocol is an error too, which doesn't end the connection.
func (s *session) Message(_ transport.Opcode, data []byte) error {
	f, err := rosbridgev2.Parse(data, false)
	if err == nil && f.Op == "fragment" {
		var whole []byte
		if whole, err = s.fragments.Add(&f); err == nil && whole == nil {
			return nil
		}
		if data = whole; err == nil {
			f, err = rosbridgev2.Parse(whole, false)
		}
	}
	if err == nil && f.Op == "call_service" {
		return s.call(data)
	}
	if err == nil {
		err = s.operate(&f)
	}
	if err != nil {
		s.tell(levelError, &f, err.Error())
	}
	return err
}

// errOperation says that the server doesn't do what a client asks.
var errOperation = errors.New("rosbridge operation refused")

// operate does one operation. The verbs are the client's: what it subscribes to we publish.
func (s *session) operate(f *rosbridgev2.Frame) error {
	switch f.Op {
	case "subscribe":
		return s.subscribe(f)
	case "unsubscribe":
		return s.unsubscribe(f)
	case "advertise":
		return s.advertise(f)
	case "unadvertise":
		return s.unadvertise(f)
	case "publish":
		return s.publish(f)
	case "set_level", "status_level":
		return s.setLevel(f)
	case "status", "service_response":
		return nil
	default:
		return fmt.Errorf("%w: %s", errOperation, f.Op)
	}
}

// setLevel sets how much the client is told from now on. A bad level changes nothing.
func (s *session) setLevel(f *rosbridgev2.Frame) error {
	n := slices.Index(levels, f.Level)
	if n < 0 {
		return fmt.Errorf("%w: level %q: want info, warning, error or none", errOperation, f.Level)
	}
	s.level.Store(int32(n))
	s.tell(levelInfo, f, "level is "+f.Level)
	return nil
}

// tell tells the client what became of an operation, if it wants to know.
func (s *session) tell(l level, f *rosbridgev2.Frame, text string) {
	if level(s.level.Load()) < l {
		return
	}
	status := rosbridgev2.StatusMessage{Level: levels[l], Text: guard.Excerpt(text, guard.ReasonBytes)}
	if f.Form == rosbridgev2.JSON {
		status.ID = f.ID
	}
	s.client.Tell(transport.OpText, rosbridgev2.AppendStatus(nil, status))
}

// short makes ROS 1's name of a type's name in either version, to compare them.
func short(typ string) string { return ros.ROS1.TypeName(typ) }

// subscribe notes a subscription. A topic that isn't there yet, of a type that the client
// names, may come.
func (s *session) subscribe(f *rosbridgev2.Frame) error {
	w := wish{every: time.Duration(max(f.ThrottleRate, 0)) * time.Millisecond, queue: min(max(f.QueueLength, 0), guard.ThrottledMessages)}
	switch f.Compression {
	case "", "none":
	case "cbor":
		w.form = formCBOR
	case "cbor-raw":
		w.form = formRaw
	default:
		return fmt.Errorf("%w: subscribe %q: compression %q is not spoken; there are none, cbor and cbor-raw", errOperation, f.Topic, f.Compression)
	}
	if err := rosbridgev2.CheckName(f.Topic); err != nil {
		return err
	}
	if f.Type == "" && s.server.typeOf(f.Topic) == "" {
		return fmt.Errorf("%w: subscribe %q: there is no such topic, and no type is given", errOperation, f.Topic)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.server.topic(f.Topic) // under mu: if it appears from now on, appeared is told of it
	in := s.wanted[f.Topic]
	if in == nil {
		if len(s.wanted) >= guard.ClientTopics {
			return fmt.Errorf("%w: subscribe %q: %d topics are enough for one client", errOperation, f.Topic, guard.ClientTopics)
		}
		in = &interest{typ: short(f.Type), byID: map[string]wish{}}
	}
	_, known := in.byID[string(f.ID)]
	if !known && len(in.byID) >= guard.TopicSubscriptions {
		return fmt.Errorf("%w: subscribe %q: %d subscriptions to one topic", errOperation, f.Topic, guard.TopicSubscriptions)
	}
	if t != nil && f.Type != "" && short(f.Type) != short(t.wire()) {
		return fmt.Errorf("%w: subscribe %q as %q: it is %q", errOperation, f.Topic, f.Type, s.server.ros.TypeName(t.wire()))
	}
	if t != nil && t.foreign && w.form == formRaw {
		return fmt.Errorf("%w: subscribe %q: its messages have no serialized form", errOperation, f.Topic)
	}
	if !known {
		if err := s.charge(in, f); err != nil {
			return err
		}
	}
	s.wanted[f.Topic] = in
	in.byID[string(f.ID)] = w
	if t == nil {
		s.tell(levelWarning, f, fmt.Sprintf("subscribe %q: the topic isn't there yet", f.Topic))
		return nil
	}
	s.arrange(t, in)
	s.tell(levelInfo, f, fmt.Sprintf("subscribed to %q", f.Topic))
	return nil
}

// charge counts a subscription's memory; mu must be held.
func (s *session) charge(in *interest, f *rosbridgev2.Frame) error {
	n := guard.EntryBytes + len(f.ID)
	if len(in.byID) == 0 {
		n += 2*guard.EntryBytes + len(f.Topic) + len(f.Type)
	}
	if err := s.client.Hold(n); err != nil {
		return fmt.Errorf("%w: subscribe %q: %w", errOperation, f.Topic, err)
	}
	in.held += n
	return nil
}

// drop forgets a topic that the client wanted; mu must be held.
func (s *session) drop(name string) {
	s.client.Release(s.wanted[name].held)
	delete(s.wanted, name)
}

// appeared subscribes to a topic that the client has asked for before it was there. It is
// called by any goroutine.
func (s *session) appeared(t *topic) {
	s.mu.Lock()
	in := s.wanted[t.Info.Name]
	var problem error
	switch {
	case in == nil:
	case in.typ != "" && in.typ != short(t.wire()):
		s.drop(t.Info.Name)
		problem = fmt.Errorf("%w: subscribe %q as %q: it is %q", errOperation, t.Info.Name, in.typ, s.server.ros.TypeName(t.wire()))
	default:
		s.arrange(t, in)
	}
	s.mu.Unlock()
	if problem != nil {
		s.tell(levelError, &rosbridgev2.Frame{}, problem.Error())
	}
}

// vanished notes that a topic isn't published any more.
func (s *session) vanished(t *topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in := s.wanted[t.Info.Name]; in != nil {
		in.active = nil
	}
}

// arrange makes the stream's subscription what the wishes come to: the rawest form, the
// shortest time and the longest queue; mu must be held.
func (s *session) arrange(t *topic, in *interest) {
	var all *wish
	for _, w := range in.byID {
		if all == nil {
			all = &w
			continue
		}
		all.form, all.every, all.queue = max(all.form, w.form), min(all.every, w.every), max(all.queue, w.queue)
	}
	stream, ok := t.Stream()
	switch {
	case !ok, all != nil && in.active != nil && *all == *in.active:
		return
	case in.active != nil:
		s.client.Unsubscribe(stream)
	}
	if in.active = all; all == nil {
		return
	}
	kind := transport.Opcode(transport.OpText)
	if all.form != formJSON {
		kind = transport.OpBinary
	}
	s.client.Subscribe(stream, kind, nil, transport.Receiver{Form: all.form, Exact: true, Interval: all.every, Backlog: all.queue})
}

// unsubscribe ends a subscription, or all to the topic where there is no id.
func (s *session) unsubscribe(f *rosbridgev2.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.wanted[f.Topic]
	if _, ok := in.wish(f.ID); !ok {
		s.tell(levelWarning, f, fmt.Sprintf("unsubscribe %q: the client has no such subscription", f.Topic))
		return nil
	}
	maps.DeleteFunc(in.byID, func(key string, _ wish) bool {
		gone := f.ID == nil || key == string(f.ID)
		if n := guard.EntryBytes + len(key); gone {
			s.client.Release(n)
			in.held -= n
		}
		return gone
	})
	if t := s.server.topic(f.Topic); t != nil {
		s.arrange(t, in)
	}
	if len(in.byID) == 0 {
		s.drop(f.Topic)
	}
	s.tell(levelInfo, f, fmt.Sprintf("unsubscribed from %q", f.Topic))
	return nil
}

// wish returns the subscription with an id, or any without one.
func (i *interest) wish(id []byte) (wish, bool) {
	if i == nil {
		return wish{}, false
	}
	for key, w := range i.byID {
		if id == nil || key == string(id) {
			return w, true
		}
	}
	return wish{}, false
}

// advertise notes that the client will publish.
func (s *session) advertise(f *rosbridgev2.Frame) error {
	if err := rosbridgev2.CheckName(f.Topic); err != nil {
		return err
	}
	ours := s.server.typeOf(f.Topic)
	if ours != "" && f.Type != "" && short(ours) != short(f.Type) {
		return fmt.Errorf("%w: advertise %q as %q: it is %q", errOperation, f.Topic, f.Type, s.server.ros.TypeName(ours))
	}
	if !s.advertised[f.Topic] {
		if len(s.advertised) >= guard.ClientTopics {
			return fmt.Errorf("%w: advertise %q: %d topics are enough for one client", errOperation, f.Topic, guard.ClientTopics)
		}
		if err := s.client.Hold(guard.EntryBytes + len(f.Topic)); err != nil {
			return fmt.Errorf("%w: advertise %q: %w", errOperation, f.Topic, err)
		}
		s.advertised[f.Topic] = true
	}
	if s.server.incoming(f.Topic) == nil {
		s.tell(levelWarning, f, fmt.Sprintf("advertise %q: nobody here subscribes to it", f.Topic))
		return nil
	}
	s.tell(levelInfo, f, fmt.Sprintf("advertised %q", f.Topic))
	return nil
}

// unadvertise notes that it won't.
func (s *session) unadvertise(f *rosbridgev2.Frame) error {
	if !s.advertised[f.Topic] {
		s.tell(levelWarning, f, fmt.Sprintf("unadvertise %q: it is not advertised", f.Topic))
		return nil
	}
	delete(s.advertised, f.Topic)
	s.client.Release(guard.EntryBytes + len(f.Topic))
	s.tell(levelInfo, f, fmt.Sprintf("unadvertised %q", f.Topic))
	return nil
}

// publish hands a client's message on to those who subscribed to it here. The topic's Receive
// decodes it for the inbox of its bridges.Subscription, which calls bridges.AddSubscriber's
// callbacks.
func (s *session) publish(f *rosbridgev2.Frame) error {
	in := s.server.incoming(f.Topic)
	switch {
	case in == nil && s.advertised[f.Topic]:
		return nil
	case in == nil:
		return fmt.Errorf("%w: publish %q: there is no such topic", errOperation, f.Topic)
	case f.Message == nil:
		return fmt.Errorf("%w: publish %q: no msg", errOperation, f.Topic)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.Receive(&rosbridgev2.Config{ROS: s.server.ros}, f.Form, f.Message); err != nil {
		return fmt.Errorf("publish %q: %w", f.Topic, err)
	}
	return nil
}

// call gives a call to its service, or to rosapi. What it takes is kept until it is answered.
func (s *session) call(data []byte) error {
	f, err := rosbridgev2.ParseCall(data, false)
	if err != nil {
		s.tell(levelError, &f, err.Error())
		return err
	}
	if api, ok := strings.CutPrefix(strings.TrimPrefix(f.Service, "/"), "rosapi/"); ok {
		return s.respond(s.server.rosapi(api, &f))
	}
	n := guard.EntryBytes + len(data)
	if err = s.client.Hold(n); err == nil {
		respond := func(r rosbridgev2.Response) {
			s.client.Release(n)
			_ = s.respond(r) // an error has ended the connection
		}
		if err = s.server.desk.Take(rosbridgev2.Call{Frame: f, Respond: respond}); err == nil {
			return nil
		}
		s.client.Release(n)
	}
	answered := s.respond(rosbridgev2.Response{Service: f.Service, ID: f.ID, Reason: err.Error()})
	if errors.Is(err, transport.ErrHeld) {
		return errors.Join(err, answered) // is counted
	}
	return answered
}

func (s *session) respond(r rosbridgev2.Response) error {
	return s.client.Post(transport.OpText, rosbridgev2.AppendResponse(nil, rosbridgev2.JSON, r))
}
