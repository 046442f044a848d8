package guard_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/internal/guard"
)

func contextWith(r *http.Request, local net.Addr) context.Context {
	return context.WithValue(r.Context(), http.LocalAddrContextKey, local)
}

// line is a connection that comes from an address and is only closed.
type line struct {
	net.Conn
	from   string
	closed atomic.Bool
}

func (l *line) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(l.from), Port: 1} }
func (l *line) Close() error         { l.closed.Store(true); return nil }

func admit(g *guard.Gate, from string) (*guard.Pass, *line) {
	l := &line{from: from}
	return g.Admit(l), l
}

func assertCause(t *testing.T, want guard.Rule, err error) {
	t.Helper()
	var refusal *guard.Refusal
	if assert.ErrorAs(t, err, &refusal) {
		assert.Equal(t, want, refusal.Rule)
	}
}

// TestTheOldestHandshakeGoesFirst, and clients aren't counted among them.
func TestTheOldestHandshakeGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard.NewGate(100, 0)
		client, _ := admit(g, "127.0.0.1")
		require.NoError(t, client.Enter())
		gone, _ := admit(g, "127.0.0.1")
		assert.True(t, gone.Leave())
		assert.False(t, gone.Leave())
		var passes []*guard.Pass
		var lines []*line
		for range guard.Handshakes + 3 {
			p, l := admit(g, "127.0.0.1")
			passes, lines = append(passes, p), append(lines, l)
		}
		for i, p := range passes {
			assert.Equal(t, i < 3, p.Cut() != nil, i)
			assert.Equal(t, i < 3, lines[i].closed.Load(), i)
		}
		assertCause(t, guard.Handshaking, passes[0].Cut())
		assertCause(t, guard.Handshaking, passes[0].Enter())
		assert.NoError(t, client.Cut())
		last := passes[len(passes)-1]
		require.NoError(t, last.Enter())
		assert.True(t, last.Inside())
		time.Sleep(guard.HandshakeTime - 1)
		synctest.Wait()
		assert.NoError(t, passes[3].Cut())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assertCause(t, guard.SlowHandshake, passes[3].Cut())
		assert.True(t, lines[3].closed.Load())
		assert.NoError(t, last.Cut(), "it has entered")
		assert.NoError(t, client.Cut())
	})
}

// TestOneAddressTakesNobodyElsesPlace, unless it is of this machine, where all have the same.
func TestOneAddressTakesNobodyElsesPlace(t *testing.T) {
	for _, c := range []struct {
		from            string
		shaking, inside int // how many of 40 are left
	}{
		{"192.0.2.7", guard.AddressHandshakes, 8},
		{"::ffff:192.0.2.7", guard.AddressHandshakes, 8},
		{"2001:db8::7", guard.AddressHandshakes, 8},
		{"127.0.0.1", 40, 16},
		{"::1", 40, 16},
	} {
		t.Run(c.from, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := guard.NewGate(16, 8)
				other, _ := admit(g, "192.0.2.99")
				var passes []*guard.Pass
				left := 0
				for range 40 {
					p, _ := admit(g, c.from)
					passes = append(passes, p)
				}
				for _, p := range passes {
					if p.Cut() == nil {
						left++
					}
				}
				assert.Equal(t, c.shaking, left)
				assert.NoError(t, other.Cut())

				inside := 0
				var last error
				for range 40 {
					p, _ := admit(g, c.from)
					if err := p.Enter(); err == nil {
						inside++
					} else {
						last = err
						p.Leave()
					}
				}
				assert.Equal(t, c.inside, inside)
				if c.inside == 8 {
					assertCause(t, guard.OfAddress, last)
					assert.NoError(t, other.Enter())
				} else {
					assertCause(t, guard.Connecting, last)
					assertCause(t, guard.Connecting, other.Enter())
				}
				time.Sleep(guard.HandshakeTime) // timers
			})
		})
	}
}

// TestAConnectionThatRestsMakesRoom for one that asks, the one that rests longest first.
func TestAConnectionThatRestsMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard.NewGate(2, 0)
		a, aLine := admit(g, "127.0.0.1")
		b, _ := admit(g, "127.0.0.1")
		require.NoError(t, a.Enter())
		require.NoError(t, b.Enter())
		c, _ := admit(g, "127.0.0.1")
		assertCause(t, guard.Connecting, c.Enter())
		b.Rest()
		a.Rest()
		b.Ask() // so a has rested longest
		require.NoError(t, b.Enter())
		require.NoError(t, c.Enter())
		assertCause(t, guard.Connecting, a.Cut())
		assert.True(t, aLine.closed.Load())
		b.Rest()
		b.Ask()
		time.Sleep(guard.HandshakeTime)
		synctest.Wait()
		assertCause(t, guard.SlowHandshake, b.Cut())
	})
}

// pipes is a listener of pipes.
type pipes struct {
	come  chan net.Conn
	close func()
	ended <-chan struct{}
}

func newPipes() *pipes {
	ctx, cancel := context.WithCancel(context.Background())
	return &pipes{come: make(chan net.Conn), close: cancel, ended: ctx.Done()}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.come:
		return conn, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.close(); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.come <- theirs
	return ours
}

// TestSilentConnectionsLockNobodyOut: a server that is full of silent connections answers. Each
// of them has ended after its time, also one that is slow with a later request. All are counted.
func TestSilentConnectionsLockNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(&guard.Guard{}, 2)
		l := newPipes()
		var served atomic.Bool
		go func() { _ = s.Serve(l); served.Store(true) }()
		var silent []net.Conn
		for i := range 200 {
			conn := l.dial()
			silent = append(silent, conn)
			if i%2 == 0 {
				_, _ = io.WriteString(conn, "GET / HT") // or it has ended
			}
		}
		slow := l.dial()
		for range 3 {
			_, err := io.WriteString(slow, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
			require.NoError(t, err)
			answer := make([]byte, 512)
			n, err := slow.Read(answer)
			require.NoError(t, err)
			assert.Contains(t, string(answer[:n]), "200 OK")
			time.Sleep(guard.HandshakeTime / 4)
		}
		_, err := io.WriteString(slow, "GET / HTTP/1.1\r\n")
		require.NoError(t, err)
		time.Sleep(2 * guard.HandshakeTime)
		for _, conn := range append(silent, slow) {
			_, err := io.ReadAll(conn)
			assert.NoError(t, err, "it has ended")
		}
		assert.Equal(t, map[guard.Rule]int{guard.Handshaking: 201 - guard.Handshakes, guard.SlowHandshake: guard.Handshakes}, s.causes())
		require.NoError(t, s.Close())
		synctest.Wait()
		assert.True(t, served.Load())
	})
}

// TestSlowBodiesTakeNobodysPlace: a request counts as a client's once its body is there.
func TestSlowBodiesTakeNobodysPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(&guard.Guard{}, 2)
		l := newPipes()
		go func() { _ = s.Serve(l) }()
		var slow []net.Conn
		for range 8 {
			conn := l.dial()
			slow = append(slow, conn)
			_, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhe")
			require.NoError(t, err)
		}
		synctest.Wait()
		quick := l.dial()
		_, err := io.WriteString(quick, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")
		require.NoError(t, err)
		answer := make([]byte, 512)
		n, err := quick.Read(answer)
		require.NoError(t, err)
		assert.Contains(t, string(answer[:n]), "200 OK")
		time.Sleep(guard.HandshakeTime)
		for _, conn := range slow {
			_, err := io.ReadAll(conn)
			assert.NoError(t, err, "it has ended")
		}
		synctest.Wait()
		assert.Equal(t, map[guard.Rule]int{guard.SlowHandshake: len(slow)}, s.causes())
		require.NoError(t, s.Close())
	})
}

// TestTooManyRequestsAtATime are told so.
func TestTooManyRequestsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refused atomic.Int32
		hold := make(chan struct{})
		s := guard.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }), guard.Config{
			Guard: &guard.Guard{}, Connections: 3,
			Answer:  func(w http.ResponseWriter, err error) { http.Error(w, err.Error(), guard.Status(err)) },
			Refused: func(error) { refused.Add(1) },
		})
		l := newPipes()
		go func() { _ = s.Serve(l) }()
		var last net.Conn
		for range 4 {
			ours := l.dial()
			_, err := io.WriteString(ours, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
			require.NoError(t, err)
			synctest.Wait()
			last = ours
		}
		answer := make([]byte, 512)
		n, err := last.Read(answer)
		require.NoError(t, err)
		assert.Contains(t, string(answer[:n]), "503 Service Unavailable")
		assert.Contains(t, string(answer[:n]), fmt.Sprintf("as many connections as this server takes: %d", 3))
		assert.EqualValues(t, 1, refused.Load())
		close(hold)
		require.NoError(t, s.Close())
	})
}
