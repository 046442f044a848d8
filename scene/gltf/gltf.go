package gltf

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/qmuntal/gltf"

	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/labels"
)

// Options are how a model is loaded; the zero value is right for most.
type Options struct {
	// Labels tags the nodes. Nil means the labels file beside the model
	// (see labels.Beside), or else the built-in rules.
	Labels *labels.Rules
	// Up and Forward are the model's axes that point up and forward, such as
	// "+z" or "-x"; empty means glTF's own, "+y" and "+z".
	Up, Forward string
	// Scale is metres per unit of the model; 0 means 1.
	Scale float64
	// Memory is what the model's files, meshes and pictures are taken from. What the asset
	// doesn't keep is given back. (optional; nil for no limit)
	Memory *memory.Budget
}

// Load reads a .gltf or .glb file; its content, not its name, says which.
// External buffers and pictures are read from the model's folder and below.
// Whatever is wrong is an *Error. The asset belongs to the caller.
func Load(name string, o Options) (*scene.Asset, error) {
	folder, base := filepath.Split(filepath.Clean(name))
	if folder == "" {
		folder = "."
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, &Error{File: name, Err: missing(folder, err)}
	}
	defer root.Close()
	// The model itself may be a link to anywhere: its user named it.
	return load(source{name: name, base: base, model: os.DirFS(folder), files: root.FS()}, o)
}

// LoadFS is Load from a file system, such as an embed.FS.
func LoadFS(fsys fs.FS, name string, o Options) (*scene.Asset, error) {
	files, err := fs.Sub(fsys, path.Dir(name))
	if err != nil {
		return nil, &Error{File: name, Err: err}
	}
	base := path.Base(name)
	return load(source{name: name, base: base, model: files, files: files}, o)
}

// source is where a model comes from.
type source struct {
	name  string // as the caller gave it, for errors
	base  string // its name in files
	model fs.FS  // where the model itself is read
	files fs.FS  // the model's folder
}

// loader makes one asset of one document. It belongs to one call of load.
type loader struct {
	doc    *gltf.Document
	bin    []byte // the .glb's binary chunk
	files  fs.FS
	axes   modelAxes
	labels *labels.Rules
	memory *memory.Budget
	read   int64 // bytes of memory that files took, given back at the end

	asset    scene.Asset
	warnings warnings

	// budget is how many bytes the geometry may still unpack to.
	budget int64
	// pixels is how many pixels the pictures may still have.
	pixels int64

	decoded   map[int][]float32 // by accessor
	meshes    map[meshKey]int   // into asset.Meshes, -1 for one without triangles
	materials map[int]int       // into asset.Materials, by the document's; noMaterial for none
	uvs       []uvMapping       // beside asset.Materials
	textures  map[textureKey]int
	images    map[string]*picture
	remap     []uint32 // scratch of vertexWriter, all unset between uses
}

// Geometry may unpack to a fixed amount and a multiple of what was read: a
// file can't ask for much memory by naming large counts, nor by using the same
// bytes again and again.
const (
	baseBudget   = 64 << 20
	budgetFactor = 128
)

func load(src source, o Options) (*scene.Asset, error) {
	l := &loader{
		memory: o.Memory, files: src.files, labels: o.Labels, budget: baseBudget, pixels: maxTotalPixels,
		decoded: map[int][]float32{}, meshes: map[meshKey]int{}, materials: map[int]int{},
		textures: map[textureKey]int{}, images: map[string]*picture{},
	}
	defer func() { l.memory.Give(l.read) }()
	data, err := l.readFile(src.model, src.base, maxFileBytes)
	if err != nil {
		return nil, ofModel(src.name, err)
	}
	if err := l.load(src, data, o); err != nil {
		place, ok := err.(*Error) //nolint:errorlint // only the outermost carries the place
		if !ok {
			place = &Error{Err: err}
		}
		return nil, &Error{File: src.name, Where: place.Where, Err: place.Err}
	}
	l.asset.Name = strings.TrimSuffix(src.base, path.Ext(src.base))
	l.asset.Warnings = l.warnings.list()
	return &l.asset, nil
}

func (l *loader) load(src source, data []byte, o Options) (err error) {
	if l.axes, err = newAxes(o.Up, o.Forward, o.Scale); err != nil {
		return err
	}
	var document []byte
	if document, l.bin, err = split(data); err != nil {
		return err
	}
	if l.doc, err = decode(document); err != nil {
		return err
	}
	l.allow(len(document))
	if err := l.checkExtensions(); err != nil {
		return err
	}
	if l.labels == nil {
		if l.labels, err = l.labelsBeside(src); err != nil {
			return err
		}
	}
	nodes, err := l.readNodes()
	if err != nil {
		return err
	}
	return l.readAnimations(nodes)
}

// labelsBeside reads the model's own labels file, if it has one.
func (l *loader) labelsBeside(src source) (*labels.Rules, error) {
	for _, name := range labels.Beside(src.base) {
		data, err := l.readFile(src.files, name, maxFileBytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return labels.Parse(name, data)
	}
	return labels.Default(), nil
}

// allow raises the budget for n bytes that were read.
func (l *loader) allow(n int) { l.budget += budgetFactor * int64(n) }

// spend takes n bytes of the budget before they are allocated.
func (l *loader) spend(n int64) error {
	if n > l.budget {
		return faultf(ErrTooLarge, "the model unpacks to more than %d MiB and %d times the bytes it was read from", baseBudget>>20, budgetFactor)
	}
	l.budget -= n
	return l.memory.Take("the model's geometry", n)
}

// finite reports whether all numbers are finite as float32.
func finite(vs ...float64) bool {
	for _, v := range vs {
		if math.IsNaN(v) || math.Abs(v) > math.MaxFloat32 {
			return false
		}
	}
	return true
}
