package peers

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// RosbridgeConfig says how a server behaves. The zero value is a server of JSON on a free port.
type RosbridgeConfig struct {
	// Address is where it listens; any free port of 127.0.0.1 by default.
	Address string
	// BSONOnly makes every frame a BSON document, as bson_only_mode does.
	BSONOnly bool
	// TLS makes it a server of wss.
	TLS *tls.Config
	// Keep is how many messages of each topic are kept for Messages (default 1000); -1
	// decodes nothing but counts the bytes, for measurements.
	Keep int
	// Published is called with each message of a topic, in the order in which they came
	// from a client, on that client's goroutine. (optional)
	Published func(topic string, m RosbridgeMessage)
	// MaxMessageSize is the largest frame, bytes: a larger one ends the connection. It is
	// that of ROS 2's rosbridge_server by default, and none with BSONOnly or Keep -1.
	MaxMessageSize int64
	// NoTypes are message types that it knows not: advertising one is refused by a
	// status of level error.
	NoTypes []string
}

// RosbridgeMessage is what a client published.
type RosbridgeMessage struct {
	// Type is what the topic was advertised as.
	Type string
	// Values is the message: JSON with numbers as json.Number, or BSON.
	Values map[string]any
	// Frame is the whole frame as it came, Binary whether it was a binary one.
	Frame  []byte
	Binary bool
	// Latch says that it is kept for those who subscribe later.
	Latch bool
}

// Outgoing is a message that the server publishes.
type Outgoing struct {
	// Values is the message with numbers, strings, bools, []byte, slices and maps; Raw
	// the same as ROS serializes it, for subscribers with cbor-raw.
	Values map[string]any
	Raw    []byte
	// Secs and Nsecs are when it was received, as cbor-raw tells.
	Secs, Nsecs uint32
}

// Rosbridge is a rosbridge server without a ROS behind it. It records what its clients
// advertise and publish, hands publications on to those that subscribed, and misbehaves when it
// is told to.
//
// It is written from the rosbridge v2 protocol specification (rosbridge_suite,
// ROSBRIDGE_PROTOCOL.md) alone. It has its own BSON, and decodes JSON and CBOR with libraries
// of others into plain maps.
//
//	server := peers.NewRosbridge(peers.RosbridgeConfig{})
//	err := server.Start()
//	defer server.Kill()
//	... connect a bridge to server.Addr()
//	server.Advertised()               // {"/points": "sensor_msgs/PointCloud2"}
//	server.Messages("/points")        // what was published
//	server.Publish("/cmd_vel", peers.Outgoing{Values: twist})
//	server.Call(ctx, "/reset", nil)   // a service that the bridge offers
//
// It speaks the operations advertise, unadvertise, publish, subscribe (compression none, cbor
// and cbor-raw, throttle_rate, fragment_size), unsubscribe, set_level and fragment. It speaks
// advertise_service, unadvertise_service, call_service and service_response. It answers png and
// auth, and anything that isn't of the protocol, with a status of level error. With BSONOnly
// every frame in both directions is one BSON document, as rosbridge_server's parameter
// bson_only_mode has it.
//
// It knows no message definitions, so it can't tell whether a message conforms to its type. It
// routes a client's message to subscribers in the shape in which it came. Messages that
// [Rosbridge.Publish] is given have the shape that rosbridge gives them. Bytes are base64 in
// JSON, byte strings in CBOR and binary in BSON; numeric slices are typed arrays in CBOR (RFC
// 8746).
type Rosbridge struct {
	*Server
	config RosbridgeConfig
	refuse atomic.Int32 // an HTTP status, or refuseByRubbish; 0 refuses nobody

	// Guarded by mu.
	serving  map[*rosClient]bool
	bytes    int64
	messages map[string][]RosbridgeMessage
	statuses []string             // of level error, as sent
	waiting  map[string]*response // calls by the id they were passed on with
	calls    int
	ever     map[string]bool // all topics since New
}

// NewRosbridge returns a server that isn't started.
func NewRosbridge(config RosbridgeConfig) *Rosbridge {
	if config.Keep == 0 {
		config.Keep = 1000
	}
	if config.MaxMessageSize == 0 {
		config.MaxMessageSize = 10_000_000
		if config.BSONOnly || config.Keep < 0 {
			config.MaxMessageSize = -1
		}
	}
	s := &Rosbridge{
		Server: newServer(config.Address), config: config, serving: map[*rosClient]bool{},
		messages: map[string][]RosbridgeMessage{}, waiting: map[string]*response{}, ever: map[string]bool{},
	}
	s.serve = s.answer
	return s
}

// answer serves HTTP until the listener is closed.
func (s *Rosbridge) answer(listener net.Listener) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	secured := listener
	if s.config.TLS != nil {
		secured = tls.NewListener(listener, s.config.TLS)
	}
	server := &http.Server{
		Handler:  http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { s.accept(ctx, listener, w, q) }),
		ErrorLog: discard,
	}
	_ = server.Serve(secured)
}

// clients returns those that are connected.
func (s *Rosbridge) clients() []*rosClient {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.serving))
}

// Refuse lets the server answer each further connection by an HTTP status; 0 accepts
// them again.
func (s *Rosbridge) Refuse(status int) { s.refuse.Store(int32(status)) }

// refuseByRubbish answers connections by what isn't HTTP.
const refuseByRubbish = -1

// SpeakOther lets the server answer each further connection in another protocol.
func (s *Rosbridge) SpeakOther() { s.refuse.Store(refuseByRubbish) }

// Rubbish sends all clients frames that aren't of the protocol.
func (s *Rosbridge) Rubbish() {
	for _, c := range s.clients() {
		for _, frame := range []string{"}", `{"op":"publish"`, `{"op":7}`, `[]`, `{"topic":"/x"}`, `{"op":"publish","topic":"/x"}`, "\x00"} {
			_ = c.write(c.server.binary(), []byte(frame))
		}
		_ = c.write(websocket.MessageBinary, []byte{0xff, 0x00, 0x9f})
	}
}

// SendFrame sends all clients one frame as it is.
func (s *Rosbridge) SendFrame(binary bool, frame []byte) {
	kind := websocket.MessageText
	if binary {
		kind = websocket.MessageBinary
	}
	for _, c := range s.clients() {
		_ = c.write(kind, frame)
	}
}

func (s *Rosbridge) binary() websocket.MessageType {
	if s.config.BSONOnly {
		return websocket.MessageBinary
	}
	return websocket.MessageText
}

// Connections returns how many clients there are.
func (s *Rosbridge) Connections() int { return len(s.clients()) }

// look calls f for each client, whose mu is held.
func (s *Rosbridge) look(f func(c *rosClient)) {
	for _, c := range s.clients() {
		c.mu.Lock()
		f(c)
		c.mu.Unlock()
	}
}

// Advertised returns the topics that clients advertise now, with their types.
func (s *Rosbridge) Advertised() map[string]string {
	all := map[string]string{}
	s.look(func(c *rosClient) { maps.Copy(all, c.topics) })
	return all
}

// Subscribed returns the topics that clients subscribe to now, with the types and the
// compression that they asked for, such as "geometry_msgs/Twist cbor".
func (s *Rosbridge) Subscribed() map[string]string {
	all := map[string]string{}
	s.look(func(c *rosClient) {
		for _, sub := range c.subscriptions {
			all[sub.Topic] = sub.Type + " " + sub.Compression
		}
	})
	return all
}

// Subscriptions returns how many subscriptions clients have to a topic now. A client with
// several is sent each message once.
func (s *Rosbridge) Subscriptions(topic string) int {
	n := 0
	s.look(func(c *rosClient) {
		for _, sub := range c.subscriptions {
			if sub.Topic == topic {
				n++
			}
		}
	})
	return n
}

// Services returns the services that clients offer now, with their types.
func (s *Rosbridge) Services() map[string]string {
	all := map[string]string{}
	s.look(func(c *rosClient) { maps.Copy(all, c.services) })
	return all
}

// Bytes returns how many bytes of messages have come since New.
func (s *Rosbridge) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// Messages returns the messages of a topic that were kept, in the order in which they
// came.
func (s *Rosbridge) Messages(topic string) []RosbridgeMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages[topic])
}

// Topics returns every topic that was ever advertised, sorted.
func (s *Rosbridge) Topics() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.ever))
}

// Statuses returns the complaints that the server sent.
func (s *Rosbridge) Statuses() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.statuses)
}

func (s *Rosbridge) accept(ctx context.Context, listener net.Listener, w http.ResponseWriter, q *http.Request) {
	switch status := s.refuse.Load(); {
	case status == refuseByRubbish:
		s.answerOther(w)
		return
	case status != 0:
		w.WriteHeader(int(status))
		return
	}
	conn, err := websocket.Accept(w, q, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	conn.SetReadLimit(s.config.MaxMessageSize)
	c := newRosClient(ctx, s, conn)
	s.mu.Lock()
	if s.listener != listener {
		s.mu.Unlock()
		_ = conn.CloseNow()
		return
	}
	s.running.Add(1) // Kill takes the listener away before it waits
	s.serving[c] = true
	s.mu.Unlock()
	defer s.running.Done()
	c.serve(ctx)
	s.mu.Lock()
	delete(s.serving, c)
	s.mu.Unlock()
	s.hangUp(c)
	_ = conn.CloseNow()
}

func (s *Rosbridge) answerOther(w http.ResponseWriter) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		return
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, "220 mail ready\r\n\r\n")
	_ = conn.Close()
}

// discard takes what net/http has to say of clients that behave badly on purpose.
var discard = log.New(io.Discard, "", 0)

// record counts and keeps a message.
func (s *Rosbridge) record(topic string, m RosbridgeMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received[topic]++
	s.bytes += int64(len(m.Frame))
	if len(s.messages[topic]) < s.config.Keep {
		s.messages[topic] = append(s.messages[topic], m)
	}
}

// counted counts a publication of so many bytes, under topic "".
func (s *Rosbridge) counted(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received[""]++
	s.bytes += int64(size)
}

// Publish sends a message to the topic's subscribers, each in the form it asked for, and
// returns how many were sent it.
func (s *Rosbridge) Publish(topic string, m Outgoing) (sent int) {
	for _, c := range s.clients() {
		c.mu.Lock()
		var due []*subscription
		for _, sub := range c.subscriptions {
			if sub.Topic == topic && time.Since(sub.last) >= sub.Throttle {
				sub.last = time.Now()
				due = append(due, sub)
			}
		}
		c.mu.Unlock()
		if len(due) > 0 && c.deliver(due[0], m) == nil { // one connection gets a message once
			sent++
		}
	}
	return sent
}

// deliver sends a message as a subscription asks for.
func (c *rosClient) deliver(sub *subscription, m Outgoing) error {
	publication := map[string]any{"op": "publish", "topic": sub.Topic, "msg": m.Values}
	if c.server.config.BSONOnly {
		return c.send(publication)
	}
	switch sub.Compression {
	case "cbor-raw":
		if m.Raw == nil {
			return fmt.Errorf("%q has no raw form", sub.Topic)
		}
		publication["msg"] = map[string]any{"secs": m.Secs, "nsecs": m.Nsecs, "bytes": m.Raw}
		fallthrough
	case "cbor":
		frame, err := encodeCBOR(publication)
		if err != nil {
			return err
		}
		return c.write(websocket.MessageBinary, frame)
	}
	frame, err := encodeJSON(publication)
	if err != nil {
		return err
	}
	if sub.FragmentSize > 0 && len(frame) > sub.FragmentSize {
		return c.sendFragments(frame, sub.FragmentSize)
	}
	return c.write(websocket.MessageText, frame)
}

// sendFragments sends a frame in parts of at most size bytes.
func (c *rosClient) sendFragments(frame []byte, size int) error {
	total := (len(frame) + size - 1) / size
	for i := range total {
		part := frame[i*size : min((i+1)*size, len(frame))]
		err := c.send(map[string]any{"op": "fragment", "id": "whole", "data": string(part), "num": i, "total": total})
		if err != nil {
			return err
		}
	}
	return nil
}

// SendFragments sends all clients a frame of JSON in parts of at most size bytes, as a
// server with a fragment size does.
func (s *Rosbridge) SendFragments(frame []byte, size int) {
	for _, c := range s.clients() {
		_ = c.sendFragments(frame, size)
	}
}

// SendStatus sends all clients a status message, such as ("error", "no such type").
func (s *Rosbridge) SendStatus(level, msg string) {
	for _, c := range s.clients() {
		_ = c.send(map[string]any{"op": "status", "level": level, "msg": msg})
	}
}

// response waits for the answer of a call.
type response struct {
	callee *rosClient
	done   func(values any, result bool, err error) // called once, by the code that took it from the map
}

// Response is what a service answered.
type Response struct {
	// Values are those of the response's message.
	Values map[string]any
	// Result is whether the service said that it succeeded, Reason what it said else.
	Result bool
	Reason string
}

// Call calls a service that a client offers and waits for its answer.
func (s *Rosbridge) Call(ctx context.Context, service string, args map[string]any) (Response, error) {
	type answer struct {
		values any
		result bool
		err    error
	}
	answers := make(chan answer, 1)
	id, err := s.call(service, args, func(values any, result bool, err error) { answers <- answer{values, result, err} })
	if err != nil {
		return Response{}, err
	}
	select {
	case a := <-answers:
		values, _ := a.values.(map[string]any)
		reason, _ := a.values.(string)
		return Response{Values: values, Result: a.result, Reason: reason}, a.err
	case <-ctx.Done():
		s.take(id)
		return Response{}, ctx.Err()
	}
}

// errNoService says that nobody offers a service.
var errNoService = errors.New("nobody offers the service")

// call sends a call to the client that offers the service.
func (s *Rosbridge) call(service string, args any, done func(any, bool, error)) (id string, err error) {
	for _, c := range s.clients() {
		c.mu.Lock()
		_, offers := c.services[service]
		c.mu.Unlock()
		if !offers {
			continue
		}
		s.mu.Lock()
		s.calls++
		id = "call_service:" + service + ":" + strconv.Itoa(s.calls)
		s.waiting[id] = &response{callee: c, done: done}
		s.mu.Unlock()
		call := map[string]any{"op": "call_service", "id": id, "service": service}
		if args != nil {
			call["args"] = args
		}
		if err := c.send(call); err != nil {
			s.take(id)
			return "", err
		}
		return id, nil
	}
	return "", fmt.Errorf("call %q: %w", service, errNoService)
}

// take returns a call that waits, and lets it wait no more.
func (s *Rosbridge) take(id string) *response {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.waiting[id]
	delete(s.waiting, id)
	return r
}

// passOn calls a service for a client.
func (s *Rosbridge) passOn(caller *rosClient, m map[string]any) error {
	service, id := text(m, "service"), m["id"]
	answer := func(values any, result bool, err error) {
		out := map[string]any{"op": "service_response", "service": service, "values": values, "result": result && err == nil}
		if id != nil {
			out["id"] = id
		}
		if err != nil {
			out["values"] = err.Error()
		}
		_ = caller.send(out)
	}
	if _, err := s.call(service, m["args"], answer); err != nil {
		answer(nil, false, err)
	}
	return nil
}

// answered passes an answer to the caller that waits for it.
func (s *Rosbridge) answered(from *rosClient, m map[string]any) error {
	result, ok := m["result"].(bool)
	if !ok {
		return errors.New("service_response: no result")
	}
	r := s.take(text(m, "id"))
	if r == nil || r.callee != from {
		return fmt.Errorf("service_response: nobody waits for id %q", text(m, "id"))
	}
	r.done(m["values"], result, nil)
	return nil
}

// hangUp ends the calls that a client will not answer any more.
func (s *Rosbridge) hangUp(c *rosClient) {
	s.mu.Lock()
	var lost []*response
	for id, r := range s.waiting {
		if r.callee == c {
			lost = append(lost, r)
			delete(s.waiting, id)
		}
	}
	s.mu.Unlock()
	for _, r := range lost {
		r.done(nil, false, errGone)
	}
}

// writeLimit is how long a client may take for a frame.
const writeLimit = 10 * time.Second

// client is one connection.
type rosClient struct {
	server *Rosbridge
	ctx    context.Context // of the server's run
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

func newRosClient(ctx context.Context, s *Rosbridge, conn *websocket.Conn) *rosClient {
	return &rosClient{
		server: s, ctx: ctx, conn: conn,
		topics: map[string]string{}, latched: map[string]bool{}, services: map[string]string{}, fragments: map[string][]string{},
	}
}

// serve reads until the client goes.
func (c *rosClient) serve(ctx context.Context) {
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
func (c *rosClient) count(ctx context.Context) {
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
func (c *rosClient) handle(binary bool, frame []byte) error {
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
func (c *rosClient) operate(m map[string]any, frame []byte) error {
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
	case "set_level", "status_level", "status":
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

func (c *rosClient) advertise(m map[string]any) error {
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
	c.server.ever[topic] = true
	c.server.mu.Unlock()
	return nil
}

func (c *rosClient) unadvertise(topic string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.topics[topic]; !ok {
		return fmt.Errorf("unadvertise %q: it is not advertised", topic)
	}
	delete(c.topics, topic)
	return nil
}

func (c *rosClient) publish(m map[string]any, frame []byte) error {
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
	message := RosbridgeMessage{Type: kind, Values: values, Frame: frame, Binary: c.server.config.BSONOnly, Latch: latch}
	c.server.record(topic, message)
	if c.server.config.Published != nil {
		c.server.config.Published(topic, message)
	}
	c.server.Publish(topic, Outgoing{Values: values})
	return nil
}

func (c *rosClient) subscribe(m map[string]any) error {
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

func (c *rosClient) unsubscribe(topic, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscriptions = slices.DeleteFunc(c.subscriptions, func(s *subscription) bool {
		return s.Topic == topic && (id == "" || id == s.ID)
	})
}

func (c *rosClient) advertiseService(service, kind string) error {
	if service == "" || kind == "" {
		return errors.New("advertise_service: no service or no type")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.services[service] = kind
	return nil
}

// fragment collects the parts of a frame and handles it when all are there.
func (c *rosClient) fragment(m map[string]any) error {
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
func (c *rosClient) complain(id string, problem error) {
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
func (c *rosClient) send(m map[string]any) error {
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

func (c *rosClient) write(kind websocket.MessageType, frame []byte) error {
	ctx, cancel := context.WithTimeout(c.ctx, writeLimit)
	defer cancel()
	return c.conn.Write(ctx, kind, frame)
}
