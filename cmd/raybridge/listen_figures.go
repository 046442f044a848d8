package main

import (
	"time"

	"github.com/raybridge/raybridge/sensors/stream"
)

// rateWindow is the time that the table's rates are of; windowText says it in the help.
const (
	rateWindow = 5 * time.Second
	windowText = "5 s"
)

// mark is what had come of a stream at one time.
type mark struct {
	at              time.Time
	messages, bytes int64
	latencyNs       int64
}

// figures are one stream's counts.
type figures struct {
	mark
	// missed counts messages between others that didn't come, dropped those that the
	// server dropped for us; earlier are those of former connections.
	missed, dropped, earlier uint64
	cause                    string // of most drops
	// unknownGaps counts gaps of an unknown length: the server was restarted.
	unknownGaps      int64
	maxLatencyNs     int64
	firstAt          time.Time // of the first message
	firstNs, stampNs int64     // capture times of the first and the last message
	marks            []mark    // one a second within the window, oldest first
}

func newFigures(now time.Time) figures {
	f := figures{}
	f.at = now
	f.marks = []mark{f.mark}
	return f
}

// add counts a message.
func (f *figures) add(now time.Time, d *stream.Data) {
	latency := d.PublishNs() - d.CaptureNs()
	if f.messages == 0 {
		f.firstAt, f.firstNs = now, d.CaptureNs()
	}
	f.at, f.stampNs = now, d.CaptureNs()
	f.messages++
	f.bytes += int64(len(d.Bytes()))
	f.latencyNs += latency
	f.maxLatencyNs = max(f.maxLatencyNs, latency)
	f.missed += d.Missed
}

// lose takes the server's count of messages that it has dropped since the subscription.
func (f *figures) lose(total uint64, cause string) { f.dropped, f.cause = total, cause }

// reconnected begins to count the drops of another subscription.
func (f *figures) reconnected() {
	f.earlier += f.dropped
	f.dropped = 0
}

// lost is how many messages the server dropped.
func (f *figures) lost() uint64 { return f.earlier + f.dropped }

// rates are a stream's over a time.
type rates struct {
	hz, megabytes float64 // a second
	latencyMs     float64 // the mean
	heard         bool    // false where nothing came, and all is zero
}

// recent returns the rates over the window up to now; it is asked once a second.
func (f *figures) recent(now time.Time) rates {
	current := f.mark
	current.at = now
	for len(f.marks) > 1 && now.Sub(f.marks[1].at) >= rateWindow {
		f.marks = f.marks[1:]
	}
	oldest := f.marks[0]
	f.marks = append(f.marks, current)
	seconds := now.Sub(oldest.at).Seconds()
	if seconds <= 0 {
		return rates{}
	}
	n := current.messages - oldest.messages
	r := rates{hz: float64(n) / seconds, megabytes: float64(current.bytes-oldest.bytes) / seconds / 1e6, heard: n > 0}
	if r.heard {
		r.latencyMs = float64(current.latencyNs-oldest.latencyNs) / float64(n) / 1e6
	}
	return r
}

// rate is n messages' over the time between the first and the last of them.
func rate(n int64, between time.Duration) float64 {
	if n < 2 || between <= 0 {
		return 0
	}
	return float64(n-1) / between.Seconds()
}
