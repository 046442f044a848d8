package foxglove

import (
	"context"
	"log/slog"
	"runtime"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/foxglovemsg"
)

// Log is a line of the run's log, which viewers show as foxglove.Log. A publisher of it is
// made like that of any sample:
//
//	publish, err := bridges.AddPublisher[*foxglove.Log](bridge, bridges.Topic{Name: "/log"})
type Log = foxglovemsg.LogRecord

// NewLogHandler returns a handler that publishes each line, with its attributes, besides
// handing it to next. now tells the simulation time in nanoseconds. A line that can't be
// published is next's alone. What next doesn't take isn't published either.
func NewLogHandler(next slog.Handler, publish bridges.Publisher[*Log], now func() int64) slog.Handler {
	return &logHandler{next: next, publish: publish, now: now}
}

type logHandler struct {
	next    slog.Handler
	publish bridges.Publisher[*Log]
	now     func() int64
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
	line := &Log{StampNs: h.now(), Level: r.Level, Message: text.String(), Name: "raybridge"}
	if r.PC != 0 {
		frame, _ := runtime.CallersFrames([]uintptr{r.PC}).Next()
		line.File, line.Line = frame.File, frame.Line
	}
	_ = h.publish(ctx, line) // counted by the bridge
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
	if a.Key == "" {
		return
	}
	text.WriteString(" " + groups + a.Key + "=" + value.String())
}
