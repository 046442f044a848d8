package sensors

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Pose is a mounting pose in the parent's frame. It has metres, no further away than the
// earth's poles are from the equator, and degrees applied yaw, pitch, roll (z-y'-x”), yaw
// counter-clockwise positive.
type Pose struct {
	X     float64 `yaml:"x" doc:"forward, metres" min:"-1e7" max:"1e7"`
	Y     float64 `yaml:"y" doc:"left, metres" min:"-1e7" max:"1e7"`
	Z     float64 `yaml:"z" doc:"up, metres" min:"-1e7" max:"1e7"`
	Roll  float64 `yaml:"roll" doc:"degrees about x"`
	Pitch float64 `yaml:"pitch" doc:"degrees about y, positive is nose down"`
	Yaw   float64 `yaml:"yaw" doc:"degrees about z, positive is to the left"`
}

// Spatial returns the pose as a spatial.Pose.
func (p Pose) Spatial() spatial.Pose {
	return spatial.FromRPY(mgl64.Vec3{p.X, p.Y, p.Z}, p.Roll, p.Pitch, p.Yaw)
}

// MaxRate is how often a sensor may fire, in Hz. It bounds the work of one step.
const MaxRate = 10_000

// CheckRate returns an error that wraps simtime.ErrRate for a rate that no sensor may have.
func CheckRate(r simtime.Rate) error {
	if r.Float64() > MaxRate {
		return fmt.Errorf("%w: %v Hz, a sensor fires %d times a second at most", simtime.ErrRate, r, MaxRate)
	}
	return nil
}

// Config is one sensor as written, in a rig or by a program. A program needs to give only
// Name, and Options or ID.
type Config struct {
	ID      string `yaml:"id" doc:"type of the sensor, such as sensor.camera.rgb"`
	Name    string `yaml:"name" doc:"unique in the rig"`
	Parent  string `yaml:"parent" doc:"frame it is mounted in: base_link or another sensor's frame" default:"base_link"`
	Frame   string `yaml:"frame" doc:"name of its own frame" default:"its name"`
	FrameID string `yaml:"frame_id" doc:"frame that its messages name; a camera's is the name of its optical frame, unless frame is the same" default:"its own frame, of cameras with _optical"`
	Topic   string `yaml:"topic" doc:"start of its topics" default:"/ and its name"`
	// Topics are the topics of single outputs and inputs by their names; an input whose
	// topic is "" is not brought.
	Topics map[string]string `yaml:"topics" doc:"whole topics of single outputs: docs/sensors.md names the outputs" default:"the start and the output's own end"`
	QoS    Quality           `yaml:"qos" doc:"quality of service of its topics" default:"each output's own"`
	// Rate is how often it fires. Types that fire each frame take the zero Rate alone.
	Rate   simtime.Rate `yaml:"rate" doc:"Hz, a decimal number or the quotient of two, such as 10/3; at most 10000" default:"the type's own"`
	Always bool         `yaml:"always" doc:"compute it even if nobody listens"`
	Pose   Pose         `yaml:"pose" doc:"its place in the parent's frame"`
	// Attributes are the type's parameters by name, in place of Options or besides. In a
	// rig they are the other keys.
	Attributes map[string]any
	// Options is the sensor's type and its parameters: a struct that a registered type
	// has for that, such as camera.RGB{Width: 640, Height: 480}. What is zero has its default.
	Options any
	// AttachTo is the id of the actor that it rides on; 0 is the ego. Parent's base_link is
	// that actor's own frame then. A Parent that is another sensor's frame has to be on the
	// same actor, which need not be said again.
	AttachTo uint32
	// Wanted says that a bridge wants the sensor, which no rig asked for: only the bridges that want its type carry its topics.
	Wanted bool
	// Beside is the name of the sensor that it is wanted beside, "" for all others.
	Beside string
	// NoFiles refuses attributes that name files, for sensors that come from elsewhere, such as over a network: they open none.
	NoFiles bool

	order  []string         // of Attributes, as written
	places map[string]Place // of the keys that are written, and of those of topics as topics.OUTPUT
}

// Quality changes the quality of service that a type's outputs and inputs have. What is zero
// stays the type's own.
type Quality struct {
	Reliability string `yaml:"reliability" doc:"whether lost messages are sent again" enum:"reliable,best_effort" default:"the output's own"`
	Durability  string `yaml:"durability" doc:"whether late subscribers get the last message" enum:"volatile,transient_local" default:"the output's own"`
	Depth       int    `yaml:"depth" doc:"keep-last depth" min:"1" max:"10000" default:"the output's own"`
}

// Over returns q with what the quality gives in place of its own. It works on flow.DefaultQoS
// where q is zero.
func (o Quality) Over(q flow.QoS) flow.QoS {
	if o != (Quality{}) {
		q = q.OrDefault()
	}
	switch o.Reliability {
	case flow.Reliable.String():
		q.Reliability = flow.Reliable
	case flow.BestEffort.String():
		q.Reliability = flow.BestEffort
	}
	switch o.Durability {
	case flow.TransientLocal.String():
		q.Durability = flow.TransientLocal
	case flow.Volatile.String():
		q.Durability = flow.Volatile
	}
	if o.Depth > 0 {
		q.History, q.Depth = flow.KeepLast, o.Depth
	}
	return q
}

// Place is where something stands in a file.
type Place interface {
	// Errorf makes an error there.
	Errorf(format string, args ...any) error
}

// topicsKey is the key of Config.Topics, whole the place of all of a sensor.
const (
	topicsKey = "topics"
	whole     = ""
)

// Clone returns a copy that can be changed alone: its maps are its own. The values of attributes are shared.
func (c *Config) Clone() Config {
	clone := *c
	clone.Topics, clone.Attributes, clone.places = maps.Clone(c.Topics), maps.Clone(c.Attributes), maps.Clone(c.places)
	clone.order = slices.Clone(c.order)
	return clone
}

// DecodeYAML reads a sensor: its own keys, and every other key as an attribute.
func (c *Config) DecodeYAML(n doc.Node) error {
	entries, err := n.Entries()
	if err != nil {
		return err
	}
	if c.places[whole] == nil { // else one that stands elsewhere gets new values
		c.PlaceAt(whole, n)
	}
	for _, x := range entries {
		c.PlaceAt(x.Key, x.Value)
		if x.Key == topicsKey {
			if err := c.decodeTopics(x.Value); err != nil {
				return err
			}
			continue
		}
		known, err := doc.DecodeKey(c, x)
		if err != nil {
			return err
		}
		if known {
			continue
		}
		v, err := x.Value.Value()
		if err != nil {
			return err
		}
		c.Set(x.Key, v, x.Value)
	}
	return nil
}

func (c *Config) decodeTopics(n doc.Node) error {
	entries, err := n.Entries()
	if err != nil {
		return err
	}
	if c.Topics == nil {
		c.Topics = map[string]string{}
	}
	for _, x := range entries {
		v, err := x.Value.Value()
		if err != nil {
			return err
		}
		topic, ok := v.(string)
		if !ok {
			return x.Value.Errorf("%w: %v, need a topic", doc.ErrType, v)
		}
		c.Topics[x.Key] = topic
		c.PlaceAt(topicsKey+"."+x.Key, x.Value)
	}
	return nil
}

// PlaceAt tells where a key's value stands, for Fault. The key "" is the whole sensor;
// those of topics are topics.OUTPUT.
func (c *Config) PlaceAt(key string, at Place) {
	if c.places == nil {
		c.places = map[string]Place{}
	}
	c.places[key] = at
}

// Set gives an attribute a value that stands at a place. Names tells the attributes in the
// order in which they were first set.
func (c *Config) Set(attribute string, value any, at Place) {
	if c.Attributes == nil {
		c.Attributes, c.order = map[string]any{}, nil
	}
	if _, given := c.Attributes[attribute]; !given {
		c.order = append(c.order, attribute)
	}
	c.Attributes[attribute] = value
	c.PlaceAt(attribute, at)
}

// Names returns the names of Attributes. Those that Set gave come in its order, then the others
// by name, so that of two faults the same is always told.
func (c *Config) Names() []string {
	names := slices.DeleteFunc(slices.Clone(c.order), func(name string) bool {
		_, kept := c.Attributes[name]
		return !kept
	})
	for _, name := range slices.Sorted(maps.Keys(c.Attributes)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Fault places an error at one of the sensor's keys ("rate", "topic", "topics.image", an
// attribute) in its file. If the key is "" or isn't written, it places it where the sensor
// begins. Where topics doesn't have an output, topic is meant. The result wraps err; it is a
// *doc.Error if the sensor came from a file.
func (c *Config) Fault(key string, err error) error {
	if strings.HasPrefix(key, topicsKey+".") && c.places[key] == nil {
		key = "topic"
	}
	if at := c.places[key]; at != nil {
		return at.Errorf("%w", err)
	}
	if _, named := c.Attributes[key]; key != whole && !named {
		err = fmt.Errorf("%s: %w", key, err)
	}
	if at := c.places[whole]; at != nil {
		return at.Errorf("%w", err)
	}
	return fmt.Errorf("sensor %s: %w", c.Name, err)
}

// Reaches returns why a sensor whose data tell where on the earth it is can't begin at a point of
// the map, or nil. The error wraps spatial.ErrBeyondMap and has the sensor's place in the rig's file.
func (c *Config) Reaches(registry *Registry, at spatial.MapFrame, p mgl64.Vec3) error {
	if d := registry.byID[c.ID]; d == nil || !d.Georeferenced {
		return nil // Resolve refuses an unknown type
	}
	if err := at.Covers(p); err != nil {
		return c.Fault(whole, fmt.Errorf("%s: %w", c.ID, err))
	}
	return nil
}

// besider is a Place in a file that knows where other files lie beside it.
type besider interface{ Beside(path string) string }

// valueOf returns what an attribute is given: of a path the whole one, of a file's its content.
func (c *Config) valueOf(d *Definition, name string) (any, error) {
	value := c.Attributes[name]
	path, isText := value.(string)
	at, inFile := c.places[name].(besider)
	a := d.Attribute(name)
	switch {
	case a != nil && a.Path && isText && path != "" && c.NoFiles:
		return nil, fmt.Errorf("%w: %s names a file, and only the run's own rig may: put the sensor there", ErrValue, name)
	case a == nil || !isText || !inFile:
	case a.Path:
		return at.Beside(path), nil
	case a.File && path != "" && !IsContent(path):
		return contentOf(at.Beside(path))
	}
	return value, nil
}

// maxFile is the size of the largest file that an attribute has the content of, bytes.
const maxFile = 64 << 20

// IsContent tells the content of a file from its path, as the values of File attributes may be either: it
// has more than a line, or begins as JSON, XML, or numpy's NPY or base64 of that.
func IsContent(value string) bool {
	return strings.ContainsAny(value, "\n\r") || slices.ContainsFunc([]string{"{", "<", "\x93NUMPY", "k05VTVBZ"}, func(start string) bool {
		return strings.HasPrefix(value, start)
	})
}

// contentOf reads a file whose content is an attribute's value.
func contentOf(path string) (string, error) {
	data, err := fault.ReadUpTo(path, maxFile)
	if err != nil {
		return "", err
	}
	if len(data) > maxFile {
		return "", fmt.Errorf("%w: %s has more than %d MiB", ErrValue, path, maxFile>>20)
	}
	text := string(data)
	if !IsContent(text) {
		text += "\n"
	}
	return text, nil
}

// Shown returns an attribute's value for people: of a file's content its path, or how much there is.
func (c *Config) Shown(a *Attribute, value any) any {
	content, ok := value.(string)
	if !a.File || !ok || content == "" {
		return value
	}
	if path := c.PathOf(a); path != "" {
		return path
	}
	return fmt.Sprintf("%d bytes", len(content))
}

// PathOf returns the path of the file whose content an attribute has, "" where the content itself was given.
func (c *Config) PathOf(a *Attribute) string {
	if c == nil || !a.File {
		return ""
	}
	path, _ := c.Attributes[a.Name].(string)
	at, inFile := c.places[a.Name].(besider)
	if path == "" || !inFile || IsContent(path) {
		return ""
	}
	return at.Beside(path)
}

// Resolve finds the sensor's type and works out its settings and its rate. The rest of the
// Spec, which depends on other sensors, is the rig's: frames, mount and topics.
func (c *Config) Resolve(registry *Registry) (*Spec, error) {
	d, err := registry.Get(c.ID)
	given := map[string]any{}
	if c.Options != nil {
		if d, err = registry.Of(c.Options); err == nil {
			given = d.Given(c.Options)
		}
	}
	if err != nil {
		return nil, c.Fault(whole, err)
	}
	settings := d.NewSettings()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, replaced := c.Attributes[name]; replaced {
			continue
		}
		if err := settings.Set(name, given[name]); err != nil {
			return nil, c.Fault(whole, err)
		}
	}
	var faults doc.Faults
	for _, name := range c.Names() {
		value, err := c.valueOf(d, name)
		if err == nil {
			err = settings.Set(name, value)
		}
		if err != nil {
			faults.Add(c.Fault(name, err))
		}
	}
	s := &Spec{
		Definition: d, Name: c.Name, Frame: c.Frame, FrameID: c.FrameID, ParentFrame: c.Parent,
		Relative: c.Pose.Spatial(), Rate: c.Rate, Settings: settings, Config: c,
	}
	switch {
	case d.EachFrame && !c.Rate.IsZero():
		faults.Add(c.Fault("rate", fmt.Errorf("%w: a %s fires each frame: leave the rate out", simtime.ErrRate, d.ID)))
	case c.Rate.IsZero():
		s.Rate = d.Rate
	}
	if err := CheckRate(s.Rate); err != nil {
		faults.Add(c.Fault("rate", err))
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return s, nil
}
