package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	bridgesall "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/flow"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/internal/closest"
	"github.com/raybridge/raybridge/internal/filefault"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors/sample"
)

// replaySession is one call of `raybridge replay`. All of it runs on one goroutine:
// publishers of network bridges only queue, those of files may wait for the disk.
type replaySession struct {
	flags       *replayFlags
	out, errOut io.Writer
	log         *slog.Logger
	registry    *bridges.Registry
	reader      *mcap.Reader
	bridges     []*bridges.Bridge
	topics      map[string]*replayTopic
	order       []*replayTopic
	pace        *pacer
	progress    *progressPrinter
	clock       *logClock // nil where the recording has its own, or none is wanted
	// now is the log time of the message at hand: what a recording takes as its own.
	now int64
	// begun is when the replay began; log times startNs and lastNs are those of its
	// first and its last message.
	begun           time.Time
	startNs, lastNs int64
}

// replayTopic is a topic and its publisher on each bridge.
type replayTopic struct {
	name       string
	sample     reflect.Type
	qos        flow.QoS
	publishers []bridges.Publisher[any] // nil for bridges that don't carry the type
	messages   int64
	mixed      bool // that its samples have several types was told
}

// newReplaySession opens the recordings and the bridges, and connects none.
func newReplaySession(cmd *cobra.Command, recordings []string, f *replayFlags) (*replaySession, error) {
	if err := f.check(cmd); err != nil {
		return nil, err
	}
	s := &replaySession{
		flags: f, out: cmd.OutOrStdout(), errOut: cmd.ErrOrStderr(), registry: bridgesall.Registry(), topics: map[string]*replayTopic{},
		log: newLog(cmd.ErrOrStderr(), f.quiet),
	}
	var err error
	if s.reader, err = (mcap.Reading{Memory: f.memory.budget()}).Open(recordings[0], recordings[1:]...); err != nil {
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
			if near := closest.Name(s.flags.topics[0], all); near != "" {
				return fmt.Errorf("nothing to replay: no topic %s, did you mean %s?", s.flags.topics[0], near)
			}
		}
		return fmt.Errorf("nothing to replay: the recording's topics are %s", topicList(all))
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
		OutDir: s.flags.out, Now: func() int64 { return s.now },
		Run: bridges.Run{Version: version},
	}
	files := false
	for _, spec := range s.flags.bridges {
		env.Log = s.log.With("bridge", spec)
		b, err := s.registry.Open(spec, env)
		if err != nil {
			return err
		}
		if err := b.Check(); err != nil {
			return err
		}
		files = files || b.Info().Kind == bridges.KindFile
		s.bridges = append(s.bridges, b)
		if err := s.checkRecorder(b); err != nil {
			return err
		}
	}
	if files {
		if err := os.MkdirAll(s.flags.out, 0o755); err != nil {
			return fmt.Errorf("make output folder: %w", filefault.Explain(err))
		}
		if err := proveWritable(s.flags.out); err != nil {
			return fmt.Errorf("output folder: %w", err)
		}
	}
	if s.flags.summary != "" {
		if err := proveFile("--summary", s.flags.summary); err != nil {
			return err
		}
	}
	return nil
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
	err := s.replay(ctx)
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

// specOf is how a bridge was given.
func specOf(b *bridges.Bridge) string { return b.Info().Name + ":" + b.Connection() }

// replay sends the messages until their end, or ctx's.
func (s *replaySession) replay(ctx context.Context) error {
	first, last := s.reader.Span()
	selection := mcap.Selection{Topics: s.flags.wants, FromNs: first + int64(s.flags.start)}
	if s.flags.start == 0 {
		selection.FromNs = 0
	}
	s.startNs = first + int64(s.flags.start)
	if s.startNs > last {
		return usage(fmt.Errorf("--start %v is behind the recording's end: it has %v", s.flags.start, time.Duration(last-first)))
	}
	if s.flags.duration > 0 {
		selection.ToNs = s.startNs + int64(s.flags.duration)
	}
	for {
		selection.Strict = s.flags.strict
		s.reader.Select(selection)
		s.pace.begin(s.startNs)
		s.progress = newReplayProgress(s.errOut, loopEnd(selection, s.startNs, last)-s.startNs, s.flags.quiet)
		if s.clock != nil {
			s.clock.begin(s.startNs)
		}
		before := s.sent()
		err := s.once(ctx)
		s.progress.stop()
		if err != nil {
			return err
		}
		if !s.flags.loop || s.sent() == before {
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
		if err := s.tick(ctx, m.LogNs); err != nil {
			return err
		}
		if err := s.pace.wait(ctx, m.LogNs); err != nil {
			return err
		}
		s.progress.update(pipeline.Progress{Simulated: time.Duration(m.LogNs - s.startNs), Wall: s.pace.now().Sub(s.pace.begun)})
		s.lastNs = max(s.lastNs, m.LogNs)
		s.now = m.LogNs
		if err := s.send(ctx, s.topicOf(m), m.Sample); err != nil {
			return err
		}
	}
}

// tick publishes the clock up to a log time.
func (s *replaySession) tick(ctx context.Context, logNs int64) error {
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
		if err := s.send(ctx, s.topics[clockTopicName], &sample.Clock{StampNs: at}); err != nil {
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

// send publishes one sample on all bridges. What a bridge doesn't take is in its
// statistics; only a recording that can't be written any more ends the replay.
func (s *replaySession) send(ctx context.Context, t *replayTopic, message any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t == nil {
		return nil
	}
	t.messages++
	for i, publish := range t.publishers {
		if publish == nil {
			continue
		}
		if err := publish(ctx, message); errors.Is(err, bridges.ErrWriteFailed) {
			return fmt.Errorf("replay to bridge %s: %w", s.bridges[i].Info().Name, err)
		}
	}
	return nil
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
