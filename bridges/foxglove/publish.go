package foxglove

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/internal/guard"
)

// decoder sets a message from what a client sent.
type decoder interface {
	Decode(data []byte, m ros.Message) error
}

// clientEncodings are those that newDecoder knows.
var clientEncodings = []string{"json", "cdr", "ros1"}

// newDecoder makes the decoder of an encoding; names in JSON are those of the ROS whose
// way of naming types the client follows.
func newDecoder(encoding, schemaName string) (decoder, bool) {
	switch encoding {
	case "cdr":
		return encode.CDR.Decoder(), true
	case "ros1":
		return encode.ROS1.Decoder(), true
	case "json":
		version := ros.ROS1
		if strings.Contains(schemaName, "/msg/") {
			version = ros.ROS2
		}
		return &encode.TreeDecoder{Version: version}, true
	}
	return nil, false
}

// inbox takes the messages of one topic.
type inbox struct {
	typeName string
	// anyEncoding says that take reads encodings of its own.
	anyEncoding bool

	mu sync.Mutex // held by take's caller: one message at a time
	// take reads a message that a client sent on a channel and hands it on.
	take func(c *clientChannel, data []byte) error
}

// inboxes are the topics that are subscribed to.
type inboxes struct {
	mu      sync.Mutex
	byTopic map[string]*inbox // guarded by mu
}

// listen subscribes an instance to a topic of its clients.
func listen(i bridges.Instance, topic bridges.Topic, typeName string, in ros.Inbox) error {
	i.(*instance).inboxes.add(topic.Name, &inbox{typeName: typeName, take: func(c *clientChannel, data []byte) error {
		message := in.New()
		if err := c.decoder.Decode(data, message); err != nil {
			return err
		}
		return in.Deliver(message)
	}})
	return nil
}

func (b *inboxes) add(topic string, in *inbox) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byTopic == nil {
		b.byTopic = map[string]*inbox{}
	}
	b.byTopic[topic] = in
}

func (b *inboxes) get(topic string) *inbox {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.byTopic[topic]
}

// names lists the topics that clients may publish.
func (b *inboxes) names() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []string
	for name, in := range b.byTopic {
		list = append(list, name+" ("+in.typeName+")")
	}
	if len(list) == 0 {
		return "none"
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// clientChannel is a channel that a client advertised.
type clientChannel struct {
	topic, schema, encoding string
	decoder                 decoder // nil for an encoding that isn't one of clientEncodings
	told                    bool    // that nobody subscribes to the topic
}

// size is what a channel is counted for, bytes.
func (c *clientChannel) size() int {
	return guard.EntryBytes + len(c.topic) + len(c.schema) + len(c.encoding)
}

// advertise takes the channels of a client ("Client Advertise"). One on a topic that
// nobody subscribes to is kept: somebody may, and viewers advertise all that they could
// publish. They are told when they publish on it.
func (s *session) advertise(r *request) error {
	return s.refuse(each(r.Channels, func(c channel) error {
		if err := errors.Join(checkName("topic", c.Topic), checkName("schema name", c.SchemaName), checkName("encoding", c.Encoding)); err != nil {
			return err
		}
		in := s.instance.inboxes.get(c.Topic)
		decoder, known := newDecoder(c.Encoding, c.SchemaName)
		_, taken := s.channels[c.ID]
		own := &clientChannel{topic: c.Topic, schema: c.SchemaName, encoding: c.Encoding, decoder: decoder}
		switch {
		case taken:
			s.remark(levelError, "channel %d of the client is advertised already", c.ID)
			return nil
		case !known && (in == nil || !in.anyEncoding):
			s.remark(levelError, "topic %s: encoding %q is unknown: want one of %v", c.Topic, c.Encoding, clientEncodings)
			return nil
		case len(s.channels) >= guard.ClientChannels:
			return fmt.Errorf("topic %s: a client may advertise %d channels: %w", c.Topic, guard.ClientChannels, errMalformed)
		}
		if err := s.client.Hold(own.size()); err != nil {
			return fmt.Errorf("topic %s: %w", c.Topic, err)
		}
		s.channels[c.ID] = own
		if in != nil && in.typeName != fullName(c.SchemaName) {
			s.remark(levelError, "topic %s has messages of %s, not of %s", c.Topic, in.typeName, c.SchemaName)
		}
		return nil
	}))
}

// unadvertise forgets channels of a client ("Client Unadvertise").
func (s *session) unadvertise(r *request) error {
	return s.refuse(each(r.ChannelIDs, func(id uint32) error {
		c, ok := s.channels[id]
		if !ok {
			s.remark(levelWarning, "channel %d of the client is not advertised", id)
			return nil
		}
		s.client.Release(c.size())
		delete(s.channels, id)
		return nil
	}))
}

// publish hands a client's message to those that subscribe to its topic ("Client Message
// Data").
func (s *session) publish(m clientMessage) error {
	c, ok := s.channels[m.channel]
	if !ok {
		return s.refuse(fmt.Errorf("message on channel %d, which is not advertised: %w", m.channel, errMalformed))
	}
	in := s.instance.inboxes.get(c.topic)
	if in == nil {
		if !c.told {
			c.told = true
			s.remark(levelWarning, "nobody subscribes to %s; subscribed to are: %s", c.topic, s.instance.inboxes.names())
		}
		return nil // it is well-formed
	}
	if in.typeName != fullName(c.schema) {
		return s.refuse(fmt.Errorf("topic %s has messages of %s, not of %s: %w", c.topic, in.typeName, c.schema, errMalformed))
	}
	if c.decoder == nil && !in.anyEncoding { // advertised before the topic was another's
		return s.refuse(fmt.Errorf("topic %s: encoding %q is unknown: %w", c.topic, c.encoding, errMalformed))
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.take(c, m.data); err != nil {
		return s.refuse(fmt.Errorf("topic %s: %w", c.topic, err))
	}
	return nil
}
