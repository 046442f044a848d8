package sensors

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"sort"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/simtime"
)

// Errors of the registry; callers test them with errors.Is.
var (
	// ErrDefinition: a definition contradicts itself or lacks something.
	ErrDefinition = errors.New("bad definition")
	// ErrDuplicate: two definitions have one id, or a definition names an
	// attribute, an output or an input twice.
	ErrDuplicate = errors.New("registered twice")
	// ErrUnknownSensor: no definition has that id.
	ErrUnknownSensor = errors.New("unknown sensor type")
)

// dotted is the form of ids.
var dotted = regexp.MustCompile(`^[a-z0-9_]+(\.[a-z0-9_]+)+$`)

// Definition describes one type of sensor: everything that the configuration,
// the documentation and the pipeline need to know before one is made. It is
// immutable once in a Registry; any goroutine may read it.
type Definition struct {
	// ID is dotted, in CARLA's manner: "sensor.camera.rgb".
	ID string
	// Number is the type's number in wire formats. It is never changed and never used again for
	// another type; raybridge's own are below 1<<15, others take those from there on. 0 means
	// that the type has no place in such formats.
	Number uint16
	Doc    string // one sentence
	// Tags are words to look it up by: "camera", "gpu".
	Tags []string
	// Attributes are what Define reads off the options, unless there are none.
	Attributes []Attribute
	Outputs    []OutputSpec
	// Inputs are what bridges bring the sensor; most sensors have none.
	Inputs []InputSpec
	// Rate is how often it fires where nothing else is given.
	Rate simtime.Rate
	// EachFrame types fire at every instant at which anything happens, before all
	// other sensors; they have no rate, and none can be given.
	EachFrame bool
	// Acts says that it does more than publish: it works though nobody listens.
	Acts bool
	// Georeferenced says that its data tell where on the earth it is.
	Georeferenced bool
	// Looks says that it looks around. On the ground, where a vehicle's origin is, it sees little but
	// the road.
	Looks bool
	// OpenGL says that it has shaders of its own, so that no device but one of OpenGL can make it.
	OpenGL bool
	// Weather is what its data shows of the weather.
	Weather Felt
	// Devices are what is known of the devices that an attribute's values stand for, and where it is from.
	Devices Table
	// Refuses names the attributes that New refuses beside the other settings, nil where it takes all.
	Refuses func(*Settings) []string
	// New makes a sensor that isn't begun yet. Errors that lie in the
	// settings wrap ErrValue.
	New func(Spec) (Sensor, error)

	options reflect.Type // of Define, as are those below
	fields  []field      // of Attributes
	fault   error
}

// Table is a table of texts for people. The zero Table has nothing to tell.
type Table struct {
	Head []string
	Rows [][]string // each as long as Head
}

// AttributeNames returns the names of the definition's attributes in order.
func (d *Definition) AttributeNames() []string {
	names := make([]string, len(d.Attributes))
	for i := range d.Attributes {
		names[i] = d.Attributes[i].Name
	}
	return names
}

// Attribute returns the attribute of that name, nil if there is none.
func (d *Definition) Attribute(name string) *Attribute {
	for i := range d.Attributes {
		if d.Attributes[i].Name == name {
			return &d.Attributes[i]
		}
	}
	return nil
}

// NewSettings returns settings with every attribute at its default.
func (d *Definition) NewSettings() *Settings {
	s := &Settings{definition: d, values: map[string]any{}, set: map[string]bool{}}
	for i := range d.Attributes {
		s.values[d.Attributes[i].Name] = d.Attributes[i].Default
	}
	return s
}

// validate checks what a definition must keep for look-ups, rigs and Settings to work.
func (d *Definition) validate() error {
	switch {
	case !dotted.MatchString(d.ID):
		return fmt.Errorf("%w: sensor %q: its id has to be lower-case words with dots between, such as sensor.camera.rgb", ErrDefinition, d.ID)
	case d.fault != nil:
		return fmt.Errorf("%w: sensor %s: %w", ErrDefinition, d.ID, d.fault)
	case d.New == nil:
		return fmt.Errorf("%w: sensor %s: it has no constructor", ErrDefinition, d.ID)
	case slices.Contains(d.Tags, ""):
		return fmt.Errorf("%w: sensor %s: a tag is empty", ErrDefinition, d.ID)
	case d.EachFrame && !d.Rate.IsZero():
		return fmt.Errorf("%w: sensor %s: it fires each frame and so can't have the rate %v", ErrDefinition, d.ID, d.Rate)
	}
	if err := d.Weather.validate(); err != nil {
		return fmt.Errorf("%w: sensor %s: %w", ErrDefinition, d.ID, err)
	}
	seen := map[string]bool{}
	for i := range d.Attributes {
		a := &d.Attributes[i]
		if seen[a.Name] {
			return fmt.Errorf("define sensor %s: attribute %s: %w", d.ID, a.Name, ErrDuplicate)
		}
		seen[a.Name] = true
		if err := a.validate(); err != nil {
			return fmt.Errorf("%w: sensor %s: attribute %s: %w", ErrDefinition, d.ID, a.Name, err)
		}
	}
	return d.validatePorts()
}

func (d *Definition) validatePorts() error {
	outputs := map[string]bool{}
	for i := range d.Outputs {
		if d.Outputs[i].open == nil {
			return fmt.Errorf("define sensor %s: output %s: make it with Declare", d.ID, d.Outputs[i].Name)
		}
		if outputs[d.Outputs[i].Name] {
			return fmt.Errorf("define sensor %s: output %s: %w", d.ID, d.Outputs[i].Name, ErrDuplicate)
		}
		outputs[d.Outputs[i].Name] = true
	}
	for i := range d.Inputs {
		if d.Inputs[i].open == nil {
			return fmt.Errorf("define sensor %s: input %s: make it with DeclareInput", d.ID, d.Inputs[i].Name)
		}
		if outputs[d.Inputs[i].Name] {
			return fmt.Errorf("define sensor %s: input %s: %w", d.ID, d.Inputs[i].Name, ErrDuplicate)
		}
		outputs[d.Inputs[i].Name] = true
	}
	return nil
}

// Registry is the set of sensor types a program knows. It is immutable; any
// goroutine may read it.
type Registry struct {
	byID map[string]*Definition
}

// NewRegistry makes a registry of the given definitions. Two with one id
// or one number give an error that wraps ErrDuplicate.
func NewRegistry(definitions ...*Definition) (*Registry, error) {
	r := &Registry{byID: map[string]*Definition{}}
	numbered := map[uint16]*Definition{}
	for _, d := range definitions {
		if err := d.validate(); err != nil {
			return nil, err
		}
		if r.byID[d.ID] != nil {
			return nil, fmt.Errorf("define sensor %s (%q and %q): %w", d.ID, r.byID[d.ID].Doc, d.Doc, ErrDuplicate)
		}
		if other := numbered[d.Number]; d.Number != 0 && other != nil {
			return nil, fmt.Errorf("define sensor %s: number %d is that of %s: %w", d.ID, d.Number, other.ID, ErrDuplicate)
		}
		for _, other := range r.byID {
			if d.options != nil && d.options == other.options {
				return nil, fmt.Errorf("define sensor %s: its options are those of %s: %w", d.ID, other.ID, ErrDuplicate)
			}
		}
		r.byID[d.ID], numbered[d.Number] = d, d
	}
	return r, nil
}

// Must returns r and panics on an error: for registries made of definitions
// that are known when the program is compiled.
func Must(r *Registry, err error) *Registry {
	if err != nil {
		panic(err)
	}
	return r
}

// Get returns the definition with that id; an error wraps ErrUnknownSensor and
// names the closest known.
func (r *Registry) Get(id string) (*Definition, error) {
	if d := r.byID[id]; d != nil {
		return d, nil
	}
	return nil, &unknownSensorError{id, r}
}

// unknownSensorError looks for the closest type only when it is told: a rig may have
// thousands of unknown ones.
type unknownSensorError struct {
	id       string
	registry *Registry
}

func (e *unknownSensorError) Error() string {
	return fmt.Sprintf("%v %q, %s", ErrUnknownSensor, e.id, fault.Hint(e.id, e.registry.IDs()))
}

// Unwrap returns ErrUnknownSensor.
func (e *unknownSensorError) Unwrap() error { return ErrUnknownSensor }

// Of returns the definition that has options of that struct (Define), or of what a pointer
// leads to; an error wraps ErrUnknownSensor.
func (r *Registry) Of(options any) (*Definition, error) {
	t := reflect.TypeOf(options)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for _, d := range r.byID {
		if t != nil && d.options == t {
			return d, nil
		}
	}
	return nil, fmt.Errorf("%w: %T are no options of a registered sensor", ErrUnknownSensor, options)
}

// IDs returns all ids, sorted.
func (r *Registry) IDs() []string { return slices.Sorted(maps.Keys(r.byID)) }

// Match returns the definitions whose id or one of whose tags matches a wildcard
// pattern ("sensor.camera.*", "camera", "seg*"), sorted by id. The patterns are
// those of path.Match, where * also goes over dots.
func (r *Registry) Match(pattern string) []*Definition {
	matches := func(name string) bool {
		ok, err := path.Match(pattern, name)
		return err == nil && ok
	}
	var found []*Definition
	for id, d := range r.byID {
		if matches(id) || slices.ContainsFunc(d.Tags, matches) {
			found = append(found, d)
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].ID < found[j].ID })
	return found
}
