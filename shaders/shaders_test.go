package shaders_test

import (
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/raybridge/raybridge/shaders"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSourceTakesEachFileOnce(t *testing.T) {
	files := map[string]string{
		"mine.comp":      "#include \"lib/a.glsl\"\n#include \"lib/b.glsl\"\nvoid main() {}\n",
		"lib/a.glsl":     "int a;\n",
		"lib/b.glsl":     "#include \"lib/a.glsl\"\nint b;\n",
		"lib/scene.glsl": "overridden",
	}
	e := &shaders.Entry{Name: "mine", Compute: "mine.comp", Files: files, Workgroup: [3]int{4, 2, 0},
		Constants: []shaders.Define{shaders.Int("N", 3), {Name: "HALF", Value: "0.5"}}}
	p, err := shaders.Source(e, shaders.Int("N", 7))
	require.NoError(t, err)
	assert.Equal(t, "mine", p.Label)
	assert.Empty(t, p.Entry, "it is not in the catalogue")
	assert.Equal(t, 1, strings.Count(p.Compute, "int a;"))
	assert.True(t, strings.HasPrefix(p.Compute, shaders.Version+"\n// source 1: mine.comp\n// source 2: lib/a.glsl\n// source 3: lib/b.glsl\n"))
	for _, line := range []string{
		"#define N 7\n", "#define HALF 0.5\n",
		"#define LOCAL_SIZE_X 4\n", "#define LOCAL_SIZE_Y 2\n", "#define LOCAL_SIZE_Z 1\n", "#define SLOT_NODES 0\n",
		"#line 1 1\n#line 1 2\nint a;\n", "#line 3 1\nvoid main() {}\n",
	} {
		assert.Contains(t, p.Compute, line)
	}
	assert.Equal(t, [3]int{3, 3, 1}, e.Groups(9, 5, 1))
}

// A driver without a compiler learns from it which entry of the catalogue it is, and its constants.
func TestSourceNamesTheEntryAndItsConstants(t *testing.T) {
	p, err := shaders.Source(&shaders.Lidar, shaders.Flag("ROLLING", false), shaders.Int("SCALE", 3))
	require.NoError(t, err)
	assert.Equal(t, "lidar.scan", p.Entry)
	assert.Equal(t, map[string]string{"SCALE": "3", "RANDOM": "1", "ROLLING": "0", "COMPENSATED": "0", "ALONE": "0"}, p.Constants)
}

func TestSourceFindsTheLibraryForForeignEntries(t *testing.T) {
	e := &shaders.Entry{Name: "foreign", Compute: "x.comp",
		Files: map[string]string{"x.comp": "#include \"lib/trace.glsl\"\n"}}
	p, err := shaders.Source(e)
	require.NoError(t, err)
	assert.Contains(t, p.Compute, "bool trace(Ray ray")
}

func TestSourceErrorsNameTheirPlace(t *testing.T) {
	missing := &shaders.Entry{Name: "missing", Compute: "x.comp",
		Files: map[string]string{"x.comp": "\n#include \"lib/nowhere.glsl\"\n"}}
	_, err := shaders.Source(missing)
	require.ErrorIs(t, err, shaders.ErrSource)
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.Contains(t, err.Error(), `"missing": x.comp:2: include "lib/nowhere.glsl"`)

	_, err = shaders.Source(&shaders.SceneTrace, shaders.Int("NO_SUCH", 1))
	require.ErrorIs(t, err, shaders.ErrSource)
	assert.Contains(t, err.Error(), "NO_SUCH")

	_, err = shaders.Source(&shaders.CameraTrace, shaders.Int("LENS", -1))
	require.ErrorIs(t, err, shaders.ErrSource)
	assert.Contains(t, err.Error(), `"camera.trace": constant LENS is -1, from 0 to 4 is possible`)
	_, err = shaders.Source(&shaders.CameraIDs, shaders.Define{Name: "CUT", Value: "yes"})
	require.ErrorIs(t, err, shaders.ErrSource)
}

var (
	defineLine  = regexp.MustCompile(`(?m)^#define (SLOT_\w+) (\d+)$`)
	bindingLine = regexp.MustCompile(`(?m)^\s*layout\(([^)]*)\)([^;{]*?)(\w+)\s*[;{]`)
)

// declared lists what a source declares, read from its text.
func declared(t *testing.T, source string) map[string]shaders.Binding {
	t.Helper()
	slots := map[string]string{}
	for _, m := range defineLine.FindAllStringSubmatch(source, -1) {
		slots[m[1]] = m[2]
	}
	found := map[string]shaders.Binding{}
	for _, m := range bindingLine.FindAllStringSubmatch(source, -1) {
		b := shaders.Binding{Name: m[3], Slot: -1}
		for _, q := range strings.Split(m[1], ",") {
			key, value, _ := strings.Cut(strings.ReplaceAll(q, " ", ""), "=")
			if key != "binding" {
				continue
			}
			base, add, _ := strings.Cut(value, "+")
			if s, ok := slots[base]; ok {
				base = s
			}
			n, err := strconv.Atoi(base)
			require.NoError(t, err, m[0])
			if add != "" {
				more, err := strconv.Atoi(add)
				require.NoError(t, err, m[0])
				n += more
			}
			b.Slot = n
		}
		words := strings.Fields(m[2])
		if b.Slot < 0 || len(words) == 0 {
			continue
		}
		last := words[len(words)-1]
		switch {
		case last == "buffer":
			b.Kind = shaders.KindStorage
		case last == "uniform":
			b.Kind = shaders.KindUniform
		case strings.Contains(last, "image"):
			b.Kind, b.Type = shaders.KindImage, last
		default:
			b.Kind, b.Type = shaders.KindSampler, last
		}
		found[b.Name] = b
	}
	return found
}

func TestBindingsAreWhatTheSourcesDeclare(t *testing.T) {
	names := map[string]bool{}
	for _, e := range shaders.All() {
		require.False(t, names[e.Name], "%s is in the catalogue twice", e.Name)
		names[e.Name] = true
		p, err := shaders.Source(e)
		require.NoError(t, err)
		in := declared(t, p.Compute+p.Vertex+p.Fragment)
		listed := map[string]shaders.Binding{}
		for _, b := range e.Bindings {
			listed[b.Name] = b
		}
		assert.Equal(t, in, listed, e.Name)
	}
}

// A shader of another package takes the library in and gets its constants from Go.
func ExampleSource() {
	entry := &shaders.Entry{
		Name: "distance.any", Compute: "any.comp", Workgroup: [3]int{64, 1, 1},
		Files: map[string]string{"any.comp": `
layout(local_size_x = LOCAL_SIZE_X) in;
#include "lib/trace.glsl"
layout(std430, binding = 0) buffer Nearest { uint nearest; };
void main() {
    Hit hit;
    float a = 6.2831853 * float(gl_GlobalInvocationID.x) / float(RAYS);
    if (trace(Ray(vec3(0.0), vec3(cos(a), sin(a), 0.0)), 0.1, 100.0, 0.0, hit)) atomicMin(nearest, floatBitsToUint(hit.t));
}
`},
		Bindings:  append(shaders.SceneTables(), shaders.Binding{Name: "Nearest", Kind: shaders.KindStorage}),
		Constants: []shaders.Define{shaders.Int("RAYS", 256)},
	}
	p, err := shaders.Source(entry, shaders.Int("RAYS", 1024))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Label, strings.Contains(p.Compute, "#define RAYS 1024"), entry.Groups(1024, 1, 1))
	// Output: distance.any true [16 1 1]
}

var outputLine = regexp.MustCompile(`(?m)^\s*(?:layout\s*\([^)]*\)\s*)?(?:flat\s+)?out\s+(\w+)\s+(\w+)\s*;`)

// TestGraphicsStagesWriteIdsAndDepthAlone keeps pictures the work of compute
// shaders: a rasteriser only finds out what is seen.
func TestGraphicsStagesWriteIdsAndDepthAlone(t *testing.T) {
	graphics := 0
	for _, e := range shaders.All() {
		if e.Fragment == "" {
			continue
		}
		graphics++
		p, err := shaders.Source(e)
		require.NoError(t, err)
		for _, out := range outputLine.FindAllStringSubmatch(p.Fragment, -1) {
			assert.Contains(t, []string{"uint", "uvec2"}, out[1], "%s writes %s, which is not an id", e.Name, out[2])
		}
		assert.NotContains(t, p.Fragment, "gl_FragDepth", e.Name)
		assert.NotRegexp(t, `\bimageStore\b|\bbuffer\s+\w+\s*\{`, p.Fragment, e.Name)
		for _, b := range e.Bindings {
			assert.NotContains(t, []shaders.Kind{shaders.KindStorage, shaders.KindImage}, b.Kind, "%s binds %s", e.Name, b.Name)
		}
	}
	assert.GreaterOrEqual(t, graphics, 2)
}
