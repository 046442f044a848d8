package bridges

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
)

// Registry holds the bridges of one program. It never changes after
// NewRegistry, but the plugins in it take further message types.
type Registry struct {
	plugins map[string]*Plugin
	names   []string // sorted
}

var bridgeName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// NewRegistry registers each factory. Two of one name give an error that wraps
// ErrDuplicate and names both; a factory's own registration error is returned
// as it is.
func NewRegistry(factories ...Factory) (*Registry, error) {
	r := &Registry{plugins: map[string]*Plugin{}}
	for _, f := range factories {
		p := newPlugin(f)
		name := p.info.Name
		if !bridgeName.MatchString(name) {
			return nil, fmt.Errorf("bridge %T: name %q is not lower case letters, digits and underscores", f, name)
		}
		if other, ok := r.plugins[name]; ok {
			return nil, fmt.Errorf("bridge %q of %T and of %T: %w", name, other.factory, f, ErrDuplicate)
		}
		if err := f.Register(p); err != nil {
			return nil, fmt.Errorf("register bridge %q: %w", name, err)
		}
		r.plugins[name] = p
		r.names = append(r.names, name)
	}
	slices.Sort(r.names)
	return r, nil
}

// MustRegistry is NewRegistry for lists that are fixed in the program: it
// panics on an error.
func MustRegistry(factories ...Factory) *Registry {
	r, err := NewRegistry(factories...)
	if err != nil {
		panic(err)
	}
	return r
}

// Names returns the bridges' names, sorted.
func (r *Registry) Names() []string { return slices.Clone(r.names) }

// Plugins returns the bridges' plugins, sorted by their names.
func (r *Registry) Plugins() []*Plugin {
	list := make([]*Plugin, len(r.names))
	for i, name := range r.names {
		list[i] = r.plugins[name]
	}
	return list
}

// Plugin returns the plugin of the bridge with the name, for listing its types
// or adding some; *UnknownBridgeError where there is none.
func (r *Registry) Plugin(name string) (*Plugin, error) {
	if p, ok := r.plugins[name]; ok {
		return p, nil
	}
	return nil, &UnknownBridgeError{Name: name, Known: r.Names()}
}

// Open makes a bridge from "NAME:CONNECTION", split at the first colon. It
// isn't connected yet: the rest of the string goes unmodified to the instance
// when Bridge.Connect is called.
func (r *Registry) Open(spec string, env Env) (*Bridge, error) {
	name, connection, ok := strings.Cut(spec, ":")
	if !ok {
		return nil, fmt.Errorf("bridge %q: %w: want NAME:CONNECTION with a name of %s",
			spec, ErrConnectionString, strings.Join(r.names, ", "))
	}
	p, err := r.Plugin(name)
	if err != nil {
		return nil, err
	}
	return newBridge(p, connection, env)
}

// Errors of this package and of every bridge; test them with errors.Is. The errors of messages that
// were not delivered are flow's, and the errors of connections transport's.
var (
	// ErrDuplicate: two factories with one name, or a second type name or
	// converter for one message type; the first stays.
	ErrDuplicate = errors.New("already registered")
	// ErrUnknownBridge: no factory has the name; an *UnknownBridgeError says
	// which there are.
	ErrUnknownBridge = errors.New("unknown bridge")
	// ErrConnectionString: the connection string can't be used; the message
	// says what is expected.
	ErrConnectionString = errors.New("bad connection string")
	// ErrNoConverter: the bridge can't carry the message type in this direction.
	ErrNoConverter = errors.New("no converter")
	// ErrTopicType: the topic is in use with another message type.
	ErrTopicType = errors.New("topic has another type")
	// ErrTopicName: the topic's name is empty or the protocol forbids it.
	ErrTopicName = errors.New("bad topic name")
	// ErrConvert: the message can't be expressed in the bridge's format.
	ErrConvert = errors.New("convert message")
	// ErrNotBuilt: this program was built without the bridge; the message says how to
	// build one that has it.
	ErrNotBuilt = errors.New("bridge not built in")
	// ErrService: the service is offered already, or the other side refused the call.
	ErrService = errors.New("service failed")
)

// CheckSize returns nil for a message of size bytes that is within a protocol's limit, else
// an error that wraps flow.ErrTooLarge and names both. A bridge asks before it takes memory for
// the message.
func CheckSize(size, limit int64) error {
	if size <= limit {
		return nil
	}
	return fmt.Errorf("%w: %d bytes, the most are %d", flow.ErrTooLarge, size, limit)
}

// UnknownBridgeError names a bridge that isn't registered, and the one that may be meant or
// else all that are.
// It is ErrUnknownBridge to errors.Is.
type UnknownBridgeError struct {
	Name  string
	Known []string
}

func (e *UnknownBridgeError) Error() string {
	return fmt.Sprintf("unknown bridge %q; %s", e.Name, fault.Hint(e.Name, e.Known))
}

// Is reports whether target is ErrUnknownBridge.
func (e *UnknownBridgeError) Is(target error) bool { return target == ErrUnknownBridge }
