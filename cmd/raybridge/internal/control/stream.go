package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// stepper lets the connections of the stream protocol step the run.
type stepper struct{ h *handler }

// Now returns where the run is told to go already.
func (s *stepper) Now() simtime.Stamp { return s.h.run.Clock.Pace() }

// StepTo steps the run.
func (s *stepper) StepTo(ctx context.Context, f *world.Frame) (world.StepResult, error) {
	if err := s.h.standing(); err != nil {
		return world.StepResult{}, err
	}
	s.h.awaitBegin(ctx)
	if err := s.h.within(f); err != nil {
		return world.StepResult{}, err
	}
	result, err := s.h.stepTo(ctx, f)
	if err != nil && ctx.Err() != nil { // the owner has gone, and nobody waits for what is left of its step
		s.h.run.Clock.Halt()
	}
	return result, err
}

// Reset takes the run back to its beginning.
func (s *stepper) Reset(ctx context.Context, seed uint64) (world.StepResult, error) {
	s.h.awaitBegin(ctx)
	return s.h.takeBack(ctx, seed)
}

// stepTo is the run's StepTo. A bridge that still has messages is not an error here: the deliveries tell of it.
func (h *handler) stepTo(ctx context.Context, f *world.Frame) (world.StepResult, error) {
	result, err := h.run.StepTo(ctx, f)
	if errors.Is(err, pipeline.ErrUndelivered) && !errors.Is(err, world.ErrUnfinished) {
		err = nil
	}
	return result, err
}

// checkOwner returns an error while a connection owns the run: then requests can't step.
func (h *handler) checkOwner() error {
	if h.run.Port != nil && h.run.Port.Owned() {
		return fmt.Errorf("%w: a connection of %s steps this run until it closes", world.ErrBusy, stream.UpgradePath)
	}
	return nil
}

// upgrade hands a connection to the port, which speaks the stream protocol on it.
func (h *handler) upgrade(w http.ResponseWriter, r *http.Request) {
	if !has(r.Header, "Connection", "upgrade") || !has(r.Header, "Upgrade", stream.Upgrade) {
		w.Header().Set("Upgrade", stream.Upgrade)
		w.Header().Set("Connection", "Upgrade")
		reply(w, nil, refuse(http.StatusUpgradeRequired, "send the headers Connection: Upgrade and Upgrade: %s", stream.Upgrade))
		return
	}
	conn, err := hijack(w)
	if err != nil {
		reply(w, nil, err)
		return
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+stream.Upgrade+"\r\n\r\n"); err != nil {
		_ = conn.Close()
		return
	}
	h.run.Port.Serve(conn)
}

// socket hands a connection to the live page's port, which answers the upgrade to WebSocket.
func (h *handler) socket(w http.ResponseWriter, r *http.Request) {
	if !has(r.Header, "Connection", "upgrade") || !has(r.Header, "Upgrade", "websocket") {
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Connection", "Upgrade")
		reply(w, nil, refuse(http.StatusUpgradeRequired, "%s is the live page's WebSocket: open %s in a browser", stream.PagePath, "/"))
		return
	}
	conn, err := hijack(w)
	if err != nil {
		reply(w, nil, err)
		return
	}
	h.run.View.Port.Serve(conn, r)
}

// hijack takes the connection from the server, with what the client has sent without waiting for the answer.
func hijack(w http.ResponseWriter) (net.Conn, error) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, fmt.Errorf("upgrade: %w", err)
	}
	if n := buffered.Reader.Buffered(); n > 0 {
		early, _ := buffered.Peek(n)
		return &peekedConn{Conn: conn, rest: append([]byte(nil), early...)}, nil
	}
	return conn, nil
}

// has reports whether a header lists a value, in any case.
func has(h http.Header, name, value string) bool {
	for _, line := range h.Values(name) {
		for one := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(one), value) {
				return true
			}
		}
	}
	return false
}

// peekedConn is a connection of which something was read.
type peekedConn struct {
	net.Conn
	rest []byte
}

// NetConn returns the connection.
func (c *peekedConn) NetConn() net.Conn { return c.Conn }

// Read reads what is left first.
func (c *peekedConn) Read(b []byte) (int, error) {
	if len(c.rest) > 0 {
		n := copy(b, c.rest)
		c.rest = c.rest[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}
