package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene"
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
	// level is the log's, nil where the user hasn't said. records: all that is written is an object of JSON a line;
	// nil for text. Both are set before the command runs.
	level   *slog.Level
	records slog.Handler

	mu   sync.Mutex
	bar  string // guarded by mu: the line that moves, "" for none
	rest string // guarded by mu: of records, the beginning of a line whose end hasn't come yet
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
	if c.records != nil {
		return len(p), c.record(p)
	}
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

// writeJSON has all that is written be JSON from now on.
func (c *console) writeJSON() {
	c.moves, c.colours = false, false
	c.records = slog.NewJSONHandler(c.out, &slog.HandlerOptions{Level: slog.LevelDebug})
}

// record writes lines for people as records of the level info.
func (c *console) record(text []byte) error {
	if c.lowest() > slog.LevelInfo {
		return nil
	}
	c.mu.Lock()
	lines := strings.Split(c.rest+string(text), "\n")
	c.rest = lines[len(lines)-1]
	c.mu.Unlock()
	var errs []error
	for _, line := range lines[:len(lines)-1] {
		if line = strings.TrimRightFunc(line, unicode.IsSpace); line != "" {
			errs = append(errs, c.records.Handle(context.Background(), slog.NewRecord(time.Now(), slog.LevelInfo, line, 0)))
		}
	}
	return errors.Join(errs...)
}

// tell writes a record of the level info, where all that is written is JSON, and reports whether it is.
func (c *console) tell(message string, attributes ...any) bool {
	if c.records != nil {
		slog.New(&leveled{c.records, c.lowest()}).Info(message, attributes...)
	}
	return c.records != nil
}

// lowest is the level from which on the console writes.
func (c *console) lowest() slog.Level {
	if c.level != nil {
		return *c.level
	}
	return slog.LevelInfo
}

// fail tells what a command ended with.
func (c *console) fail(err error) {
	if c.records != nil {
		_ = c.records.Handle(context.Background(), slog.NewRecord(time.Now(), slog.LevelError, err.Error(), 0))
		return
	}
	fmt.Fprintln(c, c.colored(red, "raybridge:"), fault.PrintableText(err.Error())) // it may quote a file or a peer
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
// one, and their particulars in parentheses. With quiet it shows errors alone, unless its user has
// chosen a level. On a console of JSON it is JSON, too.
func newLog(out io.Writer, quiet bool) *slog.Logger {
	c, level := consoleOn(out), slog.LevelInfo
	switch {
	case c.level != nil:
		level = *c.level
	case quiet:
		level = slog.LevelError
	}
	if c.records != nil {
		return slog.New(&leveled{c.records, level})
	}
	return slog.New(&messages{console: c, level: level})
}

// leveled is a handler that takes records from a level on.
type leveled struct {
	slog.Handler
	level slog.Level
}

func (l *leveled) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }

func (l *leveled) WithAttrs(list []slog.Attr) slog.Handler {
	return &leveled{l.Handler.WithAttrs(list), l.level}
}

func (l *leveled) WithGroup(name string) slog.Handler {
	return &leveled{l.Handler.WithGroup(name), l.level}
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
	line.WriteString(fault.PrintableText(r.Message))
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

// How often progress is shown: a line that moves, or one more line in a log.
const (
	moveInterval = 100 * time.Millisecond
	lineInterval = 5 * time.Second
)

// progressPrinter shows how far a run is: a line that moves on a terminal, lines
// elsewhere. Its methods are called by one goroutine at a time.
type progressPrinter struct {
	out   *console
	total time.Duration // of simulated time, 0 for no end
	done  string        // what is done to time: "simulated", "replayed"
	quiet bool
	now   func() time.Time
	shown time.Time
	pace  pace
}

func newProgressPrinter(out io.Writer, done string, total time.Duration, quiet bool) *progressPrinter {
	return &progressPrinter{out: consoleOn(out), total: total, done: done, quiet: quiet, now: time.Now, shown: time.Now()}
}

// start says what the run works on.
func (p *progressPrinter) start(info gpu.Info, g *scene.Geometry) {
	p.shown = p.now()
	if p.quiet {
		return
	}
	fmt.Fprintf(p.out, "scene %s: %s, %s; on %s (%s)\n",
		g.Scene.Name, fault.Count(g.Scene.Stats().Triangles, "triangle"), fault.Count(len(g.Scene.Actors), "actor"), info.Renderer, info.Device)
	for _, why := range info.PassedOver {
		p.note("a GPU can't be used: " + why)
	}
}

// note shows a line that isn't empty.
func (p *progressPrinter) note(line string) {
	if line != "" && !p.quiet {
		fmt.Fprintln(p.out, line)
	}
}

// update shows how far the run is, if that wasn't shown a moment ago.
func (p *progressPrinter) update(at pipeline.Progress) {
	p.pace.add(at)
	interval := lineInterval
	if p.out.moves {
		interval = moveInterval
	}
	if p.quiet || p.now().Sub(p.shown) < interval {
		return
	}
	p.shown = p.now()
	switch {
	case p.out.moves:
		p.out.move(p.line(at))
	case !p.out.tell("progress", p.attributes(at)...):
		fmt.Fprintln(p.out, p.text(at))
	}
}

// attributes are text's of a record.
func (p *progressPrinter) attributes(at pipeline.Progress) []any {
	list := []any{p.done + "_s", at.Simulated.Seconds(), "real_time_factor", p.pace.factor()}
	if p.total > 0 {
		list = append(list, "total_s", p.total.Seconds())
	}
	return list
}

// text says how far the run is: "45 %, 4.5 of 10.0 s simulated, real-time factor 2.31, 2s left".
func (p *progressPrinter) text(at pipeline.Progress) string {
	factor := p.pace.factor()
	if p.total <= 0 {
		return fmt.Sprintf("%.1f s %s, real-time factor %.2f", at.Simulated.Seconds(), p.done, factor)
	}
	text := fmt.Sprintf("%d %%, %.1f of %.1f s %s, real-time factor %.2f",
		100*min(at.Simulated, p.total)/p.total, at.Simulated.Seconds(), p.total.Seconds(), p.done, factor)
	if left := p.total - at.Simulated; factor > 0 && left > 0 {
		if wait := left.Seconds() / factor; wait < maxWait.Seconds() {
			text += fmt.Sprintf(", %v left", max(time.Duration(wait*float64(time.Second)).Round(time.Second), time.Second))
		}
	}
	return text
}

// maxWait is the longest time left that is worth telling.
const maxWait = 1000 * time.Hour

// The bar beside the text, where the terminal has room for it.
const (
	barWidth    = 30
	minBarWidth = 5
	usualWidth  = 80 // of a terminal that doesn't tell
)

// line is the text with a bar before it, both together no longer than the terminal is wide.
func (p *progressPrinter) line(at pipeline.Progress) string {
	columns := p.out.columns()
	if columns == 0 {
		columns = usualWidth
	}
	columns-- // a full line would wrap on some
	text := p.text(at)
	room := min(barWidth, columns-utf8.RuneCountInString(text)-len("[] "))
	if p.total <= 0 || room < minBarWidth {
		return text[:max(0, min(len(text), columns))] // it is ASCII
	}
	full := max(0, min(room, int(time.Duration(room)*at.Simulated/p.total)))
	return "[" + strings.Repeat("=", full) + strings.Repeat(" ", room-full) + "] " + text
}

// stop takes the line away that moves.
func (p *progressPrinter) stop() { p.out.move("") }

// paceSpan is how far back a pace looks, at least, once so much time has passed.
const paceSpan = 5 * time.Second

// pace is how fast simulated time went lately. The zero value is ready.
type pace struct {
	// last is the latest progress; before and between are the beginnings of the span that
	// counts and of the one that will.
	before, between, last pipeline.Progress
}

func (p *pace) add(at pipeline.Progress) {
	p.last = at
	if at.Wall-p.between.Wall >= paceSpan {
		p.before, p.between = p.between, at
	}
}

// factor is simulated time by the time that it took, 0 where none has passed.
func (p *pace) factor() float64 {
	wall := p.last.Wall - p.before.Wall
	if wall <= 0 {
		return 0
	}
	return (p.last.Simulated - p.before.Simulated).Seconds() / wall.Seconds()
}
