package peers

import (
	"bufio"
	"fmt"

	"github.com/raybridge/raybridge/bridges/ros"
)

// LGSVL follows the rules of ros2-lgsvl-bridge: that program itself needs ROS 2, which
// tests do without.
//
// It was written from the facts about the protocol alone, before the bridge and without its
// encoder. It reads .msg definitions with a parser of its own and takes messages apart by them,
// as ros2-lgsvl-bridge does with ROS 2's introspection.
//
// All numbers are little endian. A client sends
//
//	1 AddSubscriber  u8 op, u32 length, topic, u32 length, type "package/Name"
//	2 AddPublisher   u8 op, u32 length, topic, u32 length, type
//	3 Publish        u8 op, u32 length, topic, u32 length, message
//
// and is sent op 3 for each message on the topics that it subscribed to. Another op is logged
// and ends the connection. The first type of a topic holds for all clients. A type that isn't
// known is logged and the registration is lost, and with it every message on that topic. A
// message is its fields in the definition's order, without padding. A string is its length as
// u32 and its bytes. Every array, also one of fixed size, is its length as u32 and its
// elements. An array of fixed size has that many elements or none, in which case it is filled
// with zeros (foxy, galactic). A message with bytes left over is logged and published; one that
// is too short is logged and not published. What waits for a client is bounded: messages beyond
// that are logged and thrown away.
//
// Published messages go to the clients that subscribed to their topic, to
// [LGSVLConfig.Published], as a ROS 2 node would get them, and into the counts.
type LGSVL struct {
	framed
	config LGSVLConfig

	topics map[string]*lgsvlTopic // guarded by mu
	known  map[string]*Definition // guarded by mu: loaded once, kept
}

// LGSVLConfig says how a server runs. The zero value of a field stands for its default.
type LGSVLConfig struct {
	// Address is HOST:PORT; default any free port of the loopback interface.
	Address string
	// Definition returns the .msg file of "package/Name"; default are raybridge's.
	Definition func(name string) (string, error)
	// Pending is how many bytes may wait for one client; default 1 GiB.
	Pending int
	// Published is given each message that a client published, in their order for each
	// client. (optional)
	Published func(LGSVLMessage)
}

// LGSVLMessage is one that a client published.
type LGSVLMessage struct {
	Topic string
	Type  *Definition
	Value Value
	// Body is the message as it came.
	Body []byte
}

// lgsvlTopic is what clients agreed on.
type lgsvlTopic struct {
	typ         *Definition
	publishers  map[*conn]bool
	subscribers map[*conn]int // how often each has subscribed
}

// NewLGSVL returns a server that isn't started.
func NewLGSVL(config LGSVLConfig) *LGSVL {
	if config.Definition == nil {
		config.Definition = ros.MessageFile
	}
	s := &LGSVL{config: config, topics: map[string]*lgsvlTopic{}, known: map[string]*Definition{}}
	s.init(config.Address, config.Pending)
	s.do, s.left = s.operate, s.forget
	return s
}

// Numbers of ros2-lgsvl-bridge's ops.
const (
	lgsvlSubscribe = 1
	lgsvlAdvertise = 2
	lgsvlPublish   = 3
)

func (s *LGSVL) operate(c *conn, code byte, in *bufio.Reader) error {
	if code < lgsvlSubscribe || code > lgsvlPublish {
		return fmt.Errorf("unknown op %d", code)
	}
	name, body, err := readFields(in)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.conns[c]:
		return errGone
	case code == lgsvlPublish:
		s.published(name, body)
	default:
		s.registered(c, code, name, string(body))
	}
	return nil
}

// forget takes a client out of all topics; mu must be held.
func (s *LGSVL) forget(c *conn) {
	for name, t := range s.topics {
		delete(t.publishers, c)
		delete(t.subscribers, c)
		if len(t.publishers)+len(t.subscribers) == 0 {
			delete(s.topics, name)
		}
	}
}

// Publish sends a message to the clients that subscribed to the topic, as if a ROS 2 node had
// published it. It returns how many they are.
func (s *LGSVL) Publish(name string, v Value) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.publish(name, v)
}

// publish is Publish; mu must be held.
func (s *LGSVL) publish(name string, v Value) int {
	t := s.topics[name]
	if t == nil || len(t.subscribers) == 0 {
		return 0
	}
	frame := appendOp(nil, lgsvlPublish, name, t.typ.Encode(v))
	for c := range t.subscribers {
		s.post(c, frame)
	}
	return len(t.subscribers)
}

// Publishing returns the type that clients publish on a topic, "" for none.
func (s *LGSVL) Publishing(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.topics[name]; t != nil && len(t.publishers) > 0 {
		return t.typ.Name
	}
	return ""
}

// Subscribed returns the type that clients subscribed to on a topic, "" for none.
func (s *LGSVL) Subscribed(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.topics[name]; t != nil && len(t.subscribers) > 0 {
		return t.typ.Name
	}
	return ""
}

// Subscriptions returns how often the clients that are connected have subscribed to a
// topic. A client that has subscribed twice is sent each message once all the same.
func (s *LGSVL) Subscriptions(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	if t := s.topics[name]; t != nil {
		for _, times := range t.subscribers {
			n += times
		}
	}
	return n
}

// definition loads a type; mu must be held.
func (s *LGSVL) definition(name string) (*Definition, error) {
	if d := s.known[name]; d != nil {
		return d, nil
	}
	d, err := LoadDefinition(name, s.config.Definition)
	if err == nil {
		s.known[name] = d
	}
	return d, err
}

// registered adds a client to a topic; mu must be held.
func (s *LGSVL) registered(c *conn, code byte, name, typ string) {
	t := s.topics[name]
	if t == nil {
		d, err := s.definition(typ)
		if err != nil {
			s.logf("can't load type %q of topic %q: %v", typ, name, err)
			return
		}
		t = &lgsvlTopic{typ: d, publishers: map[*conn]bool{}, subscribers: map[*conn]int{}}
		s.topics[name] = t
	}
	if code == lgsvlSubscribe {
		t.subscribers[c]++
	} else {
		t.publishers[c] = true
	}
}

// published takes a message apart and hands it on; mu must be held.
func (s *LGSVL) published(name string, body []byte) {
	t := s.topics[name]
	if t == nil || len(t.publishers) == 0 {
		s.logf("No publisher registered on topic %q", name)
		return
	}
	v, rest, err := t.typ.Decode(body)
	if err != nil {
		s.logf("can't read a message on topic %q: %v", name, err)
		return
	}
	if len(rest) > 0 {
		s.logf("%d bytes left over in a message on topic %q", len(rest), name)
	}
	s.received[name]++
	s.publish(name, v)
	if s.config.Published != nil {
		s.config.Published(LGSVLMessage{Topic: name, Type: t.typ, Value: v, Body: body})
	}
}
