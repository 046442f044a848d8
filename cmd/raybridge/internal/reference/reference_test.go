package reference_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/raybridge/raybridge"
	bridges "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/reference"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/simtime"
)

// update writes what go generate writes: the pages of docs, the list of bridges, new numbers.
var update = flag.Bool("update", false, "write the pages of docs and what is in testdata")

// TestPagesAreInStep fails when docs, or the list of bridges, doesn't say what the program knows.
func TestPagesAreInStep(t *testing.T) {
	messages, err := reference.Messages(all.Registry(), bridges.Registry())
	require.NoError(t, err)
	definitions, err := reference.Definitions(all.Registry(), "../../../..")
	require.NoError(t, err)
	weather, err := os.ReadFile("../../../../docs/weather.md")
	require.NoError(t, err)
	weather, err = reference.Weather(weather, all.Registry())
	require.NoError(t, err)
	lidars, err := os.ReadFile("../../../../docs/lidars.md")
	require.NoError(t, err)
	lidars, err = reference.Lidars(lidars, lidar.RayCastDefinition)
	require.NoError(t, err)
	for path, want := range map[string][]byte{
		"../../../../docs/lidars.md": lidars, "../../../../docs/weather.md": weather, "../../../../docs/messages.md": messages, "../../../../docs/raybridge-msgs.md": definitions,
		"../../../../docs/config.md": reference.Config(), "../../../../docs/sensors.md": reference.Sensors(all.Registry()),
		"../../../../docs/rigs.md": reference.Rigs(rig.Dialects()), "testdata/bridges.txt": listing(t),
	} {
		if *update {
			require.NoError(t, os.WriteFile(path, want, 0o644))
		}
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want, got), "%s is out of date: run make generate", path)
	}
}

// listing is a line for each bridge, its options and messages.
func listing(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	registry := bridges.Registry()
	for _, name := range registry.Names() {
		plugin, err := registry.Plugin(name)
		require.NoError(t, err)
		info := plugin.Info()
		fmt.Fprintf(&b, "%s:%s (%s)\n", info.Name, info.Form(), info.Kind)
		for _, typ := range plugin.Types() {
			fmt.Fprintln(&b, " ", typ.Go, "as", typ.Wire)
		}
	}
	return b.Bytes()
}

// TestNumbersAreForEver: the number of a type of sensors in wire formats never changes, and no other
// type gets it, not even of a type that is gone. testdata/numbers.txt has those that were ever given.
func TestNumbersAreForEver(t *testing.T) {
	const path = "testdata/numbers.txt"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	given := map[string]string{}
	for _, line := range lines {
		number, id, _ := strings.Cut(line, " ")
		given[number], given[id] = id, number
	}
	for _, d := range all.Definitions() {
		number := fmt.Sprint(d.Number)
		switch {
		case given[number] == d.ID:
		case given[number] != "":
			t.Errorf("%s: number %s is that of %s: take another", d.ID, number, given[number])
		case given[d.ID] != "":
			t.Errorf("%s: its number is %s, not %s", d.ID, given[d.ID], number)
		case *update:
			lines = append(lines, number+" "+d.ID)
		default:
			t.Errorf("%s: its number is not in %s: run make generate", d.ID, path)
		}
	}
	if *update && !t.Failed() {
		slices.SortFunc(lines, natural)
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	}
}

// natural compares lines by the numbers that they begin with.
func natural(a, b string) int {
	var x, y int
	_, _ = fmt.Sscan(a, &x)
	_, _ = fmt.Sscan(b, &y)
	return cmp.Compare(x, y)
}

func TestTheExampleIsAccepted(t *testing.T) {
	c, err := config.Reader{}.Parse("example.yaml", []byte(reference.Example()))
	require.NoError(t, err)
	topics, err := pipeline.CheckRig(&rig.Rig{Sensors: c.Sensors}, all.Registry())
	require.NoError(t, err)
	for _, b := range c.Bridges {
		for _, q := range b.QoS {
			assert.Contains(t, topics, q.Topic)
		}
	}
	_, _, err = raybridge.EgoOf(c, scene.New("empty"))
	require.NoError(t, err)
}

// TestTheExampleShowsEveryKey compares the example with the types: every key of
// every kind of block stands somewhere.
func TestTheExampleShowsEveryKey(t *testing.T) {
	var document any
	require.NoError(t, yaml.Unmarshal([]byte(reference.Example()), &document))
	shown := map[reflect.Type]map[string]bool{}
	collect(shown, document, reflect.TypeFor[config.Config]())
	exclusive := map[string]bool{"rig": true, "file of Scene": true, "plane of Scene": true, "offset of Scene": true, "labels of Scene": true}
	for of, keys := range shown {
		for _, f := range doc.Fields(of) {
			key := f.Tag.Get("yaml")
			assert.True(t, keys[key] || exclusive[key] || exclusive[key+" of "+of.Name()], "%s of %v is not shown", key, of)
		}
	}
	assert.Len(t, shown, 17, "kinds of blocks")
}

// collect notes the keys that a document gives of each structure.
func collect(shown map[reflect.Type]map[string]bool, v any, t reflect.Type) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			collect(shown, x, t)
		}
	case map[string]any:
		if t.Kind() != reflect.Struct {
			return // names of the user's own
		}
		if shown[t] == nil {
			shown[t] = map[string]bool{}
		}
		for _, f := range doc.Fields(t) {
			if x, ok := v[f.Tag.Get("yaml")]; ok {
				shown[t][f.Tag.Get("yaml")] = true
				collect(shown, x, f.Type)
			}
		}
	}
}

// TestStatedDefaultsHold compares the default tags with what an empty file gives.
func TestStatedDefaultsHold(t *testing.T) {
	c := config.Default()
	compared := 0
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		for _, f := range doc.Fields(v.Type()) {
			x := v.FieldByIndex(f.Index)
			text := f.Tag.Get("default")
			switch {
			case f.Type == reflect.TypeFor[time.Duration]():
				d, err := time.ParseDuration(strings.TrimSuffix(text, "s") + "s")
				require.NoError(t, err, path)
				assert.Equal(t, d, x.Interface(), "%s.%s", path, f.Name)
			case x.Kind() == reflect.Struct:
				walk(path+"."+f.Name, x)
				continue
			case strings.Contains(text, " ") || text == "" || x.Kind() == reflect.Slice || x.Kind() == reflect.Pointer:
				continue
			default:
				var want any
				require.NoError(t, yaml.Unmarshal([]byte(text), &want))
				assert.EqualValues(t, reflect.ValueOf(want).Convert(x.Type()).Interface(), x.Interface(), "%s.%s", path, f.Name)
			}
			compared++
		}
	}
	walk("config", reflect.ValueOf(c).Elem())
	assert.GreaterOrEqual(t, compared, 8)
}

// TestEveryForeignParameterIsShown holds the page of rigs beside the tables.
func TestEveryForeignParameterIsShown(t *testing.T) {
	pageText := string(reference.Rigs(rig.Dialects()))
	for _, d := range rig.Dialects() {
		for _, kind := range d.Types {
			assert.Contains(t, pageText, strings.Join(kind.Names, ", "))
			assert.Contains(t, pageText, kind.Without)
			if kind.ID == "" {
				continue
			}
			for i := range kind.Parameters {
				assert.Contains(t, pageText, "| `"+kind.Parameters[i].Name+"` |", kind.Names[0])
			}
		}
	}
}

// TestEverySensorIsShown holds the terminal's form beside the definitions.
func TestEverySensorIsShown(t *testing.T) {
	var list strings.Builder
	reference.ListSensors(&list, all.Registry().Match("*"))
	page := string(reference.Sensors(all.Registry()))
	for _, id := range all.Registry().IDs() {
		d, err := all.Registry().Get(id)
		require.NoError(t, err)
		assert.Contains(t, list.String(), d.Doc)
		var shown strings.Builder
		reference.ShowSensor(&shown, d)
		for _, text := range []string{page, shown.String()} {
			assert.Contains(t, text, id)
			for _, a := range d.Attributes {
				assert.Contains(t, text, a.Doc, "%s.%s", id, a.Name)
			}
			for _, o := range d.Outputs {
				assert.Contains(t, text, o.Doc, "%s.%s", id, o.Name)
			}
		}
	}
}

func TestShowSensor(t *testing.T) {
	var models []string
	for i := range 12 {
		models = append(models, fmt.Sprintf("Model%02d", i))
	}
	d := &sensors.Definition{
		ID: "sensor.test", Number: 7, Doc: "a test", Tags: []string{"x"}, Rate: simtime.Hz(5),
		Attributes: []sensors.Attribute{
			{Name: "fov", Type: sensors.Float, Unit: "deg", Default: 90.5, Min: 1, Max: 179, Doc: "width"},
			{Name: "mode", Type: sensors.String, Default: "a", Recommended: []string{"a", "b"}, Doc: "how"},
			{Name: "tint", Type: sensors.Color, Default: [3]uint8{1, 2, 3}, Doc: "colour"},
			{Name: "k", Type: sensors.Floats, Default: []float64{0.5, 1}, Doc: "factors", Live: true},
			{Name: "rings", Type: sensors.Int, Default: int64(16), Fixed: true, Doc: "how many"},
			{Name: "blades", Type: sensors.Int, Default: int64(5), Doc: "of the shutter", Inert: "there is none"},
			{Name: "iso", Type: sensors.Float, Default: 100.0, Inert: "light is not noisy"},
			{Name: "preset", Type: sensors.String, Default: "Model00", Recommended: models, Restricted: true, Doc: "which one"},
			{Name: "whole", Type: sensors.Int, Default: int64(1), Min: -1 << 31, Max: 1e7, Doc: "many"},
			{Name: "real", Type: sensors.Float, Default: 1e30, Min: 0.25, Max: 3e38, Doc: "more"},
		},
	}
	d.Devices = sensors.Table{Head: []string{"preset", "R10"}, Rows: [][]string{{"Model07", "40 m"}}}
	each := &sensors.Definition{ID: "sensor.each", Doc: "all the time", EachFrame: true}
	var frames strings.Builder
	reference.ShowSensor(&frames, each)
	assert.Contains(t, frames.String(), "sensor.each: all the time\nfires each frame\n")

	var out strings.Builder
	reference.ShowSensor(&out, d)
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{
		"sensor.test: a test", "default rate 5 Hz; number 7; tags x", "",
		"output topic message quality of service what it carries", "",
		"attribute type default range or values meaning",
		"fov float 90.5 deg 1 to 179 deg width", "mode string a such as a, b how",
		"tint colour 1,2,3 colour", "k list 0.5,1 factors; live",
		"rings int 16 fixed: how many", "blades int 5 of the shutter; changes nothing: there is none", "iso float 100 changes nothing: light is not noisy",
		"preset string Model00 Model00, Model01, Model02, Model03, Model04, Model05, which one",
		"Model06, Model07, Model08, Model09, Model10, Model11",
		"whole int 1 -2147483648 to 10000000 many", "real float 1e+30 0.25 to 3e+38 more", "", "preset R10", "Model07 40 m",
	} {
		assert.Equal(t, want, strings.Join(strings.Fields(lines[i]), " "))
	}
	values, meanings := strings.Index(lines[5], "range or values"), strings.Index(lines[5], "meaning")
	assert.LessOrEqual(t, meanings-values, 62, "the longest list is wrapped")
	assert.Equal(t, values, strings.Index(lines[14], "Model06"))
	assert.Equal(t, meanings, strings.Index(lines[13], "which one"))
	assert.Equal(t, meanings, strings.Index(lines[6], "width"))
}
