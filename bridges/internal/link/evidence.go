package link

import (
	"errors"
	"io"
	"time"

	"github.com/raybridge/raybridge/bridges"
)

// proof is how long a connection must last to show that the peer speaks the protocol,
// where the peer has said nothing: servers of other protocols end it sooner.
const proof = time.Second

// evidence is what a link's connections tell of the peer.
type evidence struct {
	reached  bool // it speaks the protocol
	doubtful bool // it has ended a connection as those do who don't
	answered bool // a frame of it was read on this connection
	// slowest is the longest that a connection lasted until the peer said something that
	// is none of the protocol.
	slowest time.Duration
}

// lasts reports whether a connection that has been there for so long shows that the peer
// speaks the protocol.
func (e *evidence) lasts(d time.Duration) bool { return d >= max(proof, 2*e.slowest) }

// Reached reports whether the link has ever had a connection to a peer that speaks the
// protocol. Where nothing is acknowledged, having connected doesn't show that: a connection
// counts on which the peer has sent a frame of the protocol, and one that lasts for a
// second, or until Close, and then isn't ended by what is none of the protocol. After such an
// end the next must last twice as long as that one did.
// As long as no connection has ended otherwise, the one that there is gets the benefit of
// the doubt.
func (l *Link) Reached() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, j := &l.evidence, &l.journal
	return e.reached || j.up && (!e.doubtful || e.lasts(time.Since(j.since)))
}

// answered notes that the peer has sent a frame of the protocol.
func (l *Link) answered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.evidence.answered = true
}

// judge notes what the end of a connection tells of the peer.
func (l *Link) judge(connected bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, j := &l.evidence, &l.journal
	answered := e.answered
	e.answered = false
	if !connected {
		return
	}
	inOrder := l.closing && (errors.Is(err, bridges.ErrClosed) || errors.Is(err, io.EOF))
	switch {
	case answered, l.config.Handshake:
		e.reached = true
	case errors.Is(err, bridges.ErrProtocol):
		e.doubtful, e.slowest = true, max(e.slowest, time.Since(j.since))
	case e.lasts(time.Since(j.since)), inOrder && !e.doubtful:
		e.reached = true
	default:
		e.doubtful = true
	}
	if l.closing {
		j.up = false
	}
}
