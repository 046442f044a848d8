package bench

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/chart"
	"github.com/raybridge/raybridge/internal/fault"
)

// Result is one figure: the runs of one case.
type Result struct {
	// Name is what was measured, such as lidar.rays_per_s; Case on what; Unit is
	// its unit.
	Name string `json:"name"`
	Case string `json:"case"`
	Unit string `json:"unit"`
	// Runs has one value a run, in the order they were made.
	Runs []float64 `json:"runs"`
	// Note says more of the case, for people.
	Note string `json:"note,omitempty"`
}

// Median returns the middle of the runs, or the mean of the two middle ones; NaN
// without runs.
func (r *Result) Median() float64 {
	return median(r.Runs)
}

// Figure is a result as the JSON file has it, with what it was measured on. So figures of
// several files can be put together.
type Figure struct {
	Result
	// Value is the median of the runs.
	Value   float64 `json:"value"`
	Machine Machine `json:"machine"`
}

// ReadFigures reads a file that WriteJSON wrote.
func ReadFigures(path string) ([]Figure, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read figures: %w", fault.File(err))
	}
	var list []Figure
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("read figures of %s: %w", path, err)
	}
	return list, nil
}

// Report is all figures of one call.
type Report struct {
	Machine Machine
	Scenes  []string // a line each
	Results []Result
	// Charts are the pictures of the benches that have some, for --plot.
	Charts []chart.Chart
	// Methods say how each kind of figure was come by, a paragraph each.
	Methods []string
}

// add appends what a bench came to.
func (r *Report) add(scene string, results []Result) {
	r.addScene(scene)
	r.addFigures(results)
	r.explain(captureMethod)
}

// addScene names a scene that was loaded, once.
func (r *Report) addScene(scene string) {
	if !slices.Contains(r.Scenes, scene) {
		r.Scenes = append(r.Scenes, scene)
	}
}

// addFigures appends results, except figures of a case that another bench has measured already,
// such as memcpy's.
func (r *Report) addFigures(results []Result) {
	for _, f := range results {
		if !slices.ContainsFunc(r.Results, func(known Result) bool { return known.Name == f.Name && known.Case == f.Case }) {
			r.Results = append(r.Results, f)
		}
	}
}

// WriteJSON writes an array with a Figure for each result. Equal reports give equal bytes.
func (r *Report) WriteJSON(w io.Writer) error {
	list := make([]Figure, len(r.Results))
	for i := range r.Results {
		list[i] = Figure{r.Results[i], r.Results[i].Median(), r.Machine}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(list)
}

// WriteText writes the figures as a table, below the machine they are of.
func (r *Report) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range r.about() {
		fmt.Fprintf(t, "%s\t%s\n", row[0], row[1])
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(t)
	for _, row := range r.table() {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, method := range r.Methods {
		if _, err := fmt.Fprintf(w, "\n%s\n", method); err != nil {
			return err
		}
	}
	return nil
}

// about says what the figures are of: the machine and the scenes.
func (r *Report) about() [][2]string {
	rows := r.Machine.rows()
	for _, s := range r.Scenes {
		rows = append(rows, [2]string{"scene", s})
	}
	return rows
}

// table has the figures, a row each, below a head.
func (r *Report) table() [][]string {
	rows := [][]string{{"figure", "case", "n", "median", "min", "max", "unit", "of"}}
	for i := range r.Results {
		f := &r.Results[i]
		rows = append(rows, []string{
			f.Name, f.Case, strconv.Itoa(len(f.Runs)), quantity(f.Median()), quantity(slices.Min(f.Runs)), quantity(slices.Max(f.Runs)), f.Unit, f.Note,
		})
	}
	return rows
}

// explain adds how figures were come by, once.
func (r *Report) explain(method string) {
	if !slices.Contains(r.Methods, method) {
		r.Methods = append(r.Methods, method)
	}
}

// captureMethod says what the figures of sensors and scenes mean.
var captureMethod = strings.TrimSpace(`
The scene stands still at time 0. A capture counts when all its fields are in host memory and were handed
to a listener. Dispatch, fence, readback and publication are in it, with two captures under way. Compiling
shaders isn't counted. The JSON file's value is the median.`)

// quantity writes a number with four significant digits, large ones with
// thousands separated.
func quantity(v float64) string {
	if math.Abs(v) < 10_000 {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	digits := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && digits[i-1] != '-' && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// Machine describes what the figures were measured on.
type Machine struct {
	// CPU is the model with its family and number, since virtual machines give many models one
	// name; "" where the system doesn't tell.
	CPU string `json:"cpu"`
	// Cores counts what the system schedules on: threads, where a core has several of them.
	Cores int `json:"cores"`
	// ThreadsPerCore is 0 where the system doesn't tell. Threads of one core share its vector
	// units, which dense code keeps busy alone: two of them are far from two cores.
	ThreadsPerCore int    `json:"threads_per_core,omitempty"`
	Flags          string `json:"flags,omitempty"` // the instruction sets that count, as the system names them
	Platform       string `json:"platform"`        // GOOS/GOARCH
	// Device names what sensors were generated on; "" where none was measured.
	Device    string `json:"device,omitempty"`
	GoVersion string `json:"go"`
	// Commit is what the program was built of, with a + where files had changed since; ""
	// where the build doesn't tell.
	Commit string `json:"commit,omitempty"`
	Date   string `json:"date"` // year-month-day
	// LoadBefore and LoadAfter are the system's load average of the last minute,
	// negative where it doesn't tell.
	LoadBefore float64 `json:"load_before"`
	LoadAfter  float64 `json:"load_after"`
}

// ThisMachine describes this machine now; End completes it.
func ThisMachine() Machine {
	m := Machine{
		Cores: runtime.NumCPU(), Platform: runtime.GOOS + "/" + runtime.GOARCH, GoVersion: runtime.Version(),
		Commit: commit(), Date: time.Now().Format(time.DateOnly), LoadBefore: loadAverage(), LoadAfter: -1,
	}
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		m.processor(f)
		f.Close()
	}
	return m
}

// commit is what Go noted in the program when it was built.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var revision, changed string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(8, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+"
		}
	}
	return revision + changed
}

// Name tells this machine from others: "2 cores of AMD EPYC (family 25, model 17)", or "2 threads
// of 1 core of ..." where a core has several.
func (m *Machine) Name() string {
	have := fault.Count(m.Cores, "core")
	if m.ThreadsPerCore > 1 {
		have = fault.Count(m.Cores, "thread") + " of " + fault.Count(max(m.Cores/m.ThreadsPerCore, 1), "core")
	}
	return have + " of " + cmp.Or(m.CPU, "an unknown CPU")
}

// End notes the load after the benches.
func (m *Machine) End() { m.LoadAfter = loadAverage() }

// busy is the load average above which something else was running: the benches
// themselves come after it.
const busy = 0.5

// Busy tells whether something else was running before the benches.
func (m *Machine) Busy() bool { return m.LoadBefore > busy }

func (m *Machine) rows() [][2]string {
	rows := [][2]string{
		{"machine", strings.TrimSpace(m.Name() + " " + m.Flags)},
		{"program", strings.TrimSpace(fmt.Sprintf("%s %s %s", m.GoVersion, m.Platform, m.Commit))},
	}
	if m.Device != "" {
		rows = append(rows, [2]string{"device", m.Device})
	}
	if m.LoadBefore >= 0 {
		text := fmt.Sprintf("%.2f before, %.2f after", m.LoadBefore, m.LoadAfter)
		if m.Busy() {
			text += ": other programs were running, the machine can do better"
		}
		rows = append(rows, [2]string{"load", text})
	}
	return rows
}

// counted are the instruction sets that the speed depends on, as Linux names them.
var counted = []string{"avx", "avx2", "fma", "avx512f", "avx512vl", "asimd", "sve"}

// processor reads the first CPU's model, instruction sets and threads from Linux's /proc/cpuinfo.
func (m *Machine) processor(cpuinfo io.Reader) {
	told := map[string]string{}
	for lines := bufio.NewScanner(cpuinfo); lines.Scan() && (lines.Text() != "" || len(told) == 0); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		told[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	model := told["model name"]
	var numbers []string
	for _, key := range []string{"cpu family", "model", "CPU implementer", "CPU part"} { // the last two are ARM's
		if number := told[key]; number != "" {
			numbers = append(numbers, key[strings.LastIndexByte(key, ' ')+1:]+" "+number)
		}
	}
	switch text := strings.Join(numbers, ", "); {
	case model == "":
		model = text
	case text != "":
		model += " (" + text + ")"
	}
	m.CPU = model
	has := strings.Fields(told["flags"] + " " + told["Features"])
	m.Flags = strings.Join(slices.DeleteFunc(slices.Clone(counted), func(set string) bool { return !slices.Contains(has, set) }), " ")
	threads, _ := strconv.Atoi(told["siblings"])
	if cores, _ := strconv.Atoi(told["cpu cores"]); cores > 0 {
		m.ThreadsPerCore = threads / cores
	}
}

// loadAverage reads Linux's /proc/loadavg.
func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return -1
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return -1
	}
	return load
}

// peakMemory watches how much resident memory the process needs at most.
type peakMemory struct{ fresh bool }

// watchMemory starts the peak again, as far as the system allows (proc(5), clear_refs).
func watchMemory() peakMemory {
	debug.FreeOSMemory()
	return peakMemory{os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) == nil}
}

// result returns the peak since watchMemory, nothing where the system doesn't tell.
func (p peakMemory) result(bench string) []Result {
	peak, ok := residentPeak()
	if !ok {
		return nil
	}
	note := "most resident memory of the process, scene generation included"
	if !p.fresh {
		note += ", since its start"
	}
	return []Result{{Name: "memory.rss_bytes", Case: bench, Unit: "bytes", Runs: []float64{peak}, Note: note}}
}

// residentPeak reads VmHWM from Linux's /proc/self/status (proc(5)).
func residentPeak() (bytes float64, ok bool) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			return kib * 1024, err == nil
		}
	}
	return 0, false
}
