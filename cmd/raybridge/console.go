package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// console is where a command's messages go: whole lines, and on a terminal one line
// below them that moves. Its methods may be called from any goroutine.
type console struct {
	out io.Writer
	// moves: the output is a terminal that can draw a line again; colours: it shows them,
	// and its user wants them.
	moves, colours bool
	// columns returns the terminal's width, 0 where nobody knows.
	columns func() int

	mu  sync.Mutex
	bar string // guarded by mu: the line that moves, "" for none
}

// consoleOn returns the console that out is, or makes one of it.
func consoleOn(out io.Writer) *console {
	if c, ok := out.(*console); ok {
		return c
	}
	c := &console{out: out, columns: func() int { return 0 }}
	f, ok := out.(*os.File)
	if !ok || !isTerminal(out) {
		return c
	}
	c.moves = os.Getenv("TERM") != "dumb"
	c.colours = c.moves && os.Getenv("NO_COLOR") == "" // see no-color.org
	c.columns = func() int { n, _ := terminalWidth(f); return n }
	return c
}

// isTerminal reports whether somebody sees what is written as it moves.
func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	_, terminal := terminalWidth(f)
	return terminal
}

// eraseLine goes to the line's begin and erases it.
const eraseLine = "\r\x1b[K"

// Write writes whole lines above the line that moves.
func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bar == "" {
		return c.out.Write(p)
	}
	fmt.Fprint(c.out, eraseLine)
	n, err := c.out.Write(p)
	if bytes.HasSuffix(p, []byte("\n")) {
		fmt.Fprint(c.out, c.bar)
	} else {
		c.bar = "" // the line isn't whole yet: the next picture of progress brings it back
	}
	return n, err
}

// move shows a line in place of the one before; "" takes it away. It does nothing where
// nothing can move.
func (c *console) move(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.moves || line == "" && c.bar == "" {
		return
	}
	fmt.Fprint(c.out, eraseLine+line)
	c.bar = line
}

// The colours of a message's first word.
const (
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	plain  = "\x1b[0m"
)

// colored puts a colour on text, where the console shows colours.
func (c *console) colored(color, text string) string {
	if !c.colours {
		return text
	}
	return color + text + plain
}

// newLog returns the log of a command: "warning: " or "error: " before messages that are
// one, and their particulars in parentheses. With quiet it shows errors alone.
func newLog(out io.Writer, quiet bool) *slog.Logger {
	level := slog.LevelInfo
	if quiet {
		level = slog.LevelError
	}
	return slog.New(&messages{console: consoleOn(out), level: level})
}

// messages is a slog.Handler that writes for people: a line a record.
type messages struct {
	console *console
	level   slog.Level
	group   string   // of the attributes that come, "a.b."
	before  []string // attributes of With, written out
}

func (m *messages) Enabled(_ context.Context, level slog.Level) bool { return level >= m.level }

// Handle writes a record.
func (m *messages) Handle(_ context.Context, r slog.Record) error {
	var line strings.Builder
	switch {
	case r.Level >= slog.LevelError:
		line.WriteString(m.console.colored(red, "error:") + " ")
	case r.Level >= slog.LevelWarn:
		line.WriteString(m.console.colored(yellow, "warning:") + " ")
	}
	line.WriteString(r.Message)
	particulars := slices.Clone(m.before)
	r.Attrs(func(a slog.Attr) bool {
		particulars = appendAttr(particulars, m.group, a)
		return true
	})
	if len(particulars) > 0 {
		line.WriteString(" (" + strings.Join(particulars, " ") + ")")
	}
	line.WriteByte('\n')
	_, err := m.console.Write([]byte(line.String()))
	return err
}

func (m *messages) WithAttrs(list []slog.Attr) slog.Handler {
	with := *m
	with.before = slices.Clone(m.before)
	for _, a := range list {
		with.before = appendAttr(with.before, m.group, a)
	}
	return &with
}

func (m *messages) WithGroup(name string) slog.Handler {
	if name == "" {
		return m
	}
	with := *m
	with.group += name + "."
	return &with
}

// appendAttr writes an attribute out, key=value, one for each of a group.
func appendAttr(list []string, group string, a slog.Attr) []string {
	value := a.Value.Resolve()
	switch {
	case a.Equal(slog.Attr{}):
		return list
	case value.Kind() == slog.KindGroup:
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, member := range value.Group() {
			list = appendAttr(list, group, member)
		}
		return list
	}
	text := value.String()
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune(`"=()`, r) }) {
		text = strconv.Quote(text)
	}
	return append(list, group+a.Key+"="+text)
}
