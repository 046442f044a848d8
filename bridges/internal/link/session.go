package link

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
)

// linger is how long a peer that was told that nothing follows is given to end the
// connection.
const linger = time.Second

// message is one frame of a topic on its way.
type message struct {
	frame flow.Buffer
	info  *bridges.PublishedTopic
}

// session is one connection with its queues, which end with it: whatever is offered
// afterwards is refused.
type session struct {
	link    *Link
	conn    Conn
	ctx     context.Context
	cancel  context.CancelFunc
	out     *flow.Queue[message]
	answers *flow.Queue[flow.Buffer]
	written int           // registrations on this connection; the writing goroutine's
	read    chan struct{} // closed when the reading goroutine has ended
	// watchdog ends the session when a write takes too long; it runs during writes alone.
	watchdog *time.Timer
	deadline atomic.Int64 // of the write in progress, Unix nanoseconds

	end sync.Once // cancel and the connection's Close

	mu    sync.Mutex
	err   error      // guarded by mu: why it ends
	cause flow.Cause // guarded by mu: for what it didn't deliver
}

func (l *Link) newSession(conn Conn) *session {
	s := &session{link: l, conn: conn, read: make(chan struct{}), cause: flow.CauseNotConnected}
	s.ctx, s.cancel = context.WithCancel(l.living)
	s.out = flow.NewQueue(l.config.Queue, s.drop)
	s.answers = flow.NewQueue(answers, func(b flow.Buffer, _ flow.Cause) { b.Release() })
	s.watchdog = time.AfterFunc(time.Hour, s.expire)
	s.watchdog.Stop()
	return s
}

// drop counts a message that was queued and won't be written.
func (s *session) drop(m message, reason flow.Cause) {
	cause := flow.CausePeerSlow
	if reason == flow.CauseClosed {
		s.mu.Lock()
		cause = s.cause
		s.mu.Unlock()
	}
	m.info.Dropped(cause)
	m.frame.Release()
}

// fail ends the session; the first call says why, unless blame has. It returns before the
// goroutines have ended.
func (s *session) fail(err error, cause flow.Cause) {
	s.blame(err, cause)
	s.end.Do(func() {
		s.cancel()
		_ = s.conn.Close() // the first error is the one to tell
	})
}

// blame says why the session ends. The first call counts, but that the peer speaks another
// protocol explains why it couldn't be written to.
func (s *session) blame(err error, cause flow.Cause) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil || errors.Is(s.err, bridges.ErrWriteFailed) && errors.Is(err, bridges.ErrProtocol) {
		s.err, s.cause = err, cause
	}
}

// ended returns why the session ended, and what that means for messages.
func (s *session) ended() (flow.Cause, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause, s.err
}

// finish has the session end when all that is queued was written.
func (s *session) finish() {
	s.answers.Finish()
	s.out.Finish()
}

// expire is called when a write has taken too long.
func (s *session) expire() {
	s.fail(fmt.Errorf("%w: it took nothing for %v", bridges.ErrPeerSlow, s.link.config.WriteTimeout), flow.CausePeerSlow)
}

// serve reads and writes until the connection is lost, or everything was written after
// finish. Both goroutines have let the session go when it returns.
func (s *session) serve(connected func()) error {
	go s.readFrames()
	if s.register() {
		connected()
		s.writeMessages()
	}
	if _, err := s.ended(); err == nil {
		s.sayGoodbye()
	}
	s.fail(bridges.ErrClosed, flow.CauseClosed)
	s.link.now.Store(nil)
	s.out.Close()
	s.answers.Close()
	s.watchdog.Stop()
	<-s.read
	_, err := s.ended()
	return err
}

// writeMessages writes what is queued, answers first and registrations before all, until
// the session has ended or has nothing more to write.
func (s *session) writeMessages() {
	for s.ctx.Err() == nil {
		finished := s.out.Finished() // asked first, so that nothing comes after the last Pop
		answer, ok := s.answers.Pop()
		if ok {
			if s.register() {
				s.write(answer.Bytes())
			}
			answer.Release()
			continue
		}
		m, ok := s.out.Pop()
		switch {
		case ok:
			s.send(m)
		case finished:
			s.register()
			return
		case s.register():
			select {
			case <-s.out.Ready():
			case <-s.ctx.Done():
			}
		}
	}
}

// send writes a message and counts it.
func (s *session) send(m message) {
	if s.register() && s.write(m.frame.Bytes()) {
		m.info.Sent(m.frame.Len())
	} else {
		cause, _ := s.ended()
		if cause == flow.CauseNotConnected {
			cause = flow.CauseWriteFailed
		}
		m.info.Dropped(cause)
	}
	m.frame.Release()
}

// register writes the registrations that this connection hasn't seen, and reports
// whether it could. A topic's registration was there before its first message was
// queued, so it goes first.
func (s *session) register() bool {
	for int64(s.written) < s.link.registered.Load() {
		s.link.mu.Lock()
		frame := s.link.registrations[s.written]
		s.link.mu.Unlock()
		if !s.write(frame) {
			return false
		}
		s.written++
	}
	return s.ctx.Err() == nil
}

// write writes one frame within the time limit, and reports whether it could; the
// session has ended if not.
func (s *session) write(frame []byte) bool {
	limit := s.link.config.WriteTimeout
	s.deadline.Store(time.Now().Add(limit).UnixNano())
	s.watchdog.Reset(limit)
	err := s.conn.Write((*writing)(s), frame)
	s.watchdog.Stop()
	switch {
	case err == nil:
		return true
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		s.expire()
	default:
		err = fmt.Errorf("%w: %w", bridges.ErrWriteFailed, fault.Net(err))
		s.blame(err, flow.CauseNotConnected)
		s.hearOut() // who refuses what it is sent may have said so
		s.fail(err, flow.CauseNotConnected)
	}
	return false
}

// hearOut waits until all was read that the peer has sent before it closed the connection,
// a little while at the most.
func (s *session) hearOut() {
	timer := time.NewTimer(linger)
	defer timer.Stop()
	select {
	case <-s.read:
	case <-timer.C:
	case <-s.ctx.Done():
	}
}

// sayGoodbye tells the peer that nothing follows, and waits for it to say the same.
func (s *session) sayGoodbye() {
	half, ok := s.conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	s.hearOut()
}

// readFrames hands on what the peer sends, until the connection is lost.
func (s *session) readFrames() {
	defer close(s.read)
	for {
		frame, err := s.conn.Read(s.ctx)
		if err == nil {
			err = s.link.handle(frame)
		} else if errors.Is(err, bridges.ErrProtocol) {
			s.link.malformed(err)
		} else {
			err = fault.Net(err)
		}
		if err != nil {
			s.fail(err, flow.CauseNotConnected)
			return
		}
	}
}

// writing is a session as the context of a write: it ends with the session, and its
// deadline is the write's. One that the context package makes costs memory each time.
type writing session

var _ context.Context = (*writing)(nil)

func (w *writing) Deadline() (time.Time, bool) { return time.Unix(0, w.deadline.Load()), true }
func (w *writing) Done() <-chan struct{}       { return w.ctx.Done() }
func (w *writing) Err() error                  { return w.ctx.Err() }
func (w *writing) Value(key any) any           { return w.ctx.Value(key) }
