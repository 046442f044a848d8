package sweep_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
)

// putRecord writes a record of a store.
func putRecord(t *testing.T, v any, path ...string) {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	name := filepath.Join(path...)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, text, 0o644))
}

// filled plans a sweep and gives each case but the last one a result, without running any. Each 17th has failed for good.
func filled(t *testing.T, keys string) (*sweep.Store, *sweep.Plan) {
	t.Helper()
	p, err := planOf(t, folder(t, map[string]string{"drive.yaml": base, "city.gltf": "{}", "yard.gltf": "{ }", "sweep.yaml": "sweep: {base: drive.yaml, " + keys + "}"}), "sweep.yaml")
	require.NoError(t, err)
	s, err := sweep.CreateStore(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	_, err = s.Adopt(t.Context(), p, false)
	require.NoError(t, err)
	for i := range len(p.Cases) - 1 {
		c := &p.Cases[i]
		if i%17 == 3 {
			putRecord(t, &sweep.Failure{ID: c.ID, Attempts: 3, Code: 1, Reason: "exit status 1: <b>the engine is on fire</b>"}, s.Dir(), "failed", c.ID[:2], c.ID+".json")
			continue
		}
		dir := filepath.Join(s.Dir(), "cases", c.ID[:2], c.ID)
		x := float64(i)
		metrics := map[string]float64{"ego.distance": 1000 + 10*math.Sin(x/7) + x/float64(len(p.Cases)), "collisions": math.Floor(math.Mod(x, 3))}
		putRecord(t, map[string]any{"metrics": metrics}, dir, "summary.json")
		summary, err := os.Open(filepath.Join(dir, "summary.json"))
		require.NoError(t, err)
		size, sum, err := sweep.HashOf(summary)
		require.NoError(t, err)
		require.NoError(t, summary.Close())
		putRecord(t, &sweep.Manifest{
			Schema: 1, ID: c.ID, Seed: c.Seed, Version: p.Version, Class: p.Class,
			Files:   []sweep.InputFile{{Name: "summary.json", Size: size, SHA256: sum}, {Name: "outputs/a #1?.mcap"}},
			Metrics: metrics,
		}, dir, "manifest.json")
		putRecord(t, &sweep.Timing{Tries: 1 + i%2, Process: sweep.Process{Host: "here"}, Started: time.Unix(1e9, 0), WallS: 1 + x/1000, Summary: json.RawMessage(`{"real_time_factor": 2.5}`)}, dir, "timing.json")
		if i == 0 {
			putRecord(t, "", dir, "outputs", "a #1?.mcap")
			putRecord(t, "it said something", dir, "log.txt")
		}
	}
	return s, p
}

// report merges a store and reads its report.
func report(t *testing.T, s *sweep.Store, p *sweep.Plan) string {
	t.Helper()
	_, err := sweep.Merge(p, []*sweep.Store{s}, s.Dir())
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(s.Dir(), sweep.ReportFile))
	require.NoError(t, err)
	return string(text)
}

const grid = `matrix: {ego.speed: [5, 10, 15], scene.seed: [1, 2, 3, 4]}, repeat: {seed: 3}, collect: [ego.distance, collisions, min_ttc]`

// titles are those of the page's figures.
func titles(text string) (list []string) {
	for _, m := range regexp.MustCompile(`-title">([^<]*)</title>`).FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

func TestReportPlotsEachMetricOverEachParameter(t *testing.T) {
	t.Parallel()
	s, p := filled(t, grid)
	text := report(t, s, p)
	assert.Equal(t, []string{
		"ego.distance over ego.speed", "ego.distance over scene.seed", "collisions over ego.speed", "collisions over scene.seed",
		"wall time, s over ego.speed", "wall time, s over scene.seed", "real-time factor over ego.speed", "real-time factor over scene.seed",
	}, titles(text), "min_ttc is of no case")
	assert.Contains(t, text, `<td>min_ttc</td><td>0</td><td colspan="4">no case has it</td>`)
	assert.Contains(t, text, "36 variations of drive.yaml")
	assert.Contains(t, text, `<td>exit status 1: &lt;b&gt;the engine is on fire&lt;/b&gt;</td><td>2</td>`)
	assert.Contains(t, text, "mean over ego.speed (across) and scene.seed (up)")
	assert.Equal(t, 4*3*4, strings.Count(text, "--share: "), "a cell for each pair, of two metrics and two times")
	assert.Contains(t, text, ">failed</text>")
	before, timing, _ := strings.Cut(text, "<h2>Timing</h2>")
	assert.NotContains(t, before, "wall time")
	assert.Contains(t, timing, "on here; 18 cases took more than one attempt")
}

// TestReportsOfEqualStoresAreEqual: wherever they lie.
func TestReportsOfEqualStoresAreEqual(t *testing.T) {
	t.Parallel()
	a, p := filled(t, grid)
	b, _ := filled(t, grid)
	assert.Equal(t, report(t, a, p), report(t, b, p))
	// Elsewhere, its links lead back.
	dir := filepath.Join(filepath.Dir(a.Dir()), "tables")
	require.NoError(t, os.Mkdir(dir, 0o755))
	_, err := sweep.Merge(p, []*sweep.Store{a}, dir)
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(dir, sweep.ReportFile))
	require.NoError(t, err)
	assert.Contains(t, string(text), `"stores":["../out"]`)
}

func TestReportOfOtherParameters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys       string
		have, lack []string
	}{
		"times":    {"matrix: {duration: [100ms, 2s], ego.speed: [7]}, collect: [collisions]", []string{"duration, s</text>", `"keys":[0.1,2]`}, []string{"over ego.speed", "mean over"}},
		"names":    {"matrix: {scene.seed: [1, 2, 3], scene.file: [city.gltf, yard.gltf]}, collect: [collisions]", []string{">city.gltf</text>", ">yard.gltf</text>"}, []string{"mean over"}},
		"a list":   {"list: [{ego.speed: 1}, {scene.seed: 2}, {ego.speed: 3}], collect: [collisions]", []string{"collisions over ego.speed"}, []string{"mean over", "over scene.seed"}},
		"none":     {"repeat: {seed: 4}, collect: [collisions]", []string{"<td>collisions</td>"}, []string{"<svg"}},
		"no names": {"matrix: {ego.speed: [1, 2]}", []string{"The sweep collects none"}, nil},
		"random":   {"random: {n: 300, seed: 1, ranges: {ego.speed: [1, 9], scene.seed: [1, 900]}}, collect: [collisions]", []string{"over ego.speed"}, []string{"mean over"}},
	} {
		s, p := filled(t, c.keys)
		text := report(t, s, p)
		for _, want := range c.have {
			assert.Contains(t, text, want, name)
		}
		for _, other := range c.lack {
			assert.NotContains(t, text, other, name)
		}
	}
}

// TestReportIsSampled: a large sweep's report has some of its points, the same ones each time.
func TestReportIsSampled(t *testing.T) {
	t.Parallel()
	s, p := filled(t, "random: {n: 3000, seed: 1, ranges: {ego.speed: [1, 9]}}, collect: [ego.distance]")
	text := report(t, s, p)
	first, _, _ := strings.Cut(text, "</svg>")
	assert.Contains(t, first, "case, 1000 of 2822")
	points := regexp.MustCompile(`M[0-9.]+,[0-9.]+h0`).FindAllString(first, -1)
	assert.Len(t, points, 1000+2, "two are the legend's")
}

// browsed has the page clicked on.
const browsed = `<body><iframe id="page" src="report.html" style="border:0;width:900px;height:2000px"></iframe><p id="seen"></p><script>
onload = () => { const page = document.getElementById("page").contentDocument, seen = [];
const rows = () => [...page.querySelectorAll("#cases tr")].slice(1);
const cells = k => rows().map(r => r.children[k].title || r.children[k].textContent);
const look = name => seen.push({name, rows: rows().length, shown: page.getElementById("shown").textContent, second: cells(1).slice(0, 2), state: cells(4)[0], links: [...rows()[0].querySelectorAll("a")].map(a => a.getAttribute("href"))});
const press = name => [...page.querySelectorAll("#cases th button")].find(b => b.textContent === name).click();
look("fresh"); page.getElementById("next").click(); look("next"); press("ego.speed"); look("up"); press("ego.speed"); look("down"); press("state"); press("state"); look("state"); press("state"); press("state");
const find = page.getElementById("find"); find.value = "ON FIRE"; find.dispatchEvent(new Event("input")); look("found");
document.getElementById("seen").textContent = JSON.stringify(seen); };</script></body>`

// TestReportInABrowser: ten thousand cases are shown a hundred at a time, sort by each column, and lead to their files.
func TestReportInABrowser(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: it starts a browser")
	}
	browser, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("REQUIRE_CHROMIUM") == "1" {
		require.NoError(t, err)
	}
	if err != nil {
		t.Skip("needs chromium")
	}
	s, p := filled(t, "random: {n: 5000, seed: 1, ranges: {ego.speed: [2, 12], scene.seed: [1, 1000000]}}, repeat: {seed: 2}, collect: [ego.distance]")
	require.Len(t, p.Cases, 10_000)
	report(t, s, p)
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir(), "frame.html"), []byte(browsed), 0o644))
	cmd := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
		"--allow-file-access-from-files", "--user-data-dir="+filepath.Join(t.TempDir(), "profile"), "--dump-dom", "file://"+filepath.Join(s.Dir(), "frame.html"))
	dom, err := cmd.Output()
	require.NoError(t, err)
	found := regexp.MustCompile(`<p id="seen">(.+)</p>`).FindSubmatch(dom)
	require.NotNil(t, found, string(dom))
	var looks []struct {
		Name, Shown, State string
		Rows               int
		Second, Links      []string
	}
	require.NoError(t, json.Unmarshal(found[1], &looks))
	at := map[string]int{}
	for i, l := range looks {
		at[l.Name] = i
		assert.Equal(t, 100, l.Rows, l.Name)
	}
	least, greatest := math.Inf(1), math.Inf(-1)
	var lowest, highest string
	for i := range p.Cases {
		var v float64
		text := p.Cases[i].Values[0]
		_, err := fmt.Sscan(text, &v)
		require.NoError(t, err)
		if v < least {
			least, lowest = v, text
		}
		if v > greatest {
			greatest, highest = v, text
		}
	}
	assert.Equal(t, "1 to 100 of 10000", looks[at["fresh"]].Shown)
	assert.Equal(t, "101 to 200 of 10000", looks[at["next"]].Shown)
	assert.Equal(t, []string{lowest, lowest}, looks[at["up"]].Second, "as numbers: 10 comes after 2; both seeds")
	assert.Equal(t, []string{highest, highest}, looks[at["down"]].Second)
	assert.Equal(t, "missing", looks[at["state"]].State)
	assert.Equal(t, "1 to 100 of 588", looks[at["found"]].Shown)
	id := p.Cases[0].ID
	dir := "./cases/" + id[:2] + "/" + id
	assert.Equal(t, []string{dir + "/", dir + "/log.txt", dir + "/summary.json", dir + "/outputs/a%20%231%3F.mcap"}, looks[at["fresh"]].Links)
	for _, l := range append(looks[at["fresh"]].Links, looks[at["found"]].Links...) {
		name, err := url.PathUnescape(l)
		require.NoError(t, err)
		_, err = os.Stat(filepath.Join(s.Dir(), name))
		assert.NoError(t, err, l)
	}
	assert.Regexp(t, `^\./failed/../[0-9a-f]{32}\.json$`, looks[at["found"]].Links[0])
}

// TestReportsOfCases: they have wall times, so that they lie beside what is compared. The sweep's report leads to them.
func TestReportsOfCases(t *testing.T) {
	t.Parallel()
	for _, keep := range []string{"[report]", "[outputs, report]"} {
		s, p := storeOf(t, "matrix: {scene.seed: [1, 2]}, keep: "+keep)
		require.NoError(t, runLocal(t, s, p).Err())
		other, _ := storeOf(t, "matrix: {scene.seed: [1, 2]}, keep: "+keep)
		require.NoError(t, runLocal(t, other, p).Err())
		m, err := sweep.Merge(p, []*sweep.Store{s, other}, t.TempDir())
		require.NoError(t, err)
		assert.Empty(t, m.Alarms)
		id := p.Cases[1].ID
		assert.FileExists(t, filepath.Join(s.Dir(), "cases", id[:2], id, "report.html"))
		assert.NoFileExists(t, filepath.Join(s.Dir(), "cases", id[:2], id, "outputs", "report.html"))
		assert.Contains(t, report(t, s, p), `"files":[["report.html","summary.json"`)
	}
}
