// Package gltf loads glTF 2.0 models (.gltf and .glb) as scene assets: meshes,
// metallic-roughness materials, textures, the node hierarchy with its labels,
// and node animations.
//
// # Axes and units
//
// glTF's axes are y up, z forward, x left; raybridge's are REP-103's: x forward, y left, z up.
// The loader turns everything once, positions, normals, node transforms and animation values
// alike. So the asset's (x, y, z) is the file's (z, x, y). Options.Up and Options.Forward name
// other axes for files that were modelled otherwise; Options.Scale is metres per unit.
//
// Front faces are counter-clockwise in each mesh and stay so in the scene. A node that mirrors
// (a negative scale) becomes one that does not, and the reflection goes into a copy of its
// mesh. A node with a sheared matrix is turned by the rotation nearest to it, after a stretch
// along axes of its own.
//
// # What is read
//
// The loader reads the file's default scene and what it uses: buffers from files, data URIs and
// the .glb's own chunk. It reads PNG, JPEG and WebP pictures. A picture in another format is left
// out with a warning: its material has its factors alone. Accessors may be sparse, interleaved,
// normalized and quantized; triangles may be strips and fans. Missing normals are computed
// flat, as section 3.7.2.1 of the specification asks. Vertices may have colours (COLOR_0). One
// set of texture coordinates a material is used: that of its base colour, of whatever number.
// KHR_texture_transform may be different for each of its textures. Samplers wrap along each axis
// and filter as they say.
//
// Extensions: KHR_mesh_quantization, KHR_texture_transform, KHR_materials_emissive_strength,
// KHR_materials_unlit, EXT_texture_webp and EXT_mesh_gpu_instancing, whose instances are parts of
// their node's actor. Any other is left out with a warning. It is an error where the file requires it and
// shapes or places may depend on it. That is where a buffer, a view, an accessor, a mesh, a node
// or a skin has it. Lamps and others that are known to hold no shapes are left out. Geometry that
// is there in a compressed form alone (Draco, meshopt) is always an error. Left
// out with a warning: points and lines. Normal and occlusion textures and cameras are ignored.
//
// A whole number may be written with a fraction or an exponent (5126.0), which gets a warning. A
// node that two others have as a child, or that the scene names beside its parent, gets one,
// too, and stays with the first parent that the scene reaches. Asset packs with a node tmpParent
// have such nodes. Meshes without primitives and primitives without vertices are left out, and
// null stands for nothing. A rotation of 0 0 0 0 turns nothing.
//
// Skins and morph targets move. A vertex may follow any number of joints. All animations of a
// file play together from time 0 on, each in a loop.
//
// A node whose animation only turns it about one axis, or only moves it along one line, is a
// joint of the actor: see scene.Joint. Its value is 0 at the animation's first key.
//
// A material's extras may hold lidar_reflectance (0 to 1), retroreflective and paint (true or
// false). If paint isn't given, a material is paint if its name has "paint" in it. The extras
// may hold lamps, a list of those that it is. A vehicle has head, brake, left, right, indicator
// and reverse, a traffic light red, yellow and green.
//
// # Bad input
//
// Everything wrong with a file is an *Error that says where. An animation is different: one that
// breaks a rule, or whose data is not there, is left out with a warning, and the scene loads. No
// input makes the loader panic, read outside the model's folder, or allocate far more than the
// input's size explains. WebP is different: a few bytes may be a large picture of one colour.
// Options.Memory bounds all. External files are named by relative URIs (percent-decoded) at or
// below the model's folder, symbolic links included.
//
// # Labels
//
// [Rules] give the nodes of a loaded model their semantic tags. They work by patterns over node
// names, by the extras that glTF nodes and meshes carry, or by the built-in rules for common
// names.
//
// # Files of labels
//
// A labels file is YAML. It lies beside the model with the model's name and the ending
// .labels.yaml (street.labels.yaml or street.glb.labels.yaml for street.glb). Or its content
// stands in the run's configuration:
//
//	rules:
//	  - {match: "building_*", tag: building}
//	  - {match: "re:^car_[a-z]+$", tag: car, actor: true}
//	  - {match: "word:zebra crossing|stop line", tag: road_line}
//	extras: semantic_tag          # the default
//	actor_extras: semantic_actor  # the default
//	defaults: true                # the default
//
// # Rules of labels
//
// The first rule whose pattern matches a node's name labels the node. A
// pattern is one of:
//
//   - a glob over the whole name, in any case: * stands for any characters, ?
//     for one;
//   - re: and a Go regular expression, as written, anywhere in the name;
//   - word: and phrases separated by |, each of which must appear as whole
//     words: names fall into words at digits, at everything else that is no
//     letter, and where a capital follows a small letter. So word:traffic light
//     matches TrafficLight_03 and traffic-light, but not trafficlight.
//
// With actor: true the node and all below it are one actor with one instance
// id. After a file's own rules come the built-in ones ([DefaultRules]), unless the
// file says defaults: false.
//
// # Extras of nodes
//
// A node's extras, or else those of its mesh, come before all rules. The key that extras names
// holds a tag's name or number, the key that actor_extras names a bool. Blender writes an
// object's custom properties there.
package gltf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/qmuntal/gltf"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/spatial"
)

// Options are how a model is loaded; the zero value is right for most.
type Options struct {
	// Labels tags the nodes. Nil means the labels file beside the model
	// (see RulesBeside), or else the built-in rules.
	Labels *Rules
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
// Whatever is wrong is an *Error. It wraps ctx's error where that ended first. The asset belongs
// to the caller.
func Load(ctx context.Context, name string, o Options) (*scene.Asset, error) {
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
	return load(ctx, source{name: name, base: base, model: os.DirFS(folder), files: root.FS()}, o)
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
	ctx    context.Context
	doc    *gltf.Document
	bin    []byte // the .glb's binary chunk
	files  fs.FS
	axes   modelAxes
	labels *Rules
	memory *memory.Budget
	read   int64 // bytes of memory that files took, given back at the end

	asset    scene.Asset
	warnings warnings

	// budget is how many bytes the geometry may still unpack to.
	budget int64
	// skinned are the document's nodes with a skin.
	skinned []int
	// pixels is how many pixels the pictures may still have.
	pixels int64

	decoded   map[int][]float32 // by accessor
	meshes    map[meshKey]int   // into asset.Meshes, -1 for one without triangles
	materials map[int]int       // into asset.Materials, by the document's; noMaterial for none
	uvs       []uvMapping       // beside asset.Materials
	textures  map[textureKey]int
	images    map[string]*picture // nil for one that is left out
	skipped   map[string][]string // names of pictures that are left out, by format
	remap     []uint32            // scratch of vertexWriter, all unset between uses
}

// Geometry may unpack to a fixed amount and a multiple of what was read. So a file can't ask
// for much memory by naming large counts, nor by using the same bytes again and again.
const (
	baseBudget   = 64 << 20
	budgetFactor = 128
)

func load(ctx context.Context, src source, o Options) (*scene.Asset, error) {
	l := &loader{
		ctx: ctx, memory: o.Memory, files: src.files, labels: o.Labels, budget: baseBudget, pixels: maxTotalPixels,
		decoded: map[int][]float32{}, meshes: map[meshKey]int{}, materials: map[int]int{},
		textures: map[textureKey]int{}, images: map[string]*picture{}, skipped: map[string][]string{},
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
	l.warnOfSkipped()
	l.asset.Warnings = l.warnings.list()
	return &l.asset, nil
}

func (l *loader) load(src source, data []byte, o Options) (err error) {
	if l.axes, err = newAxes(o.Up, o.Forward, o.Scale); err != nil {
		return err
	}
	if err := checkKind(src.base, data); err != nil {
		return err
	}
	var document []byte
	if document, l.bin, err = split(data); err != nil {
		return err
	}
	if l.doc, err = l.decode(document); err != nil {
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
	if err := l.readSkins(nodes); err != nil {
		return err
	}
	return l.readAnimations(nodes)
}

// labelsBeside reads the model's own labels file, if it has one.
func (l *loader) labelsBeside(src source) (*Rules, error) {
	for _, name := range RulesBeside(src.base) {
		data, err := l.readFile(src.files, name, maxFileBytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return ParseRules(name, data)
	}
	return DefaultRules(), nil
}

// allow raises the budget for n bytes that were read.
func (l *loader) allow(n int) { l.budget += budgetFactor * int64(n) }

// spend takes n bytes of the budget before they are allocated. It is where geometry asks whether
// anybody still waits for it.
func (l *loader) spend(n int64) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
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

// modelAxes turns the model's axes and units into REP-103's, the axes first.
type modelAxes struct {
	spatial.AxesRotation         // Out leads from the model's axes to ours
	scale                float64 // metres per unit
}

// newAxes reads the options; see Options.
func newAxes(up, forward string, scale float64) (modelAxes, error) {
	u, err := parseAxis("up", up, "+y")
	if err != nil {
		return modelAxes{}, err
	}
	f, err := parseAxis("forward", forward, "+z")
	if err != nil {
		return modelAxes{}, err
	}
	if u.Dot(f) != 0 {
		return modelAxes{}, faultf(ErrOptions, "up %q and forward %q must be different axes", up, forward)
	}
	if scale == 0 {
		scale = 1
	}
	if scale <= 0 || math.IsNaN(scale) || math.IsInf(scale, 0) {
		return modelAxes{}, faultf(ErrOptions, "scale %v must be a positive number of metres per unit", scale)
	}
	return modelAxes{spatial.NewAxesRotation(f, u.Cross(f), u), scale}, nil
}

// parseAxis reads "+y", "y" or "-y".
func parseAxis(option, s, fallback string) (mgl64.Vec3, error) {
	s = cmp.Or(s, fallback)
	sign, letter := 1.0, s
	switch s[0] {
	case '+':
		letter = s[1:]
	case '-':
		sign, letter = -1, s[1:]
	}
	switch letter {
	case "x", "X":
		return mgl64.Vec3{sign, 0, 0}, nil
	case "y", "Y":
		return mgl64.Vec3{0, sign, 0}, nil
	case "z", "Z":
		return mgl64.Vec3{0, 0, sign}, nil
	}
	return mgl64.Vec3{}, faultf(ErrOptions, "%s %q is not an axis: give +x, -x, +y, -y, +z or -z", option, s)
}

// point turns and scales a position or translation.
func (a *modelAxes) point(v mgl64.Vec3) mgl64.Vec3 { return a.Out(v).Mul(a.scale) }

func (a *modelAxes) trs(t scene.TRS) scene.TRS {
	return scene.TRS{Translation: a.point(t.Translation), Rotation: a.OutRotation(t.Rotation), Scale: a.OutSize(t.Scale)}
}

// What is wrong with a file. An *Error wraps one of them, or an error of the file system
// (fs.ErrNotExist where a file is missing), or of a labels file.
var (
	// ErrFormat: the file breaks a rule of glTF 2.0, PNG, JPEG or WebP.
	ErrFormat = errors.New("invalid glTF")
	// ErrUnsupported: the file needs what the loader hasn't: a required
	// extension, glTF 1.0, a picture in an unknown format, a remote file.
	ErrUnsupported = errors.New("unsupported glTF")
	// ErrPath: a URI leads out of the model's folder.
	ErrPath = errors.New("path outside the model's folder")
	// ErrTooLarge: the file, a picture or the unpacked model is too large.
	ErrTooLarge = errors.New("model too large")
	// ErrOptions: the options are wrong, not the file.
	ErrOptions = errors.New("invalid glTF options")
)

// Error is a fault of a model.
type Error struct {
	// File is the model's path, as given.
	File string
	// Where is the place in its JSON, such as
	// "meshes[2].primitives[0].attributes.POSITION"; empty for the whole file.
	Where string
	Err   error

	// rooted: Where starts at the document's root.
	rooted bool
}

// Error returns the file, the place and the fault.
func (e *Error) Error() string {
	var b strings.Builder
	for _, s := range []string{e.File, e.Where} {
		if s != "" {
			b.WriteString(s)
			b.WriteString(": ")
		}
	}
	b.WriteString(e.Err.Error())
	return b.String()
}

// Unwrap returns the fault.
func (e *Error) Unwrap() error { return e.Err }

// flaw is an error of a kind, with a message that need not repeat the kind.
type flaw struct{ kind, err error }

func (f *flaw) Error() string { return f.err.Error() }

func (f *flaw) Unwrap() []error { return []error{f.kind, f.err} }

// faultf makes an error that wraps kind and everything wrapped by %w.
func faultf(kind error, format string, args ...any) error {
	return &flaw{kind, fmt.Errorf(format, args...)}
}

// invalid makes an error that wraps ErrFormat.
func invalid(format string, args ...any) error {
	return &flaw{ErrFormat, fmt.Errorf(format, args...)}
}

// within puts err, if any, at a place: an index such as [3] or a property's
// name, joined with the place that err already has.
func within(place string, err error) error {
	if err == nil {
		return nil
	}
	inner, ok := err.(*Error) //nolint:errorlint // only the outermost carries the place
	if !ok {
		return &Error{Where: place, Err: err}
	}
	switch {
	case inner.rooted:
		return inner
	case inner.Where == "":
		return &Error{Where: place, Err: inner.Err}
	case strings.HasPrefix(inner.Where, "["):
		return &Error{Where: place + inner.Where, Err: inner.Err}
	}
	return &Error{Where: place + "." + inner.Where, Err: inner.Err}
}

// at is within for a place that starts at the document's root. So an error about an object
// keeps its place wherever the object was referred to.
func at(place string, err error) error {
	if err == nil {
		return nil
	}
	e := within(place, err).(*Error) //nolint:errorlint // what within returns
	e.rooted = true
	return e
}

// atItem is at for item i of one of the document's lists.
func atItem(name string, i int, err error) error {
	if err == nil {
		return nil
	}
	return at(fmt.Sprintf("%s[%d]", name, i), err)
}

// checkIndex reports an index into a list of the document that is out of range.
func checkIndex(name string, i, length int) error {
	if i < 0 || i >= length {
		return invalid("%s[%d] is not there: the file has %d", name, i, length)
	}
	return nil
}

// warnings collects what was left out; a warning that many places share is
// one line with their count.
type warnings struct {
	order []string
	first map[string]string // the first place, by message
	count map[string]int
}

// add notes a message about a place such as "nodes[3]", or "" for the file.
func (w *warnings) add(place, message string) {
	if w.count == nil {
		w.first, w.count = map[string]string{}, map[string]int{}
	}
	if w.count[message] == 0 {
		w.order = append(w.order, message)
		w.first[message] = place
	}
	w.count[message]++
}

func (w *warnings) list() []string {
	var out []string
	for _, message := range w.order {
		place := w.first[message]
		switch more := w.count[message] - 1; {
		case place == "":
		case more > 0:
			message = fmt.Sprintf("%s and %d more: %s", place, more, message)
		default:
			message = place + ": " + message
		}
		out = append(out, message)
	}
	return out
}

func (l *loader) warn(place, format string, args ...any) {
	l.warnings.add(place, fmt.Sprintf(format, args...))
}
