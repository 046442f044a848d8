package ros1

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros1/internal/xmlrpc"
	"github.com/raybridge/raybridge/internal/guard"
	"github.com/raybridge/raybridge/sensors/stream/fanout"
)

// node is the node of one Connect. run, on its goroutine, keeps it registered at the
// master; TCPROS connections and calls of its API outlast the master's absence.
type node struct {
	instance *instance
	config   config
	server   *fanout.Server
	ctx      context.Context // ends when the node is stopped
	cancel   context.CancelFunc
	done     chan struct{}  // closed when run has ended
	feeding  sync.WaitGroup // the goroutines of feeds
	// dirty has a token when there is something to register, killed when another node has
	// asked this one to end.
	dirty  chan struct{}
	killed chan error

	// Owned by run, and by stop after it.
	slave      *xmlrpc.Server // nil until the node listens
	master     *master        // the last that was there
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
	n.server = fanout.New(fanout.Config{
		Accept: func(c *fanout.Client) fanout.Session { return &session{node: n, client: c} },
		Left: func(c *fanout.Client, failure error) {
			if refusal := new(guard.Refusal); errors.As(failure, &refusal) {
				i.journal.note(refused, c.Conn().RemoteAddr().String(), failure)
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
	for failures := 0; ; {
		joined, err := n.join()
		if joined {
			failures = 0
			err = n.watch()
		}
		if n.ctx.Err() != nil {
			return
		}
		failures++
		if joined || n.instance.Status() != bridges.Connecting {
			n.instance.setStatus(bridges.UnexpectedlyDisconnected)
		}
		n.instance.journal.lost(err)
		if errors.Is(err, errForgotten) {
			continue
		}
		wait, ok := n.config.retry.Wait(failures)
		if !ok {
			n.instance.setStatus(bridges.UnexpectedlyDisconnected)
			return
		}
		select {
		case <-n.ctx.Done():
			return
		case <-time.After(wait):
		}
	}
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
	n.instance.journal.connected(name, n.config.master)
	n.instance.setStatus(bridges.Connected)
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
		slave, err := xmlrpc.Listen(bind, host, n.handler(), func(err error) {
			n.instance.journal.note(refused, "caller of the node's API", err)
		})
		if err != nil {
			return fmt.Errorf("%w: %w", bridges.ErrListen, err)
		}
		n.slave = slave
	}
	if n.server.Addr() == nil {
		if err := n.server.Listen(bind); err != nil {
			return fmt.Errorf("%w: %w", bridges.ErrListen, err)
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
	n.instance.setStatus(bridges.Disconnecting)
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
