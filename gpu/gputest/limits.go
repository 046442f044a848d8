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
// takes all branches of each #if, so that it may name too much, but never too little. Vertex
// attributes and atomic counters are named, too, since nothing can be bound to them.
func Beyond(desc gpu.ProgramDesc) (lines []string) {
	most := gpu.Guaranteed()
	outputs := 0
	for _, stage := range []struct{ name, source string }{
		{"compute", desc.Compute}, {"vertex", desc.Vertex}, {"fragment", desc.Fragment},
	} {
		if stage.source == "" {
			continue
		}
		n := readStage(stage.name, stage.source)
		outputs += n.storageBlocks + n.images + n.colors
		if stage.name == "vertex" {
			most.MaxStorageBlocks, most.MaxImages = 0, 0
		} else {
			most.MaxStorageBlocks, most.MaxImages = gpu.Guaranteed().MaxStorageBlocks, gpu.Guaranteed().MaxImages
		}
		for _, x := range []struct {
			what        string
			needs, most int
		}{
			{"samplers", n.samplers, most.MaxSamplers},
			{"uniform blocks", n.uniformBlocks, most.MaxUniformBlocks},
			{"storage blocks", n.storageBlocks, most.MaxStorageBlocks},
			{"images", n.images, most.MaxImages},
			{"bytes of a uniform block", n.uniformBytes, most.MaxUniformBlockBytes},
			{"bytes of shared memory", n.sharedBytes, most.MaxSharedBytes},
			{"components of varyings", n.varyings, maxVaryings},
			{"vertex attributes", n.attributes, 0},
			{"atomic counters", n.counters, 0},
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
	if outputs > most.MaxOutputs {
		lines = append(lines, fmt.Sprintf("%d storage blocks, images and colours, OpenGL 4.5 guarantees %d", outputs, most.MaxOutputs))
	}
	return lines
}

// maxVaryings is MAX_VARYING_COMPONENTS of OpenGL 4.5 core's table 23.63.
const maxVaryings = 60

// stageNeeds is what one stage declares.
type stageNeeds struct {
	samplers, uniformBlocks, storageBlocks, images, counters int
	uniformBytes                                             int // of the largest block
	sharedBytes                                              int
	attributes, varyings, colors                             int
	group                                                    [3]int
	unclear                                                  []string // declarations that the reader doesn't understand
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
	constants map[string]string // texts of integer constants, by name
	structs   map[string]string // their members
	seen      map[string]bool   // names that were counted; branches of an #if may repeat one
}

// declared is one declaration of a stage.
type declared struct{ stage, layout, keyword, what, members, instances string }

func readStage(stage, source string) stageNeeds {
	source = comment.ReplaceAllString(source, " ")
	r := stageReader{constants: map[string]string{}, structs: map[string]string{}, seen: map[string]bool{}}
	for _, list := range [][][]string{define.FindAllStringSubmatch(source, -1), constInt.FindAllStringSubmatch(source, -1)} {
		for _, m := range list {
			r.constants[m[1]] = m[2]
		}
	}
	source = strings.NewReplacer(";", ";\n", "}", "}\n").Replace(directive.ReplaceAllString(source, ""))
	for _, m := range structure.FindAllStringSubmatch(source, -1) {
		r.structs[m[1]] = m[2]
	}
	for _, m := range declaration.FindAllStringSubmatch(source, -1) {
		r.read(declared{stage, m[1], m[2], m[3], m[4], m[5]})
	}
	return r.needs
}

// read counts one declaration: "layout(layout) keyword what;" or, with members, a block and the
// dimensions of its instances.
func (r *stageReader) read(d declared) {
	if d.keyword == "in" && strings.Contains(d.layout, "local_size_") {
		r.needs.group = [3]int{1, 1, 1}
		for _, m := range localSize.FindAllStringSubmatch(d.layout, -1) {
			r.needs.group[m[1][0]-'x'] = r.number(m[2])
		}
		return
	}
	key := d.keyword + d.what
	if r.seen[key] {
		return
	}
	r.seen[key] = true
	if d.members != "" {
		r.readBlock(d)
		return
	}
	r.readVariables(d)
}

func (r *stageReader) readBlock(d declared) {
	n := &r.needs
	count := r.count(d.instances)
	switch d.keyword {
	case "uniform":
		n.uniformBlocks += count
		n.uniformBytes = max(n.uniformBytes, r.block(d.members))
	case "buffer":
		n.storageBlocks += count
	default:
		for _, v := range r.variables(d.members) {
			v.count *= count
			r.passes(d, v)
		}
	}
}

func (r *stageReader) readVariables(d declared) {
	n := &r.needs
	for _, v := range r.variables(d.what + ";") {
		switch {
		case d.keyword == "shared":
			n.sharedBytes += r.bytes(v.kind) * v.count
		case d.keyword == "in" || d.keyword == "out":
			r.passes(d, v)
		case strings.Contains(v.kind, "sampler"):
			n.samplers += v.count
		case strings.Contains(v.kind, "image"):
			n.images += v.count
		case v.kind == "atomic_uint":
			n.counters += v.count
		}
	}
}

// passes counts a variable between stages.
func (r *stageReader) passes(d declared, v variable) {
	n := &r.needs
	switch d.stage + " " + d.keyword {
	case "vertex in":
		n.attributes += v.count
	case "vertex out":
		n.varyings += r.bytes(v.kind) / 4 * v.count
	case "fragment out":
		n.colors += v.count
	}
}

// variable is one name of a declaration.
type variable struct {
	kind  string
	count int // the product of its dimensions
	array bool
}

var (
	statement = regexp.MustCompile(`([^;]*);`)
	dimension = regexp.MustCompile(`\[([^\]]*)\]`)
)

// variables lists what "vec4 a[3], b; float c;" declares.
func (r *stageReader) variables(text string) (list []variable) {
	for _, m := range statement.FindAllStringSubmatch(text, -1) {
		kind := ""
		for i, name := range strings.Split(m[1], ",") {
			words := strings.Fields(dimension.ReplaceAllString(name, " "))
			if i == 0 && len(words) >= 2 {
				kind = words[len(words)-2]
			}
			if kind == "" {
				continue // only qualifiers
			}
			list = append(list, variable{kind, r.count(name), strings.Contains(name, "[")})
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

// number computes a constant expression of integers.
func (r *stageReader) number(text string) int {
	expression := text
	for range 8 { // constants made of constants
		expression = identifier.ReplaceAllStringFunc(suffix.ReplaceAllString(expression, "$1"), func(name string) string {
			if value, ok := r.constants[name]; ok {
				return "(" + value + ")"
			}
			return name
		})
	}
	value, err := types.Eval(token.NewFileSet(), nil, token.NoPos, expression)
	if err == nil && value.Value != nil {
		if n, ok := constant.Int64Val(constant.ToInt(value.Value)); ok {
			return int(n)
		}
	}
	r.needs.unclear = append(r.needs.unclear, fmt.Sprintf("the number %q can't be read", strings.TrimSpace(text)))
	return 1
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
	if members, ok := r.structs[kind]; ok {
		return r.block(members)
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
