package gltf

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene"
)

// The keys of glTF extras that hold a node's label, where a file names none.
const (
	DefaultExtras      = "semantic_tag"
	DefaultActorExtras = "semantic_actor"
)

// maxRulesBytes bounds a labels file: real ones hold a few rules.
const maxRulesBytes = 1 << 20

// RulesConfig is the content of a labels file.
type RulesConfig struct {
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

//go:embed labels.yaml
var defaultYAML []byte

var builtInRules = sync.OnceValues(func() (*Rules, error) {
	c, err := parseConfig("labels.yaml", defaultYAML)
	if err != nil {
		return nil, err
	}
	return compile(c)
})

// DefaultRules returns the built-in rules, for common names of street furniture,
// buildings, vehicles and ground.
func DefaultRules() *Rules {
	r, err := builtInRules()
	if err != nil {
		panic("labels: built-in rules: " + err.Error()) // a test parses them
	}
	return r
}

// NewRules checks a configuration and makes its rules. An error names the place in
// the configuration; one about a tag wraps scene.ErrUnknownTag.
func NewRules(c RulesConfig) (*Rules, error) {
	r, err := compile(c)
	if err != nil {
		return nil, err
	}
	if c.Defaults == nil || *c.Defaults {
		r.rules = append(r.rules, DefaultRules().rules...)
	}
	return r, nil
}

// compile makes a configuration's own rules, without the built-in ones.
func compile(c RulesConfig) (*Rules, error) {
	r := &Rules{extras: cmp.Or(c.Extras, DefaultExtras), actorExtras: cmp.Or(c.ActorExtras, DefaultActorExtras)}
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

// ParseRules reads the content of a labels file; file names it in errors. An unknown
// key is an error, and so is anything New refuses.
func ParseRules(file string, data []byte) (*Rules, error) {
	c, err := parseConfig(file, data)
	if err != nil {
		return nil, err
	}
	r, err := NewRules(c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

func parseConfig(file string, data []byte) (RulesConfig, error) {
	var c RulesConfig
	if len(data) > maxRulesBytes {
		return c, fmt.Errorf("%s: labels file is too large: at most %d bytes are read", file, maxRulesBytes)
	}
	n, err := doc.ParseYAML(file, data)
	if err == nil {
		err = n.Decode(&c)
	}
	return c, err
}

// LoadRules reads a labels file.
func LoadRules(name string) (*Rules, error) {
	data, err := fault.ReadUpTo(name, maxRulesBytes)
	if err != nil {
		return nil, fmt.Errorf("read labels: %w", err)
	}
	return ParseRules(name, data)
}

// RulesBeside returns the names that a model's own labels file may have, the most
// usual first, in the model's folder. Names are separated by slashes.
func RulesBeside(model string) []string {
	stem := strings.TrimSuffix(model, path.Ext(model))
	return []string{stem + ".labels.yaml", model + ".labels.yaml"}
}

// Label decides a node's label from its name and from the extras of the node, its mesh and so
// on. What comes first wins, and extras come before rules. An extra that is not a tag is an error
// that names its key.
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

// nodeName is a node's name, as matchers look at it.
type nodeName struct {
	raw   string
	words string // lower-case words, each with a space on both sides
}

func newNodeName(name string) nodeName {
	return nodeName{raw: name, words: " " + strings.Join(words(name), " ") + " "}
}

// matcher reports whether a pattern matches a name.
type matcher func(nodeName) bool

// compilePattern makes the matcher of a rule's pattern.
func compilePattern(pattern string) (matcher, error) {
	if phrases, ok := strings.CutPrefix(pattern, "word:"); ok {
		return compilePhrases(phrases)
	}
	if pattern == "" {
		return nil, errors.New("empty pattern: give a glob such as building_*, re:EXPRESSION or word:PHRASE")
	}
	expression, written := strings.CutPrefix(pattern, "re:")
	if !written {
		expression = globExpression(pattern)
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		return nil, err
	}
	return func(n nodeName) bool { return re.MatchString(n.raw) }, nil
}

func compilePhrases(phrases string) (matcher, error) {
	var want []string
	for phrase := range strings.SplitSeq(phrases, "|") {
		w := words(phrase)
		if len(w) == 0 {
			return nil, errors.New("word: needs at least one letter in each phrase")
		}
		want = append(want, " "+strings.Join(w, " ")+" ")
	}
	return func(n nodeName) bool {
		return slices.ContainsFunc(want, func(w string) bool { return strings.Contains(n.words, w) })
	}, nil
}

// globExpression is the regular expression of a glob over the whole name.
func globExpression(glob string) string {
	quoted := regexp.QuoteMeta(glob)
	quoted = strings.ReplaceAll(quoted, `\*`, `.*`)
	quoted = strings.ReplaceAll(quoted, `\?`, `.`)
	return `(?is)\A` + quoted + `\z`
}

// words splits a name at everything that isn't a letter and before a capital that starts a
// word. TrafficLight_03a is traffic, light, a; LODCar is lod, car.
func words(name string) []string {
	runes := []rune(name)
	var out []string
	start := 0
	flush := func(end int) {
		if end > start {
			out = append(out, strings.ToLower(string(runes[start:end])))
		}
	}
	for i, r := range runes {
		if !unicode.IsLetter(r) {
			flush(i)
			start = i + 1
			continue
		}
		if i == start || !unicode.IsUpper(r) {
			continue
		}
		endsLower := unicode.IsLower(runes[i-1])
		startsWord := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if endsLower || startsWord {
			flush(i)
			start = i
		}
	}
	flush(len(runes))
	return out
}
