package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
	"github.com/raybridge/raybridge/pipeline"
)

// runStatus is what GET /v1/status answers: the summary up to now, the clock, and who wasn't let
// in by the API itself, by cause.
type runStatus struct {
	pipeline.Summary
	Time    control.Time     `json:"time"`
	Refused map[string]int64 `json:"control_refused,omitempty"`
}

// controlServer is the API of --control; without it nil, which does nothing.
type controlServer struct {
	*control.Server
	step time.Duration
	log  *slog.Logger
}

// stepWait is how long a request to step waits for the steps to be done.
const stepWait = time.Second

// listen takes the address of --control before anything costly is begun, and says
// which one it is.
func (pl *plan) listen(ctx context.Context) (*controlServer, error) {
	if pl.control == nil {
		return nil, nil
	}
	server, err := control.Listen(ctx, *pl.control)
	if err != nil {
		return nil, fmt.Errorf("--control: %w", err)
	}
	if !pl.flags.quiet || pl.control.Port == 0 { // else nobody would know which
		fmt.Fprintf(pl.progress.out, "control on http://%s\n", server.Addr())
	}
	if !server.Loopback() {
		pl.log.Warn("anyone who reaches this machine can control the run: --control asks for no password", "address", server.Addr().String())
	}
	return &controlServer{Server: server, step: pl.config.Time.Step, log: pl.log}, nil
}

// serve answers requests, those that have come already first.
func (s *controlServer) serve(p *pipeline.Pipeline) {
	if s == nil {
		return
	}
	s.Serve(control.Run{
		Clock: p.Clock(), Step: s.step, StepWait: stepWait,
		Status: func() any {
			return runStatus{Summary: p.Summary(), Time: control.TimeOf(p.Clock()), Refused: s.Refused()}
		},
	}, s.log)
}

// close ends the API; calling it again does nothing.
func (s *controlServer) close() {
	if s == nil {
		return
	}
	if err := s.Close(); err != nil {
		s.log.Warn("the control API did not end in order", "error", err)
	}
}
