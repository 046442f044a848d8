package bridges

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// ServiceHandler answers a call of a service. It runs on a goroutine of the bridge,
// one call at a time; ctx ends with the connection. An error is told to the caller.
type ServiceHandler[Req, Res any] func(ctx context.Context, request Req) (Res, error)

// serviceCreator offers a service of an instance of its own bridge.
type serviceCreator[Req, Res any] func(instance Instance, service string, handle ServiceHandler[Req, Res]) error

// serviceKey are the types of a service's request and response.
type serviceKey struct{ request, response reflect.Type }

// serviceType is what a plugin knows of one kind of service; it never changes.
type serviceType struct {
	wire   string
	create any // a serviceCreator[Req, Res]
}

// ServiceInfo describes one kind of service of a bridge.
type ServiceInfo struct {
	// Request and Response are Go types, Wire is the service's type in the bridge's
	// protocol, such as "std_srvs/SetBool".
	Request  string `json:"request"`
	Response string `json:"response"`
	Wire     string `json:"wire"`
}

// RegService declares how services with requests of type Req and responses of type Res
// are offered. wire is the name that the protocol has for their type, I the type of the bridge's
// own instances. The first registration stays; a second one changes nothing and returns
// ErrDuplicate.
func RegService[Req, Res any, I Instance](p *Plugin, wire string, create func(instance I, name string, handle ServiceHandler[Req, Res]) error) error {
	key := serviceKey{reflect.TypeFor[Req](), reflect.TypeFor[Res]()}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.services[key]; ok {
		return fmt.Errorf("bridge %q: service of %v is %s: %w", p.info.Name, key.request, known.wire, ErrDuplicate)
	}
	p.services[key] = serviceType{wire: wire, create: serviceCreator[Req, Res](func(instance Instance, name string, handle ServiceHandler[Req, Res]) error {
		i, err := own[I](p, instance)
		if err != nil {
			return err
		}
		return create(i, name, handle)
	})}
	return nil
}

// Services lists the kinds of services by their names in the protocol.
func (p *Plugin) Services() []ServiceInfo {
	p.mu.RLock()
	defer p.mu.RUnlock()
	list := make([]ServiceInfo, 0, len(p.services))
	for key, s := range p.services {
		list = append(list, ServiceInfo{Request: key.request.String(), Response: key.response.String(), Wire: s.wire})
	}
	slices.SortFunc(list, func(a, b ServiceInfo) int {
		return cmp.Or(strings.Compare(a.Wire, b.Wire), strings.Compare(a.Request, b.Request))
	})
	return list
}

// AddService offers a service: handle answers its calls. It may be called before Connect
// and while connected. ErrNoConverter says that the bridge has no services of these
// types, ErrService that the name is taken.
func AddService[Req, Res any](b *Bridge, name string, handle ServiceHandler[Req, Res]) error {
	key := serviceKey{reflect.TypeFor[Req](), reflect.TypeFor[Res]()}
	b.plugin.mu.RLock()
	known, ok := b.plugin.services[key]
	b.plugin.mu.RUnlock()
	if !ok {
		return fmt.Errorf("bridge %q has no service of %v and %v: %w", b.plugin.info.Name, key.request, key.response, ErrNoConverter)
	}
	if err := checkTopicName(name); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.services[name] {
		return fmt.Errorf("bridge %q: %w: %q is offered already", b.plugin.info.Name, ErrService, name)
	}
	if err := known.create.(serviceCreator[Req, Res])(b.instance, name, handle); err != nil {
		return fmt.Errorf("bridge %q: offer service %q: %w", b.plugin.info.Name, name, err)
	}
	b.services[name] = true
	return nil
}
