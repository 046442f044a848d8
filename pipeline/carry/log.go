package carry

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// logTopic is where the lines of the run's log go on bridges to networks that have a
// message for them. Recordings don't have them: they would not be the same in every run
// (law T5).
const logTopic = "/raybridge/log"

var logSpec = sensors.Declare[sample.Log](sensors.OutputSpec{Name: "log", Suffix: "/" + logTopic})

// remarks says of one kind of line that sensors cause which come, how often it is logged. The first
// ten are, and then ever fewer.
type remarks struct {
	made  int
	later flow.Journal
}

// warn logs a line, if it is to be logged now. It says how many weren't since the last.
func (r *remarks) warn(log *slog.Logger, text string, attributes ...any) {
	if r.made++; r.made > 10 {
		untold, ok := r.later.Tell(time.Now())
		if !ok {
			return
		}
		attributes = append(attributes, "more_since", untold)
	}
	log.Warn(text, attributes...)
}

// Lines are those of a run's log, which bridges to networks carry too. NewLines makes them.
type Lines struct {
	next   *slog.Logger
	now    func() simtime.Stamp // what lines are stamped with; New sets it
	outlet *Outlet
	out    *sensors.Output[*sample.Log]
}

// NewLines makes lines that go to next, and to bridges that they are given to by Config.Lines.
func NewLines(next *slog.Logger) *Lines {
	out := logSpec.Open().(*sensors.Output[*sample.Log])
	return &Lines{next: next, out: out, outlet: NewOutlet(out, bridges.Topic{Name: logTopic, QoS: flow.DefaultQoS}, nil)}
}

// Logger is what the run and its sensors log with.
func (l *Lines) Logger() *slog.Logger {
	return slog.New(&logHandler{next: l.next.Handler(), lines: l})
}

// publish queues a line for those who listen.
func (l *Lines) publish(r *slog.Record, text string) {
	if !l.out.Listening() {
		return
	}
	line := &sample.Log{Stamp: l.now(), Level: r.Level, Message: text, Name: "raybridge"}
	if r.PC != 0 {
		frame, _ := runtime.CallersFrames([]uintptr{r.PC}).Next()
		line.File, line.Line = frame.File, frame.Line
	}
	l.out.TryQueue(sensors.Tick{Due: line.Stamp, Started: time.Now()}, line)
}

// logHandler hands lines on, and publishes them with their attributes. Lines that next
// doesn't take aren't published either. Bridges and the dispatcher log past it: a line about a
// line that can't be sent would be one more of these.
type logHandler struct {
	next  slog.Handler
	lines *Lines
	// attrs are those of WithAttrs as text, groups the names of open groups.
	attrs  string
	groups string
}

// Enabled asks next.
func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle publishes the line and hands it on.
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	var text strings.Builder
	text.WriteString(r.Message)
	text.WriteString(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		writeAttr(&text, h.groups, a)
		return true
	})
	h.lines.publish(&r, text.String())
	return h.next.Handle(ctx, r)
}

// WithAttrs returns a handler whose lines all have the attributes.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var text strings.Builder
	text.WriteString(h.attrs)
	for _, a := range attrs {
		writeAttr(&text, h.groups, a)
	}
	with := *h
	with.attrs, with.next = text.String(), h.next.WithAttrs(attrs)
	return &with
}

// WithGroup returns a handler whose further attributes are in the group.
func (h *logHandler) WithGroup(name string) slog.Handler {
	with := *h
	with.next = h.next.WithGroup(name)
	if name != "" {
		with.groups = h.groups + name + "."
	}
	return &with
}

// writeAttr writes " key=value".
func writeAttr(text *strings.Builder, groups string, a slog.Attr) {
	value := a.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if a.Key != "" {
			groups += a.Key + "."
		}
		for _, inner := range value.Group() {
			writeAttr(text, groups, inner)
		}
		return
	}
	if a.Key != "" {
		text.WriteString(" " + groups + a.Key + "=" + value.String())
	}
}
