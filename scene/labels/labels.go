package labels

import (
	_ "embed"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/filefault"
	"github.com/raybridge/raybridge/scene"
)

// The keys of glTF extras that hold a node's label, where a file names none.
const (
	DefaultExtras      = "semantic_tag"
	DefaultActorExtras = "semantic_actor"
)

// maxFileBytes bounds a labels file: real ones hold a few rules.
const maxFileBytes = 1 << 20

// Config is the content of a labels file.
type Config struct {
	Rules []Rule `yaml:"rules"`
	// Extras is the key in a node's or mesh's extras that holds its tag;
	// empty means DefaultExtras.
	Extras string `yaml:"extras"`
	// ActorExtras is the key that says whether the node is an actor; empty
	// means DefaultActorExtras.
	ActorExtras string `yaml:"actor_extras"`
	// Defaults is false where the built-in rules must not follow; nil means true.
	Defaults *bool `yaml:"defaults"`
}

// Rule labels the nodes whose names match a pattern.
type Rule struct {
	// Match is a glob, or a pattern with the prefix re: or word:.
	Match string `yaml:"match"`
	// Tag is the CARLA name of a semantic tag.
	Tag string `yaml:"tag"`
	// Actor is true where a matching node and all below it are one actor.
	Actor bool `yaml:"actor"`
}

// Label is what the rules say of one node.
type Label struct {
	// Tag is TagUnlabeled where nothing speaks of the node: it inherits.
	Tag scene.Tag
	// Actor is true where the node and all below it are one actor.
	Actor bool
}

// Rules decides the labels of nodes. It never changes: any goroutine may use it.
type Rules struct {
	rules               []compiledRule
	extras, actorExtras string
}

type compiledRule struct {
	match matcher
	label Label
}

//go:embed default.yaml
var defaultYAML []byte

var defaultRules = sync.OnceValues(func() (*Rules, error) {
	c, err := parseConfig("default.yaml", defaultYAML)
	if err != nil {
		return nil, err
	}
	return compile(c)
})

// Default returns the built-in rules, for common names of street furniture,
// buildings, vehicles and ground.
func Default() *Rules {
	r, err := defaultRules()
	if err != nil {
		panic("labels: built-in rules: " + err.Error()) // a test parses them
	}
	return r
}

// New checks a configuration and makes its rules. An error names the place in
// the configuration; one about a tag wraps scene.ErrUnknownTag.
func New(c Config) (*Rules, error) {
	r, err := compile(c)
	if err != nil {
		return nil, err
	}
	if c.Defaults == nil || *c.Defaults {
		r.rules = append(r.rules, Default().rules...)
	}
	return r, nil
}

// compile makes a configuration's own rules, without the built-in ones.
func compile(c Config) (*Rules, error) {
	r := &Rules{extras: c.Extras, actorExtras: c.ActorExtras}
	if r.extras == "" {
		r.extras = DefaultExtras
	}
	if r.actorExtras == "" {
		r.actorExtras = DefaultActorExtras
	}
	for i, rule := range c.Rules {
		compiled, err := rule.compile()
		if err != nil {
			return nil, fmt.Errorf("rules[%d].%w", i, err)
		}
		r.rules = append(r.rules, compiled)
	}
	return r, nil
}

func (r Rule) compile() (compiledRule, error) {
	match, err := compilePattern(r.Match)
	if err != nil {
		return compiledRule{}, fmt.Errorf("match: %w", err)
	}
	tag, err := scene.ParseTag(r.Tag)
	if err != nil {
		return compiledRule{}, fmt.Errorf("tag: %w", err)
	}
	return compiledRule{match: match, label: Label{Tag: tag, Actor: r.Actor}}, nil
}

// Parse reads the content of a labels file; file names it in errors. An unknown
// key is an error, and so is anything New refuses.
func Parse(file string, data []byte) (*Rules, error) {
	c, err := parseConfig(file, data)
	if err != nil {
		return nil, err
	}
	r, err := New(c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

func parseConfig(file string, data []byte) (Config, error) {
	var c Config
	if len(data) > maxFileBytes {
		return c, fmt.Errorf("%s: labels file is too large: at most %d bytes are read", file, maxFileBytes)
	}
	n, err := doc.ParseYAML(file, data)
	if err == nil {
		err = n.Decode(&c)
	}
	return c, err
}

// Load reads a labels file.
func Load(name string) (*Rules, error) {
	data, err := filefault.ReadUpTo(name, maxFileBytes)
	if err != nil {
		return nil, fmt.Errorf("read labels: %w", err)
	}
	return Parse(name, data)
}

// Beside returns the names that a model's own labels file may have, the most
// usual first, in the model's folder. Names are separated by slashes.
func Beside(model string) []string {
	stem := strings.TrimSuffix(model, path.Ext(model))
	return []string{stem + ".labels.yaml", model + ".labels.yaml"}
}

// Label decides a node's label from its name and from the extras of the node,
// its mesh and so on; what comes first wins, and extras come before rules. An
// extra that is no tag is an error that names its key.
func (r *Rules) Label(name string, extras ...map[string]any) (Label, error) {
	label := r.byName(name)
	for i := len(extras) - 1; i >= 0; i-- {
		if v, ok := extras[i][r.extras]; ok {
			tag, err := extraTag(v)
			if err != nil {
				return Label{}, fmt.Errorf("extras.%s: %w", r.extras, err)
			}
			label.Tag = tag
		}
		if v, ok := extras[i][r.actorExtras]; ok {
			actor, err := extraBool(v)
			if err != nil {
				return Label{}, fmt.Errorf("extras.%s: %w", r.actorExtras, err)
			}
			label.Actor = actor
		}
	}
	return label, nil
}

func (r *Rules) byName(name string) Label {
	n := newNodeName(name)
	for i := range r.rules {
		if r.rules[i].match(n) {
			return r.rules[i].label
		}
	}
	return Label{}
}

// extraTag reads a tag's name or number.
func extraTag(v any) (scene.Tag, error) {
	switch v := v.(type) {
	case string:
		return scene.ParseTag(v)
	case float64:
		if v < 0 || v >= scene.TagCount || v != float64(uint8(v)) {
			return 0, fmt.Errorf("%w %v: give a whole number from 0 to %d, or a name", scene.ErrUnknownTag, v, scene.TagCount-1)
		}
		return scene.Tag(v), nil
	}
	return 0, fmt.Errorf("%w: give a tag's name or number", scene.ErrUnknownTag)
}

// extraBool reads a bool; some exporters write 0 and 1.
func extraBool(v any) (bool, error) {
	switch v {
	case true, 1.0:
		return true, nil
	case false, 0.0:
		return false, nil
	}
	return false, errors.New("want true or false")
}
