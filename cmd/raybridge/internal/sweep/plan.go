package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
)

// planSchema is the version of a plan's form.
const planSchema = 1

// Plan is a sweep, frozen: its cases, and by content all files that they read. It must not be changed.
type Plan struct {
	Schema int `json:"schema"`
	// Place is where the sweep file was when its folder was first planned, absolute.
	Place string `json:"place"`
	// Base is the name of the configuration that is varied.
	Base string `json:"base"`
	// Version is that of the program, Class the class of devices whose bytes are equal: AnyDevice where it doesn't count.
	Version string `json:"version"`
	Class   string `json:"class"`
	// Device is what raybridge run --gpu is given; "" leaves it to the worker.
	Device string `json:"device,omitempty"`
	// Program is the version of the program of the machine that cases start, "" for none.
	Program string   `json:"program,omitempty"`
	Keep    []string `json:"keep"`
	Collect []string `json:"collect,omitempty"`
	Keys    []string `json:"keys,omitempty"`
	// Config is the configuration of all cases, a path in the store.
	Config string `json:"config"`
	// Files has the path in the store for each value of a key that names a file: Files[key][value].
	Files  map[string]map[string]string `json:"files,omitempty"`
	Inputs []Input                      `json:"inputs"`
	Cases  []Case                       `json:"cases"`

	sources map[string]source // of inputs that a store doesn't have yet
	same    int               // combinations that were the same run as another
	moved   bool              // see Planner.Moved
}

// Same is how many combinations were left out because they are the same run as another.
func (p *Plan) Same() int { return p.same }

// Sweep is the sweep file's name.
func (p *Plan) Sweep() string { return filepath.Base(p.Place) }

// isOlderOf reports whether a plan is a former one of the same sweep: the sweep file lies where it lay, or asks for the same
// cases from another place, as another machine may see it at another one.
func (p *Plan) isOlderOf(next *Plan) bool {
	return next.moved || p.Place == next.Place || p.hasCases(next)
}

// placeOf is where a file is, by one name whatever links lead to its folder.
func placeOf(file string) (string, error) {
	whole, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(whole)); err == nil {
		whole = filepath.Join(folder, filepath.Base(whole))
	}
	return whole, nil
}

// hasCases reports whether another plan has the same cases in the same order, asked for alike.
func (p *Plan) hasCases(other *Plan) bool {
	return slices.Equal(p.Keys, other.Keys) && slices.EqualFunc(p.Cases, other.Cases, func(a, b Case) bool {
		return a.ID == b.ID && slices.Equal(a.Values, b.Values)
	})
}

// Settings returns a case's settings as raybridge run --set takes them, in the order of Plan.Keys. Files are those in the
// store.
func (p *Plan) Settings(c *Case) (keys, values []string) {
	for i, v := range c.Values {
		if v == "" || p.Keys[i] == seedKey {
			continue
		}
		if in, ok := p.Files[p.Keys[i]][v]; ok {
			v = doc.Text(in)
		}
		keys, values = append(keys, p.Keys[i]), append(values, v)
	}
	return keys, values
}

// configName is the name in the store of the configuration of all cases. Recordings have it, so that it is always the same.
const configName = "case.yaml"

// worldLine is a world as ids have it: with the version of the program that it starts.
func (p *Plan) worldLine(spec string) string {
	if kind, _, _ := strings.Cut(spec, ":"); startsPrograms(kind) {
		return spec + "\n" + p.Program
	}
	return spec
}

// maxPlan is the size of the largest plan that is written and read, bytes. A case of twenty numbers takes less than 1 kB, so that
// 100,000 need less than half of it.
const maxPlan = 256 << 20

// The longest texts of a plan, bytes.
const (
	longestText  = 4096
	longestValue = 64 << 10 // Linux takes no argument of twice that
)

// readPlan reads a plan that planning has written. Whatever it names is checked, since it may come from anywhere.
func readPlan(r io.Reader) (*Plan, error) {
	d := json.NewDecoder(&fault.Bounded{Reader: r, Left: maxPlan, Err: fmt.Errorf("it has more than %d MiB", maxPlan>>20)})
	d.DisallowUnknownFields()
	p := &Plan{}
	if err := d.Decode(p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something follows its end", ErrPlan)
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	return p, nil
}

// text is a plan as it is written.
func (p *Plan) text() ([]byte, error) {
	text := recordOf(p)
	if len(text) > maxPlan {
		return nil, fmt.Errorf("%w: the plan has %d MiB of at most %d: make several sweeps", ErrMany, len(text)>>20, maxPlan>>20)
	}
	return text, nil
}

// ErrPlan is the error of a plan that planning hasn't written.
var ErrPlan = errors.New("not a plan of a sweep")

// check refuses a plan whose names lead out of the store, or that is inconsistent.
func (p *Plan) check() error {
	if p.Schema != planSchema {
		return fmt.Errorf("its schema is %d, this program reads %d", p.Schema, planSchema)
	}
	for _, check := range []func() error{p.checkHead, p.checkInputs, p.checkFiles, p.checkCases} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkHead checks what cases have in common.
func (p *Plan) checkHead() error {
	for _, c := range []struct {
		name, text string
		optional   bool
	}{{"place", p.Place, false}, {"base", p.Base, false}, {"version", p.Version, false}, {"class", p.Class, false}, {"device", p.Device, true}, {"program", p.Program, true}} {
		if err := checkText(c.text, longestText); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if c.text == "" && !c.optional {
			return fmt.Errorf("%s is missing", c.name)
		}
	}
	if !filepath.IsAbs(p.Place) {
		return fmt.Errorf("place: %.80q isn't absolute", p.Place)
	}
	if (p.Class == AnyDevice) != (p.Device == "") {
		return fmt.Errorf("device: %.80q isn't of the class %.80q", p.Device, p.Class)
	}
	var keep Keep
	for _, word := range p.Keep {
		if !keep.add(word) {
			return fmt.Errorf("keep: unknown %.80q", word)
		}
	}
	if !slices.Equal(keep.Words(), p.Keep) {
		return fmt.Errorf("keep: %.80q isn't in its order", p.Keep)
	}
	for name, list := range map[string][]string{"collect": p.Collect, "keys": p.Keys} {
		seen := map[string]bool{}
		for _, text := range list {
			if err := checkKey(text); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if text == "" || seen[text] {
				return fmt.Errorf("%s: %.80q is empty, or given twice", name, text)
			}
			seen[text] = true
		}
	}
	return nil
}

// checkInputs checks that names stay in their folders.
func (p *Plan) checkInputs() error {
	for i := range p.Inputs {
		in := &p.Inputs[i]
		if len(in.Files) == 0 || newInput(in.Files).Hash != in.Hash {
			return fmt.Errorf("input %.80q isn't what its files say", in.Hash)
		}
		seen := map[string]bool{}
		for _, f := range in.Files {
			if err := checkName(f.Name); err != nil {
				return fmt.Errorf("input %s: %w", in.Hash, err)
			}
			if seen[f.Name] || f.Size < 0 || !sumForm.MatchString(f.SHA256) {
				return fmt.Errorf("input %s: %.80q is given twice, or has no hash", in.Hash, f.Name)
			}
			seen[f.Name] = true
		}
	}
	return nil
}

var sumForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// checkFiles checks that all files that the plan names are its inputs.
func (p *Plan) checkFiles() error {
	paths := map[string]bool{}
	for i := range p.Inputs {
		paths[p.Inputs[i].path()] = true
	}
	if !paths[p.Config] {
		return fmt.Errorf("the configuration %.80q is not one of its inputs", p.Config)
	}
	for key, values := range p.Files {
		if !isFile(key) && key != worldKey {
			return fmt.Errorf("%.80q is a key without files", key)
		}
		for _, path := range values {
			if key == worldKey {
				_, path, _ = strings.Cut(path, ":")
				path, _, _ = strings.Cut(path, "?")
			}
			if !paths[path] {
				return fmt.Errorf("%.80s: %.80q is not one of its inputs", key, path)
			}
		}
	}
	return nil
}

// checkCases checks that cases are told apart, and that their values are of the plan's keys.
func (p *Plan) checkCases() error {
	if len(p.Cases) == 0 || len(p.Cases) > MostCases {
		return fmt.Errorf("it has %d cases, want 1 to %d", len(p.Cases), MostCases)
	}
	seen := make(map[string]struct{}, len(p.Cases))
	for i := range p.Cases {
		c := &p.Cases[i]
		if _, twice := seen[c.ID]; twice || !idForm.MatchString(c.ID) || len(c.Values) > len(p.Keys) {
			return fmt.Errorf("case %d, %.80q, is given twice, or has another form", i, c.ID)
		}
		seen[c.ID] = struct{}{}
		for k, v := range c.Values {
			if err := checkText(v, longestValue); err != nil {
				return fmt.Errorf("case %s: %.80s: %w", c.ID, p.Keys[k], err)
			}
			if key := p.Keys[k]; v != "" && (isFile(key) || key == worldKey) && p.Files[key][v] == "" {
				return fmt.Errorf("%.80s: %.80q is not one of its inputs", key, v)
			}
		}
	}
	return nil
}

// errText: a text can't be a command's argument, or changes the terminal that shows it.
var errText = errors.New("a text is too long, or has characters that can't be shown")

// checkText refuses a text that can't be passed on and shown.
func checkText(text string, longest int) error {
	if len(text) > longest || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return fmt.Errorf("%w: %.40q, %d bytes of at most %d", errText, text, len(text), longest)
	}
	return nil
}

// errBridges: the recorder of a case would go where the case's bridges are set as a whole.
var errBridges = errors.New("all cases have the base's bridges: vary their keys, such as bridges.mcap.connection")

// checkKey refuses a key that isn't to be varied.
func checkKey(key string) error {
	if key == "bridges" {
		return errBridges
	}
	return checkText(key, longestText)
}

// checkName refuses a name of a file that leads out of its folder, or that no file system takes.
func checkName(name string) error {
	const longestPart = 255
	if len(name) > longestText || slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return len(part) > longestPart }) {
		return fmt.Errorf("the name %.40q... is too long", name)
	}
	if !filepath.IsLocal(name) || strings.ContainsAny(name, "\\\x00") || filepath.ToSlash(filepath.Clean(name)) != name {
		return fmt.Errorf("the name %.80q leads out of its folder", name)
	}
	return nil
}
