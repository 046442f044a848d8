package bridgetest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience is how long Expect and Wait wait: long enough for a machine that builds
// something else meanwhile.
const Patience = 2 * time.Minute

// Command is a program with arguments and additions to the environment ("KEY=value").
type Command struct {
	Name string
	Args []string
	Env  []string
	Dir  string
}

// With adds to the environment.
func (c Command) With(env ...string) Command {
	c.Env = append(append([]string{}, c.Env...), env...)
	return c
}

// Program is a command by its name or path.
func Program(name string, args ...string) Command { return Command{Name: name, Args: args} }

// Python is a script for Debian's Python, which alone sees Debian's modules.
func Python(script string, args ...string) Command {
	return Command{Name: "/usr/bin/python3", Args: append([]string{script}, args...), Env: []string{"PYTHONUNBUFFERED=1"}}
}

// Node is a script for Node, which finds the packages of `make setup-peers`: they lie in
// .cache/peers/node_modules of the repository. Scripts import them with
// createRequire(process.env.PEERS + "/"), or by paths below that.
func Node(script string, args ...string) Command {
	return Command{Name: "node", Args: append([]string{script}, args...), Env: []string{"PEERS=" + PeerPackages()}}
}

// PeerPackages returns the folder with what `make setup-peers` installs and tests build.
func PeerPackages() string { return filepath.Join(root(), ".cache", "peers") }

// root is the repository's: the first folder upwards with a go.mod.
func root() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		panic("bridgetest: no go.mod above the working directory")
	}
}

// Process is a running program. Its methods are for the test's goroutine.
type Process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when the program has ended and its output was read

	mu     sync.Mutex
	output bytes.Buffer  // guarded by mu: stdout and stderr
	seen   int           // guarded by mu: the end of what Expect has found
	more   chan struct{} // guarded by mu: closed at the next line, then made again
	err    error         // written before done is closed
}

// StartProcess runs a command, in a process group of its own, until the test ends at the
// latest. The last of what it has printed is shown if the test fails.
func StartProcess(t testing.TB, c Command) *Process {
	t.Helper()
	p := &Process{name: filepath.Base(c.Name) + " " + strings.Join(c.Args, " "), done: make(chan struct{}), more: make(chan struct{})}
	p.cmd = exec.Command(c.Name, c.Args...)
	p.cmd.Dir = c.Dir
	p.cmd.Env = append(os.Environ(), c.Env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = write, write
	err = p.cmd.Start()
	_ = write.Close()
	if err != nil {
		_ = read.Close()
		t.Fatalf("start %s: %v%s", p.name, err, SetupHint(err.Error()))
	}
	go p.run(read)
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s printed:\n%s%s", p.name, last(p.Output(), 200), SetupHint(p.Output()))
		}
	})
	return p
}

// run collects the output line by line and then the exit status.
func (p *Process) run(read *os.File) {
	defer close(p.done)
	lines := bufio.NewReader(read)
	for {
		line, err := lines.ReadString('\n')
		p.mu.Lock()
		p.output.WriteString(line)
		close(p.more)
		p.more = make(chan struct{})
		p.mu.Unlock()
		if err != nil {
			break
		}
	}
	_ = read.Close()
	p.err = p.cmd.Wait()
}

// last returns the last lines of a text.
func last(text string, lines int) string {
	all := strings.SplitAfter(text, "\n")
	if left := len(all) - 1 - lines; left > 0 {
		return fmt.Sprintf("... %d lines, then\n%s", left, strings.Join(all[left:], ""))
	}
	return text
}

// SetupHint says what to run if an error or what a program printed tells that a program, a
// module or a header isn't installed. Otherwise it is empty.
func SetupHint(output string) string {
	for _, missing := range []string{
		"no such file or directory", "executable file not found", ": not found", "No such file or directory", // exec, sh, compilers
		"ModuleNotFoundError", "ResourceNotFound", // Python, ROS 1
		"ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND", // Node
		"error while loading shared libraries", "cannot find -l",
	} {
		if strings.Contains(output, missing) {
			return " (is it installed? `make setup-peers` installs what the tests with real peers need)"
		}
	}
	return ""
}

// Output returns what the program has printed up to now.
func (p *Process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// Expect waits until the program prints a line that contains text, after those that were
// expected before, and returns the line.
func (p *Process) Expect(t testing.TB, text string) string {
	t.Helper()
	deadline := time.After(Patience)
	for ended := false; ; {
		p.mu.Lock()
		rest := p.output.String()[p.seen:]
		more := p.more
		if at := strings.Index(rest, text); at >= 0 {
			begin := strings.LastIndexByte(rest[:at], '\n') + 1
			if length := strings.IndexByte(rest[at:], '\n'); length >= 0 {
				p.seen += at + length + 1
				p.mu.Unlock()
				return rest[begin : at+length]
			}
		}
		p.mu.Unlock()
		if ended {
			t.Fatalf("%s ended (%v) without printing %q%s", p.name, p.err, text, SetupHint(p.Output()))
		}
		select {
		case <-more:
		case <-p.done:
			ended = true // its last lines may have come since
		case <-deadline:
			t.Fatalf("%s has not printed %q within %v", p.name, text, Patience)
		}
	}
}

// Wait waits until the program has ended by itself, with status 0, and returns all that
// it printed.
func (p *Process) Wait(t *testing.T) string {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(Patience):
		t.Fatalf("%s has not ended within %v", p.name, Patience)
	}
	if p.err != nil {
		t.Fatalf("%s: %v%s", p.name, p.err, SetupHint(p.Output())) // what it printed follows
	}
	return p.Output()
}

// Interrupt asks the program to end, as Ctrl-C does.
func (p *Process) Interrupt() { p.signal(syscall.SIGINT) }

// Stall stops the program in its tracks, its connections open; Resume lets it continue.
func (p *Process) Stall() { p.signal(syscall.SIGSTOP) }

// Resume lets a stalled program continue.
func (p *Process) Resume() { p.signal(syscall.SIGCONT) }

// Kill ends the program, and those that it started, at once. It may be called again.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// signal sends to the whole group; a program that has ended is sent nothing.
func (p *Process) signal(s syscall.Signal) {
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

// FreePort returns a TCP port on 127.0.0.1 that nothing listens on.
func FreePort(t *testing.T) int {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(fmt.Errorf("find a free port: %w", err))
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
