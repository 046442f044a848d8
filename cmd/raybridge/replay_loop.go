package main

import "github.com/raybridge/raybridge/bridges/mcap"

// loopEnd is the log time at which a loop begins again: when the recording ends, or the
// part of it, whichever messages are replayed of it. A single message is no reason to
// send it without a pause.
func loopEnd(part mcap.Selection, startNs, lastNs int64) int64 {
	end := lastNs
	if part.ToNs > 0 {
		end = min(end, part.ToNs)
	}
	return max(end, startNs+clockStep)
}

// sent counts the messages up to now.
func (s *replaySession) sent() int64 {
	var n int64
	for _, t := range s.order {
		n += t.messages
	}
	return n
}
