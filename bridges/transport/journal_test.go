package transport_test

import (
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/internal/guard"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
		var j transport.Journal
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
	journal *transport.Journal
	failed  []int64
}

func (a *asking) Write(line []byte) (int, error) {
	a.failed = append(a.failed, a.journal.Diagnosis().Failures)
	return len(line), nil
}

func TestTheLogMayAskForTheDiagnosis(t *testing.T) {
	var j transport.Journal
	log := &asking{journal: &j}
	j.Begin(slog.New(slog.NewTextHandler(log, nil)), transport.Words{})
	j.Lost(transport.Loss{Err: errors.New("away"), Failures: 1})
	j.Connected()
	j.Note(transport.TroubleFailed, "failed", errors.New("of another type"))
	assert.Equal(t, []int64{1, 1, 2}, log.failed)
}
