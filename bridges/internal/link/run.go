package link

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
)

// run dials, serves the connection, and dials again, until the link is closed or gives
// up.
func (l *Link) run() {
	defer close(l.done)
	for failures := 0; l.dialing.Err() == nil; {
		connected, err := l.connect()
		l.judge(connected, err)
		if l.dialing.Err() != nil {
			if !connected {
				l.unanswered()
			}
			return
		}
		wait, again := l.config.Retry.Wait(failures + 1)
		if connected {
			// Attempts counts those that failed; the loss of a connection is none.
			once := l.config.Retry
			once.Attempts = 0
			failures = 0
			wait, again = once.Wait(1)
		} else {
			failures++
		}
		l.lost(connected, again, err)
		if !again {
			l.giveUp(failures, err)
			return
		}
		l.pause(wait)
	}
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

func (l *Link) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.dialing.Done():
	}
}

// connected notes that there is a connection. Whoever sees the status finds it counted.
func (l *Link) connected() {
	l.mu.Lock()
	l.journal.connected(time.Now())
	l.mu.Unlock()
	l.setStatus(bridges.Connected)
}

// lost notes that an attempt failed, or that a connection was lost, and whether there will
// be another attempt.
func (l *Link) lost(connected, again bool, err error) {
	if connected {
		l.setStatus(bridges.UnexpectedlyDisconnected)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.journal.failed(time.Now(), again, err)
}

func (l *Link) giveUp(attempts int, err error) {
	l.setStatus(bridges.UnexpectedlyDisconnected)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gaveUp = fmt.Errorf("%w: gave up after %d attempts: %w", bridges.ErrNotConnected, attempts, err)
	l.config.Log.Error("gave up connecting", "attempts", attempts, "error", err)
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
