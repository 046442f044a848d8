package gputest

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"strings"

	"github.com/raybridge/raybridge/gpu"
)

// Beyond says what a program needs that OpenGL 4.5 core doesn't guarantee (gpu.Guaranteed), a line
// each. Software OpenGL compiles such programs all the same. It reads the sources' declarations and
// takes all branches of each #if: a name counts once, with the most that any of its declarations
// needs, and a constant has the value that needs most. So it may name too much, but too little only
// where a macro makes a declaration. Vertex attributes and atomic counters are named, too, since
// nothing can be bound to them.
func Beyond(desc gpu.ProgramDesc) (lines []string) {
	outputs := 0
	for _, stage := range []struct{ name, source string }{
		{"compute", desc.Compute}, {"vertex", desc.Vertex}, {"fragment", desc.Fragment},
	} {
		if stage.source == "" {
			continue
		}
		n := readStage(stage.name, stage.source)
		outputs += n.of[storageBlocks] + n.of[images] + n.of[colors]
		most := gpu.Guaranteed()
		if stage.name == "vertex" {
			most.MaxStorageBlocks, most.MaxImages = 0, 0
		}
		for _, x := range []struct {
			what        string
			needs, most int
		}{
			{"samplers", n.of[samplers], most.MaxSamplers},
			{"uniform blocks", n.of[uniformBlocks], most.MaxUniformBlocks},
			{"storage blocks", n.of[storageBlocks], most.MaxStorageBlocks},
			{"images", n.of[images], most.MaxImages},
			{"bytes of a uniform block", n.of[uniformBytes], most.MaxUniformBlockBytes},
			{"bytes of shared memory", n.of[sharedBytes], most.MaxSharedBytes},
			{"components of varyings", n.of[varyings], maxVaryings},
			{"vertex attributes", n.of[attributes], 0},
			{"atomic counters", n.of[counters], 0},
			{"invocations of a work group", n.group[0] * n.group[1] * n.group[2], most.MaxComputeInvocations},
			{"invocations of a work group in x", n.group[0], most.MaxComputeGroupSize[0]},
			{"invocations of a work group in y", n.group[1], most.MaxComputeGroupSize[1]},
			{"invocations of a work group in z", n.group[2], most.MaxComputeGroupSize[2]},
		} {
			if x.needs > x.most {
				lines = append(lines, fmt.Sprintf("%s stage: %d %s, OpenGL 4.5 guarantees %d", stage.name, x.needs, x.what, x.most))
			}
		}
		lines = append(lines, n.unclear...)
	}
	if most := gpu.Guaranteed().MaxOutputs; outputs > most {
		lines = append(lines, fmt.Sprintf("%d storage blocks, images and colours, OpenGL 4.5 guarantees %d", outputs, most))
	}
	return lines
}

// maxVaryings is MAX_VARYING_COMPONENTS of OpenGL 4.5 core's table 23.63.
const maxVaryings = 60

// need is something of which a declaration takes a number.
type need int

const (
	samplers need = iota
	uniformBlocks
	storageBlocks
	images
	counters
	uniformBytes // of the largest block
	sharedBytes
	attributes
	varyings
	colors
	needs // how many there are
)

// stageNeeds is what one stage declares.
type stageNeeds struct {
	of      [needs]int
	group   [3]int
	unclear []string // declarations that the reader doesn't understand
}

var (
	comment     = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`)
	define      = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\S.*)$`)
	constInt    = regexp.MustCompile(`\bconst\s+u?int\s+(\w+)\s*=\s*([^;,]+);`)
	directive   = regexp.MustCompile(`(?m)^[ \t]*#.*$`)
	structure   = regexp.MustCompile(`\bstruct\s+(\w+)\s*\{([^}]*)\}`)
	declaration = regexp.MustCompile(`(?m)^[ \t]*(?:layout\s*\(([^)]*)\)\s*)?(?:\w+\s+)*?(uniform|buffer|shared|in|out)\b([^;{=()]*)(?:;|\{([^}]*)\}\s*\w*([^;]*);)`)
	localSize   = regexp.MustCompile(`local_size_([xyz])\s*=\s*([^,]+)`)
	identifier  = regexp.MustCompile(`\b[A-Za-z_]\w*\b`)
	suffix      = regexp.MustCompile(`\b(\d+)[uU]\b`)
)

// stageReader reads declarations of one source.
type stageReader struct {
	needs     stageNeeds
	constants map[string][]string // texts of the values that integer constants may have, by name
	structs   map[string][]string // their members
	taken     map[taken]int       // by each name, at most
}

// taken is what a name takes: a keyword has names of its own.
type taken struct {
	keyword, name string
	of            need
}

// declared is one declaration of a stage.
type declared struct{ stage, layout, keyword, what, members, instances string }

func readStage(stage, source string) stageNeeds {
	source = comment.ReplaceAllString(source, " ")
	r := stageReader{constants: map[string][]string{}, structs: map[string][]string{}, taken: map[taken]int{}}
	for _, list := range [][][]string{define.FindAllStringSubmatch(source, -1), constInt.FindAllStringSubmatch(source, -1)} {
		for _, m := range list {
			r.constants[m[1]] = append(r.constants[m[1]], m[2])
		}
	}
	source = strings.NewReplacer(";", ";\n", "}", "}\n").Replace(directive.ReplaceAllString(source, ""))
	for _, m := range structure.FindAllStringSubmatch(source, -1) {
		r.structs[m[1]] = append(r.structs[m[1]], m[2])
	}
	for _, m := range declaration.FindAllStringSubmatch(source, -1) {
		r.read(declared{stage, m[1], m[2], m[3], m[4], m[5]})
	}
	for of, n := range r.taken {
		if of.of == uniformBytes {
			r.needs.of[uniformBytes] = max(r.needs.of[uniformBytes], n)
		} else {
			r.needs.of[of.of] += n
		}
	}
	return r.needs
}

// take notes what a declaration of a name takes. The branches of an #if may repeat the name.
func (r *stageReader) take(d declared, name string, of need, n int) {
	key := taken{d.keyword, name, of}
	r.taken[key] = max(r.taken[key], n)
}

// read counts one declaration: "layout(layout) keyword what;" or, with members, a block and the
// dimensions of its instances.
func (r *stageReader) read(d declared) {
	if d.keyword == "in" && strings.Contains(d.layout, "local_size_") {
		for axis := range r.needs.group {
			r.needs.group[axis] = max(r.needs.group[axis], 1)
		}
		for _, m := range localSize.FindAllStringSubmatch(d.layout, -1) {
			size := &r.needs.group[m[1][0]-'x']
			*size = max(*size, r.number(m[2]))
		}
		return
	}
	if d.members != "" {
		r.readBlock(d)
		return
	}
	r.readVariables(d)
}

func (r *stageReader) readBlock(d declared) {
	name := strings.TrimSpace(d.what)
	count := r.count(d.instances)
	switch d.keyword {
	case "uniform":
		r.take(d, name, uniformBlocks, count)
		r.take(d, name, uniformBytes, r.block(d.members))
	case "buffer":
		r.take(d, name, storageBlocks, count)
	default:
		for _, v := range r.variables(d.members) {
			v.name, v.count = name+"."+v.name, v.count*count
			r.passes(d, v)
		}
	}
}

func (r *stageReader) readVariables(d declared) {
	for _, v := range r.variables(d.what + ";") {
		switch {
		case d.keyword == "shared":
			r.take(d, v.name, sharedBytes, r.bytes(v.kind)*v.count)
		case d.keyword == "in" || d.keyword == "out":
			r.passes(d, v)
		case strings.Contains(v.kind, "sampler"):
			r.take(d, v.name, samplers, v.count)
		case strings.Contains(v.kind, "image"):
			r.take(d, v.name, images, v.count)
		case v.kind == "atomic_uint":
			r.take(d, v.name, counters, v.count)
		}
	}
}

// passes counts a variable between stages.
func (r *stageReader) passes(d declared, v variable) {
	switch d.stage + " " + d.keyword {
	case "vertex in":
		r.take(d, v.name, attributes, v.count)
	case "vertex out":
		r.take(d, v.name, varyings, r.bytes(v.kind)/4*v.count)
	case "fragment out":
		r.take(d, v.name, colors, v.count)
	}
}

// variable is one name of a declaration.
type variable struct {
	kind, name string
	count      int // the product of its dimensions
	array      bool
}

var (
	statement = regexp.MustCompile(`([^;]*);`)
	dimension = regexp.MustCompile(`\[([^\]]*)\]`)
	typed     = regexp.MustCompile(`(\w+)\s*((?:\[[^\]]*\]\s*)*)\b(\w+\s*(?:\[[^\]]*\]\s*)*)$`)
)

// variables lists what "vec4 a[3], b; float c;" declares. A type may have dimensions, too.
func (r *stageReader) variables(text string) (list []variable) {
	for _, m := range statement.FindAllStringSubmatch(text, -1) {
		kind, own := "", ""
		for i, name := range strings.Split(m[1], ",") {
			if i == 0 {
				parts := typed.FindStringSubmatch(name)
				if parts == nil {
					break // only qualifiers
				}
				kind, own, name = parts[1], parts[2], parts[3]
			}
			bare := strings.TrimSpace(dimension.ReplaceAllString(name, " "))
			list = append(list, variable{kind, bare, r.count(own + name), strings.Contains(own+name, "[")})
		}
	}
	return list
}

// count is the product of a name's dimensions.
func (r *stageReader) count(name string) int {
	product := 1
	for _, d := range dimension.FindAllStringSubmatch(name, -1) {
		product *= r.number(d[1])
	}
	return product
}

// number computes a constant expression of integers: the largest value that it may have.
func (r *stageReader) number(text string) int {
	n, ok := r.largest(suffix.ReplaceAllString(text, "$1"), 16)
	if !ok {
		r.needs.unclear = append(r.needs.unclear, fmt.Sprintf("the number %q can't be read", strings.TrimSpace(text)))
		return 1
	}
	return n
}

// largest puts the values of constants in, of so many at most: they may be made of others.
func (r *stageReader) largest(expression string, constants int) (n int, ok bool) {
	name := identifier.FindString(expression)
	if name == "" {
		return evaluate(expression)
	}
	values := r.constants[name]
	if len(values) == 0 || constants == 0 {
		return 0, false
	}
	for i, value := range values {
		with := identifier.ReplaceAllStringFunc(expression, func(other string) string {
			if other == name {
				return "(" + suffix.ReplaceAllString(value, "$1") + ")"
			}
			return other
		})
		m, ok := r.largest(with, constants-1)
		if !ok {
			return 0, false
		}
		if i == 0 || m > n {
			n = m
		}
	}
	return n, true
}

// evaluate computes an expression without names.
func evaluate(expression string) (n int, ok bool) {
	value, err := types.Eval(token.NewFileSet(), nil, token.NoPos, expression)
	if err != nil || value.Value == nil {
		return 0, false
	}
	whole, ok := constant.Int64Val(constant.ToInt(value.Value))
	return int(whole), ok
}

var vector = regexp.MustCompile(`^[iub]?vec([234])$`)
var matrix = regexp.MustCompile(`^mat([234])(?:x([234]))?$`)

// bytes is the size of a type without padding.
func (r *stageReader) bytes(kind string) int {
	if m := vector.FindStringSubmatch(kind); m != nil {
		return 4 * int(m[1][0]-'0')
	}
	if m := matrix.FindStringSubmatch(kind); m != nil {
		return 4 * int(m[1][0]-'0') * int((m[2] + m[1])[0]-'0')
	}
	size := 0
	for _, members := range r.structs[kind] {
		size = max(size, r.block(members))
	}
	if size > 0 {
		return size
	}
	switch kind {
	case "float", "int", "uint", "bool":
		return 4
	}
	r.needs.unclear = append(r.needs.unclear, fmt.Sprintf("the size of %q isn't known", kind))
	return 0
}

// block returns the size of a block or a structure by std140 (OpenGL 4.5 core, section 7.6.2.2).
func (r *stageReader) block(members string) (size int) {
	for _, v := range r.variables(members) {
		bytes := r.bytes(v.kind)
		align := max(bytes, 1)
		if m := matrix.FindStringSubmatch(v.kind); m != nil {
			bytes = 16 * int(m[1][0]-'0')
		}
		if bytes > 8 || v.array {
			align = 16
		}
		if v.array {
			bytes = v.count * up(bytes, 16)
		}
		size = up(size, align) + bytes
	}
	return up(size, 16)
}

// up rounds n up to a multiple of an alignment.
func up(n, align int) int { return (n + align - 1) / align * align }
