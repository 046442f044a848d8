package rosbridgev2

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
)

// Client is a connection to a server, with what is registered there: registrations
// outlive the connection. The zero value is ready. Methods may be called from any goroutine, but
// Connect and Disconnect one after the other, as bridges.Bridge does.
type Client struct {
	transport.Client
	session atomic.Pointer[session] // nil while disconnected

	mu            sync.Mutex
	publications  []*Publication           // guarded by mu
	subscriptions map[string]*Subscription // guarded by mu: by topic
	topics        []string                 // guarded by mu: of the subscriptions, in their order
	services      []Service                // guarded by mu

	altered atomic.Int64 // messages of which numbers were replaced
}

// session is the time from a Connect to a Disconnect.
type session struct {
	client    *Client
	config    Config
	desk      *Desk
	fragments Fragments // of one connection, its reading goroutine's
}

// Publication is a topic that the client publishes.
type Publication struct {
	client *Client
	info   *bridges.PublishedTopic
	out    *transport.Outlet
	typ    string                 // guarded by the client's mu
	form   atomic.Pointer[framed] // nil while disconnected
	size   atomic.Int64           // of the last frame, bytes
}

// framed is how a publication's frames look in one session: head comes before the message.
type framed struct {
	config *Config
	head   []byte
}

// Subscription is a topic that the client subscribes to.
type Subscription struct {
	Topic string
	// Type is the full name of its type, such as "geometry_msgs/msg/Twist".
	Type string
	// Plain asks for JSON where the session would ask for another form.
	Plain bool
	// Receive is given each message, on the reading goroutine: it doesn't block. The
	// message is good until it returns.
	Receive func(config *Config, form Form, message []byte) error
}

// Reads makes the Subscription of a topic whose messages an inbox takes.
func Reads(topic, typ string, in ros.Inbox) *Subscription {
	return &Subscription{Topic: topic, Type: typ, Receive: func(config *Config, form Form, data []byte) error {
		m := in.New()
		if err := read(config.ROS, form, data, m); err != nil {
			return err
		}
		return in.Deliver(m)
	}}
}

// trees are the encodings that have names in them.
var trees = [...]encode.Tree{JSON: encode.JSON, BSON: encode.BSON, CBOR: encode.CBOR}

// read reads a message.
func read(version ros.Version, form Form, data []byte, m ros.Message) error {
	switch {
	case form != Raw:
		return (&encode.TreeDecoder{Format: trees[form], Version: version}).Decode(data, m)
	case version == ros.ROS2:
		return encode.CDR.Decoder().Decode(data, m)
	default:
		return encode.ROS1.Decoder().Decode(data, m)
	}
}

// Connect disconnects, and begins to connect as config says.
func (c *Client) Connect(ctx context.Context, config Config) error {
	if err := c.Disconnect(ctx); err != nil {
		return err
	}
	config.Log = cmp.Or(config.Log, slog.New(slog.DiscardHandler))
	s := &session{client: c, config: config, desk: NewDesk()}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Forget()
	for _, p := range c.publications {
		s.advertise(p)
	}
	for _, topic := range c.topics {
		s.subscribe(c.subscriptions[topic])
	}
	for _, service := range c.services {
		s.offer(service)
	}
	c.session.Store(s)
	c.Open(ctx, transport.ClientConfig{
		Dial: s.dial, Handle: s.handle, Handshake: true, Retry: config.Retry, Queue: config.Queue, Log: config.Log,
	})
	return nil
}

// dial makes a connection, on which no fragment has come. Nobody reads meanwhile.
func (s *session) dial(ctx context.Context) (transport.FrameConn, error) {
	conn, err := dial(ctx, s.config)
	if err != nil {
		return nil, err // not conn, of which an interface would not be nil
	}
	s.fragments = Fragments{}
	return conn, nil
}

// Disconnect delivers what is queued, for as long as ctx allows, and ends the connection
// and the services' handlers. Without a connection it does nothing.
func (c *Client) Disconnect(ctx context.Context) error {
	s := c.session.Load()
	if s == nil {
		return nil
	}
	err := c.Client.Disconnect(ctx)
	s.desk.Close(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.publications {
		p.form.Store(nil)
	}
	c.session.Store(nil)
	return err
}

// Diagnosis tells how all connections fared.
func (c *Client) Diagnosis() bridges.Diagnosis {
	d := c.Client.Diagnosis()
	d.Altered = c.altered.Load()
	return d
}

// Advertise announces a topic of messages of the type with the given full name.
func (c *Client) Advertise(info *bridges.PublishedTopic, typ string) *Publication {
	p := &Publication{client: c, info: info, out: c.NewOutlet(&info.Tally, info.Policy), typ: typ}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.publications = append(c.publications, p)
	if s := c.session.Load(); s != nil {
		s.advertise(p)
	}
	return p
}

// Withdraw takes a topic back that was advertised, and tells the server.
func (c *Client) Withdraw(info *bridges.PublishedTopic) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.publications, func(p *Publication) bool { return p.info == info })
	if i < 0 {
		return
	}
	p := c.publications[i]
	c.publications = slices.Delete(c.publications, i, i+1)
	p.form.Store(nil)
	if s := c.session.Load(); s != nil {
		c.Unregister(s.advertisement(p), appendUnadvertise(nil, s.config.Form, info.Name))
	}
}

// Retype changes the full name of the topic's type, from the next Connect on.
func (c *Client) Retype(p *Publication, typ string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.typ = typ
}

// Subscribe asks for a topic. One that is subscribed to already is an error, as is a name that
// ROS doesn't allow.
func (c *Client) Subscribe(sub *Subscription) error {
	if err := CheckName(sub.Topic); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subscriptions[sub.Topic] != nil {
		return fmt.Errorf("%w: %q is subscribed to", bridges.ErrDuplicate, sub.Topic)
	}
	if c.subscriptions == nil {
		c.subscriptions = map[string]*Subscription{}
	}
	c.subscriptions[sub.Topic] = sub
	c.topics = append(c.topics, sub.Topic)
	if s := c.session.Load(); s != nil {
		s.subscribe(sub)
	}
	return nil
}

// Offer offers a service.
func (c *Client) Offer(service Service) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.services = slices.Clip(append(c.services, service))
	if s := c.session.Load(); s != nil {
		s.offer(service)
	}
}

// advertise registers a topic; the client's mu must be held.
func (s *session) advertise(p *Publication) {
	s.client.Register(s.advertisement(p))
	p.form.Store(&framed{config: &s.config, head: AppendPublishHead(nil, s.config.Form, p.info.Name, p.latch())})
}

// advertisement is the frame that registers a topic; the client's mu must be held.
func (s *session) advertisement(p *Publication) []byte {
	return AppendAdvertise(nil, s.config.Form, Advertise{p.info.Name, s.config.ROS.TypeName(p.typ), p.latch()})
}

func (p *Publication) latch() bool { return p.info.QoS.Durability == flow.TransientLocal }

func (s *session) subscribe(sub *Subscription) {
	compression := s.config.Compression
	if sub.Plain {
		compression = "none"
	}
	s.client.Register(AppendSubscribe(nil, s.config.Form, Subscribe{sub.Topic, s.config.ROS.TypeName(sub.Type), compression}))
}

func (s *session) offer(service Service) {
	s.desk.Open(service)
	s.client.Register(AppendAdvertiseService(nil, s.config.Form, service.Name, s.config.ROS.TypeName(service.Type)))
}

// Message appends a publication's message in the form and for the ROS that the session's config
// has. It reports whether numbers had to be replaced for it. An error says that they can't
// express it.
type Message interface {
	AppendAs(dst []byte, config *Config) (out []byte, altered bool, err error)
}

// Config returns what the session now says, nil while disconnected.
func (c *Client) Config() *Config {
	if s := c.session.Load(); s != nil {
		return &s.config
	}
	return nil
}

// Send encodes a message, unless there is no connection, and queues it. Errors are those
// of transport.Outlet.Send, and bridges.ErrConvert for a message that can't be expressed.
func (p *Publication) Send(ctx context.Context, message Message) error {
	form := p.form.Load()
	if form == nil {
		return flow.ErrNotConnected
	}
	buffer := p.out.Buffer(int(p.size.Load()))
	frame := append(buffer.Bytes()[:0], form.head...)
	frame, altered, err := message.AppendAs(frame, form.config)
	if err == nil {
		frame = Seal(frame, form.config.Form, 0)
		err = form.config.checkWhole(len(frame))
	}
	if err != nil {
		buffer.Release()
		return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	if altered {
		p.client.altered.Add(1)
	}
	p.size.Store(int64(len(frame)))
	buffer.Adopt(frame)
	return p.out.Send(ctx, buffer)
}

// checkWhole returns nil unless a frame is larger than the server takes and may not be
// fragmented.
func (c *Config) checkWhole(size int) error {
	if !c.Whole || c.MaxMessageSize == 0 {
		return nil
	}
	return bridges.CheckSize(int64(size), int64(c.MaxMessageSize))
}

// handle does what a frame of the server's says. No error of it ends the connection.
func (s *session) handle(data []byte) error {
	f, err := Parse(data, s.config.Form == BSON)
	if err != nil {
		return err
	}
	switch f.Op {
	case "publish":
		return s.receive(&f)
	case "call_service":
		return s.answer(data)
	case "fragment":
		whole, err := s.fragments.Add(&f)
		if err != nil || whole == nil {
			return err
		}
		if f, err := Parse(whole, false); err != nil || f.Op == "fragment" {
			return errors.Join(ErrFrame, err)
		}
		return s.handle(whole)
	case "status":
		return s.note(&f)
	case "set_level":
		return nil
	default:
		return fmt.Errorf("%w: operation %q is not for clients", ErrFrame, f.Op)
	}
}

// receive hands a publication on.
func (s *session) receive(f *Frame) error {
	s.client.mu.Lock()
	sub := s.client.subscriptions[f.Topic]
	s.client.mu.Unlock()
	if sub == nil {
		return fmt.Errorf("%w: a message on %q, which was not subscribed to", ErrFrame, f.Topic)
	}
	if f.Message == nil {
		return fmt.Errorf("%w: a publication on %q without msg", ErrFrame, f.Topic)
	}
	form, message := f.Form, f.Message
	if form == CBOR && s.config.Compression == "cbor-raw" {
		raw, err := ParseRaw(message)
		if err != nil {
			return err
		}
		form, message = Raw, raw.Bytes
	}
	if err := sub.Receive(&s.config, form, message); err != nil {
		return fmt.Errorf("message on %q: %w", f.Topic, err)
	}
	return nil
}

// answer gives a call to its service, with memory of its own.
func (s *session) answer(data []byte) error {
	f, err := ParseCall(data, s.config.Form == BSON)
	if err != nil {
		return err
	}
	form := s.config.Form
	respond := func(r Response) {
		err := flow.ErrNotConnected
		if s.client.session.Load() == s { // an answer that comes late isn't for the next server
			err = s.client.Post(AppendResponse(nil, form, r))
		}
		if err != nil {
			s.config.Log.Warn("can't answer a service's call", "service", r.Service, "error", err)
		}
	}
	if err := s.desk.Take(Call{Frame: f, Respond: respond}); err != nil {
		respond(Response{Service: f.Service, ID: f.ID, Reason: err.Error()})
		return err
	}
	return nil
}

// note takes a status message (protocol, section 3.2): a level of error is a complaint, which
// the connection counts and logs now and then.
func (s *session) note(f *Frame) error {
	if f.Level == "error" {
		return fmt.Errorf("%w: %q", transport.ErrComplaint, f.Text)
	}
	s.config.Log.Debug("rosbridge server reports", "level", f.Level, "text", f.Text)
	return nil
}
