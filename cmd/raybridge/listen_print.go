package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/raybridge/raybridge/sensors/stream"
)

// screen prints tables to out and events to errOut. On a terminal a table takes the
// place of the one before. Its methods may be called from any goroutine.
type screen struct {
	out, errOut io.Writer
	terminal    bool

	mu    sync.Mutex
	lines int // guarded by mu: of the table that is to be replaced
}

func newScreen(out, errOut io.Writer) *screen {
	return &screen{out: out, errOut: errOut, terminal: isTerminal(out)}
}

// say prints what happened.
func (s *screen) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = 0 // what is above stays
	fmt.Fprintf(s.errOut, format+"\n", args...)
}

// table prints a table.
func (s *screen) table(text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal && s.lines > 0 {
		fmt.Fprintf(s.out, "\x1b[%dA\x1b[J", s.lines)
	}
	_, _ = s.out.Write(text) // a terminal that is gone needs no table
	s.lines = bytes.Count(text, []byte("\n"))
}

// show prints the table of the last seconds.
func (s *listenSession) show(now time.Time) {
	if s.flags.json || s.folder != nil {
		return
	}
	s.mu.Lock()
	if len(s.order) == 0 {
		s.mu.Unlock()
		return
	}
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "topic\ttype\tHz\tmessages\tMB/s\tmissed\tdropped\tlatency ms\tstamp s")
	for _, r := range s.order {
		f := &r.figures
		recent, latency, stamp := f.recent(now), "-", "-"
		if recent.heard {
			latency = fmt.Sprintf("%.1f", recent.latencyMs)
		}
		if f.messages > 0 {
			stamp = fmt.Sprintf("%.3f", float64(f.stampNs)*1e-9)
		}
		fmt.Fprintf(w, "%s\t%s\t%.1f\t%d\t%.2f\t%s\t%s\t%s\t%s\n",
			r.info.Name, r.info.Message, recent.hz, f.messages, recent.megabytes, f.missedText(), f.droppedText(), latency, stamp)
	}
	s.mu.Unlock()
	_ = w.Flush() // into memory
	if !s.screen.terminal {
		text.WriteByte('\n')
	}
	s.screen.table(text.Bytes())
}

// missedText is how many messages are missing, with a + where there are more that nobody
// counted.
func (f *figures) missedText() string {
	text := fmt.Sprint(f.missed)
	if f.unknownGaps > 0 {
		text += "+"
	}
	return text
}

func (f *figures) droppedText() string {
	if f.lost() == 0 {
		return "0"
	}
	return fmt.Sprintf("%d %s", f.lost(), f.cause)
}

// listenSummary is what `raybridge listen --json` prints.
type listenSummary struct {
	Schema  int     `json:"schema"`
	Address string  `json:"address"`
	Seconds float64 `json:"seconds"`
	// Connections counts those that were made, Restarts those of them that met another
	// server than before.
	Connections int             `json:"connections"`
	Restarts    int             `json:"restarts"`
	Streams     []streamSummary `json:"streams"`
}

// streamSummary is one stream of it.
type streamSummary struct {
	streamJSON
	Messages int64 `json:"messages"`
	Bytes    int64 `json:"bytes"`
	// RateHz is in this machine's time, RateSimHz in simulated time.
	RateHz    float64 `json:"rate_hz"`
	RateSimHz float64 `json:"rate_sim_hz"`
	// Missed counts gaps between messages that came; Dropped what the server said it
	// dropped, mostly for DropCause; UnknownGaps gaps over a restart of the server.
	Missed      uint64 `json:"missed"`
	Dropped     uint64 `json:"dropped"`
	DropCause   string `json:"drop_cause,omitempty"`
	UnknownGaps int64  `json:"unknown_gaps"`
	// Latencies are simulated, from capture to publication.
	LatencyMeanMs float64 `json:"latency_mean_ms"`
	LatencyMaxMs  float64 `json:"latency_max_ms"`
	LastStampNs   int64   `json:"last_stamp_ns"`
	Saved         int     `json:"saved"`
	SavedBytes    int64   `json:"saved_bytes"`
	Unsaved       int64   `json:"unsaved"`
}

// streamJSON describes a stream.
type streamJSON struct {
	Topic      string `json:"topic"`
	Sensor     string `json:"sensor,omitempty"`
	SensorType string `json:"sensor_type,omitempty"`
	Message    string `json:"message"`
	Latched    bool   `json:"latched,omitempty"`
}

func describeStream(i *stream.Info) streamJSON {
	return streamJSON{Topic: i.Name, Sensor: i.Sensor, SensorType: i.SensorType, Message: i.Message, Latched: i.Latched}
}

// summaryLocked is what was received; s.mu must be held.
func (s *listenSession) summaryLocked() listenSummary {
	summary := listenSummary{
		Schema: 1, Address: s.address, Seconds: s.took.Seconds(),
		Connections: s.connections, Restarts: s.restarts, Streams: []streamSummary{},
	}
	for _, r := range s.order {
		f := &r.figures
		row := streamSummary{
			streamJSON: describeStream(&r.info), Messages: f.messages, Bytes: f.bytes,
			RateHz: rate(f.messages, f.at.Sub(f.firstAt)), RateSimHz: rate(f.messages, time.Duration(f.stampNs-f.firstNs)),
			Missed: f.missed, Dropped: f.lost(), DropCause: f.cause, UnknownGaps: f.unknownGaps,
			LatencyMaxMs: float64(f.maxLatencyNs) / 1e6, LastStampNs: f.stampNs, Unsaved: r.unsaved,
		}
		if f.messages > 0 {
			row.LatencyMeanMs = float64(f.latencyNs) / float64(f.messages) / 1e6
		}
		if r.saver != nil {
			row.Saved, row.SavedBytes = r.saver.Saved()
		}
		summary.Streams = append(summary.Streams, row)
	}
	return summary
}

// finish prints the end of a session: a line, or JSON.
func (s *screen) finish(sum *listenSummary, f *listenFlags) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.json {
		return printJSON(s.out, sum)
	}
	var messages, size, savedBytes int64
	var missed, dropped uint64
	saved := 0
	for i := range sum.Streams {
		r := &sum.Streams[i]
		messages, size, missed, dropped = messages+r.Messages, size+r.Bytes, missed+r.Missed, dropped+r.Dropped
		saved, savedBytes = saved+r.Saved, savedBytes+r.SavedBytes
	}
	fmt.Fprintf(s.out, "%.1f s: %s of %s, %.1f MB; %d missed, %d dropped by the server\n",
		sum.Seconds, count(messages, "message"), count(len(sum.Streams), "stream"), float64(size)/1e6, missed, dropped)
	if f.save != "" {
		fmt.Fprintf(s.out, "saved %s, %.1f MB, in %s\n", count(saved, "message"), float64(savedBytes)/1e6, f.save)
	}
	return nil
}

func printJSON(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false) // connections have an &
	return encoder.Encode(v)
}

// printStreams prints what a server has.
func printStreams(out io.Writer, streams []stream.Info, asJSON bool) error {
	if asJSON {
		list := []streamJSON{}
		for i := range streams {
			list = append(list, describeStream(&streams[i]))
		}
		return printJSON(out, list)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "topic\ttype\tsensor\tsensor's type")
	for i := range streams {
		info := &streams[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", info.Name, info.Message, orDash(info.Sensor), orDash(info.SensorType))
	}
	return w.Flush()
}

// orDash shows that there is nothing.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
