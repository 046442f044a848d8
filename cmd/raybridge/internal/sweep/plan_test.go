package sweep_test

import (
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
)

func ids(p *sweep.Plan) (list []string) {
	for _, c := range p.Cases {
		list = append(list, c.ID)
	}
	return list
}

func values(p *sweep.Plan) (list []string) {
	for _, c := range p.Cases {
		list = append(list, strings.Join(c.Values, " ")+" #"+strconv.FormatUint(c.Seed, 10))
	}
	return list
}

func TestMatrix(t *testing.T) {
	t.Parallel()
	p, err := planned(t, `sweep: {base: drive.yaml, matrix: {scene.seed: [1, 2], ego.speed: [5, 10]}, exclude: [{scene.seed: 2, ego.speed: 5}], repeat: {seed: 2}}`)
	require.NoError(t, err)
	assert.Equal(t, []string{"scene.seed", "ego.speed"}, p.Keys)
	assert.Equal(t, []string{"1 5 #1", "1 5 #2", "1 10 #1", "1 10 #2", "2 10 #1", "2 10 #2"}, values(p))
	for _, id := range ids(p) {
		assert.Regexp(t, "^[0-9a-f]{32}$", id)
	}
}

// TestIDs: the same run has the same id, however it is asked for, and another run has another.
func TestIDs(t *testing.T) {
	t.Parallel()
	of := func(t *testing.T, text string) []string {
		p, err := planned(t, text)
		require.NoError(t, err)
		return ids(p)
	}
	matrix := of(t, `sweep: {base: drive.yaml, matrix: {scene.seed: [1, 2], ego.speed: [5, 10]}}`)
	require.Len(t, matrix, 4)
	assert.Equal(t, []string{matrix[3], matrix[0]}, of(t, `sweep: {base: drive.yaml, list: [{ego.speed: 10, scene.seed: 2}, {scene.seed: 1, ego.speed: 5}]}`))
	assert.Equal(t, []string{matrix[0]}, of(t, `sweep: {base: drive.yaml, list: [{scene.seed: 1, ego.speed: 5}], repeat: {seed: 1}}`))
	// Settings of the same leaf count in their order; both sets the speed, too.
	assert.Equal(t, []string{matrix[3]}, of(t, `sweep: {base: drive.yaml, list: [{both: 2, ego.speed: 10}]}`))
	// A setting to what the base has counts, too, where it takes another one back: the base's speed is 8.
	after := of(t, `sweep: {base: drive.yaml, matrix: {both: [8, 9], ego.speed: [8, 60]}}`)
	before := of(t, `sweep: {base: drive.yaml, matrix: {ego.speed: [8, 60], both: [8, 9]}}`)
	assert.Len(t, after, 4)
	assert.Equal(t, []string{after[0], of(t, `sweep: {base: drive.yaml, list: [{scene.seed: 9, ego.speed: 9}]}`)[0]}, before, "both comes last")
	assert.NotEqual(t, matrix[0], of(t, `sweep: {base: drive.yaml, list: [{scene.seed: 1, ego.speed: 5}], keep: [summary]}`)[0])
	assert.Len(t, of(t, `sweep: {base: drive.yaml, list: [{ego.speed: 8}, {scene.seed: 0}, {seed: 1}, {seed: 2}]}`), 2, "three are the base itself")

	dir := folder(t, map[string]string{"drive.yaml": base, "sweep.yaml": `sweep: {base: drive.yaml, list: [{scene.seed: 1, ego.speed: 5}]}`})
	f, err := sweep.ReadFile(filepath.Join(dir, "sweep.yaml"))
	require.NoError(t, err)
	for name, change := range map[string]func(*sweep.Planner){
		"version": func(p *sweep.Planner) { p.Version = "v2" },
		"class":   func(p *sweep.Planner) { p.Class = "software/amd64" },
		"neither": func(*sweep.Planner) {},
	} {
		pl := planner()
		change(pl)
		p, err := pl.Plan(t.Context(), f)
		require.NoError(t, err)
		assert.Equal(t, name == "neither", p.Cases[0].ID == matrix[0], name)
	}
}

// TestFilesCountByContent: the id and the place in the store are those of what is in the files.
func TestFilesCountByContent(t *testing.T) {
	t.Parallel()
	const gltf = `{"buffers": [{"uri": "sub/m.bin"}]}`
	files := map[string]string{
		"drive.yaml": base + "scene:\n  file: town.gltf\n", "town.gltf": gltf, "sub/m.bin": "one", "town.labels.yaml": "rules", "other/hill.gltf": `{}`,
		"sweep.yaml": `sweep: {base: drive.yaml, matrix: {scene.file: [other/hill.gltf], ego.speed: [5]}}`, "repeat.yaml": `sweep: {base: drive.yaml, repeat: {seed: 1}, matrix: {ego.speed: [5]}}`,
	}
	plan := func(change, text string) *sweep.Plan {
		changed := map[string]string{}
		for name, old := range files {
			changed[name] = old
		}
		if change != "" {
			changed[change] = text
		}
		p, err := planOf(t, folder(t, changed), "repeat.yaml")
		require.NoError(t, err)
		return p
	}
	first := plan("", "")
	assert.Equal(t, first.Cases, plan("", "").Cases, "another folder")
	assert.Equal(t, first.Cases, plan("drive.yaml", "# Fast.\n"+base+"scene:\n  file: 'town.gltf'\n").Cases, "a comment")
	for _, file := range []string{"sub/m.bin", "town.labels.yaml"} {
		assert.NotEqual(t, first.Cases, plan(file, "two").Cases, file)
	}
	assert.NotEqual(t, first.Cases, plan("town.gltf", gltf+" ").Cases)
	assert.Equal(t, first.Cases, plan("other/hill.gltf", "{ }").Cases, "a file that isn't read")

	p, err := planOf(t, folder(t, files), "sweep.yaml")
	require.NoError(t, err)
	keys, given := p.Settings(&p.Cases[0])
	assert.Equal(t, []string{"scene.file", "ego.speed"}, keys)
	assert.Regexp(t, `^inputs/[0-9a-f]{64}/hill.gltf$`, given[0])
	assert.Equal(t, "5", given[1])
}

func TestRandom(t *testing.T) {
	t.Parallel()
	few, err := planned(t, `sweep: {base: drive.yaml, random: {n: 20, seed: 7, ranges: {ego.speed: [2, 15], scene.seed: [3, 5]}}}`)
	require.NoError(t, err)
	many, err := planned(t, `sweep: {base: drive.yaml, random: {n: 2000, seed: 7, ranges: {ego.speed: [2, 15], scene.seed: [3, 5]}}}`)
	require.NoError(t, err)
	require.Len(t, few.Cases, 20)
	assert.Equal(t, few.Cases, many.Cases[:20], "a sweep that grows keeps what it had")
	sum, seeds := 0.0, map[string]int{}
	for _, c := range many.Cases {
		speed, err := strconv.ParseFloat(c.Values[0], 64)
		require.NoError(t, err)
		require.True(t, speed >= 2 && speed < 15)
		sum += speed
		seeds[c.Values[1]]++
	}
	// The mean of 2000 draws lies within five of its standard deviations of the middle.
	assert.InDelta(t, 8.5, sum/2000, 5*13/math.Sqrt(12*2000))
	require.Len(t, seeds, 3)
	for _, n := range seeds {
		assert.InDelta(t, 2000.0/3, n, 5*math.Sqrt(2000*2.0/9))
	}
	// A drawn value has the id that it has where it is written out.
	c := few.Cases[3]
	written, err := planned(t, `sweep: {base: drive.yaml, list: [{ego.speed: `+c.Values[0]+`, scene.seed: `+c.Values[1]+`}]}`)
	require.NoError(t, err)
	assert.Equal(t, []string{c.ID}, ids(written))
}

// counting counts how often values are set.
type counting struct {
	sweep.Configuration
	sets *int
}

func (c counting) Copy() sweep.Configuration { return counting{c.Configuration.Copy(), c.sets} }

func (c counting) Set(key, value string) error {
	*c.sets++
	return c.Configuration.Set(key, value)
}

// TestDrawsAreFew: a key that changes several leaves isn't set for each draw, and its values have the ids that they have
// where they are written out.
func TestDrawsAreFew(t *testing.T) {
	t.Parallel()
	sets := 0
	pl := planner()
	pl.Read = func(path string, text []byte) (sweep.Configuration, error) {
		c, err := readDrive(path, text)
		return counting{c, &sets}, err
	}
	dir := folder(t, map[string]string{"drive.yaml": base, "sweep.yaml": `sweep: {base: drive.yaml, random: {n: 2000, seed: 7, ranges: {both: [0, 90]}}}`})
	f, err := sweep.ReadFile(filepath.Join(dir, "sweep.yaml"))
	require.NoError(t, err)
	p, err := pl.Plan(t.Context(), f)
	require.NoError(t, err)
	assert.Less(t, sets, 20)
	c := p.Cases[5]
	written, err := planned(t, `sweep: {base: drive.yaml, list: [{both: `+c.Values[0]+`}]}`)
	require.NoError(t, err)
	assert.Equal(t, []string{c.ID}, ids(written))
}

func TestPlanSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	const worlds = "duration: 1s\nworld:\n  source: "
	for _, c := range []struct{ base, text, want string }{
		{base, `matrix: {ego.sped: [1]}`, "sweep.yaml:1:36: sweep.matrix.ego.sped: unknown key, did you mean ego.speed?"},
		{base, `matrix: {ego.speed: [1, 500]}`, "sweep.yaml:1:51: sweep.matrix.ego.speed[1]: out of range: 500"},
		{base, `random: {n: 5, ranges: {ego.speed: [1, 500]}}`, "out of range: 500"},
		{base, `matrix: {ego.speed: [1]}, exclude: [{ego.speed: 2}]`, "ego.speed never has it"},
		{base, `matrix: {ego.speed: [1]}, exclude: [{ego.sped: 1}]`, "the sweep doesn't vary it, did you mean ego.speed?"},
		{base, `matrix: {ego.speed: [1]}, exclude: [{ego.speed: 1}]`, "it leaves no case"},
		{base, `matrix: {seed: [1]}, repeat: {seed: 2}`, "seeds are varied, and repeated"},
		{base, `matrix: {scene.file: [no.gltf]}`, "no.gltf: no such file"},
		{"seed: 1\n", `matrix: {ego.speed: [1]}`, "duration is missing: a case would never end"},
		{base + "seed: 18446744073709551615\n", `repeat: {seed: 2}`, "seed: out of range: 2 seeds that begin with 18446744073709551615"},
		{base, `matrix: {scene.file: [` + strings.Repeat("a", 1<<17) + `]}`, "sweep.matrix.scene.file[0]: unknown value: a text is too long"},
		{base, `matrix: {"ego\e[2J": [1]}`, "has characters that can't be shown"},
		{base, `matrix: {bridges: [[]]}`, "vary their keys, such as bridges.mcap.connection"},
		{base, `random: {n: 1000000000, ranges: {ego.speed: [1, 5]}}`, "too many cases: 1000000000: give --yes if you mean it"},
		{base, `matrix: {ego.speed: [1, 2]}, repeat: {seed: 500000000}`, "too many cases: 1000000000: give --yes if you mean it"},
		{worlds + "sumo:a.sumocfg", `matrix: {ego.speed: [1]}`, "give --allow-programs if you trust the file"},
		{worlds + "osi:udp:7000", `matrix: {ego.speed: [1]}`, "a case reads its world from a file"},
	} {
		dir := folder(t, map[string]string{"drive.yaml": c.base, "a.sumocfg": "<configuration/>", "sweep.yaml": "sweep: {base: drive.yaml, " + c.text + "}"})
		if strings.Contains(c.base, "sumocfg") {
			dir = folder(t, map[string]string{"drive.yaml": strings.Replace(c.base, "a.sumocfg", filepath.Join(dir, "a.sumocfg"), 1), "sweep.yaml": "sweep: {base: drive.yaml, " + c.text + "}"})
		}
		_, err := planOf(t, dir, "sweep.yaml")
		assert.ErrorContains(t, err, c.want, c.text)
	}
}

// TestLargePlan: what can be planned in any time at all is bounded, also with --yes.
func TestLargePlan(t *testing.T) {
	t.Parallel()
	pl := planner()
	pl.Many = true
	f, err := sweep.ParseFile("s.yaml", []byte(`sweep: {base: drive.yaml, random: {n: 1000000000, ranges: {ego.speed: [1, 5]}}}`))
	require.NoError(t, err)
	_, err = pl.Plan(t.Context(), f)
	require.ErrorIs(t, err, sweep.ErrMany)
	assert.ErrorContains(t, err, "a plan has 1000000 at most")
}
