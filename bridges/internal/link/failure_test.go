package link_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/link"
	"github.com/raybridge/raybridge/flow"
)

// A full queue does what the policy of the topic says that has a message to send.
func TestPolicyOfEachTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p peer
		l, b := open(t, link.Config{Dial: p.dial, Queue: flow.QueueConfig{Messages: 2}})
		oldest := publisher(t, b, "/oldest", flow.DropOldest)
		newest := publisher(t, b, "/newest", flow.DropNewest)
		block := publisher(t, b, "/block", flow.Block)
		l.Start()
		synctest.Wait()
		require.NoError(t, oldest("being written"))
		synctest.Wait()
		require.NoError(t, oldest("1"))
		require.NoError(t, newest("2"))
		begun := time.Now()
		assert.ErrorIs(t, newest("3"), bridges.ErrPeerSlow)
		require.NoError(t, oldest("4"), "it pushes 1 out")
		assert.Zero(t, time.Since(begun), "nobody waits")
		assert.ErrorIs(t, block("5"), bridges.ErrPeerSlow)
		assert.Equal(t, time.Second, time.Since(begun))
		assert.ErrorIs(t, block("6"), bridges.ErrPeerSlow)
		assert.Equal(t, time.Second, time.Since(begun), "not waited for again")
		assert.Equal(t, "being written", p.take(t))
		assert.Equal(t, "2", p.take(t))
		synctest.Wait()
		require.NoError(t, block("7"))
		assert.Equal(t, "4", p.take(t))
		assert.Equal(t, "7", p.take(t))
		synctest.Wait()
		s := b.Statistics()
		assert.Equal(t, flow.Drops{flow.CausePeerSlow: 1}, s.Topics[0].Drops)
		assert.Equal(t, flow.Drops{flow.CausePeerSlow: 1}, s.Topics[1].Drops)
		assert.Equal(t, flow.Drops{flow.CausePeerSlow: 2}, s.Topics[2].Drops)
		assert.EqualValues(t, 4, s.Messages)
	})
}

// The wait of policy block ends with the context of the publisher.
func TestContextEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p peer
		l, b := open(t, link.Config{Dial: p.dial, Queue: flow.QueueConfig{Messages: 1}})
		publish, err := bridges.AddPublisher[string](b, bridges.Topic{Name: "/a", Policy: flow.Block})
		require.NoError(t, err)
		l.Start()
		synctest.Wait()
		require.NoError(t, publish(t.Context(), "being written"))
		synctest.Wait()
		require.NoError(t, publish(t.Context(), "waits"))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		assert.ErrorIs(t, publish(ctx, "waits for room"), context.Canceled)
		assert.Equal(t, flow.Drops{flow.CauseClosed: 1}, b.Statistics().Drops)
		go func() { _, _ = io.Copy(io.Discard, p.last()) }()
	})
}

// A peer that takes nothing is disconnected, and dialled again.
func TestPeerThatTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p peer
		l, b := open(t, link.Config{Dial: p.dial, WriteTimeout: 5 * time.Second})
		publish := publisher(t, b, "/a", flow.DropOldest)
		l.Start()
		synctest.Wait()
		for i := range 3 {
			require.NoError(t, publish(fmt.Sprint(i)))
		}
		time.Sleep(5*time.Second - time.Nanosecond)
		synctest.Wait()
		assert.Equal(t, bridges.Connected, l.Status())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.Equal(t, bridges.UnexpectedlyDisconnected, l.Status())
		assert.ErrorIs(t, l.Diagnosis().LastError, bridges.ErrPeerSlow)
		assert.Equal(t, flow.Drops{flow.CausePeerSlow: 3}, b.Statistics().Drops)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Equal(t, bridges.Connected, l.Status())
		require.NoError(t, publish("again"))
		assert.Equal(t, "again", p.take(t))
	})
}

func TestMessagesOfALostConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p peer
		l, b := open(t, link.Config{Dial: p.dial, Queue: flow.QueueConfig{Messages: 3}})
		publish := publisher(t, b, "/a", flow.Block)
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
		assert.ErrorIs(t, <-waiting, bridges.ErrNotConnected)
		synctest.Wait()
		assert.Equal(t, flow.Drops{flow.CauseWriteFailed: 1, flow.CauseNotConnected: 4}, b.Statistics().Drops)
		assert.Zero(t, b.Statistics().Messages)
	})
}

func TestRetries(t *testing.T) {
	refused := errors.New("refused")
	for _, c := range []struct {
		name  string
		retry bridges.Retry
		after []int // seconds of the first dials
		gives bool  // it gives up then
	}{
		{"every 3 s", bridges.Retry{}, []int{0, 3, 6, 9, 12}, false},
		{"backing off", bridges.Retry{Interval: time.Second, Backoff: 2, Longest: 4 * time.Second}, []int{0, 1, 3, 7, 11}, false},
		{"three times", bridges.Retry{Attempts: 3}, []int{0, 3, 6}, true},
		{"once", bridges.Retry{Attempts: 1}, []int{0}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := peer{refused: refused}
				l, b := open(t, link.Config{Dial: p.dial, Retry: c.retry})
				publish := publisher(t, b, "/a", flow.DropOldest)
				begun := time.Now()
				l.Start()
				for n, seconds := range c.after {
					time.Sleep(time.Until(begun.Add(time.Duration(seconds) * time.Second)))
					synctest.Wait()
					require.Equal(t, n+1, p.attempts(), "after %d s", seconds)
				}
				assert.EqualValues(t, len(c.after), l.Diagnosis().Failures)
				if !c.gives {
					assert.Equal(t, bridges.Connecting, l.Status())
					assert.NoError(t, l.Err())
					return
				}
				time.Sleep(time.Hour)
				assert.Equal(t, len(c.after), p.attempts())
				assert.Equal(t, bridges.UnexpectedlyDisconnected, l.Status())
				assert.ErrorIs(t, l.Err(), bridges.ErrNotConnected)
				assert.ErrorIs(t, l.Err(), refused)
				assert.ErrorIs(t, publish("x"), refused, "publishers tell why")
			})
		})
	}
}

// Attempts counts dials in a row that failed, not connections that were lost.
func TestLossesDontCountAsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p peer
		l, _ := open(t, link.Config{Dial: p.dial, Retry: bridges.Retry{Attempts: 1}})
		l.Start()
		for range 5 {
			synctest.Wait()
			require.Equal(t, bridges.Connected, l.Status())
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
		l, _ := open(t, link.Config{DialTimeout: time.Second, Dial: func(ctx context.Context) (link.Conn, error) {
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
		l, _ := open(t, link.Config{Dial: p.dial, Handle: func(f []byte) error {
			switch text := string(f[1:]); text {
			case "bad":
				return errors.New("makes no sense")
			case "worse":
				return fmt.Errorf("%w: %s", bridges.ErrProtocol, text)
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
		assert.Equal(t, bridges.Connected, l.Status())
		assert.EqualValues(t, 1, l.Diagnosis().Malformed)
		send("worse")
		assert.Equal(t, bridges.UnexpectedlyDisconnected, l.Status())
		assert.ErrorIs(t, l.Diagnosis().LastError, bridges.ErrProtocol)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		send("three")
		_, err := p.last().Write([]byte{0xff}) // no frame
		require.NoError(t, err)
		synctest.Wait()
		assert.Equal(t, bridges.UnexpectedlyDisconnected, l.Status())
		assert.EqualValues(t, 3, l.Diagnosis().Malformed)
		assert.Equal(t, []string{"one", "two", "three"}, got)
	})
}

// Answers overtake messages, and are bounded.
func TestPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p peer
		l, b := open(t, link.Config{Dial: p.dial})
		publish := publisher(t, b, "/a", flow.DropOldest)
		assert.ErrorIs(t, l.Post(frame("early")), bridges.ErrNotConnected)
		l.Start()
		synctest.Wait()
		require.NoError(t, publish("being written"))
		synctest.Wait()
		require.NoError(t, publish("waits"))
		for range 64 {
			require.NoError(t, l.Post(frame("answer")))
		}
		assert.ErrorIs(t, l.Post(frame("too many")), bridges.ErrPeerSlow)
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
		l       *link.Link
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
				l, b := open(t, link.Config{Dial: p.dial})
				publish := publisher(t, b, "/a", flow.DropOldest)
				prepare(t, state{p, l, publish})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				require.NoError(t, l.Close(ctx))
				require.NoError(t, l.Close(ctx), "again")
				assert.Equal(t, bridges.Disconnected, l.Status())
				assert.Equal(t, drops[name], b.Statistics().Topics[0].Drops)
				l.Start() // does nothing
				l.Register(frame("x"))
				assert.ErrorIs(t, l.NewTopic(nil).Send(ctx, l.NewTopic(nil).Buffer(0)), bridges.ErrClosed)
			})
		})
	}
}

// goodbye is a connection that can be closed in two steps.
type goodbye struct {
	link.Conn
	said chan struct{}
}

func (g goodbye) CloseWrite() error { close(g.said); return nil }

// The peer is told that nothing follows and given a second to say the same.
func TestGoodbye(t *testing.T) {
	for name, answers := range map[string]bool{"answered": true, "not answered": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				g := goodbye{link.TCP{Size: size}.Conn(ours), make(chan struct{})}
				l, _ := open(t, link.Config{Dial: func(context.Context) (link.Conn, error) { return g, nil }})
				l.Start()
				synctest.Wait()
				want := time.Second
				if answers {
					want = 0
					go func() { <-g.said; _ = theirs.Close() }()
				}
				begun := time.Now()
				require.NoError(t, l.Close(t.Context()))
				assert.Equal(t, want, time.Since(begun))
				assert.Zero(t, l.Diagnosis().Failures)
			})
		})
	}
}
