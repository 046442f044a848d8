package ros1

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/bluenviron/goroslib/v2/pkg/apimaster"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/internal/guard"
)

// node is the node of one Connect. run, on its goroutine, keeps it registered at the
// master; TCPROS connections and calls of its API outlast the master's absence.
type node struct {
	instance *instance
	config   config
	server   *transport.Server
	ctx      context.Context // ends when the node is stopped
	cancel   context.CancelFunc
	done     chan struct{}  // closed when run has ended
	feeding  sync.WaitGroup // the goroutines of feeds
	// dirty has a token when there is something to register, killed when another node has
	// asked this one to end.
	dirty  chan struct{}
	killed chan error

	// Owned by run, and by stop after it.
	slave      *rpcServer // nil until the node listens
	master     *master    // the last that was there
	registered map[registration]bool

	mu       sync.Mutex
	name     string                             // guarded by mu: the node's name
	host     string                             // guarded by mu: where others find it
	apiPort  int                                // guarded by mu: of the API
	sessions map[*session]bool                  // guarded by mu: those that are served
	feeds    map[*subscription]map[string]*feed // guarded by mu: by the publisher's URI
	doubted  map[registration]bool              // guarded by mu: subscriptions whose publishers may have changed
}

func newNode(i *instance, c config) *node {
	n := &node{
		instance: i, config: c, done: make(chan struct{}),
		dirty: make(chan struct{}, 1), killed: make(chan error, 1),
		name: c.node, sessions: map[*session]bool{}, feeds: map[*subscription]map[string]*feed{},
		doubted: map[registration]bool{},
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.server = transport.New(transport.Config{
		Accept: func(c *transport.Conn) transport.Session { return &session{node: n, client: c} },
		Left: func(c *transport.Conn, failure error) {
			if refusal := new(guard.Refusal); errors.As(failure, &refusal) {
				i.note(transport.TroubleRefused, c.Conn().RemoteAddr().String(), failure)
			}
		},
		// Each topic of each subscriber is a client.
		Queue: c.queue, MaxClients: guard.NodeConnections, PerAddress: guard.NodeConnections / 2, Beat: time.Hour, Log: i.env.Log,
	})
	return n
}

// wake lets run register what is new.
func (n *node) wake() {
	select {
	case n.dirty <- struct{}{}:
	default:
	}
}

// run keeps the node registered until it is stopped, or has given up.
func (n *node) run() {
	defer close(n.done)
	if err := transport.Keep(n.ctx, n.config.retry, n.take, n.lost); err != nil {
		n.instance.SetStatus(flow.UnexpectedlyDisconnected)
	}
}

// take registers the node until the master is gone. A master that has forgotten the node is
// there, and is asked again at once.
func (n *node) take() (joined bool, err error) {
	for {
		if joined, err = n.join(); joined {
			err = n.watch()
		}
		if !errors.Is(err, errForgotten) || n.ctx.Err() != nil {
			return joined, err
		}
		n.lost(transport.Loss{Connected: joined, Err: err})
	}
}

// lost notes that the node isn't registered any more, or couldn't be.
func (n *node) lost(loss transport.Loss) {
	if loss.Connected || n.instance.Status() != flow.Connecting {
		n.instance.SetStatus(flow.UnexpectedlyDisconnected)
	}
	loss.Err = fault.Net(loss.Err)
	n.instance.journal.Lost(loss)
}

// join finds the master, listens if the node doesn't yet, and registers all there is.
func (n *node) join() (bool, error) {
	m, err := reach(n.ctx, n.config.master)
	if err != nil {
		return false, err
	}
	if err := n.listen(); err != nil {
		return false, err
	}
	name, err := m.claim(append([]string{n.caller()}, n.config.names()...), n.uri())
	if err != nil {
		return false, err
	}
	n.mu.Lock()
	n.name = name
	n.mu.Unlock()
	n.master, n.registered = m, map[registration]bool{}
	if err := n.register(m); err != nil {
		return false, err
	}
	n.instance.journal.Connected("node", name, "master", n.config.master)
	n.instance.SetStatus(flow.Connected)
	return true, nil
}

// watch registers what is new until the master is gone or has forgotten the node.
func (n *node) watch() error {
	poll := time.NewTicker(n.config.pollInterval())
	defer poll.Stop()
	for {
		var err error
		select {
		case <-n.ctx.Done():
			return n.ctx.Err()
		case err = <-n.killed:
			n.unregister(n.ctx, n.master)
		case <-n.dirty:
			err = n.register(n.master)
		case <-poll.C:
			err = n.master.check(n.caller(), n.uri(), len(n.registered) > 0)
		}
		if err != nil {
			return err
		}
	}
}

// listen opens the ports for calls and for TCPROS, once, and learns where others find
// the node.
func (n *node) listen() error {
	host := n.config.host
	if host == "" {
		var err error
		if host, err = localAddress(n.ctx, n.config.master); err != nil {
			return err
		}
	}
	bind := bindAddress(host)
	if n.slave == nil {
		slave, err := listenCalls(bind, host, n.handler(), func(err error) {
			n.instance.note(transport.TroubleRefused, "caller of the node's API", err)
		})
		if err != nil {
			return fmt.Errorf("%w: %w", transport.ErrListen, err)
		}
		n.slave = slave
	}
	if n.server.Addr() == nil {
		if err := n.server.Listen(bind); err != nil {
			return err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.host, n.apiPort = host, n.slave.Port()
	return nil
}

// localAddress returns the address that this machine has towards the master. Nodes of
// ROS 1 speak IPv4 unless the master has IPv6 alone.
func localAddress(ctx context.Context, master string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	var dialer net.Dialer
	var first error
	for _, network := range []string{"udp4", "udp6"} {
		conn, err := dialer.DialContext(ctx, network, master) // sends nothing
		if err == nil {
			defer conn.Close()
			return conn.LocalAddr().(*net.UDPAddr).IP.String(), nil
		}
		if first == nil {
			first = err
		}
	}
	return "", fmt.Errorf("find this machine's address towards %s, which ?host= would say: %w", master, first)
}

// caller returns the node's name.
func (n *node) caller() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.name
}

// uri returns where the node's API is found.
func (n *node) uri() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return "http://" + net.JoinHostPort(n.host, strconv.Itoa(n.apiPort)) + "/"
}

// tcpros returns where the node's TCPROS server is found.
func (n *node) tcpros() (host string, port int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if addr, ok := n.server.Addr().(*net.TCPAddr); ok {
		port = addr.Port
	}
	return n.host, port
}

// stop delivers what is queued, for as long as ctx allows. Subscribers are given all
// before the master tells them that the publisher is gone: roscpp then reads no more.
func (n *node) stop(ctx context.Context) error {
	n.instance.SetStatus(flow.Disconnecting)
	n.mu.Lock() // a call of follow either begins its feeds before this, or none
	n.cancel()
	n.mu.Unlock()
	<-n.done
	err := n.server.Close(ctx)
	if n.master != nil {
		n.unregister(ctx, n.master)
	}
	if n.slave != nil {
		err = errors.Join(err, n.slave.Close())
	}
	n.feeding.Wait()
	return err
}

var pid = os.Getpid()

// registration is something that the node has registered: a *topic, a *subscription or a
// *service.
type registration interface {
	// called is the name that the master knows.
	called() string
	// taken says that another one of its kind wants that name.
	taken(by registration) error
	// enter registers it, leave takes that back; the node has an address and a name.
	enter(api *apimaster.Client, n *node) error
	leave(api *apimaster.Client, n *node) error
}

// register registers what isn't yet, and once more the subscriptions whose publishers may have
// changed: the master answers with those that there are. It also takes back what was withdrawn.
// It runs on run's goroutine.
func (n *node) register(m *master) error {
	doubted, all := n.takeDoubted(), n.instance.all()
	for r := range n.registered {
		if slices.Contains(all, r) {
			continue
		}
		if err := r.leave(m.api, n); err != nil && unreachable(err) {
			return fmt.Errorf("at ROS master %s: %w", m.address, err)
		}
		delete(n.registered, r)
	}
	for _, r := range all {
		if n.registered[r] && !doubted[r] {
			continue
		}
		if err := r.enter(m.api, n); err != nil {
			return fmt.Errorf("at ROS master %s: %w", m.address, err)
		}
		n.registered[r] = true
	}
	return nil
}

// doubt has the master asked for the publishers of a subscription.
func (n *node) doubt(s *subscription) {
	n.mu.Lock()
	n.doubted[s] = true
	n.mu.Unlock()
	n.wake()
}

// takeDoubted returns the subscriptions whose publishers the master is to be asked for.
func (n *node) takeDoubted() map[registration]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	doubted := n.doubted
	n.doubted = map[registration]bool{}
	return doubted
}

// unregister takes everything back that was registered, unless the master can't be
// reached.
func (n *node) unregister(ctx context.Context, m *master) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	api := apimaster.NewClient(m.address, n.caller(), newCaller(ctx))
	for r := range n.registered {
		if err := r.leave(api, n); err != nil && unreachable(err) {
			n.instance.env.Log.Debug("registrations stay behind at the ROS master", "error", err)
			return
		}
	}
	n.registered = nil
}

func (t *topic) called() string        { return t.name }
func (s *subscription) called() string { return s.name }
func (s *service) called() string      { return s.name }

func (t *topic) taken(by registration) error {
	return fmt.Errorf("%w: %q is the same as %q", bridges.ErrTopicName, by.(*topic).Info.Name, t.Info.Name)
}

func (s *subscription) taken(registration) error {
	return fmt.Errorf("%w: %q is subscribed to under another name", bridges.ErrTopicName, s.name)
}

func (s *service) taken(registration) error {
	return fmt.Errorf("%w: %s is offered already", bridges.ErrService, s.name)
}

func (t *topic) enter(api *apimaster.Client, n *node) error {
	if _, err := api.RegisterPublisher(t.name, t.typ.name, n.uri()); err != nil {
		return fmt.Errorf("register publisher of %s: %w", t.name, err)
	}
	return nil
}

func (t *topic) leave(api *apimaster.Client, n *node) error {
	return api.UnregisterPublisher(t.name, n.uri())
}

func (s *subscription) enter(api *apimaster.Client, n *node) error {
	publishers, err := api.RegisterSubscriber(s.name, s.typ.name, n.uri())
	if err != nil {
		return fmt.Errorf("register subscriber to %s: %w", s.name, err)
	}
	n.follow(s, publishers)
	return nil
}

func (s *subscription) leave(api *apimaster.Client, n *node) error {
	return api.UnregisterSubscriber(s.name, n.uri())
}

func (s *service) enter(api *apimaster.Client, n *node) error {
	if err := api.RegisterService(s.name, n.serviceURI(), n.uri()); err != nil {
		return fmt.Errorf("register service %s: %w", s.name, err)
	}
	return nil
}

func (s *service) leave(api *apimaster.Client, n *node) error {
	return api.UnregisterService(s.name, n.serviceURI())
}

// serviceURI is where callers of services come to.
func (n *node) serviceURI() string {
	host, port := n.tcpros()
	return "rosrpc://" + net.JoinHostPort(host, strconv.Itoa(port))
}

// handler answers the calls that the master, other nodes and tools make
// (https://wiki.ros.org/ROS/Slave_API).
func (n *node) handler() http.Handler {
	return &rpcHandler{
		methods: map[string]rpcMethod{
			"getBusInfo":       n.getBusInfo,
			"getBusStats":      func([]any) rpcResult { return succeeded("bus stats", []any{[]any{}, []any{}, []any{}}) },
			"getMasterUri":     func([]any) rpcResult { return succeeded("master URI", "http://"+n.config.master+"/") },
			"getPid":           func([]any) rpcResult { return succeeded("pid", pid) },
			"getPublications":  n.getPublications,
			"getSubscriptions": n.getSubscriptions,
			"paramUpdate":      func([]any) rpcResult { return succeeded("no parameter is watched", 0) },
			"publisherUpdate":  n.publisherUpdate,
			"requestTopic":     n.requestTopic,
			"shutdown":         n.shutdown,
		},
		unreadable: func(err error) {
			n.instance.note(transport.TroubleUnread, "caller of the node's API", fmt.Errorf("%w: %w", transport.ErrProtocol, err))
		},
	}
}

func succeeded(message string, value any) rpcResult {
	return rpcResult{Code: codeSuccess, Message: message, Value: value}
}

// wrong answers a caller that gave the wrong parameters.
func wrong(message string, value any) rpcResult {
	return rpcResult{Code: codeError, Message: message, Value: value}
}

// text returns a parameter that is a string, or "".
func text(params []any, i int) string {
	if i < len(params) {
		s, _ := params[i].(string)
		return s
	}
	return ""
}

func list(params []any, i int) []any {
	if i < len(params) {
		l, _ := params[i].([]any)
		return l
	}
	return nil
}

func (n *node) getPublications([]any) rpcResult {
	rows := []any{}
	for _, t := range of[*topic](n.instance.all()) {
		rows = append(rows, []string{t.name, t.typ.name})
	}
	return succeeded("publications", rows)
}

func (n *node) getSubscriptions([]any) rpcResult {
	rows := []any{}
	for _, s := range of[*subscription](n.instance.all()) {
		rows = append(rows, []string{s.name, s.typ.name})
	}
	return succeeded("subscriptions", rows)
}

// getBusInfo lists the connections: number, peer, direction, transport, topic, and
// whether it stands.
func (n *node) getBusInfo([]any) rpcResult {
	n.mu.Lock()
	defer n.mu.Unlock()
	rows := []any{}
	add := func(peer, direction, topic string, stands bool) {
		rows = append(rows, []any{len(rows) + 1, peer, direction, "TCPROS", topic, stands})
	}
	for s := range n.sessions {
		add(s.peer, "o", s.topic, true)
	}
	for s, feeds := range n.feeds {
		for uri, f := range feeds {
			add(uri, "i", s.name, f.connected)
		}
	}
	return succeeded("bus info", rows)
}

// requestTopic tells a subscriber where to connect for a topic.
func (n *node) requestTopic(params []any) rpcResult {
	name := text(params, 1)
	if named[*topic](n.instance, name) == nil {
		return wrong(fmt.Sprintf("not a publisher of [%s]", name), []any{})
	}
	for _, p := range list(params, 2) {
		if protocol, ok := p.([]any); ok && text(protocol, 0) == "TCPROS" {
			host, port := n.tcpros()
			return succeeded("ready", []any{"TCPROS", host, port})
		}
	}
	return rpcResult{Code: codeFailure, Message: "only TCPROS is spoken here", Value: []any{}}
}

// publisherUpdate says that the publishers of a topic have changed. Anyone can call it, so the
// node asks its master who they are, and dials nobody whom the caller names.
func (n *node) publisherUpdate(params []any) rpcResult {
	name := text(params, 1)
	s := named[*subscription](n.instance, name)
	if s == nil {
		return wrong(fmt.Sprintf("not a subscriber to [%s]", name), 0)
	}
	n.doubt(s)
	return succeeded("the master will be asked", 0)
}

// shutdown takes the registrations back; the node comes again after a while, under
// another name if its own was taken.
func (n *node) shutdown(params []any) rpcResult {
	err := fmt.Errorf("%s has asked the node to shut down: %s", text(params, 0), text(params, 1))
	select {
	case n.killed <- err:
	default:
	}
	return succeeded("shutdown", 0)
}
