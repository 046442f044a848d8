package sweep

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
)

// Result is how an attempt to run a case ended.
type Result int

const (
	// Done says that the store has the case's result.
	Done Result = iota
	// Failed says that another attempt may succeed.
	Failed
	// Hopeless says that every attempt would fail alike.
	Hopeless
	// Returned says that nothing was learned about the case. If Err is set, the worker takes no other one.
	Returned
)

// End is the end of an attempt.
type End struct {
	Case   *Case
	Result Result
	// Err says why the case isn't done.
	Err error
	// Code is the exit code of the process, -1 for a signal, and Log the end of what it said.
	Code int
	Log  string
	// crash is the first line of what Go's runtime said when the process crashed.
	crash string
	// Host is the machine that ran it, "" for this one.
	Host string
	// Wall is how long the process took.
	Wall time.Duration
	// Alarm is set where the case had another result already, which differs.
	Alarm *Alarm
}

// Errors of workers.
var (
	// ErrDiskFull: there is no room for results.
	ErrDiskFull = errors.New("the disk is full")
	// ErrClass: the device isn't of the class that the plan asks for.
	ErrClass = errors.New("another class of device than the plan's")
	// ErrVersion: the program isn't of the version that the plan asks for.
	ErrVersion = errors.New("another version than the plan's")
	// errNoDevice: there is no usable device.
	errNoDevice = errors.New("no usable device here")
)

// Exit codes of raybridge run.
const (
	codeUsage    = 2
	codeNoDevice = 3
)

// Worker runs cases on this machine, each as a process of its own. Several goroutines may use it.
type Worker struct {
	Store *Store
	Plan  *Plan
	// Program and Arguments begin the command line, up to the word run.
	Program   string
	Arguments []string
	// Read reads the plan's configuration, as Planner.Read does.
	Read func(path string, text []byte) (Configuration, error)
	// WorldProgram is the version of the program that a world starts, as Planner.Program. (optional without such a world)
	WorldProgram func() (string, error)
	// Limit is how long a case may take; 0 is without limit.
	Limit time.Duration
	// Secrets are the variables of the environment that cases don't get.
	Secrets []string

	base     Configuration
	inputs   map[string]bool // paths of the plan's inputs
	recorder bool            // cases have one, beside what the configuration has
}

// Prepare checks that the worker may run the plan's cases: version, class and inputs. A class that isn't known yet is "".
func (w *Worker) Prepare(version, class string, allowPrograms bool) error {
	p := w.Plan
	switch {
	case p.Version != version:
		return fmt.Errorf("%w: the plan is of %s, this is %s: run that one, or plan again with --extend", ErrVersion, fault.Printable(p.Version), version)
	case p.Class != AnyDevice && class != "" && p.Class != class:
		return fmt.Errorf("%w: it is of %s, here is %s", ErrClass, fault.Printable(p.Class), class)
	case p.Program != "" && !allowPrograms:
		return fmt.Errorf("the world of the plan %w: give --allow-programs if you trust it", ErrPrograms)
	}
	if p.Program != "" {
		here, err := w.WorldProgram()
		if err != nil {
			return err
		}
		if p.Program != here {
			return fmt.Errorf("%w: its world is of %s, here is %s: install that one, or plan again with --extend", ErrVersion, fault.Printable(p.Program), here)
		}
	}
	w.inputs = map[string]bool{}
	for i := range p.Inputs {
		if err := w.Store.checkInput(&p.Inputs[i]); err != nil {
			return fmt.Errorf("%w: give sweep run the sweep file, which brings it back", err)
		}
		w.inputs[p.Inputs[i].path()] = true
	}
	text, err := w.Store.root.ReadFile(p.Config)
	if err != nil {
		return w.Store.fault(err)
	}
	if err := w.checkConfig(text, allowPrograms); err != nil {
		return fmt.Errorf("%s: %w", p.Config, err)
	}
	if w.base, err = w.Read(filepath.Join(w.Store.dir, p.Config), text); err != nil {
		return err
	}
	leaves, err := w.base.Leaves()
	hasBridge := slices.ContainsFunc(leaves, func(l config.Leaf) bool { return strings.HasPrefix(l.Key, "bridges[") })
	w.recorder = slices.Contains(p.Keep, keepMCAP) || !hasBridge // a sensor that nobody hears computes nothing
	return err
}

// checkConfig refuses a configuration that names files that aren't inputs of the plan, before it is read.
func (w *Worker) checkConfig(text []byte, allowPrograms bool) error {
	_, err := freeze(w.Plan.Config, text, func(key, file string) (string, error) {
		return file, w.checkPath(key, file, allowPrograms)
	})
	return err
}

// ErrOutside says that a plan names a file that isn't among its inputs.
var ErrOutside = errors.New("is not one of the plan's inputs")

// checkPath refuses the value of a key that names a file which isn't an input.
func (w *Worker) checkPath(key, value string, allowPrograms bool) error {
	file := value
	if key == worldKey {
		kind, address, _ := strings.Cut(value, ":")
		if startsPrograms(kind) && !allowPrograms {
			return fmt.Errorf("world %.80q %w", value, ErrPrograms)
		}
		file, _, _ = strings.Cut(address, "?")
	}
	if !w.inputs[filepath.ToSlash(file)] {
		return fmt.Errorf("%s: %.80q %w", key, value, ErrOutside)
	}
	return nil
}

// errNotThis: a case isn't what its id says.
var errNotThis = errors.New("isn't what its id says: the plan was changed, plan the sweep file again with --extend")

// check refuses a case that isn't what its id says, or whose settings name other files than the plan's inputs.
func (w *Worker) check(c *Case) error {
	configuration := w.base.Copy()
	keys, values := w.Plan.Settings(c)
	for i, key := range keys {
		given := values[i]
		if _, file := w.Plan.Files[key][c.Values[slices.Index(w.Plan.Keys, key)]]; file && key != worldKey {
			given = doc.Text(filepath.Join(w.Store.dir, given))
		} else if isFile(key) || key == worldKey && !file {
			return fmt.Errorf("%s: %.80q %w", key, given, ErrOutside)
		}
		if err := configuration.Set(key, given); err != nil {
			return err
		}
	}
	leaves, err := configuration.Leaves()
	if err != nil {
		return err
	}
	lines := make([]leafLine, 0, len(leaves))
	for _, l := range leaves {
		value, err := w.checkLeaf(l)
		if err != nil {
			return err
		}
		lines = append(lines, lineOf(l.Key, value))
	}
	n := newIdentity(w.Plan, lines)
	seed := slices.Index(w.Plan.Keys, seedKey)
	if n.hasher().sum(c.Seed, n.leaves) != c.ID || seed >= 0 && seed < len(c.Values) && c.Values[seed] != "" && c.Values[seed] != strconv.FormatUint(c.Seed, 10) {
		return fmt.Errorf("case %s %w", c.ID, errNotThis)
	}
	return nil
}

// checkLeaf returns a leaf's value as its id has it. It refuses a file that isn't one of the plan's inputs.
func (w *Worker) checkLeaf(l config.Leaf) (value string, err error) {
	switch value = l.Value; {
	case l.Key == worldKey:
		if value, err = plainText(value); err != nil || value == "" {
			return l.Value, err
		}
	case !l.Path || value == "":
		return value, nil
	default:
		if value, err = filepath.Rel(w.Store.dir, value); err != nil {
			return "", err
		}
	}
	err = w.checkPath(l.Key, value, w.Plan.Program != "")
	if l.Key == worldKey {
		value = w.Plan.worldLine(value)
	}
	return value, err
}

// command is the command line of a case, whose working directory is the store's.
func (w *Worker) command(c *Case, a *attempt) []string {
	args := append(slices.Clone(w.Arguments), "run", "--config", w.Plan.Config)
	keys, values := w.Plan.Settings(c)
	for i, key := range keys {
		args = append(args, "--set", key+"="+values[i])
	}
	args = append(args, "--seed", strconv.FormatUint(c.Seed, 10), "--step", "--quiet", "--end-with-input",
		"--summary", a.path(summaryFile), "--out", a.path(outputsDir), "--run-id", c.ID)
	if w.Plan.Device != "" {
		args = append(args, "--gpu", w.Plan.Device)
	}
	if slices.Contains(w.Plan.Keep, keepReport) {
		args = append(args, "--report")
	}
	if w.recorder {
		args = append(args, "--bridge", "mcap:"+recorderName)
	}
	return args
}

// recorderName is what the recorder writes.
const recorderName = "case.mcap"

// running is a case whose process has ended, and that isn't filed yet.
type running struct {
	worker  *Worker
	attempt *attempt
	end     End
	started time.Time
	tries   int
}

// run runs the process of a case that was checked. The caller files what it returns.
func (w *Worker) run(ctx context.Context, c *Case, tries int) *running {
	r := &running{worker: w, end: End{Case: c}, started: time.Now(), tries: tries}
	var err error
	if r.attempt, err = w.Store.begin(c.ID, r.started); err != nil {
		r.end.Result, r.end.Err = Returned, w.storeFault(err)
		return r
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if w.Limit > 0 {
		limited, cancel = context.WithTimeout(ctx, w.Limit)
	}
	defer cancel()
	var said tail
	r.started = time.Now()
	r.end.Code, err = w.process(limited, w.command(c, r.attempt), &said)
	r.end.Wall = time.Since(r.started)
	r.end.Log, r.end.crash = said.String(), said.crash
	switch {
	case ctx.Err() != nil:
		r.end.Result, r.end.Err = Returned, nil
	case limited.Err() != nil:
		r.end.Result, r.end.Err = Failed, fmt.Errorf("it took longer than %v", w.Limit)
	case err != nil:
		w.judge(r, err)
	}
	return r
}

// patience is how long a process may take to end when it is told to.
const patience = 3 * time.Second

// errStart: a case's process didn't even start.
var errStart = errors.New("start a case")

// process runs a command line to its end. A process that is told to end has some time for that, and the processes that it
// has started end with it.
func (w *Worker) process(ctx context.Context, args []string, said *tail) (code int, err error) {
	cmd := exec.CommandContext(ctx, w.Program, args...)
	cmd.Dir, cmd.Stderr, cmd.SysProcAttr = w.Store.dir, said, endsWithParent()
	cmd.Env = w.environment()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = patience
	input, output, err := os.Pipe() // its end tells the process of ours
	if err != nil {
		return -1, fmt.Errorf("%w: %w", errStart, err)
	}
	defer output.Close()
	cmd.Stdin = input
	// Linux kills a child together with the thread that started it, so that thread stays.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Start()
	_ = input.Close() // the process has its own
	if err != nil {
		return -1, fmt.Errorf("%w: %w", errStart, err)
	}
	endsFirst(cmd.Process.Pid)
	err = cmd.Wait()
	killGroup(cmd.Process.Pid)
	if errors.Is(err, exec.ErrWaitDelay) { // it ended well, and one that it had started held its standard error
		err = nil
	}
	return cmd.ProcessState.ExitCode(), err
}

// environment is this process's, without its secrets: a case may start programs, and needs none of them.
func (w *Worker) environment() []string {
	return slices.DeleteFunc(os.Environ(), func(setting string) bool {
		name, _, _ := strings.Cut(setting, "=")
		return slices.Contains(w.Secrets, name)
	})
}

// judge decides on a case whose process failed.
func (w *Worker) judge(r *running, err error) {
	words := cmp.Or(r.end.crash, strings.TrimSpace(lastLine(r.end.Log)))
	switch {
	case errors.Is(err, errStart):
		r.end.Result, r.end.Err = Returned, err
		return
	case w.diskFull(r.attempt, r.end.Log):
		r.end.Result, r.end.Err = Returned, w.noRoom()
		return
	case r.end.Code == codeUsage && r.end.crash == "" && saysError.MatchString(r.end.Log):
		r.end.Result = Hopeless
	case r.end.Code == codeNoDevice:
		r.end.Result, r.end.Err = Returned, fmt.Errorf("%w: %s", errNoDevice, words)
		return
	default:
		r.end.Result = Failed
	}
	if killed(err) {
		err = fmt.Errorf("%w, as the kernel does where memory is short", err)
	}
	r.end.Err = fmt.Errorf("%w: %s", err, words)
	if words == "" {
		r.end.Err = err
	}
}

// killed reports whether a process was ended by a signal that it can't take.
func killed(err error) bool {
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		return false
	}
	status, known := ended.Sys().(syscall.WaitStatus)
	return known && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// saysError finds what a command says when it ends with an error, in text or as a record of JSON. Go's runtime, too, ends a
// process with 2, for a panic, for want of memory, and for SIGQUIT.
var saysError = regexp.MustCompile(`(?m)^raybridge: |"level":"ERROR"`)

// noRoom says where there is no room.
func (w *Worker) noRoom() error {
	return fmt.Errorf("%s: %w: make room, and run the command again", w.Store.dir, ErrDiskFull)
}

// storeFault names a full disk as such.
func (w *Worker) storeFault(err error) error {
	if isFull(err) {
		return w.noRoom()
	}
	return err
}

// isFull reports whether a file couldn't be written for want of room.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// diskFull reports whether a case failed because the disk is full: it says so, or nothing more can be written.
func (w *Worker) diskFull(a *attempt, log string) bool {
	if strings.Contains(log, syscall.ENOSPC.Error()) || strings.Contains(log, syscall.EDQUOT.Error()) || strings.Contains(log, ErrDiskFull.Error()) {
		return true
	}
	const enough = 256 << 10
	err := w.Store.root.WriteFile(a.path("room"), make([]byte, enough), 0o644)
	_ = w.Store.root.Remove(a.path("room")) // the attempt's folder goes, too
	return isFull(err)
}

// file makes the result of a process that ended well the case's, and removes what others left.
func (r *running) file() End {
	if r.attempt == nil {
		return r.end
	}
	if r.end.Result == Done {
		r.accept()
	}
	if r.end.Result != Done {
		r.attempt.drop()
	}
	return r.end
}

// accept accepts the attempt if its summary says that nothing is missing.
func (r *running) accept() {
	w, a := r.worker, r.attempt
	s, err := w.summaryOf(a)
	if err == nil {
		err = s.whole()
	}
	if err != nil {
		r.end.Result, r.end.Err = Failed, err
		if w.diskFull(a, r.end.Log) {
			r.end.Result, r.end.Err = Returned, w.noRoom()
		}
		return
	}
	class := s.class()
	if w.Plan.Class != AnyDevice && class != w.Plan.Class {
		r.end.Result, r.end.Err = Returned, fmt.Errorf("%w: it is of %s, the case ran on %s", ErrClass, w.Plan.Class, class)
		return
	}
	m := &Manifest{
		Schema: idSchema, ID: r.end.Case.ID, Settings: w.Plan.named(r.end.Case), Seed: r.end.Case.Seed,
		Version: w.Plan.Version, Class: class, Metrics: s.metrics(),
	}
	a.timing.Tries, a.timing.Started, a.timing.WallS, a.timing.Summary = r.tries, r.started, r.end.Wall.Seconds(), s.timed
	err = w.finish(a, s, r.end.Log)
	if err == nil {
		r.end.Alarm, err = a.accept(m, w.Plan.keeps)
	}
	if err != nil {
		r.end.Result, r.end.Err = Returned, w.storeFault(err)
	}
	if errors.Is(err, errOutputs) {
		r.end.Result = Hopeless
	}
}

// finish writes what of a case is kept beside its outputs.
func (w *Worker) finish(a *attempt, s *summary, log string) error {
	root := w.Store.root
	if err := root.Remove(a.path(summaryFile)); err != nil {
		return w.Store.fault(err)
	}
	if err := root.WriteFile(a.path(summaryFile), s.fixed, 0o644); err != nil {
		return w.Store.fault(err)
	}
	if log != "" {
		if err := root.WriteFile(a.path(logFile), []byte(log), 0o644); err != nil {
			return w.Store.fault(err)
		}
	}
	if slices.Contains(w.Plan.Keep, keepReport) { // it has wall times: beside the outputs it isn't compared
		if err := root.Rename(a.path(path.Join(outputsDir, ReportFile)), a.path(ReportFile)); err != nil {
			return w.Store.fault(err)
		}
	}
	return nil
}

// keeps reports whether a file that is compared stays in the case's folder.
func (p *Plan) keeps(name string) bool {
	switch name {
	case summaryFile:
		return true
	case path.Join(outputsDir, recorderName):
		return slices.Contains(p.Keep, keepMCAP) || slices.Contains(p.Keep, keepOutputs)
	}
	return slices.Contains(p.Keep, keepOutputs)
}

// named are a case's settings by their keys.
func (p *Plan) named(c *Case) map[string]string {
	all := map[string]string{}
	for i, v := range c.Values {
		if v != "" {
			all[p.Keys[i]] = v
		}
	}
	return all
}

// summaryOf reads the summary that a case's process has written.
func (w *Worker) summaryOf(a *attempt) (*summary, error) {
	var tree map[string]any
	name := a.path(summaryFile)
	info, err := w.Store.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the process ended without its summary")
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxRecord {
		return nil, errors.Join(err, fmt.Errorf("%s is not a summary", path.Base(name)))
	}
	data, err := w.Store.root.ReadFile(name)
	if err != nil {
		return nil, w.Store.fault(err)
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("the case's summary is damaged: %w", err)
	}
	return newSummary(tree), nil
}

// tail keeps the end of what a process says, and the line that a crash begins with.
type tail struct {
	text  []byte
	line  []byte // the last one, up to longestLine
	crash string
}

const (
	longestTail = 16 << 10
	longestLine = 256
)

// crashes begin what Go's runtime says of a process that it ends. Stacks of many goroutines follow.
var crashes = regexp.MustCompile(`^(panic|fatal error|runtime|SIG[A-Z]+): `)

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if len(t.text) > 2*longestTail {
		t.text = append(t.text[:0], t.text[len(t.text)-longestTail:]...)
	}
	for line := range bytes.Lines(p) {
		t.line = append(t.line, line[:min(len(line), longestLine-len(t.line))]...)
		if line[len(line)-1] != '\n' {
			break
		}
		if t.crash == "" && crashes.Match(t.line) {
			t.crash = strings.ToValidUTF8(strings.TrimSpace(string(t.line)), "")
		}
		t.line = t.line[:0]
	}
	return len(p), nil
}

func (t *tail) String() string {
	return strings.ToValidUTF8(string(t.text[max(0, len(t.text)-longestTail):]), "")
}

// lastLine is the last line of a text that isn't empty.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
