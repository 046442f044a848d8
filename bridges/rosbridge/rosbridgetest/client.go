package rosbridgetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// writeLimit is how long a client may take for a frame.
const writeLimit = 10 * time.Second

// client is one connection.
type client struct {
	server *Server
	run    *run
	conn   *websocket.Conn

	mu            sync.Mutex
	topics        map[string]string // guarded by mu: what it advertises
	latched       map[string]bool   // guarded by mu: topics that it advertises so
	services      map[string]string // guarded by mu
	subscriptions []*subscription   // guarded by mu
	fragments     map[string][]string
}

// subscription is one of a client's.
type subscription struct {
	ID, Topic, Type, Compression string
	Throttle                     time.Duration
	FragmentSize                 int
	last                         time.Time // guarded by the client's mu
}

func newClient(s *Server, r *run, conn *websocket.Conn) *client {
	return &client{
		server: s, run: r, conn: conn,
		topics: map[string]string{}, latched: map[string]bool{}, services: map[string]string{}, fragments: map[string][]string{},
	}
}

// serve reads until the client goes.
func (c *client) serve(ctx context.Context) {
	if c.server.config.Keep < 0 {
		c.count(ctx)
		return
	}
	for {
		kind, frame, err := c.conn.Read(ctx)
		if err != nil {
			return
		}
		if err := c.handle(kind == websocket.MessageBinary, frame); err != nil {
			c.complain("", err)
		}
	}
}

// count reads until the client goes, and keeps nothing of publications but their number
// and length.
func (c *client) count(ctx context.Context) {
	buf := make([]byte, 256<<10)
	for {
		kind, r, err := c.conn.Reader(ctx)
		if err != nil {
			return
		}
		n, err := io.ReadAtLeast(r, buf, headLength)
		if err == nil && bytes.Contains(buf[:headLength], []byte("publish")) {
			total := n
			for err == nil {
				n, err = r.Read(buf)
				total += n
			}
			c.server.counted(total)
			continue
		}
		frame := slices.Clone(buf[:n])
		if err == nil {
			rest, _ := io.ReadAll(r) // what fails fails again
			frame = append(frame, rest...)
		}
		if err := c.handle(kind == websocket.MessageBinary, frame); err != nil {
			c.complain("", err)
		}
	}
}

// headLength is how much of a frame tells whether it is a publication.
const headLength = 32

var errOperation = errors.New("not of the protocol")

// handle reads one frame and does what it says.
func (c *client) handle(binary bool, frame []byte) error {
	if binary != c.server.config.BSONOnly {
		return fmt.Errorf("%w: binary frame %t, in BSON mode %t", errOperation, binary, c.server.config.BSONOnly)
	}
	var m map[string]any
	var err error
	if binary {
		m, err = decodeBSON(frame)
	} else {
		m, err = decodeJSON(frame)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errOperation, err)
	}
	return c.operate(m, frame)
}

// operate does one operation.
func (c *client) operate(m map[string]any, frame []byte) error {
	id := text(m, "id")
	var err error
	switch op := text(m, "op"); op {
	case "advertise":
		err = c.advertise(m)
	case "unadvertise":
		err = c.unadvertise(text(m, "topic"))
	case "publish":
		err = c.publish(m, frame)
	case "subscribe":
		err = c.subscribe(m)
	case "unsubscribe":
		c.unsubscribe(text(m, "topic"), id)
	case "advertise_service":
		err = c.advertiseService(text(m, "service"), text(m, "type"))
	case "unadvertise_service":
		c.mu.Lock()
		delete(c.services, text(m, "service"))
		c.mu.Unlock()
	case "call_service":
		err = c.server.passOn(c, m)
	case "service_response":
		err = c.server.answered(c, m)
	case "set_level", "status_level":
		c.server.mu.Lock()
		c.server.levels[c] = text(m, "level")
		c.server.mu.Unlock()
	case "status":
	case "fragment":
		err = c.fragment(m)
	case "png", "auth":
		err = fmt.Errorf("%w: %s is refused", errOperation, op)
	default:
		err = fmt.Errorf("%w: unknown operation %q", errOperation, op)
	}
	if err != nil {
		c.complain(id, err)
	}
	return nil
}

// text returns a field that is a string, "" for none.
func text(m map[string]any, name string) string {
	s, _ := m[name].(string)
	return s
}

func (c *client) advertise(m map[string]any) error {
	topic, kind := text(m, "topic"), text(m, "type")
	latch, _ := m["latch"].(bool)
	if topic == "" || kind == "" || slices.Contains(c.server.config.NoTypes, kind) {
		return fmt.Errorf("advertise %q: no message type %q", topic, kind)
	}
	if other, ok := c.server.Advertised()[topic]; ok && other != kind {
		return fmt.Errorf("advertise %q as %q: it is %q", topic, kind, other)
	}
	c.mu.Lock()
	c.topics[topic], c.latched[topic] = kind, latch
	c.mu.Unlock()
	c.server.mu.Lock()
	c.server.ever[topic] = advertised{kind}
	c.server.mu.Unlock()
	return nil
}

func (c *client) unadvertise(topic string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.topics[topic]; !ok {
		return fmt.Errorf("unadvertise %q: it is not advertised", topic)
	}
	delete(c.topics, topic)
	return nil
}

func (c *client) publish(m map[string]any, frame []byte) error {
	topic := text(m, "topic")
	c.mu.Lock()
	kind, ok := c.topics[topic]
	latched := c.latched[topic]
	c.mu.Unlock()
	if !ok {
		return fmt.Errorf("publish %q: it is not advertised", topic)
	}
	values, ok := m["msg"].(map[string]any)
	if !ok {
		return fmt.Errorf("publish %q: no msg", topic)
	}
	if hasNull(values) {
		return fmt.Errorf("publish %q: no field may be null", topic)
	}
	latch, _ := m["latch"].(bool)
	if latch != latched {
		return fmt.Errorf("publish %q: latch %t where it was advertised with %t", topic, latch, latched)
	}
	message := Message{Type: kind, Values: values, Frame: frame, Binary: c.server.config.BSONOnly, Latch: latch}
	c.server.record(topic, message)
	if c.server.config.Published != nil {
		c.server.config.Published(topic, message)
	}
	c.server.Publish(topic, Outgoing{Values: values})
	return nil
}

func (c *client) subscribe(m map[string]any) error {
	sub := &subscription{ID: text(m, "id"), Topic: text(m, "topic"), Type: text(m, "type"), Compression: text(m, "compression")}
	if sub.Compression == "" {
		sub.Compression = "none"
	}
	if !slices.Contains([]string{"none", "cbor", "cbor-raw"}, sub.Compression) {
		return fmt.Errorf("subscribe %q: compression %q is refused", sub.Topic, sub.Compression)
	}
	kind, known := c.server.Advertised()[sub.Topic]
	switch {
	case sub.Topic == "":
		return errors.New("subscribe: no topic")
	case sub.Type == "" && !known:
		return fmt.Errorf("subscribe %q: the topic does not exist, and no type is given", sub.Topic)
	case sub.Type != "" && known && sub.Type != kind:
		return fmt.Errorf("subscribe %q as %q: it is %q", sub.Topic, sub.Type, kind)
	}
	if n, ok := integer(m["throttle_rate"]); ok {
		sub.Throttle = time.Duration(n) * time.Millisecond
	}
	if n, ok := integer(m["fragment_size"]); ok {
		sub.FragmentSize = int(n)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscriptions = append(c.subscriptions, sub)
	return nil
}

func (c *client) unsubscribe(topic, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscriptions = slices.DeleteFunc(c.subscriptions, func(s *subscription) bool {
		return s.Topic == topic && (id == "" || id == s.ID)
	})
}

func (c *client) advertiseService(service, kind string) error {
	if service == "" || kind == "" {
		return errors.New("advertise_service: no service or no type")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.services[service] = kind
	return nil
}

// fragment collects the parts of a frame and handles it when all are there.
func (c *client) fragment(m map[string]any) error {
	id, data := text(m, "id"), text(m, "data")
	num, ok1 := integer(m["num"])
	total, ok2 := integer(m["total"])
	if id == "" || !ok1 || !ok2 || num < 0 || num >= total || total > 10000 {
		return errors.New("fragment: bad id, num or total")
	}
	parts := c.fragments[id]
	if parts == nil {
		parts = make([]string, total)
		c.fragments[id] = parts
	}
	if int(total) != len(parts) {
		return errors.New("fragment: total has changed")
	}
	parts[num] = data
	if slices.Contains(parts, "") {
		return nil
	}
	delete(c.fragments, id)
	return c.handle(false, []byte(strings.Join(parts, "")))
}

// complain sends a status of level error.
func (c *client) complain(id string, problem error) {
	c.server.mu.Lock()
	if len(c.server.statuses) < 1000 {
		c.server.statuses = append(c.server.statuses, problem.Error())
	}
	c.server.mu.Unlock()
	status := map[string]any{"op": "status", "level": "error", "msg": problem.Error()}
	if id != "" {
		status["id"] = id
	}
	_ = c.send(status)
}

// send writes one operation in the server's encoding.
func (c *client) send(m map[string]any) error {
	var frame []byte
	var err error
	if c.server.config.BSONOnly {
		frame, err = encodeBSON(nil, m)
	} else {
		frame, err = encodeJSON(m)
	}
	if err != nil {
		return err
	}
	return c.write(c.server.binary(), frame)
}

func (c *client) write(kind websocket.MessageType, frame []byte) error {
	ctx, cancel := context.WithTimeout(c.run.ctx, writeLimit)
	defer cancel()
	return c.conn.Write(ctx, kind, frame)
}
