package bridges

import "fmt"

// Parameter is a named value of the run that a bridge's clients may read.
type Parameter struct {
	// Name is the parameter's full name, such as "/raybridge/seed".
	Name string
	// Get returns the value as it is now: a bool, float64, string, or a []any or
	// map[string]any of such. It is called from any goroutine and doesn't block.
	Get func() any
	// Set changes the value, as a client asks for; nil for one that clients can't
	// change. It is called from any goroutine and doesn't block. Its error is told to the
	// client. (optional)
	Set func(value any) error
}

// ParameterServer is an Instance whose clients read and set parameters. Any goroutine
// may call its methods; they may be called before Connect and while connected.
type ParameterServer interface {
	// AddParameter offers a parameter. A name that is taken is ErrDuplicate.
	AddParameter(p Parameter) error
	// ParameterChanged tells the clients that want to know that a parameter has another
	// value. What clients set themselves need not be told.
	ParameterChanged(name string)
}

// AddParameter offers a parameter to the bridge's clients; ErrNoConverter says that it has
// no parameters.
func AddParameter(b *Bridge, p Parameter) error {
	s, ok := b.instance.(ParameterServer)
	if !ok {
		return fmt.Errorf("bridge %q has no parameters: %w", b.plugin.info.Name, ErrNoConverter)
	}
	if err := checkTopicName(p.Name); err != nil {
		return err
	}
	if err := s.AddParameter(p); err != nil {
		return fmt.Errorf("bridge %q: parameter %q: %w", b.plugin.info.Name, p.Name, err)
	}
	return nil
}

// ParameterChanged tells the bridge's clients that a parameter has another value. A bridge
// without parameters ignores it.
func ParameterChanged(b *Bridge, name string) {
	if s, ok := b.instance.(ParameterServer); ok {
		s.ParameterChanged(name)
	}
}
