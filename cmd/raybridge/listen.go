package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/save"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/simtime"
	"github.com/spf13/cobra"
)

// listenFlags are the flags of `raybridge listen`.
type listenFlags struct {
	save, format string
	duration     time.Duration
	count        int
	list         bool
	json         bool
	zstd         bool
}

func newListen() *cobra.Command {
	var f listenFlags
	cmd := &cobra.Command{
		Use:   "listen ADDR [SENSOR]",
		Short: "Show or save what a stream bridge serves",
		Long: "Show or save what a stream bridge serves.\n\n" +
			"ADDR is where `raybridge run --bridge stream:ADDR` listens: [HOST:]PORT, or stream: for the usual port.\n" +
			"SENSOR is a sensor's name, a topic, or a pattern of either or of the sensor's type, such as '/front/*' or\n" +
			"'sensor.lidar.*'; without it everything is received.\n\n" +
			"Unless --save is given, it prints a table each second: messages a second of this machine's time over the last " +
			windowText + ", messages that\n" +
			"are missing, messages that the server dropped for this receiver, simulated time from capture to publication.\n" +
			"A connection that breaks is made again. Ctrl-C ends it.",
		Example: "  raybridge listen 127.0.0.1:7740\n" +
			"  raybridge listen 7740 --list\n" +
			"  raybridge listen 7740 front --save out/front --count 10\n" +
			"  raybridge listen 7740 '*/points' --save out/clouds --format ply --duration 5s",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("give the address of a stream bridge, such as " + stream.DefaultAddress))
			}
			return upToArgs(2)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return listen(cmd, args, &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.save, "save", "", "write messages into `DIR`, a file each; those without a picture or points as lines of JSON")
	flags.StringVar(&f.format, "format", "auto", "`FORMAT` of saved files: "+strings.Join(save.Formats(), ", "))
	flags.DurationVar(&f.duration, "duration", 0, "end after this time; 0 is until Ctrl-C")
	flags.IntVar(&f.count, "count", 0, "end when so many messages of each stream have come; 0 is until Ctrl-C")
	flags.BoolVar(&f.list, "list", false, "list the streams and end")
	flags.BoolVar(&f.json, "json", false, "print what was received, or the list, as JSON at the end instead of tables")
	flags.BoolVar(&f.zstd, "zstd", false, "ask the server to compress")
	addLogFlags(cmd)
	return cmd
}

// listen receives until it is told to end.
func listen(cmd *cobra.Command, args []string, f *listenFlags) error {
	s, err := newListenSession(cmd, args, f)
	if err != nil {
		return usage(err)
	}
	if f.list {
		return s.list(cmd.Context())
	}
	if f.save != "" {
		format, err := save.ParseFormat(f.format)
		if err != nil {
			return usage(fmt.Errorf("--format: %w", err))
		}
		if s.folder, err = save.NewFolder(f.save, format); err != nil {
			return usage(err)
		}
		defer s.folder.Close()
		if err := proveWritable(f.save); err != nil {
			return usage(fmt.Errorf("--save: %w", err))
		}
	}
	return s.conclude(s.run(cmd.Context()))
}

// newListenSession checks the command line.
func newListenSession(cmd *cobra.Command, args []string, f *listenFlags) (*listenSession, error) {
	switch {
	case f.duration < 0:
		return nil, fmt.Errorf("--duration %v is negative", f.duration)
	case f.count < 0:
		return nil, fmt.Errorf("--count %d is negative", f.count)
	case f.list && (f.save != "" || f.count > 0 || f.duration > 0):
		return nil, errors.New("--list ends at once: give it without --save, --count and --duration")
	case cmd.Flags().Changed("format") && f.save == "":
		return nil, errors.New("--format says how to save: give --save DIR too")
	}
	address, err := parseStreamAddress(args[0])
	if err != nil {
		return nil, err
	}
	s := &listenSession{
		flags: f, address: address, screen: newScreen(cmd.OutOrStdout(), cmd.ErrOrStderr()),
		ready: make(chan struct{}), ended: make(chan error, 1), rows: map[string]*listenRow{},
	}
	if len(args) == 2 {
		s.wanted, err = parseSelection(args[1])
	}
	return s, err
}

// parseStreamAddress reads [HOST:]PORT, after stream: or not; stream: alone is where the
// bridge listens without an address.
func parseStreamAddress(text string) (string, error) {
	connection, bridge := strings.CutPrefix(text, "stream:")
	switch {
	case bridge && connection == "":
		return stream.DefaultAddress, nil
	case strings.HasPrefix(text, "carla:"):
		return "", fmt.Errorf("bad address %q: a carla bridge is for CARLA's own client code; give the address of a stream bridge", text)
	}
	host, port := "", connection
	if _, err := strconv.ParseUint(connection, 10, 64); err != nil {
		if host, port, err = net.SplitHostPort(connection); err != nil {
			return "", fmt.Errorf("bad address %q: need PORT or HOST:PORT, such as %s%s", text, stream.DefaultAddress, meantBridge(text))
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("bad address %q: the port is a number from 1 to 65535%s", text, meantBridge(text))
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// meantBridge says, of an address that is wrong, what may be meant if it begins as a bridge's
// connection string does.
func meantBridge(text string) string {
	kind, _, _ := strings.Cut(text, ":")
	switch {
	case kind == "stream":
		return ""
	case slices.Contains(bridgeRegistry().Names(), kind):
		return "; listen is for stream bridges, and a bridge " + kind + " has receivers of its own"
	case fault.Closest(kind, []string{"stream"}) != "":
		return "; did you mean stream:?"
	}
	return ""
}

// selection says which streams are wanted; the zero value all.
type selection string

// pathless takes the slashes' meaning from patterns and names.
func pathless(s string) string { return strings.ReplaceAll(strings.TrimPrefix(s, "/"), "/", "\x1f") }

// parseSelection checks a sensor's name, topic or pattern.
func parseSelection(text string) (selection, error) {
	if text == "" {
		return "", errors.New("the sensor is empty: leave it out to receive everything")
	}
	if _, err := path.Match(pathless(text), ""); err != nil {
		return "", fmt.Errorf("bad pattern %q: %w", text, err)
	}
	return selection(text), nil
}

// matches reports whether a stream is wanted. Patterns are path.Match's, where * also
// goes over slashes; the first slash may be left out.
func (s selection) matches(i *stream.Info) bool {
	if s == "" {
		return true
	}
	return slices.ContainsFunc([]string{i.Name, i.Sensor, i.SensorType}, func(name string) bool {
		return name != "" && fits(string(s), name)
	})
}

// fits reports whether a pattern that was checked matches a name.
func fits(pattern, name string) bool {
	ok, _ := path.Match(pathless(pattern), pathless(name))
	return ok
}

// list prints the server's streams.
func (s *listenSession) list(ctx context.Context) error {
	client, err := stream.Dial(ctx, s.address, stream.Options{})
	if err != nil {
		return &exitError{exitIncomplete, err}
	}
	defer client.Close()
	var found []stream.Info
	streams := client.Streams()
	for i := range streams {
		if s.wanted.matches(&streams[i]) {
			found = append(found, streams[i])
		}
	}
	if len(found) == 0 && s.wanted != "" {
		return usage(s.unknown(streams))
	}
	return printStreams(s.screen.out, found, s.flags.json)
}

// listenSession is one `raybridge listen`.
type listenSession struct {
	flags   *listenFlags
	address string
	wanted  selection
	folder  *save.Folder // nil without --save
	screen  *screen

	client *stream.Client // set before ready is closed
	ready  chan struct{}
	ended  chan error // of one place: why it ends, nil for what was asked for

	mu sync.Mutex
	// rows has the streams that are listened to by name, order as they came.
	rows  map[string]*listenRow // guarded by mu
	order []*listenRow          // guarded by mu
	// connections were made, restarts of them met another server than before; lastErr is
	// why there is none.
	connections, restarts int           // guarded by mu
	lastErr               error         // guarded by mu
	retries               flow.Journal  // guarded by mu: of lines about it; the zero value while there is one
	took                  time.Duration // written by run, read after it
}

// listenRow is one stream that is listened to.
type listenRow struct {
	info    stream.Info
	saver   *save.Stream // used by the stream's callback; nil without --save
	figures figures      // guarded by the session's mu
	// unsaved counts messages that could not be saved, for whyUnsaved at first.
	unsaved    int64 // guarded by the session's mu
	whyUnsaved error // guarded by the session's mu
	enough     bool  // guarded by the session's mu: --count messages have come
	refused    bool  // guarded by the session's mu
}

// waiting is how many messages of a stream may wait to be counted or saved. Then the
// client stops reading, and the server drops what its own policy says: so that what is
// lost is counted there, with its cause.
const waiting = 64

// retryLimit is the longest time between attempts to connect: a run that has begun is
// soon received.
const retryLimit = 2 * time.Second

// run receives until the context or what the flags say ends it.
func (s *listenSession) run(ctx context.Context) error {
	begun := time.Now()
	defer func() { s.took = time.Since(begun) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.flags.duration > 0 {
		ctx, cancel = context.WithTimeout(ctx, s.flags.duration)
		defer cancel()
	}
	client, err := stream.Dial(ctx, s.address, stream.Options{
		Wait: true, MaxBackoff: retryLimit, Zstd: s.flags.zstd, Queue: flow.QueueConfig{Messages: waiting, Policy: flow.Block},
		Events: func(e stream.Event) {
			<-s.ready
			if ctx.Err() == nil { // what follows is our own end
				s.event(ctx, &e)
			}
		},
	})
	if err != nil {
		return err
	}
	s.client = client
	close(s.ready)
	defer func() {
		cancel()
		<-client.Done()
	}()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-s.ended:
			return err
		case <-ticker.C:
			s.show(time.Now())
		}
	}
}

// end lets run return; the first reason counts.
func (s *listenSession) end(err error) {
	select {
	case s.ended <- err:
	default:
	}
}

// event follows the connection.
func (s *listenSession) event(ctx context.Context, e *stream.Event) {
	switch e.Kind {
	case stream.EventConnected:
		s.connected(ctx, e.Restarted)
	case stream.EventStream:
		s.announced(ctx, e.Stream)
	case stream.EventDisconnected:
		s.screen.say("disconnected: %v", e.Err)
	case stream.EventRetry:
		s.retry(e)
	case stream.EventRefused:
		s.refused(e)
	case stream.EventLosses:
		s.withRow(e.Stream, func(r *listenRow) { r.figures.lose(e.Missed, e.Reason) })
	case stream.EventGap:
		if !e.Known {
			s.withRow(e.Stream, func(r *listenRow) { r.figures.unknownGaps++ })
		}
	}
}

func (s *listenSession) withRow(name string, f func(*listenRow)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rows[name]; r != nil {
		f(r)
	}
}

// connected says so, and listens to what the server has.
func (s *listenSession) connected(ctx context.Context, restarted bool) {
	streams := s.client.Streams()
	s.mu.Lock()
	first := s.connections == 0
	s.connections++
	s.retries = flow.Journal{}
	if restarted {
		s.restarts++
	}
	for _, r := range s.order {
		r.figures.reconnected()
		r.refused = false // the client asks again
	}
	s.mu.Unlock()
	switch {
	case first:
		s.screen.say("connected to %s: %s", s.address, fault.Count(len(streams), "stream"))
	case restarted:
		s.screen.say("connected again to %s: the server was restarted, so what was missed isn't known", s.address)
	default:
		s.screen.say("connected again to %s", s.address)
	}
	s.subscribe(ctx, streams, first)
}

// announced listens to a stream that the server has added, if it is wanted.
func (s *listenSession) announced(ctx context.Context, name string) {
	var refused *listenRow
	s.withRow(name, func(r *listenRow) {
		if r.refused {
			r.refused, refused = false, r
		}
	})
	if refused != nil {
		s.again(ctx, refused)
	}
	streams := s.client.Streams()
	if i := slices.IndexFunc(streams, func(i stream.Info) bool { return i.Name == name }); i >= 0 {
		s.subscribe(ctx, streams[i:i+1], false)
	}
}

// again asks for a stream that was refused: the client has the callback, and asks only
// when it connects.
func (s *listenSession) again(ctx context.Context, r *listenRow) {
	err := s.client.Stop(r.info.Name)
	if err == nil {
		err = s.client.Listen(ctx, r.info.Name, func(d *stream.Data) { s.receive(r, d) })
	}
	if err != nil && ctx.Err() == nil {
		s.end(err)
	}
}

// subscribe listens to those streams that are wanted and not listened to yet. Where
// whole is set, they are all that the server has, and to have none is wrong use.
func (s *listenSession) subscribe(ctx context.Context, streams []stream.Info, whole bool) {
	matched, unfit := 0, []string{}
	for i := range streams {
		info := streams[i]
		if !s.wanted.matches(&info) || s.listening(info.Name) {
			continue
		}
		matched++
		r := &listenRow{info: info, figures: newFigures(time.Now())}
		if s.folder != nil {
			var err error
			if r.saver, err = s.folder.Stream(info); err != nil {
				unfit = append(unfit, info.Name)
				continue
			}
			s.screen.say("saving %s in %s", info.Name, r.saver.Where())
		}
		s.mu.Lock()
		s.rows[info.Name] = r
		s.order = append(s.order, r)
		s.mu.Unlock()
		if err := s.client.Listen(ctx, info.Name, func(d *stream.Data) { s.receive(r, d) }); err != nil && ctx.Err() == nil {
			s.end(err)
			return
		}
	}
	switch {
	case !whole:
	case matched == 0 && s.wanted != "":
		s.end(usage(s.unknown(streams)))
	case matched == 0:
		s.screen.say("the server has no streams yet")
	case matched == len(unfit):
		s.end(usage(fmt.Errorf("--format %s: nothing can be saved so of %s", s.flags.format, strings.Join(unfit, ", "))))
	case len(unfit) > 0:
		s.screen.say("not saved, as --format %s can't hold them: %s", s.flags.format, strings.Join(unfit, ", "))
	}
}

func (s *listenSession) listening(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows[name] != nil
}

// unknown is the error for a sensor that the server doesn't have.
func (s *listenSession) unknown(streams []stream.Info) error {
	if len(streams) == 0 {
		return fmt.Errorf("unknown sensor or topic %q: the server has no streams", s.wanted)
	}
	var known []string
	for i := range streams {
		for _, name := range []string{streams[i].Sensor, streams[i].Name} {
			if name != "" && !slices.Contains(known, name) {
				known = append(known, name)
			}
		}
	}
	return fmt.Errorf("unknown sensor or topic %q, %s", s.wanted, fault.Hint(string(s.wanted), known))
}

// retry says that there is no connection, and gives up where none can come about.
func (s *listenSession) retry(e *stream.Event) {
	err := e.Err
	s.mu.Lock()
	if s.lastErr == nil || !errors.Is(err, os.ErrDeadlineExceeded) { // the end of the command says nothing of the peer
		s.lastErr = err
	}
	first := s.connections == 0
	untold, tell := s.retries.Tell(time.Now())
	s.mu.Unlock()
	if errors.Is(err, stream.ErrMagic) || errors.Is(err, stream.ErrVersion) {
		if first {
			s.end(nil) // conclude says that there was no connection, and why
		} else {
			s.end(fmt.Errorf("connect again to %s: %w", s.address, err))
		}
		return
	}
	if !tell {
		return
	}
	more := ""
	if untold > 0 {
		more = fmt.Sprintf(" (%s more since the last line)", fault.Count(untold, "attempt"))
	}
	s.screen.say("no connection to %s: %v; next attempt in %.1f s%s", s.address, err, e.Delay.Seconds(), more)
}

// refused says that a server that was restarted doesn't have a stream any more.
func (s *listenSession) refused(e *stream.Event) {
	s.screen.say("%s isn't served any more: %v", e.Stream, e.Err)
	s.withRow(e.Stream, func(r *listenRow) { r.refused = true })
}

// receive counts and saves a message; it is the stream's callback.
func (s *listenSession) receive(r *listenRow, d *stream.Data) {
	var saveErr error
	if r.saver != nil {
		saveErr = r.saver.Save(d)
		if saveErr != nil && !errors.Is(saveErr, save.ErrContent) {
			s.end(saveErr)
			return
		}
	}
	s.mu.Lock()
	r.figures.add(time.Now(), d)
	first := saveErr != nil && r.unsaved == 0
	if saveErr != nil {
		r.unsaved++
	}
	if first {
		r.whyUnsaved = saveErr
	}
	r.enough = s.flags.count > 0 && (r.figures.messages >= int64(s.flags.count) || r.info.Latched)
	enough := r.enough
	all := enough && !slices.ContainsFunc(s.order, func(r *listenRow) bool { return !r.enough })
	s.mu.Unlock()
	if first {
		s.screen.say("%s: %v", r.info.Name, saveErr)
	}
	if enough {
		_ = s.client.Stop(r.info.Name) // stopped already if the client is ending
	}
	if all {
		s.end(nil)
	}
}

// conclude closes files, prints what was received, and decides the exit code. err is
// why the session ended.
func (s *listenSession) conclude(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var unsaved error
	for _, r := range s.order {
		if r.saver != nil {
			err = errors.Join(err, r.saver.Close())
		}
		if r.unsaved > 0 {
			unsaved = errors.Join(unsaved, fmt.Errorf("not saved: %s of %s: %w", fault.Count(r.unsaved, "message"), r.info.Name, r.whyUnsaved))
		}
	}
	if exitCode(err) == exitUsage {
		return err
	}
	if s.connections == 0 {
		return errors.Join(&exitError{exitIncomplete, s.neverConnectedLocked()}, err)
	}
	summary := s.summaryLocked()
	if err = errors.Join(err, s.screen.finish(&summary, s.flags)); err == nil && unsaved != nil {
		err = &exitError{exitIncomplete, unsaved}
	}
	return err
}

// neverConnectedLocked is the error of a session that had no connection; s.mu must be held.
func (s *listenSession) neverConnectedLocked() error {
	if s.lastErr == nil {
		return fmt.Errorf("never connected to %s", s.address)
	}
	return fmt.Errorf("never connected to %s: %w", s.address, s.lastErr)
}

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
	w := columns(&text)
	fmt.Fprintln(w, "topic\ttype\tHz\tmessages\tMB/s\tmissed\tdropped\tlatency ms\tstamp s")
	for _, r := range s.order {
		f := &r.figures
		recent, latency, stamp := f.recent(now), "-", "-"
		if recent.heard {
			latency = fmt.Sprintf("%.1f", recent.latencyMs)
		}
		if f.messages > 0 {
			stamp = fmt.Sprintf("%.3f", float64(f.stamp)*1e-9)
		}
		fmt.Fprintf(w, "%s\t%s\t%.1f\t%d\t%.2f\t%s\t%s\t%s\t%s\n",
			r.info.Name, r.info.Schema.Name, recent.hz, f.messages, recent.megabytes, f.missedText(), f.droppedText(), latency, stamp)
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
	return streamJSON{Topic: i.Name, Sensor: i.Sensor, SensorType: i.SensorType, Message: i.Schema.Name, Latched: i.Latched}
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
			RateHz: rate(f.messages, f.at.Sub(f.firstAt)), RateSimHz: rate(f.messages, time.Duration(f.stamp-f.firstNs)),
			Missed: f.missed, Dropped: f.lost(), DropCause: f.cause, UnknownGaps: f.unknownGaps,
			LatencyMaxMs: float64(f.maxLatencyNs) / 1e6, LastStampNs: int64(f.stamp), Unsaved: r.unsaved,
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
		sum.Seconds, fault.Count(messages, "message"), fault.Count(len(sum.Streams), "stream"), float64(size)/1e6, missed, dropped)
	if f.save != "" {
		fmt.Fprintf(s.out, "saved %s, %.1f MB, in %s\n", fault.Count(saved, "message"), float64(savedBytes)/1e6, f.save)
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
	w := columns(out)
	fmt.Fprintln(w, "topic\ttype\tsensor\tsensor's type")
	for i := range streams {
		info := &streams[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", info.Name, info.Schema.Name, cmp.Or(info.Sensor, "-"), cmp.Or(info.SensorType, "-"))
	}
	return w.Flush()
}

// rateWindow is the time that the table's rates are of; windowText says it in the help.
const (
	rateWindow = 5 * time.Second
	windowText = "5 s"
)

// mark is what had come of a stream at one time.
type mark struct {
	at              time.Time
	messages, bytes int64
	latencyNs       int64
}

// figures are one stream's counts.
type figures struct {
	mark
	// missed counts messages between others that didn't come, dropped those that the
	// server dropped for us; earlier are those of former connections.
	missed, dropped, earlier uint64
	cause                    string // of most drops
	// unknownGaps counts gaps of an unknown length: the server was restarted.
	unknownGaps    int64
	maxLatencyNs   int64
	firstAt        time.Time     // of the first message
	firstNs, stamp simtime.Stamp // capture times of the first and the last message
	marks          []mark        // one a second within the window, oldest first
}

func newFigures(now time.Time) figures {
	f := figures{}
	f.at = now
	f.marks = []mark{f.mark}
	return f
}

// add counts a message.
func (f *figures) add(now time.Time, d *stream.Data) {
	latency := int64(d.Logged() - d.Stamp())
	if f.messages == 0 {
		f.firstAt, f.firstNs = now, d.Stamp()
	}
	f.at, f.stamp = now, d.Stamp()
	f.messages++
	f.bytes += int64(len(d.Bytes()))
	f.latencyNs += latency
	f.maxLatencyNs = max(f.maxLatencyNs, latency)
	f.missed += d.Missed
}

// lose takes the server's count of messages that it has dropped since the subscription.
func (f *figures) lose(total uint64, cause string) { f.dropped, f.cause = total, cause }

// reconnected begins to count the drops of another subscription.
func (f *figures) reconnected() {
	f.earlier += f.dropped
	f.dropped = 0
}

// lost is how many messages the server dropped.
func (f *figures) lost() uint64 { return f.earlier + f.dropped }

// rates are a stream's over a time.
type rates struct {
	hz, megabytes float64 // a second
	latencyMs     float64 // the mean
	heard         bool    // false where nothing came, and all is zero
}

// recent returns the rates over the window up to now; it is asked once a second.
func (f *figures) recent(now time.Time) rates {
	current := f.mark
	current.at = now
	for len(f.marks) > 1 && now.Sub(f.marks[1].at) >= rateWindow {
		f.marks = f.marks[1:]
	}
	oldest := f.marks[0]
	f.marks = append(f.marks, current)
	seconds := now.Sub(oldest.at).Seconds()
	if seconds <= 0 {
		return rates{}
	}
	n := current.messages - oldest.messages
	r := rates{hz: float64(n) / seconds, megabytes: float64(current.bytes-oldest.bytes) / seconds / 1e6, heard: n > 0}
	if r.heard {
		r.latencyMs = float64(current.latencyNs-oldest.latencyNs) / float64(n) / 1e6
	}
	return r
}

// rate is n messages' over the time between the first and the last of them.
func rate(n int64, between time.Duration) float64 {
	if n < 2 || between <= 0 {
		return 0
	}
	return float64(n-1) / between.Seconds()
}
