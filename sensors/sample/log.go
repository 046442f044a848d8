package sample

import "log/slog"

// Log is a line of the run's log.
type Log struct {
	StampNs int64
	Level   slog.Level
	// Message is the text, Name the part of the program that says it, File and Line the
	// place in its source; all but the message may be empty.
	Message, Name, File string
	Line                int
}

// Stamp returns the simulation time of the line, nanoseconds.
func (m *Log) Stamp() int64 { return m.StampNs }

// CopyToCache makes dst an independent copy.
func (m *Log) CopyToCache(dst *Log) { *dst = *m }

// CacheKey groups all lines in one pool.
func (m *Log) CacheKey() uint64 { return 0 }
