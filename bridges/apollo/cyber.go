package apollo

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Cyber is the bridge "cyber": a client of the cyber_bridge that runs beside Apollo and hands
// messages on to Cyber RT.
//
// # Connection string
//
//	cyber:HOST[:9090][?apollo=7|8&origin=LATITUDE,LONGITUDE[,ALTITUDE]&retry=3s&backoff=2&longest=30s&attempts=0&messages=64&bytes=67108864]
//
// apollo says under which paths the descriptors are registered: modules/drivers/proto/...
// (7, the default, for Apollo up to 7) or modules/common_msgs/... (8, for Apollo from 8 on).
// origin places the map's origin on the earth, WGS84; without it the scene's holds. The
// others are those of all client bridges: when to connect again, and how much may wait for
// the peer.
//
// # Protocol
//
// TCP, little endian, ops of one byte; nothing is acknowledged. For each published topic the
// bridge registers the descriptors of its message and adds a writer, in one write. It does so
// again on every connection. For each subscription it adds a reader. A message is encoded
// straight into the buffer that is written. Each op is written whole. What arrives may be up to
// 64 MiB; an op other than a message ends the connection.
type Cyber struct{ limit int64 } // of a message, bytes; 0 for maxMessage

// Info describes the bridge.
func (Cyber) Info() bridges.Info {
	return bridges.Info{
		Name: "cyber", Type: "cyber", Kind: bridges.KindNetwork,
		Summary:    "client of Apollo's cyber_bridge: Cyber RT channels over TCP",
		Connection: "HOST[:9090]", Options: bridges.OptionsOf(cyberOptions{}), Gaps: gaps(), OtherGap: none,
	}
}

// Register declares all of Apollo's messages that samples can be or come from.
func (Cyber) Register(p *bridges.Plugin) error {
	var errs []error
	for _, pub := range publications() {
		errs = append(errs, pub.Register(p, pub.Type, openChannel))
	}
	for _, sub := range subscriptions() {
		errs = append(errs, sub.Register(p, sub.Type, listenChannel))
	}
	return errors.Join(errs...)
}

// NewInstance makes an unconnected cyberClient.
func (f Cyber) NewInstance(env bridges.Env) (bridges.Instance, error) {
	return &cyberClient{env: env, limit: cmp.Or(f.limit, maxMessage), frames: map[string][]byte{}, inboxes: map[string]protoInbox{}}, nil
}

// openChannel is the bridges.Open of this bridge.
func openChannel(i bridges.Instance, topic *bridges.PublishedTopic, message protoreflect.MessageDescriptor) (protoSend, error) {
	c := i.(*cyberClient)
	topic.SetWire(fullName(message))
	c.announce(topic.Name, message)
	outlet := c.NewOutlet(&topic.Tally, topic.Policy)
	return func(ctx context.Context, m protoMessage, _ simtime.Stamp) error {
		if err := checkSize(m, c.limit); err != nil {
			return fmt.Errorf("%w: %w", bridges.ErrConvert, err)
		}
		b := outlet.Buffer(messageRoom(topic.Name, m))
		frame, err := appendMessage(b.Bytes()[:0], topic.Name, m)
		b.Adopt(frame)
		if err != nil {
			b.Release()
			return err
		}
		return outlet.Send(ctx, b)
	}, nil
}

// listenChannel is the bridges.Listen of this bridge.
func listenChannel(i bridges.Instance, topic bridges.Topic, message protoreflect.MessageDescriptor, in protoInbox) error {
	i.(*cyberClient).subscribe(topic.Name, message, in)
	return nil
}

// RegPublisher lets the bridge publish messages of type T as a protobuf message M, of which P is the pointer and whose
// generated Go code names Apollo's package and fields. Its descriptor goes to cyber_bridge with
// those of all that it imports. convert sets dst, which is empty; it is called by one goroutine
// at a time for each topic, and its errors count as bridges.ErrConvert. The first registration
// of T holds, a second one is bridges.ErrDuplicate.
func RegPublisher[M any, P pointer[M], T simtime.Stamped](p *bridges.Plugin, convert func(dst P, src T) error) error {
	pub := publication(converted(func(dst P, src T, _ spatial.MapFrame) error {
		proto.Reset(dst)
		return convert(dst, src)
	}))
	return pub.Register(p, pub.Type, openChannel)
}

// RegSubscriber lets the bridge subscribe to a protobuf message M, of which P is the pointer and convert makes
// an S. It is called by one goroutine at a time; its errors count the message as malformed.
// A second registration of *S is bridges.ErrDuplicate.
func RegSubscriber[M any, P pointer[M], S any](p *bridges.Plugin, convert func(dst *S, src P) error) error {
	sub := subscription(func(dst *S, src P, _ spatial.MapFrame) error { return convert(dst, src) })
	return sub.Register(p, sub.Type, listenChannel)
}

// cyberClient is one connection to a cyber_bridge.
type cyberClient struct {
	transport.Client
	env   bridges.Env
	limit int64                            // of a message that is published, bytes
	at    atomic.Pointer[spatial.MapFrame] // of the last Connect

	mu sync.Mutex
	// layout is that of the first Connect, and early what was published before it.
	layout  *layout               // guarded by mu
	early   []writer              // guarded by mu
	frames  map[string][]byte     // guarded by mu: registrations of writers by channel
	inboxes map[string]protoInbox // guarded by mu: by channel
}

// writer is a channel with the type of its messages.
type writer struct {
	channel string
	message protoreflect.MessageDescriptor
}

// Check reads a connection string as Connect does.
func (c *cyberClient) Check(connection string) error {
	_, err := parseCyber(connection)
	return err
}

// Connect begins to connect. The layout of the first call's connection string holds: in
// it the channels are registered.
func (c *cyberClient) Connect(ctx context.Context, connection string) error {
	o, err := parseCyber(connection)
	if err != nil {
		return err
	}
	if err := c.settle(o.layout); err != nil {
		return err
	}
	at := c.env.Map
	if o.origin != nil {
		at = at.At(*o.origin)
	}
	c.at.Store(&at)
	tcp := transport.TCP{Size: frameSize, Limit: frameLimit}
	c.Open(ctx, transport.ClientConfig{
		Dial:   func(ctx context.Context) (transport.FrameConn, error) { return tcp.Dial(ctx, o.address) },
		Handle: c.handle, Retry: o.Retry(), Queue: o.Queue(), Log: c.env.Log,
	})
	return nil
}

// Map returns where the map frame lies on the earth.
func (c *cyberClient) Map() spatial.MapFrame {
	if at := c.at.Load(); at != nil {
		return *at
	}
	return c.env.Map
}

// settle fixes the layout and registers what waited for it.
func (c *cyberClient) settle(layout layout) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.layout != nil && *c.layout != layout {
		return fmt.Errorf("%w: channels are registered in another layout already: apollo= can't change", bridges.ErrConnectionString)
	}
	c.layout = &layout
	for _, w := range c.early {
		c.register(w)
	}
	c.early = nil
	return nil
}

// announce registers a channel that will be published on, now or at the first Connect.
func (c *cyberClient) announce(channel string, message protoreflect.MessageDescriptor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := writer{channel, message}
	if c.layout == nil {
		c.early = append(c.early, w)
		return
	}
	c.register(w)
}

// register sends a channel's descriptors and its writer on each connection; mu must be
// held, and the layout known.
func (c *cyberClient) register(w writer) {
	files := descriptorFiles(w.message, *c.layout)
	c.frames[w.channel] = writerFrame(w.channel, fullName(w.message), files)
	c.Register(c.frames[w.channel])
}

// Withdraw takes a channel back. The protocol has no word for it: a server that is connected learns
// it with the next connection.
func (c *cyberClient) Withdraw(info *bridges.PublishedTopic) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.early = slices.DeleteFunc(c.early, func(w writer) bool { return w.channel == info.Name })
	c.Unregister(c.frames[info.Name], nil)
	delete(c.frames, info.Name)
}

// subscribe adds a reader on each connection.
func (c *cyberClient) subscribe(channel string, message protoreflect.MessageDescriptor, in protoInbox) {
	c.mu.Lock()
	c.inboxes[channel] = in
	c.mu.Unlock()
	c.Register(readerFrame(channel, fullName(message)))
}

// handle takes a message from the server. Those of channels that nobody subscribed to
// are thrown away.
func (c *cyberClient) handle(frame []byte) error {
	channel, data := splitFrame(frame)
	c.mu.Lock()
	in, ok := c.inboxes[string(channel)]
	c.mu.Unlock()
	if !ok {
		return nil
	}
	m := in.New()
	if err := proto.Unmarshal(data, m); err != nil {
		return fmt.Errorf("message on %q is not a %s: %w", channel, m.ProtoReflect().Descriptor().FullName(), err)
	}
	if err := in.Deliver(m); err != nil {
		return fmt.Errorf("message on %q: %w", channel, err)
	}
	return nil
}

// standardPort is cyber_bridge's.
const standardPort = 9090

// cyberOptions is what a connection string says.
type cyberOptions struct {
	address string
	layout  layout
	origin  *spatial.Geodetic

	Apollo int    `option:"apollo" value:"7|8" default:"7" doc:"version of Apollo up to which, or from which on, messages are laid out" want:"7, for Apollo up to 7, or 8, for those from 8 on"`
	Origin string `option:"origin" value:"LATITUDE,LONGITUDE[,ALTITUDE]" doc:"where the map's origin is, degrees and metres; without it the scene's"`
	bridges.RetryOptions
	bridges.QueueOptions
}

func parseCyber(connection string) (o cyberOptions, err error) {
	target, given, err := bridges.ReadOptions(connection, &o)
	if err != nil {
		return cyberOptions{}, err
	}
	if o.address, err = bridges.DialAddress(target, standardPort); err != nil {
		return cyberOptions{}, err
	}
	if o.Apollo == 8 {
		o.layout = layout8
	}
	o.origin, err = parseOrigin(given)
	return o, err
}

func parseOrigin(given map[string]string) (*spatial.Geodetic, error) {
	text, ok := given["origin"]
	if !ok {
		return nil, nil
	}
	bad := fmt.Errorf("%w: origin=%q: want LATITUDE,LONGITUDE or LATITUDE,LONGITUDE,ALTITUDE in degrees and metres, such as 37.417,-122.016",
		bridges.ErrConnectionString, text)
	fields := strings.Split(text, ",")
	if len(fields) < 2 || len(fields) > 3 {
		return nil, bad
	}
	var numbers [3]float64
	for i, field := range fields {
		var err error
		if numbers[i], err = strconv.ParseFloat(field, 64); err != nil {
			return nil, bad
		}
	}
	origin := &spatial.Geodetic{Latitude: numbers[0], Longitude: numbers[1], Altitude: numbers[2]}
	const highest = 100_000 // metres
	if !(within(origin.Latitude, 90) && within(origin.Longitude, 180) && within(origin.Altitude, highest)) {
		return nil, bad
	}
	return origin, nil
}

// within reports whether v is a number of -limit to limit.
func within(v, limit float64) bool { return v >= -limit && v <= limit }

// Numbers of the ops.
const (
	opRegister  = 1
	opAddReader = 2
	opAddWriter = 3
	opPublish   = 4
)

// frameLimit is the size of the largest op that is read, bytes.
const frameLimit = 64 << 20

// maxMessage is the size of the largest message that is published, bytes. Protobuf, which Cyber
// RT reads it with, has no larger ones (protobuf.dev, "Proto Limits"). The op could carry twice
// as much.
const maxMessage = math.MaxInt32

// lengthBytes is the size of a length: u32, little endian.
const lengthBytes = 4

func appendField[B []byte | string](dst []byte, field B) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(field)))
	return append(dst, field...)
}

// writerFrame registers descriptors and adds a writer of the type, as one write.
func writerFrame(channel, typ string, files [][]byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{opRegister}, uint32(len(files)))
	for _, file := range files {
		b = appendField(b, file)
	}
	b = append(b, opAddWriter)
	return appendField(appendField(b, channel), typ)
}

// readerFrame adds a reader.
func readerFrame(channel, typ string) []byte {
	return appendField(appendField([]byte{opAddReader}, channel), typ)
}

// appendMessage appends the op that publishes a message.
func appendMessage(dst []byte, channel string, m protoMessage) ([]byte, error) {
	dst = slices.Grow(dst, messageRoom(channel, m))
	dst = appendField(append(dst, opPublish), channel)
	at := len(dst) + lengthBytes
	dst, err := m.Append(append(dst, make([]byte, lengthBytes)...))
	if err != nil {
		return dst, fmt.Errorf("%w: %w", bridges.ErrConvert, err)
	}
	binary.LittleEndian.PutUint32(dst[at-lengthBytes:], uint32(len(dst)-at))
	return dst, nil
}

// checkSize returns an error that wraps flow.ErrTooLarge for a message above the limit.
// It takes no memory for the message.
func checkSize(m protoMessage, limit int64) error {
	if int64(m.Room()) <= limit { // it is at least the size, and known at once
		return nil
	}
	return bridges.CheckSize(int64(m.Size()), limit)
}

// messageRoom is at least the size of the op that publishes a message.
func messageRoom(channel string, m protoMessage) int {
	return 1 + lengthBytes + len(channel) + lengthBytes + m.Room()
}

// frameSize returns the size of an op that a server sends and that begins with head, as
// far as head tells (transport.TCP's Size). Servers send messages alone.
func frameSize(head []byte) (int, error) {
	const channelAt = 1 + lengthBytes
	if len(head) > 0 && head[0] != opPublish {
		return 0, fmt.Errorf("%w: op %d from the server, where cyber_bridge sends %d alone: does another kind of bridge listen there?",
			transport.ErrProtocol, head[0], opPublish)
	}
	if len(head) < channelAt {
		return channelAt, nil
	}
	channel := binary.LittleEndian.Uint32(head[1:])
	if channel > frameLimit {
		return 0, tooLarge(channel)
	}
	messageAt := channelAt + int(channel) + lengthBytes
	if len(head) < messageAt {
		return messageAt, nil
	}
	message := binary.LittleEndian.Uint32(head[messageAt-lengthBytes:])
	if message > frameLimit {
		return 0, tooLarge(message)
	}
	return messageAt + int(message), nil
}

func tooLarge(length uint32) error {
	return fmt.Errorf("%w: %w: a length of %d, the limit is %d bytes", transport.ErrProtocol, flow.ErrTooLarge, length, frameLimit)
}

// splitFrame returns the channel and the message of an op of frameSize bytes.
func splitFrame(frame []byte) (channel, message []byte) {
	rest := frame[1:]
	n := binary.LittleEndian.Uint32(rest)
	return rest[lengthBytes : lengthBytes+n], rest[2*lengthBytes+n:]
}
