// Package rosbridge is the bridge named "rosbridge". It speaks rosbridge's protocol
// (rosbridge_suite, ROSBRIDGE_PROTOCOL.md, version 2) over WebSockets, as a client of a
// rosbridge server or as a server of its own.
//
// # Client
//
// The connection string is
//
//	rosbridge:[ws://|wss://]HOST[:9090][?option=value&...]
//
// Messages are published as JSON in text frames, or as BSON with
// bson=1 for servers of ROS 1 in bson_only_mode. Messages that it subscribes to come as JSON,
// CBOR (the default) or cbor-raw (subscribe=json|cbor|cbor-raw). ros=1, the default, is for
// servers of ROS 1 and ros=2 for those of ROS 2. They differ in the names of types
// ("sensor_msgs/Image" and "sensor_msgs/msg/Image") and of some fields: secs, nsecs, seq and
// sec, nanosec; D, K, R, P and d, k, r, p.
//
// # Server
//
// The connection string is
//
//	rosbridge:listen=[[HOST:]9090][?option=value&...]
//
// Web pages and programs that use roslib connect to it as to rosbridge_server. They subscribe
// to the sensors' topics (compression none, cbor and cbor-raw) and publish commands. They call
// the services that are offered and ask rosapi what there is. A message is encoded once for
// each form that somebody wants, and shared by the clients. Each client has a bounded queue of
// its own; one that is slow loses messages, and costs the others nothing.
//
// # Messages
//
// The types are those that SVL Simulator's users expect (package rossample's SVL). With
// gps=nmea a GnssFix is published as two nmea_msgs/Sentence, as SVL does, else as
// sensor_msgs/NavSatFix. For NaN and infinities a client writes the words NaN,
// Infinity and -Infinity, which rosbridge's servers read, or what nonfinite= says. A server
// writes null, which browsers read. Frames above max_message_size go in fragments, unless
// fragments=off drops them. Topics whose durability is transient local are latched.
//
// # Goroutines
//
// A client has one that dials and writes, one that reads and one for each service. A server has
// one that accepts, two for each client and one for each service. They have ended when
// Disconnect returns. Publishers encode on their own goroutine, never waiting for a peer, and
// subscribers are called on the reading goroutines.
//
// # Known gaps
//
// PNG compression and authentication are refused. Actions of ROS 2 are not spoken. A
// server's fragment_size is not heeded: WebSockets need no fragments.
package rosbridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rosbridgev2"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
)

// Factory is the bridge named "rosbridge".
type Factory struct {
	limit int64 // of a message, bytes; 0 for what the formats have
	kept  int   // of the server for a client, bytes; 0 for guard.KeptBytes
}

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "rosbridge", Type: "rosbridge", Kind: bridges.KindNetwork,
		Summary:    "publishes to a rosbridge server, or serves roslib's clients itself",
		Connection: "[ws://|wss://]HOST[:9090]|listen=[[HOST:]9090]", Options: allOptions(),
	}
}

// navSatFix is the message that gps=nmea has another one for.
const navSatFix = "sensor_msgs/msg/NavSatFix"

// Register declares the samples and commands that SVL's ROS bridge knows, more of our
// own, and std_srvs' services, by ROS 1's names.
func (f Factory) Register(p *bridges.Plugin) error {
	publications := rossample.SVL()
	fix := slices.IndexFunc(publications, func(pub ros.Publication) bool { return pub.Type == navSatFix })
	gnss := publications[fix]
	return errors.Join(
		gnss.RegisterSample(p, ros.ROS1.TypeName(navSatFix), openGnss(gnss)),
		rossample.Register(p, f, slices.Delete(publications, fix, fix+1), rossample.SVLSubscriptions()),
		rossample.RegisterServices(p, ros.ROS1, offer))
}

// RegPublication lets the bridge publish one more type, as a ROS message, which the ROS
// behind a server must have.
func (Factory) RegPublication(p *bridges.Plugin, pub ros.Publication) error {
	return pub.Register(p, ros.ROS1.TypeName(pub.Type), open)
}

// RegSubscription lets the bridge subscribe to one more ROS message.
func (Factory) RegSubscription(p *bridges.Plugin, sub ros.Subscription) error {
	return sub.Register(p, ros.ROS1.TypeName(sub.Type), listen)
}

// NewInstance returns an instance without a connection.
func (f Factory) NewInstance(env bridges.Env) (bridges.Instance, error) {
	return &instance{
		env: env, limit: cmp.Or(f.limit, rosbridgev2.MaxMessage), kept: f.kept, ros: ros.ROS1, incoming: map[string]*incoming{},
	}, nil
}

func open(i bridges.Instance, info *bridges.PublishedTopic, typeName string) (ros.Send, error) {
	t, err := i.(*instance).add(info, typeName)
	if err != nil {
		return nil, err
	}
	return t.send, nil
}

// DefaultAddress is where the bridge listens if the connection string has no address.
const DefaultAddress = "127.0.0.1:9090"

// instance is a client of a server, or a server. Its methods may be called from any
// goroutine.
type instance struct {
	bridges.Server[*server, *topic]
	env    bridges.Env
	limit  int64 // of a message in ROS's serialization, and of its BSON, bytes
	kept   int   // as Factory has it
	client rosbridgev2.Client

	mu       sync.Mutex
	ros      ros.Version           // guarded by mu: of the connection
	gps      bool                  // guarded by mu: fixes are sentences
	incoming map[string]*incoming  // guarded by mu: subscriptions by topic
	services []rosbridgev2.Service // guarded by mu
}

var (
	_ bridges.Checker   = (*instance)(nil)
	_ bridges.Instance  = (*instance)(nil)
	_ bridges.Audience  = (*instance)(nil)
	_ bridges.Directory = (*instance)(nil)
	_ bridges.Diagnoser = (*instance)(nil)
	_ bridges.Failer    = (*instance)(nil)

	_ bridges.Withdrawer = (*instance)(nil)
)

// incoming is a subscription; what clients of the server publish comes on several
// goroutines.
type incoming struct {
	*rosbridgev2.Subscription
	mu sync.Mutex // held while a message is handed on
}

// add makes a topic, at once if there is a connection.
func (i *instance) add(info *bridges.PublishedTopic, typ string) (*topic, error) {
	return i.addTopic(info, newTopic(i, info, typ))
}

// addForeign is add for a type from outside.
func (i *instance) addForeign(info *bridges.PublishedTopic, typ string) (*topic, error) {
	t := newTopic(i, info, typ)
	t.foreign = true
	return i.addTopic(info, t)
}

func (i *instance) addTopic(info *bridges.PublishedTopic, t *topic) (*topic, error) {
	if err := rosbridgev2.CheckName(info.Name); err != nil {
		return nil, err
	}
	typ := t.typ
	i.mu.Lock()
	defer i.mu.Unlock()
	wire := typ
	if i.gps && typ == navSatFix {
		t.nmea.Store(true)
		wire = sentenceType
	}
	t.client = i.client.Advertise(info, wire)
	t.Info.SetWire(i.ros.TypeName(wire))
	if err := i.Add(t); err != nil {
		return nil, err
	}
	return t, nil
}

// Withdraw takes a topic back, from the server's clients or from the server that was dialled.
func (i *instance) Withdraw(info *bridges.PublishedTopic) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.Server.Withdraw(info)
	i.client.Withdraw(info)
}

func (i *instance) subscribe(sub *rosbridgev2.Subscription) error {
	if err := i.client.Subscribe(sub); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.incoming[sub.Topic] = &incoming{Subscription: sub}
	return nil
}

func (i *instance) offer(service rosbridgev2.Service) error {
	if err := rosbridgev2.CheckName(service.Name); err != nil {
		return err
	}
	i.client.Offer(service)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.services = append(i.services, service)
	if s, ok := i.Serving(); ok {
		s.desk.Open(service)
	}
	return nil
}

// connection is a connection string, read.
type connection struct {
	listen string // HOST:PORT of a server, "" for a client
	client rosbridgev2.Config
	server transport.Config
	ros    ros.Version
	gps    bool
}

// commonOptions are those of clients and of servers.
type commonOptions struct {
	ROS int    `option:"ros" value:"1|2" default:"1" doc:"version of ROS behind the server, or of listen's clients" want:"1 or 2"`
	GPS string `option:"gps" value:"fix|nmea" default:"fix" doc:"fixes as sensor_msgs/NavSatFix or as nmea_msgs/Sentence"`
}

// connection returns what the options say.
func (o commonOptions) connection() connection {
	c := connection{ros: ros.ROS1, gps: o.GPS == "nmea"}
	if o.ROS == 2 {
		c.ros = ros.ROS2
	}
	return c
}

// clientOptions are those of a client's connection string.
type clientOptions struct {
	commonOptions
	rosbridgev2.Options
}

// serverOptions are those of a server's. It has nobody to dial.
type serverOptions struct {
	commonOptions
	bridges.RetryOptions
	bridges.WebSocketOptions
}

// allOptions are those of clients, and then those of servers alone, which say so.
func allOptions() []bridges.Option {
	all := bridges.OptionsOf(clientOptions{})
	for _, o := range bridges.OptionsOf(serverOptions{}) {
		if !slices.ContainsFunc(all, func(known bridges.Option) bool { return known.Key == o.Key }) {
			o.Meaning += " (listen= alone)"
			all = append(all, o)
		}
	}
	return all
}

// parse reads a connection string. Errors wrap bridges.ErrConnectionString, or transport.ErrTLS
// where a server's certificate can't be used.
func parse(text string) (connection, error) {
	if strings.HasPrefix(text, "listen=") {
		return parseServer(text)
	}
	var o clientOptions
	target, _, err := bridges.ReadOptions(text, &o)
	if err != nil {
		return connection{}, err
	}
	c := o.connection()
	if c.client, err = o.Config(target); err != nil {
		return connection{}, err
	}
	if c.client.ROS = c.ros; c.ros == ros.ROS2 && c.client.Form == rosbridgev2.BSON {
		return connection{}, fmt.Errorf("%w: bson=1 with ros=2: rosbridge_server of ROS 2 takes every frame for text, so BSON can't reach it; "+
			"leave bson=1 out: messages are then published as JSON, and what is subscribed to comes as CBOR", bridges.ErrConnectionString)
	}
	return c, nil
}

// parseServer reads "listen=ADDRESS" and what follows.
func parseServer(text string) (connection, error) {
	var o serverOptions
	target, _, err := bridges.ReadOptions(text, &o)
	if err != nil {
		return connection{}, err
	}
	c := o.connection()
	if c.listen, err = bridges.ListenAddress(strings.TrimPrefix(target, "listen="), DefaultAddress); err != nil {
		return connection{}, err
	}
	c.server, err = o.WebSocket()
	return c, err
}

// Check reads a connection string as Connect does.
func (i *instance) Check(connection string) error {
	_, err := parse(connection)
	return err
}

// Connect begins to dial a server, or to listen.
func (i *instance) Connect(ctx context.Context, text string) error {
	c, err := parse(text)
	if err != nil {
		return err
	}
	if err := i.Disconnect(ctx); err != nil {
		return err
	}
	if err := i.begin(ctx, c); err != nil || c.listen != "" {
		return err
	}
	c.client.Log = i.env.Log
	return i.client.Connect(ctx, c.client)
}

// begin gives the topics the types of a connection, and begins to listen where it is a
// server's. No service is offered meanwhile.
func (i *instance) begin(ctx context.Context, c connection) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ros, i.gps = c.ros, c.gps
	for _, t := range i.Topics() {
		t.retype(c.ros, c.gps)
	}
	if c.listen == "" {
		return nil
	}
	return i.Serve(ctx, c.listen, newServer(i, c, i.services))
}

// Disconnect delivers what waits, for as long as ctx allows, and ends all connections.
func (i *instance) Disconnect(ctx context.Context) error {
	return errors.Join(i.Server.Disconnect(ctx), i.client.Disconnect(ctx))
}

// Status is the client's, or Connected while the server listens.
func (i *instance) Status() flow.Status {
	if s := i.client.Status(); s != flow.Disconnected {
		return s
	}
	return i.Server.Status()
}

// Err returns nil, or that the client has given up connecting.
func (i *instance) Err() error { return i.client.Err() }

// Diagnosis tells how all connections fared.
func (i *instance) Diagnosis() bridges.Diagnosis {
	return i.client.Diagnosis().Add(i.Server.Diagnosis())
}

// Listening reports whether a client of the server has subscribed to the topic; a
// rosbridge server that was dialed doesn't tell.
func (i *instance) Listening(name string) bool { return i.Receivers(name) > 0 }

// Receivers counts the clients of the server that have subscribed to the topic; a
// rosbridge server that was dialed counts as one.
func (i *instance) Receivers(name string) int {
	if _, ok := i.Serving(); !ok {
		return 1
	}
	return i.Server.Receivers(name)
}
