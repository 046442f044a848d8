package link

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
)

// Conn is one connection that carries whole frames. One goroutine writes, another
// reads; Close may be called by any, and ends both. A Conn that has a method CloseWrite()
// error too is told by it that nothing follows; Link.Close then gives the peer a second to
// end the connection, which says that it has read all.
type Conn interface {
	// Write sends one frame, or fails; ctx carries the time limit.
	Write(ctx context.Context, frame []byte) error
	// Read returns the next frame, which is valid until the next call. A frame that
	// isn't of the protocol is an error that wraps bridges.ErrProtocol.
	Read(ctx context.Context) ([]byte, error)
	Close() error
}

// ErrComplaint says that the peer has told of something that it can't do; the connection
// goes on.
var ErrComplaint = errors.New("the peer reports")

// Config says how a link is kept. The zero value of a field stands for its default.
type Config struct {
	// Dial makes a connection, handshake included. Its errors are told once a cause; those
	// that wrap bridges.ErrTLS or bridges.ErrProtocol too are tried again.
	Dial func(ctx context.Context) (Conn, error)
	// Handle is given each frame that the peer sends, on the reading goroutine. An error
	// that wraps bridges.ErrProtocol ends the connection; ErrComplaint is counted as a
	// complaint, any other as malformed; both are logged, ever more rarely. (optional; nil
	// throws frames away)
	Handle func(frame []byte) error
	// Handshake says that Dial returns when the peer has answered: having a connection then
	// shows that the peer speaks the protocol; see Link.Reached.
	Handshake bool
	// Retry says when to dial again.
	Retry bridges.Retry
	// Queue bounds what waits for the peer; its Policy isn't used, the topics' are.
	Queue flow.QueueConfig
	// DialTimeout is for Dial (default 5 s), WriteTimeout for each frame (default 10 s).
	DialTimeout, WriteTimeout time.Duration
	// Log takes what can't be returned; nil discards it.
	Log *slog.Logger
}

func (c Config) orDefaults() Config {
	if c.Handle == nil {
		c.Handle = func([]byte) error { return nil }
	}
	if c.Queue.Messages <= 0 {
		c.Queue.Messages = 64
	}
	if c.Queue.Bytes <= 0 {
		c.Queue.Bytes = 64 << 20
	}
	if c.DialTimeout <= 0 {
		c.DialTimeout = 5 * time.Second
	}
	if c.WriteTimeout <= 0 {
		c.WriteTimeout = 10 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// answers bounds what Post queues.
var answers = flow.QueueConfig{Messages: 64, Bytes: 16 << 20, Policy: flow.DropNewest}

// Link keeps one connection. All methods may be called from any goroutine.
type Link struct {
	bridges.State
	config Config
	pool   *flow.Pool
	now    atomic.Pointer[session] // the connection there is, else nil
	// registered is the number of registrations, which may be read without mu.
	registered atomic.Int64

	// dialing ends with the first call of Close, living when Close waits no longer.
	dialing, living context.Context
	stopDialing     context.CancelFunc
	kill            context.CancelFunc
	done            chan struct{} // closed when the goroutine has ended

	mu            sync.Mutex
	registrations [][]byte // guarded by mu: frames, never changed
	started       bool     // guarded by mu
	closing       bool     // guarded by mu
	gaveUp        error    // guarded by mu
	journal       journal  // guarded by mu
	evidence      evidence // guarded by mu
}

// New returns a link that isn't started.
func New(config Config) *Link {
	l := &Link{config: config.orDefaults(), done: make(chan struct{})}
	l.pool = flow.NewPool(flow.PoolConfig{MaxIdle: l.config.Queue.Messages + 8, MaxIdleBytes: l.config.Queue.Bytes})
	l.dialing, l.stopDialing = context.WithCancel(context.Background())
	l.living, l.kill = context.WithCancel(context.Background())
	l.journal.log = l.config.Log
	return l
}

// Register has a frame written first on each connection, after those registered
// before; now too if there is a connection, before whatever is sent from now on. The
// frame is the link's from then on.
func (l *Link) Register(frame []byte) {
	l.mu.Lock()
	l.registrations = append(l.registrations, frame)
	l.registered.Store(int64(len(l.registrations)))
	l.mu.Unlock()
	if s := l.now.Load(); s != nil {
		s.out.Wake()
	}
}

// Start begins to dial. It is called once.
func (l *Link) Start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.started || l.closing {
		return
	}
	l.started = true
	l.journal.since = time.Now()
	l.SetStatus(bridges.Connecting)
	go l.run()
}

// setStatus changes the state, unless the link is being closed.
func (l *Link) setStatus(s bridges.Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closing {
		l.SetStatus(s)
	}
}

// Err returns nil, or that the link has given up dialing: an error that wraps
// bridges.ErrNotConnected and the last failure. An instance's Err returns it.
func (l *Link) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gaveUp
}

// Diagnosis returns how the link fared.
func (l *Link) Diagnosis() bridges.Diagnosis {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.journal.Diagnosis
}

// Post queues a frame that no topic counts, such as an answer; it is copied, and is
// written before the topics' messages. bridges.ErrNotConnected or bridges.ErrPeerSlow
// say that it was not taken.
func (l *Link) Post(frame []byte) error {
	s := l.now.Load()
	if s == nil {
		return bridges.ErrNotConnected
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

// refusal says why a queue didn't take a frame.
func (l *Link) refusal(err error) error {
	switch {
	case errors.Is(err, flow.ErrFull):
		return bridges.ErrPeerSlow
	case l.dialing.Err() != nil:
		return bridges.ErrClosed
	default:
		return bridges.ErrNotConnected
	}
}

// Close delivers what is queued for as long as ctx allows and disconnects; what isn't
// delivered counts as dropped (flow.CauseClosed). Both goroutines have ended when it
// returns. Closing again does nothing but wait.
func (l *Link) Close(ctx context.Context) error {
	l.mu.Lock()
	started := l.started
	if !l.closing {
		l.closing = true
		if started {
			l.SetStatus(bridges.Disconnecting)
		}
		l.stopDialing()
		if s := l.now.Load(); s != nil {
			s.finish()
		}
	}
	l.mu.Unlock()
	if started {
		select {
		case <-l.done:
		case <-ctx.Done():
			l.abort()
			<-l.done
		}
	}
	l.kill()
	l.SetStatus(bridges.Disconnected)
	l.pool.Close()
	return nil
}

// abort ends the connection, whatever waits.
func (l *Link) abort() {
	l.kill()
	l.mu.Lock()
	s := l.now.Load()
	l.mu.Unlock()
	if s != nil {
		s.fail(bridges.ErrClosed, flow.CauseClosed)
	}
}

// Topic is a topic's way to the peer.
type Topic struct {
	link *Link
	info *bridges.PublishedTopic
}

// NewTopic returns the way of a topic's messages, which are counted at info; its Policy
// is what a full queue does.
func (l *Link) NewTopic(info *bridges.PublishedTopic) *Topic { return &Topic{link: l, info: info} }

// Buffer lends an empty buffer from the link's pool with room for size bytes if an
// unused one has. The caller Resets or Adopts it, and Sends or Releases it.
func (t *Topic) Buffer(size int) flow.Buffer { return t.link.pool.Get(size) }

// Send queues one frame, which is the link's from then on, also on an error. An error
// (bridges.ErrNotConnected, bridges.ErrPeerSlow, bridges.ErrClosed, or ctx's where policy
// block was waiting) says that the message was not taken, and nothing was counted.
func (t *Topic) Send(ctx context.Context, frame flow.Buffer) error {
	s := t.link.now.Load()
	if s == nil {
		frame.Release()
		return t.link.refusal(flow.ErrClosed)
	}
	err := s.out.Offer(ctx, message{frame, t.info}, int64(frame.Len()), t.info.Policy)
	if err == nil {
		return nil
	}
	frame.Release()
	if errors.Is(err, flow.ErrFull) && ctx.Err() != nil {
		return ctx.Err() // what ended the wait
	}
	return t.link.refusal(err)
}

// run dials, serves the connection, and dials again, until the link is closed or gives
// up.
func (l *Link) run() {
	defer close(l.done)
	err := transport.Keep(l.dialing, l.config.Retry, func() (bool, error) {
		connected, err := l.connect()
		l.judge(connected, err)
		if l.dialing.Err() != nil && !connected {
			l.unanswered()
		}
		return connected, err
	}, l.lost)
	if err == nil {
		return
	}
	l.mu.Lock()
	l.gaveUp = err
	l.mu.Unlock()
	l.setStatus(bridges.UnexpectedlyDisconnected)
}

// connect makes a connection and serves it until it is lost. It reports whether there
// was one.
func (l *Link) connect() (connected bool, err error) {
	conn, err := l.dial()
	if err != nil {
		return false, err
	}
	s := l.newSession(conn)
	l.mu.Lock()
	l.now.Store(s)
	if l.closing { // between the end of Dial and here
		s.finish()
	}
	l.mu.Unlock()
	if l.living.Err() != nil {
		s.fail(bridges.ErrClosed, flow.CauseClosed)
	}
	err = s.serve(func() {
		connected = true
		l.connected()
	})
	if !connected && !l.config.Handshake {
		// Nothing but the connection shows that somebody is there: it counts also where the
		// peer ended it before it had taken the registrations.
		l.mu.Lock()
		l.journal.Connections++
		l.mu.Unlock()
	}
	return connected, err
}

func (l *Link) dial() (Conn, error) {
	ctx, cancel := context.WithTimeout(l.dialing, l.config.DialTimeout)
	defer cancel()
	conn, err := l.config.Dial(ctx)
	if err != nil && ctx.Err() != nil && l.dialing.Err() == nil {
		return conn, fault.NetWithin(l.config.DialTimeout, err)
	}
	return conn, fault.Net(err)
}

// connected notes that there is a connection. Whoever sees the status finds it counted.
func (l *Link) connected() {
	l.mu.Lock()
	l.journal.connected(time.Now())
	l.mu.Unlock()
	l.setStatus(bridges.Connected)
}

// lost notes that an attempt failed, or that a connection was lost.
func (l *Link) lost(loss transport.Loss) {
	if loss.Connected {
		l.setStatus(bridges.UnexpectedlyDisconnected)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.journal.failed(time.Now(), !loss.Last, loss.Err)
	if loss.Last {
		l.config.Log.Error("gave up connecting", "attempts", loss.Failures, "error", loss.Err)
	}
}

// handle hands a frame on. It returns an error if the connection can't go on.
func (l *Link) handle(frame []byte) error {
	err := l.config.Handle(frame)
	if err == nil {
		l.answered()
		return nil
	}
	if errors.Is(err, ErrComplaint) {
		l.complained(err)
		return nil
	}
	l.malformed(err)
	if errors.Is(err, bridges.ErrProtocol) {
		return err
	}
	return nil
}

// unanswered notes that the link was closed before its first attempt had an end, which would
// leave nothing to tell of a peer that takes connections and keeps silent.
func (l *Link) unanswered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if j := &l.journal; j.Connections == 0 && j.Failures == 0 {
		j.Failures = 1
		j.LastError = fmt.Errorf("%w: no answer within the %v until it was closed", bridges.ErrNotConnected, time.Since(j.since).Round(time.Millisecond))
	}
}

// complained counts what the peer can't do.
func (l *Link) complained(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.journal.complained(time.Now(), err)
}

// malformed counts what the peer sent and couldn't be read.
func (l *Link) malformed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.journal.malformed(time.Now(), err)
}
