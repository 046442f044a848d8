package link_test

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/internal/link"
)

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
		"there to the end":                   {lives: []life{stay}, closed: time.Minute, want: true},
		"there to an early end":              {lives: []life{stay}, closed: often, want: true},
		"answers and goes":                   {lives: []life{answer}, closed: time.Minute, want: true},
		"lasts and goes":                     {lives: []life{last}, closed: time.Minute, want: true},
		"comes to last":                      {lives: []life{leave, leave, last}, closed: time.Minute, want: true},
		"goes at once":                       {lives: []life{leave}, closed: time.Minute},
		"goes at once, asked early":          {lives: []life{leave}, closed: often},
		"is there to the end after it went":  {lives: []life{leave, stay}, closed: 3*time.Second + often},
		"is there for long after it went":    {lives: []life{leave, stay}, closed: 3*time.Second + 2*time.Second, want: true},
		"refuses":                            {lives: []life{refuse}, closed: time.Minute},
		"refuses late":                       {lives: []life{func(c net.Conn) { wait(c, 20*time.Second); refuse(c) }}, closed: time.Minute},
		"refuses, there to the end":          {lives: []life{refuse, stay}, closed: 3*time.Second + often},
		"goes at once after shaking hands":   {lives: []life{leave}, closed: time.Minute, handshake: true, want: true},
		"is never there, but for its answer": {lives: []life{leave, answer, leave}, closed: time.Minute, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var dials atomic.Int64
				dial := func(context.Context) (link.Conn, error) {
					ours, theirs := net.Pipe()
					n := int(dials.Add(1)) - 1
					go c.lives[min(n, len(c.lives)-1)](theirs)
					return link.TCP{Size: size}.Conn(ours), nil
				}
				l, b := open(t, link.Config{Dial: dial, Handshake: c.handshake})
				assert.False(t, l.Reached())
				l.Start()
				time.Sleep(c.closed)
				require.NoError(t, b.Close(t.Context()))
				assert.Equal(t, c.want, l.Reached())
			})
		})
	}
}

// A connection that is there gets the benefit of the doubt, once.
func TestReachedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p peer
		l, _ := open(t, link.Config{Dial: p.dial})
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
