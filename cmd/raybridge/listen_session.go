package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/save"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/closest"
	"github.com/raybridge/raybridge/sensors/stream"
	"github.com/raybridge/raybridge/sensors/stream/queue"
)

// listenSession is one `raybridge listen`.
type listenSession struct {
	flags   *listenFlags
	address string
	wanted  selection
	folder  *save.Folder // nil without --save
	screen  *screen
	begun   time.Time

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
	s.begun = time.Now()
	defer func() { s.took = time.Since(s.begun) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.flags.duration > 0 {
		ctx, cancel = context.WithTimeout(ctx, s.flags.duration)
		defer cancel()
	}
	client, err := stream.Dial(ctx, s.address, stream.Options{
		Wait: true, MaxBackoff: retryLimit, Zstd: s.flags.zstd, Queue: queue.Config{Messages: waiting, Policy: flow.Block},
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
		client.Close()
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
		s.screen.say("connected to %s: %s", s.address, count(len(streams), "stream"))
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
	return fmt.Errorf("unknown sensor or topic %q, %s", s.wanted, closest.Hint(string(s.wanted), known))
}

// retry says that there is no connection, and gives up where none can come about.
func (s *listenSession) retry(e *stream.Event) {
	err := e.Err
	s.mu.Lock()
	if s.lastErr == nil || !errors.Is(err, os.ErrDeadlineExceeded) { // the end of the command says nothing of the peer
		s.lastErr = err
	}
	first := s.connections == 0
	s.mu.Unlock()
	if errors.Is(err, stream.ErrMagic) || errors.Is(err, stream.ErrVersion) {
		if first {
			s.end(nil) // conclude says that there was no connection, and why
		} else {
			s.end(fmt.Errorf("connect again to %s: %w", s.address, err))
		}
		return
	}
	s.screen.say("no connection to %s: %v; next attempt in %.1f s", s.address, err, e.Delay.Seconds())
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
		saveErr = r.saver.Save(d.Message)
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
			unsaved = errors.Join(unsaved, fmt.Errorf("not saved: %s of %s: %w", count(r.unsaved, "message"), r.info.Name, r.whyUnsaved))
		}
	}
	if exitCode(err) == exitUsage {
		return err
	}
	if s.connections == 0 {
		return errors.Join(&exitError{exitIncomplete, s.neverLocked()}, err)
	}
	summary := s.summaryLocked()
	if err = errors.Join(err, s.screen.finish(&summary, s.flags)); err == nil && unsaved != nil {
		err = &exitError{exitIncomplete, unsaved}
	}
	return err
}

// neverLocked is the error of a session that had no connection; s.mu must be held.
func (s *listenSession) neverLocked() error {
	if s.lastErr == nil {
		return fmt.Errorf("never connected to %s", s.address)
	}
	return fmt.Errorf("never connected to %s: %w", s.address, s.lastErr)
}
