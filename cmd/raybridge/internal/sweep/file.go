package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
)

// File is a sweep file: which configuration is varied, and how.
type File struct {
	// Path is where it lies. Base is the configuration that is varied.
	Path string
	Base string
	// Axes are the keys of matrix, whose values are all combined; the last key's change fastest.
	Axes []Axis
	// List has combinations that are written out.
	List []Combination
	// Random draws combinations. (optional)
	Random *Random
	// Exclude leaves out the combinations that have all settings of one of these.
	Exclude []Combination
	// Seeds is how many seeds each combination is run with: the base's and those that follow it.
	Seeds uint64
	// Collect names metrics of the summary, the columns of the table.
	Collect []Name
	Keep    Keep
	// Device is what computes, as raybridge run --gpu takes it, or AnyDevice.
	Device string

	base doc.Node // where base stands
}

// AnyDevice lets cases run on whatever device a worker has.
const AnyDevice = "any"

// Name is a word of the file with its place.
type Name struct {
	Text  string
	Place doc.Node
}

// Value is one value of a key. Text is YAML, in one form for equal values.
type Value struct {
	Text  string
	Place doc.Node
}

// Axis is a key with the values that it takes.
type Axis struct {
	Key    Name
	Values []Value
}

// Setting is a key with one value.
type Setting struct {
	Key   Name
	Value Value
}

// Combination is a set of settings, in the file's order.
type Combination []Setting

// Keep says what of a case is kept beside its summary.
type Keep struct {
	// Outputs keeps what file bridges wrote.
	Outputs bool
	// MCAP adds a recorder of all topics, and keeps what it wrote.
	MCAP bool
	// Report has each run write its report, which isn't compared.
	Report bool
}

// Words of keep.
const (
	keepSummary = "summary"
	keepOutputs = "outputs"
	keepMCAP    = "mcap"
	keepReport  = "report"
)

// Words returns the keep's words in the file's form.
func (k Keep) Words() []string {
	words := []string{keepSummary}
	if k.Outputs {
		words = append(words, keepOutputs)
	}
	if k.MCAP {
		words = append(words, keepMCAP)
	}
	if k.Report {
		words = append(words, keepReport)
	}
	return words
}

// add adds a word of the file. It reports false for an unknown one.
func (k *Keep) add(word string) bool {
	switch word {
	case keepSummary:
	case keepOutputs:
		k.Outputs = true
	case keepMCAP:
		k.MCAP = true
	case keepReport:
		k.Report = true
	default:
		return false
	}
	return true
}

// Random draws N combinations: each key uniformly within its range.
type Random struct {
	N      uint64
	Seed   uint64
	Ranges []Range
}

// Range bounds a random key.
type Range struct {
	Key       Name
	Low, High float64
	// Whole: both bounds are written as whole numbers, so that a key for whole numbers gets such.
	Whole bool
}

// ErrFile is the error of a sweep file that asks for nothing, or for two things at once.
var ErrFile = errors.New("not a sweep")

// maxFile is the size of the largest sweep file, bytes.
const maxFile = 16 << 20

// ReadFile reads a sweep file. Errors are *doc.Error where they have a place.
func ReadFile(path string) (*File, error) {
	data, err := fault.ReadUpTo(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("read sweep: %w", err)
	}
	if len(data) > maxFile {
		return nil, &doc.Error{File: path, Err: fmt.Errorf("%w: more than %d MiB", doc.ErrTooLarge, maxFile>>20)}
	}
	return ParseFile(path, data)
}

// ParseFile reads a sweep file from its text; path names it in errors and is what base is
// relative to. Errors are *doc.Error where they have a place.
func ParseFile(path string, data []byte) (*File, error) {
	root, err := doc.ParseYAML(path, data)
	if err != nil {
		return nil, err
	}
	entries, err := root.Entries()
	if err != nil {
		return nil, err
	}
	f := &File{Path: path, Seeds: 1, Keep: Keep{Outputs: true}}
	var faults doc.Faults
	found := false
	for _, e := range entries {
		if e.Key != "sweep" {
			faults.Add(e.UnknownKey([]string{"sweep"}))
			continue
		}
		found = true
		faults.Add(f.decode(e.Value))
	}
	if !found {
		faults.Add(root.Errorf("%w: it has no key sweep", ErrFile))
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return f, f.check(root)
}

// decode reads the keys below sweep.
func (f *File) decode(n doc.Node) error {
	entries, err := n.Entries()
	if err != nil {
		return err
	}
	readers := map[string]func(doc.Node) error{
		"base": f.decodeBase, "matrix": f.decodeMatrix, "list": f.decodeList, "random": f.decodeRandom, "exclude": f.decodeExclude,
		"repeat": f.decodeRepeat, "collect": f.decodeCollect, "keep": f.decodeKeep, "device": f.decodeDevice,
	}
	var known []string
	for key := range readers {
		known = append(known, key)
	}
	slices.Sort(known)
	var faults doc.Faults
	for _, e := range entries {
		read, ok := readers[e.Key]
		if !ok {
			faults.Add(e.UnknownKey(known))
			continue
		}
		faults.Add(read(e.Value))
	}
	return faults.Err()
}

// check checks what no single key shows.
func (f *File) check(root doc.Node) error {
	ways := 0
	for _, given := range []bool{f.Axes != nil, f.List != nil, f.Random != nil} {
		if given {
			ways++
		}
	}
	switch {
	case f.Base == "":
		return root.Errorf("%w: sweep.base is missing: name the configuration of a run", ErrFile)
	case ways > 1:
		return root.Errorf("%w: give one of matrix, list and random", ErrFile)
	case ways == 0 && f.Seeds == 1:
		return root.Errorf("%w: nothing is varied: give matrix, list, random or repeat", ErrFile)
	}
	return nil
}

func (f *File) decodeBase(n doc.Node) error {
	text, err := textOf(n)
	if err != nil {
		return err
	}
	if text == "" {
		return n.Errorf("%w: name the configuration of a run", doc.ErrValue)
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(filepath.Dir(f.Path), text)
	}
	f.Base, f.base = text, n
	return nil
}

func (f *File) decodeMatrix(n doc.Node) error {
	entries, err := n.Entries()
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return n.Errorf("%w: the matrix has no key", ErrFile)
	}
	var faults doc.Faults
	for _, e := range entries {
		values, err := decodeValues(e.Value)
		faults.Add(err)
		f.Axes = append(f.Axes, Axis{Name{e.Key, e.Place}, values})
	}
	return faults.Err()
}

// decodeValues reads the values of a matrix's key.
func decodeValues(n doc.Node) ([]Value, error) {
	items, err := n.Items()
	if err != nil {
		return nil, n.Errorf("%w: a key of the matrix has a list of values", doc.ErrType)
	}
	if len(items) == 0 {
		return nil, n.Errorf("%w: the list has no value", ErrFile)
	}
	var values []Value
	seen := map[string]bool{}
	for _, item := range items {
		v, err := valueOf(item)
		if err != nil {
			return nil, err
		}
		if seen[v.Text] {
			return nil, item.Errorf("%w: %s is given twice", doc.ErrValue, v.Text)
		}
		seen[v.Text] = true
		values = append(values, v)
	}
	return values, nil
}

func (f *File) decodeList(n doc.Node) (err error) {
	f.List, err = decodeCombinations(n)
	return err
}

func (f *File) decodeExclude(n doc.Node) (err error) {
	f.Exclude, err = decodeCombinations(n)
	return err
}

// decodeCombinations reads a list of mappings.
func decodeCombinations(n doc.Node) ([]Combination, error) {
	items, err := n.Items()
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, n.Errorf("%w: the list has no combination", ErrFile)
	}
	var faults doc.Faults
	list := make([]Combination, 0, len(items))
	for _, item := range items {
		entries, err := item.Entries()
		faults.Add(err)
		if err == nil && len(entries) == 0 {
			faults.Add(item.Errorf("%w: the combination has no key", ErrFile))
		}
		c := make(Combination, 0, len(entries))
		for _, e := range entries {
			v, err := valueOf(e.Value)
			faults.Add(err)
			c = append(c, Setting{Name{e.Key, e.Place}, v})
		}
		list = append(list, c)
	}
	return list, faults.Err()
}

func (f *File) decodeRandom(n doc.Node) error {
	var in struct {
		N      uint64  `yaml:"n"`
		Seed   uint64  `yaml:"seed"`
		Ranges bounded `yaml:"ranges"`
	}
	if err := n.Decode(&in); err != nil {
		return err
	}
	if in.N == 0 || len(in.Ranges) == 0 {
		return n.Errorf("%w: random needs n, how many combinations to draw, and ranges", ErrFile)
	}
	f.Random = &Random{in.N, in.Seed, in.Ranges}
	return nil
}

// bounded is the mapping of keys to their ranges.
type bounded []Range

// DecodeYAML reads the ranges of random keys.
func (b *bounded) DecodeYAML(n doc.Node) error {
	entries, err := n.Entries()
	if err != nil {
		return err
	}
	var faults doc.Faults
	for _, e := range entries {
		r := Range{Key: Name{e.Key, e.Place}, Whole: true}
		faults.Add(r.decode(e.Value))
		*b = append(*b, r)
	}
	return faults.Err()
}

// decode reads the two ends of a range.
func (r *Range) decode(n doc.Node) error {
	value, err := n.Value()
	if err != nil {
		return err
	}
	ends, ok := value.([]any)
	if !ok || len(ends) != 2 {
		return n.Errorf("%w: a range is [LOW, HIGH]", doc.ErrType)
	}
	for i, end := range []*float64{&r.Low, &r.High} {
		switch v := ends[i].(type) {
		case uint64:
			*end = float64(v)
		case int64:
			*end = float64(v)
		case float64:
			*end, r.Whole = v, false
		default:
			return n.Errorf("%w: a range is [LOW, HIGH], of numbers", doc.ErrType)
		}
	}
	if !(r.Low < r.High) || math.IsInf(r.High-r.Low, 0) {
		return n.Errorf("%w: the first end isn't below the second", doc.ErrRange)
	}
	return nil
}

func (f *File) decodeRepeat(n doc.Node) error {
	var in struct {
		Seed uint64 `yaml:"seed" min:"1" max:"1000000000"`
	}
	if err := n.Decode(&in); err != nil {
		return err
	}
	if in.Seed == 0 {
		return n.Errorf("%w: repeat needs seed, the number of seeds", ErrFile)
	}
	f.Seeds = in.Seed
	return nil
}

func (f *File) decodeCollect(n doc.Node) error {
	items, err := n.Items()
	if err != nil {
		return err
	}
	for _, item := range items {
		text, err := textOf(item)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(f.Collect, func(c Name) bool { return c.Text == text }) {
			return item.Errorf("%w: %s is given twice", doc.ErrValue, text)
		}
		f.Collect = append(f.Collect, Name{text, item})
	}
	return nil
}

func (f *File) decodeKeep(n doc.Node) error {
	items, err := n.Items()
	if err != nil {
		return err
	}
	f.Keep = Keep{}
	for _, item := range items {
		text, err := textOf(item)
		if err != nil {
			return err
		}
		if !f.Keep.add(text) {
			return item.Errorf("%w %q: %s", doc.ErrValue, text, fault.Want(text, keepSummary, keepOutputs, keepMCAP, keepReport))
		}
	}
	return nil
}

func (f *File) decodeDevice(n doc.Node) (err error) {
	f.Device, err = textOf(n)
	return err
}

// textOf is a word; a number is one, too.
func textOf(n doc.Node) (string, error) {
	var text string
	err := n.Decode(&text)
	return text, err
}

// valueOf reads a value that a key may be given.
func valueOf(n doc.Node) (Value, error) {
	v, err := n.Value()
	if err != nil {
		return Value{}, err
	}
	if v == nil {
		return Value{}, n.Errorf("%w: there is no value", doc.ErrValue)
	}
	text, err := textOfValue(v)
	if err == nil {
		err = checkText(text, longestValue)
	}
	if err != nil {
		return Value{}, n.Errorf("%w: %w", doc.ErrValue, err)
	}
	return Value{text, n}, nil
}

// textOfValue writes plain data as YAML, equal data as equal text.
func textOfValue(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return doc.Text(v), nil
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return "", fmt.Errorf("%v is not a finite number", v)
		}
		return doc.Number(v), nil
	}
	var text bytes.Buffer // JSON is YAML
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSpace(text.String()), err
}

// Count is how many cases the file asks for before exclusions. It is math.MaxUint64 where that is more than there are
// numbers.
func (f *File) Count() uint64 {
	count := f.Seeds
	switch {
	case f.List != nil:
		count = times(count, uint64(len(f.List)))
	case f.Random != nil:
		count = times(count, f.Random.N)
	}
	for _, a := range f.Axes {
		count = times(count, uint64(len(a.Values)))
	}
	return count
}

// times multiplies, up to math.MaxUint64.
func times(a, b uint64) uint64 {
	if high, low := bits.Mul64(a, b); high == 0 {
		return low
	}
	return math.MaxUint64
}
