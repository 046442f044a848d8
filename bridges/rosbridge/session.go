package rosbridge

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges/internal/rosbridgev2"
	"github.com/raybridge/raybridge/bridges/internal/rosmsg"
	"github.com/raybridge/raybridge/bridges/internal/wsserver"
)

// Limits of what a client may register.
const (
	maxTopics        = 4096
	maxSubscriptions = 64 // to one topic
)

// session is one client of the server. Its methods run on the client's reading goroutine,
// but for appeared.
type session struct {
	server     *server
	client     *wsserver.Client
	fragments  rosbridgev2.Fragments
	advertised map[string]bool // topics that it said to publish
	silent     bool            // it wants no status messages

	mu     sync.Mutex
	wanted map[string]*interest // guarded by mu: subscriptions by topic
}

// interest is what a client wants of one topic, by the ids of its subscriptions.
type interest struct {
	typ    string // short name, "" for whatever it is
	byID   map[string]wish
	active *wish // as the stream has it, nil while it has none
}

// wish is how a client wants a topic's messages.
type wish struct {
	form  int
	every time.Duration
	queue int // how many wait for their time
}

func newSession(s *server, c *wsserver.Client) *session {
	return &session{server: s, client: c, advertised: map[string]bool{}, wanted: map[string]*interest{}}
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
func (s *session) Message(_ wsserver.Kind, data []byte) error {
	f, err := rosbridgev2.Parse(data, false)
	if err != nil {
		return errors.Join(err, s.complain(err))
	}
	if f.Op == "fragment" {
		whole, err := s.fragments.Add(&f)
		if err != nil || whole == nil {
			return err
		}
		if f, err = rosbridgev2.Parse(whole, false); err != nil {
			return errors.Join(err, s.complain(err))
		}
		data = whole
	}
	if f.Op == "call_service" {
		return s.call(data)
	}
	if problem := s.operate(&f); problem != nil {
		return errors.Join(problem, s.complain(problem))
	}
	return nil
}

// errOperation says that the server doesn't do what a client asks.
var errOperation = errors.New("rosbridge operation refused")

// operate does one operation.
func (s *session) operate(f *rosbridgev2.Frame) error {
	switch f.Op {
	case "subscribe":
		return s.subscribe(f)
	case "unsubscribe":
		s.unsubscribe(f.Topic, string(f.ID))
		return nil
	case "advertise":
		return s.advertise(f.Topic, f.Type)
	case "unadvertise":
		delete(s.advertised, f.Topic)
		return nil
	case "publish":
		return s.publish(f)
	case "set_level", "status_level":
		s.silent = f.Level == "none"
		return nil
	case "status", "service_response":
		return nil
	default:
		return fmt.Errorf("%w: %s", errOperation, f.Op)
	}
}

// complain tells the client of a problem.
func (s *session) complain(problem error) error {
	if s.silent {
		return nil
	}
	return s.client.Post(wsserver.Text, rosbridgev2.AppendStatus(nil, "error", problem.Error()))
}

// short makes ROS 1's name of a type's name in either version, to compare them.
func short(typ string) string { return rosbridgev2.TypeName(typ, rosmsg.ROS1) }

// subscribe notes a subscription. A topic that isn't there yet, of a type that the client
// names, may come.
func (s *session) subscribe(f *rosbridgev2.Frame) error {
	w := wish{every: time.Duration(max(f.ThrottleRate, 0)) * time.Millisecond, queue: min(max(f.QueueLength, 0), maxSubscriptions)}
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
		if len(s.wanted) >= maxTopics {
			return fmt.Errorf("%w: subscribe %q: %d topics are enough for one client", errOperation, f.Topic, maxTopics)
		}
		in = &interest{typ: short(f.Type), byID: map[string]wish{}}
	}
	if len(in.byID) >= maxSubscriptions {
		return fmt.Errorf("%w: subscribe %q: %d subscriptions to one topic", errOperation, f.Topic, maxSubscriptions)
	}
	if t != nil && f.Type != "" && short(f.Type) != short(t.wire()) {
		return fmt.Errorf("%w: subscribe %q as %q: it is %q", errOperation, f.Topic, f.Type, rosbridgev2.TypeName(t.wire(), s.server.ros))
	}
	if t != nil && t.foreign && w.form == formRaw {
		return fmt.Errorf("%w: subscribe %q: its messages have no serialized form", errOperation, f.Topic)
	}
	s.wanted[f.Topic] = in
	in.byID[string(f.ID)] = w
	if t != nil {
		s.arrange(t, in)
	}
	return nil
}

// appeared subscribes to a topic that the client has asked for before it was there. It is
// called by any goroutine.
func (s *session) appeared(t *topic) {
	s.mu.Lock()
	in := s.wanted[t.info.Name]
	var problem error
	switch {
	case in == nil:
	case in.typ != "" && in.typ != short(t.wire()):
		delete(s.wanted, t.info.Name)
		problem = fmt.Errorf("%w: subscribe %q as %q: it is %q", errOperation, t.info.Name, in.typ, rosbridgev2.TypeName(t.wire(), s.server.ros))
	default:
		s.arrange(t, in)
	}
	s.mu.Unlock()
	if problem != nil {
		_ = s.complain(problem) // an error ends the client's own reading
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
	stream := t.stream.Load()
	switch {
	case stream == nil, all != nil && in.active != nil && *all == *in.active:
		return
	case in.active != nil:
		s.client.Unsubscribe(stream)
	}
	if in.active = all; all == nil {
		return
	}
	kind := wsserver.Text
	if all.form != formJSON {
		kind = wsserver.Binary
	}
	s.client.Subscribe(stream, wsserver.Receiver{Kind: kind, Form: all.form, Exact: true, Interval: all.every, Backlog: all.queue})
}

// unsubscribe ends a subscription, or all to the topic where there is no id.
func (s *session) unsubscribe(name, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.wanted[name]
	if in == nil {
		return
	}
	maps.DeleteFunc(in.byID, func(key string, _ wish) bool { return id == "" || key == id })
	if t := s.server.topic(name); t != nil {
		s.arrange(t, in)
	}
	if len(in.byID) == 0 {
		delete(s.wanted, name)
	}
}

// advertise notes that the client will publish.
func (s *session) advertise(name, typ string) error {
	if err := rosbridgev2.CheckName(name); err != nil {
		return err
	}
	ours := s.server.typeOf(name)
	if ours != "" && typ != "" && short(ours) != short(typ) {
		return fmt.Errorf("%w: advertise %q as %q: it is %q", errOperation, name, typ, rosbridgev2.TypeName(ours, s.server.ros))
	}
	if len(s.advertised) >= maxTopics {
		return fmt.Errorf("%w: advertise %q: %d topics are enough for one client", errOperation, name, maxTopics)
	}
	s.advertised[name] = true
	return nil
}

// publish hands a client's message on to whoever subscribed to it here.
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

// call gives a call to its service, or to rosapi.
func (s *session) call(data []byte) error {
	f, err := rosbridgev2.ParseCall(data, false)
	if err != nil {
		return errors.Join(err, s.complain(err))
	}
	if api, ok := strings.CutPrefix(strings.TrimPrefix(f.Service, "/"), "rosapi/"); ok {
		return s.respond(s.server.rosapi(api, &f))
	}
	respond := func(r rosbridgev2.Response) {
		_ = s.respond(r) // an error has ended the connection
	}
	if err := s.server.desk.Take(rosbridgev2.Call{Frame: f, Respond: respond}); err != nil {
		return s.respond(rosbridgev2.Response{Service: f.Service, ID: f.ID, Reason: err.Error()})
	}
	return nil
}

func (s *session) respond(r rosbridgev2.Response) error {
	return s.client.Post(wsserver.Text, rosbridgev2.AppendResponse(nil, rosbridgev2.JSON, r))
}
