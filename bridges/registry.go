package bridges

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
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
