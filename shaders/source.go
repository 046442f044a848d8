package shaders

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed lib/*.glsl *.comp *.vert *.frag
var embedded embed.FS

// Version is the first line of every source: the GLSL of OpenGL 4.5 core.
const Version = "#version 450 core"

// ErrSource is wrapped by every error of Source: a file that isn't there, an
// include that can't be read, a constant that isn't declared or can't be that.
var ErrSource = errors.New("shader source is not usable")

// Define is one constant that Go gives to a source, as a #define line.
type Define struct {
	Name, Value string
	// Least and Most are the whole numbers that an Entry's constant may be, both included. Where Most
	// is 0, it may be anything.
	Least, Most int
}

// Int returns an integer constant.
func Int(name string, v int) Define { return Define{Name: name, Value: strconv.Itoa(v)} }

// Flag returns a constant that is 1 or 0, for #if.
func Flag(name string, v bool) Define {
	d := Define{Name: name, Value: "0", Most: 1}
	if v {
		d.Value = "1"
	}
	return d
}

// Within returns the constant with the numbers that it may be.
func (d Define) Within(least, most int) Define {
	d.Least, d.Most = least, most
	return d
}

// accept tells whether an entry's constant may have a value.
func (d *Define) accept(value string) error {
	if d.Most == 0 {
		return nil
	}
	if n, err := strconv.Atoi(value); err != nil || n < d.Least || n > d.Most {
		return fmt.Errorf("constant %s is %s, from %d to %d is possible", d.Name, value, d.Least, d.Most)
	}
	return nil
}

// Program is complete GLSL, fields as in gpu.ProgramDesc: gpu.ProgramDesc(p)
// converts it. Entry is empty where the entry is not in this package's catalogue.
type Program struct {
	Label     string
	Compute   string
	Vertex    string
	Fragment  string
	Entry     string
	Constants map[string]string
}

// Source resolves an entry's files into complete GLSL. The defines replace the
// entry's own of the same name; one that the entry doesn't declare is an error.
//
// A driver's log counts lines within files. The number before the line is the place of the file
// in the list at the head of the source.
func Source(e *Entry, defines ...Define) (Program, error) {
	all, err := e.constants(defines)
	if err != nil {
		return Program{}, fmt.Errorf("%w: %q: %w", ErrSource, e.Name, err)
	}
	p := Program{Label: e.Name, Constants: map[string]string{}}
	if slices.Contains(All(), e) {
		p.Entry = e.Name
	}
	for _, c := range all[len(all)-len(e.Constants):] {
		p.Constants[c.Name] = c.Value
	}
	for _, stage := range []struct {
		file string
		into *string
	}{{e.Compute, &p.Compute}, {e.Vertex, &p.Vertex}, {e.Fragment, &p.Fragment}} {
		if stage.file == "" {
			continue
		}
		if *stage.into, err = resolve(e.Files, stage.file, all); err != nil {
			return Program{}, fmt.Errorf("%w: %q: %w", ErrSource, e.Name, err)
		}
	}
	return p, nil
}

// constants returns what an entry's sources are given: slots, how the rays of an invocation lie,
// work-group size, and the entry's constants with overrides applied.
func (e *Entry) constants(overrides []Define) ([]Define, error) {
	all := append(slotDefines(), Int("TOGETHER_X", 1), Int("TOGETHER_Y", 1), Int("LOCAL_SIZE_X", 1), Int("LOCAL_SIZE_Y", 1), Int("LOCAL_SIZE_Z", 1))
	own := len(all)
	all = append(all, e.Constants...)
next:
	for _, o := range overrides {
		for i := range all[own:] {
			c := &all[own+i]
			if c.Name != o.Name {
				continue
			}
			if err := c.accept(o.Value); err != nil {
				return nil, err
			}
			c.Value = o.Value
			continue next
		}
		return nil, fmt.Errorf("constant %s is not declared by the entry", o.Name)
	}
	alone := slices.Contains(all[own:], Alone(true))
	for i, size := range e.Workgroup {
		if alone {
			size *= e.Together[i]
		}
		all[own-3+i].Value = strconv.Itoa(max(size, 1))
	}
	block := e.Together
	if block == [3]int{} {
		block = row
	}
	for i := range 2 {
		if !alone {
			all[own-5+i].Value = strconv.Itoa(block[i])
		}
	}
	return all, nil
}

var includeLine = regexp.MustCompile(`^\s*#\s*include\s+"([^"]+)"\s*$`)

// resolver collects one stage's files in the order of their first inclusion.
type resolver struct {
	own   map[string]string // the entry's
	files []string
	body  strings.Builder
}

func resolve(own map[string]string, file string, defines []Define) (string, error) {
	r := resolver{own: own}
	if err := r.include(file); err != nil {
		return "", err
	}
	var head strings.Builder
	head.WriteString(Version + "\n")
	for i, name := range r.files {
		fmt.Fprintf(&head, "// source %d: %s\n", i+1, name)
	}
	for _, d := range defines {
		fmt.Fprintf(&head, "#define %s %s\n", d.Name, d.Value)
	}
	return head.String() + r.body.String(), nil
}

// include appends a file with its includes resolved, unless it is in already.
func (r *resolver) include(file string) error {
	if slices.Contains(r.files, file) {
		return nil
	}
	r.files = append(r.files, file)
	number := len(r.files)
	text, err := r.read(file)
	if err != nil {
		return err
	}
	fmt.Fprintf(&r.body, "#line 1 %d\n", number)
	for i, line := range strings.Split(text, "\n") {
		m := includeLine.FindStringSubmatch(line)
		if m == nil {
			r.body.WriteString(line + "\n")
			continue
		}
		if err := r.include(m[1]); err != nil {
			return fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		fmt.Fprintf(&r.body, "#line %d %d\n", i+2, number)
	}
	return nil
}

func (r *resolver) read(file string) (string, error) {
	if text, ok := r.own[file]; ok {
		return text, nil
	}
	b, err := fs.ReadFile(embedded, file)
	if err != nil {
		return "", fmt.Errorf("include %q: %w", file, err)
	}
	return string(b), nil
}
