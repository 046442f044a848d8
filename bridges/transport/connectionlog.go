package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/raybridge/raybridge/flow"
)

const (
	// summary is the time between two log lines of an outage that lasts.
	summary = time.Minute
	// steady is how long a connection holds before its loss is news again.
	steady = time.Minute
	// mostCauses bounds how many kinds of failure are told apart.
	mostCauses = 16
)

// Words are the texts of a ConnectionLog's lines.
type Words struct {
	// Connected is the first connection, Again each that follows an outage which was told.
	Connected, Again string
	// Failed is an attempt without a connection, Lost the end of one; another attempt follows.
	Failed, Lost string
	// GaveUp says that no attempt follows.
	GaveUp string
}

// Trouble is a kind of failure that doesn't end the connection, and may come often.
type Trouble int

const (
	// TroubleUnread is something that the peer sent and that can't be read: Diagnosis.Malformed.
	TroubleUnread Trouble = iota
	// TroubleComplaint is something that the peer says it can't do: Diagnosis.Complaints.
	TroubleComplaint
	// TroubleFailed is a connection with somebody else that failed: Diagnosis.Failures.
	TroubleFailed
	// TroubleRefused is somebody who wasn't let in: Diagnosis.Failures, and Refused by its cause.
	TroubleRefused
	troubleLeft // a client of a server that left with an error; Diagnosis counts it as TroubleFailed
	troubles    = int(troubleLeft) + 1
)

// ConnectionLog counts what happens to a connection that is kept, or to those of a server, and logs it.
// The first failure of each cause is logged at once, then at most a line a minute. So a peer that
// comes and goes fills no log. Trouble that doesn't end a connection is logged at once too, then
// ever more rarely. A line says how many were left out before it. Begin comes first; then any
// goroutine may call. Lines are written without its lock. So a handler of the log may
// ask for the Diagnosis, and one that takes its time holds up nobody else.
type ConnectionLog struct {
	mu        sync.Mutex
	log       *slog.Logger // guarded by mu
	words     Words        // guarded by mu
	diagnosis Diagnosis    // guarded by mu

	since    time.Time       // guarded by mu: the connection's or the outage's begin
	made     int64           // guarded by mu: connections since Begin
	failed   int64           // guarded by mu: failures since Begin
	told     map[string]bool // guarded by mu: causes that were logged
	lastTold time.Time       // guarded by mu: when a failure was logged
	attempts int64           // guarded by mu: in this outage
	spoke    bool            // guarded by mu: a failure of this outage was logged
	untold   int64           // guarded by mu: failures that were counted and not logged

	repeated [troubles]flow.Journal // guarded by mu: of the lines about each kind of trouble
}

// Begin notes that the first attempt to connect begins now, and where and in which words to log
// from now on. The next line of each kind is logged at once. What was counted stays.
func (j *ConnectionLog) Begin(log *slog.Logger, words Words) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.log, j.words = log, words
	j.since, j.told, j.lastTold = time.Now(), nil, time.Time{}
	j.made, j.failed, j.attempts, j.untold, j.spoke = 0, 0, 0, 0, false
	j.repeated = [troubles]flow.Journal{}
}

// Diagnosis returns how all connections fared.
func (j *ConnectionLog) Diagnosis() Diagnosis {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.diagnosis
}

// Connected notes that there is a connection. The attributes are for its line.
func (j *ConnectionLog) Connected(attributes ...any) { j.connected(attributes).write() }

func (j *ConnectionLog) connected(attributes []any) (l line) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.meet()
	text, now := j.words.Again, time.Now()
	if j.made == 1 {
		text = j.words.Connected
	}
	if j.spoke {
		attributes = append(attributes, "after", now.Sub(j.since).Round(time.Millisecond), "attempts", j.attempts+1)
	}
	if j.spoke || j.made == 1 {
		l = line{j.log, slog.LevelInfo, text, attributes}
	}
	j.since, j.attempts, j.spoke = now, 0, false
	return l
}

// met counts a connection without a line: one of a server, or one that ended before it could
// be used.
func (j *ConnectionLog) met() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.meet()
}

// meet counts a connection; mu must be held.
func (j *ConnectionLog) meet() {
	j.made++
	j.diagnosis.Connections++
}

// Lost notes that an attempt failed, or that a connection was lost. It is for Keep to call.
func (j *ConnectionLog) Lost(loss Loss) { j.lost(loss).write() }

func (j *ConnectionLog) lost(loss Loss) (l line) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.count(loss.Err, TroubleFailed)
	j.failed++
	text, now := j.words.Failed, time.Now()
	if loss.Connected {
		text = j.words.Lost
		if now.Sub(j.since) >= steady {
			clear(j.told)
		}
		j.since = now
	} else {
		j.attempts++
	}
	if loss.Last {
		return line{j.log, slog.LevelError, j.words.GaveUp, []any{"attempts", loss.Failures, "error", loss.Err}}
	}
	cause := text + ": " + root(loss.Err)
	if isNew := !j.told[cause] && len(j.told) < mostCauses; !isNew && now.Sub(j.lastTold) < summary {
		j.untold++
		return l
	}
	if j.told == nil {
		j.told = map[string]bool{}
	}
	j.told[cause] = true
	l = line{j.log, slog.LevelWarn, text, []any{"error", loss.Err, "failures_since", j.untold}}
	j.lastTold, j.spoke, j.untold = now, true, 0
	return l
}

// unanswered notes that the connection is given up. Where the first attempt has had no end yet,
// that is its failure. Of a peer that takes connections and keeps silent there would be nothing
// else to tell.
func (j *ConnectionLog) unanswered() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.made == 0 && j.failed == 0 {
		j.count(fmt.Errorf("%w: no answer within the %v until it was closed", flow.ErrNotConnected, time.Since(j.since).Round(time.Millisecond)), TroubleFailed)
	}
}

// Note counts trouble that doesn't end the connection. The line has the text and, before the
// error, the attributes.
func (j *ConnectionLog) Note(kind Trouble, text string, err error, attributes ...any) {
	j.counted(err, kind)
	j.tell(kind, line{level: slog.LevelWarn, text: text, attributes: append(attributes, "error", err)})
}

// counted counts an error that has no line, as trouble of one or more kinds.
func (j *ConnectionLog) counted(err error, kinds ...Trouble) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.count(err, kinds...)
}

// left logs that a client left with an error, which isn't counted here.
func (j *ConnectionLog) left(client string, err error) {
	j.tell(troubleLeft, line{level: slog.LevelInfo, text: "client left", attributes: []any{"client", client, "error", err}})
}

// count counts an error; mu must be held.
func (j *ConnectionLog) count(err error, kinds ...Trouble) {
	for _, kind := range kinds {
		switch kind {
		case TroubleUnread:
			j.diagnosis.Malformed++
			j.diagnosis.LastError = err
		case TroubleComplaint:
			j.diagnosis.Complaints++
			j.diagnosis.LastError = err
		default:
			j.diagnosis.Fail(err)
		}
	}
}

// tell logs a line about repeated trouble, or counts that it was left out.
func (j *ConnectionLog) tell(kind Trouble, l line) {
	j.mu.Lock()
	untold, ok := j.repeated[kind].Tell(time.Now())
	if ok {
		l.log = j.log
	}
	j.mu.Unlock()
	l.attributes = append(l.attributes, "more_since", untold)
	l.write()
}

// line is a line of the log; one without a log isn't written.
type line struct {
	log        *slog.Logger
	level      slog.Level
	text       string
	attributes []any
}

func (l line) write() {
	if l.log != nil {
		l.log.Log(context.Background(), l.level, l.text, l.attributes...)
	}
}

// root returns the text of the innermost error, which has no port numbers and the like
// that differ from one attempt to the next.
func root(err error) string {
	if errors.Is(err, io.EOF) {
		return io.EOF.Error()
	}
	for {
		var next error
		switch e := any(err).(type) {
		case interface{ Unwrap() error }:
			next = e.Unwrap()
		case interface{ Unwrap() []error }:
			if list := e.Unwrap(); len(list) > 0 {
				next = list[len(list)-1]
			}
		}
		if next == nil {
			return err.Error()
		}
		err = next
	}
}
