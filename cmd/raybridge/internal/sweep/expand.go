package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
)

// Configuration is what a sweep varies.
type Configuration interface {
	// Copy returns one that can be changed alone.
	Copy() Configuration
	// Set gives a key a value, as raybridge run --set does.
	Set(key, value string) error
	// Leaves checks the configuration, and lists all that decides what a run of it does.
	Leaves() ([]config.Leaf, error)
}

// Planner makes plans.
type Planner struct {
	// Read reads the configuration of a run from the text of a file, with what the program adds, and refuses one that no
	// case can have.
	Read func(path string, text []byte) (Configuration, error)
	// Version is the program's, Class its device's, Device the name for raybridge run --gpu.
	Version, Class, Device string
	// Metrics refuses a metric that no run of a configuration has. (optional)
	Metrics func(c Configuration, name string) error
	// AllowPrograms lets a world start programs.
	AllowPrograms bool
	// Program is the version of the program that a world starts, SUMO's. (optional without AllowPrograms)
	Program func() (string, error)
	// Moved says that the sweep file, whatever it asks for, is that of its folder, which was planned when the file lay elsewhere.
	Moved bool
	// Many lets a plan have more than UsualCases.
	Many bool
}

// UsualCases is how many cases a plan has without anybody being asked, and MostCases how many it can have.
const (
	UsualCases = 100_000
	MostCases  = 1_000_000
)

// Errors of planning.
var (
	// ErrMany: more cases than UsualCases, or than MostCases.
	ErrMany = errors.New("too many cases")
	// ErrPrograms: a world starts programs, which nobody has allowed.
	ErrPrograms = errors.New("starts a program")
)

const (
	seedKey     = "seed"
	durationKey = "duration"
	rigKey      = "rig"
	labelsKey   = "scene.labels"
)

// Plan expands a sweep file. ctx ends it.
func (pl *Planner) Plan(ctx context.Context, f *File) (*Plan, error) {
	if err := pl.checkCount(f); err != nil {
		return nil, err
	}
	place, err := placeOf(f.Path)
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Schema: planSchema, Place: place, Base: filepath.Base(f.Base), Version: pl.Version, Class: pl.Class, Device: pl.Device,
		Keep: f.Keep.Words(), Files: map[string]map[string]string{}, moved: pl.Moved,
	}
	e := &expansion{planner: pl, file: f, plan: p, inputs: newGatherer(), variants: map[string]map[string]*variant{}}
	if err := e.readBase(); err != nil {
		return nil, err
	}
	if err := e.checkCollect(); err != nil {
		return nil, err
	}
	if err := e.expand(ctx); err != nil {
		return nil, err
	}
	p.Inputs, p.sources = e.inputs.inputs, e.inputs.sources
	if len(p.Cases) == 0 {
		return nil, &doc.Error{File: f.Path, Path: "sweep.exclude", Err: fmt.Errorf("%w: it leaves no case", ErrFile)}
	}
	return p, nil
}

func (pl *Planner) checkCount(f *File) error {
	switch n := f.Count(); {
	case n > UsualCases && !pl.Many:
		return &doc.Error{File: f.Path, Err: fmt.Errorf("%w: %s: give --yes if you mean it", ErrMany, many(n))}
	case n > MostCases:
		return &doc.Error{File: f.Path, Err: fmt.Errorf("%w: %s: a plan has %d at most, make several sweeps", ErrMany, many(n), MostCases)}
	}
	return nil
}

// many is a number of cases for people.
func many(n uint64) string {
	if n == math.MaxUint64 {
		return "more than 18 quintillion"
	}
	return strconv.FormatUint(n, 10)
}

// expansion is the making of a plan.
type expansion struct {
	planner  *Planner
	file     *File
	plan     *Plan
	inputs   *gatherer
	base     Configuration
	leaves   map[string]leafLine // of the base
	identity *identity
	seed     uint64
	paths    map[string]string              // leaves of the base that are files
	variants map[string]map[string]*variant // by key and value
}

// variant is one value of a key: what it changes.
type variant struct {
	changes []leafLine
	value   Value
	seed    uint64 // of the key seed
}

// readBase reads the base, takes it with all files that it names, and hashes what decides a run's bytes.
func (e *expansion) readBase() (err error) {
	text, err := fault.ReadUpTo(e.file.Base, maxFile)
	if err != nil {
		return e.file.base.Errorf("%w", err)
	}
	if len(text) > maxFile {
		return inBase(e.file.Base, fmt.Errorf("%w: more than %d MiB", doc.ErrTooLarge, maxFile>>20))
	}
	if e.base, err = e.planner.Read(e.file.Base, text); err != nil {
		return err
	}
	leaves, err := e.base.Leaves()
	if err != nil {
		return err
	}
	if err := e.checkOutputs(leaves); err != nil {
		return inBase(e.file.Base, err)
	}
	lines, err := e.lines(leaves)
	if err != nil {
		return inBase(e.file.Base, err)
	}
	frozen, err := freeze(e.file.Base, text, e.move)
	if err != nil {
		return err
	}
	in := e.inputs.text(configName, frozen)
	e.plan.Config = in.path()
	e.leaves, e.paths = map[string]leafLine{}, map[string]string{}
	for _, l := range lines {
		e.leaves[l.key] = l
	}
	for _, l := range leaves {
		if l.Path || l.Key == worldKey {
			e.paths[l.Key] = l.Value
		}
		if l.Key == seedKey {
			if e.seed, err = strconv.ParseUint(l.Value, 10, 64); err == nil && e.seed+e.file.Seeds-1 < e.seed {
				return inBase(e.file.Base, fmt.Errorf("seed: %w: %d seeds that begin with %d", doc.ErrRange, e.file.Seeds, e.seed))
			}
		}
		if isEndless(l) && !e.varies(durationKey) {
			return inBase(e.file.Base, errors.New("duration is missing: a case would never end"))
		}
	}
	e.identity = newIdentity(e.plan, lines)
	return err
}

// inBase names the base in an error that has no place.
func inBase(file string, err error) error {
	if placed := new(doc.Error); errors.As(err, &placed) {
		return err
	}
	return &doc.Error{File: file, Err: err}
}

// varies reports whether a key is varied.
func (e *expansion) varies(key string) bool {
	is := func(s Setting) bool { return s.Key.Text == key }
	return slices.ContainsFunc(e.file.Axes, func(a Axis) bool { return a.Key.Text == key }) ||
		e.file.Random != nil && slices.ContainsFunc(e.file.Random.Ranges, func(r Range) bool { return r.Key.Text == key }) ||
		len(e.file.List) > 0 && !slices.ContainsFunc(e.file.List, func(c Combination) bool { return !slices.ContainsFunc(c, is) })
}

// move takes the file of a base's key, and returns where the store has it, as the frozen base names it.
func (e *expansion) move(key, path string) (string, error) {
	if key == worldKey {
		return e.moveWorld(path)
	}
	in, err := e.inputs.file(kindOf(key), path)
	if err != nil {
		return "", err
	}
	return "../../" + in.path(), nil // the base is an input, too
}

// moveWorld takes the file of a world. Its path is relative to the working directory, the store.
func (e *expansion) moveWorld(spec string) (string, error) {
	kind, file, options, ok := worldFile(spec)
	if !ok {
		return "", fmt.Errorf("world %s: a case reads its world from a file: another program's would be no two times the same", spec)
	}
	if startsPrograms(kind) {
		if err := e.startProgram(spec); err != nil {
			return "", err
		}
	}
	in, err := e.inputs.file(kindOfWorld(kind), file)
	if err != nil {
		return "", err
	}
	return kind + ":" + in.path() + options, nil
}

// startProgram notes which program a world starts.
func (e *expansion) startProgram(spec string) (err error) {
	if !e.planner.AllowPrograms {
		return fmt.Errorf("world %s %w: give --allow-programs if you trust the file", spec, ErrPrograms)
	}
	if e.plan.Program == "" {
		e.plan.Program, err = e.planner.Program()
	}
	return err
}

// lines writes leaves as they are hashed: files by their content.
func (e *expansion) lines(leaves []config.Leaf) ([]leafLine, error) {
	lines := make([]leafLine, 0, len(leaves))
	for _, l := range leaves {
		value := l.Value
		switch {
		case l.Path && value != "":
			in, err := e.inputs.file(kindOf(l.Key), value)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", l.Key, err)
			}
			value = in.path()
		case l.Key == worldKey:
			spec, err := plainText(value)
			if err == nil && spec != "" {
				value, err = e.moveWorld(spec)
				value = e.plan.worldLine(value)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", l.Key, err)
			}
		}
		lines = append(lines, lineOf(l.Key, value))
	}
	return lines, nil
}

// plainText reads a text written as YAML.
func plainText(text string) (string, error) {
	n, err := doc.ParseYAML("", []byte("a: "+text))
	if err != nil {
		return "", err
	}
	var in struct {
		A string `yaml:"a"`
	}
	err = n.Decode(&in)
	return in.A, err
}

// checkCollect checks the names of metrics.
func (e *expansion) checkCollect() error {
	var faults doc.Faults
	for _, name := range e.file.Collect {
		e.plan.Collect = append(e.plan.Collect, name.Text)
		if e.planner.Metrics != nil {
			if err := e.planner.Metrics(e.base, name.Text); err != nil {
				faults.Add(name.Place.Errorf("%w", err))
			}
		}
	}
	return faults.Err()
}

// addKey makes a key a column of the plan.
func (e *expansion) addKey(key Name) error {
	if key.Text == seedKey && e.file.Seeds > 1 {
		return key.Place.Errorf("%w: seeds are varied, and repeated: give one of both", ErrFile)
	}
	if err := checkKey(key.Text); err != nil {
		return key.Place.Errorf("%w", err)
	}
	if !slices.Contains(e.plan.Keys, key.Text) {
		e.plan.Keys = append(e.plan.Keys, key.Text)
		e.variants[key.Text] = map[string]*variant{}
	}
	return nil
}

// isFile reports whether a key names a file to read.
func isFile(key string) bool {
	return key == rigKey || key == labelsKey || key == "scene.file" || strings.HasSuffix(key, ".file") || strings.HasPrefix(key, "world.models[")
}

// vary checks one value of a key, once, and notes what it changes.
func (e *expansion) vary(key Name, value Value) error {
	if e.variants[key.Text][value.Text] != nil {
		return nil
	}
	v := &variant{value: value}
	given, err := e.given(key.Text, value)
	if err != nil {
		return value.Place.Errorf("%w", err)
	}
	c := e.base.Copy()
	if err := c.Set(key.Text, given); err != nil {
		return atSetting(key, value, err)
	}
	leaves, err := c.Leaves()
	if err != nil {
		return atSetting(key, value, err)
	}
	if slices.ContainsFunc(leaves, isEndless) {
		return value.Place.Errorf("%w: a case would never end", doc.ErrRange)
	}
	if inner := e.fileWithin(key.Text, leaves); inner != "" {
		return key.Place.Errorf("%w: it has a file: give %s as a key of its own", doc.ErrType, inner)
	}
	if err := e.checkOutputs(leaves); err != nil {
		return value.Place.Errorf("%w", err)
	}
	lines, err := e.lines(leaves)
	if err != nil {
		return value.Place.Errorf("%w", err)
	}
	v.changes = e.changes(lines)
	if key.Text == seedKey {
		if v.seed, err = strconv.ParseUint(value.Text, 10, 64); err != nil {
			return value.Place.Errorf("%w: a seed is a whole number", doc.ErrType)
		}
	}
	e.variants[key.Text][value.Text] = v
	return nil
}

var connectionKey = regexp.MustCompile(`^bridges\[\d+\]\.connection$`)

// checkOutputs refuses bridges that write what keep writes, too.
func (e *expansion) checkOutputs(leaves []config.Leaf) error {
	for _, l := range leaves {
		if !connectionKey.MatchString(l.Key) {
			continue
		}
		connection, err := plainText(l.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", l.Key, err)
		}
		file, _, _ := strings.Cut(connection, "?")
		first, _, _ := strings.Cut(filepath.ToSlash(filepath.Clean(file)), "/")
		for _, c := range []struct {
			kept       bool
			word, name string
		}{{e.file.Keep.MCAP, keepMCAP, recorderName}, {e.file.Keep.Report, keepReport, ReportFile}} {
			if c.kept && strings.EqualFold(first, c.name) { // file systems may not tell them apart
				return fmt.Errorf("%s: %w: %s is what keep: %s writes: give another name, or leave %s out of keep", l.Key, doc.ErrValue, file, c.word, c.word)
			}
		}
	}
	return nil
}

// isEndless reports whether a leaf is the duration of a run that doesn't end.
func isEndless(l config.Leaf) bool { return l.Key == durationKey && l.Value == "0s" }

// fileWithin returns a leaf that is a file, and that a key of another kind has changed: "" for none.
func (e *expansion) fileWithin(key string, leaves []config.Leaf) string {
	if isFile(key) || key == worldKey {
		return ""
	}
	for _, l := range leaves {
		if (l.Path || l.Key == worldKey) && e.paths[l.Key] != l.Value {
			return l.Key
		}
	}
	return ""
}

// given is a value as Set takes it while the plan is made: files lie beside the sweep file. It notes where the store
// will have them.
func (e *expansion) given(key string, value Value) (string, error) {
	if !isFile(key) && key != worldKey {
		return value.Text, nil
	}
	path, err := plainText(value.Text)
	if err != nil {
		return "", err
	}
	kind := ""
	if key == worldKey {
		kind, path, _ = strings.Cut(path, ":")
	}
	if path != "" && !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(e.file.Path), path)
	}
	moved := ""
	switch {
	case key == worldKey:
		path = kind + ":" + path
		moved, err = e.moveWorld(path)
	case path != "":
		var in *Input
		if in, err = e.inputs.file(kindOf(key), path); err == nil {
			moved = in.path()
		}
	}
	if err != nil || moved == "" {
		return doc.Text(path), err
	}
	if e.plan.Files[key] == nil {
		e.plan.Files[key] = map[string]string{}
	}
	e.plan.Files[key][value.Text] = moved
	return doc.Text(path), nil
}

// atSetting puts an error of a setting at its place in the sweep file: the value's, or the key's where the key isn't
// known.
func atSetting(key Name, value Value, err error) error {
	var faults doc.Faults
	for _, one := range append(doc.Joined(err), err) {
		place := value.Place
		if errors.Is(one, doc.ErrUnknownKey) {
			place = key.Place
		}
		if inner := new(doc.Error); errors.As(one, &inner) {
			one = inner.Err
		}
		faults.Add(place.Errorf("%w", one))
		if doc.Joined(err) == nil {
			break
		}
	}
	return faults.Err()
}

// changes lists the leaves that aren't as they are in the base; those that the base has alone have no text.
func (e *expansion) changes(lines []leafLine) []leafLine {
	var changed []leafLine
	for _, l := range lines {
		if e.leaves[l.key] != l && l.key != seedKey {
			changed = append(changed, l)
		}
	}
	if len(lines)-len(e.leaves) != e.added(lines) {
		here := map[string]bool{}
		for _, l := range lines {
			here[l.key] = true
		}
		for key := range e.leaves {
			if !here[key] {
				changed = append(changed, leafLine{key, ""})
			}
		}
	}
	return changed
}

// added counts the leaves that the base doesn't have.
func (e *expansion) added(lines []leafLine) (n int) {
	for _, l := range lines {
		if _, ok := e.leaves[l.key]; !ok {
			n++
		}
	}
	return n
}

// expand makes the cases.
func (e *expansion) expand(ctx context.Context) error {
	var faults doc.Faults
	f := e.file
	for _, a := range f.Axes {
		if err := e.addKey(a.Key); err != nil {
			faults.Add(err)
			continue
		}
		for _, v := range a.Values {
			if faults.Add(e.vary(a.Key, v)) {
				return faults.Err()
			}
		}
	}
	for _, c := range f.List {
		for _, s := range c {
			err := e.addKey(s.Key)
			if err == nil {
				err = e.vary(s.Key, s.Value)
			}
			if faults.Add(err) {
				return faults.Err()
			}
		}
	}
	var draws []draw
	if f.Random != nil {
		for _, r := range f.Random.Ranges {
			err := e.addKey(r.Key)
			var d draw
			if err == nil {
				d, err = e.prepare(r)
			}
			faults.Add(err)
			draws = append(draws, d)
		}
	}
	faults.Add(e.checkExclude())
	if err := faults.Err(); err != nil {
		return err
	}
	return e.combine(ctx, draws)
}

// checkExclude refuses exclusions that exclude nothing.
func (e *expansion) checkExclude() error {
	var faults doc.Faults
	for _, c := range e.file.Exclude {
		for _, s := range c {
			switch known := e.variants[s.Key.Text]; {
			case known == nil:
				faults.Add(s.Key.Place.Errorf("%w: the sweep doesn't vary it, %s", doc.ErrUnknownKey, fault.Hint(s.Key.Text, e.plan.Keys)))
			case e.file.Random == nil && known[s.Value.Text] == nil:
				faults.Add(s.Value.Place.Errorf("%w: %s never has it", doc.ErrValue, s.Key.Text))
			}
		}
	}
	return faults.Err()
}

// combine goes through all combinations.
func (e *expansion) combine(ctx context.Context, draws []draw) error {
	b := &builder{expansion: e, ids: e.identity.hasher(), seen: map[string]struct{}{}, draws: draws}
	b.groups = b.group()
	switch f := e.file; {
	case f.List != nil:
		for _, c := range f.List {
			values := make([]string, len(e.plan.Keys))
			for _, s := range c {
				values[slices.Index(e.plan.Keys, s.Key.Text)] = s.Value.Text
			}
			if err := b.add(ctx, values); err != nil {
				return err
			}
		}
	case f.Random != nil:
		for number := range f.Random.N {
			values := b.draw(number)
			if err := cmp.Or(b.err, b.add(ctx, values)); err != nil {
				return err
			}
		}
	default:
		at := make([]int, len(f.Axes))
		for more := true; more; more = next(at, f.Axes) {
			values := make([]string, len(at))
			for i, n := range at {
				values[i] = f.Axes[i].Values[n].Text
			}
			if err := b.add(ctx, values); err != nil {
				return err
			}
		}
	}
	return nil
}

// next goes to the next combination of a matrix, the last key first. It reports false behind the last one.
func next(at []int, axes []Axis) bool {
	for i := len(at) - 1; i >= 0; i-- {
		if at[i]++; at[i] < len(axes[i].Values) {
			return true
		}
		at[i] = 0
	}
	return false
}

// builder adds combinations to a plan.
type builder struct {
	*expansion
	ids    *hasher
	seen   map[string]struct{} // ids
	err    error               // of draws
	draws  []draw
	groups []*keyGroup
}

// add makes cases of a combination, one a seed, unless it is excluded or there already.
func (b *builder) add(ctx context.Context, values []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.excluded(values) {
		return nil
	}
	seed := b.seed
	if i := slices.Index(b.plan.Keys, seedKey); i >= 0 && values[i] != "" {
		seed = b.variants[seedKey][values[i]].seed
	}
	changes := make([][]leafLine, 0, len(b.groups))
	for _, g := range b.groups {
		list, err := b.changesIn(g, values)
		if err != nil {
			return err
		}
		changes = append(changes, list)
	}
	for n := range b.file.Seeds {
		id, ok := b.ids.id(seed+n, changes...)
		if !ok {
			lines, err := b.whole(values)
			if err != nil {
				return err
			}
			id = b.ids.sum(seed+n, newIdentity(b.plan, lines).leaves)
		}
		if _, there := b.seen[id]; there {
			b.plan.same++
			continue
		}
		b.seen[id] = struct{}{}
		b.plan.Cases = append(b.plan.Cases, Case{id, values, seed + n})
	}
	return nil
}

// changesOf is what a value of the key at an index changes.
func (b *builder) changesOf(key int, value string) []leafLine {
	if v := b.variants[b.plan.Keys[key]][value]; v != nil {
		return v.changes
	}
	return b.draws[key].changes(value)
}

// excluded reports whether a combination has all settings of an exclusion.
func (b *builder) excluded(values []string) bool {
	return slices.ContainsFunc(b.file.Exclude, func(c Combination) bool {
		return !slices.ContainsFunc(c, func(s Setting) bool {
			return values[slices.Index(b.plan.Keys, s.Key.Text)] != s.Value.Text
		})
	})
}

// whole lists the leaves of a combination, whose settings are made in the order of the keys.
func (b *builder) whole(values []string) ([]leafLine, error) {
	c := b.base.Copy()
	for i, text := range values {
		key := b.plan.Keys[i]
		if text == "" || key == seedKey {
			continue
		}
		v := Value{Text: text}
		if known := b.variants[key][text]; known != nil {
			v = known.value
		}
		given, err := b.given(key, v)
		if err == nil {
			err = c.Set(key, given)
		}
		if err != nil {
			return nil, atSetting(Name{key, v.Place}, v, err)
		}
	}
	leaves, err := c.Leaves()
	if err != nil {
		return nil, fmt.Errorf("combination %s: %w", strings.Join(values, ", "), err)
	}
	return b.lines(leaves)
}
