package sweep

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene/gltf"
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

// source is where an input lies before it is in a store: below a folder, or a text.
type source struct {
	folder string
	text   []byte
}

func (s *source) open(name string) (io.ReadCloser, error) {
	if s.text != nil {
		return io.NopCloser(bytes.NewReader(s.text)), nil
	}
	f, err := os.Open(filepath.Join(s.folder, filepath.FromSlash(name)))
	return f, fault.File(err)
}

// gatherer collects the inputs of a plan, each once.
type gatherer struct {
	inputs  []Input
	sources map[string]source // by hash
	byPath  map[string]*Input
}

func newGatherer() *gatherer {
	return &gatherer{sources: map[string]source{}, byPath: map[string]*Input{}}
}

// file takes a file with those that it names.
func (g *gatherer) file(path string) (*Input, error) {
	if in := g.byPath[path]; in != nil {
		return in, nil
	}
	names, err := namedBy(path)
	if err != nil {
		return nil, err
	}
	folder := filepath.Dir(path)
	var files []InputFile
	for _, name := range append([]string{filepath.Base(path)}, names...) {
		f, err := hashFile(filepath.Join(folder, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		f.Name = name
		files = append(files, f)
	}
	in := newInput(files)
	g.byPath[path] = g.add(in, source{folder: folder})
	return g.byPath[path], nil
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

// errOutside: a file that an input names lies beyond the input's folder.
var errOutside = errors.New("lies outside of the file's folder: put it there or below")

// namedBy lists the files that a file names, relative to its folder, with slashes: a model's buffers, pictures and
// labels, and what a configuration of SUMO reads.
func namedBy(path string) (names []string, err error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".gltf", ".glb":
		names, err = gltf.References(path)
		labels := filepath.Base(strings.TrimSuffix(path, filepath.Ext(path)) + ".labels.yaml")
		if _, missing := os.Stat(filepath.Join(filepath.Dir(path), labels)); missing == nil {
			names = append(names, labels)
		}
	case ".sumocfg":
		names, err = namedBySUMO(path)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// namedBySUMO lists the input files of a configuration of SUMO, without the files that these name in turn.
func namedBySUMO(path string) ([]string, error) {
	const most = 1 << 20
	data, err := fault.ReadUpTo(path, most)
	if err != nil {
		return nil, err
	}
	var names []string
	for d := xml.NewDecoder(bytes.NewReader(data)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: read XML: %w", path, err)
		}
		element, ok := token.(xml.StartElement)
		if !ok || !inputElement.MatchString(element.Name.Local) {
			continue
		}
		for _, a := range element.Attr {
			if a.Name.Local != "value" && a.Name.Local != "v" {
				continue
			}
			for name := range strings.FieldsFuncSeq(a.Value, func(r rune) bool { return r == ',' || r == ' ' }) {
				if !filepath.IsLocal(name) {
					return nil, fmt.Errorf("%s: %s %w", path, name, errOutside)
				}
				names = append(names, filepath.ToSlash(filepath.Clean(name)))
			}
		}
	}
}

// inputElement are the elements of a configuration that name files to read.
var inputElement = regexp.MustCompile(`^(?:net|route|additional|weight|lanechange-weights|junction-taz)-?files?$`)

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

// startsPrograms reports whether a world of the kind runs a program of the machine's.
func startsPrograms(kind string) bool { return kind == "sumo" }
