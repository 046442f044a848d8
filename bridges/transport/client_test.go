package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/guard"
)

// size is the framing of these tests: a length byte, then so many bytes.
func size(head []byte) (int, error) {
	if len(head) == 0 {
		return 1, nil
	}
	if head[0] == 0xff {
		return 0, transport.ErrProtocol
	}
	return 1 + int(head[0]), nil
}

func frame(text string) []byte { return append([]byte{byte(len(text))}, text...) }

// peer is the other side: each dial gives it the end of a pipe.
type peer struct {
	mu      sync.Mutex
	conns   []net.Conn // guarded by mu
	refused error      // guarded by mu: what dialing returns, nil to accept
	dials   int        // guarded by mu
}

func (p *peer) dial(context.Context) (transport.FrameConn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dials++
	if p.refused != nil {
		return nil, p.refused
	}
	ours, theirs := net.Pipe()
	p.conns = append(p.conns, theirs)
	return transport.TCP{Size: size}.Conn(ours), nil
}

func (p *peer) refuse(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = err
}

func (p *peer) attempts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dials
}

// last returns the newest connection.
func (p *peer) last() net.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conns[len(p.conns)-1]
}

// take reads one frame of the newest connection, once all that could be done was done.
func (p *peer) take(t *testing.T) string {
	t.Helper()
	synctest.Wait()
	var head [1]byte
	_, err := io.ReadFull(p.last(), head[:])
	require.NoError(t, err)
	text := make([]byte, head[0])
	_, err = io.ReadFull(p.last(), text)
	require.NoError(t, err)
	return string(text)
}

// dialler is a client with its configuration and topics, as a bridge's instance has them.
type dialler struct {
	transport.Client
	config transport.ClientConfig
	topics []*flow.Tally
	pool   *flow.Pool // of the last Start
}

// dialling returns a client that isn't started, and ends it with the test.
func dialling(t *testing.T, config transport.ClientConfig) *dialler {
	t.Helper()
	d := &dialler{config: config}
	t.Cleanup(func() {
		d.close(t)
		require.Equal(t, flow.Disconnected, d.Status())
	})
	return d
}

// Start begins to dial.
func (d *dialler) Start() {
	d.Open(context.Background(), d.config)
	d.pool = transport.PoolOf(&d.Client)
}

// close disconnects. No buffer is lent then.
func (d *dialler) close(t *testing.T) {
	t.Helper()
	require.NoError(t, d.Disconnect(t.Context()))
	if d.pool != nil {
		require.Zero(t, d.pool.Stats().Outstanding, "buffers leaked")
		require.Zero(t, d.pool.Stats().Misused)
	}
}

// publisher sends frames on a topic of its own, and counts those that aren't taken as a bridge
// does.
func (d *dialler) publisher(policy flow.Policy) func(ctx context.Context, frame []byte) error {
	tally := new(flow.Tally)
	d.topics = append(d.topics, tally)
	out := d.NewOutlet(tally, policy)
	return func(ctx context.Context, frame []byte) error {
		b := out.Buffer(len(frame))
		b.Adopt(append(b.Bytes()[:0], frame...))
		err := out.Send(ctx, b)
		if err != nil {
			tally.Dropped(flow.CauseOf(err))
		}
		return err
	}
}

// publish is a publisher of texts.
func (d *dialler) publish(policy flow.Policy) func(text string) error {
	send := d.publisher(policy)
	return func(text string) error { return send(context.Background(), frame(text)) }
}

// counts are those of all topics together.
func (d *dialler) counts() (sum flow.Counts) {
	for _, t := range d.topics {
		c := t.Counts()
		sum.Messages += c.Messages
		sum.Bytes += c.Bytes
		sum.Drops.Merge(c.Drops)
	}
	return sum
}

// Registrations come first and in order on every connection, late ones once.
func TestRegistrationsAreReplayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p peer
		l := dialling(t, transport.ClientConfig{Dial: p.dial})
		publish := l.publish(flow.DropOldest)
		l.Register(frame("one"))
		l.Register(frame("two"))
		assert.Equal(t, flow.Disconnected, l.Status())
		l.Start()
		synctest.Wait()
		assert.Equal(t, flow.Connecting, l.Status(), "registrations aren't written yet")
		assert.Equal(t, "one", p.take(t))
		assert.Equal(t, "two", p.take(t))
		synctest.Wait()
		assert.Equal(t, flow.Connected, l.Status())

		require.NoError(t, publish("message 1"))
		synctest.Wait() // message 1 is being written
		require.NoError(t, publish("message 2"))
		l.Register(frame("three"))
		require.NoError(t, publish("message 3"))
		assert.Equal(t, "message 1", p.take(t))
		assert.Equal(t, "three", p.take(t), "before what waits")
		assert.Equal(t, "message 2", p.take(t))
		assert.Equal(t, "message 3", p.take(t))
		l.Register(frame("four"))
		assert.Equal(t, "four", p.take(t), "without a message to wake the link")

		require.NoError(t, p.last().Close())
		synctest.Wait()
		assert.Equal(t, flow.UnexpectedlyDisconnected, l.Status())
		assert.ErrorIs(t, publish("lost"), flow.ErrNotConnected)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		for _, want := range []string{"one", "two", "three", "four"} {
			assert.Equal(t, want, p.take(t))
		}
		synctest.Wait()
		assert.Equal(t, flow.Connected, l.Status())
		require.NoError(t, publish("message 4"))
		assert.Equal(t, "message 4", p.take(t))
		synctest.Wait()
		s := l.counts()
		assert.EqualValues(t, 4, s.Messages)
		assert.EqualValues(t, 4*10, s.Bytes)
		assert.Equal(t, flow.Drops{flow.CauseNotConnected: 1}, s.Drops)
		assert.Equal(t, int64(2), l.Diagnosis().Connections)
		assert.Equal(t, int64(1), l.Diagnosis().Failures)
	})
}

// A full queue does what the policy of the topic says that has a message to send.
func TestPolicyOfEachTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p peer
		l := dialling(t, transport.ClientConfig{Dial: p.dial, Queue: flow.QueueConfig{Messages: 2}})
		oldest := l.publish(flow.DropOldest)
		newest := l.publish(flow.DropNewest)
		block := l.publish(flow.Block)
		l.Start()
		synctest.Wait()
		require.NoError(t, oldest("being written"))
		synctest.Wait()
		require.NoError(t, oldest("1"))
		require.NoError(t, newest("2"))
		begun := time.Now()
		assert.ErrorIs(t, newest("3"), flow.ErrPeerSlow)
		require.NoError(t, oldest("4"), "it pushes 1 out")
		assert.Zero(t, time.Since(begun), "nobody waits")
		assert.ErrorIs(t, block("5"), flow.ErrPeerSlow)
		assert.Equal(t, time.Second, time.Since(begun))
		assert.ErrorIs(t, block("6"), flow.ErrPeerSlow)
		assert.Equal(t, time.Second, time.Since(begun), "not waited for again")
		assert.Equal(t, "being written", p.take(t))
		assert.Equal(t, "2", p.take(t))
		synctest.Wait()
		require.NoError(t, block("7"))
		assert.Equal(t, "4", p.take(t))
		assert.Equal(t, "7", p.take(t))
		synctest.Wait()
		s := l.counts()
		assert.Equal(t, flow.Drops{flow.CausePeerSlow: 1}, l.topics[0].Counts().Drops)
		assert.Equal(t, flow.Drops{flow.CausePeerSlow: 1}, l.topics[1].Counts().Drops)
		assert.Equal(t, flow.Drops{flow.CausePeerSlow: 2}, l.topics[2].Counts().Drops)
		assert.EqualValues(t, 4, s.Messages)
	})
}

// The wait of policy block ends with the context of the publisher.
func TestContextEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p peer
		l := dialling(t, transport.ClientConfig{Dial: p.dial, Queue: flow.QueueConfig{Messages: 1}})
		publish := l.publisher(flow.Block)
		l.Start()
		synctest.Wait()
		require.NoError(t, publish(t.Context(), frame("being written")))
		synctest.Wait()
		require.NoError(t, publish(t.Context(), frame("waits")))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		assert.ErrorIs(t, publish(ctx, frame("waits for room")), context.Canceled)
		assert.Equal(t, flow.Drops{flow.CauseClosed: 1}, l.counts().Drops)
		go func() { _, _ = io.Copy(io.Discard, p.last()) }()
	})
}

// A peer that takes nothing is disconnected, and dialled again.
func TestPeerThatTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p peer
		l := dialling(t, transport.ClientConfig{Dial: p.dial, WriteTimeout: 5 * time.Second})
		publish := l.publish(flow.DropOldest)
		l.Start()
		synctest.Wait()
		for i := range 3 {
			require.NoError(t, publish(fmt.Sprint(i)))
		}
		time.Sleep(5*time.Second - time.Nanosecond)
		synctest.Wait()
		assert.Equal(t, flow.Connected, l.Status())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.Equal(t, flow.UnexpectedlyDisconnected, l.Status())
		assert.ErrorIs(t, l.Diagnosis().LastError, flow.ErrPeerSlow)
		assert.Equal(t, flow.Drops{flow.CausePeerSlow: 3}, l.counts().Drops)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Equal(t, flow.Connected, l.Status())
		require.NoError(t, publish("again"))
		assert.Equal(t, "again", p.take(t))
	})
}

// envPeer is where TestAStoppedClientKeepsItsConnection's other process sends to.
const envPeer = "RAYBRIDGE_TEST_STOPPED"

// TestAStoppedClientKeepsItsConnection: a process is stopped within a write, for longer than that may take. All of
// the frame arrives over one connection.
func TestAStoppedClientKeepsItsConnection(t *testing.T) {
	const size = 32 << 20 // no system's buffers take that
	limit := 2 * time.Second
	if address := os.Getenv(envPeer); address != "" {
		l := dialling(t, transport.ClientConfig{WriteTimeout: limit, Dial: func(ctx context.Context) (transport.FrameConn, error) {
			return transport.TCP{Size: func([]byte) (int, error) { return 1, nil }}.Dial(ctx, address)
		}})
		l.Start()
		require.Eventually(t, func() bool { return l.Status() == flow.Connected }, time.Minute, time.Millisecond)
		require.NoError(t, l.publisher(flow.Block)(t.Context(), make([]byte, size)))
		require.NoError(t, l.Disconnect(t.Context()))
		return
	}
	if testing.Short() {
		t.Skip("stands still for two seconds")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAStoppedClientKeepsItsConnection$")
	other.Env = append(os.Environ(), envPeer+"="+listener.Addr().String())
	require.NoError(t, other.Start())
	conn, err := listener.Accept()
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.ReadFull(conn, make([]byte, 1))
	require.NoError(t, err)
	require.NoError(t, other.Process.Signal(syscall.SIGSTOP))
	time.Sleep(limit + limit/4)
	require.NoError(t, other.Process.Signal(syscall.SIGCONT))
	n, err := io.Copy(io.Discard, conn)
	require.NoError(t, err)
	assert.EqualValues(t, size-1, n)
	assert.NoError(t, other.Wait())
}

func TestMessagesOfALostConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p peer
		l := dialling(t, transport.ClientConfig{Dial: p.dial, Queue: flow.QueueConfig{Messages: 3}})
		publish := l.publish(flow.Block)
		l.Start()
		synctest.Wait()
		for i := range 3 {
			require.NoError(t, publish(fmt.Sprint(i)))
		}
		synctest.Wait()
		require.NoError(t, publish("last"))
		waiting := make(chan error, 1)
		go func() { waiting <- publish("waits for room") }()
		synctest.Wait()
		require.NoError(t, p.last().Close())
		assert.ErrorIs(t, <-waiting, flow.ErrNotConnected)
		synctest.Wait()
		assert.Equal(t, flow.Drops{flow.CauseWriteFailed: 1, flow.CauseNotConnected: 4}, l.counts().Drops)
		assert.Zero(t, l.counts().Messages)
	})
}

func TestRetries(t *testing.T) {
	refused := errors.New("refused")
	for _, c := range []struct {
		name  string
		retry transport.Retry
		after []int // seconds of the first dials
		gives bool  // it gives up then
	}{
		{"every 3 s", transport.Retry{}, []int{0, 3, 6, 9, 12}, false},
		{"backing off", transport.Retry{Interval: time.Second, Backoff: 2, Longest: 4 * time.Second}, []int{0, 1, 3, 7, 11}, false},
		{"three times", transport.Retry{Attempts: 3}, []int{0, 3, 6}, true},
		{"once", transport.Retry{Attempts: 1}, []int{0}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := peer{refused: refused}
				l := dialling(t, transport.ClientConfig{Dial: p.dial, Retry: c.retry})
				begun := time.Now()
				l.Start()
				for n, seconds := range c.after {
					time.Sleep(time.Until(begun.Add(time.Duration(seconds) * time.Second)))
					synctest.Wait()
					require.Equal(t, n+1, p.attempts(), "after %d s", seconds)
				}
				assert.EqualValues(t, len(c.after), l.Diagnosis().Failures)
				if !c.gives {
					assert.Equal(t, flow.Connecting, l.Status())
					assert.NoError(t, l.Err())
					return
				}
				time.Sleep(time.Hour)
				assert.Equal(t, len(c.after), p.attempts())
				assert.Equal(t, flow.UnexpectedlyDisconnected, l.Status())
				assert.ErrorIs(t, l.Err(), flow.ErrNotConnected)
				assert.ErrorIs(t, l.Err(), refused)
			})
		})
	}
}

// Attempts counts dials in a row that failed, not connections that were lost.
func TestLossesDontCountAsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p peer
		l := dialling(t, transport.ClientConfig{Dial: p.dial, Retry: transport.Retry{Attempts: 1}})
		l.Start()
		for range 5 {
			synctest.Wait()
			require.Equal(t, flow.Connected, l.Status())
			require.NoError(t, p.last().Close())
			time.Sleep(3 * time.Second)
		}
		synctest.Wait()
		p.refuse(io.ErrUnexpectedEOF)
		require.NoError(t, p.last().Close())
		time.Sleep(3 * time.Second)
		synctest.Wait()
		assert.ErrorIs(t, l.Err(), io.ErrUnexpectedEOF)
	})
}

func TestDialThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := dialling(t, transport.ClientConfig{DialTimeout: time.Second, Dial: func(ctx context.Context) (transport.FrameConn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		l.Start()
		time.Sleep(time.Second)
		synctest.Wait()
		assert.EqualError(t, l.Diagnosis().LastError, "no answer within 1s")
		assert.ErrorIs(t, l.Diagnosis().LastError, context.DeadlineExceeded)
		time.Sleep(3*time.Second + time.Second/2) // it dials again, and is closed then
	})
}

func TestHandlersErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p peer
		var got []string
		l := dialling(t, transport.ClientConfig{Dial: p.dial, Handle: func(f []byte) error {
			switch text := string(f[1:]); text {
			case "bad":
				return errors.New("makes no sense")
			case "complaint":
				return fmt.Errorf("%w: no such type", transport.ErrComplaint)
			case "worse":
				return fmt.Errorf("%w: %s", transport.ErrProtocol, text)
			default:
				got = append(got, text)
				return nil
			}
		}})
		l.Start()
		synctest.Wait()
		send := func(text string) {
			_, err := p.last().Write(frame(text))
			require.NoError(t, err)
			synctest.Wait()
		}
		send("one")
		send("bad")
		send("two")
		assert.Equal(t, flow.Connected, l.Status())
		assert.EqualValues(t, 1, l.Diagnosis().Malformed)
		send("complaint")
		assert.Equal(t, flow.Connected, l.Status())
		assert.EqualValues(t, 1, l.Diagnosis().Complaints)
		assert.ErrorIs(t, l.Diagnosis().LastError, transport.ErrComplaint)
		send("worse")
		assert.Equal(t, flow.UnexpectedlyDisconnected, l.Status())
		assert.ErrorIs(t, l.Diagnosis().LastError, transport.ErrProtocol)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		send("three")
		_, err := p.last().Write([]byte{0xff}) // no frame
		require.NoError(t, err)
		synctest.Wait()
		assert.Equal(t, flow.UnexpectedlyDisconnected, l.Status())
		assert.EqualValues(t, 3, l.Diagnosis().Malformed)
		assert.Equal(t, []string{"one", "two", "three"}, got)
	})
}

// Answers overtake messages, and are bounded.
func TestPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p peer
		l := dialling(t, transport.ClientConfig{Dial: p.dial})
		publish := l.publish(flow.DropOldest)
		assert.ErrorIs(t, l.Post(frame("early")), flow.ErrNotConnected)
		l.Start()
		synctest.Wait()
		require.NoError(t, publish("being written"))
		synctest.Wait()
		require.NoError(t, publish("waits"))
		for range 64 {
			require.NoError(t, l.Post(frame("answer")))
		}
		assert.ErrorIs(t, l.Post(frame("too many")), flow.ErrPeerSlow)
		assert.Equal(t, "being written", p.take(t))
		for range 64 {
			assert.Equal(t, "answer", p.take(t))
		}
		assert.Equal(t, "waits", p.take(t))
		require.NoError(t, l.Post(frame("answer")), "which is left over")
	})
}

func TestClose(t *testing.T) {
	type state struct {
		p       *peer
		l       *dialler
		publish func(string) error
	}
	drops := map[string]flow.Drops{"what isn't delivered in time": {flow.CauseClosed: 2}}
	for name, prepare := range map[string]func(t *testing.T, s state){
		"before Start": func(*testing.T, state) {},
		"dialling":     func(_ *testing.T, s state) { s.l.Start() },
		"between dials": func(_ *testing.T, s state) {
			s.p.refuse(io.EOF)
			s.l.Start()
			time.Sleep(time.Second)
		},
		"connected": func(_ *testing.T, s state) { s.l.Start(); synctest.Wait() },
		"what waits is delivered": func(t *testing.T, s state) {
			s.l.Start()
			synctest.Wait()
			require.NoError(t, s.publish("1"))
			require.NoError(t, s.publish("2"))
			go func() {
				time.Sleep(time.Second / 2)
				_, _ = io.Copy(io.Discard, s.p.last())
			}()
		},
		"what isn't delivered in time": func(t *testing.T, s state) {
			s.l.Start()
			synctest.Wait()
			require.NoError(t, s.publish("1"))
			require.NoError(t, s.publish("2"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &peer{}
				l := dialling(t, transport.ClientConfig{Dial: p.dial})
				publish := l.publish(flow.DropOldest)
				prepare(t, state{p, l, publish})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				require.NoError(t, l.Disconnect(ctx))
				require.NoError(t, l.Disconnect(ctx), "again")
				assert.Equal(t, flow.Disconnected, l.Status())
				assert.Equal(t, drops[name], l.topics[0].Counts().Drops)
				l.Register(frame("x"))
				assert.ErrorIs(t, publish("x"), flow.ErrNotConnected)
			})
		})
	}
}

// Nothing more is taken while what was taken is being delivered.
func TestSendingWhileDisconnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p peer
		l := dialling(t, transport.ClientConfig{Dial: p.dial})
		publish := l.publish(flow.DropOldest)
		l.Start()
		synctest.Wait()
		require.NoError(t, publish("1"))
		ended := make(chan error, 1)
		go func() { ended <- l.Disconnect(t.Context()) }()
		synctest.Wait()
		assert.Equal(t, flow.Disconnecting, l.Status())
		assert.ErrorIs(t, publish("2"), flow.ErrClosed)
		assert.ErrorIs(t, l.Post(frame("answer")), flow.ErrClosed)
		assert.Equal(t, "1", p.take(t))
		_, err := io.Copy(io.Discard, p.last())
		require.NoError(t, err, "nothing follows")
		require.NoError(t, <-ended)
	})
}

// goodbye is a connection that can be closed in two steps.
type goodbye struct {
	transport.FrameConn
	said chan struct{}
}

func (g goodbye) CloseWrite() error { close(g.said); return nil }

// The peer is told that nothing follows and given a second to say the same.
func TestGoodbye(t *testing.T) {
	for name, answers := range map[string]bool{"answered": true, "not answered": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				g := goodbye{transport.TCP{Size: size}.Conn(ours), make(chan struct{})}
				l := dialling(t, transport.ClientConfig{Dial: func(context.Context) (transport.FrameConn, error) { return g, nil }})
				l.Start()
				synctest.Wait()
				want := time.Second
				if answers {
					want = 0
					go func() { <-g.said; _ = theirs.Close() }()
				}
				begun := time.Now()
				require.NoError(t, l.Disconnect(t.Context()))
				assert.Equal(t, want, time.Since(begun))
				assert.Zero(t, l.Diagnosis().Failures)
			})
		})
	}
}

// Where nobody says otherwise 64 messages wait for a peer that reads nothing, or 64 MiB.
func TestDefaultQueue(t *testing.T) {
	for name, c := range map[string]struct {
		messages, frame int // that fill the queue; bytes of each
	}{
		"messages": {64, 2},
		"bytes":    {4, 16 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p peer
				l := dialling(t, transport.ClientConfig{Dial: p.dial})
				publish := l.publish(flow.DropOldest)
				text := strings.Repeat("x", c.frame-1) // a frame is one byte longer
				l.Start()
				synctest.Wait()
				require.NoError(t, publish(text))
				synctest.Wait() // it is being written
				for range c.messages {
					require.NoError(t, publish(text))
				}
				assert.Empty(t, l.counts().Drops, "all wait")
				require.NoError(t, publish(text))
				assert.Equal(t, flow.Drops{flow.CausePeerSlow: 1}, l.counts().Drops)
			})
		})
	}
}

// refusing is a connection to a peer of another protocol, which has answered and left when
// the first frame is written.
type refusing struct {
	left, closed chan struct{}
	once, twice  sync.Once
}

func (r *refusing) Write(context.Context, []byte) error {
	r.once.Do(func() { close(r.left) })
	return io.ErrClosedPipe
}

// Read takes longer than Write to fail.
func (r *refusing) Read(context.Context) ([]byte, error) {
	select {
	case <-r.left:
		time.Sleep(time.Millisecond)
		return nil, fmt.Errorf("%w: it answers 400 Bad Request", transport.ErrProtocol)
	case <-r.closed:
		return nil, io.ErrClosedPipe
	}
}

func (r *refusing) Close() error {
	r.twice.Do(func() { close(r.closed) })
	return nil
}

// What the peer had to say explains why it couldn't be written to.
func TestTheLastWordsOfAPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := dialling(t, transport.ClientConfig{Dial: func(context.Context) (transport.FrameConn, error) {
			return &refusing{left: make(chan struct{}), closed: make(chan struct{})}, nil
		}})
		l.Register([]byte("hello"))
		l.Start()
		time.Sleep(time.Second)
		synctest.Wait()
		d := l.Diagnosis()
		assert.ErrorIs(t, d.LastError, transport.ErrProtocol)
		assert.NotErrorIs(t, d.LastError, flow.ErrWriteFailed)
		assert.Equal(t, [3]int64{1, 1, 1}, [3]int64{d.Connections, d.Failures, d.Malformed}, "the connection was made")
		assert.NoError(t, l.Disconnect(t.Context()))
	})
}

// A peer that takes the connection and keeps silent has a line at the end, however early.
func TestTheFirstAttemptHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := dialling(t, transport.ClientConfig{Dial: func(ctx context.Context) (transport.FrameConn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		l.Start()
		time.Sleep(2 * time.Second)
		assert.NoError(t, l.Disconnect(t.Context()))
		assert.EqualValues(t, 1, l.Diagnosis().Failures)
		assert.ErrorIs(t, l.Diagnosis().LastError, flow.ErrNotConnected)
		assert.ErrorContains(t, l.Diagnosis().LastError, "no answer within the 2s")
	})
}

// What a peer does with its connections tells whether it speaks the protocol, and it is the
// same whenever the link is closed.
func TestReached(t *testing.T) {
	type life func(net.Conn)
	stay := func(net.Conn) {}
	leave := func(c net.Conn) { _ = c.Close() }
	wait := func(c net.Conn, d time.Duration) { // or until the link has ended the connection
		_ = c.SetReadDeadline(time.Now().Add(d))
		_, _ = io.Copy(io.Discard, c)
	}
	last := func(c net.Conn) { wait(c, 2*time.Second); leave(c) }
	answer := func(c net.Conn) { _, _ = c.Write(frame("hello")); leave(c) }
	refuse := func(c net.Conn) { _, _ = c.Write([]byte("\xffTTP/1.1 400 Bad Request\r\n\r\n")) }
	const often = 10 * time.Millisecond
	for name, c := range map[string]struct {
		lives     []life // of the connections, one after another; the last one's of all that follow
		closed    time.Duration
		handshake bool
		want      bool
	}{
		"there to the end":                  {lives: []life{stay}, closed: time.Minute, want: true},
		"there to an early end":             {lives: []life{stay}, closed: often, want: true},
		"answers and goes":                  {lives: []life{answer}, closed: time.Minute, want: true},
		"lasts and goes":                    {lives: []life{last}, closed: time.Minute, want: true},
		"comes to last":                     {lives: []life{leave, leave, last}, closed: time.Minute, want: true},
		"goes at once":                      {lives: []life{leave}, closed: time.Minute},
		"goes at once, asked early":         {lives: []life{leave}, closed: often},
		"is there to the end after it went": {lives: []life{leave, stay}, closed: 3*time.Second + often},
		"is there for long after it went":   {lives: []life{leave, stay}, closed: 3*time.Second + 2*time.Second, want: true},
		"refuses":                           {lives: []life{refuse}, closed: time.Minute},
		"refuses late":                      {lives: []life{func(c net.Conn) { wait(c, 20*time.Second); refuse(c) }}, closed: time.Minute},
		"refuses, there to the end":         {lives: []life{refuse, stay}, closed: 3*time.Second + often},
		"goes at once after shaking hands":  {lives: []life{leave}, closed: time.Minute, handshake: true, want: true},
		"is never there, except its answer": {lives: []life{leave, answer, leave}, closed: time.Minute, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var dials atomic.Int64
				dial := func(context.Context) (transport.FrameConn, error) {
					ours, theirs := net.Pipe()
					n := int(dials.Add(1)) - 1
					go c.lives[min(n, len(c.lives)-1)](theirs)
					return transport.TCP{Size: size}.Conn(ours), nil
				}
				l := dialling(t, transport.ClientConfig{Dial: dial, Handshake: c.handshake})
				assert.False(t, l.Reached())
				l.Start()
				time.Sleep(c.closed)
				require.NoError(t, l.Disconnect(t.Context()))
				assert.Equal(t, c.want, l.Reached())
			})
		})
	}
}

// A connection that is there gets the benefit of the doubt, once.
func TestReachedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p peer
		l := dialling(t, transport.ClientConfig{Dial: p.dial})
		l.Start()
		synctest.Wait()
		assert.True(t, l.Reached())
		_ = p.last().Close()
		synctest.Wait()
		assert.False(t, l.Reached())
		time.Sleep(3500 * time.Millisecond)
		assert.False(t, l.Reached(), "it has been there for half a second")
		time.Sleep(time.Second)
		assert.True(t, l.Reached())
	})
}

// What was registered and published goes to the connections of each Open.
func TestClientOutlivesItsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p peer
		c := dialling(t, transport.ClientConfig{Dial: p.dial})
		assert.Equal(t, flow.Disconnected, c.Status())
		assert.NoError(t, c.Err())
		assert.Zero(t, c.Diagnosis())
		require.NoError(t, c.Disconnect(t.Context()))
		assert.ErrorIs(t, c.Post(nil), flow.ErrNotConnected)
		c.Register(frame("/a"))
		a := c.publish(flow.DropOldest)
		assert.ErrorIs(t, a("0"), flow.ErrNotConnected)
		for range 2 {
			c.Start()
			assert.Equal(t, "/a", p.take(t))
			synctest.Wait()
			assert.Equal(t, flow.Connected, c.Status())
			require.NoError(t, a("1"))
			assert.Equal(t, "1", p.take(t))
		}
		c.Register(frame("/late"))
		late := c.publish(flow.DropOldest)
		require.NoError(t, late("2"))
		assert.Equal(t, "/late", p.take(t))
		assert.Equal(t, "2", p.take(t))
		require.NoError(t, c.Disconnect(t.Context()))
		assert.ErrorIs(t, a("3"), flow.ErrNotConnected)
		assert.EqualValues(t, 2, c.Diagnosis().Connections, "of both times")
		assert.EqualValues(t, 3, c.counts().Messages)

		c.Forget()
		c.Register(frame("/b"))
		c.Start()
		assert.Equal(t, "/b", p.take(t), "the others are forgotten")
		synctest.Wait()
		require.NoError(t, late("4"))
		assert.Equal(t, "4", p.take(t))
	})
}

var errAway = errors.New("away")

// Each attempt of the script makes a connection (c) or fails (f). After the last one there is
// nothing more to do, unless Keep has given up.
func TestKeep(t *testing.T) {
	for name, c := range map[string]struct {
		retry  transport.Retry
		script string
		at     []int // seconds, when each attempt was made
		told   []transport.Loss
		gaveUp bool
	}{
		"at once": {script: "", at: []int{0}},
		"every 3 s": {script: "ff", at: []int{0, 3, 6}, told: []transport.Loss{
			{Err: errAway, Failures: 1, Wait: 3 * time.Second}, {Err: errAway, Failures: 2, Wait: 3 * time.Second},
		}},
		"a connection begins again": {
			retry: transport.Retry{Interval: time.Second, Backoff: 2}, script: "ffcf", at: []int{0, 1, 3, 4, 5},
			told: []transport.Loss{
				{Err: errAway, Failures: 1, Wait: time.Second}, {Err: errAway, Failures: 2, Wait: 2 * time.Second},
				{Connected: true, Err: errAway, Wait: time.Second}, {Err: errAway, Failures: 1, Wait: time.Second},
			},
		},
		"losses aren't attempts": {
			retry: transport.Retry{Attempts: 2}, script: "cccff", at: []int{0, 3, 6, 9, 12}, gaveUp: true,
			told: []transport.Loss{
				{Connected: true, Err: errAway, Wait: 3 * time.Second}, {Connected: true, Err: errAway, Wait: 3 * time.Second},
				{Connected: true, Err: errAway, Wait: 3 * time.Second}, {Err: errAway, Failures: 1, Wait: 3 * time.Second},
				{Err: errAway, Failures: 2, Last: true},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				var at []int
				var told []transport.Loss
				err := transport.Keep(t.Context(), c.retry, func() (bool, error) {
					at = append(at, int(time.Since(begun).Seconds()))
					if len(at) > len(c.script) {
						return false, nil
					}
					return c.script[len(at)-1] == 'c', errAway
				}, func(l transport.Loss) { told = append(told, l) })
				assert.Equal(t, c.at, at)
				assert.Equal(t, c.told, told)
				if !c.gaveUp {
					assert.NoError(t, err)
					return
				}
				assert.ErrorIs(t, err, flow.ErrNotConnected)
				assert.ErrorIs(t, err, errAway)
			})
		})
	}
}

// The end of the context ends a wait, and an attempt that it ended isn't a loss.
func TestKeepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		told := 0
		begun := time.Now()
		assert.NoError(t, transport.Keep(ctx, transport.Retry{}, func() (bool, error) { return false, errAway }, func(transport.Loss) { told++ }))
		assert.Equal(t, 1, told)
		assert.Equal(t, time.Second, time.Since(begun), "in the middle of the wait")

		ctx, cancel = context.WithCancel(t.Context())
		assert.NoError(t, transport.Keep(ctx, transport.Retry{}, func() (bool, error) {
			cancel()
			return true, errAway
		}, func(transport.Loss) { told++ }))
		assert.Equal(t, 1, told)
	})
}

func TestWaitsHaveAnUpperEnd(t *testing.T) {
	for _, c := range []struct {
		retry transport.Retry
		want  []time.Duration // after 1, 2, 3 failures
	}{
		{transport.Retry{Interval: time.Second, Backoff: 10, Longest: 5 * time.Second}, []time.Duration{time.Second, 5 * time.Second, 5 * time.Second}},
		{transport.Retry{Interval: 10 * time.Second, Backoff: 2}, []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second}},
		{transport.Retry{Interval: time.Minute, Backoff: 2}, []time.Duration{time.Minute, time.Minute, time.Minute}},
		{transport.Retry{Interval: 3 * time.Second, Longest: time.Second}, []time.Duration{time.Second, time.Second, time.Second}},
	} {
		for i, want := range c.want {
			wait, again := c.retry.Wait(i + 1)
			assert.True(t, again)
			assert.Equal(t, want, wait, "%+v after %d", c.retry, i+1)
		}
	}
}

func TestScatteredWaitsAreHalfAtLeast(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 100 {
		wait, again := transport.Retry{Interval: time.Second, Scatter: true}.Wait(1)
		assert.True(t, again)
		assert.GreaterOrEqual(t, wait, time.Second/2)
		assert.LessOrEqual(t, wait, time.Second)
		seen[wait] = true
	}
	assert.Greater(t, len(seen), 1)
}

// logged collects log lines.
type logged struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// took returns the lines since it was called last, without their times.
func (l *logged) took() []string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []string
	for line := range strings.Lines(l.text.String()) {
		_, text, _ := strings.Cut(line, "level=")
		list = append(list, strings.TrimSpace(text))
	}
	l.text.Reset()
	return list
}

// A peer that is away, or comes and goes, fills no log.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines logged
		p := peer{refused: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
		l := dialling(t, transport.ClientConfig{Dial: p.dial, Log: slog.New(slog.NewTextHandler(&lines, nil))})
		l.Start()
		time.Sleep(59 * time.Second)
		assert.Equal(t, []string{`WARN msg="can't connect; will try again" error="nobody listens there (connection refused): start the program, or check the address" failures_since=0`}, lines.took())
		time.Sleep(2 * time.Second)
		assert.Equal(t, []string{`WARN msg="can't connect; will try again" error="nobody listens there (connection refused): start the program, or check the address" failures_since=19`}, lines.took())
		p.refuse(errors.New("no such host"))
		time.Sleep(3 * time.Second)
		assert.Equal(t, []string{`WARN msg="can't connect; will try again" error="no such host" failures_since=0`}, lines.took())
		p.refuse(nil)
		time.Sleep(3 * time.Second)
		assert.Equal(t, []string{`INFO msg=connected after=1m6s attempts=23`}, lines.took())
		require.NoError(t, p.last().Close())
		time.Sleep(3 * time.Second)
		assert.Equal(t, []string{
			`WARN msg="connection lost; will try again" error="the other side closed the connection" failures_since=0`,
			`INFO msg="connected again" after=3s attempts=1`,
		}, lines.took())
		for range 10 {
			require.NoError(t, p.last().Close())
			time.Sleep(3 * time.Second)
			synctest.Wait()
		}
		assert.Empty(t, lines.took(), "it comes and goes")
	})
}

// A peer that sends nothing but nonsense fills no log either.
func TestLogOfNonsense(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines logged
		var p peer
		l := dialling(t, transport.ClientConfig{
			Dial: p.dial, Log: slog.New(slog.NewTextHandler(&lines, nil)),
			Handle: func([]byte) error { return errors.New("makes no sense") },
		})
		l.Start()
		assert.Equal(t, []string{"INFO msg=connected"}, lines.took())
		said := 0
		for range 600 { // a minute
			_, err := p.last().Write(frame("bad"))
			require.NoError(t, err)
			said += len(lines.took())
			time.Sleep(100 * time.Millisecond)
		}
		assert.Equal(t, 6, said, "after 0, 1, 3, 7, 15 and 31 s")
		assert.EqualValues(t, 600, l.Diagnosis().Malformed)
		time.Sleep(5 * time.Minute)
		_, err := p.last().Write(frame("bad"))
		require.NoError(t, err)
		assert.Equal(t, []string{`WARN msg="can't read what the peer sent" error="makes no sense" more_since=289`}, lines.took())
	})
}

// The last attempt isn't said to be followed by another.
func TestLogOfGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines logged
		p := peer{refused: errors.New("refused")}
		l := dialling(t, transport.ClientConfig{Dial: p.dial, Log: slog.New(slog.NewTextHandler(&lines, nil)), Retry: transport.Retry{Attempts: 1}})
		l.Start()
		assert.Equal(t, []string{`ERROR msg="gave up connecting" attempts=1 error=refused`}, lines.took())
		assert.EqualValues(t, 1, l.Diagnosis().Failures)
	})
}

// Trouble that doesn't end a connection is counted by its kind, and told kind by kind.
func TestTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines logged
		var j transport.ConnectionLog
		j.Begin(slog.New(slog.NewTextHandler(&lines, nil)), transport.Words{})
		for range 2 {
			j.Note(transport.TroubleUnread, "unread", errors.New("nonsense"), "peer", "a")
			j.Note(transport.TroubleComplaint, "complains", errors.New("no such type"))
			j.Note(transport.TroubleFailed, "failed", errors.New("of another type"))
			j.Note(transport.TroubleRefused, "refused", &guard.Refusal{Rule: guard.BadOrigin})
		}
		d := j.Diagnosis()
		assert.Equal(t, [3]int64{2, 2, 4}, [3]int64{d.Malformed, d.Complaints, d.Failures})
		assert.Equal(t, map[string]int64{string(guard.BadOrigin): 2}, d.Refused)
		assert.ErrorAs(t, d.LastError, new(*guard.Refusal))
		assert.Equal(t, []string{
			`WARN msg=unread peer=a error=nonsense more_since=0`,
			`WARN msg=complains error="no such type" more_since=0`,
			`WARN msg=failed error="of another type" more_since=0`,
			`WARN msg=refused error="" more_since=0`,
		}, lines.took())

		j.Begin(slog.New(slog.NewTextHandler(&lines, nil)), transport.Words{})
		j.Note(transport.TroubleUnread, "unread", errors.New("nonsense"))
		assert.Equal(t, []string{`WARN msg=unread error=nonsense more_since=0`}, lines.took(), "of another connection")
		assert.EqualValues(t, 3, j.Diagnosis().Malformed)
	})
}

// asking is a log that asks, at each line, how the connection fares.
type asking struct {
	journal *transport.ConnectionLog
	failed  []int64
}

func (a *asking) Write(line []byte) (int, error) {
	a.failed = append(a.failed, a.journal.Diagnosis().Failures)
	return len(line), nil
}

func TestTheLogMayAskForTheDiagnosis(t *testing.T) {
	var j transport.ConnectionLog
	log := &asking{journal: &j}
	j.Begin(slog.New(slog.NewTextHandler(log, nil)), transport.Words{})
	j.Lost(transport.Loss{Err: errors.New("away"), Failures: 1})
	j.Connected()
	j.Note(transport.TroubleFailed, "failed", errors.New("of another type"))
	assert.Equal(t, []int64{1, 1, 2}, log.failed)
}

// TestDiagnosesAddUp: the later failure is the last one, and a connection without one keeps the
// earlier.
func TestDiagnosesAddUp(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	a := transport.Diagnosis{Connections: 1, Failures: 2, Malformed: 3, Complaints: 4, Altered: 5, Refused: map[string]int64{"bad_origin": 1}, LastError: first}
	b := transport.Diagnosis{Connections: 10, Failures: 20, Malformed: 30, Complaints: 40, Altered: 50, Refused: map[string]int64{"bad_origin": 1, "bad_host": 2}, LastError: second}
	sum := transport.Diagnosis{Connections: 11, Failures: 22, Malformed: 33, Complaints: 44, Altered: 55, Refused: map[string]int64{"bad_origin": 2, "bad_host": 2}, LastError: second}
	assert.Equal(t, sum, a.Add(b))
	assert.Equal(t, map[string]int64{"bad_origin": 1}, a.Refused, "the parts stay as they were")
	assert.Equal(t, first, a.Add(transport.Diagnosis{}).LastError)
}
