package rosbridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/bridges/internal/rosbridgev2"
	"github.com/raybridge/raybridge/bridges/ros"
)

// node is what the bridge is called among the nodes.
const node = "/raybridge"

// typed is a topic or a service with its type, as the version of ROS writes it.
type typed struct {
	Name, Type string
	full       string
	published  bool
	foreign    bool // of a type from outside, without a definition here
}

// rosapiArguments are the fields of rosapi's requests that matter here.
type rosapiArguments struct {
	Topic   string `json:"topic"`
	Type    string `json:"type"`
	Service string `json:"service"`
	Node    string `json:"node"`
}

var errRosapi = errors.New("rosapi")

// rosapi answers a call of one of the services by which clients ask what there is (package
// rosapi of rosbridge_suite).
func (s *server) rosapi(service string, f *rosbridgev2.Frame) rosbridgev2.Response {
	r := rosbridgev2.Response{Service: f.Service, ID: f.ID}
	values, err := s.ask(service, f.Values)
	if err == nil {
		r.Values, err = json.Marshal(values)
	}
	if r.Result = err == nil; err != nil {
		r.Reason = err.Error()
	}
	return r
}

func (s *server) ask(service string, args []byte) (any, error) {
	var a rosapiArguments
	if len(args) > 0 && args[0] == '{' {
		if err := json.Unmarshal(args, &a); err != nil {
			return nil, fmt.Errorf("%w: arguments: %w", errRosapi, err)
		}
	}
	topics, services := s.topics(), s.services()
	switch service {
	case "topics":
		return map[string]any{"topics": names(topics, nil), "types": types(topics)}, nil
	case "topics_for_type":
		return map[string]any{"topics": names(topics, ofType(a.Type))}, nil
	case "topic_type":
		return map[string]any{"type": typeOf(topics, a.Topic)}, nil
	case "topics_and_raw_types":
		return s.rawTypes(topics)
	case "services":
		return map[string]any{"services": names(services, nil)}, nil
	case "services_for_type":
		return map[string]any{"services": names(services, ofType(a.Type))}, nil
	case "service_type":
		return map[string]any{"type": typeOf(services, a.Service)}, nil
	case "nodes":
		return map[string]any{"nodes": []string{node}}, nil
	case "node_details":
		return map[string]any{
			"publishing":  names(topics, func(t typed) bool { return a.Node == node && t.published }),
			"subscribing": names(topics, func(t typed) bool { return a.Node == node && !t.published }),
			"services":    names(services, func(typed) bool { return a.Node == node }),
		}, nil
	case "publishers":
		return map[string]any{"publishers": s.nodes(topics, a.Topic, true)}, nil
	case "subscribers":
		return map[string]any{"subscribers": s.nodes(topics, a.Topic, false)}, nil
	case "get_time":
		return map[string]any{"time": s.time()}, nil
	default:
		return nil, fmt.Errorf("%w: there is no service /rosapi/%s", errRosapi, service)
	}
}

// topics lists what the bridge publishes and what it subscribes to, by name.
func (s *server) topics() []typed {
	i := s.instance
	i.mu.Lock()
	defer i.mu.Unlock()
	published := i.Topics()
	list := make([]typed, 0, len(published)+len(i.incoming))
	for _, t := range published {
		row := s.typed(t.Info.Name, t.wire(), true)
		row.foreign = t.foreign
		list = append(list, row)
	}
	for name, in := range i.incoming {
		if s.topic(name) == nil {
			row := s.typed(name, in.Type, false)
			row.foreign = in.Plain
			list = append(list, row)
		}
	}
	return sorted(list)
}

func (s *server) services() []typed {
	i := s.instance
	i.mu.Lock()
	defer i.mu.Unlock()
	list := make([]typed, 0, len(i.services))
	for _, service := range i.services {
		list = append(list, s.typed(service.Name, service.Type, true))
	}
	return sorted(list)
}

func (s *server) typed(name, full string, published bool) typed {
	return typed{Name: name, Type: s.ros.TypeName(full), full: full, published: published}
}

func sorted(list []typed) []typed {
	slices.SortFunc(list, func(a, b typed) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// names returns those that want has, all where it is nil; never nil.
func names(list []typed, want func(typed) bool) []string {
	out := []string{}
	for _, t := range list {
		if want == nil || want(t) {
			out = append(out, t.Name)
		}
	}
	return out
}

func types(list []typed) []string {
	out := []string{}
	for _, t := range list {
		out = append(out, t.Type)
	}
	return out
}

func ofType(typ string) func(typed) bool {
	return func(t typed) bool { return short(t.full) == short(typ) }
}

// typeOf returns a type, "" for a name that there isn't, as rosapi does.
func typeOf(list []typed, name string) string {
	for _, t := range list {
		if t.Name == name {
			return t.Type
		}
	}
	return ""
}

// nodes returns the bridge where it publishes a topic, or subscribes to it.
func (s *server) nodes(topics []typed, name string, published bool) []string {
	if slices.ContainsFunc(topics, func(t typed) bool { return t.Name == name && t.published == published }) {
		return []string{node}
	}
	return []string{}
}

// rawTypes returns the definitions of all topics' types, with those they are made of.
func (s *server) rawTypes(topics []typed) (any, error) {
	texts := make([]string, len(topics))
	for i, t := range topics {
		if t.foreign {
			continue // rosapi leaves out what it can't load, too
		}
		var err error
		if texts[i], err = s.ros.Definition(t.full); err != nil {
			return nil, fmt.Errorf("%w: %w", errRosapi, err)
		}
	}
	return map[string]any{"topics": names(topics, nil), "types": types(topics), "typedefs_full_text": texts}, nil
}

// time returns when the newest message was handed over.
func (s *server) time() map[string]any {
	now := s.newest.Load()
	names := s.ros.Names(&ros.Time{})
	return map[string]any{names.Of("sec"): now / 1e9, names.Of("nanosec"): now % 1e9}
}
