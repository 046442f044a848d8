package ros1

import (
	"fmt"
	"net/http"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros1/internal/xmlrpc"
)

// handler answers the calls that the master, other nodes and tools make
// (https://wiki.ros.org/ROS/Slave_API).
func (n *node) handler() http.Handler {
	return &xmlrpc.Handler{
		Methods: map[string]xmlrpc.Method{
			"getBusInfo":       n.getBusInfo,
			"getBusStats":      func([]any) xmlrpc.Result { return succeeded("bus stats", []any{[]any{}, []any{}, []any{}}) },
			"getMasterUri":     func([]any) xmlrpc.Result { return succeeded("master URI", "http://"+n.config.master+"/") },
			"getPid":           func([]any) xmlrpc.Result { return succeeded("pid", pid) },
			"getPublications":  n.getPublications,
			"getSubscriptions": n.getSubscriptions,
			"paramUpdate":      func([]any) xmlrpc.Result { return succeeded("no parameter is watched", 0) },
			"publisherUpdate":  n.publisherUpdate,
			"requestTopic":     n.requestTopic,
			"shutdown":         n.shutdown,
		},
		Malformed: func(err error) {
			n.instance.journal.note(malformed, "caller of the node's API", fmt.Errorf("%w: %w", bridges.ErrProtocol, err))
		},
	}
}

func succeeded(message string, value any) xmlrpc.Result {
	return xmlrpc.Result{Code: xmlrpc.CodeSuccess, Message: message, Value: value}
}

// wrong answers a caller that gave the wrong parameters.
func wrong(message string, value any) xmlrpc.Result {
	return xmlrpc.Result{Code: xmlrpc.CodeError, Message: message, Value: value}
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

func (n *node) getPublications([]any) xmlrpc.Result {
	rows := []any{}
	for _, t := range n.instance.graph().topics {
		rows = append(rows, []string{t.name, t.typ.name})
	}
	return succeeded("publications", rows)
}

func (n *node) getSubscriptions([]any) xmlrpc.Result {
	rows := []any{}
	for _, s := range n.instance.graph().subscriptions {
		rows = append(rows, []string{s.name, s.typ.name})
	}
	return succeeded("subscriptions", rows)
}

// getBusInfo lists the connections: number, peer, direction, transport, topic, and
// whether it stands.
func (n *node) getBusInfo([]any) xmlrpc.Result {
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
func (n *node) requestTopic(params []any) xmlrpc.Result {
	name := text(params, 1)
	if n.instance.topic(name) == nil {
		return wrong(fmt.Sprintf("not a publisher of [%s]", name), []any{})
	}
	for _, p := range list(params, 2) {
		if protocol, ok := p.([]any); ok && text(protocol, 0) == "TCPROS" {
			host, port := n.tcpros()
			return succeeded("ready", []any{"TCPROS", host, port})
		}
	}
	return xmlrpc.Result{Code: xmlrpc.CodeFailure, Message: "only TCPROS is spoken here", Value: []any{}}
}

// publisherUpdate says that the publishers of a topic have changed. Anyone can call it, so the
// node asks its master who they are, and dials nobody whom the caller names.
func (n *node) publisherUpdate(params []any) xmlrpc.Result {
	name := text(params, 1)
	s := n.instance.subscription(name)
	if s == nil {
		return wrong(fmt.Sprintf("not a subscriber to [%s]", name), 0)
	}
	n.doubt(s)
	return succeeded("the master will be asked", 0)
}

// shutdown takes the registrations back; the node comes again after a while, under
// another name if its own was taken.
func (n *node) shutdown(params []any) xmlrpc.Result {
	err := fmt.Errorf("%s has asked the node to shut down: %s", text(params, 0), text(params, 1))
	select {
	case n.killed <- err:
	default:
	}
	return succeeded("shutdown", 0)
}
