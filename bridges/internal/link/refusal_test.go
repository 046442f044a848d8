package link_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/link"
)

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
		return nil, fmt.Errorf("%w: it answers 400 Bad Request", bridges.ErrProtocol)
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
		l := link.New(link.Config{Dial: func(context.Context) (link.Conn, error) {
			return &refusing{left: make(chan struct{}), closed: make(chan struct{})}, nil
		}})
		l.Register([]byte("hello"))
		l.Start()
		time.Sleep(time.Second)
		synctest.Wait()
		d := l.Diagnosis()
		assert.ErrorIs(t, d.LastError, bridges.ErrProtocol)
		assert.NotErrorIs(t, d.LastError, bridges.ErrWriteFailed)
		assert.Equal(t, [3]int64{1, 1, 1}, [3]int64{d.Connections, d.Failures, d.Malformed}, "the connection was made")
		assert.NoError(t, l.Close(t.Context()))
	})
}

// A peer that takes the connection and keeps silent has a line at the end, however early.
func TestTheFirstAttemptHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := link.New(link.Config{Dial: func(ctx context.Context) (link.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		l.Start()
		time.Sleep(2 * time.Second)
		assert.NoError(t, l.Close(t.Context()))
		assert.EqualValues(t, 1, l.Diagnosis().Failures)
		assert.ErrorIs(t, l.Diagnosis().LastError, bridges.ErrNotConnected)
		assert.ErrorContains(t, l.Diagnosis().LastError, "no answer within the 2s")
	})
}
