package link_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/link"
	"github.com/raybridge/raybridge/flow"
)

// size is the framing of these tests: a length byte, then so many bytes.
func size(head []byte) (int, error) {
	if len(head) == 0 {
		return 1, nil
	}
	if head[0] == 0xff {
		return 0, bridges.ErrProtocol
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

func (p *peer) dial(context.Context) (link.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dials++
	if p.refused != nil {
		return nil, p.refused
	}
	ours, theirs := net.Pipe()
	p.conns = append(p.conns, theirs)
	return link.TCP{Size: size}.Conn(ours), nil
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

// topics counts as a bridge does: the factory of a bridge that has one type.
type topics struct{ link *link.Link }

func (topics) Info() bridges.Info {
	return bridges.Info{Name: "test", Type: "test", Kind: bridges.KindNetwork, Summary: "s", Connection: "c"}
}

// raw is a whole frame; a string is the text of one.
type raw string

func (f topics) Register(p *bridges.Plugin) error {
	return errors.Join(
		bridges.AddType[string](p, "text"), bridges.AddPublisherCreator(p, creator(f.link, frame)),
		bridges.AddType[raw](p, "raw"), bridges.AddPublisherCreator(p, creator(f.link, func(r raw) []byte { return []byte(r) })),
	)
}

func creator[T any](l *link.Link, encode func(T) []byte) bridges.PublisherCreator[T] {
	return func(_ bridges.Instance, info *bridges.PublishedTopic) (bridges.Publisher[T], error) {
		out := l.NewTopic(info)
		return func(ctx context.Context, message T) error {
			encoded := encode(message)
			b := out.Buffer(len(encoded))
			b.Adopt(append(b.Bytes()[:0], encoded...))
			return out.Send(ctx, b)
		}, nil
	}
}

func (f topics) NewInstance(bridges.Env) (bridges.Instance, error) { return f, nil }

func (f topics) Status() bridges.Status { return f.link.Status() }
func (f topics) Err() error             { return f.link.Err() }

func (f topics) Connect(context.Context, string) error { f.link.Start(); return nil }

func (f topics) Disconnect(ctx context.Context) error { return f.link.Close(ctx) }

// open returns a bridge over a link.
func open(t *testing.T, config link.Config) (*link.Link, *bridges.Bridge) {
	t.Helper()
	l := link.New(config)
	b, err := bridges.MustRegistry(topics{l}).Open("test:", bridges.Env{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, b.Close(t.Context()))
		require.Equal(t, bridges.Disconnected, l.Status())
		require.Zero(t, l.Pool().Outstanding, "buffers leaked")
		require.Zero(t, l.Pool().Misused)
	})
	return l, b
}

func publisher(t *testing.T, b *bridges.Bridge, name string, policy flow.Policy) func(string) error {
	t.Helper()
	publish, err := bridges.AddPublisher[string](b, bridges.Topic{Name: name, Policy: policy})
	require.NoError(t, err)
	return func(text string) error { return publish(context.Background(), text) }
}

// Registrations come first and in order on every connection, late ones once.
func TestRegistrationsAreReplayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p peer
		l, b := open(t, link.Config{Dial: p.dial})
		publish := publisher(t, b, "/a", flow.DropOldest)
		l.Register(frame("one"))
		l.Register(frame("two"))
		assert.Equal(t, bridges.Disconnected, l.Status())
		l.Start()
		synctest.Wait()
		assert.Equal(t, bridges.Connecting, l.Status(), "registrations aren't written yet")
		assert.Equal(t, "one", p.take(t))
		assert.Equal(t, "two", p.take(t))
		synctest.Wait()
		assert.Equal(t, bridges.Connected, l.Status())

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
		assert.Equal(t, bridges.UnexpectedlyDisconnected, l.Status())
		assert.ErrorIs(t, publish("lost"), bridges.ErrNotConnected)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		for _, want := range []string{"one", "two", "three", "four"} {
			assert.Equal(t, want, p.take(t))
		}
		synctest.Wait()
		assert.Equal(t, bridges.Connected, l.Status())
		require.NoError(t, publish("message 4"))
		assert.Equal(t, "message 4", p.take(t))
		synctest.Wait()
		s := b.Statistics()
		assert.EqualValues(t, 4, s.Messages)
		assert.EqualValues(t, 4*10, s.Bytes)
		assert.Equal(t, flow.Drops{flow.CauseNotConnected: 1}, s.Drops)
		assert.Equal(t, int64(2), l.Diagnosis().Connections)
		assert.Equal(t, int64(1), l.Diagnosis().Failures)
	})
}
