package ros1

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/bluenviron/goroslib/v2/pkg/apimaster"
)

// registration is something that the node has registered: a *topic, a *subscription or a
// *service.
type registration interface {
	// enter registers it, leave takes that back; the node has an address and a name.
	enter(api *apimaster.Client, n *node) error
	leave(api *apimaster.Client, n *node) error
}

func (g graph) registrations() []registration {
	var list []registration
	for _, t := range g.topics {
		list = append(list, t)
	}
	for _, s := range g.subscriptions {
		list = append(list, s)
	}
	for _, s := range g.services {
		list = append(list, s)
	}
	return list
}

// register registers what isn't yet, and once more the subscriptions whose publishers may have
// changed: the master answers with those that there are. It runs on run's goroutine.
func (n *node) register(m *master) error {
	doubted := n.takeDoubted()
	for _, r := range n.instance.graph().registrations() {
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
