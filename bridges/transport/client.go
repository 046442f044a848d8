package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
)

// FrameConn is one connection to a peer that carries whole frames. One goroutine writes,
// another reads; Close may be called by any, and ends both. A FrameConn that has a method
// CloseWrite() error too is told by it that nothing follows. The Client then gives the peer a
// second to end the connection, which says that it has read all.
type FrameConn interface {
	// Write sends one frame, or fails; Close ends it where it takes too long.
	Write(ctx context.Context, frame []byte) error
	// Read returns the next frame, which is valid until the next call. A frame that
	// isn't of the protocol is an error that wraps ErrProtocol.
	Read(ctx context.Context) ([]byte, error)
	Close() error
}

// ErrComplaint says that the peer has told of something that it can't do; the connection
// continues.
var ErrComplaint = errors.New("the peer reports")

// ClientConfig says how a Client keeps its connection. The zero value of a field stands for
// its default.
type ClientConfig struct {
	// Dial makes a connection, handshake included. Its errors are told once a cause; those
	// that wrap ErrTLS or ErrProtocol too are tried again.
	Dial func(ctx context.Context) (FrameConn, error)
	// Handle is given each frame that the peer sends, on the reading goroutine. An error
	// that wraps ErrProtocol ends the connection; ErrComplaint is counted as a
	// complaint, any other as malformed; both are logged, ever more rarely. (optional; nil
	// throws frames away)
	Handle func(frame []byte) error
	// Handshake says that Dial returns when the peer has answered: having a connection then
	// shows that the peer speaks the protocol; see Client.Reached.
	Handshake bool
	// Retry says when to dial again.
	Retry Retry
	// Queue bounds what waits for the peer; its Policy isn't used, the outlets' are.
	Queue flow.QueueConfig
	// DialTimeout is for Dial (default 5 s), WriteTimeout for each frame (default 10 s).
	DialTimeout, WriteTimeout time.Duration
	// Log takes what can't be returned; nil discards it.
	Log *slog.Logger
}

func (c ClientConfig) orDefaults() ClientConfig {
	if c.Handle == nil {
		c.Handle = func([]byte) error { return nil }
	}
	c.Queue.Messages = cmp.Or(max(c.Queue.Messages, 0), 64)
	c.Queue.Bytes = cmp.Or(max(c.Queue.Bytes, 0), 64<<20)
	c.DialTimeout = cmp.Or(max(c.DialTimeout, 0), 5*time.Second)
	c.WriteTimeout = cmp.Or(max(c.WriteTimeout, 0), 10*time.Second)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// answers bounds what Post queues.
var answers = flow.QueueConfig{Messages: 64, Bytes: 16 << 20, Policy: flow.DropNewest}

// clientWords are the lines of a Client.
var clientWords = Words{
	Connected: "connected", Again: "connected again",
	Failed: "can't connect; will try again", Lost: "connection lost; will try again",
	GaveUp: "gave up connecting",
}

// Client keeps one outgoing connection: it dials, dials again when the connection is lost, and
// delivers what waits when it is disconnected. What was registered and published outlives the
// connection, and goes to that of the next Open. An instance that embeds one has all of
// bridges.Instance, Failer, Diagnoser and Reacher except Connect, which parses the connection
// string and calls Open. The zero value is ready. Methods may be called from any goroutine, but
// Open, Forget and Disconnect one after the other, as bridges.Bridge does.
type Client struct {
	State
	journal ConnectionLog
	life    atomic.Pointer[life] // nil while disconnected
	// registered is the number of the last registration, which may be read without mu.
	registered atomic.Int64

	mu            sync.Mutex
	registrations []registration // guarded by mu: by rising numbers
	evidence      evidence       // guarded by mu
	closing       bool           // guarded by mu: the life ends
	gaveUp        error          // guarded by mu: of the life
}

// registration is a frame that is written first on each connection.
type registration struct {
	number int64 // from 1 on
	frame  []byte
}

// life is the time from an Open to the end of its goroutine.
type life struct {
	client *Client
	config ClientConfig
	pool   *flow.Pool
	now    atomic.Pointer[link] // the connection there is, else nil

	// dialing ends when the client is disconnected, living when that waits no longer.
	dialing, living context.Context
	stopDialing     context.CancelFunc
	kill            context.CancelFunc
	done            chan struct{} // closed when the goroutine has ended
}

// Open disconnects, and begins to dial as the config says. ctx bounds the disconnection alone.
func (c *Client) Open(ctx context.Context, config ClientConfig) {
	_ = c.Disconnect(ctx) // it has no error
	l := &life{client: c, config: config.orDefaults(), done: make(chan struct{})}
	l.pool = flow.NewPool(flow.PoolConfig{MaxIdle: l.config.Queue.Messages + 8, MaxIdleBytes: l.config.Queue.Bytes})
	l.dialing, l.stopDialing = context.WithCancel(context.Background())
	l.living, l.kill = context.WithCancel(context.Background())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evidence, c.closing = evidence{reached: c.evidence.reached}, false
	c.journal.Begin(l.config.Log, clientWords)
	c.life.Store(l)
	c.SetStatus(flow.Connecting)
	go l.run()
}

// Disconnect delivers what is queued for as long as ctx allows and disconnects; what isn't
// delivered counts as dropped (flow.CauseClosed). Both goroutines have ended when it
// returns. Without a connection it does nothing. The error is nil.
func (c *Client) Disconnect(ctx context.Context) error {
	l := c.life.Load()
	if l == nil {
		return nil
	}
	c.mu.Lock()
	c.closing = true
	c.SetStatus(flow.Disconnecting)
	l.stopDialing()
	if s := l.now.Load(); s != nil {
		s.finish()
	}
	c.mu.Unlock()
	select {
	case <-l.done:
	case <-ctx.Done():
		l.abort()
		<-l.done
	}
	l.kill()
	l.pool.Close()
	c.life.Store(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gaveUp = nil
	c.SetStatus(flow.Disconnected)
	return nil
}

// abort ends the connection, whatever waits.
func (l *life) abort() {
	l.kill()
	l.client.mu.Lock()
	s := l.now.Load()
	l.client.mu.Unlock()
	if s != nil {
		s.fail(flow.ErrClosed, flow.CauseClosed)
	}
}

// setStatus changes the state, unless the client is being disconnected.
func (c *Client) setStatus(s flow.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		c.SetStatus(s)
	}
}

// Err returns nil, or that the client has given up dialing: an error that wraps
// flow.ErrNotConnected and the last failure.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gaveUp
}

// Diagnosis tells how all connections fared together.
func (c *Client) Diagnosis() Diagnosis { return c.journal.Diagnosis() }

// Register has a frame written first on each connection, after those registered before. If
// there is a connection, it is written now too, before whatever is sent from now on. The frame
// is the client's from then on.
func (c *Client) Register(frame []byte) {
	c.mu.Lock()
	number := c.registered.Load() + 1
	c.registrations = append(c.registrations, registration{number, frame})
	c.registered.Store(number)
	c.mu.Unlock()
	if _, s := c.current(); s != nil {
		s.out.Wake()
	}
}

// Unregister takes back the registrations of a frame that is equal: later connections don't see
// them. farewell, where it isn't nil, tells the peer of the present one, behind all messages that wait; it
// is the client's from then on.
func (c *Client) Unregister(frame, farewell []byte) {
	c.mu.Lock()
	c.registrations = slices.DeleteFunc(c.registrations, func(r registration) bool { return bytes.Equal(r.frame, frame) })
	c.mu.Unlock()
	l, s := c.current()
	if s == nil || farewell == nil {
		return
	}
	b := l.pool.Get(len(farewell))
	b.Adopt(append(b.Bytes()[:0], farewell...))
	if err := s.out.Offer(s.ctx, outgoing{frame: b}, int64(len(farewell)), flow.DropOldest); err != nil {
		b.Release() // the connection ends, and with it what the peer knows
	}
}

// Forget takes back all registrations, for a protocol that makes others for each Open. The
// client is disconnected.
func (c *Client) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.registrations = nil
}

// current returns the life and the connection there are, nil where there is none.
func (c *Client) current() (*life, *link) {
	l := c.life.Load()
	if l == nil {
		return nil, nil
	}
	return l, l.now.Load()
}

// Post queues a frame that no topic counts, such as an answer; it is copied, and is
// written before the topics' messages. flow.ErrNotConnected or flow.ErrPeerSlow say that it was not
// taken.
func (c *Client) Post(frame []byte) error {
	l, s := c.current()
	if s == nil {
		return flow.ErrNotConnected
	}
	b := l.pool.Get(len(frame))
	b.Adopt(append(b.Bytes()[:0], frame...))
	if err := s.answers.Offer(s.ctx, b, int64(len(frame)), flow.DropNewest); err != nil {
		b.Release()
		return l.refusal(err)
	}
	s.out.Wake()
	return nil
}

// refusal says why a queue didn't take a frame. Without an Open there is no life: l is nil.
func (l *life) refusal(err error) error {
	switch {
	case errors.Is(err, flow.ErrFull):
		return flow.ErrPeerSlow
	case l != nil && l.dialing.Err() != nil:
		return flow.ErrClosed
	default:
		return flow.ErrNotConnected
	}
}

// Outlet sends one topic's messages over whatever connection a Client has.
type Outlet struct {
	// Header is how many bytes at the beginning of each frame are for the FrameConn alone: they aren't counted as sent. It
	// is set before the first Send.
	Header int

	client *Client
	tally  *flow.Tally
	policy flow.Policy
}

// NewOutlet returns the outlet of a topic whose messages the tally counts. The policy is what a
// full queue does when the topic has a message to send.
func (c *Client) NewOutlet(tally *flow.Tally, policy flow.Policy) *Outlet {
	return &Outlet{client: c, tally: tally, policy: policy}
}

// Buffer lends an empty buffer from the client's pool with room for size bytes if an
// unused one has. The caller Resets or Adopts it, and Sends or Releases it.
func (o *Outlet) Buffer(size int) flow.Buffer {
	if l := o.client.life.Load(); l != nil {
		return l.pool.Get(size)
	}
	return flow.Buffer{}
}

// Send queues one frame, which is the client's from then on, also on an error. An error
// (flow.ErrNotConnected, flow.ErrPeerSlow, flow.ErrClosed, or ctx's where policy block was waiting) says that
// the message was not taken, and nothing was counted. It never waits except under policy block,
// for a second.
func (o *Outlet) Send(ctx context.Context, frame flow.Buffer) error {
	l, s := o.client.current()
	err := flow.ErrClosed
	if s != nil {
		err = s.out.Offer(ctx, outgoing{frame, o.tally, o.Header}, int64(frame.Len()), o.policy)
	}
	if err == nil {
		return nil
	}
	frame.Release()
	if errors.Is(err, flow.ErrFull) && ctx.Err() != nil {
		return ctx.Err() // what ended the wait
	}
	return l.refusal(err)
}

// run dials, serves the connection, and dials again, until the client is disconnected or gives
// up.
func (l *life) run() {
	defer close(l.done)
	c := l.client
	err := Keep(l.dialing, l.config.Retry, func() (bool, error) {
		connected, err := l.connect()
		if l.dialing.Err() != nil && !connected {
			c.journal.unanswered()
		}
		return connected, err
	}, func(loss Loss) {
		if loss.Connected {
			c.setStatus(flow.UnexpectedlyDisconnected)
		}
		c.journal.Lost(loss)
	})
	if err == nil {
		return
	}
	c.mu.Lock()
	c.gaveUp = err
	c.mu.Unlock()
	c.setStatus(flow.UnexpectedlyDisconnected)
}

// connect makes a connection and serves it until it is lost. It reports whether there
// was one.
func (l *life) connect() (connected bool, err error) {
	conn, err := l.dial()
	if err != nil {
		return false, err
	}
	c, s := l.client, l.newLink(conn)
	c.mu.Lock()
	l.now.Store(s)
	c.evidence.since = time.Now()
	if c.closing { // between the end of Dial and here
		s.finish()
	}
	c.mu.Unlock()
	if l.living.Err() != nil {
		s.fail(flow.ErrClosed, flow.CauseClosed)
	}
	err = s.serve(func() {
		connected = true
		c.connected()
	})
	if !connected && !l.config.Handshake {
		// Nothing but the connection shows that somebody is there: it counts also where the
		// peer ended it before it had taken the registrations.
		c.journal.met()
	}
	if connected || !l.config.Handshake {
		c.judge(connected, l.config.Handshake, err)
	}
	return connected, err
}

func (l *life) dial() (FrameConn, error) {
	ctx, cancel := context.WithTimeout(l.dialing, l.config.DialTimeout)
	defer cancel()
	conn, err := l.config.Dial(ctx)
	if err != nil && ctx.Err() != nil && l.dialing.Err() == nil {
		return conn, fault.NetWithin(l.config.DialTimeout, err)
	}
	return conn, fault.Net(err)
}

// connected notes that there is a connection. A reader of the status finds it counted.
func (c *Client) connected() {
	c.mu.Lock()
	c.evidence.up, c.evidence.since = true, time.Now()
	c.mu.Unlock()
	c.journal.Connected()
	c.setStatus(flow.Connected)
}

// handle hands a frame on. It returns an error if the connection can't continue.
func (l *life) handle(frame []byte) error {
	err := l.config.Handle(frame)
	switch {
	case err == nil:
		l.client.answered()
	case errors.Is(err, ErrComplaint):
		l.client.journal.Note(TroubleComplaint, "the peer complains", err)
	default:
		l.client.unread(err)
		if errors.Is(err, ErrProtocol) {
			return err
		}
	}
	return nil
}

// unread counts what the peer sent and couldn't be read.
func (c *Client) unread(err error) {
	c.journal.Note(TroubleUnread, "can't read what the peer sent", err)
}

// proof is how long a connection must last to show that the peer speaks the protocol, where the
// peer has said nothing. Servers of other protocols end it sooner.
const proof = time.Second

// evidence is what a client's connections tell of the peer.
type evidence struct {
	reached  bool // it speaks the protocol
	doubtful bool // it has ended a connection as those do who don't
	answered bool // a frame of it was read on this connection
	// slowest is the longest that a connection lasted until the peer said something that
	// isn't of the protocol.
	slowest time.Duration
	up      bool      // there is a connection
	since   time.Time // when it was made, or had taken the registrations
}

// lasted reports whether the connection has been there for long enough to show that the peer
// speaks the protocol.
func (e *evidence) lasted() bool { return time.Since(e.since) >= max(proof, 2*e.slowest) }

// Reached reports whether the client has ever had a connection to a peer that speaks the
// protocol. Where nothing is acknowledged, having connected doesn't show that: a connection
// counts on which the peer has sent a frame of the protocol. So does one that lasts for a
// second, or until Disconnect, and then isn't ended by what isn't of the protocol. After such an
// end the next must last twice as long as that one did.
// As long as no connection has ended otherwise, the one that there is gets the benefit of
// the doubt.
func (c *Client) Reached() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := &c.evidence
	return e.reached || e.up && (!e.doubtful || e.lasted())
}

// answered notes that the peer has sent a frame of the protocol.
func (c *Client) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evidence.answered = true
}

// judge notes what the end of a connection tells of the peer. Without a handshake a connection
// tells something also where the peer ended it before it had taken the registrations.
func (c *Client) judge(connected, handshake bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := &c.evidence
	answered := e.answered
	e.answered, e.up = false, false
	inOrder := c.closing && (errors.Is(err, flow.ErrClosed) || errors.Is(err, io.EOF))
	switch {
	case answered, handshake:
		e.reached = true
	case errors.Is(err, ErrProtocol):
		e.doubtful, e.slowest = true, max(e.slowest, time.Since(e.since))
	case connected && (e.lasted() || inOrder && !e.doubtful):
		e.reached = true
	default:
		e.doubtful = true
	}
}

// outgoing is one frame of a topic on its way.
type outgoing struct {
	frame flow.Buffer
	tally *flow.Tally // nil for a frame that isn't a message
	// header is how many bytes of the frame aren't sent.
	header int
}

func (m outgoing) dropped(cause flow.Cause) {
	if m.tally != nil {
		m.tally.Dropped(cause)
	}
}

// link is one connection of a client with its queues, which end with it: whatever is offered
// afterwards is refused.
type link struct {
	life    *life
	conn    FrameConn
	ctx     context.Context
	cancel  context.CancelFunc
	out     *flow.Queue[outgoing]
	answers *flow.Queue[flow.Buffer]
	written int64         // number of the last registration on this connection; the writing goroutine's
	read    chan struct{} // closed when the reading goroutine has ended
	// watchdog ends the link when a write takes too long; it runs during writes alone. It looks several
	// times within the limit, so that of a time in which this process is stopped one part counts.
	watchdog *time.Timer
	looks    atomic.Int32 // that are left for the write in progress

	end sync.Once // cancel and the connection's Close

	mu    sync.Mutex
	err   error      // guarded by mu: why it ends
	cause flow.Cause // guarded by mu: for what it didn't deliver
}

func (l *life) newLink(conn FrameConn) *link {
	s := &link{life: l, conn: conn, read: make(chan struct{}), cause: flow.CauseNotConnected}
	s.ctx, s.cancel = context.WithCancel(l.living)
	s.out = flow.NewQueue(l.config.Queue, s.drop)
	s.answers = flow.NewQueue(answers, func(b flow.Buffer, _ flow.Cause) { b.Release() })
	s.watchdog = time.AfterFunc(time.Hour, s.look)
	s.watchdog.Stop()
	return s
}

// drop counts a message that was queued and won't be written.
func (s *link) drop(m outgoing, reason flow.Cause) {
	cause := flow.CausePeerSlow
	if reason == flow.CauseClosed {
		s.mu.Lock()
		cause = s.cause
		s.mu.Unlock()
	}
	m.dropped(cause)
	m.frame.Release()
}

// fail ends the link; the first call says why, unless blame has. It returns before the
// goroutines have ended.
func (s *link) fail(err error, cause flow.Cause) {
	s.blame(err, cause)
	s.end.Do(func() {
		s.cancel()
		_ = s.conn.Close() // the first error is the one to tell
	})
}

// blame says why the link ends. The first call counts, except that the peer's other protocol
// explains why it couldn't be written to.
func (s *link) blame(err error, cause flow.Cause) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil || errors.Is(s.err, flow.ErrWriteFailed) && errors.Is(err, ErrProtocol) {
		s.err, s.cause = err, cause
	}
}

// ended returns why the link ended, and what that means for messages.
func (s *link) ended() (flow.Cause, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause, s.err
}

// finish has the link end when all that is queued was written.
func (s *link) finish() {
	s.answers.Finish()
	s.out.Finish()
}

// look is called several times while a write takes its time, which ends the link at the last.
func (s *link) look() {
	switch left := s.looks.Add(-1); {
	case left == 0:
		s.fail(fmt.Errorf("%w: it took nothing for %v", flow.ErrPeerSlow, s.life.config.WriteTimeout), flow.CausePeerSlow)
	case left > 0:
		s.watchdog.Reset(s.life.config.WriteTimeout / looks)
	}
}

// serve reads and writes until the connection is lost, or everything was written after
// finish. Both goroutines have let the link go when it returns.
func (s *link) serve(connected func()) error {
	go s.readFrames()
	if s.register() {
		connected()
		s.writeMessages()
	}
	if _, err := s.ended(); err == nil {
		s.sayGoodbye()
	}
	s.fail(flow.ErrClosed, flow.CauseClosed)
	s.life.now.Store(nil)
	s.out.Close()
	s.answers.Close()
	s.watchdog.Stop()
	<-s.read
	_, err := s.ended()
	return err
}

// writeMessages writes what is queued, answers first and registrations before all, until
// the link has ended or has nothing more to write.
func (s *link) writeMessages() {
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
func (s *link) send(m outgoing) {
	if s.register() && s.write(m.frame.Bytes()) {
		if m.tally != nil {
			m.tally.Sent(m.frame.Len() - m.header)
		}
	} else {
		cause, _ := s.ended()
		if cause == flow.CauseNotConnected {
			cause = flow.CauseWriteFailed
		}
		m.dropped(cause)
	}
	m.frame.Release()
}

// register writes the registrations that this connection hasn't seen, and reports
// whether it could. A topic's registration was there before its first message was
// queued, so it goes first.
func (s *link) register() bool {
	for s.written < s.life.client.registered.Load() {
		next := s.life.client.nextRegistration(s.written)
		if next.frame != nil && !s.write(next.frame) {
			return false
		}
		s.written = next.number
	}
	return s.ctx.Err() == nil
}

// nextRegistration returns the registration after the one with a number. Without one its frame is
// nil and its number the last that was given.
func (c *Client) nextRegistration(after int64) registration {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, _ := slices.BinarySearchFunc(c.registrations, after+1, func(r registration, number int64) int { return cmp.Compare(r.number, number) })
	if i == len(c.registrations) {
		return registration{number: c.registered.Load()}
	}
	return c.registrations[i]
}

// write writes one frame within the time limit, and reports whether it could; the
// link has ended if not.
func (s *link) write(frame []byte) bool {
	s.looks.Store(looks)
	s.watchdog.Reset(s.life.config.WriteTimeout / looks)
	err := s.conn.Write(s.ctx, frame)
	s.watchdog.Stop()
	s.looks.Store(0)
	if err == nil {
		return true
	}
	err = fmt.Errorf("%w: %w", flow.ErrWriteFailed, fault.Net(err))
	s.blame(err, flow.CauseNotConnected) // unless the watchdog has
	s.awaitLastReads()                   // a peer that refuses what it is sent may have said so
	s.fail(err, flow.CauseNotConnected)
	return false
}

// awaitLastReads waits until all was read that the peer has sent before it closed the connection,
// a little while at the most.
func (s *link) awaitLastReads() {
	timer := time.NewTimer(linger)
	defer timer.Stop()
	select {
	case <-s.read:
	case <-timer.C:
	case <-s.ctx.Done():
	}
}

// sayGoodbye tells the peer that nothing follows, and waits for it to say the same.
func (s *link) sayGoodbye() {
	half, ok := s.conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	s.awaitLastReads()
}

// readFrames hands on what the peer sends, until the connection is lost.
func (s *link) readFrames() {
	defer close(s.read)
	for {
		frame, err := s.conn.Read(s.ctx)
		if err == nil {
			err = s.life.handle(frame)
		} else if errors.Is(err, ErrProtocol) {
			s.life.client.unread(err)
		} else {
			err = fault.Net(err)
		}
		if err != nil {
			s.fail(err, flow.CauseNotConnected)
			return
		}
	}
}
