package link

import (
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
)

const (
	// summary is the time between two log lines of an outage that goes on.
	summary = time.Minute
	// steady is how long a connection holds before its loss is news again.
	steady = time.Minute
	// causes bounds how many kinds of failure are told apart.
	causes = 16
)

// journal counts what happens to a link and logs it: the first failure of each cause at
// once, then a line a minute, so that a peer that comes and goes fills no log. What can't
// be read, and what the peer complains of, is logged at once too, then ever more rarely. It
// isn't safe for several goroutines.
type journal struct {
	bridges.Diagnosis
	log *slog.Logger

	since    time.Time       // the connection's or the outage's begin
	up       bool            // there is a connection
	told     map[string]bool // causes that were logged
	lastTold time.Time       // when a failure was logged
	attempts int64           // in this outage
	spoke    bool            // a failure of this outage was logged
	untold   int64           // failures that were counted and not logged

	unread     flow.Journal // of lines about what couldn't be read
	complaints flow.Journal // of lines about what the peer said it can't do
}

func (j *journal) connected(now time.Time) {
	j.Connections++
	switch {
	case j.spoke && j.Connections > 1:
		j.log.Info("connected again", "after", now.Sub(j.since).Round(time.Millisecond), "attempts", j.attempts+1)
	case j.Connections == 1:
		j.log.Info("connected")
	}
	j.spoke = false
	j.up, j.since, j.attempts = true, now, 0
}

func (j *journal) failed(now time.Time, again bool, err error) {
	j.Failures++
	j.LastError = err
	what := "can't connect"
	if j.up {
		what = "connection lost"
		if now.Sub(j.since) >= steady {
			clear(j.told)
		}
		j.up, j.since = false, now
	} else {
		j.attempts++
	}
	if !again {
		return // the link says that it gives up, and why
	}
	cause := what + ": " + root(err)
	if isNew := !j.told[cause] && len(j.told) < causes; !isNew && now.Sub(j.lastTold) < summary {
		j.untold++
		return
	}
	if j.told == nil {
		j.told = map[string]bool{}
	}
	j.told[cause] = true
	j.log.Warn(what+"; will try again", "error", err, "failures_since", j.untold)
	j.lastTold, j.spoke, j.untold = now, true, 0
}

func (j *journal) malformed(now time.Time, err error) {
	j.Malformed++
	j.LastError = err
	if untold, ok := j.unread.Tell(now); ok {
		j.log.Warn("can't read what the peer sent", "error", err, "more_since", untold)
	}
}

func (j *journal) complained(now time.Time, err error) {
	j.Complaints++
	j.LastError = err
	if untold, ok := j.complaints.Tell(now); ok {
		j.log.Warn("the peer complains", "error", err, "more_since", untold)
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
