// Package ros1 is the bridge "ros1", a node of ROS 1. It publishes to rospy, roscpp and their
// tools over TCPROS, subscribes to commands and offers services, with no ROS installed.
//
// # Connection
//
//	ros1:[MASTER[:11311]][?node=/NAME][&host=IP][&messages=N][&bytes=N][&retry=3s]...
//
// MASTER is where rosmaster or roscore runs; without it ROS_MASTER_URI says so, and else it
// is this machine. Others find the node at host, or at what ROS_HOSTNAME or ROS_IP say, or
// at the address that this machine has towards the master. With an address of the loopback
// network it listens there alone, else on all networks, as rospy does. The node is called
// /raybridge, and /raybridge_2 and so on while others that live have that name; one that
// the user chose is waited for.
//
// # States
//
// Connecting until the node is registered at the master, Connected while it is,
// UnexpectedlyDisconnected from then on while the master is away. The master is asked each
// second whether it still knows the node, since one that was restarted has forgotten
// all; everything is then registered again. Connections with other nodes outlast its
// absence, but nothing is published while the bridge isn't Connected. A node that is told to
// shut down (rosnode kill) takes its registrations back and comes again.
//
// # Queues
//
// Each topic of each subscriber has a connection and a queue of its own (messages=64, bytes=64
// MiB), whose policy is the topic's. A message is encoded once and shared. A subscriber that
// takes nothing for ten seconds is disconnected; none holds up another. A message counts as
// sent when the first subscriber's socket has taken all of it, and as dropped when one of them
// misses it. With several it can be both. A latched topic's message without subscribers counts
// as sent when it is latched.
//
// # What is goroslib's
//
// The calls of the master's and of other nodes' APIs (apimaster, apislave) and the fields of
// connection headers (protocommon, prototcp) are those of github.com/bluenviron/goroslib/v2.
// The rest is this package's own, for reasons that lie in goroslib v2.1.4's source:
//
//   - Publisher.Write queues Go structures, 64 for each subscriber whatever their size, which a
//     later goroutine serialises by reflection: memory can't be bounded in bytes or used
//     again, and our own bytes can't be given (publisher_sub.go, protocommon/message.go).
//   - It drops the newest message for a full queue and tells nobody; no hook, no count, and no
//     function of the message's is called by which one could find out.
//   - It derives definitions from Go structures, of which a second set would have to be kept.
//   - Its node must find the master when it is made, and doesn't notice that one was started
//     anew.
//   - Its XML-RPC server has no time limit for reading and none for sizes, and closing waits
//     for a caller that has sent half a request (xmlrpc/server.go).
//   - HeaderRawDecode takes its length from one Read, which may be short: it is given headers
//     as a whole here.
//   - A service that fails sends no text, which rospy waits for.
//
// # Goroutines
//
// A connected node has one that talks to the master, one that accepts TCPROS connections and
// two for each. It has one for each publisher that it listens to, and those of an HTTP server.
// All have ended when Disconnect returns.
package ros1

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/simtime"
)

// Factory is the bridge named "ros1".
type Factory struct{ limit int64 } // of a message, bytes; 0 for maxMessage

// Info describes the bridge.
func (Factory) Info() bridges.Info {
	return bridges.Info{
		Name: "ros1", Type: "ros1", Kind: bridges.KindNetwork,
		Summary:    "a ROS 1 node that publishes to rospy and roscpp over TCPROS",
		Connection: "[MASTER[:11311]]", Default: "$ROS_MASTER_URI, or else localhost:11311", Options: bridges.OptionsOf(options{Node: defaultNode}),
	}
}

// Register declares the messages that SVL Simulator's users expect, what is subscribed
// to, and services.
func (f Factory) Register(p *bridges.Plugin) error {
	return errors.Join(rossample.Register(p, f, rossample.SVL(), rossample.SVLSubscriptions()), rossample.RegisterServices(p, ros.ROS1, offer))
}

// RegPublication lets the bridge publish one more type, as a ROS message.
func (Factory) RegPublication(p *bridges.Plugin, pub ros.Publication) error {
	return pub.Register(p, ros.ROS1.TypeName(pub.Type), openTopic)
}

// RegSubscription lets the bridge subscribe to one more ROS message.
func (Factory) RegSubscription(p *bridges.Plugin, sub ros.Subscription) error {
	return sub.Register(p, ros.ROS1.TypeName(sub.Type), subscribe)
}

// NewInstance returns a node that isn't connected.
func (f Factory) NewInstance(env bridges.Env) (bridges.Instance, error) {
	return newInstance(env, cmp.Or(f.limit, maxMessage)), nil
}

// CodecEncoding is ROS 1's own serialisation.
func (Factory) CodecEncoding() string { return "ros1" }

// RegCodec lets the bridge publish one more type, as ROS 1 serialises it. rosbag and tools
// without the class need the definition, every subscriber the MD5 sum.
func (Factory) RegCodec(p *bridges.Plugin, pub bridges.Publication[bridges.Append, bridges.Schema]) error {
	if err := checkSum(pub.Schema); err != nil {
		return err
	}
	return pub.Register(p, ros.ROS1.TypeName(pub.Type), func(i bridges.Instance, info *bridges.PublishedTopic, schema bridges.Schema) (bridges.Send[bridges.Append], error) {
		t, err := newTopic(i, info, typeOf(schema))
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, encode bridges.Append, _ simtime.Stamp) error {
			return t.sendBytes(ctx, encode)
		}, nil
	})
}

// RegReader lets the bridge subscribe to one more type.
func (Factory) RegReader(p *bridges.Plugin, sub bridges.Subscription[bridges.Encoded, bridges.Schema]) error {
	if err := checkSum(sub.Schema); err != nil {
		return err
	}
	return sub.Register(p, ros.ROS1.TypeName(sub.Type), func(i bridges.Instance, topic bridges.Topic, schema bridges.Schema, in bridges.Inbox[bridges.Encoded]) error {
		return addSubscription(i, topic, typeOf(schema), func(data []byte) error {
			if err := in.Deliver(bridges.Encoded{Encoding: schema.MessageEncoding, Data: data}); err != nil {
				return fmt.Errorf("%w: %w", transport.ErrProtocol, err)
			}
			return nil
		})
	})
}

// checkSum refuses a schema without the sum that nodes compare.
func checkSum(s bridges.Schema) error {
	if s.MD5 == "" {
		return fmt.Errorf("%s has no MD5 sum: set Schema.MD5 to what \"rosmsg md5\" prints: %w", s.Name, bridges.ErrNoConverter)
	}
	return nil
}

// typeOf is the type of messages from outside as nodes agree on it.
func typeOf(s bridges.Schema) messageType {
	return messageType{ros.ROS1.TypeName(s.Name), s.MD5, string(s.Data)}
}

// instance is one node. Its methods may be called from any goroutine.
type instance struct {
	bridges.State
	env     bridges.Env
	limit   int64    // of a message that is published, bytes
	byName  sync.Map // of *topic by the bridge's name, for Listening
	journal transport.ConnectionLog

	mu            sync.Mutex
	node          *node          // guarded by mu: nil while disconnected
	registrations []registration // guarded by mu: in the order of addition
}

var (
	_ bridges.Checker   = (*instance)(nil)
	_ bridges.Instance  = (*instance)(nil)
	_ bridges.Audience  = (*instance)(nil)
	_ bridges.Diagnoser = (*instance)(nil)

	_ bridges.Withdrawer = (*instance)(nil)
)

func newInstance(env bridges.Env, limit int64) *instance { return &instance{env: env, limit: limit} }

// Diagnosis counts the registrations at a master as connections.
func (i *instance) Diagnosis() bridges.Diagnosis { return i.journal.Diagnosis() }

// Listening reports whether somebody has subscribed to the topic; a latched topic is
// kept for those to come. It takes no lock.
func (i *instance) Listening(name string) bool {
	t, ok := i.byName.Load(name)
	return ok && t.(*topic).listening()
}

// Receivers counts those who have subscribed to the topic.
func (i *instance) Receivers(name string) int {
	t, ok := i.byName.Load(name)
	if !ok {
		return 0
	}
	return t.(*topic).Receivers()
}

// Check reads a connection string as Connect does.
func (i *instance) Check(connection string) error {
	_, err := parseConnection(connection, os.Getenv)
	return err
}

// Connect starts the node, which looks for the master from then on.
func (i *instance) Connect(ctx context.Context, connection string) error {
	config, err := parseConnection(connection, os.Getenv)
	if err != nil {
		return err
	}
	if err := i.Disconnect(ctx); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.SetStatus(flow.Connecting)
	i.journal.Begin(i.env.Log, words)
	i.node = newNode(i, config)
	for _, t := range of[*topic](i.registrations) { // before the first subscriber comes
		t.open(i.node.server)
	}
	go i.node.run()
	return nil
}

// Disconnect delivers what is queued, for as long as ctx allows, takes the registrations
// back and ends all connections.
func (i *instance) Disconnect(ctx context.Context) error {
	i.mu.Lock()
	n := i.node
	i.node = nil
	for _, t := range of[*topic](i.registrations) {
		t.Shut()
	}
	i.mu.Unlock()
	if n == nil {
		return nil
	}
	err := n.stop(ctx)
	i.SetStatus(flow.Disconnected)
	return err
}

// add makes a registration, at once if the node is connected. A name that is taken is the
// error of the registration that has it.
func (i *instance) add(r registration) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, other := range i.registrations {
		if reflect.TypeOf(other) == reflect.TypeOf(r) && other.called() == r.called() {
			return other.taken(r)
		}
	}
	i.registrations = append(i.registrations, r)
	t, publishes := r.(*topic)
	if publishes {
		i.byName.Store(t.Info.Name, t)
	}
	if i.node != nil {
		if publishes {
			t.open(i.node.server)
		}
		i.node.wake()
	}
	return nil
}

// Withdraw takes a topic back, at the master too, and ends the connections of its subscribers when
// they have what is queued.
func (i *instance) Withdraw(info *bridges.PublishedTopic) {
	i.mu.Lock()
	defer i.mu.Unlock()
	found, ok := i.byName.LoadAndDelete(info.Name)
	if !ok {
		return
	}
	t := found.(*topic)
	i.registrations = slices.DeleteFunc(slices.Clone(i.registrations), func(r registration) bool { return r == registration(t) })
	out, open := t.Stream()
	t.Shut()
	if i.node == nil {
		return
	}
	if open {
		for _, c := range i.node.server.Remove(out) {
			c.Finish()
		}
	}
	i.node.wake()
}

// all returns the registrations in the order of addition.
func (i *instance) all() []registration {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clip(i.registrations)
}

// of returns those of a kind.
func of[R registration](list []registration) (kind []R) {
	for _, r := range list {
		if r, ok := r.(R); ok {
			kind = append(kind, r)
		}
	}
	return kind
}

// named returns the registration of a kind with the name that the master knows, nil for none.
func named[R registration](i *instance, name string) (none R) {
	for _, r := range of[R](i.all()) {
		if r.called() == name {
			return r
		}
	}
	return none
}

// words are the lines about the master.
var words = transport.Words{
	Connected: "registered at the ROS master", Again: "registered at the ROS master",
	Failed: "not registered at the ROS master, trying again", Lost: "not registered at the ROS master, trying again",
	GaveUp: "gave up registering at the ROS master",
}

// note counts trouble with another node, which is a TroubleUnread, TroubleFailed or
// TroubleRefused of transport.
func (i *instance) note(kind transport.Trouble, who string, err error) {
	i.journal.Note(kind, "trouble with another ROS node", fault.Net(err), "peer", who)
}

// standardPort is the master's.
const standardPort = 11311

// config is what a connection string and the environment say.
type config struct {
	// master is the master's HOST:PORT.
	master string
	// node is the node's name; named says that the user chose it.
	node  string
	named bool
	// host is where others find the node; empty for the address that leads to the master.
	host  string
	retry bridges.Retry
	queue flow.QueueConfig
}

// graphName is a name of ROS's graph (wiki.ros.org/Names), without "~".
var graphName = regexp.MustCompile(`^/?[A-Za-z]\w*(/\w+)*$`)

// globalName returns a name as the master knows it, or false for one that ROS 1
// doesn't allow.
func globalName(name string) (string, bool) {
	if !graphName.MatchString(name) {
		return "", false
	}
	return "/" + strings.TrimPrefix(name, "/"), true
}

// options are those of a connection string.
type options struct {
	Node string `option:"node" value:"NAME" doc:"the node's name"`
	Host string `option:"host" value:"HOST" doc:"how others reach this machine; without it $ROS_HOSTNAME, $ROS_IP or the address that leads to the master"`
	bridges.RetryOptions
	bridges.QueueOptions
}

// parseConnection reads a connection string; getenv is os.Getenv. Errors wrap
// bridges.ErrConnectionString.
func parseConnection(connection string, getenv func(string) string) (config, error) {
	var o options
	target, given, err := bridges.ReadOptions(connection, &o)
	if err != nil {
		return config{}, err
	}
	c := config{node: defaultNode, retry: o.Retry(), queue: o.Queue()}
	if c.master, err = masterAddress(target, getenv("ROS_MASTER_URI")); err != nil {
		return config{}, err
	}
	if _, ok := given["node"]; ok {
		if c.node, c.named = globalName(o.Node); !c.named {
			return config{}, fmt.Errorf("%w: node=%q: want a ROS name such as /raybridge", bridges.ErrConnectionString, o.Node)
		}
	}
	// As roscpp and rospy do: the program's own option, then ROS_HOSTNAME, then ROS_IP.
	for _, host := range []string{o.Host, getenv("ROS_HOSTNAME"), getenv("ROS_IP")} {
		if host = strings.TrimSpace(host); host != "" {
			c.host = strings.Trim(host, "[]")
			break
		}
	}
	if strings.ContainsAny(c.host, "/ @[]") || strings.Contains(c.host, ":") && net.ParseIP(c.host) == nil {
		return config{}, fmt.Errorf("%w: host %q (option host, ROS_HOSTNAME or ROS_IP): want this machine's name or IP address, as others reach it",
			bridges.ErrConnectionString, c.host)
	}
	return c, nil
}

// masterAddress returns the master's HOST:PORT: the connection string's, or else that of
// ROS_MASTER_URI, or else this machine's.
func masterAddress(target, uri string) (string, error) {
	switch {
	case target != "":
		target = strings.TrimSuffix(strings.TrimPrefix(target, "http://"), "/")
		return bridges.DialAddress(target, standardPort)
	case uri == "":
		return bridges.DialAddress("127.0.0.1", standardPort)
	}
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "http" || u.Host == "" {
		return "", fmt.Errorf("%w: ROS_MASTER_URI is %q: want http://HOST:%d, or name the master as ros1:HOST", bridges.ErrConnectionString, uri, standardPort)
	}
	return bridges.DialAddress(u.Host, standardPort)
}

// pollInterval is how often the master is asked whether it still knows the node. That is about
// each second, and as often as the node would look for a master that is away.
func (c config) pollInterval() time.Duration {
	wait, _ := c.retry.Wait(0)
	return min(wait, time.Second)
}

// names are those that the node may have, in order of preference. They are the one that the
// user chose, or raybridge's own with a number for each further instance.
func (c config) names() []string {
	list := []string{c.node}
	if !c.named {
		for i := 2; i <= maxInstances; i++ {
			list = append(list, fmt.Sprintf("%s_%d", c.node, i))
		}
	}
	return list
}

const (
	defaultNode  = "/raybridge"
	maxInstances = 32
)

// bindAddress returns where to listen so that others reach host: on this machine's own
// network alone if host is of that, else on all networks.
func bindAddress(host string) string {
	if ip := net.ParseIP(host); ip.IsLoopback() {
		return net.JoinHostPort(host, "0")
	}
	if host == "localhost" {
		return "127.0.0.1:0"
	}
	return ":0"
}
