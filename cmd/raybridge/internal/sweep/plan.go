package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/internal/doc"
)

// planSchema is the version of a plan's form.
const planSchema = 1

// Plan is a sweep, frozen: its cases, and by content all files that they read. It must not be changed.
type Plan struct {
	Schema int `json:"schema"`
	// Sweep and Base are the names of the sweep file and of the configuration that it varies: plans that have both
	// alike are of one sweep.
	Sweep string `json:"sweep"`
	Base  string `json:"base"`
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
}

// Same is how many combinations were left out because they are the same run as another.
func (p *Plan) Same() int { return p.same }

// OfSameSweep reports whether the plans are of one sweep.
func (p *Plan) OfSameSweep(other *Plan) bool { return p.Sweep == other.Sweep && p.Base == other.Base }

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

// maxPlan is the size of the largest plan that is read, bytes.
const maxPlan = 4 << 30

// readPlan reads a plan that planning has written. Whatever it names is checked, since it may come from anywhere.
func readPlan(r io.Reader) (*Plan, error) {
	d := json.NewDecoder(io.LimitReader(r, maxPlan))
	d.DisallowUnknownFields()
	p := &Plan{}
	if err := d.Decode(p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	return p, nil
}

// ErrPlan is the error of a plan that planning hasn't written.
var ErrPlan = errors.New("not a plan of a sweep")

// check refuses a plan whose names lead out of the store, or that is inconsistent.
func (p *Plan) check() error {
	if p.Schema != planSchema {
		return fmt.Errorf("its schema is %d, this program reads %d", p.Schema, planSchema)
	}
	paths := map[string]bool{}
	for i := range p.Inputs {
		in := &p.Inputs[i]
		if len(in.Files) == 0 || newInput(in.Files).Hash != in.Hash {
			return fmt.Errorf("input %.80q isn't what its files say", in.Hash)
		}
		for _, f := range in.Files {
			if err := checkName(f.Name); err != nil {
				return fmt.Errorf("input %s: %w", in.Hash, err)
			}
		}
		paths[in.path()] = true
	}
	for i, key := range p.Keys {
		if !isFile(key) && key != worldKey {
			continue
		}
		for _, c := range p.Cases {
			if i < len(c.Values) && c.Values[i] != "" && p.Files[key][c.Values[i]] == "" {
				return fmt.Errorf("%.80s: %.80q is not one of its inputs", key, c.Values[i])
			}
		}
	}
	if !paths[p.Config] {
		return fmt.Errorf("the configuration %.80q is not one of its inputs", p.Config)
	}
	for key, values := range p.Files {
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
	seen := make(map[string]struct{}, len(p.Cases))
	for i := range p.Cases {
		c := &p.Cases[i]
		if _, twice := seen[c.ID]; twice || !idForm.MatchString(c.ID) || len(c.Values) > len(p.Keys) {
			return fmt.Errorf("case %d, %.80q, is given twice, or has another form", i, c.ID)
		}
		seen[c.ID] = struct{}{}
	}
	return nil
}

// checkName refuses a name of a file that leads out of its folder, or that no file system takes.
func checkName(name string) error {
	const longest, longestPart = 4096, 255
	if len(name) > longest || slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return len(part) > longestPart }) {
		return fmt.Errorf("the name %.40q... is too long", name)
	}
	if !filepath.IsLocal(name) || strings.ContainsAny(name, "\\\x00") || filepath.ToSlash(filepath.Clean(name)) != name {
		return fmt.Errorf("the name %.80q leads out of its folder", name)
	}
	return nil
}
