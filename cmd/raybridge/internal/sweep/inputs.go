package sweep

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene/gltf"
	"github.com/raybridge/raybridge/world/sumo"
)

// inputsDir is the folder of a store's inputs.
const inputsDir = "inputs"

// Input is a file that cases read, with the files that it names. Its folder in the store has the hash's name.
type Input struct {
	// Hash is that of the names and contents of the files, SHA-256 in hexadecimal digits.
	Hash string `json:"hash"`
	// Files begin with the one that the configuration names; the others are relative to its folder.
	Files []InputFile `json:"files"`
}

// InputFile is one file of an Input.
type InputFile struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// path is where the store has the input's first file.
func (in *Input) path() string { return inputsDir + "/" + in.Hash + "/" + in.Files[0].Name }

// newInput hashes what the files' hashes say.
func newInput(files []InputFile) Input {
	var text []byte
	for _, f := range files {
		text = strconv.AppendQuote(text, f.Name)
		text = fmt.Appendf(text, " %d %s\n", f.Size, f.SHA256)
	}
	sum := sha256.Sum256(text)
	return Input{hex.EncodeToString(sum[:]), files}
}

// source is where an input lies before it is in a store: a file with others beside it, or a text.
type source struct {
	path string
	name string // the file's in the store
	text []byte
}

func (s *source) open(name string) (io.ReadCloser, error) {
	if s.text != nil {
		return io.NopCloser(bytes.NewReader(s.text)), nil
	}
	f, err := os.Open(s.file(name))
	return f, fault.File(err)
}

// file is where a file of the input lies.
func (s *source) file(name string) string {
	if name == s.name {
		return s.path
	}
	return filepath.Join(filepath.Dir(s.path), filepath.FromSlash(name))
}

// fileKind is what reads a file.
type fileKind string

const (
	rigFile    fileKind = "rig.yaml"
	labelsFile fileKind = "labels.yaml"
	csvFile    fileKind = "world.csv"
	sumoFile   fileKind = "world.sumocfg"
	traceFile  fileKind = "" // OSI's
	modelFile  fileKind = "model"
	firingFile fileKind = "firings.csv"
	opticsFile fileKind = "materials.yaml"
)

// kindOf is the kind of a key's file. That of a world is told by the world.
func kindOf(key string) fileKind {
	switch key {
	case rigKey:
		return rigFile
	case labelsKey:
		return labelsFile
	}
	if strings.HasSuffix(key, ".firing_table") {
		return firingFile
	}
	if strings.HasPrefix(key, "sensors") && strings.HasSuffix(key, ".materials") {
		return opticsFile
	}
	return modelFile
}

// nameOf is a file's name in the store. It is always the same where no byte of a run depends on it. Actors are named by their
// models' files, a recording by the scene's, and the name of OSI's traces tells what is in them.
func (k fileKind) nameOf(path string) string {
	if k == modelFile || k == traceFile {
		return filepath.Base(path)
	}
	return string(k)
}

// namedBy lists the files that a file names, relative to its folder, with slashes: a model's buffers, pictures and
// labels, and what SUMO reads.
func (k fileKind) namedBy(path string) (names []string, err error) {
	switch k {
	case modelFile:
		if names, err = gltf.References(path); err != nil {
			return nil, err
		}
		for _, labels := range gltf.RulesBeside(filepath.Base(path)) { // the first one is read
			if _, missing := os.Stat(filepath.Join(filepath.Dir(path), labels)); missing == nil {
				names = append(names, labels)
				break
			}
		}
	case sumoFile:
		names, err = sumo.References(path)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// gatherer collects the inputs of a plan, each once.
type gatherer struct {
	inputs  []Input
	sources map[string]source // by hash
	byPath  map[gathered]*Input
}

type gathered struct {
	kind fileKind
	path string
}

func newGatherer() *gatherer {
	return &gatherer{sources: map[string]source{}, byPath: map[gathered]*Input{}}
}

// file takes a file with those that it names.
func (g *gatherer) file(kind fileKind, path string) (*Input, error) {
	key := gathered{kind, path}
	if in := g.byPath[key]; in != nil {
		return in, nil
	}
	names, err := kind.namedBy(path)
	if err != nil {
		return nil, err
	}
	from := source{path: path, name: kind.nameOf(path)}
	if slices.Contains(names, from.name) {
		return nil, fmt.Errorf("%s: it names a file %s, as the sweep calls its own copy: rename that file", path, from.name)
	}
	var files []InputFile
	for _, name := range append([]string{from.name}, names...) {
		if err := checkName(name); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		f, err := hashFile(from.file(name))
		if err != nil {
			return nil, err
		}
		f.Name = name
		files = append(files, f)
	}
	g.byPath[key] = g.add(newInput(files), from)
	return g.byPath[key], nil
}

// text takes a text as a file of a name.
func (g *gatherer) text(name string, text []byte) *Input {
	sum := sha256.Sum256(text)
	in := newInput([]InputFile{{name, int64(len(text)), hex.EncodeToString(sum[:])}})
	return g.add(in, source{text: text})
}

func (g *gatherer) add(in Input, from source) *Input {
	if _, there := g.sources[in.Hash]; !there {
		g.sources[in.Hash] = from
		g.inputs = append(g.inputs, in)
	}
	return &in
}

// hashFile reads a regular file.
func hashFile(path string) (InputFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return InputFile{}, fault.File(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return InputFile{}, cmp.Or(fault.File(err), fmt.Errorf("%s is not a regular file", path))
	}
	size, sum, err := hashOf(f)
	return InputFile{Size: size, SHA256: sum}, fault.File(err)
}

func hashOf(r io.Reader) (size int64, sum string, err error) {
	h := sha256.New()
	size, err = io.Copy(h, r)
	return size, hex.EncodeToString(h.Sum(nil)), err
}

// worldFile takes KIND:FILE?OPTIONS of a world apart. It reports false for a world that has no file, such as a server.
func worldFile(spec string) (kind, file, options string, ok bool) {
	kind, address, found := strings.Cut(spec, ":")
	file, options, _ = strings.Cut(address, "?")
	if options != "" {
		options = "?" + options
	}
	_, err := os.Stat(file)
	return kind, file, options, found && err == nil
}

// kindOfWorld is the kind of file that a world of a kind reads.
func kindOfWorld(kind string) fileKind {
	switch kind {
	case "sumo":
		return sumoFile
	case "csv":
		return csvFile
	}
	return traceFile
}

// startsPrograms reports whether a world of the kind runs a program of the machine's.
func startsPrograms(kind string) bool { return kindOfWorld(kind) == sumoFile }
