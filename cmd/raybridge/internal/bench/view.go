// Pages of a run are measured here: what the run computes more for them.

package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/pipeline"
)

// audience is who looks at a run: pages that take everything, and pages that read nothing.
type audience struct {
	named
	taking, stalled int
}

// The cases. Their figures are what they need beyond another one's.
var (
	nobody  = audience{named{"nobody"}, 0, 0}
	onePage = audience{named{"one_page"}, 1, 0}
	more    = audience{named{"five_pages"}, 5, 0}
	stalled = audience{named{"one_stalled"}, 0, 1}
)

const (
	viewTime      = "20s"
	quickViewTime = "2s"
)

var viewMethod = strings.TrimSpace(`
view: whole runs of the program in real time with the demo's rig, whose sensors compute all the time, and the live page. Pages are clients
in this process that subscribe to every stream. They take each message at once, or read nothing at all. The CPU time is that of the program, of all threads and
in the kernel too, from when time begins to pass to the run's end; 100 % is one core. core_percent is what one page adds to a run without, further_percent what each of
four more adds, and stalled_percent what one adds that reads nothing.`)

// View measures what pages cost a run. It appends to the report.
func View(ctx context.Context, config Config, report *Report) error {
	b := caseBench[named]{"view", []named{{"demo"}}, func(cfg *Config, c named) ([]Result, error) {
		return measurePages(ctx, cfg, c.name)
	}, viewMethod}
	return b.run(config, report)
}

// measurePages makes the runs of all audiences in turns, so that what else the machine does falls on all.
func measurePages(ctx context.Context, cfg *Config, name string) ([]Result, error) {
	row := func(figure, unit, note string) Result {
		return Result{Name: "view." + figure, Case: name, Unit: unit, Note: note}
	}
	rows := []Result{
		row("factor", "times real time", "with one page"), row("lost", "messages", "of the page that takes everything"),
		row("core_percent", "%", "of a core, for one page"), row("further_percent", "%", "of a core, for each further one"),
		row("stalled_percent", "%", "of a core, for one that reads nothing"),
	}
	for range cfg.Runs {
		took := map[audience]watched{}
		for _, who := range []audience{nobody, onePage, more, stalled} {
			w, err := who.watch(ctx, cfg)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", who.name, err)
			}
			took[who] = w
		}
		one := took[onePage]
		for i, v := range []float64{
			one.factor, one.lost, one.percent - took[nobody].percent, (took[more].percent - one.percent) / float64(more.taking-1),
			took[stalled].percent - took[nobody].percent,
		} {
			rows[i].Runs = append(rows[i].Runs, v)
		}
	}
	return rows, nil
}

// watched is a run that has ended.
type watched struct{ percent, factor, lost float64 }

// pageLine is where a run says that its page is.
var pageLine = regexp.MustCompile(`^page on (http://[^/]+/)`)

// watch makes a run with an audience.
func (a *audience) watch(ctx context.Context, cfg *Config) (w watched, err error) {
	dir, err := os.MkdirTemp("", "raybridge-bench-")
	if err != nil {
		return w, fmt.Errorf("make a folder for the run: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	rig, summary := filepath.Join(dir, "rig.yaml"), filepath.Join(dir, "summary.json")
	always, err := alwaysOn(cfg.DemoRig)
	if err != nil {
		return w, err
	}
	if err := os.WriteFile(rig, []byte(always), 0o644); err != nil {
		return w, fmt.Errorf("write the rig: %w", fault.File(err))
	}
	args := []string{
		"run", "--realtime", "--paused", "--view", "--api", "0", "--rig", rig, "--duration", ifQuick(cfg.Quick, quickViewTime, viewTime), "--summary", summary,
	}
	if cfg.Device != "" {
		args = append(args, "--gpu", cfg.Device)
	}
	cmd := exec.CommandContext(ctx, cfg.Program, args...)
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return w, fmt.Errorf("run %s: %w", cfg.Program, err)
	}
	before, err := a.attend(ctx, said, cmd.Process.Pid)
	if err != nil {
		_ = cmd.Process.Kill()
	}
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return w, err
	}
	return resultOf(cmd.ProcessState, before, summary)
}

// alwaysOn returns a rig whose sensors compute though nobody listens.
func alwaysOn(rig string) (string, error) {
	const sensor = "- id:"
	if !strings.Contains(rig, sensor) {
		return "", fmt.Errorf("the demo's rig has no sensor that begins with %q", sensor)
	}
	return strings.ReplaceAll(rig, sensor, "- always: true\n    id:"), nil
}

// resultOf reads what became of a run that had needed so much CPU time when its time began.
func resultOf(p *os.ProcessState, before time.Duration, summary string) (w watched, err error) {
	text, err := os.ReadFile(summary)
	if err != nil {
		return w, fmt.Errorf("read the run's summary: %w", fault.File(err))
	}
	var s pipeline.Summary
	if err := json.Unmarshal(text, &s); err != nil {
		return w, fmt.Errorf("read the run's summary: %w", err)
	}
	w.factor, w.percent = s.RealTimeFactor, 100*(p.UserTime()+p.SystemTime()-before).Seconds()/s.SimS
	for i := range s.Bridges {
		w.lost += float64(s.Bridges[i].Drops.Total())
	}
	return w, nil
}

// attend connects the pages to a run that has begun paused, and lets its time begin. It returns the CPU time that the run
// had needed by then, when the run has said the last.
func (a *audience) attend(ctx context.Context, said io.Reader, pid int) (before time.Duration, err error) {
	lines, url := bufio.NewScanner(said), ""
	for url == "" && lines.Scan() {
		if found := pageLine.FindStringSubmatch(lines.Text()); found != nil {
			url = found[1]
		}
	}
	if url == "" {
		return 0, errors.New("the run doesn't say where its page is")
	}
	var pages sync.WaitGroup
	defer pages.Wait()
	for i := range a.taking + a.stalled {
		credits := 32 // as a page has for streams of which every message counts
		if i >= a.taking {
			credits = 2
		}
		conn, err := openPage(ctx, url, credits)
		if err != nil {
			return 0, err
		}
		defer func() { _ = conn.CloseNow() }()
		if i < a.taking {
			pages.Go(func() { take(ctx, conn) })
		}
	}
	if before, err = cpuTimeOf(pid); err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"v1/resume", http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("let the run's time begin: %s", response.Status) // else it would never end
	}
	_, err = io.Copy(io.Discard, said)
	return before, err
}

// openPage connects a page that wants everything.
func openPage(ctx context.Context, url string, credits int) (*websocket.Conn, error) {
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(url, "http")+"ws", nil) //nolint:bodyclose // it is the connection
	if err != nil {
		return nil, fmt.Errorf("open the page: %w", err)
	}
	conn.SetReadLimit(1 << 28)
	for _, text := range []string{`{"version": 1, "token": ""}`, fmt.Sprintf(`{"subscribe": "*", "credits": %d}`, credits)} {
		if err := conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
			return nil, errors.Join(err, conn.CloseNow())
		}
	}
	return conn, nil
}

// take takes all that comes until the run ends.
func take(ctx context.Context, conn *websocket.Conn) {
	for {
		_, r, err := conn.Reader(ctx)
		var head [8]byte
		if err == nil {
			_, err = io.ReadFull(r, head[:])
		}
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if err != nil {
			return
		}
		if id := binary.LittleEndian.Uint16(head[:]); id != 0 {
			if conn.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"credit": {"stream": %d, "n": 1}}`, id)) != nil {
				return
			}
		}
	}
}

// cpuTimeOf is what another process has computed so far (proc_pid_stat(5)).
func cpuTimeOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of the run: %w", fault.File(err))
	}
	_, rest, _ := strings.Cut(string(text), ") ") // what is before may have spaces
	fields := strings.Fields(rest)
	const user, system, ticks = 11, 12, 100
	if len(fields) <= system {
		return 0, errors.New("read the CPU time of the run: its file is short")
	}
	var sum int64
	for _, field := range []string{fields[user], fields[system]} {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the CPU time of the run: %w", err)
		}
		sum += n
	}
	return time.Duration(sum) * time.Second / ticks, nil
}
