package sumo

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/raybridge/raybridge/internal/fault"
)

// patience is how long SUMO may take to end by itself, and to say why it has.
const patience = 2 * time.Second

// child is a SUMO of our own. It doesn't outlive us.
type child struct {
	cmd   *exec.Cmd
	port  int
	said  tail          // read after done
	state error         // how it ended, read after done
	done  chan struct{} // closed by the goroutine that waits for it
}

// start runs SUMO on a free port. SUMO listens on all interfaces, and to the first who comes.
func start(config string) (*child, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(config); err != nil {
		return nil, fmt.Errorf("start SUMO: %w", fault.File(err))
	}
	port, err := freePort()
	if err != nil {
		return nil, fmt.Errorf("start SUMO: %w", err)
	}
	// Debian's package has no schemas. Without them SUMO refuses files that name one.
	c := &child{port: port, done: make(chan struct{}), cmd: exec.Command(program, "-c", config,
		"--remote-port", strconv.Itoa(port), "--no-step-log",
		"--xml-validation", "never", "--xml-validation.net", "never", "--xml-validation.routes", "never")}
	c.cmd.Stderr = &c.said
	c.cmd.SysProcAttr = killedWithParent()
	c.cmd.WaitDelay = patience
	started := make(chan error)
	go c.own(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start SUMO: %w", err)
	}
	return c, nil
}

// own starts the program and waits for its end. Linux ends a child together with the thread
// that started it, so that thread stays.
func (c *child) own(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := c.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	c.state = c.cmd.Wait()
	close(c.done)
}

// ended reports whether the program has ended, or does so soon.
func (c *child) ended(soon time.Duration) bool {
	timer := time.NewTimer(soon)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-timer.C:
		return false
	}
}

// end waits for a program that was told to end, and kills it if it doesn't.
func (c *child) end() {
	if !c.ended(patience) {
		_ = c.cmd.Process.Kill()
		<-c.done
	}
}

// last tells how the program ended, in its own words where it has some.
func (c *child) last() error {
	how := "exit status 0"
	if c.state != nil {
		how = c.state.Error()
	}
	if words := c.said.errors(); words != "" {
		how += ": " + words
	}
	return fmt.Errorf("%w: %s", ErrEnded, how)
}

// find returns SUMO's program.
func find() (string, error) {
	program, err := exec.LookPath("sumo")
	if home := os.Getenv("SUMO_HOME"); err != nil && home != "" {
		program, err = exec.LookPath(filepath.Join(home, "bin", "sumo"))
	}
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", fmt.Errorf("start SUMO: %w: install it (Debian: apt-get install sumo), or set SUMO_HOME", err)
	}
	return program, err
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// tail keeps the last of what a program says.
type tail struct{ text []byte }

// longestTail is how much of that, in bytes.
const longestTail = 4096

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p[max(0, len(p)-longestTail):]...)
	t.text = append(t.text[:0], t.text[max(0, len(t.text)-longestTail):]...)
	return len(p), nil
}

// errors returns what isn't a warning, in one line. What SUMO has answered to us doesn't count: we ask
// for our ego to see whether it is there.
func (t *tail) errors() string {
	var kept []string
	for line := range strings.Lines(string(t.text)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "Warning:") && !strings.HasPrefix(line, "Quitting") && !strings.HasPrefix(line, "Answered with error") {
			kept = append(kept, strings.TrimPrefix(line, "Error: "))
		}
	}
	return strings.Join(kept, " ")
}
