package dataset

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene"
)

// Map is what map=FILE says. The zero value says nothing.
type Map struct {
	Sensors []Assignment `yaml:"sensors" doc:"channels of sensors"`
	// Categories come before the format's own.
	Categories Categories `yaml:"categories" doc:"categories of actors"`
}

// Assignment gives a sensor its channel; without a channel the sensor is left out.
type Assignment struct {
	Name    string `yaml:"name" doc:"the sensor's"`
	Channel string `yaml:"channel" doc:"what the format calls it"`
}

// Channel returns the channel that the map gives a sensor, and false where it names none of that name.
func (m *Map) Channel(sensor string) (channel string, ok bool) {
	for _, a := range m.Sensors {
		if a.Name == sensor {
			return a.Channel, true
		}
	}
	return "", false
}

// Categories are rules by which an actor has a category. The first one that it meets holds, and one that meets none is left out.
type Categories []Rule

// Rule gives some actors a category. Conditions that are empty are met by all.
type Rule struct {
	// Type is a pattern of type ids, as path.Match has them, and Tag the name of a CARLA tag, such as "car".
	Type string `yaml:"type" doc:"type ids, such as vehicle.bus*"`
	Tag  string `yaml:"tag" doc:"semantic tag of what its sensors see"`
	// Category is the format's. An empty one leaves the actors out.
	Category string `yaml:"category" doc:"the format's category; none leaves the actors out"`
	// Attribute is one that the actors always have, in formats with attributes.
	Attribute string `yaml:"attribute" doc:"an attribute that they always have"`
}

// Of returns the rule that an actor meets, by its type id and its tag, which is 0 where it isn't known.
func (c Categories) Of(typeID string, tag uint8) (Rule, bool) {
	for _, r := range c {
		if r.Type != "" {
			if ok, err := path.Match(r.Type, typeID); err != nil || !ok {
				continue
			}
		}
		if r.Tag == "" || r.Tag == scene.Tag(tag).String() {
			return r, r.Category != ""
		}
	}
	return Rule{}, false
}

// Errors of rigs and maps; callers test them with errors.Is.
var (
	// ErrRig says that a rig can't be written in a format.
	ErrRig = errors.New("rig doesn't fit the data set")
	// ErrCategory says that a map names a category or an attribute that the format doesn't have.
	ErrCategory = errors.New("unknown category")
)

// maxMap is the size of the largest map=FILE, bytes.
const maxMap = 1 << 20

// readMap reads map=FILE; an empty name gives an empty map.
func readMap(file string) (*Map, error) {
	m := &Map{}
	if file == "" {
		return m, nil
	}
	data, err := fault.ReadUpTo(file, maxMap)
	if err != nil {
		return nil, fmt.Errorf("read map: %w", err)
	}
	n, err := doc.ParseYAML(file, data)
	if err != nil {
		return nil, err
	}
	if err := n.Decode(m); err != nil {
		return nil, err
	}
	for _, r := range m.Categories {
		if _, err := path.Match(r.Type, ""); err != nil {
			return nil, fmt.Errorf("%s: type %q: %w", file, r.Type, err)
		}
		if _, err := scene.ParseTag(r.Tag); r.Tag != "" && err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return m, nil
}

// CheckCategories returns an error that wraps ErrCategory unless each rule's category is among a format's.
func (c Categories) CheckCategories(known []string) error {
	for _, r := range c {
		if r.Category != "" && !slices.Contains(known, r.Category) {
			return fmt.Errorf("%w %q: %s", ErrCategory, r.Category, fault.Hint(r.Category, known))
		}
	}
	return nil
}
