package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/bridges"
	bridgesall "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// replayFlags are the flags of `raybridge replay`.
type replayFlags struct {
	bridges         []string
	rate            float64
	fast            bool
	start, duration time.Duration
	loop            bool
	strict          bool
	topics          []string
	noClock         bool
	wait            time.Duration
	policy          string
	out             string
	quiet           bool
	stdout          bool
	summary         string
	memory          memoryLimit

	parsed []config.Bridge // of bridges, by check
}

func newReplay() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay RECORDING...",
		Short: "Send a recording through bridges, at its own times",
		Long: "Send a recording through bridges, at its own times.\n\n" +
			"RECORDING is an MCAP file, a rosbag2 folder with MCAP files, or the name without number of a split recording.\n" +
			"Several are replayed as one, by the times at which their messages were recorded; gaps between them stay.\n" +
			"Messages are those that raybridge records, of ROS 2, ROS 1 or Foxglove; messages of unknown types are left out with a warning.\n" +
			"Stamps stay as they were recorded. /clock is the recording's, or made from its log times if it has none.\n" +
			"Ctrl-C ends it.",
		Example: "  raybridge replay out/drive/recording --bridge foxglove: --loop\n" +
			"  raybridge replay drive.mcap --bridge rosbridge:localhost --rate 0.5 --start 10s --loop\n" +
			"  raybridge replay drive_*.mcap --bridge foxglove: --topics '/lidar/*,/tf*'\n" +
			"  raybridge replay drive.mcap --bridge 'mcap:ros1.mcap?profile=ros1' --fast\n" +
			"  raybridge replay drive.mcap --stdout --fast | my-program",
		Args: someArgs("a recording, such as drive.mcap or a rosbag2 folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := newReplaySession(cmd, args, &f)
			if err != nil {
				return usage(err)
			}
			return r.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.bridges, "bridge", nil, "`TYPE:CONNECTION` of a bridge, such as foxglove: or mcap:copy.mcap; repeatable")
	flags.Float64Var(&f.rate, "rate", 1, "recorded seconds per second; 0 is as fast as the bridges take it")
	flags.BoolVar(&f.fast, "fast", false, "the same as --rate 0")
	flags.DurationVar(&f.start, "start", 0, "begin so long after the first message of all")
	flags.DurationVar(&f.duration, "duration", 0, "end after so much recorded time; 0 is the recording's end")
	flags.BoolVar(&f.loop, "loop", false, "begin again at the end, with the same stamps again")
	flags.BoolVar(&f.strict, "strict", false, "end at a damaged part of a recording, rather than leave it out")
	flags.StringSliceVar(&f.topics, "topics", nil, "only `TOPICS` of these names or patterns, such as '/points,/camera/*'")
	flags.BoolVar(&f.noClock, "no-clock", false, "publish no /clock if the recording has none")
	flags.DurationVar(&f.wait, "wait", 10*time.Second, "wait so long for the bridges to connect")
	flags.StringVar(&f.policy, "policy", "", "`POLICY` of full queues: block, drop_newest, drop_oldest or exclusive")
	flags.StringVar(&f.out, "out", defaultOut, "`DIR` for the recordings of file bridges")
	flags.BoolVar(&f.quiet, "quiet", false, "print errors only")
	flags.BoolVar(&f.stdout, "stdout", false, "write the samples to the standard output, in the stream protocol: a program that reads them loses none")
	flags.StringVar(&f.summary, "summary", "", "write what was replayed to `FILE.json`")
	addMemoryLimit(cmd, &f.memory)
	completeFlags(cmd)
	addLogFlags(cmd)
	return cmd
}

// check reads what the flags mean.
func (f *replayFlags) check(cmd *cobra.Command) error {
	switch {
	case len(f.bridges) == 0 && !f.stdout:
		return errors.New("nowhere to send it: give --bridge, such as mcap:copy.mcap, or --stdout")
	case f.stdout && isTerminal(cmd.OutOrStdout()):
		return errors.New("--stdout: the standard output is a terminal, and the samples are for a program: give it one, such as | my-program")
	case !(f.rate >= 0 && f.rate <= maxRate): // nor is NaN in it
		return fmt.Errorf("--rate %v: the range is 0 to %d", f.rate, maxRate)
	case f.fast && cmd.Flags().Changed("rate") && f.rate != 0:
		return errors.New("give either --fast or --rate, not both")
	case f.start < 0:
		return fmt.Errorf("--start %v is negative", f.start)
	case f.duration < 0:
		return fmt.Errorf("--duration %v is negative", f.duration)
	case f.wait < 0:
		return fmt.Errorf("--wait %v is negative", f.wait)
	}
	f.parsed = nil
	for _, spec := range f.bridges {
		b, err := parseBridge(spec)
		if err != nil {
			return err
		}
		f.parsed = append(f.parsed, b)
	}
	if err := checkTwice(f.parsed); err != nil {
		return err
	}
	if f.fast {
		f.rate = 0
	}
	for _, pattern := range f.topics {
		if _, err := path.Match(pathless(pattern), ""); err != nil {
			return fmt.Errorf("--topics: bad pattern %q: %w", pattern, err)
		}
	}
	if f.policy != "" {
		if _, err := flow.ParsePolicy(f.policy); err != nil {
			return fmt.Errorf("--policy: %w", err)
		}
	}
	return nil
}

// maxRate is as much as a rate may be; above it there is --fast.
const maxRate = 1000

// wants reports whether a topic is to be replayed.
func (f *replayFlags) wants(topic string) bool {
	return len(f.topics) == 0 || slices.ContainsFunc(f.topics, func(pattern string) bool { return fits(pattern, topic) })
}

// replaySession is one call of `raybridge replay`. All of it runs on one goroutine:
// publishers of network bridges only queue, those of files may wait for the disk.
type replaySession struct {
	flags       *replayFlags
	stdout      io.Writer
	out, errOut io.Writer // tables and errors
	log         *slog.Logger
	registry    *bridges.Registry
	reader      *mcap.Reader
	bridges     []*bridges.Bridge
	topics      map[string]*replayTopic
	order       []*replayTopic
	pace        *pacer
	progress    *progressPrinter
	pipe        *stream.Writer // nil without --stdout
	clock       *logClock      // nil where the recording has its own, or none is wanted
	// now is the log time of the message at hand: what a recording takes as its own.
	now simtime.Stamp
	// begun is when the replay began; log times startNs and lastNs are those of its
	// first and its last message.
	begun           time.Time
	startNs, lastNs simtime.Stamp
	sent            int64 // messages of all topics
}

// replayTopic is a topic and its publisher on each bridge.
type replayTopic struct {
	name       string
	sample     reflect.Type
	qos        flow.QoS
	publishers []bridges.Publisher[any] // nil for bridges that don't carry the type
	track      *stream.Track            // nil without --stdout
	messages   int64
	// unconverted has the bridges of which it was told that they can't take a message.
	unconverted map[*bridges.Bridge]bool
	mixed       bool // that its samples have several types was told
}

// newReplaySession opens the recordings and the bridges, and connects none.
func newReplaySession(cmd *cobra.Command, recordings []string, f *replayFlags) (*replaySession, error) {
	if err := f.check(cmd); err != nil {
		return nil, err
	}
	s := &replaySession{
		flags: f, stdout: cmd.OutOrStdout(), out: cmd.OutOrStdout(), errOut: cmd.ErrOrStderr(), registry: bridgesall.Registry(), topics: map[string]*replayTopic{},
		log: newLog(cmd.ErrOrStderr(), f.quiet),
	}
	if f.stdout {
		s.out = s.errOut
	}
	var err error
	done := flow.TellLong(s.log, "reading where the recording's messages are")
	s.reader, err = (mcap.Reading{Memory: f.memory.budget()}).Open(recordings[0], recordings[1:]...)
	done()
	if err != nil {
		return nil, err
	}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, s.reader.Close())
	}
	return s, nil
}

// prepare opens the bridges with the recording's topics.
func (s *replaySession) prepare() error {
	if err := s.openBridges(); err != nil {
		return err
	}
	hasClock := false
	var all []string
	for _, t := range s.reader.Topics() {
		all = append(all, t.Name)
		if !s.flags.wants(t.Name) {
			continue
		}
		if t.Sample == nil {
			s.log.Warn("topic is left out: there is no type for its messages", "topic", t.Name, "type", t.Type, "encoding", t.Encoding)
			continue
		}
		if s.topics[t.Name] != nil {
			continue // another channel of it; topicOf tells if its messages are others
		}
		hasClock = hasClock || t.Sample == reflect.TypeFor[*sample.Clock]()
		if err := s.addTopic(t.Name, t.Sample, t.QoS); err != nil {
			return err
		}
	}
	if len(s.order) == 0 {
		if len(s.flags.topics) == 1 {
			if near := fault.Closest(s.flags.topics[0], all); near != "" {
				return fmt.Errorf("nothing to replay: no topic %s, did you mean %s?", s.flags.topics[0], near)
			}
		}
		return fmt.Errorf("nothing to replay: the recording's topics are %s", cmp.Or(strings.Join(all, ", "), "none"))
	}
	if !hasClock && !s.flags.noClock && s.topics[clockTopicName] == nil {
		if err := s.addTopic(clockTopicName, reflect.TypeFor[*sample.Clock](), flow.ClockQoS); err != nil {
			return err
		}
		s.clock = &logClock{}
	}
	s.warn()
	return nil
}

// warn says what of the recording may not be what its user thinks.
func (s *replaySession) warn() {
	if first, second := s.reader.Overlap(); first != "" {
		s.log.Warn("two files have messages of the same times, which are mixed: are they of one run, and none a copy?", "first", first, "second", second)
	}
	for _, path := range s.reader.Unfinished() {
		s.log.Warn("the recording was not finished: it is read up to its last complete chunk", "file", path)
	}
}

// warnOfLosses says which fields of ground truth a bridge gets as zero, since the recording
// lacks them, and which its own messages leave out. The bridges are connected: only then do all
// know their messages.
func (s *replaySession) warnOfLosses() {
	recorded := map[string]string{}
	for _, t := range s.reader.Topics() {
		if recorded[t.Name] == "" {
			recorded[t.Name] = t.Type
		}
	}
	for _, b := range s.bridges {
		for _, out := range b.Statistics().Topics {
			t := s.topics[out.Topic]
			if t == nil {
				continue
			}
			from, to := mcap.Lacks(recorded[t.name], t.sample), mcap.Lacks(out.Type, t.sample)
			zero, dropped := without(from, to), without(to, from)
			if len(zero) > 0 {
				s.log.Warn("ground truth was recorded without fields that the bridge has: they are sent as zero", "topic", t.name,
					"bridge", specOf(b), "recorded as", recorded[t.name], "fields", strings.Join(zero, ", "))
			}
			if len(dropped) > 0 {
				s.log.Warn("ground truth has fields that the bridge's messages don't: they are dropped", "topic", t.name,
					"bridge", specOf(b), "sent as", out.Type, "fields", strings.Join(dropped, ", "))
			}
		}
	}
}

// without returns what is in the one list and not in the other.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// clockTopicName is where ROS looks for simulation time.
const clockTopicName = "/clock"

func (s *replaySession) openBridges() error {
	env := bridges.Env{
		OutDir: s.flags.out, Now: func() simtime.Stamp { return s.now },
		Run: bridges.Run{Version: raybridge.Version()},
	}
	for _, spec := range s.flags.bridges {
		env.Log = s.log.With("bridge", spec)
		b, err := s.registry.Open(spec, env)
		if err != nil {
			return err
		}
		if err := b.Check(); err != nil {
			return err
		}
		s.bridges = append(s.bridges, b)
		if err := s.checkRecorder(b); err != nil {
			return err
		}
	}
	return proveOutput(s.flags.out, s.flags.summary, writesBelowOut(s.flags.parsed))
}

// addTopic makes a topic's publishers. A bridge that doesn't carry its type is named;
// a topic that none carries stays, and is counted as left out.
func (s *replaySession) addTopic(name string, sampleType reflect.Type, qos flow.QoS) error {
	t := &replayTopic{name: name, sample: sampleType, qos: qos}
	topic := bridges.Topic{Name: name, QoS: qos}
	if s.flags.policy != "" {
		topic.Policy, _ = flow.ParsePolicy(s.flags.policy) // it was checked
	}
	for _, b := range s.bridges {
		publish, err := bridges.AddPublisherOf(b, sampleType, topic)
		if errors.Is(err, bridges.ErrNoConverter) {
			s.log.Warn("bridge doesn't carry the topic's type", "bridge", specOf(b), "topic", name, "type", sampleType)
		} else if err != nil {
			return err
		}
		t.publishers = append(t.publishers, publish)
	}
	s.topics[name] = t
	s.order = append(s.order, t)
	return nil
}

// run replays and ends the bridges.
func (s *replaySession) run(ctx context.Context) error {
	defer s.reader.Close()
	if err := s.connect(ctx); err != nil {
		return errors.Join(err, s.close())
	}
	s.warnOfLosses()
	s.begun = time.Now()
	s.pace = newPacer(s.flags.rate)
	err := s.announce(ctx)
	if err == nil {
		err = s.replay(ctx)
	}
	if err == nil && s.pipe != nil {
		err = stdoutFault(s.pipe.Close())
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // ended as it was told to
	}
	return s.conclude(errors.Join(err, s.close()))
}

// connect connects the bridges, and waits for those that are still connecting.
func (s *replaySession) connect(ctx context.Context) error {
	for _, b := range s.bridges {
		err := b.Connect(ctx)
		if err == nil {
			continue
		}
		if b.Info().Kind == bridges.KindNetwork && !errors.Is(err, bridges.ErrConnectionString) {
			continue // it is told below
		}
		return usage(err)
	}
	s.printEndpoints()
	begun := time.Now()
	limited, cancel := context.WithTimeout(ctx, s.flags.wait)
	defer cancel()
	for _, b := range s.bridges {
		if err := b.Await(limited); err != nil && ctx.Err() == nil { // else the replay ends at once
			s.log.Warn("bridge hasn't connected: replaying without it", "bridge", specOf(b), "waited", time.Since(begun).Round(time.Millisecond), "error", err)
		}
	}
	return nil
}

// announce tells who reads the standard output of the topics.
func (s *replaySession) announce(ctx context.Context) (err error) {
	if !s.flags.stdout {
		return nil
	}
	if s.pipe, err = stream.NewWriter(newEndingWriter(ctx, s.stdout)); err != nil {
		return stdoutFault(err)
	}
	for _, t := range s.order {
		if t.track, err = s.pipe.Add(stream.Info{Name: t.name, Latched: t.qos.Durability == flow.TransientLocal}, t.sample); err != nil {
			return stdoutFault(err)
		}
	}
	return nil
}

// endingWriter is a writer whose calls end with a context, also while nobody reads: a blocking write can't be broken
// off otherwise. The bytes that such a call was given may still be written, so their memory isn't to be used again.
type endingWriter struct {
	ctx  context.Context
	work chan []byte
	done chan error
}

// newEndingWriter returns one whose goroutine ends with ctx, after the write that it is in.
func newEndingWriter(ctx context.Context, to io.Writer) *endingWriter {
	w := &endingWriter{ctx, make(chan []byte), make(chan error, 1)}
	go func() {
		for {
			select {
			case b := <-w.work:
				_, err := to.Write(b)
				w.done <- err
			case <-ctx.Done():
				return
			}
		}
	}()
	return w
}

func (w *endingWriter) Write(b []byte) (int, error) {
	select {
	case w.work <- b:
	case <-w.ctx.Done():
		return 0, w.ctx.Err()
	}
	select {
	case err := <-w.done:
		return len(b), err
	case <-w.ctx.Done():
		return 0, w.ctx.Err()
	}
}

// stdoutFault says where an error was; nil and the end of a context stay.
func stdoutFault(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("write to the standard output: %w", fault.File(err))
}

// specOf is how a bridge was given.
func specOf(b *bridges.Bridge) string { return b.Info().Name + ":" + b.Connection() }

// replay sends the messages until their end, or ctx's.
func (s *replaySession) replay(ctx context.Context) error {
	first, last := s.reader.Span()
	selection := mcap.Selection{Topics: s.flags.wants, FromNs: first + simtime.Stamp(s.flags.start)}
	if s.flags.start == 0 {
		selection.FromNs = 0
	}
	s.startNs = first + simtime.Stamp(s.flags.start)
	if s.startNs > last {
		return usage(fmt.Errorf("--start %v is behind the recording's end: it has %v", s.flags.start, time.Duration(last-first)))
	}
	if s.flags.duration > 0 {
		selection.ToNs = s.startNs + simtime.Stamp(s.flags.duration)
	}
	for {
		selection.Strict = s.flags.strict
		s.reader.Select(selection)
		s.pace.begin(s.startNs)
		s.progress = newProgressPrinter(s.errOut, "replayed", time.Duration(loopEnd(selection, s.startNs, last)-s.startNs), s.flags.quiet)
		if s.clock != nil {
			s.clock.begin(s.startNs)
		}
		before := s.sent
		err := s.once(ctx)
		s.progress.stop()
		if err != nil {
			return err
		}
		if !s.flags.loop || s.sent == before {
			return nil
		}
		if err := s.pace.wait(ctx, loopEnd(selection, s.startNs, last)); err != nil {
			return err
		}
	}
}

// once sends the selected messages.
func (s *replaySession) once(ctx context.Context) error {
	for {
		m, err := s.reader.Next()
		if errors.Is(err, io.EOF) {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if err := s.tick(ctx, m.Logged); err != nil {
			return err
		}
		if err := s.pace.wait(ctx, m.Logged); err != nil {
			return err
		}
		s.progress.update(pipeline.Progress{Simulated: time.Duration(m.Logged - s.startNs), Wall: s.pace.now().Sub(s.pace.begun)})
		s.lastNs = max(s.lastNs, m.Logged)
		s.now = m.Logged
		if err := s.send(ctx, s.topicOf(m), m.Sample); err != nil {
			return err
		}
	}
}

// tick publishes the clock up to a log time.
func (s *replaySession) tick(ctx context.Context, logNs simtime.Stamp) error {
	if s.clock == nil {
		return nil
	}
	for {
		at, ok := s.clock.next(logNs)
		if !ok {
			return nil
		}
		if err := s.pace.wait(ctx, at); err != nil {
			return err
		}
		s.now = at
		if err := s.send(ctx, s.topics[clockTopicName], &sample.Clock{Stamp: at}); err != nil {
			return err
		}
	}
}

// topicOf returns the topic of a message; nil where its type isn't the topic's.
func (s *replaySession) topicOf(m mcap.Message) *replayTopic {
	t := s.topics[m.Topic]
	if t == nil || reflect.TypeOf(m.Sample) == t.sample {
		return t
	}
	if !t.mixed {
		t.mixed = true
		s.log.Warn("topic has messages of several types: those of later types are left out", "topic", m.Topic, "first", t.sample, "later", reflect.TypeOf(m.Sample))
	}
	return nil
}

// send publishes one sample on all bridges that somebody listens to. A bridge counts what it doesn't take in its
// statistics; only a recording that can't be written any more ends the replay.
func (s *replaySession) send(ctx context.Context, t *replayTopic, message any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t == nil {
		return nil
	}
	t.messages++
	s.sent++
	if t.track != nil {
		if err := t.track.Write(int64(s.now), message.(simtime.Stamped)); err != nil {
			return stdoutFault(err)
		}
	}
	for i, publish := range t.publishers {
		b := s.bridges[i]
		if publish == nil || b.Status() == flow.Connected && !b.Listening(t.name) {
			continue
		}
		err := publish(ctx, message)
		if errors.Is(err, flow.ErrWriteFailed) {
			return fmt.Errorf("replay to bridge %s: %w", b.Info().Name, err)
		}
		if errors.Is(err, bridges.ErrConvert) {
			t.tellUnconverted(s.log, b, err)
		}
	}
	return nil
}

// tellUnconverted says why a bridge can't take the topic's messages: once for each bridge, since the others are probably alike.
func (t *replayTopic) tellUnconverted(log *slog.Logger, b *bridges.Bridge, err error) {
	if t.unconverted[b] {
		return
	}
	if t.unconverted == nil {
		t.unconverted = map[*bridges.Bridge]bool{}
	}
	t.unconverted[b] = true
	log.Warn("publish failed: the topic's first error is told", "bridge", specOf(b), "topic", t.name, "error", err)
}

// close ends the bridges, which first deliver what they have queued.
func (s *replaySession) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	var errs []error
	for _, b := range s.bridges {
		errs = append(errs, b.Close(ctx))
	}
	return errors.Join(errs...)
}

// loopEnd is the log time at which a loop begins again. It is when the recording ends, or the
// part of it, whichever messages are replayed of it. A single message is not a reason to send
// it without a pause.
func loopEnd(part mcap.Selection, startNs, lastNs simtime.Stamp) simtime.Stamp {
	end := lastNs
	if part.ToNs > 0 {
		end = min(end, part.ToNs)
	}
	return max(end, startNs+clockStep)
}

// pacer waits until messages are due on this machine's clock. Their times count from
// the start, so that what one waits too long is not added to the next. A replay that is later than
// mostLate was stopped, or held up. From there on they count from now, since all that came due
// meanwhile would overrun the queues of bridges.
type pacer struct {
	rate  float64 // recorded seconds per second; 0 waits for nothing
	now   func() time.Time
	sleep func(ctx context.Context, d time.Duration) error
	begun time.Time
	// startNs is the recorded time that was due then.
	startNs simtime.Stamp
}

// mostLate is what a replay catches up. A queue of 64 messages takes that at once, with a /clock
// of 100 Hz and an IMU of 400 Hz, too.
const mostLate = 100 * time.Millisecond

func newPacer(rate float64) *pacer { return &pacer{rate: rate, now: time.Now, sleep: sleep} }

// begin makes startNs due now.
func (p *pacer) begin(startNs simtime.Stamp) { p.begun, p.startNs = p.now(), startNs }

// wait returns when a recorded time is due, or ctx ends with its error. What is due
// already costs no wait.
func (p *pacer) wait(ctx context.Context, atNs simtime.Stamp) error {
	if p.rate == 0 {
		return ctx.Err()
	}
	due := p.begun.Add(time.Duration(float64(atNs-p.startNs) / p.rate))
	switch d := due.Sub(p.now()); {
	case d > 0:
		return p.sleep(ctx, d)
	case d < -mostLate:
		p.begun = p.begun.Add(-d)
	}
	return ctx.Err()
}

// sleep waits for a time, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// logClock makes a clock of log times. It has a tick each clockStep, and one right before each
// message that is later than the last tick. So no stamp is ahead of it.
type logClock struct {
	nextNs, lastNs simtime.Stamp
	begun          bool
}

// clockStep is the time between two ticks, nanoseconds.
const clockStep = 10_000_000

func (c *logClock) begin(startNs simtime.Stamp) { *c = logClock{nextNs: startNs} }

// next returns the next tick up to a message's log time, and false when there is none
// left.
func (c *logClock) next(logNs simtime.Stamp) (simtime.Stamp, bool) {
	switch {
	case c.nextNs <= logNs:
		c.lastNs, c.begun = c.nextNs, true
		c.nextNs += clockStep
		return c.lastNs, true
	case c.begun && c.lastNs < logNs:
		c.lastNs = logNs
		return logNs, true
	default:
		return 0, false
	}
}

// checkRecorder returns an error if a bridge would record over what is replayed.
func (s *replaySession) checkRecorder(b *bridges.Bridge) error {
	if b.Info().Type != (mcap.Factory{}).Info().Type {
		return nil
	}
	replaced, err := mcap.Replaces(b.Connection(), s.flags.out)
	if err != nil {
		return err
	}
	for _, path := range replaced {
		there, err := os.Stat(path)
		if err != nil {
			continue // a link to nothing is nothing that is replayed
		}
		for _, source := range s.reader.Files() {
			if info, err := os.Stat(source); err == nil && os.SameFile(info, there) {
				return fmt.Errorf("--bridge %s:%s would overwrite %s, which is to be replayed: give it another name, or another --out",
					b.Info().Name, b.Connection(), source)
			}
		}
	}
	return nil
}

// replaySummary is what a replay did, as --summary writes it.
type replaySummary struct {
	Schema  int    `json:"schema"`
	Version string `json:"version"`
	// ReplayedS is recorded time, WallS this machine's.
	ReplayedS float64               `json:"replayed_s"`
	WallS     float64               `json:"wall_s"`
	Topics    []replayRow           `json:"topics"`
	Skipped   []skippedRow          `json:"skipped"`
	Damaged   []damagedRow          `json:"damaged"`
	Bridges   []carry.BridgeSummary `json:"bridges"`
}

type replayRow struct {
	Topic    string `json:"topic"`
	Type     string `json:"type"`
	Messages int64  `json:"messages"`
}

type skippedRow struct {
	Topic    string `json:"topic"`
	Type     string `json:"type"`
	Messages int64  `json:"messages"`
	Cause    string `json:"cause"`
}

// damagedRow is a part of a recording that couldn't be read.
type damagedRow struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	// FromNs and ToNs are log times, as the recording has them.
	FromNs simtime.Stamp `json:"from_ns"`
	ToNs   simtime.Stamp `json:"to_ns"`
	// Messages were in it, -1 if that isn't known.
	Messages int64  `json:"messages"`
	Cause    string `json:"cause"`
}

// summarySchema is the version of replaySummary's form.
const summarySchema = 1

// summary returns the counts up to now.
func (s *replaySession) summary() *replaySummary {
	sum := &replaySummary{
		Schema: summarySchema, Version: raybridge.Version(), Topics: []replayRow{}, Skipped: []skippedRow{}, Damaged: []damagedRow{}, Bridges: []carry.BridgeSummary{},
	}
	if !s.begun.IsZero() {
		sum.WallS = time.Since(s.begun).Seconds()
		sum.ReplayedS = max(time.Duration(s.lastNs-s.startNs), 0).Seconds()
	}
	for _, t := range s.order {
		sum.Topics = append(sum.Topics, replayRow{t.name, t.sample.String(), t.messages})
	}
	for _, k := range s.reader.Skipped() {
		sum.Skipped = append(sum.Skipped, skippedRow{k.Topic, k.Type, k.Messages, k.Err.Error()})
	}
	for _, d := range s.reader.Damaged() {
		sum.Damaged = append(sum.Damaged, damagedRow{d.Path, d.Offset, d.Bytes, d.FromNs, d.ToNs, d.Lost, d.Err.Error()})
	}
	for _, b := range s.bridges {
		sum.Bridges = append(sum.Bridges, carry.SummaryOf(b))
	}
	return sum
}

// printEndpoints says where receivers connect to.
func (s *replaySession) printEndpoints() {
	if s.flags.quiet {
		return
	}
	var list []carry.BridgeSummary
	for _, b := range s.bridges {
		list = append(list, carry.SummaryOf(b))
	}
	printEndpoints(s.errOut, list)
}

// print writes the final tables.
func (sum *replaySummary) print(s *replaySession) {
	w := columns(s.out)
	fmt.Fprintln(w, "\ntopic\tmessages\ttype")
	for _, t := range sum.Topics {
		fmt.Fprintf(w, "%s\t%d\t%s\n", fault.Printable(t.Topic), t.Messages, fault.Printable(t.Type))
	}
	section(w, "left out\tmessages\tcause", sum.Skipped, func(k *skippedRow) string {
		return fmt.Sprintf("%s\t%d\t%s", fault.Printable(k.Topic), k.Messages, k.Cause)
	})
	printDamaged(w, sum.Damaged)
	printBridges(w, sum.Bridges)
	_ = w.Flush() // a terminal that is gone needs no table
	printConnections(s.out, sum.Bridges)
	fmt.Fprintf(s.out, "\n%.2f s of the recording in %.2f s\n", sum.ReplayedS, sum.WallS)
}

// printDamaged lists what couldn't be read of recordings.
func printDamaged(w io.Writer, list []damagedRow) {
	section(w, "damaged\tfrom byte\tbytes\tfrom\tto\tmessages lost", list, func(d *damagedRow) string {
		lost := "unknown"
		if d.Messages >= 0 {
			lost = strconv.FormatInt(d.Messages, 10)
		}
		return fmt.Sprintf("%s\t%d\t%d\t%.3f s\t%.3f s\t%s", d.File, d.Offset, d.Bytes, float64(d.FromNs)/1e9, float64(d.ToNs)/1e9, lost)
	})
}

// conclude prints the table and decides the exit code.
func (s *replaySession) conclude(err error) error {
	sum := s.summary()
	if !s.flags.quiet {
		sum.print(s)
	}
	if s.flags.summary != "" {
		err = errors.Join(err, sum.write(s.flags.summary))
	}
	if err != nil {
		return err
	}
	if err := incomplete(sum.Bridges, s.registry); err != nil {
		return err
	}
	if len(sum.Damaged) > 0 {
		return &exitError{exitIncomplete, fmt.Errorf("finished without %s of the recording", fault.Count(len(sum.Damaged), "damaged part"))}
	}
	if !slices.ContainsFunc(sum.Topics, func(t replayRow) bool { return t.Messages > 0 }) && len(sum.Skipped) > 0 {
		return &exitError{exitIncomplete, errors.New("finished, but none of the messages could be read: see what was left out")}
	}
	return nil
}

func (sum *replaySummary) write(path string) error {
	data, err := json.MarshalIndent(sum, "", "  ")
	if err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write summary: %w", fault.File(err))
	}
	return nil
}
