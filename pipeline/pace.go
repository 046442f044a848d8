package pipeline

import (
	"context"
	"time"

	"github.com/raybridge/raybridge/simtime"
)

// pace is how fast simulated time may pass, from an instant of both clocks on. The zero pace has no limit.
type pace struct {
	begun time.Time
	start simtime.Stamp
	scale float64 // simulated seconds in one of the host's
}

// wait waits for the instant at which time may be t, or for ctx's end.
func (p *pace) wait(ctx context.Context, t simtime.Stamp) {
	if p.scale == 0 {
		return
	}
	d := time.Until(p.begun.Add(time.Duration(float64(t-p.start) / p.scale)))
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// stood makes up for a pause since a time: it isn't made good.
func (p *pace) stood(since time.Time) { p.begun = p.begun.Add(time.Since(since)) }
